/*
 * matmul_fp8, reference: the scaled product in double precision, then bias and activation. Sums are
 * taken over the blocks of 128 along K one after the other, each times its scales; without scales
 * of blocks these are the same for all. A C of e4m3 is scaled and ends at the largest such number.
 */
#include <math.h>

enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64, BLOCK = 128 };
enum { CHOICE_SCALES, CHOICE_A_TYPE, CHOICE_C_TYPE, CHOICE_BIAS, CHOICE_ACTIVATION };
enum { TENSOR, ROWS, BLOCKS }; /* values of the option scales */
enum { NONE, RELU, LEAKY_RELU, GELU_TANH, GELU_ERF, SILU };
enum { A, B, SCALE_A, SCALE_B, BIAS, SCALE_C, C };
#define E4M3_LARGEST 448.0

static double activated(double x, int how)
{
    const double sqrt_2_over_pi = 0.79788456080286535588, sqrt_half = 0.70710678118654752440;
    switch (how) {
    case RELU:
        return x < 0 ? 0 : x;
    case LEAKY_RELU:
        return x < 0 ? 0.01 * x : x;
    case GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case GELU_ERF:
        return 0.5 * x * erfc(-x * sqrt_half);
    case SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

static double scale_of(const ak_host_call *call, int64_t row, int64_t column, int64_t block)
{
    const int64_t m = call->size[0], blocks = (call->size[2] + BLOCK - 1) / BLOCK;
    const double *a = call->arg[SCALE_A], *b = call->arg[SCALE_B];
    switch (call->choice[CHOICE_SCALES]) {
    case TENSOR:
        return a[0] * b[0];
    case ROWS:
        return a[row] * b[column];
    default:
        return a[block * m + row] * b[column / BLOCK * blocks + block];
    }
}

static double stored(double x, const ak_host_call *call)
{
    const double *scale = call->arg[SCALE_C];
    return call->choice[CHOICE_C_TYPE] == 0 ? x
                                            : fmax(-E4M3_LARGEST, fmin(E4M3_LARGEST, x * scale[0]));
}

/* Thread `thread` computes its share of the blocks, so that a product of one row is shared, too. */
static void multiply_share(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const double *a = call->arg[A], *b = call->arg[B];
    const double *bias = call->choice[CHOICE_BIAS] == 0 ? NULL : call->arg[BIAS];
    double *c = call->arg[C];
    const int64_t across = (n + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
    const int64_t blocks = (m + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * across;
    const int64_t end = blocks * (thread + 1) / threads;

    for (int64_t block = blocks * thread / threads; block < end; ++block) {
        const int64_t i = block / across * ROWS_AT_ONCE, j = block % across * COLUMNS_AT_ONCE;
        const int64_t rows = m - i < ROWS_AT_ONCE ? m - i : ROWS_AT_ONCE;
        const int64_t columns = n - j < COLUMNS_AT_ONCE ? n - j : COLUMNS_AT_ONCE;
        double total[ROWS_AT_ONCE][COLUMNS_AT_ONCE] = {{0}};
        for (int64_t first = 0; first < k; first += BLOCK) {
            const int64_t limit = k - first < BLOCK ? k : first + BLOCK;
            double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE] = {{0}};
            for (int64_t p = first; p < limit; ++p) {
                double column_of_b[COLUMNS_AT_ONCE];
                for (int64_t q = 0; q < columns; ++q) {
                    column_of_b[q] = b[(j + q) * k + p];
                }
                for (int64_t r = 0; r < rows; ++r) {
                    for (int64_t q = 0; q < columns; ++q) {
                        sum[r][q] += a[(i + r) * k + p] * column_of_b[q];
                    }
                }
            }
            for (int64_t r = 0; r < rows; ++r) {
                for (int64_t q = 0; q < columns; ++q) {
                    total[r][q] += sum[r][q] * scale_of(call, i + r, j + q, first / BLOCK);
                }
            }
        }
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t q = 0; q < columns; ++q) {
                c[(i + r) * n + j + q] =
                    stored(activated(total[r][q] + (bias == NULL ? 0 : bias[j + q]),
                                     call->choice[CHOICE_ACTIVATION]),
                           call);
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, multiply_share, (void *)call);
}
