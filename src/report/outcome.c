#include "report/outcome.h"

#include "archive/config_text.h"
#include "base/alloc.h"

json_t *ak_outcome_result(ak_archive *archive, const char *run)
{
    AK_AT_END(ak_run_clear) ak_run record = {0};
    json_t *result = NULL;
    if (ak_archive_get_run(&record, archive, run, NULL) != AK_OK ||
        ak_json_parse_text(&result, record.result_json, "result", NULL) != AK_OK) {
        result = NULL;
    }
    return result;
}

/* Returns whether `config`, a configuration of the result as an object, equals that of a trial,
   given as text. A parameter that is a text may be "4" in the object and is 4 when read from a
   text, so the object is written as a text first. */
static bool same_config(const json_t *config, const char *text)
{
    AK_FREED char *written = NULL;
    json_auto_t *given = NULL, *read = NULL;
    return json_is_object(config) &&
           ak_config_text_from_json(&written, config, NULL, "result", NULL) == AK_OK &&
           ak_config_text_to_json(&given, written, "result", NULL) == AK_OK &&
           ak_config_text_to_json(&read, text, "trial", NULL) == AK_OK && json_equal(given, read);
}

/* Looks for a time of the trial's configuration in a list of the result. Returns whether there is
   one. */
static bool find(ak_outcome *out, const json_t *list, const ak_trial *trial, const char *from)
{
    AK_EACH(one, list) {
        double ms = ak_json_number_at(one, "ms"), cost = ak_json_number_at(one, "cost");
        if (!(cost > 0 || ms > 0) || trial->config == NULL ||
            !same_config(json_object_get(one, "config"), trial->config)) {
            continue;
        }
        *out = cost > 0 ? (ak_outcome){.cost = cost,
                                       .low = ak_json_number_at(one, "cost_low"),
                                       .high = ak_json_number_at(one, "cost_high")}
                        : (ak_outcome){.cost = ms,
                                       .low = ak_json_number_in(one, "ci_ms", 0),
                                       .high = ak_json_number_in(one, "ci_ms", 1)};
        out->ms = ms;
        out->from = from;
        return true;
    }
    return false;
}

/* Gives the time of the finish; a cost of 0 if the configuration has none there. */
static ak_outcome in_finish(const json_t *result, const ak_trial *trial)
{
    ak_outcome out = {.from = "search"};
    (void)find(&out, json_object_get(result, "contestants"), trial, "finish");
    return out;
}

/* Gives the time of the search; a cost of 0 if it has none. */
static ak_outcome in_search(const json_t *result, const ak_trial *trial)
{
    ak_outcome out = {.from = "search"};
    if (find(&out, json_object_get(result, "again"), trial, "again") ||
        trial->status != AK_TRIAL_OK) {
        return out;
    }
    bool timed = !(trial->cost > 0);
    return (ak_outcome){.cost = timed ? trial->median_ms : trial->cost,
                        .low = timed ? trial->ci_low_ms : trial->cost_low,
                        .high = timed ? trial->ci_high_ms : trial->cost_high,
                        .ms = trial->median_ms,
                        .from = "search"};
}

ak_outcome ak_outcome_of(const json_t *result, const ak_trial *trial)
{
    const ak_outcome finish = in_finish(result, trial);
    return finish.cost > 0 ? finish : in_search(result, trial);
}

ak_outcome ak_outcome_speed(const ak_outcome *start, const ak_outcome *of)
{
    if (!(start->cost > 0 && of->cost > 0)) {
        return (ak_outcome){0};
    }
    bool known = start->low > 0 && of->low > 0;
    double ratio = start->cost / of->cost;
    return (ak_outcome){.cost = ratio,
                        .low = known ? start->low / of->high : ratio,
                        .high = known ? start->high / of->low : ratio};
}

/* Returns the shorter of two times of one configuration, with an interval that reaches over both.
 */
static ak_outcome shorter(const ak_outcome *a, const ak_outcome *b)
{
    ak_outcome out = a->cost <= b->cost ? *a : *b;
    if (a->low > 0 && b->low > 0) {
        out.low = a->low < b->low ? a->low : b->low;
        out.high = a->high > b->high ? a->high : b->high;
    }
    return out;
}

/* Gives the time of `trial` for a comparison in which one side was measured in the search alone. */
static ak_outcome beside_search(const json_t *result, const ak_trial *trial)
{
    const ak_outcome finish = in_finish(result, trial), search = in_search(result, trial);
    return !(finish.cost > 0) ? search : !(search.cost > 0) ? finish : shorter(&finish, &search);
}

ak_outcome ak_outcome_speed_over(const json_t *result, const ak_trial *from, const ak_trial *to)
{
    ak_outcome start = in_finish(result, from), end = in_finish(result, to);
    if (!(start.cost > 0 && end.cost > 0)) {
        start = beside_search(result, from);
        end = beside_search(result, to);
    }
    return ak_outcome_speed(&start, &end);
}

double ak_predicted_speed(const ak_trial *trial)
{
    double gain = trial->predicted_gain; /* of time */
    return gain < 1 ? gain / (1 - gain) : 0;
}

bool ak_outcome_decided(const ak_outcome *speed)
{
    return speed->low > 1 || speed->high < 1;
}
