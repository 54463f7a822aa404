"""Kernel Tuner 1.5.0 and autokernel read each other's files.

Runs in an empty folder, with Kernel Tuner's C backend, which needs no GPU. Usage: exchange.py EXECUTABLE
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import kernel_tuner
import numpy as np
from kernel_tuner.file_utils import get_input_file, store_metadata_file, store_output_file
from kernel_tuner.observers import BenchmarkObserver
from kernel_tuner.searchspace import Searchspace

warnings.simplefilter("ignore")
EXECUTABLE = sys.argv[1]
SOURCE = """
#include <time.h>
#if UNROLL == 4
#error uses too much shared data
#endif
float add(float *c, float *a, float *b, int n)
{
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < n; i++) {
        c[i] = a[i] + b[i];
    }
    clock_gettime(CLOCK_MONOTONIC, &t1);
    return (t1.tv_sec - t0.tv_sec) * 1e3f + (t1.tv_nsec - t0.tv_nsec) / 1e6f;
}
"""
PARAMETERS = {"UNROLL": [1, 2, 4], "share": [0.5, 1e-05], "fast": [True, False], "opt": ["O1", "it's"]}
N = np.int32(1000)
A = np.arange(N, dtype=np.float32)


def ours(*arguments, code=0):
    """Runs autokernel; its output, standard error included."""
    done = subprocess.run([EXECUTABLE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == code, f"autokernel {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def theirs(cache, parameters, size=1000, kernel="add", source=SOURCE, **options):
    """Runs Kernel Tuner, which prints what fails."""
    arguments = [np.zeros_like(A), A, A, N]
    with contextlib.redirect_stdout(io.StringIO()):
        return kernel_tuner.tune_kernel(kernel, source, size, arguments, parameters, lang="C", compiler="gcc", quiet=True,
                                        answer=[A + A, None, None, None], cache=cache, **options)[0]


class Watts(BenchmarkObserver):
    """An observer with a list for a result; each third launch fails."""
    launches = 0

    def get_results(self):
        self.launches += 1
        if self.launches % 3 == 0:
            raise RuntimeError("too many resources requested for launch")
        return {"powers": [1.0, 2.5], "energy": 2.5}


def write_files():
    """All kinds of caches and T4 files that the C backend gives: configurations and those that worked."""
    small = {"UNROLL": [1, 2, 4], "share": [0.5, 1e-05], "opt": ["it's"]}
    results = theirs("plain.json", small)
    store_output_file("plain_t4.json", results, small)
    store_metadata_file("plain_metadata.json")
    theirs("restricted.json", PARAMETERS, (1000, 1), restrictions=["UNROLL < 4", "not fast or share > 0.1", "opt == 'O1'"])
    odd = {"rate": lambda p: 1 / p["time"], "nothing": lambda p: float("nan"), "all": lambda p: float("inf")}
    usable = {"UNROLL": [1, 2], "share": [0.5, 1e-05]}
    results = theirs("metrics.json", usable, metrics=odd, objective="rate", objective_higher_is_better=True)
    store_output_file("metrics_t4.json", results, usable, objective="rate")
    theirs("no_number.json", usable, objective="power", objective_higher_is_better=False,
           metrics={"power": lambda p: float("nan") if p["UNROLL"] == 2 else p["time"]})
    theirs("observed.json", {"UNROLL": [1, 2], "share": [0.5, 1e-05]}, observers=[Watts()])
    theirs("several.json", usable, metrics={"cost": lambda p: p["time"] * 3}, strategy="nsga2",
           objective=["cost", "time"], objective_higher_is_better=[False, False], strategy_options={"popsize": 4, "max_fevals": 4})
    theirs("function.json", usable, lambda p: (1000, 1, 1))
    theirs("expression.json", usable, ("1000 * UNROLL", 1))
    text = open("plain.json").read()
    open("stopped.json", "w").write(text[:text.index('"2,0.5') + 40])
    open("appended.json", "w").write(text.rstrip()[:-3] + ",")


FILES = {  # file: (configurations, those that worked)
    "plain.json": (6, 4), "plain_t4.json": (6, 4), "restricted.json": (6, 6), "metrics.json": (4, 4), "metrics_t4.json": (4, 4),
    "no_number.json": (4, 2), "observed.json": (4, None), "several.json": (None, None), "function.json": (4, 4),
    "expression.json": (4, 4), "stopped.json": (2, 2), "appended.json": (6, 4),
}


def check_reading(name, configurations, ok):
    printed = ours("simulate", name, "--strategy", "random", "--repeats", "2", "--json")
    cut = "ends in the middle of an entry"
    assert (cut in printed) == (name == "stopped.json"), (name, printed)
    recording = json.loads(printed[printed.index("{"):])["recordings"][0]
    assert configurations in (None, recording["configurations"]), (name, recording)
    assert ok in (None, recording["ok"]), (name, recording)
    assert 0 < recording["ok"] <= recording["configurations"], (name, recording)
    ours("tune", name, "--device", "sim", "--evals", "3", "--quiet", "--archive", "sim.db")
    ours("study", name, "--seeds", "2", "--evals", "3")
    form = "t4" if "_t4" in name else "kernel-tuner"
    added = ours("import", name, "--format", form, "--archive", name + ".db")
    assert f"added {recording['configurations']} trials" in added, added
    trials = json.loads(ours("history", "--json", "--archive", name + ".db"))
    assert len(trials) == recording["configurations"], name
    if name != "no_number.json":  # there the time is a number, and only the objective is not
        assert sum(t["status"] == "ok" for t in trials) == recording["ok"], name
    ours("stats", "--archive", name + ".db")
    print(f"ok {name}: {recording['configurations']} configurations, {recording['ok']} of them ok, objective {recording['objective']}")


def check_resuming():
    """Kernel Tuner's cache, imported and exported, with two more values: only these are compiled."""
    ours("import", "plain.json", "--format", "kernel-tuner", "--archive", "resume.db")
    ours("export", "add", "--format", "kernel-tuner", "--archive", "resume.db", "--output", "resumed.json")
    more = {"UNROLL": [1, 2, 4], "share": [0.5, 1e-05, 3.0], "opt": ["it's"]}
    before = json.load(open("resumed.json"))["cache"]
    results = theirs("resumed.json", more)
    after = json.load(open("resumed.json"))["cache"]
    assert len(results) + sum("__error__" in v for v in after.values()) >= 6
    assert len(before) == 6 and len(after) == 9 and all(after[key] == before[key] for key in before), after.keys()
    check_reading("resumed.json", 9, 6)


def check_resuming_ours():
    """Trials of ours on the host, in full: Kernel Tuner has nothing left to compile."""
    ours("new", "kernel", "mine")
    ours("tune", "./mine", "--size", "n=4096", "--fix", "COMPILER=gcc,THREADS=1,OPT_LEVEL=3", "--strategy", "exhaustive",
         "--evals", "4", "--archive", "mine.db", "--quiet", "--libraries", "none")
    ours("export", "mine", "--format", "kernel-tuner", "--archive", "mine.db", "--output", "mine.json")
    cache = json.load(open("mine.json"))
    results = theirs("mine.json", cache["tune_params"], (4096,), "mine", "#error nothing is left to compile\nfloat mine() {}")
    ours_ms = {key: entry["time"] for key, entry in cache["cache"].items()}
    theirs_ms = {",".join(str(r[p]) for p in cache["tune_params_keys"]): r["time"] for r in results}
    assert len(results) == 4 and theirs_ms == ours_ms, (theirs_ms, ours_ms)
    # Read back, they are trials on the host again.
    ours("import", "mine.json", "--format", "kernel-tuner", "--archive", "back.db")
    assert {t["device"] for t in json.loads(ours("history", "--json", "--archive", "back.db"))} == {"host"}
    print("ok resumed: a cache of ours, 4 configurations, none compiled again")


def check_t1():
    """Spaces with sizes and devices resolved pass the schema and hold as many configurations there as here."""
    for kernel, options, count in (("softmax", [], True), ("reduce", ["--size", "rows=3,cols=70"], True), ("./mine", [], True),
                                   ("reduce", ["--device", "cuda:H200"], True), ("matmul", ["--device", "cuda:H200"], False)):
        ours("export", kernel, *options, "--format", "t1", "--output", "space_t1.json", "--force")
        document = get_input_file(Path("space_t1.json"))  # refuses what the schema does
        space = document["ConfigurationSpace"]
        known = json.loads(ours("list", kernel, *options, "--json"))["valid"]
        again = json.loads(ours("list", "./space_t1.json", "--json"))["valid"]
        assert again == known, (kernel, again, known)
        if count:
            parameters = {p["Name"]: eval(p["Values"]) for p in space["TuningParameters"]}
            found = Searchspace(parameters, [c["Expression"] for c in space["Conditions"]], 1024).size
            assert found == known, (kernel, found, known)
        print(f"ok T1 of {kernel} {' '.join(options)}: {known} configurations")


def main():
    os.environ["AUTOKERNEL_ARCHIVE"] = os.path.abspath("archive.db")
    write_files()
    for name, (configurations, ok) in FILES.items():
        check_reading(name, configurations, ok)
    refused = ours("simulate", "plain_metadata.json", "--strategy", "random", code=2)
    assert refused.count("\n") == 1 and "is not a recording" in refused, refused
    check_resuming()
    check_resuming_ours()
    check_t1()


main()
