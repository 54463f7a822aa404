#!/usr/bin/env python3
"""Fits the Rank of softmax, layernorm and rmsnorm on CUDA devices to measurements. Needs numpy.

    python3 bench/cuda/fit_rows.py FILE... [--rounds 40] [--seed 1] [--held 2]
    python3 bench/cuda/fit_rows.py FILE... --pack > bench/results/NAME     what is used of it, in little space
    python3 bench/cuda/fit_rows.py FILE... --write                         into the spaces of the three kernels

FILE is what `rows_bench --cuts --turns=0 --details=FILE JOB...` writes, or what --pack made of it. What is fitted is the
loss of the configuration that the model ranks first against the best that was measured for the job, where
those that it ranks within about 1 % of the first count too, and a little the error of the times
themselves. --held N leaves every Nth job out of the fit and judges it afterwards. Constants are the same
for all three kernels but for the instructions of a vector."""
import argparse, gzip, math, random
import numpy as np
from fit_rank import arrays, descend, write_rank

KERNELS = ["softmax", "layernorm", "rmsnorm"]
DEVICE = dict(sm_count=132, registers_sm=65536, threads_sm=2048, shared_bytes_sm=233472, compute_capability=90)
MACROS = dict(t="THREADS_PER_ROW", c="CLUSTER", r="ROWS", k="KEEP", re="REST", pf="PREFETCH", w="WAVES", b="BLOCKS_PER_SM", we="WEIGHT_EARLY")
FIXED = dict(VEC_BYTES=16, STAGES=0, BATCH=1, LAUNCH_EARLY=3, LOAD_HINT=0, STORE_HINT=0, ONLINE=1, MOMENTS=1)

# The constants in the Ranks, with which a fit begins: microseconds, bytes a microsecond (in millions), factors, exponents.
START = dict(bw=4.207, wb=0.05052, bw2=7.535, bs=0.04339, is2=0.6809, is4=1.112, il2=1.496, il4=1.618, ir2=0.6399, ir4=1.08, ios=0.00414,
             iosp=1.202, iop=0.002206, iow=0.7874, iw=0.001634, lc=0.3115, lc2=0.1852, l0=0.3105, l1=0.1953, lw=0.08818, lo=0.2658,
             lr=0.05001, pf=0.1016, hp=0.06038, bb=0.08281, q=3.301, q2=5.057, t0=0.1735, ls=0.8249, tl=0.7832, bl=1.757, lm=0.005023,
             li=1.285, rw=0.06622, rs=4.226, wr=0.8207)
BOUNDS = dict(q=(1.3, 8), q2=(1.5, 10), bb=(0.02, 1), bs=(0.03, 0.1), bw=(4.2, 10), bw2=(5, 15), wb=(0.05, 1), wr=(0.2, 1.5), pf=(0.1, 1), lo=(0.05, 1),
              lr=(0.05, 2), rw=(0.02, 1), rs=(0.05, 3), lc=(0.1, 2), lc2=(0.05, 1), lw=(0.05, 1), lm=(0.005, 1))

def weights_of(kernel):
    return {"softmax": "0", "layernorm": "((1 if weight == 'scale' else 0) + (1 if bias == 'add' else 0))",
            "rmsnorm": "(1 if weight == 'scale' else 0)"}[kernel]

def registers(kernel):
    """Returns about how many registers a thread uses if nothing limits them (ptxas 13.0)."""
    more = "4*PREFETCH" if kernel == "softmax" else "4*(PREFETCH + (%s if 0 < WEIGHT_EARLY and WEIGHT_EARLY < 3 else 0))" % weights_of(kernel)
    vector = "(12 if dtype_bytes == 2 else 9)" if kernel == "softmax" else "13/2"
    return "((50 if dtype_bytes == 2 else 40) + (6 if cols*dtype_bytes % 16 > 0 else 0) + BATCH*KEEP*VEC_BYTES/16*({} + {}))".format(vector, more)

def expression(kernel, p):
    """Returns the Rank with these constants, as text for a space file: microseconds on an H200. Model evaluates the same text."""
    g = lambda name: "%.4g" % p[name]
    n, soft = weights_of(kernel), kernel == "softmax"
    odd = "(cols*dtype_bytes % 16 > 0)"
    row = "(cols*dtype_bytes)"
    threads = "(THREADS_PER_ROW*ROWS)"
    slots = "((cols*dtype_bytes//VEC_BYTES + 1)//(THREADS_PER_ROW*CLUSTER) + 1)"
    rest = "(max(0, %s - KEEP) if REST == 1 else 0)" % slots
    shared = "(1024 + 32*ROWS*max(1, THREADS_PER_ROW/32)*CLUSTER + %s*%s*VEC_BYTES + STAGES*KEEP*%s*VEC_BYTES%s)" % (
        rest, threads, threads, "" if soft else " + (%s*KEEP*THREADS_PER_ROW*VEC_BYTES if WEIGHT_EARLY == 3 else 0)" % n)
    resident = "max(1, min(registers_sm//(%s*min(255, %s)), threads_sm//%s, shared_bytes_sm//%s, 8 if CLUSTER > 1 else 32))" % (
        threads, registers(kernel), threads, shared)
    # not all SMs are in groups that hold a cluster
    sms = "(sm_count*57/66 if CLUSTER > 8 else sm_count*31/33 if CLUSTER > 2 else sm_count)"
    groups = "((rows + ROWS*BATCH - 1)//(ROWS*BATCH))"
    blocks = "(%s*CLUSTER)" % groups
    places = "(%s*%s)" % (sms, resident)
    most = "(-(-%s//%s))" % (blocks, sms) # blocks of an SM, at most
    turns = "(-(-%s//%s))" % (blocks, places)
    launched = "(min(%s, %s) if WAVES > 0 else %s)" % (blocks, places, blocks)
    block_bytes = "(2*ROWS*BATCH*%s/CLUSTER)" % row
    total = "(2*rows*%s)" % row
    stay = "(WEIGHT_EARLY >= 2)"
    weight_bytes = "0" if soft else "%s*%s*(%s/CLUSTER if WEIGHT_EARLY >= 2 else rows)" % (n, row, launched)
    on_its_way = "(min(%s, %s/%s)*%s/2*%s)" % (resident, blocks, sms, block_bytes, sms)
    memory = "(%s/%s + (%s if PREFETCH == 1 else 1)*%s/%s*%s)" % (total, "%.4g" % (p["bw"] * 1e6), g("hp"), total, on_its_way, g("lm"))
    # what REST keeps in shared memory leaves little of the level 1 cache, where weights are found again
    level2 = "((%s + %s*(%s if REST == 1 else %s))/%s)" % (total, weight_bytes, g("wr"), g("wb"), "%.4g" % (p["bw2"] * 1e6))
    one_sm = "(%s*%s/%s)" % (most, block_bytes, "%.4g" % (p["bs"] * 1e6))
    vectors = "((%s if REST == 1 else KEEP)*BATCH*%s*VEC_BYTES/dtype_bytes)" % (slots, threads) # elements of a block, with those beyond the row
    names = {"softmax": ("is2", "is4"), "layernorm": ("il2", "il4"), "rmsnorm": ("ir2", "ir4")}[kernel]
    edges = ("(%.4g if PREFETCH == 1 else %.4g)" % (1 + p["iosp"], 1 + p["ios"]) if soft else
             "(%.4g if PREFETCH == 1 and WEIGHT_EARLY >= 2 else %.4g)" % (1 + p["iop"], 1 + p["iow"]))
    element = "((%.4g if dtype_bytes == 2 else %.4g)*(%s if %s else 1))" % (p[names[0]] * 1e-4, p[names[1]] * 1e-4, edges, odd)
    compute = "(%s*(%s*%s + %s/32*%s))" % (most, vectors, element, threads, g("iw"))
    launch = "(%s*%.4g)" % (launched, p["bl"] * 1e-3)
    latency = "((%s + %s*log2(max(1, THREADS_PER_ROW/32)) + (%s + %s*log2(CLUSTER) if CLUSTER > 1 else 0)%s + (%s if %s else 0) + %s*REST)*(%s if PREFETCH == 1 else 1))" % (
        g("l0"), g("l1"), g("lc"), g("lc2"), "" if soft else " + (%s*%s if WEIGHT_EARLY == 0 else 0)" % (g("lw"), n), g("lo"), odd, g("lr"), g("pf"))
    one = "(%s + %.4g*%s + %s/%s + %s*%s*%s/max(1, %s/128))" % (
        latency, p["rw"] * p["rs"] if soft else p["rw"], rest if soft else "%s*%s" % (n, rest), block_bytes, "%.4g" % (p["bb"] * 1e6),
        g("li"), vectors, element, threads)
    several = " + ".join("%s**%s" % (x, g("q2")) for x in (memory, level2, one_sm, compute, launch))
    busy = "((%s)**%.4g)" % (several, p["q"] / p["q2"])
    early = "%s%s*min(1, WAVES)" % ("" if soft else "(%s*%s if WEIGHT_EARLY >= 2 else 0) + " % (g("ls"), n), g("tl"))
    model = "(%s + %s + (%s + (%s*%s)**%s)**%.4g)" % (g("t0"), early, busy, turns, one, g("q"), 1 / p["q"])
    # what was not fitted: see kernel-log.md for the measurements
    again = "0.8*max(0, 1 - KEEP*THREADS_PER_ROW*CLUSTER*VEC_BYTES/%s)*(1 - REST)" % row
    slower = "0.02*(1 - %s)" % {"softmax": "ONLINE", "layernorm": "MOMENTS", "rmsnorm": "1"}[kernel]
    return ("%s*(1 + %s + %s + 0.03*min(1, STAGES) + 0.02*max(0, WAVES - 1) + 0.1*(16 - VEC_BYTES)/8 + 0.02*log2(BATCH) + 0.004*LOAD_HINT + "
            "0.008*STORE_HINT + (0.06 if LAUNCH_EARLY == 0 else 0.04 if LAUNCH_EARLY == 1 else 0.01 if LAUNCH_EARLY == 2 else 0))") % (model, again, slower)

def read_files(paths):
    """Returns {(kernel, dtype, rows, columns): {configuration: microseconds}}, a configuration in the order of MACROS."""
    found = {}
    for path in paths:
        for line in gzip.open(path, "rt") if path.endswith(".gz") else open(path):
            words = line.split()
            if not words or words[0] not in ("quick", "job"):
                continue
            kernel, dtype, size = words[1].split(":")
            rows, cols = map(int, size.split("x"))
            times = found.setdefault((kernel, dtype, rows, cols), {})
            if words[0] == "job":
                for word in words[2:]:
                    config, time = word.split(":")
                    times[tuple(map(int, config.split(",")))] = float(time)
                continue
            v = dict(x.split("=") for x in words[3:])
            v = {k: float(x) if k == "us" else int(x) for k, x in v.items()}
            if kernel not in KERNELS or any(v.get(k) for k in ("l", "s", "st", "q")) or v.get("n", 1) > 1 or v.get("le") != 3 or v.get("o", 1) == 0:
                continue
            element = 4 if dtype == "f32" else 2
            t, c = v["t"], v.get("c", 1)
            config = dict(t=t, c=c, r=v.get("r", 128 // t if t < 128 else 1), k=v.get("k", -(-(cols * element // 16) // (t * c))), re=v.get("re", 0),
                          pf=v.get("pf", 0), w=v.get("w", 0), b=v.get("b", 1), we=v.get("we", 0))
            if config["w"] <= 1 and config["b"] <= blocks_per_sm(kernel, dtype, cols, config):
                key = tuple(config.values())
                times[key] = min(v["us"], times.get(key, math.inf))
    return {job: times for job, times in found.items() if len(times) >= 5}

def names_of(kernel, dtype, rows, cols):
    return dict(DEVICE, rows=rows, cols=cols, dtype_bytes=4 if dtype == "f32" else 2, weight="scale", bias="add", max=max, min=min, log2=math.log2)

def blocks_per_sm(kernel, dtype, cols, config):
    """Returns how many blocks of an SM a configuration of the family promises, so that no register is spilled."""
    names = dict(names_of(kernel, dtype, 1, cols), **FIXED, **{MACROS[k]: v for k, v in config.items()})
    need = eval(registers(kernel), {}, names) - 4 # what rows_bench promises in its lists
    return max(1, min(16, int(65536 // (config["t"] * config["r"] * need)), 2048 // (config["t"] * config["r"])))

class Model:
    """Evaluates the Ranks for all measurements at once."""
    def __init__(self, found):
        self.parts, self.jobs, self.time, self.job_of = [], [], [], []
        for kernel in KERNELS:
            rows = []
            for job, times in found.items():
                if job[0] == kernel:
                    rows += [(len(self.jobs), job[2], job[3], 4 if job[1] == "f32" else 2) + c for c in times]
                    self.job_of += [len(self.jobs)] * len(times)
                    self.time += times.values()
                    self.jobs.append(job)
            table = np.array(rows, float).T
            names = dict(DEVICE, rows=table[1], cols=table[2], dtype_bytes=table[3], **FIXED, **dict(zip(MACROS.values(), table[4:])))
            self.parts.append((kernel, names))
        self.time, self.job_of = np.array(self.time), np.array(self.job_of)
        self.ends = np.searchsorted(self.job_of, np.arange(len(self.jobs)))
        self.best = np.minimum.reduceat(self.time, self.ends)
        self.loss = np.log(self.time / self.best[self.job_of])

    def times(self, p):
        out = []
        for kernel, names in self.parts:
            text = expression(kernel, p).replace("weight == 'scale'", "1").replace("bias == 'add'", "1")
            reduce = lambda f: lambda *x: f(x[0], x[1]) if len(x) == 2 else f(x[0], reduce(f)(*x[1:]))
            tools = dict(names, max=reduce(np.maximum), min=reduce(np.minimum), log2=np.log2, choose=np.where)
            with np.errstate(all="ignore"):
                out.append(eval(arrays(text), {"__builtins__": {}}, tools))
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
        return first.mean() + 0.75 * math.sqrt((first**2).mean()) + 0.12 * math.sqrt((error**2).mean())

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--rounds", type=int, default=40, help="0: only judge the constants as they are")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--held", type=int, default=0, help="every Nth job is left out of the fit")
    ap.add_argument("--pack", action="store_true")
    ap.add_argument("--write", action="store_true")
    args = ap.parse_args()
    found = read_files(args.files)
    if args.pack:
        for job, times in sorted(found.items()):
            print("job %s:%s:%dx%d " % job + " ".join("%s:%.3f" % (",".join(map(str, c)), t) for c, t in times.items()))
        return
    model = Model(found)
    known = np.array([not args.held or i % args.held != 0 for i in range(len(model.jobs))])
    p, score = descend(dict(START), lambda changed: model.score(changed, known), BOUNDS, random.Random(args.seed), args.rounds)
    print(", ".join("%s=%.4g" % x for x in p.items()))
    times = model.times(p)
    first = model.firsts(times)
    for name, those in (("fitted", known), ("held out", ~known)):
        if those.any():
            print("%s: %d jobs, %d times; first: geometric mean %.4f of the best, lowest %.3f" % (
                name, those.sum(), those[model.job_of].sum(), math.exp(-first[those].mean()), math.exp(-first[those].max())))
    print("score %.4f" % score)
    for i in np.argsort(-first)[:8]:
        configs, a = list(found[model.jobs[i]]), model.ends[i]
        for what, k in (("first", np.argmin(times[a:a + len(configs)])), ("best", np.argmin(model.time[a:a + len(configs)]))):
            print("%.3f %s:%s:%dx%d %s" % ((math.exp(-first[i]),) + model.jobs[i] + (what,)),
                  " ".join("%s=%d" % x for x in zip(MACROS, configs[k])), "%.2f us, model %.2f" % (model.time[a + k], times[a + k]))
    for kernel in KERNELS if args.write else []:
        write_rank("kernels/%s/cuda.json" % kernel, expression(kernel, p))

if __name__ == "__main__":
    main()
