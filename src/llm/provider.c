/* provider.c: the table of providers, what models take, and what several providers share. */
#include "llm/dialect.h"

#include <string.h>

#include "llm/price.h"

const ak_provider *const ak_providers[] = {
#define X(name) &ak_provider_##name,
#include "llm/providers.def"
#undef X
    NULL,
};

static const struct {
    const char *provider, *pattern;
    unsigned set;
    int output_tokens_max, context_tokens;
} models[] = {
/* The rows name abilities without their prefix. */
#define TEMPERATURE       AK_ABILITY_TEMPERATURE
#define SCHEMA            AK_ABILITY_SCHEMA
#define EFFORT            AK_ABILITY_EFFORT
#define ADAPTIVE          AK_ABILITY_ADAPTIVE
#define THINKING          AK_ABILITY_THINKING
#define COMPLETION_TOKENS AK_ABILITY_COMPLETION_TOKENS
#define SEED              AK_ABILITY_SEED
#define STREAM            AK_ABILITY_STREAM
#define STREAM_USAGE      AK_ABILITY_STREAM_USAGE
#define STORE             AK_ABILITY_STORE
#define X(provider, pattern, abilities, output, context)                                           \
    {#provider, pattern, (unsigned)(abilities), output, context},
#include "llm/models.def"
#undef X
};

ak_status ak_provider_find(const ak_provider **out, const char *name, size_t length, ak_error *err)
{
    ak_buf known = AK_BUF(512);
    for (size_t i = 0; ak_providers[i] != NULL; i++) {
        const char *candidate = ak_providers[i]->name;
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) {
            ak_buf_free(&known);
            *out = ak_providers[i];
            return AK_OK;
        }
        ak_buf_print(&known, "%s, ", candidate);
    }
    ak_status status = ak_fail(err, AK_NOT_FOUND,
                               "there is no provider of language models \"%.*s\"; choose one of: "
                               "%sreplay",
                               (int)(length < 80 ? length : 80), name, known.data);
    ak_buf_free(&known);
    return status;
}

void ak_abilities_find(ak_abilities *out, const ak_provider *provider, const char *model)
{
    *out = (ak_abilities){0};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (strcmp(models[i].provider, provider->name) == 0 &&
            ak_llm_glob(models[i].pattern, model)) {
            *out = (ak_abilities){models[i].set, models[i].output_tokens_max,
                                  models[i].context_tokens};
            return;
        }
    }
}

/* ---- what dialects share ------------------------------------------------------------------- */

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
    if (!ak_json_set_text(message, "role", role) || !ak_json_set_text(message, "content", text)) {
        json_decref(message);
        return NULL;
    }
    return message;
}

json_t *ak_messages_json(const ak_llm_chat *chat, const char *system)
{
    json_t *list = json_array();
    bool good = list != NULL &&
                (system == NULL || json_array_append_new(list, message_of("system", system)) == 0);
    for (size_t i = 0; i < chat->message_count && good; i++) {
        const char *role = chat->messages[i].role == AK_LLM_USER ? "user" : "assistant";
        good = json_array_append_new(list, message_of(role, chat->messages[i].text)) == 0;
    }
    if (!good) {
        json_decref(list);
        return NULL;
    }
    return list;
}

ak_status ak_request_end(json_t **out, json_t *body, bool good, ak_error *err)
{
    if (body == NULL || !good) {
        json_decref(body);
        return ak_fail_memory(err);
    }
    *out = body;
    return AK_OK;
}

void ak_append_at(ak_buf *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        ak_buf_append(out, json_string_value(value), json_string_length(value));
    } else if (json_is_object(value) || json_is_array(value)) {
        ak_json_print(out, value, false); /* a server that parsed the JSON already */
    }
}

int64_t ak_count_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value); /* 0 if it is none */
    return number > 0 && number < 1e15 ? (int64_t)number : 0;
}

/* usage.NAME_tokens, and *detail of it: usage.NAME_tokens_details.`key` */
static int64_t tokens_at(int64_t *detail, const json_t *usage, const char *name, const char *key)
{
    char member[64];
    (void)snprintf(member, sizeof member, "%s_tokens_details", name);
    *detail = ak_count_at(json_object_get(usage, member), key);
    (void)snprintf(member, sizeof member, "%s_tokens", name);
    return ak_count_at(usage, member);
}

void ak_usage_at(ak_llm_usage *out, const json_t *object, const char *input, const char *output)
{
    const json_t *usage = json_object_get(object, "usage");
    if (json_is_object(usage)) {
        *out = (ak_llm_usage){.known = true};
        out->input = tokens_at(&out->input_cached, usage, input, "cached_tokens");
        out->output = tokens_at(&out->output_reasoning, usage, output, "reasoning_tokens");
    }
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
