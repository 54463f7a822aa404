/*
 * copy.c: a copy of the same size as a softmax, by all threads: what the memory allows, to hold a
 * memory-bound kernel against. It computes nothing, so its result is not judged, and it is no
 * competitor.
 */
#include <string.h>

#include "backend/backend.h"
#include "backend/host/host_baseline.h"
#include "base/alloc.h"

struct ak_baseline {
    int unused;
};

static ak_status copy_open(ak_baseline **out, char *version, size_t bytes,
                           const ak_baseline_setup *setup, ak_error *err)
{
    (void)setup;
    *out = ak_alloc(1, sizeof **out);
    (void)snprintf(version, bytes, "memcpy");
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

static void copy_part(void *context, int thread, int n)
{
    const ak_host_call *call = context;
    size_t bytes = (size_t)(call->size[0] * call->size[1]) * sizeof(float);
    size_t begin = bytes / (size_t)n * (size_t)thread;
    size_t end = thread == n - 1 ? bytes : bytes / (size_t)n * (size_t)(thread + 1);
    memcpy((char *)call->arg[1] + begin, (const char *)call->arg[0] + begin, end - begin);
}

static void copy_run(ak_baseline *baseline, const ak_host_call *call)
{
    (void)baseline;
    call->parallel(call->pool, call->threads, copy_part, (void *)(uintptr_t)call);
}

static const char *const problems[] = {"softmax", NULL};

const ak_baseline_ops ak_baseline_copy = {
    .name = AK_BASELINE_COPY,
    .title = "copy of the same size",
    .problems = problems,
    .keeps_threads = true,
    .open = copy_open,
    .run = copy_run,
};
