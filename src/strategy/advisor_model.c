/* advisor_model.c: wraps the client of llm.h as a table of functions. */
#include "strategy/advisor.h"

static ak_status start_call(ak_llm_call **out, void *context, const ak_llm_chat *chat,
                            ak_error *err)
{
    return ak_llm_start(out, context, chat, err);
}

/* Abandons a call and computes its cost from the growth of the client's totals. A strategy has one
   call under way at a time, so the growth belongs to this call. */
static void abandon_call(ak_llm_answer *out, char lost[AK_LLM_LOST_BYTES], void *context,
                         ak_llm_call *call)
{
    ak_llm *llm = context;
    ak_llm_totals before, after;
    ak_llm_total(&before, llm);
    ak_llm_abandon(lost, call);
    ak_llm_total(&after, llm);
    *out = (ak_llm_answer){.fault = AK_LLM_FAULT_CANCELLED,
                           .attempts = (int)(after.attempts - before.attempts),
                           .usage = after.usage,
                           .priced = after.priced,
                           .cost_usd = after.cost_usd - before.cost_usd};
    out->usage.input -= before.usage.input;
    out->usage.input_cached -= before.usage.input_cached;
    out->usage.input_written -= before.usage.input_written;
    out->usage.output -= before.usage.output;
    out->usage.output_reasoning -= before.usage.output_reasoning;
}

void ak_model_llm(ak_model *out, ak_llm *llm)
{
    *out = (ak_model){.context = llm,
                      .name = ak_llm_name(llm),
                      .start = start_call,
                      .done = ak_llm_done,
                      .end = ak_llm_end,
                      .abandon = abandon_call};
}
