/*
 * pool_turn.c: the event loop of a pool; see pool.h. In each turn one thread waits in ppoll and
 * handles what has arrived. Three queues hold the work:
 *
 *     units      configurations to compile, in the order in which they were requested; each is
 *                given to a free compile worker, and to another if that one is lost
 *     jobs       wait until their units are compiled, then for a device, in order
 *     results    wait for the caller
 *
 * A worker that ends, or has not answered by its deadline, loses its current job and is started
 * again, unless that has happened too often. Workers and compilers are killed as trees, because a
 * compiler is in a process group of its own and may have children.
 */
#include "worker/pool_state.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"
#include "worker/process.h"

/* The near relays are checked for having been stopped this often. */
#define RELAYS_NS (AK_SECOND_NS / 2)

/* ---- workers that die ---------------------------------------------------------------------- */

static ak_status compiler_died(ak_pool *pool, ak_pool_worker *w, const char *how, bool hung,
                               ak_error *err)
{
    char text[160];
    (void)snprintf(text, sizeof text, "the compile worker ended: %s", how);
    if (w->busy && w->at != AK_POOL_NONE) {
        ak_error why = AK_ERROR_INIT;
        (void)ak_fail(&why, hung ? AK_TIMED_OUT : AK_CRASHED, "%s", text);
        ak_pool_unit_again(pool, w->at, &why);
        w->at = AK_POOL_NONE;
    }
    w->busy = false;
    AK_FAIL_IF(++w->deaths >= AK_POOL_COMPILER_DEATHS, err, AK_CRASHED, "%s, %d times in a row",
               text, w->deaths);
    return ak_pool_compiler_start(pool, w, err);
}

#define DEVICE_TEXT 160
static void say_ended(char out[DEVICE_TEXT], const ak_pool *pool, const ak_pool_device *d,
                      const char *how)
{
    const char *which = pool->device_count > 1 ? d->name : "";
    char text[3 * DEVICE_TEXT];
    (void)snprintf(text, sizeof text, "the device worker%s%s ended: %.250s",
                   *which == 0 ? "" : " of ", which, how);
    ak_plain_copy(out, DEVICE_TEXT, text);
}

/* Restarts a device worker, or gives the device up if the worker has died too often without
   finishing anything. If it had a job, that has its result already; ak_pool_wait gives out that
   result before it reports the fault. */
static ak_status device_again(ak_pool *pool, ak_pool_device *d, const char *text, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    if (++d->worker.deaths < AK_POOL_DEVICE_DEATHS) {
        return ak_pool_device_start(pool, d, err);
    }
    ak_pool_worker_stop(&d->worker);
    d->state = AK_DEVICE_CLOSED;
    if (ak_pool_given_up(pool) + 1 < pool->device_count) {
        ak_pool_give_up(pool, d, text);
        return AK_OK;
    }
    (void)ak_fail(&why, AK_CRASHED,
                  "%s, %d times in a row without one finished trial: does the device work? "
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
    const bool linked = d->worker.linked, lost = linked && d->worker.lost;
    say_ended(text, pool, d, how);
    d->job = NULL;
    d->worker.busy = false;
    d->state = AK_DEVICE_CLOSED;
    if (j != NULL && lost && ++j->losses < AK_POOL_LOSSES) {
        j->on = AK_POOL_NONE; /* the next free device takes it */
        j = NULL;
    }
    d->held = d->held || j != NULL;
    if (before == AK_DEVICE_ASKED && lost) {
        pool->ask_again = true;
    } else if (before == AK_DEVICE_ASKED) {
        json_decref(pool->answer);
        pool->answer = ak_message_failure(0, AK_CRASHED, text);
    }
    if (j != NULL) {
        AK_DO(ak_pool_job_fails(pool, j, hung ? AK_TRIAL_TIMED_OUT : AK_TRIAL_CRASHED, text, err));
    }
    if (linked) { /* a relay's reason names its machine already */
        const bool named = d->worker.why[0] != 0 && !d->worker.stands;
        ak_pool_seat_ended(pool, d, named ? how : text, before == AK_DEVICE_OPENING);
        return AK_OK;
    }
    if (before != AK_DEVICE_OPENING) {
        return device_again(pool, d, text, err);
    }
    if (!d->opened || ak_pool_given_up(pool) + 1 == pool->device_count) {
        const char *kind = pool->task->problem->reference.kind;
        const bool by_default = kind != NULL && strcmp(kind, "default") == 0;
        return ak_fail(err, AK_CRASHED, "%s while it prepared the task%s", text,
                       by_default ? ", where the default configuration runs as the reference: does "
                                    "it stay within its arrays? problem.json has their shapes, the "
                                    "space file what is launched"
                                  : "");
    }
    ak_pool_give_up(
        pool, d, text); /* the task worked on this device before, so only the device is at fault */
    return AK_OK;
}

/* ---- the turn ------------------------------------------------------------------------------ */

/* Describes how a worker that closed its pipe ended; waits up to a second for its end. */
static void autopsy(char *how, size_t bytes, ak_pool_worker *w)
{
    if (!ak_proc_wait(how, bytes, &w->proc, AK_SECOND_NS)) {
        (void)snprintf(how, bytes, "it closed its pipe");
    }
}

/* Returns the device of worker i, or NULL if that is a compile worker. Device workers are numbered
   after the compile workers. */
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

/* Kills a worker of this machine. ak_pool_seat_ended ends one on another machine. */
static void stop_at_once(ak_pool_worker *w)
{
    if (!w->linked) {
        ak_process_kill_tree(&w->proc);
    }
}

/* What handling a worker's message means for reading its next one. */
typedef enum heed_next {
    HEED_NEXT,   /* there may be another message */
    HEED_OVER,   /* the relay has said why it ends */
    HEED_BROKEN, /* the worker broke the protocol, as `why` says */
    HEED_CLOSED  /* the worker was ended or started again: its unread bytes are gone */
} heed_next;

/* Handles one message of a worker. */
static ak_status heed(heed_next *out, ak_pool *pool, size_t at, json_t *message, ak_error *why,
                      ak_error *err)
{
    ak_pool_worker *w = worker_at(pool, at);
    ak_pool_device *d = device_at(pool, at);
    const bool linked = w->linked;
    *out = HEED_NEXT;
    if (linked) {
        ak_link_message kind;
        if (ak_pool_link_said(&kind, pool, d, message, why) != AK_OK || kind == AK_LINK_OVER) {
            *out = why->status != AK_OK ? HEED_BROKEN : HEED_OVER;
            return AK_OK;
        }
        if (kind != AK_LINK_WORKERS) {
            AK_DO(kind == AK_LINK_DIED ? device_died(pool, d, w->why, false, err) : AK_OK);
            *out = w->linked ? HEED_NEXT : HEED_CLOSED;
            return AK_OK;
        }
    }
    if (!w->busy || json_integer_value(json_object_get(message, "id")) != w->request) {
        (void)ak_fail(why, AK_CORRUPT, "it answered what nobody had asked");
        *out = HEED_BROKEN;
        return AK_OK;
    }
    if (d == NULL) {
        ak_pool_compiler_replied(pool, w, message);
        return AK_OK;
    }
    if (ak_pool_device_check(pool, d, message, why) != AK_OK) {
        *out = HEED_BROKEN;
        return AK_OK;
    }
    AK_DO(ak_pool_device_replied(pool, d, message, err));
    if (d->state == AK_DEVICE_LOST) { /* the worker ends by itself or is killed here */
        char text[DEVICE_TEXT];
        say_ended(text, pool, d, "a candidate left the device in an error");
        AK_DO(device_again(pool, d, text, err));
        *out = linked && w->linked ? HEED_NEXT : HEED_CLOSED;
    }
    return AK_OK;
}

/* Handles the end of a worker. `why` says how it broke the protocol; its status is AK_OK if it did
   not. `told`: its relay has said why it ends. */
static ak_status bury(ak_pool *pool, size_t at, bool told, const ak_error *why, ak_error *err)
{
    char how[256] = "";
    ak_pool_worker *w = worker_at(pool, at);
    ak_pool_device *d = device_at(pool, at);
    w->stands = false;
    if (why->status != AK_OK) {
        (void)snprintf(how, sizeof how, "%.120s", why->text);
        w->lost = w->linked;
        stop_at_once(w);
    } else if (w->linked) {
        w->lost = w->lost || !told; /* the relay itself was killed */
        (void)snprintf(how, sizeof how, "%s", told ? w->why : "its relay was killed");
    } else {
        autopsy(how, sizeof how, w);
    }
    return d != NULL ? device_died(pool, d, how, false, err)
                     : compiler_died(pool, w, how, false, err);
}

/* Ends the connections whose near relay was stopped (SIGSTOP): the relay would be silent for ever,
   and no other process watches it. */
static ak_status watch_relays(ak_pool *pool, ak_error *err)
{
    const int64_t now = ak_clock_ns();
    if (pool->launcher.ops == NULL || now - pool->relays_ns < RELAYS_NS) {
        return AK_OK;
    }
    pool->relays_ns = now;
    for (size_t i = pool->compiler_count; i < worker_count(pool); i++) {
        const ak_pool_worker *w = worker_at(pool, i);
        if (w->linked && ak_process_is_stopped(&w->proc)) {
            ak_error why = AK_ERROR_INIT;
            (void)ak_fail(&why, AK_CRASHED, "its relay was stopped");
            AK_DO(bury(pool, i, false, &why, err));
        }
    }
    return AK_OK;
}

/* Reads what a worker has sent and handles it. */
static ak_status attend(ak_pool *pool, size_t at, ak_error *err)
{
    bool over = false;
    heed_next next = HEED_NEXT;
    ak_pool_worker *w = worker_at(pool, at);
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_pool_worker_read(&over, w, &why);
    while (status == AK_OK && next == HEED_NEXT) {
        json_t *message = NULL;
        status = ak_line_reader_next(&message, &w->reader, &why);
        if (status != AK_OK || message == NULL) {
            break;
        }
        ak_status handled = heed(&next, pool, at, message, &why, err);
        json_decref(message);
        AK_DO(handled);
    }
    return next == HEED_CLOSED || (status == AK_OK && next == HEED_NEXT && !over)
               ? AK_OK
               : bury(pool, at, next == HEED_OVER, &why, err);
}

static ak_status watch(ak_pool *pool, size_t at, ak_error *err)
{
    ak_pool_worker *w = worker_at(pool, at);
    ak_pool_device *d = device_at(pool, at);
    bool starting = w->linked && !w->greeted; /* its relay limits the start */
    if (!w->busy || w->proc.pid == 0 || starting || ak_clock_ns() < w->deadline) {
        return AK_OK;
    }
    w->lost = false;
    stop_at_once(w);
    return d != NULL ? device_died(pool, d, "no answer, killed", true, err)
                     : compiler_died(pool, w, "no answer, killed", true, err);
}

ak_status ak_pool_turn(ak_pool *pool, int64_t wait_ns, bool feed_devices, ak_error *err)
{
    struct pollfd ready[AK_POOL_WORKERS_MAX + AK_POOL_DEVICES_MAX];
    size_t from[AK_POOL_WORKERS_MAX + AK_POOL_DEVICES_MAX];
    nfds_t count = 0;
    ak_pool_compile(pool);
    ak_pool_seats_again(pool);
    ak_pool_tell_workers(pool);
    ak_pool_mind_deadline(pool);
    AK_DO(feed_devices ? ak_pool_feed_devices(pool, err) : AK_OK);
    wait_ns = feed_devices && pool->result_first < pool->result_count ? 0 : wait_ns;
    AK_FAIL_IF(pool->fault.status != AK_OK, err, pool->fault.status, "%s", pool->fault.text);
    for (size_t i = 0; i < worker_count(pool); i++) {
        ak_pool_worker *w = worker_at(pool, i);
        if (w->proc.pid != 0) {
            ready[count] = (struct pollfd){.fd = w->proc.from, .events = POLLIN};
            from[count++] = i;
        }
    }
    struct timespec wait = {.tv_sec = wait_ns / AK_SECOND_NS, .tv_nsec = wait_ns % AK_SECOND_NS};
    int n = ppoll(ready, count, &wait, NULL);
    for (nfds_t k = 0; n > 0 && k < count; k++) {
        if (ready[k].revents != 0) {
            AK_DO(attend(pool, from[k], err));
        }
    }
    for (size_t i = 0; i < worker_count(pool); i++) {
        AK_DO(watch(pool, i, err));
    }
    ak_pool_cores_watch(pool);
    return watch_relays(pool, err);
}

bool ak_pool_cancelled(const ak_pool *pool)
{
    return pool->options.cancel != NULL && *pool->options.cancel != 0;
}

/* Runs one turn. If it fails while results wait, the failure is kept and reported once the caller
   has all of them. */
static ak_status turn_with_results(ak_pool *pool, int64_t wait_ns, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    const ak_status status = ak_pool_turn(pool, wait_ns, true, &why);
    if (status == AK_OK) {
        return AK_OK;
    }
    if (pool->result_first < pool->result_count) {
        ak_pool_fault(pool, &why);
        return AK_OK;
    }
    return ak_fail(err, status, "%s", why.text);
}

bool ak_pool_take(ak_result *out, ak_pool *pool)
{
    if (pool->result_first == pool->result_count) {
        return false;
    }
    *out = pool->results[pool->result_first++];
    if (out->device < pool->device_count) {
        pool->devices[out->device].given_out = true;
    }
    if (pool->result_first == pool->result_count) {
        pool->result_first = pool->result_count = 0;
    }
    return true;
}

/* Lets the devices whose results the caller has handled begin their next jobs. */
static void release(ak_pool *pool)
{
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        d->held = d->held && !d->given_out;
        d->given_out = false;
    }
}

ak_status ak_pool_wait(ak_result *out, ak_pool *pool, int64_t timeout_ns, ak_error *err)
{
    assert(pool->result_first <= pool->result_count);
    int64_t deadline = ak_clock_ns() + timeout_ns;
    release(pool);
    if (pool->result_first < pool->result_count && !ak_pool_recalls(pool) &&
        !ak_pool_cancelled(pool)) {
        /* Lets free workers continue while the caller handles earlier results. */
        (void)turn_with_results(pool, 0, NULL);
    }
    for (;;) {
        if (ak_pool_take(out, pool)) {
            return AK_OK;
        }
        AK_FAIL_IF(pool->job_count == 0, err, AK_NOT_FOUND, "no job is pending");
        AK_FAIL_IF(ak_pool_cancelled(pool), err, AK_CANCELLED, "cancelled");
        if (ak_pool_recalls(pool)) {
            AK_DO(ak_pool_recall(pool, err));
            continue;
        }
        int64_t left = deadline - ak_clock_ns();
        AK_FAIL_IF(left <= 0, err, AK_TIMED_OUT, "nothing has finished yet");
        AK_DO(turn_with_results(pool, left < AK_POOL_CANCEL_POLL_NS ? left : AK_POOL_CANCEL_POLL_NS,
                                err));
    }
}
