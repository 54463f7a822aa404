/* matmul, reference on a device: what reference.c computes, a block for each tile of C. */
KERNEL ak_reference(const void *a, const void *b, double *c, i64 m, i64 n, i64 k)
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
                    c[i * n + j] = sum[r][q];
                }
            }
        }
    }
}
