/*
 * matmul_act, reference: C[M,N] = activation(A[M,K] * B[K,N] + bias[N]) in double precision.
 *
 * The choices come at run time: choice[0] is the bias, choice[1] the activation, each the index of
 * its value in problem.json. The product is computed as in matmul's reference.
 */
#include <math.h>

enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64 };

enum { BIAS_NONE, BIAS_ADD };

static double activation_none(double x)
{
    return x;
}

static double activation_relu(double x)
{
    return x < 0 ? 0 : x;
}

static double activation_leaky_relu(double x)
{
    return x < 0 ? 0.01 * x : x;
}

static double activation_gelu_tanh(double x)
{
    const double sqrt_2_over_pi = 0.79788456080286535588;
    return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

static double activation_gelu_erf(double x)
{
    const double sqrt_half = 0.70710678118654752440;
    return 0.5 * x * erfc(-x * sqrt_half);
}

static double activation_silu(double x)
{
    return x / (1 + exp(-x));
}

/* In the order of the values in problem.json. */
static double (*const activations[])(double) = {
    activation_none,      activation_relu,     activation_leaky_relu,
    activation_gelu_tanh, activation_gelu_erf, activation_silu,
};

static void matmul_act_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const double *a = call->arg[0];
    const double *b = call->arg[1];
    const double *bias = call->arg[2];
    double *c = call->arg[3];
    double (*const activation)(double) = activations[call->choice[1]];
    const int64_t end = m * (thread + 1) / threads;

    for (int64_t i = m * thread / threads; i < end; i += ROWS_AT_ONCE) {
        const int64_t rows = end - i < ROWS_AT_ONCE ? end - i : ROWS_AT_ONCE;
        for (int64_t j = 0; j < n; j += COLUMNS_AT_ONCE) {
            const int64_t columns = n - j < COLUMNS_AT_ONCE ? n - j : COLUMNS_AT_ONCE;
            double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE] = {{0}};
            for (int64_t p = 0; p < k; ++p) {
                const double *row = b + p * n + j;
                for (int64_t r = 0; r < rows; ++r) {
                    const double element = a[(i + r) * k + p];
                    for (int64_t q = 0; q < columns; ++q) {
                        sum[r][q] += element * row[q];
                    }
                }
            }
            for (int64_t r = 0; r < rows; ++r) {
                for (int64_t q = 0; q < columns; ++q) {
                    const double add = call->choice[0] == BIAS_ADD ? bias[j + q] : 0;
                    c[(i + r) * n + j + q] = activation(sum[r][q] + add);
                }
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, matmul_act_rows, (void *)call);
}
