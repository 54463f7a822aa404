/* split.c: runs the kernel that writes f32 matrices as sums of TERMS bf16 numbers (cuda_split.cu)
   on the CPU, and compares each sum with its element; elements that are not finite, too large for
   bf16 or very small are among them. See simt.h and cases.txt. */
#include "simt.h"

#define SPLIT_KERNEL           KERNEL
#define u32                    uint32_t
#define unpack                 simt_from_16
#define let_next_kernel_start  launch_next
#define wait_for_kernel_before launch_wait
#include "../../kernels/matmul/cuda_split.cu"

enum { BLOCKS = 3, SPECIALS = 12 };

static struct problem {
    float *a, *b;
    unsigned char *workspace;
    long long place_b;
    int rows[2], columns[2], ld[2];
} q;

static void call_kernel(void)
{
    ak_split(q.a, q.b, q.workspace, 0, q.place_b, q.rows[0], q.columns[0], q.ld[0], q.rows[1],
             q.columns[1], q.ld[1]);
}

/* Draws an element with any exponent of a normal number, or one of those that are special. */
static float draw(void)
{
    static const uint32_t special[SPECIALS] = {
        0,           0x80000000u, 0x7f800000u, 0xff800000u,
        0x7fc00000u, 0x7f800001u,                           /* 0, infinite, NaN */
        0x7f7fffffu, 0xff7fffffu, 0x7f7f8000u, 0x7f7f7fffu, /* the largest; around bf16's largest */
        0x00000001u, 0x007fffffu};
    const uint32_t bits = (uint32_t)simt_random();
    const uint32_t which = (uint32_t)simt_random() % 4096;
    const uint32_t exponent = 1 + (bits >> 23 & 255) % 254;
    return __uint_as_float(which < SPECIALS ? special[which]
                                            : (bits & 0x807fffffu) | exponent << 23);
}

/* rows x columns elements, `ld` apart, whose memory ends where they end. */
static float *matrix(int rows, int columns, int ld)
{
    const size_t count = (size_t)(rows - 1) * (size_t)ld + (size_t)columns;
    float *x = simt_buffer(count * sizeof *x, count % 4 == 0 ? 16 : 4, 0);
    for (size_t i = 0; i < count; i++) {
        x[i] = draw();
    }
    return x;
}

static int rounded(int size)
{
    return (size + 63) / 64 * 64;
}

/* Returns term t of an element, as cuda_sm90_split.json has the terms in memory. */
static float term(const uint16_t *terms, int layout, int rows, int columns, int row, int column,
                  int t)
{
    const size_t at =
        layout ? ((size_t)row * TERMS + (size_t)t) * (size_t)rounded(columns)
               : ((size_t)rounded(rows) * (size_t)t + (size_t)row) * (size_t)rounded(columns);
    return simt_from_16(terms[at + (size_t)column]);
}

/* What the terms leave out of an element at most: bf16 has 8 bits, each term is rounded, and the
   smallest numbers of bf16 are 2^-133 apart. */
static double left_out(float x)
{
    return (TERMS == 3 ? 0 : ldexp(fabs((double)x), -17)) + ldexp(1, -134);
}

static bool is_right(const float *terms, float x)
{
    const bool finite = fabsf(x) <= 3.402823466e38f;
    double sum = 0;
    for (int t = 0; t < TERMS; t++) {
        sum += finite ? terms[t] : 0;
    }
    if (!finite) { /* (1, 0, x): nothing but the last term makes products infinite or NaN */
        const float last = terms[TERMS - 1];
        return fabsf(terms[0]) == 1 && (TERMS == 2 || terms[1] == 0) &&
               (x != x ? last != last : last == x && terms[0] * x > 0);
    }
    return fabs(sum - x) <= left_out(x);
}

static int compare(const float *x, const uint16_t *terms, int layout, int i)
{
    int wrong = 0;
    for (int row = 0; row < q.rows[i]; row++) {
        for (int column = 0; column < q.columns[i]; column++) {
            const float want = x[(size_t)row * (size_t)q.ld[i] + (size_t)column];
            float got[TERMS];
            for (int t = 0; t < TERMS; t++) {
                got[t] = term(terms, layout, q.rows[i], q.columns[i], row, column, t);
            }
            if (!is_right(got, want) && wrong++ < 3) {
                (void)fprintf(stderr, "matrix %d, [%d][%d]: %g is %g + %g ...\n", i, row, column,
                              (double)want, (double)got[0], (double)got[1]);
            }
        }
    }
    return wrong;
}

/* A row of odd length ends with a zero, because pairs are copied. */
static int behind_rows(const uint16_t *terms, int layout, int i)
{
    int wrong = 0;
    for (int row = 0; row < q.rows[i] && q.columns[i] % 2 != 0; row++) {
        for (int t = 0; t < TERMS; t++) {
            wrong += term(terms, layout, q.rows[i], q.columns[i], row, q.columns[i], t) != 0;
        }
    }
    if (wrong > 0) {
        (void)fprintf(stderr, "matrix %d: %d rows do not end with a zero\n", i, wrong);
    }
    return wrong;
}

static int run(int m, int n, int k, int pad)
{
    const size_t bytes[2] = {(size_t)TERMS * (size_t)rounded(m) * (size_t)rounded(k) * 2,
                             (size_t)TERMS * (size_t)rounded(n) * (size_t)rounded(k) * 2};
    q.rows[0] = A_LAYOUT ? k : m;
    q.columns[0] = A_LAYOUT ? m : k;
    q.rows[1] = B_LAYOUT ? k : n;
    q.columns[1] = B_LAYOUT ? n : k;
    q.ld[0] = q.columns[0] + pad;
    q.ld[1] = q.columns[1] + pad;
    simt.random = (uint64_t)(m * 7919 + n * 31 + k);
    q.a = matrix(q.rows[0], q.columns[0], q.ld[0]);
    q.b = matrix(q.rows[1], q.columns[1], q.ld[1]);
    q.workspace = simt_buffer(bytes[0] + bytes[1], 128, 0);
    q.place_b = (long long)bytes[0];
    memset(q.workspace, 0x55, bytes[0] + bytes[1]);
    simt_launch(call_kernel, BLOCKS, 256, 1, 0, (uint64_t)k);
    const uint16_t *a = (const uint16_t *)q.workspace;
    const uint16_t *b = (const uint16_t *)(q.workspace + bytes[0]);
    return compare(q.a, a, A_LAYOUT, 0) + compare(q.b, b, B_LAYOUT, 1) +
           behind_rows(a, A_LAYOUT, 0) + behind_rows(b, B_LAYOUT, 1);
}

int main(void)
{
    int wrong = 0;
    wrong += run(64, 128, 192, 0);
    wrong += run(5, 33, 1027, 0);
    wrong += run(1, 1, 1, 0);
    wrong += run(70, 9, 516, 4);
    wrong += run(130, 1030, 3, 1);
    return wrong > 0;
}
