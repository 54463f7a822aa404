/*
 * referee.c: runs a kernel's reference.cu and the referee's own kernels on the CPU: it compares
 * the reference with the formula, and outputs with planted faults with the reference. SIMT_KERNEL
 * chooses the kernel: 1 softmax, 2 layernorm, 3 rmsnorm, 4 reduce, 5 matmul, 6 matmul_act. See
 * tests/simt/simt.h and cases.txt.
 */
#include "referee_bits.h"

#ifndef choice_alpha
#define choice_alpha 1.0
#endif
#ifndef choice_beta
#define choice_beta 0.0
#endif
#ifndef PADS /* elements between the rows of matrices */
#define PADS 0
#endif

#include "../../src/backend/cuda/cuda_referee.cu"
#if SIMT_KERNEL == 1
#include "../../kernels/softmax/reference.cu"
#elif SIMT_KERNEL == 2
#include "../../kernels/layernorm/reference.cu"
#elif SIMT_KERNEL == 3
#include "../../kernels/rmsnorm/reference.cu"
#elif SIMT_KERNEL == 4
#include "../../kernels/reduce/reference.cu"
#elif SIMT_KERNEL == 5
#include "../../kernels/matmul/reference.cu"
#else
#include "../../kernels/matmul_act/reference.cu"
#endif

#if dtype_is_f32
#define ELEMENT 4
#define KIND    KIND_F32
#define POISON  0x7FA5C3D3u
#elif dtype_is_bf16
#define ELEMENT 2
#define KIND    KIND_BF16
#define POISON  0x7F93u
#else
#define ELEMENT 2
#define KIND    KIND_F16
#define POISON  0x7D53u
#endif
#ifndef weight_is_scale
#define weight_is_scale 0
#endif
#ifndef bias_is_add
#define bias_is_add 0
#endif
#ifndef residual_is_add
#define residual_is_add 0
#endif
#define IS_PRODUCT (SIMT_KERNEL >= 5)
#if !IS_PRODUCT
#define A_TRANSPOSED 0
#define B_TRANSPOSED 0
#endif
#define KEY 0x243f6a8885a308d3ull
/* What lies between rows, as of check/guard.h: NaN with a random payload. */
#if ELEMENT == 4
#define GAPS KEY ^ 1, 0x803fffff803fffffull, 0x7f8000017f800001ull
#elif dtype_is_bf16
#define GAPS KEY ^ 1, 0x803f803f803f803full, 0x7f817f817f817f81ull
#else
#define GAPS KEY ^ 1, 0x81ff81ff81ff81ffull, 0x7c017c017c017c01ull
#endif
#define SHARED ((int)sizeof(finding[THREADS]))
enum { BLOCKS_MAX = 64 };

/* ---- launching ------------------------------------------------------------------------------- */

static struct problem {
    void *x, *weight, *bias, *y; /* of a product: A, B, bias, C */
    void *c_in, *residual;
    double *reference;
    i64 size[3];
    i64 lda, ldb, ldc;
    i64 count, row, pitch; /* outputs; of a row of them, and from one row to the next */
    u64 key;
    double relative, absolute, scale;
    finding found[BLOCKS_MAX];
} q;

static void call_reference(void)
{
#if SIMT_KERNEL == 1 || SIMT_KERNEL == 4
    ak_reference(q.x, q.reference, q.size[0], q.size[1]);
#elif SIMT_KERNEL == 2
    ak_reference(q.x, q.weight, q.bias, q.reference, q.size[0], q.size[1]);
#elif SIMT_KERNEL == 3
    ak_reference(q.x, q.weight, q.reference, q.size[0], q.size[1]);
#elif SIMT_KERNEL == 5
    ak_reference(q.x, q.weight, q.reference, q.c_in, q.size[0], q.size[1], q.size[2], q.lda, q.ldb,
                 q.row, q.ldc);
#else
    ak_reference(q.x, q.weight, q.bias, q.reference, q.c_in, q.residual, q.size[0], q.size[1],
                 q.size[2], q.lda, q.ldb, 0, q.row, q.ldc, q.ldc);
#endif
}

static void call_seal(void)
{
    ak_seal(q.reference, q.count, q.key, q.found);
}

static void call_squares(void)
{
    ak_squares((const u64 *)q.reference, q.count, q.key, q.scale, q.found);
}

static void call_examine(void)
{
    ak_examine(q.y, (const u64 *)q.reference, q.count / q.row, q.row, q.pitch, KIND, POISON & ~7u,
               q.key, q.relative, q.absolute, GAPS, q.found);
}

static void call_paint(void)
{
    ak_paint(q.y, q.count / q.row, q.row * ELEMENT, q.pitch * ELEMENT, GAPS);
}

/* Where output i is, and how many elements all of them take with what is between the rows. */
static i64 place(i64 i)
{
    return i / q.row * q.pitch + i % q.row;
}

static i64 span(void)
{
    return place(q.count - 1) + 1;
}

static void call_fingerprint(void)
{
    ak_fingerprint(q.y, span() * ELEMENT, q.key, q.found);
}

/* Brings together what the blocks found. */
static finding launch(void (*kernel)(void), unsigned blocks)
{
    finding all = {.first = ~0ull};
    memset(q.found, 0xff, sizeof q.found);
    simt_launch(kernel, blocks, THREADS, 1, SHARED, q.key + blocks);
    for (unsigned b = 0; b < blocks; b++) {
        const finding *f = &q.found[b];
        all.hash += f->hash;
        all.bad += f->bad;
        all.unwritten += f->unwritten;
        all.strays += f->strays;
        all.first = f->first < all.first ? f->first : all.first;
        all.finite += f->finite;
        all.nans += f->nans;
        all.worst = f->worst > all.worst ? f->worst : all.worst;
        all.squares += f->squares;
    }
    return all;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double get(const void *array, i64 i)
{
#if ELEMENT == 4
    return ((const float *)array)[i];
#else
    return simt_from_16(((const uint16_t *)array)[i]);
#endif
}

static void set_bits(void *array, i64 i, uint32_t bits)
{
#if ELEMENT == 4
    ((uint32_t *)array)[i] = bits;
#else
    ((uint16_t *)array)[i] = (uint16_t)bits;
#endif
}

static void set(void *array, i64 i, double x)
{
#if ELEMENT == 4
    ((float *)array)[i] = (float)x;
#else
    ((uint16_t *)array)[i] = simt_to_16((float)x);
#endif
}

static double activate(double x)
{
#if activation_is_relu
    return x > 0 ? x : 0;
#elif activation_is_leaky_relu
    return x > 0 ? x : x / 100;
#elif activation_is_gelu_tanh
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * pow(x, 3))));
#elif activation_is_gelu_erf
    return x * (1 + erf(x / sqrt(2))) / 2;
#elif activation_is_silu
    return x / (1 + exp(-x));
#else
    return x;
#endif
}

/* One element of the answer, from the formula. */
static double answer(i64 i)
{
    if (IS_PRODUCT) {
        const i64 n = q.size[1], k = q.size[2], row = i / n, column = i % n;
        double sum = 0;
        for (i64 p = 0; p < k; p++) {
            sum += get(q.x, A_TRANSPOSED ? p * q.lda + row : row * q.lda + p) *
                   get(q.weight, B_TRANSPOSED ? column * q.ldb + p : p * q.ldb + column);
        }
        sum *= choice_alpha;
        sum += choice_beta != 0 ? choice_beta * get(q.c_in, row * q.ldc + column) : 0;
        sum += SIMT_KERNEL == 6 && bias_is_add ? get(q.bias, column) : 0;
        sum = SIMT_KERNEL == 6 ? activate(sum) : sum;
        return sum + (residual_is_add ? get(q.residual, row * q.ldc + column) : 0);
    }
    const i64 cols = q.size[1], row = SIMT_KERNEL == 4 ? i : i / cols, from = row * cols;
    double sum = 0, squares = 0, powers = 0;
    for (i64 j = 0; j < cols; j++) {
        sum += get(q.x, from + j);
    }
    for (i64 j = 0; j < cols; j++) {
        const double v = get(q.x, from + j);
        squares += SIMT_KERNEL == 2 ? pow(v - sum / (double)cols, 2) : v * v;
        powers += exp(v);
    }
    const double v = get(q.x, i), w = weight_is_scale ? get(q.weight, i % cols) : 1;
    return SIMT_KERNEL == 1   ? exp(v) / powers
           : SIMT_KERNEL == 4 ? sum
           : SIMT_KERNEL == 3 ? v / sqrt(squares / (double)cols + 1e-5) * w
                              : (v - sum / (double)cols) / sqrt(squares / (double)cols + 1e-5) * w +
                                    (bias_is_add ? get(q.bias, i % cols) : 0);
}

static int complain(const char *what, i64 i, double got, double want)
{
    (void)fprintf(stderr, "%lld x %lld x %lld: %s at %lld: got %.17g, expected %.17g\n",
                  (long long)q.size[0], (long long)q.size[1], (long long)q.size[2], what,
                  (long long)i, got, want);
    return 1;
}

/* ---- planted faults -------------------------------------------------------------------------- */

/* The output holds exactly what the reference says, rounded; `allowed` is the tolerance there. */
static int faults(unsigned blocks, const double *right)
{
    int wrong = 0;
    const i64 at = q.count * 2 / 3;
    const finding clean = launch(call_examine, blocks);
    if (clean.bad != 0 || clean.unwritten != 0 || clean.strays != 0 || clean.first != ~0ull ||
        clean.worst > 1) {
        wrong += complain("a right result is refused", (i64)clean.first, clean.worst, 1);
    }
    const double allowed = q.relative * fabs(right[at]) + q.absolute;
    static const struct {
        const char *name;
        double beyond; /* of the tolerance, 0: see special */
        int special;   /* 1 NaN, 2 infinity, 3 poison */
        int bad;
    } plants[] = {{"just inside", 0.9, 0, 0}, {"just outside", 1.1, 0, 1}, {"far below", -50, 0, 1},
                  {"NaN", 0, 1, 1},           {"infinity", 0, 2, 1},       {"unwritten", 0, 3, 1}};
    for (size_t p = 0; p < sizeof plants / sizeof plants[0]; p++) {
        const double before = get(q.y, place(at));
        set(q.y, place(at), right[at] + plants[p].beyond * allowed);
        if (plants[p].special == 1) {
            set(q.y, place(at), NAN);
        } else if (plants[p].special == 2) {
            set(q.y, place(at), INFINITY);
        } else if (plants[p].special == 3) {
            set_bits(q.y, place(at), POISON);
        }
        const finding f = launch(call_examine, blocks);
        const double share = fabs(get(q.y, place(at)) - right[at]) / allowed;
        const u64 first = plants[p].bad ? (u64)at : ~0ull;
        if (f.bad != (u64)plants[p].bad || f.first != first ||
            f.unwritten != (plants[p].special == 3) || f.hash != clean.hash) {
            wrong += complain(plants[p].name, (i64)f.first, (double)f.bad, plants[p].bad);
        }
        if (plants[p].special == 0 && plants[p].bad && fabs(f.worst / share - 1) > 1e-9) {
            wrong += complain("the worst", at, f.worst, share);
        }
        if (plants[p].special != 0 && f.worst != INFINITY) {
            wrong += complain("the worst of what is no number", at, f.worst, INFINITY);
        }
        set(q.y, place(at), before);
    }
    for (i64 gap = q.row; gap<q.pitch; gap += q.pitch - q.row - 1> 0 ? q.pitch - q.row - 1 : 1) {
        set(q.y, q.pitch + gap, 1); /* behind the second row */
        if (launch(call_examine, blocks).strays != 1) {
            wrong += complain("what is written between the rows is not seen", gap, 0, 1);
        }
        (void)launch(call_paint, blocks);
        if (launch(call_examine, blocks).strays != 0) {
            wrong += complain("what is painted between the rows is not seen as such", gap, 1, 0);
        }
    }
    /* damage to the reference itself, and to what is read */
    ((u64 *)q.reference)[at] ^= 1;
    if (launch(call_examine, blocks).hash == clean.hash) {
        wrong += complain("a damaged reference is not seen", at, 0, 0);
    }
    ((u64 *)q.reference)[at] ^= 1;
    const u64 print = launch(call_fingerprint, blocks).hash;
    for (i64 i = span() - 1; i >= 0 && i >= span() - 3; i--) {
        ((unsigned char *)q.y)[i * ELEMENT] ^= 1;
        if (launch(call_fingerprint, blocks).hash == print) {
            wrong += complain("a changed array is not seen", i, 0, 0);
        }
        ((unsigned char *)q.y)[i * ELEMENT] ^= 1;
    }
    if (launch(call_fingerprint, blocks == 1 ? 2 : 1).hash != print) {
        wrong += complain("the hash depends on the blocks", 0, 0, 0);
    }
    return wrong;
}

/* ---- one shape ------------------------------------------------------------------------------- */

static int run(i64 m, i64 n, i64 k, unsigned blocks)
{
    q.lda = (A_TRANSPOSED ? m : k) + PADS;
    q.ldb = (B_TRANSPOSED ? k : n) + PADS;
    q.ldc = n + PADS;
    const i64 inputs = IS_PRODUCT ? (A_TRANSPOSED ? k : m) * q.lda : m * n;
    const i64 weights = IS_PRODUCT ? (B_TRANSPOSED ? n : k) * q.ldb : n;
    const i64 addends = IS_PRODUCT ? m * q.ldc : 1;
    double *right;
    int wrong = 0;
    q.size[0] = m;
    q.size[1] = n;
    q.size[2] = k;
    q.count = SIMT_KERNEL == 4 ? m : m * n;
    q.row = IS_PRODUCT ? n : q.count;
    q.pitch = IS_PRODUCT ? q.ldc : q.count;
    q.key = KEY + (u64)q.count;
    simt.random = (u64)(m + n + k);
    q.x = simt_buffer((size_t)inputs * ELEMENT, ELEMENT, 0);
    q.weight = simt_buffer((size_t)weights * ELEMENT, ELEMENT, 0);
    q.bias = simt_buffer((size_t)n * ELEMENT, ELEMENT, 0);
    q.c_in = simt_buffer((size_t)addends * ELEMENT, ELEMENT, 0);
    q.residual = simt_buffer((size_t)addends * ELEMENT, ELEMENT, 0);
    q.y = simt_buffer((size_t)span() * ELEMENT, 8, 0);
    for (i64 i = 0; i < span(); i++) {
        set_bits(q.y, i, POISON);
    }
    q.reference = simt_buffer((size_t)q.count * 8, 8, 0);
    for (i64 i = 0; i < inputs; i++) {
        set(q.x, i, (double)simt_random() / 2e9 - 1);
    }
    for (i64 i = 0; i < weights; i++) {
        set(q.weight, i, (double)simt_random() / 2e9 - 1);
    }
    for (i64 i = 0; i < addends; i++) {
        set(q.c_in, i, (double)simt_random() / 2e9 - 1);
        set(q.residual, i, (double)simt_random() / 2e9 - 1);
    }
    for (i64 i = 0; i < n; i++) {
        set(q.bias, i, (double)simt_random() / 2e9 - 1);
    }
    memset(q.reference, 0xff, (size_t)q.count * 8);
    (void)launch(call_paint, blocks);
    simt_launch(call_reference, blocks, THREADS, 1, SHARED, q.key);
    right = malloc((size_t)q.count * sizeof *right);
    double squares = 0, largest = 0;
    for (i64 i = 0; i < q.count; i++) {
        right[i] = q.reference[i];
        squares += right[i] * right[i];
        largest = fabs(right[i]) > largest ? fabs(right[i]) : largest;
        if (i % (q.count / 500 + 1) == 0 && !(fabs(right[i] - answer(i)) <= 1e-11)) {
            wrong += complain("the reference", i, right[i], answer(i));
        }
    }
    const finding sealed = launch(call_seal, blocks);
    if (sealed.finite != (u64)q.count || sealed.nans != 0 || sealed.worst != largest) {
        wrong += complain("sealing", 0, sealed.worst, largest);
    }
    for (i64 i = 0; i < q.count; i++) {
        const u64 masked = ((const u64 *)q.reference)[i];
        if (masked == bits_of(right[i]) || (masked ^ mask_of(q.key, (u64)i)) != bits_of(right[i])) {
            wrong += complain("the mask", i, 0, 0);
        }
        set(q.y, place(i), right[i]);
    }
    q.scale = 2;
    const double found = launch(call_squares, blocks).squares * 4;
    if (fabs(found / squares - 1) > 1e-9) {
        wrong += complain("the squares", 0, found, squares);
    }
    q.relative = ELEMENT == 4 ? 1e-3 : 0.1; /* well above the dtype's rounding */
    q.absolute = q.relative * sqrt(squares / (double)q.count);
    if (launch(call_examine, blocks).hash != sealed.hash) {
        wrong += complain("the hash of the reference", 0, 0, 0);
    }
    wrong += q.count > 300 ? faults(blocks, right) : 0;
    free(right);
    return wrong;
}

int main(void)
{
    int wrong = 0;
    if (IS_PRODUCT) {
        static const int shapes[][4] = {
            {2, 3, 1, 1}, {3, 5, 300, 1}, {64, 64, 16, 1}, {65, 130, 17, 2}, {130, 63, 40, 3}};
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            wrong += run(shapes[i][0], shapes[i][1], shapes[i][2], (unsigned)shapes[i][3]);
        }
    } else {
        static const int shapes[][3] = {
            {1, 2, 1}, {2, 255, 1}, {7, 256, 2}, {2, 1025, 3}, {400, 3, 2}};
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            wrong += run(shapes[i][0], shapes[i][1], 1, (unsigned)shapes[i][2]);
        }
    }
    return wrong == 0 ? 0 : 1;
}
