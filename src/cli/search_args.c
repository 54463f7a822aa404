#include "cli/search_args.h"

#include "base/alloc.h"
#include "cli/output.h"

void ak_warn_left_out(const char *path, const ak_recording *recording)
{
    const char *left_out = ak_recording_describe(recording)->left_out;
    if (left_out != NULL) {
        ak_warn("%s: %s", path, left_out);
    }
}

ak_status ak_like_files_open(ak_like_files *out, const ak_args *args, ak_error *err)
{
    *out = (ak_like_files){0};
    for (size_t i = 0; i < args->like_count; i++) {
        if (strcmp(args->like[i], "none") == 0) {
            out->none = true;
        } else {
            AK_DO(ak_recording_open(&out->list[out->count], args->like[i], err));
            ak_warn_left_out(args->like[i], out->list[out->count]);
            out->count++;
        }
    }
    return out->none && out->count > 0
               ? ak_fail(err, AK_INVALID,
                         "--like none cannot be combined with --like %.200s: leave one of them out",
                         args->like[strcmp(args->like[0], "none") == 0 ? 1 : 0])
               : AK_OK;
}

void ak_like_files_close(ak_like_files *files)
{
    AK_END_EACH(ak_recording_close, files->list, files->count);
    files->count = 0;
}

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
