/* llm_args.h: turns the --llm options into ak_llm_options. */
#ifndef AK_CLI_LLM_ARGS_H
#define AK_CLI_LLM_ARGS_H

#include "cli/options.h"

/* Fills *out. Texts are borrowed from `args`; `cancel` is the caller's. AK_INVALID if the command
   line has an option about a language model but names no model. Such options from settings are
   accepted, because settings hold for other commands too. */
ak_status ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel,
                      ak_error *err);

#endif
