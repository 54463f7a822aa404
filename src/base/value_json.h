/*
 * value_json.h: writes values and configurations as JSON and as text. It includes only the public
 * header and headers of base/, so that cli/ may include it.
 */
#ifndef AK_BASE_VALUE_JSON_H
#define AK_BASE_VALUE_JSON_H

#include "base/json.h"

/* Both return a new value, or NULL if there is no memory. A configuration becomes an object such as
   {"MR": 6, "COMPILER": "gcc"}. */
json_t *ak_value_json(const ak_value *value);
json_t *ak_config_json(const ak_space *space, const ak_config *config);
/* Writes a JSON value in the form of configuration texts: 6, 0.5, True, gcc. */
void ak_value_print(ak_buf *out, const json_t *value);
/* Gives the text of a configuration, which the caller frees with ak_free. */
ak_status ak_config_text(char **out, const ak_space *space, const ak_config *config, ak_error *err);

#endif
