#!/usr/bin/env python3
"""Fits the Rank of softmax, layernorm and rmsnorm on CUDA devices to measurements. Needs numpy.

    python3 bench/cuda/fit_rows.py FILE... [--rounds 5] [--seed 1] [--held 2]
    python3 bench/cuda/fit_rows.py FILE... --pack > bench/results/NAME     what is used of it, in little space
    python3 bench/cuda/fit_rows.py FILE... --write                         into the spaces of the three kernels

FILE is what `rows_bench --cuts --turns=0 --details=FILE JOB...` writes, or what --pack made of it. What is fitted is the
loss of the configuration that the model ranks first against the best that was measured for the job, where
those that it ranks within about 1 % of the first count too, and the error of the times
themselves. --held N leaves every Nth job out of the fit and judges it afterwards. Constants are the same
for all three kernels but for the instructions of a vector."""
import argparse, gzip, math, random, re
import numpy as np
import ranks
from fit_rank import descend, value_of, write_rank

KERNELS = ["softmax", "layernorm", "rmsnorm"]
DEVICE = dict(sm_count=132, registers_sm=65536, threads_sm=2048, shared_bytes_sm=233472, compute_capability=90)
MACROS = dict(t="THREADS_PER_ROW", c="CLUSTER", r="ROWS", k="KEEP", re="REST", pf="PREFETCH", w="WAVES", b="BLOCKS_PER_SM", we="WEIGHT_EARLY")
FIXED = dict(VEC_BYTES=16, STAGES=0, BATCH=1, LAUNCH_EARLY=3, LOAD_HINT=0, STORE_HINT=0, ONLINE=1, MOMENTS=1)

# The constants in the Ranks, with which a fit begins: microseconds, bytes a microsecond (in millions), factors, exponents.
START = dict(bw=6.421, wb=0.1767, bw2=5, bs=0.1, is2=0.4606, is4=0.7707, il2=0.6924, il4=0.8508, ir2=0.4099, ir4=0.4914, ios=0.00539,
             iosp=0.07851, iop=0.002081, iow=0.6135, iw=0.01899, lc=0.1231, lc2=0.1074, l1=0.07365, lw=0.07692, lwo=0.2082, lo=0.2354,
             lr=0.1166, pr=0.4284, ws=0.5929, w3=0.9032, tp=1.107, td=0.7982, wo=0.3504, un=0.01, bb=0.2612, q=1.456, qn=1.503, q2=3.732,
             t0=0.4921, ls=0.05357, bl=0.5961, lm=0.1135, li=1.791, lip=1.174, rw=0.02633, rs=1.325, wr=0.2208)
BOUNDS = dict(q=(1.1, 8), qn=(1.1, 8), q2=(1.5, 10), bb=(0.02, 1), bs=(0.03, 0.1), bw=(4.2, 10), bw2=(5, 15), wb=(0.05, 1),
              wr=(0.2, 1.5), pr=(0.1, 1), ws=(0.02, 1), w3=(0.02, 2), wo=(0.02, 2), un=(0.01, 1), tp=(0.01, 2), td=(0.01, 2), lo=(0.05, 1), lr=(0.05, 2),
              rw=(0.01, 1), rs=(0.05, 3), lc=(0.1, 2), lc2=(0.05, 1), lw=(0.05, 1), lwo=(0.001, 1), lm=(0.005, 1))

def weights_of(kernel):
    return {"softmax": "0", "layernorm": "((1 if weight == 'scale' else 0) + (1 if bias == 'add' else 0))",
            "rmsnorm": "(1 if weight == 'scale' else 0)"}[kernel]

def registers(kernel):
    """Returns about how many registers a thread needs so that it spills nothing (ptxas 13.0)."""
    weight = "(5 if WEIGHT_EARLY == 2 and dtype_bytes == 2 else 4 if 0 < WEIGHT_EARLY and WEIGHT_EARLY < 3 else 0)"
    more = "4*PREFETCH" if kernel == "softmax" else "4*PREFETCH + %s*%s" % (weights_of(kernel), weight)
    vector = "(12 if dtype_bytes == 2 else 9)" if kernel == "softmax" else "13/2"
    return "((50 if dtype_bytes == 2 else 40) + (6 if cols*dtype_bytes % 16 > 0 else 0) + BATCH*KEEP*VEC_BYTES/16*({} + {}))".format(vector, more)

def blocks_of_registers(need):
    """Returns how many blocks the registers of an SM hold. Each of its four parts gets whole warps, so a block of two warps
    takes as much as half of one of four."""
    return "(registers_sm//(max(128, THREADS_PER_ROW*ROWS)*{})*max(1, 128//(THREADS_PER_ROW*ROWS)))".format(need)

def parts(kernel):
    """Returns the parts of the Rank, and its value: microseconds on an H200. A number in braces is made of the constants."""
    soft = kernel == "softmax"
    weighted = lambda text: "" if soft else text # what only a kernel with weights has
    two, four = {"softmax": ("is2", "is4"), "layernorm": ("il2", "il4"), "rmsnorm": ("ir2", "ir4")}[kernel]
    return {
        "weights": weighted(weights_of(kernel)),
        "odd": "cols*dtype_bytes % 16 > 0",
        "row_bytes": "cols*dtype_bytes",
        "threads": "THREADS_PER_ROW*ROWS",
        "slots": "(cols*dtype_bytes//VEC_BYTES + 1)//(THREADS_PER_ROW*CLUSTER) + 1",
        "rest": "max(0, slots - KEEP) if REST == 1 else 0",
        "kept_weights": weighted("weights*KEEP*THREADS_PER_ROW*VEC_BYTES if WEIGHT_EARLY == 3 else 0"),
        "shared_bytes": "1024 + 32*ROWS*max(1, THREADS_PER_ROW/32)*CLUSTER + rest*threads*VEC_BYTES + STAGES*KEEP*threads*VEC_BYTES" +
                        weighted(" + kept_weights"),
        "registers": registers(kernel)[1:-1],
        "register_blocks": blocks_of_registers("min(255, registers)")[1:-1],
        "resident": "max(1, min(register_blocks, threads_sm//threads, shared_bytes_sm//shared_bytes, 8 if CLUSTER > 1 else 32))",
        # not all SMs are in groups that hold a cluster
        "sms": "sm_count*57/66 if CLUSTER > 8 else sm_count*31/33 if CLUSTER > 2 else sm_count",
        "groups": "(rows + ROWS*BATCH - 1)//(ROWS*BATCH)",
        "blocks": "groups*CLUSTER",
        "places": "sms*resident",
        "turns": "-(-blocks//places)",
        "ahead": "PREFETCH == 1 and blocks > places", # a block has rows to ask for ahead
        "launched": "min(blocks, places) if WAVES > 0 else blocks",
        "even": "-(-blocks//sms)",
        # blocks of an SM, at most: if it holds more than its share, those of the next launch that start early are not shared evenly
        "most": "(turns*(-(-launched//sms)) if WAVES > 0 else even) + {un}*max(0, resident - even)",
        "block_bytes": "2*ROWS*BATCH*row_bytes/CLUSTER",
        "total_bytes": "2*rows*row_bytes",
        "on_its_way": "min(resident, blocks/sms)*block_bytes/2*sms",
        "memory": "total_bytes/{bw*1e6} + (0 if ahead else total_bytes/on_its_way*{lm})",
        "weight_bytes": weighted("weights*row_bytes*(launched/CLUSTER if WEIGHT_EARLY >= 2 else rows)"),
        # what REST keeps in shared memory leaves little of the level 1 cache, where weights are found again
        "level_2": "total_bytes/{bw2*1e6}" if soft else "(total_bytes + weight_bytes*({wr} if REST == 1 else {wb}))/{bw2*1e6}",
        # weights in shared memory (3) take its port for every row, as those of level 1 do; a block that keeps weights loads them once
        "weight_port": weighted("(({w3} if WEIGHT_EARLY == 3 else 0) + {ws}*(launched/blocks if WEIGHT_EARLY >= 2 else 1))*"
                                "weights*ROWS*row_bytes/CLUSTER"),
        "one_sm": "most*(block_bytes%s)/{bs*1e6}" % weighted(" + weight_port"),
        "elements": "(slots if REST == 1 else KEEP)*BATCH*threads*VEC_BYTES/dtype_bytes", # of a block, with those beyond the row
        "edges": "{1 + iosp} if PREFETCH == 1 else {1 + ios}" if soft else
                 "{1 + iop} if PREFETCH == 1 and WEIGHT_EARLY >= 2 else {1 + iow}",
        "element": "({%s*1e-4} if dtype_bytes == 2 else {%s*1e-4})*(edges if odd else 1)" % (two, four),
        "compute": "most*(elements*element + threads/32*{iw})",
        "launch": "launched*{bl*1e-3}",
        "exchange": "{l1}*log2(max(1, THREADS_PER_ROW/32)) + ({lc} + {lc2}*log2(CLUSTER) if CLUSTER > 1 else 0)",
        "weight_latency": weighted("({lwo} if odd else {lw})*weights if WEIGHT_EARLY == 0 else 0"),
        "latency": "({lo} if odd else 0) + {lr}*REST + exchange*({pr} if ahead else 1)" + weighted(" + weight_latency"),
        "rest_again": "{rw*rs}*rest" if soft else "{rw}*weights*rest",
        "late_weights": weighted("{wo}*weights*ROWS*row_bytes/CLUSTER if WEIGHT_EARLY == 0 else 0"),
        "transfer": "(block_bytes%s)/{bb*1e6}" % weighted(" + late_weights"),
        "one_block": "latency + rest_again + transfer + ({lip} if ahead else {li})*elements*element/(threads/128)",
        "throughput": "(memory**{q2} + level_2**{q2} + one_sm**{q2} + compute**{q2} + launch**{q2})**{1/q2}",
        # the first load and the last store of a block, which nothing hides
        "tail": "(0 if blocks <= places else {tp} if PREFETCH == 1 else {td})*one_block",
        "apart": "1 if blocks <= places else {q} if PREFETCH == 1 else {qn}", # how little the two overlap
        "keep_weights": weighted("{ls}*weights if WEIGHT_EARLY >= 2 else 0"),
        "time": "{t0}%s + tail + (throughput**apart + (turns*one_block)**apart)**(1/apart)" % weighted(" + keep_weights"),
        # of equal configurations that which promises more blocks, but not so many that it might spill
        "promise": "0.002/BLOCKS_PER_SM if BLOCKS_PER_SM*max(128, threads)*registers <= registers_sm*max(1, 128//threads) else 0.1",
        # what was not fitted: see kernel-log.md for the measurements
        "read_again": "0.8*max(0, 1 - KEEP*THREADS_PER_ROW*CLUSTER*VEC_BYTES/row_bytes)*(1 - REST)",
        "late_launch": "0.06 if LAUNCH_EARLY == 0 else 0.04 if LAUNCH_EARLY == 1 else 0.01 if LAUNCH_EARLY == 2 else 0",
        "two_passes": {"softmax": "0.02*(1 - ONLINE)", "layernorm": "0.02*(1 - MOMENTS)", "rmsnorm": ""}[kernel],
        "Value": "time*(1 + read_again%s + promise + 0.03*min(1, STAGES) + 0.02*max(0, WAVES - 1) + 0.1*(16 - VEC_BYTES)/8 + "
                 "0.02*log2(BATCH) + 0.004*LOAD_HINT + 0.008*STORE_HINT + late_launch)" % ("" if kernel == "rmsnorm" else " + two_passes"),
    }

def expression(kernel, p):
    """Returns the Rank with these constants. Model evaluates the same texts."""
    return ranks.filled(parts(kernel), p)

def read_files(paths, kernels=tuple(KERNELS), config_of=None):
    """Returns {(kernel, dtype, rows, columns): {configuration: microseconds}}. config_of(job, fields of a line of
    rows_bench) gives a configuration, or None for one that is not of use."""
    found = {}
    for path in paths:
        for line in gzip.open(path, "rt") if path.endswith(".gz") else open(path):
            words = line.split()
            if not words or words[0] not in ("quick", "job"):
                continue
            kernel, dtype, size = words[1].split(":")
            job = (kernel, dtype) + tuple(map(int, size.split("x")))
            if kernel not in kernels:
                continue
            times = found.setdefault(job, {})
            if words[0] == "job":
                pairs = [word.split(":") for word in words[2:]]
                pairs = [(tuple(map(int, config.split(","))), float(time)) for config, time in pairs]
            else:
                v = {k: float(x) if k == "us" else int(x) for k, x in (x.split("=") for x in words[3:])}
                pairs = [((config_of or config_of_rows)(job, v), v["us"])]
            for config, time in pairs:
                if config is not None:
                    times[config] = min(time, times.get(config, math.inf))
    return {job: times for job, times in found.items() if len(times) >= 5}

def rows_and_vectors(job, v):
    """Returns the rows of a block and the vectors of a thread, which rows_bench leaves out where they are as usual."""
    t, c, element = v["t"], v.get("c", 1), 4 if job[1] == "f32" else 2
    return v.get("r", 128 // t if t < 128 and c == 1 else 1), v.get("k", -(-(job[3] * element // 16) // (t * c)))

def config_of_rows(job, v):
    if any(v.get(k) for k in ("l", "s", "st", "q")) or v.get("n", 1) > 1 or v.get("le") != 3 or v.get("o", 1) == 0:
        return None
    r, k = rows_and_vectors(job, v)
    config = dict(t=v["t"], c=v.get("c", 1), r=r, k=k, re=v.get("re", 0), pf=v.get("pf", 0), w=v.get("w", 0), b=v.get("b", 1), we=v.get("we", 0))
    known = config["w"] <= 1 and config["b"] <= blocks_per_sm(job[0], job[1], job[3], config)
    return tuple(config.values()) if known else None

def names_of(kernel, dtype, rows, cols):
    return dict(DEVICE, rows=rows, cols=cols, dtype_bytes=4 if dtype == "f32" else 2, weight="scale", bias="add", max=max, min=min, log2=math.log2)

def blocks_per_sm(kernel, dtype, cols, config):
    """Returns how many blocks of an SM a configuration may promise, so that no register is spilled."""
    names = dict(names_of(kernel, dtype, 1, cols), **FIXED, **{MACROS[k]: v for k, v in config.items()})
    need = "(%s - 4)" % registers(kernel) # what rows_bench promises in its lists
    return max(1, min(16, int(eval(blocks_of_registers(need), {}, names)), 2048 // (config["t"] * config["r"])))

def write_family(kernel, text):
    """Writes into a space file how many blocks the members of its family promise, and that a block fits."""
    need = registers(kernel).replace("BATCH*KEEP*VEC_BYTES/16", "KEEP")
    promise = "min(16, %s, threads_sm//(THREADS_PER_ROW*ROWS))" % blocks_of_registers(need)
    text, first = re.subn(r'"BLOCKS_PER_SM": \["min\(16.*?"\]', lambda _: '"BLOCKS_PER_SM": ["%s"]' % promise, text)
    text, second = re.subn(r'"THREADS_PER_ROW\*ROWS\*\(\(50 if.*?<= registers_sm"', lambda _: '"THREADS_PER_ROW*ROWS*%s <= registers_sm"' % need, text)
    assert first == second == 1
    return text

class Model:
    """Evaluates Ranks, those that expression(kernel, constants) gives, for all measurements at once."""
    def __init__(self, found, kernels, macros, fixed, expression):
        self.parts, self.jobs, self.time, self.job_of, self.expression = [], [], [], [], expression
        for kernel in kernels:
            rows = []
            for job, times in found.items():
                if job[0] == kernel:
                    rows += [(len(self.jobs), job[2], job[3], 4 if job[1] == "f32" else 2) + c for c in times]
                    self.job_of += [len(self.jobs)] * len(times)
                    self.time += times.values()
                    self.jobs.append(job)
            table = np.array(rows, float).T
            names = dict(DEVICE, rows=table[1], cols=table[2], dtype_bytes=table[3], **fixed, **dict(zip(macros, table[4:])))
            self.parts.append((kernel, names))
        self.time, self.job_of = np.array(self.time), np.array(self.job_of)
        self.ends = np.searchsorted(self.job_of, np.arange(len(self.jobs)))
        self.best = np.minimum.reduceat(self.time, self.ends)
        self.loss = np.log(self.time / self.best[self.job_of])

    def times(self, p):
        out = []
        for kernel, names in self.parts:
            reduce = lambda f: lambda *x: f(x[0], x[1]) if len(x) == 2 else f(x[0], reduce(f)(*x[1:]))
            tools = dict(names, weight="scale", bias="add", max=reduce(np.maximum), min=reduce(np.minimum), log2=np.log2)
            out.append(value_of(self.expression(kernel, p), tools))
        return np.concatenate(out)

    def firsts(self, times):
        """Returns, for each job, the logarithm of how much slower the configuration is that is ranked first."""
        return np.array([self.loss[a:b][np.argmin(times[a:b])] for a, b in zip(self.ends, list(self.ends[1:]) + [len(self.time)])])

    def score(self, p, known):
        times = np.log(self.times(p))
        if not np.all(np.isfinite(times)):
            return math.inf
        share = np.exp((np.minimum.reduceat(times, self.ends)[self.job_of] - times) / 0.006)
        first = (np.add.reduceat(share * self.loss, self.ends) / np.add.reduceat(share, self.ends))[known]
        near = (self.loss < 0.25) & known[self.job_of]
        error = (times - np.log(self.time))[near]
        return first.mean() + 0.75 * math.sqrt((first**2).mean()) + 0.7 * math.sqrt((error**2).mean())

def least_squares(model, p, known, bounds, steps=30):
    """Returns constants with small errors of the times, above all of the fast configurations (Levenberg and Marquardt, on
    logarithms; an error of more than 0.3 counts less than its square)."""
    names = list(p)
    low, high = np.log([bounds.get(name, (1e-6, 1e9)) for name in names]).T
    weight = np.sqrt((np.exp(-np.minimum(model.loss, 2) / 0.25) + 0.05) * known[model.job_of])
    weight /= np.sqrt((weight**2).sum())
    def errors(x):
        error = np.log(model.times(dict(zip(names, np.exp(x)))) / model.time)
        error = np.where(np.isfinite(error), error, 3)
        return weight * np.sign(error) * np.sqrt(0.18 * (np.sqrt(1 + (error / 0.3)**2) - 1))
    x, damping = np.clip(np.log([p[name] for name in names]), low, high), 0.01
    now = errors(x)
    for _ in range(steps):
        moves = [1e-3 if x[i] + 1e-3 <= high[i] else -1e-3 for i in range(len(x))]
        slopes = np.array([(errors(x + move * np.eye(len(x))[i]) - now) / move for i, move in enumerate(moves)]).T
        normal, gradient, better = slopes.T @ slopes, slopes.T @ now, False
        for _ in range(8):
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-7), -gradient)
            there = np.clip(x + np.clip(step, -0.7, 0.7), low, high)
            then = errors(there)
            better = then @ then < now @ now * (1 - 1e-6)
            if better:
                x, now, damping = there, then, max(damping / 4, 1e-6)
                break
            damping *= 4
        if not better:
            break
    return dict(zip(names, np.exp(x)))

def fit(found, model, start, bounds, args):
    """Fits the constants, says how good they are, and returns them."""
    known = np.array([not args.held or i % args.held != 0 for i in range(len(model.jobs))])
    p = dict(start)
    if args.rounds > 0:
        p = least_squares(model, p, known, bounds)
    p, score = descend(p, lambda changed: model.score(changed, known), bounds, random.Random(args.seed), args.rounds)
    print(", ".join("%s=%.4g" % x for x in p.items()))
    times = model.times(p)
    first = model.firsts(times)
    eight = np.array([model.loss[a:a + len(found[job])][np.argsort(times[a:a + len(found[job])])[:8]].min() for a, job in zip(model.ends, model.jobs)])
    for name, those in (("fitted", known), ("held out", ~known)):
        if those.any():
            print("%s: %d jobs, %d times; first: geometric mean %.4f of the best, lowest %.3f; best of eight %.4f" % (
                name, those.sum(), those[model.job_of].sum(), math.exp(-first[those].mean()), math.exp(-first[those].max()), math.exp(-eight[those].mean())))
    print("score %.4f" % score)
    for i in np.argsort(-first)[:8]:
        configs, a = list(found[model.jobs[i]]), model.ends[i]
        for what, k in (("first", np.argmin(times[a:a + len(configs)])), ("best", np.argmin(model.time[a:a + len(configs)]))):
            print("%.3f %s:%s:%dx%d %s" % ((math.exp(-first[i]),) + model.jobs[i] + (what,)), configs[k],
                  "%.2f us, model %.2f" % (model.time[a + k], times[a + k]))
    return p

def options(description):
    ap = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--rounds", type=int, default=5, help="of changes of one constant, after least squares; 0: only judge the constants as they are")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--held", type=int, default=0, help="every Nth job is left out of the fit")
    ap.add_argument("--pack", action="store_true")
    ap.add_argument("--write", action="store_true")
    return ap.parse_args()

def pack(found):
    for job, times in sorted(found.items()):
        print("job %s:%s:%dx%d " % job + " ".join("%s:%.3f" % (",".join(map(str, c)), t) for c, t in times.items()))

def main():
    args = options(__doc__)
    found = read_files(args.files)
    if args.pack:
        return pack(found)
    p = fit(found, Model(found, KERNELS, MACROS.values(), FIXED, expression), START, BOUNDS, args)
    for kernel in KERNELS if args.write else []:
        write_rank("kernels/%s/cuda.json" % kernel, expression(kernel, p), lambda text: write_family(kernel, text))

if __name__ == "__main__":
    main()
