/*
 * test_cuda_code.c: tests what a candidate's compiled code may contain, with NVRTC and without a
 * GPU: attacks that keep state in a module or call the driver are refused, and no honest kernel
 * is. tests/gpu/adversarial.py tries all attacks on a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cuda/cuda_device.h"
#include "base/fs.h"
#include "../unit/nvrtc_fixture.h"

enum { HONEST_VARIANTS = 32 };

static int (*get_cubin)(void *, char *);

typedef enum fate {
    OK,
    WRONG_RESULT,
    REJECTED,
    STOPPED,
    CRASHED,
    TIMED_OUT,
    COMPILE_ERROR,
    PROMOTED
} fate;

/* Compiles and judges; returns false if it does not compile. */
static bool judge(ak_outcome *out, const char *folder, const char *name, int number)
{
    char path[AK_PATH_MAX], macro[64], *source = NULL;
    void *program = NULL;
    size_t bytes = 0;
    const char *const options[] = {"--gpu-architecture=sm_90", "-DWASTE=1", macro};
    (void)snprintf(path, sizeof path, "%s/%s/cuda.cu", AK_TEST_ADVERSARIAL, folder);
    (void)snprintf(macro, sizeof macro, "-D%s=%d", name, number);
    assert_int_equal(ak_fs_read(&source, NULL, path, 1u << 20, NULL), AK_OK);
    assert_int_equal(nvrtcCreateProgram(&program, source, "cuda.cu", 0, NULL, NULL), 0);
    bool compiles = nvrtcCompileProgram(program, 3, options) == 0;
    *out = (ak_outcome){.status = AK_TRIAL_OK};
    if (compiles) {
        assert_int_equal(nvrtcGetCUBINSize(program, &bytes), 0);
        char *cubin = ak_alloc(bytes, 1);
        assert_int_equal(get_cubin(program, cubin), 0);
        ak_cuda_cubin_judge(out, cubin, bytes);
        /* Whatever is damaged in the file: no access outside of it. */
        for (size_t i = 0; i < bytes; i += 1 + bytes / 64) {
            ak_outcome ignored = {.status = AK_TRIAL_OK};
            cubin[i] ^= 0x5a;
            ak_cuda_cubin_judge(&ignored, cubin, bytes - i / 2);
        }
        ak_free(cubin);
    }
    (void)nvrtcDestroyProgram(&program);
    ak_free(source);
    return compiles;
}

static void try_attack(int number, const char *what, fate wanted, const char *reason)
{
    ak_outcome outcome;
    if (!judge(&outcome, "cuda", "ATTACK", number)) {
        assert_int_equal(wanted, COMPILE_ERROR);
        return;
    }
    bool refused = outcome.status == AK_TRIAL_REJECTED;
    if (refused != (wanted == REJECTED) || (refused && strstr(outcome.reason, reason) == NULL)) {
        fail_msg("%d %s: %s", number, what, refused ? outcome.reason : "not refused");
    }
}

static void state_and_calls_are_refused(void **state)
{
    (void)state;
#define X(number, what, wanted, reason)                                                            \
    if (wanted != COMPILE_ERROR) {                                                                 \
        try_attack(number, what, wanted, reason);                                                  \
    }
#include "cuda/attacks.def"
#undef X
}

/* What these keep is in the workspace, so that nothing shows in their code. */
static void attacks_by_rows_compile(void **state)
{
    ak_outcome outcome;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(judge(&outcome, "cuda_rows", "ATTACK", i));
        assert_int_equal(outcome.status, AK_TRIAL_OK);
    }
}

static void honest_kernels_are_not(void **state)
{
    ak_outcome outcome;
    (void)state;
    for (int i = 0; i < HONEST_VARIANTS; i++) {
        assert_true(judge(&outcome, "cuda_honest", "VARIANT", i));
        if (outcome.status != AK_TRIAL_OK) {
            fail_msg("variant %d: %s", i, outcome.reason);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_and_calls_are_refused),
        cmocka_unit_test(attacks_by_rows_compile),
        cmocka_unit_test(honest_kernels_are_not),
    };
    if (!nvrtc_open()) {
        return 77;
    }
    *(void **)&get_cubin = ak_dl_symbol(nvrtc_library, "nvrtcGetCUBIN");
    return get_cubin == NULL ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
