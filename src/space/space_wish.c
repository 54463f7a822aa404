/* space_wish.c: translates a configuration from another space to this one (ak_space_wish in
   space.h). */
#include <math.h>

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

/* The value that a wish means for one parameter. */
typedef struct placed {
    uint16_t at;
    bool exact; /* `at` is the value itself */
    bool found; /* `at` is the value itself or the nearest number */
} placed;

/* Finds the value that the JSON means. out->at stays as it is if nothing is found. */
static ak_status place_value(placed *out, const ak_space *space, size_t p, const json_t *json,
                             ak_error *err)
{
    const ak_parameter *parameter = &space->parameters[p];
    AK_FREED char *made = NULL;
    ak_status status = json_is_string(json) ? AK_OK : ak_json_text(&made, json, err);
    const char *text = made == NULL ? json_string_value(json) : made;
    out->exact = out->found = false;
    for (size_t v = 0; status == AK_OK && !out->exact && v < parameter->value_count; v++) {
        out->exact = ak_space_value_is(&parameter->values[v], space->bodies[p].text[v], text);
        out->at = out->exact ? (uint16_t)v : out->at;
    }
    double wish = json_is_number(json) ? json_number_value(json) : NAN, least = HUGE_VAL;
    for (size_t v = 0; !out->exact && ak_space_ordered(space, p) && v < parameter->value_count;
         v++) {
        double away = apart(number_of(&parameter->values[v]), wish);
        if (away < least) {
            least = away;
            out->at = (uint16_t)v;
            out->found = true;
        }
    }
    out->found = out->found || out->exact;
    return status;
}

ak_status ak_space_wish_of(ak_space_wish *out, const ak_space *space, const json_t *values,
                           ak_error *err)
{
    *out = (ak_space_wish){.config = space->fallback};
    for (size_t p = 0; p < space->count; p++) {
        const json_t *value = json_object_get(values, space->parameters[p].name);
        placed one = {.at = out->config.at[p]};
        bool free = space->parameters[p].value_count > 1;
        if (value != NULL && free) {
            AK_DO(place_value(&one, space, p, value, err));
        }
        out->config.at[p] = one.at;
        out->exact += one.exact;
        out->near += one.found && !one.exact;
        out->open += free && !one.found;
    }
    return AK_OK;
}
