#!/usr/bin/env python3
"""Scores every strategy on every recording (docs/formats.md, Recordings), by simulation.

    bench/strategies.py [--recordings FOLDER|FILE ...] [--strategies 'a;b:x=1'] [--repeats 25] [--seed 0]
        scores all, prints a table and writes bench/results/strategies.csv:
        recording, strategy, repeats, seed, score, ms_per_proposal, date, version
    bench/strategies.py --check FILE.csv
        runs the rows of FILE.csv (strategy, repeats, seed, score, noise) again on the recordings of
        this repository, and fails where the mean score is lower than the row's by more than `noise`.
        The seeds are the row's, so a strategy that was not changed has exactly the same score;
        `noise` is how much the score of a changed one may vary by chance.
    bench/strategies.py --calibrate FILE.csv
        writes such a file: scores, and as noise three times their standard deviation over 12 seeds,
        which is twice that of the difference of two scores.

Recordings of our own kernels are searched as `tune` searches, with the default and the rank of the
kernel's space file. `random` has a second row with 1,000 repeats, because scores of 25 vary by 0.05.

Recordings are named by their last two path components, without endings. AUTOKERNEL is the executable
(default build/release/autokernel), AUTOKERNEL_SPACES a folder of further recordings. Standard library
only."""
import argparse, csv, datetime, json, os, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = os.path.join(HERE, "recordings")
EXE = os.environ.get("AUTOKERNEL", os.path.join(HERE, "..", "build", "release", "autokernel"))
os.environ.setdefault("AUTOKERNEL_ARCHIVE", os.path.join(tempfile.mkdtemp(prefix="bench"), "archive.db"))
SEEDS = 12  # of a calibration; they give the standard deviation to about a fifth

def run(*argv):
    done = subprocess.run([EXE, *argv], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("failed: " + " ".join([EXE, *argv]))
    return done.stdout

def find(places):
    """Returns the files below `places` (files or folders) that `autokernel simulate` accepts, without those of the device T4."""
    found = []
    for place in places:
        names = [place] if os.path.isfile(place) else sorted(
            os.path.join(folder, name) for folder, _, files in os.walk(place) for name in files)
        found += [n for n in names if n.endswith((".json", ".json.gz")) and "_T4" not in n]
    return [n for n in found if subprocess.run(
        [EXE, "simulate", n, "--strategy", "random", "--repeats", "1"], capture_output=True).returncode == 0]

def name_of(path):
    parts = os.path.abspath(path).split(os.sep)[-2:]
    return "/".join([parts[0], parts[1].split(".")[0]])

def find_own():
    return sorted(os.path.join(OWN, n) for n in os.listdir(OWN) if n.endswith(".json.gz"))

def space_of(path):
    """Returns the option for the space file, kernels/NAME/host.json, of a recording of this repository; else none."""
    kernel = os.path.basename(path).split(".")[0]
    own = os.path.dirname(os.path.abspath(path)) == OWN
    return ["--space", os.path.join(HERE, "..", "kernels", kernel, "host.json")] if own else []

def simulate(path, strategy, repeats, seed):
    out = json.loads(run("simulate", path, *space_of(path), "--strategy", strategy, "--repeats", str(repeats),
                         "--seed", str(seed), "--score", "--json"))
    if out["score"] is None:
        sys.exit(f"{path}: cannot be scored")
    return out["score"], out["ms_per_proposal"]

# These strategies ask a language model. Without one they fall back to others, which have rows of their own.
ASKING = ("llm", "llm-oneshot", "hybrid")

def all_strategies():
    names = [s["name"] for s in json.loads(run("list", "--json"))["strategies"]]
    return [n for n in names if n not in ASKING]

def write(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)

def board(args):
    paths = find(args.recordings)
    if not paths:
        sys.exit("no recording found in " + " ".join(args.recordings))
    version = run("--version").split()[-1]
    date = datetime.date.today().isoformat()
    rows = []
    print("strategy".ljust(28) + "".join(name_of(p)[-20:].rjust(22) for p in paths) + "mean".rjust(8) + "ms".rjust(9))
    wanted = args.strategies.split(";") if args.strategies else all_strategies()
    for strategy, repeats in [(s, args.repeats) for s in wanted] + ([("random", 1000)] if "random" in wanted else []):
        scores, costs = [], []
        for path in paths:
            score, ms = simulate(path, strategy, repeats, args.seed)
            scores.append(score)
            costs.append(ms)
            rows.append(dict(recording=name_of(path), strategy=strategy, repeats=repeats, seed=args.seed,
                             score=f"{score:.4f}", ms_per_proposal=f"{ms:.4f}", date=date, version=version))
        print(f"{strategy}, {repeats}".ljust(28) + "".join(f"{s:22.3f}" for s in scores) +
              f"{statistics.mean(scores):8.3f}{statistics.mean(costs):9.4f}", flush=True)
    write(args.output, rows)
    print("written: " + os.path.relpath(args.output))

def mean_score(strategy, repeats, seed):
    """Returns the mean score on the recordings of this repository, and the mean milliseconds of a proposal."""
    found = [simulate(path, strategy, repeats, seed) for path in find_own()]
    return statistics.mean(score for score, _ in found), statistics.mean(ms for _, ms in found)

def calibrate(args):
    rows = []
    for strategy in args.strategies.split(";") if args.strategies else all_strategies():
        scores = [mean_score(strategy, args.repeats, args.seed + i)[0] for i in range(SEEDS)]
        rows.append(dict(strategy=strategy, repeats=args.repeats, seed=args.seed, score=f"{scores[0]:.6f}",
                         noise=f"{3 * statistics.stdev(scores):.4f}"))
        print(", ".join(map(str, rows[-1].values())), flush=True)
    write(args.calibrate, rows)

def check(args):
    bad, same, known = 0, 0, all_strategies()
    rows = list(csv.DictReader(open(args.check)))
    for row in rows:
        if row["strategy"].split(":")[0] not in known:
            continue  # the strategy does not exist any more
        score, _ = mean_score(row["strategy"], int(row["repeats"]), int(row["seed"]))
        wanted, noise = float(row["score"]), float(row["noise"])
        same += abs(score - wanted) < 1e-5
        if score < wanted - max(noise, 1e-5):
            bad += 1
            print(f"{row['strategy']} scores {score:.4f}; it was {wanted:.4f}, with a noise of {noise:.4f}")
    for name in sorted(set(known) - {row["strategy"].split(":")[0] for row in rows}):
        print(f"{name} has no row in {os.path.relpath(args.check)} yet: --calibrate adds it")
    print(f"{len(rows)} scores: {same} as they were, {bad} too low")
    return 1 if bad else 0

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    spaces = [os.environ["AUTOKERNEL_SPACES"]] if os.environ.get("AUTOKERNEL_SPACES") else []
    ap.add_argument("--recordings", nargs="+", default=[OWN] + spaces)
    ap.add_argument("--strategies", help="with ';' between them; default: all")
    ap.add_argument("--repeats", type=int, default=25)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--output", default=os.path.join(HERE, "results", "strategies.csv"))
    ap.add_argument("--check")
    ap.add_argument("--calibrate")
    args = ap.parse_args()
    if args.check:
        return check(args)
    return calibrate(args) if args.calibrate else board(args)

if __name__ == "__main__":
    sys.exit(main())
