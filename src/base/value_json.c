#include "base/value_json.h"

#include "base/alloc.h"

json_t *ak_value_json(const ak_value *value)
{
    json_t *list;
    switch (value->type) {
    case AK_VALUE_BOOL:
        return json_boolean(value->as.boolean);
    case AK_VALUE_INT:
        return json_integer(value->as.integer);
    case AK_VALUE_REAL:
        return ak_json_real(value->as.real);
    case AK_VALUE_STRING:
        return json_string(value->as.string);
    case AK_VALUE_LIST:
        list = json_array();
        for (size_t i = 0; i < value->as.list.count; i++) {
            ak_json_add(&list, ak_value_json(&value->as.list.items[i]));
        }
        return list;
    }
    return NULL;
}

json_t *ak_config_json(const ak_space *space, const ak_config *config)
{
    json_t *object = json_object();
    bool good = true;
    for (size_t i = 0; good && i < ak_space_parameter_count(space); i++) {
        const ak_parameter *p = ak_space_parameter(space, i);
        good = ak_json_set(object, p->name, ak_value_json(&p->values[config->at[i]]));
    }
    return ak_json_whole(object, good);
}

void ak_value_print(ak_buf *out, const json_t *value)
{
    if (json_is_boolean(value)) {
        ak_buf_puts(out, json_is_true(value) ? "True" : "False");
    } else {
        ak_json_print_plain(out, value);
    }
}

ak_status ak_config_text(char **out, const ak_space *space, const ak_config *config, ak_error *err)
{
    size_t length = ak_config_format(NULL, 0, space, config);
    char *text;
    AK_DO(AK_NEW(text, length + 1, err));
    (void)ak_config_format(text, length + 1, space, config);
    *out = text;
    return AK_OK;
}
