#!/usr/bin/env python3
"""Repeats the study of docs/BENCHMARKS.md, "Language model", from recorded answers.

    AUTOKERNEL_SPACES=FOLDER python3 bench/llm.py [--seeds 10] [--only NAME,..] [--searches]

Each conversation is `autokernel study KERNEL --device sim:RECORDING --arms ARM --seeds 1 --seed N --evals 40 (or 60)
--llm-replay bench/tapes/ID`. It needs no network, and the same answers give the same result. FOLDER has the recordings of other tuners
(their DOI is in docs/BENCHMARKS.md); without it only our own are shown. With --searches, searches without a model are
shown too: the mean over --seeds searches of 60 evaluations."""
import argparse, gzip, json, os, sqlite3, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXE = os.path.abspath(os.environ.get("AUTOKERNEL", os.path.join(HERE, "../build/release/autokernel")))
FOLDER = os.environ.get("AUTOKERNEL_SPACES", "")
# name: kernel or space, recording
RECORDINGS = {n: (n, os.path.join(HERE, "recordings/h200", n + ".json.gz")) for n in ("matmul_act", "softmax", "layernorm")}
OTHERS = {"convolution": ("convolution.json", "convolution_milo/A4000.json.gz"),
          "dedispersion": ("dedispersion.json", "dedispersion_milo/MI250X.json.gz"),
          "convolution_a100": ("convolution.json", "convolution_milo/A100.json.gz"),
          "gemm": ("gemm_clblast.json", "gemm_clblast/RTX_3090.json.gz")}
if FOLDER:
    RECORDINGS.update({n: (os.path.join(HERE, "spaces", s), os.path.join(FOLDER, r)) for n, (s, r) in OTHERS.items()})
ARMS = ("hybrid", "hybrid:apart=1", "llm", "llm-oneshot", "llm:history=0")
# Versions of the prompts:
# 1: the earliest
# 2: show which part of the space the trials cover
# 3: ask for the best guess of each kind
# 4: do not claim that nothing was gained after a reply that brought a gain
# 5: name pairs of values that explain collapses, and kinds with few trials
# 6: for kernels whose space says how they work, also say what a recording lacks
PROMPTS = {1: "", 2: ", second prompt", 3: ", third prompt", 4: ", fourth prompt", 5: ", fifth prompt", 6: ", sixth prompt"}

def with_rank(recording, rank, folder):
    """Returns the path of a copy of the recording that has the Rank with which the conversation was held."""
    with gzip.open(recording) as f:
        document = json.load(f)
    with open(os.path.join(HERE, "tapes/ranks", rank + ".txt")) as f:
        document["autokernel"]["rank"] = f.read().strip()
    copy = os.path.join(folder, os.path.basename(recording))
    with gzip.open(copy, "wt") as f:
        json.dump(document, f)
    return copy

def study(name, *options, rank=None):
    """Runs a study and returns its arms. arm["near"] has, for each run, the number of evaluations until the best was
    within 1 % of the optimum, or None if it never was."""
    kernel, recording = RECORDINGS[name]
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        recording = with_rank(recording, rank, folder) if rank else recording
        archive = os.path.join(folder, "archive.db")
        done = subprocess.run([EXE, "study", kernel, "--device", "sim:" + recording, "--archive", archive, "--json",
                               "--quiet", *map(str, options)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr.strip() or "study failed")
        result = json.loads(done.stdout)
        near = {}
        with sqlite3.connect(archive) as db:
            for run, strategy in db.execute("SELECT id, strategy FROM runs").fetchall():
                times = db.execute("SELECT ms FROM trials WHERE run = ? ORDER BY id", (run,)).fetchall()
                near.setdefault(strategy, []).append(next(
                    (i for i, (ms,) in enumerate(times, 1) if ms is not None and result["reference"] / ms >= 0.99), None))
        db.close()
    for arm in result["arms"]:
        arm["near"] = near[arm["arm"].split(":")[0]]
    return result["arms"]

def quality(arm, at):
    return next((p["quality"] for p in reversed(arm["quality"]["evaluations"]) if p["at"] <= at), 0)

def median(counts):
    """Returns the median of the counts as text. None (never reached) counts as larger than all others."""
    middle = sorted(c or 1e9 for c in counts)[len(counts) // 2]
    return "–" if middle == 1e9 else str(middle)

def spread(values):
    mean = statistics.mean(values)
    return f"{mean:.3f}" if len(values) == 1 else f"{mean:.3f} ({min(values):.3f} .. {max(values):.3f})"

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--searches", action="store_true")
    given = parser.parse_args()
    talks = json.load(open(os.path.join(HERE, "tapes/talks.json")))  # [{id, recording, arm, seed, prompt, evals, rank}]
    names = [n for n in RECORDINGS if not given.only or n in given.only.split(",")]
    print("| recording | arm | conversations | at 20 | at 40 | within 1 % after |\n" + "|---" * 6 + "|")
    for name in names:
        for kind, prompt, evals in [(k, p, e) for k in ARMS for p in PROMPTS for e in (40, 60)]:
            runs = []
            for talk in talks:
                if (talk["recording"], talk["arm"], talk.get("prompt", 1), talk.get("evals", 40)) == (name, kind, prompt, evals):
                    arm, = study(name, "--arms", kind, "--seeds", 1, "--seed", talk["seed"], "--evals", evals,
                                 "--llm-replay", os.path.join(HERE, "tapes", talk["id"]), rank=talk.get("rank"))
                    if arm["fell_back"]:
                        sys.exit(f"{talk['id']}: {arm['fell_back_because']}")
                    runs.append(arm)
            if runs:
                shown = kind + PROMPTS[prompt] + (", 60 evaluations" if evals == 60 else "")
                at_end = f"; {spread([quality(r, 60) for r in runs])} at 60" if evals == 60 else ""
                print(f"| {name} | {shown} | {len(runs)} | {spread([quality(r, 20) for r in runs])} | "
                      f"{spread([quality(r, 40) for r in runs])}{at_end} | {', '.join(str(r['near'][0] or '–') for r in runs)} |", flush=True)
        if given.searches:
            for arm in study(name, "--arms", "portfolio,local,random", "--seeds", given.seeds, "--evals", 60):
                print(f"| {name} | {arm['arm']} | {given.seeds} seeds | {quality(arm, 20):.3f} | {quality(arm, 40):.3f}; "
                      f"{quality(arm, 60):.3f} at 60 | {median(arm['near'])} (median) |", flush=True)

main()
