/* The sum of each row. */

static void reduce_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t rows = call->size[0], cols = call->size[1];
    const double *x = call->arg[0];
    double *y = call->arg[1];

    for (int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < cols; ++j) {
            sum += x[i * cols + j];
        }
        y[i] = sum;
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, reduce_rows, (void *)call);
}
