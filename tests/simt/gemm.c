/* gemm.c: runs one configuration of the matrix product with mma.sync (cuda_sm80.cu), or of that in
   f32 (cuda_f32.cu), on the CPU, over edge-case shapes, and compares it with sums in double. See
   simt.h and cases.txt. */
#include "simt.h"

#define widen                            widen_16
#define copy_async(to, from, width, has) copy_async_16(to, from, width, has)
#define COPY_WAIT(pending)               simt_copy_wait_groups(pending)

/* As the harness does, the texts one after the other. */
#include "../../kernels/matmul_act/cuda_activation.cu"

#include "../../kernels/matmul/cuda_async.cu"

#if dtype_is_f32

typedef float element;
#define load_vector  load_parts
#define store_vector store_parts
#include "../../kernels/matmul/cuda_f32.cu"
#define SHARED_BYTES (num_stages * STAGE_FLOATS * 4)
#define ROUNDING     1e-6

static float value_of(float x)
{
    return x;
}

static float element_of(float x)
{
    return x;
}

#else

typedef uint16_t element;
#include "../../kernels/matmul/cuda_sm80.cu"
#define SHARED_BYTES (RING_BYTES > STAGING_BYTES ? RING_BYTES : STAGING_BYTES)
#define ROUNDING   (simt_from_16(1) < 1e-30f ? 4e-3 : 5e-4)
#define value_of   simt_from_16
#define element_of simt_to_16

#endif

enum { SIZE = (int)sizeof(element) };

static struct problem {
    element *a, *b, *c, *bias, *c_in, *residual;
    unsigned char *workspace;
    int m, n, k, lda, ldb, ldc;
} q;

static void call_kernel(void)
{
    ak_kernel(q.a, q.b, q.c, q.bias, q.c_in, q.residual, q.workspace, q.m, q.n, q.k, q.lda, q.ldb,
              q.ldc, 0.75f, -0.5f);
}

/* rows x cols elements with `pitch` between rows, ending where memory ends; what is between the
   rows is NaN. */
static element *matrix(int rows, int cols, int pitch, int align)
{
    const size_t count = (size_t)(rows - 1) * (size_t)pitch + (size_t)cols;
    element *x = simt_buffer(count * sizeof *x, (size_t)align, 0);
    memset(x, 0xff, count * sizeof *x);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            x[(size_t)i * (size_t)pitch + (size_t)j] =
                element_of((float)((double)simt_random() / 2147483648.0 - 1));
        }
    }
    return x;
}

static int pitch_of(int cols, int copy, int more)
{
    const int unit = copy / (int)sizeof(element);
    return (cols + unit - 1) / unit * unit + more * unit;
}

static double activate(double x)
{
#if activation_is_relu
    return x < 0 ? 0 : x;
#elif activation_is_leaky_relu
    return x < 0 ? 0.01 * x : x;
#elif activation_is_silu
    return x / (1 + exp(-x));
#elif activation_is_gelu_tanh
    return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
#elif activation_is_gelu_erf
    return 0.5 * x * (1 + erf(x * 0.70710678118654752));
#else
    return x;
#endif
}

static int run(int m, int n, int k, int more)
{
    int wrong = 0;
    q.m = m;
    q.n = n;
    q.k = k;
    q.lda = pitch_of(A_LAYOUT ? m : k, COPY_A, more);
    q.ldb = pitch_of(B_LAYOUT ? n : k, COPY_B, more);
    q.ldc = n + more;
    simt.random = (uint64_t)(m * 7919 + n * 31 + k);
    simt.early = LAUNCH_EARLY;
    q.a = matrix(A_LAYOUT ? k : m, A_LAYOUT ? m : k, q.lda, COPY_A);
    q.b = matrix(B_LAYOUT ? k : n, B_LAYOUT ? n : k, q.ldb, COPY_B);
    /* What is not used is not there: reading it would end the test. */
    q.bias = HAS_BIAS ? matrix(1, n, n, SIZE) : NULL;
    q.c_in = HAS_BETA ? matrix(m, n, q.ldc, SIZE) : NULL;
    q.residual = HAS_RESIDUAL ? matrix(m, n, q.ldc, SIZE) : NULL;
    q.c = matrix(m, n, q.ldc, n % 8 == 0 ? 16 : SIZE);
    const int tiles =
        (m + BLOCK_SIZE_M - 1) / BLOCK_SIZE_M * ((n + BLOCK_SIZE_N - 1) / BLOCK_SIZE_N);
    const size_t work = SPLIT_K > 1 ? (size_t)(tiles + 31) / 32 * 128 +
                                          (size_t)tiles * SPLIT_K * BLOCK_SIZE_M * BLOCK_SIZE_N * 4
                                    : 0;
    q.workspace = simt_buffer(work, 128, 0);
    memset(q.workspace, 0, work);
    for (int again = 0; again < (SPLIT_K > 1 ? 2 : 1); again++) { /* with the workspace as left */
        for (int i = 0; i < m; i++) {
            memset(q.c + (size_t)i * (size_t)q.ldc, 0xff, (size_t)n * SIZE); /* NaN */
        }
        simt_launch(call_kernel, (unsigned)(tiles * SPLIT_K), THREADS, 1, SHARED_BYTES,
                    (uint64_t)k);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0, size = 1;
            for (int p = 0; p < k; p++) {
                const double x = value_of(q.a[A_LAYOUT ? p * q.lda + i : i * q.lda + p]);
                const double y = value_of(q.b[B_LAYOUT ? p * q.ldb + j : j * q.ldb + p]);
                sum += x * y;
                size += fabs(x * y);
            }
            sum *= HAS_ALPHA ? 0.75 : 1;
            sum -= HAS_BETA ? 0.5 * value_of(q.c_in[i * q.ldc + j]) : 0;
            sum += HAS_BIAS ? value_of(q.bias[j]) : 0;
            sum = activate(sum) + (HAS_RESIDUAL ? value_of(q.residual[i * q.ldc + j]) : 0);
            const double got = value_of(q.c[(size_t)i * (size_t)q.ldc + (size_t)j]);
            const double rounding = ROUNDING;
            if (!(fabs(got - sum) <= rounding * fabs(sum) + 1e-6 * size) && wrong++ < 3) {
                (void)fprintf(stderr, "%d x %d x %d, pitch + %d: [%d][%d] is %g, not %g\n", m, n, k,
                              more, i, j, got, sum);
            }
        }
    }
    for (int i = 0; i + 1 < m; i++) { /* between the rows: still what matrix() left there */
        for (int j = n; j < q.ldc; j++) {
            if (memcmp(&q.c[(size_t)i * (size_t)q.ldc + (size_t)j], "\xff\xff\xff\xff", SIZE) !=
                    0 &&
                wrong++ < 3) {
                (void)fprintf(stderr, "%d x %d x %d: it writes behind row %d\n", m, n, k, i);
            }
        }
    }
    return wrong;
}

int main(void)
{
    int wrong = 0;
    wrong += run(BLOCK_SIZE_M, BLOCK_SIZE_N, 3 * BLOCK_SIZE_K, 0);
    wrong += run(BLOCK_SIZE_M + 1, BLOCK_SIZE_N + 8, BLOCK_SIZE_K * num_stages + 1, 1);
    wrong += run(5, 2 * BLOCK_SIZE_N - 1, 7, 3);
    wrong += run(1, 1, 1, 0);
    wrong += run(1, BLOCK_SIZE_N + 3, BLOCK_SIZE_K + 5, 2);
    wrong += run(BLOCK_SIZE_M + 3, BLOCK_SIZE_N + 1, 1, 1);
    wrong += run(2 * BLOCK_SIZE_M + 3, 3, 2 * BLOCK_SIZE_K - 2, 0);
    if (simt_conflicts > 0) {
        (void)fprintf(stderr, "%ld conflicts of banks\n", simt_conflicts);
        wrong++;
    }
    return wrong > 0;
}
