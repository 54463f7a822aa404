/* session.c: see session.h. */
#include "tuner/session.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "measure/ceilings.h"
#include "measure/placement.h"
#include "problem/sources.h"
#include "worker/environment.h"

ak_status ak_session_environment(char hash[AK_ENVIRONMENT_BYTES], char **out_json,
                                 const ak_task *task, ak_error *err)
{
    ak_status status = AK_OK;
    json_t *facts = NULL;
    char *text = NULL;
    if (task->sheet) {
        return ak_fail(err, AK_UNAVAILABLE,
                       "%s is known by its data sheet: its spaces can be listed, nothing can be "
                       "run on it; `autokernel doctor` lists the devices of this machine",
                       task->device);
    }
    AK_TRY(ak_environment_facts(&facts, task, err));
    AK_TRY(ak_json_text(&text, facts, err));
    ak_hash_text(hash, text, strlen(text));
    *out_json = text;
out:
    json_decref(facts);
    return status;
}

void ak_session_keep_sources(const ak_task *task, ak_archive *archive)
{
    ak_pack sources = {0};
    if (archive != NULL && !task->recorded && !task->sheet &&
        ak_sources_of(&sources, task->problem, task->implementation, NULL) == AK_OK) {
        (void)ak_archive_keep_sources(archive, task->source_hash, &sources, NULL);
    }
    ak_pack_clear(&sources);
}

ak_status ak_session_open(ak_session *out, const ak_task *task, const ak_session_options *options,
                          ak_error *err)
{
    ak_status status = AK_OK;
    ak_session opened = {.task = task, .next_job = 1};
    ak_pool_options pool = {.compile_workers = options->compile_workers,
                            .every_device = options->every_device,
                            .artifact = options->artifact,
                            .symbol = options->symbol,
                            .deadline_ns = options->deadline_ns,
                            .workers_changed = options->workers_changed,
                            .workers_context = options->workers_context,
                            .launcher = task->launcher,
                            .workers = task->workers,
                            .cancel = options->cancel == NULL ? task->cancel : options->cancel};
    *out = (ak_session){0};
    if (task->recorded && task->launcher != NULL) {
        AK_TRY(ak_fail(err, AK_INVALID,
                       "--launcher: a recording is searched by this process; leave it out"));
    }
    AK_TRY(task->recorded ? AK_OK : ak_problem_runnable(task->problem, err));
    AK_TRY(ak_session_environment(opened.environment, &opened.environment_json, task, err));
    pool.environment = opened.environment_json;
    AK_TRY(ak_pool_open(&opened.pool, task, &pool, err));
    *out = opened;
    return AK_OK;
out:
    ak_session_close(&opened);
    return status;
}

const ak_protocol *ak_session_protocol(const ak_session *session)
{
    const ak_protocol *protocol = NULL;
    /* ak_task_open has checked that this protocol exists. */
    return ak_protocol_find(&protocol, session->task->protocol, NULL) == AK_OK
               ? protocol
               : &ak_protocols[AK_PROTOCOL_INTERLEAVED];
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

/* Builds the key of the ceilings: the dtype and the environment without what affects only compiled
   code. */
static ak_status name_ceilings(char **out, const char *environment, const ak_task *task,
                               ak_error *err)
{
    static const char *const others[] = {"source",    "autokernel", "numerics",
                                         "compilers", "sandbox",    "libc"};
    ak_status status = AK_OK;
    json_t *facts = NULL;
    char *text = NULL, hash[AK_ENVIRONMENT_BYTES];
    ak_buf key = AK_BUF(1u << 10);
    AK_TRY(ak_json_parse(&facts, environment, strlen(environment), "environment", err));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)json_object_del(facts, others[i]);
    }
    AK_TRY(ak_json_text(&text, facts, err));
    ak_hash_text(hash, text, strlen(text));
    ak_buf_print(&key, "%s %s %s", task->backend, ak_dtype_text(ak_task_operands(task)), hash);
    AK_TRY(ak_buf_take(out, &key, err));
out:
    ak_buf_free(&key);
    ak_free(text);
    json_decref(facts);
    return status;
}

ak_status ak_session_ceilings(ak_session *session, ak_error *err)
{
    ak_status status = AK_OK;
    ak_ceilings now = {0};
    AK_TRY(ak_pool_ceilings(&now, session->pool, err));
    if (ak_pool_recalls(session->pool)) {
        return AK_OK;
    }
    if (session->ceilings_key == NULL) {
        AK_TRY(
            name_ceilings(&session->ceilings_key, session->environment_json, session->task, err));
    }
    ak_ceilings_keep(&now, session->ceilings_key);
    (void)ak_ceilings_raise(&session->ceilings, &now);
out:
    return status;
}

ak_status ak_session_survey(ak_session *session, ak_error *err)
{
    ak_status status = ak_session_ceilings(session, err);
    return status != AK_OK ? status
                           : ak_pool_baselines(&session->baselines, &session->baseline_count,
                                               session->pool, err);
}

void ak_session_close(ak_session *session)
{
    ak_pool_close(session->pool);
    ak_baseline_info_free(session->baselines, session->baseline_count);
    ak_free(session->environment_json);
    ak_free(session->ceilings_key);
    *session = (ak_session){0};
}

/* A result this many times above the roofline is wrong, not fast: the kernel did not do the work.
   The factor is not 1 because ceilings measured on a busy machine may be too low by a factor of
   two. */
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

/* Returns the ceilings that apply to the task. If all arguments fit the private caches of its
   threads, the bandwidth is that of the caches, else that of the memory. A working set between the
   two may still exceed the memory's bandwidth; `highest` grants it the caches' bandwidth, which no
   correct kernel can exceed. */
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

ak_status ak_session_place_archived(const ak_session *session, ak_archive *archive, ak_error *err)
{
    const ak_task *task = session->task;
    ak_ceilings ceilings = ceilings_for(session, false);
    ak_archive_filter of = {.kernel = task->problem->name,
                            .implementation = task->implementation->name,
                            .device = task->device,
                            .size = task->size_text,
                            .dtype = ak_dtype_text(task->dtype),
                            .choices = task->choices_text,
                            .environment = session->environment};
    return ak_archive_place(archive, &of, ceilings.peak_tflops, ak_roofline_bandwidth(&ceilings),
                            err);
}

/* Returns the declared traffic of a problem, or the bytes of its arguments, which it reads or
   writes in any case. */
static double traffic_of(const ak_task *task)
{
    double arguments = 0;
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        arguments += (double)task->shape.bytes[i];
    }
    return task->shape.traffic > 0 ? task->shape.traffic : arguments;
}

bool ak_session_implausible(char why[AK_IMPLAUSIBLE_BYTES], const ak_session *session, double ms)
{
    const ak_task *task = session->task;
    ak_roofline roof;
    ak_ceilings ceilings = ceilings_for(session, true);
    ak_roofline_of(&roof, &ceilings, task->shape.flops, traffic_of(task), ms);
    if (!(roof.efficiency > IMPLAUSIBLE)) {
        return false;
    }
    (void)ak_number_print(why, AK_IMPLAUSIBLE_BYTES,
                          "%.3g times as fast as this device can be: it cannot have done the work",
                          roof.efficiency);
    return true;
}

/* Returns the used share of the arithmetic units' work at the measured clock, or 0 if unknown.
   Because the clock is divided out, the share depends on the kernel and not on how fast the device
   was clocked. */
static double utilisation_of(const ak_task *task, const ak_roofline *roof, double ms, double mhz)
{
    const ak_backend_ops *backend;
    if (ak_backend_find(&backend, task->backend, NULL) != AK_OK ||
        backend->flops_per_clock == NULL) {
        return 0;
    }
    double rate = backend->flops_per_clock(task->constants, ak_task_operands(task));
    double most = rate * mhz * 1e3; /* operations per millisecond */
    return roof->memory_bound || most <= 0 || ms <= 0 ? 0 : task->shape.flops / ms / most;
}

void ak_session_reach(ak_roofline *out, double *utilisation, const ak_session *session, double ms,
                      double sm_clock_mhz)
{
    const ak_task *task = session->task;
    ak_ceilings ceilings = ceilings_for(session, false);
    ak_roofline_of(out, &ceilings, task->shape.flops, task->shape.traffic, ms);
    *utilisation = utilisation_of(task, out, ms, sm_clock_mhz);
}

void ak_session_place(ak_placement *out, const ak_session *session, double ms)
{
    const ak_task *task = session->task;
    ak_ceilings ceilings = ceilings_for(session, false);
    bool cache = ak_roofline_bandwidth(&ceilings) > ak_roofline_bandwidth(&session->ceilings);
    ak_place(out, &ceilings, task->shape.flops, task->shape.traffic, ms, cache);
    out->memory_gbs = ak_roofline_bandwidth(&session->ceilings);
}

static bool set_text(char **slot, const char *text)
{
    ak_free(*slot);
    *slot = ak_strdup(text);
    return *slot != NULL || text == NULL;
}

/* Places a trial on the roofline and rejects it if it is implausibly fast. Returns false without
   memory. */
static bool place_trial(ak_trial *trial, const ak_session *session)
{
    ak_roofline roof;
    ak_session_reach(&roof, &trial->utilisation, session, trial->median_ms, trial->sm_clock_mhz);
    trial->tflops = roof.tflops;
    trial->gbs = roof.gbs;
    trial->efficiency = roof.efficiency;
    bool good = set_text(&trial->bound, roof.memory_bound ? "memory" : "compute");
    char why[AK_IMPLAUSIBLE_BYTES];
    if (ak_session_implausible(why, session, trial->median_ms)) {
        trial->status = AK_TRIAL_REJECTED;
        good = good && set_text(&trial->reason, why);
    }
    return good;
}

/* Computes the cost at the medians and, as an interval, the least and the most of it where time and
   energy are at the ends of theirs. A trial that has no cost fails. */
static ak_status set_cost(ak_trial *trial, const ak_session *session, const ak_config *config,
                          ak_error *err)
{
    const ak_task *task = session->task;
    ak_scope *scope = NULL;
    ak_error why = AK_ERROR_INIT;
    ak_objective_facts facts = {.ms = trial->median_ms,
                                .joules = trial->joules,
                                .flops = task->shape.flops,
                                .traffic = task->shape.traffic,
                                .has_code = true,
                                .registers = trial->registers,
                                .shared_bytes = trial->shared_bytes,
                                .spill_bytes = trial->spill_bytes,
                                .code_bytes = trial->code_bytes};
    AK_DO(ak_task_scope(&scope, task, &task->shape, config, err));
    ak_status status = ak_objective_cost(&trial->cost, task->objective, scope, &facts, &why);
    trial->cost_low = trial->cost_high = trial->cost;
    const double times[] = {trial->ci_low_ms, trial->ci_high_ms};
    const double energies[] = {trial->joules_low, trial->joules_high};
    for (int i = 0; status == AK_OK && i < 4; i++) {
        double cost;
        facts.ms = times[i / 2] > 0 ? times[i / 2] : trial->median_ms;
        facts.joules = energies[i % 2] > 0 ? energies[i % 2] : trial->joules;
        if (ak_objective_cost(&cost, task->objective, scope, &facts, NULL) == AK_OK) {
            trial->cost_low = cost < trial->cost_low ? cost : trial->cost_low;
            trial->cost_high = cost > trial->cost_high ? cost : trial->cost_high;
        }
    }
    ak_scope_free(scope);
    if (status != AK_OK && status != AK_NO_MEMORY) {
        trial->status = AK_TRIAL_REJECTED;
        trial->cost = trial->cost_low = trial->cost_high = 0;
        return set_text(&trial->reason, why.text) ? AK_OK : ak_fail_memory(err);
    }
    return status == AK_OK ? AK_OK : ak_fail_memory(err);
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
        good = place_trial(trial, session);
        if (good && task->objective != NULL && trial->status == AK_TRIAL_OK && trial->cost <= 0) {
            return set_cost(trial, session, config, err);
        }
    }
    return good ? AK_OK : ak_fail_memory(err);
}

ak_status ak_session_wait(ak_result *out, ak_session *session, uint64_t first, size_t count,
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
    ak_status status = AK_OK;
    ak_result result = {0};
    uint64_t first = session->next_job;
    for (size_t i = 0; i < count; i++) {
        out[i] = (ak_trial){0};
    }
    for (size_t i = 0; i < count; i++) {
        ak_job job = {.kind = AK_JOB_CHECK, .id = session->next_job++, .config = configs[i]};
        AK_TRY(ak_pool_submit(session->pool, &job, err));
    }
    for (size_t i = 0; i < count; i++) {
        AK_TRY(ak_session_wait(&result, session, first, count, err));
        size_t at = (size_t)(result.id - first);
        assert(at < count);
        out[at] = result.trial;
        result.trial = (ak_trial){0};
        AK_TRY(ak_session_sanitize(&out[at], session, &configs[at], err));
        AK_TRY(ak_session_complete(&out[at], session, &configs[at], run, err));
        ak_result_clear(&result);
    }
out:
    ak_result_clear(&result);
    for (size_t i = 0; status != AK_OK && status != AK_CANCELLED && i < count; i++) {
        ak_trial_clear(&out[i]);
    }
    return status;
}
