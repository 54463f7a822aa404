/* space_wish.c: reads a configuration of another space in this one (ak_space_wish in space.h). */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "space/space_body.h"

static double number_of(const ak_value *value)
{
    return value->type == AK_VALUE_INT    ? (double)value->as.integer
           : value->type == AK_VALUE_REAL ? value->as.real
                                          : NAN;
}

/* Returns the distance of two numbers: the logarithm of their ratio if both are above 0, else
   their difference. */
static double apart(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log2(a / b)) : fabs(a - b);
}

/* Finds the value that the JSON means. *found says whether there is such a value or at least a
   nearest number, and *exact whether it is the value itself. *out stays as it is if nothing is
   found. */
static ak_status place_value(uint16_t *out, bool *exact, bool *found, const ak_space *space,
                             size_t p, const json_t *json, ak_error *err)
{
    const ak_parameter *parameter = &space->parameters[p];
    char *made = NULL;
    ak_status status = json_is_string(json) ? AK_OK : ak_json_text(&made, json, err);
    const char *text = made == NULL ? json_string_value(json) : made;
    *exact = *found = false;
    for (size_t v = 0; status == AK_OK && !*exact && v < parameter->value_count; v++) {
        *exact = ak_space_value_is(&parameter->values[v], space->bodies[p].text[v], text);
        *out = *exact ? (uint16_t)v : *out;
    }
    double wish = json_is_number(json) ? json_number_value(json) : NAN, least = HUGE_VAL;
    for (size_t v = 0; !*exact && ak_space_ordered(space, p) && v < parameter->value_count; v++) {
        double away = apart(number_of(&parameter->values[v]), wish);
        if (away < least) {
            least = away;
            *out = (uint16_t)v;
            *found = true;
        }
    }
    *found = *found || *exact;
    ak_free(made);
    return status;
}

ak_status ak_space_wish_of(ak_space_wish *out, const ak_space *space, const json_t *values,
                           ak_error *err)
{
    ak_status status = AK_OK;
    *out = (ak_space_wish){.config = space->fallback};
    for (size_t p = 0; p < space->count && status == AK_OK; p++) {
        const json_t *value = json_object_get(values, space->parameters[p].name);
        bool exact = false, found = false, free = space->parameters[p].value_count > 1;
        if (value != NULL && free) {
            status = place_value(&out->config.at[p], &exact, &found, space, p, value, err);
        }
        out->exact += exact;
        out->near += found && !exact;
        out->open += free && !found;
    }
    return status;
}
