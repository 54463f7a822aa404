"""hit_rates.py: runs the product of kernels/matmul/triton_matmul.py once for each GROUP_SIZE_M, so that a profiler can
read the hit rate of the level 2 cache:

    ncu --clock-control none -k matmul --metrics lts__t_sector_hit_rate.pct,lts__t_sectors_op_read.sum,dram__bytes_read.sum \\
        python3 bench/triton/hit_rates.py 4096 8192

Each size has four launches in this order: GROUP_SIZE_M of 1, 2, 4, 8. The tile is the one that tuning chose (128 x 256 x
64, 8 warps, 3 stages)."""
import importlib.util
import os
import sys

import torch
import triton

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("kernel", os.path.join(here, "../../kernels/matmul/triton_matmul.py"))
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)

for size in map(int, sys.argv[1:]):
    a, b = (torch.rand((size, size), device="cuda", dtype=torch.float16) * 2 - 1 for _ in "ab")
    c = torch.empty((size, size), device="cuda", dtype=torch.float16)
    grid = (triton.cdiv(size, 128) * triton.cdiv(size, 256),)
    for group in (1, 2, 4, 8):
        kernel.matmul[grid](a, b, c, None, c, None, size, size, size, size, 1, size, 1, size, 1.0, 0.0, HAS_ALPHA=0,
                            HAS_BETA=0, HAS_BIAS=0, HAS_RESIDUAL=0, BLOCK_SIZE_M=128, BLOCK_SIZE_N=256, BLOCK_SIZE_K=64,
                            GROUP_SIZE_M=group, activation="none", num_warps=8, num_stages=3)
    torch.cuda.synchronize()
