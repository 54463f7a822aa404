/* pool_device.c: gives jobs to device workers and handles their replies; see pool_state.h. */
#include "worker/pool_state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "judge/evaluate.h"

#include "archive/field.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/plain.h"

/* job_limit explains these limits. */
#define LATE_TIMES  4
#define LOAD_NS     (20 * AK_SECOND_NS)
#define JUDGE_TIMES 20
/* Upper bound for each part of the preparation time, in case a worker reports nonsense. */
#define PREPARED_NS_MAX (3600 * AK_SECOND_NS)
/* Extra time for each candidate of a comparison: a library may import modules when it is loaded
   (AK_SCRIPT_OPEN_NS), and compile and choose an algorithm when it first runs. */
#define CANDIDATE_NS (240 * AK_SECOND_NS)
/* For this long after its code was compiled, a trial waits for the device on the machine of its
   artifact, even if another device is free; then the artifact is sent to the free device. Sending
   takes some milliseconds, a trial seldom more than 50. */
#define PATIENCE_NS (AK_SECOND_NS / 5)
/* If there are more artifacts than this, those of slow configurations are deleted
   (tidy_artifacts). */
#define ARTIFACTS_MAX 512

static bool set_candidate(json_t *object, const ak_pool *pool, const ak_pool_device *d,
                          const ak_pool_job *j, size_t i)
{
    char artifact[AK_PATH_MAX];
    if (object == NULL || j->units[i] == AK_POOL_NONE) {
        return object != NULL && ak_json_set_text(object, "baseline", j->baselines[i]);
    }
    const ak_pool_unit *u = &pool->units[j->units[i]];
    ak_pool_travel_path(artifact, d, u->artifact);
    return ak_json_set_text(object, "artifact", artifact) &&
           ak_json_set_text(object, "config", u->text) &&
           (u->compiled.file_hash[0] == 0 ||
            ak_json_set_text(object, "file_hash", u->compiled.file_hash)) &&
           (u->task == pool->task ||
            ak_json_set_text(object, "implementation", u->task->implementation->name)) &&
           (pool->options.symbol == NULL ||
            ak_json_set_text(object, "symbol", pool->options.symbol)) &&
           (!(u->specialised || pool->options.own_sizes) ||
            ak_json_set(object, "own_size", json_true()));
}

/* Returns false for a candidate that did not compile, which the request to the device omits. */
static bool compiled_well(const ak_pool *pool, const ak_pool_job *j, size_t i)
{
    return j->units[i] == AK_POOL_NONE || pool->units[j->units[i]].compiled.status == AK_TRIAL_OK;
}

/* Returns how many candidates of a job compiled. */
static size_t count_compiled_well(const ak_pool *pool, const ak_pool_job *j)
{
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++) {
        count += compiled_well(pool, j, i) ? 1 : 0;
    }
    return count;
}

static json_t *job_request(const ak_pool *pool, const ak_pool_device *d, const ak_pool_job *j)
{
    json_t *request = json_object();
    bool good = request != NULL;
    if (j->kind != AK_JOB_COMPARISON) {
        good = good && set_candidate(request, pool, d, j, 0) &&
               ak_json_set(request, "timer", ak_message_from_plan(&j->timer));
    } else {
        json_t *list = json_array();
        for (size_t i = 0; good && i < j->count; i++) {
            if (compiled_well(pool, j, i)) {
                json_t *entry = json_object();
                good = set_candidate(entry, pool, d, j, i);
                good = ak_json_append(list, entry) && good;
            }
        }
        good = ak_json_set(request, "candidates", list) && good &&
               ak_json_set_real(request, "seconds", j->plan.seconds) &&
               ak_json_set_real(request, "extra", j->plan.extra) &&
               (j->plan.protocol == NULL ||
                ak_json_set_text(request, "protocol", j->plan.protocol->name));
    }
    return ak_json_whole(request, good);
}

/* Limits the disk space for artifacts: deletes the artifact of a failed trial or check, unless
   other jobs need it, or else, if there are too many, that of the slowest configuration that no job
   needs. */
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
    /* The job of the latest trial still counts as a user of its artifact. */
    if (gone != NULL && gone->users <= (gone == latest ? 1u : 0u)) {
        ak_pool_travel_remove(pool, gone);
        assert(!gone->deleted && pool->artifacts > 0);
        gone->deleted = true;
        gone->place = AK_POOL_NONE;
        pool->artifacts--;
    }
}

static ak_status trial_done(ak_pool *pool, ak_pool_job *j, const json_t *reply, ak_error *err)
{
    ak_result result;
    ak_trial measured = {0};
    ak_conditions conditions;
    ak_pool_unit *u = &pool->units[j->units[0]];
    ak_status status = AK_OK;
    AK_TRY(ak_pool_result_begin(&result, pool, j, err));
    AK_TRY(ak_message_to_trial(&measured, &conditions, reply, err));
    if (measured.status == AK_TRIAL_LAUNCH_ERROR && u->place == AK_POOL_NONE &&
        access(u->artifact, R_OK) != 0) {
        AK_TRY(ak_fail(err, AK_IO,
                       "%.200s: %s; the folder for temporary files can no longer be used: "
                       "set TMPDIR to one that stays",
                       u->artifact, strerror(errno)));
    }
    ak_trial_move_fields(&result.trial, &measured, AK_FIELD_BY_JUDGE);
    result.waited = json_is_true(json_object_get(reply, "waited"));
    /* The overhead is the rest of the time: other work of the device worker, and the messages to
       and from it. The worker's own times are capped, so that none exceeds the whole. */
    int64_t all = ak_clock_ns() - j->begin_ns;
    int64_t check_ns = measured.check_ns < all ? measured.check_ns : all;
    int64_t measure_ns =
        measured.measure_ns < all - check_ns ? measured.measure_ns : all - check_ns;
    result.trial.check_ns = check_ns;
    result.trial.measure_ns = measure_ns;
    result.trial.overhead_ns = all - check_ns - measure_ns;
    AK_TRY(ak_conditions_to_trial(&result.trial, &conditions, err));
    if (j->kind == AK_JOB_TRIAL && !json_is_true(json_object_get(reply, "unjudged"))) {
        u->median_ms = measured.median_ms;
        AK_TRY(ak_pool_outcome_keep(pool, u, &result, err));
    }
out:
    ak_trial_clear(&measured);
    if (status == AK_OK) {
        tidy_artifacts(pool, u, result.trial.status != AK_TRIAL_OK);
    }
    return ak_pool_job_end(pool, j, &result, status, err);
}

static ak_status comparison_done(ak_pool *pool, ak_pool_job *j, const json_t *reply, ak_error *err)
{
    ak_result result;
    json_t *list = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_pool_result_begin(&result, pool, j, err));
    AK_TRY(ak_json_array_or_null(&list, reply, "entries", "wire protocol", err));
    AK_TRY(AK_NEW(result.entries, j->count, err));
    result.entry_count = j->count;
    size_t next = 0;
    for (size_t i = 0; i < j->count; i++) {
        if (compiled_well(pool, j, i)) {
            const json_t *entry = json_array_get(list, next++);
            AK_TRY(entry == NULL ? ak_fail(err, AK_CORRUPT, "wire protocol: a candidate is missing")
                                 : ak_message_to_comparison(&result.entries[i], entry, err));
            if (j->units[i] != AK_POOL_NONE) {
                const ak_compile_result *c = &pool->units[j->units[i]].compiled;
                result.entries[i].code = (ak_code_facts){.known = true,
                                                         .registers = c->registers,
                                                         .shared_bytes = c->shared_bytes,
                                                         .spill_bytes = c->spill_bytes,
                                                         .code_bytes = c->code_bytes};
            }
        } else {
            const ak_compile_result *compiled = &pool->units[j->units[i]].compiled;
            result.entries[i].status = compiled->status;
            result.entries[i].reason = ak_strdup(compiled->reason);
        }
    }
    AK_TRY(ak_message_to_course(&result.course, reply, err));
out:
    return ak_pool_job_end(pool, j, &result, status, err);
}

/* Notes that a device is ready, for the first time or after a restart. */
static void opened(ak_pool *pool, ak_pool_device *d, json_t *reply)
{
    d->opened = true;
    (void)snprintf(d->uuid, sizeof d->uuid, "%s", ak_json_text_at(reply, "uuid"));
    ak_plain_line(d->uuid);
    json_decref(d->prepared);
    d->prepared = json_incref(reply);
    d->failures = 0;
    d->fit = true;
    if (pool->launcher.ops != NULL) {
        ak_pool_cores_recount(pool);
        (void)ak_pool_promote(pool); /* the first device that is ready becomes the home */
    }
}

/* Puts a trial behind the others if the machine was too busy to judge it. Returns false if it was
   judged, or could not be judged AK_POOL_UNJUDGED times. */
static bool put_off(ak_pool *pool, ak_pool_job *j, const json_t *reply)
{
    if (j->kind != AK_JOB_TRIAL || !json_is_true(json_object_get(reply, "unjudged")) ||
        ++j->unjudged >= AK_POOL_UNJUDGED) {
        return false;
    }
    size_t at = 0;
    while (pool->jobs[at] != j) {
        at++;
    }
    memmove(pool->jobs + at, pool->jobs + at + 1, (pool->job_count - at - 1) * sizeof *pool->jobs);
    pool->jobs[pool->job_count - 1] = j;
    j->on = AK_POOL_NONE;
    return true;
}

ak_status ak_pool_device_check(const ak_pool *pool, const ak_pool_device *d, const json_t *reply,
                               ak_error *err)
{
    const ak_pool_job *j = d->job;
    if (j == NULL || d->state != AK_DEVICE_JOB) {
        return AK_OK;
    }
    if (!json_is_true(json_object_get(reply, "ok"))) {
        /* If other machines remain, an error reply disqualifies this worker, not the run. */
        return d->worker.linked && pool->device_count > 1 ? ak_message_fault(reply, err) : AK_OK;
    }
    if (j->kind != AK_JOB_COMPARISON) {
        return ak_message_check_trial(reply, j->kind == AK_JOB_TRIAL, err);
    }
    return ak_message_check_comparison(reply, count_compiled_well(pool, j), err);
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
        /* If the question was cancelled meanwhile, its answer is dropped. */
        if (json_integer_value(json_object_get(reply, "id")) == pool->asked) {
            json_decref(pool->answer);
            pool->answer = json_incref(reply);
        }
        return AK_OK;
    }
    ak_status status = ak_message_fault(reply, &why);
    if (before == AK_DEVICE_OPENING) {
        if (status == AK_OK) {
            opened(pool, d, reply);
        } else if (pool->launcher.ops != NULL) {
            /* these failures are permanent; others may pass */
            d->worker.final =
                status == AK_UNAVAILABLE || status == AK_NOT_FOUND || status == AK_INVALID;
            ak_pool_seat_ended(pool, d, why.text, true);
        } else if (d->opened && pool->device_count > 1) {
            ak_pool_give_up(pool, d, why.text); /* the other devices go on */
        } else {
            d->state = AK_DEVICE_CLOSED;
            ak_pool_fault(pool, &why);
        }
        return AK_OK;
    }
    if (j == NULL) {
        return AK_OK;
    }
    if (status != AK_OK) { /* the harness failed; `why` says how */
        d->held = false;   /* there is no result for the caller to handle */
        ak_pool_job_leave(pool, j);
        return ak_fail(err, status, "%s", why.text);
    }
    if (put_off(pool, j, reply)) {
        d->held = false; /* there is no result for the caller to handle */
        return AK_OK;
    }
    status = j->kind == AK_JOB_COMPARISON ? comparison_done(pool, j, reply, err)
                                          : trial_done(pool, j, reply, err);
    d->held = d->held && status == AK_OK;
    return status;
}

/* Removes the job and reports the fault of the machine instead of a result, because the fault says
   nothing about the configuration. */
static ak_status machine_failed(ak_pool *pool, ak_pool_job *j, ak_pool_unit *u, ak_error *err)
{
    ak_error why = u->fault;
    u->attempts = 0;
    ak_pool_job_leave(pool, j);
    return ak_fail(err, why.status, "%s", why.text);
}

/* Finishes a job without a device if that is possible: its configuration did not compile, equal
   code was measured in the same way before, or the pool has no device. A comparison is finished in
   this way only if none of its candidates can be measured. If the machine prevented the
   compilation, returns its fault. */
static ak_status settle(bool *settled, ak_pool *pool, ak_pool_job *j, ak_error *err)
{
    *settled = true;
    if (j->kind == AK_JOB_COMPARISON) {
        *settled = count_compiled_well(pool, j) == 0;
        return *settled
                   ? ak_pool_job_fails(pool, j, AK_TRIAL_COMPILE_ERROR, "it did not compile", err)
                   : AK_OK;
    }
    ak_pool_unit *u = &pool->units[j->units[0]];
    if (u->compiled.status != AK_TRIAL_OK && u->attempts >= AK_POOL_ATTEMPTS) {
        return machine_failed(pool, j, u, err);
    }
    if (u->compiled.status != AK_TRIAL_OK) {
        return ak_pool_job_fails(
            pool, j, u->compiled.status,
            u->compiled.reason == NULL ? "it did not compile" : u->compiled.reason, err);
    }
    const ak_pool_outcome *known = j->kind == AK_JOB_TRIAL ? ak_pool_outcome_of(pool, u) : NULL;
    if (known == NULL && !pool->options.no_device) {
        *settled = false;
        return AK_OK;
    }
    ak_result result;
    ak_status status = ak_pool_result_begin(&result, pool, j, err);
    if (status == AK_OK && known != NULL) {
        result.trial.same_code = 1;
        result.waited = known->waited;
        status = ak_trial_copy_fields(&result.trial, &known->trial,
                                      AK_FIELD_BY_JUDGE | AK_FIELD_BY_DEVICE, err);
        u->median_ms = result.trial.median_ms;
    }
    return ak_pool_job_end(pool, j, &result, status, err);
}

/* Returns whether trials may begin. The devices of this machine must all be ready. A device that
   still prepares its reference would compete for cores with the compilers and with the checks of
   other devices, and the first device that is ready would take trials from the slower ones. Devices
   of other machines do not disturb each other, so `least` of them suffice. */
static bool enough_ready(const ak_pool *pool)
{
    size_t opened = 0;
    for (size_t i = 0; i < pool->device_count; i++) {
        opened += pool->devices[i].opened ? 1 : 0;
    }
    return opened >= pool->least;
}

/* Picks the device for a job. Trials: the free device with the fewest trials so far, but if the
   artifact lies on another machine, for PATIENCE_NS only the device there. Checks and comparisons:
   always the home, whose figures are reported. Returns AK_POOL_NONE if the job must wait. */
static size_t device_for(const ak_pool *pool, const ak_pool_job *j)
{
    size_t best = AK_POOL_NONE;
    bool any = j->kind == AK_JOB_TRIAL;
    if (any && !enough_ready(pool)) {
        return AK_POOL_NONE;
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        const ak_pool_device *d = &pool->devices[i];
        if ((any || i == pool->home) && d->state == AK_DEVICE_FREE && !d->held &&
            (best == AK_POOL_NONE || d->given < pool->devices[best].given)) {
            best = i;
        }
    }
    const ak_pool_unit *u = any && best != AK_POOL_NONE ? &pool->units[j->units[0]] : NULL;
    if (u == NULL || u->place == AK_POOL_NONE || u->place == best) {
        return best;
    }
    const ak_pool_device *there = &pool->devices[u->place];
    if (there->state == AK_DEVICE_FREE && !there->held) {
        return u->place;
    }
    return ak_clock_ns() - u->ended_ns > PATIENCE_NS ? best : AK_POOL_NONE;
}

/* Returns how long to wait for a reply. A load or launch that exceeds its time-out ends the job; on
   a busy machine this may take LATE_TIMES the time-out. Checking results may take JUDGE_TIMES as
   long as preparing the task took. */
static int64_t job_limit(const ak_pool *pool, const ak_pool_job *j)
{
    static const char *const parts[] = {"inputs_ns", "upload_ns", "reference_ns", "witness_ns"};
    int64_t launch = ak_evaluate_limit(&j->timer, pool->options.launch_timeout_ns), prepared = 0;
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        const json_t *home = pool->devices[pool->home].prepared;
        int64_t part = json_integer_value(json_object_get(home, parts[i]));
        prepared += part < 0 ? 0 : part < PREPARED_NS_MAX ? part : PREPARED_NS_MAX;
    }
    int64_t limit = AK_POOL_SPARE_NS + LATE_TIMES * (LOAD_NS + launch) + JUDGE_TIMES * prepared;
    if (j->kind == AK_JOB_COMPARISON) {
        return limit + (int64_t)(2e9 * (j->plan.seconds + j->plan.extra)) +
               (int64_t)j->count * CANDIDATE_NS;
    }
    size_t shapes = j->kind == AK_JOB_CHECK ? pool->task->problem->edge_case_count + 1 : 2;
    return limit + j->timer.budget_ns + (int64_t)shapes * launch;
}

static ak_status give_job(ak_pool *pool, size_t device, ak_pool_job *j, ak_error *err)
{
    static const char *const ops[] = {
        [AK_JOB_TRIAL] = "trial", [AK_JOB_CHECK] = "check", [AK_JOB_COMPARISON] = "comparison"};
    ak_pool_device *d = &pool->devices[device];
    assert(d->state == AK_DEVICE_FREE && d->job == NULL && !d->held);
    AK_DO(ak_pool_travel_job(pool, d, j, err));
    json_t *request = job_request(pool, d, j);
    AK_DO(ak_made(request, err));
    j->begin_ns = ak_clock_ns();
    j->on = device;
    d->state = AK_DEVICE_JOB;
    d->job = j;
    d->given += j->kind == AK_JOB_TRIAL ? 1 : 0;
    (void)ak_pool_worker_ask(&d->worker, pool, ops[j->kind], request, job_limit(pool, j), NULL);
    return AK_OK;
}

ak_status ak_pool_feed_devices(ak_pool *pool, ak_error *err)
{
    const bool loud = ak_pool_is_loud(pool);
    for (size_t i = 0; i < pool->job_count;) {
        ak_pool_job *j = pool->jobs[i];
        bool settled = false;
        if (j->on != AK_POOL_NONE || !ak_pool_job_compiled(pool, j)) {
            i++;
            continue;
        }
        AK_DO(settle(&settled, pool, j, err));
        if (settled) {
            continue; /* the next job has moved to i */
        }
        size_t device = loud ? AK_POOL_NONE : device_for(pool, j);
        if (device != AK_POOL_NONE && ak_pool_travel_ready(pool, &pool->devices[device], j)) {
            AK_DO(give_job(pool, device, j, err));
        }
        i++;
    }
    return AK_OK;
}
