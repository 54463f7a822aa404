/*
 * gemm_bench.c: measures variants of kernels/matmul/cuda_gemm_sm90.cu against cuBLASLt.
 *
 *     gemm_bench [options] variants.txt... MxNxK...
 *
 * Each line of a variants file is one configuration, with the short names of `fields` below. If
 * shapes (MxNxK) follow the fields, the line is for these shapes only.
 *
 * For each shape, every legal variant is checked against a reference (double precision on sampled
 * rows, cuBLASLt on all elements; C is poisoned first) and timed quickly. Then the best variants
 * are timed against the best of cuBLASLt's heuristics, interleaved: in each round each candidate
 * runs once for some milliseconds, in an order that changes. Buffers are rotated over at least 3
 * times the level 2 cache, data are uniform in [-1, 1], launches are graph replays, and results are
 * medians over the rounds. `ratio` is the median over the rounds of (time of the best cuBLASLt) /
 * (time of the best variant), with the 10th and 90th percentile.
 *
 * Build: cc -O2 -std=gnu17 gemm_bench.c -o gemm_bench -ldl -lpthread -lm. No CUDA headers are
 * needed, because the functions of the driver, NVRTC and cuBLASLt are declared here.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    _Alignas(64) uint64_t x[16];
} tensor_map;
#define OWN_DRIVER(X)                                                                              \
    X(cuTensorMapEncodeTiled,                                                                      \
      (tensor_map *, int, unsigned, devptr, const uint64_t *, const uint64_t *, const unsigned *,  \
       const unsigned *, int, int, int, int))                                                      \
    X(cuGraphGetNodes, (void *, void **, size_t *))                                                \
    X(cuGraphKernelNodeGetParams_v2, (void *, void *))                                             \
    X(cuGraphKernelNodeGetAttribute, (void *, int, void *))                                        \
    X(cuProfilerStart, (void))                                                                     \
    X(cuProfilerStop, (void))
#include "bench.h"

enum {
    VARIANTS_MAX = 2000,
    SETS_MAX = 128,
    LT_MAX = 200,
    FINAL_OURS = 8,
    FINAL_LT = 5,
    FINAL_STATIC = 12
};
#define WORKSPACE  ((size_t)64 << 20)
#define ROTATE     ((size_t)200 << 20)
#define SHARED_MAX 232448
#define POISON     0xFFFFFFFFu

/* ---- cuBLASLt ---- */

typedef struct {
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;
#define CUBLASLT(X)                                                                                \
    X(cublasLtCreate, (void **))                                                                   \
    X(cublasLtMatmulDescCreate, (void **, int, int))                                               \
    X(cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                         \
    X(cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))                     \
    X(cublasLtMatmulPreferenceCreate, (void **))                                                   \
    X(cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))                   \
    X(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (void *, void *, void *, void *, void *, void *, void *, int, lt_result *, int *))           \
    X(cublasLtMatmulAlgoConfigGetAttribute, (const void *, int, void *, size_t, size_t *))         \
    X(cublasLtMatmul,                                                                              \
      (void *, void *, const void *, const void *, void *, const void *, void *, const void *,     \
       const void *, void *, void *, void *, const void *, void *, size_t, void *))
CUBLASLT(DECLARE)
static size_t (*cublasLtGetVersion)(void);
/* These are of drivers for 12.3 and later. */
static int (*cuGraphGetEdges_v2)(void *, void **, void **, void *, size_t *);
static int (*cuFuncGetName)(const char **, void *);
static int (*cuKernelGetName)(const char **, void *);

/* ---- variants ---- */

enum {
    BM,
    BN,
    BK,
    ST,
    NC,
    PP,
    CM,
    CN,
    CK,
    SK,
    G,
    R,
    SW,
    FL,
    PR,
    CR,
    EC,
    EB,
    BPS,
    EA,
    EBB,
    PW,
    SPW,
    L2P,
    GRID,
    PDL,
    PF,
    DS,
    ES,
    GO,
    FIELDS
};
static const struct {
    const char *name, *macro;
    int value;
} fields[FIELDS] = {{"m", "BLOCK_SIZE_M", 128},
                    {"n", "BLOCK_SIZE_N", 256},
                    {"k", "BLOCK_SIZE_K", 64},
                    {"st", "num_stages", 4},
                    {"nc", "NUM_CONSUMERS", 2},
                    {"pp", "PING_PONG", 0},
                    {"cm", "CLUSTER_M", 1},
                    {"cn", "CLUSTER_N", 1},
                    {"ck", "CLUSTER_K", 1},
                    {"sk", "SPLIT_K", 1},
                    {"g", "GROUP_SIZE", 8},
                    {"r", "RASTER", 0},
                    {"sw", "SWAP_AB", 0},
                    {"fl", "MMA_IN_FLIGHT", 0},
                    {"pr", "PRODUCER_REGISTERS", 40},
                    {"cr", "CONSUMER_REGISTERS", 232},
                    {"ec", "EPILOGUE_COLUMNS", 64},
                    {"eb", "EPILOGUE_BUFFERS", 2},
                    {"bps", "BLOCKS_PER_SM", 1},
                    {"ea", "EVICT_A", 0},
                    {"ebb", "EVICT_B", 0},
                    {"pw", "PRODUCER_WARPS", 4},
                    {"wait", "SPLIT_WAIT", 0},
                    {"l2", NULL, 3},
                    {"grid", NULL, 0},
                    {"pdl", "LAUNCH_EARLY", 0},
                    {"pf", "PREFETCH_SLOTS", 1},
                    {"ds", "DIRECT_STORE", 0},
                    {"es", "EARLY_SLOTS", 0},
                    {"go", "GPC_ORDER", 0}};

typedef struct {
    int v[FIELDS];
    char text[256];
    char *cubin, *log;
    size_t bytes;
    int registers, spills;
    bool failed;
    char why[160];
    void *module, *function, *pad;
    int shared, clusters;
    int size[3];  /* compiled in if not 0 */
    char *shapes; /* the shapes it is for, " MxNxK MxNxK "; NULL: all */
} variant;
static variant variants[VARIANTS_MAX];
static int variant_count;

static char *source;
static bool f16;
static int a_t, b_t; /* 1: stored transposed, as A_LAYOUT; for B 1 is K x N row-major */
static int activation, has_bias, direct, padded;
static const char *const activation_names[] = {"none",     "relu", "leaky_relu", "gelu_tanh",
                                               "gelu_erf", "silu", NULL};

static int stage_bytes(const int *v)
{
    int a = (a_t ? (v[BM] + 63) / 64 * 64 : v[BM]) * v[BK] * 2;
    int b = (b_t ? (v[BN] + 63) / 64 * 64 : v[BN]) * v[BK] * 2;
    return a + b;
}

/* Returns how many consumers share the columns of a tile: 2 if they cannot share its rows. */
static int beside(const int *v)
{
    return v[SW] && v[NC] == 2 && !v[PP] && v[BN] % 128 ? 2 : 1;
}

/* Returns the columns of an accumulator that a block finishes: OWN_N of cuda_gemm_sm90.cu. */
static int own_columns(const int *v)
{
    int columns = v[SW] ? v[BM] / beside(v) : v[BN];
    return v[CK] > 1 && columns % (v[CK] * (v[SW] ? 16 : v[EC])) == 0 ? columns / v[CK] : columns;
}

static int shared_bytes(const int *v)
{
    int columns = v[SW] ? v[BM] : v[BN];
    int piece = v[SW] ? (own_columns(v) + 15) / 16 * 16 * 128 : 64 * v[EC] * 2;
    int bytes = v[ST] * stage_bytes(v) + v[NC] * v[EB] * piece;
    bytes += has_bias && !v[SW] ? v[NC] * columns * 4 : 0;
    return (bytes + 15) / 16 * 16 + 16 * v[ST] + 48;
}

static const char *illegal(const int *v)
{
    int groups = v[PP] ? 1 : v[NC] / beside(v);
    int rows = v[SW] ? v[BN] : v[BM], columns = v[SW] ? v[BM] / beside(v) : v[BN];
    int acc = rows / groups / 64 * columns / 2;
    if (rows % (64 * groups) || columns % (v[SW] ? 8 : 16) || columns > 256) {
        return "tile";
    }
    if (beside(v) > 1 && (a_t || columns < 104 || columns > 120)) {
        return "beside";
    }
    if (v[PP] && (v[NC] != 2 || v[CK] > 1 || v[EB] == 0)) {
        return "ping-pong";
    }
    if (!v[SW] && columns % v[EC]) {
        return "pieces";
    }
    if (shared_bytes(v) > SHARED_MAX) {
        return "shared";
    }
    if (v[CK] > 1 && v[BM] * v[BN] * 4 > v[ST] * stage_bytes(v)) {
        return "sums";
    }
    if (v[NC] == 1 ? acc > 192 : v[NC] == 2 ? acc > 208 : acc > 96) {
        return "registers";
    }
    if (v[BM] % 8 || (v[BM] % (8 * v[CN]) && a_t) || v[BN] % (8 * v[CM]) || (v[FL] && v[ST] < 3) ||
        (a_t && (v[BM] + 63) / 64 % v[CN] && v[BK] % (8 * v[CN])) ||
        (b_t && (v[BN] + 63) / 64 % v[CM] && v[BK] % (8 * v[CM]))) {
        return "slices";
    }
    return NULL;
}

static void add_variant(const char *line)
{
    variant *x = &variants[variant_count];
    memset(x, 0, sizeof *x);
    for (int i = 0; i < FIELDS; i++) {
        x->v[i] = fields[i].value;
    }
    x->v[DS] = direct;
    char *copy = strdup(line);
    bool any = false;
    for (char *save, *word = strtok_r(copy, " \t\r\n", &save); word;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        char *eq = strchr(word, '=');
        if (eq == NULL) {
            const size_t used = x->shapes != NULL ? strlen(x->shapes) : 0;
            x->shapes = realloc(x->shapes, used + strlen(word) + 3);
            sprintf(x->shapes + used, "%s%s ", used ? "" : " ", word);
            continue;
        }
        *eq = 0;
        int i = 0;
        while (i < FIELDS && strcmp(fields[i].name, word)) {
            i++;
        }
        if (i == FIELDS) {
            printf("unknown field %s\n", word);
            exit(2);
        }
        x->v[i] = atoi(eq + 1);
        any = true;
    }
    free(copy);
    if (!any || variant_count == VARIANTS_MAX - 1) {
        return;
    }
    int used = 0;
    for (int i = 0; i < FIELDS; i++) {
        if (x->v[i] != fields[i].value || i < BK) {
            used += snprintf(x->text + used, sizeof x->text - (size_t)used, "%s%s=%d",
                             used ? " " : "", fields[i].name, x->v[i]);
        }
    }
    const char *why = illegal(x->v);
    if (why != NULL) {
        printf("illegal (%s): %s\n", why, x->text);
        return;
    }
    variant_count++;
}

static int option_list(char **out, const int *v, const int *size)
{
    int n = 0;
    out[n++] = strdup("--gpu-architecture=sm_90a");
    out[n++] = strdup("--ptxas-options=-v");
    for (int i = 0; i < FIELDS; i++) {
        if (v != NULL && fields[i].macro != NULL) {
            out[n] = malloc(64);
            snprintf(out[n++], 64, "-D%s=%d", fields[i].macro, v[i]);
        }
    }
    out[n++] = strdup(f16 ? "-Ddtype_is_f16=1" : "-Ddtype_is_bf16=1");
    char text[64];
    for (int i = 0; size != NULL && size[0] > 0 && i < 3; i++) {
        snprintf(text, sizeof text, "-DSIZE_%c=%d", "MNK"[i], size[i]);
        out[n++] = strdup(text);
    }
    snprintf(text, sizeof text, "-DA_LAYOUT=%d", a_t);
    out[n++] = strdup(text);
    snprintf(text, sizeof text, "-DB_LAYOUT=%d", b_t);
    out[n++] = strdup(text);
    if (padded) {
        out[n++] = strdup("-DPAD_A=1");
        out[n++] = strdup("-DPAD_B=1");
    }
    snprintf(text, sizeof text, "-Dactivation_is_%s=1", activation_names[activation]);
    out[n++] = strdup(text);
    if (has_bias) {
        out[n++] = strdup("-Dbias_is_add=1");
    }
    return n;
}

static void compile_variant(variant *x)
{
    char *options[64];
    int n = option_list(options, x->v, x->size);
    int code =
        nvrtc_compile(&x->cubin, &x->log, source, "cuda_sm90.cu", (const char *const *)options, n);
    for (int i = 0; i < n; i++) {
        free(options[i]);
    }
    const char *used = strstr(x->log, "Used "), *spill = strstr(x->log, "bytes stack frame, ");
    x->registers = used ? atoi(used + 5) : 0;
    x->spills = spill ? atoi(spill + 19) : 0;
    const char *note = strstr(x->log, "(C75");
    if (code != 0 || note != NULL || x->spills > 0) {
        x->failed = true;
        const char *error = strstr(x->log, "error");
        snprintf(x->why, sizeof x->why, "%s %d spill %.60s", code ? "error" : "note", x->spills,
                 note    ? note
                 : error ? error
                         : "");
        for (char *c = x->why; *c; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
    }
}

static int next_variant, threads = 16;
static variant *compile_list;
static int compile_count;
static void *compile_some(void *unused)
{
    (void)unused;
    for (;;) {
        int i = __atomic_fetch_add(&next_variant, 1, __ATOMIC_RELAXED);
        if (i >= compile_count) {
            return NULL;
        }
        compile_variant(&compile_list[i]);
    }
}

static void compile_all(variant *list, int count)
{
    pthread_t pool[64];
    next_variant = 0;
    compile_list = list;
    compile_count = count;
    for (int i = 0; i < threads; i++) {
        pthread_create(&pool[i], NULL, compile_some, NULL);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(pool[i], NULL);
    }
}

/* ---- a shape's buffers ---- */

static void *helpers, *lt;
static devptr workspace, lt_workspace;
static size_t arena_bytes = (size_t)24 << 30;
static int M, N, K, sets;
static devptr A[SETS_MAX], B[SETS_MAX], C[SETS_MAX], bias, C_lt, reference_rows, padded_a, padded_b;

static void *helper(const char *name)
{
    void *f;
    OK(cuModuleGetFunction(&f, helpers, name));
    return f;
}

static void run_helper(const char *name, unsigned gx, unsigned gy, void **args)
{
    OK(cuLaunchKernel(helper(name), gx, gy, 1, 256, 1, 1, 0, stream, args, NULL));
}

static devptr take(size_t *at, size_t bytes)
{
    devptr p = arena + *at;
    *at += (bytes + 1023) / 1024 * 1024;
    if (*at > arena_bytes) {
        die("arena too small", 2);
    }
    return p;
}

static void fill(devptr p, uint64_t count, uint64_t seed)
{
    void *args[] = {&p, &count, &seed};
    run_helper("fill_random", 1056, 1, args);
}

static bool wait_stream(double limit)
{
    double start = seconds();
    for (;;) {
        int code = cuStreamQuery(stream);
        if (code == 0) {
            return true;
        }
        if (code != 600) {
            die("launch", code);
        }
        if (seconds() - start > limit) {
            return false;
        }
    }
}

/* ---- contenders ---- */

typedef struct {
    variant *ours; /* NULL: `algo` is set */
    lt_result *algo;
    int epilogue; /* 1: the library's own, 2: an elementwise pass after the plain product */
    double quick, error;
    void *exec;
    int reps;
    /* edges of the recorded graph, and how many let the next kernel start early */
    int edges, early;
    char kernel[160]; /* the first of a library's kernels, its grid and its cluster */
    double time[ROUNDS_MAX];
    double median;
    char name[264];
} contender;

/* Returns the pitch, in elements, of a copy whose rows the copy engine can address, as in
   ak_pad. */
static int pitch_of(int columns)
{
    return (columns + 63) / 64 * 64;
}

/* A matrix as the copy engine sees it: `inner` numbers in each of `outer` rows. */
typedef struct {
    devptr at;
    int inner, outer, pitch;
} view;

static void encode(tensor_map *map, const view *m, int box_inner, int box_outer, int promotion)
{
    uint64_t dims[2] = {(uint64_t)m->inner, (uint64_t)m->outer};
    uint64_t strides[1] = {(uint64_t)m->pitch * 2};
    unsigned box[2] = {(unsigned)box_inner, (unsigned)box_outer}, ones[2] = {1, 1};
    int swizzle = box_inner == 64 ? 3 : box_inner == 32 ? 2 : 1;
    OK(cuTensorMapEncodeTiled(map, f16 ? 6 : 9, 2, m->at, dims, strides, box, ones, 0, swizzle,
                              promotion, 0));
}

/* A or B: its address and that of its padded copy; `t`: it is stored transposed; its rows or
   columns, and those of a block; and the blocks of a cluster that share a box. */
typedef struct {
    devptr at, copy;
    int t, size, block, sharers;
} operand;

static void encode_operand(tensor_map *map, const operand *o, const int *v)
{
    int pitch = o->t ? o->size : K;
    view m = {padded ? o->copy : o->at, o->t ? o->size : K, o->t ? K : o->size,
              padded ? pitch_of(pitch) : pitch};
    int blocks = (o->block + 63) / 64;
    int rows = !o->t                      ? (o->block + o->sharers - 1) / o->sharers
               : blocks % o->sharers == 0 ? v[BK]
                                          : v[BK] / o->sharers;
    encode(map, &m, 64, rows, v[L2P]);
}

static int items_of(const int *v)
{
    int rows = (M + v[BM] * v[CM] - 1) / (v[BM] * v[CM]),
        columns = (N + v[BN] * v[CN] - 1) / (v[BN] * v[CN]);
    return rows * columns * v[SK];
}

static bool only_sensible; /* --sensible: only variants that the kernel's space would not exclude */

static const char *unfit(const int *v)
{
    const long long area = (long long)M * N;
    if (only_sensible &&
        (v[BM] * v[CM] > 2 * (M > 16 ? M : 16) || v[BN] * v[CN] >= 2 * (N > 64 ? N : 64) ||
         (!v[SW] && M <= 16) || (v[SK] * v[CK] > 1 && area > 1 << 20 && M > 128) ||
         K < 256 * v[SK] * v[CK] * (v[SK] * v[CK] > 1) ||
         (area > 1 << 22 && M > 128 && v[BM] * v[BN] < 128 * 96))) {
        return "not sensible";
    }
    if ((v[SPW] || v[EB] == 0) && items_of(v) * v[CM] * v[CN] * v[CK] > 132 * v[BPS]) {
        return "waits for blocks that have no place";
    }
    int slots = (K + v[BK] - 1) / v[BK];
    int tiles = items_of(v) / v[SK] * v[CM] * v[CN];
    if (v[SK] * v[CK] > slots) {
        return "too many parts";
    }
    if (v[SK] > 1 &&
        (tiles > 5000 || (size_t)tiles * (size_t)(v[SK] * v[BM] * v[BN]) * 4 + 65536 > WORKSPACE)) {
        return "workspace";
    }
    return NULL;
}

static void load_variant(variant *x)
{
    const int *v = x->v;
    OK(cuModuleLoadData(&x->module, x->cubin));
    if (cuModuleGetFunction(&x->function, x->module, "ak_kernel_sized") != 0) {
        OK(cuModuleGetFunction(&x->function, x->module, "ak_kernel"));
    }
    if (padded) {
        OK(cuModuleGetFunction(&x->pad, x->module, "ak_pad"));
    }
    x->shared = shared_bytes(v);
    OK(cuFuncSetAttribute(x->function, 8, x->shared));
    int cluster = v[CM] * v[CN] * v[CK];
    if (cluster > 8) {
        OK(cuFuncSetAttribute(x->function, 14, 1));
    }
    launch_attr attr = {.id = 4, .value = {(unsigned)cluster, 1, 1}};
    launch_config config = {(unsigned)cluster * 1000,
                            1,
                            1,
                            (unsigned)(v[NC] * 128 + v[PW] * 32),
                            1,
                            1,
                            (unsigned)x->shared,
                            NULL,
                            &attr,
                            1};
    OK(cuOccupancyMaxActiveClusters(&x->clusters, x->function, &config));
}

static uint64_t inverse_of(uint64_t divisor)
{
    return (((uint64_t)1 << 40) + divisor - 1) / divisor;
}

static void launch_ours(variant *x, int set)
{
    const int *v = x->v;
    tensor_map a, b, c = {0};
    encode_operand(&a, &(operand){A[set], padded_a, a_t, M, v[BM], v[CN]}, v);
    encode_operand(&b, &(operand){B[set], padded_b, b_t, N, v[BN], v[CM]}, v);
    if (!v[DS]) {
        encode(&c, &(view){C[set], N, M, N}, v[SW] ? 64 : v[EC], v[SW] ? own_columns(v) : 64,
               v[L2P]);
    }
    int cluster = v[CM] * v[CN] * v[CK], clusters = items_of(v);
    int limit = v[GRID] ? v[GRID] / cluster : x->clusters;
    if (v[CK] == 1 && !v[SPW] && v[EB] && clusters > limit) {
        clusters = limit;
    }
    if (padded) {
        int a_rows = a_t ? K : M, a_columns = a_t ? M : K, b_rows = b_t ? K : N;
        int b_columns = b_t ? N : K;
        long long place_a = 0, place_b = (long long)(padded_b - padded_a);
        void *pad_args[] = {&A[set],    &B[set],    &padded_a, &place_a,   &place_b,  &a_rows,
                            &a_columns, &a_columns, &b_rows,   &b_columns, &b_columns};
        OK(cuLaunchKernel(x->pad, 132 * 4, 1, 1, 256, 1, 1, 0, stream, pad_args, NULL));
    }
    float alpha = 1, beta = 0;
    devptr none = 0; /* neither C_in nor residual */
    uint64_t tiles_m = (uint64_t)((M + v[BM] * v[CM] - 1) / (v[BM] * v[CM]));
    uint64_t tiles_n = (uint64_t)((N + v[BN] * v[CN] - 1) / (v[BN] * v[CN]));
    uint64_t slow = v[R] ? tiles_n : tiles_m, fast = v[R] ? tiles_m : tiles_n;
    uint64_t by_group = inverse_of((uint64_t)v[G] * fast);
    uint64_t by_last = inverse_of((slow - 1) % (uint64_t)v[G] + 1);
    void *args[] = {&a, &b, &c, &C[set], &bias,  &none, &none,     &workspace,
                    &M, &N, &K, &N,      &alpha, &beta, &by_group, &by_last};
    launch_attr attr = {.id = 6, .value = {1}};
    launch_config config = {(unsigned)(clusters * cluster),
                            1,
                            1,
                            (unsigned)(v[NC] * 128 + v[PW] * 32),
                            1,
                            1,
                            (unsigned)x->shared,
                            stream,
                            &attr,
                            v[PDL] ? 1u : 0u};
    OK(cuLaunchKernelEx(&config, x->function, args, NULL));
}

static void *lt_desc[2], *lt_a, *lt_b, *lt_c;

static int launch_lt(lt_result *algo, int epilogue, int set)
{
    float one = 1, zero = 0;
    int code = cublasLtMatmul(lt, lt_desc[epilogue == 1], &one, (void *)B[set], lt_a,
                              (void *)A[set], lt_b, &zero, (void *)C[set], lt_c, (void *)C[set],
                              lt_c, algo->algo, (void *)lt_workspace, WORKSPACE, stream);
    if (code == 0 && epilogue == 2) {
        unsigned row = (unsigned)N / 8, blocks = (row + 255) / 256;
        unsigned down = 132 * 16 / blocks + 1;
        devptr b = has_bias ? bias : 0;
        void *args[] = {&C[set], &b, &M, &row, &activation};
        run_helper("bias_activation", blocks, down > (unsigned)M ? (unsigned)M : down, args);
    }
    return code;
}

static int run_once(contender *c, int set)
{
    if (c->ours != NULL) {
        launch_ours(c->ours, set);
        return 0;
    }
    return launch_lt(c->algo, c->epilogue, set);
}

/* Writes the name of the kernel that the first node of a recorded graph launches. */
static void name_kernel(void *graph, char *text, size_t size)
{
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void **params, **extra;
        void *kernel, *context;
    } node = {0};
    static void *nodes[4096];
    size_t count = 4096;
    const char *name = NULL;
    unsigned cluster[16] = {0};
    if (cuFuncGetName == NULL || cuKernelGetName == NULL ||
        cuGraphGetNodes(graph, nodes, &count) != 0 || count == 0 ||
        cuGraphKernelNodeGetParams_v2(nodes[0], &node) != 0) {
        return;
    }
    if (node.function != NULL) {
        cuFuncGetName(&name, node.function);
    } else {
        cuKernelGetName(&name, node.kernel);
    }
    cuGraphKernelNodeGetAttribute(nodes[0], 4 /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */, cluster);
    snprintf(text, size, "%s grid %ux%ux%u cluster %ux%ux%u", name == NULL ? "?" : name,
             node.grid[0], node.grid[1], node.grid[2], cluster[0], cluster[1], cluster[2]);
}

static bool record(contender *c, int reps)
{
    void *graph;
    static int turn;
    OK(cuStreamBeginCapture_v2(stream, 0));
    int code = 0;
    for (int i = 0; i < reps && code == 0; i++) {
        code = run_once(c, turn++ % sets);
    }
    OK(cuStreamEndCapture(stream, &graph));
    if (code == 0 && c->algo != NULL && c->kernel[0] == 0) {
        name_kernel(graph, c->kernel, sizeof c->kernel);
    }
    if (code == 0 && c->algo != NULL && cuGraphGetEdges_v2 != NULL) {
        /* Finds out whether the library lets its kernels start early, as `pdl` does. */
        static void *from[4096], *to[4096];
        static unsigned char data[4096][8];
        size_t edges = 4096;
        c->early = c->edges = 0;
        if (cuGraphGetEdges_v2(graph, from, to, data, &edges) == 0) {
            c->edges = (int)edges;
            for (size_t i = 0; i < edges; i++) {
                c->early += data[i][2] == 1; /* CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC */
            }
        }
    }
    if (code == 0) {
        OK(cuGraphInstantiateWithFlags(&c->exec, graph, 0));
    }
    OK(cuGraphDestroy(graph));
    c->reps = reps;
    return code == 0;
}

static void forget(contender *c)
{
    if (c->exec != NULL) {
        OK(cuGraphExecDestroy(c->exec));
        c->exec = NULL;
    }
}

static double replay(contender *c)
{
    float ms;
    OK(cuEventRecord(events[0], stream));
    OK(cuGraphLaunch(c->exec, stream));
    OK(cuEventRecord(events[1], stream));
    if (!wait_stream(20)) {
        printf("HANG: %s\n", c->name);
        fflush(stdout);
        _Exit(4);
    }
    OK(cuEventElapsedTime(&ms, events[0], events[1]));
    return ms * 1e-3 / c->reps;
}

static int clamp_reps(double total, double each, int low, int high)
{
    double n = total / each;
    return n < low ? low : n > high ? high : (int)n;
}

/* Times a contender roughly: the best of three replays of about half a millisecond. */
static bool time_quickly(contender *c, double guess)
{
    if (!record(c, clamp_reps(5e-4, guess, 2, 60))) {
        return false;
    }
    double best = 1e9;
    replay(c);
    for (int i = 0; i < 3; i++) {
        double t = replay(c);
        best = t < best ? t : best;
    }
    c->quick = best;
    forget(c);
    return true;
}

static double error_of(bool all, double *worst, double *bad, int first, int step, int rows)
{
    double r[4];
    OK(cuMemsetD32Async(result, 0, 8, stream));
    uint64_t count = (uint64_t)M * (uint64_t)N;
    void *args_all[] = {&result, &C[0], &C_lt, &count};
    void *args[] = {&result, &C[0], &reference_rows, &M, &N, &first, &step, &rows};
    run_helper(all ? "compare_all" : "compare_rows", 1056, 1, all ? args_all : args);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(r, result, sizeof r));
    *worst = r[2];
    *bad = r[3];
    return sqrt(r[0] / (r[1] > 0 ? r[1] : 1));
}

static int by_quick(const void *a, const void *b)
{
    double x = ((const contender *)a)->quick, y = ((const contender *)b)->quick;
    return x < y ? -1 : x > y;
}

static FILE *details;
static double round_seconds = 0.004;
static int semi_each = 20; /* contenders of each side that are timed again on a hot device */
static int rounds = 21;
static double geomean_best, geomean_first;
static int geomean_count;
static bool check_only, compile_sizes, profile;
static int lt_limit = LT_MAX; /* --lt: limit on cuBLASLt's heuristics */

static void run_shape(int m, int n, int k)
{
    static contender ours[VARIANTS_MAX + FINAL_STATIC], libs[2 * LT_MAX + 4];
    static lt_result found[2][LT_MAX];
    int ours_count = 0, libs_count = 0, lt_count[2] = {0, 0};
    size_t at = 0;
    M = m;
    N = n;
    K = k;
    const size_t a_bytes = (size_t)m * (size_t)k * 2, b_bytes = (size_t)n * (size_t)k * 2;
    const size_t c_bytes = (size_t)m * (size_t)n * 2, each = a_bytes + b_bytes + c_bytes;
    sets = (int)((ROTATE + each - 1) / each);
    sets = sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : sets;
    bias = take(&at, (size_t)n * 2);
    padded_a = take(&at, (size_t)(a_t ? k : m) * (size_t)pitch_of(a_t ? m : k) * 2);
    padded_b = take(&at, (size_t)(b_t ? k : n) * (size_t)pitch_of(b_t ? n : k) * 2);
    C_lt = take(&at, c_bytes);
    for (int i = 0; i < sets; i++) {
        A[i] = take(&at, a_bytes);
        B[i] = take(&at, b_bytes);
        C[i] = take(&at, c_bytes);
        fill(A[i], a_bytes / 2, (uint64_t)(3 * i + 1));
        fill(B[i], b_bytes / 2, (uint64_t)(3 * i + 2));
    }
    fill(bias, (uint64_t)n, 99);
    /* The reference has at most 48 rows, spread over the matrix, unless the product is small. */
    int rows = m < 48 ? m : 48;
    if ((double)m * n * k < 3e8) {
        rows = m;
    }
    int step = m / rows, first = rows < m ? (m - 1) % step : 0;
    reference_rows = take(&at, (size_t)rows * (size_t)n * 8);
    devptr no_bias = 0;
    void *ref_args[] = {&reference_rows,
                        &A[0],
                        &B[0],
                        has_bias ? &bias : &no_bias,
                        &M,
                        &N,
                        &K,
                        &a_t,
                        &b_t,
                        &first,
                        &step,
                        &rows,
                        &activation};
    run_helper("reference", (unsigned)(n + 255) / 256, (unsigned)rows, ref_args);

    /* cuBLASLt computes the transposed product in its column-major terms */
    int type = f16 ? 2 : 14, op_n = 0, op_t = 1;
    OK(cublasLtMatrixLayoutCreate(&lt_a, type, (uint64_t)(b_t ? n : k), (uint64_t)(b_t ? k : n),
                                  b_t ? n : k));
    OK(cublasLtMatrixLayoutCreate(&lt_b, type, (uint64_t)(a_t ? m : k), (uint64_t)(a_t ? k : m),
                                  a_t ? m : k));
    OK(cublasLtMatrixLayoutCreate(&lt_c, type, (uint64_t)n, (uint64_t)m, n));
    bool lt_fuses = activation == 0 || activation == 1 || activation == 3;
    for (int e = 0; e < 2; e++) {
        void *pref;
        size_t ws = WORKSPACE;
        OK(cublasLtMatmulDescCreate(&lt_desc[e], 68, 0));
        OK(cublasLtMatmulDescSetAttribute(lt_desc[e], 3, b_t ? &op_n : &op_t, 4));
        OK(cublasLtMatmulDescSetAttribute(lt_desc[e], 4, a_t ? &op_t : &op_n, 4));
        bool wanted = e == 0 || (lt_fuses && (activation || has_bias));
        if (e == 1 && wanted) {
            int epilogue = (activation == 1 ? 2 : activation == 3 ? 32 : 1) | (has_bias ? 4 : 0);
            epilogue = epilogue == 5 ? 4 : epilogue;
            OK(cublasLtMatmulDescSetAttribute(lt_desc[e], 7, &epilogue, 4));
            if (has_bias) {
                OK(cublasLtMatmulDescSetAttribute(lt_desc[e], 8, &bias, 8));
            }
        }
        OK(cublasLtMatmulPreferenceCreate(&pref));
        OK(cublasLtMatmulPreferenceSetAttribute(pref, 1, &ws, sizeof ws));
        if (wanted) {
            int code = cublasLtMatmulAlgoGetHeuristic(lt, lt_desc[e], lt_a, lt_b, lt_c, lt_c, pref,
                                                      lt_limit, found[e], &lt_count[e]);
            if (code != 0) {
                printf("heuristics: %d\n", code);
                lt_count[e] = 0;
            }
        }
    }
    double guess = 2.0 * m * n * k / 5e14 + 4e-6;
    bool fused = activation || has_bias;
    double best_plain = 1e9;
    lt_result *plain = NULL;
    memset(libs, 0, sizeof libs);
    for (int e = 0; e < 2; e++) {
        for (int i = 0; i < (check_only && lt_count[e] > 1 ? 1 : lt_count[e]); i++) {
            contender *c = &libs[libs_count];
            *c = (contender){.algo = &found[e][i], .epilogue = e};
            /* numbers of cublasLtMatmulTile_t, parts of K, cublasLtMatmulStages_t,
             * cublasLtClusterShape_t */
            int attributes[4] = {0};
            static const int wanted_attributes[4] = {1, 2, 6, 8};
            for (int j = 0; j < 4; j++) {
                size_t written;
                cublasLtMatmulAlgoConfigGetAttribute(c->algo, wanted_attributes[j], &attributes[j],
                                                     j == 3 ? 2 : 4, &written);
            }
            snprintf(c->name, sizeof c->name,
                     "cublasLt%s #%d tile=%d split=%d stages=%d cluster=%d", e ? "+epilogue" : "",
                     i, attributes[0], attributes[1], attributes[2], attributes[3]);
            if (found[e][i].state != 0 || !time_quickly(c, guess)) {
                continue;
            }
            if (e == 0 && c->quick < best_plain) {
                best_plain = c->quick;
                plain = c->algo;
            }
            libs_count += fused && e == 0 ? 0 : 1; /* a plain product does only half the work */
        }
    }
    if (fused && plain != NULL && n % 8 == 0) {
        contender *c = &libs[libs_count];
        *c = (contender){.algo = plain, .epilogue = 2, .name = "cublasLt plain + elementwise"};
        libs_count += time_quickly(c, guess);
    }
    if (libs_count == 0) {
        printf("no cuBLASLt result for %dx%dx%d\n", m, n, k);
        return;
    }
    contender lt_first = libs[0];
    /* All elements of its result are kept, to compare the variants with them. */
    OK(cuMemsetD32Async(C[0], POISON, (c_bytes + 3) / 4, stream));
    run_once(&libs[0], 0);
    OK(cuStreamSynchronize(stream));
    double worst, bad;
    double lt_error = error_of(false, &worst, &bad, first, step, rows);
    devptr swap = C[0];
    C[0] = C_lt;
    C_lt = swap;

    char name[48];
    snprintf(name, sizeof name, " %dx%dx%d ", m, n, k);
    int wrong = 0, tried = variant_count;
    variant *specials = calloc(FINAL_STATIC, sizeof *specials);
    for (int i = 0; i < tried; i++) {
        variant *x = i < variant_count ? &variants[i] : &specials[i - variant_count];
        if (i == variant_count - 1 && compile_sizes && !check_only) {
            /* The best are compiled once more with the sizes as constants. */
            qsort(ours, (size_t)ours_count, sizeof *ours, by_quick);
            int count = ours_count < FINAL_STATIC ? ours_count : FINAL_STATIC;
            for (int j = 0; j < count; j++) {
                specials[j] = *ours[j].ours;
                specials[j].module = NULL;
                memcpy(specials[j].size, (int[3]){m, n, k}, sizeof specials[j].size);
                strcat(specials[j].text, " static");
            }
            compile_all(specials, count);
            tried += count;
        }
        if (x->failed || unfit(x->v) != NULL ||
            (x->shapes != NULL && strstr(x->shapes, name) == NULL)) {
            continue;
        }
        contender *c = &ours[ours_count];
        *c = (contender){.ours = x};
        snprintf(c->name, sizeof c->name, "%s", x->text);
        if (x->module == NULL) {
            load_variant(x);
        }
        if (x->clusters == 0 || (x->v[SPW] && items_of(x->v) > x->clusters)) {
            continue;
        }
        if (details) {
            fprintf(details, "try %dx%dx%d %s\n", m, n, k, x->text);
            fflush(details);
        }
        OK(cuMemsetD32Async(C[0], POISON, (c_bytes + 3) / 4, stream));
        /* three in a row, because leftovers of one launch must not affect the next */
        for (int j = 0; j < 3; j++) {
            launch_ours(x, 0);
        }
        if (!wait_stream(5)) {
            printf("HANG %dx%dx%d: %s\n", m, n, k, x->text);
            fflush(stdout);
            _Exit(4);
        }
        double worst_all, bad_all;
        c->error = error_of(false, &worst, &bad, first, step, rows);
        double against_lt = error_of(true, &worst_all, &bad_all, 0, 0, 0);
        if (!(c->error < lt_error * 1.5 + 1e-5) || bad > 0 || bad_all > 0 || !(against_lt < 6e-3)) {
            printf("WRONG %dx%dx%d: %s: error %.3g (cublasLt %.3g), against it %.3g, not finite "
                   "%.0f %.0f\n",
                   m, n, k, x->text, c->error, lt_error, against_lt, bad, bad_all);
            if (++wrong > 12) {
                break;
            }
            continue;
        }
        if (!check_only) {
            time_quickly(c, guess);
        }
        ours_count++;
    }
    if (check_only) {
        printf("%dx%dx%d: %d variants right, %d wrong; error cublasLt %.3g, last %.3g\n", m, n, k,
               ours_count, wrong, lt_error, ours_count ? ours[ours_count - 1].error : 0);
        fflush(stdout);
        return;
    }
    if (ours_count == 0) {
        printf("no variant of ours for %dx%dx%d\n", m, n, k);
        return;
    }
    qsort(ours, (size_t)ours_count, sizeof *ours, by_quick);
    qsort(libs, (size_t)libs_count, sizeof *libs, by_quick);
    if (details) {
        for (int i = 0; i < ours_count; i++) {
            fprintf(details, "quick %dx%dx%d %.2f us %.1f TF  %s\n", m, n, k, ours[i].quick * 1e6,
                    2.0 * m * n * k / ours[i].quick * 1e-12, ours[i].name);
        }
        for (int i = 0; i < libs_count && i < 8; i++) {
            fprintf(details,
                    "quick %dx%dx%d %.2f us %.1f TF  %s (%d of %d edges programmatic) %s\n", m, n,
                    k, libs[i].quick * 1e6, 2.0 * m * n * k / libs[i].quick * 1e-12, libs[i].name,
                    libs[i].early, libs[i].edges, libs[i].kernel);
        }
    }
    /* A short run may not reach the power limit that a long one does. So the best of both sides are
       timed again on a hot device, and this order counts. */
    const int semi_ours = ours_count < semi_each ? ours_count : semi_each,
              semi_lt = libs_count < semi_each ? libs_count : semi_each;
    const int semi = semi_ours + semi_lt;
    for (int i = 0; i < semi; i++) {
        contender *c = i < semi_ours ? &ours[i] : &libs[i - semi_ours];
        record(c, clamp_reps(round_seconds, c->quick, 4, 400));
    }
    for (int r = -1; r < 4; r++) {
        for (int i = 0; i < semi; i++) {
            const int j = r % 2 ? semi - 1 - i : i;
            contender *c = j < semi_ours ? &ours[j] : &libs[j - semi_ours];
            double t = replay(c);
            if (r >= 0) {
                c->time[r] = t;
            }
        }
    }
    for (int i = 0; i < semi; i++) {
        contender *c = i < semi_ours ? &ours[i] : &libs[i - semi_ours];
        c->quick = percentile(c->time, 4, 0.5);
        forget(c);
    }
    qsort(ours, (size_t)semi_ours, sizeof *ours, by_quick);
    qsort(libs, (size_t)semi_lt, sizeof *libs, by_quick);
    if (details) {
        for (int i = 0; i < semi_ours; i++) {
            fprintf(details, "semi %dx%dx%d %.2f us %.1f TF  %s\n", m, n, k, ours[i].quick * 1e6,
                    2.0 * m * n * k / ours[i].quick * 1e-12, ours[i].name);
        }
    }
    contender *final[FINAL_OURS + FINAL_LT + 1];
    int count = 0, lt_from;
    for (int i = 0; i < FINAL_OURS && i < ours_count; i++) {
        final[count++] = &ours[i];
    }
    lt_from = count;
    for (int i = 0; i < FINAL_LT && i < libs_count; i++) {
        final[count++] = &libs[i];
    }
    final[count++] = &lt_first;
    for (int i = 0; i < count; i++) {
        record(final[i], clamp_reps(round_seconds, final[i]->quick, 4, 400));
        replay(final[i]);
    }
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < count; i++) {
            contender *c = final[r % 2 ? count - 1 - i : (i + r / 2) % count];
            c->time[r] = replay(c);
        }
    }
    int best = 0, best_lt = lt_from;
    for (int i = 0; i < count; i++) {
        final[i]->median = percentile(final[i]->time, rounds, 0.5);
        if (i < lt_from && final[i]->median < final[best]->median) {
            best = i;
        }
        if (i >= lt_from && final[i]->median < final[best_lt]->median) {
            best_lt = i;
        }
        if (details) {
            fprintf(details, "final %dx%dx%d %.2f us %.1f TF  %s\n", m, n, k,
                    final[i]->median * 1e6, 2.0 * m * n * k / final[i]->median * 1e-12,
                    i == count - 1 ? "lt_first" : final[i]->name);
        }
        forget(final[i]);
    }
    double ratio[ROUNDS_MAX];
    for (int r = 0; r < rounds; r++) {
        ratio[r] = final[best_lt]->time[r] / final[best]->time[r];
    }
    double tf = 2.0 * m * n * k * 1e-12, mid = percentile(ratio, rounds, 0.5);
    double first_ratio = final[count - 1]->median / final[best]->median;
    printf("%5dx%5dx%5d %8.2f us %6.1f | lt_best %6.1f lt_first %6.1f | %.3f [%.3f %.3f] %.3f | %s "
           "| %s err %.2g/%.2g "
           "n=%d\n",
           m, n, k, final[best]->median * 1e6, tf / final[best]->median,
           tf / final[best_lt]->median, tf / final[count - 1]->median, mid,
           percentile(ratio, rounds, 0.1), percentile(ratio, rounds, 0.9), first_ratio,
           final[best]->name, final[best_lt]->name, final[best]->error, lt_error, ours_count);
    fflush(stdout);
    if (profile) {
        /* Runs the best of each side once more for a profiler, which must be started with the
           option to begin at cuProfilerStart. */
        OK(cuProfilerStart());
        run_once(final[best], 0);
        run_once(final[best_lt], 1);
        OK(cuStreamSynchronize(stream));
        OK(cuProfilerStop());
    }
    geomean_best += log(mid);
    geomean_first += log(first_ratio);
    geomean_count++;
}

int main(int argc, char **argv)
{
    bool compile_only = false;
    int shapes = 0;
    int shape[200][3];
    const char *root = ".";
    const char *const lt_names[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13",
                                    NULL};
    for (int i = 1; i < argc; i++) {
        int m, n, k;
        if (!strcmp(argv[i], "--compile")) {
            compile_only = true;
        } else if (!strcmp(argv[i], "--check")) {
            check_only = true;
        } else if (!strcmp(argv[i], "--sensible")) {
            only_sensible = true;
        } else if (!strcmp(argv[i], "--static")) {
            compile_sizes = true;
        } else if (!strcmp(argv[i], "--profile")) {
            profile = true;
            arena_bytes = (size_t)1 << 30; /* a profiler saves and restores it */
        } else if (!strcmp(argv[i], "--f16")) {
            f16 = true;
        } else if (!strcmp(argv[i], "--padded")) {
            padded = 1;
        } else if (!strcmp(argv[i], "--direct")) {
            direct = 1;
        } else if (!strcmp(argv[i], "--bias")) {
            has_bias = 1;
        } else if (!strncmp(argv[i], "--act=", 6)) {
            for (activation = 0; strcmp(activation_names[activation], argv[i] + 6); activation++) {
                if (activation_names[activation + 1] == NULL) {
                    printf("unknown activation\n");
                    return 2;
                }
            }
        } else if (!strncmp(argv[i], "--layout=", 9)) { /* nn: A and B are both row-major */
            a_t = argv[i][9] == 't';
            b_t = argv[i][10] == 'n';
        } else if (!strncmp(argv[i], "--threads=", 10)) {
            threads = atoi(argv[i] + 10);
        } else if (!strncmp(argv[i], "--lt=", 5)) {
            const int most = atoi(argv[i] + 5);
            lt_limit = most < 1 ? 1 : most > LT_MAX ? LT_MAX : most;
        } else if (!strncmp(argv[i], "--rounds=", 9)) {
            rounds = atoi(argv[i] + 9);
        } else if (!strncmp(argv[i], "--semi=", 7)) {
            semi_each = atoi(argv[i] + 7);
        } else if (!strncmp(argv[i], "--ms=", 5)) {
            round_seconds = atof(argv[i] + 5) * 1e-3;
        } else if (!strncmp(argv[i], "--root=", 7)) {
            root = argv[i] + 7;
        } else if (!strncmp(argv[i], "--details=", 10)) {
            details = fopen(argv[i] + 10, "a");
        } else if (sscanf(argv[i], "%dx%dx%d", &m, &n, &k) == 3) {
            shape[shapes][0] = m;
            shape[shapes][1] = n;
            shape[shapes++][2] = k;
        } else {
            char *text = read_file(argv[i], 1 << 20);
            for (char *save, *line = strtok_r(text, "\n", &save); line;
                 line = strtok_r(NULL, "\n", &save)) {
                if (line[0] != '#') {
                    add_variant(line);
                }
            }
            free(text);
        }
        if (i == 1) {
            b_t = 1;
            if (!strncmp(argv[i], "--layout=", 9)) {
                b_t = argv[i][10] == 'n';
            }
        }
    }
    char path[600];
    static const char *const parts[] = {
        "kernels/matmul/cuda_wgmma.cu", "kernels/matmul/cuda_gpc.cu",
        "kernels/matmul_act/cuda_activation.cu", "kernels/matmul/cuda_gemm_sm90.cu"};
    source = calloc(1, 1 << 20);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s/%s", root, parts[i]);
        char *text = read_file(path, 1 << 20);
        strcat(source, text);
        free(text);
    }
    open_nvrtc();
    double start = seconds();
    compile_all(variants, variant_count);
    int failed = 0;
    for (int i = 0; i < variant_count; i++) {
        if (variants[i].failed) {
            failed++;
            printf("rejected: %s: %s\n", variants[i].text, variants[i].why);
            if (compile_only && failed == 1 && variants[i].cubin == NULL) {
                printf("%.2000s\n", variants[i].log);
            }
        } else if (compile_only) {
            printf("%3d registers %6d shared: %s\n", variants[i].registers,
                   shared_bytes(variants[i].v), variants[i].text);
        }
    }
    printf("# %d variants, %d rejected, compiled in %.1f s\n", variant_count, failed,
           seconds() - start);
    if (compile_only) {
        return 0;
    }
    void *cublas = open_library(lt_names);
    if (cublas == NULL) {
        printf("no cuBLASLt: %s\n", dlerror());
        return 2;
    }
#define LT(name, args) *(void **)&name = symbol(cublas, #name);
    CUBLASLT(LT)
    *(void **)&cublasLtGetVersion = symbol(cublas, "cublasLtGetVersion");
    int version;
    char name[128];
    void *cuda = open_driver(name, &version, arena_bytes);
    *(void **)&cuGraphGetEdges_v2 = dlsym(cuda, "cuGraphGetEdges_v2");
    *(void **)&cuFuncGetName = dlsym(cuda, "cuFuncGetName");
    *(void **)&cuKernelGetName = dlsym(cuda, "cuKernelGetName");
    OK(cuMemAlloc_v2(&workspace, WORKSPACE));
    OK(cuMemAlloc_v2(&lt_workspace, WORKSPACE));
    OK(cuMemsetD32Async(workspace, 0, WORKSPACE / 4, stream));
    OK(cublasLtCreate(&lt));
    char *options[64], *cubin = NULL, *log = NULL;
    snprintf(path, sizeof path, "%s/bench/cuda/helpers.cu", root);
    char *text = read_file(path, 1 << 20);
    if (nvrtc_compile(&cubin, &log, text, "helpers.cu", (const char *const *)options,
                      option_list(options, NULL, NULL)) != 0) {
        printf("%s\n", log);
        return 2;
    }
    OK(cuModuleLoadData(&helpers, cubin));
    printf("# %s, driver API %d, cuBLASLt %zu, %s, layout %c%c, bias %d, activation %s, workspace "
           "%zu MiB, %d rounds of "
           "%.0f ms\n",
           name, version, cublasLtGetVersion(), f16 ? "f16" : "bf16", a_t ? 't' : 'n',
           b_t ? 'n' : 't', has_bias, activation_names[activation], WORKSPACE >> 20, rounds,
           round_seconds * 1e3);
    fflush(stdout);
    for (int i = 0; i < shapes; i++) {
        run_shape(shape[i][0], shape[i][1], shape[i][2]);
    }
    if (geomean_count > 0) {
        printf("# geomean of %d shapes: %.3f against lt_best, %.3f against lt_first\n",
               geomean_count, exp(geomean_best / geomean_count),
               exp(geomean_first / geomean_count));
    }
    fflush(NULL);
    _Exit(0);
}
