/* importance_json.c: writes parameter importance as JSON, for reports and `stats --json`. */
#include <math.h>

#include "report/gather.h"
#include "report/importance.h"

static json_t *count_of(size_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *values_json(const ak_importance_parameter *p)
{
    json_t *list = json_array();
    bool whole = true;
    for (size_t v = 0; v < p->value_count; v++) {
        json_t *item = json_object();
        bool good = ak_json_set_text(item, "value", p->values[v].text) &&
                    ak_json_set(item, "tried", count_of(p->values[v].tried)) &&
                    ak_json_set(item, "ok", count_of(p->values[v].ok));
        whole = json_array_append_new(list, item) == 0 && good && whole;
    }
    return ak_json_whole(list, whole);
}

static json_t *parameter_json(const ak_importance *importance, size_t i)
{
    const ak_importance_parameter *p = &importance->parameters[i];
    bool told = importance->why == NULL;
    json_t *object = json_object();
    bool good = ak_json_set_text(object, "parameter", p->name) &&
                ak_json_set_real(object, "share", told ? p->share : (double)NAN) &&
                ak_json_set_real(object, "with_pairs", told ? p->shared : (double)NAN) &&
                ak_json_set(object, "values", values_json(p));
    return ak_json_whole(object, good);
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
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        good = json_array_append_new(list, item(importance, i)) == 0 && good;
    }
    return ak_json_whole(list, good);
}

json_t *ak_importance_to_json(const ak_importance *importance)
{
    json_t *object = json_object();
    bool good =
        ak_json_set(object, "trials", count_of(importance->trials)) &&
        ak_json_set(object, "learned", count_of(importance->learned)) &&
        ak_json_set(object, "left_out", count_of(importance->left_out)) &&
        ak_json_set(object, "tasks", count_of(importance->tasks)) &&
        ak_json_set_real(object, "r2", importance->r2) &&
        ak_json_set_text(object, "why_not", importance->why) &&
        ak_json_set(object, "parameters",
                    list_of(importance, importance->parameter_count, parameter_json)) &&
        ak_json_set(object, "pairs", list_of(importance, importance->pair_count, pair_json)) &&
        ak_json_set(object, "best_region", region_json(&importance->best)) &&
        ak_json_set(object, "worst_region", region_json(&importance->worst));
    return ak_json_whole(object, good);
}

/* ---- of a part of the archive ---------------------------------------------------------------- */

ak_status ak_archive_importance(char **out_text, ak_archive *archive,
                                const ak_archive_filter *filter, ak_error *err)
{
    ak_gathered gathered = {0};
    ak_importance importance = {0};
    json_t *object = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_gather(&gathered, archive, filter, err));
    AK_TRY(ak_importance_of(&importance, gathered.trials, gathered.count, err));
    object = ak_importance_to_json(&importance);
    AK_TRY(ak_made(object, err));
    AK_TRY(ak_json_text(out_text, object, err));
out:
    json_decref(object);
    ak_importance_clear(&importance);
    ak_gathered_clear(&gathered);
    return status;
}
