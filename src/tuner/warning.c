#include "tuner/warning.h"

#include <math.h>

#include "archive/archive.h"
#include "base/number.h"
#include "measure/ceilings.h"
#include "measure/verdict.h"

#define CLOCK_DIFFERENCE 1.02
/* Ceilings that rise by more than this factor cause a warning. On an idle machine they differ by
   some per cent from one measurement to the next. */
#define CEILINGS_ROSE 1.1
/* A library that is slower in the finish than before the search by more than this factor causes a
   warning, and so does a best configuration whose times in the finish and in the search differ by
   more. Times before the finish are measured briefly, so a cold cache or a waking core costs some
   per cent. */
#define FAR_SLOWER 1.5
#define TEXT_BYTES 400

void ak_warnings_free(ak_warnings *warnings)
{
    AK_END_EACH(ak_free, warnings->texts, warnings->count);
    ak_free(warnings->texts);
    *warnings = (ak_warnings){0};
}

ak_status ak_warn_text(ak_warnings *out, const char *text, ak_error *err)
{
    AK_DO(AK_GROW(out->texts, &out->capacity, out->count + 1, err));
    AK_DO(ak_copy_text(&out->texts[out->count], text, err));
    out->count++;
    return AK_OK;
}

const char *ak_warn_keep(ak_tune_result *result, ak_archive *archive, const char *run,
                         const char *text)
{
    ak_warnings list = {result->warnings, result->warning_count, result->warning_count};
    json_auto_t *record = NULL;
    AK_FREED char *words = NULL;
    const bool added = ak_warn_text(&list, text, NULL) == AK_OK;
    result->warnings = list.texts;
    result->warning_count = list.count;
    if (archive != NULL && run[0] != 0 && added) { /* a run without an id has no record yet */
        record = json_pack("{s:o}", "warnings",
                           ak_json_texts((const char *const *)list.texts, list.count));
        if (record != NULL && ak_json_text(&words, record, NULL) == AK_OK) {
            /* A failure is ignored: the run goes on, and its end writes the warnings again. */
            (void)ak_archive_end_run(archive, run, NULL, words, NULL);
        }
    }
    return added ? list.texts[list.count - 1] : NULL;
}

void ak_warn_drop(ak_tune_result *result, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < result->warning_count; i++) {
        if (text != NULL && result->warnings[i] == text) {
            ak_free(result->warnings[i]);
        } else {
            result->warnings[kept++] = result->warnings[i];
        }
    }
    result->warning_count = kept;
}

static ak_status add(ak_warnings *out, ak_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static ak_status add(ak_warnings *out, ak_error *err, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)ak_number_vprint(text, sizeof text, format, args);
    va_end(args);
    return ak_warn_text(out, text, err);
}

static bool clocked(const ak_compared *c)
{
    return c->median_ms > 0 && c->sm_clock_mhz > 0;
}

/* Warns if clocks of candidates differ by more than 2 % or were throttled for different reasons.
   Then a part of the difference in time comes from the device. */
static ak_status warn_of_conditions(ak_warnings *out, const ak_compared *list, size_t count,
                                    ak_error *err)
{
    const ak_compared *slow = NULL, *fast = NULL, *first = NULL, *other = NULL;
    for (size_t i = 0; i < count; i++) {
        const ak_compared *c = &list[i];
        if (clocked(c)) {
            slow = slow == NULL || c->sm_clock_mhz < slow->sm_clock_mhz ? c : slow;
            fast = fast == NULL || c->sm_clock_mhz > fast->sm_clock_mhz ? c : fast;
        }
        if (c->median_ms > 0 && c->throttle != NULL) {
            first = first == NULL ? c : first;
            other = other == NULL && strcmp(c->throttle, first->throttle) != 0 ? c : other;
        }
    }
    if (slow != NULL && fast->sm_clock_mhz > CLOCK_DIFFERENCE * slow->sm_clock_mhz) {
        AK_DO(add(out, err,
                  "the clock differed by %.1f %%: %.0f MHz for %.80s, %.0f MHz for %.80s; compare "
                  "their utilisation, which does not depend on it",
                  (fast->sm_clock_mhz / slow->sm_clock_mhz - 1) * 100, fast->sm_clock_mhz,
                  fast->name, slow->sm_clock_mhz, slow->name));
    }
    if (other != NULL) {
        AK_DO(add(out, err,
                  "the clock was held back for different reasons: %.60s for %.80s, %.60s for %.80s",
                  first->throttle, first->name, other->throttle, other->name));
    }
    return AK_OK;
}

/* Says by how much the control differed, with its interval, and what that means by the rules of
   verdict.h. */
static ak_status warn_of_control(ak_warnings *out, const ak_speed *control, ak_error *err)
{
    char what[160];
    const bool inverted = control->ratio < 1;
    const double same = ak_verdict_deviation(control->ratio);
    const double low = inverted ? 1 / control->high : control->low;
    const double high = inverted ? 1 / control->low : control->high;
    const double least = same + 1 > AK_VERDICT_LEAST ? same : AK_VERDICT_LEAST - 1;
    const double most = (high > 1 / low ? high : 1 / low) - 1;
    if (!ak_verdict_decides(low, high)) {
        (void)snprintf(what, sizeof what, "that is too uncertain, so no speed is decided");
    } else if (1 + least > AK_VERDICT_WIDEST) {
        (void)ak_number_print(what, sizeof what,
                              "a speed whose interval comes within %.1f %% of 1 is not decided",
                              100 * most);
    } else {
        (void)ak_number_print(what, sizeof what,
                              "a speed whose interval comes within %.1f %% of 1 is a tie, and one "
                              "that comes within %.1f %% is not decided",
                              100 * least, 100 * most);
    }
    return add(out, err,
               "one candidate measured twice differed by %.1f %% (95 %% interval %.1f .. %.1f %%): "
               "%s",
               100 * same, 100 * (low - 1), 100 * (high - 1), what);
}

ak_status ak_warn_noise(ak_warnings *out, const ak_noise *noise, const ak_compared *list,
                        size_t count, ak_error *err)
{
    bool matters = noise->control.ratio > 0 &&
                   ak_verdict_deviation(noise->control.ratio) > AK_VERDICT_LEAST - 1;
    for (size_t i = 0; i < count && noise->control.ratio > 0; i++) {
        matters = matters || list[i].doubt == AK_DOUBT_CONTROL ||
                  list[i].over_default.doubt == AK_DOUBT_CONTROL;
    }
    if (ak_verdict_busy(noise)) {
        char waits[96] = "whether the measurement itself waited is not known";
        if (noise->waits_known) {
            (void)snprintf(waits, sizeof waits,
                           "in %zu of %zu round%s the measurement itself waited", noise->disturbed,
                           noise->rounds, ak_plural(noise->rounds));
        }
        AK_DO(
            add(out, err,
                "the machine was busy with other work: tasks waited for a processor %.0f %% of the "
                "time, and %s; run it again when the machine is idle",
                100 * noise->pressure, waits));
    }
    return matters ? warn_of_control(out, &noise->control, err) : AK_OK;
}

/* Warns if all times are those of calls on unseen inputs; otherwise passes on the notes of
   candidates, which say what is special about their times. */
static ak_status warn_of_times(ak_warnings *out, const ak_noise *noise, const ak_compared *list,
                               size_t count, ak_error *err)
{
    if (noise->unseen > 0) {
        return add(out, err,
                   "all times are those of calls on inputs that were not seen before, because %zu "
                   "of %zu candidates took much longer on such inputs than in a batch, whose "
                   "inputs repeat",
                   noise->unseen, noise->candidates);
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].note != NULL) {
            AK_DO(add(out, err, "%.80s: %.200s", list[i].name, list[i].note));
        }
    }
    return AK_OK;
}

/* Returns whether a verdict contradicts the order of two times. */
static bool contradicts(ak_speed_verdict verdict, double ms, double other_ms)
{
    return other_ms > 0 && ((verdict == AK_SPEED_FASTER && ms > other_ms) ||
                            (verdict == AK_SPEED_SLOWER && ms < other_ms));
}

/* Warns of the best-ranked configuration whose time contradicts the verdict on it against the
   default or the reference. They can differ, because a time is the median of all rounds, and a
   verdict comes from the ratio in each round. */
static ak_status warn_of_contradiction(ak_warnings *out, const ak_compared *list, size_t count,
                                       ak_error *err)
{
    size_t order[AK_COMPARED_MAX];
    const size_t ranks = ak_compared_order(order, list, count);
    for (size_t r = 0; r < ranks; r++) {
        const ak_compared *c = &list[order[r]];
        for (size_t i = 0; i < count && c->cost <= 0; i++) {
            const ak_compared *other = &list[i];
            const bool fallback = other->over_default.low == 1 && other->over_default.high == 1;
            const bool reference = other->ratio_low == 1 && other->ratio_high == 1;
            if ((fallback &&
                 contradicts(c->over_default.verdict, c->median_ms, other->median_ms)) ||
                (reference && contradicts(c->verdict, c->median_ms, other->median_ms))) {
                const bool faster = c->median_ms > other->median_ms;
                return add(out, err,
                           "#%zu is %s than %.80s in the rounds that both took part in, but its "
                           "time over all rounds is %s (%.4g and %.4g ms): the speed of the "
                           "machine changed meanwhile, so the ratio counts and not the times",
                           r + 1, faster ? "faster" : "slower", other->name,
                           faster ? "longer" : "shorter", c->median_ms, other->median_ms);
            }
        }
    }
    return AK_OK;
}

ak_status ak_warn_comparison(ak_warnings *out, const ak_noise *noise, const ak_compared *list,
                             size_t count, ak_error *err)
{
    AK_DO(warn_of_times(out, noise, list, count, err));
    AK_DO(warn_of_conditions(out, list, count, err));
    AK_DO(warn_of_contradiction(out, list, count, err));
    return ak_warn_noise(out, noise, list, count, err);
}

ak_status ak_warn_start(ak_warnings *out, double pressure, ak_error *err)
{
    if (!(pressure > AK_VERDICT_BUSY)) {
        return AK_OK;
    }
    return add(out, err,
               "the machine is busy with other work (tasks wait for a processor %.0f %% of the "
               "time): times will be less certain; Ctrl-C ends the run and keeps what it found",
               100 * pressure);
}

/* Warns of the pressure beside what was measured outside of a comparison: says `what` it may have
   done, and what to do `again`. */
static ak_status warn_of_pressure(ak_warnings *out, double pressure, const char *what,
                                  const char *again, ak_error *err)
{
    return add(out, err,
               "the machine was busy with other work: tasks waited for a processor %.0f %% of the "
               "time, so %s; %s again when the machine is idle",
               100 * pressure, what, again);
}

ak_status ak_warn_began(ak_warnings *out, double pressure, ak_error *err)
{
    return pressure > AK_VERDICT_BUSY
               ? warn_of_pressure(out, pressure,
                                  "times of the search may be too long, and no finish measured "
                                  "them again",
                                  "run it", err)
               : AK_OK;
}

ak_status ak_warn_trials(ak_warnings *out, const ak_noise *noise, ak_error *err)
{
    const double beside = fmax(noise->pressure_before, noise->pressure_after);
    const double limit = noise->disturbed > 0 ? AK_VERDICT_BUSY : AK_VERDICT_BUSY_ALONE;
    return beside > AK_VERDICT_BUSY || noise->pressure > limit
               ? warn_of_pressure(out, fmax(beside, noise->pressure),
                                  "these times may be too long, and their intervals do not say by "
                                  "how much",
                                  "measure", err)
               : AK_OK;
}

ak_status ak_warn_timed_out(ak_warnings *out, double pressure, ak_error *err)
{
    return pressure > AK_VERDICT_BUSY
               ? warn_of_pressure(out, pressure, "a configuration that timed out may be right",
                                  "check", err)
               : AK_OK;
}

ak_status ak_warn_probe(ak_warnings *out, double beside, double during, ak_error *err)
{
    return beside > AK_VERDICT_BUSY || during > AK_VERDICT_BUSY_ALONE
               ? warn_of_pressure(out, fmax(beside, during),
                                  "the ceilings of devices may be too low", "measure", err)
               : AK_OK;
}

ak_status ak_warn_ceilings(ak_warnings *out, const ak_ceilings *before, const ak_ceilings *after,
                           ak_error *err)
{
    if (!(ak_ceilings_growth(before, after) > CEILINGS_ROSE)) {
        return AK_OK;
    }
    return add(
        out, err,
        "the limits of this device were measured too low when the run began, because the machine "
        "was busy (%.4g TFLOP/s and %.4g GB/s; now %.4g and %.4g), so the fractions of the "
        "roofline that were shown during the search are too high: rely on those of this result "
        "and of 'autokernel report'",
        before->peak_tflops, ak_roofline_bandwidth(before), after->peak_tflops,
        ak_roofline_bandwidth(after));
}

ak_status ak_warn_slower(ak_warnings *out, const ak_compared *library, double before_ms,
                         ak_error *err)
{
    /* A note says that this time is of another kind than `before_ms`. */
    if (before_ms <= 0 || library->note != NULL || library->median_ms <= FAR_SLOWER * before_ms) {
        return AK_OK;
    }
    return add(out, err,
               "%.80s took %.4g ms in the finish and %.4g ms when the run began: the machine was "
               "busy, and the comparison with it is unreliable; run it again",
               library->name, library->median_ms, before_ms);
}

ak_status ak_warn_apart(ak_warnings *out, const ak_compared *best, double before_ms, ak_error *err)
{
    /* A note says that this time is of another kind than the one in the search. */
    if (!(before_ms > 0 && best->median_ms > 0) || best->note != NULL ||
        (best->median_ms <= FAR_SLOWER * before_ms && before_ms <= FAR_SLOWER * best->median_ms)) {
        return AK_OK;
    }
    return add(
        out, err,
        "the best took %.4g ms in the finish and %.4g ms in the search: the machine was busy, and "
        "another configuration may be faster; run it again with --resume when it is idle",
        best->median_ms, before_ms);
}

ak_status ak_warn_not_judged(ak_warnings *out, const ak_compared *fastest, ak_error *err)
{
    if (fastest->median_ms > 0 || fastest->reason == NULL ||
        strncmp(fastest->reason, AK_NOT_JUDGED, sizeof AK_NOT_JUDGED - 1) != 0) {
        return AK_OK;
    }
    return add(out, err,
               "the fastest of the search (%.240s) could not be judged; run again with --resume",
               fastest->config);
}

ak_status ak_warn_unchecked(ak_warnings *out, const ak_task *task, const ak_config *best,
                            ak_error *err)
{
    ak_checked_sizes reach;
    AK_DO(ak_task_checked_sizes(&reach, task, best, err));
    if (reach != AK_CHECKED_OWN || task->problem->edge_case_count == 0) {
        return AK_OK;
    }
    return add(out, err,
               "the best was checked at %.120s only: its conditions allow no edge-case size and "
               "none that could be drawn",
               task->size_text);
}
