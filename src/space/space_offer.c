/* space_offer.c: decides which values of a parameter are kept for a task. A value must be one that
   `fix` leaves, must not change results unless this is allowed, and, if it is a compiler, must be
   one that spec->available accepts (NULL: all). */
#include "space/space_read.h"

#include <string.h>

/* ---- "MR=6,KC=256:512" ----------------------------------------------------------------------- */

/* Finds what `fix` says about a parameter: the text after its '=', up to the next ','. Returns
   false if `fix` is NULL or does not name the parameter. */
static bool find_fix(const char **text, size_t *length, const char *fix, const char *name)
{
    size_t bytes = strlen(name);
    while (fix != NULL && *fix != 0) {
        size_t item = strcspn(fix, ",");
        if (item > bytes && fix[bytes] == '=' && memcmp(fix, name, bytes) == 0) {
            *text = fix + bytes + 1;
            *length = item - bytes - 1;
            return true;
        }
        fix += fix[item] == ',' ? item + 1 : item;
    }
    return false;
}

bool ak_space_fixes(const char *fix, const char *name)
{
    const char *text;
    size_t length;
    return find_fix(&text, &length, fix, name);
}

/* Returns true if a text such as "256:512" names the value. */
static bool fix_names(const char *text, size_t length, const ak_value *value, const char *canonical)
{
    char one[AK_VALUE_TEXT_MAX + 1];
    for (size_t at = 0; at <= length;) {
        const char *colon = memchr(text + at, ':', length - at);
        size_t bytes = colon == NULL ? length - at : (size_t)(colon - text) - at;
        if (bytes < sizeof one) {
            memcpy(one, text + at, bytes);
            one[bytes] = 0;
            if (ak_space_value_is(value, canonical, one)) {
                return true;
            }
        }
        at += bytes + 1;
    }
    return false;
}

static ak_status refuse_fix(const ak_parameter *parameter, const ak_parameter_body *body,
                            const char *text, size_t bytes, ak_space_reader *r)
{
    enum { SHOWN = 12 }; /* values listed; a parameter may have hundreds */
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(200);
    for (size_t v = 0; v < parameter->value_count && v < SHOWN; v++) {
        ak_buf_print(&list, "%s%s", v == 0 ? "" : ", ", body->text[v]);
    }
    ak_buf_puts(&list, parameter->value_count > SHOWN ? ", ..." : "");
    return ak_fail(r->err, AK_INVALID, "%s has no value \"%.*s\" to be fixed at; it has %s",
                   r->where, (int)(bytes < 60 ? bytes : 60), text, list.data);
}

ak_status ak_space_check_fix(const ak_parameter *parameter, const ak_parameter_body *body,
                             ak_space_reader *r)
{
    const char *text;
    size_t length;
    if (!find_fix(&text, &length, r->spec->fix, parameter->name)) {
        return AK_OK;
    }
    for (size_t at = 0; at <= length;) {
        const char *colon = memchr(text + at, ':', length - at);
        size_t bytes = colon == NULL ? length - at : (size_t)(colon - text) - at, v = 0;
        while (v < parameter->value_count &&
               !fix_names(text + at, bytes, &parameter->values[v], body->text[v])) {
            v++;
        }
        if (v == parameter->value_count) {
            return refuse_fix(parameter, body, text + at, bytes, r);
        }
        at += bytes + 1;
    }
    return AK_OK;
}

ak_status ak_space_check_fix_names(const ak_space *space, ak_space_reader *r)
{
    const char *fix = r->spec->fix;
    while (fix != NULL && *fix != 0) {
        char name[AK_NAME_MAX + 2];
        size_t item = strcspn(fix, ","), bytes = strcspn(fix, "=,");
        (void)snprintf(name, sizeof name, "%.*s", (int)(bytes < sizeof name ? bytes : AK_NAME_MAX),
                       fix);
        AK_FAIL_IF(
            bytes >= item, r->err, AK_INVALID,
            "%s: \"%.*s\" fixes nothing; it must be parameter=value or parameter=value:value",
            r->spec->where, (int)(item < 60 ? item : 60), fix);
        if (!ak_map_get(NULL, space->names, name)) {
            const char *names[AK_PARAMETERS_MAX + 1] = {NULL};
            for (size_t p = 0; p < space->count; p++) {
                names[p] = space->parameters[p].name;
            }
            const char *near = ak_text_nearest(name, names);
            return ak_fail(r->err, AK_INVALID, "%s: there is no parameter \"%s\" to fix; %s%s%s",
                           r->spec->where, name,
                           near == NULL ? "'autokernel list KERNEL' shows them" : "did you mean \"",
                           near == NULL ? "" : near, near == NULL ? "" : "\"?");
        }
        const char *first = NULL;
        size_t length;
        AK_FAIL_IF(find_fix(&first, &length, r->spec->fix, name) && first != fix + bytes + 1,
                   r->err, AK_INVALID, "%s: \"%s\" is fixed twice; write %s=value:value",
                   r->spec->where, name, name);
        fix += fix[item] == ',' ? item + 1 : item;
    }
    return AK_OK;
}

/* ---- the values that are kept ---------------------------------------------------------------- */

/* Returns whether the compiler that is value i was found. If not, adds it to body->absent. */
static bool find_compiler(ak_parameter_body *body, size_t i, const char *name,
                          const ak_space_spec *spec)
{
    bool there = spec->available(spec->available_context, name);
    if (!there) {
        body->absent[body->absent_count++] = body->text[i];
    }
    return there;
}

ak_status ak_space_filter_values(ak_parameter *parameter, ak_parameter_body *body,
                                 ak_space_reader *r)
{
    const ak_space_spec *spec = r->spec;
    bool numerics = parameter->numerics && !spec->allow_numerics;
    bool compiler = parameter->use == AK_USE_COMPILER && spec->available != NULL;
    const char *fix = NULL;
    size_t fix_length = 0;
    bool fixed = find_fix(&fix, &fix_length, spec->fix, parameter->name);
    if (!numerics && !compiler && !fixed) {
        return AK_OK;
    }
    AK_DO(AK_ARENA_NEW(body->absent, r->space->arena, parameter->value_count, r->err));
    /* the space owns the array, so it may be changed */
    ak_value *values = (ak_value *)(uintptr_t)parameter->values;
    size_t kept = 0, fallback = 0;
    for (size_t i = 0; i < parameter->value_count; i++) {
        bool wanted = !numerics || i == parameter->default_index;
        if (wanted && fixed) {
            wanted = fix_names(fix, fix_length, &values[i], body->text[i]);
        }
        if (wanted && compiler) {
            wanted = find_compiler(body, i, values[i].as.string, spec);
        }
        if (!wanted) {
            continue;
        }
        if (i == parameter->default_index) {
            fallback = kept;
        }
        values[kept] = values[i];
        body->text[kept] = body->text[i];
        if (body->added != NULL) {
            body->added[kept] = body->added[i];
        }
        kept++;
    }
    AK_FAIL_IF(kept == 0 && !compiler, r->err, AK_INVALID,
               "%s is fixed at values that change results; --allow-numerics allows them", r->where);
    if (kept == 0) {
        AK_AT_END(ak_buf_free) ak_buf names = AK_BUF(200);
        for (size_t i = 0; i < parameter->value_count; i++) {
            ak_buf_print(&names, "%s%s", i == 0 ? "" : ", ", body->text[i]);
        }
        return ak_fail(r->err, AK_UNAVAILABLE,
                       "%s: none of its compilers (%s) was found in PATH; install one, or add "
                       "its folder to PATH",
                       r->where, names.data);
    }
    parameter->value_count = kept;
    parameter->default_index = fallback;
    return AK_OK;
}
