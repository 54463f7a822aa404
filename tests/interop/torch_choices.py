"""Every problem that is compared with PyTorch, with its defaults, is one that torch_worker.py knows: a
choice that a problem gained must not silently take PyTorch out of its tables. Needs no torch.

Usage: torch_choices.py ROOT"""
import fcntl
import json
import os
import sys
import unittest.mock

root = sys.argv[1]
paths = [os.path.join(root, "src/backend", name) for name in ("script.py", "cuda/torch_worker.py")]
# The kernels that cuda_torch.c lists, and for them what PyTorch has no call for by default.
KERNELS = {"matmul": {}, "matmul_act": {}, "matmul_fp8": {}, "matmul_grouped": {}, "softmax": {}, "layernorm": {},
           "rmsnorm": {}, "reduce": {}, "attention": {}, "attention_decode": {"lengths": "full"}}

# The worker reads requests from descriptor 3, answers on 4 and drops 1 and 2: here nobody asks.
out = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (1, 2)]
read, write = os.pipe()
os.dup2(read, 3)
os.close(write)
os.dup2(os.open(os.devnull, os.O_WRONLY), 4)
worker = {"__name__": "torch_worker"}
for path in paths:
    exec(compile(open(path, encoding="utf-8").read(), path, "exec"), worker)
os.dup2(out[0], 1)
os.dup2(out[1], 2)
worker["torch"] = unittest.mock.MagicMock()

failed = 0
for kernel, instead in KERNELS.items():
    problem = json.load(open(os.path.join(root, "kernels", kernel, "problem.json"), encoding="utf-8"))
    size = {s["name"]: s["default"] for s in problem["sizes"]}
    size.update(problem.get("tune_size", {}))
    if kernel == "attention_decode":
        size["queries"] = 1
    choices = {c["name"]: str(c["default"]) for c in problem.get("choices", [])}
    choices.update(instead)
    ways = [("eager", {}), ("compile", {})]
    if kernel == "attention":
        ways += [(way, {"sequences": "packed"}) for way in ("eager", "flash")]
    if kernel == "matmul_grouped":
        ways += [("eager", {"inputs": "e4m3"})]
    for way, further in ways:
        try:
            worker["build"](kernel, size, {**choices, **further}, way, None)
        except Exception as e:
            failed += 1
            print(f"{kernel}, {way}: {type(e).__name__}: {e}")
print("all right" if failed == 0 else f"{failed} failed")
sys.exit(failed > 0)
