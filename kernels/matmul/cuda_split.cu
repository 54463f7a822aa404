/*
 * cuda_split.cu: writes each element of f32 matrices as the sum of TERMS bf16 numbers, of which
 * cuda_gemm_sm90.cu then computes the products. The harness puts this text in front of that one,
 * behind cuda_wgmma.cu.
 *
 * Each term is what the terms before it have left, rounded to bf16, whose 8 bits leave at most
 * 2^-8 of what is rounded. So two terms leave 2^-17 of an element at most, and three none of its 24
 * bits. bf16 has the exponents of f32: only the last terms of elements below 2^-110 lose bits.
 *
 * An element that is not finite is kept as (1 or -1, 0, the element). Its last term meets only
 * first terms, which are not 0 unless the other factor is, so sums become infinite or NaN where
 * those of f32 do. An element that would be rounded to infinity is cut off instead.
 *
 * In the workspace, terms lie behind each other along M (A) or N (B), at distances that are
 * multiples of 64: if K is contiguous, as rows below the rows of the term before, whose distance is
 * K rounded up to 64; otherwise each row has all terms.
 */

/* ---- instructions ---- */

#ifndef SIMT

#define SPLIT_KERNEL extern "C" __global__ void __launch_bounds__(256)
#define UNROLL       _Pragma("unroll")

DEVICE void load_parts(float v[4], const float *from)
{
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(from));
}

DEVICE void store_four(u32 *to, const u32 v[4])
{
    *(uint4 *)to = make_uint4(v[0], v[1], v[2], v[3]);
}

#endif

/* ---- terms ---- */

/* A matrix of f32 whose rows are `ld` elements apart, and its terms: their rows are `pitch`, and
   they themselves `apart` elements apart, both multiples of 64. */
typedef struct splitting {
    const float *from;
    unsigned short *to;
    int rows, columns, ld;
    long long pitch, apart;
} splitting;

DEVICE splitting splitting_of(const float *from, unsigned char *to, int layout, int rows,
                              int columns, int ld)
{
    const long long row = (columns + 63) / 64 * 64, all = (rows + 63) / 64 * 64 * row;
    const splitting p = {from,
                         (unsigned short *)to,
                         rows,
                         columns,
                         ld,
                         layout ? row * TERMS : row,
                         layout ? row : all};
    return p;
}

/* Gives the bits of the terms of an element. */
DEVICE void terms_of(u32 terms[TERMS], float x)
{
    const u32 bits = __float_as_uint(x);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    float rest = finite ? x : __uint_as_float((bits & 0x80000000u) | 0x3f800000u);
    UNROLL
    for (int i = 0; i < TERMS; i++) {
        terms[i] = pack(rest, 0.0f) & 0xffffu;
        if (i == 0 && (terms[i] & 0x7f80u) == 0x7f80u) {
            terms[i] = bits >> 16;
        }
        rest -= unpack((unsigned short)terms[i]);
    }
    if (!finite) {
        terms[TERMS - 1] = pack(x, 0.0f) & 0xffffu;
    }
}

enum { VECTOR = 8, AT_ONCE = 2 }; /* elements of a vector of terms, vectors of a lane */

/* Loads VECTOR elements of a row from `column` on; those beyond its end are 0. */
DEVICE void load_elements(float x[VECTOR], const float *row, int column, int columns, bool aligned)
{
    if (aligned && column + VECTOR <= columns) {
        load_parts(x, row + column);
        load_parts(x + 4, row + column + 4);
    } else {
        UNROLL
        for (int i = 0; i < VECTOR; i++) {
            x[i] = column + i < columns ? row[column + i] : 0.0f;
        }
    }
}

/* Splits the share of warp `warp` of `warps`, in pieces of a row of AT_ONCE vectors a lane. */
DEVICE void split_rows(splitting p, int warp, int warps, int lane)
{
    enum { PIECE = AT_ONCE * 32 * VECTOR };
    const int pieces = (p.columns + PIECE - 1) / PIECE;
    const bool aligned = ((unsigned long long)p.from | (unsigned long long)p.ld * 4) % 16 == 0;
    for (long long piece = warp; piece < (long long)p.rows * pieces; piece += warps) {
        const long long row = piece / pieces;
        const int first = (int)(piece - row * pieces) * PIECE + lane * VECTOR;
        float x[AT_ONCE][VECTOR];
        UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            load_elements(x[i], p.from + row * p.ld, first + i * 32 * VECTOR, p.columns, aligned);
        }
        UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            u32 pairs[TERMS][VECTOR / 2];
            UNROLL
            for (int e = 0; e < VECTOR; e += 2) {
                u32 even[TERMS], odd[TERMS];
                terms_of(even, x[i][e]);
                terms_of(odd, x[i][e + 1]);
                UNROLL
                for (int t = 0; t < TERMS; t++) {
                    pairs[t][e / 2] = even[t] | odd[t] << 16;
                }
            }
            const int column = first + i * 32 * VECTOR;
            UNROLL
            for (int t = 0; t < TERMS; t++) {
                if (column < p.columns) {
                    store_four((u32 *)(p.to + t * p.apart + row * p.pitch + column), pairs[t]);
                }
            }
        }
    }
}

/* Splits both matrices, to their places so many bytes from the start of the workspace. It runs in
   any number of blocks of 256 threads. */
SPLIT_KERNEL ak_split(const float *a, const float *b, unsigned char *workspace, long long place_a,
                      long long place_b, int a_rows, int a_columns, int lda, int b_rows,
                      int b_columns, int ldb)
{
    const int warp = (int)(blockIdx.x * 8 + threadIdx.x / 32), warps = (int)gridDim.x * 8;
    const int lane = (int)threadIdx.x % 32;
#if LAUNCH_EARLY
    let_next_kernel_start();
    wait_for_kernel_before();
#endif
    split_rows(splitting_of(a, workspace + place_a, A_LAYOUT, a_rows, a_columns, lda), warp, warps,
               lane);
    split_rows(splitting_of(b, workspace + place_b, B_LAYOUT, b_rows, b_columns, ldb), warp, warps,
               lane);
}
