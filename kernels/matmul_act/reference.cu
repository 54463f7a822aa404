/* matmul_act, reference on a device: computes what reference.c does, one block for each tile of
   C. */
#if layout_is_tn || layout_is_tt
#define A_TRANSPOSED 1
#else
#define A_TRANSPOSED 0
#endif
#if layout_is_nt || layout_is_tt
#define B_TRANSPOSED 1
#else
#define B_TRANSPOSED 0
#endif

DEVICE double activation(double x)
{
#if activation_is_relu
    return x < 0 ? 0 : x;
#elif activation_is_leaky_relu
    return x < 0 ? 0.01 * x : x;
#elif activation_is_gelu_tanh
    const double sqrt_2_over_pi = 0.79788456080286535588;
    return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
#elif activation_is_gelu_erf
    const double sqrt_half = 0.70710678118654752440;
    return 0.5 * x * erfc(-x * sqrt_half);
#elif activation_is_silu
    return x / (1 + exp(-x));
#else
    return x;
#endif
}

KERNEL ak_reference(const void *a, const void *b, const void *bias, double *c, const void *c_in,
                    const void *residual, i64 m, i64 n, i64 k, i64 lda, i64 ldb, i64 ldbias,
                    i64 ldc, i64 ldc_in, i64 ldresidual)
{
    const operand left = {a, A_TRANSPOSED ? 1 : lda, A_TRANSPOSED ? lda : 1, 0};
    const operand right = {b, B_TRANSPOSED ? 1 : ldb, B_TRANSPOSED ? ldb : 1, 0};
    const i64 down = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
    (void)ldbias;
    for (i64 y = 0, x = blockIdx.x;; x += gridDim.x) {
        double sum[EACH][EACH];
        for (; x >= across; x -= across) { /* a division would compile to a call */
            y++;
        }
        if (y >= down) {
            break;
        }
        const i64 row = y * TILE, column = x * TILE;
        product_tile(sum, left, right, row, column, m, n, k);
        for (int r = 0; r < EACH; r++) {
            for (int q = 0; q < EACH; q++) {
                const i64 i = row + (int)threadIdx.x / ACROSS + DOWN * r;
                const i64 j = column + (int)threadIdx.x % ACROSS + ACROSS * q;
                if (i < m && j < n) {
                    double v = choice_alpha * sum[r][q];
                    v += choice_beta != 0 ? choice_beta * value(c_in, i * ldc_in + j) : 0;
#if bias_is_add
                    v += value(bias, j);
#endif
                    v = activation(v);
#if residual_is_add
                    v += value(residual, i * ldresidual + j);
#endif
                    c[i * ldc + j] = v;
                }
            }
        }
    }
}
