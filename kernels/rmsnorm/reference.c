/*
 * rmsnorm, reference: each row over the square root of the mean of its squares plus 1e-5, times
 * weight, in double precision. choice[0] is the index of the weight's value in problem.json.
 */
#include <math.h>

static void rmsnorm_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t rows = call->size[0], cols = call->size[1];
    const double *x = call->arg[0];
    const double *weight = call->arg[1];
    double *y = call->arg[2];

    for (int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i) {
        const double *from = x + i * cols;
        double *to = y + i * cols;
        double squares = 0;
        for (int64_t j = 0; j < cols; ++j) {
            squares += from[j] * from[j];
        }
        const double scale = 1 / sqrt(squares / (double)cols + 1e-5);
        for (int64_t j = 0; j < cols; ++j) {
            to[j] = from[j] * scale * (call->choice[0] ? weight[j] : 1);
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, rmsnorm_rows, (void *)call);
}
