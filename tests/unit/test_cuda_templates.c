/*
 * test_cuda_templates.c: tests that the CUDA templates compile for Hopper with NVRTC, without
 * spills and without the compiler's note that it serialised a tensor instruction: every schedule,
 * layout, way to split K and epilogue once. It needs NVRTC but no GPU, and skips itself without
 * NVRTC.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "nvrtc_fixture.h"

#define SOURCE_MAX  ((size_t)1 << 20)
#define OPTIONS_MAX 48

/* Values of macros that a case does not set: a plain 128 x 128 tile. */
static const char *const defaults[][2] = {
    {"BLOCK_SIZE_M", "128"},
    {"BLOCK_SIZE_N", "128"},
    {"BLOCK_SIZE_K", "64"},
    {"num_stages", "4"},
    {"NUM_CONSUMERS", "2"},
    {"PING_PONG", "0"},
    {"CLUSTER_M", "1"},
    {"CLUSTER_N", "1"},
    {"CLUSTER_K", "1"},
    {"SPLIT_K", "1"},
    {"SPLIT_WAIT", "0"},
    {"GROUP_SIZE", "8"},
    {"RASTER", "0"},
    {"SWAP_AB", "0"},
    {"MMA_IN_FLIGHT", "0"},
    {"PRODUCER_WARPS", "4"},
    {"PRODUCER_REGISTERS", "40"},
    {"CONSUMER_REGISTERS", "232"},
    {"EPILOGUE_COLUMNS", "64"},
    {"EPILOGUE_BUFFERS", "2"},
    {"BLOCKS_PER_SM", "1"},
    {"EVICT_A", "0"},
    {"EVICT_B", "0"},
    {"LAUNCH_EARLY", "0"},
    {"DIRECT_STORE", "0"},
    {"A_LAYOUT", "0"},
    {"B_LAYOUT", "1"},
    {"activation_is_none", "1"},
    {"dtype_is_bf16", "1"},
};
enum { DEFAULTS = sizeof defaults / sizeof defaults[0] };

#define ONE_CONSUMER " NUM_CONSUMERS=1 PRODUCER_WARPS=1 PRODUCER_REGISTERS=0 CONSUMER_REGISTERS=0"

#define TF32                                                                                       \
    " ELEMENT_BYTES=4 dtype_is_bf16=0 dtype_is_f32=1 DIRECT_STORE=1 EPILOGUE_COLUMNS=16 "          \
    "EPILOGUE_BUFFERS=1 MMA_IN_FLIGHT=1"

/* A and B are e4m3, and partial sums are promoted. */
#define BYTES "ELEMENT_BYTES=1 PROMOTE=128 BLOCK_SIZE_K=128 B_LAYOUT=0"

static const char *const cases[] = {
    "",
    "BLOCK_SIZE_N=256 CLUSTER_M=2 MMA_IN_FLIGHT=1",
    "BLOCK_SIZE_M=256 CLUSTER_N=2 num_stages=3 A_LAYOUT=1 B_LAYOUT=0 RASTER=1",
    "BLOCK_SIZE_N=192 PING_PONG=1 CLUSTER_M=2 MMA_IN_FLIGHT=1 bias_is_add=1 activation_is_relu=1",
    "BLOCK_SIZE_M=192 BLOCK_SIZE_N=96 NUM_CONSUMERS=3 PRODUCER_REGISTERS=32 CONSUMER_REGISTERS=160"
    " CLUSTER_M=2 EPILOGUE_COLUMNS=32",
    "BLOCK_SIZE_M=160 PING_PONG=1 SWAP_AB=1 CLUSTER_N=2 MMA_IN_FLIGHT=1 EPILOGUE_BUFFERS=1"
    " bias_is_add=1 activation_is_silu=1",
    "BLOCK_SIZE_M=184 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_M=2 num_stages=6 EPILOGUE_BUFFERS=0"
    " GPC_ORDER=1 RASTER=1" ONE_CONSUMER,
    "BLOCK_SIZE_M=16 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_K=2 num_stages=8 "
    "LAUNCH_EARLY=2" ONE_CONSUMER,
    "BLOCK_SIZE_M=64 BLOCK_SIZE_N=64 CLUSTER_K=4 EPILOGUE_COLUMNS=16 num_stages=8" ONE_CONSUMER,
    "BLOCK_SIZE_M=64 BLOCK_SIZE_N=64 SPLIT_K=16 SPLIT_WAIT=1 LAUNCH_EARLY=1" ONE_CONSUMER,
    "BLOCK_SIZE_M=80 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_M=2 CLUSTER_N=2 EARLY_SLOTS=2"
    " num_stages=8" ONE_CONSUMER,
    "PAD_A=1 PAD_B=1 DIRECT_STORE=1 SWAP_AB=1 MMA_IN_FLIGHT=1",
    "SPLIT_K=4 BLOCK_SIZE_N=64 BLOCK_SIZE_K=128 dtype_is_bf16=0 dtype_is_f16=1",
    "DIRECT_STORE=1 bias_is_add=1 activation_is_leaky_relu=1",
    "SWAP_AB=1 EPILOGUE_BUFFERS=1 activation_is_relu=1 HAS_ALPHA=1",
    "bias_is_add=1 activation_is_gelu_erf=1 SIZE_M=1000 SIZE_N=3000 SIZE_K=5000",
    "bias_is_add=1 activation_is_gelu_tanh=1 FAST_TANH=0",
    "BLOCK_SIZE_N=256 CLUSTER_M=2 A_LAYOUT=1 HAS_ALPHA=1 HAS_BETA=1",
    "BLOCK_SIZE_M=256 CLUSTER_N=2 num_stages=3 B_LAYOUT=0 residual_is_add=1",
    "PING_PONG=1 CLUSTER_M=2 MMA_IN_FLIGHT=1 bias_is_add=1 residual_is_add=1"
    " activation_is_gelu_tanh=1",
    "BLOCK_SIZE_M=128 SWAP_AB=1 CLUSTER_N=2 MMA_IN_FLIGHT=1 EPILOGUE_BUFFERS=1 HAS_BETA=1"
    " residual_is_add=1",
    "BLOCK_SIZE_M=16 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_K=2 num_stages=8 HAS_BETA=1" ONE_CONSUMER,
    "BLOCK_SIZE_M=64 BLOCK_SIZE_N=64 SPLIT_K=16 SPLIT_WAIT=1 HAS_BETA=1 "
    "residual_is_add=1" ONE_CONSUMER,
    "DIRECT_STORE=1 B_LAYOUT=0 HAS_BETA=1 residual_is_add=1 activation_is_relu=1",
    /* an odd number of groups of 8 columns, and slices of them that overlap */
    "BLOCK_SIZE_M=168 SWAP_AB=1 CLUSTER_N=2 MMA_IN_FLIGHT=1 EPILOGUE_BUFFERS=1",
    "BLOCK_SIZE_M=104 BLOCK_SIZE_N=192 NUM_CONSUMERS=3 PRODUCER_WARPS=1 PRODUCER_REGISTERS=0"
    " CONSUMER_REGISTERS=0 SWAP_AB=1 CLUSTER_N=2 EPILOGUE_BUFFERS=1 EVICT_A=1 bias_is_add=1",
    "BLOCK_SIZE_M=72 BLOCK_SIZE_N=64 SWAP_AB=1 A_LAYOUT=1 SPLIT_K=3 SPLIT_WAIT=1 num_stages=8"
    " HAS_BETA=1" ONE_CONSUMER,
    /* two consumers that divide the columns; C staged where the ring was; shares of 4 and 26 rows
     */
    "BLOCK_SIZE_M=224 BLOCK_SIZE_N=192 SWAP_AB=1 CLUSTER_M=2 EPILOGUE_BUFFERS=0 bias_is_add=1",
    "BLOCK_SIZE_M=16 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_N=4 EPILOGUE_BUFFERS=0" ONE_CONSUMER,
    "BLOCK_SIZE_M=104 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_N=4 SPLIT_K=3 "
    "EPILOGUE_BUFFERS=0" ONE_CONSUMER,
    "CLUSTER_K=2 EPILOGUE_BUFFERS=0",
    "BLOCK_SIZE_M=176 BLOCK_SIZE_N=256 SWAP_AB=1 CLUSTER_M=2 SPLIT_K=8 SPLIT_LAST=1"
    " EPILOGUE_BUFFERS=1 num_stages=3 OWN_SIZE_ONLY=1 SIZE_M=440 SIZE_N=14144 SIZE_K=8192",
    "PING_PONG=1 SPLIT_K=3 SPLIT_LAST=1 CLUSTER_N=2 bias_is_add=1 SIZE_M=2100 SIZE_N=2304"
    " SIZE_K=776",
    "BLOCK_SIZE_N=256 BLOCK_SIZE_K=32 B_LAYOUT=0" TF32,
    "BLOCK_SIZE_N=256 BLOCK_SIZE_K=32 CLUSTER_M=2 EARLY_SLOTS=2 SWAP_AB=1" TF32,
    "BLOCK_SIZE_M=256 BLOCK_SIZE_K=32 CLUSTER_N=2 SWAP_AB=1 SIZE_M=4096 SIZE_N=4096"
    " SIZE_K=1000" TF32,
    "BLOCK_SIZE_M=192 BLOCK_SIZE_N=192 BLOCK_SIZE_K=32 NUM_CONSUMERS=3 CONSUMER_REGISTERS=152"
    " SWAP_AB=1" TF32,
    "BLOCK_SIZE_K=32 PING_PONG=1 A_LAYOUT=1 B_LAYOUT=0 HAS_ALPHA=1 HAS_BETA=1 bias_is_add=1"
    " residual_is_add=1" TF32,
    "BLOCK_SIZE_M=64 BLOCK_SIZE_N=64 CLUSTER_K=2 SWAP_AB=1 PAD_A=1 TURN_A=1 PAD_B=1" ONE_CONSUMER
        TF32,
    "BLOCK_SIZE_M=16 BLOCK_SIZE_N=128 SPLIT_K=4 SPLIT_WAIT=1 SWAP_AB=1" ONE_CONSUMER TF32,
    BYTES " SCALES=3 BLOCK_SIZE_N=192 CLUSTER_M=2 EARLY_SLOTS=2 EPILOGUE_BUFFERS=1 PARTIAL_SETS=2",
    BYTES " SCALES=3 PARTIAL_SETS=2 SPLIT_K=2 SPLIT_WAIT=1",
    BYTES " SCALES=3 BLOCK_SIZE_M=256 CLUSTER_N=2 EPILOGUE_BUFFERS=1",
    BYTES " SCALES=3 BLOCK_SIZE_M=16 BLOCK_SIZE_N=64 BLOCK_SIZE_K=256 SWAP_AB=1"
          " EPILOGUE_BUFFERS=1" ONE_CONSUMER,
    BYTES " SCALES=2 BLOCK_SIZE_M=256",
    BYTES " SCALES=2 BLOCK_SIZE_M=16 BLOCK_SIZE_N=64 SWAP_AB=1 CLUSTER_N=4 EPILOGUE_BUFFERS=0"
          " bias_is_add=1" ONE_CONSUMER,
};

static char *source;

static int load_source(void **state)
{
    static const char *const parts[] = {"matmul/cuda_wgmma.cu", "matmul/cuda_gpc.cu",
                                        "matmul/cuda_registers.cu", "matmul_act/cuda_activation.cu",
                                        "matmul/cuda_gemm_sm90.cu"};
    ak_buf text = AK_BUF(SOURCE_MAX);
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char path[AK_PATH_MAX];
        char *part = NULL;
        size_t length = 0;
        (void)snprintf(path, sizeof path, "%s/../../kernels/%s", AK_TEST_DATA, parts[i]);
        if (ak_fs_read(&part, &length, path, SOURCE_MAX, NULL) != AK_OK) {
            return 1;
        }
        ak_buf_append(&text, part, length);
        ak_free(part);
    }
    return ak_buf_take(&source, &text, NULL) != AK_OK;
}

static int drop_source(void **state)
{
    (void)state;
    ak_free(source);
    return 0;
}

/* Compiles with the defaults and the "NAME=value" words of a case. The caller frees the log. */
static int compile(char **log, size_t *cubin, const char *words)
{
    const char *options[OPTIONS_MAX];
    char text[OPTIONS_MAX][64];
    char copy[512];
    char *rest = NULL;
    int n = 0;
    (void)snprintf(copy, sizeof copy, "%s", words);
    (void)snprintf(text[n++], sizeof text[0], "--gpu-architecture=sm_90a");
    (void)snprintf(text[n++], sizeof text[0], "--ptxas-options=-v");
    for (size_t i = 0; i < DEFAULTS; i++) {
        (void)snprintf(text[n++], sizeof text[0], "-D%s=%s", defaults[i][0], defaults[i][1]);
    }
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t name = strcspn(word, "=") + 1;
        int at = n;
        for (int i = 2; i < n; i++) {
            at = strncmp(text[i] + 2, word, name) == 0 ? i : at;
        }
        assert_true(at < OPTIONS_MAX);
        (void)snprintf(text[at], sizeof text[0], "-D%s", word);
        n += at == n;
    }
    for (int i = 0; i < n; i++) {
        options[i] = text[i];
    }
    return nvrtc_compile(log, cubin, source, options, n);
}

static void test_every_way_compiles_cleanly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *log = NULL;
        size_t cubin = 0;
        if (!is_tried(i)) {
            continue;
        }
        int code = compile(&log, &cubin, cases[i]);
        bool clean = nvrtc_clean(log);
        if (code != 0 || !clean) {
            print_error("%s:\n%.3000s\n", cases[i], log);
        }
        assert_int_equal(code, 0);
        assert_true(clean);
        assert_true(cubin > 1000);
        ak_free(log);
    }
}

static void test_impossible_tiles_are_refused(void **state)
{
    static const struct {
        const char *words, *reason;
    } wrong[] = {
        {"BLOCK_SIZE_M=64", "64 rows a wgmma"},
        {"BLOCK_SIZE_N=96", "whole pieces"},
        {"PING_PONG=1 EPILOGUE_BUFFERS=0", "the tile fits the ring"},
        {"BLOCK_SIZE_M=224 BLOCK_SIZE_N=192 SWAP_AB=1 A_LAYOUT=1", "half of the columns"},
        {"BLOCK_SIZE_N=256 CLUSTER_K=2 num_stages=2", "sums fit the ring"},
        {"BLOCK_SIZE_K=32" TF32, "K is contiguous"},
        {"BLOCK_SIZE_N=192 BLOCK_SIZE_K=32 SWAP_AB=1" ONE_CONSUMER TF32, "or pairs of them"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *log = NULL;
        size_t cubin = 0;
        assert_int_not_equal(compile(&log, &cubin, wrong[i].words), 0);
        assert_non_null(strstr(log, wrong[i].reason));
        ak_free(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_compiles_cleanly),
        cmocka_unit_test(test_impossible_tiles_are_refused),
    };
    if (!nvrtc_open()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, load_source, drop_source);
}
