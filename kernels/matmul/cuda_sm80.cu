/*
 * cuda_sm80.cu: C = epilogue(alpha * A * B + beta * C_in) for compute capability 8.0 and higher,
 * with mma.sync, ldmatrix and cp.async. Input and output are fp16 or bf16, sums are in fp32. C
 * is row-major, A and B are each in either layout; any size and leading dimension works. On
 * Hopper it reaches about 60 % of the speed of wgmma, so there it serves what the tensor copy
 * engine cannot address, and tiny products.
 *
 * A block computes one tile of C, and its warps compute parts of it side by side. Slices of A
 * and B, BLOCK_SIZE_K deep, arrive through a ring of num_stages slots in shared memory. At each
 * step the block synchronises once, requests the slice that is num_stages - 1 ahead, and
 * multiplies the current one. The fragments of the next 16 of K are loaded while the current
 * ones are multiplied.
 *
 * A slice has the same rows in shared memory as in memory, along its contiguous direction. The
 * 16-byte pieces of a row are permuted by XOR with the row's number, so that the eight rows that
 * ldmatrix reads at once are in different banks. Elements beyond the matrix are zeros.
 *
 * Rows of odd length begin anywhere. Their elements pass through registers one by one, and pairs of
 * C are stored. With LINES, all lines of 16 bytes that a row touches are copied as they are; when
 * they have arrived, the warp that copied a row moves it to its place in a slice, of which there are
 * two. C is then staged in shared memory where it lies in lines of memory, so that whole lines are
 * stored, and words and single elements at their ends only. These are fewer instructions. Each warp
 * copies, moves and stores whole rows, and neighbouring lanes move neighbouring words, so that no
 * two lanes access the same bank.
 *
 * Parameters (macros):
 *   BLOCK_SIZE_M, _N, _K  tile of C; depth of a slot (16, 32, 64)
 *   num_warps, WARPS_N    warps of a block, and how many of them are side by side along N
 *   num_stages            slots of the ring, 2 or more
 *   GROUP_SIZE_M          tiles are visited in groups of that many rows, for the level 2 cache
 *   SPLIT_K               blocks that share a tile, each with a part of K; the last to finish adds
 *                         the parts in order, so the result does not depend on which block that is
 *   COPY_A, COPY_B        bytes copied at a time: 16, 8, 4 or 2. Addresses and leading dimensions
 *                         must be multiples of it. 2 goes through registers, as cp.async cannot do
 *                         it, or with LINES by whole lines
 *   LINES                 1: see above
 *   BLOCKS_PER_SM         promised to the compiler
 *   A_LAYOUT, B_LAYOUT    0: K is the contiguous direction (A row-major, B column-major);
 *                         1: M or N is
 *   SIZE_M, SIZE_N, SIZE_K  if defined, there is also an entry ak_kernel_sized, specialised for
 *                         this size
 *   OWN_SIZE_ONLY         if defined with these, the specialised entry is the only one
 *
 * Dynamic shared memory: the larger of RING_BYTES and STAGING_BYTES. cuda_async.cu, whose text comes
 * first, has the instructions of copies, the epilogue's macros and the workspace.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section, and runs the rest on a
 * CPU.
 */
typedef unsigned short u16;
typedef unsigned long long u64;

#ifndef LINES
#define LINES 0
#endif
#define THREADS (32 * num_warps)
#define WARPS_M (num_warps / WARPS_N)
#define WARP_M  (BLOCK_SIZE_M / WARPS_M) /* the tile of a warp */
#define WARP_N  (BLOCK_SIZE_N / WARPS_N)
#define MMAS_M  (WARP_M / 16)
#define MMAS_N  (WARP_N / 8)
#define K_STEPS (BLOCK_SIZE_K / 16)

/* A slice: ROWS rows of COLS contiguous elements. */
#define A_ROWS      (A_LAYOUT ? BLOCK_SIZE_K : BLOCK_SIZE_M)
#define A_COLS      (A_LAYOUT ? BLOCK_SIZE_M : BLOCK_SIZE_K)
#define B_ROWS      (B_LAYOUT ? BLOCK_SIZE_K : BLOCK_SIZE_N)
#define B_COLS      (B_LAYOUT ? BLOCK_SIZE_N : BLOCK_SIZE_K)
#define A_BYTES     (BLOCK_SIZE_M * BLOCK_SIZE_K * 2)
#define B_BYTES     (BLOCK_SIZE_N * BLOCK_SIZE_K * 2)
#define A_HELD      ((A_BYTES / 16 + THREADS - 1) / THREADS) /* 16-byte pieces of a thread */
#define B_HELD      ((B_BYTES / 16 + THREADS - 1) / THREADS)

#define A_LINES     (LINES && COPY_A == 2) /* whole lines are copied */
#define B_LINES     (LINES && COPY_B == 2)

/* A slot of the ring: slices, or lines of rows that begin anywhere; behind the ring two slices of
   what is moved. */
#define LINES_PITCH(cols) ((cols) * 2 + 16)
#define A_SLOT            (A_LINES ? A_ROWS * LINES_PITCH(A_COLS) : A_BYTES)
#define B_SLOT            (B_LINES ? B_ROWS * LINES_PITCH(B_COLS) : B_BYTES)
#define SLOT_BYTES        (A_SLOT + B_SLOT)
#define A_MOVED           (A_LINES ? A_BYTES : 0)
#define MOVED_BYTES       (A_MOVED + (B_LINES ? B_BYTES : 0))
#define RING_BYTES        (num_stages * SLOT_BYTES + 2 * MOVED_BYTES)

/* The tile of C before it is stored. The padding puts rows in different banks, and a row whose first
   element is not the first of a line takes some of it. */
#define STAGING_PITCH (BLOCK_SIZE_N * 2 + 16)
#define STAGING_BYTES (BLOCK_SIZE_M * STAGING_PITCH)

#if num_warps % WARPS_N != 0
#error "WARPS_N divides num_warps"
#elif BLOCK_SIZE_M % (16 * WARPS_M) != 0 || BLOCK_SIZE_N % (16 * WARPS_N) != 0
#error "a warp multiplies 16 x 16 at a time"
#elif BLOCK_SIZE_K % 16 != 0 || num_stages < 2
#error "a slot is 16 deep or a multiple, and one is filled while another is read"
#endif

/* ---- instructions ---- */

#ifndef SIMT

DEVICE void store_shared(u32 to, const u32 v[4])
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

DEVICE void load_shared(u32 v[4], u32 from)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}

/* Loads four matrices of 8 x 8. Lanes 0-7 give the addresses of the rows of the first, the next
   eight lanes those of the second, and so on. Lane t gets elements 2 (t % 4) and the next of row t
   / 4 of each matrix; if transposed, of column t / 4. */
DEVICE void load_matrix(u32 v[4], u32 row, int transposed)
{
    if (transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(row));
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(row));
    }
}

#if dtype_is_f16
#define MMA_OP  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define PACK_OP "cvt.rn.f16x2.f32"
#else
#define MMA_OP  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define PACK_OP "cvt.rn.bf16x2.f32"
#endif

/* Computes d += a * b for 16 x 8 x 16. */
DEVICE void mma(float d[4], const u32 a[4], const u32 b[2])
{
    asm volatile(MMA_OP " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

DEVICE u32 pack(float low, float high)
{
    u32 both;
    asm(PACK_OP " %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

DEVICE float widen(u16 x)
{
#if dtype_is_f16
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return __uint_as_float((u32)x << 16);
#endif
}

DEVICE void store_line(void *to, const u32 v[4])
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

DEVICE void store_two(void *to, u32 v)
{
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

DEVICE void warp_sync(void)
{
    __syncwarp();
}

DEVICE int shuffle_up(int x, int distance)
{
    return __shfl_up_sync(~0u, x, (unsigned)distance);
}

/* Hides from the compiler that x is the same in each turn of a loop, so that what is computed from
   it is computed again instead of being kept in registers. */
#define NOT_HOISTED(x) asm volatile("" : "+r"(x))

#endif

/* ---- slices ---- */

/* Returns the number that is XORed into the places of a row's pieces. Rows shorter than 128 bytes
   share a line of all banks, so the number counts lines. */
DEVICE int swizzle(int row, int cols)
{
    return cols % 64 == 0   ? row & 7
           : cols == 32     ? row >> 1 & 3
           : cols == 16     ? row >> 2 & 1
           : cols % 32 == 0 ? row & 3
                            : row & 1;
}

/* Returns where a piece of 8 elements is, from the start of the slice. */
DEVICE u32 piece_at(int row, int piece, int cols)
{
    return (u32)(row * cols * 2 + ((piece ^ swizzle(row, cols)) << 4));
}

/* The source of a slice: element (row0, col0) of a matrix of rows x cols. */
typedef struct slice {
    const u16 *from;
    int pitch;
    int row0, rows, col0, cols;
} slice;

/* Return which row, and which word in it, a thread copies, of a slice with so many words of two
   elements in a row. Threads beside each other copy words beside each other. `i`, a multiple of
   THREADS, and `words` are constants: so is what can be. */
DEVICE int row_of(int i, int words)
{
    return words % THREADS == 0   ? i / words
           : THREADS % words == 0 ? i / words + (int)threadIdx.x / words
                                  : (i + (int)threadIdx.x) / words;
}

DEVICE int word_of(int i, int words)
{
    return words % THREADS == 0   ? i % words + (int)threadIdx.x
           : THREADS % words == 0 ? (int)threadIdx.x % words
                                  : (i + (int)threadIdx.x) % words;
}

/* Starts to copy a slice of tile_rows x tile_cols by pieces of it. With copies of 2 bytes it is
   loaded into `held`, and slice_end stores it to shared memory. */
DEVICE void slice_begin(u32 held[][4], u32 to, const slice *s, int tile_rows, int tile_cols,
                        int copy)
{
    const int per_piece = 16 / copy;
    const int width = copy / 2; /* elements of a copy */
    const int pieces = tile_cols / 8;
    if (copy > 2) {
        /* A thread's copies are usually in one column, so the address is computed once. */
        const int per_row = pieces * per_piece;
        const bool regular = THREADS % per_row == 0;
        const u16 *next = s->from + (i64)(s->row0 + (int)threadIdx.x / per_row) * s->pitch +
                          s->col0 + (int)threadIdx.x % per_row * width;
        UNROLL for (int i = 0; i < tile_rows * per_row; i += THREADS)
        {
            const int n = i + (int)threadIdx.x;
            const int row = regular ? (int)threadIdx.x / per_row + i / per_row : n / per_row;
            const int part = regular ? (int)threadIdx.x % per_row : n % per_row;
            const int left = s->cols - (s->col0 + part * width);
            const int most = left < 0 ? 0 : left > width ? width : left;
            const int bytes = s->row0 + row < s->rows ? most * 2 : 0;
            const u16 *from =
                regular ? next : s->from + (i64)(s->row0 + row) * s->pitch + s->col0 + part * width;
            if (tile_rows * per_row % THREADS == 0 || n < tile_rows * per_row) {
                copy_async(to + piece_at(row, part / per_piece, tile_cols) +
                               (u32)(part % per_piece * copy),
                           bytes > 0 ? from : s->from, copy, bytes);
            }
            next += (i64)s->pitch * (THREADS / per_row);
        }
    } else {
        const int words = tile_cols / 2;
        const bool regular = THREADS % words == 0;
        const u16 *next = s->from + (i64)(s->row0 + row_of(0, words)) * s->pitch + s->col0 +
                          word_of(0, words) * 2;
        UNROLL for (int i = 0; i < tile_rows * words; i += THREADS)
        {
            const int row = row_of(i, words);
            const int col = s->col0 + word_of(i, words) * 2;
            const bool here = row < tile_rows && s->row0 + row < s->rows;
            const u16 *from = regular ? next : s->from + (i64)(s->row0 + row) * s->pitch + col;
            const u32 low = here && col < s->cols ? from[0] : 0;
            const u32 high = here && col + 1 < s->cols ? from[1] : 0;
            held[i / THREADS / 4][i / THREADS % 4] = low | high << 16;
            next += (i64)s->pitch * (THREADS / words);
        }
    }
}

DEVICE void slice_end(u32 held[][4], u32 to, int tile_rows, int tile_cols, int copy)
{
    const int words = tile_cols / 2;
    if (copy == 2) {
        UNROLL for (int i = 0; i < tile_rows * words; i += THREADS)
        {
            const int row = row_of(i, words), word = word_of(i, words);
            if (row < tile_rows) {
                store_shared_one(to + piece_at(row, word / 4, tile_cols) + (u32)(word % 4 * 4),
                                 held[i / THREADS / 4][i / THREADS % 4]);
            }
        }
    }
}

/* Returns how many bytes of memory lie between the begin of a line and that of a row of a slice. */
DEVICE u32 in_line(const u16 *from, int row, int pitch, int col)
{
    return ((u32)(size_t)from + 2 * ((u32)row * (u32)pitch + (u32)col)) & 15;
}

/* Each warp copies, moves and stores consecutive rows, each in `parts` (at most 32), several rows
   at a time if they are short. */
#define ROWS_OF_WARP(rows) (((rows) + num_warps - 1) / num_warps)
#define ROWS_AT_ONCE(parts) (32 / (parts))

/* Returns whether this lane has a part to handle: not if 32 is no multiple of `parts` and it is one
   of the lanes left over, and not if row `row` of its warp does not exist. */
DEVICE bool has_part(int row, int rows, int parts)
{
    const int of_warp = ROWS_OF_WARP(rows), lane = (int)threadIdx.x % 32;
    return (32 % parts == 0 || lane < ROWS_AT_ONCE(parts) * parts) &&
           (of_warp % ROWS_AT_ONCE(parts) == 0 || row < of_warp) &&
           (rows % num_warps == 0 || (int)threadIdx.x / 32 * of_warp + row < rows);
}

/* Starts to copy a line that is `line` bytes from the first of a row of a slice; what is beyond the
   row's end is zeros. `most` is how many bytes of a row exist. */
DEVICE void copy_line(u32 to, const char *row, bool exists, int line, int most)
{
    const int before = (int)((size_t)row & 15);
    int bytes = before + most - line;
    bytes = bytes < 0 || !exists ? 0 : bytes < 16 ? bytes : 16;
    copy_async(to + (u32)line, row + (line - before), 16, bytes);
}

/* Starts to copy the lines in which the rows of a slice lie. A row has one more than pieces. */
DEVICE void copy_lines(u32 to, const slice *s, int tile_rows, int tile_cols)
{
    const int pieces = tile_cols / 8, pitch = LINES_PITCH(tile_cols);
    const int of_warp = ROWS_OF_WARP(tile_rows);
    int thread = (int)threadIdx.x;
    NOT_HOISTED(thread);
    const int first = thread / 32 * of_warp, lane = thread % 32;
    const int left = s->cols - s->col0 < tile_cols ? s->cols - s->col0 : tile_cols;
    const int most = left > 0 ? left * 2 : -16;
    const int there = s->rows - s->row0 - first; /* rows of the matrix */
    const char *from = (const char *)(s->from + (i64)(s->row0 + first) * s->pitch + s->col0);
    const i64 step = (i64)s->pitch * 2;
    const char *next = from + step * (lane / pieces);
    u32 at = to + (u32)((first + lane / pieces) * pitch);
    UNROLL for (int i = 0; i < of_warp; i += ROWS_AT_ONCE(pieces))
    {
        const int row = i + lane / pieces;
        if (has_part(row, tile_rows, pieces)) {
            copy_line(at, next, row < there, lane % pieces * 16, most);
        }
        next += step * ROWS_AT_ONCE(pieces);
        at += (u32)(ROWS_AT_ONCE(pieces) * pitch);
    }
    UNROLL for (int i = 0; i < of_warp; i += 32)
    {
        const int row = i + lane;
        if (row < of_warp && first + row < tile_rows) {
            copy_line(to + (u32)((first + row) * pitch), from + step * row, row < there,
                      pieces * 16, most);
        }
    }
}

/* Returns 32 bits of two words, from bit `first` of the lower one on. */
DEVICE u32 bits_from(u32 low, u32 high, u32 first)
{
    return (u32)(((u64)high << 32 | low) >> first);
}

/* Moves the rows whose lines this warp has copied to their places in a slice. Neighbouring lanes move
   neighbouring words, which lie in different banks. `begin` is the position, in its line, of the
   warp's first row; it is the same in all slices, because these are a multiple of 16 deep. */
DEVICE void move_lines(u32 to, u32 lines, u32 begin, int pitch, int tile_rows, int tile_cols)
{
    const int words = tile_cols / 2, parts = words < 32 ? words : 32;
    const int of_warp = ROWS_OF_WARP(tile_rows), lane = (int)threadIdx.x % 32;
    const int first = (int)threadIdx.x / 32 * of_warp;
    NOT_HOISTED(begin);
    UNROLL for (int i = 0; i < of_warp; i += ROWS_AT_ONCE(parts))
    {
        const int row = first + i + lane / parts;
        const u32 before = begin + (u32)(i + lane / parts) * (u32)pitch * 2;
        const u32 from =
            lines + (u32)(row * LINES_PITCH(tile_cols) + lane % parts * 4) + (before & 12);
        const u32 at = to + (u32)(row * tile_cols * 2) +
                       (u32)((lane % parts / 4 ^ swizzle(row, tile_cols)) << 4 | lane % 4 << 2);
        UNROLL for (int j = 0; j < words; j += 32)
        {
            if (has_part(i + lane / parts, tile_rows, parts) &&
                (words % parts == 0 || j + lane < words)) {
                store_shared_one(at + (u32)(j * 4),
                                 bits_from(load_shared_one(from + (u32)(j * 4)),
                                           load_shared_one(from + (u32)(j * 4 + 4)),
                                           (before & 2) * 8));
            }
        }
    }
}

/* Begin and end to copy slices of A and B. */
DEVICE void begin_slices(u32 held_a[][4], u32 held_b[][4], u32 slot, const slice *a, const slice *b)
{
    if (A_LINES) {
        copy_lines(slot, a, A_ROWS, A_COLS);
    } else {
        slice_begin(held_a, slot, a, A_ROWS, A_COLS, COPY_A);
    }
    if (B_LINES) {
        copy_lines(slot + A_SLOT, b, B_ROWS, B_COLS);
    } else {
        slice_begin(held_b, slot + A_SLOT, b, B_ROWS, B_COLS, COPY_B);
    }
}

DEVICE void end_slices(u32 held_a[][4], u32 held_b[][4], u32 slot)
{
    if (!A_LINES) {
        slice_end(held_a, slot, A_ROWS, A_COLS, COPY_A);
    }
    if (!B_LINES) {
        slice_end(held_b, slot + A_SLOT, B_ROWS, B_COLS, COPY_B);
    }
}

/* Goes on to the next slice along K. */
DEVICE void next_slice(slice *s, bool rows)
{
    s->row0 += rows ? BLOCK_SIZE_K : 0;
    s->col0 += rows ? 0 : BLOCK_SIZE_K;
}

/* ---- fragments ---- */

/* The operands that a warp multiplies in one step of 16 of K. */
typedef struct fragments {
    u32 a[MMAS_M][4];
    u32 b[MMAS_N / 2][4];
} fragments;

/* Loads the fragments of a step from a slice of A and one of B. The warp's tile begins at (warp_m,
   warp_n) in the block's. */
DEVICE void load_fragments(fragments *f, u32 a, u32 b, int step, int warp_m, int warp_n, int lane)
{
    UNROLL for (int i = 0; i < MMAS_M; i++)
    {
        const int m = warp_m + i * 16;
        const u32 at = A_LAYOUT ? piece_at(step * 16 + (lane >> 4) * 8 + (lane & 7),
                                           m / 8 + (lane >> 3 & 1), A_COLS)
                                : piece_at(m + (lane & 15), step * 2 + (lane >> 4), A_COLS);
        load_matrix(f->a[i], a + at, A_LAYOUT);
    }
    UNROLL for (int j = 0; j < MMAS_N / 2; j++)
    {
        const int n = warp_n + j * 16;
        const u32 at = B_LAYOUT ? piece_at(step * 16 + (lane & 15), n / 8 + (lane >> 4), B_COLS)
                                : piece_at(n + (lane >> 4) * 8 + (lane & 7),
                                           step * 2 + (lane >> 3 & 1), B_COLS);
        load_matrix(f->b[j], b + at, B_LAYOUT);
    }
}

/* heart: begin */
DEVICE void multiply(float acc[MMAS_M][MMAS_N][4], const fragments *f)
{
    UNROLL for (int i = 0; i < MMAS_M; i++)
    {
        UNROLL for (int j = 0; j < MMAS_N; j++)
        {
            mma(acc[i][j], f->a[i], f->b[j / 2] + j % 2 * 2);
        }
    }
}
/* heart: end */

/* Loads two elements of a row, of which `left` exist; the others are 0. */
DEVICE void load_pair(float *x, float *y, const u16 *from, int left)
{
    *x = left > 0 ? widen(from[0]) : 0.0f;
    *y = left > 1 ? widen(from[1]) : 0.0f;
}

/* Stores the tile that lies in shared memory to C, from (m0, n0) on: a thread eight elements at a
   time if `lines` (a constant), where rows of C begin at multiples of 16 bytes, else two, which
   begin at a multiple of four bytes. So a warp's stores are whole lines either way. */
DEVICE void store_tile(bool lines, u32 tile, u16 *c, int ldc, int m0, int n0, int m, int n)
{
    const int width = lines ? 8 : 2;
    const int per_row = BLOCK_SIZE_N / width;
    const int left = n - n0 < BLOCK_SIZE_N ? n - n0 : BLOCK_SIZE_N;
    for (int i = (int)threadIdx.x; i < BLOCK_SIZE_M * per_row; i += THREADS) {
        const int row = i / per_row;
        int column = i % per_row * width;
        u16 *to = c + (i64)(m0 + row) * ldc + n0;
        const u32 from = tile + (u32)(row * STAGING_PITCH + column * 2);
        u32 v[4];
        if (m0 + row >= m || column >= left) {
            continue;
        }
        if (lines) {
            load_shared(v, from);
        } else {
            v[0] = load_shared_one(from);
        }
        if (!lines && ((size_t)to & 3) != 0) { /* pairs begin at the second element of the row */
            if (column == 0) {
                to[0] = (u16)v[0];
            }
            v[0] = v[0] >> 16 | load_shared_one(from + 4) << 16;
            column++;
        }
        if (column + width > left) {
            UNROLL for (int j = 0; j < width; j++)
            {
                if (column + j < left) {
                    to[column + j] = (u16)(v[j / 2] >> (j % 2 * 16));
                }
            }
        } else if (lines) {
            store_line(to + column, v);
        } else {
            store_two(to + column, v[0]);
        }
    }
}

/* The tile of C is staged so that a row begins where it does in a line of memory, if bytes are
   counted in fours: `before` & 12 bytes from the row's begin on. */

/* Return the word, or the half of one, that lies at byte `at` of the lines of a row; what is staged
   has it there or two bytes before. */
DEVICE u32 staged_word(u32 row, int at, int before)
{
    const u32 word = load_shared_one(row + (u32)at);
    return before & 2 ? word << 16 | load_shared_one(row + (u32)at - 4) >> 16 : word;
}

DEVICE u16 staged_half(u32 row, int at, int before)
{
    const int there = at - (before & 2);
    return (u16)(load_shared_one(row + (u32)(there & ~3)) >> (there & 2 ? 16 : 0));
}

/* Stores the staged tile to C, from (m0, n0) on: whole lines, then what lies in a row's first line
   and in its last, where these are not whole. */
DEVICE void store_lines(u32 tile, u16 *c, int ldc, int m0, int n0, int m, int n)
{
    const int lines = BLOCK_SIZE_N / 8, of_warp = ROWS_OF_WARP(BLOCK_SIZE_M);
    const int left = n - n0 < BLOCK_SIZE_N ? n - n0 : BLOCK_SIZE_N;
    const int lane = (int)threadIdx.x % 32, line = lane % lines * 16;
    const int first = (int)threadIdx.x / 32 * of_warp + lane / lines;
    const char *next = (const char *)(c + (i64)(m0 + first) * ldc + n0);
    u32 from = tile + (u32)(first * STAGING_PITCH + line);
    UNROLL for (int i = 0; i < of_warp; i += ROWS_AT_ONCE(lines))
    {
        const int before = (int)((size_t)next & 15);
        const u32 skip = 32 - (u32)(before & 2) * 8;
        const bool here = has_part(i + lane / lines, BLOCK_SIZE_M, lines);
        u32 v[4] = {0, 0, 0, 0};
        if (here) {
            load_shared(v, from);
        }
        /* the last word of the line before, if that is of this row */
        const u32 last = (u32)shuffle_up((int)v[3], 1);
        v[3] = bits_from(v[2], v[3], skip);
        v[2] = bits_from(v[1], v[2], skip);
        v[1] = bits_from(v[0], v[1], skip);
        v[0] = bits_from(last, v[0], skip);
        if (here && m0 + first + i < m && line >= before && line + 16 <= before + left * 2) {
            store_line((char *)next + (line - before), v);
        }
        next += (i64)ldc * (2 * ROWS_AT_ONCE(lines));
        from += ROWS_AT_ONCE(lines) * STAGING_PITCH;
    }
    if ((((size_t)c | (size_t)ldc * 2 | (size_t)left * 2) & 15) == 0) {
        return;
    }
    for (u32 i = threadIdx.x; i < BLOCK_SIZE_M * 2; i += THREADS) {
        const int row = (int)(i % BLOCK_SIZE_M);
        const bool head = i < BLOCK_SIZE_M;
        u16 *to = c + (i64)(m0 + row) * ldc + n0;
        const int before = (int)((size_t)to & 15), end = before + left * 2;
        /* what is stored of the line, from its begin on */
        const int from = head ? before : (end & ~15);
        const int until = head && end > 16 ? 16 : end;
        const u32 staged = tile + (u32)(row * STAGING_PITCH);
        if (m0 + row >= m || (head ? before == 0 && end >= 16 : end < 16)) {
            continue;
        }
        to -= before / 2;
        if (from & 2) {
            to[from / 2] = staged_half(staged, from, before);
        }
        UNROLL for (int j = 0; j < 3; j++)
        {
            const int word = ((from + 2) & ~3) + 4 * j;
            if (word + 4 <= until) {
                *(u32 *)(void *)(to + word / 2) = staged_word(staged, word, before);
            }
        }
        if (until & 2) {
            to[until / 2 - 1] = staged_half(staged, until - 2, before);
        }
    }
}

DEVICE void multiply_tile(const u16 *a, const u16 *b, u16 *c, const u16 *bias, const u16 *c_in,
                          const u16 *residual, unsigned char *workspace, int m, int n, int k,
                          int lda, int ldb, int ldc, float alpha, float beta)
{
    const u32 ring = shared_base();
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int warp_m = warp / WARPS_N * WARP_M;
    const int warp_n = warp % WARPS_N * WARP_N;
#if LAUNCH_EARLY
    launch_next();
    launch_wait();
#endif

    const place p = place_of_block(m, n, k);
    const int m0 = p.m0, n0 = p.n0, count = p.count;
    float acc[MMAS_M][MMAS_N][4];
    u32 held_a[A_HELD][4], held_b[B_HELD][4];
    fragments f[2];
    slice sa, sb;
    sa.from = a;
    sa.pitch = lda;
    sa.row0 = A_LAYOUT ? p.begin * BLOCK_SIZE_K : m0;
    sa.col0 = A_LAYOUT ? m0 : p.begin * BLOCK_SIZE_K;
    sa.rows = A_LAYOUT ? k : m;
    sa.cols = A_LAYOUT ? m : k;
    sb.from = b;
    sb.pitch = ldb;
    sb.row0 = B_LAYOUT ? p.begin * BLOCK_SIZE_K : n0;
    sb.col0 = B_LAYOUT ? n0 : p.begin * BLOCK_SIZE_K;
    sb.rows = B_LAYOUT ? k : n;
    sb.cols = B_LAYOUT ? n : k;

    UNROLL for (int i = 0; i < MMAS_M * MMAS_N; i++)
    {
        UNROLL for (int j = 0; j < 4; j++)
        {
            acc[i / MMAS_N][i % MMAS_N][j] = 0;
        }
    }

    const u32 begin_a = in_line(a, sa.row0 + warp * ROWS_OF_WARP(A_ROWS), lda, sa.col0);
    const u32 begin_b = in_line(b, sb.row0 + warp * ROWS_OF_WARP(B_ROWS), ldb, sb.col0);
    for (int i = 0; i < num_stages - 1; i++) {
        if (i < count) {
            begin_slices(held_a, held_b, ring + (u32)i * SLOT_BYTES, &sa, &sb);
            end_slices(held_a, held_b, ring + (u32)i * SLOT_BYTES);
            next_slice(&sa, A_LAYOUT);
            next_slice(&sb, B_LAYOUT);
        }
        copy_commit();
    }
    u32 slot = ring, free = ring + (num_stages - 1) * SLOT_BYTES;
    u32 moved = ring + num_stages * SLOT_BYTES;
    /* heart: begin */
    for (int i = 0; i < count; i++) {
        const bool more = i + num_stages - 1 < count;
        u32 a_at = slot, b_at = slot + A_SLOT;
        COPY_WAIT(num_stages - 2);
        if (MOVED_BYTES > 0) {
            warp_sync(); /* the other lanes' copies are there, too */
        }
        if (A_LINES) {
            a_at = moved;
            move_lines(a_at, slot, begin_a, lda, A_ROWS, A_COLS);
        }
        if (B_LINES) {
            b_at = moved + A_MOVED;
            move_lines(b_at, slot + A_SLOT, begin_b, ldb, B_ROWS, B_COLS);
        }
        moved = moved == ring + num_stages * SLOT_BYTES ? moved + MOVED_BYTES : moved - MOVED_BYTES;
        block_sync(); /* slice i is there for all, and all have read the slot that is filled next */
        if (!LINES) {
            load_fragments(&f[0], a_at, b_at, 0, warp_m, warp_n, lane);
        }
        if (more) {
            begin_slices(held_a, held_b, free, &sa, &sb);
            next_slice(&sa, A_LAYOUT);
            next_slice(&sb, B_LAYOUT);
        }
        copy_commit();
        if (LINES) { /* the addresses of its copies need these registers */
            load_fragments(&f[0], a_at, b_at, 0, warp_m, warp_n, lane);
        }
        UNROLL for (int step = 0; step < K_STEPS; step++)
        {
            if (step + 1 < K_STEPS) {
                load_fragments(&f[(step + 1) % 2], a_at, b_at, step + 1, warp_m, warp_n, lane);
            }
            multiply(acc, &f[step % 2]);
        }
        if (more) {
            end_slices(held_a, held_b, free);
        }
        free = slot;
        slot = slot + SLOT_BYTES == ring + num_stages * SLOT_BYTES ? ring : slot + SLOT_BYTES;
    }
    /* heart: end */
    COPY_WAIT(0);
    block_sync(); /* the ring's memory is used for other things from here on */
#if SPLIT_K > 1
    if (!add_parts(acc[0], MMAS_M * MMAS_N, THREADS, workspace, &p, ring)) {
        return;
    }
    block_sync(); /* the flag has been read */
#endif

    /* Epilogue: the sums go to a tile in shared memory, and from there in whole lines to C. Lane t
       has elements 2 (t % 4) and the next, of rows t / 4 and t / 4 + 8. */
    UNROLL for (int j = 0; j < MMAS_N; j++)
    {
        const int column = warp_n + j * 8 + lane % 4 * 2;
#if HAS_BIAS || HAS_BETA || HAS_RESIDUAL
        const int at = n0 + column;
#endif
#if HAS_BIAS
        float bias_0, bias_1;
        load_pair(&bias_0, &bias_1, bias + at, n - at);
#endif
        UNROLL for (int i = 0; i < MMAS_M * 2; i++)
        {
            const int row = warp_m + i / 2 * 16 + i % 2 * 8 + lane / 4;
            float x = acc[i / 2][j][i % 2 * 2];
            float y = acc[i / 2][j][i % 2 * 2 + 1];
#if HAS_ALPHA
            x *= alpha;
            y *= alpha;
#endif
#if HAS_BETA || HAS_RESIDUAL
            const i64 there = (i64)(m0 + row) * ldc + at;
            const int left = m0 + row < m ? n - at : 0;
            float more_x, more_y;
#endif
#if HAS_BETA
            load_pair(&more_x, &more_y, c_in + there, left);
            x += beta * more_x;
            y += beta * more_y;
#endif
#if HAS_BIAS
            x += bias_0;
            y += bias_1;
#endif
            x = EPILOGUE(x);
            y = EPILOGUE(y);
#if HAS_RESIDUAL
            load_pair(&more_x, &more_y, residual + there, left);
            x += more_x;
            y += more_y;
#endif
            const u32 before = LINES ? in_line(c, m0 + row, ldc, n0) & 12 : 0;
            store_shared_one(ring + (u32)(row * STAGING_PITCH + column * 2) + before, pack(x, y));
        }
    }
    block_sync();
    if (LINES) {
        store_lines(ring, c, ldc, m0, n0, m, n);
    } else if ((((size_t)c | (size_t)ldc * 2) & 15) == 0) {
        store_tile(true, ring, c, ldc, m0, n0, m, n);
    } else {
        store_tile(false, ring, c, ldc, m0, n0, m, n);
    }
}

#if !(defined SIZE_M && defined OWN_SIZE_ONLY)
KERNEL ak_kernel(const u16 *a, const u16 *b, u16 *c, const u16 *bias, const u16 *c_in,
                 const u16 *residual, unsigned char *workspace, int m, int n, int k, int lda,
                 int ldb, int ldc, float alpha, float beta)
{
    multiply_tile(a, b, c, bias, c_in, residual, workspace, m, n, k, lda, ldb, ldc, alpha, beta);
}

#endif

#ifdef SIZE_M
/* The same kernel with sizes that the compiler knows. */
KERNEL ak_kernel_sized(const u16 *a, const u16 *b, u16 *c, const u16 *bias, const u16 *c_in,
                       const u16 *residual, unsigned char *workspace, int m, int n, int k, int lda,
                       int ldb, int ldc, float alpha, float beta)
{
    multiply_tile(a, b, c, bias, c_in, residual, workspace, SIZE_M, SIZE_N, SIZE_K, lda, ldb, ldc,
                  alpha, beta);
}
#endif
