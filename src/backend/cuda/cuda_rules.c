/* cuda_rules.c: the rules for space files of the CUDA backend. */
#include <string.h>

#include "backend/compile.h"
#include "backend/launch/launch.h"

/* The compute capability if the device is not known: the oldest for which this repository has
   kernels. */
#define LEAST_CAPABILITY 80LL

/* Adds the architecture that the implementation asks for, or else the device's. */
static ak_status add_architecture(ak_options *out, const ak_task *task, ak_error *err)
{
    char line[64];
    const char *own = task->implementation->architecture;
    ak_value fact;
    if (own != NULL) {
        (void)snprintf(line, sizeof line, "--gpu-architecture=%.40s", own);
    } else {
        bool known =
            ak_scope_get(&fact, task->constants, "compute_capability") && fact.type == AK_VALUE_INT;
        (void)snprintf(line, sizeof line, "--gpu-architecture=sm_%lld",
                       known ? (long long)fact.as.integer : LEAST_CAPABILITY);
    }
    return ak_options_add(out, line, err);
}

/* Returns whether a space file may pass this option to NVRTC: no option may name a file, except a
   folder of headers. */
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
                                         "--ptxas-options=-",
                                         "-Xptxas=-",
                                         NULL};
    return ak_compile_listed(listed, option) && strstr(option, "/..") == NULL &&
           strcmp(option, "-D") != 0 && strcmp(option, "-U") != 0;
}

const ak_backend_rules ak_cuda_rules = {
    .allows_option = allows_option,
    .check_launch = ak_launch_check,
    .is_specialised = ak_launch_is_specialised,
    .add_options = add_architecture,
};
