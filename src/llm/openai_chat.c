/*
 * openai_chat.c: OpenAI's Chat Completions API.
 *
 * Source: developers.openai.com/api/reference, "Chat completions". In a stream the usage comes in a
 * last chunk without choices, and only on request. "[DONE]" ends the stream; attempt.c handles it.
 * Servers that copy this API put reasoning into reasoning_content or reasoning.
 */
#include "llm/dialect.h"

#include "base/alloc.h"

ak_status ak_chat_request(json_t **out, const ak_request *request, ak_error *err)
{
    const ak_llm_chat *chat = request->chat;
    AK_FREED char *system = NULL;
    AK_DO(ak_system_text(&system, request, err));
    json_t *body = json_object();
    const char *limit =
        ak_can(request, AK_ABILITY_COMPLETION_TOKENS) ? "max_completion_tokens" : "max_tokens";
    bool good = ak_json_set_text(body, "model", request->model) &&
                ak_json_set(body, "messages", ak_messages_json(chat, system)) &&
                ak_json_set(body, limit, json_integer(request->output_tokens));
    if (good && chat->schema != NULL && ak_can(request, AK_ABILITY_SCHEMA)) {
        json_t *schema = ak_schema_openai(request);
        good = ak_json_set(body, "response_format",
                           json_pack("{s:s,s:{s:s,s:o,s:b}}", "type", "json_schema", "json_schema",
                                     "name", ak_schema_name(chat), "schema", schema, "strict",
                                     ak_schema_strict(schema)));
    }
    good = good && (request->effort == NULL || !ak_can(request, AK_ABILITY_EFFORT) ||
                    ak_json_set_text(body, "reasoning_effort", request->effort));
    good = good && (!ak_can(request, AK_ABILITY_SEED) ||
                    ak_json_set_count(body, "seed", chat->seed & INT32_MAX));
    if (good && ak_can(request, AK_ABILITY_STREAM)) {
        good = ak_json_set(body, "stream", json_true());
        if (good && ak_can(request, AK_ABILITY_STREAM_USAGE)) {
            good = ak_json_set(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
        }
    }
    return ak_json_give(out, body, good, err);
}

static void read_message(ak_reply *out, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    if (json_is_array(content)) {
        AK_EACH(part, content) {
            ak_append_at(&out->text, part, "text");
        }
    } else {
        ak_append_at(&out->text, message, "content");
    }
    const char *reasoning = json_is_string(json_object_get(message, "reasoning_content"))
                                ? "reasoning_content"
                                : "reasoning";
    ak_append_at(&out->reasoning, message, reasoning);
    if (*ak_json_text_at(message, "refusal") != 0) {
        ak_append_at(&out->text, message, "refusal");
        out->finish = AK_LLM_FINISH_REFUSAL;
    }
}

static void read_finish(ak_reply *out, const json_t *choice)
{
    const char *reason = ak_json_text_at(choice, "finish_reason");
    if (*reason == 0) {
        return;
    }
    out->ended = true;
    if (out->finish != AK_LLM_FINISH_REFUSAL) {
        out->finish = strcmp(reason, "stop") == 0             ? AK_LLM_FINISH_STOP
                      : strcmp(reason, "length") == 0         ? AK_LLM_FINISH_LENGTH
                      : strcmp(reason, "content_filter") == 0 ? AK_LLM_FINISH_FILTER
                                                              : AK_LLM_FINISH_UNKNOWN;
    }
}

static void read_rest(ak_reply *out, const json_t *data)
{
    ak_copy_at(out->id, data, "id");
    ak_copy_at(out->model, data, "model");
    ak_usage_at(&out->usage, data, "prompt", "completion");
    const json_t *error = json_object_get(data, "error");
    if (json_is_object(error) || json_is_string(error)) {
        ak_reply_error(out, data);
    }
}

void ak_chat_reply(ak_reply *out, const json_t *body)
{
    const json_t *choice = json_array_get(json_object_get(body, "choices"), 0);
    read_message(out, json_object_get(choice, "message"));
    read_finish(out, choice);
    read_rest(out, body);
    out->ended = out->ended || choice != NULL;
}

void ak_chat_delta(ak_reply *out, const char *event, const json_t *data)
{
    (void)event;
    const json_t *choice = json_array_get(json_object_get(data, "choices"), 0);
    read_message(out, json_object_get(choice, "delta"));
    read_finish(out, choice);
    read_rest(out, data);
}

const ak_provider ak_provider_openai_chat = {
    .name = "openai-chat",
    .description = "OpenAI, Chat Completions API",
    .url = "https://api.openai.com/v1",
    .path = "/v1/chat/completions",
    .key_variable = "OPENAI_API_KEY",
    .key_needed = true,
    .key_header = "Authorization: Bearer ",
    .stream = AK_STREAM_SSE,
    .request = ak_chat_request,
    .reply = ak_chat_reply,
    .delta = ak_chat_delta,
    .classify = ak_classify,
};
