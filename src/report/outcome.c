#include "report/outcome.h"

#include "archive/config_text.h"

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

/* Returns whether the configuration, an object of the result, equals that of the trial, a text. */
static bool same_config(const json_t *config, const char *text)
{
    json_auto_t *other = NULL;
    return json_is_object(config) && ak_config_text_to_json(&other, text, "trial", NULL) == AK_OK &&
           json_equal(config, other);
}

/* Looks for the trial's configuration in a list of the result. */
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

ak_outcome ak_outcome_of(const json_t *result, const ak_trial *trial)
{
    ak_outcome out = {.from = "search"};
    if (find(&out, json_object_get(result, "contestants"), trial, "finish") ||
        find(&out, json_object_get(result, "again"), trial, "again") ||
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

double ak_predicted_speed(const ak_trial *trial)
{
    double gain = trial->predicted_gain; /* of time */
    return gain < 1 ? gain / (1 - gain) : 0;
}

bool ak_outcome_decided(const ak_outcome *speed)
{
    return speed->low > 1 || speed->high < 1;
}
