/* resume.c: reads what the archive already has of the task that a run is about to tune. */
#include <string.h>

#include "archive/archive.h"
#include "archive/field.h"
#include "base/alloc.h"
#include "tuner/run.h"

typedef struct resume {
    ak_tuning *r;
    ak_set *known; /* keys of the configurations found so far */
    size_t count;
    bool counting; /* only count, because no strategy is open yet */
    ak_status status;
    ak_error *err;
} resume;

/* Returns true if the failure may be the machine's fault, so that the configuration may be tried
   again. */
static bool may_be_tried_again(const ak_trial *trial)
{
    return trial->status == AK_TRIAL_TIMED_OUT || trial->status == AK_TRIAL_CRASHED ||
           trial->status == AK_TRIAL_OUT_OF_MEMORY;
}

static bool resume_one(void *context, const ak_trial *trial)
{
    resume *state = context;
    ak_tuning *r = state->r;
    ak_config config;
    bool fresh = false;
    if (ak_config_parse(&config, r->task->space, trial->config, NULL) != AK_OK) {
        return true; /* belongs to an earlier version of the space */
    }
    if (may_be_tried_again(trial)) {
        return true;
    }
    state->status =
        ak_set_add(&fresh, state->known, ak_config_key(r->task->space, &config), state->err);
    if (state->status == AK_OK && fresh) {
        state->count++;
        state->status =
            state->counting ? AK_OK : ak_tuning_remember(r, &config, trial, false, state->err);
    }
    return state->status == AK_OK;
}

/* Visits the archived trials of this task and environment. */
static ak_status visit_known(resume *state, ak_error *err)
{
    const ak_tuning *r = state->r;
    if (!r->options->resume || r->archive == NULL) {
        return AK_OK;
    }
    const ak_archive_filter filter = ak_session_filter(&r->session);
    state->err = err;
    AK_DO(ak_archive_each(r->archive, &filter, resume_one, state, err));
    return state->status;
}

ak_status ak_tuning_reduce_budget(ak_tuning *r, ak_error *err)
{
    resume state = {.r = r, .known = ak_set_new(), .counting = true};
    ak_status status = state.known == NULL ? ak_fail_memory(err) : visit_known(&state, err);
    r->evaluations -= state.count < r->evaluations ? state.count : r->evaluations;
    ak_set_free(state.known);
    return status;
}

/* Counts the trials of the task in other environments than this one. */
typedef struct others {
    ak_tuning *r;
    const char *environment;
    char *last; /* the environment that was looked at last, */
    bool same,
        only_source; /* whether it is this one, and whether only the kernel's source differs */
    ak_status status;
    ak_error *err;
} others;

static bool count_other(void *context, const ak_trial *trial)
{
    others *o = context;
    if (trial->environment == NULL || strcmp(trial->environment, o->environment) == 0) {
        return true;
    }
    if (o->last == NULL || strcmp(o->last, trial->environment) != 0) {
        o->status = ak_archive_same_environment(&o->same, o->r->archive, trial->environment,
                                                o->environment, o->err);
        o->status = o->status == AK_OK
                        ? ak_archive_same_but_source(&o->only_source, o->r->archive,
                                                     trial->environment, o->environment, o->err)
                        : o->status;
        o->status =
            o->status == AK_OK ? ak_trial_set(&o->last, trial->environment, o->err) : o->status;
    }
    o->r->outdated += !o->same && o->only_source ? 1 : 0;
    o->r->elsewhere += !o->same && !o->only_source ? 1 : 0;
    return o->status == AK_OK;
}

static ak_status count_others(ak_tuning *r, ak_error *err)
{
    ak_archive_filter filter = ak_session_filter(&r->session);
    others o = {.r = r, .environment = filter.environment, .status = AK_OK, .err = err};
    if (!r->options->resume || r->archive == NULL || filter.environment == NULL) {
        return AK_OK;
    }
    filter.environment = NULL;
    ak_status status = ak_archive_each(r->archive, &filter, count_other, &o, err);
    ak_free(o.last);
    return status == AK_OK ? o.status : status;
}

ak_status ak_tuning_resume(ak_tuning *r, ak_error *err)
{
    resume state = {.r = r, .known = r->submitted};
    AK_DO(visit_known(&state, err));
    r->result->resumed = state.count;
    return count_others(r, err);
}
