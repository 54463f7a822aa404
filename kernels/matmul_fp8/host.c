/*
 * matmul_fp8, host implementation: decodes to f32, multiplies by tiles, and rounds to the type of C.
 *
 * Threads share the blocks of ROWS rows of C; where there are few of these, its blocks of COLUMNS
 * columns. A block goes along K in steps of 128, the blocks of the scales: a step's rows of A and
 * of B are decoded by a table of the 256 numbers, B transposed, so that a vector has adjacent
 * columns. A register tile of MR rows by NV vectors adds up the step's products; their sum times
 * the scales of the step goes to the block's totals. Scales that are the same for all steps are
 * applied once, at the end, with bias and activation (../matmul_act/activation.h).
 */
enum { DEPTH = 128, NR = NV * VL };
#if scales_is_rows
#define SCALE_OF_ROW(otherwise, scale) (scale)
#else
#define SCALE_OF_ROW(otherwise, scale) (otherwise)
#endif
#if c_type_is_e4m3
#define SCALE_OF_C(p) ((p)->scale_c[0])
#else
#define SCALE_OF_C(p) 1.0F
#endif
#define PANELS ((COLUMNS + NR - 1) / NR)

#if c_type_is_e4m3
typedef uint8_t element; /* of C */
#else
typedef uint16_t element;
#endif

typedef struct product {
    const ak_host_call *call;
    int64_t m, n, k, lda, ldb, ldc, ldsa, ldsb;
    const uint8_t *a, *b;
    const float *scale_a, *scale_b, *scale_c;
    const uint16_t *bias;
    element *c;
    float number_a[256], number_b[256]; /* the values of bytes of A and B */
} product;

/* What a thread keeps in the workspace. */
typedef struct room {
    float a[ROWS + MR][DEPTH];  /* rows of A */
    float b[PANELS][DEPTH][NR]; /* columns of B, in panels */
    float total[ROWS + MR][PANELS * NR];
} room;

#if a_type_is_e5m2
/* e5m2: the upper half of an f16. */
static float decoded_a(int byte)
{
    const uint16_t bits = (uint16_t)(byte << 8);
    _Float16 half;
    __builtin_memcpy(&half, &bits, sizeof half);
    return (float)half;
}
#else
#define decoded_a e4m3_decoded
#endif

#if c_type_is_e4m3
/* Rounds to nearest, ties to even; what is too large becomes the largest number. */
static uint8_t rounded(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 24 & 128, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) {
        return 127;
    }
    if (magnitude < 0x3C800000) { /* below 2^-6 in steps of 2^-9, the last bit of 2^14 */
        const float moved = (x < 0 ? -x : x) + 16384.0F;
        __builtin_memcpy(&bits, &moved, sizeof bits);
        return (uint8_t)(sign | (bits & 15));
    }
    const uint32_t byte = ((magnitude + 0x7FFFF + (magnitude >> 20 & 1)) >> 20) - ((127 - 7) << 3);
    return (uint8_t)(sign | (byte < 126 ? byte : 126));
}
#else

static uint16_t rounded(float x)
{
#if dtype_is_bf16
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(x != x ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
#else
    const _Float16 half = (_Float16)x;
    uint16_t bits;
    __builtin_memcpy(&bits, &half, sizeof bits);
    return bits;
#endif
}
#endif

#if bias_is_add
static float widened(uint16_t bits)
{
#if dtype_is_bf16
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    __builtin_memcpy(&x, &wide, sizeof x);
    return x;
#else
    _Float16 half;
    __builtin_memcpy(&half, &bits, sizeof half);
    return (float)half;
#endif
}
#endif

/* Decodes `depth` elements of `rows` rows of A, and zeros behind them. */
static void decode_a(room *at, const product *p, int64_t row, int64_t rows, int64_t k,
                     int64_t depth)
{
    for (int64_t i = 0; i < (rows + MR - 1) / MR * MR; ++i) {
        for (int64_t d = 0; d < depth; ++d) {
            at->a[i][d] = i < rows ? p->number_a[p->a[(row + i) * p->lda + k + d]] : 0;
        }
    }
}

static void decode_b(room *at, const product *p, int64_t column, int64_t columns, int64_t k,
                     int64_t depth)
{
    for (int64_t j = 0; j < (columns + NR - 1) / NR * NR; ++j) {
        for (int64_t d = 0; d < depth; ++d) {
            at->b[j / NR][d][j % NR] =
                j < columns ? p->number_b[p->b[(column + j) * p->ldb + k + d]] : 0;
        }
    }
}

/* Adds the products of MR rows and a panel of columns to the totals, times a factor for each row.
 */
AK_INLINE void multiply(float *total, const float *a, const float *b, int64_t depth,
                        const float *factor)
{
    vec sum[MR][NV] = {{{0}}};
    for (int64_t d = 0; d < depth; ++d) {
        vec right[NV];
        AK_UNROLL_FULLY
        for (int v = 0; v < NV; ++v) {
            right[v] = vec_load(b + d * NR + v * VL);
        }
        AK_UNROLL_FULLY
        for (int r = 0; r < MR; ++r) {
            AK_UNROLL_FULLY
            for (int v = 0; v < NV; ++v) {
                sum[r][v] += vec_splat(a[r * DEPTH + d]) * right[v];
            }
        }
    }
    AK_UNROLL_FULLY
    for (int r = 0; r < MR; ++r) {
        AK_UNROLL_FULLY
        for (int v = 0; v < NV; ++v) {
            float *to = total + r * (PANELS * NR) + v * VL;
            vec_store(to, vec_load(to) + sum[r][v] * factor[r]);
        }
    }
}

/* Applies what comes after the sums, and rounds. */
static void finish(const product *p, room *at, int64_t row, int64_t rows, int64_t column,
                   int64_t columns)
{
    float across[PANELS * NR] = {0}, bias[PANELS * NR] = {0};
    for (int64_t j = 0; j < columns; ++j) {
        across[j] = SCALE_OF_ROW(1.0F, p->scale_b[column + j]);
#if bias_is_add
        bias[j] = widened(p->bias[column + j]);
#endif
    }
    for (int64_t i = 0; i < rows; ++i) {
#if scales_is_tensor
        const float down = p->scale_a[0] * p->scale_b[0];
#else
        const float down = SCALE_OF_ROW(1.0F, p->scale_a[row + i]);
#endif
        float line[PANELS * NR];
        for (int64_t j = 0; j < columns; j += VL) {
            const vec x = vec_load(&at->total[i][j]) * down * vec_load(across + j);
            vec_store(line + j, GEMM_EPILOGUE(x, vec_load(bias + j)));
        }
        for (int64_t j = 0; j < columns; ++j) {
            p->c[(row + i) * p->ldc + column + j] = rounded(line[j] * SCALE_OF_C(p));
        }
    }
}

static void multiply_block(const product *p, room *at, int64_t row, int64_t column)
{
    const int64_t rows = p->m - row < ROWS ? p->m - row : ROWS;
    const int64_t columns = p->n - column < COLUMNS ? p->n - column : COLUMNS;
    for (int64_t i = 0; i < ROWS + MR; ++i) {
        for (int64_t j = 0; j < PANELS * NR; ++j) {
            at->total[i][j] = 0;
        }
    }
    for (int64_t k = 0; k < p->k; k += DEPTH) {
        const int64_t depth = p->k - k < DEPTH ? p->k - k : DEPTH;
        decode_a(at, p, row, rows, k, depth);
        decode_b(at, p, column, columns, k, depth);
        for (int64_t i = 0; i < rows; i += MR) {
            for (int64_t j = 0; j < columns; j += NR) {
                float factor[MR];
                for (int64_t r = 0; r < MR; ++r) {
#if scales_is_blocks /* COLUMNS divides 128, so a block has one scale of B */
                    factor[r] = i + r < rows ? p->scale_a[k / DEPTH * p->ldsa + row + i + r] *
                                                   p->scale_b[column / DEPTH * p->ldsb + k / DEPTH]
                                             : 0;
#else
                    factor[r] = 1;
#endif
                }
                multiply(&at->total[i][j], at->a[i], &at->b[j / NR][0][0], depth, factor);
            }
        }
    }
    finish(p, at, row, rows, column, columns);
}

static void multiply_share(void *context, int thread, int threads)
{
    const product *p = context;
    const int64_t down = (p->m + ROWS - 1) / ROWS, across = (p->n + COLUMNS - 1) / COLUMNS;
    room *at = (room *)p->call->workspace + thread;
    const int64_t end = down * across * (thread + 1) / threads;
    for (int64_t i = down * across * thread / threads; i < end; ++i) {
        multiply_block(p, at, i / across * ROWS, i % across * COLUMNS);
    }
}

void ak_kernel(const ak_host_call *call)
{
    product p = {
        .call = call,
        .m = call->size[0],
        .n = call->size[1],
        .k = call->size[2],
        .a = call->arg[0],
        .b = call->arg[1],
        .scale_a = call->arg[2],
        .scale_b = call->arg[3],
        .bias = call->arg[4],
        .scale_c = call->arg[5],
        .c = call->arg[6],
        .lda = call->pitch[0],
        .ldb = call->pitch[1],
        .ldsa = call->pitch[2],
        .ldsb = call->pitch[3],
        .ldc = call->pitch[6],
    };
    for (int i = 0; i < 256; ++i) {
        p.number_a[i] = decoded_a(i);
        p.number_b[i] = e4m3_decoded(i);
    }
    call->parallel(call->pool, THREADS < call->threads ? THREADS : call->threads, multiply_share,
                   &p);
}
