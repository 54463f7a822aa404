/*
 * opencl.cl: C = epilogue(alpha * A * B + beta * C_in) in f32; any size, layout and leading
 * dimension. A work-group computes a tile of C. A work-item computes WPT_M rows and WPT_N columns of
 * it, with the sums in registers. Its rows are WORK_M apart and its vectors of columns WORK_N * VEC,
 * so that neighbouring work-items read neighbouring elements.
 *
 *   TILE_M, TILE_N  tile of C of a work-group
 *   TILE_K          depth of a slice of A and B
 *   WPT_M, WPT_N    rows and columns of a work-item
 *   VEC             columns that are computed as one vector; divides WPT_N
 *   LOCAL           1: slices go through local memory, where they are read WPT times less often
 *                   0: A and B are read where they are, which suits devices whose local memory is
 *                   a part of the same cache
 *   PAD             elements behind each row of A's slice, against conflicts of banks
 *   A_LAYOUT        0: K is the contiguous direction of A; 1: M is
 *   B_LAYOUT        0: K is the contiguous direction of B; 1: N is
 *   HAS_ALPHA, HAS_BETA, HAS_BIAS, HAS_RESIDUAL, EPILOGUE(x)  as in cuda_async.cu
 */
#ifndef EPILOGUE
#define EPILOGUE(x) (x)
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef HAS_RESIDUAL
#define HAS_RESIDUAL 0
#endif

#define WORK_M  (TILE_M / WPT_M) /* work-items of a group along M and N */
#define WORK_N  (TILE_N / WPT_N)
#define ITEMS   (WORK_M * WORK_N)
#define VECTORS (WPT_N / VEC)

#if VEC == 1
typedef float vector;
#define LOAD(at)        (*(at))
#define STORE(at, v)    (*(at) = (v))
#else
#define JOIN_(a, b)     a##b
#define JOIN(a, b)      JOIN_(a, b)
typedef JOIN(float, VEC) vector;
#define LOAD(at)        JOIN(vload, VEC)(0, at)
#define STORE(at, v)    JOIN(vstore, VEC)(v, 0, at)
#endif

/* Return an element of A or B, and 0 beyond the matrix. */
float element_of_a(global const float *a, int row, int k, int M, int K, int lda)
{
    if (row >= M || k >= K) {
        return 0;
    }
    return A_LAYOUT ? a[(long)k * lda + row] : a[(long)row * lda + k];
}

float element_of_b(global const float *b, int k, int column, int N, int K, int ldb)
{
    if (column >= N || k >= K) {
        return 0;
    }
    return B_LAYOUT ? b[(long)k * ldb + column] : b[(long)column * ldb + k];
}

/* Returns VEC elements of a row of B. */
vector vector_of_b(global const float *b, int k, int column, int N, int K, int ldb)
{
    float part[VEC];
    if (B_LAYOUT && column + VEC <= N) {
        return LOAD(b + (long)k * ldb + column);
    }
    for (int i = 0; i < VEC; i++) {
        part[i] = element_of_b(b, k, column + i, N, K, ldb);
    }
    return LOAD(part);
}

kernel __attribute__((reqd_work_group_size(WORK_N, WORK_M, 1))) void ak_kernel(
    global const float *restrict a, global const float *restrict b, global float *restrict c,
    global const float *restrict bias, global const float *restrict c_in,
    global const float *restrict residual, const int M, const int N, const int K, const int lda,
    const int ldb, const int ldc, const float alpha, const float beta)
{
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    const int first_row = (int)get_group_id(1) * TILE_M, first_column = (int)get_group_id(0) * TILE_N;
    vector sum[WPT_M][VECTORS];
    for (int i = 0; i < WPT_M; i++) {
        for (int j = 0; j < VECTORS; j++) {
            sum[i][j] = 0;
        }
    }

#if LOCAL
    local float slice_a[TILE_K][TILE_M + PAD], slice_b[TILE_K][TILE_N];
    const int item = y * WORK_N + x;
    for (int from = 0; from < K; from += TILE_K) {
        for (int at = item; at < TILE_M * TILE_K; at += ITEMS) {
            const int k = A_LAYOUT ? at / TILE_M : at % TILE_K;
            const int row = A_LAYOUT ? at % TILE_M : at / TILE_K;
            slice_a[k][row] = element_of_a(a, first_row + row, from + k, M, K, lda);
        }
        for (int at = item; at < TILE_N * TILE_K; at += ITEMS) {
            const int k = B_LAYOUT ? at / TILE_N : at % TILE_K;
            const int column = B_LAYOUT ? at % TILE_N : at / TILE_K;
            slice_b[k][column] = element_of_b(b, from + k, first_column + column, N, K, ldb);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE_K; k++) {
            vector row_of_b[VECTORS];
            for (int j = 0; j < VECTORS; j++) {
                row_of_b[j] = LOAD(&slice_b[k][(j * WORK_N + x) * VEC]);
            }
            for (int i = 0; i < WPT_M; i++) {
                const float element = slice_a[k][i * WORK_M + y];
                for (int j = 0; j < VECTORS; j++) {
                    sum[i][j] = fma((vector)element, row_of_b[j], sum[i][j]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    for (int k = 0; k < K; k++) {
        vector row_of_b[VECTORS];
        for (int j = 0; j < VECTORS; j++) {
            row_of_b[j] = vector_of_b(b, k, first_column + (j * WORK_N + x) * VEC, N, K, ldb);
        }
        for (int i = 0; i < WPT_M; i++) {
            const float element = element_of_a(a, first_row + i * WORK_M + y, k, M, K, lda);
            for (int j = 0; j < VECTORS; j++) {
                sum[i][j] = fma((vector)element, row_of_b[j], sum[i][j]);
            }
        }
    }
#endif

    for (int i = 0; i < WPT_M; i++) {
        const int row = first_row + i * WORK_M + y;
        for (int j = 0; j < VECTORS && row < M; j++) {
            const int column = first_column + (j * WORK_N + x) * VEC;
            float part[VEC];
            STORE(part, sum[i][j]);
            for (int v = 0; v < VEC; v++) {
                if (column + v < N) {
                    const long at = (long)row * ldc + column + v;
                    float value = part[v];
#if HAS_ALPHA
                    value *= alpha;
#endif
#if HAS_BETA
                    value += beta * c_in[at];
#endif
#if HAS_BIAS
                    value += bias[column + v];
#endif
                    value = EPILOGUE(value);
#if HAS_RESIDUAL
                    value += residual[at];
#endif
                    c[at] = value;
                }
            }
        }
    }
}
