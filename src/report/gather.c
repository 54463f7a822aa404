/* gather.c: see gather.h. The search by id relies on ids that grow with time, which those of trials
   imported later need not do. */
#include "report/gather.h"

#include "base/alloc.h"

static ak_status keep(void *context, const ak_trial *trial, ak_error *err)
{
    ak_gathered *out = context;
    AK_DO(AK_GROW(out->trials, &out->capacity, out->count + 1, err));
    AK_DO(ak_trial_copy(&out->trials[out->count], trial, err));
    const size_t at = out->count++;
    return ak_map_get(NULL, out->configs, trial->config)
               ? AK_OK
               : ak_map_put(out->configs, trial->config, at, err);
}

ak_status ak_gather(ak_gathered *out, ak_archive *archive, const ak_archive_filter *filter,
                    ak_error *err)
{
    *out = (ak_gathered){.configs = ak_map_new()};
    ak_status status = ak_made(out->configs, err);
    status = status == AK_OK ? ak_archive_take(archive, filter, keep, out, err) : status;
    if (status != AK_OK) {
        ak_gathered_clear(out);
    }
    return status;
}

void ak_gathered_clear(ak_gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        ak_trial_clear(&gathered->trials[i]);
    }
    ak_free(gathered->trials);
    ak_map_free(gathered->configs);
    *gathered = (ak_gathered){0};
}

const ak_trial *ak_gathered_trial(const ak_gathered *gathered, int64_t id)
{
    size_t low = 0, high = gathered->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gathered->trials[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < gathered->count && gathered->trials[low].id == id ? &gathered->trials[low] : NULL;
}

const ak_trial *ak_gathered_config(const ak_gathered *gathered, const char *config)
{
    size_t index;
    return ak_map_get(&index, gathered->configs, config) ? &gathered->trials[index] : NULL;
}
