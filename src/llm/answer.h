/* answer.h: from what a provider replied to what the caller gets. */
#ifndef AK_LLM_ANSWER_H
#define AK_LLM_ANSWER_H

#include "llm/provider.h"

/* False if the text names none. */
bool ak_llm_finish_parse(ak_llm_finish *out, const char *text);

/* Text, reasoning, elements, usage and names of a reply; `out` is empty before. A reply that says
   nothing or refuses sets out->fault and fails with the line to show. `who` begins messages. */
ak_status ak_answer_read(ak_llm_answer *out, ak_reply *reply, const ak_llm_chat *chat,
                         const char *who, ak_error *err);

/* What to do, or "". */
const char *ak_llm_fault_advice(ak_llm_fault fault);

/* Sets the fault, writes the line, returns the fault's status. */
ak_status ak_answer_fail(ak_llm_answer *out, ak_llm_fault fault, ak_error *err, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));

/* Adds up what several attempts or calls used. */
void ak_usage_add(ak_llm_usage *sum, const ak_llm_usage *more);

#endif
