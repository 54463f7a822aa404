/* pool_recall.c: answers the jobs of a pool without processes from a recording. Of the jobs only
   trials advance the clock; checks and comparisons cost nothing, because they repeat recorded
   results. A comparison with a library fails. */
#include "worker/pool_state.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"

bool ak_pool_recalls(const ak_pool *pool)
{
    return pool->recorded != NULL;
}

int64_t ak_pool_now_ns(const ak_pool *pool)
{
    return ak_pool_recalls(pool) ? pool->now_ns : ak_clock_ns();
}

void ak_pool_pass_ns(ak_pool *pool, int64_t ns)
{
    pool->now_ns += ns > 0 ? ns : 0;
}

static ak_status recall(ak_trial *out, ak_pool *pool, const ak_pool_job *j, size_t candidate,
                        ak_error *err)
{
    return pool->backend->recall(out, pool->recorded, &pool->units[j->units[candidate]].config,
                                 err);
}

static ak_status recall_comparison(ak_result *result, ak_pool *pool, const ak_pool_job *j,
                                   ak_error *err)
{
    ak_status status = AK_OK;
    AK_DO(AK_NEW(result->entries, j->count, err));
    result->entry_count = j->count;
    for (size_t i = 0; i < j->count && status == AK_OK; i++) {
        ak_trial trial = {0};
        ak_comparison_entry *entry = &result->entries[i];
        AK_FAIL_IF(j->units[i] == AK_POOL_NONE, err, AK_INVALID,
                   "%s: a recording holds no libraries", j->baselines[i]);
        status = recall(&trial, pool, j, i, err);
        entry->status = trial.status;
        entry->reason = trial.reason;
        entry->samples_ms = trial.samples_ms;
        entry->sample_count = trial.sample_count;
    }
    return status;
}

ak_status ak_pool_recall(ak_pool *pool, ak_error *err)
{
    assert(pool->job_count > 0);
    ak_pool_job *j = pool->jobs[0];
    ak_result result = {.id = j->id, .kind = j->kind};
    ak_status status = j->kind == AK_JOB_COMPARISON ? recall_comparison(&result, pool, j, err)
                                                    : recall(&result.trial, pool, j, 0, err);
    if (status == AK_OK && j->kind == AK_JOB_CHECK) {
        ak_trial checked = {.status = result.trial.status, .reason = result.trial.reason};
        result.trial.reason = NULL;
        ak_trial_clear(&result.trial);
        result.trial = checked;
    }
    if (status != AK_OK) {
        ak_result_clear(&result);
        return status;
    }
    ak_pool_pass_ns(pool, result.trial.measure_ns);
    ak_pool_job_leave(pool, j);
    return ak_pool_give(pool, &result, err);
}
