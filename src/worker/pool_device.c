/* pool_device.c: what device workers are given, and what they answer; see pool_state.h. */
#include "worker/pool_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Artifacts that are kept for later duels. */
#define ARTIFACTS_MAX 512

static bool set_contestant(json_t *object, const ak_pool *pool, const ak_pool_job *j, size_t i)
{
    if (object == NULL || j->units[i] == AK_POOL_NONE) {
        return object != NULL && ak_json_set_text(object, "baseline", j->baselines[i]);
    }
    const ak_pool_unit *u = &pool->units[j->units[i]];
    return ak_json_set_text(object, "artifact", u->artifact) &&
           ak_json_set_text(object, "config", u->text) &&
           (!u->own_size || ak_json_set(object, "own_size", json_true()));
}

/* Contestants that did not compile are left out of what the device gets. */
static bool compiled_well(const ak_pool *pool, const ak_pool_job *j, size_t i)
{
    return j->units[i] == AK_POOL_NONE || pool->units[j->units[i]].compiled.status == AK_TRIAL_OK;
}

static json_t *job_request(const ak_pool *pool, const ak_pool_job *j)
{
    json_t *request = json_object();
    bool good = request != NULL;
    if (j->kind != AK_JOB_DUEL) {
        good = good && set_contestant(request, pool, j, 0) &&
               ak_json_set(request, "timer", ak_message_from_plan(&j->timer));
    } else {
        json_t *list = json_array();
        good = good && list != NULL;
        for (size_t i = 0; good && i < j->count; i++) {
            if (compiled_well(pool, j, i)) {
                json_t *entry = json_object();
                good = set_contestant(entry, pool, j, i);
                good = json_array_append_new(list, entry) == 0 && good;
            }
        }
        good = good && json_object_set(request, "contestants", list) == 0 &&
               ak_json_set_real(request, "seconds", j->plan.seconds) &&
               (j->plan.pace == NULL || ak_json_set_text(request, "pace", j->plan.pace->name));
        json_decref(list);
    }
    if (!good) {
        json_decref(request);
        return NULL;
    }
    return request;
}

/* Equal code that is run with other threads or another workspace is another thing to measure. */
static bool outcome_key(char *out, size_t bytes, const ak_pool *pool, const ak_pool_unit *u)
{
    size_t workspace = 0;
    int threads = 0;
    if (u->compiled.artifact_hash[0] == 0 ||
        ak_task_workspace(&workspace, &threads, pool->task, &pool->task->shape, &u->config, NULL) !=
            AK_OK) {
        return false;
    }
    if (pool->task->implementation->launch != NULL) {
        return false; /* equal code may be launched in another way */
    }
    (void)snprintf(out, bytes, "%s:%zu:%d", u->compiled.artifact_hash, workspace, threads);
    return true;
}

static ak_status remember(ak_pool *pool, const ak_pool_unit *u, const ak_trial *trial,
                          ak_error *err)
{
    char key[96];
    size_t known;
    if (!outcome_key(key, sizeof key, pool, u) || ak_map_get(&known, pool->outcome_of, key)) {
        return AK_OK;
    }
    void *outcomes = pool->outcomes;
    ak_status status = ak_grow(&outcomes, &pool->outcome_capacity, pool->outcome_count + 1,
                               sizeof *pool->outcomes, err);
    pool->outcomes = outcomes;
    if (status != AK_OK) {
        return status;
    }
    ak_pool_outcome *made = &pool->outcomes[pool->outcome_count];
    *made = (ak_pool_outcome){0};
    status = ak_pool_copy_outcome(&made->trial, trial, err);
    status = status == AK_OK ? ak_map_put(pool->outcome_of, key, pool->outcome_count, err) : status;
    if (status != AK_OK) {
        ak_trial_clear(&made->trial);
        return status;
    }
    pool->outcome_count++;
    return AK_OK;
}

/* Disk space is bounded: what failed goes at once, and beyond a number the slowest goes. */
static void tidy_artifacts(ak_pool *pool, ak_pool_unit *latest, bool failed)
{
    ak_pool_unit *gone = failed ? latest : NULL;
    if (gone == NULL && pool->units != NULL && pool->artifacts > ARTIFACTS_MAX) {
        for (size_t i = 0; i < pool->unit_count; i++) {
            ak_pool_unit *u = &pool->units[i];
            bool kept = u->state == AK_UNIT_COMPILED && u->compiled.status == AK_TRIAL_OK &&
                        !u->deleted && u->users == 0;
            if (kept && (gone == NULL || u->median_ms > gone->median_ms)) {
                gone = u;
            }
        }
    }
    if (gone != NULL && gone->users <= (gone == latest ? 1u : 0u)) {
        ak_fs_remove(gone->artifact);
        gone->deleted = true;
        pool->artifacts--;
    }
}

static ak_status set_conditions(ak_trial *out, const ak_conditions *c, ak_error *err)
{
    char text[AK_THROTTLE_BYTES];
    if (c->samples == 0) {
        return AK_OK;
    }
    out->sm_clock_mhz = c->sm_clock_mhz;
    out->memory_clock_mhz = c->memory_clock_mhz;
    out->power_watts = c->power_watts;
    out->temperature_celsius = c->temperature_celsius;
    ak_throttle_text(text, c->throttle);
    out->throttle = ak_strdup(text);
    return out->throttle == NULL ? ak_fail_memory(err) : AK_OK;
}

static ak_status trial_done(ak_pool *pool, ak_pool_job *j, const json_t *reply, ak_error *err)
{
    ak_result result;
    ak_trial measured = {0};
    ak_conditions conditions;
    ak_pool_unit *u = &pool->units[j->units[0]];
    ak_status status = ak_pool_result_begin(&result, pool, j, err);
    status = status == AK_OK ? ak_message_to_trial(&measured, &conditions, reply, err) : status;
    if (status == AK_OK) {
        result.trial.status = measured.status;
        result.trial.reason = measured.reason;
        result.trial.check_ns = measured.check_ns;
        result.trial.measure_ns = measured.measure_ns;
        /* What the device worker spent besides, and what it took to get there and back. */
        int64_t all = ak_clock_ns() - j->begin_ns;
        int64_t known = measured.check_ns + measured.measure_ns;
        result.trial.overhead_ns = all > known ? all - known : 0;
        result.trial.samples_ms = measured.samples_ms;
        result.trial.sample_count = measured.sample_count;
        result.trial.median_ms = measured.median_ms;
        result.trial.ci_low_ms = measured.ci_low_ms;
        result.trial.ci_high_ms = measured.ci_high_ms;
        result.trial.max_error = measured.max_error;
        status = set_conditions(&result.trial, &conditions, err);
        if (status == AK_OK && j->kind == AK_JOB_TRIAL) {
            u->median_ms = measured.median_ms;
            status = remember(pool, u, &result.trial, err);
        }
    }
    if (status == AK_OK) {
        tidy_artifacts(pool, u, result.trial.status != AK_TRIAL_OK);
        status = ak_pool_give(pool, &result, err);
    } else {
        ak_result_clear(&result);
    }
    ak_pool_job_leave(pool, j);
    return status;
}

static ak_status duel_done(ak_pool *pool, ak_pool_job *j, const json_t *reply, ak_error *err)
{
    ak_result result;
    json_t *list = NULL;
    ak_status status = ak_pool_result_begin(&result, pool, j, err);
    status = status == AK_OK
                 ? ak_json_array_or_null(&list, reply, "entries", "worker protocol", err)
                 : status;
    if (status == AK_OK) {
        result.entries = ak_alloc(j->count, sizeof *result.entries);
        result.entry_count = result.entries == NULL ? 0 : j->count;
        status = result.entries == NULL ? ak_fail_memory(err) : AK_OK;
    }
    size_t next = 0;
    for (size_t i = 0; status == AK_OK && i < j->count; i++) {
        if (compiled_well(pool, j, i)) {
            const json_t *entry = json_array_get(list, next++);
            status = entry == NULL
                         ? ak_fail(err, AK_CORRUPT, "worker protocol: a contestant is missing")
                         : ak_message_to_duel(&result.entries[i], entry, err);
        } else {
            const ak_compile_result *compiled = &pool->units[j->units[i]].compiled;
            result.entries[i].status = compiled->status;
            result.entries[i].reason = ak_strdup(compiled->reason);
        }
    }
    if (status == AK_OK) {
        status = ak_pool_give(pool, &result, err);
    } else {
        ak_result_clear(&result);
    }
    ak_pool_job_leave(pool, j);
    return status;
}

/* Ready for the first time, or again. */
static void opened(ak_pool_device *d, const json_t *reply)
{
    const char *uuid = json_string_value(json_object_get(reply, "uuid"));
    d->opened = true;
    (void)snprintf(d->uuid, sizeof d->uuid, "%s", uuid == NULL ? "" : uuid);
}

ak_status ak_pool_device_replied(ak_pool *pool, ak_pool_device *d, json_t *reply, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_pool_job *j = d->job;
    ak_device_state before = d->state;
    d->worker.busy = false;
    bool last = json_is_true(json_object_get(reply, "last"));
    d->state = last ? AK_DEVICE_LOST : AK_DEVICE_FREE;
    d->held = d->held || j != NULL;
    d->worker.deaths = j == NULL || last ? d->worker.deaths : 0;
    d->job = NULL;
    if (before == AK_DEVICE_ASKED) {
        /* Not if the one who asked was cancelled meanwhile. */
        if (json_integer_value(json_object_get(reply, "id")) == pool->asked) {
            json_decref(pool->answer);
            pool->answer = json_incref(reply);
        }
        return AK_OK;
    }
    ak_status status = ak_message_fault(reply, &why);
    if (before == AK_DEVICE_OPENING) {
        if (status == AK_OK) {
            opened(d, reply);
            if (d == &pool->devices[0]) {
                json_decref(pool->prepared);
                pool->prepared = json_incref(reply);
            }
        } else if (d != pool->devices && d->opened) { /* it has been at work: the others go on */
            ak_pool_worker_stop(&d->worker);
            d->state = AK_DEVICE_GIVEN_UP;
        } else {
            d->state = AK_DEVICE_CLOSED;
            ak_pool_fault(pool, &why);
        }
        return AK_OK;
    }
    if (j == NULL) {
        return AK_OK;
    }
    if (status != AK_OK) { /* the harness could not do it; the message says why */
        ak_pool_job_leave(pool, j);
        return ak_fail(err, status, "%s", why.text);
    }
    return j->kind == AK_JOB_DUEL ? duel_done(pool, j, reply, err)
                                  : trial_done(pool, j, reply, err);
}

/* Ends without the device what can be: what did not compile, and what was measured before. */
static ak_status settle(bool *settled, ak_pool *pool, ak_pool_job *j, ak_error *err)
{
    char key[96];
    size_t known = 0;
    *settled = true;
    if (j->kind == AK_JOB_DUEL) {
        bool any = false;
        for (size_t i = 0; i < j->count; i++) {
            any = any || compiled_well(pool, j, i);
        }
        *settled = !any;
        return any ? AK_OK
                   : ak_pool_job_fails(pool, j, AK_TRIAL_COMPILE_ERROR, "it did not compile", err);
    }
    const ak_pool_unit *u = &pool->units[j->units[0]];
    if (u->compiled.status != AK_TRIAL_OK) {
        return ak_pool_job_fails(
            pool, j, u->compiled.status,
            u->compiled.reason == NULL ? "it did not compile" : u->compiled.reason, err);
    }
    bool repeated = j->kind == AK_JOB_TRIAL && outcome_key(key, sizeof key, pool, u) &&
                    ak_map_get(&known, pool->outcome_of, key);
    if (!repeated && !pool->options.no_device) {
        *settled = false;
        return AK_OK;
    }
    ak_result result;
    ak_status status = ak_pool_result_begin(&result, pool, j, err);
    if (status == AK_OK && repeated) {
        result.repeated = true;
        status = ak_pool_copy_outcome(&result.trial, &pool->outcomes[known].trial, err);
        pool->units[j->units[0]].median_ms = result.trial.median_ms;
    }
    if (status == AK_OK) {
        status = ak_pool_give(pool, &result, err);
    } else {
        ak_result_clear(&result);
    }
    ak_pool_job_leave(pool, j);
    return status;
}

/* May trials begin? Not before every device is ready: one that prepares its reference takes the
   cores that the others' checks and the compilers want, and the first to be ready would be given
   what the slowest should share. */
static bool all_ready(const ak_pool *pool)
{
    for (size_t i = 0; i < pool->device_count; i++) {
        if (!pool->devices[i].opened) {
            return false;
        }
    }
    return true;
}

/* Who does this job now: trials any free device, of several the one that has had the fewest; what
   is measured to be claimed, and everything beside it, the first device. */
static size_t device_for(const ak_pool *pool, const ak_pool_job *j)
{
    size_t best = AK_POOL_NONE;
    size_t count = j->kind == AK_JOB_TRIAL ? pool->device_count : 1;
    if (j->kind == AK_JOB_TRIAL && !all_ready(pool)) {
        return AK_POOL_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        const ak_pool_device *d = &pool->devices[i];
        if (d->state == AK_DEVICE_FREE && !d->held &&
            (best == AK_POOL_NONE || d->given < pool->devices[best].given)) {
            best = i;
        }
    }
    return best;
}

static ak_status give_job(ak_pool *pool, size_t device, ak_pool_job *j, ak_error *err)
{
    static const char *const ops[] = {
        [AK_JOB_TRIAL] = "trial", [AK_JOB_CHECK] = "check", [AK_JOB_DUEL] = "duel"};
    ak_pool_device *d = &pool->devices[device];
    json_t *request = job_request(pool, j);
    if (request == NULL) {
        return ak_fail_memory(err);
    }
    j->begin_ns = ak_clock_ns();
    j->on = device;
    d->state = AK_DEVICE_JOB;
    d->job = j;
    d->given += j->kind == AK_JOB_TRIAL ? 1 : 0;
    (void)ak_pool_worker_ask(&d->worker, pool, ops[j->kind], request,
                             AK_POOL_DEVICE_JOB_NS + (int64_t)(2e9 * j->plan.seconds), NULL);
    return AK_OK;
}

/* Only called from ak_pool_wait: see pool.h. */
ak_status ak_pool_feed_devices(ak_pool *pool, ak_error *err)
{
    for (size_t i = 0; i < pool->job_count;) {
        ak_pool_job *j = pool->jobs[i];
        bool settled = false;
        if (j->on != AK_POOL_NONE || !ak_pool_job_compiled(pool, j)) {
            i++;
            continue;
        }
        ak_status status = settle(&settled, pool, j, err);
        if (status != AK_OK) {
            return status;
        }
        if (settled) {
            continue; /* the next has moved to i */
        }
        size_t device = device_for(pool, j);
        if (device != AK_POOL_NONE) {
            status = give_job(pool, device, j, err);
        }
        if (status != AK_OK) {
            return status;
        }
        i++;
    }
    return AK_OK;
}
