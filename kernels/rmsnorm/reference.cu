/* rmsnorm, reference on a device: computes what reference.c does, one block for each row. */
KERNEL ak_reference(const void *x, const void *weight, double *y, i64 rows, i64 cols)
{
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 from = row * cols;
        double squares = 0;
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            const double v = value(x, from + j);
            squares += v * v;
        }
        const double scale = 1 / sqrt(block_sum(squares) / (double)cols + 1e-5);
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            double v = value(x, from + j) * scale;
#if weight_is_scale
            v *= value(weight, j);
#endif
            y[from + j] = v;
        }
    }
}
