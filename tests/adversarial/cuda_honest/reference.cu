/* honest_on_a_gpu, reference on a device: computes what reference.c does. */
KERNEL ak_reference(const void *a, const void *b, double *c, i64 m, i64 n, i64 k)
{
    for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < m * n; i += (i64)gridDim.x * THREADS) {
        double sum = 0;
        for (i64 p = 0; p < k; p++) {
            sum += value(a, i / n * k + p) * value(b, p * n + i % n);
        }
        c[i] = sum;
    }
}
