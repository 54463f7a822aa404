/*
 * gemm_amx.h: C = epilogue(alpha * A * B + beta * C_in) for bf16 with sums in single precision, on
 * processors with AMX (Intel: Intel 64 and IA-32 Architectures Optimization Reference Manual,
 * chapter 20). matmul and matmul_act share it. It needs vector.h with VL = 16.
 *
 * The unit multiplies tiles of 16 rows of 64 bytes: sums[16][16] += a[16][32] * b[32][16]. The 32
 * elements of a row of a are contiguous; b is wanted as 16 rows of 16 pairs, each pair two elements
 * of one column below each other. There are eight tile registers. A product of 32 x 32 sums uses
 * all: four for the sums, two for a, two for b. It loads as many tiles as it multiplies, which the
 * level 1 cache feeds at full speed if it holds one of the operands.
 *
 *     rows in blocks of MC                          the sums below fit the level 2 cache
 *       columns in blocks of NC
 *         depth in blocks of KC
 *           B[KC x NC] packed into tiles            (by all threads of one column range)
 *           panels of 32 rows: A[32 x KC]           stays in the level 1 cache; packed (PACK_A), or
 *                                                   read where it is
 *             panels of 32 columns                  2 x 2 tiles of sums in registers
 *
 * Tiles beyond the edges of A and B are filled with zeros, which change no sum. With several blocks
 * of depth the sums wait in the workspace as fp32; they are rounded once, at the end.
 *
 * Threads form a THREADS_M x THREADS_N grid over C. Those of one column range share the packed B.
 *
 * Macros of the task (Defines in host_amx.json) and of whoever includes this are those of gemm.h:
 * A_TRANSPOSED, B_TRANSPOSED, HAS_ALPHA, HAS_BETA; GEMM_EPILOGUE(value, bias), GEMM_BIAS and
 * GEMM_RESIDUAL. The harness has asked the system for permission to use the tile registers.
 */
#ifndef AK_GEMM_AMX_H
#define AK_GEMM_AMX_H

#ifndef GEMM_EPILOGUE
#define GEMM_EPILOGUE(value, bias) (value)
#endif

enum {
    TILE = 16, /* rows of a tile, and its columns of 4 bytes */
    STEP = 32, /* elements of bf16 in a row of a tile: the depth of one multiplication */
    TILE_BYTES = 1024,
    PANEL = 2 * TILE, /* rows or columns of a panel */
    PANEL_SUMS = PANEL * PANEL
};

_Static_assert(VL == TILE, "a row of a tile is a vector");
_Static_assert(KC % STEP == 0 && MC % PANEL == 0 && NC % PANEL == 0, "blocks are whole panels");

typedef uint16_t bf16; /* its bits */

typedef struct gemm {
    int64_t m, n, k;
    const bf16 *a, *b, *bias, *c_in, *residual; /* the last three are NULL if they are not used */
    bf16 *c;
    int64_t lda, ldb, ldc; /* ldc is also that of C_in and the residual */
    float alpha, beta;
    const ak_host_call *call;
    /* Parts of the workspace: see gemm_run. */
    int64_t row_panels, column_panels, steps; /* sizes of a block */
    unsigned char *packed_a, *packed_b; /* one packed_a a thread, two packed_b a column range */
    float *sums;                        /* one part a thread */
} gemm;

AK_INLINE int64_t gemm_part(int64_t total, int64_t parts, int64_t index)
{
    return total * index / parts;
}

AK_INLINE int64_t gemm_ceil_div(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

AK_INLINE int64_t gemm_least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* ---- tiles in registers ---- */

/* Palette 1, and all eight tiles have 16 rows of 64 bytes. */
static const unsigned char tile_shapes[64] __attribute__((aligned(64))) = {
    1,  0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0,  64, 0,  64, 0,  64, 0,
    64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 16, 16, 16, 16, 16, 16, 16, 16};

#define TILES_BEGIN()        __asm__ volatile("ldtilecfg %0" ::"m"(tile_shapes))
#define TILES_END()          __asm__ volatile("tilerelease" ::: "memory")
#define TILE_ZERO(t)         __asm__ volatile("tilezero %tmm" #t)
#define TILE_LOAD(t, at, by) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(at), "r"(by))
#define TILE_STORE(t, at, by)                                                                      \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(at), "r"(by) : "memory")
#define TILE_MULTIPLY(s, a, b) __asm__ volatile("tdpbf16ps %tmm" #b ", %tmm" #a ", %tmm" #s)
/* Keeps the compiler from moving stores to memory behind the loads of tiles, which it does not know
   to read memory. */
#define TILES_SEE_MEMORY() __asm__ volatile("" ::: "memory")

/* A panel of A as the unit reads it: tile row `i` of step `s` is at at + i * tile + s * step, and
   its rows are `row` bytes apart. */
typedef struct panel_of_a {
    const unsigned char *at;
    int64_t row, tile, step;
} panel_of_a;

/* Adds `steps` products to rows x columns tiles of sums, which are constants wherever this is
   inlined. b has `columns` tiles for each step. */
AK_INLINE void tiles_multiply(const int rows, const int columns, const panel_of_a *a,
                              const unsigned char *b, int64_t steps)
{
    const unsigned char *upper = a->at, *lower = a->at + a->tile;
    const int64_t row = a->row, line = 64;
    for (int64_t s = 0; s < steps; ++s) {
        TILE_LOAD(6, b, line);
        TILE_LOAD(4, upper, row);
        TILE_MULTIPLY(0, 4, 6);
        if (columns > 1) {
            TILE_LOAD(7, b + TILE_BYTES, line);
            TILE_MULTIPLY(1, 4, 7);
        }
        if (rows > 1) {
            TILE_LOAD(5, lower, row);
            TILE_MULTIPLY(2, 5, 6);
            if (columns > 1) {
                TILE_MULTIPLY(3, 5, 7);
            }
        }
        upper += a->step;
        lower += a->step;
        b += columns * TILE_BYTES;
    }
}

/* Computes rows x columns tiles of sums, rows of PANEL floats. They begin with what `sums` holds if
   `accumulate`, and may go on in a second panel of one step, which the first does not reach. */
AK_INLINE void tiles_run(const int rows, const int columns, float *sums, int accumulate,
                         const panel_of_a *a, int64_t steps, const panel_of_a *rest,
                         const unsigned char *b)
{
    const int64_t by = PANEL * (int64_t)sizeof *sums;
    if (accumulate) {
        TILE_LOAD(0, sums, by);
        TILE_LOAD(1, sums + TILE, by);
        TILE_LOAD(2, sums + TILE * PANEL, by);
        TILE_LOAD(3, sums + TILE * PANEL + TILE, by);
    } else {
        TILE_ZERO(0);
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
    tiles_multiply(rows, columns, a, b, steps);
    if (rest != NULL) {
        tiles_multiply(rows, columns, rest, b + steps * columns * TILE_BYTES, 1);
    }
    TILE_STORE(0, sums, by);
    if (columns > 1) {
        TILE_STORE(1, sums + TILE, by);
    }
    if (rows > 1) {
        TILE_STORE(2, sums + TILE * PANEL, by);
        if (columns > 1) {
            TILE_STORE(3, sums + TILE * PANEL + TILE, by);
        }
    }
}

static void panel_multiply(int64_t rows, int64_t columns, float *sums, int accumulate,
                           const panel_of_a *a, int64_t steps, const panel_of_a *rest,
                           const unsigned char *b)
{
    if (rows > TILE && columns > TILE) {
        tiles_run(2, 2, sums, accumulate, a, steps, rest, b);
    } else if (rows > TILE) {
        tiles_run(2, 1, sums, accumulate, a, steps, rest, b);
    } else if (columns > TILE) {
        tiles_run(1, 2, sums, accumulate, a, steps, rest, b);
    } else {
        tiles_run(1, 1, sums, accumulate, a, steps, rest, b);
    }
}

/* ---- tiles in memory ---- */

typedef uint32_t pairs __attribute__((vector_size(64)));
typedef uint32_t pairs_in_memory __attribute__((vector_size(64), aligned(2), may_alias));
typedef uint16_t halves __attribute__((vector_size(32)));
typedef uint16_t halves_in_memory __attribute__((vector_size(32), aligned(2), may_alias));

AK_INLINE pairs widened(const bf16 *from)
{
    return __builtin_convertvector(*(const halves_in_memory *)from, pairs);
}

/* Copies to[rows][STEP] = from[rows][0..depth), with zeros behind them. */
AK_INLINE void tile_of_rows(uint32_t *to, const bf16 *from, int64_t ld, int64_t rows, int64_t depth)
{
    for (int64_t i = 0; i < TILE; ++i) {
        if (i < rows && depth >= STEP) {
            *(pairs_in_memory *)(to + i * TILE) = *(const pairs_in_memory *)(from + i * ld);
        } else {
            bf16 row[STEP] __attribute__((aligned(64))) = {0};
            for (int64_t k = 0; i < rows && k < depth; ++k) {
                row[k] = from[i * ld + k];
            }
            *(pairs_in_memory *)(to + i * TILE) = *(const pairs_in_memory *)row;
        }
    }
}

/* Copies pairs of rows: to[p][j] = (from[2p][j], from[2p + 1][j]), with zeros beyond depth and
   columns. */
AK_INLINE void tile_of_pairs(uint32_t *to, const bf16 *from, int64_t ld, int64_t depth,
                             int64_t columns)
{
    for (int64_t p = 0; p < TILE; ++p) {
        const bf16 *even = from + 2 * p * ld, *odd = even + ld;
        if (2 * p + 1 < depth && columns >= TILE) {
            *(pairs_in_memory *)(to + p * TILE) = widened(even) | widened(odd) << 16;
        } else {
            uint32_t row[TILE] __attribute__((aligned(64))) = {0};
            for (int64_t j = 0; j < columns && j < TILE && 2 * p < depth; ++j) {
                row[j] = even[j] | (2 * p + 1 < depth ? (uint32_t)odd[j] << 16 : 0);
            }
            *(pairs_in_memory *)(to + p * TILE) = *(const pairs_in_memory *)row;
        }
    }
}

/* Copies to[j][i] = from[i][j], 16 x 16 elements of 4 bytes, in blocks of 4 x 4. */
AK_INLINE void tile_transpose(uint32_t *to, const uint32_t *from)
{
    typedef uint32_t quad __attribute__((vector_size(16)));
    typedef uint32_t quad_in_memory __attribute__((vector_size(16), aligned(4), may_alias));
    for (int i = 0; i < TILE; i += 4) {
        for (int j = 0; j < TILE; j += 4) {
            const uint32_t *r = from + i * TILE + j;
            quad a = *(const quad_in_memory *)r;
            quad b = *(const quad_in_memory *)(r + TILE);
            quad c = *(const quad_in_memory *)(r + 2 * TILE);
            quad d = *(const quad_in_memory *)(r + 3 * TILE);
            quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            uint32_t *at = to + j * TILE + i;
            *(quad_in_memory *)at = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
            *(quad_in_memory *)(at + TILE) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
            *(quad_in_memory *)(at + 2 * TILE) =
                __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
            *(quad_in_memory *)(at + 3 * TILE) =
                __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
        }
    }
}

/* Packs a tile of A: `rows` rows from `row`, `depth` elements from `k`. */
AK_INLINE void tile_of_a(unsigned char *to, const gemm *g, int64_t row, int64_t rows, int64_t k,
                         int64_t depth)
{
#if A_TRANSPOSED
    uint32_t across[TILE * TILE] __attribute__((aligned(64)));
    tile_of_pairs(across, g->a + k * g->lda + row, g->lda, depth, rows);
    tile_transpose((uint32_t *)to, across);
#else
    tile_of_rows((uint32_t *)to, g->a + row * g->lda + k, g->lda, rows, depth);
#endif
}

/* Packs a tile of B: `columns` columns from `column`, `depth` elements from `k`. */
AK_INLINE void tile_of_b(unsigned char *to, const gemm *g, int64_t column, int64_t columns,
                         int64_t k, int64_t depth)
{
#if B_TRANSPOSED
    uint32_t across[TILE * TILE] __attribute__((aligned(64)));
    tile_of_rows(across, g->b + column * g->ldb + k, g->ldb, columns, depth);
    tile_transpose((uint32_t *)to, across);
#else
    tile_of_pairs((uint32_t *)to, g->b + k * g->ldb + column, g->ldb, depth, columns);
#endif
}

/* ---- the result ---- */

AK_INLINE vec of_bf16(halves x)
{
    return (vec)(__builtin_convertvector(x, pairs) << 16);
}

/* Rounds to nearest, ties to even. A NaN stays one. */
AK_INLINE halves to_bf16(vec x)
{
    const pairs bits = (pairs)x, nan = bits | 0x400000u;
    const pairs rounded = bits + (bits >> 16 & 1u) + 0x7fffu;
    return __builtin_convertvector((pairs)vec_select(x == x, (vec)rounded, (vec)nan) >> 16, halves);
}

/* Loads up to 16 elements; what is beyond `count` is 0. */
AK_INLINE vec load_bf16(const bf16 *from, int64_t count)
{
    if (count >= TILE) {
        return of_bf16(*(const halves_in_memory *)from);
    }
    bf16 part[TILE] __attribute__((aligned(32))) = {0};
    for (int64_t j = 0; j < count; ++j) {
        part[j] = from[j];
    }
    return of_bf16(*(const halves_in_memory *)part);
}

/* Turns sums into C at a row and column: `count` elements, 16 at most. */
AK_INLINE void finish(const gemm *g, const float *sums, int64_t row, int64_t column, int64_t count)
{
    const int64_t at = row * g->ldc + column;
    vec value = vec_load(sums);
#if HAS_ALPHA
    value = value * vec_splat(g->alpha);
#endif
#if HAS_BETA
    value = value + load_bf16(g->c_in + at, count) * vec_splat(g->beta);
#endif
#ifdef GEMM_BIAS
    const vec bias = load_bf16(g->bias + column, count);
#else
    const vec bias = (vec){0};
#endif
    (void)bias;
    value = GEMM_EPILOGUE(value, bias);
#ifdef GEMM_RESIDUAL
    value = value + load_bf16(g->residual + at, count);
#endif
    const halves result = to_bf16(value);
    if (count >= TILE) {
        *(halves_in_memory *)(g->c + at) = result;
    } else {
        bf16 part[TILE] __attribute__((aligned(32)));
        *(halves_in_memory *)part = result;
        for (int64_t j = 0; j < count; ++j) {
            g->c[at + j] = part[j];
        }
    }
}

static void finish_panel(const gemm *g, const float *sums, int64_t row, int64_t rows,
                         int64_t column, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i) {
        finish(g, sums + i * PANEL, row + i, column, columns);
        if (columns > TILE) {
            finish(g, sums + i * PANEL + TILE, row + i, column + TILE, columns - TILE);
        }
    }
}

/* ---- blocks ---- */

/* One block of depth of a block of rows and columns, as one thread sees it. */
typedef struct gemm_block {
    const gemm *g;
    int64_t row_begin, row_end;       /* panels */
    int64_t column_begin, column_end; /* panels */
    int64_t k, depth;                 /* elements; k is a multiple of STEP */
    unsigned char *packed_a, *packed_b;
    float *sums; /* of the block's panels, if there is more than one block of depth */
} gemm_block;

AK_INLINE int64_t tiles_of(int64_t extent)
{
    return extent > TILE ? 2 : 1;
}

/* Packs the block's panels of B that are this thread's, `index` of `parts`. Only the last panel of
   the matrix can have one tile for each step instead of two, and it is the last of its block. */
static void pack_b(const gemm_block *w, int64_t parts, int64_t index)
{
    const gemm *g = w->g;
    const int64_t steps = gemm_ceil_div(w->depth, STEP), panels = w->column_end - w->column_begin;
    const int64_t all = panels * steps, end = gemm_part(all, parts, index + 1);
    for (int64_t i = gemm_part(all, parts, index); i < end; ++i) {
        /* The tiles are packed in the order of memory: along rows of B, or along columns. */
        const int64_t panel = B_TRANSPOSED ? i / steps : i % panels;
        const int64_t s = B_TRANSPOSED ? i % steps : i / panels;
        const int64_t column = (w->column_begin + panel) * PANEL;
        const int64_t columns = gemm_least(g->n - column, PANEL), tiles = tiles_of(columns);
        unsigned char *to = w->packed_b + (panel * 2 * steps + s * tiles) * TILE_BYTES;
        const int64_t k = w->k + s * STEP, depth = gemm_least(g->k - k, STEP);
        tile_of_b(to, g, column, columns, k, depth);
        if (tiles > 1) {
            tile_of_b(to + TILE_BYTES, g, column + TILE, columns - TILE, k, depth);
        }
    }
}

/* Packs steps begin..end of a panel of A. */
static void pack_a(const gemm_block *w, int64_t row, int64_t rows, int64_t begin, int64_t end)
{
    const gemm *g = w->g;
    for (int64_t i = 0; i < tiles_of(rows); ++i) {
        for (int64_t s = begin; s < end; ++s) {
            const int64_t k = w->k + s * STEP;
            tile_of_a(w->packed_a + (s * 2 + i) * TILE_BYTES, g, row + i * TILE, rows - i * TILE, k,
                      gemm_least(g->k - k, STEP));
        }
    }
}

static void run_block(const gemm_block *w)
{
    const gemm *g = w->g;
    const int64_t steps = gemm_ceil_div(w->depth, STEP);
    const int first = w->k == 0, last = w->k + w->depth == g->k;
    float here[PANEL_SUMS] __attribute__((aligned(64)));
    for (int64_t i = w->row_begin; i < w->row_end; ++i) {
        const int64_t row = i * PANEL, rows = gemm_least(g->m - row, PANEL);
        /* Whole tiles of A are read where they are; what is beyond its last whole step is packed.
         */
        const int in_place = !PACK_A && !A_TRANSPOSED && rows == PANEL;
        const int64_t whole = in_place ? w->depth / STEP : steps;
        const panel_of_a packed = {w->packed_a, 64, TILE_BYTES, 2 * TILE_BYTES};
        const panel_of_a rest = {w->packed_a + whole * 2 * TILE_BYTES, 64, TILE_BYTES, 0};
        const panel_of_a there = {(const unsigned char *)(g->a + row * g->lda + w->k), g->lda * 2,
                                  TILE * g->lda * 2, 2 * STEP};
        pack_a(w, row, rows, in_place ? whole : 0, steps);
        TILES_SEE_MEMORY();
        for (int64_t j = w->column_begin; j < w->column_end; ++j) {
            const int64_t column = j * PANEL, columns = gemm_least(g->n - column, PANEL);
            const int64_t panel = j - w->column_begin;
            float *sums =
                first && last
                    ? here
                    : w->sums + ((i - w->row_begin) * g->column_panels + panel) * PANEL_SUMS;
            panel_multiply(rows, columns, sums, !first, in_place ? &there : &packed, whole,
                           whole < steps ? &rest : NULL,
                           w->packed_b + panel * 2 * steps * TILE_BYTES);
            if (last) {
                finish_panel(g, sums, row, rows, column, columns);
            }
        }
    }
}

static void gemm_thread(void *context, int thread, int threads)
{
    const gemm *g = context;
    /* If fewer threads run than were asked for, all share one range of columns. */
    const int64_t grid_m = threads == THREADS_M * THREADS_N ? THREADS_M : threads;
    const int64_t grid_n = threads / grid_m;
    const int64_t at_m = thread % grid_m, at_n = thread / grid_m;
    const int64_t all_rows = gemm_ceil_div(g->m, PANEL), all_columns = gemm_ceil_div(g->n, PANEL);
    const int64_t row_begin = gemm_part(all_rows, grid_m, at_m);
    const int64_t rows = gemm_part(all_rows, grid_m, at_m + 1) - row_begin;
    const int64_t column_begin = gemm_part(all_columns, grid_n, at_n);
    const int64_t columns = gemm_part(all_columns, grid_n, at_n + 1) - column_begin;
    /* All threads make the same number of turns, because each has a barrier. */
    const int64_t row_blocks = gemm_ceil_div(gemm_ceil_div(all_rows, grid_m), MC / PANEL);
    const int64_t column_blocks = gemm_ceil_div(gemm_ceil_div(all_columns, grid_n), NC / PANEL);
    const int64_t all_steps = gemm_ceil_div(g->k, STEP);
    const int64_t depth_blocks = gemm_ceil_div(all_steps, KC / STEP);
    const int64_t b_bytes = g->column_panels * g->steps * 2 * TILE_BYTES;
    int turn = 0; /* two buffers for B, so that one barrier for each block is enough */

    TILES_BEGIN();
    for (int64_t ib = 0; ib < row_blocks; ++ib) {
        for (int64_t jb = 0; jb < column_blocks; ++jb) {
            for (int64_t kb = 0; kb < depth_blocks; ++kb) {
                const int64_t k = gemm_part(all_steps, depth_blocks, kb) * STEP;
                const int64_t end = gemm_part(all_steps, depth_blocks, kb + 1) * STEP;
                const gemm_block block = {
                    .g = g,
                    .row_begin = row_begin + gemm_part(rows, row_blocks, ib),
                    .row_end = row_begin + gemm_part(rows, row_blocks, ib + 1),
                    .column_begin = column_begin + gemm_part(columns, column_blocks, jb),
                    .column_end = column_begin + gemm_part(columns, column_blocks, jb + 1),
                    .k = k,
                    .depth = gemm_least(end, g->k) - k,
                    .packed_a = g->packed_a + thread * g->steps * 2 * TILE_BYTES,
                    .packed_b = g->packed_b + (at_n * 2 + turn) * b_bytes,
                    .sums = g->sums + thread * g->row_panels * g->column_panels * PANEL_SUMS,
                };
                turn ^= 1;
                pack_b(&block, grid_m, at_m);
                if (grid_m > 1) {
                    g->call->barrier(g->call->pool);
                }
                run_block(&block);
            }
        }
    }
    TILES_END();
}

/* Lays out the workspace and runs the product. Workspace in the space file computes the same size;
   change both together. */
static void gemm_run(gemm *g)
{
    const ak_host_call *call = g->call;
    const int asked = THREADS_M * THREADS_N;
    const int threads = asked > call->threads ? call->threads : asked;
    const int64_t ranges = threads == asked ? THREADS_N : 1;
    g->row_panels = gemm_ceil_div(gemm_least(g->m, MC), PANEL);
    g->column_panels = gemm_ceil_div(gemm_least(g->n, NC), PANEL);
    g->steps = gemm_ceil_div(gemm_least(g->k, KC), STEP);
    g->packed_a = call->workspace;
    g->packed_b = g->packed_a + threads * g->steps * 2 * TILE_BYTES;
    g->sums = (float *)(g->packed_b + ranges * 2 * g->column_panels * g->steps * 2 * TILE_BYTES);
    if (threads == 1) {
        gemm_thread(g, 0, 1);
    } else {
        call->parallel(call->pool, threads, gemm_thread, g);
    }
}

#endif
