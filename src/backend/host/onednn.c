/*
 * onednn.c: oneDNN: dnnl_sgemm for products in f32, its primitives for products in bf16, softmax,
 * layer normalisation and sums of rows. The declarations are written here; the structures and
 * numbers are those of version 2 (dnnl_types.h), whose descriptors are public. Version 3 kept
 * dnnl_sgemm and hid the rest, so with it only products in f32 are offered.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/host/host_baseline.h"
#include "base/dl.h"

/* Space for the public structures of 2.x. The library writes at most 696 and 3496 bytes in 2.6.3,
   and no release has let them grow by half. */
#define MEMORY_DESC_BYTES 1536
#define OP_DESC_BYTES     8192

enum {
    DIMS_MAX = 12,
    ENGINE_CPU = 1,
    STREAM_DEFAULT = 1,
    FORWARD_INFERENCE = 96,
    TYPE_BF16 = 2,
    TYPE_F32 = 3,
    TAG_A = 2,
    TAG_AB = 3,
    USE_SCALE = 0x8,
    USE_SHIFT = 0x10,
    REDUCTION_SUM = 0x2fff4,
    ARG_SRC = 1,
    ARG_DST = 17,
    ARG_WEIGHTS = 33,
    ARG_BIAS = 41,
    ARG_SCALE = 51,
    ARG_SHIFT = 52,
    ARGS_MAX = 4
};

typedef struct version_info {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} version_info;

typedef struct exec_arg {
    int arg;
    void *memory;
} exec_arg;

typedef struct memory_desc {
    _Alignas(16) unsigned char bytes[MEMORY_DESC_BYTES];
} memory_desc;

typedef struct op_desc {
    _Alignas(16) unsigned char bytes[OP_DESC_BYTES];
} op_desc;

/* X(member, exported symbol, result, arguments) */
#define FUNCTIONS(X)                                                                               \
    X(version, "dnnl_version", const version_info *, (void))                                       \
    X(isa, "dnnl_get_effective_cpu_isa", int, (void))                                              \
    X(sgemm, "dnnl_sgemm", int,                                                                    \
      (char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,           \
       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,             \
       int64_t ldc))
#define PRIMITIVE_FUNCTIONS(X)                                                                     \
    X(engine_create, "dnnl_engine_create", int, (void **engine, int kind, size_t index))           \
    X(stream_create, "dnnl_stream_create", int, (void **stream, void *engine, unsigned flags))     \
    X(memory_desc_init, "dnnl_memory_desc_init_by_tag", int,                                       \
      (memory_desc * out, int count, const int64_t *dims, int type, int tag))                      \
    X(memory_desc_init_by_strides, "dnnl_memory_desc_init_by_strides", int,                        \
      (memory_desc * out, int count, const int64_t *dims, int type, const int64_t *strides))       \
    X(matmul_desc_init, "dnnl_matmul_desc_init", int,                                              \
      (op_desc * out, const memory_desc *a, const memory_desc *b, const memory_desc *bias,         \
       const memory_desc *c))                                                                      \
    X(attr_create, "dnnl_primitive_attr_create", int, (void **out))                                \
    X(attr_destroy, "dnnl_primitive_attr_destroy", int, (void *attributes))                        \
    X(attr_set_post_ops, "dnnl_primitive_attr_set_post_ops", int,                                  \
      (void *attributes, const void *operations))                                                  \
    X(post_ops_create, "dnnl_post_ops_create", int, (void **out))                                  \
    X(post_ops_destroy, "dnnl_post_ops_destroy", int, (void *operations))                          \
    X(post_ops_append_eltwise, "dnnl_post_ops_append_eltwise", int,                                \
      (void *operations, float scale, int kind, float alpha, float beta))                          \
    X(softmax_desc_init, "dnnl_softmax_forward_desc_init", int,                                    \
      (op_desc * out, int kind, const memory_desc *data, int axis))                                \
    X(layernorm_desc_init, "dnnl_layer_normalization_forward_desc_init", int,                      \
      (op_desc * out, int kind, const memory_desc *data, const memory_desc *statistics,            \
       float epsilon, unsigned flags))                                                             \
    X(reduction_desc_init, "dnnl_reduction_desc_init", int,                                        \
      (op_desc * out, int kind, const memory_desc *source, const memory_desc *target, float p,     \
       float epsilon))                                                                             \
    X(primitive_desc_create, "dnnl_primitive_desc_create", int,                                    \
      (void **out, const op_desc *desc, const void *attributes, void *engine, const void *hint))   \
    X(primitive_desc_destroy, "dnnl_primitive_desc_destroy", int, (void *desc))                    \
    X(primitive_create, "dnnl_primitive_create", int, (void **out, const void *desc))              \
    X(primitive_destroy, "dnnl_primitive_destroy", int, (void *primitive))                         \
    X(primitive_execute, "dnnl_primitive_execute", int,                                            \
      (const void *primitive, void *stream, int count, const exec_arg *args))                      \
    X(memory_create, "dnnl_memory_create", int,                                                    \
      (void **out, const memory_desc *desc, void *engine, void *handle))                           \
    X(memory_destroy, "dnnl_memory_destroy", int, (void *memory))                                  \
    X(stream_wait, "dnnl_stream_wait", int, (void *stream))

typedef struct functions {
#define MEMBER(name, symbol, result, arguments) result(*name) arguments;
    FUNCTIONS(MEMBER)
    PRIMITIVE_FUNCTIONS(MEMBER)
#undef MEMBER
} functions;

/* The activations, in the order of problem.json of matmul_act (dnnl_alg_kind_t in dnnl_types.h). */
static const struct {
    int kind; /* 0: none */
    float alpha;
} activations[] = {{0, 0}, {0x1f, 0}, {0x1f, 0.01f}, {0xcf, 0}, {0x30, 0}, {0xdf, 1}};

/* A problem that is one primitive, and where its arguments are in the call. Their rows must
   adjoin. */
typedef struct operation {
    const char *problem;
    int target;   /* index of the output; the source has index 0 */
    bool per_row; /* the output has one element per row */
    int (*describe)(op_desc *out, ak_baseline *b, const memory_desc *source,
                    const memory_desc *target);
} operation;

struct ak_baseline {
    functions f;
    const operation *op; /* NULL: products */
    bool bf16;           /* products in bf16, which a primitive computes */
    ak_product product;
    bool with_scale, with_shift;
    void *engine, *stream;
    /* The shape that was prepared last. */
    int64_t size[3], pitch[4];
    void *arg[ARGS_MAX];
    void *primitive;
    exec_arg args[ARGS_MAX];
    int arg_count;
};

static int describe_softmax(op_desc *out, ak_baseline *b, const memory_desc *source,
                            const memory_desc *target)
{
    (void)target;
    return b->f.softmax_desc_init(out, FORWARD_INFERENCE, source, 1);
}

static int describe_layernorm(op_desc *out, ak_baseline *b, const memory_desc *source,
                              const memory_desc *target)
{
    const unsigned flags = (b->with_scale ? USE_SCALE : 0u) | (b->with_shift ? USE_SHIFT : 0u);
    (void)target;
    return b->f.layernorm_desc_init(out, FORWARD_INFERENCE, source, NULL, 1e-5f, flags);
}

static int describe_reduce(op_desc *out, ak_baseline *b, const memory_desc *source,
                           const memory_desc *target)
{
    return b->f.reduction_desc_init(out, REDUCTION_SUM, source, target, 0, 0);
}

static const operation operations[] = {
    {"softmax", 1, false, describe_softmax},
    {"layernorm", 3, false, describe_layernorm},
    {"reduce", 1, true, describe_reduce},
};

static const char *const libraries[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so", NULL};

/* Binds the functions. Returns the name of one that the library lacks, or NULL. */
static const char *bind(void *library, functions *f, bool primitives)
{
    const char *lacks = NULL;
#define BIND(name, symbol, result, arguments)                                                      \
    lacks = ak_dl_bind(&f->name, library, symbol) ? lacks : symbol;
    if (primitives) {
        PRIMITIVE_FUNCTIONS(BIND)
    } else {
        FUNCTIONS(BIND)
    }
#undef BIND
    return lacks;
}

static const char *isa_name(int isa)
{
    static const struct {
        int isa;
        const char *name;
    } names[] = {{0x1, "SSE4.1"},        {0x3, "AVX"},      {0x7, "AVX2"},
                 {0x407, "AVX2 VNNI"},   {0x27, "AVX-512"}, {0x67, "AVX-512 VNNI"},
                 {0xe7, "AVX-512 BF16"}, {0x3e7, "AMX"}};
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        if (names[i].isa == isa) {
            return names[i].name;
        }
    }
    return isa == 0 ? "any instruction set" : "other instruction set";
}

/* Opens what all but products in f32 need. */
static ak_status open_primitives(ak_baseline *b, void *library, const version_info *info,
                                 ak_error *err)
{
    AK_FAIL_IF(info->major != 2, err, AK_UNAVAILABLE,
               "only products in f32 are compared with oneDNN %d; for others: apt-get install "
               "libdnnl2",
               info->major);
    const char *lacks = bind(library, &b->f, true);
    AK_FAIL_IF(lacks != NULL, err, AK_UNAVAILABLE,
               "oneDNN %d.%d.%d lacks %s: apt-get install libdnnl2", info->major, info->minor,
               info->patch, lacks);
    AK_FAIL_IF(b->f.engine_create(&b->engine, ENGINE_CPU, 0) != 0 ||
                   b->f.stream_create(&b->stream, b->engine, STREAM_DEFAULT) != 0,
               err, AK_UNAVAILABLE, "oneDNN %d.%d.%d cannot use this processor", info->major,
               info->minor, info->patch);
    return AK_OK;
}

static ak_status onednn_open(ak_baseline *b, char *version, size_t bytes,
                             const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    if (setup->library_threads > 0) {
        (void)snprintf(threads, sizeof threads, "%d", setup->library_threads);
        (void)setenv("OMP_NUM_THREADS", threads, 1);
    }
    const size_t i = AK_FIND(operations, AK_COUNT(operations), problem, setup->problem);
    if (i < AK_COUNT(operations)) {
        b->op = &operations[i];
        b->with_scale = strstr(setup->choices, "weight=scale") != NULL;
        b->with_shift = strstr(setup->choices, "bias=add") != NULL;
    } else {
        AK_DO(ak_product_parse(&b->product, setup, err));
        b->bf16 = setup->dtype == AK_DTYPE_BF16;
    }
    AK_FAIL_IF(b->bf16 && (b->product.alpha != 1 || b->product.beta != 0 || b->product.residual),
               err, AK_UNAVAILABLE,
               "bf16 products with alpha, beta or a residual are not compared with oneDNN");
    AK_DO(ak_dl_need(&library, libraries, "not installed: apt-get install libdnnl2", err));
    const char *lacks = bind(library, &b->f, false);
    AK_FAIL_IF(lacks != NULL, err, AK_UNAVAILABLE, "it lacks %s: apt-get install libdnnl2", lacks);
    const version_info *info = b->f.version();
    AK_DO(b->op != NULL || b->bf16 ? open_primitives(b, library, info, err) : AK_OK);
    (void)snprintf(version, bytes, "%d.%d.%d %s", info->major, info->minor, info->patch,
                   isa_name(b->f.isa()));
    return AK_OK;
}

static void forget_arguments(ak_baseline *b)
{
    while (b->arg_count > 0) {
        (void)b->f.memory_destroy(b->args[--b->arg_count].memory);
    }
}

static void forget_shape(ak_baseline *b)
{
    if (b->primitive != NULL) {
        (void)b->f.primitive_destroy(b->primitive);
    }
    b->primitive = NULL;
    forget_arguments(b);
}

static bool make_primitive(ak_baseline *b, const op_desc *desc, const void *attributes)
{
    void *primitive_desc = NULL;
    bool good =
        b->f.primitive_desc_create(&primitive_desc, desc, attributes, b->engine, NULL) == 0 &&
        b->f.primitive_create(&b->primitive, primitive_desc) == 0;
    if (primitive_desc != NULL) {
        (void)b->f.primitive_desc_destroy(primitive_desc);
    }
    return good;
}

static bool add_argument(ak_baseline *b, int kind, const memory_desc *desc, void *data)
{
    exec_arg *arg = &b->args[b->arg_count];
    arg->arg = kind;
    if (b->f.memory_create(&arg->memory, desc, b->engine, data) != 0) {
        return false;
    }
    b->arg_count++;
    return true;
}

/* Describes a matrix of bf16 whose rows in memory are `pitch` elements apart. */
static bool describe_matrix(memory_desc *out, const ak_baseline *b, int64_t rows, int64_t columns,
                            int64_t pitch, bool transposed)
{
    const int64_t dims[DIMS_MAX] = {rows, columns};
    const int64_t strides[DIMS_MAX] = {transposed ? 1 : pitch, transposed ? pitch : 1};
    return b->f.memory_desc_init_by_strides(out, 2, dims, TYPE_BF16, strides) == 0;
}

/* Makes the primitive of a product, with its activation. */
static bool make_product(ak_baseline *b, const op_desc *desc)
{
    void *attributes = NULL, *after = NULL;
    const int index = b->product.activation, kind = activations[index].kind;
    bool good =
        b->f.attr_create(&attributes) == 0 && b->f.post_ops_create(&after) == 0 &&
        (kind == 0 ||
         b->f.post_ops_append_eltwise(after, 1.0f, kind, activations[index].alpha, 0) == 0) &&
        b->f.attr_set_post_ops(attributes, after) == 0 && make_primitive(b, desc, attributes);
    (void)b->f.post_ops_destroy(after);
    (void)b->f.attr_destroy(attributes);
    return good;
}

static ak_status prepare_product(ak_baseline *b, const ak_host_call *call, ak_error *err)
{
    const ak_product *p = &b->product;
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    if (b->primitive != NULL && memcmp(b->size, call->size, sizeof b->size) == 0 &&
        memcmp(b->pitch, call->pitch, sizeof b->pitch) == 0 &&
        memcmp(b->arg, call->arg, ((size_t)p->c + 1) * sizeof b->arg[0]) == 0) {
        return AK_OK;
    }
    memory_desc source, weights, bias, target;
    op_desc desc;
    forget_shape(b);
    bool good =
        describe_matrix(&source, b, m, k, call->pitch[0], p->a_transposed) &&
        describe_matrix(&weights, b, k, n, call->pitch[1], p->b_transposed) &&
        describe_matrix(&target, b, m, n, call->pitch[p->c], false) &&
        describe_matrix(&bias, b, 1, n, n, false) &&
        b->f.matmul_desc_init(&desc, &source, &weights, p->bias ? &bias : NULL, &target) == 0 &&
        make_product(b, &desc) && add_argument(b, ARG_SRC, &source, call->arg[0]) &&
        add_argument(b, ARG_WEIGHTS, &weights, call->arg[1]) &&
        (!p->bias || add_argument(b, ARG_BIAS, &bias, call->arg[2])) &&
        add_argument(b, ARG_DST, &target, call->arg[p->c]);
    if (!good) {
        forget_shape(b);
        return ak_fail(err, AK_UNAVAILABLE, "oneDNN has no product in bf16 for this processor");
    }
    memcpy(b->size, call->size, sizeof b->size);
    memcpy(b->pitch, call->pitch, sizeof b->pitch);
    memcpy(b->arg, call->arg, ((size_t)p->c + 1) * sizeof b->arg[0]);
    return AK_OK;
}

static ak_status onednn_prepare(ak_baseline *b, const ak_host_call *call, ak_error *err)
{
    if (b->op == NULL) {
        return b->bf16 ? prepare_product(b, call, err) : AK_OK;
    }
    const size_t arguments = (size_t)b->op->target + 1;
    bool same_shape =
        b->primitive != NULL && b->size[0] == call->size[0] && b->size[1] == call->size[1];
    if (same_shape && memcmp(b->arg, call->arg, arguments * sizeof b->arg[0]) == 0) {
        return AK_OK;
    }
    memory_desc source, target, vector;
    op_desc desc;
    int64_t dims[DIMS_MAX] = {call->size[0], call->size[1]};
    int64_t target_dims[DIMS_MAX] = {call->size[0], b->op->per_row ? 1 : call->size[1]};
    int64_t vector_dims[DIMS_MAX] = {call->size[1]};
    if (same_shape) {
        forget_arguments(b);
    } else {
        forget_shape(b);
    }
    bool good = b->f.memory_desc_init(&source, 2, dims, TYPE_F32, TAG_AB) == 0 &&
                b->f.memory_desc_init(&target, 2, target_dims, TYPE_F32, TAG_AB) == 0 &&
                b->f.memory_desc_init(&vector, 1, vector_dims, TYPE_F32, TAG_A) == 0 &&
                (same_shape || (b->op->describe(&desc, b, &source, &target) == 0 &&
                                make_primitive(b, &desc, NULL))) &&
                add_argument(b, ARG_SRC, &source, call->arg[0]) &&
                add_argument(b, ARG_DST, &target, call->arg[b->op->target]) &&
                (!b->with_scale || add_argument(b, ARG_SCALE, &vector, call->arg[1])) &&
                (!b->with_shift || add_argument(b, ARG_SHIFT, &vector, call->arg[2]));
    if (!good) {
        forget_shape(b);
        return ak_fail(err, AK_UNAVAILABLE, "oneDNN has no %s for this shape", b->op->problem);
    }
    memcpy(b->size, call->size, 2 * sizeof b->size[0]);
    memcpy(b->arg, call->arg, arguments * sizeof b->arg[0]);
    return AK_OK;
}

static void onednn_run(ak_baseline *b, const ak_host_call *call)
{
    if (b->op != NULL || b->bf16) {
        (void)b->f.primitive_execute(b->primitive, b->stream, b->arg_count, b->args);
        (void)b->f.stream_wait(b->stream);
        return;
    }
    const ak_product *p = &b->product;
    ak_product_begin(p, call);
    (void)b->f.sgemm(p->a_transposed ? 'T' : 'N', p->b_transposed ? 'T' : 'N', call->size[0],
                     call->size[1], call->size[2], p->alpha, call->arg[0], call->pitch[0],
                     call->arg[1], call->pitch[1], p->beta, call->arg[p->c], call->pitch[p->c]);
    ak_product_end(p, call);
}

static const char *const problems[] = {"matmul",    "matmul_act", "softmax",
                                       "layernorm", "reduce",     NULL};

static const char *const bf16_problems[] = {"matmul", "matmul_act", NULL};

const ak_baseline_ops ak_baseline_onednn = {
    .name = "onednn",
    .title = "oneDNN",
    .problems = problems,
    .bf16 = bf16_problems,
    .keeps_threads = true,
    .bytes = sizeof(ak_baseline),
    .open = onednn_open,
    .prepare = onednn_prepare,
    .run = onednn_run,
};
