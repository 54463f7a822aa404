/*
 * pool.c: see pool.h. One thread, one poll: what happens is decided here in one place, `turn`:
 *
 *     units      configurations to be compiled, in the order they were asked for; each goes to a
 *                compile worker that is free, once
 *     jobs       wait until their units are compiled, then for a device, in order
 *     results    wait for the caller
 *
 * A worker that ends, or does not answer long after it should have, costs the job it was at; it is
 * started again. Workers and compilers are killed as trees, because a compiler is in a process
 * group of its own and may have children.
 */
#include "worker/pool_state.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/program.h"
#include "worker/process.h"

#define COMPILE_TIMEOUT_NS (60 * AK_SECOND_NS)
#define LAUNCH_TIMEOUT_NS  (30 * AK_SECOND_NS)
#define MEMORY_MAX         ((size_t)4 << 30)
/* Compile workers that die this often in a row are not started again. */
#define DEATHS_MAX 5
/* The same of a device, which a candidate may kill: in a space in which half of them do, one random
   search of 60 in 50,000 meets this many in a row, and one of 1000 in 2000. */
#define DEVICE_DEATHS_MAX 20

/* ---- workers that die ---------------------------------------------------------------------- */

static ak_status compiler_died(ak_pool *pool, ak_pool_worker *w, const char *how, bool hung,
                               ak_error *err)
{
    char text[160];
    (void)snprintf(text, sizeof text, "the compile worker ended: %s", how);
    if (w->busy && w->at != AK_POOL_NONE) {
        ak_pool_unit_fails(&pool->units[w->at], hung ? AK_TRIAL_TIMED_OUT : AK_TRIAL_CRASHED, text);
        w->at = AK_POOL_NONE;
    }
    w->busy = false;
    if (++w->deaths >= DEATHS_MAX) {
        return ak_fail(err, AK_CRASHED, "%s, %d times in a row", text, w->deaths);
    }
    return ak_pool_compiler_start(pool, w, err);
}

#define DEVICE_TEXT 160
static void say_ended(char out[DEVICE_TEXT], const ak_pool *pool, const ak_pool_device *d,
                      const char *how)
{
    const char *which = pool->device_count > 1 ? d->name : "";
    (void)snprintf(out, DEVICE_TEXT, "the device worker%s%s ended: %s", *which == 0 ? "" : " of ",
                   which, how);
}

/* Once more, unless nothing has finished on the device for too long: what was asked of it meanwhile
   has its answer, and is given out before the fault is. */
static ak_status device_again(ak_pool *pool, ak_pool_device *d, const char *text, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    if (++d->worker.deaths < DEVICE_DEATHS_MAX) {
        return ak_pool_device_start(pool, d, err);
    }
    ak_pool_worker_stop(&d->worker);
    d->state = AK_DEVICE_CLOSED;
    if (d != pool->devices) {
        d->state = AK_DEVICE_GIVEN_UP;
        return AK_OK;
    }
    (void)ak_fail(&why, AK_CRASHED,
                  "%s, %d times in a row without one trial that finished: is the device in order? "
                  "`autokernel check` tries one configuration",
                  text, d->worker.deaths);
    ak_pool_fault(pool, &why);
    return AK_OK;
}

static ak_status device_died(ak_pool *pool, ak_pool_device *d, const char *how, bool hung,
                             ak_error *err)
{
    char text[DEVICE_TEXT];
    ak_pool_job *j = d->job;
    ak_device_state before = d->state;
    say_ended(text, pool, d, how);
    d->held = d->held || j != NULL;
    d->job = NULL;
    d->worker.busy = false;
    d->state = AK_DEVICE_CLOSED;
    if (before == AK_DEVICE_ASKED) {
        json_decref(pool->answer);
        pool->answer = ak_message_failure(0, AK_CRASHED, text);
    }
    ak_status status = AK_OK;
    if (j != NULL) {
        status =
            ak_pool_job_fails(pool, j, hung ? AK_TRIAL_TIMED_OUT : AK_TRIAL_CRASHED, text, err);
    }
    if (status != AK_OK) {
        return status;
    }
    if (before != AK_DEVICE_OPENING) {
        return device_again(pool, d, text, err);
    }
    if (d == pool->devices || !d->opened) {
        return ak_fail(err, AK_CRASHED, "%s while it prepared the task", text);
    }
    ak_pool_worker_stop(&d->worker); /* it has been at work: the others go on */
    d->state = AK_DEVICE_GIVEN_UP;
    return AK_OK;
}

/* ---- the turn ------------------------------------------------------------------------------ */

/* Reads what a worker has sent. *over: it has closed its end. */
static ak_status collect(bool *over, ak_pool_worker *w, ak_error *err)
{
    char chunk[65536];
    for (;;) {
        ssize_t got = read(w->proc.from, chunk, sizeof chunk);
        if (got > 0) {
            ak_status status = ak_line_reader_feed(&w->reader, chunk, (size_t)got, err);
            if (status != AK_OK) {
                return status;
            }
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            *over = true;
            return AK_OK;
        } else if (errno == EAGAIN) {
            return AK_OK;
        }
    }
}

/* How it ended: waits a moment for a process that has closed its pipe. */
static void autopsy(char *how, size_t bytes, ak_pool_worker *w)
{
    for (int i = 0; i < 1000 && !ak_proc_ended(how, bytes, &w->proc); i++) {
        ak_clock_sleep_ns(AK_MS_NS);
    }
    if (w->proc.pid != 0) {
        (void)snprintf(how, bytes, "it closed its pipe");
    }
}

/* Workers are numbered: compilers, then devices. NULL: it is no device. */
static ak_pool_device *device_at(ak_pool *pool, size_t i)
{
    return i < pool->compiler_count ? NULL : &pool->devices[i - pool->compiler_count];
}

static ak_pool_worker *worker_at(ak_pool *pool, size_t i)
{
    return i < pool->compiler_count ? &pool->compilers[i] : &device_at(pool, i)->worker;
}

static size_t worker_count(const ak_pool *pool)
{
    return pool->compiler_count + pool->device_count;
}

static ak_status attend(ak_pool *pool, size_t at, ak_error *err)
{
    char how[128] = "";
    bool over = false;
    ak_pool_worker *w = worker_at(pool, at);
    ak_pool_device *d = device_at(pool, at);
    ak_error why = AK_ERROR_INIT;
    ak_status status = collect(&over, w, &why);
    while (status == AK_OK) {
        json_t *reply = NULL;
        status = ak_line_reader_next(&reply, &w->reader, &why);
        if (status != AK_OK || reply == NULL) {
            break;
        }
        ak_status handled = AK_OK;
        if (d != NULL) {
            handled = ak_pool_device_replied(pool, d, reply, err);
        } else {
            ak_pool_compiler_replied(pool, w, reply);
        }
        json_decref(reply);
        if (handled != AK_OK) {
            return handled;
        }
        if (d != NULL && d->state == AK_DEVICE_LOST) {
            char text[DEVICE_TEXT]; /* it ends by itself, or is ended */
            say_ended(text, pool, d, "a candidate left the device in an error");
            return device_again(pool, d, text, err);
        }
    }
    if (status == AK_OK && !over) {
        return AK_OK;
    }
    if (status != AK_OK) { /* it says what it should not */
        (void)snprintf(how, sizeof how, "%.120s", why.text);
        ak_process_kill_tree(&w->proc);
    } else {
        autopsy(how, sizeof how, w);
    }
    return d != NULL ? device_died(pool, d, how, false, err)
                     : compiler_died(pool, w, how, false, err);
}

static ak_status watch(ak_pool *pool, size_t at, ak_error *err)
{
    ak_pool_worker *w = worker_at(pool, at);
    ak_pool_device *d = device_at(pool, at);
    if (!w->busy || w->proc.pid == 0 || ak_clock_ns() < w->deadline) {
        return AK_OK;
    }
    ak_process_kill_tree(&w->proc);
    return d != NULL ? device_died(pool, d, "no answer, killed", true, err)
                     : compiler_died(pool, w, "no answer, killed", true, err);
}

/* Starts what can be started, waits at most `wait_ns` for something to happen, and deals with it.
 */
ak_status ak_pool_turn(ak_pool *pool, int64_t wait_ns, bool feed_devices, ak_error *err)
{
    struct pollfd ready[AK_POOL_WORKERS_MAX + AK_DEVICES_MAX];
    size_t from[AK_POOL_WORKERS_MAX + AK_DEVICES_MAX];
    nfds_t count = 0;
    ak_pool_compile(pool);
    ak_status status = feed_devices ? ak_pool_feed_devices(pool, err) : AK_OK;
    if (status != AK_OK) {
        return status;
    }
    wait_ns = feed_devices && pool->result_first < pool->result_count ? 0 : wait_ns;
    if (pool->fault.status != AK_OK) {
        return ak_fail(err, pool->fault.status, "%s", pool->fault.text);
    }
    for (size_t i = 0; i < worker_count(pool); i++) {
        ak_pool_worker *w = worker_at(pool, i);
        if (w->proc.pid != 0) {
            ready[count] = (struct pollfd){.fd = w->proc.from, .events = POLLIN};
            from[count++] = i;
        }
    }
    struct timespec wait = {.tv_sec = wait_ns / AK_SECOND_NS, .tv_nsec = wait_ns % AK_SECOND_NS};
    int n = ppoll(ready, count, &wait, NULL);
    for (nfds_t k = 0; n > 0 && status == AK_OK && k < count; k++) {
        if (ready[k].revents != 0) {
            status = attend(pool, from[k], err);
        }
    }
    for (size_t i = 0; status == AK_OK && i < worker_count(pool); i++) {
        status = watch(pool, i, err);
    }
    return status;
}

bool ak_pool_cancelled(const ak_pool *pool)
{
    return pool->options.cancel != NULL && *pool->options.cancel != 0;
}

/* A turn that fails when there are results fails only once they are given out. */
static ak_status turn_with_results(ak_pool *pool, int64_t wait_ns, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_pool_turn(pool, wait_ns, true, &why);
    if (status == AK_OK) {
        return AK_OK;
    }
    if (pool->result_first < pool->result_count) {
        ak_pool_fault(pool, &why);
        return AK_OK;
    }
    return ak_fail(err, status, "%s", why.text);
}

ak_status ak_pool_wait(ak_result *out, ak_pool *pool, int64_t timeout_ns, ak_error *err)
{
    int64_t deadline = ak_clock_ns() + timeout_ns;
    if (pool->given_out < pool->device_count) {
        pool->devices[pool->given_out].held = false;
    }
    pool->given_out = AK_POOL_NONE;
    if (pool->result_first < pool->result_count && !ak_pool_recalls(pool) &&
        !ak_pool_cancelled(pool)) {
        /* Whoever can goes on while the caller deals with what has finished before. */
        (void)turn_with_results(pool, 0, NULL);
    }
    for (;;) {
        if (pool->result_first < pool->result_count) {
            *out = pool->results[pool->result_first++];
            pool->given_out = out->device;
            if (pool->result_first == pool->result_count) {
                pool->result_first = pool->result_count = 0;
            }
            return AK_OK;
        }
        if (pool->job_count == 0) {
            return ak_fail(err, AK_NOT_FOUND, "no job is pending");
        }
        if (ak_pool_cancelled(pool)) {
            return ak_fail(err, AK_CANCELLED, "cancelled");
        }
        if (ak_pool_recalls(pool)) {
            ak_status status = ak_pool_recall(pool, err);
            if (status != AK_OK) {
                return status;
            }
            continue;
        }
        int64_t left = deadline - ak_clock_ns();
        if (left <= 0) {
            return ak_fail(err, AK_TIMED_OUT, "nothing has finished yet");
        }
        ak_status status = turn_with_results(
            pool, left < AK_POOL_CANCEL_POLL_NS ? left : AK_POOL_CANCEL_POLL_NS, err);
        if (status != AK_OK) {
            return status;
        }
    }
}

/* ---- opening and closing ------------------------------------------------------------------- */

static ak_status write_source(ak_pool *pool, ak_error *err)
{
    const ak_implementation_spec *implementation = pool->task->implementation;
    char name[128];
    ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    (void)snprintf(name, sizeof name, "%.100s.c", implementation->name);
    ak_status status = ak_fs_join(pool->source, pool->folder.path, "source.c", err);
    status =
        status == AK_OK ? pool->backend->source(&text, implementation->source, name, err) : status;
    status = status == AK_OK ? ak_fs_write(pool->source, text.data, text.length, err) : status;
    ak_buf_free(&text);
    return status;
}

static ak_status start_workers(ak_pool *pool, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < pool->compiler_count; i++) {
        status = ak_pool_compiler_start(pool, &pool->compilers[i], err);
    }
    for (size_t i = 0; status == AK_OK && i < pool->device_count; i++) {
        status = ak_pool_device_start(pool, &pool->devices[i], err);
    }
    return status;
}

/* The first of the task's devices, or all that share its trials. */
static ak_status name_devices(ak_pool *pool, ak_error *err)
{
    const char *first = pool->task->device, *all = pool->task->devices;
    pool->devices = ak_alloc(AK_DEVICES_MAX, sizeof *pool->devices);
    if (pool->devices == NULL) {
        return ak_fail_memory(err);
    }
    const char *at = pool->options.no_device ? "" : pool->options.every_device ? all : first;
    while (*at != 0 && pool->device_count < AK_DEVICES_MAX) {
        size_t length = strcspn(at, ",");
        ak_pool_device *d = &pool->devices[pool->device_count++];
        (void)snprintf(d->name, sizeof d->name, "%.*s", (int)length, at);
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return AK_OK;
}

static void set_options(ak_pool *pool, const ak_pool_options *options)
{
    pool->options = options == NULL ? (ak_pool_options){0} : *options;
    ak_pool_options *o = &pool->options;
    if (o->compile_workers <= 0) {
        o->compile_workers = ak_cores();
    }
    o->compile_workers =
        o->compile_workers > AK_POOL_WORKERS_MAX ? AK_POOL_WORKERS_MAX : o->compile_workers;
    o->compile_timeout_ns = o->compile_timeout_ns > 0 ? o->compile_timeout_ns : COMPILE_TIMEOUT_NS;
    o->launch_timeout_ns = o->launch_timeout_ns > 0 ? o->launch_timeout_ns : LAUNCH_TIMEOUT_NS;
    o->memory_max = o->memory_max > 0 ? o->memory_max : MEMORY_MAX;
}

ak_status ak_pool_open(ak_pool **out, const ak_task *task, const ak_pool_options *options,
                       ak_error *err)
{
    ak_pool *pool = ak_alloc(1, sizeof *pool);
    if (pool == NULL) {
        return ak_fail_memory(err);
    }
    pool->task = task;
    pool->given_out = AK_POOL_NONE;
    set_options(pool, options);
    pool->compilers = ak_alloc((size_t)pool->options.compile_workers, sizeof *pool->compilers);
    pool->unit_of = ak_map_new();
    pool->outcome_of = ak_map_new();
    ak_status status = AK_OK;
    bool recalls = false;
    if (pool->compilers == NULL || pool->unit_of == NULL || pool->outcome_of == NULL) {
        status = ak_fail_memory(err);
    } else {
        status = ak_backend_find(&pool->backend, task->backend, err);
        recalls = status == AK_OK && pool->backend->recall != NULL;
    }
    if (recalls) {
        status = pool->backend->open(&pool->recorded, task, err);
    } else {
        pool->compiler_count = status == AK_OK ? (size_t)pool->options.compile_workers : 0;
        status = status == AK_OK ? name_devices(pool, err) : status;
        status = status == AK_OK ? ak_program_find(pool->program, err) : status;
        status = status == AK_OK ? ak_fs_owned_open(&pool->folder, err) : status;
        status = status == AK_OK ? write_source(pool, err) : status;
        status = status == AK_OK ? start_workers(pool, err) : status;
    }
    if (status != AK_OK) {
        ak_pool_close(pool);
        return status;
    }
    *out = pool;
    return AK_OK;
}

void ak_pool_close(ak_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    for (size_t i = 0; i < pool->compiler_count; i++) {
        ak_pool_worker_stop(&pool->compilers[i]);
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_worker_stop(&pool->devices[i].worker);
    }
    while (pool->job_count > 0) {
        ak_pool_job_free(pool->jobs[--pool->job_count]);
    }
    for (size_t i = pool->result_first; i < pool->result_count; i++) {
        ak_result_clear(&pool->results[i]);
    }
    for (size_t i = 0; i < pool->unit_count; i++) {
        ak_free(pool->units[i].text);
        ak_free(pool->units[i].artifact);
        ak_compile_result_clear(&pool->units[i].compiled);
    }
    for (size_t i = 0; i < pool->outcome_count; i++) {
        ak_trial_clear(&pool->outcomes[i].trial);
    }
    if (pool->folder.path[0] != 0) {
        (void)unlink(pool->source); /* all there is if opening failed, perhaps for want of memory */
        ak_fs_owned_close(&pool->folder);
    }
    if (pool->recorded != NULL) {
        pool->backend->close(pool->recorded);
    }
    json_decref(pool->answer);
    json_decref(pool->prepared);
    ak_map_free(pool->unit_of);
    ak_map_free(pool->outcome_of);
    ak_free(pool->jobs);
    ak_free(pool->results);
    ak_free(pool->units);
    ak_free(pool->outcomes);
    ak_free(pool->compilers);
    ak_free(pool->devices);
    ak_free(pool);
}
