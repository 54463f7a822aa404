/* importance_json.c: writes parameter importance as JSON, for reports and `stats --json`. */
#include <math.h>

#include "report/gather.h"
#include "report/importance.h"

static json_t *value_json(const ak_importance_value *value)
{
    return json_pack("{s:s, s:I, s:I}", "value", value->text, "tried", (json_int_t)value->tried,
                     "ok", (json_int_t)value->ok);
}

static json_t *parameter_json(const ak_importance *importance, size_t i)
{
    const ak_importance_parameter *p = &importance->parameters[i];
    bool told = importance->why == NULL;
    json_t *values = json_array();
    for (size_t v = 0; v < p->value_count; v++) {
        ak_json_add(&values, value_json(&p->values[v]));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "parameter", p->name, "share",
                     ak_json_real(told ? p->share : (double)NAN), "with_pairs",
                     ak_json_real(told ? p->shared : (double)NAN), "values", values);
}

static json_t *pair_json(const ak_importance *importance, size_t i)
{
    const ak_importance_pair *pair = &importance->pairs[i];
    return json_pack("{s:[s,s], s:o}", "parameters", importance->parameters[pair->a].name,
                     importance->parameters[pair->b].name, "share", ak_json_real(pair->share));
}

static json_t *region_json(const ak_importance_region *region)
{
    return region->text == NULL
               ? json_null()
               : json_pack("{s:s, s:o, s:I, s:I}", "where", region->text, "ratio",
                           ak_json_real(region->ratio), "trials", (json_int_t)region->trials,
                           "others", (json_int_t)region->others);
}

static json_t *list_of(const ak_importance *importance, size_t count,
                       json_t *(*item)(const ak_importance *, size_t))
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, item(importance, i));
    }
    return list;
}

json_t *ak_importance_to_json(const ak_importance *importance)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:s?, s:o, s:o, s:o, s:o}", "trials",
        (json_int_t)importance->trials, "learned", (json_int_t)importance->learned, "left_out",
        (json_int_t)importance->left_out, "tasks", (json_int_t)importance->tasks, "r2",
        ak_json_real(importance->r2), "why_not", importance->why, "parameters",
        list_of(importance, importance->parameter_count, parameter_json), "pairs",
        list_of(importance, importance->pair_count, pair_json), "best_region",
        region_json(&importance->best), "worst_region", region_json(&importance->worst));
}

/* ---- of a part of the archive ---------------------------------------------------------------- */

ak_status ak_archive_importance(char **out_text, ak_archive *archive,
                                const ak_archive_filter *filter, ak_error *err)
{
    AK_AT_END(ak_gathered_clear) ak_gathered gathered = {0};
    AK_AT_END(ak_importance_clear) ak_importance importance = {0};
    json_auto_t *object = NULL;
    AK_DO(ak_gather(&gathered, archive, filter, err));
    AK_DO(ak_importance_of(&importance, gathered.trials, gathered.count, err));
    object = ak_importance_to_json(&importance);
    AK_DO(ak_made(object, err));
    return ak_json_text(out_text, object, err);
}
