#include "cli/llm_args.h"

void ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel)
{
    *out = (ak_llm_options){.model = args->text[AK_OPTION_LLM],
                            .url = args->text[AK_OPTION_LLM_URL],
                            .effort = args->text[AK_OPTION_LLM_EFFORT],
                            .share = args->text[AK_OPTION_LLM_SHARE],
                            .key_file = args->text[AK_OPTION_LLM_KEY_FILE],
                            .prices = args->text[AK_OPTION_LLM_PRICES],
                            .record = args->text[AK_OPTION_LLM_RECORD],
                            .replay = args->text[AK_OPTION_LLM_REPLAY],
                            .budget_usd = args->number[AK_OPTION_LLM_BUDGET],
                            .timeout_seconds = args->number[AK_OPTION_LLM_TIMEOUT],
                            /* a silent connection is not given up before --llm-timeout */
                            .stall_seconds = args->number[AK_OPTION_LLM_TIMEOUT],
                            .output_tokens = (int)args->number[AK_OPTION_LLM_OUTPUT],
                            .tokens = (int64_t)args->number[AK_OPTION_LLM_TOKENS],
                            .calls = (int)args->number[AK_OPTION_LLM_CALLS],
                            .seed = (uint64_t)args->number[AK_OPTION_SEED],
                            .cancel = cancel};
}
