/*
 * pool_outcome.c: keeps the outcomes of trials, because configurations that compile to the same
 * code need not be measured twice; see pool_state.h.
 *
 * An outcome is kept under the hash of the code and of everything else that decides how a trial
 * checks and runs it: the implementation, whether edge-case shapes are run at all, and at the
 * task's own shape and at each edge-case shape whether the configuration may run there, with how
 * much workspace, how many threads and which launches. What is the same for the whole pool, such as
 * the objective, needs no place in the key. The outcome of a check, which also runs hidden shapes,
 * is never shared.
 */
#include "worker/pool_state.h"

#include <string.h>

#include "archive/field.h"
#include "backend/launch/launch.h"
#include "base/hash.h"

/* Replaces the hash of a unit whose outcome cannot be shared. */
#define ALONE "alone"

/* Adds the workspace, the threads and the launches of a configuration at a shape. Returns false if
   an expression for them has no value here. One that asks how many clusters of the compiled code
   the device runs at once has none, because only a device worker knows that. */
static bool add_shape(ak_hasher *hasher, const ak_pool_unit *u, const ak_shape *shape)
{
    size_t workspace = 0;
    int threads = 0;
    if (ak_task_workspace(&workspace, &threads, u->task, shape, &u->config, NULL) != AK_OK) {
        return false;
    }
    ak_hasher_add(hasher, &workspace, sizeof workspace);
    ak_hasher_add(hasher, &threads, sizeof threads);
    if (u->task->implementation->launch == NULL) {
        return true;
    }
    ak_launch_plan plan;
    bool good = ak_launch_evaluate(&plan, u->task, shape, &u->config, NULL, NULL) == AK_OK;
    if (good) {
        ak_launch_add(hasher, &plan);
    }
    return good;
}

/* Adds at which edge-case shapes a configuration runs, and how. Returns false as add_shape does. */
static bool add_edge_cases(ak_hasher *hasher, const ak_pool_unit *u)
{
    const ak_problem *problem = u->task->problem;
    for (size_t i = 0; i < problem->edge_case_count; i++) {
        ak_shape shape;
        bool may = false;
        if (ak_task_shape(&shape, u->task, problem->edge_cases[i], NULL) != AK_OK ||
            ak_task_allows(&may, u->task, &shape, &u->config, NULL) != AK_OK) {
            return false;
        }
        ak_hasher_add(hasher, &may, sizeof may);
        if (may && !add_shape(hasher, u, &shape)) {
            return false;
        }
    }
    return true;
}

/* Writes the hash of how a unit's code is run. Writes ALONE if an expression has no value at some
   shape, because the reason of that failure names the configuration, and if there is no memory. */
static void find_conduct(char out[AK_HASH_BYTES], const ak_pool_unit *u)
{
    ak_hasher *hasher = ak_hasher_new();
    ak_hasher_add_text(hasher, u->task->implementation->name);
    ak_hasher_add(hasher, &u->specialised, sizeof u->specialised);
    bool good =
        add_shape(hasher, u, &u->task->shape) && (u->specialised || add_edge_cases(hasher, u));
    ak_hasher_end(out, hasher);
    if (!good || out[0] == 0) {
        (void)snprintf(out, AK_HASH_BYTES, "%s", ALONE);
    }
}

/* Writes the key of a unit's outcome. Returns false if the outcome must not be shared. */
static bool outcome_key(char out[2 * AK_HASH_BYTES], ak_pool_unit *u)
{
    if (u->compiled.artifact_hash[0] == 0) {
        return false;
    }
    if (u->conduct[0] == 0) {
        find_conduct(u->conduct, u);
    }
    (void)snprintf(out, 2 * AK_HASH_BYTES, "%s:%s", u->compiled.artifact_hash, u->conduct);
    return strcmp(u->conduct, ALONE) != 0;
}

const ak_pool_outcome *ak_pool_outcome_of(const ak_pool *pool, ak_pool_unit *u)
{
    char key[2 * AK_HASH_BYTES];
    size_t known = 0;
    return outcome_key(key, u) && ak_map_get(&known, pool->outcome_of, key) ? &pool->outcomes[known]
                                                                            : NULL;
}

ak_status ak_pool_outcome_keep(ak_pool *pool, ak_pool_unit *u, const ak_result *result,
                               ak_error *err)
{
    char key[2 * AK_HASH_BYTES];
    if (!outcome_key(key, u) || ak_map_get(NULL, pool->outcome_of, key)) {
        return AK_OK;
    }
    AK_DO(AK_GROW(pool->outcomes, &pool->outcome_capacity, pool->outcome_count + 1, err));
    AK_AT_END(ak_trial_clear) ak_trial made = {0};
    AK_DO(ak_trial_copy_fields(&made, &result->trial, AK_FIELD_BY_JUDGE | AK_FIELD_BY_DEVICE, err));
    AK_DO(ak_map_put(pool->outcome_of, key, pool->outcome_count, err));
    ak_pool_outcome *kept = &pool->outcomes[pool->outcome_count++];
    kept->waited = result->waited;
    AK_GIVE(&kept->trial, made);
    return AK_OK;
}
