/* outdated.c: see outdated.h. */
#include "cli/outdated.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/options.h"

/* ---- kernels that have changed --------------------------------------------------------------- */

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

/* ---- files that an export would replace ------------------------------------------------------ */

#define CSV_BEGIN     "timestamp,name,"
#define CSV_BYTES_MAX (256u << 20)
#define KERNEL_BYTES  128

/* Writes the name of the kernel that a JSON document is an export of; "" if it is not an export. */
static void kernel_of_json(char out[KERNEL_BYTES], const json_t *document)
{
    const json_t *first = json_array_get(document, 0);
    const json_t *names[] = {json_object_get(document, "kernel"),
                             json_object_get(document, "kernel_name"),
                             json_object_get(json_object_get(document, "metadata"), "kernel_name"),
                             json_object_get(json_object_get(document, "autokernel"), "kernel"),
                             json_object_get(first, "kernel"),
                             NULL};
    first = json_array_get(json_object_get(document, "kernels"), 0);
    names[5] = json_object_get(first, "name");
    for (size_t i = 0; i < AK_COUNT(names) && out[0] == 0; i++) {
        const char *name = json_string_value(names[i]);
        (void)snprintf(out, KERNEL_BYTES, "%s", ak_or_empty(name));
    }
}

/* Writes the name of the kernel that a file is an export of; "" if export did not write it. */
static void kernel_of_file(char out[KERNEL_BYTES], const char *path)
{
    json_t *document = NULL;
    char *text = NULL;
    out[0] = 0;
    if (ak_json_read(&document, path, NULL) == AK_OK) {
        kernel_of_json(out, document);
    } else if (ak_bundle_read(&text, path, NULL) == AK_OK) {
        (void)ak_json_parse_text(&document, text, path, NULL);
        kernel_of_json(out, document);
        ak_text_free(text);
    } else if (ak_fs_read(&text, NULL, path, CSV_BYTES_MAX, NULL) == AK_OK) {
        const char *row = strchr(text, '\n');
        const char *name = row == NULL ? NULL : strchr(row, ',');
        if (name != NULL && strncmp(text, CSV_BEGIN, strlen(CSV_BEGIN)) == 0) {
            (void)snprintf(out, KERNEL_BYTES, "%.*s", (int)strcspn(name + 1, ","), name + 1);
        }
        ak_free(text);
    }
    json_decref(document);
}

ak_status ak_check_target(const char *path, const char *kernel, const ak_args *args, ak_error *err)
{
    char theirs[KERNEL_BYTES];
    if (strcmp(path, "-") == 0 || ak_args_has(args, AK_OPTION_FORCE) || !ak_fs_is_file(path)) {
        return AK_OK;
    }
    kernel_of_file(theirs, path);
    if (strcmp(theirs, kernel) == 0) {
        return AK_OK;
    }
    bool foreign = theirs[0] == 0;
    return ak_fail(err, AK_INVALID,
                   "%.200s: this file exists and %s%.60s%s; choose another with --output, or "
                   "replace it with --force",
                   path, foreign ? "export did not write it" : "belongs to kernel \"", theirs,
                   foreign ? "" : "\"");
}
