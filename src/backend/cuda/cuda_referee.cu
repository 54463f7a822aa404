/*
 * cuda_referee.cu: computes and compares on the device: the tools that a kernel's reference.cu is
 * made of, and the kernels that compare an output with what it computed. The harness puts this text
 * in front of reference.cu and compiles both with NVRTC; see cuda_referee.c.
 *
 * A reference.cu has one kernel,
 *
 *     KERNEL ak_reference(POINTERS, SIZES)
 *
 * It has a pointer for each argument in the order of problem.json: const void * to what is read, in
 * the argument's dtype, and double * to what is written, whose rows adjoin. Each size follows as an
 * i64 and, if the kernel wants them, the pitch of each argument (the elements from one row to the
 * next) as an i64. Options are macros, such as activation_is_relu, and numbers, such as
 * choice_alpha. The kernel runs with THREADS threads per block and any number of blocks, so it
 * takes its work in strides of gridDim.x. It is as plain as reference.c: double throughout, no
 * tricks, no parameters. It shares no code with any candidate.
 *
 * The reference lies on the device under a mask: each element is combined with a number that
 * depends on a secret key and its index. A candidate that finds it can neither copy it nor change
 * it without being detected.
 *
 * tests/simt/simt.h defines SIMT; it and tests/simt/referee_bits.h define the functions of the next
 * section, so that the rest runs on a CPU.
 */
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef long long i64;

#define THREADS 256 /* as REFEREE_THREADS in cuda_referee.c */

#ifndef SIMT

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

extern __shared__ __align__(16) unsigned char shared_bytes[];

DEVICE unsigned char *dynamic_shared(void)
{
    return shared_bytes;
}
DEVICE void block_sync(void)
{
    __syncthreads();
}
DEVICE u64 bits_of(double x)
{
    return (u64)__double_as_longlong(x);
}
DEVICE double from_bits(u64 bits)
{
    return __longlong_as_double((i64)bits);
}
DEVICE float from_bits_f32(u32 bits)
{
    return __uint_as_float(bits);
}

#endif

#define INFINITE from_bits(0x7ffull << 52)

/* ---- numbers --------------------------------------------------------------------------------- */

/* These numbers are those of ak_dtype. */
#define KIND_F16  0
#define KIND_BF16 1
#define KIND_F32  2
#define KIND_I32  4
#define KIND_E4M3 5
#define KIND_E5M2 6

DEVICE double value_of_bits(u32 bits, int kind)
{
    if (kind == KIND_E4M3) { /* shifted into an f32, whose exponent is then 120 too small */
        const double magnitude =
            (double)from_bits_f32((bits & 127) << 20) * 1329227995784915872903807060280344576.0;
        return (bits & 127) == 127 ? INFINITE - INFINITE : bits & 128 ? -magnitude : magnitude;
    }
    if (kind == KIND_E5M2) {
        bits <<= 8; /* the upper half of f16 */
    }
    if (kind == KIND_F32) {
        return (double)from_bits_f32(bits);
    }
    if (kind == KIND_I32) {
        return (double)(int)bits;
    }
    if (kind == KIND_BF16) {
        return (double)from_bits_f32(bits << 16);
    }
    const u32 sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 0) { /* a multiple of 2^-24 */
        return (sign ? -1.0 : 1.0) * ((double)fraction / 16777216.0);
    }
    return (double)from_bits_f32(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 |
                                 fraction << 13);
}

DEVICE u32 bits_at(const void *array, i64 i, int kind)
{
    return kind == KIND_E4M3 || kind == KIND_E5M2  ? ((const unsigned char *)array)[i]
           : kind == KIND_F16 || kind == KIND_BF16 ? ((const u16 *)array)[i]
                                                   : ((const u32 *)array)[i];
}

/* Returns element i of an array of the task's dtype. */
DEVICE double value(const void *array, i64 i)
{
#if dtype_is_f32
    return (double)((const float *)array)[i];
#elif dtype_is_bf16
    return value_of_bits(((const u16 *)array)[i], KIND_BF16);
#else
    return value_of_bits(((const u16 *)array)[i], KIND_F16);
#endif
}

/* ---- what references are made of ------------------------------------------------------------- */

/* Returns to each thread of a block the sum of the values of all its threads, which must all call
   it. */
DEVICE double block_sum(double x)
{
    double *all = (double *)dynamic_shared();
    block_sync(); /* until nobody reads the earlier contents */
    all[threadIdx.x] = x;
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        block_sync();
        if (threadIdx.x < half) {
            all[threadIdx.x] += all[threadIdx.x + half];
        }
    }
    block_sync();
    return all[0];
}

/* Does the same with the largest value. */
DEVICE double block_max(double x)
{
    double *all = (double *)dynamic_shared();
    block_sync();
    all[threadIdx.x] = x;
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        block_sync();
        if (threadIdx.x < half && all[threadIdx.x + half] > all[threadIdx.x]) {
            all[threadIdx.x] = all[threadIdx.x + half];
        }
    }
    block_sync();
    return all[0];
}

/* Tiles of a matrix product: TILE x TILE elements per block, EACH x EACH per thread. A thread has
   the rows threadIdx.x / ACROSS + DOWN * r and the columns threadIdx.x % ACROSS + ACROSS * q of the
   tile. */
#define TILE   64
#define DEPTH  16
#define ACROSS 16
#define DOWN   16
#define EACH   4

/* A matrix as a product reads it: element (i, j) is at i * down + j * across. */
#define OWN_KIND 16
typedef struct operand {
    const void *from;
    i64 down, across;
    int kind; /* 0: the task's dtype; else OWN_KIND + one of KIND_... */
} operand;

DEVICE double element(operand x, i64 i, i64 j)
{
    const i64 at = i * x.down + j * x.across;
    return x.kind == 0 ? value(x.from, at)
                       : value_of_bits(bits_at(x.from, at, x.kind - OWN_KIND), x.kind - OWN_KIND);
}

/* Computes sum[r][q] of A[m,k] * B[k,n] for the tile whose first element is (row, column). Elements
   beyond the matrices count as 0. */
DEVICE void product_tile(double sum[EACH][EACH], operand a, operand b, i64 row, i64 column, i64 m,
                         i64 n, i64 k)
{
    double(*part_a)[DEPTH + 1] = (double(*)[DEPTH + 1]) dynamic_shared();
    double(*part_b)[TILE] = (double(*)[TILE])(dynamic_shared() + sizeof(double[TILE][DEPTH + 1]));
    const int down = (int)threadIdx.x / ACROSS, across = (int)threadIdx.x % ACROSS;
    for (int r = 0; r < EACH; r++) {
        for (int q = 0; q < EACH; q++) {
            sum[r][q] = 0;
        }
    }
    for (i64 first = 0; first < k; first += DEPTH) {
        block_sync(); /* until nobody reads the earlier tiles */
        for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            const i64 ra = row + i / DEPTH, ca = first + i % DEPTH;
            const i64 rb = first + i / TILE, cb = column + i % TILE;
            part_a[i / DEPTH][i % DEPTH] = ra < m && ca < k ? element(a, ra, ca) : 0;
            part_b[i / TILE][i % TILE] = rb < k && cb < n ? element(b, rb, cb) : 0;
        }
        block_sync();
        for (int p = 0; p < DEPTH; p++) {
            for (int r = 0; r < EACH; r++) {
                for (int q = 0; q < EACH; q++) {
                    sum[r][q] += part_a[down + DOWN * r][p] * part_b[p][across + ACROSS * q];
                }
            }
        }
    }
}

/* ---- the mask -------------------------------------------------------------------------------- */

/* The output function of SplitMix64 (Steele, Lea, Flood 2014); must match ak_guard_word in
   check/guard.c. */
DEVICE u64 mix(u64 z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

DEVICE u64 mask_of(u64 key, u64 i)
{
    return mix(key + (i + 1) * 0x9e3779b97f4a7c15ull);
}

/* ---- the kernels of the harness -------------------------------------------------------------- */

/* The findings of a block; the host combines the blocks. Must match ak_cuda_finding in
   cuda_referee.c. */
typedef struct finding {
    u64 hash;             /* of what was read: a sum, independent of the order */
    u64 bad, unwritten;   /* numbers of elements */
    u64 first;            /* index of the first bad element; ~0 if there is none */
    u64 strays;           /* elements between the rows that were changed */
    u64 finite, nans;     /* numbers of elements of the reference */
    double worst;         /* error over tolerance, or magnitude of the reference */
    double squares;       /* sum of the squares of element / scale */
} finding;

/* Combines the findings of all threads of a block; thread 0 writes them. */
DEVICE void conclude(finding *out, finding f)
{
    finding *all = (finding *)dynamic_shared();
    block_sync();
    all[threadIdx.x] = f;
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        block_sync();
        if (threadIdx.x < half) {
            finding *to = &all[threadIdx.x];
            const finding *from = &all[threadIdx.x + half];
            to->hash += from->hash;
            to->bad += from->bad;
            to->unwritten += from->unwritten;
            to->strays += from->strays;
            to->first = from->first < to->first ? from->first : to->first;
            to->finite += from->finite;
            to->nans += from->nans;
            to->worst = from->worst > to->worst ? from->worst : to->worst;
            to->squares += from->squares;
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = all[0];
    }
}

DEVICE finding nothing_found(void)
{
    finding f;
    f.hash = f.bad = f.unwritten = f.strays = f.finite = f.nans = 0;
    f.first = ~0ull;
    f.worst = f.squares = 0;
    return f;
}

DEVICE i64 first_index(void)
{
    return (i64)blockIdx.x * THREADS + (i64)threadIdx.x;
}

DEVICE i64 index_step(void)
{
    return (i64)gridDim.x * THREADS;
}

/* Masks in place what ak_reference wrote. Finds the hash of the masked array, `finite`, `nans`, and
   the largest finite magnitude as `worst`. */
KERNEL ak_seal(double *reference, i64 count, u64 key, finding *out)
{
    finding f = nothing_found();
    for (i64 i = first_index(); i < count; i += index_step()) {
        const double x = reference[i];
        const double magnitude = x < 0 ? -x : x;
        const u64 masked = bits_of(x) ^ mask_of(key, (u64)i);
        f.nans += x != x;
        if (magnitude < INFINITE) {
            f.finite++;
            f.worst = magnitude > f.worst ? magnitude : f.worst;
        }
        f.hash += mix(masked + mask_of(~key, (u64)i));
        ((u64 *)reference)[i] = masked;
    }
    conclude(out, f);
}

/* Finds `squares`: the sum of the squares of the finite elements, each divided by `scale`. */
KERNEL ak_squares(const u64 *masked, i64 count, u64 key, double scale, finding *out)
{
    finding f = nothing_found();
    for (i64 i = first_index(); i < count; i += index_step()) {
        const double x = from_bits(masked[i] ^ mask_of(key, (u64)i)) / scale;
        if ((x < 0 ? -x : x) < INFINITE) {
            f.squares += x * x;
        }
    }
    conclude(out, f);
}

/* Returns the error over the tolerance of one element: 0 if both are NaN or the same infinity,
   infinite if one is NaN or infinite and the other is not the same. Must match check/compare.c. */
DEVICE double error_of(double got, double want, double relative, double absolute)
{
    if (got != got || want != want) {
        return got != got && want != want ? 0 : INFINITE;
    }
    if (got == INFINITE || got == -INFINITE || want == INFINITE || want == -INFINITE) {
        return got == want ? 0 : INFINITE;
    }
    const double error = got < want ? want - got : got - want;
    const double allowed = relative * (want < 0 ? -want : want) + absolute;
    if (error <= allowed) {
        return error > 0 ? error / allowed : 0;
    }
    return allowed > 0 ? error / allowed : INFINITE;
}

/* How an output is compared. An element was never written if its bits equal `poison`, apart from
   the lowest four, which differ from round to round. Of elements of one byte all bits must be
   equal, because their poison is the same in all rounds. */
typedef struct judgement {
    u64 key;
    double relative, absolute;
    u32 poison;
    int kind;
} judgement;

/* Judges element i, which has these bits, against `word` of the masked reference. */
DEVICE void judge(finding *f, u32 bits, u64 word, i64 i, judgement j)
{
    const u32 rounds = j.kind == KIND_E4M3 || j.kind == KIND_E5M2 ? 0u : 15u;
    const int unwritten = (bits & ~rounds) == (j.poison & ~rounds);
    const double error = unwritten ? INFINITE
                                   : error_of(value_of_bits(bits, j.kind),
                                              from_bits(word ^ mask_of(j.key, (u64)i)), j.relative,
                                              j.absolute);
    f->hash += mix(word + mask_of(~j.key, (u64)i));
    f->worst = error > f->worst ? error : f->worst;
    f->unwritten += unwritten;
    if (error > 1) {
        f->first = (u64)i < f->first ? (u64)i : f->first;
        f->bad++;
    }
}

/* The content between rows, as ak_guard_stream in check/guard.h defines it: bytes in words of 8,
   the first in the lowest byte. */
typedef struct stream {
    u64 key, keep, set;
} stream;

DEVICE u32 byte_of(stream s, i64 at)
{
    return (u32)(((mask_of(s.key, (u64)at >> 3) & s.keep) | s.set) >> ((at & 7) * 8)) & 255u;
}

/* Returns element i of such a stream, as an element of 1, 2 or 4 bytes. */
DEVICE u32 bits_of_stream(stream s, i64 i, int kind)
{
    const int bytes = kind == KIND_E4M3 || kind == KIND_E5M2  ? 1
                      : kind == KIND_F16 || kind == KIND_BF16 ? 2
                                                              : 4;
    const u64 word = (mask_of(s.key, (u64)(i * bytes) >> 3) & s.keep) | s.set;
    const u32 bits = (u32)(word >> ((i * bytes & 7) * 8));
    return bytes == 4 ? bits : bits & ((1u << 8 * bytes) - 1);
}

/* Paints the gaps between the rows of an output; all lengths are in bytes. */
KERNEL ak_paint(unsigned char *output, i64 rows, i64 row, i64 pitch, u64 key, u64 keep, u64 set)
{
    const stream s = {key, keep, set};
    for (i64 r = blockIdx.x; r + 1 < rows; r += gridDim.x) {
        for (i64 c = row + threadIdx.x; c < pitch; c += THREADS) {
            output[r * pitch + c] = (unsigned char)byte_of(s, r * pitch + c);
        }
    }
}

/* Compares an output with the reference, whose rows adjoin. The output has `rows` rows, `row` long
   and `pitch` apart, with a stream between them. Avoids divisions of i64, which are calls. */
KERNEL ak_examine(const void *output, const u64 *masked, i64 rows, i64 row, i64 pitch, int kind,
                  u32 poison, u64 key, double relative, double absolute, u64 gap_key, u64 gap_keep, u64 gap_set,
                  finding *out)
{
    finding f = nothing_found();
    const judgement j = {key, relative, absolute, poison, kind};
    const stream s = {gap_key, gap_keep, gap_set};
    if (row == pitch) {
        for (i64 i = first_index(); i < rows * row; i += index_step()) {
            judge(&f, bits_at(output, i, kind), masked[i], i, j);
        }
    } else {
        for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
            for (i64 c = threadIdx.x; c < (r + 1 < rows ? pitch : row); c += THREADS) {
                const u32 bits = bits_at(output, r * pitch + c, kind);
                if (c < row) {
                    judge(&f, bits, masked[r * row + c], r * row + c, j);
                } else {
                    f.strays += bits != bits_of_stream(s, r * pitch + c, kind);
                }
            }
        }
    }
    conclude(out, f);
}

/* Finds `hash` of an array of bytes that begins at a multiple of 8. */
KERNEL ak_fingerprint(const void *array, i64 bytes, u64 key, finding *out)
{
    finding f = nothing_found();
    const i64 words = bytes / 8;
    for (i64 i = first_index(); i < words; i += index_step()) {
        f.hash += mix(((const u64 *)array)[i] + mask_of(key, (u64)i));
    }
    if (first_index() == 0 && bytes % 8 != 0) {
        u64 rest = 0;
        for (i64 i = words * 8; i < bytes; i++) {
            rest = rest << 8 | ((const unsigned char *)array)[i];
        }
        f.hash += mix(rest + mask_of(key, (u64)words));
    }
    conclude(out, f);
}
