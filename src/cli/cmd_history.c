/* cmd_history.c: lists the trials or the runs of the archive, shows the sources of a trial, or
   removes a run or a trial. */

#include "base/alloc.h"
#include "base/fs.h"
#include "base/pack.h"
#include "base/utf8.h"
#include "cli/outdated.h"
#include "cli/target.h"
#include "cli/options.h"
#include "cli/trial_table.h"

/* By default a table shows this many trials or runs, the latest. The archive gives the oldest
   trials first, so a ring keeps the last `limit` of them. */
#define SHOWN_DEFAULT 20

typedef struct ring {
    ak_trial *trials;
    size_t limit;                 /* 0: no limit */
    size_t capacity, count, next; /* `next` is the oldest once the ring is full */
    bool by_status;
    ak_trial_status wanted;
    size_t seen, matched; /* `matched` counts those with the wanted status or, without --status,
                             all */
    ak_status status;
    ak_error *err;
} ring;

static bool keep(void *context, const ak_trial *trial)
{
    ring *r = context;
    r->seen++;
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
    r->status = AK_GROW(r->trials, &r->capacity, r->count + 1, r->err);
    if (r->status == AK_OK) {
        r->status = ak_trial_copy(&r->trials[r->count], trial, r->err);
        r->count += r->status == AK_OK;
    }
    return r->status == AK_OK;
}

/* Says that no trial matches. Suggests `history` with the kernel as the only filter if that would
   show trials, else `tune`, unless the kernel is not found. */
static void print_none(const ring *r, const ak_selection *selection, const ak_args *args)
{
    const char *kernel = args->operand_count > 0 ? args->operand[0] : NULL;
    ak_archive_filter of_kernel = {.kernel = selection->filter.kernel};
    size_t seen = r->seen;
    if (r->by_status && seen > 0) {
        ak_out("no trial has the status %s; %zu ha%s another\n", ak_trial_status_text(r->wanted),
               seen, seen == 1 ? "s" : "ve");
    } else {
        ak_out("no trial matches%s\n", ak_selection_hint(selection));
        ak_selection_say_settings(selection, args);
        (void)ak_archive_count(&seen, NULL, selection->archive, &of_kernel, NULL);
    }
    if (seen > 0) {
        ak_next_on_archive("history", kernel, "what there is", args);
    } else {
        ak_next_make_some(selection, args);
    }
}

static ak_status print_table(const ring *r, const ak_selection *selection, const ak_args *args,
                             ak_error *err)
{
    ak_table table;
    ak_roofline_notes notes = {0};
    ak_history_begin(&table);
    for (size_t i = 0; i < r->count; i++) {
        ak_history_row(&table, &notes, &r->trials[i]);
    }
    ak_table_print(&table);
    ak_roofline_say(&notes);
    if (r->matched == 0) {
        print_none(r, selection, args);
        return AK_OK;
    }
    if (r->matched > r->count) {
        ak_out("the latest %zu of %zu; --limit shows more\n", r->count, r->matched);
    }
    ak_selection_say_hidden(selection);
    const ak_outdated_to to = ak_outdated_on(args, false);
    ak_status status = ak_say_changed(selection->archive, r->trials, r->count, &to, err);
    const char *run = args->text[AK_OPTION_RUN];
    ak_next_on_shown(run == NULL ? "best" : "best --run", run,
                     "the fastest of each kernel and size", args);
    return status;
}

static void ring_clear(ring *r)
{
    ak_trials_clear(&(ak_trials){r->trials, r->count});
}

/* Turns the ring into a list, oldest first. */
static ak_status straighten(ring *r, ak_error *err)
{
    if (r->next == 0) {
        return AK_OK;
    }
    ak_trial *list;
    AK_DO(AK_NEW(list, r->count, err));
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
    char all[200], hint[200];
    size_t length = (size_t)snprintf(all, sizeof all, "choose");
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT && length < sizeof all; i++) {
        names[i] = ak_trial_status_text((ak_trial_status)i);
        length += (size_t)snprintf(all + length, sizeof all - length, "%s %s", i == 0 ? "" : ",",
                                   names[i]);
    }
    ak_hint(hint, sizeof hint, text, names, all);
    return ak_fail(err, AK_INVALID, "there is no status '%.60s'; %s", text, hint);
}

/* ---- sources --------------------------------------------------------------------------------- */

typedef struct sources {
    const char *folder; /* NULL: standard output */
    const ak_args *args;
    json_t *list; /* the files, for --json; NULL: print text */
    ak_status status;
    ak_error *err;
} sources;

/* Checks whether a file may be written to the folder. All are checked before one is written. */
static void look_at_file(void *context, const char *name, const char *data, size_t length)
{
    sources *s = context;
    char path[AK_PATH_MAX];
    const ak_content content = {data, length};
    s->status = s->status == AK_OK ? ak_fs_join(path, s->folder, name, s->err) : s->status;
    s->status =
        s->status == AK_OK ? ak_target_of_source(path, &content, s->args, s->err) : s->status;
}

static void show_file(void *context, const char *name, const char *data, size_t length)
{
    sources *s = context;
    char path[AK_PATH_MAX];
    if (s->status == AK_OK && s->folder != NULL) {
        s->status = ak_fs_write_in(path, s->folder, name, data, length, s->err);
    }
    if (s->status != AK_OK) {
        return;
    }
    if (s->list != NULL) {
        char *clean = ak_utf8_clean(data); /* a source may have bytes that are not UTF-8 */
        json_t *one = clean == NULL ? NULL
                                    : json_pack("{s:s, s:s?}", "name", name, "text",
                                                ak_pack_is_text(data, length) ? clean : NULL);
        ak_free(clean);
        s->status = ak_stored(ak_json_append(s->list, one), s->err);
    } else if (s->folder != NULL) {
        ak_out("wrote %s\n", path);
    } else if (ak_pack_is_text(data, length)) {
        ak_out("==== %s\n%s\n", name, data);
    } else {
        ak_out("==== %s\n(%zu bytes of data: --output FOLDER writes them)\n\n", name, length);
    }
}

static int show_source(const ak_args *args, ak_error *err)
{
    const char *text = args->text[AK_OPTION_SOURCE];
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    int64_t id = 0;
    bool json = ak_args_has(args, AK_OPTION_JSON);
    json_auto_t *list = json ? json_array() : NULL;
    sources s = {.folder = args->text[AK_OPTION_OUTPUT],
                 .args = args,
                 .list = list,
                 .status = AK_OK,
                 .err = err};
    const ak_option_set filters =
        (AK_O_FILTER & ~AK_O(ARCHIVE)) | AK_O(STATUS) | AK_O(LIMIT) | AK_O(RUNS);
    AK_OR_COMPLAIN(
        ak_args_refuse(args, filters, "does not go with --source, which names one trial", err));
    bool good = ak_text_int(&id, text[0] == '#' ? text + 1 : text) && id > 0;
    AK_OR_COMPLAIN(good ? ak_args_archive(&archive, args, err)
                        : ak_fail(err, AK_INVALID,
                                  "--source %.60s: a trial is named by its id, such as '#5'; "
                                  "'autokernel history' shows them",
                                  text));
    if (s.folder != NULL) {
        AK_OR_COMPLAIN(ak_archive_source(archive, id, look_at_file, &s, err));
        AK_OR_COMPLAIN(s.status);
    }
    AK_OR_COMPLAIN(ak_archive_source(archive, id, show_file, &s, err));
    AK_OR_COMPLAIN(s.status);
    if (json) {
        AK_OR_COMPLAIN(ak_stored(ak_out_json(list), err));
    }
    return AK_EXIT_DONE;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void add_run(ak_table *table, const json_t *run)
{
    char ms[AK_NUMBER_BYTES];
    const char *time = ak_json_text_at(run, "ended"), *choices = ak_json_text_at(run, "choices");
    time = time[0] == 0 ? ak_json_text_at(run, "started") : time; /* it orders the rows */
    const bool many = json_is_true(json_object_get(run, "many_sizes"));
    ak_table_cell(table, "%s", ak_json_text_at(run, "id"));
    ak_table_cell(table, "%.10s%s%.8s", time, strlen(time) > 11 ? " " : "",
                  strlen(time) > 11 ? time + 11 : "");
    ak_table_cell(table, "%s", ak_json_text_at(run, "kernel"));
    ak_table_cell(table, "%s", ak_json_text_at(run, "device"));
    ak_table_cell(table, "%s%s%s", many ? "many sizes" : ak_json_text_at(run, "size"),
                  choices[0] == 0 ? "" : " ", choices);
    ak_table_cell(table, "%s", ak_json_text_at(run, "strategy"));
    ak_table_cell(table, "%.0f", ak_json_number_at(run, "trials"));
    ak_table_cell(table, "%s", ak_show_real(ms, many ? 0 : ak_json_number_at(run, "best_ms")));
}

static void print_runs(const json_t *runs, size_t matched, const ak_selection *selection,
                       const ak_args *args)
{
    const size_t shown = json_array_size(runs);
    ak_table table;
    ak_table_begin(&table, "run", "time (UTC)", "kernel", "device", "size", "strategy",
                   ">evaluations", ">best ms", NULL);
    AK_EACH(run, runs) {
        add_run(&table, run);
    }
    ak_table_print(&table);
    if (matched == 0) {
        ak_out("no run matches\n");
        ak_selection_say_settings(selection, args);
        ak_next_on_archive(selection->kernel == NULL ? "tune matmul" : "history --runs", NULL,
                           selection->kernel == NULL ? "make one" : "all runs", args);
        return;
    }
    if (matched > shown) {
        ak_out("the latest %zu of %zu; --limit shows more\n", shown, matched);
    }
    AK_EACH(run, runs) {
        const char *refuted = ak_json_text_at(run, "refuted");
        if (refuted[0] != 0) {
            ak_out("%s: %s\n", ak_json_text_at(run, "id"), refuted);
        }
    }
    ak_next_on_archive("report", ak_json_text_at(json_array_get(runs, 0), "id"),
                       "what happened in it", args);
}

static int show_runs(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    const bool json = ak_args_has(args, AK_OPTION_JSON);
    char *text = NULL;
    json_auto_t *runs = NULL;
    size_t matched = 0;
    AK_OR_COMPLAIN(
        ak_args_refuse(args, AK_O(STATUS), "is for trials and does not go with --runs", err));
    AK_OR_COMPLAIN(ak_selection_open(&selection, args, err));
    ak_archive_filter filter = selection.filter;
    filter.limit = (size_t)ak_args_number(args, AK_OPTION_LIMIT, json ? 0 : SHOWN_DEFAULT);
    AK_OR_COMPLAIN(
        ak_out_parse(&runs, ak_archive_runs_json(&text, &matched, selection.archive, &filter, err),
                     &text, "runs", err));
    if (json) {
        AK_OR_COMPLAIN(ak_stored(ak_out_json(runs), err));
    } else {
        print_runs(runs, matched, &selection, args);
    }
    return AK_EXIT_DONE;
}

/* ---- removal --------------------------------------------------------------------------------- */

static void tell_removal(const char *what, const ak_removal *gone, bool really, const ak_args *args)
{
    ak_out("%s %s: %zu run%s, %zu trial%s, %zu conversation%s with a model, the sources of %zu "
           "kernel%s\n",
           really ? "removed" : "this would remove", what, gone->runs, ak_plural(gone->runs),
           gone->trials, ak_plural(gone->trials), gone->calls, ak_plural(gone->calls),
           gone->sources, ak_plural(gone->sources));
    if (gone->resumed_by > 0) {
        ak_out("%zu later run%s resumed trials of it: the result%s of %s stay%s as %s\n",
               gone->resumed_by, ak_plural(gone->resumed_by), ak_plural(gone->resumed_by),
               gone->resumed_by == 1 ? "that run" : "these runs", gone->resumed_by == 1 ? "s" : "",
               gone->resumed_by == 1 ? "it is" : "they are");
    }
    if (!really) {
        ak_next_on_archive("history --remove %s --yes", what, "remove it for good", args);
    }
}

static int remove_one(const ak_args *args, ak_error *err)
{
    const char *what = args->text[AK_OPTION_REMOVE];
    const bool really = ak_args_has(args, AK_OPTION_YES);
    const ak_option_set others = (AK_O_FILTER & ~AK_O(ARCHIVE)) | AK_O(STATUS) | AK_O(LIMIT) |
                                 AK_O(RUNS) | AK_O(SOURCE) | AK_O(OUTPUT);
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    ak_removal gone = {0};
    AK_OR_COMPLAIN(ak_args_refuse(args, others,
                                  "does not go with --remove, which names a run or a trial", err));
    AK_OR_COMPLAIN(args->operand_count == 0
                       ? AK_OK
                       : ak_fail(err, AK_INVALID,
                                 "--remove names a run or a trial: leave %.60s out",
                                 args->operand[0]));
    AK_OR_COMPLAIN(ak_args_archive(&archive, args, err));
    AK_OR_COMPLAIN(ak_archive_remove(&gone, archive, what, really, err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_auto_t *object = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:b}", "runs", (json_int_t)gone.runs, "trials",
            (json_int_t)gone.trials, "calls", (json_int_t)gone.calls, "sources",
            (json_int_t)gone.sources, "resumed_by", (json_int_t)gone.resumed_by, "removed", really);
        AK_OR_COMPLAIN(ak_stored(ak_out_json(object), err));
    } else {
        tell_removal(what, &gone, really, args);
    }
    return AK_EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_REMOVE)) {
        return remove_one(args, err);
    }
    if (ak_args_has(args, AK_OPTION_SOURCE)) {
        return show_source(args, err);
    }
    if (ak_args_has(args, AK_OPTION_RUNS)) {
        return show_runs(args, err);
    }
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    bool json = ak_args_has(args, AK_OPTION_JSON);
    AK_AT_END(ring_clear) ring r = {.status = AK_OK, .err = err};
    r.limit = (size_t)ak_args_number(args, AK_OPTION_LIMIT, json ? 0 : SHOWN_DEFAULT);
    AK_OR_COMPLAIN(read_status(&r, args, err));
    AK_OR_COMPLAIN(ak_selection_open(&selection, args, err));
    AK_OR_COMPLAIN(ak_archive_each(selection.archive, &selection.filter, keep, &r, err));
    AK_OR_COMPLAIN(r.status);
    AK_OR_COMPLAIN(straighten(&r, err));
    AK_OR_COMPLAIN(json ? ak_trials_print_json(r.trials, r.count, NULL, err)
                        : print_table(&r, &selection, args, err));
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_history = {
    .name = "history",
    .summary = "list the trials or the runs of the archive",
    .operands = "[KERNEL]",
    .most = 1,
    .options = AK_O_FILTER | AK_O(STATUS) | AK_O(LIMIT) | AK_O(RUNS) | AK_O(SOURCE) | AK_O(OUTPUT) |
               AK_O(FORCE) | AK_O(REMOVE) | AK_O(YES) | AK_O(JSON) | AK_O(HELP),
    .about = "Lists the latest 20 trials, failures included, or as many as --limit says. --json "
             "prints all that match as an array. Trials on "
             "recordings are shown only with --device sim (or sim:FILE). --runs lists the latest "
             "runs instead, those on recordings too, with the ids that 'report', 'compare', 'llm "
             "show' and --run take. --source '#5' prints the "
             "kernel of a trial as it was then, or writes it to the folder that --output names. "
             "--remove says what would go with a run or a trial; with --yes too, that is removed.",
    .examples = "  autokernel history\n"
                "  autokernel history matmul --status compile_error --limit 5\n"
                "  autokernel history matmul --json\n"
                "  autokernel history --runs\n",
    .run = run,
};
