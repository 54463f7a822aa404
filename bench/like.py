#!/usr/bin/env python3
"""Compares short searches with and without a list of what was best elsewhere (docs/strategies.md).

    bench/like.py FOLDER [--evals 30,45,60,0] [--repeats 1000] [--only TEXT] [--output FILE.csv]
        replays `portfolio` on every recording below FOLDER, at each number of evaluations (0: until the
        score ends), without a list and with these:
            sister     the recording of another device in the same folder, in turn
            slower     the slower half of that recording, or of the recording itself if it has no sister
            made-up    a kernel with the same parameters: times are random effects of values and pairs
        prints scores, and what each list adds to the score without one, and writes all as FILE.csv:
        recording, list, evals, score, error, less_none, less_none_error, scores of the batches, date, version
    bench/like.py --compare BEFORE.csv AFTER.csv
        prints the differences between two such files, batch by batch

Scores are means of batches of 100 repeats, batch k with seed k, so that cells of equal budgets are paired;
errors are standard errors of these means. AUTOKERNEL is the executable (default build/release/autokernel).
Standard library only."""
import argparse, csv, datetime, gzip, json, math, os, random, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXE = os.environ.get("AUTOKERNEL", os.path.join(HERE, "..", "build", "release", "autokernel"))
os.environ.setdefault("AUTOKERNEL_ARCHIVE", os.path.join(tempfile.mkdtemp(prefix="bench"), "archive.db"))
BATCH = 100

def run(*argv):
    return subprocess.run([EXE, *argv], stdout=subprocess.PIPE, text=True, check=True).stdout

def find(folder):
    """Returns a dictionary of recordings: the last two components of the path, without endings, and the path."""
    found = {}
    for place, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            path = os.path.join(place, name)
            if name.endswith(".json.gz") and "_T4" not in name:
                found[os.path.basename(place) + "/" + name.split(".")[0]] = path
    return found

def measured(entry):
    return isinstance(entry.get("time"), (int, float)) and 0 < entry["time"] < 1e19

def write_list(path, recording, cache):
    with open(path, "w") as file:
        json.dump({**recording, "cache": cache}, file)
    return path

def slower_half(recording):
    cache = recording["cache"]
    order = sorted((k for k in cache if measured(cache[k])), key=lambda k: cache[k]["time"])
    fast = set(order[:len(order) // 2])
    return {k: v for k, v in cache.items() if k not in fast}

def made_up(recording, seed):
    rng = random.Random(seed)
    vary = [k for k, values in recording["tune_params"].items() if len(values) > 1]
    single, pair = {}, {}
    def time_of(entry):
        sum = 0.0
        for i, a in enumerate(vary):
            sum += single.setdefault((a, entry[a]), rng.gauss(0, 0.3))
            for b in vary[i + 1:]:
                sum += pair.setdefault((a, entry[a], b, entry[b]), rng.gauss(0, 0.15))
        return math.exp(sum)
    return {k: {**v, "time": time_of(v)} for k, v in recording["cache"].items() if measured(v)}

def lists_of(name, found, folder):
    """Returns pairs of the name and the path of each list; the first, "none", has the path None."""
    places = sorted(n for n in found if n.split("/")[0] == name.split("/")[0])
    sister = places[(places.index(name) + 1) % len(places)]
    with gzip.open(found[sister], "rt") as file:
        recording = json.load(file)
    for entry in recording["cache"].values():
        entry.pop("times", None)
    base = os.path.join(folder, sister.replace("/", "-"))
    lists = [("none", None)] + ([("sister", found[sister])] if sister != name else [])
    return lists + [("slower", write_list(base + "-slower.json", recording, slower_half(recording))),
                    ("made-up", write_list(base + "-made-up.json", recording, made_up(recording, name)))]

def score(path, like, evals, seed):
    more = (["--like", like] if like else []) + (["--evals", str(evals)] if evals else [])
    return json.loads(run("simulate", path, *more, "--strategy", "portfolio", "--repeats", str(BATCH), "--seed",
                          str(seed), "--jobs", "1", "--score", "--json"))["score"]

def mean(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))

def table(args):
    found, rows = find(args.folder), []
    version, date = run("--version").split()[-1], datetime.date.today().isoformat()
    batches = max(2, math.ceil(args.repeats / BATCH))
    with tempfile.TemporaryDirectory() as folder:
        for name, path in ((n, p) for n, p in found.items() if args.only in n):
            lists = lists_of(name, found, folder)
            for evals in map(int, args.evals.split(",")):
                none = None
                for like, file in lists:
                    scores = [score(path, file, evals, seed) for seed in range(batches)]
                    none = none or scores
                    at, error = mean(scores)
                    less, less_error = mean([a - b for a, b in zip(scores, none)])
                    rows.append(dict(recording=name, list=like, evals=evals, score=f"{at:.4f}",
                                     error=f"{error:.4f}", less_none=f"{less:.4f}", less_none_error=f"{less_error:.4f}",
                                     scores=" ".join(f"{s:.4f}" for s in scores), date=date, version=version))
                    print(f"{name:28}{like:10}{evals:5}{at:9.3f} ± {error:.3f}{less:9.3f} ± {less_error:.3f}", flush=True)
    with open(args.output, "w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)

def compare(before, after):
    with open(before) as file:
        old = {(r["recording"], r["list"], r["evals"]): r for r in csv.DictReader(file)}
    with open(after) as file:
        for r in csv.DictReader(file):
            was = old.get((r["recording"], r["list"], r["evals"]))
            if was:
                pairs = zip(map(float, r["scores"].split()), map(float, was["scores"].split()))
                less, error = mean([a - b for a, b in pairs])
                print(f"{r['recording']:28}{r['list']:10}{r['evals']:>5}{float(was['score']):9.3f}{float(r['score']):9.3f}"
                      f"{less:9.3f} ± {error:.3f}")

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", nargs="?", default=os.environ.get("AUTOKERNEL_SPACES"))
    ap.add_argument("--evals", default="30,45,60,0")
    ap.add_argument("--repeats", type=int, default=1000)
    ap.add_argument("--only", default="")
    ap.add_argument("--output", default="like.csv")
    ap.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    args = ap.parse_args()
    if args.compare:
        return compare(*args.compare)
    if not args.folder:
        ap.error("name the folder of the recordings")
    return table(args)

if __name__ == "__main__":
    sys.exit(main())
