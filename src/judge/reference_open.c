/* reference_open.c: opens a reference of any kind. references.def lists the kinds and their
   files. */
#include "judge/reference.h"

#include <string.h>

#include "backend/host/host.h"
#include "base/alloc.h"

#define SPIN_NS 50000

#define X(name) extern const ak_reference_ops ak_reference_##name##_ops;
#include "judge/references.def"
#undef X

static const ak_reference_ops *const kinds[] = {
#define X(name) &ak_reference_##name##_ops,
#include "judge/references.def"
#undef X
    NULL,
};

AK_END_AT(ak_reference_close, ak_reference)

ak_status ak_reference_open(ak_reference **out, const ak_task *task, const char *folder,
                            ak_error *err)
{
    const ak_reference_ops *const *kind = kinds;
    const char *wanted = task->problem->reference.kind;
    while (*kind != NULL && (wanted == NULL || strcmp((*kind)->kind, wanted) != 0)) {
        kind++;
    }
    AK_FAIL_IF(*kind == NULL, err, AK_INVALID,
               "%s: the problem has no reference, so results cannot be checked",
               task->problem->name);
    AK_AT_END(ak_reference_close_at) ak_reference *reference = NULL;
    AK_DO(AK_NEW(reference, 1, err));
    *reference = (ak_reference){.task = task, .ops = *kind};
    int threads = task->threads > 0 ? task->threads : ak_host_cpus();
    AK_DO(ak_host_pool_open(&reference->pool, threads, SPIN_NS, err));
    if (reference->ops->open != NULL) {
        reference->state = ak_alloc(1, reference->ops->state_bytes);
        AK_DO(ak_made(reference->state, err));
        AK_DO(reference->ops->open(reference->state, reference, folder, err));
    }
    AK_GIVE(out, reference);
    return AK_OK;
}

void ak_reference_close(ak_reference *reference)
{
    if (reference != NULL) {
        ak_host_pool_close(reference->pool);
        if (reference->state != NULL) {
            reference->ops->close(reference->state);
            ak_free(reference->state);
        }
        ak_free(reference);
    }
}

ak_status ak_reference_run(ak_reference *reference, const ak_shape *shape, double *const *arrays,
                           ak_error *err)
{
    return reference->ops->run(reference, shape, arrays, err);
}

void ak_reference_parallel(ak_reference *reference, void (*task)(void *context, int thread, int n),
                           void *context)
{
    ak_host_pool_parallel(reference->pool, ak_host_pool_threads(reference->pool), task, context);
}
