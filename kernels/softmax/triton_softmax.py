"""Softmax of each row in Triton: one program a row. A row that fits BLOCK_SIZE is read once; a longer one is
read twice, the first time for its largest element and its sum, which are kept for each lane."""
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * cols
    y_ptr += row * cols
    lane = tl.arange(0, BLOCK_SIZE)
    if cols <= BLOCK_SIZE:
        inside = lane < cols
        x = tl.load(x_ptr + lane, mask=inside, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        y = e / tl.sum(e, axis=0)
        tl.store(y_ptr + lane, y.to(y_ptr.dtype.element_ty), mask=inside)
    else:
        largest = tl.full([BLOCK_SIZE], -float("inf"), tl.float32)
        sums = tl.zeros([BLOCK_SIZE], tl.float32)
        for begin in range(0, cols, BLOCK_SIZE):
            x = tl.load(x_ptr + begin + lane, mask=begin + lane < cols, other=-float("inf")).to(tl.float32)
            new = tl.maximum(largest, x)
            shift = tl.where(new == -float("inf"), 0.0, new)  # -inf - -inf would be NaN
            sums = sums * tl.exp(largest - shift) + tl.exp(x - shift)
            largest = new
        top = tl.max(largest, axis=0)
        total = tl.sum(sums * tl.exp(largest - top), axis=0)
        for begin in range(0, cols, BLOCK_SIZE):
            inside = begin + lane < cols
            x = tl.load(x_ptr + begin + lane, mask=inside, other=-float("inf")).to(tl.float32)
            y = tl.exp(x - top) / total
            tl.store(y_ptr + begin + lane, y.to(y_ptr.dtype.element_ty), mask=inside)
