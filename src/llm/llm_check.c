/* llm_check.c: implements ak_llm_check, which asks one small question to show whether model, key
   and address work together. */

#include "llm/client.h"

/* Enough for a model that thinks before it answers. */
#define OUTPUT_TOKENS 2048

static json_t *schema_of_check(void)
{
    return json_pack("{s:s,s:{s:{s:s}},s:[s],s:b}", "type", "object", "properties", "word", "type",
                     "string", "required", "word", "additionalProperties", 0);
}

static json_t *tokens_of(const ak_llm_usage *usage)
{
    return usage->known
               ? json_pack("{s:I,s:I,s:I,s:I}", "input", (json_int_t)usage->input, "cached",
                           (json_int_t)usage->input_cached, "output", (json_int_t)usage->output,
                           "reasoning", (json_int_t)usage->output_reasoning)
               : json_null();
}

static ak_status report(char **out, const ak_llm *llm, const ak_llm_answer *answer, ak_error *err)
{
    json_t *result = json_object();
    bool kept = json_is_string(json_object_get(answer->value, "word"));
    bool good =
        ak_json_set_texts(
            result, "provider", llm->provider == NULL ? "replay" : llm->provider->name, "model",
            answer->model[0] == 0 ? llm->model : answer->model, "address",
            llm->url[0] == 0 || answer->replayed ? NULL : llm->url, "reply", answer->text) &&
        ak_json_set(result, "schema_kept", json_boolean(kept)) &&
        ak_json_set_texts(result, "found_in", ak_llm_found_text(answer->found), "finish",
                          ak_llm_finish_text(answer->finish)) &&
        ak_json_set(result, "output_limit", json_integer(answer->output_tokens_max)) &&
        ak_json_set(result, "tokens", tokens_of(&answer->usage)) &&
        ak_json_set(result, "cost_usd",
                    answer->priced ? json_real(answer->cost_usd) : json_string("unpriced")) &&
        ak_json_set_text(result, "price_of", llm->price.date[0] == 0 ? NULL : llm->price.date) &&
        ak_json_set(result, "attempts", json_integer(answer->attempts)) &&
        ak_json_set(result, "replayed", json_boolean(answer->replayed)) &&
        ak_json_set_real(result, "seconds", (double)answer->elapsed_ns / 1e9);
    return ak_json_give_text(out, result, good, err);
}

ak_status ak_llm_check(char **out_json, const ak_llm_options *options, ak_error *err)
{
    AK_AT_END(ak_llm_close_at) ak_llm *llm = NULL;
    AK_AT_END(ak_llm_answer_clear) ak_llm_answer answer = {0};
    AK_DO(ak_llm_open(&llm, options, NULL, err));
    json_auto_t *schema = schema_of_check();
    ak_llm_message question = {AK_LLM_USER, "Reply with the word ready."};
    ak_llm_chat chat = {.system = "You are being tested for availability. Be brief.",
                        .messages = &question,
                        .message_count = 1,
                        .schema = schema,
                        .schema_name = "check",
                        .max_output_tokens = OUTPUT_TOKENS};
    AK_DO(schema == NULL ? ak_fail_memory(err) : ak_llm_ask(&answer, llm, &chat, err));
    return report(out_json, llm, &answer, err);
}
