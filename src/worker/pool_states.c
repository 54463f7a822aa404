/* pool_states.c: reports the states of the workers of a pool with a launcher: in the queue,
   starting, preparing, at work, lost or given up. */
#include "worker/pool_state.h"

/* Unchanged states are reported again after this long, which shows that the tuner still runs. */
#define TOLD_AGAIN_NS (10 * AK_SECOND_NS)

/* Measuring and free workers are both "at work": they alternate with every trial, and trials are
   reported anyway. */
static const char *state_of(const ak_pool *pool, const ak_pool_device *d)
{
    switch (d->state) {
    case AK_DEVICE_GIVEN_UP:
        return "given up";
    case AK_DEVICE_CLOSED:
    case AK_DEVICE_LOST:
        return d->gone[0] != 0 ? "lost, starts again" : "starting";
    case AK_DEVICE_OPENING:
        return d->worker.greeted       ? "preparing"
               : pool->launcher.queues ? "in the queue"
                                       : "starting";
    default:
        return "at work";
    }
}

json_t *ak_pool_workers(const ak_pool *pool)
{
    json_t *list = json_array();
    for (size_t i = 0; i < pool->device_count; i++) {
        const ak_pool_device *d = &pool->devices[i];
        json_t *one = json_pack("{s:s, s:s, s:s, s:I, s:s?, s:I, s:s*}", "name", d->name, "state",
                                state_of(pool, d), "since", d->since, "seat", (json_int_t)i, "host",
                                pool->launcher.seats[i].host, "compile_workers",
                                (json_int_t)d->share, "why", d->gone[0] == 0 ? NULL : d->gone);
        ak_json_add(&list, one);
    }
    return list;
}

void ak_pool_tell_workers(ak_pool *pool)
{
    const int64_t now = ak_clock_ns();
    bool changed = now - pool->told_ns >= TOLD_AGAIN_NS;
    if (pool->launcher.ops == NULL || pool->options.workers_changed == NULL) {
        return;
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        const char *state = state_of(pool, d);
        if (d->told != state) {
            d->told = state;
            ak_clock_utc(d->since);
            changed = true;
        }
    }
    if (changed) {
        pool->told_ns = now;
        pool->options.workers_changed(pool->options.workers_context, pool);
    }
}
