#!/usr/bin/env python3
"""Fits the Rank of reduce on CUDA devices to measurements, as fit_rows.py does for the other kernels on rows. Needs numpy.

    python3 bench/cuda/fit_reduce.py FILE... [--rounds 5] [--held 2] [--pack] [--write]

FILE is what `rows_bench --turns=0 --details=FILE CONFIGURATIONS JOB...` writes for jobs of reduce, or what --pack made
of it."""
import fit_rows
import ranks
from fit_rank import write_rank

MACROS = dict(t="THREADS_PER_ROW", r="ROWS", k="KEEP", w="WAVES", b="BLOCKS_PER_SM", l="LOAD_HINT", sp="SPLIT", le="LAUNCH_EARLY")

START = dict(bw=4.344, lm=0.07232, bs=0.3, ie2=0.1434, ie4=0.1914, iw=1e-06, bl=1.338, l0=0.7727, l1=0.031, lo=0.2394, bb=0.3263, q=2.727,
             q2=5.439, t0=0.07912, td=0.6934, sp=1.117, hint=0.06737, un=0.2283, wv=0.8991)
BOUNDS = dict(bw=(4, 10), lm=(0.05, 3), bs=(0.02, 0.3), q=(1, 8), q2=(1.5, 10), un=(0.001, 1), hint=(0.001, 0.3), td=(0.001, 2), wv=(0.001, 2))

# The parts of the Rank, and its value: microseconds on an H200. A number in braces is made of the constants.
PARTS = {
    "threads": "THREADS_PER_ROW*ROWS",
    "row_bytes": "cols*dtype_bytes",
    "registers": "18 + 5*KEEP*VEC_BYTES/16", # ptxas 13.0
    "resident": "max(1, min(registers_sm//(threads*registers), threads_sm//threads, 32))",
    "blocks": "rows*SPLIT if SPLIT > 1 else (rows + ROWS - 1)//ROWS",
    "places": "sm_count*resident",
    "turns": "-(-blocks//places)",
    "launched": "min(blocks, WAVES*places) if WAVES > 0 else blocks",
    "even": "-(-blocks//sm_count)",
    "most": "even + {un}*max(0, resident - even)", # as in fit_rows.py
    "part_bytes": "ROWS*row_bytes/SPLIT",
    "total_bytes": "rows*row_bytes",
    "vectors": "cols*dtype_bytes/(VEC_BYTES*SPLIT*THREADS_PER_ROW)",
    "on_its_way": "min(resident, blocks/sm_count)*threads*min(KEEP, vectors)*VEC_BYTES*sm_count",
    "memory": "total_bytes/{bw*1e6} + total_bytes/on_its_way*{lm}",
    "one_sm": "most*part_bytes/{bs*1e6}",
    "elements": "-(-vectors//KEEP)*KEEP*threads*VEC_BYTES/dtype_bytes",
    "compute": "most*(elements*({ie2*1e-4} if dtype_bytes == 2 else {ie4*1e-4}) + threads/32*{iw})",
    "launch": "launched*{bl*1e-3}",
    "latency": "{l0} + {l1}*log2(max(1, THREADS_PER_ROW/32)) + ({lo} if cols*dtype_bytes % 16 > 0 else 0)",
    "one_block": "latency + part_bytes/{bb*1e6}",
    "throughput": "(memory**{q2} + one_sm**{q2} + compute**{q2} + launch**{q2})**{1/q2}",
    "apart": "1 if blocks <= places else {q}",
    "tail": "(0 if blocks <= places else {td} if WAVES == 0 else {wv})*one_block",
    "several_parts": "{sp} if SPLIT > 1 else 0",
    "time": "{t0} + several_parts + tail + (throughput**apart + (turns*one_block)**apart)**(1/apart)",
    # what was not fitted: kernel-log.md has the measurements
    "promise": "0.002/BLOCKS_PER_SM if BLOCKS_PER_SM*threads*(40 + 4*KEEP) <= registers_sm else 0.1", # as in fit_rows.py
    "late_launch": "0.06 if LAUNCH_EARLY == 0 else 0.04 if LAUNCH_EARLY == 1 else 0.01 if LAUNCH_EARLY == 2 else 0",
    "Value": "time*(1 + promise + ({hint} if LOAD_HINT == 0 else 0) + 0.1*(16 - VEC_BYTES)/8 + late_launch)",
}

def expression(_, p):
    """Returns the Rank with these constants."""
    return ranks.filled(PARTS, p)

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
