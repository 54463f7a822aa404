/*
 * layernorm, reference: each row minus its mean, over the square root of its variance plus 1e-5,
 * times weight, plus bias, in double precision.
 *
 * The choices come at run time: choice[0] is the weight, choice[1] the bias, each the index of its
 * value in problem.json.
 */
#include <math.h>

static void layernorm_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t rows = call->size[0], cols = call->size[1];
    const double *x = call->arg[0];
    const double *weight = call->arg[1];
    const double *bias = call->arg[2];
    double *y = call->arg[3];

    for (int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i) {
        const double *from = x + i * cols;
        double *to = y + i * cols;
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < cols; ++j) {
            sum += from[j];
        }
        const double mean = sum / (double)cols;
        for (int64_t j = 0; j < cols; ++j) {
            squares += (from[j] - mean) * (from[j] - mean);
        }
        const double scale = 1 / sqrt(squares / (double)cols + 1e-5);
        for (int64_t j = 0; j < cols; ++j) {
            to[j] = (from[j] - mean) * scale * (call->choice[0] ? weight[j] : 1) +
                    (call->choice[1] ? bias[j] : 0);
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, layernorm_rows, (void *)call);
}
