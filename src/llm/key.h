/* key.h: the secrets: where they come from, and that they go nowhere else. */
#ifndef AK_LLM_KEY_H
#define AK_LLM_KEY_H

#include "llm/provider.h"

#define AK_KEY_MAX 4096

/* The first line of `file`, or the provider's variable if `file` is NULL; *out is NULL if there is
   neither. The caller ends it with ak_key_free. A file that others may read is refused. */
ak_status ak_key_read(char **out, const ak_provider *provider, const char *file, ak_error *err);
/* Wipes and frees. */
void ak_key_free(char *key);

/* Overwrites with '*' the key, and what looks like any other key (sk-...). `key` may be NULL. */
void ak_key_redact(char *text, const char *key);

#endif
