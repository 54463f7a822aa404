"""split_errors.py: compares the errors of f32 products on tensor cores with those of full f32 and tf32.

    python3 bench/cuda/split_errors.py K=4096,precision=bf16x3.akb ...

Each bundle must be of matmul with dtype f32 and layout nn, for M and N of 1024 and the K that the name of its file
says. The factors are uniform in -1..1, normal, or uniform in 0..1. For each of these it prints the root mean square
and the largest of the errors against sums in double, in units of 2^-24 of the root mean square of the right result:
of the bundle, of torch in f32 (cuBLAS) and of torch in tf32. Then it sets factors that are infinite, NaN, close to
the largest number or subnormal. It lists the elements of which the kind (finite, infinity with its sign, or NaN)
differs from that of torch in f32.
"""

import os
import re
import sys

import torch

import autokernel as ak

M = N = 1024


def errors(got, exact):
    wrong = (got.double() - exact).abs()
    unit = exact.pow(2).mean().sqrt() * 2.0**-24
    return "%8.1f %9.1f" % ((wrong.pow(2).mean().sqrt() / unit).item(), (wrong.max() / unit).item())


def full(a, b, tf32):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    return torch.mm(a, b)


def kinds(x):
    """Returns the kind of each element: 0 finite, 1 infinity, 2 minus infinity, 3 NaN."""
    return torch.where(x.isnan(), 3, torch.where(x == float("inf"), 1, torch.where(x == -float("inf"), 2, 0)))


def special(bundle, a, b):
    """Sets special factors. Returns texts for the elements whose kind differs from torch's in f32, and how many of torch's are not
    finite."""
    inf, nan, largest = float("inf"), float("nan"), torch.finfo(torch.float32).max
    for i, j, x in ((0, 5, inf), (1, 5, -inf), (2, 6, nan), (3, 9, inf), (4, 10, largest), (6, 12, inf), (7, 13, 1e-42)):
        a[i, j] = x
    for i, j, x in ((5, 20, 1.0), (5, 21, 0.0), (9, 22, inf), (9, 23, -inf), (10, 24, 0.5), (11, 25, nan), (12, 26, inf),
                    (13, 27, inf), (10, 28, largest)):
        b[i, j] = x
    got, want = bundle(a, b), full(a, b, False)
    other = (kinds(got) != kinds(want)).nonzero().tolist()
    return ["[%d][%d] %g, not %g" % (i, j, got[i, j], want[i, j]) for i, j in other], (kinds(want) != 0).sum().item()


def main():
    torch.manual_seed(1)
    print("%-34s %-14s | %18s | %18s | %18s" % ("bundle", "factors", "ours: rms, largest", "f32", "tf32"))
    for path in sys.argv[1:]:
        name, k = os.path.basename(path), int(re.search(r"K=(\d+)", path)[1])
        bundle = ak.load(path)
        for what, draw in (("uniform -1..1", lambda *s: torch.rand(*s, device="cuda") * 2 - 1),
                           ("normal", lambda *s: torch.randn(*s, device="cuda")),
                           ("uniform 0..1", lambda *s: torch.rand(*s, device="cuda"))):
            a, b = draw(M, k), draw(k, N)
            exact = a.double() @ b.double()
            print("%-34s %-14s | %s | %s | %s" % (name, what, errors(bundle(a, b), exact), errors(full(a, b, False), exact),
                                                  errors(full(a, b, True), exact)), flush=True)
        other, infinite = special(bundle, a, b)
        print("%-34s other kinds than f32: %d beside %d that are not finite; %s" % (name, len(other), infinite, "; ".join(other)), flush=True)


main()
