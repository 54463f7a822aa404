#!/usr/bin/env python3
"""Simulates the errors of f32 products that are made of bf16 products (TERMS of kernels/matmul/cuda_gemm_sm90.cu), and shows whether
the tolerances of kernels/matmul accept them and reject less accurate ones.

    python3 bench/cuda/split_model.py [K...]        default 1 7 33 300 1024 4096 16384

It assumes that the tensor cores add 16 products (8 of tf32) and the accumulator exactly, and round the sum to f32 toward zero. For
each K it prints the root mean square and the largest error in units of the root mean square of the right result, and the largest ratio
of an error to the allowed one (a result is wrong above 1). It does so for correct results and for results of less accurate
products."""
import sys
import numpy as np

EPS = 2.0**-23

def keep(x, bits, nearest=True):
    """Removes the last `bits` bits of the mantissas of f32 numbers: rounds to nearest even, or toward zero if not `nearest`."""
    u = x.astype(np.float32).view(np.uint32)
    u = u + ((1 << bits - 1) - 1 + (u >> bits & 1)) if nearest else u
    return (u >> bits << bits).astype(np.uint32).view(np.float32)

def terms(x, count):
    found = []
    for _ in range(count):
        found.append(keep(x, 16))
        x = x - found[-1]
    return found

def cut(x):
    """Converts double to f32, rounding toward zero."""
    y = x.astype(np.float32)
    return np.where(np.abs(y.astype(np.float64)) > np.abs(x), np.nextafter(y, np.float32(0)), y)

def tensor_cores(sums, a, b, step=16):
    for k in range(0, a.shape[1], step):
        sums = cut(sums.astype(np.float64) + a[:, k:k + step].astype(np.float64) @ b[k:k + step].astype(np.float64))
    return sums

def splits(a, b, count, promote=0, block=0):
    """Returns the product from `count` bf16 terms of each factor; small products come first. With `promote`, sums over that many elements
    along K are added in f32. With `block`, all products of that many elements along K precede those of the next."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    pairs = [(i, both - i) for both in range(count - 1, -1, -1) for i in range(both, -1, -1)]
    of_a, of_b = terms(a, count), terms(b, count)
    if block:
        for k in range(0, a.shape[1], block):
            for i, j in pairs:
                sums = tensor_cores(sums, of_a[i][:, k:k + block], of_b[j][k:k + block])
        return sums
    for i, j in pairs:
        for k in range(0, a.shape[1], promote or a.shape[1]):
            part = slice(k, k + (promote or a.shape[1]))
            begin = sums if not promote else np.zeros_like(sums)
            done = tensor_cores(begin, of_a[i][:, part], of_b[j][part])
            sums = sums + done if promote else done
    return sums

def in_turn(a, b):
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]): # a fused multiply-add rounds once
        sums = (sums.astype(np.float64) + a[:, k:k + 1].astype(np.float64) * b[k:k + 1].astype(np.float64)).astype(np.float32)
    return sums

def main():
    draw = np.random.default_rng(1)
    for K in [int(k) for k in sys.argv[1:]] or (1, 7, 33, 300, 1024, 4096, 16384):
        n = 256 if K <= 4096 else 128
        full = 8 * EPS * K**0.5
        split = full + 2.0**-15
        a, b = draw.uniform(-1, 1, (n, K)).astype(np.float32), draw.uniform(-1, 1, (K, n)).astype(np.float32)
        right = a.astype(np.float64) @ b.astype(np.float64)
        unit = np.sqrt((right**2).mean())
        nothing = np.zeros((n, n), np.float32)
        print("K = %d" % K)
        for name, got, allowed in (
                ("f32, one after the other", in_turn(a, b), full),
                ("bf16x6, promoted each 512", splits(a, b, 3, promote=512), full),
                ("bf16x6, not promoted", splits(a, b, 3), full),
                ("bf16x3", splits(a, b, 2), split),
                ("bf16x3, large products first", splits(a, b, 2, block=64), split),
                ("bf16x3, judged as bf16x6", splits(a, b, 2), full),
                ("two products of bf16", tensor_cores(tensor_cores(nothing, terms(a, 2)[1], keep(b, 16)), keep(a, 16), keep(b, 16)), split),
                ("one product of bf16", tensor_cores(nothing, keep(a, 16), keep(b, 16)), split),
                ("tf32, rounded", tensor_cores(nothing, keep(a, 13), keep(b, 13), 8), split),
                ("tf32, cut", tensor_cores(nothing, keep(a, 13, False), keep(b, 13, False), 8), split)):
            wrong = np.abs(got.astype(np.float64) - right)
            print("  %-30s rms 2^%6.2f, largest 2^%6.2f; %7.3f of what is allowed" % (
                name, np.log2(np.sqrt((wrong**2).mean()) / unit), np.log2(wrong.max() / unit), (wrong / (allowed * (np.abs(right) + unit))).max()))

main()
