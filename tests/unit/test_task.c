/* test_task.c: tests tasks: texts of a specification, shapes, workspace, options, faults, and
   JSON in both directions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "problem/task.h"
#include "problem/task_options.h"

#define SCALE AK_TEST_DATA "/kernels/scale"

static ak_scope *facts; /* of a made-up device with 4 processors */

static ak_status bind(ak_task **out, const ak_task_spec *spec, ak_error *err)
{
    ak_device_facts device = {.backend = "host", .device = "host", .facts = facts};
    return ak_task_bind(out, spec, &device, err);
}

static ak_task *bind_good(const ak_task_spec *spec)
{
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    if (bind(&task, spec, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return task;
}

static int set_up(void **state)
{
    (void)state;
    facts = ak_scope_new(NULL);
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"cpu_threads", 4},   {"vector_bytes", 64},  {"vector_registers", 32},
                 {"l1d_bytes", 32768}, {"l2_bytes", 1048576}, {"l3_bytes", 33554432}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        (void)ak_scope_set_int(facts, known[i].name, known[i].value, NULL);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ak_scope_free(facts);
    return 0;
}

static void test_defaults(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE, .seed = 7});
    assert_string_equal(ak_task_size(task), "rows=64,cols=128"); /* tune_size */
    assert_string_equal(ak_task_dtype(task), "f32");
    assert_string_equal(ak_task_choices(task), "sign=minus");
    assert_string_equal(ak_task_implementation(task), "host");
    assert_string_equal(ak_task_device(task), "host");
    assert_string_equal(ak_problem_name(ak_task_problem(task)), "scale");
    assert_true(ak_task_flops(task) == 64.0 * 128.0);
    assert_true(ak_task_bytes(task) == 2.0 * 64 * 128 * 4 + 1); /* choice_sign is 1 */
    assert_int_equal(task->threads, 4);
    assert_int_equal(task->shape.elements[0], 1);
    assert_int_equal(task->shape.bytes[0], 8);
    assert_int_equal(task->shape.bytes[2], 64 * 128 * 4);
    assert_true(task->shape.relative == 4 * 0x1p-23);
    assert_true(fabs(task->shape.rms - 0x1p-23 * sqrt(128.0)) < 1e-20);
    assert_int_equal(strlen(task->source_hash), 64);
    assert_int_equal(ak_space_count(ak_task_space(task)), 4 * 4 * 2 * 2 * 2);
    ak_config config;
    char text[128];
    ak_space_default(&config, ak_task_space(task));
    (void)ak_config_format(text, sizeof text, ak_task_space(task), &config);
    assert_string_equal(text, "UNROLL=4,THREADS=4,KIND=a,COMPILER=gcc,LEVEL=3");
    ak_task_close(task);
}

static void test_sizes(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE, .size = "3"});
    assert_string_equal(ak_task_size(task), "rows=3,cols=3");
    /* conditions see the size: UNROLL <= 3, THREADS <= 3 */
    assert_int_equal(ak_space_count(ak_task_space(task)), 2 * 3 * 2 * 2 * 2);
    ak_task_close(task);
    task = bind_good(&(ak_task_spec){.kernel = SCALE, .size = " cols = 5 ", .dtype = "f64"});
    assert_string_equal(ak_task_size(task), "rows=64,cols=5");
    assert_string_equal(ak_task_dtype(task), "f64");
    assert_int_equal(task->shape.bytes[1], 64 * 5 * 8);
    assert_true(task->shape.rms == 0.0);
    ak_task_close(task);
}

static void test_spec_faults(void **state)
{
    (void)state;
    static const struct {
        ak_task_spec spec;
        ak_status status;
        const char *message;
    } cases[] = {
        {{.kernel = SCALE, .size = "0"}, AK_INVALID, "size rows: \"0\" is not possible"},
        {{.kernel = SCALE, .size = "-4"}, AK_INVALID, "size rows: \"-4\""},
        {{.kernel = SCALE, .size = "rows=1.5"}, AK_INVALID, "a whole number from 1"},
        {{.kernel = SCALE, .size = "rows=99999999999999999999"}, AK_INVALID, "not possible"},
        {{.kernel = SCALE, .size = "rows=9007199254740993"}, AK_INVALID, "to 2^53"},
        {{.kernel = SCALE, .size = "row=4"}, AK_INVALID, "did you mean \"rows\"?"},
        {{.kernel = SCALE, .size = "depth=4"}, AK_INVALID, "it has rows, cols"},
        {{.kernel = SCALE, .size = "rows=4,rows=4"}, AK_INVALID, "given twice"},
        {{.kernel = SCALE, .size = "rows=4,"}, AK_INVALID, "not of the form"},
        {{.kernel = SCALE, .size = "rows=1000000,cols=1000000"},
         AK_LIMIT,
         "size rows=1000000,cols=1000000: the arguments and their reference need"},
        {{.kernel = SCALE, .size = "rows=9000000000000000,cols=9000000000000000"},
         AK_LIMIT,
         "2^64 elements"},
        {{.kernel = SCALE, .size = "rows=4294967296,cols=4294967295"}, AK_LIMIT, "2^64 bytes"},
        {{.kernel = SCALE, .dtype = "f16"}, AK_INVALID, "no dtype \"f16\"; it has f32, f64"},
        {{.kernel = SCALE, .choices = "sign=none"}, AK_INVALID, "it can be plus, minus"},
        {{.kernel = SCALE, .choices = "sing=plus"}, AK_INVALID, "did you mean \"sign\"?"},
        {{.kernel = SCALE, .choices = "sign=plus,sign=plus"}, AK_INVALID, "given twice"},
        {{.kernel = SCALE, .choices = "plus"}, AK_INVALID, "not of the form"},
        {{.kernel = SCALE, .implementation = "cuda_sm90"}, AK_INVALID, "is for cuda devices"},
        {{.kernel = SCALE, .implementation = "gone"}, AK_NOT_FOUND, "it has cuda_sm90, host"},
        {{.kernel = SCALE, .threads = -1}, AK_INVALID, "threads: -1"},
        {{.kernel = "gone"}, AK_NOT_FOUND, "unknown kernel"},
        {{.kernel = NULL}, AK_INVALID, "no kernel is named"},
        {{.kernel = AK_TEST_DATA "/space_t1.json", .size = "4"}, AK_INVALID, "has no sizes"},
        {{.kernel = AK_TEST_DATA "/space_t1.json", .size = "M=4"}, AK_INVALID, "has no sizes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_status status = bind(&task, &cases[i].spec, &err);
        if (status != cases[i].status || strstr(err.text, cases[i].message) == NULL) {
            fail_msg("case %zu: expected \"%s\", got \"%s\"", i, cases[i].message, err.text);
        }
        assert_null(task);
    }
    char *text = ak_alloc(5001, 1);
    memset(text, '=', 5000);
    ak_task *task = NULL;
    assert_int_equal(bind(&task, &(ak_task_spec){.kernel = SCALE, .size = text}, NULL), AK_LIMIT);
    ak_free(text);
}

static void test_shape(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE});
    ak_shape shape = {.flops = -1.0};
    for (size_t i = 0; i < task->problem->edge_case_count; i++) {
        assert_int_equal(ak_task_shape(&shape, task, task->problem->edge_cases[i], NULL), AK_OK);
    }
    assert_int_equal(shape.elements[1], 7 * 33);
    assert_true(shape.flops == 7 * 33);
    ak_error err = AK_ERROR_INIT;
    int64_t bad[AK_SIZES_MAX] = {4, 0};
    assert_int_equal(ak_task_shape(&shape, task, bad, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "size cols is 0"));
    assert_true(shape.flops == 7 * 33); /* untouched */
    ak_task_close(task);
}

/* The fill of an argument may depend on sizes and options. */
static void test_fill(void **state)
{
    (void)state;
    const int64_t size[AK_SIZES_MAX] = {5, 2, 8, 2, 100, 64};
    ak_task *task = bind_good(&(ak_task_spec){.kernel = "attention_decode", .choices = "page=16"});
    ak_task *full = bind_good(
        &(ak_task_spec){.kernel = "attention_decode", .choices = "lengths=full", .size = "keys=9"});
    ak_shape shape;
    assert_int_equal(ak_task_shape(&shape, task, size, NULL), AK_OK);
    assert_true(shape.fill[0][0] == 0 && shape.fill[0][1] == 1);   /* normal */
    assert_true(shape.fill[3][0] == 2 && shape.fill[3][1] == 100); /* queries to keys */
    assert_true(shape.fill[4][0] == 0 && shape.fill[4][1] == 34);  /* 7 pages of 5 sequences */
    assert_true(full->shape.fill[3][0] == 9 && full->shape.fill[3][1] == 9);
    ak_task_close(full);
    ak_task_close(task);
}

/* An option may choose the dtype of an argument, on which its bytes, its tolerance and the bound of
   the task depend. */
static void test_dtypes_by_option(void **state)
{
    (void)state;
    enum { A, B, C = 6 };
    ak_task *plain = bind_good(&(ak_task_spec){.kernel = "matmul_fp8", .size = "64"});
    ak_task *task = bind_good(&(ak_task_spec){
        .kernel = "matmul_fp8", .size = "64", .choices = "a_type=e5m2,c_type=e4m3"});
    assert_int_equal(ak_task_argument_dtype(plain, A), AK_DTYPE_E4M3);
    assert_int_equal(ak_task_argument_dtype(plain, C), AK_DTYPE_BF16);
    assert_int_equal(plain->shape.bytes[C], 64 * 64 * 2);
    assert_true(plain->shape.own_relative[C] == plain->shape.relative);
    assert_int_equal(ak_task_argument_dtype(task, A), AK_DTYPE_E5M2);
    assert_int_equal(ak_task_argument_dtype(task, B), AK_DTYPE_E4M3);
    assert_int_equal(ak_task_argument_dtype(task, C), AK_DTYPE_E4M3);
    assert_int_equal(task->shape.bytes[C], 64 * 64);
    assert_true(task->shape.own_relative[C] == 1.0 / 17);
    assert_true(task->shape.relative == plain->shape.relative);
    assert_int_equal(ak_task_operands(task), AK_DTYPE_E5M2);
    ak_task_close(task);
    ak_task_close(plain);
    task = bind_good(&(ak_task_spec){.kernel = "attention_decode", .choices = "kv=e4m3"});
    assert_int_equal(ak_task_argument_dtype(task, 1), AK_DTYPE_E4M3);
    assert_int_equal(ak_task_operands(task), AK_DTYPE_F32);
    ak_task_close(task);
}

/* Only products of bytes have the peak of bytes; a byte beside floats is a key or a mask. */
static void test_operands(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        ak_dtype of_task, x, weight, want;
    } cases[] = {
        {"rows=4,cols=8", AK_DTYPE_F32, AK_DTYPE_U8, AK_DTYPE_F32, AK_DTYPE_F32},
        {"rows=4,cols=8", AK_DTYPE_F32, AK_DTYPE_F32, AK_DTYPE_U8, AK_DTYPE_F32},
        {"rows=4,cols=8", AK_DTYPE_F32, AK_DTYPE_U8, AK_DTYPE_I32, AK_DTYPE_F32},
        {"rows=4,cols=8", AK_DTYPE_F32, AK_DTYPE_U8, AK_DTYPE_I8, AK_DTYPE_U8},
        {"rows=4,cols=8", AK_DTYPE_U8, AK_DTYPE_U8, AK_DTYPE_F32, AK_DTYPE_F32},
        {"rows=4,cols=8", AK_DTYPE_U8, AK_DTYPE_I32, AK_DTYPE_U8, AK_DTYPE_U8},
        /* the weight is a scale */
        {"rows=4,cols=1", AK_DTYPE_BF16, AK_DTYPE_E4M3, AK_DTYPE_F32, AK_DTYPE_E4M3},
    };
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        ak_task *task = bind_good(&(ak_task_spec){.kernel = "layernorm", .size = cases[i].size});
        ak_argument_spec *arguments = task->problem->arguments;
        arguments[0].dtype_follows = arguments[1].dtype_follows = false;
        arguments[0].dtype = cases[i].x;
        arguments[1].dtype = cases[i].weight;
        task->dtype = cases[i].of_task;
        if (ak_task_operands(task) != cases[i].want) {
            fail_msg("case %zu: %s", i, ak_dtype_text(ak_task_operands(task)));
        }
        ak_task_close(task);
    }
}

static void test_workspace(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE});
    ak_config config;
    ak_shape shape;
    size_t bytes;
    int threads;
    assert_int_equal(ak_config_parse(&config, task->space, "THREADS=3", NULL), AK_OK);
    assert_int_equal(ak_task_workspace(&bytes, &threads, task, &task->shape, &config, NULL), AK_OK);
    assert_int_equal(bytes, 3 * 128 * 4);
    assert_int_equal(threads, 3);
    /* at another shape of the same task */
    assert_int_equal(ak_task_shape(&shape, task, task->problem->edge_cases[1], NULL), AK_OK);
    assert_int_equal(ak_task_workspace(&bytes, &threads, task, &shape, &config, NULL), AK_OK);
    assert_int_equal(bytes, 3 * 33 * 4);
    ak_task_close(task);
}

static void test_options(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "-Ddtype_is_f64=1", "-Dsign_is_plus=1", "-std=gnu17",      "-DUNROLL=2",
        "-DTHREADS=4",      "-DKIND=b-c",       "-DKIND_is_b_c=1", "-O2"};
    ak_task *task =
        bind_good(&(ak_task_spec){.kernel = SCALE, .dtype = "f64", .choices = "sign=plus"});
    ak_config config;
    ak_options options = {0};
    assert_int_equal(
        ak_config_parse(&config, task->space, "UNROLL=2,KIND=b-c,COMPILER=clang,LEVEL=2", NULL),
        AK_OK);
    assert_int_equal(ak_task_options(&options, task, &config, NULL), AK_OK);
    assert_int_equal(options.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < options.count; i++) {
        assert_string_equal(options.argv[i], expected[i]);
    }
    assert_string_equal(options.compiler, "clang");
    ak_options_clear(&options);
    ak_task_close(task);
}

static void test_json_round_trip(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE,
                                              .size = "rows=5",
                                              .dtype = "f64",
                                              .choices = "sign=plus",
                                              .threads = 2,
                                              .allow_numerics = true,
                                              .seed = UINT64_MAX - 1});
    json_t *json, *reread;
    char *text;
    ak_task_spec spec;
    assert_int_equal(ak_task_spec_to_json(&json, task, NULL), AK_OK);
    assert_int_equal(ak_json_text(&text, json, NULL), AK_OK);
    assert_int_equal(ak_json_parse(&reread, text, strlen(text), "test", NULL), AK_OK);
    assert_int_equal(ak_task_spec_from_json(&spec, reread, NULL), AK_OK);
    ak_task *again = bind_good(&spec);
    assert_string_equal(again->size_text, task->size_text);
    assert_string_equal(again->choices_text, task->choices_text);
    assert_string_equal(again->source_hash, task->source_hash);
    assert_int_equal(again->dtype, task->dtype);
    assert_int_equal(again->threads, 2);
    assert_true(again->allow_numerics);
    assert_true(again->seed == UINT64_MAX - 1);
    ak_task_close(again);
    ak_task_close(task);
    ak_free(text);
    json_decref(json);
    json_decref(reread);
}

static void test_json_faults(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "must be an object"},
        {"{}", "\"kernel\" is missing"},
        {"{\"kernel\":\"a\",\"sizes\":\"1\"}", "did you mean \"size\"?"},
        {"{\"kernel\":\"a\",\"threads\":-1}", "\"threads\" must be"},
        {"{\"kernel\":\"a\",\"seed\":\"1\"}", "\"seed\" must be an integer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i][0], 0, NULL);
        ak_task_spec spec;
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_task_spec_from_json(&spec, json, &err), AK_INVALID);
        assert_non_null(strstr(err.text, cases[i][1]));
        json_decref(json);
    }
}

/* Equal kernels have equal hashes, and another source gives another hash. */
static void test_source_hash(void **state)
{
    (void)state;
    ak_task *a = bind_good(&(ak_task_spec){.kernel = SCALE});
    ak_task *b = bind_good(&(ak_task_spec){.kernel = SCALE, .size = "9"});
    ak_task *c = bind_good(&(ak_task_spec){.kernel = "matmul", .size = "64"});
    assert_string_equal(a->source_hash, b->source_hash);
    assert_string_not_equal(a->source_hash, c->source_hash);
    ak_task_close(a);
    ak_task_close(b);
    ak_task_close(c);
}

static void test_t1(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = AK_TEST_DATA "/space_t1.json"});
    assert_string_equal(ak_task_size(task), "");
    assert_string_equal(ak_task_choices(task), "");
    /* block_size_x: 1..16 in powers, 32..256 by 32; block_size_y: 1..32 in powers */
    static const int x[] = {1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 256};
    uint64_t expected = 0;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        for (int y = 1; y <= 32; y *= 2) {
            expected += x[i] * y >= 32 && x[i] * y <= 256 ? 2 : 0;
        }
    }
    assert_int_equal(ak_space_count(ak_task_space(task)), expected);
    ak_task_close(task);
}

static void test_facts_may_end(void **state)
{
    (void)state;
    ak_scope *own = ak_scope_new(NULL);
    assert_int_equal(ak_scope_copy(own, facts, NULL), AK_OK);
    ak_device_facts device = {.backend = "host", .device = "host", .facts = own};
    ak_task *task = NULL;
    assert_int_equal(ak_task_bind(&task, &(ak_task_spec){.kernel = SCALE}, &device, NULL), AK_OK);
    ak_scope_free(own);
    ak_config config;
    size_t bytes;
    int threads;
    ak_space_default(&config, task->space);
    assert_int_equal(ak_task_workspace(&bytes, &threads, task, &task->shape, &config, NULL), AK_OK);
    ak_task_close(task);
}

static void test_fact_collision(void **state)
{
    (void)state;
    ak_scope *own = ak_scope_new(facts);
    assert_int_equal(ak_scope_set_int(own, "rows", 1, NULL), AK_OK);
    ak_device_facts device = {.backend = "host", .device = "host", .facts = own};
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_task_bind(&task, &(ak_task_spec){.kernel = SCALE}, &device, &err),
                     AK_INVALID);
    assert_non_null(strstr(err.text, "\"rows\" is the name of a device fact"));
    ak_scope_free(own);
}

static void test_no_memory(void **state)
{
    (void)state;
    ak_task_spec spec = {.kernel = SCALE, .size = "rows=5", .choices = "sign=plus"};
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        ak_status status = bind(&task, &spec, &err);
        ak_config config;
        ak_options options = {0};
        if (status == AK_OK) {
            ak_space_default(&config, task->space);
            status = ak_task_options(&options, task, &config, &err);
        }
        ak_alloc_fail_at(0);
        ak_options_clear(&options);
        ak_task_close(task);
        if (status == AK_OK) {
            break;
        }
        assert_int_equal(status, AK_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 50);
}

static bool has_option(const ak_options *options, const char *wanted)
{
    bool found = false;
    for (size_t i = 0; i < options->count; i++) {
        found = found || strcmp(options->argv[i], wanted) == 0;
    }
    return found;
}

/* A macro of "Defines" may depend on the parameters. */
static void test_defines_of_parameters(void **state)
{
    (void)state;
    ak_task *task = bind_good(&(ak_task_spec){.kernel = SCALE});
    json_t *defines = json_pack("{s:s}", "TURNS", "(rows + UNROLL - 1)//UNROLL");
    ((ak_implementation_spec *)(uintptr_t)task->implementation)->defines = defines;
    ak_config config;
    for (int unroll = 1; unroll <= 4; unroll *= 4) {
        ak_options options = {0};
        char text[32], wanted[32];
        (void)snprintf(text, sizeof text, "UNROLL=%d", unroll);
        (void)snprintf(wanted, sizeof wanted, "-DTURNS=%d", 64 / unroll);
        assert_int_equal(ak_config_parse(&config, task->space, text, NULL), AK_OK);
        assert_int_equal(ak_task_options(&options, task, &config, NULL), AK_OK);
        assert_true(has_option(&options, wanted));
        ak_options_clear(&options);
    }
    json_decref(defines);
    ak_task_close(task);
}

/* Options that are numbers, gaps between rows, and macros of the task work; matmul has them all. */
static void test_numbers(void **state)
{
    static const struct {
        const char *given, *canonical;
    } names[] = {
        {NULL, ""}, /* what was recorded before there were options is still of this task */
        {"layout=nn,alpha=1,beta=0,pad_a=0,pad_b=0,pad_c=0", ""},
        {"alpha=1.0,beta=-0.0", ""},
        {"pad_c=3, beta = 2.50", "beta=2.5,pad_c=3"},
        {"alpha=1e-3,layout=tn", "layout=tn,alpha=0.001"},
        {"alpha=-2,beta=0.1", "alpha=-2,beta=0.1"},
        {"alpha=0.30000000000000004", "alpha=0.30000000000000004"},
    };
    static const struct {
        const char *choices, *message;
    } faults[] = {
        {"alpha=x", "option alpha: \"x\" is not possible; it must be a number"},
        {"alpha=nan", "not possible"},
        {"alpha=inf", "not possible"},
        {"pad_a=-1", "it must be a whole number from 0 to 65536"},
        {"pad_a=65537", "not possible"},
        {"pad_a=1.5", "not possible"},
        {"pad_a=1,pad_a=2", "option pad_a is given twice"},
        {"alpha=0.5,alpha=1", "option alpha is given twice"},
        {"pad_d=1", "did you mean \"pad_a\"?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ak_task *task = bind_good(&(ak_task_spec){.kernel = "matmul", .choices = names[i].given});
        assert_string_equal(ak_task_choices(task), names[i].canonical);
        json_t *json = NULL;
        ak_task_spec again;
        assert_int_equal(ak_task_spec_to_json(&json, task, NULL), AK_OK);
        assert_int_equal(ak_task_spec_from_json(&again, json, NULL), AK_OK);
        ak_task *copy = bind_good(&again);
        assert_string_equal(ak_task_choices(copy), names[i].canonical);
        assert_memory_equal(copy->number, task->number, sizeof task->number);
        ak_task_close(copy);
        json_decref(json);
        ak_task_close(task);
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_task_spec spec = {.kernel = "matmul", .choices = faults[i].choices};
        assert_int_equal(bind(&task, &spec, &err), AK_INVALID);
        if (strstr(err.text, faults[i].message) == NULL) {
            fail_msg("%s: got \"%s\"", faults[i].choices, err.text);
        }
    }
    ak_task *task = bind_good(&(ak_task_spec){.kernel = "matmul",
                                              .size = "M=5,N=7,K=3",
                                              .choices = "layout=tn,beta=0.5,pad_a=2,pad_c=1"});
    const ak_shape *shape = &task->shape;
    /* A: 3 rows of 5, 7 apart; B: 3 rows of 7; C and C_in: 5 rows of 7, 8 apart */
    assert_int_equal(shape->elements[0], 15);
    assert_int_equal(shape->row[0], 5);
    assert_int_equal(shape->pitch[0], 7);
    assert_int_equal(shape->bytes[0], (2 * 7 + 5) * 4);
    assert_int_equal(shape->pitch[1], 7);
    assert_int_equal(shape->bytes[1], 21 * 4);
    assert_int_equal(shape->elements[2], 35);
    assert_int_equal(shape->bytes[2], (4 * 8 + 7) * 4);
    assert_int_equal(shape->bytes[3], (4 * 8 + 7) * 4);
    assert_true(shape->traffic == (15 + 21 + 2 * 35) * 4);
    ak_config config;
    ak_options options = {0};
    ak_space_default(&config, task->space);
    assert_int_equal(ak_task_options(&options, task, &config, NULL), AK_OK);
    assert_true(has_option(&options, "-Dlayout_is_tn=1"));
    assert_true(has_option(&options, "-DA_TRANSPOSED=1"));
    assert_true(has_option(&options, "-DB_TRANSPOSED=0"));
    assert_true(has_option(&options, "-DHAS_ALPHA=0"));
    assert_true(has_option(&options, "-DHAS_BETA=1"));
    ak_options_clear(&options);
    ak_task_close(task);
}

/* The work of packed sequences follows from their lengths, here 0, 2, 4 and 6. */
static void test_packed_work(void **state)
{
    (void)state;
    static const struct {
        const char *choices;
        double pairs; /* of a query and a key that it attends to */
    } cases[] = {{"sequences=packed,mask=full", 4 + 16 + 36},
                 {"sequences=packed,mask=causal", 3 + 10 + 21},
                 {"sequences=packed,mask=causal,window=3", 3 + 9 + 15}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_task *task = bind_good(
            &(ak_task_spec){.kernel = "attention",
                            .implementation = "host",
                            .choices = cases[i].choices,
                            .size = "batch=4,heads=3,kv_heads=1,queries=12,keys=12,head_dim=8"});
        assert_true(fabs(task->shape.flops - 4 * 3 * 8 * cases[i].pairs) < 1e-6);
        ak_task_close(task);
    }
}

/* The tolerance of f32 results grows with the length of a kernel's sums. The sizes of each pair
   differ in the length of one sum. All tolerances are below a thousandth. */
static void test_tolerances_know_their_sums(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *less, *more, *choices;
    } pairs[] = {
        {"matmul", "M=64,N=64,K=64", "M=64,N=64,K=4096", NULL},
        {"matmul_act", "M=64,N=64,K=64", "M=64,N=64,K=4096", NULL},
        {"reduce", "rows=64,cols=64", "rows=64,cols=4096", NULL},
        {"softmax", "rows=64,cols=64", "rows=64,cols=4096", NULL},
        {"layernorm", "rows=64,cols=64", "rows=64,cols=4096", NULL},
        {"rmsnorm", "rows=64,cols=64", "rows=64,cols=4096", NULL},
        {"attention_decode", "keys=64", "keys=4096", NULL},
        {"attention_decode", "head_dim=64", "head_dim=256", NULL},
        {"attention_decode", "head_dim=64", "head_dim=256", "scale=0.125"},
        {"attention_decode", "batch=1,keys=512", "batch=512,keys=512", NULL},
        {"attention", "keys=64", "keys=4096", NULL},
        {"attention", "head_dim=64", "head_dim=256", NULL},
        {"attention", "queries=1", "queries=4096", NULL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        double allowed[2];
        for (int k = 0; k < 2; k++) {
            const ak_task_spec spec = {.kernel = pairs[i].kernel,
                                       .implementation = "host",
                                       .dtype = "f32",
                                       .size = k == 0 ? pairs[i].less : pairs[i].more,
                                       .choices = pairs[i].choices};
            ak_task *task = bind_good(&spec);
            allowed[k] = task->shape.relative + task->shape.rms;
            ak_task_close(task);
        }
        if (!(allowed[1] > allowed[0] && allowed[1] < 1e-3)) {
            fail_msg("%s: %g at %s, %g at %s", pairs[i].kernel, allowed[0], pairs[i].less,
                     allowed[1], pairs[i].more);
        }
    }
}

static void test_no_spec(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    assert_int_equal(ak_task_open(&task, NULL, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "spec is NULL"));
    assert_int_equal(ak_task_open(&task, NULL, NULL), AK_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_spec),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_tolerances_know_their_sums),
        cmocka_unit_test(test_packed_work),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_spec_faults),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_dtypes_by_option),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_defines_of_parameters),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_json_faults),
        cmocka_unit_test(test_source_hash),
        cmocka_unit_test(test_t1),
        cmocka_unit_test(test_facts_may_end),
        cmocka_unit_test(test_fact_collision),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
