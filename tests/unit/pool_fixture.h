/* pool_fixture.h: waits for the results of a pool's jobs. Include cmocka.h before it. */
#ifndef AK_TEST_POOL_FIXTURE_H
#define AK_TEST_POOL_FIXTURE_H

#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "worker/pool_state.h"

/* The longest wait for a result. Even on a busy machine a correct pool gives one sooner. */
#define WAIT_NS (240 * AK_SECOND_NS)

static inline ak_result wait_one(ak_pool *pool)
{
    ak_result result = {0};
    ak_error err = AK_ERROR_INIT;
    if (ak_pool_wait(&result, pool, WAIT_NS, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

/* Returns how many pending jobs are not compiled yet. */
static inline size_t count_compiling(const ak_pool *pool)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->job_count; i++) {
        count += ak_pool_job_compiled(pool, pool->jobs[i]) ? 0 : 1;
    }
    return count;
}

/* On a busy machine a candidate may be left unjudged. It is then submitted again, at most this many
   times. */
#define UNJUDGED_MAX 50

static inline bool is_unjudged(ak_trial_status status, const char *reason)
{
    return status == AK_TRIAL_TIMED_OUT && reason != NULL &&
           strncmp(reason, AK_NOT_JUDGED, sizeof AK_NOT_JUDGED - 1) == 0;
}

/* Fails the test unless the candidate ended with this status and, unless the text is NULL, with a
   reason that contains it. */
static inline void expect_fate(const ak_result *result, const char *candidate,
                               ak_trial_status status, const char *part)
{
    const char *reason = result->trial.reason == NULL ? "" : result->trial.reason;
    if (result->trial.status != status || (part != NULL && strstr(reason, part) == NULL)) {
        fail_msg("%s: expected %s, got %s: %s", candidate, ak_trial_status_text(status),
                 ak_trial_status_text(result->trial.status), reason);
    }
}

#endif
