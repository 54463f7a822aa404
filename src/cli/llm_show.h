/* llm_show.h: prints the conversations with language models, their cost and contribution. */
#ifndef AK_CLI_LLM_SHOW_H
#define AK_CLI_LLM_SHOW_H

#include "cli/command.h"

int ak_llm_show_run(const ak_args *args);
/* Prints one line: the questions that a run asked its model, the tokens, and the cost. `cost_usd`
   is NULL if the price is not known. */
void ak_llm_use_print(const char *model, size_t calls, size_t failed, int64_t input_tokens,
                      int64_t output_tokens, const double *cost_usd);
/* Prints the JSON of ak_llm_worth as text, for `stats`. */
void ak_llm_worth_print(const json_t *worth);

#endif
