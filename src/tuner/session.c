/* session.c: see session.h. */
#include "tuner/session.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"

ak_status ak_session_environment(char hash[AK_ENVIRONMENT_BYTES], char **out_json,
                                 const ak_task *task, ak_error *err)
{
    const ak_backend_ops *backend;
    json_t *facts = NULL;
    char *text = NULL;
    ak_status status = ak_backend_find(&backend, task->backend, err);
    if (task->sheet) {
        return ak_fail(err, AK_UNAVAILABLE,
                       "%s is known by its data sheet: its spaces can be listed, nothing can be "
                       "run on it; `autokernel doctor` lists the devices of this machine",
                       task->device);
    }
    if (status == AK_OK) {
        status = backend->environment(&facts, task->device, err);
    }
    if (status == AK_OK) {
        bool good = ak_json_set_text(facts, "source", task->source_hash) &&
                    ak_json_set_text(facts, "autokernel", AK_VERSION) &&
                    ak_json_set(facts, "threads", json_integer(task->threads)) &&
                    ak_json_set(facts, "numerics", json_boolean(task->allow_numerics));
        /* where something runs */
        good = good && (task->recorded || ak_json_set(facts, "sandbox",
                                                      json_pack("{s:b,s:b}", "landlock",
                                                                ak_sandbox_landlock_abi() > 0,
                                                                "seccomp", ak_sandbox_seccomp())));
        status = good ? ak_json_text(&text, facts, err) : ak_fail_memory(err);
    }
    json_decref(facts);
    if (status == AK_OK) {
        ak_hash_text(hash, text, strlen(text));
        *out_json = text;
    }
    return status;
}

ak_status ak_session_open(ak_session *out, const ak_task *task, const ak_session_options *options,
                          ak_error *err)
{
    *out = (ak_session){.task = task, .next_job = 1};
    ak_pool_options pool = {.compile_workers = options->compile_workers,
                            .every_device = options->every_device,
                            .cancel = options->cancel == NULL ? task->cancel : options->cancel};
    ak_status status = task->recorded ? AK_OK : ak_problem_runnable(task->problem, err);
    if (status == AK_OK) {
        status = ak_session_environment(out->environment, &out->environment_json, task, err);
    }
    if (status == AK_OK) {
        status = ak_pool_open(&out->pool, task, &pool, err);
    }
    if (status != AK_OK) {
        ak_session_close(out);
    }
    return status;
}

const ak_pace *ak_session_pace(const ak_session *session)
{
    const ak_pace *pace = NULL;
    /* ak_task_open has seen to it that there is one of this name. */
    return ak_pace_find(&pace, session->task->protocol, NULL) == AK_OK
               ? pace
               : &ak_paces[AK_PACE_INTERLEAVED];
}

void ak_run_id(char out[AK_RUN_ID_BYTES])
{
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    uint64_t words[3] = {(uint64_t)ak_clock_ns(), (uint64_t)getpid(), ak_hash64(now, strlen(now))};
    (void)snprintf(out, AK_RUN_ID_BYTES, "%016llx",
                   (unsigned long long)ak_hash64(words, sizeof words));
}

int64_t ak_session_now_ns(const ak_session *session)
{
    return ak_pool_now_ns(session->pool);
}

void ak_session_utc(char out[AK_CLOCK_UTC_BYTES], const ak_session *session)
{
    if (ak_pool_recalls(session->pool)) {
        ak_clock_utc_at(out, ak_session_now_ns(session));
    } else {
        ak_clock_utc(out);
    }
}

ak_status ak_session_run_id(char out[AK_RUN_ID_BYTES], const ak_session *session, const char *words,
                            ak_archive *archive, ak_error *err)
{
    ak_status status = AK_OK;
    uint64_t name[3] = {ak_hash64(session->environment, strlen(session->environment)),
                        ak_hash64(words, strlen(words)), 0};
    if (!ak_pool_recalls(session->pool)) {
        ak_run_id(out);
        return AK_OK;
    }
    while (status == AK_OK) {
        ak_run known = {0};
        (void)snprintf(out, AK_RUN_ID_BYTES, "%016llx",
                       (unsigned long long)ak_hash64(name, sizeof name));
        name[2]++;
        status = archive == NULL ? AK_NOT_FOUND : ak_archive_get_run(&known, archive, out, err);
        ak_run_clear(&known);
    }
    return status == AK_NOT_FOUND ? AK_OK : status;
}

ak_status ak_session_ceilings(ak_session *session, ak_error *err)
{
    return ak_pool_ceilings(&session->ceilings, session->pool, err);
}

ak_status ak_session_survey(ak_session *session, ak_error *err)
{
    ak_status status = ak_session_ceilings(session, err);
    if (status == AK_OK) {
        status =
            ak_pool_baselines(&session->baselines, &session->baseline_count, session->pool, err);
    }
    return status;
}

void ak_session_close(ak_session *session)
{
    ak_pool_close(session->pool);
    ak_baseline_info_free(session->baselines, session->baseline_count);
    ak_free(session->environment_json);
    *session = (ak_session){0};
}

/* A result this far above the roofline is not fast but wrong: a kernel that found a way not to do
   the work. Ceilings measured on a busy machine may be two times too low, hence not 1. */
#define IMPLAUSIBLE 4.0

static double fact(const ak_task *task, const char *name)
{
    ak_value value;
    bool known = ak_scope_get(&value, task->constants, name) && value.type == AK_VALUE_INT;
    return known ? (double)value.as.integer : 0;
}

static void raise_bandwidth(ak_ceilings *ceilings, double gbs)
{
    if (gbs > ceilings->copy_gbs) {
        ceilings->copy_gbs = ceilings->triad_gbs = ceilings->read_gbs = gbs;
    }
}

/* What the task can be held against: where all arguments fit the private caches of its threads, the
   caches' bandwidth; else the memory's. (A working set between the two may still beat the memory,
   with `highest` it is given the caches' as well: what no honest kernel can exceed.) */
static ak_ceilings ceilings_for(const ak_session *session, bool highest)
{
    const ak_task *task = session->task;
    ak_ceilings ceilings = session->ceilings;
    double working_set = 0, threads = fact(task, "cpu_threads");
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        working_set += (double)task->shape.bytes[i];
    }
    double private_bytes = fact(task, "l2_bytes") * threads;
    double cached_bytes = highest ? private_bytes + fact(task, "l3_bytes") : private_bytes;
    if (working_set <= cached_bytes) {
        raise_bandwidth(&ceilings, ceilings.cache_gbs);
    }
    if (working_set <= (highest ? private_bytes : fact(task, "l1d_bytes") * threads)) {
        raise_bandwidth(&ceilings, ceilings.l1_gbs);
    }
    return ceilings;
}

/* Which part of the arithmetic units' work at the clock that was measured: what is left if the
   clock, which is the device's and not the kernel's merit, is divided out. 0: not known. */
static double utilisation_of(const ak_task *task, const ak_roofline *roof, double ms, double mhz)
{
    double rate = ak_flops_per_clock((int64_t)fact(task, "compute_capability"), task->dtype);
    double most = rate * fact(task, "sm_count") * mhz * 1e3; /* operations in a millisecond */
    return roof->memory_bound || most <= 0 || ms <= 0 ? 0 : task->shape.flops / ms / most;
}

static bool set_text(char **slot, const char *text)
{
    ak_free(*slot);
    *slot = ak_strdup(text);
    return *slot != NULL || text == NULL;
}

ak_status ak_session_complete(ak_trial *trial, const ak_session *session, const ak_config *config,
                              const char *run, ak_error *err)
{
    const ak_task *task = session->task;
    char now[AK_CLOCK_UTC_BYTES];
    ak_session_utc(now, session);
    size_t length = ak_config_format(NULL, 0, task->space, config);
    char *text = ak_alloc(length + 1, 1);
    if (text == NULL) {
        return ak_fail_memory(err);
    }
    (void)ak_config_format(text, length + 1, task->space, config);
    ak_free(trial->config);
    trial->config = text;
    bool good = set_text(&trial->run, run) && set_text(&trial->timestamp, now) &&
                set_text(&trial->kernel, task->problem->name) &&
                set_text(&trial->implementation, task->implementation->name) &&
                set_text(&trial->device, task->device) && set_text(&trial->size, task->size_text) &&
                set_text(&trial->dtype, ak_dtype_text(task->dtype)) &&
                set_text(&trial->choices, task->choices_text) &&
                set_text(&trial->environment, session->environment);
    if (good && trial->status == AK_TRIAL_OK && trial->median_ms > 0) {
        ak_roofline roof;
        ak_ceilings ceilings = ceilings_for(session, false);
        ak_roofline_of(&roof, &ceilings, task->shape.flops, task->shape.traffic, trial->median_ms);
        trial->tflops = roof.tflops;
        trial->gbs = roof.gbs;
        trial->efficiency = roof.efficiency;
        trial->utilisation = utilisation_of(task, &roof, trial->median_ms, trial->sm_clock_mhz);
        good = good && set_text(&trial->bound, roof.memory_bound ? "memory" : "compute");
        ceilings = ceilings_for(session, true);
        ak_roofline_of(&roof, &ceilings, task->shape.flops, task->shape.traffic, trial->median_ms);
        if (roof.efficiency > IMPLAUSIBLE) {
            char why[160];
            (void)snprintf(why, sizeof why,
                           "%.3g times as fast as this device can be: it cannot have done the work",
                           roof.efficiency);
            trial->status = AK_TRIAL_REJECTED;
            good = good && set_text(&trial->reason, why);
        }
    }
    return good ? AK_OK : ak_fail_memory(err);
}

void ak_contestants_free(ak_contestant *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        ak_free(list[i].name);
        ak_free(list[i].version);
        ak_free(list[i].config);
        ak_free(list[i].throttle);
        ak_free(list[i].overlap);
        ak_free(list[i].library);
        ak_free(list[i].reason);
    }
    ak_free(list);
}

static const ak_baseline_info *baseline_of(const ak_session *session, const char *name)
{
    for (size_t i = 0; i < session->baseline_count; i++) {
        if (strcmp(session->baselines[i].name, name) == 0) {
            return &session->baselines[i];
        }
    }
    return NULL;
}

static ak_status describe(ak_contestant *c, const ak_session *session, const ak_duelist *duelist,
                          const char *name, const ak_duel_entry *entry, ak_error *err)
{
    const ak_task *task = session->task;
    if (duelist->baseline != NULL) {
        const ak_baseline_info *info = baseline_of(session, duelist->baseline);
        const char *version = info == NULL ? "" : info->version;
        c->name = ak_strdup(info == NULL ? duelist->baseline : info->title);
        c->version = ak_strdup(entry->version == NULL ? version : entry->version);
        c->library = ak_strdup(duelist->baseline);
        if (c->name == NULL || c->version == NULL || c->library == NULL) {
            return ak_fail_memory(err);
        }
    } else {
        size_t length = ak_config_format(NULL, 0, task->space, duelist->config);
        c->name = ak_strdup(name);
        c->config = ak_alloc(length + 1, 1);
        if (c->name == NULL || c->config == NULL) {
            return ak_fail_memory(err);
        }
        (void)ak_config_format(c->config, length + 1, task->space, duelist->config);
    }
    if (entry->status != AK_TRIAL_OK) {
        c->reason =
            ak_strdup(entry->reason == NULL ? ak_trial_status_text(entry->status) : entry->reason);
        if (c->reason == NULL) {
            return ak_fail_memory(err);
        }
    } else if (entry->sample_count > 0) {
        ak_stats stats;
        ak_stats_of(&stats, entry->samples_ms, entry->sample_count);
        c->median_ms = stats.median;
        c->ci_low_ms = stats.low;
        c->ci_high_ms = stats.high;
        ak_roofline roof;
        ak_ceilings ceilings = ceilings_for(session, false);
        ak_roofline_of(&roof, &ceilings, task->shape.flops, task->shape.traffic, stats.median);
        c->tflops = roof.tflops;
        c->gbs = roof.gbs;
        c->efficiency = roof.efficiency;
        c->utilisation = utilisation_of(task, &roof, stats.median, entry->conditions.sm_clock_mhz);
    }
    if (entry->overlap != AK_OVERLAP_UNKNOWN) {
        c->overlap = ak_strdup(ak_overlap_text(entry->overlap));
        if (c->overlap == NULL) {
            return ak_fail_memory(err);
        }
    }
    if (entry->conditions.samples > 0) {
        char reasons[AK_THROTTLE_BYTES];
        c->sm_clock_mhz = entry->conditions.sm_clock_mhz;
        c->memory_clock_mhz = entry->conditions.memory_clock_mhz;
        c->power_watts = entry->conditions.power_watts;
        c->temperature_celsius = entry->conditions.temperature_celsius;
        ak_throttle_text(reasons, entry->conditions.throttle);
        c->throttle = ak_strdup(reasons);
        if (c->throttle == NULL) {
            return ak_fail_memory(err);
        }
    }
    return AK_OK;
}

/* Waits for one of `count` jobs, from `first` on, to finish. Results of other jobs, which a
   cancelled search may still have in flight, are dropped. */
static ak_status wait_for(ak_result *out, ak_session *session, uint64_t first, size_t count,
                          ak_error *err)
{
    for (;;) {
        ak_status status = ak_pool_wait(out, session->pool, 3600 * AK_SECOND_NS, err);
        if (status != AK_OK || (out->id >= first && out->id - first < count)) {
            return status;
        }
        ak_result_clear(out);
    }
}

ak_status ak_session_check(ak_trial *out, ak_session *session, const ak_config *configs,
                           size_t count, const char *run, ak_error *err)
{
    uint64_t first = session->next_job;
    ak_status status = AK_OK;
    for (size_t i = 0; i < count; i++) {
        out[i] = (ak_trial){0};
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        ak_job job = {.kind = AK_JOB_CHECK, .id = session->next_job++, .config = configs[i]};
        status = ak_pool_submit(session->pool, &job, err);
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        ak_result result = {0};
        status = wait_for(&result, session, first, count, err);
        if (status == AK_OK) {
            ak_trial *done = &out[result.id - first];
            *done = result.trial;
            result.trial = (ak_trial){0};
            status = ak_session_complete(done, session, &configs[result.id - first], run, err);
        }
        ak_result_clear(&result);
    }
    for (size_t i = 0; status != AK_OK && status != AK_CANCELLED && i < count; i++) {
        ak_trial_clear(&out[i]);
    }
    return status;
}

ak_status ak_session_duel(ak_contestant **out, size_t *reference, ak_session *session,
                          const ak_duel_spec *spec, ak_error *err)
{
    ak_result result = {0};
    ak_job job = {.kind = AK_JOB_DUEL,
                  .id = session->next_job++,
                  .duelists = spec->duelists,
                  .duelist_count = spec->count,
                  .own_size = spec->own_size,
                  .plan = {.seconds = spec->seconds, .pace = spec->pace}};
    ak_status status = ak_pool_submit(session->pool, &job, err);
    if (status == AK_OK) {
        status = wait_for(&result, session, job.id, 1, err);
    }
    if (status != AK_OK) {
        return status;
    }
    ak_contestant *list = ak_alloc(spec->count, sizeof *list);
    if (list == NULL) {
        status = ak_fail_memory(err);
    } else if (result.entry_count != spec->count) {
        status = ak_fail(err, AK_INTERNAL, "the device worker measured %zu of %zu contestants: %s",
                         result.entry_count, spec->count,
                         result.trial.reason == NULL ? "no reason given" : result.trial.reason);
    }
    /* The yardstick: the fastest library, else the first contestant that ran. */
    size_t best = spec->count;
    for (size_t i = 0; status == AK_OK && i < spec->count; i++) {
        status = describe(&list[i], session, &spec->duelists[i], spec->names[i], &result.entries[i],
                          err);
        if (status == AK_OK && spec->duelists[i].baseline != NULL && list[i].median_ms > 0 &&
            strcmp(spec->duelists[i].baseline, AK_BASELINE_COPY) != 0 &&
            (best == spec->count || list[i].median_ms < list[best].median_ms)) {
            best = i;
        }
    }
    size_t yard = best;
    for (size_t i = 0; status == AK_OK && yard == spec->count && i < spec->count; i++) {
        yard = list[i].median_ms > 0 ? i : yard;
    }
    for (size_t i = 0; status == AK_OK && yard < spec->count && i < spec->count; i++) {
        const ak_duel_entry *mine = &result.entries[i], *theirs = &result.entries[yard];
        size_t rounds =
            mine->sample_count < theirs->sample_count ? mine->sample_count : theirs->sample_count;
        if (list[i].median_ms > 0 && rounds > 0) {
            ak_stats ratio;
            ak_stats_ratio(&ratio, theirs->samples_ms, mine->samples_ms, rounds,
                           session->task->seed + 1);
            list[i].ratio = ratio.median;
            list[i].ratio_low = ratio.low;
            list[i].ratio_high = ratio.high;
            list[i].tie = i != yard && ratio.low <= 1.0 && ratio.high >= 1.0;
        }
    }
    ak_result_clear(&result);
    if (status != AK_OK) {
        ak_contestants_free(list, spec->count);
        return status;
    }
    *out = list;
    *reference = best;
    return AK_OK;
}
