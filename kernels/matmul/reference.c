/*
 * matmul, reference: C[M,N] = A[M,K] * B[K,N] in double precision.
 *
 * Kept plain: what this computes must be beyond doubt. Four rows at once by a block of columns
 * small enough for its sums to stay in the first-level cache is all the speed that is needed.
 */
enum { ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 64 };

static void matmul_rows(void *context, int thread, int threads)
{
    const ak_host_call *call = context;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const double *a = call->arg[0];
    const double *b = call->arg[1];
    double *c = call->arg[2];
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
                    c[(i + r) * n + j + q] = sum[r][q];
                }
            }
        }
    }
}

void ak_reference(const ak_host_call *call)
{
    call->parallel(call->pool, call->threads, matmul_rows, (void *)call);
}
