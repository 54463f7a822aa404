/*
 * ollama.c: Ollama's own API, on this machine or at --llm-url.
 *
 * Source: github.com/ollama/ollama docs/api.md. Streams are JSON lines. The server silently cuts a
 * prompt that is longer than num_ctx, and the default is small, so num_ctx is always sent. With a
 * schema, thinking is off unless an effort is requested, because thinking models would put the
 * JSON into their thoughts.
 */
#include "llm/dialect.h"

#include "base/alloc.h"

/* Code and JSON have about three bytes per token; two leave a margin. The strict bound of one byte
   is not used because the server's memory grows with num_ctx. */
#define BYTES_PER_TOKEN 2
#define CONTEXT_STEP    4096

static int64_t context_of(const ak_request *request)
{
    int64_t need = (int64_t)(request->prompt_tokens_max / BYTES_PER_TOKEN) + request->output_tokens;
    return (need + CONTEXT_STEP - 1) / CONTEXT_STEP * CONTEXT_STEP;
}

/* Returns the parameter "think". gpt-oss takes levels; other models take true or false. */
static json_t *think(const ak_request *request)
{
    const char *effort = request->effort;
    if (effort == NULL || strcmp(effort, "none") == 0) {
        return json_false();
    }
    if (!ak_llm_glob("*gpt-oss*", request->model)) {
        return json_true();
    }
    bool low = strcmp(effort, "minimal") == 0 || strcmp(effort, "low") == 0;
    return json_string(low ? "low" : strcmp(effort, "medium") == 0 ? "medium" : "high");
}

static ak_status request(json_t **out, const ak_request *request, ak_error *err)
{
    const ak_llm_chat *chat = request->chat;
    AK_FREED char *system = NULL;
    AK_DO(ak_system_text(&system, request, err));
    json_t *body = json_object();
    json_auto_t *options = json_pack("{s:i,s:I}", "num_predict", request->output_tokens, "num_ctx",
                                     (json_int_t)context_of(request));
    bool schema = chat->schema != NULL && ak_can(request, AK_ABILITY_SCHEMA);
    bool good = options != NULL && ak_json_set_text(body, "model", request->model) &&
                ak_json_set(body, "messages", ak_messages_json(chat, system)) &&
                (!schema || ak_json_set(body, "format", json_deep_copy(chat->schema)));
    good = good && (!ak_can(request, AK_ABILITY_SEED) ||
                    ak_json_set_count(options, "seed", chat->seed & INT32_MAX));
    if (good && ak_can(request, AK_ABILITY_EFFORT) && (schema || request->effort != NULL)) {
        good = ak_json_set(body, "think", think(request));
    }
    good = good && ak_json_set(body, "options", json_incref(options)) &&
           ak_json_set(body, "stream", json_boolean(ak_can(request, AK_ABILITY_STREAM)));
    return ak_json_give(out, body, good, err);
}

static void reply(ak_reply *out, const json_t *body)
{
    const json_t *message = json_object_get(body, "message");
    const char *reason = ak_json_text_at(body, "done_reason");
    ak_append_at(&out->text, message, "content");
    ak_append_at(&out->reasoning, message, "thinking");
    ak_copy_at(out->model, body, "model");
    if (json_is_true(json_object_get(body, "done"))) {
        out->ended = true;
        out->finish = strcmp(reason, "length") == 0 ? AK_LLM_FINISH_LENGTH : AK_LLM_FINISH_STOP;
        out->usage.known = ak_count_read(&out->usage.input, body, "prompt_eval_count");
        out->usage.known &= ak_count_read(&out->usage.output, body, "eval_count");
    }
    if (json_object_get(body, "error") != NULL) {
        ak_reply_error(out, body);
    }
}

static void delta(ak_reply *out, const char *event, const json_t *data)
{
    (void)event;
    reply(out, data); /* every line has the form of a complete reply */
}

const ak_provider ak_provider_ollama = {
    .name = "ollama",
    .description = "Ollama on this machine or at --llm-url",
    .url = "http://127.0.0.1:11434",
    .path = "/api/chat",
    .key_header = "Authorization: Bearer ",
    .free = true,
    .stream = AK_STREAM_NDJSON,
    .request = request,
    .reply = reply,
    .delta = delta,
    .classify = ak_classify,
};
