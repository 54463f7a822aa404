/* advisor_model.c: wraps the client of llm.h as a table of functions. */
#include "strategy/advisor.h"

static ak_status start_call(ak_llm_call **out, void *context, const ak_llm_chat *chat,
                            ak_error *err)
{
    return ak_llm_start(out, context, chat, err);
}

void ak_model_llm(ak_model *out, ak_llm *llm)
{
    *out = (ak_model){.context = llm,
                      .name = ak_llm_name(llm),
                      .start = start_call,
                      .done = ak_llm_done,
                      .end = ak_llm_end,
                      .abandon = ak_llm_abandon};
}
