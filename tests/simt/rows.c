/*
 * rows.c: runs one configuration of a kernel on rows on the CPU, over edge-case shapes, and
 * compares it with the formula in double. SIMT_KERNEL chooses the kernel: 1 softmax, 2 layernorm,
 * 3 rmsnorm, 4 reduce. See tests/simt/simt.h and cases.txt.
 */
#include "simt.h"

#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef STAGES
#define STAGES 0
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef WEIGHT_EARLY
#define WEIGHT_EARLY 0
#endif
#ifndef LAUNCH_EARLY
#define LAUNCH_EARLY 0
#endif

static inline void simt_check_address(const void *p, int width)
{
    simt_access();
    if ((uintptr_t)p % (uintptr_t)width != 0) {
        SIMT_FAIL("a vector at %p", p);
    }
}

/* Macros, because the type of a vector is the template's. */
#define load_global(from)                                                                          \
    ({                                                                                             \
        vector simt_v = {{0}};                                                                     \
        simt_check_address(from, VEC_BYTES);                                                       \
        memcpy(&simt_v, from, VEC_BYTES);                                                          \
        simt_v;                                                                                    \
    })
#define load_cached(from) load_global(from)
#define store_global(to, v)                                                                        \
    do {                                                                                           \
        simt_check_address(to, VEC_BYTES);                                                         \
        memcpy(to, &(v), VEC_BYTES);                                                               \
    } while (0)
#define copy_async(to, from) simt_copy_start(to, from, VEC_BYTES, 0)

/* As the harness does, the texts one after the other. */
#include "../../kernels/softmax/cuda_rows.cu"
#if SIMT_KERNEL == 1
#include "../../kernels/softmax/cuda.cu"
#elif SIMT_KERNEL == 4
#include "../../kernels/reduce/cuda.cu"
#else
#include "../../kernels/layernorm/cuda_norm.cu"
#endif
#ifndef SPLIT
#define SPLIT 1
#endif
#ifndef HAS_WEIGHT
#define HAS_WEIGHT 0
#define HAS_BIAS   0
#endif

static struct problem {
    void *x, *weight, *bias, *y;
    unsigned char workspace[4096];
    int rows, cols;
} q;

static void call_kernel(void)
{
#if SIMT_KERNEL == 1
    ak_kernel(q.x, q.y, q.rows, q.cols);
#elif SIMT_KERNEL == 4
    ak_kernel(q.x, q.y, q.workspace, q.rows, q.cols);
#else
    ak_kernel(q.x, q.weight, q.bias, q.y, q.rows, q.cols, 1e-5f);
#endif
}

static double get(const void *array, size_t i)
{
#if ELEMENT == 4
    return ((const float *)array)[i];
#else
    return simt_from_16(((const uint16_t *)array)[i]);
#endif
}

static void set(void *array, size_t i, double x)
{
#if ELEMENT == 4
    ((float *)array)[i] = (float)x;
#else
    ((uint16_t *)array)[i] = simt_to_16((float)x);
#endif
}

/* One row of the answer. */
static void answer(double *out, int row)
{
    const size_t at = (size_t)row * (size_t)q.cols;
    double sum = 0, squares = 0, max = -INFINITY;
    for (int j = 0; j < q.cols; j++) {
        const double x = get(q.x, at + (size_t)j);
        sum += x;
        max = x > max ? x : max;
    }
    const double mean = SIMT_KERNEL == 2 ? sum / q.cols : 0;
    for (int j = 0; j < q.cols; j++) {
        const double x = get(q.x, at + (size_t)j);
        squares += SIMT_KERNEL == 1 ? exp(x - max) : (x - mean) * (x - mean);
    }
    for (int j = 0; j < q.cols; j++) {
        const double x = get(q.x, at + (size_t)j);
        out[j] = SIMT_KERNEL == 1 ? exp(x - max) / squares
                                  : (x - mean) / sqrt(squares / q.cols + 1e-5) *
                                            (HAS_WEIGHT ? get(q.weight, (size_t)j) : 1) +
                                        (HAS_BIAS ? get(q.bias, (size_t)j) : 0);
    }
    if (SIMT_KERNEL == 4) {
        out[0] = sum;
    }
}

/* special: 1 puts -inf into row 0, 2 fills row 0 with it, 3 puts a NaN there. */
static int run(int rows, int cols, size_t offset, unsigned blocks, int special)
{
    const size_t count = (size_t)rows * (size_t)cols;
    const size_t results = SIMT_KERNEL == 4 ? (size_t)rows : count;
    double *right = malloc((size_t)cols * sizeof *right);
    int wrong = 0;
    q.rows = rows;
    q.cols = cols;
    q.x = simt_buffer(count * ELEMENT, VEC_BYTES, offset * ELEMENT % VEC_BYTES);
    q.weight = simt_buffer((size_t)cols * ELEMENT, 16, offset * ELEMENT % 16);
    q.bias = simt_buffer((size_t)cols * ELEMENT, 16, 0);
    q.y = simt_buffer(results * ELEMENT, VEC_BYTES, offset / 2 * ELEMENT % VEC_BYTES);
    simt.random = count + offset;
    for (size_t i = 0; i < count; i++) {
        set(q.x, i, (double)simt_random() / 1e9 - 1.5);
    }
    for (size_t i = 0; i < (size_t)cols; i++) {
        set(q.weight, i, (double)simt_random() / 4e9 + 0.5);
        set(q.bias, i, (double)simt_random() / 2e9 - 1);
    }
    for (int j = 0; special && j < (special == 2 ? cols : 1); j++) {
        set(q.x, (size_t)(j + cols / 2) % (size_t)cols, special == 3 ? NAN : -INFINITY);
    }

    const int n = THREADS_PER_ROW * CLUSTER;
    const int slots = ((cols + 2 * V - 2) / V + n - 1) / n;
    const int stage = KEEP * VEC_BYTES + 8; /* of a thread: no group has fewer bytes for itself */
    const int rest = STAGES                 ? STAGES * THREADS * stage
                     : REST && slots > KEEP ? (slots - KEEP) * THREADS * VEC_BYTES
                                            : 0;
    const int column = APART * TOGETHER, batches = (rows + column * BATCH - 1) / (column * BATCH);
    const unsigned groups = (unsigned)(batches * column + ROWS - 1) / ROWS * CLUSTER * SPLIT;
    blocks *= TOGETHER > 1 || WEIGHT_EARLY >= 2 ? APART : 1; /* their rows all begin alike */
    memset(q.workspace, 0, sizeof q.workspace);
    for (int again = 0; again < (SPLIT > 1 ? 2 : 1); again++) { /* with the workspace as left */
        memset(q.y, 0xff, results * ELEMENT);                   /* NaN */
        simt_launch(call_kernel, blocks && SPLIT == 1 ? blocks * CLUSTER : groups, THREADS, CLUSTER,
                    SCRATCH_BYTES + STAY_BYTES + rest, (uint64_t)cols);
    }

    const double eps = ELEMENT == 4 ? 2e-6 : simt_from_16(1) < 1e-30f ? 4e-3 : 5e-4;
    for (int i = 0; i < rows; i++) {
        answer(right, i);
        double norm = 0;
        const int n = SIMT_KERNEL == 4 ? 1 : cols;
        for (int j = 0; j < n; j++) {
            norm += right[j] * right[j] / n;
        }
        for (int j = 0; j < n; j++) {
            const double y = get(q.y, (size_t)i * (size_t)n + (size_t)j);
            const double error = fabs(y - right[j]);
            const bool same =
                isnan(right[j]) ? isnan(y) != 0 : error <= eps * (fabs(right[j]) + sqrt(norm));
            if (!same && wrong++ < 3) {
                (void)fprintf(stderr, "%d x %d, offset %zu, special %d: [%d][%d] is %g, not %g\n",
                              rows, cols, offset, special, i, j, y, right[j]);
            }
        }
    }
    free(right);
    return wrong;
}

int main(void)
{
    const int most =
        THREADS_PER_ROW * CLUSTER * V * (KEEP > 0 ? KEEP : 1); /* what the registers hold */
    int wrong = 0;
    simt.early = LAUNCH_EARLY != 0;
    wrong += run(2 * ROWS + 1, most, 0, 0, 0);
#if WHOLE
    wrong += run(ROWS + 1, most, 0, 1, 0);
    wrong += run(7 * ROWS + 3, most, 0, 2, 0);
    for (int special = 1; special <= 3 && SIMT_KERNEL == 1; special++) {
        wrong += run(2, most, 0, 0, special);
    }
    if (WHOLE == 1) {
        wrong += run(3, most + V, 0, 0, 0);
        wrong += run(ROWS + 1, most - V, 0, 1, 0);
        wrong += run(2, 2 * most + V, 0, 0, 0);
        wrong += run(3, V, 0, 2, 0);
    }
    return wrong > 0;
#endif
    wrong += run(3, most + (V > 1), 0, 0, 0);
    wrong += run(ROWS + 1, most - 1, 1, 1, 0); /* one block goes over all rows */
    wrong += run(7 * ROWS + 3, most - 3 > 0 ? most - 3 : 1, 2, 2, 0);
    if (BATCH == 1) { /* else all rows must fit the registers */
        wrong += run(2, 2 * most + 3, 3, 0, 0);
    }
    wrong += run(3, 1, 0, 0, 0);
    wrong += run(5, V + 1, 1, 2, 0);
    wrong += run(2, 33, 5, 1, 0);
    for (int special = 1; special <= 3 && SIMT_KERNEL == 1; special++) {
        wrong += run(2, most + (BATCH == 1 ? 2 : 1), 0, 0, special);
    }
    return wrong > 0;
}
