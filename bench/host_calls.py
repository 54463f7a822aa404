#!/usr/bin/env python3
"""Measures whether the tuned matmul, softmax and stencil take as long in a program as the tuner says.

    make wheel                       # builds build/release/autokernel and the runtime's library
    python3 bench/host_calls.py      # --help says more

Tunes each with a few evaluations, exports a bundle and a C file, and then measures in turns, each in a
new process: `tuner` (`bundle verify`, which times the code as the finish of a search does), `C` (a
program with the runtime and the bundle), `C again` (the same program a second time: the difference is
noise), `amalgam` (the C file), `Python` (`ak.load`, NumPy arrays by `ak.aligned_empty`), and four that
tell why a program may differ: `C, free` (threads on no processor of their own, as in a program that
does nothing about it), `C, huge` (arrays of 4 MB and more in huge pages, where NumPy's are), `C,
abreast` (all arrays begin at the same place in a page, as large ones from malloc do) and `NumPy's`
(arrays that NumPy has made, which are copied if misaligned).
Prints for each way the median over the rounds, and by how much it was slower than the tuner in the
same round: the median, and in brackets its 95 % interval. The program runs without autokernel in PATH.
All results are compared with a reference in double precision, and with each other, bit by bit.
"""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = {"matmul": ("matmul", "M={0},N={0},K={0}"), "softmax": ("softmax", "rows={0},cols={0}"),
           "stencil": (os.path.join(ROOT, "examples/kernels/stencil"), "height={0},width={0}")}
WAYS = ("tuner", "C", "C again", "amalgam", "Python", "C, free", "C, huge", "C, abreast", "NumPy's")


def run(*argv, env=None):
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def shape_of(argument, sizes):
    return tuple(sizes[program[0]] for program in argument["shape"])


def interval(values):
    """Returns the 95 % interval of the median, by a bootstrap over the rounds."""
    draw = random.Random(1)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def reference(kernel, inputs):
    x = inputs[0].astype(np.float64)
    if kernel == "matmul":
        return x @ inputs[1].astype(np.float64)
    if kernel == "softmax":
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    y = x.copy()
    y[1:-1, 1:-1] = 0.5 * x[1:-1, 1:-1] + 0.125 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] +
                                                   x[2:, 1:-1])
    return y


class Bench:
    """One kernel, the files that were exported for it, and the programs that call it."""

    def __init__(self, args, name, folder):
        self.args, self.name, self.folder = args, name, folder
        self.autokernel = os.path.abspath(args.autokernel)
        self.kernel, size = KERNELS[name]
        self.size_text = size.format(getattr(args, name))
        self.size = [int(n) for n in re.findall(r"=(\d+)", self.size_text)]
        self.archive = ["--archive", os.path.join(folder, "archive.db"), "--device", "host"]
        self.bundle = os.path.join(folder, f"{name}_f32.akb")
        #: the environment of the programs: autokernel is not in PATH
        self.bare = {"PATH": "/usr/bin:/bin"}
        if "NUMPY_MADVISE_HUGEPAGE" in os.environ:
            self.bare["NUMPY_MADVISE_HUGEPAGE"] = os.environ["NUMPY_MADVISE_HUGEPAGE"]

    def tune(self):
        threads = ["--threads", str(self.args.threads)] if self.args.threads else []
        run(self.autokernel, "tune", self.kernel, "--size", self.size_text, *self.archive, *threads,
            "--evals", str(self.args.evals), "--finish-time", "0.3", "--libraries", "none", "--quiet")
        export = [self.autokernel, "export", self.kernel, "--size", self.size_text, *self.archive]
        run(*export, "--format", "bundle", "--output", self.bundle)
        run(*export, "--format", "c", "--output", os.path.join(self.folder, self.name) + "/")
        shown = json.loads(run(self.autokernel, "bundle", "show", self.bundle, "--json"))
        self.arguments = shown["arguments"]
        self.sizes = dict(zip((s["name"] for s in shown["sizes"]), self.size))
        self.threads = shown["environment"]["threads"]
        self.config = shown["variants"][0]["config"]

    def write_inputs(self):
        rng = np.random.default_rng(1)
        self.inputs, self.words = [], []
        for argument in self.arguments:
            if argument["unused"]:
                self.words.append("-")
            elif argument["access"] == "out":
                self.out_shape = shape_of(argument, self.sizes)
                self.words.append(str(4 * math.prod(self.out_shape)))
            else:
                shape = shape_of(argument, self.sizes)
                self.inputs.append(rng.uniform(-1, 1, shape).astype(np.float32))
                self.words.append(os.path.join(self.folder, f"{self.name}.{argument['name']}"))
                self.inputs[-1].tofile(self.words[-1])
        self.expected = reference(self.name, self.inputs)

    def compile(self):
        source = os.path.join(self.folder, self.name, f"{self.name}_f32")
        libraries = ["-ldl", "-lm", "-pthread"]
        sizes = ", ".join(f"s[{i}]" for i in range(len(self.size)))
        arrays = ", ".join(f"a[{i}]" for i in range(len(self.arguments)))
        call = f"ak_{self.name}_f32"
        program = os.path.join(ROOT, "bench/host_calls.c")
        runtime = os.path.join(ROOT, "runtime")
        self.with_runtime = os.path.join(self.folder, f"{self.name}_runtime")
        self.with_c_file = os.path.join(self.folder, f"{self.name}_c_file")
        run("cc", "-O2", f"-I{runtime}", program, f"{runtime}/ak_runtime.c", *libraries, "-o",
            self.with_runtime)
        run("cc", "-O2", f'-DHEADER="{source}.h"', f"-DRUN(s,a,w,n)={call}({sizes}, {arrays}, w, n)",
            f"-DROOM(b,s)={call}_workspace(b, {sizes})", program, f"{source}.c", *libraries, "-o",
            self.with_c_file)

    def measure(self, way):
        """Returns the milliseconds of a call, and checks that the result is the same for all ways."""
        if way == "tuner":
            shown = json.loads(run(self.autokernel, "bundle", "verify", self.bundle, "--json",
                                   "--max-slowdown", "10000%"))["measured"][0]
            assert shown["status"] == "ok", shown
            return shown["ms"]
        output = os.path.join(self.folder, f"{self.name}.{WAYS.index(way)}")
        mode = way[3:] if way.startswith("C, ") else "pinned"
        words = [self.bundle, str(self.args.seconds), mode, output,
                 ",".join(map(str, self.size)), *self.words]
        if way in ("Python", "NumPy's"):
            env = dict(self.bare, OPENBLAS_NUM_THREADS="1", PYTHONPATH=self.args.package,
                       AUTOKERNEL_RUNTIME=os.path.abspath(self.args.runtime))
            told = run(sys.executable, os.path.abspath(__file__), "--call", way, *words, env=env)
        else:
            told = run(self.with_c_file if way == "amalgam" else self.with_runtime, *words,
                       env=self.bare)
        self.check(output)
        return float(told)

    def check(self, output):
        with open(output, "rb") as file:
            data = file.read()
        self.result = getattr(self, "result", data)
        if data != self.result:
            sys.exit(f"{output}: differs from the result of another way")

    def error(self):
        got = np.frombuffer(self.result, np.float32).reshape(self.out_shape)
        return float(np.abs(got - self.expected).max() / np.abs(self.expected).max())


def call(argv):
    """The Python program that is measured. Its arguments are `way` and those of host_calls.c."""
    import autokernel as ak

    way, path, seconds, _, output, size, *words = argv
    size = [int(n) for n in size.split(",")]
    bundle = ak.load(path)
    make = np.empty if way == "NumPy's" else ak.aligned_empty
    arrays, outs = [], []
    for _ in range(2):
        arrays.append([])
        for word, argument in zip(words, bundle.info["arguments"]):
            if word == "-":
                continue
            shape = shape_of(argument, dict(zip(bundle.sizes, size)))
            array = make(shape, np.float32)
            if word.isdigit():
                outs.append(array)
            else:
                array[...] = np.fromfile(word, np.float32).reshape(shape)
                arrays[-1].append(array)
    bundle(*arrays[0], out=outs[0])
    for task, cpu in zip(sorted(map(int, os.listdir("/proc/self/task"))),
                         sorted(os.sched_getaffinity(0))):
        os.sched_setaffinity(task, {cpu})
    samples, calls, end, batch = [], 1, time.perf_counter() + float(seconds), 0
    while time.perf_counter() < end:
        x, y = arrays[batch % 2], outs[batch % 2]
        bundle(*x, out=y)
        begin = time.perf_counter_ns()
        for _ in range(calls):
            bundle(*x, out=y)
        ns = time.perf_counter_ns() - begin
        time.sleep(ns / 1e9)
        if ns < 1000000 and batch < 40:
            calls *= 2
        else:
            samples.append(ns / 1e6 / calls)
        batch += 1
    outs[0].tofile(output)
    print(f"{median(samples):.7f}")


def compare(bench, args):
    """Measures all ways to call one kernel, in turns, and prints its table."""
    begin = time.monotonic()
    bench.tune()
    bench.write_inputs()
    bench.compile()
    print(f"{bench.name}: ready after {time.monotonic() - begin:.0f} s", file=sys.stderr)
    times = {way: [] for way in WAYS}
    while len(times["tuner"]) < args.rounds and time.monotonic() - begin < args.limit:
        for way in random.sample(WAYS, len(WAYS)):
            times[way].append(bench.measure(way))
        if args.details:
            with open(args.details, "a") as file:
                print(json.dumps({"kernel": bench.name, "size": bench.size,
                                  "ms": {way: own[-1] for way, own in times.items()}}), file=file)
    print(f"{bench.name} {bench.size_text}, {bench.threads} threads, {len(times['tuner'])} rounds, "
          f"error {bench.error():.2g}; {','.join(f'{k}={v}' for k, v in bench.config.items())}")
    for way, own in times.items():
        ratio = [100 * (mine / tuner - 1) for mine, tuner in zip(own, times["tuner"])]
        low, high = interval(ratio)
        print(f"  {way:10s}  {median(own):9.5f} ms  {median(ratio):+7.2f} %  ({low:+.2f} .. "
              f"{high:+.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autokernel", default=os.path.join(ROOT, "build/release/autokernel"))
    parser.add_argument("--runtime",
                        default=os.path.join(ROOT, "build/release/libautokernel_runtime.so"))
    parser.add_argument("--package", default=os.path.join(ROOT, "python"),
                        help="where the Python package is (default: of this tree)")
    parser.add_argument("--kernels", default="matmul,softmax,stencil")
    parser.add_argument("--matmul", type=int, default=256, help="rows and columns (256)")
    parser.add_argument("--softmax", type=int, default=1024)
    parser.add_argument("--stencil", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=0, help="of the tuner (all)")
    parser.add_argument("--evals", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each way and round (0.5)")
    parser.add_argument("--limit", type=float, default=600,
                        help="seconds for each kernel, after which no round begins (600)")
    parser.add_argument("--details", help="append the times of each round to this file, as JSON")
    args = parser.parse_args()
    for name in args.kernels.split(","):
        with tempfile.TemporaryDirectory() as folder:
            compare(Bench(args, name, folder), args)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        call(sys.argv[2:])
    else:
        main()
