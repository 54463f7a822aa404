/* dialect.h: what the providers share. All getters take a value of any type, NULL included, and
   give nothing for what is not there: a server may send anything. */
#ifndef AK_LLM_DIALECT_H
#define AK_LLM_DIALECT_H

#include "llm/provider.h"

bool ak_can(const ak_request *request, unsigned ability);
const char *ak_schema_name(const ak_llm_chat *chat);
/* The system text; with the schema in words where the model does not take one. NULL if there is
   neither. The caller frees. */
ak_status ak_system_text(char **out, const ak_request *request, ak_error *err);
/* [{"role", "content"}]; `system` as the first of them, unless NULL. NULL: no memory. */
json_t *ak_messages_json(const ak_llm_chat *chat, const char *system);
/* A copy of a schema without keywords that a provider refuses; what they would have enforced is for
   the caller to check. Keywords are left out, properties of the same name are not. */
json_t *ak_schema_without(const json_t *schema, const char *const *keywords);
extern const char *const ak_schema_not_openai[], *const ak_schema_not_anthropic[];
/* May OpenAI's strict mode be asked for: no other properties, and all of them required? */
bool ak_schema_strict(const json_t *schema);
/* The end of a request: takes the body, which is complete if `good`. */
ak_status ak_request_end(json_t **out, json_t *body, bool good, ak_error *err);

void ak_append_at(ak_buf *out, const json_t *object, const char *key);
int64_t ak_count_at(const json_t *object, const char *key); /* 0 if it is no count */
/* "usage" of OpenAI's APIs, which count the same under other names: `input`_tokens with its
   details, `output`_tokens with theirs. Nothing changes where there is none. */
void ak_usage_at(ak_llm_usage *out, const json_t *object, const char *input, const char *output);
void ak_copy_at(char out[AK_LLM_NAME_MAX], const json_t *object, const char *key);
/* An error object that came inside a reply or stream. */
void ak_reply_error(ak_reply *out, const json_t *body);

/* Chat Completions, which several servers speak; openai_chat.c. */
ak_status ak_chat_request(json_t **out, const ak_request *request, ak_error *err);
ak_status ak_chat_reply(ak_reply *out, const json_t *body, ak_error *err);
ak_status ak_chat_delta(ak_reply *out, const char *event, const json_t *data, ak_error *err);

#endif
