/*
 * libraries.c: lists the libraries that can take part in a comparison and finds the fastest version
 * of each for the task.
 */
#include "judge/evaluate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/loaded.h"

/* Each version of a library is timed for this long to find the fastest. */
#define VARIANT_NS          (150 * AK_MS_NS)
#define BASELINE_TIMEOUT_NS (60 * AK_SECOND_NS)

typedef struct listing {
    ak_baseline_info *items;
    size_t count, capacity;
    const char *wanted; /* ak_task_spec.libraries */
    ak_buf left_out;    /* names of the others, for error messages */
    ak_status status;
} listing;

static bool same_library(const char *name, const char *base)
{
    size_t length = strcspn(base, ":");
    return strcspn(name, ":") == length && strncmp(name, base, length) == 0;
}

/* Takes the next word of a comma-separated list and advances *at; returns false if there is
   none. */
static bool next_word(char out[64], const char **at)
{
    while (**at == ',') {
        (*at)++;
    }
    size_t length = strcspn(*at, ",");
    (void)snprintf(out, 64, "%.*s", (int)(length < 63 ? length : 63), *at);
    *at += length;
    return length > 0;
}

static bool is_wanted(const char *wanted, const char *name)
{
    char word[64];
    bool slow = strncmp(name, AK_BASELINE_ON_DEMAND, strlen(AK_BASELINE_ON_DEMAND)) == 0;
    for (const char *at = wanted; next_word(word, &at);) {
        if (strcmp(word, "all") == 0 || (strcmp(word, "default") == 0 && !slow) ||
            same_library(name, word)) {
            return true;
        }
    }
    return false;
}

/* Refuses a name that no library has. */
static ak_status check_wanted(const listing *list, ak_error *err)
{
    char word[64];
    for (const char *at = list->wanted; next_word(word, &at);) {
        bool known =
            strcmp(word, "all") == 0 || strcmp(word, "default") == 0 || strcmp(word, "none") == 0;
        for (size_t i = 0; !known && i < list->count; i++) {
            known = same_library(list->items[i].name, word);
        }
        if (!known) {
            ak_buf names = AK_BUF(400);
            for (size_t i = 0; i < list->count; i++) {
                ak_buf_print(&names, ", %s", list->items[i].name);
            }
            ak_status status = ak_fail(err, AK_INVALID,
                                       "no library \"%s\" for this kernel and device; choose "
                                       "default, all, none%s%s",
                                       word, names.data, list->left_out.data);
            ak_buf_free(&names);
            return status;
        }
    }
    return AK_OK;
}

static void list_one(void *context, const char *name, const char *title, const char *version,
                     bool installed, const char *note)
{
    listing *list = context;
    if (!is_wanted(list->wanted, name)) {
        ak_buf_print(&list->left_out, ", %s", name);
        return;
    }
    if (list->status == AK_OK) {
        list->status = AK_GROW(list->items, &list->capacity, list->count + 1, NULL);
    }
    if (list->status != AK_OK) {
        return;
    }
    ak_baseline_info *item = &list->items[list->count++];
    *item = (ak_baseline_info){.name = ak_strdup(name),
                               .title = ak_strdup(title),
                               .version = ak_strdup(version),
                               .note = ak_strdup(note),
                               .installed = installed};
    if (item->name == NULL || item->title == NULL || item->version == NULL || item->note == NULL) {
        list->status = AK_NO_MEMORY;
    }
}

/* Times the versions items[first..last) of one library, or the first AK_JUDGED_MAX of them. *best
   is the index of the fastest, or `first` if none has a time. */
static ak_status fastest(size_t *best, ak_evaluator *e, const listing *list, size_t first,
                         size_t last, ak_error *err)
{
    ak_judge_candidate candidates[AK_JUDGED_MAX] = {0};
    ak_comparison_entry entries[AK_JUDGED_MAX] = {0};
    size_t count = last - first < AK_JUDGED_MAX ? last - first : AK_JUDGED_MAX;
    double least = 0.0;
    *best = first;
    for (size_t i = 0; i < count; i++) {
        candidates[i].baseline = list->items[first + i].name;
    }
    ak_comparison_plan plan = {.seconds =
                                   (double)ak_evaluator_batch_ns(VARIANT_NS) / 1e9 * (double)count,
                               .protocol = &ak_protocols[AK_PROTOCOL_INTERLEAVED]};
    ak_comparison_course course;
    const ak_comparison_request request = {candidates, count, &plan, BASELINE_TIMEOUT_NS};
    ak_status status = ak_compare_candidates(entries, &course, e, &request, err);
    for (size_t i = 0; i < count; i++) {
        ak_stats stats;
        ak_stats_of(&stats, entries[i].samples_ms, entries[i].sample_count);
        if (entries[i].sample_count > 0 && (least == 0.0 || stats.median < least)) {
            least = stats.median;
            *best = first + i;
        }
        ak_comparison_entry_clear(&entries[i]);
    }
    return status;
}

static ak_status remember(ak_evaluator *e, const char *base, const char *best, ak_error *err)
{
    AK_DO(AK_GROW(e->choices, &e->choice_capacity, e->choice_count + 1, err));
    ak_library_choice made = {.base = ak_strdup(base), .best = ak_strdup(best)};
    if (made.base == NULL || made.best == NULL) {
        AK_FREE_ALL(made.base, made.best);
        return ak_fail_memory(err);
    }
    e->choices[e->choice_count++] = made;
    return AK_OK;
}

/* Returns the fastest version of the library `name`, or NULL if it is not known yet. */
static const char *best_of_library(const ak_evaluator *e, const char *name)
{
    for (size_t i = 0; i < e->choice_count; i++) {
        if (same_library(name, e->choices[i].base)) {
            return e->choices[i].best;
        }
    }
    return NULL;
}

/* Of the versions items[first..last), keeps the first, which is the library's own choice, and the
   fastest, which may be the same. They move to items[*kept] and the item after it. */
static ak_status reduce(listing *list, size_t *kept, size_t first, size_t last, ak_evaluator *e,
                        ak_error *err)
{
    size_t best = first;
    const char *known = best_of_library(e, list->items[first].name);
    if (known == NULL) {
        AK_DO(last - first > 1 ? fastest(&best, e, list, first, last, err) : AK_OK);
        AK_DO(remember(e, list->items[first].name, list->items[best].name, err));
    }
    for (size_t i = first; known != NULL && i < last; i++) {
        best = strcmp(list->items[i].name, known) == 0 ? i : best;
    }
    for (size_t i = first; i < last; i++) {
        if (i == first || i == best) {
            ak_baseline_info item = list->items[i];
            list->items[i] = (ak_baseline_info){0};
            list->items[(*kept)++] = item;
        } else {
            ak_baseline_info_clear(&list->items[i]);
        }
    }
    return AK_OK;
}

ak_status ak_evaluate_baselines(ak_baseline_info **out, size_t *count, ak_evaluator *e,
                                ak_error *err)
{
    const char *wanted = e->task->libraries;
    listing list = {.wanted = wanted == NULL ? "default" : wanted, .left_out = AK_BUF(400)};
    ak_status status = AK_OK;
    size_t kept = 0;
    /* "none" skips this, because listing loads every version of each library, which is slow. */
    if (strcmp(list.wanted, "none") != 0 && e->backend->baselines != NULL) {
        AK_TRY(e->backend->baselines(e->device, e->task, list_one, &list, err));
    }
    AK_TRY(list.status == AK_OK ? AK_OK : ak_fail_memory(err));
    AK_TRY(check_wanted(&list, err));
    for (size_t first = 0; first < list.count;) {
        size_t last = first + 1;
        while (last < list.count && same_library(list.items[last].name, list.items[first].name)) {
            last++;
        }
        AK_TRY(reduce(&list, &kept, first, last, e, err));
        first = last;
    }
    for (size_t i = 0; e->backend->baseline_version != NULL && i < kept; i++) {
        char version[AK_VERSION_BYTES];
        e->backend->baseline_version(version, sizeof version, e->device, list.items[i].name);
        char *text = version[0] == 0 ? NULL : ak_strdup(version);
        if (text != NULL) {
            ak_free(list.items[i].version);
            list.items[i].version = text;
        }
    }
    *out = list.items;
    *count = kept;
out:
    ak_buf_free(&list.left_out);
    if (status != AK_OK) {
        ak_baseline_info_free(list.items, list.count);
    }
    return status;
}

ak_status ak_evaluate_comparison(ak_comparison_entry *out, ak_comparison_course *course,
                                 ak_evaluator *e, const ak_comparison_request *request,
                                 ak_error *err)
{
    const ak_judge_candidate *candidates = request->candidates;
    const size_t count = request->count;
    ak_judge_candidate resolved[AK_JUDGED_MAX];
    if (count == 0 || count > AK_JUDGED_MAX) {
        return ak_fail(err, AK_INVALID, "a comparison has %zu candidates: it must have 1..%d",
                       count, AK_JUDGED_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        resolved[i] = candidates[i];
        const char *colon =
            candidates[i].baseline == NULL ? NULL : strchr(candidates[i].baseline, ':');
        if (colon == NULL || strcmp(colon, ":BEST") != 0) {
            continue;
        }
        if (best_of_library(e, candidates[i].baseline) == NULL) {
            ak_baseline_info *infos = NULL;
            size_t info_count = 0;
            AK_DO(ak_evaluate_baselines(&infos, &info_count, e, err));
            ak_baseline_info_free(infos, info_count);
        }
        const char *best = best_of_library(e, candidates[i].baseline);
        resolved[i].baseline = best == NULL ? candidates[i].baseline : best;
    }
    const ak_comparison_request exact = {resolved, count, request->plan, request->timeout_ns};
    return ak_compare_candidates(out, course, e, &exact, err);
}
