/*
 * test_cuda_referee.c: tests that the references on the device compile with NVRTC and do not
 * spill: each kernel's, with every value of each option, and every dtype once. So do the loops that
 * measure the device's ceilings. It needs NVRTC but
 * no GPU, and skips itself without NVRTC. tests/simt/referee.c tests what the references compute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/buf.h"
#include "base/fs.h"
#include "nvrtc_fixture.h"

#define SOURCE_MAX ((size_t)1 << 20)
enum { OPTIONS_MAX = 6 };
#define FACTORS "choice_alpha=(1.0)", "choice_beta=(0.0)"
#define SCORES  "choice_scale=(0.0)", "choice_soft_cap=(5.0e+00)", "choice_window=(3.0)"
#define OTHERS  "choice_alpha=(5.00000000000000000e-01)", "choice_beta=(-2.00000000000000000e+00)"

static const struct {
    const char *kernel, *options[OPTIONS_MAX];
} cases[] = {
    {"softmax", {"dtype_is_bf16=1"}},
    {"layernorm", {"dtype_is_f32=1", "weight_is_scale=1", "bias_is_add=1"}},
    {"layernorm", {"dtype_is_f16=1", "weight_is_none=1", "bias_is_none=1"}},
    {"rmsnorm", {"dtype_is_f16=1", "weight_is_scale=1"}},
    {"reduce", {"dtype_is_f32=1"}},
    {"matmul", {"dtype_is_f16=1", "layout_is_nn=1", FACTORS}},
    {"matmul", {"dtype_is_f32=1", "layout_is_tn=1", OTHERS}},
    {"matmul", {"dtype_is_bf16=1", "layout_is_tt=1", OTHERS}},
    {"matmul_fp8", {"dtype_is_bf16=1", "scales_is_tensor=1"}},
    {"matmul_fp8", {"dtype_is_f16=1", "scales_is_rows=1"}},
    {"matmul_fp8", {"dtype_is_bf16=1", "scales_is_blocks=1"}},
    {"matmul_fp8", {"dtype_is_bf16=1", "scales_is_rows=1", "a_type_is_e5m2=1", "c_type_is_e4m3=1"}},
    {"matmul_grouped", {"dtype_is_bf16=1", "activation_is_none=1", "layout_is_packed=1"}},
    {"matmul_grouped", {"dtype_is_f16=1", "activation_is_swiglu=1", "layout_is_masked=1"}},
    {"matmul_grouped", {"dtype_is_bf16=1", "activation_is_swiglu=1", "inputs_is_e4m3=1"}},
    {"attention", {"dtype_is_bf16=1", "mask_is_causal=1", "layout_is_nhd=1", SCORES}},
    {"attention", {"dtype_is_f16=1", "mask_is_full=1", "sequences_is_packed=1", SCORES}},
    {"matmul_act", {"dtype_is_bf16=1", "bias_is_add=1", "activation_is_none=1", FACTORS}},
    {"matmul_act", {"dtype_is_f32=1", "bias_is_none=1", "activation_is_relu=1", FACTORS}},
    {"matmul_act", {"dtype_is_bf16=1", "bias_is_add=1", "activation_is_leaky_relu=1", FACTORS}},
    {"matmul_act", {"dtype_is_f16=1", "bias_is_add=1", "activation_is_gelu_tanh=1", FACTORS}},
    {"matmul_act", {"dtype_is_bf16=1", "bias_is_add=1", "activation_is_gelu_erf=1", FACTORS}},
    {"matmul_act",
     {"dtype_is_f32=1", "bias_is_add=1", "activation_is_silu=1", "residual_is_add=1", OTHERS}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void add_asset(ak_buf *text, const char *path)
{
    const ak_asset *asset = ak_asset_find(path);
    if (asset == NULL) {
        fail_msg("%s is not part of this build", path);
    }
    ak_buf_append(text, asset->data, asset->length);
}

static void every_reference_compiles(void **state)
{
    (void)state;
    if (!nvrtc_open()) {
        skip();
    }
    for (size_t i = 0; i < CASES; i++) {
        char path[AK_PATH_MAX], defines[OPTIONS_MAX][80], *log = NULL;
        const char *options[3 + OPTIONS_MAX] = {"--gpu-architecture=sm_90", "--fmad=false",
                                                "--ptxas-options=-v"};
        ak_buf text = AK_BUF(SOURCE_MAX);
        size_t cubin = 0;
        int count = 3;
        if (!is_tried(i)) {
            continue;
        }
        for (size_t k = 0; k < OPTIONS_MAX && cases[i].options[k] != NULL; k++) {
            (void)snprintf(defines[k], sizeof defines[k], "-D%s", cases[i].options[k]);
            options[count++] = defines[k];
        }
        (void)snprintf(path, sizeof path, "kernels/%s/reference.cu", cases[i].kernel);
        add_asset(&text, "src/backend/cuda/cuda_referee.cu");
        add_asset(&text, path);
        assert_int_equal(ak_buf_status(&text, NULL), AK_OK);
        int code = nvrtc_compile(&log, &cubin, text.data, options, count);
        if (code != 0 || cubin == 0 || !nvrtc_clean(log)) {
            fail_msg("%s %s: %s", path, cases[i].options[0], log);
        }
        ak_free(log);
        ak_buf_free(&text);
    }
}

/* The loops that need no wgmma. */
static void every_rate_loop_compiles(void **state)
{
    static const struct {
        const char *architecture, *dtype, *tf32;
    } loops[] = {{"sm_80", "-Ddtype_is_f32=1", "-DTF32=0"},
                 {"sm_80", "-Ddtype_is_f32=1", "-DTF32=1"},
                 {"sm_80", "-Ddtype_is_f16=1", "-DTF32=0"},
                 {"sm_86", "-Ddtype_is_bf16=1", "-DTF32=0"},
                 {"sm_89", "-Ddtype_is_f32=1", "-DTF32=1"}};
    (void)state;
    if (!nvrtc_open()) {
        skip();
    }
    for (size_t i = 0; i < AK_COUNT(loops); i++) {
        char architecture[40], *log = NULL;
        (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s",
                       loops[i].architecture);
        const char *const options[] = {architecture, "--ptxas-options=-v", "-DRATE=1",
                                       loops[i].dtype, loops[i].tf32};
        ak_buf text = AK_BUF(SOURCE_MAX);
        size_t cubin = 0;
        add_asset(&text, "src/backend/cuda/cuda_helpers.cu");
        assert_int_equal(ak_buf_status(&text, NULL), AK_OK);
        int code = nvrtc_compile(&log, &cubin, text.data, options, AK_COUNT(options));
        if (code != 0 || cubin == 0 || !nvrtc_clean(log)) {
            fail_msg("%s %s %s: %s", loops[i].architecture, loops[i].dtype, loops[i].tf32, log);
        }
        ak_free(log);
        ak_buf_free(&text);
    }
}

/* Every kernel with a CUDA implementation has a reference on the device, without which large sizes
   would take long. */
static void every_kernel_has_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ak_asset_count; i++) {
        const char *path = ak_assets[i].path, *slash = strrchr(path, '/');
        char reference[AK_PATH_MAX];
        if (strncmp(path, "kernels/", 8) != 0 || strncmp(slash, "/cuda", 5) != 0) {
            continue;
        }
        (void)snprintf(reference, sizeof reference, "%.*s/reference.cu", (int)(slash - path), path);
        if (ak_asset_find(reference) == NULL) {
            fail_msg("%s: there is no %s", path, reference);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_compiles),
        cmocka_unit_test(every_rate_loop_compiles),
        cmocka_unit_test(every_kernel_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
