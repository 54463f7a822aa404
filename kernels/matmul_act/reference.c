/*
 * matmul_act, reference in double precision: C[M,N] = activation(alpha * A[M,K] * B[K,N] + beta
 * * C_in[M,N] + bias[N]) + residual[M,N].
 *
 * The options come at run time, in the order of problem.json, texts as the index of their value.
 * The product is computed as in matmul's reference.
 */
#include <math.h>

enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64 };

enum { CHOICE_BIAS, CHOICE_ACTIVATION, CHOICE_LAYOUT, CHOICE_ALPHA, CHOICE_BETA, CHOICE_RESIDUAL };

/* Indices of the options' values. */
enum { BIAS_NONE, BIAS_ADD };
enum { LAYOUT_NN, LAYOUT_NT, LAYOUT_TN, LAYOUT_TT };
enum { RESIDUAL_NONE, RESIDUAL_ADD };

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

/* The functions are in the order of the values in problem.json. */
static double (*const activations[])(double) = {
    activation_none,      activation_relu,     activation_leaky_relu,
    activation_gelu_tanh, activation_gelu_erf, activation_silu,
};

/* Thread `thread` computes its share of the blocks, so that a product of one row is shared, too. */
static void matmul_act_share(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const double *a = call->arg[0];
    const double *b = call->arg[1];
    const double *bias = call->arg[2];
    double *c = call->arg[3];
    const double *c_in = call->arg[4];
    const double *residual = call->arg[5];
    double (*const activation)(double) = activations[call->choice[CHOICE_ACTIVATION]];
    const int layout = call->choice[CHOICE_LAYOUT];
    const double alpha = call->number[CHOICE_ALPHA], beta = call->number[CHOICE_BETA];
    const int a_transposed = layout == LAYOUT_TN || layout == LAYOUT_TT;
    const int b_transposed = layout == LAYOUT_NT || layout == LAYOUT_TT;
    const int with_bias = call->choice[CHOICE_BIAS] == BIAS_ADD;
    const int with_residual = call->choice[CHOICE_RESIDUAL] == RESIDUAL_ADD;
    const int64_t across = (n + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
    const int64_t blocks = (m + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * across;
    const int64_t end = blocks * (thread + 1) / threads;

    for (int64_t block = blocks * thread / threads; block < end; ++block) {
        const int64_t i = block / across * ROWS_AT_ONCE, j = block % across * COLUMNS_AT_ONCE;
        const int64_t rows = m - i < ROWS_AT_ONCE ? m - i : ROWS_AT_ONCE;
        const int64_t columns = n - j < COLUMNS_AT_ONCE ? n - j : COLUMNS_AT_ONCE;
        double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE] = {{0}};
        double gathered[COLUMNS_AT_ONCE]; /* a row of B that is a column in memory */
        for (int64_t p = 0; p < k; ++p) {
            const double *row = b_transposed ? gathered : b + p * n + j;
            for (int64_t q = 0; b_transposed && q < columns; ++q) {
                gathered[q] = b[(j + q) * k + p];
            }
            for (int64_t r = 0; r < rows; ++r) {
                const double element = a_transposed ? a[p * m + i + r] : a[(i + r) * k + p];
                for (int64_t q = 0; q < columns; ++q) {
                    sum[r][q] += element * row[q];
                }
            }
        }
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t q = 0; q < columns; ++q) {
                const int64_t at = (i + r) * n + j + q;
                double x = alpha * sum[r][q];
                x += beta != 0 ? beta * c_in[at] : 0;
                x += with_bias ? bias[j + q] : 0;
                c[at] = activation(x) + (with_residual ? residual[at] : 0);
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, matmul_act_share, (void *)call);
}
