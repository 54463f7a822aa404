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
    AK_FAIL_IF(json_array_size(*out) > AK_LET_MAX, err, AK_LIMIT,
               "%s: Let has more than %d entries", where, AK_LET_MAX);
    AK_EACH(entry, *out) {
        const char *name;
        char place[320];
        (void)snprintf(place, sizeof place, "%.280s: Let: value %zu", where, entry_at + 1);
        AK_FAIL_IF(!json_is_object(entry), err, AK_INVALID, "%s must be an object", place);
        AK_DO(ak_json_only(entry, keys, place, err));
        AK_DO(ak_json_string(&name, entry, "Name", place, err));
        AK_FAIL_IF(!ak_expr_is_name(name) || strlen(name) > NAME_MAX_BYTES, err, AK_INVALID,
                   "%s: Let: \"%.60s\" is not a valid name", where, name);
    }
    return AK_OK;
}
