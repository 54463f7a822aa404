"""bundle_calls.py: what a call costs the host from Python: a bundle, its registered operator and
torch's own, with an output that is there (out=) and without; medians in microseconds.

    python3 bench/cuda/bundle_calls.py matmul_bf16.akb softmax_bf16.akb rmsnorm_bf16.akb
"""

import sys
import time

import torch

import autokernel as ak


def host_us(call, batch=20, rounds=200):
    for _ in range(50):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        times.append((time.perf_counter() - begin) / batch * 1e6)
    return sorted(times)[rounds // 2]


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def main():
    torch.set_grad_enabled(False)
    print(f"{'':14s}  {'size':>18s}  {'out=':>6s}  {'call':>6s}  {'op':>6s}  {'torch out=':>10s}  "
          f"{'torch':>6s}")
    for path in sys.argv[1:]:
        bundle = ak.load(path)
        op = ak.torch.register(bundle)
        for size in [m.size for m in bundle.measured]:
            n = tuple(size.values())
            if bundle.kernel == "matmul":
                x = (random(n[0], n[2]), random(n[2], n[1]))
                own, own_out = torch.mm, torch.mm
            elif bundle.kernel == "softmax":
                x = (random(*n),)
                own, own_out = (lambda a: torch.softmax(a, 1)), \
                    (lambda a, out: torch.softmax(a, 1, out=out))
            else:
                x = (random(*n), random(n[1]))
                own, own_out = (lambda a, w: torch.nn.functional.rms_norm(a, a.shape[1:], w, 1e-5)), \
                    None
            out = bundle(*x)
            times = [host_us(lambda: bundle(*x, out=out)), host_us(lambda: bundle(*x)),
                     host_us(lambda: op(*x)),
                     host_us(lambda: own_out(*x, out=out)) if own_out else float("nan"),
                     host_us(lambda: own(*x))]
            print(f"{bundle.name:14s}  {'x'.join(map(str, n)):>18s}  {times[0]:6.2f}  {times[1]:6.2f}"
                  f"  {times[2]:6.2f}  {times[3]:10.2f}  {times[4]:6.2f}", flush=True)


main()
