/* layernorm, reference on a device: computes what reference.c does, one block for each row. */
KERNEL ak_reference(const void *x, const void *weight, const void *bias, double *y, i64 rows,
                    i64 cols)
{
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 from = row * cols;
        double sum = 0, squares = 0;
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            sum += value(x, from + j);
        }
        const double mean = block_sum(sum) / (double)cols;
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            const double v = value(x, from + j) - mean;
            squares += v * v;
        }
        const double scale = 1 / sqrt(block_sum(squares) / (double)cols + 1e-5);
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            double v = (value(x, from + j) - mean) * scale;
#if weight_is_scale
            v *= value(weight, j);
#endif
#if bias_is_add
            v += value(bias, j);
#endif
            y[from + j] = v;
        }
    }
}
