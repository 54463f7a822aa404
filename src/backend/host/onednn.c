/*
 * onednn.c: oneDNN: dnnl_sgemm for products, the softmax primitive for softmax. The declarations
 * are our own; the structures are those of version 2, where descriptors are public. Version 3 kept
 * dnnl_sgemm and hid the rest, so there softmax is not offered.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/host/host_baseline.h"
#include "base/alloc.h"
#include "base/dl.h"

/* Room for the public structures of 2.x; the library writes at most 696 and 1408 bytes (2.6.3), and
   they have not grown by half in any release. */
#define MEMORY_DESC_BYTES  1536
#define SOFTMAX_DESC_BYTES 4096

enum {
    DIMS_MAX = 12,
    ENGINE_CPU = 1,
    STREAM_DEFAULT = 1,
    FORWARD_INFERENCE = 96,
    TYPE_F32 = 3,
    TAG_AB = 3,
    ARG_SRC = 1,
    ARG_DST = 17
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

typedef struct softmax_desc {
    _Alignas(16) unsigned char bytes[SOFTMAX_DESC_BYTES];
} softmax_desc;

/* X(member, exported symbol, result, arguments) */
#define FUNCTIONS(X)                                                                               \
    X(version, "dnnl_version", const version_info *, (void))                                       \
    X(isa, "dnnl_get_effective_cpu_isa", int, (void))                                              \
    X(sgemm, "dnnl_sgemm", int,                                                                    \
      (char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,           \
       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,             \
       int64_t ldc))
#define SOFTMAX_FUNCTIONS(X)                                                                       \
    X(engine_create, "dnnl_engine_create", int, (void **engine, int kind, size_t index))           \
    X(stream_create, "dnnl_stream_create", int, (void **stream, void *engine, unsigned flags))     \
    X(memory_desc_init, "dnnl_memory_desc_init_by_tag", int,                                       \
      (memory_desc * out, int count, const int64_t *dims, int type, int tag))                      \
    X(softmax_desc_init, "dnnl_softmax_forward_desc_init", int,                                    \
      (softmax_desc * out, int kind, const memory_desc *data, int axis))                           \
    X(primitive_desc_create, "dnnl_primitive_desc_create", int,                                    \
      (void **out, const softmax_desc *desc, const void *attributes, void *engine,                 \
       const void *hint))                                                                          \
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
    SOFTMAX_FUNCTIONS(MEMBER)
#undef MEMBER
} functions;

struct ak_baseline {
    functions f;
    bool is_softmax, with_pass;
    ak_pass pass;
    void *engine, *stream;
    /* of the shape that was prepared */
    int64_t size[2];
    void *arg[2];
    void *primitive, *source, *target;
};

static const char *const libraries[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so", NULL};

static bool bind(void *library, functions *f, bool softmax)
{
    bool all = true;
    void *found;
#define BIND(name, symbol, result, arguments)                                                      \
    found = ak_dl_symbol(library, symbol);                                                         \
    memcpy(&f->name, &found, sizeof found);                                                        \
    all = all && found != NULL;
    FUNCTIONS(BIND)
    if (softmax) {
        SOFTMAX_FUNCTIONS(BIND)
    }
#undef BIND
    return all;
}

static const char *isa_name(int isa)
{
    static const struct {
        int isa;
        const char *name;
    } names[] = {{0x1, "SSE4.1"},        {0x3, "AVX"},      {0x7, "AVX2"},
                 {0x407, "AVX2 VNNI"},   {0x27, "AVX-512"}, {0x67, "AVX-512 VNNI"},
                 {0xe7, "AVX-512 BF16"}, {0x3e7, "AMX"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].isa == isa) {
            return names[i].name;
        }
    }
    return isa == 0 ? "any instruction set" : "other instruction set";
}

static ak_status onednn_open(ak_baseline **out, char *version, size_t bytes,
                             const ak_baseline_setup *setup, ak_error *err)
{
    char threads[16];
    void *library = NULL;
    if (setup->library_threads > 0) {
        (void)snprintf(threads, sizeof threads, "%d", setup->library_threads);
        (void)setenv("OMP_NUM_THREADS", threads, 1);
    }
    ak_baseline *baseline = ak_alloc(1, sizeof *baseline);
    if (baseline == NULL) {
        return ak_fail_memory(err);
    }
    baseline->is_softmax = strcmp(setup->problem, "softmax") == 0;
    baseline->with_pass = strcmp(setup->problem, "matmul_act") == 0;
    ak_status status = AK_OK;
    if (baseline->with_pass) {
        status = ak_pass_parse(&baseline->pass, setup->choices, err);
    }
    if (status == AK_OK && ak_dl_open(&library, libraries, NULL) != AK_OK) {
        status = ak_fail(err, AK_UNAVAILABLE, "not installed: apt-get install libdnnl2");
    }
    if (status == AK_OK && !bind(library, &baseline->f, baseline->is_softmax)) {
        status = ak_fail(err, AK_UNAVAILABLE,
                         "this version of oneDNN does not have what is needed: "
                         "apt-get install libdnnl2");
    }
    if (status == AK_OK && baseline->is_softmax &&
        (baseline->f.version()->major != 2 ||
         baseline->f.engine_create(&baseline->engine, ENGINE_CPU, 0) != 0 ||
         baseline->f.stream_create(&baseline->stream, baseline->engine, STREAM_DEFAULT) != 0)) {
        status = ak_fail(err, AK_UNAVAILABLE, "softmax is compared with oneDNN 2 only");
    }
    if (status != AK_OK) {
        ak_free(baseline);
        return status;
    }
    const version_info *info = baseline->f.version();
    (void)snprintf(version, bytes, "%d.%d.%d %s", info->major, info->minor, info->patch,
                   isa_name(baseline->f.isa()));
    *out = baseline;
    return AK_OK;
}

static void forget_shape(ak_baseline *b)
{
    if (b->primitive != NULL) {
        (void)b->f.primitive_destroy(b->primitive);
    }
    if (b->source != NULL) {
        (void)b->f.memory_destroy(b->source);
    }
    if (b->target != NULL) {
        (void)b->f.memory_destroy(b->target);
    }
    b->primitive = b->source = b->target = NULL;
}

static ak_status onednn_prepare(ak_baseline *b, const ak_host_call *call, ak_error *err)
{
    if (!b->is_softmax) {
        return AK_OK;
    }
    if (b->primitive != NULL && b->size[0] == call->size[0] && b->size[1] == call->size[1] &&
        b->arg[0] == call->arg[0] && b->arg[1] == call->arg[1]) {
        return AK_OK;
    }
    memory_desc data;
    softmax_desc desc;
    void *primitive_desc = NULL;
    int64_t dims[DIMS_MAX] = {call->size[0], call->size[1]};
    forget_shape(b);
    bool good = b->f.memory_desc_init(&data, 2, dims, TYPE_F32, TAG_AB) == 0 &&
                b->f.softmax_desc_init(&desc, FORWARD_INFERENCE, &data, 1) == 0 &&
                b->f.primitive_desc_create(&primitive_desc, &desc, NULL, b->engine, NULL) == 0 &&
                b->f.primitive_create(&b->primitive, primitive_desc) == 0 &&
                b->f.memory_create(&b->source, &data, b->engine, call->arg[0]) == 0 &&
                b->f.memory_create(&b->target, &data, b->engine, call->arg[1]) == 0;
    if (primitive_desc != NULL) {
        (void)b->f.primitive_desc_destroy(primitive_desc);
    }
    if (!good) {
        forget_shape(b);
        return ak_fail(err, AK_UNAVAILABLE, "oneDNN has no softmax for this shape");
    }
    memcpy(b->size, call->size, sizeof b->size);
    b->arg[0] = call->arg[0];
    b->arg[1] = call->arg[1];
    return AK_OK;
}

static void onednn_run(ak_baseline *b, const ak_host_call *call)
{
    if (b->is_softmax) {
        const exec_arg args[] = {{ARG_SRC, b->source}, {ARG_DST, b->target}};
        (void)b->f.primitive_execute(b->primitive, b->stream, 2, args);
        (void)b->f.stream_wait(b->stream);
        return;
    }
    int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    float *c = call->arg[b->with_pass ? 3 : 2];
    (void)b->f.sgemm('N', 'N', m, n, k, 1.0f, call->arg[0], k, call->arg[1], n, 0.0f, c, n);
    if (b->with_pass) {
        ak_pass_run(&b->pass, call);
    }
}

static const char *const problems[] = {"matmul", "matmul_act", "softmax", NULL};

const ak_baseline_ops ak_baseline_onednn = {
    .name = "onednn",
    .title = "oneDNN",
    .problems = problems,
    .keeps_threads = true,
    .open = onednn_open,
    .prepare = onednn_prepare,
    .run = onednn_run,
};
