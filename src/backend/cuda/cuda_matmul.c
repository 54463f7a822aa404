/*
 * cuda_matmul.c: cuBLASLt, the library that matrix products are compared with.
 *
 *   cublaslt           the first answer of its heuristics, as for a program that asks for one only
 *   cublaslt-best      the fastest of all answers: all are timed here, the best of them again, and
 *                      the top five in turn; this is the best that its heuristics offer
 *   cublaslt-unfused   the same for the plain product, followed by our elementwise pass
 *   cublaslt-fast      cublaslt-best with fast accumulation, which 8-bit floats have: partial sums
 *                      stay in the tensor cores, with fewer bits
 *
 * All have 64 MiB of workspace. Row-major C = A * B is C' = B' * A' in the library's column-major
 * terms. For a bias and an activation all but cublaslt-unfused use the library's own epilogue if it
 * has one (bias, relu, tanh-gelu; none if a residual is added last); if not, they are unfused
 * themselves, and there is no cublaslt-unfused. No pass follows if C is e4m3, because C would then
 * be rounded twice. The algorithm is chosen at the first launch, on the rotating copies of the
 * task's own arguments, and kept for the life of the device.
 *
 * Not every answer is accurate: some split K and round partial sums to the type of C. If a result
 * is judged wrong (judge/loaded.c), `another` goes on to the next answer in the order of speed
 * or, for the first heuristic, in the library's own order. So an algorithm is judged only when it
 * is chosen, and the library is refused only if no algorithm is right.
 *
 * This file is long because one state holds the descriptors, the answers and their times, from the
 * request to the choice.
 */
#include "backend/cuda/cuda_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "measure/stats.h"

/* The library gives at most about 140 answers for one product, even if more are asked for. */
#define HEURISTICS_MAX 200
#define FINALS_MAX     5
#define FINAL_ROUNDS   7
/* Intended duration of one timing: in the first look, at all answers; in the second, at those near
   the best; and in the finals. A timing of a product that takes milliseconds is longer, because
   each has at least two runs. */
#define FIRST_NS       (AK_MS_NS / 5)
#define SECOND_NS      AK_MS_NS
#define FINAL_NS       (3 * AK_MS_NS)
#define SECOND_LOOKS   16
#define NEAR           1.25
#define RUNS_MAX       60
#define ONE_TIMEOUT_NS (20 * AK_SECOND_NS)
/* Sizes of the elementwise pass. */
#define VECTOR_BYTES 16
#define PASS_THREADS 256
#define PASS_ROWS    4

/* X(member, constant of cublasLt.h and library_types.h, value) */
#define CUBLASLT_CONSTANTS(X)                                                                      \
    X(COMPUTE_F32, CUBLAS_COMPUTE_32F, 68)                                                         \
    X(COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                              \
    X(TYPE_F32, CUDA_R_32F, 0)                                                                     \
    X(TYPE_F16, CUDA_R_16F, 2)                                                                     \
    X(TYPE_BF16, CUDA_R_16BF, 14)                                                                  \
    X(TYPE_E4M3, CUDA_R_8F_E4M3, 28)                                                               \
    X(TYPE_E5M2, CUDA_R_8F_E5M2, 29)                                                               \
    X(DESC_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                            \
    X(DESC_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                            \
    X(DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                             \
    X(DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                             \
    X(DESC_SCALE_A, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17)                                      \
    X(DESC_SCALE_B, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18)                                      \
    X(DESC_SCALE_D, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 20)                                      \
    X(DESC_FAST, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25)                                              \
    X(DESC_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26)                                     \
    X(DESC_SCALE_MODE_A, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 31)                                    \
    X(DESC_SCALE_MODE_B, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 32)                                    \
    X(SCALE_TENSOR, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, 0)                                    \
    X(SCALE_ROWS, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, 3)                                   \
    X(SCALE_128, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, 4)                                       \
    X(SCALE_128X128, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F, 5)                               \
    X(EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT, 1)                                                 \
    X(EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU, 2)                                                    \
    X(EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                                    \
    X(EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU, 32)                                                   \
    X(PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                           \
    X(PREFERENCE_REDUCTION, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                         \
    X(REDUCTION_ANY, CUBLASLT_REDUCTION_SCHEME_MASK, 7)                                            \
    X(REDUCTION_WIDE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                                   \
    X(ALGO_ID, CUBLASLT_ALGO_CONFIG_ID, 0)                                                         \
    X(ALGO_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID, 1)                                                  \
    X(ALGO_SPLIT_K, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)
enum {
#define CUBLASLT_ENUM(member, constant, value) LT_##member = (value),
    CUBLASLT_CONSTANTS(CUBLASLT_ENUM)
#undef CUBLASLT_ENUM
};

static const struct role {
    const char *name, *title;
    bool all;     /* all answers of the heuristics; else the first */
    bool unfused; /* two passes, even if there is an epilogue */
    bool fast;    /* fast accumulation of 8-bit floats */
} roles[] = {
    {"cublaslt", "cuBLASLt, its first heuristic", false, false, false},
    {"cublaslt-best", "cuBLASLt, best of its heuristics", true, false, false},
    {"cublaslt-unfused", "cuBLASLt, best of its heuristics, unfused", true, true, false},
    {"cublaslt-fast", "cuBLASLt, best of its heuristics, fast accumulation", true, false, true},
};
enum { ROLES = AK_COUNT(roles) };

typedef enum way { MODE_PLAIN, MODE_FUSED, MODE_TWO_PASSES, MODES } way;

/* The requests to the library, in this order. The first one is that of a program that wants a
   single algorithm. The last one admits only algorithms that add the partial sums of a split along
   K in f32. To the other requests the library may also answer with algorithms that add these sums
   in C or in C's type, which rounds them. */
static const struct request {
    int wanted;
    uint32_t reductions;
} requests[] = {
    {1, LT_REDUCTION_ANY}, {HEURISTICS_MAX, LT_REDUCTION_ANY}, {HEURISTICS_MAX, LT_REDUCTION_WIDE}};
enum { REQUESTS = AK_COUNT(requests), ANSWERS_MAX = 1 + 2 * HEURISTICS_MAX };

/* One of the library's algorithms. */
typedef struct candidate {
    ak_cublaslt_result algo;
    int index; /* index among all distinct answers */
    double ns; /* time of one run; 0: not timed */
    double rounds[FINAL_ROUNDS];
} candidate;

/* What was chosen for a role, and the answers that are left to choose from. */
typedef struct choice {
    size_t ways_tried;
    way mode;
    /* Up to ANSWERS_MAX answers that are left, in the order in which they are used. NULL until they
       are collected. */
    candidate *list;
    size_t count;     /* the first of them is in use */
    size_t in_finals; /* how many at the head of the list were in finals */
    int of, rejected; /* numbers of distinct answers, and of those that were inaccurate */
} choice;

struct ak_cublaslt_state {
    const ak_cublaslt *lt;
    void *handle;
    void *helper, *pass; /* module and elementwise kernel; NULL until needed */
    int pass_blocks;     /* blocks of the elementwise kernel that the device holds at once */
    choice chosen[ROLES];
};

struct ak_cuda_product {
    size_t role;
    void *desc[2];       /* without and with epilogue */
    void *a, *b, *c, *d; /* layouts; c: what is added; d: C, whose type differs if it is e4m3 */
    way mode;
    ak_cublaslt_result algo;
};

/* The task as this file needs it. */
typedef struct terms {
    int64_t m, n, k, lda, ldb, ldc;
    /* Indices of arguments; bias is SIZE_MAX if none is added. */
    size_t a, b, c, bias;
    /* What the library adds, times beta: C_in, or the residual if there is neither C_in nor an
       activation; SIZE_MAX: nothing. */
    size_t addend;
    size_t residual; /* what the pass adds; SIZE_MAX: nothing */
    float alpha, beta;
    bool a_transposed, b_transposed;
    int type, type_a, type_b;   /* of C_in, the residual and the bias; of A and B */
    int type_c;                 /* of C: `type` or e4m3 */
    size_t scale_a, scale_b;    /* arguments with scales; SIZE_MAX: none */
    size_t scale_c;             /* of C, if that is e4m3; else SIZE_MAX */
    int32_t scales_a, scales_b; /* what shares one scale: an LT_SCALE constant */
    /* LT_EPILOGUE_NONE: none is needed; 0: the library has none for this. */
    int epilogue;
    bool two_step; /* a bias, an activation or a residual follows the product */
    bool tf32;     /* factors of f32 may be rounded to tf32 */
} terms;

/* ---- the task -------------------------------------------------------------------------------- */

static bool argument(size_t *out, const ak_task *task, const char *name)
{
    const size_t i = AK_FIND(task->problem->arguments, task->problem->argument_count, name, name);
    if (i < task->problem->argument_count) {
        *out = i;
    }
    return i < task->problem->argument_count;
}

static const char *text_of(const ak_task *task, const char *name, const char *fallback)
{
    ak_value value;
    return ak_scope_get(&value, task->constants, name) && value.type == AK_VALUE_STRING
               ? value.as.string
               : fallback;
}

static double number_of(const ak_task *task, const char *name, double fallback)
{
    ak_value value;
    return ak_scope_get(&value, task->constants, name) && value.type == AK_VALUE_REAL
               ? value.as.real
               : fallback;
}

static int type_of_byte(ak_dtype dtype)
{
    return dtype == AK_DTYPE_E5M2 ? LT_TYPE_E5M2 : LT_TYPE_E4M3;
}

/* Reads what only matmul_fp8 has: 8-bit factors, always in layout nt, and their scales. */
static void read_scales(terms *t, const ak_task *task)
{
    if (!argument(&t->scale_a, task, "scale_a") || !argument(&t->scale_b, task, "scale_b")) {
        return;
    }
    const char *scales = text_of(task, "scales", "tensor");
    bool blocks = strcmp(scales, "blocks") == 0;
    t->type_a = type_of_byte(ak_task_argument_dtype(task, t->a));
    t->type_b = type_of_byte(ak_task_argument_dtype(task, t->b));
    if (ak_task_argument_dtype(task, t->c) == AK_DTYPE_E4M3) {
        t->type_c = LT_TYPE_E4M3;
        (void)argument(&t->scale_c, task, "scale_c");
    }
    t->b_transposed = true;
    t->scales_a = t->scales_b = strcmp(scales, "rows") == 0 ? LT_SCALE_ROWS : LT_SCALE_TENSOR;
    t->scales_a = blocks ? LT_SCALE_128 : t->scales_a;
    t->scales_b = blocks ? LT_SCALE_128X128 : t->scales_b;
}

static terms terms_of(const ak_task *task)
{
    const int64_t *size = task->shape.size; /* M, N, K, as the problem declares them */
    terms t = {.m = size[0],
               .n = size[1],
               .k = size[2],
               .bias = SIZE_MAX,
               .addend = SIZE_MAX,
               .residual = SIZE_MAX,
               .scale_a = SIZE_MAX,
               .scale_b = SIZE_MAX,
               .scale_c = SIZE_MAX,
               .alpha = (float)number_of(task, "alpha", 1.0),
               .beta = (float)number_of(task, "beta", 0.0)};
    const char *activation = text_of(task, "activation", "none");
    const char *layout = text_of(task, "layout", "nn");
    (void)argument(&t.a, task, "A");
    (void)argument(&t.b, task, "B");
    (void)argument(&t.c, task, "C");
    bool bias =
        strcmp(text_of(task, "bias", "none"), "add") == 0 && argument(&t.bias, task, "bias");
    t.lda = (int64_t)task->shape.pitch[t.a];
    t.ldb = (int64_t)task->shape.pitch[t.b];
    t.ldc = (int64_t)task->shape.pitch[t.c];
    if (t.beta != 0) {
        (void)argument(&t.addend, task, "C_in");
    }
    if (strcmp(text_of(task, "residual", "none"), "add") == 0) {
        bool folds = t.beta == 0 && strcmp(activation, "none") == 0;
        (void)argument(folds ? &t.addend : &t.residual, task, "residual");
        t.beta = folds ? 1.0F : t.beta;
    }
    t.a_transposed = layout[0] == 't';
    t.b_transposed = layout[0] != 0 && layout[1] == 't';
    t.type = task->dtype == AK_DTYPE_F16    ? LT_TYPE_F16
             : task->dtype == AK_DTYPE_BF16 ? LT_TYPE_BF16
                                            : LT_TYPE_F32;
    t.type_a = t.type_b = t.type_c = t.type;
    t.tf32 = ak_cuda_is_tf32(task->constants, task->dtype);
    read_scales(&t, task);
    bool last = t.residual != SIZE_MAX; /* added after the activation */
    t.two_step = bias || last || strcmp(activation, "none") != 0;
    int step = strcmp(activation, "none") == 0        ? 0
               : strcmp(activation, "relu") == 0      ? LT_EPILOGUE_RELU
               : strcmp(activation, "gelu_tanh") == 0 ? LT_EPILOGUE_GELU
                                                      : -1;
    t.epilogue = step < 0 || last ? 0 : (step | (bias ? LT_EPILOGUE_BIAS : 0));
    t.epilogue = step == 0 && !bias && !last ? LT_EPILOGUE_NONE : t.epilogue;
    return t;
}

static bool product_applies(const ak_task *task)
{
    return strcmp(task->problem->name, "matmul") == 0 ||
           strcmp(task->problem->name, "matmul_act") == 0 ||
           strcmp(task->problem->name, "matmul_fp8") == 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static ak_status open_state(ak_device *device, ak_error *err)
{
    if (device->lt != NULL) {
        return AK_OK;
    }
    ak_cublaslt_state *state;
    AK_DO(AK_NEW(state, 1, err));
    ak_status status = ak_cublaslt_open(&state->lt, err);
    if (status == AK_OK && state->lt->create(&state->handle) != 0) {
        status = ak_fail(err, AK_UNAVAILABLE, "cuBLASLt does not start on this device");
    }
    if (status != AK_OK) {
        ak_free(state);
        return status;
    }
    device->lt = state;
    return AK_OK;
}

static void product_close(ak_device *device)
{
    ak_cublaslt_state *state = device->lt;
    if (state != NULL) {
        if (!device->lost) {
            if (state->helper != NULL) {
                (void)device->cuda->module_unload(state->helper);
            }
            (void)state->lt->destroy(state->handle);
        }
        for (size_t i = 0; i < ROLES; i++) {
            ak_free(state->chosen[i].list);
        }
        ak_free(state);
        device->lt = NULL;
    }
}

/* How the pass walks over C: see FLAT in cuda_helpers.cu. */
typedef enum walk { WALK_ROWS, WALK_FLAT, WALK_ELEMENTS } walk;

static walk walk_of(const ak_task *task, const terms *t)
{
    size_t bytes = ak_dtype_bytes(task->dtype);
    bool whole = (size_t)t->n * bytes % VECTOR_BYTES == 0;
    bool aligned = (size_t)t->ldc * bytes % VECTOR_BYTES == 0;
    return whole && aligned ? WALK_ROWS : t->ldc == t->n ? WALK_FLAT : WALK_ELEMENTS;
}

/* Compiles the elementwise pass that follows a plain product, for the task's bias, activation and
   residual. */
static ak_status open_pass(ak_device *device, const terms *t, ak_error *err)
{
    static const char *const parts[] = {"kernels/matmul_act/cuda_activation.cu",
                                        "src/backend/cuda/cuda_helpers.cu"};
    ak_cublaslt_state *state = device->lt;
    const ak_task *task = device->task;
    char activation[100], bias[100], residual[100], flat[20];
    int per_sm = 0;
    if (state->pass != NULL) {
        return AK_OK;
    }
    (void)snprintf(activation, sizeof activation, "-Dactivation_is_%.60s=1",
                   text_of(task, "activation", "none"));
    (void)snprintf(bias, sizeof bias, "-Dbias_is_%.60s=1", text_of(task, "bias", "none"));
    (void)snprintf(residual, sizeof residual, "-Dresidual_is_%s=1",
                   t->residual == SIZE_MAX ? "none" : "add");
    (void)snprintf(flat, sizeof flat, "-DFLAT=%d", (int)walk_of(task, t));
    const char *const options[] = {activation, bias, residual, flat};
    const ak_cuda_source_parts source = {.parts = parts,
                                         .count = 2,
                                         .dtype = task->dtype,
                                         .options = options,
                                         .option_count = AK_COUNT(options)};
    ak_status status = ak_cuda_helper(&state->helper, device, &source, err);
    if (status == AK_OK &&
        (device->cuda->module_function(&state->pass, state->helper, "ak_bias_activation") != 0 ||
         device->cuda->blocks_per_sm(&per_sm, state->pass, PASS_THREADS, 0) != 0 || per_sm < 1)) {
        (void)device->cuda->module_unload(state->helper);
        state->pass = state->helper = NULL;
        status = ak_fail(err, AK_INTERNAL, "the elementwise pass does not fit this device");
    }
    state->pass_blocks = per_sm * (int)device->sm_count;
    return status;
}

static void product_unload(ak_runnable *runnable)
{
    ak_cuda_product *product = runnable->product;
    if (product == NULL) {
        return;
    }
    const ak_cublaslt *lt = runnable->device->lt->lt;
    for (size_t i = 0; i < 2; i++) {
        if (product->desc[i] != NULL) {
            (void)lt->desc_destroy(product->desc[i]);
        }
    }
    void *const layouts[] = {product->a, product->b, product->c, product->d};
    for (size_t i = 0; i < AK_COUNT(layouts); i++) {
        if (layouts[i] != NULL) {
            (void)lt->layout_destroy(layouts[i]);
        }
    }
    ak_free(product);
}

static bool set(const ak_cublaslt *lt, void *desc, int attribute, int32_t value)
{
    return lt->desc_set(desc, attribute, &value, sizeof value) == 0;
}

/* Describes the product in the library's terms: its A is our B and its B our A, both column-major,
   so that a row-major K x N here is N x K there. */
static bool describe(ak_cuda_product *p, const ak_cublaslt *lt, const terms *t)
{
    const int8_t fast = roles[p->role].fast;
    const int compute = t->tf32 ? LT_COMPUTE_TF32 : LT_COMPUTE_F32;
    bool good = true;
    for (size_t i = 0; good && i < 2; i++) {
        good = lt->desc_create(&p->desc[i], compute, LT_TYPE_F32) == 0 &&
               set(lt, p->desc[i], LT_DESC_TRANSPOSE_A, t->b_transposed) &&
               set(lt, p->desc[i], LT_DESC_TRANSPOSE_B, t->a_transposed);
        if (t->scale_a != SIZE_MAX) {
            good = good && lt->desc_set(p->desc[i], LT_DESC_FAST, &fast, sizeof fast) == 0 &&
                   set(lt, p->desc[i], LT_DESC_SCALE_MODE_A, t->scales_b) &&
                   set(lt, p->desc[i], LT_DESC_SCALE_MODE_B, t->scales_a);
        }
        good = good && (t->type_c == t->type || set(lt, p->desc[i], LT_DESC_BIAS_TYPE, t->type));
    }
    const uint64_t m = (uint64_t)t->m, n = (uint64_t)t->n, k = (uint64_t)t->k;
    const bool turned_a = t->a_transposed, turned_b = t->b_transposed;
    return good && (t->epilogue == 0 || set(lt, p->desc[1], LT_DESC_EPILOGUE, t->epilogue)) &&
           lt->layout_create(&p->a, t->type_b, turned_b ? k : n, turned_b ? n : k, t->ldb) == 0 &&
           lt->layout_create(&p->b, t->type_a, turned_a ? m : k, turned_a ? k : m, t->lda) == 0 &&
           lt->layout_create(&p->c, t->type, n, m, t->ldc) == 0 &&
           lt->layout_create(&p->d, t->type_c, n, m, t->ldc) == 0;
}

static size_t role_of(const char *name)
{
    return AK_FIND(roles, ROLES, name, name);
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Launches the pass with blocks about as wide as a row, at most PASS_THREADS. The grid gets more
   rows of blocks until it covers C or fills the device. */
static int enqueue_pass(ak_runnable *runnable, const terms *t, size_t set)
{
    const ak_device *device = runnable->device;
    ak_cuda_address c = ak_cuda_place(device, &runnable->places, set, t->c);
    ak_cuda_address bias =
        t->bias == SIZE_MAX ? 0 : ak_cuda_place(device, &runnable->places, set, t->bias);
    ak_cuda_address residual =
        t->residual == SIZE_MAX ? 0 : ak_cuda_place(device, &runnable->places, set, t->residual);
    walk how = walk_of(device->task, t);
    uint32_t most = (uint32_t)device->lt->pass_blocks;
    uint32_t rows = (uint32_t)t->m, wide = PASS_THREADS;
    uint32_t per_vector = (uint32_t)(VECTOR_BYTES / ak_dtype_bytes(device->task->dtype));
    uint32_t columns = how == WALK_ROWS ? (uint32_t)t->n / per_vector : (uint32_t)t->n;
    uint32_t pitch = how == WALK_ROWS ? (uint32_t)t->ldc / per_vector : (uint32_t)t->ldc;
    while (how != WALK_FLAT && wide / 2 >= columns && wide > 1) {
        wide /= 2;
    }
    uint32_t high = PASS_THREADS / wide;
    uint32_t across = (columns + wide - 1) / wide;
    uint32_t down = (rows + PASS_ROWS * high - 1) / (PASS_ROWS * high);
    down = down > most / across + 1 ? most / across + 1 : down;
    if (how == WALK_FLAT) { /* as if C were one row */
        int64_t blocks = t->m * t->n / per_vector / PASS_THREADS + 1;
        across = blocks < (int64_t)most ? (uint32_t)blocks : most;
        down = 1;
    }
    void *arguments[] = {&c, &bias, &residual, &rows, &columns, &pitch};
    ak_cuda_launch_config config = {
        .grid = {across, down, 1}, .block = {wide, high, 1}, .stream = device->stream};
    return device->cuda->launch(&config, device->lt->pass, arguments, NULL);
}

/* Tells the library where the scales are. */
static void set_scales(const ak_runnable *runnable, void *desc, const terms *t, size_t set)
{
    const ak_device *device = runnable->device;
    if (t->scale_a != SIZE_MAX) {
        ak_cuda_address of_a = ak_cuda_place(device, &runnable->places, set, t->scale_a);
        ak_cuda_address of_b = ak_cuda_place(device, &runnable->places, set, t->scale_b);
        (void)device->lt->lt->desc_set(desc, LT_DESC_SCALE_A, &of_b, sizeof of_b);
        (void)device->lt->lt->desc_set(desc, LT_DESC_SCALE_B, &of_a, sizeof of_a);
    }
    if (t->scale_c != SIZE_MAX) {
        ak_cuda_address of_c = ak_cuda_place(device, &runnable->places, set, t->scale_c);
        (void)device->lt->lt->desc_set(desc, LT_DESC_SCALE_D, &of_c, sizeof of_c);
    }
}

static int product_enqueue(ak_runnable *runnable, size_t set)
{
    const ak_device *device = runnable->device;
    const ak_cublaslt_state *state = device->lt;
    const ak_cuda_product *p = runnable->product;
    terms t = terms_of(device->task);
    void *desc = p->desc[p->mode == MODE_FUSED ? 1 : 0];
    if (p->mode == MODE_FUSED && t.bias != SIZE_MAX) {
        ak_cuda_address bias = ak_cuda_place(device, &runnable->places, set, t.bias);
        (void)state->lt->desc_set(desc, LT_DESC_BIAS, &bias, sizeof bias);
    }
    set_scales(runnable, desc, &t, set);
    void *a = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.a);
    void *b = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.b);
    void *c = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.c);
    /* If beta is 0, the addend is not read, and the library wants NULL if its type is not that of
       C. */
    const void *addend = t.type_c == t.type ? c : NULL;
    if (t.addend != SIZE_MAX) {
        addend = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.addend);
    }
    int status =
        state->lt->matmul(state->handle, desc, &t.alpha, b, p->a, a, p->b, &t.beta, addend, p->c, c,
                          p->d, p->algo.algo, (void *)(uintptr_t)device->workspace,
                          AK_CUDA_LIBRARY_WORKSPACE, device->stream);
    if (status != 0) {
        /* The library's own codes have no meaning for the driver. */
        return AK_CUDA_ERROR_INVALID_VALUE;
    }
    return p->mode == MODE_TWO_PASSES ? enqueue_pass(runnable, &t, set) : AK_CUDA_SUCCESS;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
    double a = ((const candidate *)x)->ns, b = ((const candidate *)y)->ns;
    return a < b ? -1 : a > b;
}

/* Selects what is enqueued from now on. */
static void use(ak_runnable *runnable, way mode, const candidate *c)
{
    runnable->product->mode = mode;
    runnable->product->algo = c->algo;
    ak_cuda_batch_forget(runnable); /* the recorded graph runs another algorithm */
    runnable->overlap = AK_OVERLAP_UNKNOWN;
}

/* Selects an algorithm and times from 2 to RUNS_MAX runs of it: as many as take about `wanted` ns
   if one takes `guess`. *ns is the time of one run. Returns false if the algorithm does not run. */
static bool time_once(double *ns, ak_runnable *runnable, way mode, const candidate *c, double guess,
                      double wanted)
{
    double runs = wanted / (guess > 1.0 ? guess : 1.0);
    uint32_t count = runs < 2 ? 2 : runs > RUNS_MAX ? RUNS_MAX : (uint32_t)runs;
    int64_t all = 0;
    use(runnable, mode, c);
    if (ak_cuda_time(&all, runnable, count, ONE_TIMEOUT_NS) != AK_CUDA_SUCCESS) {
        return false;
    }
    *ns = (double)all / count;
    return true;
}

static bool is_known(const choice *c, const ak_cublaslt_result *result)
{
    for (size_t i = 0; i < c->count; i++) {
        if (memcmp(c->list[i].algo.algo, result->algo, sizeof result->algo) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends the answers to one request that no earlier request gave. */
static void ask(choice *c, ak_cublaslt_result *results, const ak_runnable *runnable,
                const struct request *request)
{
    const ak_cublaslt_state *state = runnable->device->lt;
    const ak_cublaslt *lt = state->lt;
    const ak_cuda_product *p = runnable->product;
    size_t workspace = AK_CUDA_LIBRARY_WORKSPACE;
    uint32_t reductions = request->reductions;
    void *preference = NULL, *desc = p->desc[c->mode == MODE_FUSED ? 1 : 0];
    terms t = terms_of(runnable->device->task);
    int found = 0;
    set_scales(runnable, desc, &t, 0);
    /* The library leaves bytes of an algorithm unwritten; is_known compares all bytes. */
    memset(results, 0, HEURISTICS_MAX * sizeof *results);
    bool good = lt->preference_create(&preference) == 0 &&
                lt->preference_set(preference, LT_PREFERENCE_WORKSPACE, &workspace,
                                   sizeof workspace) == 0 &&
                lt->preference_set(preference, LT_PREFERENCE_REDUCTION, &reductions,
                                   sizeof reductions) == 0 &&
                lt->heuristic(state->handle, desc, p->a, p->b, p->c, p->d, preference,
                              request->wanted, results, &found) == 0;
    for (int i = 0; good && i < found && i < request->wanted; i++) {
        if (results[i].state == 0 && c->count < ANSWERS_MAX && !is_known(c, &results[i])) {
            c->list[c->count++] = (candidate){.algo = results[i], .index = c->of++};
        }
    }
    if (preference != NULL) {
        (void)lt->preference_destroy(preference);
    }
}

/* Times each of list[0..count) once, keeps the better time of a candidate, and sorts by it. Removes
   those that do not run and, once the device is lost, all that follow; returns how many remain. */
static size_t look(candidate *list, size_t count, ak_runnable *runnable, way mode, double wanted)
{
    const ak_shape *shape = &runnable->device->task->shape;
    double guess = shape->flops / 5e5 + shape->traffic / 3e3 + 4e3; /* 500 TFLOP/s, 3 TB/s */
    size_t good = 0;
    for (size_t i = 0; i < count && !runnable->device->lost; i++) {
        double ns = 0, known = list[i].ns;
        if (time_once(&ns, runnable, mode, &list[i], known > 0 ? known : guess, wanted)) {
            list[good] = list[i];
            list[good++].ns = known > 0 && known < ns ? known : ns;
        }
    }
    qsort(list, good, sizeof *list, by_time);
    return good;
}

/* Times the candidates in the finals in turn and sorts them by median; does nothing for fewer than
   two. */
static void finals(choice *c, ak_runnable *runnable)
{
    for (size_t r = 0; r < FINAL_ROUNDS && c->in_finals > 1; r++) {
        for (size_t k = 0; k < c->in_finals; k++) {
            candidate *one = &c->list[r % 2 == 0 ? k : c->in_finals - 1 - k];
            one->rounds[r] = one->ns;
            (void)time_once(&one->rounds[r], runnable, c->mode, one, one->ns, FINAL_NS);
        }
    }
    for (size_t k = 0; k < c->in_finals && c->in_finals > 1; k++) {
        ak_stats_sort(c->list[k].rounds, FINAL_ROUNDS);
        c->list[k].ns = c->list[k].rounds[FINAL_ROUNDS / 2];
    }
    qsort(c->list, c->in_finals, sizeof *c->list, by_time);
}

/* Ranks candidates that were timed and sorted: times those near the best once more, and the first
   few of them in turn. */
static void rank(choice *c, ak_runnable *runnable)
{
    size_t near = 0;
    while (near < c->count && near < SECOND_LOOKS && c->list[near].ns <= NEAR * c->list[0].ns) {
        near++;
    }
    size_t still = look(c->list, near, runnable, c->mode, SECOND_NS);
    memmove(c->list + still, c->list + near, (c->count - near) * sizeof *c->list);
    c->count -= near - still;
    c->in_finals = still < FINALS_MAX ? still : FINALS_MAX;
    finals(c, runnable);
}

/* Collects the library's answers for c->mode, in the order in which they are to be used. */
static void collect(choice *c, ak_runnable *runnable)
{
    ak_cublaslt_result *results = ak_alloc(HEURISTICS_MAX, sizeof *results);
    if (c->list == NULL) {
        c->list = ak_alloc(ANSWERS_MAX, sizeof *c->list);
    }
    for (size_t i = 0; results != NULL && c->list != NULL && i < REQUESTS; i++) {
        ask(c, results, runnable, &requests[i]);
    }
    ak_free(results);
    if (roles[runnable->product->role].all && c->list != NULL && c->count > 0) {
        c->count = look(c->list, c->count, runnable, c->mode, FIRST_NS);
        rank(c, runnable);
    }
}

/* Lists the ways in which a role can compute the task, the better one first, and returns how
   many. */
static size_t ways_of(way out[2], const terms *t, size_t role)
{
    size_t count = 0;
    if (!t->two_step) {
        out[count++] = MODE_PLAIN;
    } else if (t->epilogue != 0 && !roles[role].unfused) {
        out[count++] = MODE_FUSED;
    }
    if (t->two_step && t->type_c == t->type) { /* a pass after e4m3 would round twice */
        out[count++] = MODE_TWO_PASSES;
    }
    return count;
}

/* Moves on to the next way while the current one has no candidate, and uses the first candidate.
   Returns false if none is left, with the reason in *err if there is one. */
static bool settle(choice *c, ak_runnable *runnable, ak_error *err)
{
    way ways[2];
    terms t = terms_of(runnable->device->task);
    size_t count = ways_of(ways, &t, runnable->product->role);
    while (c->count == 0 && c->ways_tried < count) {
        c->mode = ways[c->ways_tried++];
        if (c->mode != MODE_TWO_PASSES || open_pass(runnable->device, &t, err) == AK_OK) {
            collect(c, runnable);
        }
    }
    if (c->count > 0) {
        use(runnable, c->mode, &c->list[0]);
    }
    return c->count > 0;
}

static int product_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    ak_device *device = runnable->device;
    ak_error err = AK_ERROR_INIT;
    (void)launch;
    int code = ak_cuda_workspace(device, AK_CUDA_LIBRARY_WORKSPACE);
    if (code != AK_CUDA_SUCCESS) {
        return code;
    }
    const choice *c = &device->lt->chosen[runnable->product->role];
    if (!settle(&device->lt->chosen[runnable->product->role], runnable, &err)) {
        if (c->rejected > 0) {
            ak_outcome_refuse(outcome, AK_TRIAL_WRONG_RESULT,
                              "none of cuBLASLt's %d algorithm%s for this is accurate", c->of,
                              ak_plural((size_t)c->of));
        } else {
            ak_outcome_refuse(outcome, AK_TRIAL_LAUNCH_ERROR,
                              "cuBLASLt has no algorithm for this%s%.150s",
                              err.text[0] == 0 ? "" : ": ", err.text);
        }
        return AK_CUDA_REFUSED;
    }
    return AK_CUDA_SUCCESS;
}

/* Drops the algorithm in use, which was wrong, and goes on to the next. The finals rank only the
   candidates that were in them, so when at most one of these is left, the best of the others join
   it in new finals. */
static bool product_another(ak_runnable *runnable)
{
    choice *c = &runnable->device->lt->chosen[runnable->product->role];
    if (c->count == 0) {
        return false;
    }
    c->rejected++;
    c->count--;
    memmove(c->list, c->list + 1, c->count * sizeof *c->list);
    c->in_finals -= c->in_finals > 0 ? 1 : 0;
    if (roles[runnable->product->role].all && c->in_finals < 2 && c->count > c->in_finals) {
        rank(c, runnable);
    }
    return settle(c, runnable, NULL);
}

static const ak_cuda_work product_work = {.prepare = product_prepare,
                                          .enqueue = product_enqueue,
                                          .another = product_another,
                                          .unload = product_unload,
                                          .computes = true};

/* ---- as a candidate ------------------------------------------------------------------------- */

static ak_status product_load(ak_runnable *runnable, const char *name, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    size_t role = role_of(name);
    if (role == ROLES) {
        return AK_NOT_FOUND;
    }
    if (open_state(runnable->device, &why) != AK_OK) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR, "%.230s", why.text);
        return AK_OK;
    }
    terms t = terms_of(runnable->device->task);
    runnable->work = &product_work;
    AK_DO(AK_NEW(runnable->product, 1, err));
    runnable->product->role = role;
    if (!describe(runnable->product, runnable->device->lt->lt, &t)) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR,
                          "cuBLASLt does not take a product of this shape");
    }
    return AK_OK;
}

/* ---- what it is called ----------------------------------------------------------------------- */

static void version_text(char *out, size_t bytes, const ak_cublaslt *lt)
{
    size_t version = lt->version(); /* 130100: 13.1.0 */
    (void)snprintf(out, bytes, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

static void product_version(char *out, size_t bytes, const ak_device *device, const char *name)
{
    static const char *const modes[MODES] = {"", ", fused epilogue", ", then an elementwise pass"};
    size_t role = role_of(name);
    out[0] = 0;
    if (device->lt == NULL || role == ROLES || device->lt->chosen[role].of == 0) {
        return;
    }
    const choice *c = &device->lt->chosen[role];
    char version[32], which[48] = "first heuristic", rejected[64] = "";
    int32_t id = 0, tile = 0, split = 0;
    size_t written = 0;
    version_text(version, sizeof version, device->lt->lt);
    if (c->rejected > 0) {
        (void)snprintf(rejected, sizeof rejected, "; %d of %d algorithm%s rejected: inaccurate",
                       c->rejected, c->of, ak_plural((size_t)c->of));
    }
    if (c->count == 0) {
        (void)snprintf(out, bytes, "%s%s", version, rejected);
        return;
    }
    const ak_cublaslt_result *algo = &c->list[0].algo;
    if (roles[role].all || c->rejected > 0) {
        (void)snprintf(which, sizeof which, "no. %d of %d heuristics", c->list[0].index + 1, c->of);
    }
    (void)device->lt->lt->algo_get(algo->algo, LT_ALGO_ID, &id, sizeof id, &written);
    (void)device->lt->lt->algo_get(algo->algo, LT_ALGO_TILE, &tile, sizeof tile, &written);
    (void)device->lt->lt->algo_get(algo->algo, LT_ALGO_SPLIT_K, &split, sizeof split, &written);
    (void)snprintf(
        out, bytes, "%s, %s (algorithm %d, tile %d, split-K %d%s), %zu of %zu MiB workspace%s",
        version, which, id, tile, split, modes[c->mode],
        (algo->workspace + ((size_t)1 << 20) - 1) >> 20, AK_CUDA_LIBRARY_WORKSPACE >> 20, rejected);
}

static ak_status product_list(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                              void *context, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    char version[64];
    terms t = terms_of(task);
    ak_status status = open_state(device, &why);
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (status != AK_OK) {
        visit(context, roles[0].name, "cuBLASLt", "", false, why.text);
        return AK_OK;
    }
    version_text(version, sizeof version - 20, device->lt->lt);
    (void)snprintf(version + strlen(version), 20, ", %zu MiB workspace",
                   AK_CUDA_LIBRARY_WORKSPACE >> 20);
    for (size_t i = 0; i < ROLES; i++) {
        if ((!roles[i].unfused || (t.two_step && t.epilogue != 0 && t.type_c == t.type)) &&
            (!roles[i].fast || t.scale_a != SIZE_MAX)) {
            visit(context, roles[i].name, roles[i].title, version, true, "");
        }
    }
    return AK_OK;
}

const ak_cuda_library ak_cuda_library_cublaslt = {.prefix = "cublaslt",
                                                  .applies = product_applies,
                                                  .list = product_list,
                                                  .load = product_load,
                                                  .version = product_version,
                                                  .close = product_close};
