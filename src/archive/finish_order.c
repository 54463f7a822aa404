#include "archive/finish_order.h"

#include <string.h>

#include "measure/verdict.h"

static bool is_config(const json_t *one)
{
    return json_is_string(json_object_get(one, "config"));
}

static double time_of(const json_t *one)
{
    return ak_json_positive_at(one, "ms");
}

static ak_speed_verdict verdict_at(const json_t *object)
{
    const char *word = ak_json_text_at(object, "verdict");
    ak_speed_verdict verdict = AK_SPEED_UNDECIDED;
    while (verdict > AK_SPEED_NONE && strcmp(word, ak_speed_verdict_text(verdict)) != 0) {
        verdict--;
    }
    return verdict;
}

static ak_speed_doubt doubt_at(const json_t *object)
{
    const char *word = ak_json_text_at(object, "undecided_because");
    ak_speed_doubt doubt = AK_DOUBT_APART;
    while (doubt > AK_DOUBT_NONE && strcmp(word, ak_speed_doubt_text(doubt)) != 0) {
        doubt--;
    }
    return doubt;
}

ak_speed ak_speed_read(const json_t *object)
{
    return (ak_speed){.ratio = ak_json_positive_at(object, "ratio"),
                      .low = ak_json_number_in(object, "ratio_ci", 0),
                      .high = ak_json_number_in(object, "ratio_ci", 1),
                      .verdict = verdict_at(object),
                      .doubt = doubt_at(object)};
}

bool ak_noise_is_clean(const json_t *noise)
{
    return 2 * ak_json_number_at(noise, "disturbed") <= ak_json_number_at(noise, "rounds");
}

void ak_speed_judge(ak_speed *s, const ak_speed *control, bool clean)
{
    const ak_stats ratio = {.low = s->low, .high = s->high};
    const ak_stats same = {.median = control->ratio, .low = control->low, .high = control->high};
    s->verdict = ak_verdict_doubt(&s->doubt, &ratio, control->ratio > 0 ? &same : NULL, clean);
}

ak_contender ak_contender_read(const json_t *one)
{
    double cost = ak_json_positive_at(one, "cost");
    ak_contender c = {.over_default = ak_speed_read(json_object_get(one, "over_default")),
                      .over_reference = ak_speed_read(one)};
    if (is_config(one) && time_of(one) > 0) {
        c.cost = cost > 0 ? cost : time_of(one);
    }
    return c;
}

const json_t *ak_finish_winner(const json_t *result)
{
    const json_t *best = json_object_get(result, "best"), *found = NULL;
    AK_EACH(one, json_object_get(result, "contestants")) {
        const json_t *config = json_object_get(one, "config");
        if (time_of(one) != time_of(best)) {
            continue;
        }
        if (json_equal(config, json_object_get(best, "config"))) {
            return one;
        }
        found = found == NULL && (config == NULL || json_is_null(config)) ? one : found;
    }
    return found;
}

/* Appends the libraries that ran to the configurations, the fastest first. */
static void add_libraries(ak_finish_order *out, const json_t *candidates, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        double ms = time_of(json_array_get(candidates, i));
        if (is_config(json_array_get(candidates, i)) || !(ms > 0)) {
            continue;
        }
        size_t at = out->count++;
        for (; at > out->ranks && ms < time_of(json_array_get(candidates, out->list[at - 1]));
             at--) {
            out->list[at] = out->list[at - 1];
        }
        out->list[at] = i;
    }
}

void ak_finish_order_of(ak_finish_order *out, const json_t *candidates)
{
    ak_contender all[AK_CONTEST_MAX];
    size_t size = json_array_size(candidates);
    size = size < AK_CONTEST_MAX ? size : AK_CONTEST_MAX;
    for (size_t i = 0; i < size; i++) {
        all[i] = ak_contender_read(json_array_get(candidates, i));
    }
    out->ranks = out->count = ak_contest_order(out->list, all, size);
    add_libraries(out, candidates, size);
    for (size_t i = 0; i < size; i++) {
        if (!(time_of(json_array_get(candidates, i)) > 0)) {
            out->list[out->count++] = i;
        }
    }
}
