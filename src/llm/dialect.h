/* dialect.h: functions that the providers share. A server may send anything, so every function that
   reads its JSON takes a value of any type, or NULL, and treats a missing or wrong member as
   absent. */
#ifndef AK_LLM_DIALECT_H
#define AK_LLM_DIALECT_H

#include "llm/provider.h"

bool ak_can(const ak_request *request, unsigned ability);
const char *ak_schema_name(const ak_llm_chat *chat);
/* Builds the system text. If the model does not take a schema, the text contains it. *out, which
   the caller frees, is NULL if there is no text and no schema has to be told. */
ak_status ak_system_text(char **out, const ak_request *request, ak_error *err);
/* Builds [{"role", "content"}]. `system` becomes the first message unless it is NULL. Returns NULL
   without memory. */
json_t *ak_messages_json(const ak_llm_chat *chat, const char *system);
/* Copies a schema without the keywords of a NULL-terminated list, which a provider refuses. Returns
   NULL without memory. Properties named like a keyword are kept. */
json_t *ak_schema_without(const json_t *schema, const char *const *keywords);
extern const char *const ak_schema_not_anthropic[]; /* keywords that Anthropic refuses */
/* Returns the schema of a request as OpenAI's API takes it: in the strict form if the model is
   known to enforce that, else unchanged, because other servers with this API do not need it. */
json_t *ak_schema_openai(const ak_request *request);
/* Returns true if the schema meets OpenAI's strict mode: no additional properties, and every
   property required. */
bool ak_schema_strict(const json_t *schema);

/* Appends a member's text; appends an object or array as JSON, and nothing for other values. */
void ak_append_at(ak_buf *out, const json_t *object, const char *key);
/* Reads a count. Returns false and sets *out to 0 if the member is missing, is not a number, or is
   negative or 10^15 or more. */
bool ak_count_read(int64_t *out, const json_t *object, const char *key);
/* Reads "usage" of OpenAI's APIs, which count the same tokens under different names: `input`_tokens
   and `output`_tokens, each with details. The usage is not known if one of the two is not a count
   or both are 0. Leaves *out unchanged if there is no "usage". */
void ak_usage_at(ak_llm_usage *out, const json_t *object, const char *input, const char *output);
/* Copies a member's text, cut to fit. Leaves `out` unchanged if there is none. */
void ak_copy_at(char out[AK_LLM_NAME_MAX], const json_t *object, const char *key);
/* Reads an error object that came inside a reply or stream. */
void ak_reply_error(ak_reply *out, const json_t *body);

/* Chat Completions (openai_chat.c), which several servers speak. */
ak_status ak_chat_request(json_t **out, const ak_request *request, ak_error *err);
void ak_chat_reply(ak_reply *out, const json_t *body);
void ak_chat_delta(ak_reply *out, const char *event, const json_t *data);

#endif
