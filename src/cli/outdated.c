#include "cli/outdated.h"

#include "base/fs.h"
#include "base/shell.h"

#define STATES_MAX 32 /* limit on states; trials of further states are ignored */

/* A state of a kernel: its trials in one environment. The hash of the source is part of the
   environment, so each version of the kernel is another state. */
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

static void ignore_file(void *context, const char *name, const char *data, size_t length)
{
    (void)context;
    (void)name;
    (void)data;
    (void)length;
}

static ak_status say_one(const state *one, ak_archive *archive, size_t all, const char *place,
                         const ak_outdated_to *to, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4 * AK_PATH_MAX);
    ak_buf_print(&text, "kernel %s has changed since ", one->latest.kernel);
    if (all == 1) {
        ak_buf_puts(&text, "this result was measured: ");
    } else if (one->count == all) {
        ak_buf_puts(&text, "these results were measured: ");
    } else {
        ak_buf_print(&text, "%zu of these results %s measured: ", one->count,
                     one->count == 1 ? "was" : "were");
    }
    if (to->list != NULL) {
        ak_buf_puts(&text, "the tool measure measures it as it is");
    } else {
        ak_buf_puts(&text, "'autokernel tune ");
        ak_shell_quote(&text, place);
        ak_buf_puts(&text, "' measures it as it is, ");
        if (ak_archive_source(archive, one->latest.id, ignore_file, NULL, NULL) == AK_OK) {
            ak_buf_print(&text, "'autokernel history --source %lld' shows it as it was",
                         (long long)one->latest.id);
        } else {
            ak_buf_puts(&text, "and the archive did not keep it as it was");
        }
    }
    ak_status status = ak_buf_status(&text, err);
    if (status == AK_OK && to->list != NULL) {
        status = ak_stored(ak_json_append(to->list, json_string(text.data)), err);
    } else if (status == AK_OK && to->warning) {
        ak_warn("%s", text.data);
    } else if (status == AK_OK) {
        ak_out("%s\n", text.data);
    }
    return status;
}

/* Says a sentence for each state that is not the kernel's present one, and frees the states. */
static ak_status say_states(states *s, ak_archive *archive, const ak_outdated_to *to, ak_error *err)
{
    ak_status status = s->status;
    for (size_t i = 0; i < s->count && status == AK_OK; i++) {
        AK_AT_END(ak_text_free_at) char *place = NULL;
        status = ak_archive_kernel_changed(&place, archive, &s->at[i].latest, to->operand, err);
        if (status == AK_OK && place != NULL) {
            status = say_one(&s->at[i], archive, s->all, place, to, err);
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        ak_trial_clear(&s->at[i].latest);
    }
    return status;
}

ak_outdated_to ak_outdated_on(const ak_args *args, bool warning)
{
    return (ak_outdated_to){.operand = args->operand_count > 0 ? args->operand[0] : NULL,
                            .warning = warning};
}

ak_status ak_say_changed(ak_archive *archive, const ak_trial *list, size_t count,
                         const ak_outdated_to *to, ak_error *err)
{
    states s = {.status = AK_OK, .err = err};
    for (size_t i = 0; i < count && s.status == AK_OK; i++) {
        (void)note_trial(&s, &list[i]);
    }
    return say_states(&s, archive, to, err);
}

ak_status ak_say_changed_matching(ak_archive *archive, const ak_archive_filter *filter,
                                  const ak_outdated_to *to, ak_error *err)
{
    states s = {.status = AK_OK, .err = err};
    ak_status status = ak_archive_each(archive, filter, note_trial, &s, err);
    s.status = s.status == AK_OK ? status : s.status;
    return say_states(&s, archive, to, err);
}

ak_status ak_say_changed_table(ak_archive *archive, const char *text, const ak_outdated_to *to,
                               ak_error *err)
{
    json_auto_t *table = NULL;
    AK_DO(ak_json_parse_text(&table, text, "dispatch table", err));
    const ak_archive_filter of_run = {.run = ak_json_text_at(table, "run")};
    return ak_say_changed_matching(archive, &of_run, to, err);
}
