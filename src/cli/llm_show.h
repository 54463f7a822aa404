/* llm_show.h: prints what was said to language models, what it cost and what it was worth. */
#ifndef AK_CLI_LLM_SHOW_H
#define AK_CLI_LLM_SHOW_H

#include "cli/command.h"

int ak_llm_show_run(const ak_args *args);
/* Prints one line: what was asked of the model in a run, and what it cost. */
void ak_llm_use_print(const char *model, size_t calls, size_t failed, int64_t input_tokens,
                      int64_t output_tokens, const double *cost_usd); /* NULL: the price is not
                                                                         known */
/* Prints the JSON of ak_llm_worth as `stats` shows it. */
void ak_llm_worth_print(const json_t *worth);

#endif
