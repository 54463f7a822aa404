/* cuda_rules.c: the rules for space files of the CUDA backend. */
#include <string.h>

#include "backend/launch/launch.h"
#include "backend/triton/triton.h"

/* The compute capability if the device is not known: the oldest for which this repository has
   kernels. */
#define LEAST_CAPABILITY 80LL

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Adds the architecture that the implementation asks for, or else the device's; for a Triton
   kernel, what its Python process must know. */
static ak_status add_architecture(ak_options *out, const ak_task *task, const ak_config *config,
                                  ak_error *err)
{
    char line[64];
    const char *own = task->implementation->architecture;
    const int64_t fact = ak_task_fact(task, "compute_capability");
    const long long capability = fact > 0 ? (long long)fact : LEAST_CAPABILITY;
    if (ak_implementation_is_triton(task->implementation)) {
        (void)snprintf(line, sizeof line, "cuda:%lld", capability);
        return ak_triton_options(out, task, config, line, err);
    }
    if (own != NULL) {
        (void)snprintf(line, sizeof line, "--gpu-architecture=%.40s", own);
    } else {
        (void)snprintf(line, sizeof line, "--gpu-architecture=sm_%lld", capability);
    }
    return ak_options_add(out, line, err);
}

/* Returns whether one option for ptxas is allowed: one that chooses how code is generated. All
   others are refused, because ptxas also has options that read and write files (--options-file,
   --output-file, --apply-controls), choose what is compiled (--entry, --compile-only), or leave
   out messages that a trial is judged by (--disable-warnings). */
static bool allows_ptxas(const char *option)
{
    static const char *const flags[] = {"-v",
                                        "--verbose",
                                        "-allow-expensive-optimizations",
                                        "--allow-expensive-optimizations",
                                        "-disable-optimizer-consts",
                                        "--disable-optimizer-constants",
                                        "-no-bb-merge",
                                        "--dont-merge-basicblocks",
                                        "-return-at-end",
                                        "--return-at-end",
                                        "-lineinfo",
                                        "--generate-line-info",
                                        "-warn-double-usage",
                                        "--warn-on-double-precision-use",
                                        "-warn-lmem-usage",
                                        "--warn-on-local-memory-usage",
                                        "-warn-spills",
                                        "--warn-on-spills",
                                        "-Werror",
                                        "--warning-as-error"};
    /* Letters or digits follow each of these: a number, true, or a kind of cache. */
    static const char *const values[] = {"-O",
                                         "--opt-level=",
                                         "-allow-expensive-optimizations=",
                                         "--allow-expensive-optimizations=",
                                         "-fmad=",
                                         "--fmad=",
                                         "-maxrregcount=",
                                         "--maxrregcount=",
                                         "-regUsageLevel=",
                                         "--register-usage-level=",
                                         "-dlcm=",
                                         "--def-load-cache=",
                                         "-dscm=",
                                         "--def-store-cache=",
                                         "-flcm=",
                                         "--force-load-cache=",
                                         "-fscm=",
                                         "--force-store-cache=",
                                         NULL};
    if (!ak_text_begins(option, values)) {
        return AK_HAS_TEXT(flags, AK_COUNT(flags), option);
    }
    const char *value = option[1] == 'O' ? option + 2 : strchr(option, '=') + 1;
    return value[0] != 0 && value[strspn(value, LETTERS_AND_DIGITS)] == 0;
}

/* Returns whether all options of a list for ptxas, separated by commas, are allowed. */
static bool allows_all_ptxas(const char *list)
{
    for (;;) {
        char option[64]; /* longer than all that are allowed */
        const size_t length = strcspn(list, ",");
        (void)snprintf(option, sizeof option, "%.*s", (int)length, list);
        if (length >= sizeof option || !allows_ptxas(option)) {
            return false;
        }
        if (list[length] == 0) {
            return true;
        }
        list += length + 1;
    }
}

/* Returns whether a space file may pass this option to NVRTC. No option may name a file, except a
   folder of headers by an absolute path without "..", because the file could be one of the user's.
 */
static bool allows_option(const char *option)
{
    static const char *const listed[] = {"-D",
                                         "-U",
                                         "-I/",
                                         "--include-path=/",
                                         "-std=",
                                         "--std=",
                                         "-O",
                                         "-W",
                                         "-w",
                                         "-G",
                                         "-arch=",
                                         "--gpu-architecture=",
                                         "-use_fast_math",
                                         "--use_fast_math",
                                         "-fmad=",
                                         "--fmad=",
                                         "-ftz=",
                                         "--ftz=",
                                         "-prec-",
                                         "--prec-",
                                         "-maxrregcount=",
                                         "--maxrregcount=",
                                         "-lineinfo",
                                         "--generate-line-info",
                                         "-restrict",
                                         "--restrict",
                                         "-default-device",
                                         "--device-as-default-execution-space",
                                         "-extra-device-vectorization",
                                         "--extra-device-vectorization",
                                         "--device-debug",
                                         "--diag-",
                                         "-diag-",
                                         "--disable-warnings",
                                         "--Ofast-compile=",
                                         "-Ofast-compile=",
                                         NULL};
    static const char *const ptxas[] = {"--ptxas-options=", "-Xptxas=", NULL};
    if (ak_text_begins(option, ptxas)) {
        return allows_all_ptxas(strchr(option, '=') + 1);
    }
    return ak_text_begins(option, listed) && strstr(option, "/..") == NULL &&
           strcmp(option, "-D") != 0 && strcmp(option, "-U") != 0;
}

/* Checks `Launch`. For a Triton kernel, Triton decides all but the grid and the arguments. */
static ak_status check_launch(const ak_implementation_spec *implementation,
                              const ak_problem *problem, ak_error *err)
{
    static const char *const decided[] = {"Block",       "Cluster",    "SharedMemory",
                                          "LaunchEarly", "KernelName", "SizedKernelName",
                                          "TensorMaps",  "Constants",  NULL};
    const json_t *launch = implementation->launch;
    const bool is_triton = ak_implementation_is_triton(implementation);
    for (size_t i = 0; is_triton && decided[i] != NULL; i++) {
        AK_FAIL_IF(json_is_array(launch) || json_object_get(launch, decided[i]) != NULL, err,
                   AK_INVALID,
                   "%s: the Launch of a Triton kernel is one object with Grid and Arguments (and "
                   "Let); Triton decides the rest%s%s",
                   implementation->where, json_is_array(launch) ? "" : ": leave out ",
                   json_is_array(launch) ? "" : decided[i]);
    }
    return ak_launch_check(launch, !is_triton, problem, implementation->where, err);
}

const ak_backend_rules ak_cuda_rules = {
    .allows_option = allows_option,
    .check_launch = check_launch,
    .is_specialised = ak_launch_is_specialised,
    .add_options = add_architecture,
};
