/* attacked_on_a_gpu, reference on a device: computes what reference.c does, a thread for each element. */
KERNEL ak_reference(const void *x, const void *w, double *y, i64 n, i64 terms)
{
    for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS) {
        double sum = 0;
        for (i64 k = 0; k < terms; k++) {
            sum += value(w, k) * value(x, i) * (value(x, i) + value(w, k));
        }
        y[i] = sum;
    }
}
