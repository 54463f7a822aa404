/* cmd_bundle.c: shows what is in a bundle, and verifies that it is still right and fast here. */

#include "base/infix.h"
#include "base/number.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/task_args.h"

#define TEXT_BYTES 1024

/* ---- show ------------------------------------------------------------------------------------ */

static void line(const char *name, const char *text)
{
    if (text[0] != 0) {
        ak_out("%-14s  %s\n", name, text);
    }
}

static void join(ak_buf *out, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        ak_buf_print(out, "%s%s", i == 0 ? "" : " ", json_string_value(json_array_get(list, i)));
    }
}

static void show_arguments(const json_t *file)
{
    const json_t *list = json_object_get(file, "arguments");
    AK_EACH(a, list) {
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_INFIX_MAX);
        ak_buf_print(&text, "%s: %s, %s ", ak_json_text_at(a, "name"), ak_json_text_at(a, "access"),
                     ak_json_text_at(a, "dtype"));
        ak_infix_print_shape(&text, a);
        ak_buf_print(&text, ", aligned to %lld%s",
                     (long long)json_integer_value(json_object_get(a, "alignment")),
                     json_is_true(json_object_get(a, "unused")) ? ", unused" : "");
        line(a_at == 0 ? "arguments" : "", text.data);
    }
}

/* Adds the time that the search measured. 'bundle verify' compares with it if the bundle has no
   finish, or if power or heat limits the clock in the finish, then or now. */
static void search_cell(ak_table *table, const json_t *m)
{
    char number[AK_NUMBER_BYTES];
    const double ms = ak_json_number_at(json_object_get(m, "search"), "ms");
    ak_table_cell(table, "%s", ms > 0 ? ak_show_real(number, ms) : "-");
}

static void show_measured(const json_t *file)
{
    const json_t *list = json_object_get(file, "measured");
    ak_table table;
    ak_table_begin(&table, "size", ">variant", ">ms", ">ms in the search", ">TFLOP/s", ">GB/s",
                   ">threads", ">workspace", "fastest library", "measured", NULL);
    AK_EACH(m, list) {
        const json_t *baseline = json_object_get(m, "baseline");
        char number[AK_NUMBER_BYTES];
        AK_AT_END(ak_buf_free) ak_buf size = AK_BUF(TEXT_BYTES);
        ak_infix_print_size(&size, file, json_object_get(m, "size"));
        ak_table_cell(&table, "%s", size.data);
        ak_table_cell(&table, "%lld", (long long)json_integer_value(json_object_get(m, "variant")));
        ak_table_cell(&table, "%s", ak_show_real(number, ak_json_number_at(m, "ms")));
        search_cell(&table, m);
        ak_table_cell(&table, "%s", ak_show_real(number, ak_json_number_at(m, "tflops")));
        ak_table_cell(&table, "%s", ak_show_real(number, ak_json_number_at(m, "gbs")));
        ak_table_cell(&table, "%lld", (long long)json_integer_value(json_object_get(m, "threads")));
        ak_table_cell(&table, "%lld B",
                      (long long)json_integer_value(json_object_get(m, "workspace_bytes")));
        const bool open = ak_json_text_is(baseline, "verdict", "undecided");
        ak_table_cell_if(&table, json_is_object(baseline), "%s %s: %s ms%s",
                         ak_json_text_at(baseline, "name"), ak_json_text_at(baseline, "version"),
                         ak_show_real(number, ak_json_number_at(baseline, "ms")),
                         open ? " (not decided)" : "");
        ak_table_cell(&table, "%s", ak_json_text_at(m, "date"));
    }
    ak_table_print(&table);
}

/* Prints the warnings about the times shown. A table has its own list of them; the warnings at its
   single sizes concern other times than the table's. Without a table, prints the warnings at each
   size, and whether the gain over the default was left undecided there. */
static void show_warnings(const json_t *file)
{
    const json_t *list = json_object_get(file, "measured");
    const json_t *of_table = json_object_get(file, "warnings");
    AK_EACH(line, of_table) {
        ak_out("measured with a warning, %s\n", json_string_value(line));
    }
    for (size_t i = 0; of_table == NULL && i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        const json_t *warnings = json_object_get(m, "warnings");
        const json_t *over_default = json_object_get(m, "over_default");
        AK_AT_END(ak_buf_free) ak_buf size = AK_BUF(TEXT_BYTES);
        ak_infix_print_size(&size, file, json_object_get(m, "size"));
        if (ak_json_text_is(over_default, "verdict", "undecided")) {
            ak_out("%s: its speed is not decided against the default configuration: %s\n",
                   size.data, ak_json_text_at(over_default, "undecided_because"));
        }
        AK_EACH(one, warnings) {
            ak_out("measured with a warning, %s: %s\n", size.data, json_string_value(one));
        }
    }
}

static void show_variants(const json_t *file)
{
    const json_t *list = json_object_get(file, "variants");
    AK_EACH(v, list) {
        const json_t *compiler = json_object_get(v, "compiler");
        AK_AT_END(ak_buf_free) ak_buf options = AK_BUF(16 * TEXT_BYTES);
        join(&options, json_object_get(compiler, "options"));
        const char *note = ak_json_text_at(v, "note");
        ak_out("variant %zu: %s, %s%s%s\n", v_at, ak_json_text_at(v, "file"),
               json_is_null(json_object_get(v, "workspace"))
                   ? "for the measured sizes only"
                   : "for other sizes too, where its conditions hold",
               note[0] == 0 ? "" : ": ", note);
        ak_out("    %s\n    %s\n", ak_json_text_at(compiler, "version"), options.data);
    }
}

static void show(const json_t *file)
{
    const json_t *needs = json_object_get(file, "requires");
    const json_t *environment = json_object_get(file, "environment");
    AK_AT_END(ak_buf_free) ak_buf features = AK_BUF(16 * TEXT_BYTES);
    ak_out("%s: %s\n", ak_json_text_at(file, "name"), ak_json_text_at(file, "description"));
    line("kernel", ak_json_text_at(file, "kernel"));
    line("dtype", ak_json_text_at(file, "dtype"));
    line("options", ak_json_text_at(file, "options"));
    show_arguments(file);
    ak_buf_puts(&features, ak_json_text_at(needs, "architecture"));
    if (json_object_get(needs, "driver") != NULL) {
        long long driver = json_integer_value(json_object_get(needs, "driver"));
        ak_buf_print(&features, ", a driver for CUDA %lld.%lld or later", driver / 1000,
                     driver % 1000 / 10);
    } else {
        ak_buf_putc(&features, ' ');
        join(&features, json_object_get(needs, "cpu_features"));
    }
    line("needs", features.data);
    line("measured on", ak_json_text_at(environment, "name"));
    line("licence", ak_json_text_at(file, "licence"));
    line("written by", ak_json_text_at(file, "autokernel"));
    ak_out("\n");
    show_measured(file);
    show_warnings(file);
    show_variants(file);
}

static ak_status warn_of_name(const char *path, ak_error *err)
{
    AK_AT_END(ak_text_free_at) char *text = NULL;
    AK_DO(ak_bundle_warning(&text, path, err));
    if (text != NULL) {
        ak_warn("%s", text);
    }
    return AK_OK;
}

static int run_show(const ak_args *args, ak_error *err)
{
    char *text = NULL;
    json_auto_t *file = NULL;
    AK_OR_COMPLAIN(ak_args_refuse(args, AK_O(MAX_SLOWDOWN), "is for 'bundle verify'", err));
    AK_OR_COMPLAIN(ak_out_parse(&file, ak_bundle_read(&text, args->operand[1], err), &text,
                                args->operand[1], err));
    AK_OR_COMPLAIN(warn_of_name(args->operand[1], err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        AK_OR_COMPLAIN(ak_stored(ak_out_json(file), err));
    } else {
        show(file);
        ak_next("bundle verify", args->operand[1], "is it right and as fast here?");
    }
    return AK_EXIT_DONE;
}

/* ---- verify ---------------------------------------------------------------------------------- */

/* Reads --max-slowdown as a fraction: "5%" gives 0.05. A number without '%' is refused, because it
   could be a percentage or a fraction. Without the option *out is 0, which means the default. */
static ak_status read_slowdown(double *out, const ak_args *args, ak_error *err)
{
    const char *text = args->text[AK_OPTION_MAX_SLOWDOWN];
    char *end = NULL;
    *out = 0;
    if (text == NULL) {
        return AK_OK;
    }
    *out = ak_number_read(text, &end) / 100;
    AK_FAIL_IF(end == text || strcmp(end, "%") != 0 || !(*out > 0 && *out <= 100), err, AK_INVALID,
               "--max-slowdown: \"%.40s\" must be a percentage up to 10000%%, such as 5%%", text);
    return AK_OK;
}

static void print_rows(const json_t *report)
{
    const json_t *list = json_object_get(report, "measured");
    ak_table table;
    ak_table_begin(&table, "size", "result", "timed as in a", ">ms then", ">ms now",
                   "95 % interval", ">slowdown", "_", NULL);
    AK_EACH(row, list) {
        const json_t *slowdown = json_object_get(row, "slowdown");
        char a[AK_NUMBER_BYTES];
        ak_table_cell(&table, "%s", ak_json_text_at(row, "size"));
        ak_table_cell(&table, "%s", ak_json_text_at(row, "status"));
        ak_table_cell(&table, "%s", ak_json_text_at(row, "as"));
        ak_table_cell(&table, "%s", ak_show_real(a, ak_json_number_at(row, "then_ms")));
        ak_table_cell(&table, "%s", ak_show_real(a, ak_json_number_at(row, "ms")));
        ak_table_cell(&table, "%s",
                      ak_show_interval(a, ak_json_number_in(row, "ci_ms", 0),
                                       ak_json_number_in(row, "ci_ms", 1)));
        ak_table_cell_if(&table, json_is_real(slowdown), "%+.1f %%",
                         100 * json_real_value(slowdown));
        const char *clocks = ak_json_text_at(row, "clocks");
        bool slower = json_is_true(json_object_get(row, "slower"));
        const char *reason = ak_json_text_at(row, "reason");
        ak_table_cell(&table, "%s%s%s%s%s", slower ? "slower than the bundle says" : "",
                      slower && reason[0] != 0 ? "; " : "", reason,
                      (slower || reason[0] != 0) && clocks[0] != 0 ? "; " : "", clocks);
    }
    ak_table_print(&table);
}

/* Prints the note of each variant once: at which sizes it was not checked, or where it failed. */
static void print_notes(const json_t *report)
{
    const json_t *list = json_object_get(report, "measured");
    AK_EACH(row, list) {
        const json_t *variant = json_object_get(row, "variant");
        const char *note = ak_json_text_at(row, "note");
        bool said = note[0] == 0;
        for (size_t k = 0; k < row_at && !said; k++) {
            said = json_equal(json_object_get(json_array_get(list, k), "variant"), variant);
        }
        if (!said) {
            ak_out("variant %lld: %s\n", (long long)json_integer_value(variant), note);
        }
    }
}

static bool is_right(const json_t *report)
{
    const json_t *list = json_object_get(report, "measured");
    bool right = true;
    AK_EACH(one, list) {
        right = right && ak_json_text_is(one, "status", "ok");
    }
    return right;
}

static int run_verify(const ak_args *args, ak_error *err)
{
    ak_bundle_verify_options options = {.cancel = &ak_interrupted};
    char *text = NULL;
    json_auto_t *report = NULL;
    bool good = false;
    ak_catch_interrupts();
    AK_OR_COMPLAIN(read_slowdown(&options.max_slowdown, args, err));
    AK_OR_COMPLAIN(ak_out_parse(&report,
                                ak_bundle_verify(&text, &good, args->operand[1], &options, err),
                                &text, "verify", err));
    AK_OR_COMPLAIN(warn_of_name(args->operand[1], err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        AK_OR_COMPLAIN(ak_stored(ak_out_json(report), err));
    } else {
        print_rows(report);
        print_notes(report);
    }
    const char *warning = ak_json_text_at(report, "warning");
    if (warning[0] != 0) {
        ak_warn("%s", warning);
    }
    if (!good) {
        AK_OR_COMPLAIN(ak_fail(err, AK_CRASHED, "%.200s: %s", args->operand[1],
                               is_right(report)
                                   ? "its results are right, but it is slower here than its "
                                     "recorded time (--max-slowdown sets the limit)"
                                   : "its results are not right here"));
    }
    return AK_EXIT_DONE;
}

static int run(const ak_args *args, ak_error *err)
{
    static const ak_verb verbs[] = {{"show", run_show}, {"verify", run_verify}};
    return ak_verb_run(verbs, AK_COUNT(verbs), args, "bundle cannot",
                       "see 'autokernel bundle --help'", err);
}

const ak_command ak_cmd_bundle = {
    .name = "bundle",
    .summary = "show what a bundle holds, or verify its results and speed on this machine",
    .operands = "show|verify FILE",
    .least = 2,
    .most = 2,
    .options = AK_O(MAX_SLOWDOWN) | AK_O(JSON) | AK_O(HELP),
    .about =
        "show checks every checksum and prints contents, guards and evidence; --json prints "
        "bundle.json. Both warn of a bundle that is called like a built-in kernel but holds "
        "another problem.\n\n"
        "verify runs the code again, confined as in a trial. It compares the results with the "
        "reference among its sources, at the measured sizes and the edge-case ones, and measures "
        "the times. The exit code is 1 if a result is wrong, or if the code is slower than its "
        "recorded time by more than --max-slowdown.",
    .examples = "  autokernel bundle show matmul_f32.akb\n"
                "  autokernel bundle verify matmul_f32.akb --max-slowdown 10%\n",
    .run = run,
};
