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
    if (!ak_json_text_is(json_object_get(result, "best"), "config", ak_or_empty(config))) {
        return NULL;
    }
    AK_EACH(one, json_object_get(result, "contestants")) {
        if (ak_json_text_is(one, "config", ak_or_empty(config))) {
            return one;
        }
    }
    return NULL;
}

ak_status ak_format_result(json_t **out, ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    ak_run run = {0};
    *out = NULL;
    if (trial->run == NULL || ak_archive_get_run(&run, archive, trial->run, NULL) != AK_OK) {
        return AK_OK;
    }
    ak_status status = ak_json_parse_text(out, run.result_json, "result", err);
    ak_run_clear(&run);
    if (status != AK_OK) { /* a result that is not JSON says nothing */
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    if (json_object_get(*out, "sizes") != NULL) {
        json_t *at = trial->size == NULL ? NULL : ak_result_at_size(*out, trial->size);
        json_decref(*out);
        *out = at;
    }
    status = ak_config_text_in_result(*out, err);
    if (status != AK_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
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
