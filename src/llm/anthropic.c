/*
 * anthropic.c: Anthropic's Messages API.
 *
 * Source: platform.claude.com/docs/en/api/messages, "Streaming messages", "Structured outputs",
 * "Extended thinking", "Effort". max_tokens is required and includes thinking. The API's
 * input_tokens excludes what was read from or written to the cache; ak_llm_usage.input includes
 * it.
 */
#include "llm/dialect.h"

#include "base/alloc.h"

/* Smallest thinking budget; it must also be less than max_tokens ("Extended thinking"). */
#define THINKING_LEAST 1024

static bool thinks(const ak_request *request)
{
    return request->effort != NULL && strcmp(request->effort, "none") != 0;
}

/* Returns how many output tokens may go into thinking, for models that take a number instead of an
   effort. */
static int thinking_tokens(const ak_request *request)
{
    static const struct {
        const char *effort;
        int percent;
    } shares[] = {{"minimal", 12}, {"low", 25},   {"medium", 50},
                  {"high", 70},    {"xhigh", 80}, {"max", 85}};
    const size_t i = AK_FIND(shares, AK_COUNT(shares), effort, request->effort);
    const int percent = i < AK_COUNT(shares) ? shares[i].percent : 50;
    int tokens = (int)((int64_t)request->output_tokens * percent / 100);
    return tokens < THINKING_LEAST ? THINKING_LEAST : tokens;
}

static json_t *thinking(const ak_request *request)
{
    if (ak_can(request, AK_ABILITY_ADAPTIVE)) {
        return json_pack("{s:s}", "type", "adaptive");
    }
    return json_pack("{s:s,s:i}", "type", "enabled", "budget_tokens", thinking_tokens(request));
}

static json_t *output_config(const ak_request *request)
{
    const ak_llm_chat *chat = request->chat;
    json_t *config = json_object();
    bool good = config != NULL;
    if (good && chat->schema != NULL && ak_can(request, AK_ABILITY_SCHEMA)) {
        good = ak_json_set(config, "format",
                           json_pack("{s:s,s:o}", "type", "json_schema", "schema",
                                     ak_schema_without(chat->schema, ak_schema_not_anthropic)));
    }
    if (good && thinks(request) && ak_can(request, AK_ABILITY_EFFORT)) {
        bool least = strcmp(request->effort, "minimal") == 0;
        good = ak_json_set_text(config, "effort", least ? "low" : request->effort);
    }
    return ak_json_whole(config, good);
}

static ak_status request(json_t **out, const ak_request *request, ak_error *err)
{
    const ak_llm_chat *chat = request->chat;
    AK_FREED char *system = NULL;
    AK_DO(ak_system_text(&system, request, err));
    json_t *body = json_object();
    json_auto_t *config = output_config(request);
    bool thinking_on =
        thinks(request) &&
        (ak_can(request, AK_ABILITY_ADAPTIVE) ||
         (ak_can(request, AK_ABILITY_THINKING) && request->output_tokens > THINKING_LEAST));
    bool good = config != NULL && ak_json_set_text(body, "model", request->model) &&
                ak_json_set(body, "max_tokens", json_integer(request->output_tokens)) &&
                (system == NULL || ak_json_set_text(body, "system", system)) &&
                ak_json_set(body, "messages", ak_messages_json(chat, NULL)) &&
                (json_object_size(config) == 0 ||
                 ak_json_set(body, "output_config", json_incref(config))) &&
                (!thinking_on || ak_json_set(body, "thinking", thinking(request)));
    good =
        good && (!ak_can(request, AK_ABILITY_STREAM) || ak_json_set(body, "stream", json_true()));
    return ak_json_give(out, body, good, err);
}

static void read_finish(ak_reply *out, const json_t *object)
{
    static const struct {
        const char *reason;
        ak_llm_finish finish;
    } reasons[] = {{"end_turn", AK_LLM_FINISH_STOP},
                   {"stop_sequence", AK_LLM_FINISH_STOP},
                   {"max_tokens", AK_LLM_FINISH_LENGTH},
                   {"model_context_window_exceeded", AK_LLM_FINISH_LENGTH},
                   {"refusal", AK_LLM_FINISH_REFUSAL}};
    const char *reason = ak_json_text_at(object, "stop_reason");
    const size_t i = AK_FIND(reasons, AK_COUNT(reasons), reason, reason);
    out->finish = i < AK_COUNT(reasons) ? reasons[i].finish : out->finish;
}

static void read_input(ak_reply *out, const json_t *usage)
{
    int64_t plain, cached, written;
    (void)ak_count_read(&cached, usage, "cache_read_input_tokens");
    (void)ak_count_read(&written, usage, "cache_creation_input_tokens");
    if (ak_count_read(&plain, usage, "input_tokens")) {
        out->usage.input_cached = cached;
        out->usage.input_written = written;
        out->usage.input = plain + cached + written;
    }
}

static void read_output(ak_reply *out, const json_t *usage)
{
    if (json_object_get(usage, "output_tokens") != NULL) {
        out->usage.known = ak_count_read(&out->usage.output, usage, "output_tokens") &&
                           out->usage.input > 0; /* every question has tokens */
    }
}

static void reply(ak_reply *out, const json_t *body)
{
    AK_EACH(part, json_object_get(body, "content")) {
        ak_append_at(&out->text, part, "text");
        ak_append_at(&out->reasoning, part, "thinking");
    }
    ak_copy_at(out->id, body, "id");
    ak_copy_at(out->model, body, "model");
    read_finish(out, body);
    read_input(out, json_object_get(body, "usage"));
    read_output(out, json_object_get(body, "usage"));
    out->ended = json_is_array(json_object_get(body, "content"));
    if (json_is_object(json_object_get(body, "error"))) {
        ak_reply_error(out, body);
    }
}

static void delta(ak_reply *out, const char *event, const json_t *data)
{
    const char *named = ak_json_text_at(data, "type"), *type = *named == 0 ? event : named;
    const json_t *change = json_object_get(data, "delta");
    if (strcmp(type, "content_block_delta") == 0) {
        ak_append_at(&out->text, change, "text");
        ak_append_at(&out->reasoning, change, "thinking");
    } else if (strcmp(type, "content_block_start") == 0) {
        ak_append_at(&out->text, json_object_get(data, "content_block"), "text");
    } else if (strcmp(type, "message_start") == 0) {
        const json_t *message = json_object_get(data, "message");
        ak_copy_at(out->id, message, "id");
        ak_copy_at(out->model, message, "model");
        read_input(out, json_object_get(message, "usage"));
    } else if (strcmp(type, "message_delta") == 0) {
        read_finish(out, change);
        read_input(out, json_object_get(data, "usage"));
        read_output(out, json_object_get(data, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        out->ended = true;
    } else if (strcmp(type, "error") == 0) {
        ak_reply_error(out, data);
    }
}

const ak_provider ak_provider_anthropic = {
    .name = "anthropic",
    .description = "Anthropic, Messages API",
    .url = "https://api.anthropic.com",
    .path = "/v1/messages",
    .key_variable = "ANTHROPIC_API_KEY",
    .key_needed = true,
    .key_header = "x-api-key: ",
    .headers = {"anthropic-version: 2023-06-01"},
    .stream = AK_STREAM_SSE,
    .request = request,
    .reply = reply,
    .delta = delta,
    .classify = ak_classify,
};
