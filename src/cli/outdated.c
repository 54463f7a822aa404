/* outdated.c: see outdated.h. */
#include "cli/outdated.h"

#include <string.h>

#include "base/fs.h"

#define STATES_MAX 32 /* limit on states; trials of further ones are ignored */

/* The trials of one kernel in one environment, which includes the hash of the source: one state of
   the kernel. */
typedef struct state {
    ak_trial latest;
    size_t count;
} state;

typedef struct states {
    state at[STATES_MAX];
    size_t count, all;
    ak_status status;
    ak_error *err;
} states;

static bool is_later(const ak_trial *a, const ak_trial *b)
{
    const int order = strcmp(ak_or_empty(a->timestamp), ak_or_empty(b->timestamp));
    return order != 0 ? order > 0 : a->id > b->id;
}

static bool note_trial(void *context, const ak_trial *trial)
{
    states *s = context;
    size_t i = 0;
    s->all++;
    if (trial->environment == NULL) {
        return true;
    }
    while (i < s->count && (strcmp(s->at[i].latest.environment, trial->environment) != 0 ||
                            strcmp(s->at[i].latest.kernel, trial->kernel) != 0)) {
        i++;
    }
    if (i == STATES_MAX) {
        return true;
    }
    if (i == s->count || is_later(trial, &s->at[i].latest)) {
        ak_trial_clear(&s->at[i].latest);
        s->status = ak_trial_copy(&s->at[i].latest, trial, s->err);
        s->count = i == s->count && s->status == AK_OK ? i + 1 : s->count;
    }
    s->at[i].count++;
    return s->status == AK_OK;
}

static void say_one(const state *one, size_t all, const char *place, bool warning)
{
    ak_buf tune = AK_BUF(2 * AK_PATH_MAX);
    char some[64] = "this result was";
    long long id = (long long)one->latest.id;
    if (all > 1 && one->count < all) {
        (void)snprintf(some, sizeof some, "%zu of these results %s", one->count,
                       one->count == 1 ? "was" : "were");
    } else if (all > 1) {
        (void)snprintf(some, sizeof some, "these results were");
    }
    ak_quote(&tune, place);
#define CHANGED                                                                                    \
    "kernel %s has changed since %s measured: 'autokernel tune %s' measures it as it is, "         \
    "'autokernel history --source %lld' shows it as it was"
    if (warning) {
        ak_warn(CHANGED, one->latest.kernel, some, tune.data, id);
    } else {
        ak_out(CHANGED "\n", one->latest.kernel, some, tune.data, id);
    }
#undef CHANGED
    ak_buf_free(&tune);
}

/* Prints a sentence for each state that is not the kernel's present one, and frees the states. */
static ak_status say_states(states *s, ak_archive *archive, const ak_args *args, bool warning,
                            ak_error *err)
{
    const char *operand = args->operand_count > 0 ? args->operand[0] : NULL;
    ak_status status = s->status;
    for (size_t i = 0; i < s->count && status == AK_OK; i++) {
        char *place = NULL;
        status = ak_archive_kernel_changed(&place, archive, &s->at[i].latest, operand, err);
        if (status == AK_OK && place != NULL) {
            say_one(&s->at[i], s->all, place, warning);
        }
        ak_text_free(place);
    }
    for (size_t i = 0; i < s->count; i++) {
        ak_trial_clear(&s->at[i].latest);
    }
    return status;
}

ak_status ak_say_changed(ak_archive *archive, const ak_trial *list, size_t count,
                         const ak_args *args, bool warning, ak_error *err)
{
    states s = {.status = AK_OK, .err = err};
    for (size_t i = 0; i < count && s.status == AK_OK; i++) {
        (void)note_trial(&s, &list[i]);
    }
    return say_states(&s, archive, args, warning, err);
}

ak_status ak_say_changed_matching(ak_archive *archive, const ak_archive_filter *filter,
                                  const ak_args *args, bool warning, ak_error *err)
{
    states s = {.status = AK_OK, .err = err};
    ak_status status = ak_archive_each(archive, filter, note_trial, &s, err);
    s.status = s.status == AK_OK ? status : s.status;
    return say_states(&s, archive, args, warning, err);
}
