/* let.c: see let.h. */
#include "space/let.h"

#include <string.h>

#include "base/number.h"

#define NAME_MAX_BYTES 63

const char *ak_written_text(char buffer[AK_WRITTEN_BYTES], const json_t *value)
{
    if (json_is_integer(value)) {
        (void)snprintf(buffer, AK_WRITTEN_BYTES, "%lld", (long long)json_integer_value(value));
        return buffer;
    }
    if (json_is_real(value)) {
        (void)ak_number_print(buffer, AK_WRITTEN_BYTES, "%.17g", json_real_value(value));
        return buffer;
    }
    if (json_is_boolean(value)) {
        return json_is_true(value) ? "1" : "0";
    }
    return json_string_value(value);
}

ak_status ak_let_read(json_t **out, const json_t *object, const char *where, ak_error *err)
{
    static const char *const keys[] = {"Name", "Value", NULL};
    AK_DO(ak_json_array_or_null(out, object, "Let", where, err));
    if (json_array_size(*out) > AK_LET_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: Let has more than %d entries", where, AK_LET_MAX);
    }
    for (size_t i = 0; i < json_array_size(*out); i++) {
        const json_t *entry = json_array_get(*out, i);
        const char *name;
        char place[320];
        (void)snprintf(place, sizeof place, "%.280s: Let: value %zu", where, i + 1);
        AK_DO(json_is_object(entry) ? ak_json_only(entry, keys, place, err)
                                    : ak_fail(err, AK_INVALID, "%s must be an object", place));
        AK_DO(ak_json_string(&name, entry, "Name", place, err));
        if (!ak_expr_is_name(name) || strlen(name) > NAME_MAX_BYTES) {
            return ak_fail(err, AK_INVALID, "%s: Let: \"%.60s\" is not a valid name", where, name);
        }
    }
    return AK_OK;
}
