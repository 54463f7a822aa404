/*
 * lacking.c: recognises in a compiler's message that the target lacks a feature which the source
 * uses, and says which target that is and what to do. The texts in the table are those of ptxas 12
 * and 13, NVRTC 13, Triton 3.2 to 3.9, gcc 12, clang 14, GNU as 2.40 and PoCL 3.1 (clang 15).
 */
#include "backend/compile.h"

#include <string.h>

#include "base/alloc.h"

#define TARGET_MAX 60
#define ADVICE_MAX 800

#define NEEDS_CUDA                                                                                 \
    "choose a device that has it, or write into \"Needs\" of the space file which "                \
    "compute_capability the kernel is for"
#define NEEDS_90A "write \"Architecture\": \"sm_90a\" into the space file"
#define NEEDS_HOST                                                                                 \
    "add its -m option to \"CompilerOptions\" if this processor has it, and write into \"Needs\" " \
    "of the space file what the kernel needs (vector_bytes == 64, amx_bf16 == 1)"
#define CHOOSE    "choose a device that has it, or another --dtype or configuration"
#define ASSEMBLER "install a newer one, or leave the instruction out"
#define NEWER                                                                                      \
    "install a version of the compiler that knows it, or choose another device or "                \
    "\"Architecture\""

/* A message that contains both `texts` is explained by "WHO LACKS: ADVICE"; the first row that
   matches counts. If `who` is NULL, the name of the target takes its place. */
static const struct {
    const char *texts[2], *who, *lacks, *advice;
} table[] = {
    {{"not supported on .target 'sm_90'", "wgmma"},
     NULL,
     "is without it, sm_90a has it",
     NEEDS_90A},
    {{"not supported on .target 'sm_90'", "setmaxnreg"},
     NULL,
     "is without it, sm_90a has it",
     NEEDS_90A},
    {{"not supported on .target", ""}, NULL, "lacks it", NEEDS_CUDA},
    {{"requires .target", ""}, NULL, "lacks it", NEEDS_CUDA},
    {{"requires NVIDIA SM", ""}, NULL, "lacks it", CHOOSE},
    {{"not supported in this architecture", ""}, NULL, "lacks it", CHOOSE},
    {{"is not defined for option 'gpu-name'", ""}, NULL, "is not known to this compiler", NEWER},
    {{"invalid value for --gpu-architecture", ""}, NULL, "is not known to this compiler", NEWER},
    {{"target specific option mismatch", ""}, NULL, "has no such instructions", NEEDS_HOST},
    {{"requires target feature", ""}, NULL, "has no such instructions", NEEDS_HOST},
    {{"needs isa option", ""}, NULL, "has no such instructions", NEEDS_HOST},
    {{"bad value", "-march="}, NULL, "is not known to this compiler", "use -march=native"},
    {{"unknown target CPU", ""}, NULL, "is not known to this compiler", "use -march=native"},
    {{"no such instruction", ""}, "the assembler", "does not know it", ASSEMBLER},
    {{"invalid instruction mnemonic", ""}, "the assembler", "does not know it", ASSEMBLER},
    {{"half' is not allowed", ""}, NULL, "lacks cl_khr_fp16, which half needs", CHOOSE},
    {{"cl_khr_fp16", ""}, NULL, "lacks it", CHOOSE},
    {{"cl_khr_fp64", ""}, NULL, "lacks it", CHOOSE},
    {{"use of undeclared identifier 'sub_group_", ""}, NULL, "lacks cl_khr_subgroups", CHOOSE},
    {{"use of undeclared identifier 'intel_sub_group_", ""},
     NULL,
     "lacks cl_intel_subgroups",
     CHOOSE},
};

/* Gives the target that the job's options name, such as "sm_90" or "-march=native"; "the target" if
   they name none. */
static void name_target(char out[TARGET_MAX], const ak_compile_job *job)
{
    static const char *const options[] = {
        "--gpu-architecture=", "-arch=", "--target=", "--device=", "-march="};
    (void)snprintf(out, TARGET_MAX, "the target");
    for (size_t i = 0; i < job->argc; i++) {
        for (size_t k = 0; k < AK_COUNT(options); k++) {
            size_t length = strlen(options[k]);
            if (strncmp(job->argv[i], options[k], length) == 0) {
                (void)snprintf(out, TARGET_MAX, k == 4 ? "-march=%.40s" : "%.40s",
                               job->argv[i] + length);
            }
        }
    }
}

void ak_lacking_explain(ak_compile_result *result, const ak_compile_job *job)
{
    for (size_t i = 0; result->reason != NULL && i < AK_COUNT(table); i++) {
        if (strstr(result->reason, table[i].texts[0]) != NULL &&
            strstr(result->reason, table[i].texts[1]) != NULL) {
            char target[TARGET_MAX], text[ADVICE_MAX];
            name_target(target, job);
            (void)snprintf(text, sizeof text, "%.400s; %s %s: %s", result->reason,
                           table[i].who == NULL ? target : table[i].who, table[i].lacks,
                           table[i].advice);
            char *longer = ak_strdup(text);
            if (longer != NULL) {
                ak_free(result->reason);
                result->reason = longer;
            }
            return;
        }
    }
}
