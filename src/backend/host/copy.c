/*
 * copy.c: a copy by all threads that moves as many bytes as the problem does. It shows what the
 * memory allows, to compare a memory-bound kernel with. It computes nothing, so its result is not
 * judged and it does not compete. If the output is as large as the input, the input is copied
 * there. A sum of rows writes next to nothing, so half of its input is copied to memory that this
 * file allocates: reads and writes together are then as many bytes as the sum reads.
 */
#include <string.h>

#include "backend/backend.h"
#include "backend/host/host_baseline.h"
#include "base/alloc.h"

struct ak_baseline {
    int target; /* index of the argument to write; -1: `own` is written */
    char *own;
    size_t bytes;     /* number of bytes to copy */
    size_t own_bytes; /* size of `own` */
};

static const struct {
    const char *problem;
    int target;
} targets[] = {{"softmax", 1}, {"layernorm", 3}, {"rmsnorm", 2}, {"reduce", -1}};

static ak_status copy_open(ak_baseline *b, char *version, size_t bytes,
                           const ak_baseline_setup *setup, ak_error *err)
{
    (void)err;
    const size_t i = AK_FIND(targets, AK_COUNT(targets), problem, setup->problem);
    b->target = i < AK_COUNT(targets) ? targets[i].target : b->target;
    (void)snprintf(version, bytes, "memcpy");
    return AK_OK;
}

static ak_status copy_prepare(ak_baseline *b, const ak_host_call *call, ak_error *err)
{
    const size_t input = (size_t)(call->size[0] * call->size[1]) * sizeof(float);
    b->bytes = b->target < 0 ? input / 2 : input;
    if (b->target < 0 && b->own_bytes < b->bytes + 1) {
        ak_free(b->own);
        b->own_bytes = b->bytes + 1;
        b->own = ak_alloc(b->own_bytes, 1);
        if (b->own == NULL) {
            b->own_bytes = 0;
            return ak_fail_memory(err);
        }
        memset(b->own, 1, b->own_bytes); /* so that its pages exist */
    }
    return AK_OK;
}

typedef struct copy_task {
    const char *from;
    char *to;
    size_t bytes;
} copy_task;

static void copy_part(void *context, int thread, int n)
{
    const copy_task *task = context;
    size_t begin = task->bytes / (size_t)n * (size_t)thread;
    size_t end = thread == n - 1 ? task->bytes : task->bytes / (size_t)n * (size_t)(thread + 1);
    memcpy(task->to + begin, task->from + begin, end - begin);
}

static void copy_run(ak_baseline *b, const ak_host_call *call)
{
    copy_task task = {call->arg[0], b->target < 0 ? b->own : call->arg[b->target], b->bytes};
    call->parallel(call->pool, call->threads, copy_part, &task);
}

static const char *const problems[] = {"softmax", "layernorm", "rmsnorm", "reduce", NULL};

const ak_baseline_ops ak_baseline_copy = {
    .name = AK_BASELINE_COPY,
    .title = "copy of the same size",
    .problems = problems,
    .keeps_threads = true,
    .bytes = sizeof(ak_baseline),
    .open = copy_open,
    .prepare = copy_prepare,
    .run = copy_run,
};
