/*
 * test_zones.c: tests that every write outside of the arguments is noticed. A correct kernel, and
 * the same kernel with each of the writes of tests/fakes/zones.h, run on the host and on the fake
 * CUDA device, in every dtype, with outputs that are only written or also read, and with or without
 * gaps between rows. Worker processes are real. Damage that one candidate does to the memory of
 * others is tested without processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "judge/loaded.h"
#include "fake_cuda_fixture.h"
#include "pool_fixture.h"
#include "problem/task.h"
#include "../fakes/zones.h"

typedef struct setting {
    const char *device, *dtype;
    bool in_place, apart; /* rows */
} setting;

/* 8-bit floats are dtypes of arguments, not of tasks. */
static const char *task_dtype(const setting *s)
{
    return s->dtype[0] == 'e' ? "f32" : s->dtype;
}

static void write_problem(const setting *s)
{
    const bool bytes = s->dtype[0] == 'e';
    const char *element = bytes ? s->dtype : "dtype";
    char text[2048], own[64] = "";
    if (bytes) {
        (void)snprintf(own, sizeof own, ", \"%s\": {\"relative\": \"eps/25\"}", s->dtype);
    }
    (void)snprintf(
        text, sizeof text,
        "{\"schema\": 1, \"name\": \"zones\", \"description\": \"a choice by sign\",\n"
        " \"sizes\": [{\"name\": \"rows\", \"default\": 33}, {\"name\": \"cols\", \"default\": "
        "30}],\n"
        " \"dtypes\": [\"%s\"], \"choices\": [{\"name\": \"pad\", \"type\": \"int\", \"default\": "
        "0,\n"
        "   \"minimum\": 0, \"maximum\": 9}],\n"
        " \"arguments\": [\n"
        "  {\"name\": \"X\", \"dtype\": \"%s\", \"shape\": [\"rows\", \"cols\"], \"pitch\": \"cols "
        "+ pad\", "
        "\"access\": \"in\",\n"
        "   \"fill\": \"uniform(-100,100)\"},\n"
        "  {\"name\": \"Y\", \"dtype\": \"%s\", \"shape\": [\"rows\", \"cols\"], \"pitch\": \"cols "
        "+ pad\", "
        "\"access\": \"in\",\n"
        "   \"fill\": \"uniform(-100,100)\"},\n"
        "  {\"name\": \"Z\", \"dtype\": \"%s\", \"shape\": [\"rows\", \"cols\"], \"pitch\": \"cols "
        "+ pad\",\n"
        "   \"access\": \"%s\"%s}],\n"
        " \"flops\": \"rows*cols\", \"bytes\": \"3*rows*cols*dtype_bytes\",\n"
        " \"reference\": \"reference.c\", \"tolerance\": {\"%s\": {\"relative\": \"eps\"}%s},\n"
        " \"awkward\": [{\"rows\": 1, \"cols\": 1}, {\"rows\": 7, \"cols\": 5}]}\n",
        task_dtype(s), element, element, element, s->in_place ? "inout" : "out",
        s->in_place ? ", \"fill\": \"uniform(-100,100)\"" : "", task_dtype(s), own);
    write_file("problem.json", text);
    write_file("reference.c",
               s->in_place ? "void ak_reference(const ak_host_call *call)\n{\n"
                             "    const double *x = call->arg[0];\n"
                             "    double *z = call->arg[2];\n"
                             "    for (int64_t i = 0; i < call->size[0] * call->size[1]; i++) {\n"
                             "        z[i] = __builtin_signbit(z[i]) ? x[i] : z[i];\n    }\n}\n"
                           : "void ak_reference(const ak_host_call *call)\n{\n"
                             "    const double *x = call->arg[0], *y = call->arg[1];\n"
                             "    double *z = call->arg[2];\n"
                             "    for (int64_t i = 0; i < call->size[0] * call->size[1]; i++) {\n"
                             "        z[i] = __builtin_signbit(x[i]) ? y[i] : x[i];\n    }\n}\n");
}

/* Writes a space file for one of the two backends; `language` is the part that differs. */
static void write_space(const char *name, const char *language, const setting *s)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"WRITE\",\n"
                   "  \"Type\": \"int\", \"Values\": \"range(%d)\", \"Default\": 0}],\n"
                   "  \"Conditions\": []},\n"
                   " \"KernelSpecification\": {%s,\n"
                   "  \"Defines\": {\"IN_PLACE\": \"%d\", \"BYTES\": \"%s\",\n"
                   "   \"IS_F32\": \"%d\",\n"
                   "   \"IS_F64\": \"1 if dtype == 'f64' else 0\",\n"
                   "   \"IS_I32\": \"1 if dtype == 'i32' else 0\"},\n"
                   "  \"Workspace\": \"64\"}}\n",
                   ZONES_COUNT, language, s->in_place, s->dtype[0] == 'e' ? "1" : "dtype_bytes",
                   strcmp(s->dtype, "f32") == 0);
    write_file(name, text);
}

static void write_kernel(const setting *s)
{
    static const char call[] =
        "\nvoid ak_kernel(const ak_host_call *call)\n{\n"
        "    const zones_call c = {.x = call->arg[0], .y = call->arg[1], .z = call->arg[2],\n"
        "        .workspace = call->workspace, .rows = call->size[0], .cols = call->size[1],\n"
        "        .pitch = call->pitch[2], .workspace_bytes = 64, .write = WRITE,\n"
        "        .in_place = IN_PLACE, .bytes = BYTES, .is_f32 = IS_F32, .is_f64 = IS_F64,\n"
        "        .is_i32 = IS_I32};\n"
        "    zones_run(&c);\n}\n";
    char *text = NULL, *whole = NULL;
    size_t length = 0;
    write_problem(s);
    /* Each write is compiled by itself, 200 times in all. */
    write_space("host.json",
                "\"Language\": \"C\", \"KernelFile\": \"host.c\",\n"
                "  \"CompilerOptions\": [\"-std=gnu17\", \"-O0\", \"-fno-strict-aliasing\",\n"
                "   \"-fno-use-linker-plugin\"]",
                s);
    write_space("cuda.json",
                "\"Language\": \"CUDA\", \"KernelFile\": \"cuda.cu\",\n"
                "  \"KernelName\": \"zones_kernel\", \"Launch\": {\"Block\": [\"32\"],\n"
                "   \"Grid\": [\"1\"], \"Arguments\": [{\"Buffer\": \"X\"}, {\"Buffer\": \"Y\"},\n"
                "    {\"Buffer\": \"Z\"}, {\"Workspace\": true}, {\"Int64\": \"rows\"},\n"
                "    {\"Int64\": \"cols\"}, {\"Int64\": \"cols + pad\"}, {\"Int64\": \"64\"}]}",
                s);
    write_file("cuda.cu", "/* the fake device has it */\n");
    assert_int_equal(ak_fs_read(&text, &length, AK_TEST_FAKES "/zones.h", 1 << 20, NULL), AK_OK);
    whole = ak_alloc(length + sizeof call, 1);
    assert_non_null(whole);
    memcpy(whole, text, length);
    memcpy(whole + length, call, sizeof call);
    write_file("host.c", whole);
    ak_free(text);
    ak_free(whole);
}

/* The expected status of each write, and a part of the reason. */
static const struct {
    ak_trial_status status;
    const char *reason;
} fates[ZONES_COUNT] = {
    [ZONES_NONE] = {AK_TRIAL_OK, NULL},
    [ZONES_ONE_MORE] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_ONE_BEFORE] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, before its start"},
    [ZONES_BOTH_SIDES] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, "},
    [ZONES_FAR] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_COPY_PAST] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_SHIFTED_COPY] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_ZERO] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_ONES] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, before its start"},
    [ZONES_QUIET_NAN] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_OTHER_ZONE] = {AK_TRIAL_WRONG_RESULT, "it writes outside of X, behind its end"},
    [ZONES_LAST_BYTE] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_SUM] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_MAXIMUM] = {AK_TRIAL_WRONG_RESULT, "it writes outside of Z, behind its end"},
    [ZONES_BETWEEN_ROWS] = {AK_TRIAL_WRONG_RESULT, "it writes between the rows of Z"},
    [ZONES_GAP_COPY] = {AK_TRIAL_WRONG_RESULT, "it writes between the rows of Z"},
    [ZONES_WORKSPACE] = {AK_TRIAL_WRONG_RESULT, "its workspace"},
    [ZONES_WORKSPACE_OWN] = {AK_TRIAL_WRONG_RESULT, "its workspace"},
    [ZONES_READ] = {AK_TRIAL_OK, NULL},
};

static ak_task *open_task(const setting *s)
{
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_task_spec spec = {.kernel = folder,
                         .device = s->device,
                         .dtype = task_dtype(s),
                         .choices = s->apart ? "pad=3" : NULL};
    if (ak_task_open(&task, &spec, &err) != AK_OK) {
        fail_msg("%s %s: %s", s->device, s->dtype, err.text);
    }
    return task;
}

static void submit(ak_pool *pool, const ak_task *task, ak_job_kind kind, int write)
{
    char text[32];
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind, .id = (uint64_t)write, .timer = {.budget_ns = 5 * AK_MS_NS}};
    (void)snprintf(text, sizeof text, "WRITE=%d", write);
    assert_int_equal(ak_config_parse(&job.config, ak_task_space(task), text, &err), AK_OK);
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static void try_all(const setting *s, ak_job_kind kind)
{
    ak_pool *pool = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_pool_options options = {.compile_workers = 2};
    int count = 0;
    write_kernel(s);
    ak_task *task = open_task(s);
    if (ak_pool_open(&pool, task, &options, &err) != AK_OK) {
        fail_msg("%s %s: %s", s->device, s->dtype, err.text);
    }
    for (int write = 0; write < ZONES_COUNT; write++) {
        if (s->apart || (write != ZONES_BETWEEN_ROWS && write != ZONES_GAP_COPY)) {
            submit(pool, task, kind, write);
            count++;
        }
    }
    for (; count > 0; count--) {
        char name[96];
        ak_result result = wait_one(pool);
        (void)snprintf(name, sizeof name, "%s %s%s%s, write %d", s->device, s->dtype,
                       s->in_place ? " in place" : "", s->apart ? ", rows apart" : "",
                       (int)result.id);
        expect_fate(&result, name, fates[result.id].status, fates[result.id].reason);
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task);
}

static const char *const dtypes[] = {"f16", "bf16", "f32", "f64", "i32", "e4m3", "e5m2"};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static void try_dtypes(const char *device, bool in_place)
{
    for (size_t d = 0; d < DTYPES; d++) {
        const setting s = {.device = device, .dtype = dtypes[d], .in_place = in_place};
        try_all(&s, AK_JOB_CHECK);
    }
}

/* On the host, outputs that are also read are tried with one dtype of each width and kind only,
   because each write needs a compilation. The fake device, which compiles nothing, tries all
   dtypes. */
static void try_some_in_place(void)
{
    static const char *const some[] = {"bf16", "f64", "i32"};
    for (size_t d = 0; d < sizeof some / sizeof some[0]; d++) {
        const setting s = {.device = "host", .dtype = some[d], .in_place = true};
        try_all(&s, AK_JOB_CHECK);
    }
}

static void a_host_kernel_that_writes_outside_is_found(void **state)
{
    (void)state;
    try_dtypes("host", false);
}

static void a_host_kernel_in_place_is_found(void **state)
{
    (void)state;
    try_some_in_place();
}

static void a_cuda_kernel_that_writes_outside_is_found(void **state)
{
    (void)state;
    try_dtypes("cuda:0", false);
}

static void a_cuda_kernel_in_place_is_found(void **state)
{
    (void)state;
    try_dtypes("cuda:0", true);
}

static void rows_at_a_distance_are_watched(void **state)
{
    static const char *const devices[] = {"host", "cuda:0"}, *const two[] = {"f32", "bf16"};
    (void)state;
    for (int i = 0; i < 8; i++) {
        const setting s = {
            .device = devices[i & 1], .dtype = two[i >> 1 & 1], .in_place = i >> 2, .apart = true};
        if (i == 2 || i == 4) {
            continue; /* on the host f32 is written, bf16 also read: each write is compiled there */
        }
        try_all(&s, AK_JOB_CHECK);
    }
}

/* A trial checks red zones as a check does, before and after it measures. */
static void trials_look_too(void **state)
{
    static const char *const devices[] = {"host", "cuda:0"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const setting s = {.device = devices[i & 1], .dtype = "f32", .in_place = i >> 1};
        try_all(&s, AK_JOB_TRIAL);
    }
}

/* Plans two sets of inputs in memory that the test owns. */
static void plan_sets(ak_evaluator *e, ak_task *task)
{
    size_t base = 0;
    ak_error err = AK_ERROR_INIT;
    *e = (ak_evaluator){.task = task, .sets = AK_STAGE_SETS};
    for (int i = 0; i < AK_STAGE_SETS; i++) {
        ak_stage *stage = &e->own[i];
        assert_int_equal(ak_stage_plan(stage, &e->memory, task, task->shape.size, i, base, &err),
                         AK_OK);
        base += stage->arrays.total;
        for (size_t k = 0; k < stage->arrays.count; k++) {
            if (ak_stage_access(stage, k) != AK_ACCESS_OUT) {
                stage->inputs[k] = ak_alloc(stage->shape.bytes[k], 1);
                stage->hash[k] = ak_hash64(stage->inputs[k], stage->shape.bytes[k]);
            }
        }
    }
    e->memory.bytes = ak_alloc(base, 1);
}

/* Returns the outcome of a turn after which one byte, `changed` bytes from the start of an argument
   of a set, has been altered. */
static ak_outcome end_turn(ak_evaluator *e, int set, int argument, int changed)
{
    ak_error err = AK_ERROR_INIT;
    ak_loaded r = {.e = e};
    ak_outcome wrong;
    for (int i = 0; i < AK_STAGE_SETS; i++) {
        assert_int_equal(ak_stage_set(&e->own[i], 0, &err), AK_OK);
    }
    /* The batch was on the first set, whose zones were checked after it. */
    assert_int_equal(ak_stage_check_zones(&r.outcome, &e->own[0], &err), AK_OK);
    e->memory.bytes[(ptrdiff_t)e->own[set].offset[argument] + changed] ^= 1;
    assert_int_equal(ak_loaded_end_turn(&r, true, &err), AK_OK);
    wrong = r.outcome;
    /* Nobody after it finds anything. */
    r.outcome = (ak_outcome){.status = AK_TRIAL_OK};
    for (int i = 0; i < AK_STAGE_SETS; i++) {
        assert_int_equal(ak_stage_set(&e->own[i], 1, &err), AK_OK);
    }
    assert_int_equal(ak_loaded_end_turn(&r, true, &err), AK_OK);
    assert_int_equal(r.outcome.status, AK_TRIAL_OK);
    return wrong;
}

/* Candidates share the memory of all sets. A candidate that writes into any set is found at the end
   of its turn. */
static void a_turn_is_answered_for_everywhere(void **state)
{
    (void)state;
    const setting s = {.device = "host", .dtype = "f32", .apart = true};
    write_kernel(&s);
    ak_task *task = open_task(&s);
    ak_evaluator e;
    plan_sets(&e, task);
    const int out = 2; /* Z */
    assert_int_equal(ak_stage_access(&e.own[0], (size_t)out), AK_ACCESS_OUT);
    const int end = (int)e.own[0].shape.bytes[out], row = (int)e.own[0].shape.row[out] * 4;
    for (int set = 0; set < AK_STAGE_SETS; set++) {
        assert_int_equal(end_turn(&e, set, out, 0).status, AK_TRIAL_OK); /* the output itself */
        assert_non_null(strstr(end_turn(&e, set, 0, -4).reason, "before its start"));
        assert_non_null(strstr(end_turn(&e, set, out, end).reason, "behind its end"));
        assert_non_null(strstr(end_turn(&e, set, out, row).reason, "between the rows"));
        assert_non_null(strstr(end_turn(&e, set, 0, 0).reason, "changes its input"));
    }
    for (int i = 0; i < AK_STAGE_SETS; i++) {
        ak_stage_free(&e.own[i]);
    }
    ak_free(e.memory.bytes);
    ak_task_close(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_kernel_that_writes_outside_is_found),
        cmocka_unit_test(a_host_kernel_in_place_is_found),
        cmocka_unit_test(a_cuda_kernel_that_writes_outside_is_found),
        cmocka_unit_test(a_cuda_kernel_in_place_is_found),
        cmocka_unit_test(rows_at_a_distance_are_watched),
        cmocka_unit_test(trials_look_too),
        cmocka_unit_test(a_turn_is_answered_for_everywhere),
    };
    return cmocka_run_group_tests(tests, use_fake_cuda, drop_folder);
}
