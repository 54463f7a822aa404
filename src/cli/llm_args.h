/* llm_args.h: turns the --llm options into ak_llm_options. */
#ifndef AK_CLI_LLM_ARGS_H
#define AK_CLI_LLM_ARGS_H

#include "cli/options.h"

/* Fills *out, which borrows its texts from `args` and keeps the pointer `cancel`. */
void ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel);

#endif
