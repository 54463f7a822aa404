/*
 * format_best.c: writes best_config.json: the one configuration that production code is to use, its
 * measured figures, where they were measured, and the trial that they come from. `bench --config
 * @FILE` reads it.
 */
#include "formats/format.h"

#include "archive/config_text.h"
#include "base/clock.h"

static ak_status best_of(json_t **out, ak_archive *archive, const ak_trial *best, ak_error *err)
{
    char now[AK_CLOCK_UTC_BYTES];
    json_auto_t *size = NULL, *choices = NULL, *config = NULL, *environment = NULL;
    json_auto_t *object = json_object();
    AK_DO(ak_config_text_to_json(&size, best->size, "size", err));
    AK_DO(ak_config_text_to_json(&choices, best->choices, "choices", err));
    AK_DO(ak_config_text_to_json(&config, best->config, "configuration", err));
    AK_DO(ak_format_environment(&environment, archive, best->environment, err));
    ak_clock_utc(now);
    bool good = object != NULL && ak_json_set(object, "schema", json_integer(1)) &&
                ak_json_set_texts(object, "kernel", best->kernel, "implementation",
                                  best->implementation, "device", best->device) &&
                json_object_set(object, "size", size) == 0 &&
                ak_json_set_text(object, "dtype", best->dtype) &&
                json_object_set(object, "choices", choices) == 0 &&
                json_object_set(object, "config", config) == 0 &&
                ak_json_set_known(object, "ms", best->median_ms) &&
                ak_json_set(object, "ci_ms", ak_trial_interval(best)) &&
                ak_json_set_known(object, "tflops", best->tflops) &&
                ak_json_set_known(object, "gbs", best->gbs) &&
                ak_json_set_known(object, "efficiency", best->efficiency);
    AK_DO(ak_stored(good, err));
    AK_DO(ak_format_set_evidence(object, archive, best, err));
    good = json_object_set(object, "environment", environment) == 0 &&
           ak_json_set_text(object, "run", best->run) &&
           ak_json_set(object, "trial", json_integer(best->id)) &&
           ak_json_set_texts(object, "created", now, "autokernel", AK_VERSION);
    AK_DO(ak_stored(good, err));
    *out = json_incref(object);
    return AK_OK;
}

/* Refuses a trial that was imported without the device that it was measured on: the file is for
   code that runs on a device. */
static ak_status is_placed(const ak_trial *best, ak_error *err)
{
    return ak_or_empty(best->device)[0] != 0
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "trial #%lld, the best of %.60s, names no device: it was imported without "
                         "one; import it with a column \"device\", or measure it with 'autokernel "
                         "bench'",
                         (long long)best->id, ak_or_empty(best->kernel));
}

static ak_status write_best(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                            ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial best = {0};
    json_auto_t *object = NULL;
    AK_DO(ak_archive_best(&best, archive, filter, err));
    AK_DO(is_placed(&best, err));
    AK_DO(best_of(&object, archive, &best, err));
    ak_json_print(out, object, true);
    ak_buf_putc(out, '\n');
    return AK_OK;
}

const ak_format_ops ak_format_best = {
    .name = "best",
    .description = "best_config.json: the best configuration of one task (export only)",
    .write = write_best,
};
