/* llm_show.h: `autokernel llm show [RUN]`. */
#ifndef AK_CLI_LLM_SHOW_H
#define AK_CLI_LLM_SHOW_H

#include "cli/command.h"

int ak_llm_show_run(const ak_args *args);
/* What the language model of a run was asked, and what it cost: one line. */
void ak_llm_use_print(const char *model, size_t calls, size_t failed, int64_t input_tokens,
                      int64_t output_tokens, const double *cost_usd); /* NULL: no price */
/* What language models were worth, as `stats` shows it; `worth` is that of ak_llm_worth. */
void ak_llm_worth_print(const json_t *worth);

#endif
