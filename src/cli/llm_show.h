/* llm_show.h: prints the conversations with language models, their cost and contribution. */
#ifndef AK_CLI_LLM_SHOW_H
#define AK_CLI_LLM_SHOW_H

#include "cli/command.h"

int ak_llm_show_run(const ak_args *args, ak_error *err);
/* Prints in one line how many questions a run asked its model, the tokens and, if the price is
   known, the cost. Prints nothing if no model was asked. */
void ak_llm_use_print(const ak_llm_use *use);
/* Prints the JSON of ak_llm_worth as text, for `stats`. */
void ak_llm_worth_print(const json_t *worth);

#endif
