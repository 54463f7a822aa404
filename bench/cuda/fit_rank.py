#!/usr/bin/env python3
"""Fits the Rank of kernels/matmul/cuda_sm90.json to measurements, and chooses the configurations for
every size among which it decides. Needs numpy.

    python3 bench/cuda/fit_rank.py FILE... [--new FILE...] [--configs 60] [--rounds 14] [--seed 4] [--held SHAPES]
    python3 bench/cuda/fit_rank.py FILE... --pack > bench/results/NAME     all that was measured, in little space
    python3 bench/cuda/fit_rank.py FILE... --write [--kernels matmul]     into the spaces of matmul and matmul_act

FILE is what `gemm_bench --details=FILE` writes, or what --pack made of it; the shapes of --new, which
were measured as the product launches them today (without early slots), count 2.5 times. --held names
a file of shapes (MxNxK, blanks between) that are left out of the fit and judged after it. What is
fitted is the loss of the configuration that the model ranks first against the best that was measured
for the shape (geometric mean, with more weight on large losses), where those within about 1 % of the
first count too, and a little the error of the times themselves. Constants change one at a time, in
random order, and stay where they mean something (BOUNDS); --only names those that may, and --near is
what it costs to move one: at sizes held out, few constants near the old ones were best."""
import argparse, json, math, random, re
import numpy as np
import ranks

FIELDS = "m n k nc pp cm cn ck sk wait sw bps st pdl ebb ec eb es fl go r".split()
DEFAULTS = dict(m=128, n=256, k=64, st=4, nc=2, pp=0, cm=1, cn=1, ck=1, sk=1, g=8, r=0, sw=0, ec=64, eb=2, bps=1, ebb=0, wait=0, l2=3, pdl=0, es=0, fl=0, go=0)
MACROS = dict(sw="SWAP_AB", nc="NUM_CONSUMERS", pp="PING_PONG", m="BLOCK_SIZE_M", n="BLOCK_SIZE_N", k="BLOCK_SIZE_K", cm="CLUSTER_M",
              cn="CLUSTER_N", es="EARLY_SLOTS", ck="CLUSTER_K", sk="SPLIT_K", wait="SPLIT_WAIT", ec="EPILOGUE_COLUMNS",
              eb="EPILOGUE_BUFFERS", st="num_stages", fl="MMA_IN_FLIGHT", pw="PRODUCER_WARPS", pr="PRODUCER_REGISTERS",
              cr="CONSUMER_REGISTERS", bps="BLOCKS_PER_SM", ebb="EVICT_B", pdl="LAUNCH_EARLY", pf="PREFETCH_SLOTS", go="GPC_ORDER", r="RASTER")
SMS = 132 # SMs of the device that was measured
CLOCK = 1750.0 # cycles in a microsecond

# The constants in the Rank of matmul, with which a fit begins: cycles, bytes a cycle, factors, exponents.
START = dict(t0=1.218, sm=1.394, ba=0.4304, bb=0.5599, l2=41.54, f1=0.9304, f3=0.9911, fp=1.151, q=4.281, lat=3308,
             epp=44.59, ep0=2.348, ep1=9.503, ep2=4.36, s0=1879, s1=864.9, s2=1.488, s3=1.151, c0=7.62, c1=39,
             c2=246.4, cl=10.14, dr=3592, db=1.206, eb=1.587, wc=1.006, du=0.1316, rr=0.1972, pl=183.1, pd=1063,
             pdl=4345, pw=4.058, start=956.7, bl=139.4, ee=223.7, p1=415.8, p2=2484, hc=3.303, ti=115.1, w16=1.815,
             w32=0.9719, e16=0.3665, e32=0.1967, wn=1.294, so=13.7, ps=303.4, w0=226.1, cx=58.19, po=69.68, lx=0.5965,
             kc=289.8, d0=3.193, d1=0.2065, d2=2.333, d3=2.805, dm=0.02795, ds=22.36, fa=1.18, fb=1.03, la=0.8281,
             bs=0.659, sl=0.01, t0a=1.369, l2a=53.3,
             poa=76.45, qa=4.771, f1a=1.007, ja=0.2009, jb=0.2629, gl=1394)

BOUNDS = dict(wc=(1, 3), dr=(2200, 4500), w16=(0, 2), w32=(0, 1), ee=(80, 400), q=(2, 8), hc=(0.1, 20), ti=(40, 400), pw=(1.5, 5), start=(300, 2000), cl=(10, 400),
              bl=(50, 450), du=(0.01, 0.5), sm=(0.4, 1.4), l2=(35, 70), f3=(0.55, 1.2), so=(0, 80), ps=(20, 2500), dm=(0, 3), ja=(0, 1), jb=(0, 1))

# The parts of the Rank, and its value. A number in braces is made of the constants.
PARTS = {
    "cluster": "CLUSTER_M*CLUSTER_N*CLUSTER_K",
    "cluster_rows": "(M + BLOCK_SIZE_M*CLUSTER_M - 1)//(BLOCK_SIZE_M*CLUSTER_M)",
    "cluster_columns": "(N + BLOCK_SIZE_N*CLUSTER_N - 1)//(BLOCK_SIZE_N*CLUSTER_N)",
    "tiles": "cluster_rows*cluster_columns",
    "blocks": "tiles*SPLIT_K*cluster",
    "places": "(sm_count - (0 if cluster <= 2 else 12))*BLOCKS_PER_SM",
    "waves": "(blocks + places - 1)//places",
    "held": "min(blocks, places)",
    "sharing": "min(BLOCKS_PER_SM, (blocks + sm_count - 1)//sm_count)",
    "steps": "(K + BLOCK_SIZE_K - 1)//BLOCK_SIZE_K",
    "slots": "(steps + SPLIT_K*CLUSTER_K - 1)//(SPLIT_K*CLUSTER_K)*BLOCK_SIZE_K/64",
    # with SPLIT_LAST, rounds of tiles with all of K come before one of parts
    "rounds": "tiles*cluster//places",
    "undivided_slots": "(steps + CLUSTER_K - 1)//CLUSTER_K*BLOCK_SIZE_K/64",
    "slots_in_sequence": "waves*slots if SPLIT_LAST == 0 else (rounds*undivided_slots + slots)*{1 + sl}",
    "turns": "waves - 1 if SPLIT_LAST == 0 else rounds",
    "divided_tiles": "tiles if SPLIT_LAST == 0 else tiles - rounds*places/cluster",
    "area": "BLOCK_SIZE_M*BLOCK_SIZE_N",
    "side_64": "BLOCK_SIZE_N if SWAP_AB == 1 else BLOCK_SIZE_M",
    "side_n": "BLOCK_SIZE_M if SWAP_AB == 1 else BLOCK_SIZE_N",
    "a_row": "K if layout in ['nn', 'nt'] else M",
    "b_row": "N if layout in ['nn', 'tn'] else K",
    # The level 2 cache gives more where no line of 128 bytes is shared by two rows.
    "whole_lines": "1 if a_row % 64 == 0 and b_row % 64 == 0 else 0",
    "a_box": "BLOCK_SIZE_M if layout in ['nn', 'nt'] else (BLOCK_SIZE_M + 63)//64*64",
    "b_box": "(BLOCK_SIZE_N + 63)//64*64 if layout in ['nn', 'tn'] else BLOCK_SIZE_N",
    # cycles for 64 elements along K: of the tensor cores, of shared memory, and of the level 2 cache
    "tensor": "area/32*({t0a} if whole_lines == 1 else {t0})",
    "shared": "4*(side_64/64*(16 + side_n/4))*{sm}",
    "port": "(a_box + b_box)*128/({poa} if whole_lines == 1 else {po})", # cycles for the bytes that arrive in shared memory, which multicast does not reduce
    # a line of 128 bytes that begins in the middle of a sector of 32 takes five of them
    "a_lines": "{1 + ba} if a_row % 16 != 0 else {1 + ba*bs} if a_row % 64 != 0 else 1",
    "b_lines": "{1 + bb} if b_row % 16 != 0 else {1 + bb*bs} if b_row % 64 != 0 else 1",
    "asked": "a_box*a_lines/CLUSTER_N + b_box*b_lines/CLUSTER_M",
    # with GPC_ORDER, a GPC of some 16 SMs has a rectangle of tiles, whose blocks ask for the same lines by one request, or nearly
    "gpc_clusters": "max(1, 16//cluster)",
    "gpc_rows": "min(GROUP_SIZE, cluster_rows, gpc_clusters) if RASTER == 0 else min(cluster_rows, max(1, gpc_clusters/min(GROUP_SIZE, cluster_columns)))",
    "gpc_columns": "min(GROUP_SIZE, cluster_columns, gpc_clusters) if RASTER == 1 else min(cluster_columns, max(1, gpc_clusters/min(GROUP_SIZE, cluster_rows)))",
    "a_joined": "gpc_columns**{ja} if GPC_ORDER == 1 else 1",
    "b_joined": "gpc_rows**{jb} if GPC_ORDER == 1 else 1",
    "asked_of_gpc": "a_box*a_lines/CLUSTER_N/a_joined + b_box*b_lines/CLUSTER_M/b_joined",
    "level_2": "asked_of_gpc*128/({l2a} if whole_lines == 1 else {l2})*(held/sm_count/BLOCKS_PER_SM)**{lx}",
    "copies": "asked*128/{ti}", # cycles for what the copy engine of an SM asks for, rows by rows
    # rows of less than a line of 128 bytes: all blocks ask at once for the few lines that hold all of a slot
    "hot_lines": "{hc}*(max(0, 64/a_row - 1)*cluster_columns + max(0, 64/b_row - 1)*cluster_rows)",
    # without wgmma in flight, the tensor cores are idle between slots unless another consumer keeps them busy
    "idle": "1 if MMA_IN_FLIGHT == 1 else {fa} if PING_PONG == 1 else {fb} if NUM_CONSUMERS == 1 else 1",
    "consumers": "({f1a} if whole_lines == 1 else {f1}) if NUM_CONSUMERS == 1 else {f3} if NUM_CONSUMERS == 3 else {fp} if PING_PONG == 1 and waves == 1 else 1",
    "multiply": "max(tensor, shared)*consumers*idle",
    # with it, a slot that is late holds up the slot before it
    "slots_ahead": "num_stages - ({la} if MMA_IN_FLIGHT == 1 and PING_PONG == 0 and NUM_CONSUMERS > 1 else 0)",
    "norm": "{qa} if whole_lines == 1 else {q}",
    "busy": "(multiply**norm + level_2**norm + port**norm + copies**norm)**(1/norm)",
    "slot": "max(busy, {lat}/(slots_ahead*BLOCK_SIZE_K/64)) + {so} + hot_lines",
    # stores of rows of 32 or 64 bytes, and by warps, which take longer than those by the copy engine
    "narrow_stores": "{1 + e16} if EPILOGUE_COLUMNS == 16 else {1 + e32} if EPILOGUE_COLUMNS == 32 else 1",
    "last_by_warps": "({1 + d1} if SWAP_AB == 1 else {1 + d0}) if DIRECT_STORE == 1 else 1",
    "last": "{ep0} + area/64*{ep1}*narrow_stores*last_by_warps",
    "middle_by_warps": "({1 + d3} if SWAP_AB == 1 else {1 + d2}) if DIRECT_STORE == 1 else 1",
    "middle": "max({epp}, area/64*{ep2}*middle_by_warps - slots*slot) if PING_PONG == 1 else last",
    "first_slot": "{kc}*(BLOCK_SIZE_K/64 - 1)", # the wait for a first slot of more than 64
    "work": "slots_in_sequence*slot*sharing + turns*middle + last + first_slot",
    "read_bytes": "(M*K + N*K)*2",
    "read_again": "1 + {rr}*(cluster_rows - 1) if M <= 128 else 1",
    "reads": "read_bytes*read_again*({db} if b_row % 64 != 0 else 1)*({eb} if M <= 128 and EVICT_B == 0 else 1)",
    "narrow_writes": "{1 + w16} if EPILOGUE_COLUMNS == 16 else {1 + w32} if EPILOGUE_COLUMNS == 32 else 1",
    "odd_writes": "1 + {wn}*64/(BLOCK_SIZE_N*CLUSTER_N) if N % 64 != 0 else 1",
    "writes_by_warps": "{1 + dm} + {ds}/BLOCK_SIZE_N if DIRECT_STORE == 1 else 1",
    "writes": "M*N*2*{wc}*narrow_writes*odd_writes*writes_by_warps",
    "memory": "(reads + writes)/{dr}*(max(1, sm_count/blocks)**{du})",
    "both": "(work**{pw} + memory**{pw})**{1/pw}",
    "sums": "area*SPLIT_K*divided_tiles*CLUSTER_M*CLUSTER_N*4/1000000*{s1}*(1 if SPLIT_WAIT == 1 else {s2})",
    "split": "{s0} + sums + (area*SPLIT_K*{s3}/64 if SPLIT_WAIT == 0 else {w0}) if SPLIT_K > 1 else 0",
    "along_k": "{c0} + {c2}*(CLUSTER_K - 1) + area*(1 - 1/CLUSTER_K)*{c1}/64 if CLUSTER_K > 1 else 0",
    "free_places": "{pl}*(1 - min(1, max(0, sm_count*BLOCKS_PER_SM/held - 1)))",
    "half_full": "{ps} if 2*held > places else 0",
    "late_start": "{pdl} if (LAUNCH_EARLY == 1 or LAUNCH_EARLY == 2) and M <= 128 and read_bytes > 40000000 else 0",
    "start_1": "{p1} if LAUNCH_EARLY == 1 else {p2} if BLOCKS_PER_SM == 2 and held > sm_count and M <= 128 and K <= 64 else 0",
    "launch": "{gl} if GPC_ORDER == 1 else {pl + pd} if LAUNCH_EARLY == 0 else free_places + half_full + late_start + start_1",
    "early_slots": "{ee} if EARLY_SLOTS > 0 else 0",
    "multicast": "{cx} if CLUSTER_M*CLUSTER_N > 1 and EARLY_SLOTS == 0 else 0",
    "Value": "{start} + {cl}*(cluster - 1) + {bl}*log2(held) + both + split + along_k + launch + early_slots + multicast - num_stages", # more slots never harm
}

def expression(p):
    """Returns the Rank with these constants. Model evaluates the same texts."""
    return ranks.filled(PARTS, p)

def read_files(paths):
    """Returns {(M, N, K): {configuration: microseconds}}; a configuration is a tuple in the order of FIELDS. Times on a hot device
    ("semi") replace first impressions ("quick"), and those of the others are scaled alike."""
    found = {}
    def add(times, shape, config, time):
        known = times.setdefault(shape, {})
        known[config] = min(time, known.get(config, math.inf))
    for path in paths:
        configs, names, quick, hot = [], FIELDS, {}, {}
        for line in open(path):
            if line.startswith("# m n "):
                names = line[2:].split()
            elif line.startswith("config "):
                v = dict(zip(names, map(int, line.split()[1:])))
                v = dict({"fl": 1, "go": 0, "r": 0}, **v)
                v.setdefault("es", 2 if v["cm"] * v["cn"] > 1 else 0) # files without this field are of kernels with this fixed number
                configs.append(tuple(v[f] for f in FIELDS))
            elif line.startswith("shape "):
                words = line.split()
                for word in words[2:]:
                    i, time = word.split(":")
                    add(quick, tuple(map(int, words[1].split("x"))), configs[int(i)], float(time))
            else:
                match = re.match(r"(quick|semi) (\d+)x(\d+)x(\d+) ([\d.]+) us [\d.]+ TF  ([^c].*)", line)
                v = dict(DEFAULTS, **{k: int(x) for k, x in (w.split("=") for w in match[6].split())}) if match else None
                if v is not None and v["g"] == 8 and (v["r"] == 0 or v["go"] == 1) and v["l2"] != 1:
                    add(quick if match[1] == "quick" else hot, tuple(map(int, match.group(2, 3, 4))), tuple(v[f] for f in FIELDS),
                        float(match[5]))
        for shape, times in quick.items():
            again = hot.get(shape, {})
            slower = np.median([t / times[c] for c, t in again.items()]) if again else 1
            for config, time in times.items():
                add(found, shape, config, again.get(config, time * slower))
    return found

def pack(found):
    configs = sorted({c for times in found.values() for c in times})
    number = {c: i for i, c in enumerate(configs)}
    lines = ["# " + " ".join(FIELDS)] + ["config " + " ".join(map(str, c)) for c in configs]
    for shape in sorted(found):
        lines.append("shape %dx%dx%d " % shape + " ".join("%d:%.2f" % (number[c], t) for c, t in sorted(found[shape].items())))
    return "\n".join(lines)

def valid(shape, config):
    """Returns whether the conditions of the space allow the configuration for the shape."""
    (M, N, _), c = shape, dict(zip(FIELDS, config))
    cluster = c["cm"] * c["cn"] * c["ck"]
    blocks = -(-M // (c["m"] * c["cm"])) * -(-N // (c["n"] * c["cn"])) * c["sk"] * cluster
    places = (SMS - (0 if cluster <= 2 else 8 if cluster <= 4 else 12)) * c["bps"]
    return ((not c["sw"] or M <= 128 or c["m"] >= 128 or (c["m"] >= 48 and M * N <= 2**22) or (c["m"] >= 32 and M * N <= 2**18)) and
            (not c["ebb"] or M <= 128) and (c["sw"] or M > 16) and (c["sk"] * c["ck"] == 1 or M * N <= 2**20 or M <= 128) and
            (c["cm"] - 1) * c["m"] < M and (c["cn"] - 1) * c["n"] < N and
            c["m"] * c["cm"] <= 2 * max(M, 16) and c["n"] * c["cn"] < 2 * max(N, 64) and (not c["wait"] or blocks <= places) and
            (c["st"] >= 8 or c["st"] * (c["m"] + c["n"]) * c["k"] >= 128 * 176 * 3 or c["bps"] == 2))

def choose_configs(found, best, count):
    """Chooses `count` configurations greedily, so that the mean loss of the best of them is smallest. The part of a loss above
    0.08 counts four times. A configuration that was not measured for a shape counts as 3 times slower than the best."""
    configs = sorted({c for times in found.values() for c in times})
    loss = np.full((len(configs), len(found)), math.log(3))
    number = {c: i for i, c in enumerate(configs)}
    for s, (shape, times) in enumerate(found.items()):
        for c, t in times.items():
            loss[number[c], s] = math.log(t / best[shape])
    current, chosen = np.full(len(found), math.log(3)), []
    for _ in range(count):
        with_one = np.minimum(loss, current)
        i = int(np.argmin((with_one + 3 * np.maximum(0, with_one - 0.08)).mean(1)))
        chosen.append(configs[i])
        current = np.minimum(current, loss[i])
    return chosen

class Model:
    """Evaluates the Rank for all measurements at once."""
    def __init__(self, found, best, configs):
        chosen = set(configs)
        rows = [(s,) + shape + c + (t,) for s, (shape, times) in enumerate(found.items()) for c, t in times.items() if c in chosen]
        table = np.array(rows, float)
        self.shape_of, self.time = table[:, 0].astype(int), table[:, -1]
        self.names = {"M": table[:, 1], "N": table[:, 2], "K": table[:, 3], "sm_count": np.full(len(table), float(SMS)), "layout": "nn",
                      "SPLIT_LAST": np.zeros(len(table)), "GROUP_SIZE": np.full(len(table), 8.0), "DIRECT_STORE": np.where(table[:, 2] % 8 != 0, 1, 0)}
        self.names.update({MACROS[f]: table[:, 4 + i] for i, f in enumerate(FIELDS)})
        self.best = np.array([best[shape] for shape in found])
        self.groups = [np.nonzero(self.shape_of == s)[0] for s in range(len(found))]

    def times(self, p):
        return value_of(expression(p), dict(self.names, max=np.maximum, min=np.minimum, log2=np.log2))

    def losses(self, p, shapes):
        times, first, eight = self.times(p), [], []
        for s in shapes:
            order = self.groups[s][np.argsort(times[self.groups[s]])[:8]]
            if len(order) > 0:
                first.append(self.time[order[0]] / self.best[s])
                eight.append(self.time[order].min() / self.best[s])
        return np.log(first), np.log(eight), times

    def score(self, p, shapes, weights):
        """Returns what a fit minimises. `weights` has one number for each shape, 0 for those that are left out. The rows of a
        shape must be contiguous."""
        ends, loss = np.array([g[0] for g in self.groups]), np.log(self.time / self.best[self.shape_of])
        times = np.log(self.times(p))
        if not np.all(np.isfinite(times)):
            return math.inf
        share = np.exp((np.minimum.reduceat(times, ends)[self.shape_of] - times) / 0.012)
        first = np.add.reduceat(share * loss, ends) / np.add.reduceat(share, ends) * weights
        first = first[shapes]
        error, weight = times - np.log(self.time * CLOCK), np.exp(-3 * loss) * (weights > 0)[self.shape_of]
        return (first.mean() + 2 * np.maximum(0, first - 0.1).mean() + 3 * np.maximum(0, first - 0.18).mean() +
                0.06 * math.sqrt((weight * error**2).sum() / weight.sum()))

def arrays(text):
    """Rewrites an expression for whole arrays: `a if c else b` becomes choose(c, a, b), and `and` becomes &."""
    import ast
    class Change(ast.NodeTransformer):
        def visit_IfExp(self, node):
            self.generic_visit(node)
            return ast.Call(ast.Name("choose", ast.Load()), [node.test, node.body, node.orelse], [])
        def visit_BoolOp(self, node):
            self.generic_visit(node)
            out = node.values[0]
            for value in node.values[1:]:
                out = ast.BinOp(out, ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr(), value)
            return out
    return compile(ast.fix_missing_locations(Change().visit(ast.parse(text, mode="eval"))), "Rank", "eval")

def value_of(rank, names):
    """Evaluates a Rank for whole arrays. `names` also has the functions that it calls."""
    names = dict(names, choose=np.where)
    with np.errstate(all="ignore"):
        for name, text in ranks.parts_of(rank):
            names[name] = eval(arrays(text), {"__builtins__": {}}, names)
    return names["Value"]

def descend(p, score_of, bounds, draw, rounds, only=()):
    """Changes one constant at a time, in random order, while that lowers the score. Returns the constants and their score."""
    score, step = score_of(p), {name: 0.25 for name in p}
    for _ in range(rounds):
        names = [name for name in p if not only or name in only]
        draw.shuffle(names)
        for name in names:
            low, high = bounds.get(name, (0, math.inf))
            better = False
            for value in (p[name] * (1 + step[name]), p[name] / (1 + step[name])):
                changed = dict(p, **{name: value})
                new = score_of(changed) if low <= value <= high else math.inf
                if new < score - 1e-6:
                    score, p, better = new, changed, True
                    break
            step[name] = min(0.5, step[name] * 1.3) if better else max(0.02, step[name] * 0.6)
    return p, score

def fit(model, shapes, weights, seed, rounds, near, only):
    def score(p):
        return model.score(p, shapes, weights) + near * sum(math.log(p[k] / START[k]) ** 2 for k in p)
    draw = random.Random(seed)
    p = {k: v * math.exp(draw.gauss(0, 0.06)) if seed and (not only or k in only) else v for k, v in START.items()}
    return descend(p, score, BOUNDS, draw, rounds, only)[0]

def start_of(config):
    """Returns the configuration as an entry of Starts, with the parameters that follow from its fields."""
    c = dict(zip(FIELDS, config), pf=1)
    shared = c["cm"] * c["cn"] > 2
    c.update(pw=1 if c["nc"] == 1 else 4, es=0,
             pr=0 if c["nc"] == 1 else 56 if c["nc"] == 2 and shared else 40,
             cr=0 if c["nc"] == 1 else 152 if c["nc"] == 3 else 224 if shared else 232)
    return '      {"Config": %s},\n' % json.dumps({MACROS[f]: c[f] for f in MACROS})

def write_rank(path, rank, change=lambda text: text):
    """Replaces the Rank of a space file, and what else `change` does to its text."""
    text = change(ranks.replaced(open(path).read(), rank))
    json.loads(text)
    with open(path, "w") as f:
        f.write(text)

def write(p, configs, kernels):
    def with_starts(text):
        text = re.sub(r'      \{"Config": .*\n', "", text)
        return text.replace('    "Starts": [\n', '    "Starts": [\n' + "".join(map(start_of, configs)))
    for kernel in kernels:
        write_rank("kernels/%s/cuda_sm90.json" % kernel, expression(p), with_starts if configs else lambda text: text)

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--configs", type=int, default=60, help="0: all that were measured, as a family proposes them")
    ap.add_argument("--rounds", type=int, default=14, help="0: only judge the constants as they are")
    ap.add_argument("--seed", type=int, default=0, help="0: begin with the constants as they are, else near them")
    ap.add_argument("--only", default="", help="the constants that change, with blanks between; all if empty")
    ap.add_argument("--near", type=float, default=0.01, help="times the square of the logarithm of how much a constant changes")
    ap.add_argument("--new", nargs="*", default=[])
    ap.add_argument("--held", default="")
    ap.add_argument("--pack", action="store_true")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--kernels", default="matmul,matmul_act", help="whose spaces --write changes")
    args = ap.parse_args()
    found, new = read_files(args.files + args.new), read_files(args.new)
    if args.pack:
        print(pack(found))
        return
    held = {tuple(map(int, s.split("x"))) for s in open(args.held).read().split()} if args.held else set()
    found = {shape: {c: t for c, t in times.items() if valid(shape, c)} for shape, times in found.items()}
    best = {shape: min(times.values()) for shape, times in found.items()}
    configs = choose_configs({s: t for s, t in found.items() if s not in held}, best, args.configs) if args.configs else []
    chosen = set(configs) or {c for times in found.values() for c in times}
    found = {shape: times for shape, times in found.items() if not chosen.isdisjoint(times)}
    model = Model(found, best, chosen)
    known = [i for i, s in enumerate(found) if s not in held]
    weights = np.array([0.0 if s in held else 2.5 if s in new else 1.0 for s in found])
    p = fit(model, known, weights / weights[known].mean(), args.seed, args.rounds, args.near, args.only.split())
    print(", ".join("%s=%.4g" % x for x in p.items()))
    for name, shapes in (("fitted", known), ("held out", [i for i, s in enumerate(found) if s in held])):
        if shapes:
            first, eight, _ = model.losses(p, shapes)
            print("%s: %d shapes; first: geometric mean %.4f of the best, lowest %.3f; best of eight %.4f" % (
                name, len(first), math.exp(-first.mean()), math.exp(-first.max()), math.exp(-eight.mean())))
    if args.write:
        write(p, configs, args.kernels.split(","))

if __name__ == "__main__":
    main()
