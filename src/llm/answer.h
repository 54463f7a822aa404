/* answer.h: turns the reply of a provider into the answer that the caller gets. */
#ifndef AK_LLM_ANSWER_H
#define AK_LLM_ANSWER_H

#include "llm/provider.h"

/* Finds the reason for the end of a reply that the text names, such as "stop". Returns false if
   there is no such reason. */
bool ak_llm_finish_parse(ak_llm_finish *out, const char *text);

/* Reads text, reasoning, elements, usage and names of a reply into `out`, which holds no texts or
   values yet. An empty reply, or a refusal without elements, sets out->fault and fails. Messages
   begin with `who`. */
ak_status ak_answer_read(ak_llm_answer *out, ak_reply *reply, const ak_llm_chat *chat,
                         const char *who, ak_error *err);

/* Returns what the user can do about the fault, or "". */
const char *ak_llm_fault_advice(ak_llm_fault fault);

/* Sets the fault, writes the message to `err` and returns the status of the fault. */
ak_status ak_answer_fail(ak_llm_answer *out, ak_llm_fault fault, ak_error *err, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));

/* Adds the usage of one attempt or call to a sum. */
void ak_usage_add(ak_llm_usage *sum, const ak_llm_usage *more);

#endif
