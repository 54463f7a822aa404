"""llama_block.py: accelerates a transformer block as in Llama, with random weights, and compares it with
eager mode and torch.compile.

    python3 examples/torch/llama_block.py [--budget 60] [--hidden 4096] [--tokens 1,16,512] [--compile]

Prints what was replaced. For each number of tokens it prints two times of one forward pass: the
elapsed time of a call, and the device time alone, in a CUDA graph.
"""

import argparse

import torch
from torch import nn

import autokernel as ak
from autokernel.torch import _wall_ms


class Block(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.RMSNorm(hidden, eps=1e-5)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.norm = nn.RMSNorm(hidden, eps=1e-5)
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        angle = torch.arange(x.shape[-2], device=x.device)[:, None] / \
            10000 ** (torch.arange(half, device=x.device) / half)
        a, b = x[..., :half], x[..., half:]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, hidden = x.shape
        h = self.attention_norm(x)
        q, k, v = (f(h).view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for f in (self.q, self.k, self.v))
        h = nn.functional.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v,
                                                       is_causal=True)
        x = x + self.o(h.transpose(1, 2).reshape(batch, tokens, hidden))
        h = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


def graph_ms(call) -> float:
    """Returns the device time of a call in milliseconds, from a CUDA graph of four calls."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(4):
            call()
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 4)
    return sorted(times)[15]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--tokens", default="1,16,512")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    inner = (args.hidden * 8 // 3 + 255) // 256 * 256
    block = Block(args.hidden, args.hidden // 128, inner).cuda().bfloat16()
    inputs = [torch.randn(1, int(n), args.hidden, device="cuda").bfloat16()
              for n in args.tokens.split(",")]
    print("ms by the clock on the wall, and of the device in a CUDA graph")

    def measured(name: str, call) -> None:
        for x in inputs:
            call(x)
            print(f"{name:24s}  {x.shape[1]:4d} tokens  {_wall_ms([lambda: call(x)])[0]:8.4f}  "
                  f"{graph_ms(lambda: call(x)):8.4f}", flush=True)

    measured("eager", block)
    if args.compile:
        measured("compiled", torch.compile(block, fullgraph=True, dynamic=False))
    print(ak.torch.accelerate(block, inputs, budget=args.budget), flush=True)
    measured("accelerated", block)
    if args.compile:
        torch._dynamo.reset()
        measured("accelerated, compiled", torch.compile(block, fullgraph=True, dynamic=False))


main()
