/* resume.c: reads the archived trials of the task that a run is about to tune. */

#include <string.h>

#include "archive/field.h"
#include "tuner/run.h"

typedef struct resume {
    ak_tuning *r;
    ak_set *known;   /* keys of the configurations that are resumed */
    ak_set *refuted; /* keys of the configurations that a check refuted */
    size_t count;
    bool counting; /* only count, because no strategy is open yet */
} resume;

static void forget_refuted(resume *state)
{
    ak_set_free(state->refuted);
}

/* Notes a configuration that a check refuted, before or after a successful trial of it: it may have
   worked in the search, which checks fewer sizes than the finish. One that may be tried again is
   not noted. */
static ak_status note_refuted(void *context, const ak_trial *trial, ak_error *err)
{
    resume *state = context;
    const ak_space *space = state->r->task->space;
    ak_config config;
    if (!ak_trial_refutes(trial) || ak_trial_may_be_tried_again(trial) ||
        ak_config_parse(&config, space, trial->config, NULL) != AK_OK) {
        return AK_OK;
    }
    return ak_set_add(NULL, state->refuted, ak_config_key(space, &config), err);
}

static ak_status resume_one(void *context, const ak_trial *trial, ak_error *err)
{
    resume *state = context;
    ak_tuning *r = state->r;
    ak_config config;
    bool fresh = false;
    if (ak_config_parse(&config, r->task->space, trial->config, NULL) != AK_OK) {
        return AK_OK; /* the space has changed, or --fix leaves this configuration out */
    }
    if (ak_trial_may_be_tried_again(trial) ||
        (trial->status == AK_TRIAL_OK &&
         ak_set_has(state->refuted, ak_config_key(r->task->space, &config)))) {
        return AK_OK;
    }
    AK_DO(ak_set_add(&fresh, state->known, ak_config_key(r->task->space, &config), err));
    state->count += fresh ? 1 : 0;
    if (!fresh || state->counting) {
        return AK_OK;
    }
    if (ak_space_is_default(r->task->space, &config)) {
        ak_tuning_note_default(r, trial);
    }
    return ak_tuning_remember(r, &config, trial, err);
}

/* Visits the archived trials of this task and environment, if the options ask to resume. */
static ak_status visit_known(resume *state, ak_error *err)
{
    const ak_tuning *r = state->r;
    if (!r->options->resume || r->archive == NULL) {
        return AK_OK;
    }
    const ak_archive_filter filter = ak_session_filter(&r->session);
    state->refuted = ak_set_new();
    AK_DO(ak_made(state->refuted, err));
    AK_DO(ak_archive_take(r->archive, &filter, note_refuted, state, err));
    return ak_archive_take(r->archive, &filter, resume_one, state, err);
}

ak_status ak_tuning_reduce_budget(ak_tuning *r, ak_error *err)
{
    AK_AT_END(ak_set_free_at) ak_set *known = ak_set_new();
    AK_AT_END(forget_refuted) resume state = {.r = r, .known = known, .counting = true};
    AK_DO(ak_made(known, err));
    AK_DO(visit_known(&state, err));
    r->known = state.count;
    r->evaluations -= state.count < r->evaluations ? state.count : r->evaluations;
    return AK_OK;
}

/* The state while the task's archived trials from other environments are counted. */
typedef struct others {
    ak_tuning *r;
    const char *environment;
    char *last;             /* the latest environment that was compared with this one */
    bool same, only_source; /* whether `last` is this environment, or differs only in the kernel's
                               source */
} others;

static ak_status count_other(void *context, const ak_trial *trial, ak_error *err)
{
    others *o = context;
    const char *other = trial->environment;
    if (other == NULL || strcmp(other, o->environment) == 0) {
        return AK_OK;
    }
    if (!ak_text_same(o->last, other)) {
        ak_archive *archive = o->r->archive;
        AK_DO(ak_archive_same_environment(&o->same, archive, other, o->environment, err));
        AK_DO(ak_archive_same_but_source(&o->only_source, archive, other, o->environment, err));
        AK_DO(ak_trial_set_text(&o->last, other, err));
    }
    o->r->outdated += !o->same && o->only_source ? 1 : 0;
    o->r->elsewhere += !o->same && !o->only_source ? 1 : 0;
    return AK_OK;
}

static ak_status count_others(ak_tuning *r, ak_error *err)
{
    ak_archive_filter filter = ak_session_filter(&r->session);
    others o = {.r = r, .environment = filter.environment};
    if (!r->options->resume || r->archive == NULL || filter.environment == NULL) {
        return AK_OK;
    }
    filter.environment = NULL;
    ak_status status = ak_archive_take(r->archive, &filter, count_other, &o, err);
    ak_free(o.last);
    return status;
}

ak_status ak_tuning_resume(ak_tuning *r, ak_error *err)
{
    AK_AT_END(forget_refuted) resume state = {.r = r, .known = r->submitted};
    AK_DO(visit_known(&state, err));
    r->result->resumed = state.count;
    return count_others(r, err);
}
