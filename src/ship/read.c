/* read.c: opens a finished bundle and reads its bundle.json. */
#include "ship/bundle.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/ak_runtime.h"

ak_status ak_bundle_open(akr_bundle **out, const char *path, int flags, ak_error *err)
{
    static const ak_status statuses[] = {
        [AKR_OK] = AK_OK,           [AKR_NOT_FOUND] = AK_NOT_FOUND, [AKR_FOREIGN] = AK_INVALID,
        [AKR_DAMAGED] = AK_CORRUPT, [AKR_DEVICE] = AK_UNAVAILABLE,  [AKR_NO_MEMORY] = AK_NO_MEMORY,
        [AKR_SYSTEM] = AK_IO};
    akr_error why;
    akr_status status = akr_open(out, path, flags, &why);
    bool known = (size_t)status < AK_COUNT(statuses);
    AK_FAIL_IF(status == AKR_NOT_FOUND, err, AK_NOT_FOUND,
               "%.300s; give a bundle, which 'autokernel export KERNEL --format bundle' writes",
               why.text);
    AK_FAIL_IF(status != AKR_OK, err,
               known && statuses[status] != AK_OK ? statuses[status] : AK_INTERNAL, "%s", why.text);
    return AK_OK;
}

/* Returns whether a member is missing, null or a number above 0. */
static bool is_known_well(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value) || json_number_value(value) > 0;
}

/* Returns what cannot be true of a measured size; NULL: nothing. If a bundle stated a negative
   time, its code could never be found slower than that. */
static const char *impossible(const json_t *measured)
{
    static const char *const figures[] = {"ms", "tflops", "gbs", "efficiency"};
    static const char *const times[] = {"search", "baseline"};
    const double low = ak_json_number_in(measured, "ci_ms", 0);
    const double high = ak_json_number_in(measured, "ci_ms", 1);
    for (size_t i = 0; i < AK_COUNT(figures); i++) {
        if (!is_known_well(measured, figures[i])) {
            return figures[i];
        }
    }
    for (size_t i = 0; i < AK_COUNT(times); i++) {
        if (!is_known_well(json_object_get(measured, times[i]), "ms")) {
            return times[i];
        }
    }
    if (json_is_array(json_object_get(measured, "ci_ms")) && !(low > 0 && low <= high)) {
        return "ci_ms";
    }
    return ak_json_number_at(measured, "samples") < 0 ? "samples" : NULL;
}

ak_status ak_bundle_file(json_t **out, const akr_bundle *bundle, const char *path, ak_error *err)
{
    const char *json = akr_describe(bundle)->json;
    json_auto_t *file = NULL;
    AK_DO(ak_json_parse(&file, json, strlen(json), path, err));
    const json_t *list = json_object_get(file, "measured");
    AK_EACH(measured, list) {
        const char *what = impossible(measured);
        AK_FAIL_IF(what != NULL, err, AK_INVALID,
                   "%.300s: \"%s\" of measured size %zu in bundle.json is nothing that a "
                   "measurement gives; export the bundle again",
                   path, what, measured_at + 1);
    }
    *out = json_incref(file);
    return AK_OK;
}

ak_status ak_bundle_read(char **out_json, const char *path, ak_error *err)
{
    AK_AT_END(akr_close_at) akr_bundle *bundle = NULL;
    json_auto_t *file = NULL;
    AK_DO(ak_bundle_open(&bundle, path, AKR_LOOK, err));
    AK_DO(ak_bundle_file(&file, bundle, path, err));
    return ak_copy_text(out_json, akr_describe(bundle)->json, err);
}
