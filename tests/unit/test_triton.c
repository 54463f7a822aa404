/*
 * test_triton.c: tests that Triton kernels are compiled without a GPU, and that a launch reads from
 * the artifact what only the compiler knows. Without a Python that has Triton the test skips
 * itself.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/cuda.h"
#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "problem/task_options.h"

#define SKIPPED 77

static char folder[AK_PATH_MAX];
static ak_device_facts device = {.backend = "cuda", .device = "cuda:0"};

static ak_task *bind(const char *kernel, const char *dtype, const char *size, const char *choices)
{
    const ak_task_spec spec = {.kernel = kernel,
                               .implementation = "triton",
                               .device = "cuda:0",
                               .dtype = dtype,
                               .size = size,
                               .choices = choices};
    ak_task *task = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_task_bind(&task, &spec, &device, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return task;
}

/* Compiles a configuration, and writes the path of its artifact. */
static void compile(ak_compile_result *out, char artifact[AK_PATH_MAX], const ak_task *task,
                    const char *config, bool own_size)
{
    char source[AK_PATH_MAX];
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    ak_options options = {0};
    ak_config parsed;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_fs_join(source, folder, "kernel.py", NULL), AK_OK);
    assert_int_equal(ak_fs_join(artifact, folder, "artifact.cubin", NULL), AK_OK);
    assert_int_equal(ak_backend_source(&text, task->implementation->source, "kernel", NULL), AK_OK);
    assert_int_equal(ak_fs_write(source, text.data, text.length, NULL), AK_OK);
    ak_space_default(&parsed, task->space);
    if (config != NULL && ak_config_parse(&parsed, task->space, config, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    if (ak_task_options(&options, task, &parsed, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    if (own_size) {
        assert_int_equal(ak_options_add(&options, AK_OWN_SIZE_ONLY, NULL), AK_OK);
    }
    const ak_compile_job job = {.source_path = source,
                                .compiler = options.compiler,
                                .argv = (const char *const *)options.argv,
                                .argc = options.count,
                                .folder = folder,
                                .artifact = artifact,
                                .timeout_ns = 60000000000,
                                .priority = AK_PROC_BATCH};
    if (ak_cuda_compile(out, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_options_clear(&options);
    ak_buf_free(&text);
}

/* Makes the plan of a launch as the CUDA backend does, with the same failures. */
static ak_status plan_of(ak_launch_plan *plan, ak_triton_artifact *artifact, char **bytes,
                         const char *path, const ak_task *task, const ak_shape *shape,
                         const char *config, ak_error *err)
{
    size_t length = 0;
    ak_config parsed;
    ak_triton_variant variant;
    ak_space_default(&parsed, task->space);
    if (config != NULL) {
        assert_int_equal(ak_config_parse(&parsed, task->space, config, NULL), AK_OK);
    }
    assert_int_equal(ak_fs_read(bytes, &length, path, 1 << 24, NULL), AK_OK);
    assert_int_equal(ak_triton_read(artifact, *bytes, length, NULL), AK_OK);
    assert_int_equal(ak_launch_evaluate(plan, task, shape, &parsed, NULL, NULL), AK_OK);
    ak_status status = ak_triton_apply(&variant, plan, artifact, task, err);
    if (status == AK_OK) {
        assert_memory_equal(variant.code, "\177ELF", 4);
        assert_true(variant.length > 1000);
    }
    return status;
}

static void test_sample_compiles(void **state)
{
    static const struct {
        const char *kernel, *dtype, *size, *choices, *config;
        uint32_t grid, threads;
        size_t passes; /* without Triton's own */
    } sample[] = {
        {"softmax", "bf16", "rows=100,cols=1000", NULL, "BLOCK_SIZE=1024,num_warps=8,num_stages=2",
         100, 256, 3},
        {"matmul", "f16", "M=512,N=768,K=256", NULL,
         "BLOCK_SIZE_M=128,BLOCK_SIZE_N=128,BLOCK_SIZE_K=64,GROUP_SIZE_M=1,num_warps=8,"
         "num_stages=3",
         24, 256, 12},
        {"matmul_act", "f16", "M=256,N=256,K=128", "activation=gelu_erf,bias=add,beta=1",
         "BLOCK_SIZE_M=64,BLOCK_SIZE_N=64,BLOCK_SIZE_K=32,GROUP_SIZE_M=8,num_warps=4,"
         "num_stages=4",
         16, 128, 14},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        ak_compile_result result = {0};
        ak_triton_artifact artifact;
        ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
        ak_error err = AK_ERROR_INIT;
        char path[AK_PATH_MAX], *bytes = NULL;
        ak_task *task = bind(sample[i].kernel, sample[i].dtype, sample[i].size, sample[i].choices);
        compile(&result, path, task, sample[i].config, true);
        if (result.status != AK_TRIAL_OK) {
            fail_msg("%s: %s", sample[i].kernel, result.reason);
        }
        assert_true(result.registers >= 16 && result.registers <= 255);
        assert_int_equal(strlen(result.artifact_hash), 64);
        if (plan_of(plan, &artifact, &bytes, path, task, &task->shape, sample[i].config, &err) !=
            AK_OK) {
            fail_msg("%s: %s", sample[i].kernel, err.text);
        }
        const ak_launch_kernel *kernel = &plan->kernels[0];
        assert_int_equal(kernel->grid[0], sample[i].grid);
        assert_int_equal(kernel->block[0], sample[i].threads);
        assert_int_equal(kernel->shared_bytes, result.shared_bytes);
        assert_string_equal(kernel->name, task->implementation->kernel_name);
        size_t own = 0;
        while (own < kernel->pass_count && kernel->passes[own].kind != AK_PASS_NULL) {
            own++;
        }
        assert_int_equal(own, sample[i].passes);
        ak_triton_clear(&artifact);
        ak_free(bytes);
        ak_free(plan);
        ak_compile_result_clear(&result);
        ak_task_close(task);
    }
}

/* Code for the task's own size runs only at other sizes of the same class. Code for every size has
   a second variant for the remaining sizes. */
static void test_other_sizes(void **state)
{
    static const struct {
        int64_t cols;
        ak_status own, every;
    } sizes[] = {{1024, AK_OK, AK_OK},
                 {2048, AK_OK, AK_OK},
                 {33, AK_NOT_FOUND, AK_OK},
                 {1, AK_NOT_FOUND, AK_OK}};
    ak_task *task = bind("softmax", "f32", "rows=8,cols=1024", NULL);
    (void)state;
    for (int own = 0; own < 2; own++) {
        ak_compile_result result = {0};
        char path[AK_PATH_MAX];
        compile(&result, path, task, NULL, own == 1);
        assert_int_equal(result.status, AK_TRIAL_OK);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ak_shape shape;
            ak_triton_artifact artifact;
            ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
            const int64_t size[AK_SIZES_MAX] = {8, sizes[i].cols};
            char *bytes = NULL;
            assert_int_equal(ak_task_shape(&shape, task, size, NULL), AK_OK);
            assert_int_equal(plan_of(plan, &artifact, &bytes, path, task, &shape, NULL, NULL),
                             own == 1 ? sizes[i].own : sizes[i].every);
            ak_triton_clear(&artifact);
            ak_free(bytes);
            ak_free(plan);
        }
        ak_compile_result_clear(&result);
    }
    ak_task_close(task);
}

/* If the Python process is killed, only one configuration fails. */
static void test_killed(void **state)
{
    char path[AK_PATH_MAX];
    ak_task *task = bind("softmax", "f32", "rows=8,cols=1024", NULL);
    (void)state;
    for (int i = 0; i < 3; i++) {
        ak_compile_result result = {0};
        if (i == 1) {
            assert_true(ak_triton_process() > 0);
            assert_int_equal(kill(ak_triton_process(), SIGKILL), 0);
        }
        compile(&result, path, task, NULL, true);
        assert_int_equal(result.status, i == 1 ? AK_TRIAL_COMPILE_ERROR : AK_TRIAL_OK);
        assert_true(i != 1 || strstr(result.reason, "ended") != NULL);
        ak_compile_result_clear(&result);
    }
    ak_task_close(task);
}

static void test_damaged(void **state)
{
    ak_triton_artifact artifact;
    (void)state;
    assert_int_equal(ak_triton_read(&artifact, "\177ELF", 4, NULL), AK_INVALID);
    assert_int_equal(ak_triton_read(&artifact, "{}", 2, NULL), AK_INVALID);
    assert_int_not_equal(ak_triton_read(&artifact, "{\n", 2, NULL), AK_OK);
}

/* If the target lacks a feature, the message names the target and gives advice, for errors of
   Triton itself and of ptxas, whose messages follow those of Triton. */
static void test_lacking(void **state)
{
    static const char head[] = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                               "def k(a, BLOCK: tl.constexpr):\n"
                               "    i = tl.arange(0, BLOCK)\n";
    static const struct {
        const char *body, *target, *status, *wanted[2];
    } sample[] = {
        {"    tl.store(a + i, tl.load(a + i).to(tl.float8e4nv).to(tl.float32))\n",
         "--target=cuda:80",
         "compile_error",
         {"line 3 of the function: type fp8e4nv not supported in this architecture",
          "; cuda:80 lacks it: choose a device"}},
        {"    x = tl.load(a + i)\n"
         "    y = tl.inline_asm_elementwise(\"cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;\",\n"
         "                                  \"=h,r,r\", [x, x], dtype=tl.int16, is_pure=True,\n"
         "                                  pack=1)\n"
         "    tl.store(a + i, y.to(tl.float32))\n",
         "--target=cuda:80",
         "compile_error",
         {"ptxas: Feature 'cvt with .e4m3x2",
          "requires .target sm_89 or higher; cuda:80 lacks it"}},
        {"    d = tl.make_tensor_descriptor(a, [64, BLOCK], [BLOCK, 1], [16, BLOCK])\n"
         "    d.store([0, 0], d.load([16, 0]))\n",
         "--target=cuda:90",
         "rejected",
         {"global scratch memory", "(tl.make_tensor_descriptor) by pointers"}}};
    (void)state;
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) {
        char source[AK_PATH_MAX], artifact[AK_PATH_MAX], text[2000];
        ak_compile_result result = {0};
        ak_error err = AK_ERROR_INIT;
        (void)snprintf(text, sizeof text, "%s%s", head, sample[i].body);
        assert_int_equal(ak_fs_join(source, folder, "lacking.py", NULL), AK_OK);
        assert_int_equal(ak_fs_join(artifact, folder, "lacking.cubin", NULL), AK_OK);
        assert_int_equal(ak_fs_write(source, text, strlen(text), NULL), AK_OK);
        const char *const argv[] = {sample[i].target, "--arguments=*f32", "--function=k",
                                    "-DBLOCK=64", "-Dnum_warps=4"};
        const ak_compile_job job = {.source_path = source,
                                    .compiler = AK_TRITON,
                                    .argv = argv,
                                    .argc = sizeof argv / sizeof argv[0],
                                    .folder = folder,
                                    .artifact = artifact,
                                    .timeout_ns = 60000000000,
                                    .priority = AK_PROC_BATCH};
        if (ak_cuda_compile(&result, &job, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        for (size_t k = 0; k < 2; k++) {
            if (result.reason == NULL || strstr(result.reason, sample[i].wanted[k]) == NULL) {
                fail_msg("sample %zu: %s", i, result.reason == NULL ? "" : result.reason);
            }
        }
        assert_string_equal(ak_trial_status_text(result.status), sample[i].status);
        ak_compile_result_clear(&result);
    }
}

int main(void)
{
    char version[32];
    ak_error err = AK_ERROR_INIT;
    (void)signal(SIGPIPE, SIG_IGN); /* as in every program of ours */
    ak_status status = ak_triton_version(version, sizeof version, &err);
    if (status == AK_UNAVAILABLE) {
        print_message("skipped: %s\n", err.text);
        return SKIPPED;
    }
    ak_scope *facts = ak_scope_new(NULL);
    if (status != AK_OK || facts == NULL || ak_fs_temp(folder, &err) != AK_OK ||
        ak_cuda_sheet_facts(facts, "cuda:H200", &err) != AK_OK) {
        print_message("%s\n", err.text);
        return 1;
    }
    device.facts = facts;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_compiles), cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_killed), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_lacking)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ak_scope_free(facts);
    ak_fs_remove(folder);
    return failed;
}
