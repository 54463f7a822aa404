/*
 * bench.h: what the two harnesses of this folder share: loading libraries, time, files, and giving
 * up. Each has its own die(what, code), which says what failed and ends the program.
 */
#ifndef AK_BENCH_CUDA_BENCH_H
#define AK_BENCH_CUDA_BENCH_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != 0) {                                                                          \
            die(#call, code_);                                                                     \
        }                                                                                          \
    } while (0)

static void *open_library(const char *const *names)
{
    for (; *names != NULL; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("no symbol %s\n", name);
        exit(2);
    }
    return found;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first `max` - 1 bytes, ended by a 0. */
static char *read_file(const char *path, size_t max)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        printf("cannot read %s\n", path);
        exit(2);
    }
    char *text = calloc(1, max);
    size_t n = fread(text, 1, max - 1, f);
    text[n] = 0;
    fclose(f);
    return text;
}

#endif
