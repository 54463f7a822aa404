#include "report/versus.h"

#include <math.h>
#include <stdlib.h>

#include "archive/config_text.h"
#include "base/map.h"
#include "base/number.h"
#include "report/page.h"
#include "report/section_builder.h"
#include "measure/verdict.h"
#include "archive/finish_order.h"

/* ---- what both have -------------------------------------------------------------------------- */

static int by_ratio(const void *a, const void *b)
{
    const ak_versus_common *x = a, *y = b;
    if (x->ratio != y->ratio) {
        return x->ratio > y->ratio ? -1 : 1;
    }
    return x->a->id < y->a->id ? -1 : x->a->id > y->a->id;
}

/* Finds the configurations that both runs tried with success, not counting resumed trials. A
   ranking begins with the best trial, so the first trial of a configuration in it is the best
   one. */
static ak_status find_common(ak_versus *v, ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *of_a = ak_map_new();
    size_t at;
    v->common = ak_alloc(v->b.ok_count, sizeof *v->common);
    AK_DO(ak_stored(of_a != NULL && v->common != NULL, err));
    for (size_t i = 0; i < v->a.ok_count; i++) {
        if (!ak_report_is_resumed(&v->a, v->a.ranking[i]) &&
            !ak_map_get(NULL, of_a, v->a.ranking[i]->config)) {
            AK_DO(ak_map_put(of_a, v->a.ranking[i]->config, i, err));
        }
    }
    for (size_t i = 0; i < v->b.ok_count; i++) {
        const ak_trial *b = v->b.ranking[i];
        if (!ak_report_is_resumed(&v->b, b) && ak_map_get(&at, of_a, b->config) &&
            at < v->a.ok_count) {
            const ak_trial *a = v->a.ranking[at];
            v->common[v->common_count++] =
                (ak_versus_common){.a = a, .b = b, .ratio = ak_trial_cost(a) / ak_trial_cost(b)};
            /* The configuration is done: B's other trials of it must not match again. */
            AK_DO(ak_map_put(of_a, b->config, v->a.ok_count, err));
        }
    }
    if (v->common_count > 0) {
        qsort(v->common, v->common_count, sizeof *v->common, by_ratio);
    }
    return AK_OK;
}

/* Returns whether both runs found the same best configuration and archived the same machine code
   for it. */
static bool is_same_code(const ak_versus *v)
{
    for (size_t i = 0; i < v->common_count; i++) {
        const ak_versus_common *c = &v->common[i];
        if (ak_text_same(c->a->config, v->a.best.config) &&
            ak_text_same(c->b->config, v->b.best.config)) {
            return c->a->code_hash != NULL && ak_text_same(c->a->code_hash, c->b->code_hash);
        }
    }
    return false;
}

ak_status ak_versus_gather(ak_versus *out, ak_archive *archive, const char *a, const char *b,
                           ak_error *err)
{
    AK_AT_END(ak_versus_clear) ak_versus v = {0};
    AK_DO(ak_report_gather(&v.a, archive, a, err));
    AK_DO(ak_report_gather(&v.b, archive, b, err));
    AK_DO(find_common(&v, err));
    const ak_report_best *x = &v.a.best, *y = &v.b.best;
    if (x->found && y->found) {
        v.speed = ak_apart_speed(
            &(ak_apart){x->ms, x->low_ms, x->high_ms, json_object_get(v.a.result, "noise")},
            &(ak_apart){y->ms, y->low_ms, y->high_ms, json_object_get(v.b.result, "noise")});
        v.same_code = is_same_code(&v);
    }
    AK_GIVE(out, v);
    return AK_OK;
}

void ak_versus_clear(ak_versus *versus)
{
    ak_report_model_clear(&versus->a);
    ak_report_model_clear(&versus->b);
    ak_free(versus->common);
    *versus = (ak_versus){0};
}

/* ---- sections -------------------------------------------------------------------------------- */

static void row(ak_section_builder *b, const char *label, const char *of_a, const char *of_b)
{
    ak_section_cell(b, label);
    ak_section_cell(b, of_a == NULL || *of_a == 0 ? "-" : of_a);
    ak_section_cell(b, of_b == NULL || *of_b == 0 ? "-" : of_b);
}

/* Adds a row of numbers, which `put` shows: ak_section_value or ak_section_seconds. */
static void numbers(ak_section_builder *b, void (*put)(ak_section_builder *, double),
                    const char *label, double of_a, double of_b)
{
    ak_section_cell(b, label);
    put(b, of_a);
    put(b, of_b);
}

/* Returns the seconds of a run; negative if they are not known. */
static double wall(const ak_report_model *model)
{
    return model->seconds > 0 ? model->seconds : -1;
}

static void counts(ak_section_builder *b, const char *label, size_t of_a, size_t of_b)
{
    ak_section_cell(b, label);
    ak_section_cellf(b, "%zu", of_a);
    ak_section_cellf(b, "%zu", of_b);
}

static void begin(ak_section_builder *b, const char *title, const char *label, bool right)
{
    ak_section_table(b, title, label, right ? ">A" : "A", right ? ">B" : "B", NULL);
}

static void add_runs(ak_section_builder *b, const ak_versus *v)
{
    const ak_run *x = &v->a.run, *y = &v->b.run;
    begin(b, "Runs", "", false);
    row(b, "run", x->id, y->id);
    row(b, "kernel", x->kernel, y->kernel);
    row(b, "implementation", x->implementation, y->implementation);
    row(b, "device", x->device, y->device);
    row(b, "size", x->size, y->size);
    row(b, "dtype", x->dtype, y->dtype);
    row(b, "options", x->choices, y->choices);
    row(b, "strategy", x->strategy, y->strategy);
    row(b, "started", x->started, y->started);
    row(b, "environment", x->environment, y->environment);
}

/* Returns how the tasks of the runs differ, so that their times cannot be compared; NULL: they can,
   also if the implementations or devices differ. */
static const char *difference(const ak_versus *v)
{
    const ak_run *x = &v->a.run, *y = &v->b.run;
    return !ak_text_same(x->kernel, y->kernel)     ? "the kernels differ"
           : !ak_text_same(x->size, y->size)       ? "the sizes differ"
           : !ak_text_same(x->dtype, y->dtype)     ? "the dtypes differ"
           : !ak_text_same(x->choices, y->choices) ? "the options differ"
                                                   : NULL;
}

static void add_best(ak_section_builder *b, const ak_versus *v)
{
    char ratio[AK_REAL_BYTES], low[AK_REAL_BYTES], high[AK_REAL_BYTES];
    const ak_report_best *x = &v->a.best, *y = &v->b.best;
    begin(b, "What each found", "", true);
    const ak_speed *speed = &v->speed;
    if (difference(v) != NULL) {
        ak_section_notef(b, "The runs solve different tasks (%s): their times do not compare.",
                         difference(v));
    } else if (speed->low > 0) {
        ak_section_notef(
            b,
            "The best of B has %s times the speed of the best of A (%s to %s)%s%s. They were not "
            "measured beside each other.",
            ak_number_ratio(ratio, speed->ratio), ak_number_ratio(low, speed->low),
            ak_number_ratio(high, speed->high),
            v->same_code                           ? ", which is no gain: both are the same code"
            : speed->verdict == AK_SPEED_UNDECIDED ? ", which decides nothing: "
            : speed->verdict == AK_SPEED_TIE       ? ", a tie"
                                                   : "",
            v->same_code ? "" : ak_speed_doubt_sentence(speed->doubt));
    } else if (speed->ratio > 0) {
        ak_section_notef(
            b,
            "The best of B has %s times the speed of the best of A. Recorded times have "
            "no interval.",
            ak_number_ratio(ratio, speed->ratio));
    }
    numbers(b, ak_section_value, "best, ms", x->ms, y->ms);
    ak_section_cell(b, "95 % interval, ms");
    ak_section_interval(b, x->low_ms, x->high_ms);
    ak_section_interval(b, y->low_ms, y->high_ms);
    numbers(b, ak_section_value, "TFLOP/s", x->tflops, y->tflops);
    numbers(b, ak_section_value, "GB/s", x->gbs, y->gbs);
    ak_section_cell(b, "roofline, %");
    ak_section_figure(b, "%.1f", x->efficiency * 100);
    ak_section_figure(b, "%.1f", y->efficiency * 100);
    ak_section_note_roofline(b, x->efficiency, x->placement.memory_bound);
    ak_section_note_roofline(b, y->efficiency, y->placement.memory_bound);
    ak_section_cell(b, "speed over the reference");
    ak_section_ratio(b, x->speedup, "");
    ak_section_ratio(b, y->speedup, "");
    const size_t in_a = ak_report_tried(&v->a), in_b = ak_report_tried(&v->b);
    counts(b, "trials", in_a, in_b);
    counts(b, "failed", in_a - ak_report_by_status(&v->a)[AK_TRIAL_OK],
           in_b - ak_report_by_status(&v->b)[AK_TRIAL_OK]);
    counts(b, "evaluations to within 5 %", v->a.within_5, v->b.within_5);
    numbers(b, ak_section_seconds, "seconds", wall(&v->a), wall(&v->b));
}

static void add_refuted(ak_section_builder *b, const ak_versus *v)
{
    const char *const lines[] = {v->a.refuted, v->b.refuted};
    if (lines[0] == NULL && lines[1] == NULL) {
        return;
    }
    ak_section_begin(b, "Warnings");
    for (size_t i = 0; i < 2; i++) {
        if (lines[i] != NULL) {
            ak_section_pair(b, i == 0 ? "A" : "B", lines[i]);
        }
    }
}

typedef void (*printer)(ak_buf *out, const json_t *value);

/* Adds a row of two values, unless they are equal. NULL stands for no value. */
static void differing(ak_section_builder *b, const char *label, const json_t *of_a,
                      const json_t *of_b, printer print)
{
    const json_t *values[] = {of_a, of_b};
    if (of_a == of_b || (of_a != NULL && of_b != NULL && json_equal(of_a, of_b))) {
        return;
    }
    ak_section_cell(b, label);
    for (size_t i = 0; i < 2; i++) {
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
        if (values[i] != NULL) {
            print(&text, values[i]);
        }
        ak_section_cell(b, text.failed != AK_OK ? "(too long to show)"
                           : text.length == 0   ? "-"
                                                : text.data);
    }
}

/* Adds the members that differ, nested ones as "a.b". The parser bounds the depth. */
static void add_differences(ak_section_builder *b, const char *prefix, const json_t *of_a,
                            const json_t *of_b, printer print)
{
    if (!json_is_object(of_a) || !json_is_object(of_b)) {
        differing(b, prefix, of_a, of_b, print);
        return;
    }
    AK_AT_END(ak_buf_free) ak_buf label = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    const char *dot = *prefix == 0 ? "" : ".";
    AK_EACH_MEMBER(key, item, of_a) {
        ak_buf_clear(&label);
        ak_buf_print(&label, "%s%s%s", prefix, dot, key);
        add_differences(b, label.data, item, json_object_get(of_b, key), print);
    }
    AK_EACH_MEMBER(key, item, of_b) {
        if (json_object_get(of_a, key) == NULL) {
            ak_buf_clear(&label);
            ak_buf_print(&label, "%s%s%s", prefix, dot, key);
            add_differences(b, label.data, NULL, item, print);
        }
    }
}

/* Adds a section with the members that differ between two objects. */
static void compare(ak_section_builder *b, const char *title, const char *label, const json_t *of_a,
                    const json_t *of_b, printer print)
{
    begin(b, title, label, false);
    add_differences(b, "", of_a, of_b, print);
    if (b->section->cell_count == 0) {
        row(b, "(nothing)", "the same", "the same");
    }
}

/* Compares the texts of the best configurations, not rows of the matrices: the best of a resumed
   run may have values that no trial of the run has. */
static void add_configuration(ak_section_builder *b, const ak_versus *v)
{
    json_auto_t *x = NULL, *y = NULL;
    if (!v->a.best.found || !v->b.best.found || b->status != AK_OK) {
        return;
    }
    b->status = ak_config_text_to_json(&x, v->a.best.config, "configuration", b->err);
    if (b->status == AK_OK) {
        b->status = ak_config_text_to_json(&y, v->b.best.config, "configuration", b->err);
    }
    if (b->status == AK_OK) {
        compare(b, "Where the best configurations differ", "parameter", x, y, ak_value_print);
    }
}

static void add_common(ak_section_builder *b, const ak_versus *v)
{
    if (v->common_count == 0 || difference(v) != NULL) {
        return;
    }
    size_t faster = 0;
    for (size_t i = 0; i < v->common_count; i++) {
        faster += v->common[i].ratio > 1 ? 1 : 0;
    }
    ak_section_table(b, "Configurations that both tried", ">A, ms", ">B, ms", ">times as fast in B",
                     "_configuration", NULL);
    char median[AK_REAL_BYTES];
    ak_section_notef(b,
                     "%zu, of which %zu %s faster in B; the median is %s times as fast in B. "
                     "Shown are those that differ most.",
                     v->common_count, faster, faster == 1 ? "was" : "were",
                     ak_number_ratio(median, sqrt(v->common[(v->common_count - 1) / 2].ratio *
                                                  v->common[v->common_count / 2].ratio)));
    for (size_t i = 0; i < v->common_count; i++) {
        const ak_versus_common *c = &v->common[i];
        if (i < AK_REPORT_ROWS_MAX / 2 || i + AK_REPORT_ROWS_MAX / 2 >= v->common_count) {
            ak_section_value(b, c->a->median_ms);
            ak_section_value(b, c->b->median_ms);
            ak_section_ratio(b, c->ratio, "");
            ak_section_cell(b, c->a->config);
        }
    }
}

static void add_time(ak_section_builder *b, const ak_versus *v)
{
    begin(b, "Time, s", "stage", true);
    numbers(b, ak_section_seconds, "propose", v->a.propose_ns / 1e9, v->b.propose_ns / 1e9);
    numbers(b, ak_section_seconds, "compile", v->a.compile_ns / 1e9, v->b.compile_ns / 1e9);
    numbers(b, ak_section_seconds, "check", v->a.check_ns / 1e9, v->b.check_ns / 1e9);
    numbers(b, ak_section_seconds, "measure", v->a.measure_ns / 1e9, v->b.measure_ns / 1e9);
    numbers(b, ak_section_seconds, "overhead", v->a.overhead_ns / 1e9, v->b.overhead_ns / 1e9);
    numbers(b, ak_section_seconds, "rest", ak_report_rest(&v->a), ak_report_rest(&v->b));
}

ak_status ak_versus_sections(ak_sections *out, const ak_versus *v, ak_error *err)
{
    ak_section_builder b;
    AK_DO(ak_sections_open(&b, out, err));
    add_runs(&b, v);
    add_best(&b, v);
    add_refuted(&b, v);
    add_configuration(&b, v);
    if (v->a.environment != NULL && v->b.environment != NULL) {
        compare(&b, "Where the environments differ", "fact", v->a.environment, v->b.environment,
                ak_json_print_plain);
    }
    add_common(&b, v);
    add_time(&b, v);
    return ak_sections_end(&b);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Returns the members that identify a run, and the steps of its search as [[evaluation, ms,
   config], ...]. */
static json_t *side_json(const ak_report_model *model)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < model->step_count; i++) {
        const ak_report_step *step = &model->steps[i];
        ak_json_add(&steps, json_pack("[I, o, s]", (json_int_t)step->evaluation,
                                      ak_json_known(step->trial->median_ms), step->trial->config));
    }
    return json_pack("{s:o, s:s?, s:s?, s:s?, s:s?, s:I}", "steps", steps, "id", model->run.id,
                     "kernel", model->run.kernel, "size", model->run.size, "device",
                     model->run.device, "trials", (json_int_t)ak_report_tried(model));
}

static json_t *common_json(const ak_versus *v)
{
    json_t *list = json_array();
    for (size_t i = 0; difference(v) == NULL && i < v->common_count; i++) {
        const ak_versus_common *c = &v->common[i];
        json_t *one = json_pack("[o, o, s]", ak_json_known(c->a->median_ms),
                                ak_json_known(c->b->median_ms), c->a->config);
        ak_json_add(&list, one);
    }
    return list;
}

ak_status ak_versus_object(json_t **out, const ak_versus *v, const ak_sections *sections,
                           ak_error *err)
{
    const bool same = difference(v) == NULL;
    const ak_speed *speed = &v->speed;
    const char *doubt = v->same_code ? "same code" : ak_speed_doubt_text(speed->doubt);
    const ak_speed_verdict verdict = v->same_code ? AK_SPEED_UNDECIDED : speed->verdict;
    *out = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:s?, s:s?, s:s?, s:o, s:o}", "schema", 1,
                     "kind", "versus", "a", side_json(&v->a), "b", side_json(&v->b), "ratio",
                     ak_json_known(same ? speed->ratio : 0), "ratio_ci",
                     same ? ak_json_interval(speed->low, speed->high) : json_null(), "verdict",
                     same && speed->low > 0 ? ak_speed_verdict_text(verdict) : NULL,
                     "undecided_because", same && verdict == AK_SPEED_UNDECIDED ? doubt : NULL,
                     "why_not", difference(v), "common", common_json(v), "sections",
                     ak_page_sections(sections));
    return ak_made(*out, err);
}

/* Returns by how much a control may differ from itself, in either direction; 0: there was none. */
static double reach(const ak_speed *control)
{
    return control->ratio > 0
               ? fmax(ak_verdict_deviation(control->low), ak_verdict_deviation(control->high))
               : 0;
}

ak_speed ak_apart_speed(const ak_apart *before, const ak_apart *after)
{
    ak_speed s = {0};
    if (!(before->ms > 0 && after->ms > 0)) {
        return s;
    }
    s.ratio = before->ms / after->ms;
    if (!(before->low_ms > 0 && before->high_ms > before->low_ms && after->low_ms > 0 &&
          after->high_ms > after->low_ms)) {
        return s;
    }
    s.low = before->low_ms / after->high_ms;
    s.high = before->high_ms / after->low_ms;
    const ak_speed of_before = ak_speed_read(json_object_get(before->noise, "control")),
                   of_after = ak_speed_read(json_object_get(after->noise, "control"));
    ak_speed_judge(&s, reach(&of_before) > reach(&of_after) ? &of_before : &of_after,
                   ak_noise_is_clean(before->noise) && ak_noise_is_clean(after->noise));
    return s;
}
