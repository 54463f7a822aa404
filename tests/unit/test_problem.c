/* test_problem.c: tests problems: built-in kernels, folders, T1 files, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/fs.h"
#include "problem/problem.h"

#define SCALE AK_TEST_DATA "/kernels/scale"

static ak_problem *open_good(const char *name)
{
    ak_problem *problem = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_problem_open(&problem, name, &err) != AK_OK) {
        fail_msg("%s: %s", name, err.text);
    }
    return problem;
}

static void test_folder(void **state)
{
    (void)state;
    ak_problem *p = open_good(SCALE "/");
    assert_string_equal(ak_problem_name(p), "scale");
    assert_false(p->builtin);
    assert_int_equal(p->size_count, 2);
    assert_string_equal(p->sizes[1].name, "cols");
    assert_int_equal(p->sizes[1].fallback, 32);
    assert_int_equal(p->tune_size[1], 128);
    assert_int_equal(p->dtype_count, 2);
    assert_int_equal(p->dtypes[1], AK_DTYPE_F64);
    assert_int_equal(p->choice_count, 1);
    assert_int_equal(p->choices[0].default_index, 1);
    assert_int_equal(p->argument_count, 4);
    assert_int_equal(p->arguments[0].rank, 0);
    assert_int_equal(p->arguments[0].fill, AK_FILL_NORMAL);
    assert_true(p->arguments[0].fill_a == 1.0 && p->arguments[0].fill_b == 0.5);
    assert_false(p->arguments[0].dtype_follows);
    assert_true(p->arguments[1].dtype_follows);
    assert_int_equal(p->arguments[1].fill, AK_FILL_UNIFORM);
    assert_int_equal(p->arguments[2].access, AK_ACCESS_OUT);
    assert_int_equal(p->arguments[3].access, AK_ACCESS_INOUT);
    assert_string_equal(p->arguments[3].shape[0], "1");
    assert_int_equal(p->tolerance_count, 2);
    assert_string_equal(p->tolerances[1].rms, "0");
    assert_int_equal(p->edge_case_count, 2);
    assert_int_equal(p->edge_cases[1][1], 33);
    assert_non_null(strstr(p->reference_source, "ak_reference"));
    assert_null(p->device_reference);
    assert_int_equal(ak_problem_runnable(p, NULL), AK_OK);
    ak_problem_close(p);
}

static void test_implementations(void **state)
{
    (void)state;
    ak_problem *p = open_good(SCALE "/problem.json");
    const ak_implementation_spec *found;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_problem_implementation_count(p), 2); /* sorted */
    assert_string_equal(ak_problem_implementation(p, 0), "cuda_sm90");
    assert_string_equal(ak_problem_implementation(p, 1), "host");
    assert_null(ak_problem_implementation(p, 2));
    assert_int_equal(ak_problem_find(&found, p, "host", &err), AK_OK);
    assert_string_equal(found->name, "host");
    assert_string_equal(found->backend, "host");
    /* joined in order, each named for the compiler's messages */
    static const char start[] = "#line 1 \"../common/types.h\"\ntypedef float real;\n";
    assert_memory_equal(found->source, start, strlen(start));
    assert_non_null(strstr(found->source, "#line 1 \"host.c\"\nvoid ak_kernel"));
    assert_int_equal(found->option_count, 1);
    assert_string_equal(found->options[0], "-std=gnu17");
    assert_string_equal(found->threads, "THREADS");
    assert_int_equal(ak_problem_find(&found, p, "cuda_sm90", &err), AK_OK);
    assert_string_equal(found->backend, "cuda");
    assert_int_equal(ak_problem_find(&found, p, "opencl", &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "it has cuda_sm90, host"));
    assert_int_equal(ak_problem_find(&found, p, "hots", &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean \"host\"?"));
    ak_problem_close(p);
}

static void test_describe(void **state)
{
    (void)state;
    ak_problem *p = open_good(SCALE);
    char *text;
    assert_int_equal(ak_problem_describe(&text, p, NULL), AK_OK);
    assert_string_equal(text, "size            rows = 64 by default: rows of X\n"
                              "size            cols = 128 by default\n"
                              "dtype           f32\n"
                              "dtype           f64\n"
                              "option          sign = plus | minus (default): of the factor\n"
                              "argument        factor: in, f64[]\n"
                              "argument        X: in, dtype[rows, cols]\n"
                              "argument        Y: out, dtype[rows, cols]\n"
                              "argument        count: inout, i32[1]\n"
                              "implementation  cuda_sm90 (cuda)\n"
                              "implementation  host (host)\n");
    ak_free(text);
    ak_problem_close(p);
}

static void count_kernel(void *context, const char *name, const char *description)
{
    size_t *count = context;
    ak_problem *p = open_good(name);
    const ak_implementation_spec *host;
    assert_true(p->builtin);
    assert_string_equal(p->name, name);
    assert_true(*description != 0);
    assert_int_equal(ak_problem_find(&host, p, "host", NULL), AK_OK);
    assert_non_null(strstr(host->source, "ak_kernel"));
    assert_non_null(strstr(p->reference_source, "ak_reference"));
    assert_true(p->device_reference == NULL || strstr(p->device_reference, "ak_reference") != NULL);
    ak_problem_close(p);
    (*count)++;
}

static void test_builtin(void **state)
{
    (void)state;
    size_t count = 0, expected = 0;
    for (size_t i = 0; i < ak_asset_count; i++) {
        expected += ak_fs_has_suffix(ak_assets[i].path, "/problem.json") ? 1 : 0;
    }
    assert_true(expected > 0);
    assert_int_equal(ak_problem_each_builtin(count_kernel, &count, NULL), AK_OK);
    assert_int_equal(count, expected);
}

static void test_t1(void **state)
{
    (void)state;
    ak_problem *p = open_good(AK_TEST_DATA "/space_t1.json");
    const ak_implementation_spec *found;
    ak_error err = AK_ERROR_INIT;
    assert_string_equal(ak_problem_name(p), "space_t1");
    assert_int_equal(p->size_count, 0);
    assert_string_equal(p->reference_source, "");
    assert_int_equal(ak_problem_find(&found, p, "space_t1", NULL), AK_OK);
    assert_string_equal(found->backend, "cuda");
    assert_string_equal(found->source, "");
    assert_int_equal(ak_problem_runnable(p, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "is a space without a problem"));
    ak_problem_close(p);
}

static void test_not_found(void **state)
{
    (void)state;
    ak_problem *p = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_problem_open(&p, "matmull", &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean \"matmul\"?"));
    assert_int_equal(ak_problem_open(&p, "/nowhere/at/all", &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "neither built in"));
    assert_int_equal(ak_problem_open(&p, AK_TEST_DATA, &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "has no problem.json"));
    assert_int_equal(ak_problem_open(&p, "", &err), AK_INVALID);
    assert_int_equal(ak_problem_open(&p, NULL, &err), AK_INVALID);
    assert_int_equal(ak_problem_open(&p, AK_TEST_DATA "/expr.test", &err), AK_INVALID);
    char *name = ak_alloc(AK_PATH_MAX + 1, 1);
    memset(name, 'a', AK_PATH_MAX);
    assert_int_equal(ak_problem_open(&p, name, &err), AK_LIMIT);
    ak_free(name);
    assert_null(p);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Opens a copy of the scale kernel in which one member of one file is replaced (`value` NULL:
   removed), and expects an error. */
static void check_fault(const char *file, const char *member, const char *value,
                        const char *message)
{
    static const char *const files[] = {"problem.json", "host.json", "host.c", "reference.c"};
    char folder[AK_PATH_MAX], beside[AK_PATH_MAX], from[AK_PATH_MAX], to[AK_PATH_MAX], *text;
    size_t length;
    assert_int_equal(ak_fs_temp(beside, NULL), AK_OK);
    assert_int_equal(ak_fs_join(folder, beside, "kernel", NULL), AK_OK);
    assert_int_equal(ak_fs_join(from, beside, "common", NULL), AK_OK);
    assert_int_equal(ak_fs_mkdirs(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_mkdirs(from, NULL), AK_OK);
    assert_int_equal(ak_fs_join(to, from, "types.h", NULL), AK_OK);
    assert_int_equal(ak_fs_write(to, "\n", 1, NULL), AK_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ak_fs_join(from, SCALE, files[i], NULL), AK_OK);
        assert_int_equal(ak_fs_join(to, folder, files[i], NULL), AK_OK);
        assert_int_equal(ak_fs_read(&text, &length, from, 1 << 20, NULL), AK_OK);
        if (strcmp(files[i], file) == 0 && member != NULL) {
            json_t *json = json_loads(text, 0, NULL);
            bool space = strcmp(file, "host.json") == 0;
            json_t *object = space ? json_object_get(json, "KernelSpecification") : json;
            ak_free(text);
            assert_int_equal(
                value == NULL
                    ? json_object_del(object, member)
                    : json_object_set_new(object, member, json_loads(value, JSON_DECODE_ANY, NULL)),
                0);
            assert_int_equal(ak_json_text(&text, json, NULL), AK_OK);
            json_decref(json);
        } else if (strcmp(files[i], file) == 0) {
            ak_free(text);
            text = ak_strdup(value);
        }
        assert_int_equal(ak_fs_write(to, text, strlen(text), NULL), AK_OK);
        ak_free(text);
    }
    ak_problem *p = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_status status = ak_problem_open(&p, folder, &err);
    ak_problem_close(p);
    ak_fs_remove(beside);
    if (status == AK_OK || strstr(err.text, message) == NULL) {
        fail_msg("%s: %s: expected \"%s\", got \"%s\"", member == NULL ? file : member,
                 value == NULL ? "removed" : value, message, err.text);
    }
    assert_int_equal(err.status, status);
    assert_null(strchr(err.text, '\n'));
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const problem[][3] = {
        {"schema", NULL, "\"schema\" is missing"},
        {"schema", "2", "schema 2 is unknown"},
        {"schema", "\"1\"", "\"schema\" must be an integer"},
        {"name", NULL, "\"name\" is missing"},
        {"name", "\"a b\"", "the name \"a b\" must be"},
        {"descripton", "\"x\"", "unknown key \"descripton\"; did you mean \"description\"?"},
        {"tolerance", "{\"f32\":{\"relative\":\"eps\",\"abs\":\"eps\"}}", "mean \"absolute\"?"},
        {"sizes", NULL, "\"sizes\" is missing"},
        {"sizes", "[]", "\"sizes\" is empty"},
        {"sizes", "[7]", "size 1 must be an object"},
        {"sizes", "[{\"name\":\"rows\",\"default\":0}]", "\"default\" must be 1 or more"},
        {"sizes", "[{\"name\":\"rows\"}]", "\"default\" is missing"},
        {"sizes", "[{\"name\":\"eps\",\"default\":1}]", "the name \"eps\" is taken"},
        {"sizes", "[{\"name\":\"a\",\"default\":1},{\"name\":\"a\",\"default\":1}]",
         "size 2: the name \"a\" is taken"},
        {"sizes", "[1,2,3,4,5,6,7,8,9]", "9 entries; at most 8"},
        {"dtypes", "[]", "\"dtypes\" is empty"},
        {"dtypes", "[\"f31\"]", "dtype 1 (\"f31\") is unknown"},
        {"dtypes", "[7]", "is unknown"},
        {"dtypes", "[\"f32\",\"f32\"]", "there twice"},
        {"choices", "{}", "\"choices\" must be an array"},
        {"choices", "[{\"name\":\"rows\",\"values\":[\"a\"]}]", "\"rows\" is taken"},
        {"choices", "[{\"name\":\"sign\",\"values\":[]}]", "1 to 64 strings"},
        {"choices", "[{\"name\":\"sign\",\"values\":[1]}]", "must be a string of letters"},
        {"choices", "[{\"name\":\"sign\",\"values\":[\"a-b\"]}]", "letters, digits and _"},
        {"choices", "[{\"name\":\"sign\",\"values\":[\"a\",\"a\"]}]", "there twice"},
        {"choices", "[{\"name\":\"sign\",\"values\":[\"a\"],\"default\":\"b\"}]",
         "\"b\" is not one of its values"},
        {"choices", "[{\"name\":\"a\",\"type\":\"float\"}]", "must be text, int or real"},
        {"choices", "[{\"name\":\"a\",\"type\":\"int\",\"default\":0.5}]",
         "\"default\" must be a whole number"},
        {"choices", "[{\"name\":\"a\",\"type\":\"real\",\"minimum\":\"x\"}]",
         "\"minimum\" must be a number"},
        {"choices", "[{\"name\":\"a\",\"type\":\"real\",\"minimum\":1}]",
         "the default 0 is not from 1"},
        {"choices", "[{\"name\":\"a\",\"type\":\"int\",\"maximum\":1e300}]",
         "must be a whole number"},
        {"choices", "[{\"name\":\"a\",\"type\":\"real\",\"maximum\":1e300}]", "within 2^53"},
        {"choices", "[{\"name\":\"a\",\"type\":\"real\",\"values\":[\"b\"]}]",
         "a number has no \"values\""},
        {"choices", "[{\"name\":\"a\",\"values\":[\"b\"],\"implicit\":1}]", "\"implicit\""},
        {"arguments", "[]", "no argument has access out"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[\"rows\"],\"access\":\"write\"}]",
         "access \"write\" must be"},
        {"arguments", "[{\"name\":\"X\",\"access\":\"out\"}]", "\"shape\" must be a list"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1,1,1,1,1],\"access\":\"out\"}]", "at most 4"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[\"row\"],\"access\":\"out\"}]",
         "did you mean \"rows\"?"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[\"rows-16\"],\"access\":\"out\"}]",
         "extent 1 is 0"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[2,4],\"pitch\":\"3\",\"access\":\"out\"}]",
         "the pitch is 3"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[4],\"pitch\":\"5\",\"access\":\"out\"}]",
         "two extents or more"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[2,4],\"pitch\":5,\"access\":\"out\"}]",
         "\"pitch\" must be a string"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[true],\"access\":\"out\"}]", "an expression"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"out\",\"dtype\":\"f12\"}]",
         "dtype \"f12\" is unknown"},
        {"arguments",
         "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"uniform(1,1)\"}]",
         "\"fill\" is \"uniform(1,1)\""},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"normal(1)\"}]",
         "\"fill\" is"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"tolerance\":{}}]",
         "\"tolerance\" is for arguments that are written"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"out\",\"tolerance\":{}}]",
         "\"relative\""},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"zeros\"}]",
         "\"fill\" is"},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"spread(2,1)\"}]",
         "\"fill\" is \"spread(2,1)\""},
        {"arguments", "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"cuts(2,1)\"}]",
         "\"fill\" is \"cuts(2,1)\""},
        {"arguments",
         "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"offsets(2,1)\"}]",
         "\"fill\" is \"offsets(2,1)\""},
        {"arguments",
         "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"spread(max(1,2))\"}]",
         "\"fill\" is"},
        {"arguments",
         "[{\"name\":\"X\",\"shape\":[1],\"access\":\"in\",\"fill\":\"spread(1,deep)\"}]",
         "\"deep\" is not known"},
        {"flops", NULL, "\"flops\" is missing"},
        {"flops", "\"rows*\"", "ends too early"},
        {"flops", "\"rows*depth\"", "\"depth\" is not known"},
        {"flops", "\"-rows\"", "is negative at the default sizes"},
        {"bytes", "7", "\"bytes\" must be a string"},
        {"tolerance", NULL, "\"tolerance\" is missing"},
        {"tolerance", "{\"f32\":{\"relative\":\"eps\"}}", "tolerance of f64 is missing"},
        {"tolerance", "{\"f32\":{},\"f64\":{}}", "\"relative\" is missing"},
        {"tolerance", "{\"f32\":{\"relative\":\"-eps\"},\"f64\":{\"relative\":\"0\"}}", "negative"},
        {"tolerance",
         "{\"f32\":{\"relative\":\"0\"},\"f64\":{\"relative\":\"0\"},\"f16\":{\"relative\":\"0\"}}",
         "is not a dtype of the problem"},
        {"tune_size", "{\"rows\":1}", "\"cols\" is missing"},
        {"few_terms", "{\"size\":\"x\",\"terms\":4,\"arguments\":[\"X\"]}", "no size \"x\""},
        {"few_terms", "{\"size\":\"cols\",\"terms\":0,\"arguments\":[\"X\"]}", "1 or more"},
        {"few_terms", "{\"size\":\"cols\",\"terms\":4,\"arguments\":[]}", "one input or more"},
        {"few_terms", "{\"size\":\"cols\",\"terms\":4,\"arguments\":[\"none\"]}",
         "\"none\" is none"},
        {"tune_size", "{\"rows\":1,\"cols\":1,\"col\":1}", "unknown key \"col\""},
        {"awkward", "[{\"rows\":1,\"cols\":0}]", "edge-case size 1: \"cols\" must be 1 or more"},
        {"awkward", "[7]", "edge-case size 1 must be an object"},
        {"reference", NULL, "\"reference\" is missing"},
        {"reference", "\"gone.c\"", "gone.c"},
        {"reference", "\"/etc/passwd\"", "must be relative"},
        {"reference", "\"../../x\"", "no further than the folder beside it"},
        {"reference", "\"a/../../../x\"", "no further than"},
    };
    for (size_t i = 0; i < sizeof problem / sizeof problem[0]; i++) {
        check_fault("problem.json", problem[i][0], problem[i][1], problem[i][2]);
    }
    static const char *const host[][3] = {
        {"KernelFile", NULL, "\"KernelFile\" is missing"},
        {"KernelFile", "\"gone.c\"", "gone.c"},
        {"KernelFile", "\"a\\\"b\"", "rename the file"},
        {"Include", "\"x\"", "\"Include\" must be an array"},
        {"Include", "[7]", "list of texts"},
        {"Include", "[\"../../secret\"]", "no further than"},
        {"CompilerOption", "[]", "did you mean \"CompilerOptions\"?"},
        {"Workspace", "\"1 +\"", "host.json: Workspace: column 4"},
        {"Threads", "7", "\"Threads\" must be a string"},
        {"Defines", "[]", "\"Defines\" must be an object"},
        {"Defines", "{\"a b\":\"1\"}", "Defines: \"a b\" is not a name"},
        {"Defines", "{\"A\":1}", "\"A\" must be a string"},
        {"Defines", "{\"A\":\"1 +\"}", "A: column 4"},
    };
    for (size_t i = 0; i < sizeof host / sizeof host[0]; i++) {
        check_fault("host.json", host[i][0], host[i][1], host[i][2]);
    }
    check_fault("host.json", NULL, "{}", "with a \"ConfigurationSpace\", is missing");
    check_fault("host.json", NULL, "{\"KernelSpecification\": {}}",
                "\"ConfigurationSpace\" is missing");
    check_fault("host.json", NULL, "{\"ConfigurationSpace\":{}}",
                "\"KernelSpecification\" is missing");
    check_fault("host.json", NULL,
                "{\"ConfigurationSpace\":{}, \"KernelSpecification\":{}, \"Rank\": 7}",
                "\"Rank\" must be an expression, or an object");
    check_fault("host.json", NULL, "[]", "is missing");
    check_fault("host.json", NULL, "{", "host.json:1:");
    check_fault("problem.json", NULL, "{\"schema\":1,\"schema\":1}", "duplicate");
    check_fault("problem.json", NULL, "{\"schema\":NaN}", "problem.json:1:");
    check_fault("problem.json", NULL, "", "problem.json");
    check_fault("reference.c", NULL, "", "is empty");
}

static void test_hostile_depth(void **state)
{
    (void)state;
    ak_buf text = AK_BUF(1 << 20);
    for (int i = 0; i < 100000; i++) {
        ak_buf_putc(&text, '[');
    }
    check_fault("problem.json", NULL, text.data, "nested deeper");
    ak_buf_free(&text);
}

/* Failures of ak_alloc are tested, and not those of Jansson, which allocates memory by itself. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const names[] = {SCALE, "matmul", AK_TEST_DATA "/space_t1.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t failures = 0;
        /* Each of the first allocations, of the later ones a few percent: to try all takes the
           square of the size of the largest space. */
        for (size_t nth = 1;; nth += 1 + nth / 32) {
            ak_problem *p = NULL;
            ak_error err = AK_ERROR_INIT;
            ak_alloc_fail_at(nth);
            ak_status status = ak_problem_open(&p, names[i], &err);
            ak_alloc_fail_at(0);
            if (status == AK_OK) {
                ak_problem_close(p);
                break;
            }
            assert_int_equal(status, AK_NO_MEMORY);
            assert_null(p);
            failures++;
        }
        assert_true(failures > 5);
    }
}

static void test_dtypes(void **state)
{
    (void)state;
    ak_dtype dtype;
    assert_true(ak_dtype_parse(&dtype, "bf16"));
    assert_int_equal(dtype, AK_DTYPE_BF16);
    assert_int_equal(ak_dtype_bytes(dtype), 2);
    assert_true(ak_dtype_epsilon(AK_DTYPE_F32) == 0x1p-23);
    assert_string_equal(ak_dtype_text(AK_DTYPE_I32), "i32");
    assert_false(ak_dtype_parse(&dtype, "F32"));
}

/* Rows of floats of any width may be permuted to make new contents. Whole numbers may be indices
   and stay. */
static void test_which_dtypes_are_floats(void **state)
{
    (void)state;
    static const char *const floats[] = {"f16", "bf16", "f32", "f64", "e4m3", "e5m2"};
    ak_dtype dtype;
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        assert_true(ak_dtype_parse(&dtype, floats[i]) && ak_dtype_is_float(dtype));
    }
    assert_true(ak_dtype_parse(&dtype, "i32") && !ak_dtype_is_float(dtype));
}

/* Every dtype is found by its name, has the width of its C type, and can be the dtype of a task
   unless it is an 8-bit float. */
static void test_every_dtype(void **state)
{
    (void)state;
    char list[AK_DTYPE_LIST_BYTES];
    size_t passed = 0;
    for (size_t i = 0; i < AK_DTYPE_COUNT; i++) {
        ak_dtype dtype, found;
        const char *scalar = ak_dtype_scalar((ak_dtype)i);
        assert_true(ak_dtype_parse(&dtype, ak_dtype_text((ak_dtype)i)) && dtype == i);
        assert_true(scalar == NULL || (ak_dtype_parse_scalar(&found, scalar) && found == dtype));
        assert_true(ak_dtype_is_of_tasks(dtype) == (ak_dtype_text(dtype)[0] != 'e'));
        assert_string_equal(akr_dtype_text((akr_dtype)i), ak_dtype_text(dtype));
        assert_int_equal(akr_dtype_bytes((akr_dtype)i), ak_dtype_bytes(dtype));
        passed += scalar != NULL;
    }
    assert_int_equal(passed, 10);
    assert_null(akr_dtype_text((akr_dtype)AK_DTYPE_COUNT));
    assert_int_equal(akr_dtype_bytes((akr_dtype)AK_DTYPE_COUNT), 0);
    assert_false(ak_dtype_parse_scalar(&(ak_dtype){0}, ""));
    ak_dtype_list(list, ak_dtype_scalar, NULL, " and ");
    assert_string_equal(list, "Float32, Float64, Int32, Int64, Int8, UInt8, Int16, UInt16, UInt32 "
                              "and UInt64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_dtypes_are_floats),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_implementations),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_t1),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hostile_depth),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_every_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
