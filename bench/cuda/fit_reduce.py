#!/usr/bin/env python3
"""Fits the Rank of reduce on CUDA devices to measurements, as fit_rows.py does for the other kernels on rows. Needs numpy.

    python3 bench/cuda/fit_reduce.py FILE... [--rounds 5] [--held 2] [--pack] [--write]

FILE is what `rows_bench --turns=0 --details=FILE CONFIGURATIONS JOB...` writes for jobs of reduce, or what --pack made
of it."""
import fit_rows
from fit_rank import write_rank

MACROS = dict(t="THREADS_PER_ROW", r="ROWS", k="KEEP", w="WAVES", b="BLOCKS_PER_SM", l="LOAD_HINT", sp="SPLIT", le="LAUNCH_EARLY")

START = dict(bw=4.344, lm=0.07232, bs=0.3, ie2=0.1434, ie4=0.1914, iw=1e-06, bl=1.338, l0=0.7727, l1=0.031, lo=0.2394, bb=0.3263, q=2.727,
             q2=5.439, t0=0.07912, td=0.6934, sp=1.117, hint=0.06737, un=0.2283, wv=0.8991)
BOUNDS = dict(bw=(4, 10), lm=(0.05, 3), bs=(0.02, 0.3), q=(1, 8), q2=(1.5, 10), un=(0.001, 1), hint=(0.001, 0.3), td=(0.001, 2), wv=(0.001, 2))

def expression(_, p):
    """Returns the Rank with these constants, as text for the space file: microseconds on an H200."""
    g = lambda name: "%.4g" % p[name]
    threads, row = "(THREADS_PER_ROW*ROWS)", "(cols*dtype_bytes)"
    registers = "(18 + 5*KEEP*VEC_BYTES/16)" # ptxas 13.0
    resident = "max(1, min(registers_sm//(%s*%s), threads_sm//%s, 32))" % (threads, registers, threads)
    blocks = "(rows*SPLIT if SPLIT > 1 else (rows + ROWS - 1)//ROWS)"
    places = "(sm_count*%s)" % resident
    turns = "(-(-%s//%s))" % (blocks, places)
    launched = "(min(%s, WAVES*%s) if WAVES > 0 else %s)" % (blocks, places, blocks)
    even = "(-(-%s//sm_count))" % blocks
    most = "(%s + %s*max(0, %s - %s))" % (even, g("un"), resident, even) # as in fit_rows.py
    part = "(ROWS*%s/SPLIT)" % row
    total = "(rows*%s)" % row
    vectors = "(cols*dtype_bytes/(VEC_BYTES*SPLIT*THREADS_PER_ROW))"
    on_its_way = "(min(%s, %s/sm_count)*%s*min(KEEP, %s)*VEC_BYTES*sm_count)" % (resident, blocks, threads, vectors)
    memory = "(%s/%s + %s/%s*%s)" % (total, "%.4g" % (p["bw"] * 1e6), total, on_its_way, g("lm"))
    one_sm = "(%s*%s/%s)" % (most, part, "%.4g" % (p["bs"] * 1e6))
    elements = "(-(-%s//KEEP)*KEEP*%s*VEC_BYTES/dtype_bytes)" % (vectors, threads)
    compute = "(%s*(%s*(%.4g if dtype_bytes == 2 else %.4g) + %s/32*%s))" % (most, elements, p["ie2"] * 1e-4, p["ie4"] * 1e-4, threads, g("iw"))
    launch = "(%s*%.4g)" % (launched, p["bl"] * 1e-3)
    one = "(%s + %s*log2(max(1, THREADS_PER_ROW/32)) + (%s if cols*dtype_bytes %% 16 > 0 else 0) + %s/%s)" % (
        g("l0"), g("l1"), g("lo"), part, "%.4g" % (p["bb"] * 1e6))
    several = " + ".join("%s**%s" % (x, g("q2")) for x in (memory, one_sm, compute, launch))
    how = "(1 if %s <= %s else %s)" % (blocks, places, g("q"))
    tail = "(0 if %s <= %s else %s if WAVES == 0 else %s)" % (blocks, places, g("td"), g("wv"))
    model = "(%s + (%s if SPLIT > 1 else 0) + %s*%s + (((%s)**%.4g)**%s + (%s*%s)**%s)**(1/%s))" % (
        g("t0"), g("sp"), tail, one, several, 1 / p["q2"], how, turns, one, how, how)
    # what was not fitted: kernel-log.md has the measurements
    promise = "(0.002/BLOCKS_PER_SM if BLOCKS_PER_SM*%s*(40 + 4*KEEP) <= registers_sm else 0.1)" % threads # as in fit_rows.py
    return ("%s*(1 + %s + (%s if LOAD_HINT == 0 else 0) + 0.1*(16 - VEC_BYTES)/8 + "
            "(0.06 if LAUNCH_EARLY == 0 else 0.04 if LAUNCH_EARLY == 1 else 0.01 if LAUNCH_EARLY == 2 else 0))") % (model, promise, g("hint"))

def config_of(job, v):
    r, k = fit_rows.rows_and_vectors(job, v)
    return (v["t"], r, k, v.get("w", 0), v.get("b", 1), v.get("l", 0), v.get("sp", 1), 3) if v.get("le") == 3 else None

def main():
    args = fit_rows.options(__doc__)
    found = fit_rows.read_files(args.files, ("reduce",), config_of)
    if args.pack:
        return fit_rows.pack(found)
    p = fit_rows.fit(found, fit_rows.Model(found, ("reduce",), MACROS.values(), dict(VEC_BYTES=16), expression), START, BOUNDS, args)
    if args.write:
        write_rank("kernels/reduce/cuda.json", expression("reduce", p))

if __name__ == "__main__":
    main()
