/* sheet.c: the model in words and figures: what a person wants to know of a run, most wanted first.
 */
#include "report/sheet_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/alloc.h"
#include "measure/overlap.h"

/* ---- building ---------------------------------------------------------------------------------
 */

void ak_sheet_begin(ak_sheet_builder *b, const char *title, size_t columns)
{
    b->sheet = &b->sheets->items[b->sheets->count++];
    b->sheet->title = title;
    b->sheet->columns = columns;
}

void ak_sheet_column(ak_sheet_builder *b, size_t at, const char *header, bool right)
{
    b->sheet->headers[at] = header;
    b->sheet->right[at] = right;
}

/* No terminal shall obey what a compiler printed: control characters (also those of C1, which are
   two bytes in UTF-8) become blanks. */
static void blank_controls(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p != 0; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            *p = ' ';
        } else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
            p[0] = ' ';
            p[1] = ' ';
        }
    }
}

void ak_sheet_cell(ak_sheet_builder *b, const char *text)
{
    if (b->status != AK_OK) {
        return;
    }
    char *clean = ak_utf8_valid(text) ? ak_strdup(text) : ak_utf8_clean(text);
    char *kept = clean == NULL ? NULL : ak_arena_strndup(b->sheets->arena, clean, strlen(clean));
    ak_free(clean);
    void *cells = (void *)b->sheet->cells;
    b->status = kept == NULL ? ak_fail_memory(b->err)
                             : ak_grow(&cells, &b->sheet->capacity, b->sheet->cell_count + 1,
                                       sizeof(char *), b->err);
    b->sheet->cells = cells;
    if (b->status == AK_OK) {
        blank_controls(kept);
        b->sheet->cells[b->sheet->cell_count++] = kept;
    }
}

void ak_sheet_cellf(ak_sheet_builder *b, const char *format, ...)
{
    ak_buf out = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
    va_list args;
    va_start(args, format);
    ak_buf_vprint(&out, format, args);
    va_end(args);
    if (b->status == AK_OK) {
        b->status = ak_buf_status(&out, b->err);
    }
    ak_sheet_cell(b, out.data);
    ak_buf_free(&out);
}

/* A pair is left out if there is nothing to say. */
void ak_sheet_pair(ak_sheet_builder *b, const char *label, const char *text)
{
    if (text != NULL && *text != 0) {
        ak_sheet_cell(b, label);
        ak_sheet_cell(b, text);
    }
}

void ak_sheet_pairf(ak_sheet_builder *b, const char *label, const char *format, ...)
{
    ak_buf out = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
    va_list args;
    va_start(args, format);
    ak_buf_vprint(&out, format, args);
    va_end(args);
    if (b->status == AK_OK) {
        b->status = ak_buf_status(&out, b->err);
    }
    ak_sheet_pair(b, label, out.data);
    ak_buf_free(&out);
}

/* A positive number, or "-". */
void ak_sheet_figure(ak_sheet_builder *b, const char *format, double value)
{
    char text[48];
    int length = snprintf(text, sizeof text, "%s", "-");
    if (value > 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        length = snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    }
    ak_sheet_cell(b, length < 0 ? "-" : text);
}

void ak_sheet_notef(ak_sheet_builder *b, const char *format, ...)
{
    ak_buf out = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
    va_list args;
    va_start(args, format);
    ak_buf_vprint(&out, format, args);
    va_end(args);
    if (b->status == AK_OK) {
        b->status = ak_buf_status(&out, b->err);
    }
    char *kept = ak_arena_strndup(b->sheets->arena, out.data, out.length);
    if (kept == NULL && b->status == AK_OK) {
        b->status = ak_fail_memory(b->err);
    }
    b->sheet->note = kept;
    ak_buf_free(&out);
}

/* ---- the sheets -------------------------------------------------------------------------------
 */

/* Scalars of a JSON object as pairs, nested ones as "a.b". Depth is bounded by the parser. */
static void flatten(ak_sheet_builder *b, const char *prefix, const json_t *value)
{
    const char *key;
    json_t *item;
    char label[256];
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, item)
        {
            (void)snprintf(label, sizeof label, "%s%s%s", prefix, *prefix == 0 ? "" : ".", key);
            flatten(b, label, item);
        }
        return;
    }
    if (json_is_string(value)) {
        ak_sheet_pair(b, prefix, json_string_value(value));
        return;
    }
    ak_buf text = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
    ak_json_print(&text, value, false);
    if (text.failed == AK_LIMIT) {
        ak_sheet_pair(b, prefix, "(too long to show)");
    } else if (b->status == AK_OK) {
        b->status = ak_buf_status(&text, b->err);
        ak_sheet_pair(b, prefix, text.data);
    }
    ak_buf_free(&text);
}

static void add_run(ak_sheet_builder *b, const ak_report_model *model)
{
    const ak_run *run = &model->run;
    ak_sheet_begin(b, "Run", 2);
    ak_sheet_pair(b, "run", run->id);
    ak_sheet_pair(b, "kernel", run->kernel);
    ak_sheet_pair(b, "implementation", run->implementation);
    ak_sheet_pair(b, "device", run->device);
    ak_sheet_pair(b, "size", run->size);
    ak_sheet_pair(b, "dtype", run->dtype);
    ak_sheet_pair(b, "choices", run->choices);
    ak_sheet_pair(b, "strategy", run->strategy);
    ak_sheet_pair(b, "started", run->started);
    ak_sheet_pair(b, "ended",
                  run->ended != NULL ? run->ended
                  : run->imported    ? "not recorded (imported)"
                                     : "not recorded (still running, or killed)");
    const char *stopped = json_string_value(json_object_get(model->result, "stopped_by"));
    ak_sheet_pair(b, "stopped by", stopped);
    if (model->environment == NULL) { /* of an imported run only the hash is known */
        ak_sheet_pair(b, "environment", run->environment);
    }
    if (model->elsewhere > 0) {
        ak_sheet_pairf(b, "trials", "%zu, of which %zu ok, in the runs of its sizes",
                       model->elsewhere, model->elsewhere_ok);
        return;
    }
    ak_sheet_pairf(b, "trials", "%zu, of which %zu ok", model->count,
                   model->by_status[AK_TRIAL_OK]);
}

static void add_best(ak_sheet_builder *b, const ak_report_model *model)
{
    const ak_report_best *best = &model->best;
    ak_sheet_begin(b, "Best", 2);
    if (!best->found) {
        ak_sheet_pair(b, "configuration", "none: no trial was successful");
        return;
    }
    ak_sheet_pair(b, "configuration", best->config);
    if (best->high_ms > 0) {
        ak_sheet_pairf(b, "time", "%.6g ms (95 %% interval %.6g to %.6g)", best->ms, best->low_ms,
                       best->high_ms);
    } else {
        ak_sheet_pairf(b, "time", "%.6g ms", best->ms);
    }
    ak_sheet_pair(b, "measured",
                  best->from_finish ? "again at the end, beside the baseline"
                                    : "once, during the search: the fastest of many is "
                                      "partly luck");
    if (best->tflops > 0 || best->gbs > 0) {
        ak_sheet_pairf(b, "throughput", "%.4g TFLOP/s, %.4g GB/s", best->tflops, best->gbs);
    }
    if (best->efficiency > 0) {
        const char *bound = best->trial == NULL ? NULL : best->trial->bound;
        ak_sheet_pairf(b, "roofline", "%.1f %% of what is attainable%s%s", best->efficiency * 100,
                       bound == NULL ? "" : "; bound by ", bound == NULL ? "" : bound);
    }
    if (model->baseline != NULL) {
        const char *version = model->baseline_version;
        ak_sheet_pairf(b, "baseline", "%s%s%s: %.6g ms", model->baseline,
                       version == NULL ? "" : " ", version == NULL ? "" : version,
                       model->baseline_ms);
    } else {
        ak_sheet_pair(b, "baseline", "none was measured");
    }
    if (best->speedup > 0) {
        ak_sheet_pairf(b, "speed-up", "%.3f times the baseline", best->speedup);
    }
    if (best->trial == NULL) {
        ak_sheet_pair(b, "proposed by", "an earlier run, resumed");
        return;
    }
    const ak_trial *trial = best->trial;
    ak_sheet_pairf(b, "proposed by", "%s%s%s, evaluation %zu of %zu",
                   trial->strategy == NULL ? "(not recorded)" : trial->strategy,
                   trial->model == NULL ? "" : " with ", trial->model == NULL ? "" : trial->model,
                   best->evaluation, model->count);
    if (trial->parent != 0) {
        ak_sheet_pairf(b, "derived from",
                       "trial %" PRId64 ", generation %d, predicted gain %.1f %%", trial->parent,
                       trial->generation, trial->predicted_gain * 100);
    }
    ak_sheet_pairf(b, "trial", "%" PRId64, trial->id);
}

static const char *overlap_of(const json_t *contestant)
{
    const char *overlap = json_string_value(json_object_get(contestant, "overlap"));
    return overlap == NULL ? "" : overlap;
}

/* Does any of them begin early, so that it is something to compare? */
static bool any_overlap(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *overlap = overlap_of(json_array_get(list, i));
        if (overlap[0] != 0 && strcmp(overlap, ak_overlap_text(AK_OVERLAP_NONE)) != 0) {
            return true;
        }
    }
    return false;
}

static void add_finish(ak_sheet_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "contestants");
    if (json_array_size(list) == 0) {
        return;
    }
    const bool overlap = any_overlap(list);
    ak_sheet_begin(b, "Finish: measured interleaved", overlap ? 6 : 5);
    b->sheet->note = overlap ? "Speed: relative to the first library; a tie if the interval "
                               "contains 1. Overlap: where kernels may begin before the one before "
                               "has ended (programmatic launches)."
                             : "Speed: relative to the first library; a tie if the interval "
                               "contains 1.";
    ak_sheet_column(b, 0, "contestant", false);
    ak_sheet_column(b, 1, "ms", true);
    ak_sheet_column(b, 2, "interval", true);
    ak_sheet_column(b, 3, "speed", true);
    ak_sheet_column(b, 4, "version or configuration", false);
    if (overlap) {
        ak_sheet_column(b, 5, "overlap", false);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *interval = json_object_get(one, "ci_ms");
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *version = json_string_value(json_object_get(one, "version"));
        const char *config = json_string_value(json_object_get(one, "config"));
        const char *reason = json_string_value(json_object_get(one, "reason"));
        ak_sheet_cell(b, name == NULL ? "" : name);
        ak_sheet_figure(b, "%.6g", json_number_value(json_object_get(one, "ms")));
        if (json_array_size(interval) == 2) {
            ak_sheet_cellf(b, "%.6g..%.6g", json_number_value(json_array_get(interval, 0)),
                           json_number_value(json_array_get(interval, 1)));
        } else {
            ak_sheet_cell(b, "-");
        }
        ak_sheet_figure(b, json_is_true(json_object_get(one, "tie")) ? "%.3f (tie)" : "%.3f",
                        json_number_value(json_object_get(one, "ratio")));
        if (reason != NULL) {
            ak_sheet_cellf(b, "failed: %s", reason);
        } else {
            ak_sheet_cell(b, version != NULL ? version : config != NULL ? config : "");
        }
        if (overlap) {
            ak_sheet_cell(b, overlap_of(one));
        }
    }
}

/* Appends the pairs of `config` that are not in `base`; both are comma lists. */
static void print_difference(ak_buf *out, const char *config, const char *base)
{
    while (*config != 0) {
        size_t length = strcspn(config, ",");
        bool shared = false;
        for (const char *p = base; *p != 0 && !shared;) {
            size_t other = strcspn(p, ",");
            shared = other == length && memcmp(p, config, length) == 0;
            p += other + (p[other] == ',' ? 1 : 0);
        }
        if (!shared) {
            ak_buf_puts(out, out->length == 0 ? "" : ",");
            ak_buf_append(out, config, length);
        }
        config += length + (config[length] == ',' ? 1 : 0);
    }
}

static void add_top(ak_sheet_builder *b, const ak_report_model *model)
{
    if (model->ok_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Fastest configurations", 6);
    b->sheet->note = "The first in full, the others by what they change.";
    ak_sheet_column(b, 0, "#", true);
    ak_sheet_column(b, 1, "ms", true);
    ak_sheet_column(b, 2, "interval", true);
    ak_sheet_column(b, 3, "TFLOP/s", true);
    ak_sheet_column(b, 4, "roofline", true);
    ak_sheet_column(b, 5, "configuration", false);
    for (size_t i = 0; i < model->ok_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_trial *trial = model->ranking[i];
        ak_buf changes = AK_BUF(AK_SHEET_CELL_BYTES_MAX);
        if (i > 0) {
            print_difference(&changes, trial->config, model->ranking[0]->config);
        }
        if (b->status == AK_OK) {
            b->status = ak_buf_status(&changes, b->err);
        }
        ak_sheet_cellf(b, "%zu", i + 1);
        ak_sheet_figure(b, "%.6g", trial->median_ms);
        if (trial->ci_high_ms > 0) {
            ak_sheet_cellf(b, "%.5g..%.5g", trial->ci_low_ms, trial->ci_high_ms);
        } else {
            ak_sheet_cell(b, "-");
        }
        ak_sheet_figure(b, "%.4g", trial->tflops);
        ak_sheet_figure(b, "%.1f %%", trial->efficiency * 100);
        ak_sheet_cell(b, i == 0                ? trial->config
                         : changes.length == 0 ? "(the same, measured again)"
                                               : changes.data);
        ak_buf_free(&changes);
    }
}

static void add_failures(ak_sheet_builder *b, const ak_report_model *model)
{
    if (model->failure_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Failures", 4);
    ak_sheet_column(b, 0, "count", true);
    ak_sheet_column(b, 1, "status", false);
    ak_sheet_column(b, 2, "reason", false);
    ak_sheet_column(b, 3, "first configuration", false);
    for (size_t i = 0; i < model->failure_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_report_failure *failure = &model->failures[i];
        ak_sheet_cellf(b, "%zu", failure->count);
        ak_sheet_cell(b, ak_trial_status_text(failure->status));
        ak_sheet_cell(b, *failure->reason == 0 ? "(none given)" : failure->reason);
        ak_sheet_cell(b, failure->config);
    }
    if (model->failure_count > AK_REPORT_ROWS_MAX) {
        b->sheet->note = "The most frequent kinds; the json report has all.";
    }
}

static void add_convergence(ak_sheet_builder *b, const ak_report_model *model)
{
    static const char bar[] = "########################################";
    if (model->step_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Convergence", 4);
    ak_sheet_notef(b,
                   "Each evaluation that was faster than all before it. Within 5 %% of the best "
                   "after %zu evaluations, within 1 %% after %zu, of %zu.",
                   model->within_5, model->within_1, model->count);
    ak_sheet_column(b, 0, "evaluation", true);
    ak_sheet_column(b, 1, "best ms", true);
    ak_sheet_column(b, 2, "of the first", true);
    ak_sheet_column(b, 3, "speed", false);
    double first_ms = model->steps[0].trial->median_ms;
    double last_ms = model->steps[model->step_count - 1].trial->median_ms;
    for (size_t i = 0; i < model->step_count; i++) {
        double ms = model->steps[i].trial->median_ms;
        ak_sheet_cellf(b, "%zu", model->steps[i].evaluation);
        ak_sheet_figure(b, "%.6g", ms);
        ak_sheet_figure(b, "%.2fx", first_ms / ms);
        ak_sheet_cellf(b, "%.*s", (int)((double)(sizeof bar - 1) * last_ms / ms + 0.5), bar);
    }
}

static void add_time(ak_sheet_builder *b, const ak_report_model *model)
{
    const struct {
        const char *name;
        int64_t ns;
    } stages[] = {
        {"propose", model->propose_ns},   {"compile", model->compile_ns},
        {"check", model->check_ns},       {"measure", model->measure_ns},
        {"overhead", model->overhead_ns},
    };
    double total_ns = 0;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        total_ns += (double)stages[i].ns;
    }
    ak_sheet_begin(b, "Time", 4);
    b->sheet->note =
        model->seconds > 0 ? "Stages overlap, so their sum may exceed the wall time." : NULL;
    ak_sheet_column(b, 0, "stage", false);
    ak_sheet_column(b, 1, "seconds", true);
    ak_sheet_column(b, 2, "share", true);
    ak_sheet_column(b, 3, "ms a trial", true);
    double trials = model->count > 0 ? (double)model->count : 1.0;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        double ns = (double)stages[i].ns;
        ak_sheet_cell(b, stages[i].name);
        ak_sheet_cellf(b, "%.3f", ns / 1e9);
        ak_sheet_cellf(b, "%.1f %%", total_ns > 0 ? ns / total_ns * 100 : 0.0);
        ak_sheet_cellf(b, "%.3f", ns / 1e6 / trials);
    }
    if (model->seconds > 0) {
        ak_sheet_cell(b, "wall");
        ak_sheet_cellf(b, "%.3f", model->seconds);
        ak_sheet_cell(b, "");
        ak_sheet_cellf(b, "%.3f", model->seconds * 1e3 / trials);
    }
}

static void add_authors(ak_sheet_builder *b, const ak_report_model *model)
{
    if (model->author_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Who proposed", 5);
    ak_sheet_column(b, 0, "strategy", false);
    ak_sheet_column(b, 1, "model", false);
    ak_sheet_column(b, 2, "proposed", true);
    ak_sheet_column(b, 3, "ok", true);
    ak_sheet_column(b, 4, "best ms", true);
    for (size_t i = 0; i < model->author_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_report_author *author = &model->authors[i];
        ak_sheet_cell(b, *author->strategy == 0 ? "(not recorded)" : author->strategy);
        ak_sheet_cell(b, *author->model == 0 ? "-" : author->model);
        ak_sheet_cellf(b, "%zu", author->proposed);
        ak_sheet_cellf(b, "%zu", author->ok);
        ak_sheet_figure(b, "%.6g", author->best_ms);
    }
}

/* Of each parameter the value that is most frequent in the top. */
static void add_values(ak_sheet_builder *b, const ak_report_model *model)
{
    if (model->value_count == 0) {
        return;
    }
    ak_sheet_begin(b, "Values of the fastest against all", 4);
    ak_sheet_column(b, 0, "parameter", false);
    ak_sheet_column(b, 1, "value", false);
    ak_sheet_column(b, 2, "among the fastest", true);
    ak_sheet_column(b, 3, "among all", true);
    for (size_t i = 0; i < model->value_count; i++) {
        const ak_report_value *value = &model->values[i];
        if (i > 0 && strcmp(value->name, model->values[i - 1].name) == 0) {
            continue;
        }
        ak_sheet_cell(b, value->name);
        ak_sheet_cell(b, value->value);
        ak_sheet_cellf(b, "%zu of %zu", value->in_top, model->top_count);
        ak_sheet_cellf(b, "%zu of %zu", value->in_all, model->ok_count);
    }
}

ak_status ak_sheets_build(ak_sheets *out, const ak_report_model *model, ak_error *err)
{
    *out = (ak_sheets){.arena = ak_arena_new()};
    if (out->arena == NULL) {
        return ak_fail_memory(err);
    }
    ak_sheet_builder b = {.sheets = out, .err = err, .status = AK_OK};
    add_run(&b, model);
    if (json_is_array(json_object_get(model->result, "sizes"))) {
        ak_sheets_add_sizes(&b, model);
    } else {
        add_best(&b, model);
    }
    ak_sheets_add_warnings(&b, model);
    add_finish(&b, model);
    ak_sheets_add_conditions(&b, model);
    ak_sheets_add_devices(&b, model);
    add_top(&b, model);
    add_values(&b, model);
    ak_sheets_add_impact(&b, model);
    add_convergence(&b, model);
    add_failures(&b, model);
    if (model->count > 0) {
        add_time(&b, model);
    }
    add_authors(&b, model);
    if (model->options != NULL) {
        ak_sheet_begin(&b, "What was asked", 2);
        flatten(&b, "", model->options);
    }
    if (model->environment != NULL) {
        ak_sheet_begin(&b, "Environment", 2);
        ak_sheet_pair(&b, "hash", model->run.environment);
        flatten(&b, "", model->environment);
    }
    ak_sheet_begin(&b, "To make it again", 2);
    b.sheet->whole = true;
    ak_sheet_pair(&b, "command", model->command);
    if (b.status != AK_OK) {
        ak_sheets_clear(out);
    }
    return b.status;
}

void ak_sheets_clear(ak_sheets *sheets)
{
    for (size_t i = 0; i < sheets->count; i++) {
        ak_free((void *)sheets->items[i].cells);
    }
    ak_arena_free(sheets->arena);
    *sheets = (ak_sheets){0};
}
