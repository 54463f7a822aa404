#!/usr/bin/env python3
"""Measures what a call of a bundle for the CPU costs from Python, with NumPy arrays.

    autokernel tune softmax --size rows=16,cols=64 --evals 2
    autokernel export softmax --size rows=16,cols=64 --format bundle
    python3 bench/python_calls.py softmax_f32.akb      # with the wheel installed

Each figure is the least of 200 batches of 50 calls, in microseconds. To compare two versions, run the
script with each of them in turns.
"""

import sys
import time

import numpy as np

import autokernel as ak

BATCHES, CALLS = 200, 50


def least(call):
    """Returns the least time of a call in microseconds."""
    call()
    best = float("inf")
    for _ in range(BATCHES):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter() - begin) / CALLS * 1e6)
    return best


def main():
    softmax = ak.load(sys.argv[1])
    shape = tuple(softmax.measured[0].size.values())
    x, y = ak.aligned_empty(shape, np.float32), ak.aligned_empty(shape, np.float32)
    shifted = ak.aligned_empty((x.size + 4,), np.float32)[4:].reshape(shape)  # 16 bytes further
    x[...] = shifted[...] = np.random.default_rng(1).random(shape)
    for what, call in (("into an array", lambda: softmax(x, out=y)),
                       ("into a new array", lambda: softmax(x)),
                       ("of a misaligned array, into an array", lambda: softmax(shifted, out=y)),
                       ("of a misaligned array, into a new array", lambda: softmax(shifted)),
                       ("with the argument by name", lambda: softmax(**{softmax.arguments[0].name: x}))):
        print("%-40s %6.2f µs" % (what, least(call)))


if __name__ == "__main__":
    main()
