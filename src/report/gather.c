/* gather.c: see gather.h. Ids grow with time, so the list is sorted by them. */
#include "report/gather.h"

#include "base/alloc.h"

typedef struct gathering {
    ak_gathered *out;
    ak_status status;
    ak_error *err;
} gathering;

static bool keep(void *context, const ak_trial *trial)
{
    gathering *g = context;
    void *list = g->out->trials;
    g->status = ak_grow(&list, &g->out->capacity, g->out->count + 1, sizeof(ak_trial), g->err);
    g->out->trials = list;
    if (g->status == AK_OK) {
        g->status = ak_trial_copy(&g->out->trials[g->out->count], trial, g->err);
    }
    if (g->status == AK_OK) {
        g->out->count++;
    }
    if (g->status == AK_OK && !ak_map_get(NULL, g->out->configs, trial->config)) {
        g->status = ak_map_put(g->out->configs, trial->config, g->out->count - 1, g->err);
    }
    return g->status == AK_OK;
}

ak_status ak_gather(ak_gathered *out, ak_archive *archive, const ak_archive_filter *filter,
                    ak_error *err)
{
    *out = (ak_gathered){.configs = ak_map_new()};
    gathering g = {.out = out, .status = AK_OK, .err = err};
    ak_status status = out->configs == NULL ? ak_fail_memory(err)
                                            : ak_archive_each(archive, filter, keep, &g, err);
    status = status == AK_OK ? g.status : status;
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
