/* adviser.c: see adviser.h. */
#include "tuner/adviser.h"

#include <string.h>

#include "base/alloc.h"

/* Less than any call costs: a budget that is used up. */
#define NOTHING_LEFT 1e-12

static void notice(void *context, const char *text)
{
    const ak_adviser *adviser = context;
    json_t *fields = json_object();
    (void)(ak_json_set_text(fields, "text", text) && ak_json_set(fields, "fell_back", json_true()));
    ak_event_send(adviser->events, "warning", fields);
}

static void tell(void *context, const ak_call *call)
{
    ak_adviser *adviser = context;
    char started[AK_CLOCK_UTC_BYTES];
    ak_call kept = *call;
    ak_session_utc(started, adviser->session);
    kept.started = started;
    ak_pool_pass_ns(adviser->session->pool, call->elapsed_ns);
    kept.run = (char *)(uintptr_t)adviser->events->run; /* the archive copies */
    adviser->calls++;
    adviser->failed += call->error != NULL;
    if (adviser->archive != NULL && adviser->fault.status == AK_OK) {
        (void)ak_archive_add_call(adviser->archive, &kept, &adviser->fault);
    }
    json_t *fields = json_object(), *proposals = NULL;
    if (call->proposals != NULL) {
        (void)ak_json_parse(&proposals, call->proposals, strlen(call->proposals), "proposals",
                            NULL);
    }
    (void)(ak_json_set_text(fields, "model", call->model) &&
           ak_json_set(fields, "generation", json_integer(call->generation)) &&
           ak_json_set_text(fields, "error", call->error) &&
           ak_json_set(fields, "input_tokens", json_integer(call->input_tokens)) &&
           ak_json_set(fields, "output_tokens", json_integer(call->output_tokens)) &&
           ak_json_set(fields, "cost_usd",
                       call->priced ? json_real(call->cost_usd) : json_null()) &&
           ak_json_set_real(fields, "seconds", (double)call->elapsed_ns / 1e9) &&
           ak_json_set(fields, "proposals", proposals == NULL ? json_array() : proposals));
    ak_event_send(adviser->events, "llm", fields);
}

ak_status ak_adviser_open(ak_adviser *out, const ak_tune_options *options, const ak_task *task,
                          const ak_session *session, const ak_strategy_ops *ops,
                          const ak_events *events, ak_archive *archive, ak_error *err)
{
    bool described = ak_problem_runnable(task->problem, NULL) == AK_OK;
    *out = (ak_adviser){.events = events,
                        .archive = archive,
                        .session = session,
                        .counsel = {.task = described ? task : NULL,
                                    .ceilings = &session->ceilings,
                                    .generations = options->generations,
                                    .batch = options->batch,
                                    .tell = tell,
                                    .notice = notice,
                                    .context = out}};
    if (ops->await == NULL || options->llm == NULL) {
        return AK_OK;
    }
    ak_llm_options client = *options->llm;
    client.cancel = options->cancel;
    ak_status status = ak_llm_open(&out->llm, &client, NULL, &out->missing);
    if (status == AK_UNAVAILABLE) {
        out->counsel.missing = out->missing.text;
        return AK_OK;
    }
    if (status != AK_OK) {
        return ak_fail(err, status, "%s", out->missing.text);
    }
    ak_counsel_llm(&out->model, out->llm);
    out->counsel.model = &out->model;
    return AK_OK;
}

void ak_adviser_join(ak_adviser *adviser)
{
    bool recalls = ak_pool_recalls(adviser->session->pool);
    adviser->counsel.rechecks = !recalls; /* they would say the same */
    adviser->counsel.patient = recalls;
}

void ak_adviser_close(ak_adviser *adviser)
{
    ak_llm_close(adviser->llm);
    adviser->llm = NULL;
}

ak_llm_options ak_adviser_left(const ak_llm_options *llm, double spent_usd)
{
    ak_llm_options out = *llm;
    double left = llm->budget_usd - spent_usd;
    if (llm->budget_usd > 0) {
        out.budget_usd = left > NOTHING_LEFT ? left : NOTHING_LEFT;
    }
    return out;
}

bool ak_adviser_record(json_t *object, const ak_tune_options *options)
{
    const ak_llm_options *llm = options->llm;
    return (llm->model == NULL || ak_json_set_text(object, "llm", llm->model)) &&
           (llm->replay == NULL || ak_json_set_text(object, "llm_replay", llm->replay)) &&
           (llm->effort == NULL || ak_json_set_text(object, "llm_effort", llm->effort)) &&
           ak_json_set_real(object, "llm_budget", llm->budget_usd) &&
           ak_json_set(object, "generations", json_integer(options->generations)) &&
           ak_json_set(object, "batch", json_integer((json_int_t)options->batch));
}

ak_status ak_adviser_status(const ak_adviser *adviser, ak_error *err)
{
    return adviser->fault.status == AK_OK
               ? AK_OK
               : ak_fail(err, adviser->fault.status, "%s", adviser->fault.text);
}

ak_status ak_adviser_total(ak_tune_result *result, const ak_adviser *adviser, ak_error *err)
{
    if (adviser->llm == NULL) {
        return AK_OK;
    }
    ak_llm_totals totals;
    ak_llm_total(&totals, adviser->llm);
    result->model = ak_strdup(adviser->model.name);
    result->llm_calls = adviser->calls;
    result->llm_failed = adviser->failed;
    result->llm_input_tokens = totals.usage.input;
    result->llm_output_tokens = totals.usage.output;
    result->llm_priced = totals.priced;
    result->llm_cost_usd = totals.cost_usd;
    return result->model == NULL ? ak_fail_memory(err) : AK_OK;
}
