/*
 * openai.c: OpenAI's Responses API.
 *
 * Source: developers.openai.com/api/reference, "Responses" and "Streaming events"; "Structured
 * outputs" for what strict schemas may hold. A reply that reached its output limit has the status
 * "incomplete" and is not an error. The server is asked to store nothing (store: false), unless it
 * refuses that parameter.
 */
#include "llm/dialect.h"

#include "base/alloc.h"

static ak_status request(json_t **out, const ak_request *request, ak_error *err)
{
    const ak_llm_chat *chat = request->chat;
    AK_FREED char *system = NULL;
    AK_DO(ak_system_text(&system, request, err));
    json_t *body = json_object();
    bool good = ak_json_set_text(body, "model", request->model) &&
                (system == NULL || ak_json_set_text(body, "instructions", system)) &&
                ak_json_set(body, "input", ak_messages_json(chat, NULL)) &&
                ak_json_set(body, "max_output_tokens", json_integer(request->output_tokens));
    if (good && chat->schema != NULL && ak_can(request, AK_ABILITY_SCHEMA)) {
        json_t *schema = ak_schema_openai(request);
        good = ak_json_set(body, "text",
                           json_pack("{s:{s:s,s:s,s:o,s:b}}", "format", "type", "json_schema",
                                     "name", ak_schema_name(chat), "schema", schema, "strict",
                                     ak_schema_strict(schema)));
    }
    if (good && request->effort != NULL && ak_can(request, AK_ABILITY_EFFORT)) {
        good = ak_json_set(body, "reasoning", json_pack("{s:s}", "effort", request->effort));
    }
    good = good && (!ak_can(request, AK_ABILITY_STORE) || ak_json_set(body, "store", json_false()));
    good =
        good && (!ak_can(request, AK_ABILITY_STREAM) || ak_json_set(body, "stream", json_true()));
    return ak_json_give(out, body, good, err);
}

/* Reads the parts of output[]: messages with text or a refusal, and reasoning with summaries. If
   the stream has delivered the text already (not `with_text`), only notes whether the model
   refuses. */
static void read_output(ak_reply *out, const json_t *response, bool with_text)
{
    AK_EACH(item, json_object_get(response, "output")) {
        if (ak_json_text_is(item, "type", "reasoning") && with_text) {
            for (int i = 0; i < 2; i++) {
                AK_EACH(part, json_object_get(item, i == 0 ? "summary" : "content")) {
                    ak_append_at(&out->reasoning, part, "text");
                }
            }
            continue;
        }
        AK_EACH(part, json_object_get(item, "content")) {
            bool refusal = ak_json_text_is(part, "type", "refusal");
            if (refusal) {
                out->finish = AK_LLM_FINISH_REFUSAL;
            }
            if (with_text) {
                ak_append_at(&out->text, part, refusal ? "refusal" : "text");
            }
        }
    }
}

static void read_response(ak_reply *out, const json_t *response)
{
    const char *status = ak_json_text_at(response, "status");
    const char *why = ak_json_text_at(json_object_get(response, "incomplete_details"), "reason");
    ak_copy_at(out->id, response, "id");
    ak_copy_at(out->model, response, "model");
    out->finish = AK_LLM_FINISH_STOP;
    read_output(out, response, out->text.length == 0);
    ak_usage_at(&out->usage, response, "input", "output");
    if (strcmp(status, "incomplete") == 0) {
        out->finish =
            strcmp(why, "content_filter") == 0 ? AK_LLM_FINISH_FILTER : AK_LLM_FINISH_LENGTH;
    } else if (strcmp(status, "failed") == 0 ||
               json_is_object(json_object_get(response, "error"))) {
        ak_reply_error(out, response);
    }
    out->ended = true;
}

static void reply(ak_reply *out, const json_t *body)
{
    if (json_is_array(json_object_get(body, "output")) ||
        json_is_object(json_object_get(body, "error"))) {
        read_response(out, body);
    }
}

static void delta(ak_reply *out, const char *event, const json_t *data)
{
    const char *named = ak_json_text_at(data, "type"), *type = *named == 0 ? event : named;
    const json_t *response = json_object_get(data, "response");
    if (strcmp(type, "response.output_text.delta") == 0) {
        ak_append_at(&out->text, data, "delta");
    } else if (strcmp(type, "response.reasoning_summary_text.delta") == 0 ||
               strcmp(type, "response.reasoning_text.delta") == 0) {
        ak_append_at(&out->reasoning, data, "delta");
    } else if (strcmp(type, "response.refusal.delta") == 0) {
        ak_append_at(&out->text, data, "delta");
        out->finish = AK_LLM_FINISH_REFUSAL;
    } else if (strcmp(type, "response.created") == 0) {
        ak_copy_at(out->id, response, "id");
        ak_copy_at(out->model, response, "model");
    } else if (strcmp(type, "response.completed") == 0 ||
               strcmp(type, "response.incomplete") == 0 || strcmp(type, "response.failed") == 0) {
        read_response(out, response);
    } else if (strcmp(type, "error") == 0) {
        ak_reply_error(out, data);
    }
}

const ak_provider ak_provider_openai = {
    .name = "openai",
    .description = "OpenAI, Responses API",
    .url = "https://api.openai.com/v1",
    .path = "/v1/responses",
    .key_variable = "OPENAI_API_KEY",
    .key_needed = true,
    .key_header = "Authorization: Bearer ",
    .stream = AK_STREAM_SSE,
    .request = request,
    .reply = reply,
    .delta = delta,
    .classify = ak_classify,
};
