/*
 * space_starts.c: what was best at other sizes, as where to begin at this one.
 *
 * A definition may list "Starts": [{"At": {"M": 4096, "N": 4096, "K": 4096}, "Config": {"MR": 6}}],
 * winners of measured searches with the sizes that they won at; docs/formats.md. Those that are
 * valid here are ordered by how far their sizes are from the space's, in doublings and halvings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "problem/space_body.h"

/* Within so many doublings, all sizes together, the nearest takes the place of the default. */
#define NEAR_ENOUGH 1.0
/* What won farther away than this says nothing. */
#define FAR 4.0

typedef struct start {
    ak_config config;
    double distance;
    size_t order; /* in the file */
} start;

/* Infinite if a size is not known. */
static ak_status distance_of(double *out, const json_t *at, const ak_scope *constants,
                             const char *where, ak_error *err)
{
    const char *name;
    json_t *size;
    *out = 0.0;
    json_object_foreach((json_t *)(uintptr_t)at, name, size)
    {
        ak_value value;
        if (!json_is_number(size) || !(json_number_value(size) > 0)) {
            return ak_fail(err, AK_INVALID, "%s: \"%.60s\" must be a number above 0", where, name);
        }
        bool known = constants != NULL && ak_scope_get(&value, constants, name) &&
                     (value.type == AK_VALUE_INT || value.type == AK_VALUE_REAL);
        double here = !known                       ? 0.0
                      : value.type == AK_VALUE_INT ? (double)value.as.integer
                                                   : value.as.real;
        *out += here > 0 ? fabs(log2(here / json_number_value(size))) : HUGE_VAL;
    }
    return AK_OK;
}

/* Is it the parameter's value v? */
static bool is_value(const ak_space *space, size_t parameter, size_t v, const char *text)
{
    return ak_space_value_is(&space->parameters[parameter].values[v],
                             space->bodies[parameter].text[v], text);
}

/* *index is the number of values if it has none that is written so. */
static ak_status find_value(size_t *index, const ak_space *space, size_t parameter,
                            const json_t *json, ak_error *err)
{
    char *text = NULL;
    size_t count = space->parameters[parameter].value_count;
    ak_status status = json_is_string(json) ? AK_OK : ak_json_text(&text, json, err);
    const char *written = text == NULL ? json_string_value(json) : text;
    *index = 0;
    while (status == AK_OK && *index < count && !is_value(space, parameter, *index, written)) {
        *index += 1;
    }
    ak_free(text);
    return status;
}

/* *usable: it is valid here. A value that is left out (--fix, this device) makes it unusable; a
   parameter that the space does not have is a mistake. */
static ak_status read_config(ak_config *out, bool *usable, const json_t *json,
                             const ak_space *space, const char *where, ak_error *err)
{
    const char *name;
    json_t *value;
    *out = space->fallback;
    *usable = true;
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        size_t p = 0, v = 0;
        if (!ak_space_parameter_find(&p, space, name)) {
            return ak_fail(err, AK_INVALID, "%s: there is no parameter \"%.60s\"", where, name);
        }
        if (json_is_array(value) || json_is_object(value) || json_is_null(value)) {
            return ak_fail(err, AK_INVALID, "%s: \"%.60s\" is no value", where, name);
        }
        ak_status status = find_value(&v, space, p, value, err);
        if (status != AK_OK) {
            return status;
        }
        *usable = *usable && v < space->parameters[p].value_count;
        out->at[p] = (uint16_t)(*usable ? v : 0);
    }
    *usable = *usable && ak_space_has(space, out);
    return AK_OK;
}

static int nearest_first(const void *a, const void *b)
{
    const start *x = a, *y = b;
    int by_distance = (x->distance > y->distance) - (x->distance < y->distance);
    return by_distance != 0 ? by_distance : (x->order > y->order) - (x->order < y->order);
}

static void keep(ak_space *space, const start *list, size_t count)
{
    for (size_t i = 0; i < count && space->start_count < AK_SPACE_STARTS_MAX; i++) {
        bool known = false;
        for (size_t k = 0; k < space->start_count && !known; k++) {
            known = memcmp(&space->starts[k], &list[i].config, sizeof list[i].config) == 0;
        }
        if (!known) {
            space->starts[space->start_count++] = list[i].config;
        }
    }
    if (count > 0 && list[0].distance <= NEAR_ENOUGH) {
        space->fallback = list[0].config;
        for (size_t p = 0; p < space->count; p++) {
            space->parameters[p].default_index = space->fallback.at[p];
        }
    }
}

ak_status ak_space_read_starts(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    static const char *const keys[] = {"At", "Config", NULL};
    json_t *list = NULL, *json;
    size_t index, usable_count = 0;
    ak_status status = ak_json_array_or_null(&list, spec->definition, "Starts", spec->where, err);
    if (status != AK_OK || list == NULL) {
        return status;
    }
    start *starts = ak_alloc(json_array_size(list) + 1, sizeof *starts);
    if (starts == NULL) {
        return ak_fail_memory(err);
    }
    json_array_foreach(list, index, json)
    {
        char where[256];
        json_t *at = NULL, *config = NULL;
        start found = {.order = index};
        bool usable = false;
        (void)snprintf(where, sizeof where, "%.120s: start %zu", spec->where, index + 1);
        status = json_is_object(json) ? ak_json_only(json, keys, where, err)
                                      : ak_fail(err, AK_INVALID, "%s must be an object", where);
        if (status == AK_OK) {
            status = ak_json_object_or_null(&at, json, "At", where, err);
        }
        if (status == AK_OK) {
            status = ak_json_object_or_null(&config, json, "Config", where, err);
        }
        if (status == AK_OK && (at == NULL || config == NULL)) {
            status = ak_fail(err, AK_INVALID, "%s needs \"At\" and \"Config\"", where);
        }
        if (status == AK_OK) {
            status = distance_of(&found.distance, at, spec->constants, where, err);
        }
        if (status == AK_OK) {
            status = read_config(&found.config, &usable, config, space, where, err);
        }
        if (status != AK_OK) {
            break;
        }
        if (usable && found.distance <= FAR) {
            starts[usable_count++] = found;
        }
    }
    if (status == AK_OK) {
        qsort(starts, usable_count, sizeof *starts, nearest_first);
        keep(space, starts, usable_count);
    }
    ak_free(starts);
    return status;
}

size_t ak_space_starts(const ak_config **out, const ak_space *space)
{
    *out = space->starts;
    return space->start_count;
}
