/* tester.c: one configuration at a time, and configurations against libraries. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tuner/warning.h"

struct ak_tester {
    ak_session session;
};

ak_status ak_tester_open(ak_tester **out, const ak_task *task, ak_error *err)
{
    ak_tester *tester = ak_alloc(1, sizeof *tester);
    if (tester == NULL) {
        return ak_fail_memory(err);
    }
    ak_session_options options = {.compile_workers = 1};
    ak_status status = ak_session_open(&tester->session, task, &options, err);
    if (status == AK_OK) {
        status = ak_session_survey(&tester->session, err);
    }
    if (status != AK_OK) {
        ak_tester_close(tester);
        return status;
    }
    *out = tester;
    return AK_OK;
}

void ak_tester_close(ak_tester *tester)
{
    if (tester != NULL) {
        ak_session_close(&tester->session);
        ak_free(tester);
    }
}

static ak_status run_job(ak_trial *out, ak_tester *tester, const ak_config *config,
                         ak_job_kind kind, ak_error *err)
{
    ak_session *session = &tester->session;
    if (!ak_space_has(session->task->space, config)) {
        return ak_fail(err, AK_INVALID, "the configuration is not in the space of %s",
                       session->task->implementation->where);
    }
    ak_job job = {.kind = kind, .id = session->next_job++, .config = *config};
    ak_result result = {0};
    ak_status status = ak_pool_submit(session->pool, &job, err);
    if (status == AK_OK) {
        status = ak_pool_wait(&result, session->pool, 3600 * AK_SECOND_NS, err);
    }
    if (status == AK_OK) {
        status = ak_session_complete(&result.trial, session, config, NULL, err);
    }
    if (status == AK_OK) {
        *out = result.trial;
        result.trial = (ak_trial){0};
    }
    ak_result_clear(&result);
    return status;
}

ak_status ak_tester_run(ak_trial *out, ak_tester *tester, const ak_config *config, ak_error *err)
{
    return run_job(out, tester, config, AK_JOB_TRIAL, err);
}

ak_status ak_tester_check(ak_trial *out, ak_tester *tester, const ak_config *config, ak_error *err)
{
    return run_job(out, tester, config, AK_JOB_CHECK, err);
}

ak_status ak_compare(ak_comparison *out, const ak_task *task, const ak_config *configs,
                     const char *const *names, size_t count, bool baselines, double seconds,
                     ak_error *err)
{
    ak_session session;
    ak_session_options options = {.compile_workers = 0};
    ak_status status = ak_session_open(&session, task, &options, err);
    if (status != AK_OK) {
        return status;
    }
    ak_duelist *duelists = NULL;
    const char **titles = NULL;
    size_t all = 0;
    status = ak_session_survey(&session, err);
    if (status == AK_OK) {
        duelists = ak_alloc(session.baseline_count + count, sizeof *duelists);
        titles = ak_alloc(session.baseline_count + count, sizeof *titles);
        if (duelists == NULL || titles == NULL) {
            status = ak_fail_memory(err);
        }
    }
    for (size_t i = 0; status == AK_OK && baselines && i < session.baseline_count; i++) {
        if (session.baselines[i].installed) {
            duelists[all] = (ak_duelist){.baseline = session.baselines[i].name};
            titles[all++] = session.baselines[i].title;
        }
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        duelists[all] = (ak_duelist){.config = &configs[i]};
        titles[all++] = names[i];
    }
    if (status == AK_OK && all == 0) {
        status = ak_fail(err, AK_NOT_FOUND,
                         "nothing to measure: no configuration was given and no library that "
                         "applies is installed (see autokernel doctor)");
    }
    if (status == AK_OK) {
        ak_duel_spec spec = {.duelists = duelists,
                             .names = titles,
                             .count = all,
                             .pace = ak_session_pace(&session),
                             .seconds = seconds > 0 ? seconds : 1.0 * (double)all};
        size_t reference;
        ak_contestant *list;
        status = ak_session_duel(&list, &reference, &session, &spec, err);
        ak_warnings warnings = {0};
        if (status == AK_OK) {
            status = ak_warn_conditions(&warnings, list, all, err);
            if (status != AK_OK) {
                ak_contestants_free(list, all);
                ak_warnings_free(&warnings);
            }
        }
        if (status == AK_OK) {
            out->contestants = list;
            out->count = all;
            out->warnings = warnings.texts;
            out->warning_count = warnings.count;
        }
    }
    ak_free(duelists);
    ak_free(titles);
    ak_session_close(&session);
    return status;
}
