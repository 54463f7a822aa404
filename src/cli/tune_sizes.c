/* tune_sizes.c: tunes many sizes, and prints which configurations serve them at what loss. */

#include "base/clock.h"
#include "cli/compared.h"
#include "cli/llm_show.h"
#include "cli/options.h"
#include "cli/size_list.h"
#include "cli/task_args.h"

/* Returns whether the objective is the time. */
static bool timed(const ak_sizes_result *r)
{
    return strcmp(r->objective, "time") == 0;
}

/* Returns the word for a loss: "slower" or, with another objective, "worse". */
static const char *lossy(const ak_sizes_result *r)
{
    return timed(r) ? "slower" : "worse";
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Writes a ratio of times or costs as a loss: "3.1 %" for 1.031; "-" for 0, which means not
   known. */
static const char *show_loss(char out[AK_NUMBER_BYTES], double loss)
{
    if (loss > 0) {
        double percent = (loss - 1) * 100;
        (void)snprintf(out, AK_NUMBER_BYTES, "%.1f %%",
                       percent > -0.05 && percent < 0 ? 0 : percent);
    } else {
        (void)snprintf(out, AK_NUMBER_BYTES, "-");
    }
    return out;
}

/* Returns the number of a configuration in the dispatch table, from 1; 0 if the table does not have
   it. */
static size_t number_in_table(const ak_sizes_result *r, size_t config)
{
    for (size_t i = 0; i < r->table_count; i++) {
        if (r->table[i] == config) {
            return i + 1;
        }
    }
    return 0;
}

static void print_sizes(const ak_sizes_result *r)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES], c[AK_NUMBER_BYTES];
    char value[AK_OBJECTIVE_NAME_BYTES + 32];
    (void)snprintf(value, sizeof value, ">%s%s%s", r->objective, r->unit[0] == 0 ? "" : " ",
                   r->unit);
    if (timed(r)) {
        ak_table_begin(&table, "size", ">tuned ms", "library", ">speed", ">gets", ">slower by",
                       "95 % interval", NULL);
    } else {
        ak_table_begin(&table, "size", value, ">ms", "library", ">gain", ">gets", ">worse by",
                       "95 % interval", NULL);
    }
    for (size_t i = 0; i < r->size_count; i++) {
        const ak_size_result *one = &r->sizes[i];
        bool measured = one->config != one->winner;
        ak_table_cell(&table, "%s", one->size);
        if (!timed(r)) {
            ak_table_cell(&table, "%s", ak_show_real(a, one->value));
        }
        ak_table_cell(&table, "%s", ak_show_real(a, one->ms));
        ak_table_cell(&table, "%s", one->library == NULL ? "-" : one->library);
        ak_table_cell(&table, "%s%s", ak_show_ratio(a, one->over_library.ratio),
                      ak_verdict_word(one->over_library.verdict));
        ak_table_cell(&table, "#%zu", number_in_table(r, one->config));
        ak_table_cell(&table, "%s", measured ? show_loss(a, one->loss) : "-");
        if (measured) {
            ak_table_cell(&table, "%s .. %s%s", show_loss(b, one->loss_low),
                          show_loss(c, one->loss_high), ak_verdict_word(one->verdict));
        } else {
            ak_table_cell(&table, "its winner%s", ak_verdict_word(one->verdict));
        }
    }
    ak_table_print(&table);
}

/* Adds the cell that says at how many sizes a set of configurations is not decided or unusable. */
static void doubt_cell(ak_table *table, const ak_sizes_loss *loss)
{
    char open[64] = "", unusable[64] = "";
    if (loss->open > 0) {
        (void)snprintf(open, sizeof open, "not decided at %zu size%s", loss->open,
                       ak_plural(loss->open));
    }
    if (loss->unusable > 0) {
        (void)snprintf(unusable, sizeof unusable, "%scannot be used at %zu size%s",
                       loss->open > 0 ? "; " : "", loss->unusable, ak_plural(loss->unusable));
    }
    ak_table_cell(table, "%s%s", open, unusable);
}

/* Prints the largest loss of each size's winner at the other sizes, where it is decided. */
static void print_stability(const ak_sizes_result *r)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES], c[AK_NUMBER_BYTES];
    ak_table_begin(&table, "the winner of", ">at", timed(r) ? ">is slower by" : ">is worse by",
                   "95 % interval", "", NULL);
    for (size_t s = 0; s < r->size_count; s++) {
        const ak_size_result *one = &r->sizes[s];
        const ak_sizes_loss *loss = &r->alone[one->winner];
        const ak_speed *speed = &r->speeds[one->winner * r->size_count + loss->worst_size];
        const bool whole = loss->open + loss->unusable == 0;
        ak_table_cell(&table, "%s", one->size);
        ak_table_cell(&table, "%s",
                      loss->worst > 1                       ? r->sizes[loss->worst_size].size
                      : whole                               ? "every size"
                      : loss->unusable + 1 == r->size_count ? "its own size"
                      : loss->open == 0                     ? "the sizes that it can serve"
                                                            : "");
        ak_table_cell(&table, "%s", show_loss(a, loss->worst));
        if (loss->worst > 1) {
            ak_table_cell(&table, "%s .. %s", show_loss(b, speed->high > 0 ? 1 / speed->high : 0),
                          show_loss(c, speed->low > 0 ? 1 / speed->low : 0));
        } else {
            ak_table_cell(&table, "%s", "");
        }
        doubt_cell(&table, loss);
    }
    if (r->size_count > 1) {
        ak_out("\nhow stable the winners are, at their worst size:\n");
    }
    ak_table_print(&table);
}

static void print_tradeoff(const ak_sizes_result *r)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    ak_table_begin(&table, ">configurations", timed(r) ? ">slower by" : ">worse by", ">at worst",
                   "at", "", NULL);
    for (size_t i = 0; i < r->tradeoff_count; i++) {
        const ak_sizes_loss *loss = &r->tradeoff[i];
        ak_table_cell(&table, "%zu", loss->configs);
        ak_table_cell(&table, "%s", show_loss(a, loss->geomean));
        ak_table_cell(&table, "%s", show_loss(b, loss->worst));
        ak_table_cell(&table, "%s", loss->worst > 1 ? r->sizes[loss->worst_size].size : "");
        doubt_cell(&table, loss);
    }
    ak_out("\nhow many configurations it takes (by the measurement that they are chosen by):\n");
    ak_table_print(&table);
}

/* Prints how much slower, or worse by the objective, the dispatch table is than tuning each size,
   over the sizes for which that was decided. */
static void print_loss(const ak_sizes_result *r)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    const size_t open = r->loss.open;
    if (r->loss.geomean > 0) {
        ak_out("%s %s than tuning each size\n(geometric mean%s), %s at worst",
               show_loss(a, r->loss.geomean), lossy(r), open > 0 ? " where it was decided" : "",
               show_loss(b, r->loss.worst));
        if (r->loss.worst > 1) {
            ak_out(" (%s)", r->sizes[r->loss.worst_size].size);
        }
    } else {
        ak_out("what they lose against tuning each size\nwas not decided");
    }
    ak_out("; measured again beside the winners\n");
    if (open > 0) {
        ak_out("not decided for %zu size%s; measure again when the machine is idle\n", open,
               ak_plural(open));
    }
}

/* If the table has fewer configurations than were asked for, says why. */
static void print_fewer(const ak_sizes_result *r, size_t wanted)
{
    if (r->table_count < wanted) {
        ak_out("fewer than the %zu of --dispatch, because %s\n", wanted,
               r->config_count == r->table_count ? "no other configuration was a candidate: the "
                                                   "winners of the sizes are the same"
                                                 : "no other candidate would make a size faster");
    }
}

static void print_table(const ak_sizes_result *r, size_t wanted)
{
    ak_out("\n");
    ak_out_styled(AK_STYLE_GOOD, "%zu configuration%s for %zu size%s", r->table_count,
                  ak_plural(r->table_count), r->size_count, ak_plural(r->size_count));
    ak_out(", %s of %zu candidate%s: ", r->exact ? "the best choice" : "chosen greedily",
           r->config_count, ak_plural(r->config_count));
    print_loss(r);
    print_fewer(r, wanted);
    for (size_t i = 0; i < r->table_count; i++) {
        ak_out("  #%zu  %s\n", i + 1, r->configs[r->table[i]]);
    }
    for (size_t i = 0; i < r->warning_count; i++) {
        ak_out("warning: %s\n", r->warnings[i]);
    }
}

static void print_next(const ak_sizes_result *r, const ak_archive *archive, const ak_args *args)
{
    ak_out("\n");
    if (!ak_next_import(archive, args) && r->table_count > 0) {
        ak_next_on_archive("export %s --format dispatch", args->operand[0], "write dispatch.json",
                           args);
        ak_next_on_archive("report", r->run, "what happened in this run", args);
    }
}

static ak_status print_result(const ak_sizes_result *r, const ak_archive *archive,
                              const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_sizes_result_json(&text, r, err);
        return ak_out_document(status, text);
    }
    if (r->table_count == 0) {
        (void)ak_next_import(archive, args);
        return AK_OK; /* the caller reports why, by no_table() */
    }
    char a[AK_NUMBER_BYTES];
    ak_out_styled(AK_STYLE_BOLD, "%s", r->kernel);
    ak_out("  %zu size%s%s%s  %s  on %s (implementation %s)\n", r->size_count,
           ak_plural(r->size_count), r->choices[0] == 0 ? "" : "  ", r->choices, r->dtype,
           r->device, r->implementation);
    ak_out("%zu configuration%s in %s; %zu candidate%s measured at every size\n", r->evaluated,
           ak_plural(r->evaluated), ak_show_seconds(a, r->seconds), r->config_count,
           ak_plural(r->config_count));
    ak_llm_use_print(&r->llm);
    ak_out("\n");
    print_sizes(r);
    print_stability(r);
    print_tradeoff(r);
    print_table(r, (size_t)args->number[AK_OPTION_DISPATCH]);
    print_next(r, archive, args);
    return AK_OK;
}

/* Fails with one line that says why there is no dispatch table. */
static ak_status no_table(const ak_sizes_result *r, const ak_archive *archive, const ak_args *args,
                          ak_error *err)
{
    const char *kernel = args->operand[0], *left = ak_archive_left(archive);
    const size_t wanted = (size_t)args->number[AK_OPTION_DISPATCH];
    size_t tuned = 0, working = 0;
    for (size_t i = 0; i < r->size_count; i++) {
        tuned += r->sizes[i].run != NULL ? 1 : 0;
        working += r->sizes[i].measured ? 1 : 0;
    }
    if (strcmp(r->stopped_by, "cancelled") == 0) {
        return left == NULL
                   ? ak_fail(err, AK_CANCELLED,
                             "%.80s: interrupted after %zu of %zu size%s; what was measured is "
                             "archived, --resume goes on from there",
                             kernel, tuned, r->size_count, ak_plural(r->size_count))
                   : ak_fail(err, AK_CANCELLED,
                             "%.80s: interrupted after %zu of %zu size%s; %.200s has what could "
                             "not be archived: once it is imported, --resume goes on from there",
                             kernel, tuned, r->size_count, ak_plural(r->size_count), left);
    }
    AK_FAIL_IF(working < r->size_count, err, AK_CRASHED,
               "%.80s: nothing works at %zu of %zu size%s; 'autokernel report' says why", kernel,
               r->size_count - working, r->size_count, ak_plural(r->size_count));
    return wanted > 1
               ? ak_fail(err, AK_UNAVAILABLE,
                         "%.80s: no %zu configurations serve every size; try a larger --dispatch",
                         kernel, wanted)
               : ak_fail(err, AK_UNAVAILABLE,
                         "%.80s: no configuration serves every size; try a larger --dispatch",
                         kernel);
}

static ak_status read_request(ak_size_list *out, const ak_args *args, ak_error *err)
{
    AK_FAIL_IF(ak_args_has(args, AK_OPTION_SIZE), err, AK_INVALID,
               "--size and --sizes contradict each other");
    AK_FAIL_IF(
        args->config_count > 0, err, AK_INVALID,
        "--config %.60s cannot be combined with --sizes %.60s: 'tune' tries a given "
        "configuration at one --size only; 'autokernel bench --sizes' measures it at several",
        args->config[0], args->text[AK_OPTION_SIZES]);
    return ak_size_list_read(out, args->text[AK_OPTION_SIZES], err);
}

static ak_status tune(ak_sizes_result *out, const ak_size_list *list, const ak_args *args,
                      ak_archive *archive, const ak_tune_options *options, ak_error *err)
{
    size_t table = (size_t)args->number[AK_OPTION_DISPATCH];
    ak_task_spec spec = {0};
    ak_tune_options rest = *options;
    bool wide = ak_args_has(args, AK_OPTION_LAUNCHER) && list->count > 1;
    const int64_t begin = ak_clock_ns();
    ak_args_spec(&spec, args);
    const ak_sizes_request request = {.spec = &spec,
                                      .sizes = list->items,
                                      .size_count = list->count,
                                      .table = table == 0 ? 1 : table,
                                      .tuned = wide};
    ak_catch_interrupts();
    if (wide) {
        AK_DO(ak_wide_tune(list, args, err));
        double took = (double)(ak_clock_ns() - begin) / 1e9;
        rest.seconds = rest.seconds > took + 1 ? rest.seconds - took : rest.seconds > 0 ? 1 : 0;
    }
    return ak_tune_sizes(out, &request, archive, &rest, err);
}

int ak_tune_sizes_run(const ak_args *args, const ak_tune_options *options, ak_progress *progress,
                      ak_error *err)
{
    ak_status status = AK_OK, events = AK_OK;
    bool left = false; /* a file has what could not be archived */
    ak_error events_err = AK_ERROR_INIT;
    AK_AT_END(ak_size_list_free) ak_size_list list = {0};
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    AK_AT_END(ak_sizes_result_clear) ak_sizes_result result = {0};
    AK_TRY(read_request(&list, args, err));
    ak_warn_listed_sizes(args, list.items, list.count);
    AK_TRY(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], err));
    AK_TRY(ak_progress_open(progress, args, err));
    status = tune(&result, &list, args, archive, options, err);
    events = ak_progress_close(progress, &events_err);
    AK_TRY(status);
    AK_TRY(print_result(&result, archive, args, err));
    AK_TRY(result.table_count == 0 ? no_table(&result, archive, args, err) : AK_OK);
out:
    left = archive != NULL && ak_archive_left(archive) != NULL;
    if ((status == AK_CANCELLED ||
         (result.stopped_by != NULL && strcmp(result.stopped_by, "cancelled") == 0)) &&
        !left && !ak_args_has(args, AK_OPTION_JSON)) {
        ak_next_resume(args);
    }
    return status != AK_OK   ? ak_complain_error(err)
           : events != AK_OK ? ak_complain_error(&events_err)
           : left            ? AK_EXIT_FAILED /* a line has told where the trials are */
                             : AK_EXIT_DONE;
}
