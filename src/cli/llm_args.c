/* llm_args.c: see llm_args.h. */
#include "cli/llm_args.h"

#include <string.h>

static ak_status need_model(const ak_args *args, ak_error *err)
{
    static const ak_option_id about[] = {
        AK_OPTION_LLM_URL,    AK_OPTION_LLM_EFFORT,  AK_OPTION_LLM_BUDGET,  AK_OPTION_LLM_KEY_FILE,
        AK_OPTION_LLM_PRICES, AK_OPTION_LLM_TIMEOUT, AK_OPTION_LLM_TOKENS,  AK_OPTION_LLM_CALLS,
        AK_OPTION_LLM_SHARE,  AK_OPTION_LLM_RECORD,  AK_OPTION_GENERATIONS, AK_OPTION_BATCH};
    for (size_t i = 0; i < sizeof about / sizeof about[0]; i++) {
        const char *origin = args->origin[about[i]];
        if (origin != NULL && strncmp(origin, "--", 2) == 0) {
            return ak_fail(err, AK_INVALID,
                           "%s is for a language model, and none is named: add --llm, or leave it "
                           "out",
                           origin);
        }
    }
    return AK_OK;
}

ak_status ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel,
                      ak_error *err)
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
                            /* a server may be silent for as long as it may take */
                            .stall_seconds = args->number[AK_OPTION_LLM_TIMEOUT],
                            .output_tokens = (int)args->number[AK_OPTION_LLM_TOKENS],
                            .calls = (int)args->number[AK_OPTION_LLM_CALLS],
                            .seed = (uint64_t)args->number[AK_OPTION_SEED],
                            .cancel = cancel};
    return out->model == NULL && out->replay == NULL ? need_model(args, err) : AK_OK;
}
