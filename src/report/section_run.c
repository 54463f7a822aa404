/* section_run.c: turns the model into sections of words and figures, the most important first. */
#include "report/section_builder.h"

#include <inttypes.h>

#include "base/device_name.h"
#include "base/number.h"
#include "measure/overlap.h"
#include "report/candidate_name.h"
#include "archive/finish_order.h"
#include "report/headline.h"
#include "report/outcome.h"

/* Adds the members of a JSON object as pairs, those of nested objects as "a.b". The parser bounds
   the depth. */
static void flatten(ak_section_builder *b, const char *prefix, const json_t *value)
{
    char label[256];
    if (json_is_object(value)) {
        AK_EACH_MEMBER(key, item, value) {
            (void)snprintf(label, sizeof label, "%s%s%s", prefix, *prefix == 0 ? "" : ".", key);
            flatten(b, label, item);
        }
        return;
    }
    if (json_is_string(value)) {
        ak_section_pair(b, prefix, json_string_value(value));
        return;
    }
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    ak_json_print(&text, value, false);
    if (text.failed == AK_LIMIT) {
        ak_section_pair(b, prefix, "(too long to show)");
    } else if (b->status == AK_OK) {
        b->status = ak_buf_status(&text, b->err);
        ak_section_pair(b, prefix, text.data);
    }
}

static void add_run(ak_section_builder *b, const ak_report_model *model)
{
    const ak_run *run = &model->run;
    ak_section_begin(b, "Run");
    ak_section_pair(b, "run", run->id);
    ak_section_pair(b, "kernel", run->kernel);
    ak_section_pair(b, "implementation", run->implementation);
    ak_section_pair(b, "device", run->device);
    ak_section_pair(b, "size", run->size);
    ak_section_pair(b, "dtype", run->dtype);
    ak_section_pair(b, "options", run->choices);
    if (strcmp(model->objective, "time") != 0) {
        ak_section_pair(b, "objective", model->objective);
    }
    ak_section_pair(b, "reference", ak_json_text_at(model->result, "checked_against"));
    ak_section_pair(b, "strategy", run->strategy);
    const bool recorded = ak_device_is_recorded(run->device);
    ak_section_pairf(b, "started", "%s%s", run->started,
                     recorded ? " (the clock of a recording begins in 1970)" : "");
    ak_section_pair(b, "ended",
                    run->ended != NULL             ? run->ended
                    : run->imported                ? "not recorded (imported)"
                    : model->alive == AK_ALIVE_YES ? "not yet (still running)"
                    : model->alive == AK_ALIVE_NO  ? "never (killed)"
                                                   : "not recorded (still running, or killed)");
    const char *stopped = ak_json_text_or_null(model->result, "stopped_by");
    ak_section_pair(b, "stopped by", stopped);
    if (model->environment == NULL) { /* an imported run has only the hash */
        ak_section_pair(b, "environment", run->environment);
    }
    ak_section_pairf(b, "trials", "%zu, of which %zu ok%s", ak_report_tried(model),
                     ak_report_by_status(model)[AK_TRIAL_OK],
                     model->elsewhere > 0 ? ", in the runs of its sizes" : "");
    if (model->resumed > 0) {
        ak_section_pairf(b, "resumed", "%zu trial%s of earlier runs, shown with them",
                         model->resumed, ak_plural(model->resumed));
    }
}

/* Adds the questions to a language model and their cost. */
static void add_llm(ak_section_builder *b, const ak_report_model *model)
{
    const json_t *llm = json_object_get(model->result, "llm");
    const json_t *cost = json_object_get(llm, "cost_usd");
    if (!json_is_object(llm)) {
        return;
    }
    ak_section_begin(b, "Language model");
    ak_section_pair(b, "model", ak_json_text_or_null(llm, "model"));
    ak_section_pairf(b, "questions", "%lld, of which %lld without an answer",
                     (long long)json_integer_value(json_object_get(llm, "calls")),
                     (long long)json_integer_value(json_object_get(llm, "failed")));
    const double uncounted = ak_json_number_at(llm, "uncounted");
    if (!json_is_number(json_object_get(llm, "input_tokens"))) {
        ak_section_pair(b, "tokens", "not known"); /* a model reached by "file:" counts no tokens */
    } else if (uncounted > 0) {
        ak_section_pairf(b, "tokens", "%.0f in, %.0f out; not known for %.0f question%s",
                         ak_json_number_at(llm, "input_tokens"),
                         ak_json_number_at(llm, "output_tokens"), uncounted,
                         ak_plural((size_t)uncounted));
    } else {
        ak_section_pairf(b, "tokens", "%.0f in, %.0f out", ak_json_number_at(llm, "input_tokens"),
                         ak_json_number_at(llm, "output_tokens"));
    }
    if (json_is_number(cost) && uncounted > 0 && json_number_value(cost) == 0) {
        ak_section_pair(b, "cost", "none was counted");
    } else if (json_is_number(cost)) {
        ak_section_pairf(b, "cost", "%s$%.4f", uncounted > 0 ? "at most " : "",
                         json_number_value(cost));
    } else {
        ak_section_pair(b, "cost", "not known: the model has no price (--llm-prices gives one)");
    }
}

#define RATE_BYTES 96

/* Writes both rates, or only GB/s if memory binds. A rate of 0, which is not known, is left out. */
static const char *show_rate(char out[RATE_BYTES], double tflops, double gbs, bool memory)
{
    char first[AK_REAL_BYTES], second[AK_REAL_BYTES];
    (void)ak_number_figure(first, tflops, AK_DIGITS);
    (void)ak_number_figure(second, gbs, AK_DIGITS);
    if (tflops > 0 && gbs > 0 && !memory) {
        (void)snprintf(out, RATE_BYTES, "%s TFLOP/s, %s GB/s", first, second);
    } else if (tflops > 0 && !(gbs > 0)) {
        (void)snprintf(out, RATE_BYTES, "%s TFLOP/s", first);
    } else {
        (void)snprintf(out, RATE_BYTES, "%s GB/s", second);
    }
    return out;
}

static void add_fact(void *builder, const char *name, const char *text)
{
    ak_section_pair(builder, name, text);
}

/* This function is long because it lists the facts of the best, each of which may be missing. */
static void add_best(ak_section_builder *b, const ak_report_model *model)
{
    char rate[RATE_BYTES], ms[AK_REAL_BYTES], low[AK_REAL_BYTES], high[AK_REAL_BYTES];
    const ak_report_best *best = &model->best;
    ak_section_begin(b, "Best");
    ak_buf picture = AK_BUF(AK_PICTURE_BYTES_MAX);
    ak_picture_roofline(&picture, model);
    ak_section_picture(b, &picture);
    if (!best->found) {
        ak_section_pair(b, "configuration",
                        model->ok_count == 0 ? "none: no trial was successful"
                                             : "none: all that were timed failed a later check");
        return;
    }
    ak_section_pair(b, "configuration", best->config);
    if (best->value > 0) {
        ak_section_pairf(b, "objective", "%s: %s", model->objective,
                         ak_number_figure(ms, best->value, AK_DIGITS));
    }
    (void)ak_number_figure(ms, best->ms, AK_DIGITS);
    if (best->high_ms > best->low_ms) {
        ak_section_pairf(b, "time", "%s ms (95 %% interval %s to %s)", ms,
                         ak_number_figure(low, best->low_ms, AK_DIGITS),
                         ak_number_figure(high, best->high_ms, AK_DIGITS));
    } else {
        ak_section_pairf(b, "time", "%s ms", ms);
    }
    ak_section_pair(b, "measured",
                    best->from_finish && model->baseline != NULL
                        ? "again at the end, beside the baseline"
                    : best->from_finish ? "again at the end, beside the other candidates"
                    : best->again       ? "again during the search, beside the other fastest; the "
                                          "tables of trials have its first time"
                                        : "once, during the search: the fastest of many is "
                                          "partly luck");
    if (best->tflops > 0 || best->gbs > 0) {
        ak_section_pair(b, "throughput",
                        show_rate(rate, best->tflops, best->gbs, best->placement.memory_bound));
    }
    ak_placement_describe(&best->placement, add_fact, b);
    if (model->baseline != NULL) {
        const char *version = model->baseline_version;
        ak_section_pairf(b, "baseline", "%s%s%s: %s ms", model->baseline,
                         version == NULL ? "" : " ", ak_or_empty(version),
                         ak_number_figure(ms, model->baseline_ms, AK_DIGITS));
    } else {
        ak_section_pair(b, "baseline", "none was measured");
    }
    const char *summary = ak_json_text_at(model->result, "summary");
    if (summary[0] != 0) {
        ak_section_pairf(b, "speed-up", "%s", summary);
    } else if (best->speedup > 0 && model->baseline != NULL) {
        /* an earlier version made this run, without verdicts */
        ak_section_pairf(b, "speed-up", "%s times the baseline",
                         ak_number_ratio(rate, best->speedup));
    } else if (best->from_finish) {
        ak_section_pair(b, "speed-up",
                        "not known: neither a library nor the default was measured beside it");
    }
    if (best->trial == NULL) {
        ak_section_pair(b, "proposed by", "an earlier run, resumed");
        return;
    }
    const ak_trial *trial = best->trial;
    ak_section_pairf(b, "proposed by", "%s%s%s, evaluation %zu of %zu%s",
                     trial->strategy == NULL ? "(not recorded)" : trial->strategy,
                     trial->model == NULL ? "" : " with ", ak_or_empty(trial->model),
                     best->evaluation, model->count,
                     best->evaluation <= model->resumed ? ", in an earlier run (resumed)" : "");
    if (trial->parent != 0) {
        ak_section_pairf(b, "derived from",
                         "trial %" PRId64 ", generation %d, predicted gain of speed %.1f %%",
                         trial->parent, trial->generation, ak_predicted_speed(trial) * 100);
    }
    ak_section_pairf(b, "trial", "%" PRId64, trial->id);
}

/* Returns whether the table needs the column "overlap", because kernels of a candidate may begin
   before their predecessors have ended. */
static bool any_overlap(const json_t *list)
{
    AK_EACH(one, list) {
        const char *overlap = ak_json_text_at(one, "overlap");
        if (overlap[0] != 0 && strcmp(overlap, ak_overlap_text(AK_OVERLAP_NONE)) != 0) {
            return true;
        }
    }
    return false;
}

#define WORDS_BYTES 64

/* Returns words for a tie or an undecided verdict, else "". The figure shows whether a candidate is
   faster or slower. Earlier versions did not record why a verdict is undecided. */
static const char *verdict_words(char out[WORDS_BYTES], const json_t *one)
{
    const char *why = ak_json_text_at(one, "undecided_because");
    if (json_is_true(json_object_get(one, "tie"))) {
        return " (tie)";
    }
    if (!ak_json_text_is(one, "verdict", "undecided")) {
        return "";
    }
    (void)snprintf(out, WORDS_BYTES, " (not decided%s%.40s)", *why == 0 ? "" : ": ", why);
    return out;
}

/* Says what the speeds are relative to, and explains the words of the table. */
static void note_finish(ak_section_builder *b, const ak_report_model *model, const json_t *list,
                        bool overlap)
{
    static const ak_speed_doubt doubts[] = {AK_DOUBT_VARIES, AK_DOUBT_CONTROL, AK_DOUBT_BUSY};
    AK_AT_END(ak_buf_free) ak_buf note = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    ak_buf_puts(&note, model->baseline == NULL && model->best.speedup <= 0
                           ? "Speeds are relative to the first finalist: neither a library nor the "
                             "default was measured."
                           : "Speeds are relative to the fastest library or, without one, to the "
                             "default.");
    if (overlap) {
        ak_buf_puts(&note, " Overlap says where kernels may begin before the one ahead of them has "
                           "ended (programmatic launches).");
    }
    for (size_t d = 0; d < AK_COUNT(doubts); d++) {
        const char *text = ak_speed_doubt_text(doubts[d]);
        bool any = false;
        AK_EACH(one, list) {
            any = any || ak_json_text_is(one, "undecided_because", text);
        }
        if (any) {
            ak_buf_print(&note, " \"Not decided: %s\": %s.", text,
                         ak_speed_doubt_sentence(doubts[d]));
        }
    }
    if (ak_buf_status(&note, NULL) == AK_OK) {
        ak_section_notef(b, "%s", note.data);
    }
}

/* Adds "#1 tuned" or "#2" for a configuration with a rank in the finish, and the name for any other
   candidate. */
static void add_name(ak_section_builder *b, const json_t *one, size_t rank)
{
    const char *name = ak_json_text_at(one, "name");
    bool ranked = ak_candidate_is_ranked(name);
    if (rank == 0) {
        ak_section_cell(b, name);
    } else {
        ak_section_cellf(b, "#%zu%s%s", rank, ranked ? "" : " ", ranked ? "" : name);
    }
}

static void add_finish(ak_section_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "contestants");
    if (json_array_size(list) == 0) {
        return;
    }
    const bool overlap = any_overlap(list);
    ak_section_table(b, "Finish: measured interleaved", "measured", ">ms", ">interval", ">speed",
                     "_version or configuration", overlap ? "overlap" : NULL, NULL);
    note_finish(b, model, list, overlap);
    ak_finish_order order;
    ak_finish_order_of(&order, list);
    for (size_t i = 0; i < order.count; i++) {
        const json_t *one = json_array_get(list, order.list[i]);
        const char *version = ak_json_text_or_null(one, "version");
        const char *config = ak_json_text_or_null(one, "config");
        const char *reason = ak_json_text_or_null(one, "reason");
        char words[WORDS_BYTES];
        add_name(b, one, i < order.ranks ? i + 1 : 0);
        ak_section_value(b, ak_json_number_at(one, "ms"));
        ak_section_interval(b, ak_json_number_in(one, "ci_ms", 0),
                            ak_json_number_in(one, "ci_ms", 1));
        ak_section_ratio(b, ak_json_number_at(one, "ratio"), verdict_words(words, one));
        const ak_trial *trial = ak_report_trial_of(model, config);
        if (reason != NULL && trial != NULL) {
            ak_section_cellf(b, "failed: %s: trial #%" PRId64 ", %s", reason, trial->id, config);
        } else if (reason != NULL) {
            ak_section_cellf(b, "failed: %s%s%s", reason, config == NULL ? "" : ": ",
                             ak_or_empty(config));
        } else {
            ak_section_cell(b, version != NULL ? version : config != NULL ? config : "");
        }
        if (overlap) {
            ak_section_cell(b, ak_json_text_at(one, "overlap"));
        }
    }
}

static void add_top(ak_section_builder *b, const ak_report_model *model)
{
    if (model->ok_count == 0) {
        return;
    }
    const bool timed = strcmp(model->objective, "time") == 0;
    const bool memory = model->best.placement.memory_bound;
    const char *rate = memory ? ">GB/s" : ">TFLOP/s";
    if (timed) {
        ak_section_table(b, "Fastest configurations", ">#", ">ms", ">interval", rate, ">roofline",
                         "_configuration", NULL);
    } else {
        ak_section_table(b, "Fastest configurations", ">#", ">objective", ">ms", ">interval", rate,
                         ">roofline", "_configuration", NULL);
        b->section->headers[1] = model->objective;
    }
    b->section->note = "The first is shown in full, the others by their differences from it.";
    for (size_t i = 0; i < model->ok_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_trial *trial = model->ranking[i];
        AK_AT_END(ak_buf_free) ak_buf changes = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
        if (i > 0) {
            ak_buf_unshared(&changes, trial->config, model->ranking[0]->config);
        }
        if (b->status == AK_OK) {
            b->status = ak_buf_status(&changes, b->err);
        }
        ak_section_cellf(b, "%zu", i + 1);
        if (!timed) {
            ak_section_value(b, ak_trial_value(trial));
        }
        ak_section_value(b, trial->median_ms);
        const size_t few = ak_trial_few_samples(trial);
        if (few > 1) {
            char words[AK_REAL_BYTES];
            ak_section_cellf(b, "%s", ak_number_few(words, few));
        } else {
            ak_section_interval(b, trial->ci_low_ms, trial->ci_high_ms);
        }
        ak_section_value(b, memory ? trial->gbs : trial->tflops);
        ak_section_figure(b, "%.1f %%", trial->efficiency * 100);
        ak_section_note_roofline(b, trial->efficiency, memory);
        ak_section_cellf(b, "%s%s%s",
                         i == 0                ? trial->config
                         : changes.length == 0 ? "(the same, measured again)"
                                               : changes.data,
                         trial->same_code ? AK_SAME_CODE : "",
                         ak_report_is_resumed(model, trial) ? " (resumed)" : "");
    }
}

static void add_failures(ak_section_builder *b, const ak_report_model *model)
{
    if (model->failure_count == 0) {
        return;
    }
    ak_section_table(b, "Failures", ">count", "status", "reason", "_first configuration", NULL);
    for (size_t i = 0; i < model->failure_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_report_failure *failure = &model->failures[i];
        ak_section_cellf(b, "%zu", failure->count);
        ak_section_cell(b, ak_trial_status_text(failure->status));
        ak_section_cell(b, *failure->reason == 0 ? "(none given)" : failure->reason);
        ak_section_cell(b, failure->config);
    }
    if (model->failure_count > AK_REPORT_ROWS_MAX) {
        b->section->note = "These are the most frequent kinds; the json report has all.";
    }
}

static void add_convergence(ak_section_builder *b, const ak_report_model *model)
{
    static const char bar[] = "########################################";
    if (model->step_count == 0) {
        return;
    }
    const bool timed = strcmp(model->objective, "time") == 0;
    ak_section_table(b, "Convergence", ">evaluation", ">best ms", timed ? ">speed-up" : ">gain",
                     timed ? "speed" : "gain", NULL);
    if (!timed) {
        b->section->headers[1] = model->objective;
    }
    ak_buf near = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    ak_headline_nearness(&near, model);
    ak_section_notef(b,
                     "Each row is an evaluation, of %zu%s, that was faster than all before it%s.",
                     model->count,
                     model->resumed > 0 ? " (first those of earlier runs, which were resumed)" : "",
                     near.length == 0 ? "" : near.data);
    ak_buf_free(&near);
    ak_buf picture = AK_BUF(AK_PICTURE_BYTES_MAX);
    ak_picture_convergence(&picture, model);
    ak_section_picture(b, &picture);
    double first = ak_trial_cost(model->steps[0].trial);
    double last = ak_trial_cost(model->steps[model->step_count - 1].trial);
    for (size_t i = 0; i < model->step_count; i++) {
        const ak_trial *trial = model->steps[i].trial;
        double cost = ak_trial_cost(trial);
        ak_section_cellf(b, "%zu", model->steps[i].evaluation);
        ak_section_value(b, trial->cost > 0 ? ak_trial_value(trial) : cost);
        ak_section_ratio(b, first / cost, "x");
        ak_section_cellf(b, "%.*s", (int)((double)(sizeof bar - 1) * last / cost + 0.5), bar);
    }
}

static void add_time(ak_section_builder *b, const ak_report_model *model)
{
    const struct {
        const char *name;
        double ns;
    } stages[] = {
        {"propose", model->propose_ns},   {"compile", model->compile_ns},
        {"check", model->check_ns},       {"measure", model->measure_ns},
        {"overhead", model->overhead_ns}, {"rest", ak_report_rest(model) * 1e9},
    };
    double total_ns = 0;
    for (size_t i = 0; i < AK_COUNT(stages); i++) {
        total_ns += stages[i].ns > 0 ? stages[i].ns : 0;
    }
    ak_section_table(b, "Time", "stage", ">seconds", ">share", ">ms a trial", NULL);
    b->section->note = ak_report_rest(model) > 0
                           ? "The rest is outside of trials: starting, the reference, the finish."
                       : model->seconds > 0 ? "Stages overlap, so their sum exceeds the wall time."
                                            : NULL;
    const size_t own = model->count - model->resumed;
    double trials = own > 0 ? (double)own : 1.0;
    for (size_t i = 0; i < AK_COUNT(stages); i++) {
        double ns = stages[i].ns;
        ak_section_cell(b, stages[i].name);
        ak_section_seconds(b, ns / 1e9);
        if (ns < 0) {
            ak_section_cell(b, "-");
        } else {
            ak_section_cellf(b, "%.1f %%", total_ns > 0 ? ns / total_ns * 100 : 0.0);
        }
        ak_section_seconds(b, ns / 1e6 / trials);
    }
    if (model->seconds > 0) {
        ak_section_cell(b, "wall");
        ak_section_seconds(b, model->seconds);
        ak_section_cell(b, "");
        ak_section_seconds(b, model->seconds * 1e3 / trials);
    }
}

static void add_authors(ak_section_builder *b, const ak_report_model *model)
{
    if (model->author_count == 0) {
        return;
    }
    ak_section_table(b, "Who proposed", "strategy", "model", ">proposed", ">ok", ">best ms", NULL);
    for (size_t i = 0; i < model->author_count && i < AK_REPORT_ROWS_MAX; i++) {
        const ak_report_group *author = &model->authors[i];
        ak_section_cell(b, *author->name == 0 ? "(not recorded)" : author->name);
        ak_section_cell(b, *author->detail == 0 ? "-" : author->detail);
        ak_section_cellf(b, "%zu", author->trials);
        ak_section_cellf(b, "%zu", author->ok);
        ak_section_value(b, author->best_ms);
    }
}

/* Adds, for each parameter, the value that is most frequent among the best trials. */
static void add_values(ak_section_builder *b, const ak_report_model *model)
{
    if (model->value_count == 0) {
        return;
    }
    ak_section_table(b, "Values among the fastest and among all", "parameter", "value",
                     ">among the fastest", ">among all", NULL);
    for (size_t i = 0; i < model->value_count; i++) {
        const ak_report_value *value = &model->values[i];
        if (i > 0 && strcmp(value->name, model->values[i - 1].name) == 0) {
            continue;
        }
        ak_section_cell(b, value->name);
        ak_section_cell(b, value->value);
        ak_section_cellf(b, "%zu of %zu", value->in_top, model->top_count);
        ak_section_cellf(b, "%zu of %zu", value->in_all, model->ok_count);
    }
}

ak_status ak_sections_build(ak_sections *out, const ak_report_model *model, ak_error *err)
{
    ak_section_builder b;
    AK_DO(ak_sections_open(&b, out, err));
    add_run(&b, model);
    ak_sections_add_words(&b, model);
    if (json_is_array(json_object_get(model->result, "sizes"))) {
        ak_sections_add_sizes(&b, model);
    } else {
        add_best(&b, model);
    }
    add_llm(&b, model);
    ak_sections_add_warnings(&b, model);
    add_finish(&b, model);
    ak_sections_add_conditions(&b, model);
    ak_sections_add_devices(&b, model);
    add_top(&b, model);
    ak_sections_add_changes(&b, model);
    add_values(&b, model);
    ak_sections_add_importance(&b, model);
    add_convergence(&b, model);
    add_failures(&b, model);
    if (model->count > 0) {
        add_time(&b, model);
    }
    add_authors(&b, model);
    if (model->options != NULL) {
        ak_section_begin(&b, "Options of the run");
        flatten(&b, "", model->options);
    }
    if (model->environment != NULL) {
        ak_section_begin(&b, "Environment");
        ak_section_pair(&b, "hash", model->run.environment);
        flatten(&b, "", model->environment);
    }
    ak_section_begin(&b, "How to repeat the run");
    b.section->whole = true;
    if (model->missing != NULL) {
        ak_section_notef(&b, "It repeats the run in the folder that holds %.200s.", model->missing);
    }
    ak_section_pair(&b, "command", model->command);
    return ak_sections_end(&b);
}

void ak_sections_clear(ak_sections *sections)
{
    for (size_t i = 0; i < sections->count; i++) {
        ak_free((void *)sections->items[i].cells);
    }
    ak_arena_free(sections->arena);
    *sections = (ak_sections){0};
}
