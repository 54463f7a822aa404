/* reference_kind.h: the functions that a kind of reference must have. Private to judge/. */
#ifndef AK_JUDGE_REFERENCE_KIND_H
#define AK_JUDGE_REFERENCE_KIND_H

#include "backend/host/host_pool.h"
#include "judge/reference.h"

typedef struct ak_reference_ops {
    const char *kind; /* as in ak_reference_spec */
    /* (optional) Fills the state that `run` needs, `state_bytes` of zeros, which `close` clears,
       also after a failure. */
    size_t state_bytes;
    ak_status (*open)(void *state, const ak_reference *reference, const char *folder,
                      ak_error *err);
    /* Does what ak_reference_run says. */
    ak_status (*run)(const ak_reference *reference, const ak_shape *shape, double *const *arrays,
                     ak_error *err);
    void (*close)(void *state);
} ak_reference_ops;

struct ak_reference {
    const ak_task *task;
    ak_host_pool *pool;
    const ak_reference_ops *ops;
    void *state;
};

#endif
