/*
 * tuner.c: leads a run from its beginning to its end:
 *
 *     open the device, its libraries, the strategy and the entry in the archive
 *     resume what the archive already has, and take a first look at the libraries
 *     search (search.c)
 *     finish: measure the best next to the libraries, unless results are recalled, and take the
 *         best candidate (finish.c)
 *     close the strategy, record the result
 */

#include "tuner/elsewhere.h"
#include "tuner/run.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* Sets everything that needs no device and cannot fail. */
static void prepare(ak_tuning *r, const ak_tune_options *options)
{
    static const ak_tune_options defaults = {0};
    r->options = options == NULL ? &defaults : options;
    r->begin_ns = ak_clock_ns() - (int64_t)(1e9 * r->options->spent_seconds);
    r->evaluations = ak_tuning_budget(r);
    r->events = (ak_events){.sink = r->options->sink,
                            .context = r->options->sink_context,
                            .run = r->id,
                            .start_ns = r->begin_ns};
}

const char *ak_tuning_strategy(const ak_tune_options *options)
{
    return options->strategy != NULL ? options->strategy
           : options->llm != NULL    ? "hybrid"
                                     : AK_STRATEGY_DEFAULT;
}

/* Chooses the strategy and refuses impossible requests before anything is opened. */
static ak_status choose_strategy(ak_strategy_choice *out, ak_tuning *r, ak_error *err)
{
    AK_DO(ak_strategy_choose(out, ak_tuning_strategy(r->options), err));
    AK_DO(ak_strategy_text(r->asked, out, err));
    r->ops = out->ops;
    AK_FAIL_IF(out->ops->await != NULL && r->options->llm == NULL, err, AK_INVALID,
               "the strategy %s asks a language model, and none is configured: name one, "
               "such as --llm openai:gpt-5 (docs/llm.md), or leave --strategy out",
               out->ops->name);
    AK_FAIL_IF(out->ops->await == NULL && r->options->llm_must_ask, err, AK_INVALID,
               "the strategy %s asks no language model, so that --llm does nothing: leave "
               "one of them out, or choose --strategy llm or hybrid",
               out->ops->name);
    AK_FAIL_IF(r->task->recorded && r->options->target_speedup > 0, err, AK_INVALID,
               "a recording has no library to beat; leave out --target-speedup");
    return AK_OK;
}

static ak_status open_session(ak_tuning *r, ak_error *err)
{
    const double seconds = r->options->seconds;
    const ak_pool_options options = {.cancel = r->options->cancel,
                                     .every_device = true,
                                     .workers_changed = ak_tuning_note_workers,
                                     .workers_context = r,
                                     .deadline_ns =
                                         seconds > 0 ? r->begin_ns + (int64_t)(1e9 * seconds) : 0};
    AK_DO(ak_session_open(&r->session, r->task, &options, err));
    r->devices = ak_pool_devices(r->session.pool);
    r->devices = r->devices == 0 ? 1 : r->devices;
    if (ak_pool_recalls(r->session.pool)) {
        r->begin_ns = r->events.start_ns = 0; /* the clock of the recording starts at 0 */
    }
    AK_DO(ak_run_advisor_join(&r->advisor, err));
    r->events.pool = r->session.pool;
    return ak_session_survey(&r->session, err);
}

static ak_status open_strategy(ak_tuning *r, const ak_strategy_choice *choice, ak_error *err)
{
    const ak_task *task = r->task;
    ak_strategy_context context = {.space = task->space,
                                   .constants = task->constants,
                                   .kernel = task->problem->name,
                                   .implementation = task->implementation->name,
                                   .rank = task->rank,
                                   .transfer = &r->transfer,
                                   .seed = task->seed,
                                   .evaluations = r->evaluations,
                                   .known = r->known,
                                   .hyper = choice->hyper,
                                   .advisor = &r->advisor.options};
    return ak_strategy_open(&r->strategy, r->ops, &context, err);
}

static ak_status open_run(ak_tuning *r, const ak_strategy_choice *choice, ak_error *err)
{
    r->submitted = ak_set_new();
    AK_DO(ak_made(r->submitted, err));
    r->advisor = (ak_run_advisor){
        .session = &r->session, .events = &r->events, .archive = r->archive, .result = r->result};
    AK_DO(ak_run_advisor_open(&r->advisor, r->options, r->task, r->ops, err));
    AK_DO(open_session(r, err));
    ak_session_rename(r->task, r->archive, r->session.environment, r->session.environment_json);
    AK_DO(ak_tuning_reduce_budget(r, err));
    AK_DO(ak_elsewhere(&r->like, r->task, r->archive, r->options, err));
    ak_transfer_open(&r->transfer, r->like);
    AK_DO(open_strategy(r, choice, err));
    AK_DO(ak_tuning_defer(r, err));
    return ak_tuning_begin_record(r, err);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void close_strategy(ak_tuning *r)
{
    ak_strategy_close(r->strategy);
    r->strategy = NULL;
}

static ak_status conclude(ak_tuning *r, ak_error *err)
{
    AK_FAIL_IF(!r->result->found && r->fault.status != AK_OK, err, r->fault.status, "%s",
               r->fault.text);
    if (r->fault.status != AK_OK) {
        ak_tuning_keep_warning(r, r->fault.text);
    }
    close_strategy(r); /* closing may abandon a call, which still costs and is reported */
    AK_DO(ak_run_advisor_status(&r->advisor, err));
    AK_DO(ak_run_advisor_total(&r->result->llm, &r->advisor, err));
    return ak_tuning_end_record(r, err);
}

static void close_run(ak_tuning *r)
{
    ak_run_advisor_close(&r->advisor);
    ak_session_close(&r->session);
    ak_tuning_note_workers(r, NULL);
    ak_like_free(r->like);
    ak_set_free(r->submitted);
    AK_FREE_ALL(r->history, r->flights);
}

/* Leads a run that is in the archive to its end. */
static ak_status lead(ak_tuning *r, ak_error *err)
{
    AK_DO(ak_tuning_resume(r, err));
    ak_tuning_announce(r);
    AK_DO(ak_tuning_first_look(r, err));
    AK_DO(ak_tuning_search(r, err));
    AK_DO(ak_tuning_finish(r, err));
    return conclude(r, err);
}

ak_status ak_tune(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                  const ak_tune_options *options, ak_error *err)
{
    ak_tune_result result = {0};
    ak_tuning r = {.task = task, .archive = archive, .result = &result};
    ak_strategy_choice choice;
    prepare(&r, options);
    AK_DO(choose_strategy(&choice, &r, err));
    ak_status status = AK_OK;
    AK_TRY(open_run(&r, &choice, err));
    status = lead(&r, err);
    if (status != AK_OK) { /* without an end, the run would look killed */
        result.stopped_by = result.stopped_by == NULL ? "error" : result.stopped_by;
        (void)ak_tuning_end_record(&r, NULL);
    }
out:
    close_strategy(&r);
    ak_status settled = ak_tuning_settle(&r, status == AK_OK ? err : NULL);
    status = status == AK_OK ? settled : status;
    close_run(&r);
    if (status != AK_OK) {
        ak_tune_result_clear(&result);
        return status;
    }
    *out = result;
    return AK_OK;
}
