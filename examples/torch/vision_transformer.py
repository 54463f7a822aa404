"""vision_transformer.py: accelerates a small vision transformer with random weights, and compares it
with eager mode.

    python3 examples/torch/vision_transformer.py [--budget 60] [--width 384] [--depth 6] [--batches 1,32]

Prints where the time of a forward pass goes, what was replaced, and for each batch the elapsed time
of one pass, before and after. Then it prints the largest difference between the results of the
accelerated model and the original one, and whether undo restores the original results bit by bit.
"""

import argparse

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention with its softmax as a module, so that it can be replaced."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = self.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class VisionTransformer(nn.Module):
    """Images (batch, 3, size, size) to scores of classes (batch, classes)."""

    def __init__(self, size: int = 224, patch: int = 16, width: int = 384, depth: int = 6,
                 heads: int = 6, classes: int = 1000) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def main() -> None:
    import autokernel as ak

    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--batches", default="1,32")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    model = VisionTransformer(width=args.width, depth=args.depth, heads=args.width // 64)
    model = model.cuda().half().eval()
    batches = [torch.randn(int(n), 3, 224, 224, device="cuda").half()
               for n in args.batches.split(",")]
    expected = [model(x) for x in batches]
    print(ak.torch.profile(model, batches[-1]))
    fast = ak.torch.accelerate(model, batches, budget=args.budget)
    print(fast)
    for x, (before, after) in zip(batches, fast.times):
        print(f"batch {len(x):4d}  eager {before:8.4f} ms  accelerated {after:8.4f} ms")
    for x, right in zip(batches, expected):
        off = float((model(x).float() - right.float()).abs().max() / right.float().abs().max())
        print(f"batch {len(x):4d}  largest difference {off:.2g} of the largest score")
    fast.undo()
    print("undone:", all(torch.equal(model(x), right) for x, right in zip(batches, expected)))


if __name__ == "__main__":
    main()
