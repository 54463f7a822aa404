/*
 * cuda_matmul.c: cuBLASLt, the library that matrix products are held against.
 *
 *   cublaslt        the first answer of its heuristics: what a program gets that asks once
 *   cublaslt:best   all of its answers timed here, the top five again and in turn, and the fastest
 *                   taken: the strongest that the library can be
 *
 * Both have 64 MiB of workspace. Row-major C = A * B is, in the library's column-major terms,
 * C' = B' * A'. A bias and an activation are done by the library's own epilogue where it has one
 * (bias, relu, tanh-gelu); `best` also tries the plain product followed by our elementwise pass,
 * and where there is no epilogue that is all there is. The choice is made at the first launch, on
 * the rotating copies of the task's own arguments, and kept for the life of the device.
 */
#include "backend/cuda/cuda_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* The library gives at most some 140 for one product. */
#define HEURISTICS_MAX 200
#define FINALISTS      5
#define FINAL_ROUNDS   7
#define QUICK_NS       (AK_MS_NS / 2)
#define FINAL_NS       (3 * AK_MS_NS)
#define QUICK_REPEATS  2
#define RUNS_MAX       60
#define ONE_TIMEOUT_NS (20 * AK_SECOND_NS)
#define NAME           "cublaslt"
#define VECTOR_BYTES   16

/* X(member, constant of cublasLt.h and library_types.h, value) */
#define CUBLASLT_CONSTANTS(X)                                                                      \
    X(COMPUTE_F32, CUBLAS_COMPUTE_32F, 68)                                                         \
    X(TYPE_F32, CUDA_R_32F, 0)                                                                     \
    X(TYPE_F16, CUDA_R_16F, 2)                                                                     \
    X(TYPE_BF16, CUDA_R_16BF, 14)                                                                  \
    X(DESC_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                            \
    X(DESC_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                            \
    X(DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                             \
    X(DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                             \
    X(EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT, 1)                                                 \
    X(EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU, 2)                                                    \
    X(EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                                    \
    X(EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU, 32)                                                   \
    X(PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                           \
    X(ALGO_ID, CUBLASLT_ALGO_CONFIG_ID, 0)                                                         \
    X(ALGO_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID, 1)                                                  \
    X(ALGO_SPLIT_K, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)
enum {
#define CUBLASLT_ENUM(member, constant, value) LT_##member = (value),
    CUBLASLT_CONSTANTS(CUBLASLT_ENUM)
#undef CUBLASLT_ENUM
};

typedef enum way { MODE_PLAIN, MODE_FUSED, MODE_TWO_PASSES, MODES } way;

typedef struct choice {
    bool made;
    way mode;
    ak_cublaslt_result algo;
    int index, of; /* which heuristic it was */
} choice;

struct ak_cublaslt_state {
    const ak_cublaslt *lt;
    void *handle;
    void *helper, *pass; /* the elementwise kernel; NULL until it is needed */
    choice best;
};

struct ak_cuda_product {
    bool best;
    void *desc[2]; /* plain, with epilogue */
    void *a, *b, *c;
    choice chosen;
};

/* What the task asks for, in this file's terms. */
typedef struct terms {
    int64_t m, n, k;
    size_t a, b, c, bias; /* arguments; bias: SIZE_MAX if none is added */
    bool a_transposed, b_transposed;
    int type;
    int epilogue;  /* LT_EPILOGUE_NONE: nothing to be done; 0: the library has none for it */
    bool two_step; /* something has to be done after the product */
} terms;

/* ---- the task -------------------------------------------------------------------------------- */

static bool argument(size_t *out, const ak_task *task, const char *name)
{
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        if (strcmp(task->problem->arguments[i].name, name) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static const char *text_of(const ak_task *task, const char *name, const char *fallback)
{
    ak_value value;
    return ak_scope_get(&value, task->constants, name) && value.type == AK_VALUE_STRING
               ? value.as.string
               : fallback;
}

static terms terms_of(const ak_task *task)
{
    const int64_t *size = task->shape.size; /* M, N, K, by the problem's declaration */
    terms t = {.m = size[0], .n = size[1], .k = size[2], .bias = SIZE_MAX};
    const char *activation = text_of(task, "activation", "none");
    const char *layout = text_of(task, "layout", "nn");
    (void)argument(&t.a, task, "A");
    (void)argument(&t.b, task, "B");
    (void)argument(&t.c, task, "C");
    bool bias =
        strcmp(text_of(task, "bias", "none"), "add") == 0 && argument(&t.bias, task, "bias");
    t.a_transposed = layout[0] == 't';
    t.b_transposed = layout[0] != 0 && layout[1] == 't';
    t.type = task->dtype == AK_DTYPE_F16    ? LT_TYPE_F16
             : task->dtype == AK_DTYPE_BF16 ? LT_TYPE_BF16
                                            : LT_TYPE_F32;
    t.two_step = bias || strcmp(activation, "none") != 0;
    int step = strcmp(activation, "none") == 0        ? 0
               : strcmp(activation, "relu") == 0      ? LT_EPILOGUE_RELU
               : strcmp(activation, "gelu_tanh") == 0 ? LT_EPILOGUE_GELU
                                                      : -1;
    t.epilogue = step < 0 ? 0 : (step | (bias ? LT_EPILOGUE_BIAS : 0));
    t.epilogue = step == 0 && !bias ? LT_EPILOGUE_NONE : t.epilogue;
    return t;
}

bool ak_cuda_product_applies(const ak_task *task)
{
    return strcmp(task->problem->name, "matmul") == 0 ||
           strcmp(task->problem->name, "matmul_act") == 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static ak_status open_state(ak_device *device, ak_error *err)
{
    if (device->lt != NULL) {
        return AK_OK;
    }
    ak_cublaslt_state *state = ak_alloc(1, sizeof *state);
    if (state == NULL) {
        return ak_fail_memory(err);
    }
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

void ak_cuda_product_close(ak_device *device)
{
    ak_cublaslt_state *state = device->lt;
    if (state != NULL) {
        if (!device->lost) {
            if (state->helper != NULL) {
                (void)device->cuda->module_unload(state->helper);
            }
            (void)state->lt->destroy(state->handle);
        }
        ak_free(state);
        device->lt = NULL;
    }
}

/* The elementwise pass behind a plain product, for this task's bias and activation. */
static ak_status open_pass(ak_device *device, ak_error *err)
{
    static const char *const parts[] = {"kernels/matmul_act/cuda_activation.cu",
                                        "src/backend/cuda/cuda_helpers.cu"};
    ak_cublaslt_state *state = device->lt;
    const ak_task *task = device->task;
    char type[40], activation[100], bias[100], architecture[64];
    ak_value value = {.type = AK_VALUE_INT};
    if (state->pass != NULL) {
        return AK_OK;
    }
    (void)ak_scope_get(&value, task->constants, "compute_capability");
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%lld",
                   (long long)value.as.integer);
    (void)snprintf(type, sizeof type, "-Ddtype_is_%s=1", ak_dtype_text(task->dtype));
    (void)snprintf(activation, sizeof activation, "-Dactivation_is_%.60s=1",
                   text_of(task, "activation", "none"));
    (void)snprintf(bias, sizeof bias, "-Dbias_is_%.60s=1", text_of(task, "bias", "none"));
    const char *const options[] = {architecture, type, activation, bias};
    ak_status status = ak_cuda_helper(&state->helper, device, parts, 2, NULL, options, 4, err);
    if (status == AK_OK &&
        device->cuda->module_function(&state->pass, state->helper, "ak_bias_activation") != 0) {
        status = ak_fail(err, AK_INTERNAL, "a helper has no entry ak_bias_activation");
    }
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
    void *const layouts[] = {product->a, product->b, product->c};
    for (size_t i = 0; i < 3; i++) {
        if (layouts[i] != NULL) {
            (void)lt->layout_destroy(layouts[i]);
        }
    }
    ak_free(product);
}

/* In the library's terms: its A is our B, its B our A, both column-major, so that what is row-major
   K x N here is N x K there. */
static bool describe(ak_cuda_product *p, const ak_cublaslt *lt, const terms *t)
{
    int32_t no = 0, yes = 1;
    bool good = true;
    for (size_t i = 0; i < 2; i++) {
        good = good && lt->desc_create(&p->desc[i], LT_COMPUTE_F32, LT_TYPE_F32) == 0 &&
               lt->desc_set(p->desc[i], LT_DESC_TRANSPOSE_A, t->b_transposed ? &yes : &no,
                            sizeof no) == 0 &&
               lt->desc_set(p->desc[i], LT_DESC_TRANSPOSE_B, t->a_transposed ? &yes : &no,
                            sizeof no) == 0;
    }
    int64_t rows_a = t->b_transposed ? t->k : t->n, columns_a = t->b_transposed ? t->n : t->k;
    int64_t rows_b = t->a_transposed ? t->m : t->k, columns_b = t->a_transposed ? t->k : t->m;
    if (t->epilogue != 0) {
        int32_t epilogue = t->epilogue;
        good = good && lt->desc_set(p->desc[1], LT_DESC_EPILOGUE, &epilogue, sizeof epilogue) == 0;
    }
    return good &&
           lt->layout_create(&p->a, t->type, (uint64_t)rows_a, (uint64_t)columns_a, rows_a) == 0 &&
           lt->layout_create(&p->b, t->type, (uint64_t)rows_b, (uint64_t)columns_b, rows_b) == 0 &&
           lt->layout_create(&p->c, t->type, (uint64_t)t->n, (uint64_t)t->m, t->n) == 0;
}

ak_status ak_cuda_product_load(ak_runnable *runnable, const char *name, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    bool best = strcmp(name, NAME ":best") == 0;
    if (!best && strcmp(name, NAME) != 0) {
        return ak_fail(err, AK_NOT_FOUND, "there is no library \"%.60s\" for CUDA devices", name);
    }
    if (open_state(runnable->device, &why) != AK_OK) {
        ak_cuda_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR, "%.230s", why.text);
        return AK_OK;
    }
    terms t = terms_of(runnable->device->task);
    runnable->product = ak_alloc(1, sizeof *runnable->product);
    if (runnable->product == NULL) {
        return ak_fail_memory(err);
    }
    runnable->product->best = best;
    if (!describe(runnable->product, runnable->device->lt->lt, &t)) {
        ak_cuda_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR,
                       "cuBLASLt does not take a product of this shape");
    }
    return AK_OK;
}

/* ---- one run --------------------------------------------------------------------------------- */

static int enqueue_pass(ak_runnable *runnable, const terms *t, size_t set)
{
    const ak_device *device = runnable->device;
    ak_cuda_address c = ak_cuda_place(device, &runnable->places, set, t->c);
    ak_cuda_address bias =
        t->bias == SIZE_MAX ? 0 : ak_cuda_place(device, &runnable->places, set, t->bias);
    uint32_t rows = (uint32_t)t->m;
    uint32_t vectors =
        (uint32_t)((size_t)t->n * ak_dtype_bytes(device->task->dtype) / VECTOR_BYTES);
    uint32_t across = (vectors + 255) / 256, down = (rows + 3) / 4;
    uint32_t most = (uint32_t)device->sm_count * 16 / across + 1; /* enough to fill the device */
    void *arguments[] = {&c, &bias, &rows, &vectors};
    ak_cuda_launch_config config = {.grid = {across, down < most ? down : most, 1},
                                    .block = {256, 1, 1},
                                    .stream = device->stream};
    return device->cuda->launch(&config, device->lt->pass, arguments, NULL);
}

static int product_enqueue(ak_runnable *runnable, size_t set)
{
    const ak_device *device = runnable->device;
    const ak_cublaslt_state *state = device->lt;
    const ak_cuda_product *p = runnable->product;
    const choice *made = &p->chosen;
    terms t = terms_of(device->task);
    static const float one = 1, zero = 0;
    void *desc = p->desc[made->mode == MODE_FUSED ? 1 : 0];
    if (made->mode == MODE_FUSED && t.bias != SIZE_MAX) {
        ak_cuda_address bias = ak_cuda_place(device, &runnable->places, set, t.bias);
        (void)state->lt->desc_set(desc, LT_DESC_BIAS, &bias, sizeof bias);
    }
    void *a = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.a);
    void *b = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.b);
    void *c = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, t.c);
    int status = state->lt->matmul(state->handle, desc, &one, b, p->a, a, p->b, &zero, c, p->c, c,
                                   p->c, made->algo.algo, (void *)(uintptr_t)device->workspace,
                                   AK_CUDA_LIBRARY_WORKSPACE, device->stream);
    if (status != 0) {
        return AK_CUDA_ERROR_INVALID_VALUE; /* the library's own codes mean nothing to a driver */
    }
    return made->mode == MODE_TWO_PASSES ? enqueue_pass(runnable, &t, set) : AK_CUDA_SUCCESS;
}

/* ---- choosing -------------------------------------------------------------------------------- */

typedef struct candidate {
    choice what;
    double ns; /* of one run */
    double rounds[FINAL_ROUNDS];
} candidate;

static int by_time(const void *x, const void *y)
{
    double a = ((const candidate *)x)->ns, b = ((const candidate *)y)->ns;
    return a < b ? -1 : a > b;
}

static int by_number(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* One timing of about `wanted` nanoseconds; false if it does not run. */
static bool time_once(double *ns, ak_runnable *runnable, const candidate *c, double guess,
                      double wanted)
{
    double runs = wanted / (guess > 1.0 ? guess : 1.0);
    uint32_t count = runs < 2 ? 2 : runs > RUNS_MAX ? RUNS_MAX : (uint32_t)runs;
    int64_t all = 0;
    runnable->product->chosen = c->what;
    runnable->graph_runs = 0; /* what is recorded is of another algorithm */
    if (ak_cuda_time(&all, runnable, count, ONE_TIMEOUT_NS) != AK_CUDA_SUCCESS) {
        return false;
    }
    *ns = (double)all / count;
    return true;
}

static size_t ask(candidate *out, const ak_runnable *runnable, way mode, int wanted)
{
    const ak_cublaslt_state *state = runnable->device->lt;
    const ak_cublaslt *lt = state->lt;
    const ak_cuda_product *p = runnable->product;
    size_t workspace = AK_CUDA_LIBRARY_WORKSPACE, count = 0;
    void *preference = NULL;
    int found = 0;
    ak_cublaslt_result *results = ak_alloc(HEURISTICS_MAX, sizeof *results);
    if (results != NULL && lt->preference_create(&preference) == 0 &&
        lt->preference_set(preference, LT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace) ==
            0 &&
        lt->heuristic(state->handle, p->desc[mode == MODE_FUSED ? 1 : 0], p->a, p->b, p->c, p->c,
                      preference, wanted, results, &found) == 0) {
        for (int i = 0; i < found; i++) {
            if (results[i].state == 0) {
                out[count++].what = (choice){
                    .made = true, .mode = mode, .algo = results[i], .index = i, .of = found};
            }
        }
    }
    if (preference != NULL) {
        (void)lt->preference_destroy(preference);
    }
    ak_free(results);
    return count;
}

/* Times all, sorts, and times the first again, in turn. */
static size_t rank(candidate *list, size_t count, ak_runnable *runnable, double guess)
{
    size_t good = 0;
    for (size_t i = 0; i < count && !runnable->device->lost; i++) {
        double ns = 0, best = INFINITY;
        bool runs = true;
        for (int k = 0; runs && k <= QUICK_REPEATS; k++) { /* the first warms up */
            runs = time_once(&ns, runnable, &list[i], guess, QUICK_NS);
            best = runs && k > 0 && ns < best ? ns : best;
        }
        if (runs) {
            list[good] = list[i];
            list[good++].ns = best;
        }
    }
    qsort(list, good, sizeof *list, by_time);
    size_t finalists = good < FINALISTS ? good : FINALISTS;
    for (size_t r = 0; r < FINAL_ROUNDS && finalists > 1; r++) {
        for (size_t k = 0; k < finalists; k++) {
            candidate *c = &list[r % 2 == 0 ? k : finalists - 1 - k];
            c->rounds[r] = c->ns;
            (void)time_once(&c->rounds[r], runnable, c, c->ns, FINAL_NS);
        }
    }
    for (size_t k = 0; k < finalists && finalists > 1; k++) {
        qsort(list[k].rounds, FINAL_ROUNDS, sizeof(double), by_number);
        list[k].ns = list[k].rounds[FINAL_ROUNDS / 2];
    }
    qsort(list, finalists, sizeof *list, by_time);
    return good;
}

/* Fills `list`, best first or as the library orders them; returns how many there are. */
static size_t candidates(candidate *list, ak_runnable *runnable, const terms *t, bool pass)
{
    bool best = runnable->product->best;
    int wanted = best ? HEURISTICS_MAX : 1;
    double guess = 2.0 * (double)t->m * (double)t->n * (double)t->k / 5e5 + 4e3; /* 500 TFLOP/s */
    size_t count = 0;
    if (!t->two_step) {
        count = ask(list, runnable, MODE_PLAIN, wanted);
        return best ? rank(list, count, runnable, guess) : count;
    }
    if (t->epilogue != 0) {
        count = ask(list, runnable, MODE_FUSED, wanted);
    }
    if (pass && (best || count == 0)) { /* the fastest product, then the pass */
        candidate *plain = list + count;
        size_t products = ask(plain, runnable, MODE_PLAIN, wanted);
        products = best ? rank(plain, products, runnable, guess) : products;
        plain[0].what.mode = MODE_TWO_PASSES;
        count += products > 0 ? 1 : 0;
    }
    return best ? rank(list, count, runnable, guess) : count;
}

static int product_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    ak_device *device = runnable->device;
    ak_cuda_product *p = runnable->product;
    terms t = terms_of(device->task);
    ak_error err = AK_ERROR_INIT;
    (void)launch;
    int code = ak_cuda_workspace(device, AK_CUDA_LIBRARY_WORKSPACE);
    if (code != AK_CUDA_SUCCESS || p->chosen.made) {
        return code;
    }
    if (p->best && device->lt->best.made) {
        p->chosen = device->lt->best;
        return AK_CUDA_SUCCESS;
    }
    bool pass = t.two_step &&
                (size_t)t.n * ak_dtype_bytes(device->task->dtype) % VECTOR_BYTES == 0 &&
                open_pass(device, &err) == AK_OK;
    candidate *list = ak_alloc(2 * (size_t)HEURISTICS_MAX + 1, sizeof *list);
    if (list == NULL) {
        return AK_CUDA_ERROR_OUT_OF_MEMORY;
    }
    size_t count = candidates(list, runnable, &t, pass);
    p->chosen = count > 0 ? list[0].what : (choice){0};
    runnable->graph_runs = 0;
    ak_free(list);
    if (count == 0) {
        ak_cuda_refuse(outcome, AK_TRIAL_LAUNCH_ERROR, "cuBLASLt has no algorithm for this%s%.150s",
                       err.text[0] == 0 ? "" : ": ", err.text);
        return AK_CUDA_REFUSED;
    }
    if (p->best) {
        device->lt->best = p->chosen;
    }
    return AK_CUDA_SUCCESS;
}

/* ---- what it is called ----------------------------------------------------------------------- */

static void version_text(char *out, size_t bytes, const ak_cublaslt *lt)
{
    size_t version = lt->version(); /* 130100: 13.1.0 */
    (void)snprintf(out, bytes, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

void ak_cuda_product_version(char *out, size_t bytes, const ak_device *device, const char *name)
{
    static const char *const modes[MODES] = {"", ", fused epilogue", ", then an elementwise pass"};
    out[0] = 0;
    if (device->lt == NULL || !device->lt->best.made || strcmp(name, NAME ":best") != 0) {
        return;
    }
    const choice *made = &device->lt->best;
    char version[32];
    int32_t id = 0, tile = 0, split = 0;
    size_t written = 0;
    version_text(version, sizeof version, device->lt->lt);
    (void)device->lt->lt->algo_get(made->algo.algo, LT_ALGO_ID, &id, sizeof id, &written);
    (void)device->lt->lt->algo_get(made->algo.algo, LT_ALGO_TILE, &tile, sizeof tile, &written);
    (void)device->lt->lt->algo_get(made->algo.algo, LT_ALGO_SPLIT_K, &split, sizeof split,
                                   &written);
    (void)snprintf(out, bytes,
                   "%s, no. %d of %d heuristics (algorithm %d, tile %d, split-K %d%s), %zu of %zu "
                   "MiB workspace",
                   version, made->index + 1, made->of, id, tile, split, modes[made->mode],
                   (made->algo.workspace + ((size_t)1 << 20) - 1) >> 20,
                   AK_CUDA_LIBRARY_WORKSPACE >> 20);
}

ak_status ak_cuda_product_list(ak_device *device, const ak_task *task,
                               void (*visit)(void *context, const char *name, const char *title,
                                             const char *version, bool installed, const char *note),
                               void *context, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    char version[64];
    (void)task;
    ak_status status = open_state(device, &why);
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (status != AK_OK) {
        visit(context, NAME, "cuBLASLt", "", false, why.text);
        return AK_OK;
    }
    version_text(version, sizeof version - 20, device->lt->lt);
    (void)snprintf(version + strlen(version), 20, ", %zu MiB workspace",
                   AK_CUDA_LIBRARY_WORKSPACE >> 20);
    visit(context, NAME, "cuBLASLt, its first heuristic", version, true, "");
    visit(context, NAME ":best", "cuBLASLt, best of its heuristics", version, true, "");
    return AK_OK;
}

const ak_cuda_work ak_cuda_product_work = {.prepare = product_prepare,
                                           .enqueue = product_enqueue,
                                           .unload = product_unload,
                                           .computes = true};
