/* softmax, reference on a device: computes what reference.c does, one block for each row. */
KERNEL ak_reference(const void *x, double *y, i64 rows, i64 cols)
{
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 from = row * cols;
        double max = -INFINITE, sum = 0;
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            const double v = value(x, from + j);
            max = v > max ? v : max;
        }
        max = block_max(max);
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            sum += exp(value(x, from + j) - max);
        }
        sum = block_sum(sum);
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            y[from + j] = exp(value(x, from + j) - max) / sum;
        }
    }
}
