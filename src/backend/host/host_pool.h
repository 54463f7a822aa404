/*
 * host_pool.h: the threads behind ak_host_call.parallel and .barrier: a fork-join pool. Unless the
 * pool is opened without spinning, its workers spin for a while after a parallel region and then
 * sleep, so that back-to-back regions start within a microsecond and an idle pool costs nothing.
 */
#ifndef AK_BACKEND_HOST_POOL_H
#define AK_BACKEND_HOST_POOL_H

#include "backend/host/ak_host.h"
#include "base/status.h"

#define AK_HOST_THREADS_MAX 1024

typedef struct ak_host_pool ak_host_pool;

/* Starts a pool of 1 to AK_HOST_THREADS_MAX threads, the caller included. An idle worker spins for
   spin_ns before it sleeps, or sleeps at once if there are more threads than processors. */
ak_status ak_host_pool_open(ak_host_pool **out, int threads, int64_t spin_ns, ak_error *err);
/* Ends the workers and frees the pool; NULL is allowed. */
void ak_host_pool_close(ak_host_pool *pool);
int ak_host_pool_threads(const ak_host_pool *pool);
/* Pins the caller and each worker to a processor of its own if there are enough. Without this the
   scheduler may wake two of them on one core, and a measurement runs at half speed. */
void ak_host_pool_pin(ak_host_pool *pool);

/* Sets how many threads `parallel` uses at most from now on: `threads`, but at least 1 and at most
   the size of the pool. At first that size is the limit. */
void ak_host_pool_limit(ak_host_pool *pool, int threads);

/* Begins a call of a kernel: each worker runs `before` once, before its first task of the call. */
void ak_host_pool_begin_call(ak_host_pool *pool, void (*before)(void));

/* Sets the members of a call through which a candidate uses the pool. call->pool does not point to
   the pool, where a candidate could raise the limit or keep something. Only one pool of a process
   can be given at a time. */
void ak_host_pool_give(ak_host_call *call, ak_host_pool *pool);

/* These implement `parallel` and `barrier` of ak_host_call; `pool` is an ak_host_pool. n is limited
   as ak_host_pool_limit says. A barrier outside of a region is passed at once. */
void ak_host_pool_parallel(void *pool, int n, void (*task)(void *context, int thread, int n),
                           void *context);
void ak_host_pool_barrier(void *pool);

#endif
