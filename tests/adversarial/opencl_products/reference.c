/* The product of each row of A with each row of B. */
static void rows_of(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t M = call->size[0], N = call->size[1], K = call->size[2];
    const double *a = call->arg[0], *b = call->arg[1];
    double *c = call->arg[2];
    for (int64_t i = M * thread / threads; i < M * (thread + 1) / threads; ++i) {
        for (int64_t j = 0; j < N; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < K; ++k) {
                sum += a[i * K + k] * b[j * K + k];
            }
            c[i * N + j] = sum;
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, rows_of, (void *)call);
}
