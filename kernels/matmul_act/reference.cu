/* matmul_act, reference on a device: what reference.c computes, a block for each tile of C. */
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

KERNEL ak_reference(const void *a, const void *b, const void *bias, double *c, i64 m, i64 n, i64 k)
{
    const i64 down = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
    for (i64 tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
        double sum[EACH][EACH];
        const i64 row = tile / across * TILE, column = tile % across * TILE;
        product_tile(sum, a, b, row, column, m, n, k);
        for (int r = 0; r < EACH; r++) {
            for (int q = 0; q < EACH; q++) {
                const i64 i = row + (int)threadIdx.x / ACROSS + DOWN * r;
                const i64 j = column + (int)threadIdx.x % ACROSS + ACROSS * q;
                if (i < m && j < n) {
#if bias_is_add
                    c[i * n + j] = activation(sum[r][q] + value(bias, j));
#else
                    c[i * n + j] = activation(sum[r][q]);
#endif
                }
            }
        }
    }
}
