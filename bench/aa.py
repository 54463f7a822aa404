#!/usr/bin/env python3
"""The A/A study of docs/BENCHMARKS.md. It measures how often a comparison shows identical code as faster
or slower, on an idle machine and beside busy loops, and how often it finds code that really is faster.

    python3 bench/aa.py [--loads 0,1,4] [--finishes 200] [--limit 570] [--power 3,5,10] [--power-finishes 50]

Each finish is a comparison of two configurations without libraries by `autokernel compare --repeats`.
This compiles once and starts new processes for each comparison, which gets as much time as a finish of
`tune` gives to two candidates. Four cases are measured in turns: one configuration of a kernel twice;
two configurations that compile to the same machine code in two files; and the default of matmul at 256
twice, on all processors and on one. To measure how often a real difference is found (the power of the
test), a configuration does 3, 5 or 10 % more of the same work.

--limit is the longest time that one load may take, in seconds. The script writes
bench/results/aa-DATE.json and prints the tables. While it measures an idle machine, nothing else may run
there, not even an editor that compiles."""
import argparse, datetime, json, math, os, platform, signal, statistics, subprocess, sys, tempfile, time

EXE = os.path.abspath(os.environ.get("AUTOKERNEL", "build/release/autokernel"))
# For two candidates, 0.7 s each (AK_FINISH_SECONDS of src/tuner/run.h). The control runs within this time.
SECONDS = 1.4

PROBLEM = {
    "schema": 1, "name": "aa", "description": "a polynomial of each element",
    "sizes": [{"name": "n", "default": 32768, "description": "elements"}],
    "dtypes": ["f32"], "choices": [],
    "arguments": [
        {"name": "X", "dtype": "dtype", "shape": ["n"], "access": "in", "fill": "uniform(-1,1)"},
        {"name": "Z", "dtype": "dtype", "shape": ["n"], "access": "out"}],
    "flops": "32*n", "bytes": "2*n*dtype_bytes", "reference": "reference.c",
    "tolerance": {"f32": {"relative": "64*eps", "rms": "64*eps"}},
    "awkward": [{"n": 1}, {"n": 33}, {"n": 1025}],
}
SPACE = {
    "ConfigurationSpace": {"TuningParameters": [
        {"Name": "MORE", "Type": "int", "Values": [0, 3, 5, 10], "Default": 0,
         "Description": "per cent of the work that is done a second time"},
        {"Name": "TWIN", "Type": "int", "Values": [0, 1], "Default": 0,
         "Description": "changes nothing but the name"}]},
    "KernelSpecification": {
        "Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
        "CompilerOptions": ["-std=gnu17", "-fPIC", "-O3", "-march=native"],
        "Workspace": "0", "Threads": "cpu_threads"},
}
POLYNOMIAL = "".join("    y = y * x + %d.0 / 16;\n" % (i % 5 + 1) for i in range(16))
HOST = """typedef struct work {
    int64_t n;
    const float *x;
    float *z;
} work;

static void part(float *restrict z, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
    float x = from[i], y = 0.5f;
%s    z[i] = y;
    }
    __asm__ volatile("" : : "r"(z) : "memory");
}

static void task(void *context, int thread, int threads)
{
    const work *w = context;
    int64_t begin = w->n * thread / threads, end = w->n * (thread + 1) / threads;
    part(w->z + begin, w->x + begin, end - begin);
    part(w->z + begin, w->x + begin, (end - begin) * MORE / 100);
}

void ak_kernel(const ak_host_call *call)
{
    work w = {call->size[0], call->arg[0], call->arg[1]};
    call->parallel(call->pool, call->threads, task, &w);
}
""" % POLYNOMIAL.replace(".0 / 16", ".0f / 16")
REFERENCE = """void ak_reference(const ak_host_call *call)
{
    const double *from = call->arg[0];
    double *z = call->arg[1];
    for (int64_t i = 0; i < call->size[0]; i++) {
    double x = from[i], y = 0.5;
%s    z[i] = y;
    }
}
""" % POLYNOMIAL


def make_kernel(folder):
    os.mkdir(folder)
    for name, text in (("problem.json", json.dumps(PROBLEM, indent=2)), ("host.json", json.dumps(SPACE, indent=2)),
                       ("host.c", HOST), ("reference.c", REFERENCE)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)


class Comparison:
    """A process of `autokernel compare --repeats`, which compiles once and starts new processes for each comparison."""
    def __init__(self, kernel, size, threads, first, second, seconds):
        self.argv = [EXE, "compare", kernel, "--config", first, "--config", second, "--libraries", "none",
                     "--time", "%gs" % seconds, "--threads", threads, "--repeats", "100000",
                     "--json"] + (["--size", size] if size else [])
        self.name = "%s %s, threads %s: %s, %s" % (os.path.basename(kernel), size, threads, first, second)
        self.child = subprocess.Popen(self.argv, stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()  # '{"repeats": [', the comparisons follow, a line each
        self.read()  # the first comparison does not count, because it began before the busy loops

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            sys.exit("failed: " + " ".join(self.argv))
        result = json.loads(line.removeprefix(", "))
        other, noise = result["contestants"][1], result["noise"]
        return {"case": self.name, "verdict": other["verdict"], "ratio": other["ratio"], "ratio_ci": other["ratio_ci"],
                "deviation": noise["deviation"], "pressure": noise["pressure"], "rounds": noise["rounds"],
                "disturbed": noise["disturbed"]}

    def close(self):
        self.child.send_signal(signal.SIGINT)
        self.child.stdout.close()
        self.child.wait()


def binomial_interval(hits, count):
    """Returns the 95 % interval of a rate (Clopper and Pearson), found by bisection."""
    def tail(p, least):  # P(at least `least` hits)
        return sum(math.comb(count, k) * p ** k * (1 - p) ** (count - k) for k in range(least, count + 1))

    def solve(f):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) else (low, middle)
        return low
    lower = 0.0 if hits == 0 else solve(lambda p: tail(p, hits) < 0.025)
    upper = 1.0 if hits == count else solve(lambda p: 1 - tail(p, hits + 1) > 0.025)
    return [lower, upper]


def describe(rows):
    if not rows:
        sys.exit("no finish came to its end within --limit")
    wins = [r for r in rows if r["verdict"] in ("faster", "slower")]
    count = lambda word: sum(r["verdict"] == word for r in rows)
    return {"finishes": len(rows), "faster": count("faster"), "slower": count("slower"), "tie": count("tie"),
            "undecided": count("undecided"), "false_wins": len(wins), "rate": len(wins) / len(rows),
            "rate_ci": binomial_interval(len(wins), len(rows)),
            "worst": max((max(r["ratio"], 1 / r["ratio"]) for r in wins), default=None),
            "pressure": statistics.median([r["pressure"]["during"] for r in rows if r["pressure"]["during"] is not None]
                                          or [float("nan")])}


class Loops:
    """A context in which `count` other processes keep processors busy."""
    def __init__(self, count):
        self.children = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]

    def __enter__(self):
        time.sleep(1)
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()


def study(cases, count, limit, seconds, load, what):
    """Runs the cases one after the other. Each gets an equal share of `count` finishes and of `limit` seconds."""
    rows, begin = [], time.time()
    for n, case in enumerate(cases, 1):
        comparison = Comparison(*case, seconds)
        with Loops(load):
            while len(rows) < count * n / len(cases) and time.time() - begin < limit * n / len(cases):
                rows.append(comparison.read())
                print("\r%s %d/%d " % (what, len(rows), count), end="", file=sys.stderr, flush=True)
        comparison.close()
    print("%.0f s" % (time.time() - begin), file=sys.stderr)
    return dict(describe(rows), seconds=time.time() - begin, rows=rows)


def percent(part):
    return "%.1f %%" % (100 * part)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--loads", default="0,1,4", help="busy loops beside the study")
    ap.add_argument("--finishes", type=int, default=200)
    ap.add_argument("--limit", type=float, default=570)
    ap.add_argument("--power", default="3,5,10", help="per cent, of 3, 5 and 10; beside no loop; '' for none")
    ap.add_argument("--power-threads", default="0", help="0: all")
    ap.add_argument("--only", type=int, default=0, help="this one of the four cases only, 1 to 4")
    ap.add_argument("--power-finishes", type=int, default=50)
    ap.add_argument("--seconds", type=float, default=SECONDS, help="of measuring in each finish")
    ap.add_argument("--output", default="bench/results/aa-%s.json" % datetime.date.today())
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(AUTOKERNEL_ARCHIVE=os.path.join(folder, "archive.db"), XDG_CACHE_HOME=folder)
        kernel = os.path.join(folder, "aa")
        make_kernel(kernel)
        cases = [(kernel, "", "0", "MORE=0,TWIN=0", "MORE=0,TWIN=0"), (kernel, "", "0", "MORE=0,TWIN=0", "MORE=0,TWIN=1"),
                 ("matmul", "256", "0", "default", "default"), ("matmul", "256", "1", "default", "default")]
        cases = cases[args.only - 1:args.only] if args.only else cases
        out = {"date": str(datetime.date.today()), "machine": platform.platform(), "processors": os.cpu_count(),
               "command": " ".join(sys.argv), "seconds_of_a_finish": args.seconds, "identical": {}, "power": {}}
        for load in [int(x) for x in args.loads.split(",") if x]:
            out["identical"][load] = study(cases, args.finishes, args.limit, args.seconds, load, "%d loops" % load)
        for more in [int(x) for x in args.power.split(",") if x]:
            case = (kernel, "", args.power_threads, "MORE=%d,TWIN=0" % more, "MORE=0,TWIN=0")
            out["power"][more] = study([case], args.power_finishes, args.limit, args.seconds, 0, "%d %% faster" % more)
    os.makedirs(os.path.dirname(args.output) or ".", exist_ok=True)
    with open(args.output, "w") as f:
        json.dump(out, f, indent=1)
        f.write("\n")
    print("| busy loops | finishes | false wins | 95 % interval | worst | tie | not decided | pressure |")
    print("|---|---|---|---|---|---|---|---|")
    for load, s in out["identical"].items():
        print("| %d | %d | %d (%s) | %s .. %s | %s | %d | %d | %s |" % (
            load, s["finishes"], s["false_wins"], percent(s["rate"]), percent(s["rate_ci"][0]), percent(s["rate_ci"][1]),
            "–" if s["worst"] is None else "%.3fx" % s["worst"], s["tie"], s["undecided"], percent(s["pressure"])))
    if out["power"]:
        print("\n| really faster by | finishes | found faster | tie | not decided | slower | median ratio |")
        print("|---|---|---|---|---|---|---|")
    for more, s in out["power"].items():
        print("| %d %% | %d | %d (%s) | %d | %d | %d | %.3fx |" % (
            more, s["finishes"], s["faster"], percent(s["faster"] / s["finishes"]), s["tie"], s["undecided"], s["slower"],
            statistics.median(r["ratio"] for r in s["rows"])))
    print("wrote " + args.output)


main()
