/*
 * matmul_grouped, host implementation: widens to f32, multiplies by tiles, and rounds to the task's
 * dtype.
 *
 * The blocks of ROWS rows by COLUMNS columns of all groups form one line, which the threads share
 * evenly; a block never reaches over the end of its group. A block goes along K in steps of DEPTH:
 * a step's rows of A and B are widened, B transposed, so that a vector has adjacent columns, and a
 * register tile of MR rows by NV vectors adds their products to the block's totals. With swiglu
 * there are two weights and two totals, of gate and of up.
 */
enum { GROUPS, SIZE_M, SIZE_N, SIZE_K };
enum { DEPTH = 128, NR = NV * VL };
#define PANELS ((COLUMNS + NR - 1) / NR)
#if activation_is_swiglu
#define PRODUCTS 2
#else
#define PRODUCTS 1
#endif
#if layout_is_masked
#define ROWS_ARGUMENT 3
#else
#define ROWS_ARGUMENT 2
#endif

#if dtype_is_f32
typedef float number;
#elif dtype_is_bf16
typedef uint16_t number;
#else
typedef _Float16 number;
#endif
/* Elements of A and B have the type of C, or e4m3. */
#if inputs_is_e4m3
typedef uint8_t input;
#else
typedef number input;
#endif

#if dtype_is_f32
static float widened(number x)
{
    return x;
}

static number rounded(float x)
{
    return x;
}
#elif dtype_is_bf16
static float widened(number x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float wide;
    __builtin_memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static number rounded(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(x != x ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
#else
static float widened(number x)
{
    return (float)x;
}

static number rounded(float x)
{
    return (_Float16)x;
}
#endif

typedef struct product {
    const ak_host_call *call;
    int64_t groups, m, n, k, lda, ldb, ldc;
    const input *a, *b;
    const int32_t *rows; /* ends of the groups or, with places, their numbers of rows */
    number *c;
    const float *scale_a, *scale_b;
    float decoded[256]; /* all numbers of e4m3 */
} product;

static float value_of(const product *p, input x)
{
#if inputs_is_e4m3
    return p->decoded[x];
#else
    (void)p;
    return widened(x);
#endif
}

/* A block of C. `row` is a row of A and C, `column` is a column of C. */
typedef struct block {
    int64_t group, row, rows, column, columns;
} block;

/* What a thread keeps in the workspace. */
typedef struct room {
    float a[ROWS + MR][DEPTH];  /* rows of A */
    float b[PANELS][DEPTH][NR]; /* rows of B, in panels */
    float total[PRODUCTS][ROWS + MR][PANELS * NR];
} room;

static int64_t begin_of(const product *p, int64_t group)
{
#if layout_is_masked
    return group * p->m;
#else
    return group == 0 ? 0 : p->rows[group - 1];
#endif
}

static int64_t rows_of(const product *p, int64_t group)
{
#if layout_is_masked
    return p->rows[group];
#else
    return p->rows[group] - begin_of(p, group);
#endif
}

/* Widens `depth` elements of each row of A in the block, and zeros for what a tile has too many. */
static void widen_a(room *at, const product *p, const block *t, int64_t k, int64_t depth)
{
    for (int64_t i = 0; i < (t->rows + MR - 1) / MR * MR; ++i) {
        for (int64_t d = 0; d < depth; ++d) {
            at->a[i][d] = i < t->rows ? value_of(p, p->a[(t->row + i) * p->lda + k + d]) : 0;
        }
    }
}

static void widen_b(room *at, const product *p, const block *t, int which, int64_t k, int64_t depth)
{
    const input *from = p->b + ((t->group * PRODUCTS + which) * p->n + t->column) * p->ldb + k;
    for (int64_t j = 0; j < (t->columns + NR - 1) / NR * NR; ++j) {
        for (int64_t d = 0; d < depth; ++d) {
            at->b[j / NR][d][j % NR] = j < t->columns ? value_of(p, from[j * p->ldb + d]) : 0;
        }
    }
}

/* Adds the products of MR rows and a panel of columns to the totals. */
AK_INLINE void multiply(float *total, const float *a, const float *b, int64_t depth)
{
    vec sum[MR][NV];
    AK_UNROLL_FULLY
    for (int r = 0; r < MR; ++r) {
        AK_UNROLL_FULLY
        for (int v = 0; v < NV; ++v) {
            sum[r][v] = vec_load(total + r * (PANELS * NR) + v * VL);
        }
    }
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
            vec_store(total + r * (PANELS * NR) + v * VL, sum[r][v]);
        }
    }
}

/* Multiplies the sums by the scales of their rows of A and B. */
static void scale_sums(const product *p, room *at, const block *t)
{
    for (int which = 0; which < PRODUCTS; ++which) {
        const float *of_b = p->scale_b + (t->group * PRODUCTS + which) * p->n + t->column;
        for (int64_t i = 0; i < t->rows; ++i) {
            for (int64_t j = 0; j < t->columns; ++j) {
                at->total[which][i][j] *= p->scale_a[t->row + i] * of_b[j];
            }
        }
    }
}

/* Applies what comes after the sums, and rounds. */
static void finish(const product *p, room *at, const block *t)
{
#if inputs_is_e4m3
    scale_sums(p, at, t);
#endif
    for (int64_t i = 0; i < t->rows; ++i) {
        float line[PANELS * NR];
        for (int64_t j = 0; j < t->columns; j += VL) {
            vec x = vec_load(&at->total[0][i][j]);
#if activation_is_swiglu
            x = x / (vec_splat(1.0F) + vec_exp(-x)) * vec_load(&at->total[1][i][j]);
#endif
            vec_store(line + j, x);
        }
        for (int64_t j = 0; j < t->columns; ++j) {
            p->c[(t->row + i) * p->ldc + t->column + j] = rounded(line[j]);
        }
    }
}

static void multiply_block(room *at, const product *p, const block *t)
{
    for (int64_t i = 0; i < PRODUCTS * (ROWS + MR); ++i) {
        for (int64_t j = 0; j < PANELS * NR; ++j) {
            (&at->total[0][0])[i][j] = 0;
        }
    }
    for (int64_t k = 0; k < p->k; k += DEPTH) {
        const int64_t depth = p->k - k < DEPTH ? p->k - k : DEPTH;
        widen_a(at, p, t, k, depth);
        for (int which = 0; which < PRODUCTS; ++which) {
            widen_b(at, p, t, which, k, depth);
            for (int64_t i = 0; i < t->rows; i += MR) {
                for (int64_t j = 0; j < t->columns; j += NR) {
                    multiply(&at->total[which][i][j], at->a[i], &at->b[j / NR][0][0], depth);
                }
            }
        }
    }
    finish(p, at, t);
}

#if layout_is_masked
/* Sets the places of a group that are not used to 0. */
static void clear_places(const product *p, int64_t group)
{
    for (int64_t i = rows_of(p, group); i < p->m; ++i) {
        for (int64_t j = 0; j < p->n; ++j) {
            p->c[(begin_of(p, group) + i) * p->ldc + j] = 0;
        }
    }
}
#endif

static void multiply_share(void *context, int thread, int threads)
{
    const product *p = context;
    room *at = (room *)p->call->workspace + thread;
    const int64_t across = (p->n + COLUMNS - 1) / COLUMNS;
    int64_t all = 0, first = 0;
    for (int64_t g = 0; g < p->groups; ++g) {
        all += (rows_of(p, g) + ROWS - 1) / ROWS * across;
    }
    const int64_t begin = all * thread / threads, end = all * (thread + 1) / threads;
    for (int64_t g = 0; g < p->groups; ++g) {
        const int64_t rows = rows_of(p, g), blocks = (rows + ROWS - 1) / ROWS * across;
        for (int64_t i = begin > first ? begin - first : 0; i < blocks && first + i < end; ++i) {
            const int64_t row = i / across * ROWS, column = i % across * COLUMNS;
            const block t = {.group = g,
                             .row = begin_of(p, g) + row,
                             .rows = rows - row < ROWS ? rows - row : ROWS,
                             .column = column,
                             .columns = p->n - column < COLUMNS ? p->n - column : COLUMNS};
            multiply_block(at, p, &t);
        }
        first += blocks;
#if layout_is_masked
        if (g % threads == thread) {
            clear_places(p, g);
        }
#endif
    }
}

void ak_kernel(const ak_host_call *call)
{
    product p = {
        .call = call,
        .groups = call->size[GROUPS],
        .m = call->size[SIZE_M],
        .n = call->size[SIZE_N],
        .k = call->size[SIZE_K],
        .a = call->arg[0],
        .b = call->arg[1],
        .rows = call->arg[ROWS_ARGUMENT],
        .c = call->arg[4],
        .scale_a = call->arg[5],
        .scale_b = call->arg[6],
        .lda = call->pitch[0],
        .ldb = call->pitch[1],
        .ldc = call->pitch[4],
    };
    for (int i = 0; i < 256; ++i) {
        p.decoded[i] = e4m3_decoded(i);
    }
    call->parallel(call->pool, THREADS < call->threads ? THREADS : call->threads, multiply_share,
                   &p);
}
