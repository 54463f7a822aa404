#include "llm/dialect.h"

bool ak_can(const ak_request *request, unsigned ability)
{
    return (request->abilities.set & ability) != 0;
}

const char *ak_schema_name(const ak_llm_chat *chat)
{
    return chat->schema_name == NULL ? "answer" : chat->schema_name;
}

ak_status ak_system_text(char **out, const ak_request *request, ak_error *err)
{
    const ak_llm_chat *chat = request->chat;
    ak_buf text = AK_BUF(AK_LLM_PROMPT_BYTES_MAX);
    if (chat->system != NULL) {
        ak_buf_puts(&text, chat->system);
    }
    if (chat->schema != NULL && !ak_can(request, AK_ABILITY_SCHEMA)) {
        ak_buf_puts(&text, text.length > 0 ? "\n\n" : "");
        ak_buf_puts(&text, "Reply with one JSON value and nothing else. It must match this JSON "
                           "schema:\n");
        ak_json_print(&text, chat->schema, false);
    }
    if (text.length == 0) {
        *out = NULL;
        return AK_OK;
    }
    return ak_buf_take(out, &text, err);
}

static json_t *message_of(const char *role, const char *text)
{
    json_t *message = json_object();
    bool good =
        ak_json_set_text(message, "role", role) && ak_json_set_text(message, "content", text);
    return ak_json_whole(message, good);
}

json_t *ak_messages_json(const ak_llm_chat *chat, const char *system)
{
    json_t *list = json_array();
    if (system != NULL) {
        ak_json_add(&list, message_of("system", system));
    }
    for (size_t i = 0; i < chat->message_count; i++) {
        const char *role = chat->messages[i].role == AK_LLM_USER ? "user" : "assistant";
        ak_json_add(&list, message_of(role, chat->messages[i].text));
    }
    return list;
}

void ak_append_at(ak_buf *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        ak_buf_append(out, json_string_value(value), json_string_length(value));
    } else if (json_is_object(value) || json_is_array(value)) {
        ak_json_print(out, value, false); /* the server has already parsed the JSON */
    }
}

bool ak_count_read(int64_t *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value);
    bool counted = json_is_number(value) && number >= 0 && number < 1e15;
    *out = counted ? (int64_t)number : 0;
    return counted;
}

/* Reads usage.NAME_tokens into *out and usage.NAME_tokens_details.`key` into *part. A part that is
   larger than the whole was counted beside it and is added. Returns false if the whole is not a
   count. */
static bool read_tokens(int64_t *out, int64_t *part, const json_t *usage, const char *name,
                        const char *key)
{
    char member[64];
    (void)snprintf(member, sizeof member, "%s_tokens_details", name);
    (void)ak_count_read(part, json_object_get(usage, member), key);
    (void)snprintf(member, sizeof member, "%s_tokens", name);
    bool counted = ak_count_read(out, usage, member);
    *out += *part > *out ? *part : 0;
    return counted;
}

void ak_usage_at(ak_llm_usage *out, const json_t *object, const char *input, const char *output)
{
    const json_t *usage = json_object_get(object, "usage");
    ak_llm_usage read = {0};
    int64_t total;
    if (!json_is_object(usage)) {
        return;
    }
    read.known = read_tokens(&read.input, &read.input_cached, usage, input, "cached_tokens");
    read.known &=
        read_tokens(&read.output, &read.output_reasoning, usage, output, "reasoning_tokens");
    /* some servers count reasoning in the total only */
    if (ak_count_read(&total, usage, "total_tokens") && total > read.input + read.output) {
        read.output = total - read.input;
    }
    read.known &= read.input + read.output > 0; /* every question has tokens */
    *out = read.known ? read : (ak_llm_usage){0};
}

void ak_copy_at(char out[AK_LLM_NAME_MAX], const json_t *object, const char *key)
{
    const char *text = ak_json_text_at(object, key);
    if (*text != 0) {
        (void)snprintf(out, AK_LLM_NAME_MAX, "%s", text);
    }
}

void ak_reply_error(ak_reply *out, const json_t *body)
{
    const char *code, *message;
    ak_error_words(&code, &message, body);
    out->fault = ak_classify_words(code, message);
    (void)snprintf(out->fault_text, sizeof out->fault_text, "%.239s",
                   *message == 0 ? code : message);
}
