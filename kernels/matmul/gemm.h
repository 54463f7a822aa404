/*
 * gemm.h: C = epilogue(alpha * A * B + beta * C_in) in single precision, the template that matmul
 * and matmul_act share. C is row-major; A and B are each in either layout; the rows of each matrix
 * may be any distance apart.
 *
 * The design is the five loops of GotoBLAS and BLIS around a register tile:
 *
 *     columns in blocks of NC                     the block of B below fits the last-level cache
 *       depth in blocks of KC
 *         B[KC x NC] packed into panels           (PACK_B; by all threads of one column range)
 *         rows in blocks of MC                    the block of A below fits the level 2 cache
 *           A[MC x KC] packed into panels         (PACK_A; by each thread)
 *             tiles of at most MR x NV*VL         accumulators in registers, KC rank-1 updates
 *
 * Departures from the classic:
 *
 *  - Blocks are *balanced*: 1025 rows with MR = 14 are 74 tiles of 13 or 14 rows, not 73 of 14 and
 *    one of 3. A tile function exists for every shape up to MR x NV, so no row is computed in vain,
 *    and an edge costs a per cent, not a panel. The same holds for depth and columns.
 *  - Either packing can be left out. A tile broadcasts single elements of A, for which a packed
 *    copy saves only address arithmetic and cache conflicts; and for small matrices the copy of B
 *    costs more than it saves.
 *  - At the right edge a partial vector is moved left until it ends where the row ends. It then
 *    overlaps its neighbour in the same tile: some sums are computed and stored twice, with the
 * same result, and nothing needs a mask. Only a partial vector alone in its tile, which has no such
 *    neighbour, is packed (padded with zeros) and stored element by element.
 *  - A that lies transposed is read in place as if it were packed: its columns are contiguous. B
 * that lies transposed is always packed.
 *  - Threads form a THREADS_M x THREADS_N grid over C. Threads of one column share the packed B.
 *    With THREADS_M = 1 no thread ever waits for another.
 *
 * Macros of the task (Defines in host.json): A_TRANSPOSED, B_TRANSPOSED; HAS_ALPHA, HAS_BETA:
 * whether the factors are other than 1 and 0; PREFETCH_C: whether a tile of C is asked for before
 * it is computed; PREFETCH_PANEL: whether the next panel of B is, while this one is multiplied.
 * Whoever includes this may define GEMM_EPILOGUE(value, bias) to what is to be applied to each
 * finished vec of C, GEMM_BIAS if it needs the bias, GEMM_RESIDUAL if a residual is to be added to
 * that, and GEMM_EPILOGUE_ROLLED if the expression is so long that it is better applied in a loop
 * than inline at every accumulator.
 */
#ifndef AK_GEMM_H
#define AK_GEMM_H

#ifndef GEMM_EPILOGUE
#define GEMM_EPILOGUE(value, bias) (value)
#endif

enum {
    GEMM_ROWS_MAX = 16, /* limits of the table of tile functions below */
    GEMM_VECS_MAX = 4,
    GEMM_NR = NV * VL,
    GEMM_ALIGN = 16 /* in floats, so that packed buffers start on a cache line */
};

_Static_assert(MR >= 1 && MR <= GEMM_ROWS_MAX, "MR is beyond the table of tile functions");
_Static_assert(NV >= 1 && NV <= GEMM_VECS_MAX, "NV is beyond the table of tile functions");
_Static_assert(PACK_B || !B_TRANSPOSED, "tiles read rows of B");

typedef struct gemm {
    int64_t m, n, k;
    const float *a, *b, *bias, *c_in, *residual; /* the last three are NULL if they are not used */
    float *c;
    int64_t lda, ldb, ldc; /* ldc is also that of C_in and the residual */
    float alpha, beta;
    float *packed_a, *packed_b; /* buffers of all threads */
    int64_t packed_a_stride;    /* floats from one thread's part to the next */
    int64_t packed_b_stride;
    const ak_host_call *call;
} gemm;

/* One tile: c[rows x columns] (+)= a[rows x k] * b[k x columns]. c_in and residual have the layout
   of c; they and bias begin where c begins. */
typedef struct gemm_tile {
    const float *a, *b, *bias, *c_in, *residual;
    float *c;
    int64_t lda, ldb, ldc, k;
    float alpha, beta;
    int64_t columns; /* less than the tile's width only for a partial vector alone at the right
                        edge */
    int64_t last;    /* column of the last vector: lower than its index says if it overlaps its
                        neighbour */
    int accumulate;  /* add to C instead of overwriting it, in all blocks of depth but the first */
    int finish;      /* apply the epilogue, in the last block of depth */
} gemm_tile;

/* Returns where part `index` begins if 0..total is cut into `parts` nearly equal parts. */
AK_INLINE int64_t gemm_part(int64_t total, int64_t parts, int64_t index)
{
    return total * index / parts;
}

AK_INLINE int64_t gemm_ceil_div(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

/* Turns a vector of sums into one of C, given VL floats each of bias, C_in and residual. */
AK_INLINE vec gemm_finish(vec value, const gemm_tile *t, const float *bias, const float *c_in,
                          const float *residual)
{
    (void)t, (void)bias, (void)c_in, (void)residual;
#if HAS_ALPHA
    value = value * vec_splat(t->alpha);
#endif
#if HAS_BETA
    value = value + vec_load(c_in) * vec_splat(t->beta);
#endif
#ifdef GEMM_BIAS
    vec b = vec_load(bias);
#else
    vec b = (vec){0};
#endif
    (void)b;
    value = GEMM_EPILOGUE(value, b);
#ifdef GEMM_RESIDUAL
    value = value + vec_load(residual);
#endif
    return value;
}

/* Does the same for row i and the given column of a tile. */
AK_INLINE vec gemm_finish_at(vec value, const gemm_tile *t, int64_t i, int64_t column)
{
    const int64_t at = i * t->ldc + column;
    return gemm_finish(value, t, t->bias ? t->bias + column : NULL, t->c_in ? t->c_in + at : NULL,
                       t->residual ? t->residual + at : NULL);
}

/* Returns the column of vector j of a tile of `vecs` vectors. */
AK_INLINE int64_t gemm_column(const int j, const int vecs, const gemm_tile *t)
{
    return j < vecs - 1 ? (int64_t)j * VL : t->last;
}

/* Applies a long epilogue to a tile and stores it, in a loop instead of inline at every
   accumulator. */
AK_INLINE void gemm_store_rolled(const int rows, const int vecs, const gemm_tile *t,
                                 const float *tile)
{
    for (int i = 0; i < rows; ++i) {
        AK_UNROLL_FULLY
        for (int j = 0; j < vecs; ++j) {
            const int64_t column = gemm_column(j, vecs, t);
            vec_store(t->c + i * t->ldc + column,
                      gemm_finish_at(vec_load(tile + (i * vecs + j) * VL), t, i, column));
        }
    }
}

/* Stores a tile of one partial vector without touching what lies beyond the row. */
AK_INLINE void gemm_store_partial(const int rows, const gemm_tile *t, const float *tile)
{
    float bias[VL] = {0}, c_in[VL] = {0}, residual[VL] = {0};
#ifdef GEMM_BIAS
    for (int64_t j = 0; j < t->columns; ++j) {
        bias[j] = t->bias[j];
    }
#endif
    for (int i = 0; i < rows; ++i) {
        float *to = t->c + i * t->ldc;
        float c[VL] = {0};
        for (int64_t j = 0; t->accumulate && j < t->columns; ++j) {
            c[j] = to[j];
        }
        vec value = vec_load(tile + i * VL) + vec_load(c);
        if (t->finish) {
#if HAS_BETA
            for (int64_t j = 0; j < t->columns; ++j) {
                c_in[j] = t->c_in[i * t->ldc + j];
            }
#endif
#ifdef GEMM_RESIDUAL
            for (int64_t j = 0; j < t->columns; ++j) {
                residual[j] = t->residual[i * t->ldc + j];
            }
#endif
            value = gemm_finish(value, t, bias, c_in, residual);
        }
        vec_store(c, value);
        for (int64_t j = 0; j < t->columns; ++j) {
            to[j] = c[j];
        }
    }
}

/* Computes a tile. rows and vecs are constants wherever this is inlined, so the accumulators become
   registers and every loop except the one over k disappears. */
AK_INLINE void gemm_tile_run(const int rows, const int vecs, const gemm_tile *t)
{
    vec sum[MR][NV];
    const float *restrict a = t->a;
    const float *restrict b = t->b;
    const int64_t lda = t->lda;
    const int64_t ldb = PACK_B ? vecs * VL : t->ldb;
    /* In a packed block the last vector has its place like the others; in place it may overlap. */
    const int64_t last = PACK_B ? (vecs - 1) * VL : t->last;

    AK_UNROLL_FULLY
    for (int i = 0; i < rows; ++i) {
        AK_UNROLL_FULLY
        for (int j = 0; j < vecs; ++j) {
            sum[i][j] = (vec){0};
        }
    }
    /* C is needed only after the last update; a prefetch now lets it arrive meanwhile. Where C
       stays in the level 2 cache, the prefetches cost more than they save. */
    if (PREFETCH_C) {
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            AK_UNROLL_FULLY
            for (int j = 0; j < vecs * VL; j += 16) {
                __builtin_prefetch(t->c + i * t->ldc + j, 1);
            }
        }
    }
/* heart: begin */
#define GEMM_STEP                                                                                  \
    do {                                                                                           \
        vec row[NV];                                                                               \
        AK_UNROLL_FULLY                                                                            \
        for (int j = 0; j < vecs; ++j) {                                                           \
            row[j] = vec_load(b + (j < vecs - 1 ? j * VL : last));                                 \
        }                                                                                          \
        if (PREFETCH_B) {                                                                          \
            AK_UNROLL_FULLY                                                                        \
            for (int j = 0; j < vecs * VL; j += 16) {                                              \
                __builtin_prefetch(b + PREFETCH_B * ldb + j);                                      \
            }                                                                                      \
        }                                                                                          \
        AK_UNROLL_FULLY                                                                            \
        for (int i = 0; i < rows; ++i) {                                                           \
            vec element = vec_splat(PACK_A || A_TRANSPOSED ? a[i] : a[i * lda]);                   \
            AK_UNROLL_FULLY                                                                        \
            for (int j = 0; j < vecs; ++j) {                                                       \
                sum[i][j] += element * row[j];                                                     \
            }                                                                                      \
        }                                                                                          \
        a += PACK_A ? rows : A_TRANSPOSED ? lda : 1;                                               \
        b += ldb;                                                                                  \
    } while (0)

    int64_t k = t->k;
#if K_UNROLL > 1
    for (; k >= K_UNROLL; k -= K_UNROLL) {
        AK_UNROLL_FULLY
        for (int u = 0; u < K_UNROLL; ++u) {
            GEMM_STEP;
        }
    }
#endif
    for (; k > 0; --k) {
        GEMM_STEP;
    }
#undef GEMM_STEP
    /* heart: end */

    if (vecs == 1 && t->columns < VL) {
        float tile[MR * VL] __attribute__((aligned(64)));
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            vec_store(tile + i * VL, sum[i][0]);
        }
        gemm_store_partial(rows, t, tile);
        return;
    }
    /* All of C is read before any is written: overlapping sums must not be added twice. */
    if (t->accumulate) {
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            AK_UNROLL_FULLY
            for (int j = 0; j < vecs; ++j) {
                sum[i][j] += vec_load(t->c + i * t->ldc + gemm_column(j, vecs, t));
            }
        }
    }
    if (t->finish) {
#ifdef GEMM_EPILOGUE_ROLLED
        float tile[MR * NV * VL] __attribute__((aligned(64)));
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            AK_UNROLL_FULLY
            for (int j = 0; j < vecs; ++j) {
                vec_store(tile + (i * vecs + j) * VL, sum[i][j]);
            }
        }
        gemm_store_rolled(rows, vecs, t, tile);
        return;
#else
        AK_UNROLL_FULLY
        for (int i = 0; i < rows; ++i) {
            AK_UNROLL_FULLY
            for (int j = 0; j < vecs; ++j) {
                sum[i][j] = gemm_finish_at(sum[i][j], t, i, gemm_column(j, vecs, t));
            }
        }
#endif
    }
    AK_UNROLL_FULLY
    for (int i = 0; i < rows; ++i) {
        AK_UNROLL_FULLY
        for (int j = 0; j < vecs; ++j) {
            vec_store(t->c + i * t->ldc + gemm_column(j, vecs, t), sum[i][j]);
        }
    }
}

/* A table with a function for every shape. Those beyond MR x NV are empty and never called. */
#define GEMM_SHAPES_ROWS(X, R) X(R, 1) X(R, 2) X(R, 3) X(R, 4)
#define GEMM_SHAPES(X)                                                                             \
    GEMM_SHAPES_ROWS(X, 1)                                                                         \
    GEMM_SHAPES_ROWS(X, 2)                                                                         \
    GEMM_SHAPES_ROWS(X, 3)                                                                         \
    GEMM_SHAPES_ROWS(X, 4)                                                                         \
    GEMM_SHAPES_ROWS(X, 5)                                                                         \
    GEMM_SHAPES_ROWS(X, 6)                                                                         \
    GEMM_SHAPES_ROWS(X, 7)                                                                         \
    GEMM_SHAPES_ROWS(X, 8)                                                                         \
    GEMM_SHAPES_ROWS(X, 9)                                                                         \
    GEMM_SHAPES_ROWS(X, 10)                                                                        \
    GEMM_SHAPES_ROWS(X, 11)                                                                        \
    GEMM_SHAPES_ROWS(X, 12)                                                                        \
    GEMM_SHAPES_ROWS(X, 13)                                                                        \
    GEMM_SHAPES_ROWS(X, 14)                                                                        \
    GEMM_SHAPES_ROWS(X, 15)                                                                        \
    GEMM_SHAPES_ROWS(X, 16)

#define GEMM_TILE_FUNCTION(R, V)                                                                   \
    static __attribute__((noinline)) void gemm_tile_##R##x##V(const gemm_tile *t)                  \
    {                                                                                              \
        if ((R) <= MR && (V) <= NV) {                                                              \
            gemm_tile_run((R) <= MR ? (R) : 1, (V) <= NV ? (V) : 1, t);                            \
        }                                                                                          \
    }
GEMM_SHAPES(GEMM_TILE_FUNCTION)

#define GEMM_TILE_ENTRY(R, V) [R - 1][V - 1] = gemm_tile_##R##x##V,
static void (*const gemm_tile_functions[GEMM_ROWS_MAX][GEMM_VECS_MAX])(const gemm_tile *) = {
    GEMM_SHAPES(GEMM_TILE_ENTRY)};

/* Copies to[k][vecs*VL] = from[k][0..columns). A partial last vector overlaps its neighbour; if it
   is alone, it is padded with zeros. */
static __attribute__((unused)) void gemm_pack_rows(float *to, const float *from, int64_t ld,
                                                   int64_t k, int64_t columns, int64_t vecs)
{
    for (int64_t p = 0; p < k; ++p) {
        if (columns >= VL) {
            for (int64_t j = 0; j < vecs - 1; ++j) {
                vec_store(to + j * VL, vec_load(from + j * VL));
            }
            vec_store(to + (vecs - 1) * VL, vec_load(from + columns - VL));
        } else {
            for (int64_t j = 0; j < VL; ++j) {
                to[j] = j < columns ? from[j] : 0;
            }
        }
        to += vecs * VL;
        from += ld;
    }
}

/* A range of vectors of columns, cut into `panels` balanced panels of at most NV vectors. Panel p
   of a packed block starts at (its first column) * depth. */
typedef struct gemm_panels {
    int64_t first_vec, vecs, panels;
} gemm_panels;

AK_INLINE int64_t gemm_panel_begin(const gemm_panels *s, int64_t panel)
{
    return s->first_vec + gemm_part(s->vecs, s->panels, panel);
}

/* Copies to[k][stride] = from[rows][k] for `rows` columns of the stride. Blocks of 4 x 4 are
   transposed in registers, because copying single elements costs several per cent of a whole
   product. */
static __attribute__((unused)) void gemm_transpose(float *to, int64_t stride, const float *from,
                                                   int64_t ld, int64_t rows, int64_t depth)
{
    typedef float quad __attribute__((vector_size(16)));
    typedef float quad_in_memory __attribute__((vector_size(16), aligned(4), may_alias));
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *r = from + i * ld;
        int64_t k = 0;
        for (; k + 4 <= depth; k += 4) {
            quad a = *(const quad_in_memory *)(r + k);
            quad b = *(const quad_in_memory *)(r + ld + k);
            quad c = *(const quad_in_memory *)(r + 2 * ld + k);
            quad d = *(const quad_in_memory *)(r + 3 * ld + k);
            quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            float *at = to + k * stride + i;
            *(quad_in_memory *)at = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
            at += stride;
            *(quad_in_memory *)at = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
            at += stride;
            *(quad_in_memory *)at = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
            at += stride;
            *(quad_in_memory *)at = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
        }
        for (; k < depth; ++k) {
            for (int64_t j = 0; j < 4; ++j) {
                to[k * stride + i + j] = r[j * ld + k];
            }
        }
    }
    for (; i < rows; ++i) {
        for (int64_t k = 0; k < depth; ++k) {
            to[k * stride + i] = from[i * ld + k];
        }
    }
}

/* Does what gemm_pack_rows does if column j of the block is a row of memory, at from + j * ld. */
static __attribute__((unused)) void gemm_pack_columns(float *to, const float *from, int64_t ld,
                                                      int64_t k, int64_t columns, int64_t vecs)
{
    if (columns < VL) { /* a partial vector alone is padded with zeros */
        for (int64_t i = 0; i < k * VL; ++i) {
            to[i] = 0;
        }
        gemm_transpose(to, VL, from, ld, columns, k);
        return;
    }
    for (int64_t j = 0; j < vecs; ++j) {
        const int64_t first = j < vecs - 1 ? j * VL : columns - VL;
        gemm_transpose(to + j * VL, vecs * VL, from + first * ld, ld, VL, k);
    }
}

/* Packs rows k0..k1 of a block of B of `depth` rows. Whole rows are read one after the other, so
   reads follow pages and hardware prefetchers. The writes jump, but to large pages. */
static __attribute__((unused)) void gemm_pack_b(float *to, const gemm *g, const gemm_panels *s,
                                                int64_t pc, int64_t depth, int64_t k0, int64_t k1)
{
#if B_TRANSPOSED
    for (int64_t panel = 0; panel < s->panels; ++panel) {
        int64_t begin = gemm_panel_begin(s, panel);
        int64_t vecs = gemm_panel_begin(s, panel + 1) - begin;
        int64_t columns = g->n - begin * VL;
        gemm_pack_columns(to + (begin - s->first_vec) * VL * depth + k0 * vecs * VL,
                          g->b + begin * VL * g->ldb + pc + k0, g->ldb, k1 - k0,
                          columns < vecs * VL ? columns : vecs * VL, vecs);
    }
#else
    enum {
        ROWS_AT_ONCE = 4
    }; /* amortises the arithmetic for each panel; more rows would need more
          streams */
    for (int64_t k = k0; k < k1; k += ROWS_AT_ONCE) {
        int64_t rows = k1 - k < ROWS_AT_ONCE ? k1 - k : ROWS_AT_ONCE;
        const float *from = g->b + (pc + k) * g->ldb;
        for (int64_t panel = 0; panel < s->panels; ++panel) {
            int64_t begin = gemm_panel_begin(s, panel);
            int64_t vecs = gemm_panel_begin(s, panel + 1) - begin;
            float *at = to + (begin - s->first_vec) * VL * depth + k * vecs * VL;
            int64_t columns = g->n - begin * VL;
            if (rows == ROWS_AT_ONCE && vecs == NV && columns >= GEMM_NR) {
                const float *row = from + begin * VL;
                AK_UNROLL_FULLY
                for (int r = 0; r < ROWS_AT_ONCE; ++r) {
                    AK_UNROLL_FULLY
                    for (int j = 0; j < GEMM_NR; j += VL) {
                        vec_store(at + r * GEMM_NR + j, vec_load(row + r * g->ldb + j));
                    }
                }
            } else {
                gemm_pack_rows(at, from + begin * VL, g->ldb, rows,
                               columns < vecs * VL ? columns : vecs * VL, vecs);
            }
        }
    }
#endif
}

/* Packs a tile's rows of A as to[k][rows]. */
static __attribute__((unused)) void gemm_pack_a(float *to, const gemm *g, int64_t row, int64_t rows,
                                                int64_t pc, int64_t depth)
{
#if A_TRANSPOSED
    for (int64_t k = 0; k < depth; ++k) {
        const float *from = g->a + (pc + k) * g->lda + row;
        for (int64_t i = 0; i < rows; ++i) {
            to[k * rows + i] = from[i];
        }
    }
#else
    gemm_transpose(to, rows, g->a + row * g->lda + pc, g->lda, rows, depth);
#endif
}

/* One block of depth of one block of rows: all tiles of `rows` row tiles by `s->panels` panels. */
typedef struct gemm_block {
    const gemm *g;
    const gemm_panels *panels;
    float *packed_a, *packed_b, *edge;
    int64_t row_begin, rows, row_tiles; /* the thread's rows, and the number of tiles they make */
    int64_t tile_begin, tile_end;       /* tiles of this block */
    int64_t pc, depth;
} gemm_block;

AK_INLINE int64_t gemm_tile_row(const gemm_block *w, int64_t tile)
{
    return w->row_begin + gemm_part(w->rows, w->row_tiles, tile);
}

AK_INLINE void gemm_one_tile(const gemm_block *w, int64_t tile, int64_t panel)
{
    const gemm *g = w->g;
    int64_t row = gemm_tile_row(w, tile);
    int64_t rows = gemm_tile_row(w, tile + 1) - row;
    int64_t begin = gemm_panel_begin(w->panels, panel);
    int64_t vecs = gemm_panel_begin(w->panels, panel + 1) - begin;
    int64_t column = begin * VL;
    int64_t columns = g->n - column < vecs * VL ? g->n - column : vecs * VL;
    gemm_tile t = {
        .a = A_TRANSPOSED ? g->a + w->pc * g->lda + row : g->a + row * g->lda + w->pc,
        .b = g->b + w->pc * g->ldb + column,
        .bias = g->bias ? g->bias + column : NULL,
        .c_in = g->c_in ? g->c_in + row * g->ldc + column : NULL,
        .residual = g->residual ? g->residual + row * g->ldc + column : NULL,
        .c = g->c + row * g->ldc + column,
        .lda = g->lda,
        .ldb = g->ldb,
        .ldc = g->ldc,
        .alpha = g->alpha,
        .beta = g->beta,
        .k = w->depth,
        .columns = vecs == 1 ? columns : vecs * VL,
        .last = columns >= VL ? columns - VL : 0,
        .accumulate = w->pc > 0,
        .finish = w->pc + w->depth == g->k,
    };
    if (PACK_A) {
        t.a = w->packed_a + (row - gemm_tile_row(w, w->tile_begin)) * w->depth;
    }
    if (PACK_B) {
        t.b = w->packed_b + (begin - w->panels->first_vec) * VL * w->depth;
    } else if (columns < VL) {
        t.b = w->edge;
        t.ldb = VL;
    }
    gemm_tile_functions[rows - 1][vecs - 1](&t);
}

/* Asks for part `part` of `parts` of the rows of B that the first tile of the next panel will read:
   of the next panel of this block or, after the last one of the last rows, of the first panel of the
   next block of depth. They are short pieces of rows far apart, which the processor does not foresee, so the
   first tile of each panel would wait for nearly all of them. */
static __attribute__((unused)) void gemm_prefetch_panel(const gemm_block *w, int64_t panel,
                                                        int64_t part, int64_t parts)
{
    const gemm *g = w->g;
    const int deeper = panel == w->panels->panels;
    if (deeper && w->tile_end < w->row_tiles) {
        return; /* the next rows begin with the first panel again, which has been read */
    }
    const int64_t pc = deeper ? w->pc + w->depth : w->pc;
    const int64_t depth = g->k - pc < w->depth ? g->k - pc : w->depth;
    const int64_t begin = gemm_panel_begin(w->panels, deeper ? 0 : panel) * VL;
    const int64_t end = gemm_panel_begin(w->panels, deeper ? 1 : panel + 1) * VL;
    for (int64_t k = gemm_part(depth, parts, part); k < gemm_part(depth, parts, part + 1); ++k) {
        const float *row = g->b + (pc + k) * g->ldb;
        for (int64_t column = begin; column < end; column += 16) {
            __builtin_prefetch(row + column, 0, 2);
        }
        __builtin_prefetch(row + end - 1, 0, 2); /* rows need not begin where a line does */
    }
}

static void gemm_run_block(const gemm_block *w)
{
#if A_STAYS
    for (int64_t tile = w->tile_begin; tile < w->tile_end; ++tile) {
        for (int64_t panel = 0; panel < w->panels->panels; ++panel) {
            gemm_one_tile(w, tile, panel);
        }
    }
#else
    for (int64_t panel = 0; panel < w->panels->panels; ++panel) {
        for (int64_t tile = w->tile_begin; tile < w->tile_end; ++tile) {
#if PREFETCH_PANEL
            gemm_prefetch_panel(w, panel + 1, tile - w->tile_begin, w->tile_end - w->tile_begin);
#endif
            gemm_one_tile(w, tile, panel);
        }
    }
#endif
}

static void gemm_thread(void *context, int thread, int threads)
{
    const gemm *g = context;
    /* If fewer threads run than were asked for, all share one packed B, for which there is always
       room. */
    const int64_t grid_m = threads == THREADS_M * THREADS_N ? THREADS_M : threads;
    const int64_t grid_n = threads / grid_m;
    const int64_t at_m = thread % grid_m;
    const int64_t at_n = thread / grid_m;

    const int64_t row_begin = gemm_part(g->m, grid_m, at_m);
    const int64_t rows = gemm_part(g->m, grid_m, at_m + 1) - row_begin;
    const int64_t row_tiles = gemm_ceil_div(rows, MR);
    const int64_t tiles_at_once = MC < MR ? 1 : MC / MR;
    const int64_t row_blocks = gemm_ceil_div(row_tiles, tiles_at_once);

    const int64_t all_vecs = gemm_ceil_div(g->n, VL);
    const int64_t vec_begin = gemm_part(all_vecs, grid_n, at_n);
    const int64_t vecs = gemm_part(all_vecs, grid_n, at_n + 1) - vec_begin;
    /* All threads make the same number of turns, because each block has a barrier. */
    const int64_t column_blocks =
        gemm_ceil_div(gemm_ceil_div(all_vecs, grid_n), NC < GEMM_NR ? NV : NC / VL);
    const int64_t depth_blocks = gemm_ceil_div(g->k, KC);

    float *packed_a = g->packed_a + thread * g->packed_a_stride;
    /* Two buffers take turns, so that one barrier for each block is enough: a thread that packs the
       next block writes to a buffer that nobody can still be reading. */
    float *packed_b = g->packed_b + at_n * 2 * g->packed_b_stride;
    float *edge = g->packed_b + thread * g->packed_b_stride;
    int turn = 0;

    for (int64_t jb = 0; jb < column_blocks; ++jb) {
        gemm_panels panels = {.first_vec = vec_begin + gemm_part(vecs, column_blocks, jb)};
        panels.vecs = vec_begin + gemm_part(vecs, column_blocks, jb + 1) - panels.first_vec;
        panels.panels = gemm_ceil_div(panels.vecs, NV);
        for (int64_t kb = 0; kb < depth_blocks; ++kb) {
            const int64_t pc = gemm_part(g->k, depth_blocks, kb);
            const int64_t depth = gemm_part(g->k, depth_blocks, kb + 1) - pc;
            gemm_block block = {
                .g = g,
                .panels = &panels,
                .packed_a = packed_a,
                .packed_b = packed_b + turn * g->packed_b_stride,
                .edge = edge,
                .row_begin = row_begin,
                .rows = rows,
                .row_tiles = row_tiles,
                .pc = pc,
                .depth = depth,
            };
            turn ^= 1;
#if PACK_B
            gemm_pack_b(block.packed_b, g, &panels, pc, depth, gemm_part(depth, grid_m, at_m),
                        gemm_part(depth, grid_m, at_m + 1));
            if (grid_m > 1) {
                g->call->barrier(g->call->pool);
            }
#else
            if (panels.vecs > 0) {
                int64_t column = gemm_panel_begin(&panels, panels.panels - 1) * VL;
                if (g->n - column < VL) {
                    gemm_pack_rows(edge, g->b + pc * g->ldb + column, g->ldb, depth, g->n - column,
                                   1);
                }
            }
#endif
            for (int64_t ib = 0; ib < row_blocks; ++ib) {
                block.tile_begin = gemm_part(row_tiles, row_blocks, ib);
                block.tile_end = gemm_part(row_tiles, row_blocks, ib + 1);
#if PACK_A
                for (int64_t tile = block.tile_begin; panels.vecs > 0 && tile < block.tile_end;
                     ++tile) {
                    int64_t row = gemm_tile_row(&block, tile);
                    gemm_pack_a(packed_a + (row - gemm_tile_row(&block, block.tile_begin)) * depth,
                                g, row, gemm_tile_row(&block, tile + 1) - row, pc, depth);
                }
#endif
                gemm_run_block(&block);
            }
        }
    }
}

/* Lays out the workspace and runs the product. Workspace in the space file computes the same sizes,
   rounded up; change both together. */
static void gemm_run(gemm *g)
{
    const ak_host_call *call = g->call;
    int threads = THREADS_M * THREADS_N;
    if (threads > call->threads) {
        threads = call->threads;
    }
    const int64_t depth = g->k < KC ? g->k : KC;
    const int64_t mc = MC < MR ? MR : MC;
    const int64_t rows = PACK_A ? (g->m < mc ? g->m : mc) : 0;
    const int64_t nc = NC < GEMM_NR ? GEMM_NR : NC;
    const int64_t n_padded = gemm_ceil_div(g->n, VL) * VL;
    const int64_t columns = PACK_B ? (n_padded < nc ? n_padded : nc) : GEMM_NR;
    g->packed_a_stride = gemm_ceil_div(rows * depth, GEMM_ALIGN) * GEMM_ALIGN;
    g->packed_b_stride = gemm_ceil_div(columns * depth, GEMM_ALIGN) * GEMM_ALIGN;
    g->packed_a = call->workspace;
    g->packed_b = g->packed_a + threads * g->packed_a_stride;
    if (threads == 1) {
        gemm_thread(g, 0, 1);
    } else {
        call->parallel(call->pool, threads, gemm_thread, g);
    }
}

#endif
