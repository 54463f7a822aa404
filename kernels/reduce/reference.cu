/* reduce, reference on a device: computes what reference.c does, one block for each row. */
KERNEL ak_reference(const void *x, double *y, i64 rows, i64 cols)
{
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        double sum = 0;
        for (i64 j = threadIdx.x; j < cols; j += THREADS) {
            sum += value(x, row * cols + j);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) {
            y[row] = sum;
        }
    }
}
