/*
 * value_json.h: values and configurations as JSON, the same wherever they are written. It uses only
 * the public header's view of them. Both functions return NULL if there is no memory.
 */
#ifndef AK_BASE_VALUE_JSON_H
#define AK_BASE_VALUE_JSON_H

#include "base/json.h"

json_t *ak_value_json(const ak_value *value);
/* Returns an object such as {"MR": 6, "COMPILER": "gcc"}. */
json_t *ak_config_json(const ak_space *space, const ak_config *config);

#endif
