/* pool_job.c: submits jobs and makes their results; see pool_state.h. */
#include "worker/pool_state.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define CONFIG_TEXT_MAX 4096
#define KEY_MAX         (CONFIG_TEXT_MAX + 128) /* with the name of the implementation */

void ak_result_clear(ak_result *result)
{
    ak_trial_clear(&result->trial);
    ak_free(result->log);
    AK_CLEAR_EACH(ak_comparison_entry_clear, result->entries, result->entry_count);
    ak_free(result->entries);
    *result = (ak_result){0};
}

ak_status ak_pool_give(ak_pool *pool, ak_result *result, ak_error *err)
{
    ak_status status = AK_GROW(pool->results, &pool->result_capacity, pool->result_count + 1, err);
    if (status != AK_OK) {
        ak_result_clear(result);
        return status;
    }
    pool->results[pool->result_count++] = *result;
    *result = (ak_result){0};
    return AK_OK;
}

/* ---- jobs ---------------------------------------------------------------------------------- */

void ak_pool_job_free(ak_pool_job *j)
{
    if (j != NULL) {
        for (size_t i = 0; j->baselines != NULL && i < j->count; i++) {
            ak_free(j->baselines[i]);
        }
        AK_FREE_ALL(j->baselines, j->units, j);
    }
}

void ak_pool_job_leave(ak_pool *pool, ak_pool_job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        if (j->units[i] != AK_POOL_NONE) {
            assert(pool->units[j->units[i]].users > 0);
            pool->units[j->units[i]].users--;
        }
    }
    for (size_t i = 0; i < pool->job_count; i++) {
        if (pool->jobs[i] == j) {
            memmove(pool->jobs + i, pool->jobs + i + 1,
                    (pool->job_count - i - 1) * sizeof *pool->jobs);
            pool->job_count--;
            break;
        }
    }
    ak_pool_job_free(j);
}

ak_status ak_pool_job_end(ak_pool *pool, ak_pool_job *j, ak_result *result, ak_status status,
                          ak_error *err)
{
    if (status == AK_OK) {
        status = ak_pool_give(pool, result, err);
    } else {
        ak_result_clear(result);
    }
    ak_pool_job_leave(pool, j);
    return status;
}

/* If the pool has an `options.artifact`, and so compiles nothing, gives a unit a copy of that file.
   The pool deletes the copy. */
static ak_status take_artifact(ak_pool_unit *u, ak_pool *pool, ak_error *err)
{
    AK_FREED char *code = NULL;
    size_t length = 0;
    if (pool->options.artifact == NULL) {
        return AK_OK;
    }
    AK_DO(ak_fs_read(&code, &length, pool->options.artifact, AK_ARTIFACT_MAX, err));
    AK_DO(ak_fs_write(u->artifact, code, length, err));
    u->state = AK_UNIT_COMPILED;
    u->compiled = (ak_compile_result){.status = AK_TRIAL_OK};
    pool->artifacts++;
    return AK_OK;
}

/* Writes a unit's key: 'o' for code that is specialised for the task's own sizes or 'e' for code
   that runs at every size, the implementation, and the configuration, to which *text points.
   Returns false if the key would be too long. */
static bool unit_key(char out[KEY_MAX], const char **text, const ak_task *task,
                     const ak_config *config, bool specialised)
{
    int length = snprintf(out, KEY_MAX - CONFIG_TEXT_MAX, "%c%s ", specialised ? 'o' : 'e',
                          task->implementation->name);
    *text = out + length;
    return length < KEY_MAX - CONFIG_TEXT_MAX &&
           ak_config_format(out + length, CONFIG_TEXT_MAX, task->space, config) < CONFIG_TEXT_MAX;
}

/* Finds the unit of a configuration, or adds it. A unit whose artifact was deleted waits to be
   compiled again. */
static ak_status unit_for(size_t *out, ak_pool *pool, const ak_task *task, const ak_config *config,
                          bool specialised, ak_error *err)
{
    char key[KEY_MAX], name[64], path[AK_PATH_MAX];
    const char *text;
    AK_FAIL_IF(!unit_key(key, &text, task, config, specialised), err, AK_LIMIT,
               "a configuration is longer than %d bytes", CONFIG_TEXT_MAX);
    if (ak_map_get(out, pool->unit_of, key)) {
        ak_pool_unit *known = &pool->units[*out];
        known->users++; /* also on failure: the caller then releases all units of the job */
        if (known->state == AK_UNIT_COMPILED && known->deleted) {
            ak_compile_result_clear(&known->compiled);
            known->state = AK_UNIT_WAITING;
            known->deleted = false;
            AK_DO(take_artifact(known, pool, err));
        }
        if (known->state == AK_UNIT_WAITING && *out < pool->next_unit) {
            pool->next_unit = *out;
        }
        return AK_OK;
    }
    AK_DO(AK_GROW(pool->units, &pool->unit_capacity, pool->unit_count + 1, err));
    (void)snprintf(name, sizeof name, "%zu%s", pool->unit_count,
                   ak_pool_recalls(pool) ? "" : pool->backend->artifact_suffix);
    AK_DO(ak_fs_join(path, pool->folder.path, name, err));
    ak_pool_unit made = {.state = AK_UNIT_WAITING,
                         .task = task,
                         .config = *config,
                         .specialised = specialised,
                         .text = ak_strdup(text),
                         .artifact = ak_strdup(path),
                         .place = AK_POOL_NONE,
                         .users = 1};
    if (made.text == NULL || made.artifact == NULL ||
        ak_map_put(pool->unit_of, key, pool->unit_count, err) != AK_OK) {
        AK_FREE_ALL(made.text, made.artifact);
        return ak_fail_memory(err);
    }
    *out = pool->unit_count;
    pool->units[pool->unit_count++] = made;
    return take_artifact(&pool->units[*out], pool, err);
}

bool ak_pool_artifact(char out[AK_PATH_MAX], const ak_pool *pool, const ak_config *config)
{
    for (int specialised = 0; specialised < 2; specialised++) {
        char key[KEY_MAX];
        const char *text;
        size_t at;
        if (!ak_pool_recalls(pool) && unit_key(key, &text, pool->task, config, specialised != 0) &&
            ak_map_get(&at, pool->unit_of, key)) {
            const ak_pool_unit *u = &pool->units[at];
            if (u->state == AK_UNIT_COMPILED && u->compiled.status == AK_TRIAL_OK && !u->deleted &&
                u->place == AK_POOL_NONE) {
                (void)snprintf(out, AK_PATH_MAX, "%s", u->artifact);
                return true;
            }
        }
    }
    return false;
}

static ak_status job_fill(ak_pool_job *j, ak_pool *pool, const ak_job *from, ak_error *err)
{
    for (size_t i = 0; i < j->count; i++) {
        const ak_task *named =
            from->kind == AK_JOB_COMPARISON ? from->candidates[i].task : from->task;
        const ak_task *task = named != NULL ? named : pool->task;
        const bool specialised = from->specialised && task->implementation->specialised;
        j->units[i] = AK_POOL_NONE;
        if (from->kind != AK_JOB_COMPARISON) {
            AK_DO(unit_for(&j->units[i], pool, task, &from->config, specialised, err));
        } else if (from->candidates[i].baseline != NULL) {
            AK_DO(ak_copy_text(&j->baselines[i], from->candidates[i].baseline, err));
        } else if (from->candidates[i].config != NULL) {
            AK_DO(unit_for(&j->units[i], pool, task, from->candidates[i].config, specialised, err));
        } else {
            return ak_fail(err, AK_INVALID,
                           "candidate %zu is neither a library nor a configuration", i + 1);
        }
    }
    return AK_OK;
}

ak_status ak_pool_submit(ak_pool *pool, const ak_job *from, ak_error *err)
{
    size_t count = from->kind == AK_JOB_COMPARISON ? from->candidate_count : 1;
    AK_FAIL_IF(count == 0, err, AK_INVALID, "a comparison needs at least one candidate");
    ak_pool_job *j;
    AK_DO(AK_NEW(j, 1, err));
    *j = (ak_pool_job){.kind = from->kind,
                       .on = AK_POOL_NONE,
                       .id = from->id,
                       .timer = from->timer,
                       .plan = from->plan,
                       .units = ak_alloc(count, sizeof *j->units),
                       .baselines = ak_alloc(count, sizeof *j->baselines)};
    ak_status status = AK_OK;
    AK_TRY(AK_GROW(pool->jobs, &pool->job_capacity, pool->job_count + 1, err));
    AK_TRY(ak_stored(j->units != NULL && j->baselines != NULL, err));
    for (size_t i = 0; i < count; i++) {
        j->units[i] = AK_POOL_NONE;
    }
    j->count = count;
    AK_TRY(job_fill(j, pool, from, err));
    pool->jobs[pool->job_count++] = j;
    ak_pool_compile(pool);
out:
    if (status != AK_OK) {
        ak_pool_job_leave(pool, j);
    }
    return status;
}

/* Returns whether a configuration of the job is in this state. */
static bool has_unit(const ak_pool *pool, const ak_pool_job *j, ak_unit_state state)
{
    bool found = false;
    assert(j->count > 0); /* ak_pool_submit refuses an empty comparison */
    for (size_t i = 0; i < j->count; i++) {
        found = found || (j->units[i] != AK_POOL_NONE && pool->units[j->units[i]].state == state);
    }
    return found;
}

bool ak_pool_job_compiled(const ak_pool *pool, const ak_pool_job *j)
{
    return !has_unit(pool, j, AK_UNIT_WAITING) && !has_unit(pool, j, AK_UNIT_COMPILING);
}

void ak_pool_withdraw(ak_pool *pool)
{
    for (size_t i = pool->job_count; i > 0; i--) {
        ak_pool_job *j = pool->jobs[i - 1];
        if (j->on == AK_POOL_NONE && !has_unit(pool, j, AK_UNIT_COMPILING)) {
            ak_pool_job_leave(pool, j);
        }
    }
}

size_t ak_pool_pending(const ak_pool *pool)
{
    return pool->job_count + pool->result_count - pool->result_first;
}

size_t ak_pool_given_up(const ak_pool *pool)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->device_count; i++) {
        count += pool->devices[i].state == AK_DEVICE_GIVEN_UP ? 1 : 0;
    }
    return count;
}

const char *ak_pool_given_up_why(const ak_pool *pool)
{
    return pool->gone;
}

size_t ak_pool_devices(const ak_pool *pool)
{
    return pool->device_count;
}

size_t ak_pool_device_named(const ak_pool *pool, const char *name)
{
    for (size_t i = 0; name != NULL && i < pool->device_count; i++) {
        if (strcmp(pool->devices[i].name, name) == 0) {
            return i;
        }
    }
    return 0;
}

ak_status ak_pool_result_begin(ak_result *out, const ak_pool *pool, const ak_pool_job *j,
                               ak_error *err)
{
    *out = (ak_result){.id = j->id, .kind = j->kind, .device = j->on};
    if (j->kind == AK_JOB_COMPARISON) {
        return AK_OK;
    }
    const ak_pool_device *d = j->on == AK_POOL_NONE ? NULL : &pool->devices[j->on];
    if (d != NULL) {
        AK_DO(ak_copy_text(&out->trial.measured_on, d->name, err));
        AK_DO(ak_copy_text(&out->trial.device_uuid, d->uuid[0] == 0 ? NULL : d->uuid, err));
    }
    const ak_pool_unit *u = &pool->units[j->units[0]];
    const ak_compile_result *compiled = &u->compiled;
    if (u->compile_worker > 0) {
        out->trial.compile_worker = u->compile_worker;
        out->trial.compiled_before_ns = ak_clock_ns() - u->ended_ns;
    }
    out->trial.compile_ns = compiled->compile_ns;
    out->trial.registers = compiled->registers;
    out->trial.shared_bytes = compiled->shared_bytes;
    out->trial.spill_bytes = compiled->spill_bytes;
    out->trial.code_bytes = compiled->code_bytes;
    /* A bundle compares this hash with its own code, which is not specialised. */
    if (compiled->artifact_hash[0] != 0 && !u->specialised) {
        AK_DO(ak_copy_text(&out->trial.code_hash, compiled->artifact_hash, err));
    }
    memcpy(out->artifact_hash, compiled->artifact_hash, sizeof out->artifact_hash);
    return ak_copy_text(&out->log, compiled->log, err);
}

ak_status ak_pool_job_fails(ak_pool *pool, ak_pool_job *j, ak_trial_status trial_status,
                            const char *reason, ak_error *err)
{
    ak_result result;
    ak_status status = ak_pool_result_begin(&result, pool, j, err);
    if (status == AK_OK && j->kind == AK_JOB_COMPARISON) {
        result.entries = ak_alloc(j->count, sizeof *result.entries);
        result.entry_count = result.entries == NULL ? 0 : j->count;
        result.died = j->on != AK_POOL_NONE;
        status = ak_made(result.entries, err);
        for (size_t i = 0; status == AK_OK && i < j->count; i++) {
            const ak_compile_result *compiled =
                j->units[i] == AK_POOL_NONE ? NULL : &pool->units[j->units[i]].compiled;
            bool refused = compiled != NULL && compiled->status != AK_TRIAL_OK;
            result.entries[i].status = refused ? compiled->status : trial_status;
            result.entries[i].reason = ak_strdup(refused ? compiled->reason : reason);
        }
    } else if (status == AK_OK) {
        result.trial.status = trial_status;
        status = ak_copy_text(&result.trial.reason, reason, err);
    }
    return ak_pool_job_end(pool, j, &result, status, err);
}
