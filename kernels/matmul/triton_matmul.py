"""Matrix product in Triton, C = activation(alpha * A * B + beta * C_in + bias) + residual: one program a tile of C,
and the tiles in groups of GROUP_SIZE_M rows, so that programs that run at the same time share rows of A and columns
of B in the level 2 cache. The layouts of A and B are in their strides."""
import triton
import triton.language as tl


@triton.jit
def activate(x, activation: tl.constexpr):
    if activation == "relu":
        x = tl.maximum(x, 0.0)
    elif activation == "leaky_relu":
        x = tl.where(x >= 0, x, 0.01 * x)
    elif activation == "gelu_tanh":
        # tanh(t) = 1 - 2 / (1 + exp(2 t))
        x = x * (1.0 - 1.0 / (1.0 + tl.exp(1.5957691216057308 * (x + 0.044715 * x * x * x))))
    elif activation == "gelu_erf":
        x = 0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))
    elif activation == "silu":
        x = x / (1.0 + tl.exp(-x))
    return x


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, bias_ptr, c_in_ptr, residual_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
           stride_c, alpha, beta, HAS_ALPHA: tl.constexpr, HAS_BETA: tl.constexpr, HAS_BIAS: tl.constexpr,
           HAS_RESIDUAL: tl.constexpr, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
           BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr, activation: tl.constexpr = "none"):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_SIZE_M)
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    group = pid // (GROUP_SIZE_M * tiles_n)
    first = group * GROUP_SIZE_M
    rows = min(tiles_m - first, GROUP_SIZE_M)
    tile_m = first + (pid % (GROUP_SIZE_M * tiles_n)) % rows
    tile_n = (pid % (GROUP_SIZE_M * tiles_n)) // rows

    # Rows and columns beyond the end are read from the beginning and never stored.
    m = (tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    n = (tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    k = tl.arange(0, BLOCK_SIZE_K)
    a = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        left = K - step * BLOCK_SIZE_K
        sums = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0),
                      sums, input_precision="ieee")
        a += BLOCK_SIZE_K * stride_ak
        b += BLOCK_SIZE_K * stride_bk

    m = tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    n = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    inside = (m[:, None] < M) & (n[None, :] < N)
    place = m[:, None] * stride_c + n[None, :]
    if HAS_ALPHA:
        sums *= alpha
    if HAS_BETA:
        sums += beta * tl.load(c_in_ptr + place, mask=inside, other=0.0).to(tl.float32)
    if HAS_BIAS:
        sums += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    sums = activate(sums, activation)
    if HAS_RESIDUAL:
        sums += tl.load(residual_ptr + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(c_ptr + place, sums.to(c_ptr.dtype.element_ty), mask=inside)
