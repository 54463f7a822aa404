/* sizes_json.c: writes the result of a run over many sizes. Losses are ratios of times: 1.02 is 2 %
   slower. With another objective they are ratios of costs, and the object has the costs besides the
   times. */

#include <math.h>

#include "archive/config_text.h"
#include "tuner/result.h"

static json_t *index_of(size_t index)
{
    return json_integer((json_int_t)index);
}

/* Returns an array of what `make` returns for 0 to count - 1, or NULL without memory. */
static json_t *list_of(const ak_sizes_result *r, size_t count,
                       json_t *(*make)(const ak_sizes_result *r, size_t i))
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&array, make(r, i));
    }
    return array;
}

static bool timed(const ak_sizes_result *r)
{
    return r->objective == NULL || strcmp(r->objective, "time") == 0;
}

/* Adds the values under an objective other than the time. */
static bool set_values(json_t *object, const ak_sizes_result *r, const ak_size_result *one)
{
    return timed(r) || (ak_json_set_known(object, "value", one->value) &&
                        ak_json_set_known(object, "cost", one->cost) &&
                        ak_json_set_known(object, "library_value", one->library_value) &&
                        ak_json_set_known(object, "library_cost", one->library_cost));
}

static json_t *size_json(const ak_sizes_result *r, size_t i)
{
    const ak_size_result *one = &r->sizes[i];
    json_t *object = json_object();
    bool table = r->table_count > 0;
    bool good =
        ak_json_set_texts(object, "size", one->size, "run", one->run) &&
        ak_json_set_count(object, "evaluated", one->evaluated) &&
        ak_json_set(object, "winner", one->measured ? index_of(one->winner) : json_null()) &&
        ak_json_set_known(object, "ms", one->ms) &&
        ak_json_set(object, "ci_ms", ak_json_interval(one->low_ms, one->high_ms)) &&
        ak_json_set_text(object, "library", one->library) &&
        ak_json_set_known(object, "library_ms", one->library_ms) &&
        ak_json_set(object, "over_library", ak_speed_json(&one->over_library)) &&
        set_values(object, r, one) &&
        ak_json_set(object, "config", table ? index_of(one->config) : json_null()) &&
        ak_json_set_real(object, "loss", table ? one->loss : NAN) &&
        ak_json_set(object, "loss_ci",
                    table && one->loss_low > 0 ? json_pack("[f,f]", one->loss_low, one->loss_high)
                                               : json_null()) &&
        ak_json_set_text(object, "loss_verdict", ak_speed_verdict_text(one->verdict)) &&
        ak_json_set(object, "config_over_library", ak_speed_json(&one->config_over_library)) &&
        ak_json_set(object, "noise", one->measured ? ak_noise_json(&one->noise) : json_null());
    return ak_json_whole(object, good);
}

static bool set_loss(json_t *object, const ak_sizes_result *r, const ak_sizes_loss *loss)
{
    return ak_json_set_known(object, "geomean", loss->geomean) &&
           ak_json_set_known(object, "worst", loss->worst) &&
           ak_json_set_text(object, "worst_size",
                            loss->worst > 1 ? r->sizes[loss->worst_size].size : NULL) &&
           ak_json_set_count(object, "undecided", loss->open);
}

static json_t *table_entry(const ak_sizes_result *r, size_t i)
{
    return index_of(r->table[i]);
}

static json_t *table_json(const ak_sizes_result *r)
{
    json_t *object = json_object();
    bool good = ak_json_set(object, "configs", list_of(r, r->table_count, table_entry)) &&
                ak_json_set_text(object, "method", r->exact ? "exact" : "greedy") &&
                set_loss(object, r, &r->loss);
    return ak_json_whole(object, good);
}

static json_t *tradeoff_json(const ak_sizes_result *r, size_t i)
{
    const ak_sizes_loss *loss = &r->tradeoff[i];
    json_t *object = json_object();
    bool good = ak_json_set_count(object, "configs", loss->configs) && set_loss(object, r, loss) &&
                ak_json_set_count(object, "unusable", loss->unusable);
    return ak_json_whole(object, good);
}

/* Returns which sizes a configuration wins and its loss over all sizes, or NULL without memory. */
static json_t *stability_json(const ak_sizes_result *r, size_t config)
{
    json_t *sizes = json_array(), *object = json_object();
    for (size_t s = 0; s < r->size_count; s++) {
        if (r->sizes[s].measured && r->sizes[s].winner == config) {
            ak_json_add(&sizes, json_string(r->sizes[s].size));
        }
    }
    bool good = ak_json_set_count(object, "config", config);
    good = ak_json_set(object, "winner_of", sizes) && good &&
           set_loss(object, r, &r->alone[config]) &&
           ak_json_set_count(object, "unusable", r->alone[config].unusable);
    return ak_json_whole(object, good);
}

static json_t *winners_json(const ak_sizes_result *r)
{
    json_t *array = json_array();
    for (size_t c = 0; c < r->config_count && r->alone != NULL; c++) {
        bool wins = false;
        for (size_t s = 0; s < r->size_count; s++) {
            wins = wins || (r->sizes[s].measured && r->sizes[s].winner == c);
        }
        if (wins) {
            ak_json_add(&array, stability_json(r, c));
        }
    }
    return array;
}

static json_t *speeds_json(const ak_sizes_result *r, size_t i)
{
    json_t *row = json_array();
    for (size_t s = 0; s < r->size_count; s++) {
        const ak_speed *speed = &r->speeds[i * r->size_count + s];
        ak_json_add(&row, speed->ratio > 0 ? ak_speed_json(speed) : json_null());
    }
    return row;
}

static json_t *config_json(const ak_sizes_result *r, size_t i)
{
    json_t *object = NULL;
    (void)ak_config_text_to_json(&object, r->configs[i], "configuration", NULL);
    return object;
}

/* Returns a matrix of all configurations at all sizes, or NULL without memory. */
static json_t *matrix_json(const ak_sizes_result *r, const double *values)
{
    json_t *rows = json_array();
    for (size_t c = 0; c < r->config_count && values != NULL; c++) {
        json_t *row = json_array();
        for (size_t s = 0; s < r->size_count; s++) {
            ak_json_add(&row, ak_json_known(values[c * r->size_count + s]));
        }
        ak_json_add(&rows, row);
    }
    return rows;
}

json_t *ak_sizes_to_json(const ak_sizes_result *r)
{
    json_t *object = json_object();
    bool good = ak_json_set_texts(object, "kernel", r->kernel, "implementation", r->implementation,
                                  "device", r->device, "dtype", r->dtype, "choices", r->choices,
                                  "objective", r->objective) &&
                (timed(r) || (ak_json_set_text(object, "unit", r->unit) &&
                              ak_json_set(object, "costs", matrix_json(r, r->costs)))) &&
                ak_json_set(object, "sizes", list_of(r, r->size_count, size_json)) &&
                ak_json_set(object, "configs", list_of(r, r->config_count, config_json)) &&
                ak_json_set(object, "ms", matrix_json(r, r->ms)) &&
                ak_json_set(object, "speeds",
                            list_of(r, r->speeds == NULL ? 0 : r->config_count, speeds_json)) &&
                ak_json_set(object, "table", r->table_count > 0 ? table_json(r) : json_null()) &&
                ak_json_set(object, "tradeoff", list_of(r, r->tradeoff_count, tradeoff_json)) &&
                ak_json_set(object, "stability", winners_json(r)) &&
                ak_json_set(object, "warnings",
                            ak_json_texts((const char *const *)r->warnings, r->warning_count)) &&
                ak_json_set_count(object, "evaluated", r->evaluated) &&
                ak_json_set(object, "llm", ak_llm_use_json(&r->llm)) &&
                ak_json_set_real(object, "seconds", r->seconds) &&
                ak_json_set_texts(object, "stopped_by", r->stopped_by, "run", r->run);
    return ak_json_whole(object, good);
}

ak_status ak_sizes_result_json(char **out_text, const ak_sizes_result *result, ak_error *err)
{
    return ak_json_give_text(out_text, ak_sizes_to_json(result), true, err);
}
