/* counsel.c: the client of llm.h as a table of functions. */
#include "strategy/counsel.h"

static ak_status start_call(void **out_call, void *context, const ak_llm_chat *chat, ak_error *err)
{
    ak_llm_call *call = NULL;
    ak_status status = ak_llm_start(&call, context, chat, err);
    if (status == AK_OK) {
        *out_call = call;
    }
    return status;
}

static bool call_done(void *call)
{
    return ak_llm_done(call);
}

static ak_status end_call(ak_llm_answer *out, void *call, ak_error *err)
{
    return ak_llm_end(out, call, err);
}

static void abandon_call(void *call)
{
    ak_llm_abandon(call);
}

void ak_counsel_llm(ak_model *out, ak_llm *llm)
{
    *out = (ak_model){.context = llm,
                      .name = ak_llm_name(llm),
                      .start = start_call,
                      .done = call_done,
                      .end = end_call,
                      .abandon = abandon_call};
}
