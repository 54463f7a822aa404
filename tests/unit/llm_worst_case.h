/* llm_worst_case.h: how much a question to a language model can cost at most. */
#ifndef AK_TEST_LLM_WORST_CASE_H
#define AK_TEST_LLM_WORST_CASE_H

#include "llm/client.h"

/* Returns the most that one attempt at this question can cost in dollars, as it is reserved before
   the attempt if no limit refuses it. */
static inline double llm_worst_case(ak_llm *llm, const ak_llm_chat *chat)
{
    ak_llm_call call = {.llm = llm, .chat = chat};
    ak_reservation worst;
    const double budget = llm->budget_usd;
    const int64_t tokens = llm->tokens_max;
    assert_int_equal(ak_call_measure(&call.prompt_tokens_max, chat, NULL), AK_OK);
    llm->budget_usd = 0;
    llm->tokens_max = 0;
    assert_int_equal(ak_call_reserve(&worst, &call, NULL), AK_OK);
    llm->budget_usd = budget;
    llm->tokens_max = tokens;
    llm->reserved_usd -= worst.usd;
    llm->tokens_reserved -= worst.tokens;
    return worst.usd;
}

#endif
