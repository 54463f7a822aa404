/* nvrtc_fixture.h: loads NVRTC for tests that compile CUDA code without a GPU. Include cmocka.h
   before it. */
#ifndef AK_NVRTC_FIXTURE_H
#define AK_NVRTC_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"

#define LOG_MAX ((size_t)1 << 20)

#define NVRTC(X)                                                                                   \
    X(nvrtcCreateProgram,                                                                          \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    X(nvrtcCompileProgram, (void *, int, const char *const *))                                     \
    X(nvrtcGetProgramLogSize, (void *, size_t *))                                                  \
    X(nvrtcGetProgramLog, (void *, char *))                                                        \
    X(nvrtcGetCUBINSize, (void *, size_t *))                                                       \
    X(nvrtcDestroyProgram, (void **))
#define DECLARE(name, args) static int(*name) args;
NVRTC(DECLARE)

static void *nvrtc_library;

/* Loads NVRTC. Returns false, and prints why, if it is not installed. */
static bool nvrtc_open(void)
{
    static const char *const names[] = {"libnvrtc.so.13",
                                        "/usr/local/cuda/lib64/libnvrtc.so.13",
                                        "/usr/local/cuda/lib/libnvrtc.so.13",
                                        "libnvrtc.so.12",
                                        "/usr/local/cuda/lib64/libnvrtc.so.12",
                                        NULL};
    if (ak_dl_open(&nvrtc_library, names, NULL) != AK_OK) {
        print_message("no NVRTC here: skipped\n");
        return false;
    }
#define FIND(name, args)                                                                           \
    *(void **)&name = ak_dl_symbol(nvrtc_library, #name);                                          \
    if (name == NULL) {                                                                            \
        print_message("NVRTC has no " #name ": skipped\n");                                        \
        return false;                                                                              \
    }
    NVRTC(FIND)
#undef FIND
    return true;
}

/* Returns whether item `i` of a list that takes long is tried. All are if AUTOKERNEL_CANDIDATES is
   set, as in CI; else one in three, so that `make check` stays short. */
static __attribute__((unused)) bool is_tried(size_t i)
{
    return getenv("AUTOKERNEL_CANDIDATES") != NULL || i % 3 == 0;
}

/* Compiles; returns 0 on success. The caller frees the log. */
static __attribute__((unused)) int nvrtc_compile(char **log, size_t *cubin, const char *source,
                                                 const char *const *options, int count)
{
    void *program = NULL;
    size_t size = 0;
    assert_int_equal(nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL), 0);
    int code = nvrtcCompileProgram(program, count, options);
    assert_int_equal(nvrtcGetProgramLogSize(program, &size), 0);
    assert_true(size < LOG_MAX);
    *log = ak_alloc(size + 1, 1);
    assert_non_null(*log);
    assert_int_equal(nvrtcGetProgramLog(program, *log), 0);
    *cubin = 0;
    if (code == 0) {
        assert_int_equal(nvrtcGetCUBINSize(program, cubin), 0);
    }
    (void)nvrtcDestroyProgram(&program);
    return code;
}

/* Returns whether the backend would accept the code, by the compiler's log. Up to `few` spilled
   bytes per thread are accepted. */
static __attribute__((unused)) bool nvrtc_clean_but(const char *log, int few)
{
    bool any = false, clean = strstr(log, "(C75") == NULL;
    for (const char *at = log; (at = strstr(at, " bytes stack frame, ")) != NULL; at++) {
        int stores = 0, loads = 0;
        any = sscanf(at, " bytes stack frame, %d bytes spill stores, %d", &stores, &loads) == 2;
        clean = clean && any && stores <= few && loads <= few; /* of every entry */
    }
    return any && clean;
}

static __attribute__((unused)) bool nvrtc_clean(const char *log)
{
    return nvrtc_clean_but(log, 0);
}

#endif
