/*
 * proc_env.c: decides which variables of our environment a child process sees: those that a
 * compiler, a library or our own programs read. All other variables are withheld unless
 * ak_proc_spec.passes names them, above all those that hold keys: whoever writes a candidate's
 * source can make a compiler print a variable, and compiler output goes into prompts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_child.h"

/* Names; an entry that ends in '_' is a prefix. */
static const char *const passed[] = {"PATH",         "HOME",
                                     "USER",         "LOGNAME",
                                     "LANG",         "LANGUAGE",
                                     "TZ",           "TERM",
                                     "TMPDIR",       "COLUMNS",
                                     "NO_COLOR",     "LOCPATH",
                                     "LD_",          "LC_",
                                     "XDG_",         "AUTOKERNEL_",
                                     "CUDA_",        "NVIDIA_",
                                     "NVRTC_",       "OCL_ICD_",
                                     "OPENCL_",      "POCL_",
                                     "OMP_",         "GOMP_",
                                     "KMP_",         "OPENBLAS_",
                                     "GOTO_",        "BLIS_",
                                     "DNNL_",        "ONEDNN_",
                                     "MKL_",         "PYTHONPATH",
                                     "PYTHONHOME",   "VIRTUAL_ENV",
                                     "CONDA_PREFIX", "TORCH_",
                                     "PYTORCH_",     "TORCHINDUCTOR_",
                                     "TRITON_",      "CCACHE_",
                                     "ASAN_OPTIONS", "TSAN_OPTIONS",
                                     "LSAN_OPTIONS", "UBSAN_OPTIONS",
                                     "MSAN_OPTIONS", "GLIBC_TUNABLES",
                                     "MALLOC_",      "SOURCE_DATE_EPOCH",
                                     "FAKE_CUDA" /* tests/fakes */};

/* Settings that are meant for other programs and that slow down every launch, or the libraries with
   which candidates are compared. They are passed only if ak_proc_spec.passes has their whole name
   or "*". The runner unsets those that affect libraries for the CPU (host_runner.c). */
static const char *const slowing[] = {"NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING",
                                      "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_COMPILE_DISABLE"};

/* A variable whose name contains one of these is a secret. It is passed only if ak_proc_spec.passes
   has its whole name or "*". */
static const char *const secret[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "JWT"};

/* Returns whether an entry is the variable's whole name, or a prefix of it that ends in '_'. */
static bool is_named(const char *variable, size_t length, const char *entry)
{
    size_t n = strlen(entry);
    bool begins = length >= n && strncmp(variable, entry, n) == 0;
    return begins && (length == n || entry[n - 1] == '_');
}

void ak_proc_unset(const char *const *names)
{
    char name[128];
    for (size_t i = 0, k = 0; environ != NULL && environ[i] != NULL;) {
        const size_t length = strcspn(environ[i], "=");
        for (k = 0; names[k] != NULL && !is_named(environ[i], length, names[k]); k++) {
        }
        if (names[k] != NULL && length < sizeof name) {
            (void)snprintf(name, sizeof name, "%.*s", (int)length, environ[i]);
            (void)unsetenv(name); /* the others move up */
        } else {
            i++;
        }
    }
}

bool ak_proc_passes(const char *variable, const char *const *more)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        size_t n = strlen(more[i]);
        if (strcmp(more[i], "*") == 0 || (n == length && strncmp(variable, more[i], n) == 0)) {
            return true;
        }
    }
    for (size_t i = 0; i < AK_COUNT(secret); i++) {
        if (memmem(variable, length, secret[i], strlen(secret[i])) != NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < AK_COUNT(slowing); i++) {
        if (is_named(variable, length, slowing[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < AK_COUNT(passed); i++) {
        if (is_named(variable, length, passed[i])) {
            return true;
        }
    }
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        if (is_named(variable, length, more[i])) {
            return true;
        }
    }
    return false;
}
