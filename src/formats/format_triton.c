/*
 * format_triton.c: writes the best configurations of a Triton kernel as Python: a list of
 * triton.Config to paste or import, and which sizes and dtypes each is for.
 */

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/code_text.h"
#include "formats/format.h"

#define ENTRIES_MAX 4096

typedef struct entries {
    ak_trial *list;
    size_t count, capacity;
} entries;

static void entries_clear(entries *all)
{
    AK_CLEAR_EACH(ak_trial_clear, all->list, all->count);
    ak_free(all->list);
}

/* Returns the index of the entry with the trial's size, dtype and options and, with
   `implementation`, the trial's implementation; the number of entries if there is none. */
static size_t find(const entries *all, const ak_trial *trial, bool implementation)
{
    size_t at = 0;
    while (at < all->count && !(ak_text_same(all->list[at].size, trial->size) &&
                                ak_text_same(all->list[at].dtype, trial->dtype) &&
                                ak_text_same(all->list[at].choices, trial->choices) &&
                                (!implementation || ak_text_same(all->list[at].implementation,
                                                                 trial->implementation)))) {
        at++;
    }
    return at;
}

/* Appends a trial and takes over its contents; after a failure they stay the caller's. */
static ak_status append(entries *all, ak_trial *trial, ak_error *err)
{
    AK_FAIL_IF(all->count == ENTRIES_MAX, err, AK_LIMIT,
               "more than %d sizes and dtypes: choose some with --size", ENTRIES_MAX);
    AK_DO(AK_GROW(all->list, &all->capacity, all->count + 1, err));
    AK_GIVE(&all->list[all->count++], *trial);
    return AK_OK;
}

/* Refuses a trial of another kernel or device than the entries, because the keys that are written
   name neither. */
static ak_status check_place(const entries *all, const ak_trial *trial, ak_error *err)
{
    static const char *const names[] = {"kernel", "device"};
    for (size_t i = 0; all->count > 0 && i < AK_COUNT(names); i++) {
        const char *known = ak_or_empty(*ak_trial_text(&all->list[0], names[i]));
        const char *its = ak_or_empty(*ak_trial_text(trial, names[i]));
        if (strcmp(known, its) != 0) {
            return ak_fail_tasks(err,
                                 "a Triton file is for one kernel on one device, but trials of "
                                 "different ones match",
                                 names[i], known, its);
        }
    }
    return AK_OK;
}

/* Keeps the first successful trial that has a time for each Triton implementation, size, dtype and
   set of options. */
static ak_status collect(void *context, const ak_trial *trial, ak_error *err)
{
    entries *all = context;
    AK_AT_END(ak_trial_clear) ak_trial copy = {0};
    if (trial->status != AK_TRIAL_OK || trial->median_ms <= 0 || trial->implementation == NULL ||
        strncmp(trial->implementation, "triton", strlen("triton")) != 0) {
        return AK_OK;
    }
    AK_DO(check_place(all, trial, err));
    if (find(all, trial, true) < all->count) {
        return AK_OK;
    }
    AK_DO(ak_trial_copy(&copy, trial, err));
    return append(all, &copy, err);
}

/* Adds the best configuration (ak_archive_best) for the task and implementation of `like`, in place
   of a worse one of another implementation. Adds nothing if a later check refuted all that were
   timed, or if another implementation has one that is as good. */
static ak_status add_best(entries *all, ak_archive *archive, const ak_archive_filter *filter,
                          const ak_trial *like, ak_error *err)
{
    const ak_archive_filter of = ak_archive_narrow(*filter, like);
    AK_AT_END(ak_trial_clear) ak_trial best = {0};
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_archive_best(&best, archive, &of, &why);
    if (status != AK_OK) {
        return status == AK_NOT_FOUND ? AK_OK : ak_fail(err, status, "%s", why.text);
    }
    const size_t at = find(all, &best, false);
    if (at == all->count) {
        return append(all, &best, err);
    }
    if (ak_trial_cost(&best) < ak_trial_cost(&all->list[at])) {
        ak_trial_clear(&all->list[at]);
        AK_GIVE(&all->list[at], best);
    }
    return AK_OK;
}

/* Writes a value as Python does. */
static void put_value(ak_buf *out, const json_t *value)
{
    if (json_is_boolean(value)) {
        ak_buf_puts(out, json_is_true(value) ? "True" : "False");
    } else {
        ak_json_print(out, value, false);
    }
}

static ak_status put_config(ak_buf *out, const char *config, ak_error *err)
{
    static const char *const options[] = {"num_warps", "num_stages", "num_ctas", "maxnreg"};
    json_auto_t *values = NULL;
    bool first = true;
    AK_DO(ak_config_text_to_json(&values, config, "configuration", err));
    ak_buf_puts(out, "triton.Config({");
    AK_EACH_MEMBER(name, value, values) {
        if (!AK_HAS_TEXT(options, AK_COUNT(options), name)) {
            ak_buf_puts(out, first ? "" : ", ");
            ak_code_string(out, name);
            ak_buf_puts(out, ": ");
            put_value(out, value);
            first = false;
        }
    }
    ak_buf_puts(out, "}");
    for (size_t i = 0; i < AK_COUNT(options); i++) {
        const json_t *value = json_object_get(values, options[i]);
        if (value != NULL) {
            ak_buf_print(out, ", %s=", options[i]);
            put_value(out, value);
        }
    }
    ak_buf_puts(out, ")");
    return ak_buf_status(out, err);
}

/* Returns the index of an entry's configuration among the distinct configurations. */
static size_t number_of(const entries *all, size_t at)
{
    size_t number = 0;
    for (size_t i = 0; i < all->count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen = seen || ak_text_same(all->list[k].config, all->list[i].config);
        }
        if (ak_text_same(all->list[i].config, all->list[at].config)) {
            return number;
        }
        number += seen ? 0 : 1;
    }
    return number;
}

/* Writes the key of an entry: its sizes in order, its dtype and, unless empty, its options. */
static ak_status put_key(ak_buf *out, const ak_trial *trial, ak_error *err)
{
    json_t *sizes = NULL;
    AK_DO(ak_config_text_to_json(&sizes, trial->size, "size", err));
    ak_buf_puts(out, "(");
    AK_EACH_MEMBER(name, value, sizes) {
        ak_json_print(out, value, false);
        ak_buf_puts(out, ", ");
    }
    json_decref(sizes);
    ak_code_string(out, ak_or_empty(trial->dtype));
    if (trial->choices != NULL && trial->choices[0] != 0) {
        ak_buf_puts(out, ", ");
        ak_code_string(out, trial->choices);
    }
    ak_buf_puts(out, ")");
    return AK_OK;
}

static ak_status write_triton(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                              ak_error *err)
{
    static const ak_archive_filter everything = {0};
    AK_AT_END(entries_clear) entries all = {.list = NULL}, tasks = {.list = NULL};
    size_t written = 0;
    filter = filter == NULL ? &everything : filter;
    AK_DO(ak_archive_take(archive, filter, collect, &tasks, err));
    for (size_t i = 0; i < tasks.count; i++) {
        AK_DO(add_best(&all, archive, filter, &tasks.list[i], err));
    }
    AK_FAIL_IF(all.count == 0, err, AK_NOT_FOUND,
               "%s: no trial of a Triton implementation matches%s; tune one first "
               "(docs/howto-triton.md)",
               ak_archive_path(archive), tasks.count > 0 ? " that no later check refuted" : "");
    ak_buf_puts(out, "# Written by autokernel " AK_VERSION " from measurements of ");
    ak_code_comment(out, all.list[0].kernel);
    ak_buf_puts(out, " on ");
    ak_code_comment(out, ak_or_empty(all.list[0].device));
    ak_buf_puts(out, ".\nimport triton\n\nCONFIGS = [\n");
    for (size_t i = 0; i < all.count; i++) {
        if (number_of(&all, i) == written) {
            ak_buf_puts(out, "    ");
            AK_DO(put_config(out, all.list[i].config, err));
            ak_buf_puts(out, ",\n");
            written++;
        }
    }
    ak_buf_puts(out, "]\n\n# Sizes and element type: the best configuration there.\n"
                     "BY_SIZE = {\n");
    for (size_t i = 0; i < all.count; i++) {
        ak_buf_puts(out, "    ");
        AK_DO(put_key(out, &all.list[i], err));
        ak_buf_print(out, ": CONFIGS[%zu],  # ", number_of(&all, i));
        ak_code_comment(out, ak_or_empty(all.list[i].size));
        ak_buf_puts(out, ", ");
        ak_code_comment(out, ak_or_empty(all.list[i].device));
        ak_buf_puts(out, "\n");
    }
    ak_buf_puts(out, "}\n");
    return ak_buf_status(out, err);
}

const ak_format_ops ak_format_triton = {
    .name = "triton",
    .description =
        "the best configurations of a Triton kernel, as a list of triton.Config (export only)",
    .write = write_triton};
