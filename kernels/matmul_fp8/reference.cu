/* matmul_fp8, reference on a device: computes what reference.c does, one block for each tile of
   C. */
#if scales_is_blocks
#define K_BLOCK 128
#else
#define K_BLOCK k
#endif
#if a_type_is_e5m2
#define KIND_A KIND_E5M2
#else
#define KIND_A KIND_E4M3
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

DEVICE double scale(const void *scales, i64 i)
{
    return (double)((const float *)scales)[i];
}

/* Returns what C gets: a C of e4m3 is scaled and ends at the largest such number. */
DEVICE double stored(double x, const void *scale_c)
{
#if c_type_is_e4m3
    x *= scale(scale_c, 0);
    return x > 448 ? 448 : x < -448 ? -448 : x;
#else
    (void)scale_c;
    return x;
#endif
}

/* Computes sum[r][q] of a stretch of `depth` elements along K. */
DEVICE void product_of(double sum[EACH][EACH], const void *a, const void *b, i64 lda, i64 ldb,
                       i64 first, i64 row, i64 column, i64 m, i64 n, i64 depth)
{
    const operand left = {(const unsigned char *)a + first, lda, 1, OWN_KIND + KIND_A};
    const operand right = {(const unsigned char *)b + first, 1, ldb, OWN_KIND + KIND_E4M3};
    product_tile(sum, left, right, row, column, m, n, depth);
}

KERNEL ak_reference(const void *a, const void *b, const void *scale_a, const void *scale_b,
                    const void *bias, const void *scale_c, double *c, i64 m, i64 n, i64 k, i64 lda,
                    i64 ldb, i64 ldsa, i64 ldsb, i64 ldbias, i64 ldsc, i64 ldc)
{
    (void)ldbias;
    (void)ldsc;
    const i64 down = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
    for (i64 y = 0, x = blockIdx.x;; x += gridDim.x) {
        double sum[EACH][EACH];
        for (; x >= across; x -= across) { /* a division would compile to a call */
            y++;
        }
        if (y >= down) {
            break;
        }
        const i64 row = y * TILE, column = x * TILE;
        /* C has the total so far. */
        for (i64 first = 0, block = 0; first < k; first += K_BLOCK, block++) {
            product_of(sum, a, b, lda, ldb, first, row, column, m, n,
                       k - first < K_BLOCK ? k - first : K_BLOCK);
            for (int e = 0; e < EACH * EACH; e++) {
                const i64 i = row + (int)threadIdx.x / ACROSS + DOWN * (e / EACH);
                const i64 j = column + (int)threadIdx.x % ACROSS + ACROSS * (e % EACH);
                if (i < m && j < n) {
                    double *to = c + i * ldc + j;
#if scales_is_blocks
                    *to = (block == 0 ? 0 : *to) +
                          sum[e / EACH][e % EACH] * scale(scale_a, block * ldsa + i) *
                              scale(scale_b, j / 128 * ldsb + block);
#elif scales_is_rows
                    *to = sum[e / EACH][e % EACH] * scale(scale_a, i) * scale(scale_b, j);
#else
                    *to = sum[e / EACH][e % EACH] * scale(scale_a, 0) * scale(scale_b, 0);
#endif
#if bias_is_add
                    *to += first + K_BLOCK < k ? 0 : value(bias, j);
#endif
                    if (first + K_BLOCK >= k) {
                        *to = stored(activation(*to), scale_c);
                    }
                }
            }
        }
    }
}
