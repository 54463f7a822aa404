#include "tuner/run_advisor.h"

#include "tuner/warning.h"

/* Replaces a budget that is used up: no call that costs anything can stay within it, whereas 0
   would mean no budget. */
#define NOTHING_LEFT 1e-12

/* Sends a warning as an event and keeps it in the result and in the run's record. */
static void warn(const ak_run_advisor *advisor, const char *text, bool fell_back)
{
    json_t *fields = json_object();
    /* without memory, only the event says it */
    (void)ak_warn_keep(advisor->result, advisor->archive, advisor->events->run, text);
    (void)(ak_json_set_text(fields, "text", text) &&
           (!fell_back || ak_json_set(fields, "fell_back", json_true())));
    ak_event_send(advisor->events, "warning", fields);
}

static void notice(void *context, const char *text)
{
    warn(context, text, true);
}

static void overspent(void *context, const char *text)
{
    warn(context, text, false);
}

static void waiting(void *context, const char *text)
{
    const ak_run_advisor *advisor = context;
    ak_event_send(advisor->events, "waiting", json_pack("{s:s}", "text", text));
}

static void tell(void *context, const ak_call *call)
{
    ak_run_advisor *advisor = context;
    char started[AK_CLOCK_UTC_BYTES];
    ak_call kept = *call;
    ak_session_utc(started, advisor->session);
    kept.started = started;
    ak_pool_pass_ns(advisor->session->pool, call->elapsed_ns);
    kept.run = (char *)(uintptr_t)advisor->events->run; /* the archive copies it */
    bool asked = ak_call_was_asked(call), known = ak_call_tokens_known(call);
    advisor->calls += asked;
    advisor->failed += asked && call->error != NULL;
    advisor->uncounted += !known;
    advisor->input_tokens += call->input_tokens;
    advisor->output_tokens += call->output_tokens;
    if (advisor->archive != NULL && advisor->fault.status == AK_OK) {
        (void)ak_archive_add_call(advisor->archive, &kept, &advisor->fault);
    }
    json_t *fields = json_object(), *proposals = NULL;
    if (call->proposals != NULL) {
        (void)ak_json_parse(&proposals, call->proposals, strlen(call->proposals), "proposals",
                            NULL);
    }
    (void)(ak_json_set_text(fields, "model", call->model) &&
           ak_json_set(fields, "generation", json_integer(call->generation)) &&
           ak_json_set_text(fields, "error", call->error) &&
           ak_json_set(fields, "asked", json_boolean(asked)) &&
           ak_json_set(fields, "input_tokens", ak_json_count_or_null(call->input_tokens, known)) &&
           ak_json_set(fields, "output_tokens",
                       ak_json_count_or_null(call->output_tokens, known)) &&
           ak_json_set(fields, "cost_usd",
                       call->priced ? json_real(call->cost_usd) : json_null()) &&
           ak_json_set_real(fields, "seconds", (double)call->elapsed_ns / 1e9) &&
           ak_json_set(fields, "proposals", proposals == NULL ? json_array() : proposals));
    ak_event_send(advisor->events, "llm", fields);
}

static bool look(void *context, ak_buf *out, const ak_config *config)
{
    return ak_session_look(out, ((const ak_run_advisor *)context)->session, config);
}

ak_status ak_run_advisor_open(ak_run_advisor *advisor, const ak_tune_options *options,
                              const ak_task *task, const ak_strategy_ops *ops, ak_error *err)
{
    bool described = ak_problem_runnable(task->problem, NULL) == AK_OK;
    const char *dtype = ak_task_dtype(task);
    advisor->options = (ak_advisor_options){.task = described ? task : NULL,
                                            .ceilings = &advisor->session->ceilings,
                                            .description = task->problem->description,
                                            .device = task->device,
                                            .size = task->size_text,
                                            .dtype = dtype[0] == 0 ? NULL : dtype,
                                            .objective = task->objective,
                                            .generations = options->generations,
                                            .batch = options->batch,
                                            .look = look,
                                            .tell = tell,
                                            .notice = notice,
                                            .context = advisor};
    if (ops->await == NULL || options->llm == NULL) {
        return AK_OK;
    }
    ak_llm_options client = *options->llm;
    client.cancel = options->cancel;
    client.notice = waiting;
    client.warning = overspent;
    client.notice_context = advisor;
    ak_status status = ak_llm_open(&advisor->llm, &client, NULL, &advisor->missing);
    if (status == AK_UNAVAILABLE) {
        advisor->options.missing = advisor->missing.text;
        return AK_OK;
    }
    AK_FAIL_IF(status != AK_OK, err, status, "%s", advisor->missing.text);
    AK_DO(ak_share_parse(&advisor->options.share, client.share, err));
    ak_model_llm(&advisor->model, advisor->llm);
    advisor->options.model = &advisor->model;
    return AK_OK;
}

ak_status ak_run_advisor_join(ak_run_advisor *advisor, ak_error *err)
{
    const char *text = advisor->session->environment_json;
    bool recalls = ak_pool_recalls(advisor->session->pool);
    advisor->options.rechecks = !recalls; /* a recording would give the same results again */
    advisor->options.patient = recalls || (advisor->llm != NULL && ak_llm_is_slow(advisor->llm));
    AK_DO(ak_json_parse(&advisor->environment, text, strlen(text), "environment", err));
    advisor->options.environment = advisor->environment;
    return AK_OK;
}

void ak_run_advisor_close(ak_run_advisor *advisor)
{
    ak_llm_close(advisor->llm);
    advisor->llm = NULL;
    json_decref(advisor->environment);
    advisor->environment = NULL;
}

ak_llm_options ak_run_advisor_left(const ak_llm_options *llm, double spent_usd, int64_t used_tokens)
{
    ak_llm_options out = *llm;
    double left = llm->budget_usd - spent_usd;
    if (llm->budget_usd > 0) {
        out.budget_usd = left > NOTHING_LEFT ? left : NOTHING_LEFT;
    }
    if (llm->tokens > 0) {
        out.tokens = llm->tokens > used_tokens ? llm->tokens - used_tokens : 1;
    }
    return out;
}

bool ak_run_advisor_record(json_t *object, const ak_tune_options *options)
{
    const ak_llm_options *llm = options->llm;
    return (llm->model == NULL || ak_json_set_text(object, "llm", llm->model)) &&
           (llm->replay == NULL || ak_json_set_text(object, "llm_replay", llm->replay)) &&
           (llm->effort == NULL || ak_json_set_text(object, "llm_effort", llm->effort)) &&
           (llm->share == NULL || ak_json_set_text(object, "llm_share", llm->share)) &&
           ak_json_set_real(object, "llm_budget", llm->budget_usd) &&
           (llm->timeout_seconds <= 0 ||
            ak_json_set_real(object, "llm_timeout", llm->timeout_seconds)) &&
           (llm->calls == 0 || ak_json_set(object, "llm_calls", json_integer(llm->calls))) &&
           (llm->tokens == 0 || ak_json_set(object, "llm_tokens", json_integer(llm->tokens))) &&
           (llm->output_tokens == 0 ||
            ak_json_set(object, "llm_output", json_integer(llm->output_tokens))) &&
           ak_json_set(object, "generations", json_integer(options->generations)) &&
           ak_json_set_count(object, "batch", options->batch);
}

ak_status ak_run_advisor_status(const ak_run_advisor *advisor, ak_error *err)
{
    return advisor->fault.status == AK_OK
               ? AK_OK
               : ak_fail(err, advisor->fault.status, "%s", advisor->fault.text);
}

ak_status ak_run_advisor_total(ak_llm_use *out, const ak_run_advisor *advisor, ak_error *err)
{
    if (advisor->llm == NULL) {
        return AK_OK;
    }
    ak_llm_totals totals;
    ak_llm_total(&totals, advisor->llm);
    *out = (ak_llm_use){.model = ak_strdup(advisor->model.name),
                        .calls = advisor->calls,
                        .failed = advisor->failed,
                        .uncounted = advisor->uncounted,
                        .input_tokens = advisor->input_tokens,
                        .output_tokens = advisor->output_tokens,
                        .tokens = totals.tokens_used,
                        .priced = totals.priced,
                        .cost_usd = totals.cost_usd};
    return ak_made(out->model, err);
}
