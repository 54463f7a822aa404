/*
 * pool_core.c: compiles on the machines of the device workers, see pool_state.h.
 *
 * The relay beside a device worker also runs compile workers (relay.h), one for each core that the
 * machine has for this device. Together they are the compile workers of the fleet. If a machine
 * shares the pool's folder, its artifacts lie there; otherwise they stay on the machine, because
 * the device there measures them. A machine compiles only after its device has opened the task,
 * which shows that its compilers are those of the tuner's environment.
 *
 * A unit or artifact that is lost with its machine is compiled again. So is a unit whose compile
 * worker ends, at most AK_POOL_ATTEMPTS times in all. A machine whose artifacts do not arrive here
 * compiles no more, but its device goes on, with the artifacts that it is running.
 */
#include "worker/pool_state.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "worker/relay.h"

/* The deadlines of the compile workers are checked this often. */
#define WATCH_NS (AK_SECOND_NS / 2)

/* Returns how many compile workers may work for this device: its part of the machine's cores, which
   other devices in this run, and other tuners with seats on the same host, may share. */
static size_t share_of(const ak_pool *pool, const ak_pool_device *d)
{
    size_t sharing = 0, known = pool->launcher.seats[d - pool->devices].sharing;
    if (!d->fit || !d->worker.stands || d->core_count == 0) {
        return 0;
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        const ak_pool_device *other = &pool->devices[i];
        sharing += other->worker.stands && strcmp(other->place, d->place) == 0 ? 1 : 0;
    }
    return ak_relay_compile_workers((double)d->core_count, sharing > known ? sharing : known);
}

void ak_pool_cores_recount(ak_pool *pool)
{
    pool->fleet_cores = 0;
    for (size_t i = 0; pool->launcher.ops != NULL && i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        d->share = share_of(pool, d);
        for (size_t k = 0; d->cores != NULL && k < d->share; k++) {
            pool->fleet_cores += d->cores[k].deaths < AK_POOL_COMPILER_DEATHS ? 1 : 0;
        }
    }
}

size_t ak_pool_compile_workers(const ak_pool *pool)
{
    return pool->fleet_cores > 0 ? pool->fleet_cores : pool->compiler_count;
}

ak_status ak_pool_cores_open(ak_pool *pool, ak_pool_device *d, const json_t *hello, ak_error *err)
{
    assert(d->cores == NULL); /* ak_pool_cores_lost has freed an earlier connection's */
    d->cores_ended = false;
    (void)snprintf(d->place, sizeof d->place, "%.127s", ak_json_text_at(hello, "place"));
    d->core_count = ak_relay_compile_workers(ak_json_number_at(hello, "cores"), 1);
    d->cores = d->core_count == 0 ? NULL : ak_alloc(d->core_count, sizeof *d->cores);
    if (d->core_count > 0 && d->cores == NULL) {
        d->core_count = 0;
        return ak_fail_memory(err);
    }
    ak_pool_cores_recount(pool);
    return AK_OK;
}

/* Returns whether a device runs the artifact of a unit. */
static bool runs(const ak_pool_device *d, size_t unit)
{
    bool found = false;
    for (size_t i = 0; d->job != NULL && i < d->job->count; i++) {
        found = found || d->job->units[i] == unit;
    }
    return found;
}

void ak_pool_cores_lost(ak_pool *pool, ak_pool_device *d)
{
    const size_t seat = (size_t)(d - pool->devices);
    for (size_t i = 0; i < d->core_count; i++) {
        if (d->cores[i].busy) {
            ak_pool_unit_lost(pool, d->cores[i].at);
        }
    }
    for (size_t i = 0; i < pool->unit_count; i++) {
        if (pool->units[i].place == seat && pool->units[i].state == AK_UNIT_COMPILED &&
            !runs(d, i)) {
            ak_pool_unit_lost(pool, i);
            if (i < d->has_capacity) {
                d->has[i] = false; /* what is compiled anew may have other bytes */
            }
        }
    }
    ak_free(d->cores);
    d->cores = NULL;
    d->core_count = 0;
    d->fit = false;
    d->fetching = AK_POOL_NONE;
    ak_pool_cores_recount(pool);
}

static void end_worker(const ak_pool_device *d, size_t core)
{
    (void)ak_message_send(d->worker.proc.to, json_pack("{s:I}", "end", (json_int_t)core + 1), NULL);
}

void ak_pool_cores_end(ak_pool *pool, ak_pool_device *d)
{
    for (size_t i = 0; i < d->core_count; i++) {
        if (d->cores[i].runs) {
            end_worker(d, i);
        }
    }
    ak_pool_cores_lost(pool, d);
    d->cores_ended = true;
}

bool ak_pool_cores_are_loud(const ak_pool *pool)
{
    for (size_t i = 0; i < pool->device_count; i++) {
        const ak_pool_device *d = &pool->devices[i];
        for (size_t k = 0; k < d->core_count; k++) {
            if (d->cores[k].busy && pool->units[d->cores[k].at].attempts > 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Sends {"core": number, "op": op, "id": ...} with the fields of `request`, which it frees. Returns
   the id. */
static int64_t ask(ak_pool *pool, ak_pool_device *d, size_t core, const char *op, json_t *request)
{
    const int64_t id = ++pool->next_request;
    /* the relay finds the number at the beginning of the line */
    json_t *line =
        json_pack("{s:I, s:s, s:I}", "core", (json_int_t)core + 1, "op", op, "id", (json_int_t)id);
    if (line != NULL && request != NULL && json_object_update(line, request) == 0) {
        (void)ak_wire_send(d->worker.proc.to, line, NULL); /* reading notices a relay's end */
    }
    json_decref(line);
    json_decref(request);
    return id;
}

/* Gives a unit to a compile worker. */
static void compile(ak_pool *pool, ak_pool_device *d, size_t core, size_t at)
{
    ak_error err = AK_ERROR_INIT;
    json_t *request = NULL;
    ak_pool_unit *u = &pool->units[at];
    ak_pool_core *c = &d->cores[core];
    if (ak_pool_compile_request(&request, pool, d, u, &err) != AK_OK) {
        ak_pool_unit_fails(u, AK_TRIAL_INVALID, err.text);
        return;
    }
    if (!c->runs) {
        c->start = ask(pool, d, core, "start", ak_pool_start_request(pool, d->folder));
        c->runs = true;
    }
    c->number = c->number == 0 ? ++pool->numbered : c->number;
    c->request = ask(pool, d, core, "compile", request);
    c->busy = true;
    c->at = at;
    c->deadline = ak_clock_ns() + ak_pool_compile_limit(pool);
    u->state = AK_UNIT_COMPILING;
}

/* Returns a free compile worker, or AK_POOL_NONE. */
static size_t free_core(const ak_pool_device *d)
{
    for (size_t i = 0; i < d->share; i++) {
        if (!d->cores[i].busy && d->cores[i].deaths < AK_POOL_COMPILER_DEATHS) {
            return i;
        }
    }
    return AK_POOL_NONE;
}

/* Counts for each device the units that its machine is compiling, and those that it has compiled
   for unfinished trials and checks and whose artifacts lie only there. The next unit goes to the
   device with the lowest count among those with a free compile worker, so that no machine compiles
   more than its device measures. */
static void count_load(size_t load[AK_POOL_DEVICES_MAX], const ak_pool *pool)
{
    for (size_t i = 0; i < pool->device_count; i++) {
        load[i] = 0;
        for (size_t k = 0; k < pool->devices[i].core_count; k++) {
            load[i] += pool->devices[i].cores[k].busy ? 1 : 0;
        }
    }
    for (size_t i = 0; i < pool->job_count; i++) {
        const ak_pool_job *j = pool->jobs[i];
        size_t at = j->kind == AK_JOB_COMPARISON ? AK_POOL_NONE : j->units[0];
        if (at != AK_POOL_NONE && pool->units[at].place != AK_POOL_NONE) {
            load[pool->units[at].place]++;
        }
    }
}

bool ak_pool_cores_compile(ak_pool *pool)
{
    size_t load[AK_POOL_DEVICES_MAX] = {0};
    if (pool->fleet_cores == 0 || ak_pool_next_waiting(pool) == pool->unit_count) {
        return pool->fleet_cores > 0;
    }
    count_load(load, pool);
    for (size_t at; (at = ak_pool_next_waiting(pool)) < pool->unit_count;) {
        size_t best = AK_POOL_NONE, core = AK_POOL_NONE;
        for (size_t i = 0; i < pool->device_count; i++) {
            size_t candidate = AK_POOL_NONE;
            if (best == AK_POOL_NONE || load[i] < load[best]) {
                candidate = free_core(&pool->devices[i]);
            }
            best = candidate == AK_POOL_NONE ? best : i;
            core = candidate == AK_POOL_NONE ? core : candidate;
        }
        if (best == AK_POOL_NONE) {
            break;
        }
        compile(pool, &pool->devices[best], core, at);
        load[best]++;
    }
    return true;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Handles the end of a compile worker: the unit that it was compiling is compiled again
   (ak_pool_unit_again). */
static void ended(ak_pool *pool, ak_pool_core *c, const char *how)
{
    ak_error why = AK_ERROR_INIT;
    c->runs = false;
    if (++c->deaths == AK_POOL_COMPILER_DEATHS) {
        ak_pool_cores_recount(pool);
    }
    if (c->busy) {
        c->busy = false;
        (void)ak_fail(&why, AK_CRASHED, "the compile worker ended: %.100s", how);
        ak_pool_unit_again(pool, c->at, &why);
    }
}

ak_status ak_pool_core_said(ak_pool *pool, ak_pool_device *d, const json_t *message, ak_error *err)
{
    const double number = ak_json_number_at(message, "core");
    const int64_t id = json_integer_value(json_object_get(message, "id"));
    ak_error why = AK_ERROR_INIT;
    if (d->cores_ended) {
        return AK_OK; /* it was said before they ended */
    }
    AK_FAIL_IF(!(number >= 1 && number <= (double)d->core_count), err, AK_CORRUPT,
               "it has no such compile worker");
    ak_pool_core *c = &d->cores[(size_t)number - 1];
    if (json_object_get(message, "ended") != NULL) {
        ended(pool, c, ak_json_text_at(message, "ended"));
        return AK_OK;
    }
    if (c->busy && id == c->start && ak_message_fault(message, &why) != AK_OK) {
        ended(pool, c, why.text);
        return AK_OK;
    }
    if (!c->busy || id != c->request) {
        return AK_OK; /* this answers "start", or comes from a worker that was ended */
    }
    c->busy = false;
    c->deaths = 0;
    if (ak_pool_unit_compiled(pool, c->at, c->number, message) && d->away) {
        pool->units[c->at].place = (size_t)(d - pool->devices);
        return ak_pool_travel_has(pool, d, c->at, err);
    }
    return AK_OK;
}

/* Ends a compile worker that hangs. */
static void end_hung(ak_pool *pool, ak_pool_device *d, size_t core)
{
    end_worker(d, core);
    ended(pool, &d->cores[core], "no answer, killed");
}

void ak_pool_cores_watch(ak_pool *pool)
{
    const int64_t now = ak_clock_ns();
    if (now - pool->watched_ns < WATCH_NS) {
        return;
    }
    pool->watched_ns = now;
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        for (size_t k = 0; k < d->core_count; k++) {
            if (d->cores[k].busy && now > d->cores[k].deadline) {
                end_hung(pool, d, k);
            }
        }
        if (d->away && d->fetching != AK_POOL_NONE && now > d->fetch_deadline) {
            ak_pool_cores_end(pool, d);
        }
    }
}
