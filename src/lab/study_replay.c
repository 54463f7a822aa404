/* study_replay.c: runs a study on a recording. The clock advances by the recorded cost of each
   configuration and by the duration of each reply: the one on the tape or, if a model is asked, the
   real one. The replay waits for each reply, so which trials follow does not depend on that
   time. */

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "lab/study.h"
#include "recording/recording.h"
#include "strategy/advisor.h"
#include "strategy/like_read.h"
#include "strategy/transfer.h"
#include "tuner/event.h"

typedef struct replayed {
    /* These members are the same for all runs. */
    ak_study *study;
    const ak_recording *recording;
    const ak_model *model; /* NULL if there is none */
    const ak_like *like;   /* NULL if there is none */
    /* These members belong to one run. */
    const ak_study_arm *arm;
    ak_study_run *run;
    ak_space *space;
    ak_set *tried;
    ak_strategy *strategy;
    ak_transfer transfer;
    ak_study_point now;
    ak_error lost; /* set if memory ran out while the strategy gave a notice */
} replayed;

static void tell(void *context, const ak_call *call)
{
    replayed *r = context;
    r->now.seconds += (double)call->elapsed_ns / 1e9;
    r->now.usd += call->cost_usd;
    r->run->usd = r->now.usd;
    r->run->unpriced = r->run->unpriced || (ak_call_was_asked(call) && !call->priced);
    r->run->calls += ak_call_was_asked(call);
    r->run->uncounted += !ak_call_tokens_known(call);
    r->run->tokens += call->input_tokens + call->output_tokens;
}

static void notice(void *context, const char *text)
{
    replayed *r = context;
    if (r->run->fell_back == NULL) {
        r->run->fell_back = ak_strdup(text);
        if (r->run->fell_back == NULL) {
            (void)ak_fail_memory(&r->lost);
        }
    }
}

static void send_text(const ak_study *study, const char *event, const char *text)
{
    const ak_events events = {.sink = study->options.sink, .context = study->options.sink_context};
    ak_event_send(&events, event, json_pack("{s:s}", "text", text));
}

static void waiting(void *context, const char *text)
{
    send_text(context, "waiting", text);
}

static void overspent(void *context, const char *text)
{
    send_text(context, "warning", text);
}

static ak_status try_one(replayed *r, const ak_config *config, ak_error *err)
{
    uint64_t index = 0;
    bool fresh = false;
    AK_FAIL_IF(!ak_space_find(&index, r->space, config), err, AK_INTERNAL,
               "strategy %s proposed a configuration that is not valid", r->arm->name);
    ak_status status = ak_set_add(&fresh, r->tried, index, err);
    if (status != AK_OK || !fresh) {
        return status; /* tried before, perhaps as the default, with which every run begins */
    }
    const ak_record *record = &r->recording->records[index];
    bool ok = record->status == AK_TRIAL_OK;
    double ms = ok ? ak_recording_time(r->recording, record) : 0;
    r->now.seconds += record->seconds;
    r->now.best = ok && (r->now.best <= 0 || ms < r->now.best) ? ms : r->now.best;
    r->run->failed += !ok;
    status = ak_study_add(r->run, &r->now, err);
    ak_trial trial = {.status = record->status, .median_ms = ms};
    ak_observation seen = {.config = config,
                           .ok = ok,
                           .ms = ms,
                           .trial = &trial,
                           .expected = r->study->options.evaluations};
    ak_transfer_observe(&r->transfer, &seen);
    return status == AK_OK ? r->arm->choice.ops->observe(r->strategy, &seen, err) : status;
}

static ak_status search(replayed *r, ak_error *err)
{
    const ak_strategy_ops *ops = r->arm->choice.ops;
    ak_config fallback;
    ak_space_default(&fallback, r->space);
    ak_proposal proposal;
    bool found = false;
    /* The model is asked before any result is known, as in a real run. */
    AK_DO(ops->propose(&proposal, &found, r->strategy, err));
    AK_DO(try_one(r, &fallback, err));
    while (r->run->count < r->study->options.evaluations && !ak_study_cancelled(r->study)) {
        ak_config elsewhere;
        if (ak_transfer_next(&elsewhere, &r->transfer, r->study->options.evaluations)) {
            AK_DO(try_one(r, &elsewhere, err));
            continue;
        }
        if (found) {
            AK_DO(try_one(r, &proposal.config, err));
        } else if (ops->await == NULL || !ops->await(r->strategy, AK_SECOND_NS)) {
            break;
        }
        AK_DO(ops->propose(&proposal, &found, r->strategy, err));
    }
    return r->lost.status == AK_OK ? AK_OK : ak_fail_memory(err);
}

static ak_status replay_run(const replayed *all, const ak_study_arm *arm, ak_study_run *run,
                            ak_error *err)
{
    replayed r = *all;
    const ak_study *study = r.study;
    const ak_recording *recording = r.recording;
    ak_status status = AK_OK;
    r.arm = arm;
    r.run = run;
    r.tried = ak_set_new();
    ak_transfer_open(&r.transfer, r.like);
    AK_TRY(ak_made(r.tried, err));
    AK_TRY(ak_recording_space_new(&r.space, recording, err));
    ak_recording_draw_default(r.space, recording, run->seed); /* the same default for all arms */
    ak_advisor_options advisor = {.model = r.model,
                                  .share = study->share,
                                  .device = recording->device,
                                  .size = recording->size,
                                  .dtype = recording->dtype,
                                  .environment = recording->environment,
                                  .generations = study->options.generations,
                                  .batch = study->options.batch,
                                  .patient = true,
                                  .tell = tell,
                                  .notice = notice,
                                  .context = &r};
    ak_strategy_context context = {.space = r.space,
                                   .constants = recording->constants,
                                   .kernel = recording->kernel,
                                   .implementation = recording->implementation,
                                   .rank = recording->rank,
                                   .transfer = &r.transfer,
                                   .any_default = !recording->has_default,
                                   .seed = run->seed,
                                   .evaluations = study->options.evaluations,
                                   .hyper = arm->choice.hyper,
                                   .advisor = &advisor};
    AK_TRY(ak_strategy_open(&r.strategy, arm->choice.ops, &context, err));
    AK_TRY(search(&r, err));
out:
    ak_strategy_close(r.strategy);
    ak_space_free(r.space);
    ak_set_free(r.tried);
    return status;
}

static ak_status replay_all(const replayed *all, ak_error *err)
{
    ak_study *study = all->study;
    ak_status status = AK_OK;
    for (size_t a = 0; status == AK_OK && a < study->arm_count; a++) {
        for (size_t i = 0; status == AK_OK && i < study->options.seeds; i++) {
            ak_study_run *run = &study->arms[a].runs[i];
            status = replay_run(all, &study->arms[a], run, err);
            if (status == AK_OK && ak_study_cancelled(study)) {
                status = ak_fail(err, AK_CANCELLED, "the study was interrupted");
            }
            ak_study_announce(study, &study->arms[a], run);
        }
    }
    return status;
}

ak_status ak_study_recording(char **out_json, const ak_recording *recording,
                             const ak_study_options *options, ak_error *err)
{
    AK_AT_END(ak_study_close) ak_study study = {0};
    ak_model model = {0};
    AK_AT_END(ak_llm_close_at) ak_llm *llm = NULL;
    AK_AT_END(ak_like_free_at) ak_like *like = NULL;
    AK_DO(ak_study_open(&study, options, err));
    study.kernel = recording->kernel;
    study.device = recording->device;
    study.size = recording->size;
    study.optimum = ak_recording_least(recording, ak_recording_time);
    if (options->llm != NULL) {
        ak_llm_options client = *options->llm;
        client.cancel = options->cancel;
        client.notice = waiting;
        client.warning = overspent;
        client.notice_context = &study;
        AK_DO(ak_share_parse(&study.share, client.share, err));
        AK_DO(ak_llm_open(&llm, &client, NULL, err));
    }
    if (llm != NULL) {
        ak_model_llm(&model, llm);
        AK_DO(ak_study_model(&study, model.name, err));
    }
    if (options->like_count > 0) {
        AK_DO(
            ak_like_open(&like, recording, options->like, options->like_count, options->seed, err));
        AK_DO(ak_copy_text(&study.like, ak_like_said(like), err));
    }
    const replayed all = {.study = &study,
                          .recording = recording,
                          .model = llm == NULL ? NULL : &model,
                          .like = like};
    AK_DO(replay_all(&all, err));
    return ak_study_json(out_json, &study, err);
}
