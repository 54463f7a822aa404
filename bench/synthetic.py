#!/usr/bin/env python3
"""Writes recordings of made-up kernels from formulas: spaces on which nobody has tuned a strategy.

    bench/synthetic.py FOLDER      writes FOLDER/synthetic/NAME.json.gz, the same bytes every time

Each is a cache file of Kernel Tuner for `autokernel simulate`: a few thousand configurations of 5 to 8
parameters with conditions, in which the time follows what kernels do: occupancy steps, caches that are
full or not, alignments, interactions, a share of failures, and noise of one per cent. Costs are those
of compiling (1 to 4 s) and of measuring. Standard library only."""
import gzip, itertools, json, math, os, random, sys

def steps(value, limit):
    """Returns the factor by which the time grows because the last wave of blocks is not full."""
    return math.ceil(value / limit) * limit / value

def tiles(p):
    """Time of a tiled product: blocks that fit a cache or not, and waste at the edges."""
    work = 1 / (1 - math.exp(-p["bx"] * p["by"] / 2048)) * steps(1000 / p["bx"] + 1, 8)
    spill = 1 + max(0, p["tx"] * p["ty"] - 24) * 0.06
    return work * spill * (1 + 0.4 / p["tx"] + 0.4 / p["ty"]) * (1 if p["vec"] * p["tx"] % 4 == 0 else 1.25) * (0.93 if p["pad"] else 1)

def stencil(p):
    """Time of a stencil: more reuse leaves less parallelism; prefetching helps only without shared memory."""
    threads = p["bx"] * p["by"]
    reuse = 1 + 3 / p["steps"] + (0.08 * p["steps"] ** 1.5 if p["shared"] else 0.3 * p["steps"])
    return reuse * (1 + abs(math.log2(threads / 256)) * 0.2) * (0.9 if p["prefetch"] and not p["shared"] else 1.05) * (1 + (p["bx"] % 32 > 0) * 0.3) * (1 + abs(p["unroll"] - p["steps"]) * 0.03)

def names(p):
    """Time of a kernel whose choices have no order, so that neighbours have unrelated times."""
    draw = random.Random(f'{p["method"]}/{p["layout"]}/{p["compiler"]}')
    return (1 + draw.random()) * (1 + 0.5 * abs(math.log2(p["block"]) - 6.5 - p["method"] % 3)) * (1 + 0.1 * (p["flags"] % 5))

def needle(p):
    """Time with a wide valley, and elsewhere a narrow and much deeper one."""
    far = abs(p["a"] - 11) + abs(p["b"] - 7) + abs(p["c"] - 3)
    valley = 2 + 0.1 * math.hypot(p["a"] - 4, p["b"] - 13) + 0.05 * p["c"]
    return min(valley, 1 + 0.35 * far) * (1.1 if p["d"] else 1)

POWERS = lambda low, high: [2 ** i for i in range(low, high + 1)]
SPACES = {
    "tiles": (tiles, {"bx": POWERS(3, 8), "by": POWERS(0, 6), "tx": [1, 2, 3, 4, 6, 8], "ty": [1, 2, 3, 4, 6, 8], "vec": [1, 2, 4], "pad": [0, 1]},
              lambda p: 32 <= p["bx"] * p["by"] <= 1024 and p["tx"] * p["ty"] <= 48),
    "stencil": (stencil, {"bx": [16, 24, 32, 48, 64, 96, 128, 256], "by": [1, 2, 3, 4, 6, 8, 16], "steps": [1, 2, 3, 4, 5, 6], "shared": [0, 1], "prefetch": [0, 1], "unroll": [1, 2, 4, 6]},
                lambda p: p["bx"] * p["by"] <= 1024 and p["unroll"] <= p["steps"]),
    "names": (names, {"method": list(range(8)), "layout": ["row", "column", "tiled", "swizzled"], "compiler": ["a", "b", "c"], "block": POWERS(3, 9), "flags": list(range(6))},
              lambda p: not (p["layout"] == "swizzled" and p["block"] < 32)),
    "needle": (needle, {"a": list(range(16)), "b": list(range(16)), "c": list(range(8)), "d": [0, 1]}, lambda p: (p["a"] + p["b"]) % 3 != 1),
}

def cache(name):
    formula, parameters, valid = SPACES[name]
    rng = random.Random(name)  # seeded by a text, it is the same in every version of Python
    entries = {}
    for values in itertools.product(*parameters.values()):
        p = dict(zip(parameters, values))
        if not valid(p):
            continue
        one = dict(p, compile_time=1000 + 3000 * rng.random(), benchmark_time=0.0, framework_time=1.0, strategy_time=0.0, verification_time=5.0)
        time = 2 * formula(p) * rng.lognormvariate(0, 0.01)
        if rng.random() < 0.04:
            one["time"] = "CompilationFailedConfig" if rng.random() < 0.5 else "RuntimeFailedConfig"
        else:
            one.update(time=time, benchmark_time=200 + 32 * time)
        entries[",".join(map(str, values))] = one
    return {"device_name": "synthetic", "kernel_name": name, "problem_size": [1], "tune_params_keys": list(parameters),
            "tune_params": parameters, "objective": "time", "cache": entries}

def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = os.path.join(sys.argv[1], "synthetic")
    os.makedirs(folder, exist_ok=True)
    for name in SPACES:
        with open(os.path.join(folder, name + ".json.gz"), "wb") as file:
            file.write(gzip.compress(json.dumps(cache(name)).encode(), 9, mtime=0))
        print(os.path.join(folder, name + ".json.gz"))

if __name__ == "__main__":
    main()
