/* key.h: reads API keys and keeps them out of messages and files. */
#ifndef AK_LLM_KEY_H
#define AK_LLM_KEY_H

#include "llm/provider.h"

#define AK_KEY_MAX 4096

/* Reads the first line of `file` or, if `file` is NULL, the provider's environment variable. *out
   is NULL if that is not set, or if the provider has none. The caller frees the key with
   ak_key_free. Refuses a file to which anyone but its owner has access, and a key that is shorter
   than 8 characters or has blanks or characters outside printable ASCII. */
ak_status ak_key_read(char **out, const ak_provider *provider, const char *file, ak_error *err);
/* Wipes and frees a key. */
void ak_key_free(char *key);
AK_END_AT(ak_key_free, char)

/* Overwrites the key with '*', even if the text was cut off inside the key (but after 8 or more of
   its characters), and also whatever looks like another key (sk-...). `key` may be NULL. */
void ak_key_redact(char *text, const char *key);

#endif
