/*
 * fake_cuda.c: a CUDA driver, NVRTC, cuBLASLt, cuDNN and NVML that need no GPU, for the tests: one
 * shared library that AUTOKERNEL_LIBCUDA, AUTOKERNEL_LIBNVRTC, AUTOKERNEL_LIBCUBLASLT,
 * AUTOKERNEL_LIBCUDNN and AUTOKERNEL_LIBNVML all name. Made from the same .def files as the
 * program, so that a function whose declaration changes there does not compile here.
 *
 *   device    what an H200 says of itself, but with a level 2 cache of 64 KiB so that two copies of
 *             the arguments are enough; its memory is ordinary memory
 *   compiler  "compiles" by keeping the options; a source with #error in it is refused
 *   launches  are recognised by their entry and options, and done at once on the CPU: the GEMM
 *             template, the elementwise pass, the rate loop; the referee's kernels (for matmul in
 *             bf16) are the real ones, on the emulator of tests/simt
 *   time      a clock that only launches and copies move, so that results do not depend on the
 *             machine; a configuration's speed is a fixed function of its options
 *
 * FAKE_CUDA in the environment injects faults: words "FAULT" or "FAULT@NAME=VALUE" (only for code
 * compiled with -DNAME=VALUE), separated by blanks:
 *
 *   no_device old_driver no_memory | spill (40 bytes) spill_few (24)
 *   stack (48 bytes of each thread) serialised
 *   compile_error | launch_error illegal_address
 *   die (the process, as a library may) late (illegal_address, after so many runs that checks pass)
 *   hang wrong overrun lazy (does nothing but in every second run) no_cluster
 *   mixed (the second device is of another model) alone (there is no second one)
 *   lt_pairs (cuBLASLt's products are two kernels, the second begun early)
 *   address print (does nothing where it has been; where it has seen these numbers)
 *   early (does not wait for the kernel before it)
 *   rows (moves its results where it knows all rows, in a tenth of the time)
 *   stranger (does nothing for contents that the harness has no result of)
 *   keeps (the bias that it read from the module's variable first, until the host writes memory)
 *   no_edges (a graph does not tell what its nodes wait for)
 *   lost_if:FILE (an illegal address, once the file exists, which is then removed)
 *   full_if:FILE (no memory is left while the file exists)
 *   no_binary (the code is for another architecture) other_code (the compiler makes other code)
 *   cool (nothing holds the clock down; else it is the power limit) no_energy
 *   inexact (some of cuBLASLt's algorithms round partial sums, its first and its fastest five among
 *   them) all_inexact
 *
 * and, where B has more than LARGE elements only: large_wrong, large_overrun, large_idle (does
 * nothing), large_input (changes A), large_past (copies what lies behind A behind C), large_gap and
 * large_gap_copy (writes between the rows of C: what outputs are poisoned with, and what lies
 * between those of A), large_scribble (writes into all other memory of the device).
 * small_bad_reference and large_bad_reference spoil one element of what ak_reference computes: the
 * first where B is not large, the last where it is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/cuda/cuda_api.h"
#include "backend/launch/mixed.h"
#include "problem/problem.h"
#include "fake_referee.h"
#include "zones.h"

#define EXPORT                       __attribute__((visibility("default")))
#define X(member, symbol, arguments) EXPORT int cuda_##member arguments __asm__(symbol);
#include "backend/cuda/cuda_driver.def"
#undef X
#define X(member, symbol, arguments) EXPORT int nvrtc_##member arguments __asm__(symbol);
#include "backend/cuda/cuda_nvrtc.def"
#undef X
#define X(member, symbol, arguments) EXPORT int lt_##member arguments __asm__(symbol);
#include "backend/cuda/cuda_cublaslt.def"
#undef X
#define X(member, symbol, arguments) EXPORT int dnn_##member arguments __asm__(symbol);
#include "backend/cuda/cuda_cudnn.def"
#undef X
#define X(member, symbol, arguments) EXPORT int nvml_##member arguments __asm__(symbol);
#include "backend/cuda/cuda_nvml.def"
#undef X
EXPORT size_t cublasLtGetVersion(void);
EXPORT size_t cudnnGetVersion(void);

enum {
    BAD_VALUE = 1,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    ALLOCATIONS_MAX = 64,
    NODES_MAX = 4096,
    ARGUMENTS_MAX = 16,
    DEVICES = 4,
    SMS = 132,
    TYPE_F16 = 6, /* else bf16 */
    LARGE = 500000,
    LATE_RUNS = 12
};
#define MAGIC      "FAKE CUBIN\n"
#define MIX        "ak_mix_"
#define LATE       "ak_copy_late"
#define L2_BYTES   (64 << 10)
#define MEMORY_MAX ((size_t)1 << 32)
#define SHARED_MAX 232448
#define COPIED_MAX ((size_t)1 << 28)
#define COPY_RATE  4.2e3   /* bytes per ns: 4200 GB/s */
#define LAUNCH_NS  50000.0 /* slow, so that few launches make a batch */

/* ---- faults and options ---------------------------------------------------------------------- */

/* Is the fault asked for, for code with these options (NULL: for none in particular)? */
static int fault(const char *name, const char *options)
{
    const char *all = getenv("FAKE_CUDA");
    size_t length = strlen(name);
    for (const char *at = all; at != NULL && *at != 0;) {
        size_t word = strcspn(at, " ");
        if (word >= length && strncmp(at, name, length) == 0) {
            char wanted[160];
            if (word == length) {
                return 1;
            }
            if (at[length] == '@' && options != NULL) {
                snprintf(wanted, sizeof wanted, "-D%.*s\n", (int)(word - length - 1),
                         at + length + 1);
                if (strstr(options, wanted) != NULL) {
                    return 1;
                }
            }
        }
        at += word + strspn(at + word, " ");
    }
    return 0;
}

/* Is there a file of the name that a word "FAULT:FILE" has? With `once`, it is removed, so that
   this happens once. */
static int fault_file(const char *name, int once)
{
    const char *all = getenv("FAKE_CUDA"), *at = all == NULL ? NULL : strstr(all, name);
    char path[1024];
    if (at == NULL || at[strlen(name)] != ':') {
        return 0;
    }
    at += strlen(name) + 1;
    snprintf(path, sizeof path, "%.*s", (int)strcspn(at, " "), at);
    return once ? unlink(path) == 0 : access(path, F_OK) == 0;
}

static long option(const char *options, const char *name, long fallback)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, "-D%s=", name);
    const char *at = strstr(options, wanted);
    return at == NULL ? fallback : strtol(at + strlen(wanted), NULL, 10);
}

/* ---- state ----------------------------------------------------------------------------------- */

static struct {
    char *memory;
    size_t bytes;
    int file; /* another process can have the same */
} allocations[ALLOCATIONS_MAX];
static double now_ns;
static int poisoned; /* sticky error, or NOT_READY for ever */

typedef struct module {
    char *options;
    ak_cuda_address bias; /* BIAS_SYMBOL bytes: the variable from which the bias is read, or 0 */
    uint16_t *kept;       /* as many bytes: what it held when it was kept, or NULL */
    unsigned long long kept_at;
} module;

typedef struct function {
    module *module;
    char name[64];
    unsigned runs;
} function;

typedef struct fake_map { /* what a tensor map holds here */
    uint64_t address;
    uint64_t size[2], stride;
    uint32_t box[2];
    int type;
} fake_map;

/* Row-major C[m,n] = act(alpha * A[m,k] * B[k,n] + beta * C_in + bias) + residual. */
typedef struct product {
    uint16_t *c;
    const uint16_t *a, *b, *bias, *c_in, *residual; /* the last three may be NULL */
    int m, n, k;
    size_t lda, ldb, ldc;
    bool a_transposed, b_transposed;
    float alpha, beta;
    int type;
    bool rounds_parts; /* the sum over each half of k is rounded before they are added */
    const char *options;
} product;

typedef struct node {
    function *f;
    ak_cuda_launch_config config;
    unsigned char values[ARGUMENTS_MAX][128];
    /* or, with f NULL: */
    int kind; /* 1 copy, 2 fill, 3 library product, 4 library softmax of m rows of n */
    void *to;
    const void *from;
    size_t bytes;
    int value;
    int m, n, type;
    product q;  /* of the library */
    bool early; /* may begin before the one before has ended */
    double ns;
} node;

typedef struct graph {
    node *nodes;
    size_t count;
    unsigned long long done; /* the epoch in which it was run */
} graph;
static unsigned long long epoch = 1; /* of what is in memory: copies and other launches end one */
static unsigned long long uploads;   /* how often the host has written memory */
static graph *capturing;

static int inside(const void *p, size_t bytes)
{
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        const char *memory = allocations[i].memory;
        if (memory != NULL && (const char *)p >= memory &&
            (const char *)p + bytes <= memory + allocations[i].bytes) {
            return 1;
        }
    }
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static float widen(uint16_t x, int type)
{
    if (type != TYPE_F16) {
        uint32_t bits = (uint32_t)x << 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    int exponent = x >> 10 & 31, fraction = x & 1023;
    float f = exponent == 31  ? (fraction ? NAN : INFINITY)
              : exponent == 0 ? ldexpf((float)fraction, -24)
                              : ldexpf((float)(fraction + 1024), exponent - 25);
    return x >> 15 ? -f : f;
}

static uint16_t narrow(float f, int type)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (type != TYPE_F16) {
        return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    float x = fabsf(f);
    if (!(x < 65520.0f)) {
        return (uint16_t)(sign | 0x7c00);
    }
    int exponent = 0;
    (void)frexpf(x, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    float scaled = ldexpf(x, 11 - exponent); /* 1024..2048 if normal */
    uint32_t rounded = (uint32_t)nearbyintf(scaled);
    if (rounded == 0) {
        return sign;
    }
    if (rounded >= 2048) {
        rounded /= 2;
        exponent++;
    }
    return (uint16_t)(sign |
                      (rounded < 1024 ? rounded
                                      : ((uint32_t)(exponent + 14) << 10 | (rounded & 1023))));
}

typedef enum activation { NONE, RELU, LEAKY_RELU, GELU_TANH, GELU_ERF, SILU } activation;

static activation activation_of(const char *options)
{
    static const char *const names[] = {"activation_is_relu", "activation_is_leaky_relu",
                                        "activation_is_gelu_tanh", "activation_is_gelu_erf",
                                        "activation_is_silu"};
    for (int i = 0; i < 5; i++) {
        if (option(options, names[i], 0)) {
            return (activation)(RELU + i);
        }
    }
    return NONE;
}

static double activate(double x, activation how)
{
    switch (how) {
    case RELU:
        return x > 0 ? x : 0;
    case LEAKY_RELU:
        return x > 0 ? x : 0.01 * x;
    case GELU_TANH:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case GELU_ERF:
        return 0.5 * x * (1 + erf(x * 0.7071067811865476));
    case SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* Of a part of a sum: rounded once, and with less than the type has, so that every tolerance sees
   it. */
static float coarse(float part, int type)
{
    return widen((uint16_t)(narrow(part, type) & 0xfff8), type);
}

#define NOT_INSTRUMENTED __attribute__((no_sanitize("address", "undefined", "thread")))

/* Instrumented, it would be half of a test's time. Nothing here changes through a pointer to
   something else, and saying so lets the compiler use vectors: products on large tiles were most of
   what the tests of CUDA computed. The order of each sum is the same. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

VECTORS NOT_INSTRUMENTED static void add_row(float *restrict row, const float *restrict b, float x,
                                             size_t count)
{
    for (size_t j = 0; j < count; j++) {
        row[j] += x * b[j];
    }
}

NOT_INSTRUMENTED static void multiply(const product *q)
{
    const size_t m = (size_t)q->m, n = (size_t)q->n, k = (size_t)q->k;
    float *wide = malloc(sizeof *wide * k * n);
    float *row = malloc(sizeof *row * n);
    float *half = calloc(n, sizeof *half);
    const activation how = activation_of(q->options);
    for (size_t p = 0; p < k; p++) {
        for (size_t j = 0; j < n; j++) {
            wide[p * n + j] =
                widen(q->b[q->b_transposed ? j * q->ldb + p : p * q->ldb + j], q->type);
        }
    }
    for (size_t i = 0; i < m; i++) {
        memset(row, 0, sizeof *row * n);
        for (size_t p = 0; p < k; p++) {
            const float x = widen(q->a[q->a_transposed ? p * q->lda + i : i * q->lda + p], q->type);
            add_row(row, wide + p * n, x, n);
            for (size_t j = 0; q->rounds_parts && p + 1 == k / 2 && j < n; j++) {
                half[j] = coarse(row[j], q->type);
                row[j] = 0;
            }
        }
        for (size_t j = 0; j < n; j++) {
            const size_t at = i * q->ldc + j;
            const float sum = q->rounds_parts ? coarse(row[j], q->type) : row[j];
            double x = (double)q->alpha * (double)(half[j] + sum);
            x += q->c_in == NULL ? 0.0 : (double)(q->beta * widen(q->c_in[at], q->type));
            x += q->bias == NULL ? 0.0 : (double)widen(q->bias[j], q->type);
            x = activate(x, how);
            x += q->residual == NULL ? 0.0 : (double)widen(q->residual[at], q->type);
            q->c[at] = narrow((float)x, q->type);
        }
    }
    free(wide);
    free(row);
    free(half);
}

static void softmax(uint16_t *y, const uint16_t *x, int rows, int columns, int type)
{
    for (int i = 0; i < rows; i++, x += columns, y += columns) {
        double most = -INFINITY, sum = 0;
        for (int j = 0; j < columns; j++) {
            most = fmax(most, (double)widen(x[j], type));
        }
        for (int j = 0; j < columns; j++) {
            sum += exp((double)widen(x[j], type) - most);
        }
        for (int j = 0; j < columns; j++) {
            y[j] = narrow((float)(exp((double)widen(x[j], type) - most) / sum), type);
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static int argument_int(const node *w, int i)
{
    int value;
    memcpy(&value, w->values[i], sizeof value);
    return value;
}

static uint64_t argument_address(const node *w, int i)
{
    uint64_t value;
    memcpy(&value, w->values[i], sizeof value);
    return value;
}

/* Changes a bit in the middle of all allocations but the one with c. */
static void scribble(const void *c)
{
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        char *memory = allocations[i].memory;
        const char *end = memory == NULL ? NULL : memory + allocations[i].bytes;
        if (memory != NULL && ((const char *)c < memory || (const char *)c >= end)) {
            memory[allocations[i].bytes / 2] ^= 1;
        }
    }
}

/* Returns the bias that the module's variable held when the host last wrote memory. */
static const uint16_t *kept_bias(module *m)
{
    const size_t bytes = (size_t)option(m->options, "BIAS_SYMBOL", 0);
    if (m->kept == NULL || m->kept_at != uploads) {
        m->kept = realloc(m->kept, bytes);
        memcpy(m->kept, (const void *)(uintptr_t)m->bias, bytes);
        m->kept_at = uploads;
    }
    return m->kept;
}

static unsigned late_runs; /* of this process */

static int run_gemm(const node *w)
{
    const char *options = w->f->module->options;
    fake_map a, b;
    memcpy(&a, w->values[0], sizeof a);
    memcpy(&b, w->values[1], sizeof b);
    const bool sized = strcmp(w->f->name, "ak_kernel_sized") == 0;
    int m = argument_int(w, 8), n = argument_int(w, 9), k = argument_int(w, 10);
    const int ldc = argument_int(w, 11);
    const bool a_along_k = option(options, "A_LAYOUT", 0) == 0;
    const bool b_along_k = option(options, "B_LAYOUT", 1) == 0;
    uint16_t *c = (uint16_t *)(uintptr_t)argument_address(w, 3);
    const uint16_t *bias =
        option(options, "bias_is_add", 0)
            ? (const uint16_t *)(uintptr_t)(w->f->module->bias != 0 ? w->f->module->bias
                                                                    : argument_address(w, 4))
            : NULL;
    if (bias != NULL && w->f->module->bias != 0 && fault("keeps", options)) {
        bias = kept_bias(w->f->module);
    }
    const size_t bytes = ((size_t)(m - 1) * (size_t)ldc + (size_t)n) * 2;
    if (!inside(c, bytes) || a.size[a_along_k ? 0 : 1] != (uint64_t)k ||
        a.size[a_along_k ? 1 : 0] != (uint64_t)m || b.size[b_along_k ? 1 : 0] != (uint64_t)n ||
        b.size[b_along_k ? 0 : 1] != (uint64_t)k || ldc < n ||
        (long)b.box[1] > option(options, b_along_k ? "BLOCK_SIZE_N" : "BLOCK_SIZE_K", 0)) {
        return ILLEGAL_ADDRESS;
    }
    if (sized && (m != option(options, "SIZE_M", 0) || n != option(options, "SIZE_N", 0) ||
                  k != option(options, "SIZE_K", 0))) {
        return ILLEGAL_ADDRESS; /* what was compiled for other sizes */
    }
    product q = {.c = c,
                 .a = (const uint16_t *)(uintptr_t)a.address,
                 .b = (const uint16_t *)(uintptr_t)b.address,
                 .bias = bias,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = (size_t)a.stride / 2,
                 .ldb = (size_t)b.stride / 2,
                 .ldc = (size_t)ldc,
                 .a_transposed = !a_along_k,
                 .b_transposed = b_along_k,
                 .type = a.type,
                 .options = options};
    memcpy(&q.alpha, w->values[12], sizeof q.alpha);
    memcpy(&q.beta, w->values[13], sizeof q.beta);
    if (option(options, "HAS_BETA", 0)) {
        q.c_in = (const uint16_t *)(uintptr_t)argument_address(w, 5);
    }
    if (option(options, "residual_is_add", 0)) {
        q.residual = (const uint16_t *)(uintptr_t)argument_address(w, 6);
    }
    if (fault("die", options)) {
        abort();
    }
    if (fault("illegal_address", options) || (fault("late", options) && ++late_runs > LATE_RUNS)) {
        return ILLEGAL_ADDRESS;
    }
    if (fault_file("lost_if", 1)) {
        return ILLEGAL_ADDRESS;
    }
    if (fault("hang", options)) {
        return NOT_READY;
    }
    if (fault("lazy", options) && w->f->runs++ % 2 == 1) {
        return 0;
    }
    const int large = n * k > LARGE;
    if (large && fault("large_idle", options)) {
        return 0;
    }
    multiply(&q);
    if (fault("wrong", options) || (large && fault("large_wrong", options))) {
        c[(size_t)m * (size_t)n / 2] ^= 0x0100;
    }
    if (fault("overrun", options) || (large && fault("large_overrun", options))) {
        c[(size_t)m * (size_t)n] = 0;
    }
    if (large && fault("large_past", options)) {
        memcpy(c + (size_t)(m - 1) * q.ldc + (size_t)n, q.a + (size_t)(m - 1) * q.lda + (size_t)k,
               8);
    }
    if (large && fault("large_gap", options)) {
        c[n] = 0x7F91;
    }
    if (large && fault("large_gap_copy", options)) {
        memcpy(c + n, q.a + k, 8);
    }
    if (large && fault("large_input", options)) {
        ((uint16_t *)(uintptr_t)a.address)[1] ^= 1;
    }
    if (large && fault("large_scribble", options)) {
        scribble(c);
    }
    return 0;
}

static bool is_gemm(const char *name);

static int run_pass(const node *w)
{
    const char *options = w->f->module->options;
    uint16_t *c = (uint16_t *)(uintptr_t)argument_address(w, 0);
    const uint16_t *bias = (const uint16_t *)(uintptr_t)argument_address(w, 1);
    const uint16_t *residual = (const uint16_t *)(uintptr_t)argument_address(w, 2);
    int rows = argument_int(w, 3), unit = option(options, "FLAT", 0) ? 1 : 8;
    int columns = unit * argument_int(w, 4), pitch = unit * argument_int(w, 5);
    int type = option(options, "dtype_is_f16", 0) ? TYPE_F16 : 0;
    const bool biased = option(options, "bias_is_add", 0);
    const bool added = option(options, "residual_is_add", 0);
    const activation how = activation_of(options);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            const size_t place = (size_t)i * (size_t)pitch + (size_t)j;
            uint16_t *at = c + place;
            double x = (double)widen(*at, type) + (biased ? (double)widen(bias[j], type) : 0.0);
            x = activate(x, how);
            x += added ? (double)widen(residual[place], type) : 0.0;
            *at = narrow((float)x, type);
        }
    }
    return 0;
}

/* X, Y, Z, workspace, rows, columns, pitch, workspace_bytes: see zones.h. */
static int run_zones(const node *w)
{
    const char *options = w->f->module->options;
    zones_call c = {.x = (void *)(uintptr_t)argument_address(w, 0),
                    .y = (void *)(uintptr_t)argument_address(w, 1),
                    .z = (void *)(uintptr_t)argument_address(w, 2),
                    .workspace = (void *)(uintptr_t)argument_address(w, 3),
                    .rows = (int64_t)argument_address(w, 4),
                    .cols = (int64_t)argument_address(w, 5),
                    .pitch = (int64_t)argument_address(w, 6),
                    .workspace_bytes = (int64_t)argument_address(w, 7),
                    .write = (int)option(options, "WRITE", 0),
                    .in_place = (int)option(options, "IN_PLACE", 0),
                    .bytes = (int)option(options, "BYTES", 0),
                    .is_f32 = (int)option(options, "IS_F32", 0),
                    .is_f64 = (int)option(options, "IS_F64", 0),
                    .is_i32 = (int)option(options, "IS_I32", 0)};
    zones_run(&c);
    return 0;
}

static uint64_t cleared; /* how often memory was set */

static void run(node *w)
{
    int code = 0;
    if (poisoned) {
        return;
    }
    if (w->f != NULL) {
        code = strcmp(w->f->name, "ak_bias_activation") == 0 ? run_pass(w)
               : strcmp(w->f->name, "ak_rate") == 0          ? 0
               : strcmp(w->f->name, "zones_kernel") == 0     ? run_zones(w)
                                                             : run_gemm(w);
    } else if (w->kind == 1) {
        code = inside(w->to, w->bytes) && inside(w->from, w->bytes) ? 0 : ILLEGAL_ADDRESS;
        if (code == 0 && w->bytes < COPIED_MAX) { /* larger ones are only timed */
            memmove(w->to, w->from, w->bytes);
        }
    } else if (w->kind == 2) {
        cleared++; /* the workspace, before each batch */
        code = inside(w->to, w->bytes) ? 0 : ILLEGAL_ADDRESS;
        if (code == 0) {
            memset(w->to, w->value, w->bytes);
        }
    } else if (w->kind == 4) {
        softmax(w->to, w->from, w->m, w->n, w->type);
    } else {
        multiply(&w->q);
    }
    poisoned = code;
}

/* `stranger`: a kernel that knows the contents which the harness has a result of does nothing for
   all others, neither in a batch nor when it is timed on contents that it has not seen. It tells
   them by 4 numbers of A: its second run has them, after one on other contents. Returns whether it
   does nothing here. */
static int is_stranger(uint64_t key)
{
    static uint64_t first, own;
    first = first == 0 ? key : first;
    own = own == 0 && key != first ? key : own;
    return own != 0 && key != own;
}

/* Does a kernel with this fault think that it has done its work here? `print`: at this address, for
   four numbers of A, and then it takes a tenth of the time; `address`: at this address. */
static int remembers(const node *w)
{
    static struct {
        uint64_t c, print;
    } known[256];
    static size_t count;
    const char *options = w->f == NULL ? "" : w->f->module->options;
    int print = fault("print", options), stranger = fault("stranger", options);
    if (w->f == NULL || !is_gemm(w->f->name) ||
        (!print && !stranger && !fault("address", options))) {
        return 0;
    }
    fake_map a;
    uint64_t key = 0, c = argument_address(w, 3);
    memcpy(&a, w->values[0], sizeof a);
    memcpy(&key, (const void *)(uintptr_t)a.address, sizeof key);
    if (stranger) {
        return is_stranger(key);
    }
    for (size_t i = 0; i < count; i++) {
        if (known[i].c == c) {
            int same = !print || known[i].print == key;
            known[i].print = key;
            return same;
        }
    }
    if (count < sizeof known / sizeof known[0]) {
        known[count].c = c;
        known[count++].print = key;
    }
    return 0;
}

/* `rows`: a kernel that keeps the results of a batch and, in a table, the heads of its rows of A
   and of B [N,K], and where it knows all of them moves results in the place of computing them. Its
   memory is the workspace, which each batch clears. */
static int knows_rows(const node *w)
{
    enum { BITS = 14, HEADS = 1 << BITS };
    static uint64_t heads[HEADS], since;
    const char *options = w->f == NULL ? "" : w->f->module->options;
    int known = 1;
    if (w->f == NULL || !is_gemm(w->f->name) || !fault("rows", options)) {
        return 0;
    }
    if (since != cleared) {
        memset(heads, 0, sizeof heads);
        since = cleared;
    }
    for (int i = 0; i < 2; i++) {
        fake_map map;
        memcpy(&map, w->values[i], sizeof map);
        for (uint64_t r = 0; r < map.size[1]; r++) {
            uint64_t head;
            memcpy(&head, (const char *)(uintptr_t)map.address + r * map.stride, sizeof head);
            head |= 1;
            size_t at = (size_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BITS)), looks = 0;
            while (heads[at] != 0 && heads[at] != head && ++looks < HEADS) {
                at = (at + 1) % HEADS;
            }
            known = known && heads[at] == head;
            heads[at] = head;
        }
    }
    return known;
}

/* How long it takes: what the configuration's tile reads, and something of its own. */
static double duration(const node *w)
{
    if (w->f == NULL) {
        return w->ns;
    }
    const char *options = w->f->module->options;
    if (strcmp(w->f->name, "ak_rate") == 0) {
        return 2.0 * 16 * 2 * 64 * 256 * 16 * argument_int(w, 1) * w->config.grid[0] / 9e5;
    }
    if (strcmp(w->f->name, "ak_bias_activation") == 0) {
        return LAUNCH_NS + 32.0 * argument_int(w, 3) * argument_int(w, 4) / COPY_RATE;
    }
    double bm = (double)option(options, "BLOCK_SIZE_M", 64);
    double bn = (double)option(options, "BLOCK_SIZE_N", 64);
    double flops = 2.0 * argument_int(w, 8) * argument_int(w, 9) * argument_int(w, 10);
    double reuse = bm * bn / (bm + bn), stages = (double)option(options, "num_stages", 4);
    return LAUNCH_NS + flops / (80 * reuse / (reuse + 20)) * (1 + 0.2 / stages);
}

/* Runs what is different and lets time pass for all. */
static void run_all(node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int seen = 0;
        for (size_t j = 0; j < i && !seen && nodes[i].f != NULL; j++) {
            seen = nodes[j].f == nodes[i].f &&
                   memcmp(nodes[j].values, nodes[i].values, sizeof nodes[i].values) == 0;
        }
        for (size_t j = 0; j < i && !seen && nodes[i].kind >= 3; j++) {
            seen = nodes[j].kind == nodes[i].kind && nodes[j].to == nodes[i].to;
        }
        const int known = remembers(&nodes[i]);
        if (!seen && !known) {
            run(&nodes[i]);
        }
        now_ns += duration(&nodes[i]) * (known || knows_rows(&nodes[i]) ? 0.1 : 1);
    }
}

static int enqueue(const node *w)
{
    if (capturing != NULL) {
        if (capturing->count == NODES_MAX) {
            return BAD_VALUE;
        }
        capturing->nodes[capturing->count++] = *w;
        return 0;
    }
    node copy = *w;
    epoch++;
    run_all(&copy, 1);
    return 0;
}

/* ---- libcuda --------------------------------------------------------------------------------- */

int cuda_init(unsigned flags)
{
    return flags != 0 ? BAD_VALUE : fault("no_device", NULL) ? NO_DEVICE : 0;
}

int cuda_driver_version(int *version)
{
    *version = 13000;
    return 0;
}

int cuda_error_name(int code, const char **out)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{BAD_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                 {NOT_READY, "CUDA_ERROR_NOT_READY"},
                 {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                 {702, "CUDA_ERROR_LAUNCH_TIMEOUT"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == code) {
            *out = names[i].name;
            return 0;
        }
    }
    return BAD_VALUE;
}

int cuda_error_text(int code, const char **out)
{
    (void)code;
    *out = "said by the fake driver";
    return 0;
}

static int device_total(void)
{
    return fault("alone", NULL) ? 1 : DEVICES;
}

int cuda_device_count(int *count)
{
    *count = device_total();
    return 0;
}

int cuda_device_get(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < device_total() ? 0 : NO_DEVICE;
}

int cuda_device_name(char *out, int bytes, int device)
{
    snprintf(out, (size_t)bytes, "%s",
             device > 0 && fault("mixed", NULL) ? "Fake H100" : "Fake H200");
    return 0;
}

int cuda_device_uuid(unsigned char out[16], int device)
{
    memset(out, device, 16);
    return 0;
}

int cuda_device_memory(size_t *bytes, int device)
{
    (void)device;
    *bytes = MEMORY_MAX;
    return 0;
}

int cuda_device_attribute(int *out, int attribute, int device)
{
    static const int known[][2] = {{16, SMS},  {97, SHARED_MAX}, {81, 233472},  {82, 65536},
                                   {39, 2048}, {38, L2_BYTES},   {37, 6144},    {75, 9},
                                   {76, 0},    {13, 1980000},    {36, 3201000}, {106, 32}};
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i][0] == attribute) {
            *out = known[i][1];
            return 0;
        }
    }
    return BAD_VALUE;
}

int cuda_context_retain(void **context, int device)
{
    *context = (void *)(uintptr_t)(device + 1);
    return 0;
}

int cuda_context_release(int device)
{
    (void)device;
    return 0;
}

int cuda_context_set(void *context)
{
    return context == NULL ? BAD_VALUE : 0;
}

/* What only the runtime of bundles calls: a stack of one context, which a thread may have or not.
 */
static __thread void *current;

EXPORT int cuCtxGetCurrent(void **out);
int cuCtxGetCurrent(void **out)
{
    *out = current;
    return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context)
{
    current = context;
    return context == NULL ? BAD_VALUE : 0;
}

EXPORT int cuCtxPopCurrent_v2(void **out);
int cuCtxPopCurrent_v2(void **out)
{
    *out = current;
    current = NULL;
    return 0;
}

EXPORT int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    return poisoned;
}

EXPORT int cuCtxGetDevice(int *out);
int cuCtxGetDevice(int *out)
{
    *out = (int)(uintptr_t)current - 1;
    return current == NULL ? BAD_VALUE : 0;
}

int cuda_memory_info(size_t *free_bytes, size_t *total)
{
    size_t used = 0;
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        used += allocations[i].memory == NULL ? 0 : allocations[i].bytes;
    }
    *total = MEMORY_MAX;
    *free_bytes = used < MEMORY_MAX ? MEMORY_MAX - used : 0;
    return 0;
}

int cuda_memory_alloc(ak_cuda_address *out, size_t bytes)
{
    if (poisoned > NOT_READY) {
        return poisoned;
    }
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        if (allocations[i].memory == NULL) {
            if (bytes == 0 || fault("no_memory", NULL) || fault_file("full_if", 0)) {
                return NO_MEMORY;
            }
            int file = memfd_create("fake CUDA", MFD_CLOEXEC);
            void *memory = file < 0 || ftruncate(file, (off_t)bytes) != 0
                               ? MAP_FAILED
                               : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (memory == MAP_FAILED) {
                close(file);
                return NO_MEMORY;
            }
            memset(memory, 0xA5, bytes < 4096 ? bytes : 4096);
            allocations[i].memory = memory;
            allocations[i].bytes = bytes;
            allocations[i].file = file;
            *out = (ak_cuda_address)(uintptr_t)memory;
            return 0;
        }
    }
    return NO_MEMORY;
}

int cuda_memory_free(ak_cuda_address address)
{
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        if (allocations[i].memory != NULL && (uintptr_t)allocations[i].memory == address) {
            munmap(allocations[i].memory, allocations[i].bytes);
            close(allocations[i].file);
            allocations[i].memory = NULL;
            return 0;
        }
    }
    return BAD_VALUE;
}

/* A handle is where the other process finds the file. */
int cuda_ipc_handle(void *handle, ak_cuda_address address)
{
    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        if (allocations[i].memory != NULL && (uintptr_t)allocations[i].memory == address) {
            snprintf(handle, 64, "/proc/%d/fd/%d", (int)getpid(), allocations[i].file);
            return 0;
        }
    }
    return BAD_VALUE;
}

/* Called by torch_worker.py in that process. */
typedef struct ipc_handle {
    char path[64];
} ipc_handle;
EXPORT int cuIpcOpenMemHandle_v2(ak_cuda_address *out, ipc_handle handle, unsigned flags);
int cuIpcOpenMemHandle_v2(ak_cuda_address *out, ipc_handle handle, unsigned flags)
{
    struct stat about;
    int file = open(handle.path, O_RDWR | O_CLOEXEC);
    if (flags != 1 || file < 0 || fstat(file, &about) != 0) {
        return BAD_VALUE;
    }
    void *memory = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    *out = (ak_cuda_address)(uintptr_t)memory;
    return memory == MAP_FAILED ? NO_MEMORY : 0;
}

EXPORT int cuIpcCloseMemHandle(ak_cuda_address address);
int cuIpcCloseMemHandle(ak_cuda_address address)
{
    return address == 0 ? BAD_VALUE : 0; /* mapped until the process ends */
}

int cuda_host_alloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = malloc(bytes);
    return *out == NULL ? NO_MEMORY : 0;
}

int cuda_host_free(void *memory)
{
    free(memory);
    return 0;
}

int cuda_upload(ak_cuda_address to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    if (poisoned > NOT_READY || !inside((void *)(uintptr_t)to, bytes)) {
        return poisoned > NOT_READY ? poisoned : BAD_VALUE;
    }
    memcpy((void *)(uintptr_t)to, from, bytes);
    epoch++;
    uploads++;
    return 0;
}

int cuda_download(void *to, ak_cuda_address from, size_t bytes, void *stream)
{
    (void)stream;
    if (poisoned > NOT_READY || !inside((void *)(uintptr_t)from, bytes)) {
        return poisoned > NOT_READY ? poisoned : BAD_VALUE;
    }
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuda_copy(ak_cuda_address to, ak_cuda_address from, size_t bytes, void *stream)
{
    (void)stream;
    return enqueue(&(node){.kind = 1,
                           .to = (void *)(uintptr_t)to,
                           .from = (const void *)(uintptr_t)from,
                           .bytes = bytes,
                           .ns = 2.0 * (double)bytes / COPY_RATE});
}

int cuda_set8(ak_cuda_address to, unsigned char value, size_t count, void *stream)
{
    (void)stream;
    return enqueue(&(node){.kind = 2,
                           .to = (void *)(uintptr_t)to,
                           .value = value,
                           .bytes = count,
                           .ns = (double)count / COPY_RATE});
}

int cuda_set16(ak_cuda_address to, unsigned short value, size_t count, void *stream)
{
    (void)stream;
    if (poisoned > NOT_READY || !inside((void *)(uintptr_t)to, 2 * count)) {
        return poisoned > NOT_READY ? poisoned : BAD_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)to + 2 * i, &value, sizeof value);
    }
    epoch++;
    return 0;
}

int cuda_set32(ak_cuda_address to, unsigned value, size_t count, void *stream)
{
    (void)stream;
    if (poisoned > NOT_READY || !inside((void *)(uintptr_t)to, 4 * count)) {
        return poisoned > NOT_READY ? poisoned : BAD_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)to + 4 * i, &value, sizeof value);
    }
    epoch++;
    return 0;
}

int cuda_module_load(void **out, const void *image)
{
    if (strncmp(image, MAGIC, strlen(MAGIC)) != 0) {
        return 200; /* invalid image */
    }
    if (fault("no_binary", (const char *)image + strlen(MAGIC))) {
        return 209;
    }
    module *made = malloc(sizeof *made);
    made->options = strdup((const char *)image + strlen(MAGIC));
    made->bias = 0;
    made->kept = NULL;
    const long bias = option(made->options, "BIAS_SYMBOL", 0);
    *out = made;
    return bias > 0 ? cuda_memory_alloc(&made->bias, (size_t)bias) : 0;
}

int cuda_module_global(ak_cuda_address *out, size_t *bytes, void *m, const char *name)
{
    const module *of = m;
    if (of->bias == 0 || strcmp(name, "bias") != 0) {
        return NOT_FOUND;
    }
    *out = of->bias;
    *bytes = (size_t)option(of->options, "BIAS_SYMBOL", 0);
    return 0;
}

int cuda_module_unload(void *m)
{
    if (((module *)m)->bias != 0) {
        (void)cuda_memory_free(((module *)m)->bias);
    }
    free(((module *)m)->kept);
    free(((module *)m)->options);
    free(m);
    return 0;
}

static function functions[4096]; /* for the life of the process, as modules come and go */
static size_t function_count;

/* The template's entry, which another kernel may name longer. */
static bool is_gemm(const char *name)
{
    return strncmp(name, "ak_kernel", strlen("ak_kernel")) == 0;
}

/* Which of the template's two entries are in the code? */
static bool has_entry(const module *m, const char *name)
{
    const bool sizes = option(m->options, "SIZE_M", 0) != 0;
    const bool own = option(m->options, "OWN_SIZE_ONLY", 0) != 0;
    return strcmp(name, "ak_kernel_sized") == 0 ? sizes : is_gemm(name) && !(sizes && own);
}

int cuda_module_function(void **out, void *m, const char *name)
{
    if (!has_entry(m, name) && strcmp(name, "ak_rate") != 0 &&
        strcmp(name, "ak_bias_activation") != 0 && strcmp(name, "zones_kernel") != 0 &&
        strncmp(name, MIX, strlen(MIX)) != 0 && strcmp(name, LATE) != 0 &&
        fake_referee_find(name) < 0) {
        return NOT_FOUND;
    }
    function *f = &functions[function_count++ % 4096];
    *f = (function){.module = m};
    snprintf(f->name, sizeof f->name, "%s", name);
    *out = f;
    return 0;
}

static long cluster_of(const function *f)
{
    const char *options = f->module->options;
    return option(options, "CLUSTER_M", 1) * option(options, "CLUSTER_N", 1) *
           option(options, "CLUSTER_K", 1);
}

int cuda_function_get(int *out, int attribute, void *f)
{
    *out = attribute == 0    ? 1024
           : attribute == 3  ? (fault("stack", ((function *)f)->module->options) ? 48 : 0)
           : attribute == 11 ? (is_gemm(((function *)f)->name) ? (int)cluster_of(f) : 0)
                             : 0;
    return 0;
}

int cuda_function_set(void *f, int attribute, int value)
{
    (void)f;
    return attribute == 8 && value > SHARED_MAX ? BAD_VALUE : 0;
}

static void spoil_reference(void **arguments)
{
    /* A, B, C, C_in, M, N, K, ... */
    const int64_t m = *(int64_t *)arguments[4], n = *(int64_t *)arguments[5];
    double *c = *(double **)arguments[2];
    const int large = n * *(int64_t *)arguments[6] > LARGE;
    if (!large && fault("small_bad_reference", NULL)) {
        c[0] *= 1 + 1e-6;
    }
    if (large && fault("large_bad_reference", NULL)) {
        c[m * n - 1] *= 1 + 1e-6;
    }
}

/* The kernel of launch/mixed.h, with elements of so many bytes. */
static void mix(void **arguments, size_t bytes)
{
    char *other = *(char **)arguments[0];
    const char *own = *(const char **)arguments[1];
    const ak_mixed m = *(const ak_mixed *)arguments[2];
    for (uint64_t i = 0; i < m.span; i++) {
        const uint64_t from = ak_mixed_from(m, i);
        if (from < m.span) {
            memcpy(other + i * bytes, own + from * bytes, bytes);
        }
    }
}

/* The arguments of cuda_late.cu, whose work is done at once, or with the fault `early` when the
   next launch has been. */
static struct {
    uint64_t to, from;
    uint32_t count;
    uint64_t offset[AK_ARGUMENTS_MAX], bytes[AK_ARGUMENTS_MAX];
} late;

static void finish_late(void)
{
    for (uint32_t i = 0; i < late.count; i++) {
        memcpy((char *)(uintptr_t)late.to + late.offset[i],
               (const char *)(uintptr_t)late.from + late.offset[i], late.bytes[i]);
    }
    epoch += late.count > 0;
    late.count = 0;
}

static void begin_late(void **arguments)
{
    const uint64_t *words = arguments[0];
    late.to = words[0];
    late.from = words[1];
    late.count = (uint32_t)words[2];
    memcpy(late.offset, words + 3, sizeof late.offset);
    memcpy(late.bytes, words + 3 + AK_ARGUMENTS_MAX, sizeof late.bytes);
}

int cuda_launch(const ak_cuda_launch_config *config, void *f, void **arguments, void **extra)
{
    static const int counts[] = {14, 6, 2};
    function *what = f;
    node w = {.f = what, .config = *config};
    if (poisoned > NOT_READY) {
        return poisoned;
    }
    if (extra != NULL || config->shared_bytes > SHARED_MAX ||
        fault("launch_error", what->module->options)) {
        return OUT_OF_RESOURCES;
    }
    if (strcmp(what->name, LATE) == 0) {
        begin_late(arguments);
        if (!fault("early", NULL)) {
            finish_late();
        }
        return 0;
    }
    if (strncmp(what->name, MIX, strlen(MIX)) == 0) {
        mix(arguments, (size_t)(what->name[strlen(MIX)] - '0'));
        epoch++;
        return 0;
    }
    if (fake_referee_find(what->name) >= 0) {
        if (poisoned == 0) {
            fake_referee_run(fake_referee_find(what->name), arguments, config->grid[0],
                             config->shared_bytes);
            if (strcmp(what->name, "ak_reference") == 0) {
                spoil_reference(arguments);
            }
        }
        epoch++;
        return 0;
    }
    bool gemm = is_gemm(what->name);
    if (gemm && option(what->module->options, "CLUSTER_M", 0) == 0) {
        return BAD_VALUE; /* of all templates it knows the one for Hopper */
    }
    if (gemm && (config->grid[0] % cluster_of(what) != 0 || config->grid[0] == 0)) {
        return BAD_VALUE;
    }
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        w.early = w.early || (config->attributes[i].id == 6 && config->attributes[i].as.value != 0);
    }
    if (strcmp(what->name, "zones_kernel") == 0) {
        for (int i = 0; i < 8; i++) {
            memcpy(w.values[i], arguments[i], 8);
        }
        return enqueue(&w);
    }
    int count = gemm ? counts[0] : strcmp(what->name, "ak_rate") == 0 ? counts[2] : counts[1];
    for (int i = 0; i < count; i++) {
        /* maps are 128 bytes; of others at most 8 are there to be read */
        bool is_int = i >= (gemm ? 8 : count == 2 ? 1 : 3); /* or a float */
        memcpy(w.values[i], arguments[i], gemm && i < 3 ? 128 : is_int ? 4 : 8);
    }
    const int code = enqueue(&w);
    finish_late();
    return code;
}

int cuda_blocks_per_sm(int *out, void *f, int block, size_t shared_bytes)
{
    (void)f;
    int by_threads = 2048 / block;
    int by_memory = shared_bytes == 0 ? by_threads : (int)(233472 / (shared_bytes + 1024));
    *out = by_threads < by_memory ? by_threads : by_memory;
    return 0;
}

int cuda_active_clusters(int *out, void *f, const ak_cuda_launch_config *config)
{
    int blocks = 0;
    uint32_t size = 1;
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        if (config->attributes[i].id == 4) {
            const uint32_t *d = config->attributes[i].as.dimension;
            size = d[0] * d[1] * d[2];
        }
    }
    (void)cuda_blocks_per_sm(&blocks, f,
                             (int)(config->block[0] * config->block[1] * config->block[2]),
                             config->shared_bytes);
    *out = fault("no_cluster", ((function *)f)->module->options) ? 0 : blocks * SMS / (int)size;
    return 0;
}

int cuda_tensor_map(ak_cuda_tensor_map *out, int type, unsigned rank, ak_cuda_address address,
                    const uint64_t *size, const uint64_t *stride, const uint32_t *box,
                    const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                    int fill)
{
    fake_map map = {.address = address, .type = type};
    (void)element_stride, (void)fill;
    if (rank != 2 || interleave != 0 || swizzle < 0 || swizzle > 3 || promotion < 0 ||
        promotion > 3 || (uintptr_t)out % 64 != 0 || address % 16 != 0 || stride[0] % 16 != 0 ||
        box[0] > 256 || box[1] > 256) {
        return BAD_VALUE;
    }
    memcpy(map.size, size, sizeof map.size);
    memcpy(map.box, box, sizeof map.box);
    map.stride = stride[0];
    memset(out, 0, sizeof *out);
    memcpy(out, &map, sizeof map);
    return 0;
}

EXPORT int cuTensorMapReplaceAddress(ak_cuda_tensor_map *map, void *address);
int cuTensorMapReplaceAddress(ak_cuda_tensor_map *map, void *address)
{
    const uint64_t at = (uint64_t)(uintptr_t)address;
    memcpy(map, &at, sizeof at); /* the first of a fake_map */
    return (uintptr_t)map % 64 != 0 || at % 16 != 0 ? BAD_VALUE : 0;
}

int cuda_stream_create(void **out, unsigned flags)
{
    static int stream;
    (void)flags;
    *out = &stream;
    return 0;
}

int cuda_stream_destroy(void *stream)
{
    (void)stream;
    return 0;
}

int cuda_stream_query(void *stream)
{
    (void)stream;
    return poisoned;
}

int cuda_capture_begin(void *stream, int mode)
{
    (void)stream, (void)mode;
    capturing = calloc(1, sizeof *capturing);
    capturing->nodes = calloc(NODES_MAX, sizeof *capturing->nodes);
    return 0;
}

int cuda_capture_end(void *stream, void **out)
{
    (void)stream;
    *out = capturing;
    capturing = NULL;
    return 0;
}

/* Nodes stand in one line, and only a kernel can be begun early behind a kernel. */
int cuda_graph_edges(void *g, void **from, void **to, ak_cuda_edge *edges, size_t *count)
{
    graph *what = g;
    if (fault("no_edges", NULL)) {
        return BAD_VALUE;
    }
    *count = what->count > 0 ? what->count - 1 : 0;
    for (size_t i = 0; edges != NULL && i < *count; i++) {
        const node *one = &what->nodes[i], *next = &what->nodes[i + 1];
        bool kernels = (one->f != NULL || one->kind >= 3) && (next->f != NULL || next->kind >= 3);
        from[i] = &what->nodes[i];
        to[i] = &what->nodes[i + 1];
        edges[i] =
            (ak_cuda_edge){.from_port = next->early && kernels, .type = next->early && kernels};
    }
    return 0;
}

int cuda_graph_instantiate(void **out, void *g, unsigned long long flags)
{
    const graph *from = g;
    graph *made = calloc(1, sizeof *made);
    (void)flags;
    made->count = from->count;
    made->nodes = calloc(from->count + 1, sizeof *made->nodes);
    memcpy(made->nodes, from->nodes, from->count * sizeof *made->nodes);
    *out = made;
    return 0;
}

int cuda_graph_upload(void *g, void *stream)
{
    (void)g, (void)stream;
    return 0;
}

int cuda_graph_launch(void *g, void *stream)
{
    (void)stream;
    if (poisoned > NOT_READY) {
        return poisoned;
    }
    graph *what = g;
    if (what->done != epoch) {
        run_all(what->nodes, what->count);
        what->done = ++epoch;
    } else { /* the same again on the same data */
        for (size_t i = 0; i < what->count; i++) {
            now_ns += duration(&what->nodes[i]) * (knows_rows(&what->nodes[i]) ? 0.1 : 1);
        }
    }
    return 0;
}

int cuda_graph_exec_destroy(void *g)
{
    free(((graph *)g)->nodes);
    free(g);
    return 0;
}

int cuda_graph_destroy(void *g)
{
    return cuda_graph_exec_destroy(g);
}

int cuda_event_create(void **out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof(double));
    return 0;
}

int cuda_event_destroy(void *event)
{
    free(event);
    return 0;
}

int cuda_event_record(void *event, void *stream)
{
    (void)stream;
    *(double *)event = now_ns;
    return poisoned > NOT_READY ? poisoned : 0;
}

int cuda_event_elapsed(float *ms, void *start, void *end)
{
    *ms = (float)((*(double *)end - *(double *)start) / 1e6);
    return 0;
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef struct program {
    char *source, *options, log[1024];
} program;

int nvrtc_version(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

int nvrtc_create(void **out, const char *source, const char *name, int headers,
                 const char *const *texts, const char *const *names)
{
    program *p = calloc(1, sizeof *p);
    (void)name, (void)headers, (void)texts, (void)names;
    p->source = strdup(source);
    *out = p;
    return 0;
}

/* Returns whether a source is the referee's with a reference that fake_referee.c does not have: it
   has matmul's for bf16 and would read the arguments of another one as that one's. */
static bool is_unknown_reference(const program *p)
{
    return strstr(p->source, "ak_reference(") != NULL &&
           (strstr(p->source, "ak_reference(const void *a, const void *b, double *c,") == NULL ||
            strstr(p->options, "-Ddtype_is_bf16=1") == NULL);
}

int nvrtc_compile(void *out, int count, const char *const *options)
{
    program *p = out;
    size_t length = strlen(MAGIC) + 1;
    for (int i = 0; i < count; i++) {
        length += strlen(options[i]) + 1;
    }
    free(p->options);
    p->options = calloc(length, 1);
    strcat(p->options, MAGIC);
    for (int i = 0; i < count; i++) {
        strcat(p->options, options[i]);
        strcat(p->options, "\n");
    }
    if (fault("other_code", p->options)) {
        p->options[strlen(p->options) - 1] = '\f';
    }
    if (strstr(p->source, "#error") != NULL || fault("compile_error", p->options)) {
        snprintf(p->log, sizeof p->log, "kernel.cu(12): error: said by the fake compiler\n");
        return 6;
    }
    if (is_unknown_reference(p)) {
        snprintf(p->log, sizeof p->log,
                 "reference.cu(1): error: the fake driver has matmul's reference in bf16 only\n");
        return 6;
    }
    int spills = fault("spill", p->options) ? 40 : fault("spill_few", p->options) ? 24 : 0;
    snprintf(p->log, sizeof p->log,
             "%sptxas info    : Compiling entry function 'ak_kernel' for 'sm_90a'\n"
             "ptxas info    : Function properties for ak_kernel\n"
             "    %d bytes stack frame, %d bytes spill stores, %d bytes spill loads\n"
             "ptxas info    : Used 168 registers, used 8 barriers, 16 bytes smem\n",
             fault("serialised", p->options)
                 ? "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                   "instructions are serialized\n"
                 : "",
             spills, spills, spills);
    return 0;
}

int nvrtc_log_size(void *p, size_t *bytes)
{
    *bytes = strlen(((program *)p)->log) + 1;
    return 0;
}

int nvrtc_log(void *p, char *out)
{
    memcpy(out, ((program *)p)->log, strlen(((program *)p)->log) + 1);
    return 0;
}

int nvrtc_cubin_size(void *p, size_t *bytes)
{
    *bytes = strlen(((program *)p)->options) + 1;
    return 0;
}

int nvrtc_cubin(void *p, char *out)
{
    memcpy(out, ((program *)p)->options, strlen(((program *)p)->options) + 1);
    return 0;
}

int nvrtc_destroy(void **out)
{
    program *p = *out;
    free(p->source);
    free(p->options);
    free(p);
    *out = NULL;
    return 0;
}

/* ---- cuBLASLt -------------------------------------------------------------------------------- */

/* The first answer is not the best. Those without rounded parts are numbered from WIDE, and are
   only asked for where others may be inexact. */
enum { HEURISTICS = 30, FASTEST = 23, WIDE = 1000, WIDES = 2 };

typedef struct lt_layout {
    int type;
    uint64_t rows, columns;
    int64_t ld;
} lt_layout;

size_t cublasLtGetVersion(void)
{
    return 130100;
}

int lt_create(void **handle)
{
    static int state;
    *handle = &state;
    return 0;
}

int lt_destroy(void *handle)
{
    (void)handle;
    return 0;
}

typedef struct lt_desc {
    int epilogue, transposed[2];
    const uint16_t *bias;
} lt_desc;

int lt_desc_create(void **desc, int compute, int scale)
{
    *desc = calloc(1, sizeof(lt_desc));
    return compute == 68 && scale == 0 ? 0 : 7;
}

int lt_desc_set(void *desc, int attribute, const void *value, size_t bytes)
{
    lt_desc *d = desc;
    if (attribute == 7) { /* CUBLASLT_MATMUL_DESC_EPILOGUE */
        memcpy(&d->epilogue, value, bytes);
    } else if (attribute == 8) { /* CUBLASLT_MATMUL_DESC_BIAS_POINTER */
        memcpy(&d->bias, value, bytes);
    } else if (attribute == 3 || attribute == 4) { /* CUBLASLT_MATMUL_DESC_TRANSA, TRANSB */
        memcpy(&d->transposed[attribute - 3], value, bytes);
    }
    return 0;
}

int lt_desc_destroy(void *desc)
{
    free(desc);
    return 0;
}

int lt_layout_create(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    lt_layout *made = malloc(sizeof *made);
    *made = (lt_layout){type, rows, columns, ld};
    *layout = made;
    return ld >= (int64_t)rows ? 0 : 7;
}

int lt_layout_destroy(void *layout)
{
    free(layout);
    return 0;
}

int lt_preference_create(void **preference)
{
    *preference = calloc(1, sizeof(uint32_t));
    return 0;
}

int lt_preference_set(void *preference, int attribute, const void *value, size_t bytes)
{
    if (attribute == 3) { /* CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK */
        memcpy(preference, value, bytes);
    }
    return 0;
}

int lt_preference_destroy(void *preference)
{
    free(preference);
    return 0;
}

static bool inexact_at_all(void)
{
    return fault("inexact", NULL) || fault("all_inexact", NULL);
}

static bool is_inexact(uint64_t which)
{
    return fault("all_inexact", NULL) ||
           (fault("inexact", NULL) && (which == 0 || (which <= FASTEST && which > FASTEST - 5)));
}

/* Relative to the fastest. */
static double slowness(uint64_t which)
{
    return which == FASTEST ? 1.0 : which == WIDE ? 1.03 : is_inexact(which) ? 1.01 : 1.1;
}

int lt_heuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                 int wanted, ak_cublaslt_result *results, int *found)
{
    const bool sums = *(const uint32_t *)preference == 2, wide = sums && inexact_at_all();
    const int have = wide ? WIDES : HEURISTICS;
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d;
    *found = wanted < have ? wanted : have;
    for (int i = 0; i < *found; i++) {
        const int which = wide ? WIDE + i : sums ? have - 1 - i : i;
        results[i].algo[0] = (uint64_t)which;
        if (which % 2 == 0) { /* not all of an algorithm is always written */
            results[i].algo[1] = 1;
        }
        results[i].workspace = 0;
        results[i].state = which == 1 ? 15 : 0;
    }
    return 0;
}

int lt_algo_get(const void *algo, int attribute, void *value, size_t bytes, size_t *written)
{
    int out = attribute == 0 ? (int)*(const uint64_t *)algo : 1;
    memcpy(value, &out, bytes < sizeof out ? bytes : sizeof out);
    *written = sizeof out;
    return 0;
}

int lt_matmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
              const void *b, void *layout_b, const void *beta, const void *c, void *layout_c,
              void *d, void *layout_d, const void *algo, void *workspace, size_t workspace_bytes,
              void *stream)
{
    const lt_layout *la = layout_a, *lb = layout_b, *lc = layout_c;
    uint64_t which = *(const uint64_t *)algo;
    const lt_desc *fused = desc;
    (void)handle, (void)layout_d, (void)workspace, (void)workspace_bytes, (void)stream;
    /* column-major terms, its A being our B: see cuda_matmul.c */
    node w = {.kind = 3,
              .to = d,
              .q = {.c = d,
                    .a = b,
                    .b = a,
                    .c_in = *(const float *)beta == 0 ? NULL : c,
                    .bias = (fused->epilogue & 4) != 0 ? fused->bias : NULL,
                    .m = (int)lc->columns,
                    .n = (int)lc->rows,
                    .k = (int)(fused->transposed[0] ? la->rows : la->columns),
                    .lda = (size_t)lb->ld,
                    .ldb = (size_t)la->ld,
                    .ldc = (size_t)lc->ld,
                    .a_transposed = fused->transposed[1] != 0,
                    .b_transposed = fused->transposed[0] != 0,
                    .alpha = *(const float *)alpha,
                    .beta = *(const float *)beta,
                    .type = la->type == 2 ? TYPE_F16 : 0,
                    .rounds_parts = is_inexact(which),
                    .options = (fused->epilogue & 2) != 0    ? "-Dactivation_is_relu=1"
                               : (fused->epilogue & 32) != 0 ? "-Dactivation_is_gelu_tanh=1"
                                                             : ""}};
    w.ns = LAUNCH_NS + 2.0 * w.q.m * w.q.n * w.q.k / 50 * slowness(which);
    int code = enqueue(&w);
    if (code == 0 && fault("lt_pairs", NULL)) {
        w.early = true;
        code = enqueue(&w);
    }
    return code;
}

/* ---- cuDNN ----------------------------------------------------------------------------------- */

size_t cudnnGetVersion(void)
{
    return 91900;
}

int dnn_create(void **handle)
{
    static int state;
    *handle = &state;
    return 0;
}

int dnn_destroy(void *handle)
{
    (void)handle;
    return 0;
}

int dnn_set_stream(void *handle, void *stream)
{
    return handle == NULL || stream == NULL;
}

int dnn_tensor_create(void **tensor)
{
    *tensor = calloc(1, sizeof(lt_layout));
    return 0;
}

int dnn_tensor_set(void *tensor, int format, int type, int n, int c, int h, int w)
{
    *(lt_layout *)tensor = (lt_layout){type, (uint64_t)n, (uint64_t)c, 0};
    return format == 0 && h == 1 && w == 1 ? 0 : 3;
}

int dnn_tensor_destroy(void *tensor)
{
    free(tensor);
    return 0;
}

int dnn_softmax(void *handle, int algorithm, int mode, const void *alpha, void *layout_x,
                const void *x, const void *beta, void *layout_y, void *y)
{
    const lt_layout *l = layout_x;
    (void)handle, (void)alpha, (void)beta;
    if (algorithm != 1 || mode != 0 || layout_y != layout_x || (l->type != 2 && l->type != 9)) {
        return 3;
    }
    return enqueue(
        &(node){.kind = 4,
                .to = y,
                .from = x,
                .m = (int)l->rows,
                .n = (int)l->columns,
                .type = l->type == 2 ? TYPE_F16 : 0,
                .ns = LAUNCH_NS + 4.0 * (double)l->rows * (double)l->columns / COPY_RATE});
}

/* ---- NVML ------------------------------------------------------------------------------------ */

int nvml_init(void)
{
    return 0;
}

int nvml_driver(char *out, unsigned bytes)
{
    snprintf(out, bytes, "fake 580.1");
    return 0;
}

int nvml_by_uuid(const char *uuid, void **device)
{
    static int one;
    *device = &one;
    return uuid == NULL;
}

int nvml_clock(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == AK_NVML_CLOCK_SM ? 1755 : 3201;
    return 0;
}

int nvml_clock_max(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == AK_NVML_CLOCK_SM ? 1980 : 3201;
    return 0;
}

int nvml_power_limit(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return 0;
}

int nvml_fields(void *device, int count, ak_nvml_field *values)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        values[i].code = values[i].id == AK_NVML_POWER_INSTANT ? 0 : 3; /* not supported */
        values[i].type = AK_NVML_UNSIGNED;
        values[i].value.number = 618500;
    }
    return 0;
}

/* Moves at every question, by the energy of 612 W since the last one and at least 1 mJ. */
int nvml_energy(void *device, unsigned long long *millijoules)
{
    static unsigned long long last;
    struct timespec now;
    (void)device;
    if (getenv("FAKE_CUDA") != NULL && strstr(getenv("FAKE_CUDA"), "no_energy") != NULL) {
        return 3; /* not supported */
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    unsigned long long value = (unsigned long long)(seconds * 612e3);
    last = value > last ? value : last + 1;
    *millijoules = last;
    return 0;
}
int nvml_power(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 612000;
    return 0;
}

int nvml_temperature(void *device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 51;
    return 0;
}

int nvml_throttle(void *device, unsigned long long *bits)
{
    (void)device;
    const char *all = getenv("FAKE_CUDA");
    *bits = all != NULL && strstr(all, "cool") != NULL ? 0 : 4; /* power */
    return 0;
}
