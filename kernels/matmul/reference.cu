/* matmul, reference on a device: computes what reference.c does, one block for each tile of C. */
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

KERNEL ak_reference(const void *a, const void *b, double *c, const void *c_in, i64 m, i64 n, i64 k,
                    i64 lda, i64 ldb, i64 ldc, i64 ldc_in)
{
    const operand left = {a, A_TRANSPOSED ? 1 : lda, A_TRANSPOSED ? lda : 1, 0};
    const operand right = {b, B_TRANSPOSED ? 1 : ldb, B_TRANSPOSED ? ldb : 1, 0};
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
        product_tile(sum, left, right, row, column, m, n, k);
        for (int r = 0; r < EACH; r++) {
            for (int q = 0; q < EACH; q++) {
                const i64 i = row + (int)threadIdx.x / ACROSS + DOWN * r;
                const i64 j = column + (int)threadIdx.x % ACROSS + ACROSS * q;
                if (i < m && j < n) {
                    const double more =
                        choice_beta != 0 ? choice_beta * value(c_in, i * ldc_in + j) : 0;
                    c[i * ldc + j] = choice_alpha * sum[r][q] + more;
                }
            }
        }
    }
}
