/*
 * matmul, reference: C[M,N] = alpha * A[M,K] * B[K,N] + beta * C_in[M,N] in double precision.
 *
 * The options come at run time, in the order of problem.json: layout, alpha, beta, and the pads,
 * which do not concern a reference. The code is kept plain, because its result must be beyond
 * doubt. It computes four rows at once by a block of columns whose sums stay in the first-level
 * cache, which is fast enough.
 */
enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64 };

enum { CHOICE_LAYOUT, CHOICE_ALPHA, CHOICE_BETA };

/* Indices of the values of the option layout. */
enum { LAYOUT_NN, LAYOUT_NT, LAYOUT_TN, LAYOUT_TT };

/* Thread `thread` computes its share of the blocks, so that a product of one row is shared, too. */
static void matmul_share(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const double *a = call->arg[0];
    const double *b = call->arg[1];
    double *c = call->arg[2];
    const double *c_in = call->arg[3];
    const int layout = call->choice[CHOICE_LAYOUT];
    const double alpha = call->number[CHOICE_ALPHA], beta = call->number[CHOICE_BETA];
    const int a_transposed = layout == LAYOUT_TN || layout == LAYOUT_TT;
    const int b_transposed = layout == LAYOUT_NT || layout == LAYOUT_TT;
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
                c[at] = alpha * sum[r][q] + (beta != 0 ? beta * c_in[at] : 0);
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, matmul_share, (void *)call);
}
