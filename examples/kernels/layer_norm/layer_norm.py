"""Layer normalisation of each row in Triton (forward only). One program normalises one row, in pieces of BLOCK_SIZE.
This file does not depend on autokernel; layer_norm.json describes sizes, arguments and grid."""
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}, num_warps=warps)
             for size in (512, 1024, 2048, 4096) for warps in (2, 4, 8)],
    key=["cols"])
@triton.jit
def layer_norm(x_ptr, y_ptr, weight_ptr, bias_ptr, cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * cols
    y_ptr += row * cols
    lane = tl.arange(0, BLOCK_SIZE)

    sums = tl.zeros([BLOCK_SIZE], tl.float32)
    for begin in range(0, cols, BLOCK_SIZE):
        sums += tl.load(x_ptr + begin + lane, mask=begin + lane < cols, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / cols

    squares = tl.zeros([BLOCK_SIZE], tl.float32)
    for begin in range(0, cols, BLOCK_SIZE):
        x = tl.load(x_ptr + begin + lane, mask=begin + lane < cols, other=0.0).to(tl.float32)
        away = tl.where(begin + lane < cols, x - mean, 0.0)
        squares += away * away
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)

    for begin in range(0, cols, BLOCK_SIZE):
        inside = begin + lane < cols
        x = tl.load(x_ptr + begin + lane, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + begin + lane, mask=inside, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + begin + lane, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * scale * weight + bias
        tl.store(y_ptr + begin + lane, y.to(y_ptr.dtype.element_ty), mask=inside)
