/* space_wish.c: translates a configuration from another space to this one (ak_space_wish in
   space.h). */
#include <math.h>

#include "space/space_body.h"

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
    size_t same;
    AK_DO(ak_space_value_of_json(&same, space, p, json, err));
    out->exact = out->found = same < parameter->value_count;
    out->at = out->exact ? (uint16_t)same : out->at;
    double least = HUGE_VAL, number;
    for (size_t v = 0; !out->exact && json_is_number(json) && v < parameter->value_count; v++) {
        bool ordered = ak_value_number(&number, &parameter->values[v]);
        double away = ordered ? apart(number, json_number_value(json)) : HUGE_VAL;
        if (away < least) {
            least = away;
            out->at = (uint16_t)v;
            out->found = true;
        }
    }
    return AK_OK;
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
