#!/usr/bin/env python3
"""Makes the CPU tables of docs/BENCHMARKS.md. It tunes each size, then measures the tuned configuration
and every library that applies, interleaved in one run (`autokernel compare`), and prints the ratios with
their intervals.

    python3 bench/cpu.py [--evals 60] [--seconds 12] [--only matmul,layernorm,...] [--archive FILE]
    python3 bench/cpu.py --random SEED [--threads 1]        products of 20 sizes that the seed draws

It writes bench/results/cpu-DATE.json with the raw figures, the machine and the commands."""
import argparse, datetime, json, math, os, random, subprocess, sys, tempfile

EXE = os.environ.get("AUTOKERNEL", "build/release/autokernel")
CASES = {
    "matmul": [("", s) for s in ("64", "128", "256", "512", "1024", "2048")],
    "matmul_act": [("activation=%s,bias=%s" % (a, b), s)
                   for s in ("256", "512", "1024")
                   for a, b in (("leaky_relu", "add"), ("gelu_tanh", "add"))],
    "softmax": [("", s) for s in ("rows=4096,cols=1024", "rows=1024,cols=4096", "rows=128,cols=32768",
                                  "rows=65536,cols=64")],
}
ROWS = [("", s) for s in ("rows=4096,cols=1024", "rows=16384,cols=4096", "rows=128,cols=32768", "rows=65536,cols=64")]
CASES.update(layernorm=ROWS, rmsnorm=ROWS, reduce=ROWS + [("", "rows=1,cols=67108864")])

def random_products(seed, count=20):
    """Returns sizes of matmul: M, N and K log-uniform from 16 to 4096, multiples of 8; in every fourth all three are odd."""
    draw, sizes = random.Random(seed), []
    for i in range(count):
        size = [2 ** draw.uniform(4, 12) for _ in range(3)]
        sizes.append("M=%d,N=%d,K=%d" % tuple(int(x) // 2 * 2 + 1 if i % 4 == 3 else max(16, int(x / 8 + 0.5) * 8) for x in size))
    return [("", s) for s in sizes]

def run(*argv):
    print("+ " + " ".join(argv), file=sys.stderr, flush=True)
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("failed: " + " ".join(argv))
    return json.loads(done.stdout)

def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--evals", default="60")
    ap.add_argument("--seconds", default="12")
    ap.add_argument("--only", default=",".join(CASES))
    ap.add_argument("--archive", default="")
    ap.add_argument("--output", default="")
    ap.add_argument("--random", type=int, help="seed: instead of the sizes above, 20 drawn ones of matmul")
    ap.add_argument("--threads", default="0", help="CPU threads; 0: all")
    ap.add_argument("--time", default="60", help="seconds of a search")
    ap.add_argument("--compare-only", action="store_true", help="with an --archive of an earlier run")
    args = ap.parse_args()
    archive = args.archive or os.path.join(tempfile.mkdtemp(), "bench.db")
    tables, markdown = [], []
    if args.random is not None:
        args.only, CASES["matmul"] = "matmul", random_products(args.random)
    for kernel in args.only.split(","):
        ratios, best, default = {}, {}, {} # times of the libraries, of the fastest, and of our default, by ours
        for choices, size in CASES[kernel]:
            where = ["--size", size, "--archive", archive, "--threads", args.threads] + (["--set", choices] if choices else [])
            if not args.compare_only:
                tuned = run(EXE, "tune", kernel, *where, "--evals", args.evals, "--time", args.time, "--json", "--quiet")
            table = run(EXE, "compare", kernel, *where, "--time", args.seconds + "s", "--json")
            if not args.compare_only:
                table["tuned"] = {k: tuned[k] for k in ("evaluated", "failed", "seconds")}
            tables.append(table)
            # The last configuration is the best one. If the default is the best, it is the only one.
            ours = [c for c in table["contestants"] if c["config"] is not None][-1]
            print("%s %s %s" % (kernel, table["size"], choices))
            for c in table["contestants"]:
                if c["ms"] is None:
                    print("  %-12s failed" % c["name"])
                    continue
                print("  %-34s %9.4f ms [%.4f, %.4f] %8.1f GFLOP/s %7.1f GB/s  best is %.3fx" % (
                    (c["name"] + " " + (c["version"] or ""))[:34], c["ms"], *c["ci_ms"], c["tflops"] * 1e3, c["gbs"],
                    c["ms"] / ours["ms"]))
                if c["config"] is None:
                    ratios.setdefault(c["name"] + " " + (c["version"] or ""), {})[choices + " " + size] = c["ms"] / ours["ms"]
            sys.stdout.flush()
            rows = [c for c in table["contestants"] if c["ms"] is not None and c["config"] is None]
            best[size] = min(c["ms"] for c in rows if c.get("library") != "copy") / ours["ms"] if kernel == "matmul" else 0
            default[size] = next(c for c in table["contestants"] if c["config"] is not None)["ms"] / ours["ms"]
            markdown.append("| %s %s | %.4f [%.4f, %.4f] | %s |" % (
                table["size"].replace(",", ", "), table["choices"], ours["ms"], *ours["ci_ms"],
                "; ".join("%s %s: %.4f, **%.2f**" % (c["name"], c["version"], c["ms"], c["ms"] / ours["ms"]) for c in rows)))
        for name, values in ratios.items():
            print("%s: geomean of best over %s: %.3f (%d cases)" % (kernel, name, geomean(list(values.values())), len(values)))
        if args.random is not None:
            print("matmul, %d sizes of seed %d, %s threads: geomean of best over the fastest library: %.3f, lowest %.3f; "
                  "of the default: %.3f, lowest %.3f" % (
                len(best), args.random, args.threads if args.threads != "0" else "all", geomean(list(best.values())), min(best.values()),
                geomean([best[s] / default[s] for s in best]), min(best[s] / default[s] for s in best)))
        elif kernel == "matmul":
            for name, values in ratios.items():
                for group in (("64", "128"), ("256", "512", "1024", "2048")):
                    part = [values[" " + s] for s in group if " " + s in values]
                    print("matmul {%s}: geomean of best over %s: %.3f" % (",".join(group), name, geomean(part)))
    date = datetime.date.today().isoformat()
    out = args.output or "bench/results/cpu-%s.json" % date
    with open(out, "w") as f:
        json.dump({"date": date, "command": "python3 bench/cpu.py " + " ".join(sys.argv[1:]),
                   "doctor": run(EXE, "doctor", "--json"), "tables": tables}, f, indent=1)
    print("\n".join(["", "| case | ours, ms | library: ms, ratio |", "|---|---|---|"] + markdown))
    print("raw figures: " + out)

main()
