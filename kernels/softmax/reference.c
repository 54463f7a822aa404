/*
 * softmax, reference: each row of Y is exp(x - max) / sum(exp(x - max)), in double precision.
 */
#include <math.h>

static void softmax_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t rows = call->size[0], cols = call->size[1];
    const double *x = call->arg[0];
    double *y = call->arg[1];

    for (int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i) {
        const double *from = x + i * cols;
        double *to = y + i * cols;
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < cols; ++j) {
            max = from[j] > max ? from[j] : max;
        }
        for (int64_t j = 0; j < cols; ++j) {
            to[j] = exp(from[j] - max);
            sum += to[j];
        }
        for (int64_t j = 0; j < cols; ++j) {
            to[j] /= sum;
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, softmax_rows, (void *)call);
}
