/*
 * matmul_grouped, reference: the products in double precision. Each row of A is multiplied by the
 * weight of its group; rows of A that belong to no group (places of the masked layout) give zeros.
 */
#include <math.h>

enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64 };
enum { GROUPS, M, N, K };
enum { CHOICE_ACTIVATION, CHOICE_LAYOUT, CHOICE_INPUTS };
enum { A, B, ENDS, COUNT, C, SCALE_A, SCALE_B };

/* The rows of one group: used ones from `begin` to `end`, and places up to `limit`. */
typedef struct span {
    int64_t begin, end, limit;
} span;

static span span_of(const ak_host_call *call, int64_t group)
{
    const double *ends = call->arg[ENDS], *count = call->arg[COUNT];
    span s;
    if (call->choice[CHOICE_LAYOUT] == 0) {
        s.begin = group == 0 ? 0 : (int64_t)ends[group - 1];
        s.end = s.limit = (int64_t)ends[group];
    } else {
        s.begin = group * call->size[M];
        s.end = s.begin + (int64_t)count[group];
        s.limit = s.begin + call->size[M];
    }
    return s;
}

/* Computes the products of `rows` rows of A with `columns` rows of a weight. */
static void product_of(double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE], const double *a, int64_t rows,
                       const double *b, int64_t columns, int64_t k)
{
    for (int64_t r = 0; r < ROWS_AT_ONCE; ++r) {
        for (int64_t q = 0; q < COLUMNS_AT_ONCE; ++q) {
            sum[r][q] = 0;
        }
    }
    for (int64_t p = 0; p < k; ++p) {
        double column_of_b[COLUMNS_AT_ONCE];
        for (int64_t q = 0; q < columns; ++q) {
            column_of_b[q] = b[q * k + p];
        }
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t q = 0; q < columns; ++q) {
                sum[r][q] += a[r * k + p] * column_of_b[q];
            }
        }
    }
}

/* Multiplies products by the scales of their rows of A and B, if there are scales. */
static void scale_by(double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE], const ak_host_call *call,
                     int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    const double *of_a = call->arg[SCALE_A], *of_b = call->arg[SCALE_B];
    for (int64_t r = 0; r < rows && call->choice[CHOICE_INPUTS] == 1; ++r) {
        for (int64_t q = 0; q < columns; ++q) {
            sum[r][q] *= of_a[row + r] * of_b[column + q];
        }
    }
}

static void multiply_rows(const ak_host_call *call, int64_t group, int64_t row, int64_t rows)
{
    const int64_t n = call->size[N], k = call->size[K];
    const int gated = call->choice[CHOICE_ACTIVATION] == 1;
    const double *a = (const double *)call->arg[A] + row * k;
    const double *b = (const double *)call->arg[B] + group * n * k * (gated ? 2 : 1);
    double *c = (double *)call->arg[C] + row * n;
    for (int64_t j = 0; j < n; j += COLUMNS_AT_ONCE) {
        const int64_t columns = n - j < COLUMNS_AT_ONCE ? n - j : COLUMNS_AT_ONCE;
        double sum[ROWS_AT_ONCE][COLUMNS_AT_ONCE], up[ROWS_AT_ONCE][COLUMNS_AT_ONCE];
        const int64_t column = group * n * (gated ? 2 : 1) + j; /* of all groups */
        product_of(sum, a, rows, b + j * k, columns, k);
        scale_by(sum, call, row, rows, column, columns);
        if (gated) {
            product_of(up, a, rows, b + (n + j) * k, columns, k);
            scale_by(up, call, row, rows, column + n, columns);
        }
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t q = 0; q < columns; ++q) {
                const double x = sum[r][q];
                c[r * n + j + q] = gated ? x / (1 + exp(-x)) * up[r][q] : x;
            }
        }
    }
}

/* Thread `thread` takes every `threads`-th piece of ROWS_AT_ONCE rows. */
static void multiply_share(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    int64_t piece = 0;
    for (int64_t group = 0; group < call->size[GROUPS]; ++group) {
        const span s = span_of(call, group);
        for (int64_t row = s.begin; row < s.end; row += ROWS_AT_ONCE) {
            if (piece++ % threads == thread) {
                const int64_t left = s.end - row;
                multiply_rows(call, group, row, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE);
            }
        }
        double *c = call->arg[C];
        for (int64_t i = s.end * call->size[N]; thread == 0 && i < s.limit * call->size[N]; ++i) {
            c[i] = 0;
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, multiply_share, (void *)call);
}
