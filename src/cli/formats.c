#include "cli/formats.h"

#include "cli/options.h"

#define FORMATS_MAX 32

typedef struct names {
    const char *at[FORMATS_MAX + 1];
    size_t count;
} names;

static void add(void *context, const char *name, const char *description)
{
    (void)description;
    names *n = context;
    if (n->count < FORMATS_MAX) {
        n->at[n->count++] = name; /* a text of the library's static table */
    }
}

static bool same(const char *a, const char *b)
{
    for (; *a != 0 && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b); a++) {
        b++;
    }
    return *a == 0 && *b == 0;
}

ak_status ak_format_named(const char **out, const char *name, ak_error *err)
{
    names known = {0};
    char hint[120];
    AK_DO(ak_list(AK_LIST_FORMATS, add, &known, err));
    for (size_t i = 0; i < known.count; i++) {
        if (same(known.at[i], name)) {
            *out = known.at[i];
            return AK_OK;
        }
    }
    ak_hint(hint, sizeof hint, name, known.at, "'autokernel list' shows them");
    return ak_fail(err, AK_INVALID, "there is no format '%.60s'; %s", name, hint);
}
