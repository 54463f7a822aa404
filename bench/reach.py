#!/usr/bin/env python3
"""Measures how many evaluations the default strategy needs. Each case begins with a very long search: many random
evaluations, then `portfolio`, which continues from them. Short runs of the default strategy with other seeds follow
(--runs). At the end the best of each run is measured, interleaved with the best of the long search.

    python3 bench/reach.py [--long 1500] [--evals 60] [--runs 3]"""
import argparse, datetime, json, os, subprocess, sys, tempfile

EXE = os.environ.get("AUTOKERNEL", "build/release/autokernel")
CASES = [("matmul", "256"), ("softmax", "rows=65536,cols=64"), ("matmul", "1024"), ("matmul_act", "512")]

def run(*argv):
    print("+ " + " ".join(argv), file=sys.stderr, flush=True)
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("failed: " + " ".join(argv))
    return json.loads(done.stdout)

def text(config):
    return ",".join("%s=%s" % kv for kv in config.items())

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--long", default="1500")
    ap.add_argument("--evals", default="60")
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--seconds", default="12")
    ap.add_argument("--output", default="")
    ap.add_argument("--cases", default="", help="indices, as 0,2")
    args = ap.parse_args()
    chosen = [CASES[int(i)] for i in args.cases.split(",")] if args.cases else CASES
    results = []
    for kernel, size in chosen:
        base = [kernel, "--size", size, "--json", "--quiet"]
        archive = os.path.join(tempfile.mkdtemp(), "reach.db")
        run(EXE, "tune", *base, "--archive", archive, "--strategy", "random", "--evals", args.long)
        best = run(EXE, "tune", *base, "--archive", archive, "--evals", str(int(args.long) // 5), "--resume")
        candidates = ["--config", text(best["best"]["config"])]
        for seed in range(1, args.runs + 1):
            short = os.path.join(tempfile.mkdtemp(), "short.db")
            r = run(EXE, "tune", *base, "--archive", short, "--evals", args.evals, "--seed", str(seed))
            candidates += ["--config", text(r["best"]["config"])]
        comparison = run(EXE, "bench", kernel, "--size", size, "--json", "--baselines", "--time", args.seconds + "s", *candidates)
        rows = [c for c in comparison["contestants"] if c["config"] is not None]
        fastest = min(c["ms"] for c in rows)
        reached = [fastest / c["ms"] for c in rows]
        results.append({"kernel": kernel, "size": size, "long": args.long, "evals": args.evals, "reached": reached, "rows": rows})
        print("%s %s: long search %.4f ms (%.3f of the fastest); %s evaluations reach %s" % (
            kernel, size, rows[0]["ms"], reached[0], args.evals, ", ".join("%.3f" % x for x in reached[1:])), flush=True)
    out = args.output or "bench/results/reach-%s.json" % datetime.date.today().isoformat()
    with open(out, "w") as f:
        json.dump({"date": datetime.date.today().isoformat(), "command": "python3 bench/reach.py " + " ".join(sys.argv[1:]),
                   "results": results}, f, indent=1)
    print("raw figures: " + out)

main()
