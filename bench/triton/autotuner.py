"""autotuner.py: runs Triton's own autotuner on the kernel of kernels/matmul/triton_matmul.py, over a space that is
given as lists. Compare it with `autokernel tune matmul --impl triton --fix ...` over the same space. Needs a GPU, torch
and triton.

    python3 bench/triton/autotuner.py 4096 none BLOCK_SIZE_M=64,128,256 BLOCK_SIZE_N=64,128,256 BLOCK_SIZE_K=64 \\
        GROUP_SIZE_M=8 num_warps=4,8 num_stages=3,4

Prints the best configuration, its time by Triton's do_bench, and how long tuning took. Triton's cache is empty at the
beginning; its folder is removed at the end."""
import itertools
import os
import shutil
import sys
import tempfile
import time

cache = tempfile.mkdtemp()
os.environ["TRITON_CACHE_DIR"] = cache

import importlib.util

import torch
import triton

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("kernel", os.path.join(here, "../../kernels/matmul/triton_matmul.py"))
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)

size, activation = int(sys.argv[1]), sys.argv[2]
space = dict((name, [int(v) for v in values.split(",")]) for name, values in (a.split("=") for a in sys.argv[3:]))
meta = ("num_warps", "num_stages")
configs = [triton.Config({n: v for n, v in zip(space, point) if n not in meta},
                         **{n: v for n, v in zip(space, point) if n in meta})
           for point in itertools.product(*space.values())]
tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(kernel.matmul)

a = torch.rand((size, size), device="cuda", dtype=torch.float16) * 2 - 1
b = torch.rand((size, size), device="cuda", dtype=torch.float16) * 2 - 1
bias = torch.rand((size,), device="cuda", dtype=torch.float16) * 2 - 1
c = torch.empty((size, size), device="cuda", dtype=torch.float16)
fused = activation != "none"


def run():
    grid = lambda m: (triton.cdiv(size, m["BLOCK_SIZE_M"]) * triton.cdiv(size, m["BLOCK_SIZE_N"]), )
    tuned[grid](a, b, c, bias if fused else None, c, None, size, size, size, size, 1, size, 1, size, 1.0, 0.0,
                HAS_ALPHA=0, HAS_BETA=0, HAS_BIAS=int(fused), HAS_RESIDUAL=0, activation=activation)


begin = time.time()
run()
torch.cuda.synchronize()
seconds = time.time() - begin
best = tuned.best_config
print("configurations %d" % len(configs))
print("seconds %.1f" % seconds)
print("per second %.2f" % (len(configs) / seconds))
print("best %s" % ",".join("%s=%d" % item for item in {**best.kwargs, "num_warps": best.num_warps,
                                                        "num_stages": best.num_stages}.items()))
print("ms %.4f" % triton.testing.do_bench(run))
shutil.rmtree(cache)
