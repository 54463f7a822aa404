/* conversation.c: writes the conversations of a run as JSON, each proposal with its outcome. */

#include "report/gather.h"
#include "report/outcome.h"

typedef struct conversation {
    const ak_gathered *trials;
    const json_t *result; /* result of the run; NULL if it has none */
    json_t *calls;
    bool good;
} conversation;

/* Returns the speed of a trial relative to its parent; all 0 if one of them is missing, failed or
   has no time. */
static ak_outcome speed_of(const conversation *c, const ak_trial *trial)
{
    const ak_trial *parent = ak_gathered_trial(c->trials, trial->parent);
    if (parent == NULL || parent->status != AK_TRIAL_OK || trial->status != AK_TRIAL_OK) {
        return (ak_outcome){0};
    }
    return ak_outcome_speed_over(c->result, parent, trial);
}

/* Adds "outcome" to a proposal, null if it was not tried. */
static bool add_outcome(json_t *proposal, const conversation *c)
{
    const char *verdict = ak_json_text_or_null(proposal, "verdict");
    const char *config = ak_json_text_or_null(proposal, "config");
    bool taken =
        verdict != NULL && (strcmp(verdict, "accepted") == 0 || strcmp(verdict, "snapped") == 0);
    const ak_trial *trial = taken && config != NULL ? ak_gathered_config(c->trials, config) : NULL;
    if (trial == NULL) {
        return ak_json_set(proposal, "outcome", json_null());
    }
    ak_outcome of = ak_outcome_of(c->result, trial), speed = speed_of(c, trial);
    bool ok = trial->status == AK_TRIAL_OK, known = speed.cost > 0;
    json_t *outcome = json_pack(
        "{s:I, s:s, s:o, s:s?, s:o, s:o, s:s?}", "trial", (json_int_t)trial->id, "status",
        ak_trial_status_text(trial->status), "ms", ak_json_known(ok ? of.ms : trial->median_ms),
        "measured", ok ? of.from : NULL, "gain", known ? ak_json_real(speed.cost - 1) : json_null(),
        "decided", known ? json_boolean(ak_outcome_decided(&speed)) : json_null(), "reason",
        trial->reason);
    return ak_json_set(proposal, "outcome", outcome);
}

static json_t *proposals_of(const conversation *c, const ak_call *call)
{
    json_t *list = NULL;
    bool good = true;
    if (ak_json_parse_text(&list, call->proposals, "proposals", NULL) != AK_OK ||
        !json_is_array(list)) {
        json_decref(list);
        return json_array();
    }
    AK_EACH(proposal, list) {
        good = good && (!json_is_object(proposal) || add_outcome(proposal, c));
    }
    return ak_json_whole(list, good);
}

static bool add_call(void *context, const ak_call *call)
{
    conversation *c = context;
    const bool known = ak_call_tokens_known(call);
    json_t *object = json_pack(
        "{s:I, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:I, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:b, s:o}",
        "generation", (json_int_t)call->generation, "started", call->started, "model", call->model,
        "system", call->system, "brief", call->brief, "state", call->state, "reply", call->reply,
        "finish", call->finish, "fault", call->fault, "error", call->error, "request_id",
        call->request_id, "asked", ak_call_was_asked(call), "attempts", (json_int_t)call->attempts,
        "seconds", ak_json_real((double)call->elapsed_ns / 1e9), "input_tokens",
        ak_json_count_or_null(call->input_tokens, known), "cached_tokens",
        ak_json_count_or_null(call->cached_tokens, known), "output_tokens",
        ak_json_count_or_null(call->output_tokens, known), "reasoning_tokens",
        ak_json_count_or_null(call->reasoning_tokens, known), "cost_usd",
        call->priced ? ak_json_real(call->cost_usd) : json_null(), "replayed", call->replayed,
        "proposals", proposals_of(c, call));
    c->good = ak_json_append(c->calls, object);
    return c->good;
}

ak_status ak_llm_conversation(char **out_json, ak_archive *archive, const char *run, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run record = {0};
    AK_AT_END(ak_gathered_clear) ak_gathered trials = {0};
    json_auto_t *object = NULL, *result = NULL, *calls = json_array();
    conversation c = {.trials = &trials, .calls = calls, .good = true};
    AK_DO(ak_archive_get_run(&record, archive, run, err));
    const ak_archive_filter filter = {.run = record.id};
    result = ak_outcome_result(archive, record.id);
    c.result = result;
    AK_DO(ak_gather(&trials, archive, &filter, err));
    AK_DO(ak_archive_each_call(archive, record.id, add_call, &c, err));
    object = json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:O}", "run", record.id, "kernel",
                       record.kernel, "device", record.device, "size", record.size, "strategy",
                       record.strategy, "calls", c.calls);
    return c.good && object != NULL ? ak_json_text(out_json, object, err) : ak_fail_memory(err);
}
