/*
 * test_spills.c: tests code that spills registers, uses a stack, or has tensor instructions that
 * ptxas serialised. It runs, and the trial says how many bytes were spilled, unless the space
 * file rejects such code. The faults of the fake CUDA device produce it; worker processes are
 * real.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_cuda_fixture.h"
#include "pool_fixture.h"
#include "problem/task.h"

/* Writes a kernel that runs the fake device's zones_kernel: Z is X if X is not negative, else Y.
   `spills` is a member of the KernelSpecification with its comma, or "". */
static void write_kernel(const char *spills)
{
    char text[1500];
    static int count;
    write_file("problem.json",
               "{\"schema\": 1, \"name\": \"brought\", \"description\": \"a choice by sign\",\n"
               " \"sizes\": [{\"name\": \"n\", \"default\": 300}], \"dtypes\": [\"f32\"],\n"
               " \"choices\": [], \"arguments\": [\n"
               "  {\"name\": \"X\", \"shape\": [\"n\"], \"access\": \"in\"},\n"
               "  {\"name\": \"Y\", \"shape\": [\"n\"], \"access\": \"in\"},\n"
               "  {\"name\": \"Z\", \"shape\": [\"n\"], \"access\": \"out\"}],\n"
               " \"flops\": \"n\", \"bytes\": \"12*n\", \"reference\": \"reference.c\",\n"
               " \"tolerance\": {\"f32\": {\"relative\": \"eps\"}}, \"awkward\": [{\"n\": 1}]}\n");
    write_file("reference.c", "void ak_reference(const ak_host_call *call)\n{\n"
                              "    const double *x = call->arg[0], *y = call->arg[1];\n"
                              "    double *z = call->arg[2];\n"
                              "    for (int64_t i = 0; i < call->size[0]; i++) {\n"
                              "        z[i] = x[i] < 0 ? y[i] : x[i];\n    }\n}\n");
    (void)snprintf(
        text, sizeof text,
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"TILE\",\n"
        "  \"Type\": \"int\", \"Values\": [1, 2], \"Default\": 1}], \"Conditions\": []},\n"
        " \"KernelSpecification\": {\"Language\": \"CUDA\", %s\n"
        "  \"KernelFile\": \"cuda.cu\", \"KernelName\": \"zones_kernel\",\n"
        "  \"Defines\": {\"BYTES\": \"4\"}, \"Workspace\": \"16\",\n"
        "  \"Launch\": {\"Block\": [\"32\"], \"Grid\": [\"1\"],\n"
        "   \"Arguments\": [{\"Buffer\": \"X\"}, {\"Buffer\": \"Y\"}, {\"Buffer\": \"Z\"},\n"
        "    {\"Workspace\": true}, {\"Int64\": \"1\"}, {\"Int64\": \"n\"},\n"
        "    {\"Int64\": \"n\"}, {\"Int64\": \"16\"}]}}}\n",
        spills);
    write_file("cuda.json", text);
    (void)snprintf(text, sizeof text, "/* the fake device has it: %d */\n", count++);
    write_file("cuda.cu", text); /* another one: code is kept from one compilation to the next */
}

static ak_status open_task(ak_task **out, ak_error *err)
{
    ak_task_spec spec = {.kernel = folder, .device = "cuda:0"};
    return ak_task_open(out, &spec, err);
}

static const struct {
    const char *fault, *spills;
    ak_trial_status status;
    const char *reason;
    int spill_bytes;
} cases[] = {
    {"", "", AK_TRIAL_OK, NULL, 0},
    {"spill", "", AK_TRIAL_OK, NULL, 40},
    {"stack", "", AK_TRIAL_OK, NULL, 0},
    {"serialised", "", AK_TRIAL_OK, NULL, 0},
    {"spill stack", "\"Spills\": \"allow\",", AK_TRIAL_OK, NULL, 40},
    {"", "\"Spills\": \"reject\",", AK_TRIAL_OK, NULL, 0},
    {"spill", "\"Spills\": \"reject\",", AK_TRIAL_REJECTED, "it spills 40 bytes", 40},
    {"stack", "\"Spills\": \"reject\",", AK_TRIAL_REJECTED,
     "each thread uses 48 bytes of local memory", 0},
    {"serialised", "\"Spills\": \"reject\",", AK_TRIAL_REJECTED, "serialised tensor", 0},
};

static void it_is_a_fact_unless_it_is_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_task *task = NULL;
        ak_pool *pool = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_pool_options options = {.compile_workers = 1};
        char name[80];
        (void)setenv("FAKE_CUDA", cases[i].fault, 1);
        write_kernel(cases[i].spills);
        if (open_task(&task, &err) != AK_OK || ak_pool_open(&pool, task, &options, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        ak_job job = {.kind = AK_JOB_TRIAL, .timer = {.budget_ns = 5 * AK_MS_NS}};
        assert_int_equal(ak_config_parse(&job.config, ak_task_space(task), "TILE=1", &err), AK_OK);
        assert_int_equal(ak_pool_submit(pool, &job, &err), AK_OK);
        ak_result result = wait_one(pool);
        (void)snprintf(name, sizeof name, "%s, %s", cases[i].fault, cases[i].spills);
        expect_fate(&result, name, cases[i].status, cases[i].reason);
        assert_int_equal(result.trial.spill_bytes, cases[i].spill_bytes);
        ak_result_clear(&result);
        ak_pool_close(pool);
        ak_task_close(task);
    }
    (void)unsetenv("FAKE_CUDA");
}

static void other_words_are_refused(void **state)
{
    static const char *const words[] = {"\"Spills\": \"never\",", "\"Spills\": true,",
                                        "\"Spill\": \"allow\","};
    static const char *const lines[] = {"\"Spills\" is \"never\"; it must be allow or reject",
                                        "\"Spills\" must be", "did you mean \"Spills\"?"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ak_task *task = NULL;
        ak_error err = AK_ERROR_INIT;
        write_kernel(words[i]);
        assert_int_equal(open_task(&task, &err), AK_INVALID);
        if (strstr(err.text, lines[i]) == NULL) {
            fail_msg("%s", err.text);
        }
    }
}

static void rejects_on_cuda(void *context, const char *kernel, const char *description)
{
    size_t *seen = context;
    ak_error err = AK_ERROR_INIT;
    ak_problem *problem = NULL;
    (void)description;
    assert_int_equal(ak_problem_open(&problem, kernel, &err), AK_OK);
    for (size_t k = 0; k < problem->implementation_count; k++) {
        const ak_implementation_spec *one = &problem->implementations[k];
        *seen += strcmp(one->backend, "cuda") == 0;
        bool template = strcmp(one->backend, "cuda") == 0 && strcmp(one->name, "triton") != 0;
        assert_int_equal(one->rejects_spills, template);
    }
    ak_problem_close(problem);
}

/* All built-in CUDA kernels reject code that spills, because they are templates with other
   configurations that do not spill. */
static void our_own_reject(void **state)
{
    size_t seen = 0;
    ak_error err = AK_ERROR_INIT;
    (void)state;
    assert_int_equal(ak_problem_each_builtin(rejects_on_cuda, &seen, &err), AK_OK);
    assert_true(seen >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_fact_unless_it_is_rejected),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(our_own_reject),
    };
    return cmocka_run_group_tests(tests, use_fake_cuda, drop_folder);
}
