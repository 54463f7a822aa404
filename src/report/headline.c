/* headline.c: see headline.h. A sentence is left out where nothing is known. Ratios are of speed
   or, if the objective is not the time, of merit by it: above 1 the best is better. */
#include "report/headline.h"

#include <assert.h>
#include <math.h>

#include "base/device_name.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/format.h"
#include "measure/verdict.h"
#include "archive/finish_order.h"

#define SENTENCE_MAX (16u << 10)
/* At most this many changes are listed in the sentence. The table of the report has all. */
#define CHANGES_TOLD 6
/* At most this many bytes of the first line of a reason are shown. */
#define REASON_TOLD 300

static void print_interval(ak_buf *out, double low, double high)
{
    if (low > 0 && high > low) { /* a recording has one figure, no interval */
        ak_buf_puts(out, " (");
        ak_buf_ratio(out, low);
        ak_buf_puts(out, " to ");
        ak_buf_ratio(out, high);
        ak_buf_puts(out, ")");
    }
}

void ak_headline_ms(ak_buf *out, double ms)
{
    char text[AK_REAL_BYTES];
    const double factor = ms >= 1000 ? 1e-3 : ms < 0.1 ? 1e3 : 1;
    ak_buf_print(out, "%s %s", ak_number_figure(text, ms * factor, AK_DIGITS),
                 ms >= 1000 ? "s"
                 : ms < 0.1 ? "µs"
                            : "ms");
}

/* ---- against others -------------------------------------------------------------------------- */

/* Returns the candidate that won the finish; NULL if there was none. */
static const json_t *winner_of(const json_t *finish)
{
    ak_finish_order order;
    ak_finish_order_of(&order, finish);
    const json_t *tuned = ak_json_find(finish, "name", "tuned");
    return tuned != NULL || order.ranks == 0 ? tuned : json_array_get(finish, order.list[0]);
}

/* Returns whether the finish found a candidate faster or slower than the reference, which means
   that enough of their rounds were undisturbed. A tie does not mean that. */
static bool was_decided(const json_t *candidate)
{
    const ak_speed_verdict verdict = ak_speed_read(candidate).verdict;
    return verdict == AK_SPEED_FASTER || verdict == AK_SPEED_SLOWER;
}

/* Sets verdict and doubt as the finish did. The rounds also count as clean if the finish `decided`
   on both candidates. */
static void set_verdict(ak_speed *s, const json_t *result, bool decided)
{
    const json_t *noise = json_object_get(result, "noise");
    const ak_speed control = ak_speed_read(json_object_get(noise, "control"));
    ak_speed_judge(s, &control, decided || ak_noise_is_clean(noise));
}

/* Returns the speed of the best relative to another candidate; ratio 0 if that has none. Ratios of
   the finish are relative to one reference. Relative to that reference, the interval is the paired
   one; relative to any other candidate, the ends of both intervals are combined, which is wider
   than needed. */
static ak_speed against(const json_t *result, const json_t *best, const json_t *other,
                        bool reference)
{
    const ak_speed mine = ak_speed_read(best), its = ak_speed_read(other);
    if (reference || !(its.ratio > 0)) {
        return reference ? mine : (ak_speed){0};
    }
    ak_speed s = {.ratio = mine.ratio / its.ratio};
    if (its.low > 0 && its.high > 0) {
        s.low = mine.low / its.high;
        s.high = mine.high / its.low;
        set_verdict(&s, result, was_decided(best) && was_decided(other));
    }
    return s;
}

static void print_speed(ak_buf *out, const ak_speed *s, const char *name, const char *version,
                        const char *objective)
{
    const char *gap = version[0] == 0 ? "" : " ";
    if (out->length > 0) {
        ak_buf_puts(out, ", ");
    } else if (strcmp(objective, "time") == 0) {
        ak_buf_puts(out, "Its speed is ");
    } else {
        ak_buf_print(out, "Its merit by the objective %s is ", objective);
    }
    if (s->verdict == AK_SPEED_UNDECIDED) {
        ak_buf_print(out, "not decided against %s%s%s%s%s", name, gap, version,
                     s->doubt == AK_DOUBT_NONE ? "" : ": ", ak_speed_doubt_text(s->doubt));
    } else if (s->verdict == AK_SPEED_TIE) {
        ak_buf_print(out, "a tie with %s%s%s", name, gap, version);
    } else {
        ak_buf_ratio(out, s->ratio);
        ak_buf_print(out, " times that of %s%s%s", name, gap, version);
    }
    print_interval(out, s->low, s->high);
}

static const char the_default[] = "the default configuration";

static void print_default(ak_buf *out, const json_t *best, const ak_report_model *model)
{
    ak_speed s = ak_speed_read(json_object_get(best, "over_default"));
    if (best != NULL && model->default_config != NULL && model->best.config != NULL &&
        strcmp(model->best.config, model->default_config) == 0) {
        return; /* the best is the default; another sentence says so */
    }
    if (s.ratio > 0 && !ak_json_text_is(best, "name", "default")) {
        print_speed(out, &s, the_default, "", model->objective);
    } else if (best == NULL && model->default_trial != NULL && model->best.trial != NULL &&
               model->default_trial != model->best.trial) {
        const ak_trial *from = model->default_trial, *to = model->best.trial;
        s = (ak_speed){.ratio = ak_trial_cost(from) / ak_trial_cost(to)};
        if (!ak_device_is_recorded(model->run.device)) {
            s.verdict = AK_SPEED_UNDECIDED; /* the run had no finish */
            s.doubt = AK_DOUBT_APART;
        } else if (!(from->cost > 0) && from->ci_low_ms > 0 && to->ci_low_ms > 0) {
            s.low = from->ci_low_ms / to->ci_high_ms;
            s.high = from->ci_high_ms / to->ci_low_ms;
            set_verdict(&s, model->result, false);
        }
        print_speed(out, &s, the_default, "", model->objective);
    }
}

/* Prints the speeds relative to the libraries, or with `doubts` those that the finish did not
   decide, and ends the sentence. */
static void print_libraries(ak_buf *out, const json_t *result, const json_t *best,
                            const char *objective, bool doubts)
{
    AK_EACH(one, json_object_get(result, "contestants")) {
        const char *name = ak_json_text_at(one, "name");
        const bool library =
            !json_is_string(json_object_get(one, "config")) && ak_json_number_at(one, "ms") > 0;
        const ak_speed over =
            against(result, best, one, ak_json_text_is(result, "reference", name));
        if (library && over.ratio > 0 && (!doubts || over.verdict == AK_SPEED_UNDECIDED)) {
            print_speed(out, &over, name, ak_json_text_at(one, "version"), objective);
        }
    }
    ak_buf_puts(out, out->length == 0 ? "" : ".");
}

static void print_speeds(ak_buf *out, const ak_report_model *model)
{
    const json_t *best = winner_of(json_object_get(model->result, "contestants"));
    if (model->best.found) {
        print_default(out, best, model);
        print_libraries(out, best == NULL ? NULL : model->result, best, model->objective, false);
    }
}

ak_status ak_archive_evidence(char **out_text, ak_archive *archive, const ak_trial *trial,
                              ak_error *err)
{
    char objective[AK_OBJECTIVE_NAME_BYTES];
    json_auto_t *object = json_object(), *result = NULL;
    AK_AT_END(ak_buf_free) ak_buf words = AK_BUF(SENTENCE_MAX);
    AK_DO(ak_made(object, err));
    AK_DO(ak_format_set_evidence(object, archive, trial, err));
    AK_DO(ak_format_result(&result, archive, trial, err));
    const json_t *best = ak_format_best_entry(result, trial->config);
    if (best != NULL) {
        const ak_speed over_default = ak_speed_read(json_object_get(best, "over_default"));
        (void)ak_choices_objective(objective, trial->choices);
        if (over_default.ratio > 0 && over_default.verdict == AK_SPEED_UNDECIDED) {
            print_speed(&words, &over_default, the_default, "", objective);
        }
        print_libraries(&words, result, best, objective, true);
    }
    AK_DO(ak_buf_status(&words, err));
    AK_DO(ak_stored(ak_json_set_text(object, "undecided", words.length == 0 ? NULL : words.data),
                    err));
    return ak_json_text(out_text, object, err);
}

/* ---- the other sentences --------------------------------------------------------------------- */

static void print_best(ak_buf *out, const ak_report_model *model)
{
    const ak_report_best *best = &model->best;
    if (json_is_array(json_object_get(model->result, "sizes"))) {
        return;
    }
    if (!best->found) {
        ak_buf_puts(out, model->count == 0      ? ""
                         : model->ok_count == 0 ? "No configuration was successful."
                                                : "Every configuration that was timed failed a "
                                                  "later check.");
        return;
    }
    ak_buf_puts(out, "The best configuration takes ");
    ak_headline_ms(out, best->ms);
    if (best->high_ms > best->low_ms) {
        ak_buf_puts(out, " (95 % interval ");
        ak_headline_ms(out, best->low_ms);
        ak_buf_puts(out, " to ");
        ak_headline_ms(out, best->high_ms);
        ak_buf_puts(out, ")");
    }
    ak_buf_puts(out, ak_device_is_recorded(model->run.device)
                         ? ", by the recording: nothing was measured now."
                     : best->from_finish ? ", measured again at the end beside the others."
                     : best->again
                         ? ", measured again during the search; the tables of trials have its "
                           "first time."
                         : ", measured once, during the search: the fastest of many is partly "
                           "luck.");
}

/* Says that the default failed. This concerns all users who do not tune, because they run the
   default. */
static void print_failed_default(ak_buf *out, const ak_report_model *model)
{
    const ak_trial *failed = model->default_failed;
    if (failed != NULL) {
        const char *reason = ak_or_empty(failed->reason);
        ak_buf_puts(out, "The default configuration failed (");
        for (const char *p = ak_trial_status_text(failed->status); *p != 0; p++) {
            ak_buf_putc(out, *p == '_' ? ' ' : *p);
        }
        const size_t line = strcspn(reason, "\n");
        const size_t length = ak_utf8_cut(reason, line < REASON_TOLD ? line : REASON_TOLD);
        ak_buf_print(out, ")%s%.*s%s", length == 0 ? "" : ": ", (int)length, reason,
                     length == 0 || reason[length - 1] != '.' ? "." : "");
    }
}

static void print_roofline(ak_buf *out, const ak_report_model *model)
{
    char rate[AK_REAL_BYTES], limit[AK_REAL_BYTES];
    const ak_placement *p = &model->best.placement;
    if (model->best.found && p->efficiency > 0) {
        ak_buf_print(out, "It reaches %.1f %% of the roofline", p->efficiency * 100);
        if (p->memory_bound && p->bandwidth_gbs > 0 && p->efficiency > 1) {
            ak_buf_print(out, ": %s GB/s, where memory has %s, because %s.",
                         ak_number_figure(rate, p->gbs, AK_DIGITS),
                         ak_number_figure(limit, p->bandwidth_gbs, AK_DIGITS),
                         ak_efficiency_doubt(p->efficiency, true));
        } else if (p->memory_bound && p->bandwidth_gbs > 0) {
            ak_buf_print(out, ": %s of the %s GB/s of %s, which is the limit.",
                         ak_number_figure(rate, p->gbs, AK_DIGITS),
                         ak_number_figure(limit, p->bandwidth_gbs, AK_DIGITS),
                         p->cache ? "a cache" : "memory");
        } else if (!p->memory_bound && p->peak_tflops > 0) {
            ak_buf_print(out, ": %s of the %s TFLOP/s of arithmetic, which is the limit.",
                         ak_number_figure(rate, p->tflops, AK_DIGITS),
                         ak_number_figure(limit, p->peak_tflops, AK_DIGITS));
        } else {
            ak_buf_print(out, ", bound by %s.", p->memory_bound ? "memory" : "compute");
        }
    }
}

static void print_change(ak_buf *out, const ak_report_change *change)
{
    ak_buf_print(out, "%s from %s to %s", change->name, change->from, change->to);
    if (change->pairs == 0) {
        ak_buf_puts(out, " (not known by itself)");
        return;
    }
    const char *plural = ak_plural(change->pairs);
    if (change->same_code == change->pairs) {
        ak_buf_print(out, " (the same code in %zu pair%s)", change->pairs, plural);
        return;
    }
    /* A tie, as in measure/verdict.h without a control: the bounds are close enough to decide
       anything, and reach within AK_VERDICT_LEAST of 1. */
    const bool tie = ak_verdict_decides(change->least, change->greatest) &&
                     change->least <= AK_VERDICT_LEAST && AK_VERDICT_LEAST * change->greatest >= 1;
    ak_buf_puts(out, " (");
    if (ak_report_change_is_open(change)) {
        ak_buf_puts(out, "not decided");
    } else if (tie && change->greatest > change->least) {
        ak_buf_puts(out, "no difference");
    } else {
        ak_buf_ratio(out, change->speed);
        ak_buf_puts(out, " times as fast");
    }
    if (change->greatest > change->least) { /* a pair of recorded times has no interval */
        ak_buf_puts(out, ", ");
        ak_buf_ratio(out, change->least);
        ak_buf_puts(out, " to ");
        ak_buf_ratio(out, change->greatest);
    }
    ak_buf_print(out, " in %zu pair%s)", change->pairs, plural);
}

static void print_changes(ak_buf *out, const ak_report_model *model)
{
    if (model->change_count > 0) {
        ak_buf_print(out, "It changes %zu of %zu parameter%s of the default: ", model->change_count,
                     model->matrix.column_count, ak_plural(model->matrix.column_count));
        for (size_t i = 0; i < model->change_count && i < CHANGES_TOLD; i++) {
            ak_buf_puts(out, i == 0 ? "" : ", ");
            print_change(out, &model->changes[i]);
        }
        ak_buf_puts(out, model->change_count > CHANGES_TOLD ? " and others." : ".");
    } else if (model->best.found && model->default_config != NULL &&
               strcmp(model->best.config, model->default_config) == 0) {
        ak_buf_puts(out, "It is the default configuration.");
    }
}

/* Longer durations are cut to this number of seconds. A record may hold any number, and this one
   fits `long long`. */
#define SECONDS_MOST 1e15

/* Prints a duration in the usual unit for its length: s, min, or h and min. */
static void put_duration(ak_buf *text, double seconds)
{
    const long long minutes = (long long)(fmin(seconds, SECONDS_MOST) / 60 + 0.5);
    if (seconds < 120) {
        char figure[AK_REAL_BYTES];
        ak_buf_print(text, "%s s", ak_number_figure(figure, seconds, AK_DIGITS_DURATION));
    } else if (minutes < 120) {
        ak_buf_print(text, "%lld min", minutes);
    } else {
        ak_buf_print(text, "%lld h %lld min", minutes / 60, minutes % 60);
    }
}

/* Returns the ratio of the upper to the lower end of the interval of the search's best time; 1 if
   that time has no interval, as on a recording. Whether another time is nearer to the best than
   this ratio cannot be told. */
static double width_of_best(const ak_report_model *model)
{
    const ak_trial *best =
        model->step_count == 0 ? NULL : model->steps[model->step_count - 1].trial;
    return best != NULL && best->ci_low_ms > 0 && best->ci_high_ms > best->ci_low_ms
               ? best->ci_high_ms / best->ci_low_ms
               : 1;
}

void ak_headline_nearness(ak_buf *out, const ak_report_model *model)
{
    const double width = width_of_best(model);
    if (model->within_5 > 0 && width > 1.05) {
        ak_buf_print(out,
                     "; when the search was near its best is not known, as that time's "
                     "interval is %.1f %% wide",
                     100 * (width - 1));
    } else if (model->within_5 > 0) {
        ak_buf_print(out, "; the search was within 5 %% of its best after %zu", model->within_5);
        if (width <= 1.01) {
            ak_buf_print(out, ", within 1 %% after %zu", model->within_1);
        }
    }
}

static void print_search(ak_buf *out, const ak_report_model *model)
{
    const size_t own = model->count - model->resumed;
    if (own > 0) {
        ak_buf_print(out, "%zu configuration%s tried", own, own == 1 ? " was" : "s were");
        if (model->seconds > 0) {
            ak_buf_puts(out, " in ");
            put_duration(out, model->seconds);
        }
        ak_buf_print(out, ", of which %zu failed", own - model->by_status[AK_TRIAL_OK]);
        ak_headline_nearness(out, model);
        ak_buf_puts(out, ".");
    }
}

static void print_changed(ak_buf *out, const ak_report_model *model)
{
    if (model->changed != NULL) {
        ak_buf_print(out,
                     "The kernel has changed since this run: 'autokernel tune %s' measures it as "
                     "it is.",
                     model->changed);
    }
}

/* The sentences in their order. A function that prints nothing leaves its sentence out. */
static const struct {
    const char *topic;
    void (*print)(ak_buf *out, const ak_report_model *model);
} sentences[] = {{"sizes", ak_headline_sizes},
                 {"libraries", ak_headline_libraries},
                 {"best", print_best},
                 {"speed", print_speeds},
                 {"default", print_failed_default},
                 {"roofline", print_roofline},
                 {"changes", print_changes},
                 {"search", print_search},
                 {"since then", print_changed}};

ak_status ak_headline_of(ak_headline *out, const ak_report_model *model, ak_error *err)
{
    AK_AT_END(ak_headline_clear) ak_headline headline = {0};
    static_assert(AK_COUNT(sentences) <= AK_HEADLINE_MAX, "a headline has room for all");
    for (size_t i = 0; i < AK_COUNT(sentences); i++) {
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(SENTENCE_MAX);
        sentences[i].print(&text, model);
        if (text.length > 0) {
            AK_DO(ak_buf_take(&headline.text[headline.count], &text, err));
            headline.topic[headline.count++] = sentences[i].topic;
        }
    }
    AK_GIVE(out, headline);
    return AK_OK;
}

void ak_headline_clear(ak_headline *headline)
{
    AK_END_EACH(ak_free, headline->text, headline->count);
    *headline = (ak_headline){0};
}
