/*
 * format_best.c: writes best_config.json: the one configuration that production code is to use, its
 * measured figures, where they were measured, and the trial that they come from. `bench --config
 * @FILE` reads it.
 */
#include "formats/format.h"

#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/clock.h"

static json_t *measured(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *interval(const ak_trial *best)
{
    return best->ci_high_ms > 0 ? json_pack("[f, f]", best->ci_low_ms, best->ci_high_ms)
                                : json_null();
}

static ak_status best_of(json_t **out, ak_archive *archive, const ak_trial *best, ak_error *err)
{
    char now[AK_CLOCK_UTC_BYTES];
    json_t *size = NULL, *choices = NULL, *config = NULL, *environment = NULL;
    json_t *object = json_object();
    ak_status status = AK_OK;
    AK_TRY(ak_config_text_to_json(&size, best->size, "size", err));
    AK_TRY(ak_config_text_to_json(&choices, best->choices, "choices", err));
    AK_TRY(ak_config_text_to_json(&config, best->config, "configuration", err));
    AK_TRY(ak_format_environment(&environment, archive, best->environment, err));
out:
    ak_clock_utc(now);
    bool good = status == AK_OK && object != NULL &&
                ak_json_set(object, "schema", json_integer(1)) &&
                ak_json_set_text(object, "kernel", best->kernel) &&
                ak_json_set_text(object, "implementation", best->implementation) &&
                ak_json_set_text(object, "device", best->device) &&
                json_object_set(object, "size", size) == 0 &&
                ak_json_set_text(object, "dtype", best->dtype) &&
                json_object_set(object, "choices", choices) == 0 &&
                json_object_set(object, "config", config) == 0 &&
                ak_json_set(object, "ms", measured(best->median_ms)) &&
                ak_json_set(object, "ci_ms", interval(best)) &&
                ak_json_set(object, "tflops", measured(best->tflops)) &&
                ak_json_set(object, "gbs", measured(best->gbs)) &&
                ak_json_set(object, "efficiency", measured(best->efficiency)) &&
                ak_json_set(object, "baseline", ak_format_baseline(archive, best)) &&
                json_object_set(object, "environment", environment) == 0 &&
                ak_json_set_text(object, "run", best->run) &&
                ak_json_set(object, "trial", json_integer(best->id)) &&
                ak_json_set_text(object, "created", now) &&
                ak_json_set_text(object, "autokernel", AK_VERSION);
    json_decref(size);
    json_decref(choices);
    json_decref(config);
    json_decref(environment);
    if (!good) {
        json_decref(object);
        return status == AK_OK ? ak_fail_memory(err) : status;
    }
    *out = object;
    return AK_OK;
}

static ak_status write_best(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                            ak_error *err)
{
    ak_trial best = {0};
    json_t *object = NULL;
    ak_status status = ak_archive_best(&best, archive, filter, err);
    if (status == AK_OK) {
        status = best_of(&object, archive, &best, err);
        ak_trial_clear(&best);
    }
    if (status == AK_OK) {
        ak_json_print(out, object, true);
        ak_buf_putc(out, '\n');
        json_decref(object);
    }
    return status;
}

const ak_format_ops ak_format_best = {
    .name = "best",
    .description = "best_config.json: the best configuration of one task (export only)",
    .write = write_best,
};
