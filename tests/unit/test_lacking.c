/* test_lacking.c: tests that compilers' messages about a missing feature are extended by the target
   and advice, and that other messages are unchanged. Messages that the compilers of a test machine
   seldom give are stored here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backend/compile.h"
#include "base/alloc.h"

static void explains(const char *option, const char *message, const char *wanted)
{
    const char *const argv[] = {"-DA=1", option};
    const ak_compile_job job = {.argv = argv, .argc = 2};
    ak_compile_result result = {.status = AK_TRIAL_COMPILE_ERROR, .reason = ak_strdup(message)};
    ak_lacking_explain(&result, &job);
    assert_non_null(result.reason);
    assert_memory_equal(result.reason, message, strlen(message));
    if (wanted == NULL) {
        assert_string_equal(result.reason, message);
    } else if (strstr(result.reason, wanted) == NULL) {
        fail_msg("%s", result.reason);
    }
    ak_free(result.reason);
}

static void test_explains(void **state)
{
    (void)state;
    explains("--gpu-architecture=sm_80",
             "ptxas x, line 1; error   : Feature 'mma with FP8 floating point type' requires "
             ".target sm_89 or higher",
             "; sm_80 lacks it: choose a device that has it, or write into \"Needs\"");
    explains("--gpu-architecture=sm_90",
             "ptxas x, line 1; error   : Instruction 'setmaxnreg.inc' not supported on .target "
             "'sm_90'",
             "sm_90a has it: write \"Architecture\": \"sm_90a\"");
    explains("--gpu-architecture=sm_90a",
             "ptxas x, line 1; error   : Instruction 'tcgen05.wait' not supported on .target "
             "'sm_90a'",
             "; sm_90a lacks it: choose a device");
    explains("--target=cuda:80",
             "line 4 of the function: type fp8e4nv not supported in this architecture. The "
             "supported fp8 dtypes are ('fp8e4b15', 'fp8e5')",
             "; cuda:80 lacks it: choose a device that has it, or another --dtype");
    explains("-march=native", "host.c:1:1: error: '__builtin_x' needs isa option -mavx512fp16",
             "; -march=native has no such instructions: add its -m option");
    explains("--device=opencl:1",
             "error: opencl.cl:2:2: use of type 'double' requires cl_khr_fp64 and "
             "__opencl_c_fp64 support",
             "; opencl:1 lacks it: choose a device");
    explains("-O2", "error: opencl.cl:2:2: use of undeclared identifier 'sub_group_broadcast'",
             "; the target lacks cl_khr_subgroups: ");
}

static void test_leaves_others(void **state)
{
    (void)state;
    explains("-march=native", "host.c:1:1: error: expected ';' before 'x'", NULL);
    explains("--device=opencl:0", "error: opencl.cl:2:2: use of undeclared identifier 'x'", NULL);
    ak_compile_result none = {.status = AK_TRIAL_OK};
    ak_lacking_explain(&none, &(ak_compile_job){0});
    assert_null(none.reason);
}

static void test_long_messages_keep_the_advice(void **state)
{
    (void)state;
    char message[1001];
    memset(message, 'x', sizeof message - 1);
    memcpy(message, "requires .target sm_89", 22);
    message[sizeof message - 1] = 0;
    ak_compile_result result = {.status = AK_TRIAL_COMPILE_ERROR, .reason = ak_strdup(message)};
    ak_lacking_explain(&result, &(ak_compile_job){0});
    assert_non_null(strstr(result.reason, "compute_capability the kernel is for"));
    ak_free(result.reason);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explains),
        cmocka_unit_test(test_leaves_others),
        cmocka_unit_test(test_long_messages_keep_the_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
