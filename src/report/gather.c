#include "report/gather.h"

#include <stdlib.h>

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

static int compare_ids(const void *a, const void *b)
{
    const ak_trial *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static ak_status keep_parent(void *context, const ak_trial *trial, ak_error *err)
{
    ak_gathered *out = context;
    AK_DO(AK_GROW(out->parents, &out->parent_capacity, out->parent_count + 1, err));
    return ak_trial_copy(&out->parents[out->parent_count++], trial, err);
}

static ak_status find_parents(ak_gathered *out, ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *looked = ak_map_new();
    AK_DO(ak_made(looked, err));
    for (size_t i = 0; i < out->count; i++) {
        char id[24];
        (void)snprintf(id, sizeof id, "%lld", (long long)out->trials[i].id);
        AK_DO(ak_map_put(looked, id, i, err));
    }
    for (size_t i = 0; i < out->count; i++) {
        const ak_archive_filter one = {.id = out->trials[i].parent, .simulated = true};
        char id[24];
        (void)snprintf(id, sizeof id, "%lld", (long long)one.id);
        if (one.id > 0 && !ak_map_get(NULL, looked, id)) {
            AK_DO(ak_map_put(looked, id, i, err));
            AK_DO(ak_archive_take(archive, &one, keep_parent, out, err));
        }
    }
    return AK_OK;
}

static ak_status sort_by_id(ak_gathered *out, ak_error *err)
{
    AK_DO(AK_NEW(out->by_id, out->count + out->parent_count, err));
    for (size_t i = 0; i < out->count; i++) {
        out->by_id[i] = &out->trials[i];
    }
    for (size_t i = 0; i < out->parent_count; i++) {
        out->by_id[out->count + i] = &out->parents[i];
    }
    qsort(out->by_id, out->count + out->parent_count, sizeof *out->by_id, compare_ids);
    return AK_OK;
}

ak_status ak_gather(ak_gathered *out, ak_archive *archive, const ak_archive_filter *filter,
                    ak_error *err)
{
    AK_AT_END(ak_gathered_clear) ak_gathered gathered = {.configs = ak_map_new()};
    AK_DO(ak_made(gathered.configs, err));
    AK_DO(ak_archive_take(archive, filter, keep, &gathered, err));
    AK_DO(find_parents(&gathered, archive, err));
    AK_DO(sort_by_id(&gathered, err));
    AK_GIVE(out, gathered);
    return AK_OK;
}

void ak_gathered_clear(ak_gathered *gathered)
{
    AK_CLEAR_EACH(ak_trial_clear, gathered->trials, gathered->count);
    AK_CLEAR_EACH(ak_trial_clear, gathered->parents, gathered->parent_count);
    AK_FREE_ALL(gathered->trials, gathered->parents, gathered->by_id);
    ak_map_free(gathered->configs);
    *gathered = (ak_gathered){0};
}

const ak_trial *ak_gathered_trial(const ak_gathered *gathered, int64_t id)
{
    const ak_trial key = {.id = id}, *wanted = &key;
    const size_t count = gathered->count + gathered->parent_count;
    const ak_trial **found =
        count == 0 ? NULL : bsearch(&wanted, gathered->by_id, count, sizeof wanted, compare_ids);
    return found == NULL ? NULL : *found;
}

const ak_trial *ak_gathered_config(const ak_gathered *gathered, const char *config)
{
    size_t index;
    return ak_map_get(&index, gathered->configs, config) ? &gathered->trials[index] : NULL;
}
