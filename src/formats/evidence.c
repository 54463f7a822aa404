/* evidence.c: takes from the run of a trial what belongs beside its time: how fast the best library
   was, the speed over the default, and what the run warns of. The formats "best" and "bundle" and
   `best --json` give it, so that whoever reads the time also reads what makes it doubtful. */

#include "archive/config_text.h"

static json_t *copy_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? json_null() : json_incref(value);
}

const json_t *ak_format_best_entry(const json_t *result, const char *config)
{
    const char *text = ak_or_empty(config);
    return ak_json_text_is(json_object_get(result, "best"), "config", text)
               ? ak_json_find(json_object_get(result, "contestants"), "config", text)
               : NULL;
}

ak_status ak_format_result(json_t **out, ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    json_auto_t *whole = NULL, *at = NULL;
    *out = NULL;
    if (trial->run == NULL || ak_archive_get_run(&run, archive, trial->run, NULL) != AK_OK) {
        return AK_OK;
    }
    ak_status status = ak_json_parse_text(&whole, run.result_json, "result", err);
    if (status != AK_OK) { /* a result that is not JSON says nothing */
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    at = json_object_get(whole, "sizes") == NULL ? json_incref(whole)
         : trial->size == NULL                   ? NULL
                                                 : ak_result_at_size(whole, trial->size);
    AK_DO(ak_config_text_in_result(at, err));
    *out = json_incref(at);
    return AK_OK;
}

ak_status ak_format_set_evidence(json_t *object, ak_archive *archive, const ak_trial *trial,
                                 ak_error *err)
{
    json_auto_t *result = NULL;
    AK_DO(ak_format_result(&result, archive, trial, err));
    const json_t *entry = ak_format_best_entry(result, trial->config);
    json_t *baseline = json_copy(json_object_get(result, "baseline"));
    bool good = baseline == NULL || !json_is_object(baseline) ||
                (ak_json_set(baseline, "verdict", copy_of(entry, "verdict")) &&
                 ak_json_set(baseline, "undecided_because", copy_of(entry, "undecided_because")));
    good = ak_json_set(object, "baseline", baseline == NULL ? json_null() : baseline) && good;
    good = good && ak_json_set(object, "over_default", copy_of(entry, "over_default")) &&
           ak_json_set(object, "warnings", copy_of(result, "warnings"));
    return ak_stored(good, err);
}
