/* best_of_tasks.c: finds the best configuration of every task that a filter matches. */
#include "archive/archive.h"

#include "archive/field.h"
#include "base/alloc.h"

typedef struct gather {
    ak_map *seen;     /* see ak_trial_task_number */
    ak_trials *tasks; /* one trial of each task */
    size_t capacity;
} gather;

static ak_status gather_task(void *context, const ak_trial *trial, ak_error *err)
{
    gather *g = context;
    ak_trials *tasks = g->tasks;
    size_t number;
    AK_DO(ak_trial_task_number(&number, g->seen, trial, NULL, err));
    if (number < tasks->count) {
        return AK_OK;
    }
    AK_DO(AK_GROW(tasks->list, &g->capacity, tasks->count + 1, err));
    AK_DO(ak_trial_copy(&tasks->list[tasks->count], trial, err));
    tasks->count++;
    return AK_OK;
}

ak_status ak_archive_best_of_tasks(ak_trials *out, ak_archive *archive,
                                   const ak_archive_filter *filter, ak_error *err)
{
    const ak_archive_filter all = filter != NULL ? *filter : (ak_archive_filter){0};
    ak_archive_filter ok = all;
    ok.ok_only = ok.winner = true;
    AK_AT_END(ak_trials_clear) ak_trials found = {0};
    AK_AT_END(ak_map_free_at) ak_map *seen = ak_map_new();
    gather g = {.seen = seen, .tasks = &found};
    AK_DO(ak_made(seen, err));
    AK_DO(ak_archive_take(archive, &ok, gather_task, &g, err));
    size_t kept = 0;
    for (size_t i = 0; i < found.count; i++) {
        const ak_archive_filter task = ak_archive_narrow(all, &found.list[i]);
        ak_trial best = {0};
        ak_error why = AK_ERROR_INIT;
        const ak_status status = ak_archive_best(&best, archive, &task, &why);
        AK_FAIL_IF(status != AK_OK && status != AK_NOT_FOUND, err, status, "%s", why.text);
        ak_trial_clear(&found.list[i]);
        if (status == AK_OK) { /* a later check may have refuted all that a task has */
            found.list[kept++] = best;
        }
    }
    found.count = kept;
    AK_GIVE(out, found);
    return AK_OK;
}

void ak_trials_clear(ak_trials *trials)
{
    AK_CLEAR_EACH(ak_trial_clear, trials->list, trials->count);
    ak_free(trials->list);
    *trials = (ak_trials){0};
}
