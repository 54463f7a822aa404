/*
 * test_cuda_spaces.c: tests the CUDA spaces without a GPU. With the facts of two devices, the
 * defaults and random configurations can be launched; where NVRTC is installed, they also compile
 * for these devices, and the defaults do not spill. tests/simt tests what the code computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/cuda.h"
#include "base/rng.h"
#include "nvrtc_fixture.h"
#include "backend/launch/launch.h"
#include "space/space_body.h"
#include "problem/task.h"
#include "problem/task_options.h"

enum { SAMPLES = 50 };

typedef struct device {
    const char *name; /* of its data sheet */
    int processors, shared_max;
    const char *architecture;
} device;
static const device devices[] = {{"cuda:H200", 132, 232448, "--gpu-architecture=sm_90a"},
                                 {"cuda:A100", 108, 166912, "--gpu-architecture=sm_80"}};

#define EXAMPLES AK_TEST_DATA "/../../examples/kernels/"
static const struct {
    const char *kernel, *implementation, *dtype, *size, *choices;
    bool compile;
} tasks[] = {
    {"softmax", "cuda", "f32", "rows=4096,cols=1024", NULL, true},
    {"softmax", "cuda", "bf16", "rows=100,cols=33", NULL, false},
    {"softmax", "cuda", "f16", "rows=16,cols=262144", NULL, true},
    {"softmax", "cuda", "f32", "rows=3,cols=1000003", NULL, false},
    {"layernorm", "cuda", "bf16", "rows=1024,cols=8192", NULL, true},
    {"layernorm", "cuda", "f32", "rows=2048,cols=32771", NULL, true},
    {"layernorm", "cuda", "f32", "rows=2048,cols=20001", "weight=none", true},
    {"layernorm", "cuda", "f32", "rows=64,cols=131072", "weight=none,bias=none", false},
    {"layernorm", "cuda", "f16", "rows=1,cols=1", "weight=scale,bias=none", false},
    {"rmsnorm", "cuda", "bf16", "rows=1024,cols=4096", NULL, true},
    {"rmsnorm", "cuda", "f32", "rows=77,cols=77", "weight=none", false},
    {"rmsnorm", "cuda", "bf16", "rows=3767,cols=17514", NULL, true},
    {"reduce", "cuda", "f32", "rows=4,cols=4194304", NULL, true},
    {"reduce", "cuda", "bf16", "rows=65536,cols=64", NULL, false},
    {"attention_decode", "cuda", "bf16", "batch=16,heads=64,keys=4096", NULL, true},
    {"attention_decode", "cuda", "f16", "queries=4,head_dim=64", "page=48,layout=nhd", true},
    {"attention_decode", "cuda", "bf16", "batch=1,keys=1,heads=1,kv_heads=1", "lengths=full",
     false},
    {"attention_decode", "cuda", "f16", "queries=3,head_dim=256,keys=100000", "page=16", false},
    {"attention_decode", "cuda", "bf16", "batch=16,heads=64,keys=4096", "kv=e4m3", true},
    {"attention_decode", "cuda", "f16", "queries=4,head_dim=64", "kv=e4m3,page=48,layout=nhd",
     true},
    {"attention", "cuda_sm90", "bf16", "batch=2", "mask=causal", true},
    {"attention", "cuda_sm90", "f16", "head_dim=64,queries=1,keys=1,heads=8,kv_heads=2", NULL,
     false},
    {"attention", "cuda_sm90", "bf16", "batch=1000,queries=9000,keys=9000",
     "sequences=packed,layout=nhd", true},
    {"attention", "cuda_sm90", "f16", "batch=9,queries=5,keys=300,head_dim=256",
     "sequences=packed,mask=causal", false},
    {"attention", "cuda_sm90", "bf16", "head_dim=256,queries=3000,keys=5000",
     "mask=causal,layout=nhd,window=7,soft_cap=50", true},
    {"matmul", "cuda_sm80", "bf16", "M=2048,N=4096,K=1024", NULL, true},
    {"matmul", "cuda_sm80", "f16", "M=1,N=1,K=1", NULL, false},
    {"matmul", "cuda_sm80", "bf16", "M=1000,N=3001,K=501", NULL, true},
    {"matmul", "cuda_sm80", "f16", "M=16,N=4096,K=2048", NULL, false},
    {"matmul_act", "cuda_sm80", "f16", "M=2048,N=2048,K=2048", "bias=add,activation=gelu_tanh",
     true},
    {"matmul", "cuda_sm80", "bf16", "M=1000,N=3000,K=500",
     "layout=tt,alpha=0.5,beta=2,pad_a=1,pad_b=3,pad_c=5", true},
    {"matmul_act", "cuda_sm80", "f16", "M=300,N=1,K=1",
     "layout=tn,beta=1,residual=add,activation=silu,pad_a=7", false},
    {"matmul", "cuda_f32", "f32", "M=4096,N=4096,K=4096", NULL, true},
    {"matmul", "cuda_f32", "f32", "M=17,N=3001,K=501", "layout=tn,pad_a=1,pad_b=2", false},
    {"matmul_act", "cuda_f32", "f32", "M=1,N=1,K=1", "layout=tt,residual=add,beta=0.5", false},
    /* cuda_sm90 is for the first device only */
    {"matmul", "cuda_sm90", "bf16", "M=4096,N=4096,K=4096", NULL, false},
    {"matmul", "cuda_sm90", "bf16", "M=1024,N=1024,K=1024", "layout=nt", false},
    {"matmul", "cuda_sm90", "f16", "M=4096,N=4096,K=512", "layout=tt,alpha=-1,beta=0.5", true},
    {"matmul", "cuda_sm90", "bf16", "M=16,N=4096,K=4096", "layout=nt,beta=1", false},
    {"matmul", "cuda_sm90", "bf16", "M=1000,N=3001,K=504", "layout=nt,beta=1", false},
    {"matmul", "cuda_sm90", "bf16", "M=1,N=1,K=1", "pad_a=7,pad_b=7,pad_c=7", false},
    {"matmul", "cuda_sm90_tf32", "f32", "M=2048,N=2048,K=2048", "precision=tf32", true},
    {"matmul", "cuda_sm90_tf32", "f32", "M=17,N=4097,K=1001", "precision=tf32,layout=tt", false},
    {"matmul", "cuda_sm90_tf32", "f32", "M=1000,N=3001,K=5001", "precision=tf32,beta=1", true},
    {"matmul", "cuda_sm90_tf32", "f32", "M=4096,N=512,K=1000", "precision=tf32,layout=tn", true},
    {"matmul", "cuda_sm90_tf32", "f32", "M=16,N=4096,K=4096", "precision=tf32", true},
    {"matmul_act", "cuda_sm90_tf32", "f32", "M=512,N=1000,K=4096",
     "precision=tf32,layout=nt,residual=add,beta=0.5", true},
    {"matmul", "cuda_sm90_split", "f32", "M=4096,N=4096,K=4096", "precision=bf16x3", true},
    {"matmul", "cuda_sm90_split", "f32", "M=1000,N=3001,K=5001",
     "precision=bf16x6,layout=tt,pad_a=1", false},
    {"matmul", "cuda_sm90_split", "f32", "M=16,N=40,K=8200", "precision=bf16x6", false},
    {"matmul", "cuda_sm90_split", "f32", "M=3712,N=2016,K=80", "precision=bf16x3", true},
    {"matmul", "cuda_sm90_tf32", "f32", "M=88,N=4864,K=1896", "precision=tf32", true},
    {"matmul", "cuda_sm90_split", "f32", "M=700,N=1100,K=900", "precision=bf16x6", true},
    {"matmul_act", "cuda_sm90_split", "f32", "M=512,N=1000,K=4096",
     "precision=bf16x3,layout=nt,residual=add,beta=0.5,activation=gelu_erf", true},
    {"matmul_act", "cuda_sm90_split", "f32", "M=1,N=1,K=1", "precision=bf16x6", false},
    {"matmul_fp8", "cuda_sm90", "bf16", "M=8192,N=8192,K=8192", NULL, true},
    {"matmul_fp8", "cuda_sm90", "f16", "M=64,N=7168,K=16384", "scales=rows", true},
    {"matmul_fp8", "cuda_sm90", "bf16", "M=1,N=1,K=16", "scales=blocks", false},
    {"matmul_fp8", "cuda_sm90", "bf16", "M=300,N=4100,K=2048", "scales=blocks", true},
    {"matmul_fp8", "cuda_sm90", "bf16", "M=8192,N=8192,K=8192", "c_type=e4m3", true},
    {"matmul_fp8", "cuda_sm90", "f16", "M=16,N=4104,K=8192",
     "scales=blocks,a_type=e5m2,c_type=e4m3", true},
    {"matmul_fp8", "cuda_sm90", "bf16", "M=300,N=4100,K=2048",
     "scales=rows,a_type=e5m2,c_type=e4m3,bias=add,activation=silu", true},
    {"matmul_grouped", "cuda_sm90", "bf16", "groups=8,M=1024,N=4096,K=4096", NULL, true},
    {"matmul_grouped", "cuda_sm90", "f16", "groups=64,M=4096,N=1408,K=2048", "activation=swiglu",
     true},
    {"matmul_grouped", "cuda_sm90", "bf16", "groups=8,M=4096,N=4096,K=4096", "activation=swiglu",
     true},
    {"matmul_grouped", "cuda_sm90", "bf16", "groups=1,M=1,N=8,K=8", NULL, false},
    {"matmul_grouped", "cuda_sm90", "bf16", "groups=8,M=4096,N=4096,K=4096", "inputs=e4m3", true},
    {"matmul_grouped", "cuda_sm90", "f16", "groups=64,M=1024,N=1408,K=2048",
     "activation=swiglu,inputs=e4m3", true},
    {"matmul_grouped", "cuda_sm90", "bf16", "groups=5,M=100,N=264,K=1032",
     "activation=swiglu,layout=masked", false},
    {"matmul_act", "cuda_sm90", "bf16", "M=8192,N=8192,K=1024",
     "bias=add,activation=gelu_tanh,residual=add", true},
    {"matmul_act", "cuda_sm90", "f16", "M=2048,N=2048,K=2048",
     "layout=tn,bias=add,activation=gelu_erf,residual=add,beta=1", true},
    {"matmul_act", "cuda_sm90", "f16", "M=128,N=12344,K=2048",
     "activation=silu,residual=add,pad_b=8", false},
    {EXAMPLES "reduction", "cuda", "f32", "rows=100,cols=5000", NULL, true},
    {EXAMPLES "transpose", "cuda", "f32", "height=1000,width=300", NULL, true},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

/* Returns the device of turn i; each task has two. Tasks of cuda_sm90 or e4m3 run on the first
   device only. */
static const device *device_of(size_t i)
{
    const char *choices = tasks[i / 2].choices;
    bool first = strncmp(tasks[i / 2].implementation, "cuda_sm90", 9) == 0 ||
                 (choices != NULL && strstr(choices, "e4m3") != NULL);
    return &devices[first ? 0 : i % 2];
}

/* Tasks are bound once each and kept, because building a large space takes a tenth of a second. */
static struct {
    char key[256];
    ak_task *task;
} kept[320];

static const char *or_default(const char *text)
{
    return text == NULL ? "default" : text;
}

static ak_task *bind_anew(const device *on, const ak_task_spec *spec, bool outline)
{
    ak_task *task = NULL;
    ak_scope *facts = ak_scope_new(NULL);
    const ak_device_facts known = {
        .backend = "cuda", .device = "cuda:0", .facts = facts, .outline = outline};
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_cuda_sheet_facts(facts, on->name, NULL), AK_OK);
    if (ak_task_bind(&task, spec, &known, &err) != AK_OK) {
        fail_msg("%s %s: %s", spec->kernel, spec->size, err.text);
    }
    ak_scope_free(facts);
    return task;
}

static ak_task *bind_spec(const device *on, const ak_task_spec *spec)
{
    char key[sizeof kept[0].key];
    size_t n = 0;
    (void)snprintf(key, sizeof key, "%s %s %s %s %s %s", on->name, spec->kernel,
                   or_default(spec->implementation), spec->dtype, spec->size,
                   or_default(spec->choices));
    while (n < sizeof kept / sizeof kept[0] && kept[n].task != NULL &&
           strcmp(kept[n].key, key) != 0) {
        n++;
    }
    assert_true(n < sizeof kept / sizeof kept[0]);
    if (kept[n].task == NULL) {
        kept[n].task = bind_anew(on, spec, false);
        (void)snprintf(kept[n].key, sizeof kept[n].key, "%s", key);
    }
    return kept[n].task;
}

static void close_kept(void)
{
    for (size_t n = 0; n < sizeof kept / sizeof kept[0]; n++) {
        ak_task_close(kept[n].task);
    }
}

static ak_task_spec spec_of(size_t task)
{
    return (ak_task_spec){.kernel = tasks[task].kernel,
                          .implementation = tasks[task].implementation,
                          .device = "cuda:0",
                          .size = tasks[task].size,
                          .dtype = tasks[task].dtype,
                          .choices = tasks[task].choices};
}

static ak_task *bind(const device *on, size_t task)
{
    const ak_task_spec spec = spec_of(task);
    return bind_spec(on, &spec);
}

/* Gives as many resident blocks as the largest BLOCKS_PER_SM, 3, allows. */
static ak_status three_a_processor(int64_t *out, void *context, const ak_launch_kernel *kernel,
                                   ak_error *err)
{
    (void)kernel;
    (void)err;
    *out = 3 * ((const device *)context)->processors;
    return AK_OK;
}

/* Returns a parameter's value; `otherwise` if the space has no such parameter. */
static int64_t value_of(const ak_space *space, const ak_config *config, const char *name,
                        int64_t otherwise)
{
    char text[4096], part[64];
    text[0] = ',';
    (void)ak_config_format(text + 1, sizeof text - 1, space, config);
    (void)snprintf(part, sizeof part, ",%s=", name);
    const char *at = strstr(text, part);
    return at == NULL ? otherwise : strtoll(at + strlen(part), NULL, 10);
}

/* Returns the least shared memory that the code of softmax/cuda_rows.cu uses: SCRATCH_BYTES,
   STAY_BYTES, vectors of aligned rows that wait (REST), and rows of STAGES. 0 for other kernels,
   among them the examples, whose shared memory is static. */
static int64_t shared_of_rows(const ak_task *task, const ak_config *config)
{
    const ak_space *space = ak_task_space(task);
    const char *kernel = task->problem->name;
    if (strncmp(kernel, "matmul", strlen("matmul")) == 0 ||
        strncmp(kernel, "attention", strlen("attention")) == 0 ||
        strcmp(kernel, "reduction") == 0 || strcmp(kernel, "transpose") == 0) {
        return 0;
    }
    const int64_t threads = value_of(space, config, "THREADS_PER_ROW", 0);
    const int64_t rows = value_of(space, config, "ROWS", 0);
    const int64_t cluster = value_of(space, config, "CLUSTER", 1);
    const int64_t keep = value_of(space, config, "KEEP", 0);
    const int64_t bytes = value_of(space, config, "VEC_BYTES", 0);
    const int64_t stages = value_of(space, config, "STAGES", 0);
    const int64_t warps = (threads > 32 ? threads / 32 : 1) * cluster;
    const int64_t vectors = task->shape.size[1] * (int64_t)ak_dtype_bytes(task->dtype) / bytes;
    const int64_t waiting = (vectors + threads * cluster - 1) / (threads * cluster) - keep;
    const int64_t groups = threads < 32 ? threads * rows / 32 : rows;
    const int64_t parts_bytes = 4 * sizeof(float);
    assert_true(threads > 0 && rows > 0 && bytes > 0);
    int64_t all =
        warps > 1 ? 2 * rows * value_of(space, config, "BATCH", 1) * warps * parts_bytes : 0;
    all += cluster > 1 ? 16 : 0;
    all += value_of(space, config, "WEIGHT_EARLY", 0) == 3
               ? (strcmp(kernel, "layernorm") == 0 ? 2 : 1) * keep * threads * bytes
               : 0;
    all += value_of(space, config, "REST", 0) == 1 && waiting > 0 ? waiting * threads * rows * bytes
                                                                  : 0;
    return all + stages * (threads * rows * keep * bytes + 8 * groups);
}

/* Returns the least shared memory that the code of matmul/cuda_gemm_sm90.cu uses if elements of A
   and B are bytes: the ring, the barriers, and the scales of the blocks of each slot. 0 for other
   kernels. */
static int64_t shared_of_bytes(const ak_task *task, const ak_config *config)
{
    const ak_space *space = ak_task_space(task);
    if (strcmp(task->problem->name, "matmul_fp8") != 0) {
        return 0;
    }
    const int64_t m = value_of(space, config, "BLOCK_SIZE_M", 0);
    const int64_t n = value_of(space, config, "BLOCK_SIZE_N", 0);
    const int64_t k = value_of(space, config, "BLOCK_SIZE_K", 0);
    const int64_t stages = value_of(space, config, "num_stages", 0);
    const bool has_blocks = strstr(task->choices_text, "scales=blocks") != NULL;
    const int64_t scales = has_blocks ? k / 128 * (m + n / (n % 128 == 0 ? 128 : 64)) : 0;
    assert_true(m > 0 && n > 0 && k > 0 && stages > 0);
    return stages * ((m + n) * k + 16 + scales * (int64_t)sizeof(float)) + 48;
}

/* Returns the least workspace of matmul_grouped: counters, and two parts for each block. */
static int64_t workspace_of_groups(const ak_task *task, const ak_config *config, int64_t blocks)
{
    const ak_space *space = ak_task_space(task);
    if (strcmp(task->problem->name, "matmul_grouped") != 0 ||
        value_of(space, config, "STREAM", 0) == 0) {
        return 0;
    }
    return 4096 + blocks * 2 * (int64_t)sizeof(float) * value_of(space, config, "BLOCK_SIZE_M", 0) *
                      value_of(space, config, "BLOCK_SIZE_N", 0);
}

static void check_launch(const ak_task *task, const device *on, const ak_config *config)
{
    ak_launch_plan plan;
    ak_error err = AK_ERROR_INIT;
    size_t workspace = 0;
    int threads = 0;
    if (ak_launch_evaluate(&plan, task, &task->shape, config,
                           &(ak_launch_resident){three_a_processor, (void *)(uintptr_t)on},
                           &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_in_range(plan.count, 1, 2); /* a first kernel may turn operands */
    const ak_launch_kernel *k = &plan.kernels[plan.count - 1];
    assert_in_range(k->block[0] * k->block[1] * k->block[2], 32, 1024);
    assert_true(k->shared_bytes <= (uint32_t)on->shared_max);
    assert_true((int64_t)k->shared_bytes >= shared_of_rows(task, config));
    assert_true((int64_t)k->shared_bytes >= shared_of_bytes(task, config));
    assert_int_equal(k->grid[0] % k->cluster[0], 0);
    assert_int_equal(ak_task_workspace(&workspace, &threads, task, &task->shape, config, &err),
                     AK_OK);
    assert_true(workspace <= (size_t)1 << 32);
    assert_true((int64_t)workspace >= workspace_of_groups(task, config, (int64_t)k->grid[0]));
}

static void test_configurations_can_be_launched(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * TASKS; i++) {
        const device *on = device_of(i);
        ak_task *task = bind(on, i / 2);
        const ak_space *space = ak_task_space(task);
        ak_config config;
        ak_rng rng;
        ak_rng_seed(&rng, i);
        ak_space_default(&config, space);
        check_launch(task, on, &config);
        for (int n = 0; n < SAMPLES; n++) {
            ak_space_sample(&config, space, &rng);
            check_launch(task, on, &config);
        }
    }
}

/* The conditions allow the configuration that is declared as default, which an outline keeps. */
static void test_defaults_are_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * TASKS; i++) {
        const ak_task_spec spec = spec_of(i / 2);
        ak_task *task = bind(device_of(i), i / 2);
        ak_task *outline = bind_anew(device_of(i), &spec, true);
        ak_error err = AK_ERROR_INIT;
        ak_config config;
        ak_space_default(&config, ak_task_space(outline));
        ak_task_close(outline);
        if (ak_config_explain(ak_task_space(task), &config, &err) != AK_OK) {
            fail_msg("%s %s %s: %s", tasks[i / 2].kernel, tasks[i / 2].dtype, tasks[i / 2].size,
                     err.text);
        }
    }
}

static bool has_values(const ak_space *space, const ak_config *config, const json_t *wanted)
{
    char text[4096], part[128];
    const char *name;
    json_t *value;
    text[0] = ',';
    (void)ak_config_format(text + 1, sizeof text - 2, space, config);
    (void)strcat(text, ",");
    json_object_foreach((json_t *)(uintptr_t)wanted, name, value) {
        (void)snprintf(part, sizeof part, ",%s=%lld,", name, (long long)json_integer_value(value));
        if (strstr(text, part) == NULL) {
            return false;
        }
    }
    return true;
}

static const json_t *starts_of(const ak_task *task)
{
    const json_t *space = json_object_get(task->implementation->definition, "ConfigurationSpace");
    const json_t *list = json_object_get(space, "Starts");
    assert_true(json_array_size(list) > 10);
    return list;
}

/* Each start that names a size is valid at this size and among the first configurations tried
   there. The first start of a size is the default there. */
static void test_starts_are_valid(void **state)
{
    static const char *const kernels[] = {"matmul", "matmul_act"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        ak_task_spec spec = {.kernel = kernels[k],
                             .implementation = "cuda_sm90",
                             .device = "cuda:0",
                             .size = "M=4096,N=4096,K=4096",
                             .dtype = "bf16"};
        ak_task *any = bind_spec(&devices[0], &spec);
        const json_t *list = starts_of(any);
        const ak_space *space = NULL;
        const ak_config *starts = NULL;
        size_t count = 0, sizes = 0;
        char before[96] = "", size[96];
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *start = json_array_get(list, i), *at = json_object_get(start, "At");
            const json_t *wanted = json_object_get(start, "Config");
            if (at == NULL) {
                continue; /* for every size: test_starts_for_every_size */
            }
            bool found = false;
            (void)snprintf(size, sizeof size, "M=%.0f,N=%.0f,K=%.0f",
                           json_number_value(json_object_get(at, "M")),
                           json_number_value(json_object_get(at, "N")),
                           json_number_value(json_object_get(at, "K")));
            if (strcmp(size, before) != 0) {
                ak_config first;
                (void)snprintf(before, sizeof before, "%s", size);
                spec.size = size;
                space = is_tried(sizes++) ? ak_task_space(bind_spec(&devices[0], &spec)) : NULL;
                if (space == NULL) {
                    continue;
                }
                count = ak_space_starts(&starts, space);
                ak_space_default(&first, space);
                if (!has_values(space, &first, wanted)) {
                    fail_msg("%s: start %zu is not the default at %s", kernels[k], i + 1, size);
                }
            }
            for (size_t n = 0; space != NULL && n < count && !found; n++) {
                found = has_values(space, &starts[n], wanted);
            }
            if (space != NULL && !found) {
                fail_msg("%s: start %zu is not valid at %s", kernels[k], i + 1, size);
            }
        }
    }
}

/* Writes the configuration of a start as text. */
static void text_of(char *text, size_t size, const json_t *config)
{
    const char *name;
    json_t *value;
    size_t used = 0;
    json_object_foreach((json_t *)(uintptr_t)config, name, value) {
        used += (size_t)snprintf(text + used, size - used, "%s%s=%lld", used > 0 ? "," : "", name,
                                 (long long)json_integer_value(value));
        assert_true(used < size);
    }
}

/* Each start for every size is valid at one of these sizes at least. Some have rows of a multiple
   of 16 bytes, others do not. */
static void test_starts_for_every_size(void **state)
{
    static const struct {
        const char *name;
        size_t starts; /* of every size, beside the family, at least */
    } kernels[] = {{"matmul", 40}, {"matmul_act", 0}};
    static const char *const sizes[] = {
        "M=16,N=4096,K=4096",   "M=64,N=4096,K=4096",   "M=72,N=104,K=13392",
        "M=256,N=256,K=16384",  "M=88,N=16,K=11752",    "M=600,N=480,K=9512",
        "M=1000,N=1000,K=8192", "M=1001,N=2001,K=1001", "M=8192,N=8192,K=1024"};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        ak_task *tasks_at[SIZES];
        for (size_t i = 0; i < SIZES; i++) {
            ak_task_spec spec = {.kernel = kernels[k].name,
                                 .implementation = "cuda_sm90",
                                 .device = "cuda:0",
                                 .size = sizes[i],
                                 .dtype = "bf16"};
            tasks_at[i] = bind_spec(&devices[0], &spec);
        }
        const json_t *list = starts_of(tasks_at[0]);
        size_t of_every_size = 0, families = 0;
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *start = json_array_get(list, i);
            char text[1024];
            bool valid = false;
            if (json_object_get(start, "Family") != NULL) {
                families++; /* its members are valid: test_families in test_space.c */
                continue;
            }
            text_of(text, sizeof text, json_object_get(start, "Config"));
            of_every_size += json_object_get(start, "At") == NULL;
            for (size_t n = 0; n < SIZES && json_object_get(start, "At") == NULL; n++) {
                ak_config config;
                valid = valid ||
                        ak_config_parse(&config, ak_task_space(tasks_at[n]), text, NULL) == AK_OK;
            }
            if (!valid && json_object_get(start, "At") == NULL) {
                fail_msg("%s: start %zu is valid nowhere: %s", kernels[k].name, i + 1, text);
            }
        }
        assert_true(of_every_size >= kernels[k].starts);
        assert_int_equal(families, 1);
    }
}

/* Sizes whose fastest configuration a search did not find: of members for which the rank expects
   the same time it tried the one with a shorter ring, and a condition excluded 224 x 128. */
static void test_rings_are_as_long_as_they_can_be(void **state)
{
    ak_task_spec spec = {
        .kernel = "matmul", .implementation = "cuda_sm90", .device = "cuda:0", .dtype = "bf16"};
    ak_config first;
    const ak_config *starts;
    bool found = false;
    (void)state;
    spec.size = "M=168,N=11600,K=7088";
    const ak_space *space = ak_task_space(bind_spec(&devices[0], &spec));
    ak_space_default(&first, space);
    assert_int_equal(value_of(space, &first, "BLOCK_SIZE_M", 0), 88);
    assert_int_equal(value_of(space, &first, "BLOCK_SIZE_N", 0), 192);
    assert_int_equal(value_of(space, &first, "num_stages", 0), 6);
    spec.size = "M=1120,N=12840,K=3504";
    space = ak_task_space(bind_spec(&devices[0], &spec));
    const size_t count = ak_space_starts(&starts, space);
    for (size_t i = 0; i < count && i < 8; i++) {
        found = found || (value_of(space, &starts[i], "BLOCK_SIZE_M", 0) == 224 &&
                          value_of(space, &starts[i], "BLOCK_SIZE_N", 0) == 128);
    }
    assert_true(found);
}

/* The same for kernels on rows, whose starts name the bytes of the dtype, too. Beside them there is
   one family. */
static void test_starts_of_rows_are_defaults(void **state)
{
    static const char *const kernels[] = {"softmax", "layernorm", "rmsnorm"};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        ak_task_spec spec = {.kernel = kernels[k],
                             .implementation = "cuda",
                             .device = "cuda:0",
                             .size = "rows=64,cols=1024",
                             .dtype = "f32"};
        ak_task *any = bind_spec(&devices[0], &spec);
        const json_t *list = starts_of(any);
        int families = 0;
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *start = json_array_get(list, i), *at = json_object_get(start, "At");
            char size[96];
            ak_config first;
            if (at == NULL) {
                assert_non_null(json_object_get(start, "Family"));
                families++;
                continue;
            }
            (void)snprintf(size, sizeof size, "rows=%lld,cols=%lld",
                           (long long)json_integer_value(json_object_get(at, "rows")),
                           (long long)json_integer_value(json_object_get(at, "cols")));
            spec.size = size;
            spec.dtype =
                json_integer_value(json_object_get(at, "dtype_bytes")) == 4 ? "f32" : "f16";
            ak_task *task = bind_spec(&devices[0], &spec);
            ak_space_default(&first, ak_task_space(task));
            if (!has_values(ak_task_space(task), &first, json_object_get(start, "Config"))) {
                fail_msg("%s: start %zu is not the default at %s", kernels[k], i + 1, size);
            }
            check_launch(task, &devices[0], &first);
        }
        assert_int_equal(families, 1);
    }
}

/* Implementations for Hopper are the default there, also for odd sizes. */
static void test_choice_of_implementation(void **state)
{
    static const struct {
        const device *on;
        const char *size, *implementation, *dtype, *choices;
    } cases[] = {{&devices[0], "M=64,N=64,K=64", "cuda_sm90", "bf16", NULL},
                 {&devices[0], "M=64,N=63,K=63", "cuda_sm90", "bf16", NULL},
                 {&devices[1], "M=64,N=64,K=64", "cuda_sm80", "bf16", NULL},
                 {&devices[0], "M=64,N=64,K=64", "cuda_f32", "f32", NULL},
                 {&devices[0], "M=64,N=64,K=64", "cuda_sm90_tf32", "f32", "precision=tf32"},
                 {&devices[0], "M=64,N=64,K=64", "cuda_sm90_split", "f32", "precision=bf16x3"},
                 {&devices[0], "M=64,N=64,K=64", "cuda_sm90_split", "f32", "precision=bf16x6"},
                 {&devices[1], "M=64,N=64,K=64", "cuda_f32", "f32", "precision=bf16x6"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ak_task_spec spec = {.kernel = "matmul",
                                   .device = "cuda:0",
                                   .size = cases[i].size,
                                   .dtype = cases[i].dtype,
                                   .choices = cases[i].choices};
        ak_task *task = bind_spec(cases[i].on, &spec);
        assert_string_equal(ak_task_implementation(task), cases[i].implementation);
    }
}

/* The less accurate a precision of f32 is, the larger the tolerance and the device's rate of
   operations. */
static void test_precisions(void **state)
{
    static const struct {
        const char *choices;
        double parts, at_one, at_large; /* of the rate of bf16; of an element, at K = 1 and 4096 */
    } cases[] = {{"precision=tf32", 2, 0x1p-10, 0x1p-10},
                 {"precision=bf16x3", 3, 0x1p-15 + 0x1p-20, 0x1p-15 + 0x1p-14},
                 {"precision=bf16x6", 6, 0x1p-20, 0x1p-14},
                 {"precision=full", 16, 0x1p-20, 0x1p-14}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int large = 0; large < 2; large++) {
            const ak_task_spec spec = {.kernel = "matmul",
                                       .device = "cuda:0",
                                       .size = large ? "M=64,N=64,K=4096" : "M=1,N=1,K=1",
                                       .dtype = "f32",
                                       .choices = cases[i].choices};
            const ak_task *task = bind_spec(&devices[0], &spec);
            const double allowed = large ? cases[i].at_large : cases[i].at_one;
            const double rate = ak_cuda_flops_per_clock(task->constants, AK_DTYPE_F32);
            assert_true(task->shape.relative == allowed);
            assert_true(rate == 132 * 4096 / cases[i].parts);
        }
    }
}

/* Products by tf32 transpose an operand first only if neither lies along K, or if there are few
   rows. They copy an operand whose rows the copy engine cannot address. */
static void test_tf32_turns_what_it_must(void **state)
{
    static const struct {
        const char *size, *choices;
        int64_t a, b; /* PAD_A and PAD_B of each configuration */
    } cases[] = {
        {"M=512,N=512,K=512", "layout=nn", 0, 0},         {"M=16,N=512,K=512", "layout=nn", 0, 0},
        {"M=512,N=512,K=512", "layout=nt", 0, 0},         {"M=512,N=512,K=512", "layout=tt", 0, 0},
        {"M=16,N=512,K=512", "layout=tt", 1, 0},          {"M=512,N=1024,K=512", "layout=tn", 1, 0},
        {"M=1024,N=512,K=512", "layout=tn", 0, 1},        {"M=512,N=510,K=512", "layout=nn", 0, 1},
        {"M=512,N=512,K=512", "layout=nn,pad_a=1", 1, 0}, {"M=510,N=512,K=514", "layout=nn", 1, 0},
        {"M=512,N=512,K=514", "layout=tt", 0, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char choices[64];
        (void)snprintf(choices, sizeof choices, "precision=tf32,%s", cases[i].choices);
        const ak_task_spec spec = {.kernel = "matmul",
                                   .device = "cuda:0",
                                   .size = cases[i].size,
                                   .dtype = "f32",
                                   .choices = choices};
        ak_task *task = bind_spec(&devices[0], &spec);
        const ak_space *space = ak_task_space(task);
        ak_config config;
        ak_rng rng;
        ak_rng_seed(&rng, i);
        for (int n = 0; n < 5; n++) {
            ak_launch_plan plan;
            ak_error err = AK_ERROR_INIT;
            const ak_launch_resident resident = {three_a_processor, (void *)(uintptr_t)&devices[0]};
            if (n == 0) {
                ak_space_default(&config, space);
            } else {
                ak_space_sample(&config, space, &rng);
            }
            assert_int_equal(value_of(space, &config, "PAD_A", -1), cases[i].a);
            assert_int_equal(value_of(space, &config, "PAD_B", -1), cases[i].b);
            assert_int_equal(
                ak_launch_evaluate(&plan, task, &task->shape, &config, &resident, &err), AK_OK);
            assert_int_equal(plan.count, cases[i].a + cases[i].b > 0 ? 2 : 1);
        }
    }
}

/* The resources of a kernel as ptxas reports them. */
typedef struct use {
    int registers, shared_bytes, spilled_bytes;
} use;

static int number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words);
    while (at != NULL && at > log && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at == NULL ? 0 : atoi(at);
}

static use use_of(const char *log)
{
    return (use){.registers = number_before(log, " registers"),
                 .shared_bytes = number_before(log, " bytes smem"),
                 .spilled_bytes = number_before(log, " bytes spill stores")};
}

/* Random valid configurations give a cubin for which the device has enough registers, or which the
   backend would reject by the report of ptxas. $AUTOKERNEL_CANDIDATES is the number for each task;
   without it the test is skipped, because it takes a minute. */
static void test_candidates_compile(void **state)
{
    const char *wanted = getenv("AUTOKERNEL_CANDIDATES");
    int each = wanted == NULL ? 0 : atoi(wanted), compiled = 0, rejected = 0;
    (void)state;
    if (each < 1) {
        print_message("not compiled: AUTOKERNEL_CANDIDATES says how many a task\n");
        skip();
    }
    for (size_t i = 0; i < 2 * TASKS; i++) {
        const device *on = device_of(i);
        if (!tasks[i / 2].compile || on != &devices[i % 2]) {
            continue;
        }
        ak_task *task = bind(on, i / 2);
        ak_rng rng;
        ak_rng_seed(&rng, 1000 + i);
        for (int n = 0; n < each; n++) {
            ak_config config;
            ak_options options = {0};
            ak_launch_plan plan;
            char *log = NULL;
            size_t cubin = 0;
            ak_space_sample(&config, ak_task_space(task), &rng);
            assert_int_equal(
                ak_launch_evaluate(&plan, task, &task->shape, &config,
                                   &(ak_launch_resident){three_a_processor, (void *)(uintptr_t)on},
                                   NULL),
                AK_OK);
            assert_int_equal(ak_options_add(&options, on->architecture, NULL), AK_OK);
            assert_int_equal(ak_options_add(&options, "--ptxas-options=-v", NULL), AK_OK);
            assert_int_equal(ak_task_options(&options, task, &config, NULL), AK_OK);
            int code = nvrtc_compile(&log, &cubin, task->implementation->source,
                                     (const char *const *)options.argv, (int)options.count);
            const use u = use_of(log);
            const bool fits = strstr(log, "C7602") == NULL; /* more threads than registers */
            if (code != 0 && fits) {
                fail_msg("%s %s:\n%.3000s", tasks[i / 2].kernel, tasks[i / 2].size, log);
            }
            if (code == 0) {
                const uint32_t threads =
                    plan.kernels[0].block[0] * plan.kernels[0].block[1] * plan.kernels[0].block[2];
                assert_true(cubin > 0);
                assert_in_range(u.registers, 1, 255);
                assert_true((uint32_t)u.registers * threads <= 65536);
                assert_true(u.shared_bytes + (int)plan.kernels[0].shared_bytes <= on->shared_max);
            }
            compiled++;
            rejected += code != 0 || !nvrtc_clean(log);
            print_message("%-10s %-9s %-30s %s: %3d registers, %6d bytes shared, %d spilled\n",
                          tasks[i / 2].kernel, tasks[i / 2].implementation, tasks[i / 2].size,
                          on->architecture + strlen("--gpu-architecture="), u.registers,
                          u.shared_bytes + (int)plan.kernels[0].shared_bytes, u.spilled_bytes);
            ak_free(log);
            ak_options_clear(&options);
        }
    }
    print_message("%d candidates compiled, %d of them to be rejected\n", compiled, rejected);
}

/* Compiles the default of a task; returns whether the backend would take it. */
static bool default_is_clean(const device *on, const ak_task *task)
{
    ak_config config;
    ak_options options = {0};
    char *log = NULL;
    size_t cubin = 0;
    ak_space_default(&config, ak_task_space(task));
    assert_int_equal(ak_options_add(&options, on->architecture, NULL), AK_OK);
    assert_int_equal(ak_options_add(&options, "--ptxas-options=-v", NULL), AK_OK);
    assert_int_equal(ak_task_options(&options, task, &config, NULL), AK_OK);
    int code = nvrtc_compile(&log, &cubin, task->implementation->source,
                             (const char *const *)options.argv, (int)options.count);
    /* an SM has 64 barriers: with all 16 it holds four blocks (softmax/cuda_rows.cu) */
    size_t at;
    const bool of_rows = ak_space_parameter_find(&at, ak_task_space(task), "THREADS_PER_ROW");
    const bool clean = code == 0 && nvrtc_clean_but(log, AK_CUDA_SPILLS_FEW) &&
                       !(of_rows && number_before(log, " barriers") == 16);
    if (!clean) {
        char text[4096];
        (void)ak_config_format(text, sizeof text, ak_task_space(task), &config);
        print_error("%.3000s\n%s\n", log, text);
    }
    ak_free(log);
    ak_options_clear(&options);
    return clean;
}

static void test_defaults_compile_without_spills(void **state)
{
    (void)state;
    size_t compiled = 0;
    for (size_t i = 0; i < TASKS; i++) {
        const device *on = device_of(2 * i + i % 2);
        if (tasks[i].compile && is_tried(compiled++) && !default_is_clean(on, bind(on, i))) {
            fail_msg("%s %s", tasks[i].kernel, tasks[i].size);
        }
    }
}

enum { ELEMENTS_MOST = 1 << 26 }; /* of a random size, so that any machine has the memory */

/* The defaults also compile at random sizes. $AUTOKERNEL_DEFAULTS is the number of sizes for each
   row; without it the test is skipped, because each takes half a second. */
static void test_defaults_of_random_sizes(void **state)
{
    static const struct {
        const char *kernel, *implementation, *dtype, *choices;
    } rows[] = {
        {"matmul", "cuda_sm90", "bf16", "layout=nn"},
        {"matmul", "cuda_sm90", "f16", "layout=nt,beta=1"},
        {"matmul", "cuda_sm90", "bf16", "layout=tn"},
        {"matmul", "cuda_sm80", "bf16", "layout=nn"},
        {"matmul", "cuda_f32", "f32", "layout=nn"},
        {"matmul", "cuda_sm90_tf32", "f32", "precision=tf32,layout=nn"},
        {"matmul", "cuda_sm90_tf32", "f32", "precision=tf32,layout=nt"},
        {"matmul", "cuda_sm90_tf32", "f32", "precision=tf32,layout=tn"},
        {"matmul", "cuda_sm90_tf32", "f32", "precision=tf32,layout=tt"},
        {"matmul", "cuda_sm90_split", "f32", "precision=bf16x3"},
        {"matmul", "cuda_sm90_split", "f32", "precision=bf16x6"},
        {"matmul_act", "cuda_sm90", "bf16", "bias=add,activation=gelu_tanh"},
        {"matmul_act", "cuda_sm90_tf32", "f32", "precision=tf32,bias=add,activation=gelu_tanh"},
        {"matmul_act", "cuda_sm90_split", "f32", "precision=bf16x6,bias=add,activation=gelu_tanh"},
        {"matmul_fp8", "cuda_sm90", "bf16", "scales=tensor"},
        {"matmul_fp8", "cuda_sm90", "bf16", "scales=blocks"},
        {"softmax", "cuda", "bf16", NULL},
        {"softmax", "cuda", "f32", NULL},
        {"layernorm", "cuda", "f16", NULL},
        {"layernorm", "cuda", "f32", NULL},
        {"rmsnorm", "cuda", "bf16", NULL},
        {"rmsnorm", "cuda", "f32", "weight=none"},
    };
    const char *wanted = getenv("AUTOKERNEL_DEFAULTS");
    int each = wanted == NULL ? 0 : atoi(wanted), spilled = 0;
    (void)state;
    if (each < 1) {
        print_message("not compiled: AUTOKERNEL_DEFAULTS says how many sizes a row\n");
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ak_rng rng;
        ak_rng_seed(&rng, 2000 + i);
        for (int n = 0; n < each; n++) {
            char size[64];
            unsigned extent[3];
            for (int d = 0; d < 3; d++) {
                unsigned exponent = 4 + (unsigned)ak_rng_below(&rng, 10);
                const unsigned power = 1u << exponent;
                extent[d] = (power + (unsigned)ak_rng_below(&rng, power)) / 8 * 8;
            }
            if (strncmp(rows[i].kernel, "matmul", strlen("matmul")) == 0) {
                (void)snprintf(size, sizeof size, "M=%u,N=%u,K=%u", extent[0], extent[1],
                               (extent[2] + 15) / 16 * 16);
            } else { /* every other row is not whole vectors */
                const unsigned columns = extent[1] * (extent[2] / 512 + 1) + n % 2;
                const unsigned most = ELEMENTS_MOST / columns;
                (void)snprintf(size, sizeof size, "rows=%u,cols=%u",
                               extent[0] < most ? extent[0] : most, columns);
            }
            const ak_task_spec spec = {.kernel = rows[i].kernel,
                                       .implementation = rows[i].implementation,
                                       .device = "cuda:0",
                                       .size = size,
                                       .dtype = rows[i].dtype,
                                       .choices = rows[i].choices};
            ak_task *task = bind_anew(&devices[0], &spec, false);
            if (!default_is_clean(&devices[0], task)) {
                spilled++;
                print_error("%s %s %s %s\n", rows[i].kernel, rows[i].implementation,
                            rows[i].choices == NULL ? rows[i].dtype : rows[i].choices, size);
            }
            ak_task_close(task);
        }
    }
    assert_int_equal(spilled, 0);
}

/* An output with a dtype of its own, such as LSE of attention, is judged by the tolerance of that
   dtype. */
static void test_own_tolerances(void **state)
{
    (void)state;
    const ak_task_spec spec = {.kernel = "attention",
                               .implementation = "cuda_sm90",
                               .device = "cuda:0",
                               .size = "batch=2",
                               .dtype = "bf16"};
    const ak_task *task = bind_spec(&devices[0], &spec);
    const ak_shape *shape = &task->shape;
    assert_true(shape->relative > 0 && shape->rms > 0);
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        const bool own = strcmp(task->problem->arguments[i].name, "LSE") == 0;
        assert_true(own ? shape->own_relative[i] < shape->relative / 50
                        : shape->own_relative[i] == shape->relative);
        assert_true(own ? shape->own_rms[i] < shape->rms / 50 : shape->own_rms[i] == shape->rms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_tolerances),
        cmocka_unit_test(test_configurations_can_be_launched),
        cmocka_unit_test(test_defaults_are_valid),
        cmocka_unit_test(test_starts_are_valid),
        cmocka_unit_test(test_starts_for_every_size),
        cmocka_unit_test(test_rings_are_as_long_as_they_can_be),
        cmocka_unit_test(test_starts_of_rows_are_defaults),
        cmocka_unit_test(test_choice_of_implementation),
        cmocka_unit_test(test_precisions),
        cmocka_unit_test(test_tf32_turns_what_it_must),
    };
    const struct CMUnitTest compiled[] = {
        cmocka_unit_test(test_defaults_compile_without_spills),
        cmocka_unit_test(test_candidates_compile),
        cmocka_unit_test(test_defaults_of_random_sizes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += nvrtc_open() ? cmocka_run_group_tests(compiled, NULL, NULL) : 0;
    close_kept();
    return failed;
}
