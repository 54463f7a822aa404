/* cmd_history.c: the trials of the archive. */
#include "base/alloc.h"
#include "cli/options.h"
#include "cli/task_args.h"
#include "cli/trial_table.h"

/* The archive gives the oldest first and people want the latest, so a ring of the last `limit` is
 * kept. */
#define SHOWN_DEFAULT 20

typedef struct ring {
    ak_trial *trials;
    size_t limit;                 /* 0: all */
    size_t capacity, count, next; /* `next` is the oldest once the ring is full */
    bool by_status;
    ak_trial_status wanted;
    size_t matched;
    ak_status status;
    ak_error *err;
} ring;

static bool keep(void *context, const ak_trial *trial)
{
    ring *r = context;
    if (r->by_status && trial->status != r->wanted) {
        return true;
    }
    r->matched++;
    if (r->limit > 0 && r->count == r->limit) {
        ak_trial_clear(&r->trials[r->next]);
        r->status = ak_trial_copy(&r->trials[r->next], trial, r->err);
        r->next = (r->next + 1) % r->limit;
        return r->status == AK_OK;
    }
    void *list = r->trials;
    r->status = ak_grow(&list, &r->capacity, r->count + 1, sizeof(ak_trial), r->err);
    if (r->status == AK_OK) {
        r->trials = list;
        r->status = ak_trial_copy(&r->trials[r->count], trial, r->err);
        r->count += r->status == AK_OK;
    }
    return r->status == AK_OK;
}

static void print_table(const ring *r, const ak_args *args)
{
    ak_table table;
    ak_history_begin(&table);
    for (size_t i = 0; i < r->count; i++) {
        ak_history_row(&table, &r->trials[i]);
    }
    ak_table_print(&table);
    if (r->matched == 0) {
        ak_out("no trial matches\n");
        ak_next_on_archive("tune matmul", "make some", args);
        return;
    }
    if (r->matched > r->count) {
        ak_out("the latest %zu of %zu; --limit shows more\n", r->count, r->matched);
    }
    ak_next_on_archive("best", "the fastest of each kernel and size", args);
}

/* The ring as a list, oldest first. */
static ak_status straighten(ring *r, ak_error *err)
{
    if (r->next == 0) {
        return AK_OK;
    }
    ak_trial *list = ak_alloc(r->count, sizeof *list);
    if (list == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < r->count; i++) {
        list[i] = r->trials[(r->next + i) % r->count];
    }
    ak_free(r->trials);
    r->trials = list;
    r->next = 0;
    return AK_OK;
}

static ak_status read_status(ring *r, const ak_args *args, ak_error *err)
{
    const char *names[AK_TRIAL_STATUS_COUNT + 1] = {NULL};
    const char *text = args->text[AK_OPTION_STATUS];
    if (text == NULL) {
        return AK_OK;
    }
    r->by_status = true;
    if (ak_trial_status_parse(&r->wanted, text)) {
        return AK_OK;
    }
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        names[i] = ak_trial_status_text((ak_trial_status)i);
    }
    char hint[120];
    ak_hint(hint, sizeof hint, text, names,
            "ok, compile_error, wrong_result, crashed, timed_out, ...");
    return ak_fail(err, AK_INVALID, "there is no status '%.60s'; %s", text, hint);
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_selection selection = {0};
    bool json = ak_args_has(args, AK_OPTION_JSON);
    ring r = {.status = AK_OK, .err = &err};
    r.limit = ak_args_has(args, AK_OPTION_LIMIT) ? (size_t)args->number[AK_OPTION_LIMIT]
              : json                             ? 0
                                                 : SHOWN_DEFAULT;
    ak_status status = read_status(&r, args, &err);
    if (status == AK_OK) {
        status = ak_selection_open(&selection, args, &err);
    }
    if (status == AK_OK) {
        status = ak_archive_each(selection.archive, &selection.filter, keep, &r, &err);
        status = status == AK_OK ? r.status : status;
    }
    if (status == AK_OK) {
        status = straighten(&r, &err);
    }
    if (status == AK_OK && json) {
        status = ak_trials_print_json(r.trials, r.count, &err);
    } else if (status == AK_OK) {
        print_table(&r, args);
    }
    ak_trials_free(r.trials, r.count);
    ak_selection_close(&selection);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

const ak_command ak_cmd_history = {
    .name = "history",
    .summary = "the trials of the archive",
    .operands = "[KERNEL]",
    .most = 1,
    .options = AK_O_FILTER | AK_O(STATUS) | AK_O(LIMIT) | AK_O(JSON) | AK_O(HELP),
    .about =
        "Every configuration that was ever tried, failures included; the latest 20 unless --limit\n"
        "says otherwise. --json prints all that match as an array.",
    .examples = "  autokernel history\n"
                "  autokernel history matmul --status compile_error --limit 5\n"
                "  autokernel history matmul --json\n",
    .run = run,
};
