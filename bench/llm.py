#!/usr/bin/env python3
"""The study of docs/BENCHMARKS.md, "Language model": a capable model in conversation, from its tapes, beside searches
without one.

    AUTOKERNEL_SPACES=FOLDER python3 bench/llm.py [--seeds 20] [--only NAME,..]

Each conversation is `autokernel study RECORDING --arms ARM --seeds 1 --seed N --evals 40 --llm-replay bench/tapes/NAME`:
no network, the same answers, the same result. FOLDER has the recordings of other tuners (their DOI is in
docs/BENCHMARKS.md); without it only our own are shown. The others are the mean over --seeds searches of 60 evaluations."""
import argparse, json, os, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXE = os.path.abspath(os.environ.get("AUTOKERNEL", os.path.join(HERE, "../build/release/autokernel")))
os.environ.setdefault("AUTOKERNEL_ARCHIVE", os.path.join(tempfile.mkdtemp(prefix="bench"), "archive.db"))
OTHERS = {"convolution-A100": "convolution_milo/A100.json.gz", "convolution-A4000": "convolution_milo/A4000.json.gz",
          "dedispersion-A100": "dedispersion_milo/A100.json.gz", "dedispersion-MI250X": "dedispersion_milo/MI250X.json.gz",
          "gemm-3090": "gemm_clblast/RTX_3090.json.gz", "pnpoly-3090": "pnpoly/RTX_3090.json.gz"}
OWN = {"softmax-host": "softmax.json.gz", "matmul-host": "matmul.json.gz", "matmul_act-host": "matmul_act.json.gz"}

def study(recording, *options):
    done = subprocess.run([EXE, "study", recording, "--json", "--quiet", *map(str, options)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or "study failed")
    return json.loads(done.stdout)["arms"]

def quality(arm, at):
    return next(p["quality"] for p in reversed(arm["quality"]["evaluations"]) if p["at"] <= at)

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    folder = os.environ.get("AUTOKERNEL_SPACES", "")
    recordings = {n: os.path.join(folder, f) for n, f in OTHERS.items() if folder}
    recordings.update({n: os.path.join(HERE, "recordings", f) for n, f in OWN.items()})
    talks = json.load(open(os.path.join(HERE, "tapes/talks.json")))  # name: {arm: [seed, ...]}
    sums = {}
    print("| recording | conversations | hybrid at 20 | hybrid at 40 | portfolio at 40 | portfolio at 60 | local at 60 | random at 60 |")
    print("|" + "---|" * 8)
    for name, path in recordings.items():
        seeds = talks.get(name, {}).get("hybrid", [])
        if not seeds or (given.only and name not in given.only.split(",")):
            continue
        runs = []
        for seed in seeds:
            arm, = study(path, "--arms", "hybrid", "--seeds", 1, "--seed", seed, "--evals", 40,
                         "--llm-replay", os.path.join(HERE, "tapes", name))
            if arm["fell_back"]:
                sys.exit(f"{name}, seed {seed}: {arm['fell_back_because']}")
            runs.append(arm)
        base = {a["arm"]: a for a in study(path, "--arms", "random,local,portfolio", "--seeds", given.seeds, "--evals", 60)}
        at = {n: [quality(r, n) for r in runs] for n in (20, 40)}
        row = [statistics.mean(at[20]), statistics.mean(at[40]), quality(base["portfolio"], 40), quality(base["portfolio"], 60),
               quality(base["local"], 60), quality(base["random"], 60)]
        for i, value in enumerate(row):
            sums.setdefault(i, []).append(value)
        print(f"| {name} | {len(runs)} | {row[0]:.3f} | {row[1]:.3f} ({min(at[40]):.3f} .. {max(at[40]):.3f}) | "
              + " | ".join(f"{v:.3f}" for v in row[2:]) + " |", flush=True)
    if sums:
        print("| mean | | " + " | ".join(f"**{statistics.mean(sums[i]):.3f}**" for i in range(6)) + " |")

main()
