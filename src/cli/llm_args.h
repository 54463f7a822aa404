/* llm_args.h: the --llm options as the library takes them. */
#ifndef AK_CLI_LLM_ARGS_H
#define AK_CLI_LLM_ARGS_H

#include "cli/options.h"

/* Texts are borrowed from `args`; `cancel` is the caller's. AK_INVALID for an option of the command
   line that is about a language model where none is named; settings hold for other commands too. */
ak_status ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel,
                      ak_error *err);

#endif
