/* prompt_state.c: writes the changing part of a prompt: what was tried and what came of it. It is
   compressed, but no kind of failure is omitted and nothing is stated twice. It is long because
   the state has many parts, each a function of its own that shares the order of the trials. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/prompt.h"

#define VALUE_BYTES 256
/* The second anchor differs from the best in at least this many parameters and is slower by at most
   this factor. */
#define ANCHOR_DISTANCE 2
#define ANCHOR_SLOWER   1.5
/* A prediction came true if the gain differs from the expected gain by at most this share of the
   expected gain, or by at most TRUE_LEAST. */
#define TRUE_SHARE 0.5
#define TRUE_LEAST 0.02
/* If the bound is at least this share of the best time, little is left to gain. */
#define NEAR_BOUND 0.95
/* Trials that are at least this many times as slow as the best have collapsed. */
#define COLLAPSED 2.0
/* Fewer trials than this say nothing about the optimum. */
#define FIT_LEAST      8
#define COVERAGE_LEAST 4  /* fewer trials leave nearly all values untried */
#define UNTRIED_SHOWN  16 /* untried values of a parameter that are listed */

typedef struct placed {
    double ms;
    size_t number;
} placed; /* `ms` as in ak_experience */

typedef struct view {
    const ak_brief *brief;
    const ak_history *history;
    placed *order; /* trials that are ok, the best first */
    size_t ok;
    size_t start; /* number of the default's trial; 0 if it was not tried */
} view;

static const ak_experience *trial_at(const view *v, size_t number)
{
    return &v->history->trials[number - 1];
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int by_ms = (x->ms > y->ms) - (x->ms < y->ms);
    return by_ms != 0 ? by_ms : (x->number > y->number) - (x->number < y->number);
}

static void rank_trials(view *v)
{
    ak_config fallback;
    ak_space_default(&fallback, v->brief->space);
    for (size_t i = 0; i < v->history->count; i++) {
        const ak_experience *t = &v->history->trials[i];
        if (v->start == 0 && memcmp(&t->config, &fallback, sizeof fallback) == 0) {
            v->start = i + 1;
        }
        if (t->status == AK_TRIAL_OK) {
            v->order[v->ok++] = (placed){t->ms, i + 1};
        }
    }
    qsort(v->order, v->ok, sizeof *v->order, compare_times);
}

static size_t distance(const ak_space *space, const ak_config *a, const ak_config *b)
{
    size_t count = 0;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        count += a->at[p] != b->at[p];
    }
    return count;
}

/* Returns the number of the trial, among the dozen best, that differs from the best in the most
   parameters; among equals it is the fastest. Returns 0 if none differs enough. */
static size_t second_anchor(const view *v)
{
    size_t chosen = 0, most = ANCHOR_DISTANCE - 1;
    for (size_t i = 1; i < v->ok && i < AK_PROMPT_BEST; i++) {
        size_t d = distance(v->brief->space, &trial_at(v, v->order[0].number)->config,
                            &trial_at(v, v->order[i].number)->config);
        if (d > most && v->order[i].ms <= v->order[0].ms * ANCHOR_SLOWER) {
            most = d;
            chosen = v->order[i].number;
        }
    }
    return chosen;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool timed(const view *v)
{
    return v->brief->objective == NULL;
}

/* Writes a time with its interval, if that is known: "1.2 ms (1.1 .. 1.4)"; with another objective
   its value, and the time behind it: "2.5 J (2.4 .. 2.6), 1.2 ms". */
static void put_merit(ak_buf *out, const view *v, const ak_experience *t)
{
    ak_prompt_merit(out, v->brief, t->ms);
    if (t->high_ms > t->low_ms && t->low_ms > 0) {
        double low = ak_objective_value(v->brief->objective, t->low_ms);
        double high = ak_objective_value(v->brief->objective, t->high_ms);
        ak_buf_print(out, " (%.4g .. %.4g)", low < high ? low : high, low < high ? high : low);
    }
    if (!timed(v) && t->time_ms > 0) {
        ak_buf_print(out, ", %.4g ms", t->time_ms);
    }
}

/* Returns true if the intervals overlap, so that the two may be equally fast. */
static bool overlap(const ak_experience *a, const ak_experience *b)
{
    return a->high_ms > 0 && b->high_ms > 0 && a->low_ms <= b->high_ms && b->low_ms <= a->high_ms;
}

static void put_summary(ak_buf *out, const view *v)
{
    const ak_history *h = v->history;
    ak_buf_print(out, "# State before generation %d", h->generation);
    if (h->generations > 0) {
        ak_buf_print(out, " of %d", h->generations);
    }
    if (h->hidden) {
        ak_buf_puts(out, "\n\nYou are not told what was tried and what came of it.\n");
        return;
    }
    ak_buf_print(out, "\n\n%zu configuration%s tried: %zu ok, %zu failed.\n", h->count,
                 h->count == 1 ? "" : "s", v->ok, h->count - v->ok);
    if (v->ok == 0) {
        return;
    }
    const char *merit = timed(v) ? "the speed of" : "as good as";
    const ak_experience *best = trial_at(v, v->order[0].number);
    ak_buf_print(out, "Best: #%zu, ", v->order[0].number);
    put_merit(out, v, best);
    if (v->start != 0 && trial_at(v, v->start)->status == AK_TRIAL_OK &&
        v->start != v->order[0].number) {
        const ak_experience *start = trial_at(v, v->start);
        ak_buf_print(out, ", %.3g times %s the default (#%zu, ", start->ms / best->ms, merit,
                     v->start);
        ak_prompt_merit(out, v->brief, start->ms);
        ak_buf_puts(out, overlap(start, best) ? ": not decided, the intervals overlap)" : ")");
    }
    if (h->library_ms > 0) {
        ak_buf_print(out, ", %.3g times %s the library ", h->library_ms / best->ms, merit);
        ak_prompt_quote(out, h->library, 60);
        ak_buf_puts(out, " (");
        ak_prompt_merit(out, v->brief, h->library_ms);
        ak_buf_putc(out, ')');
    }
    ak_buf_puts(out, ".\n");
}

/* Writes how a configuration fills a GPU and what its compiler used, as far as both are known. */
static void put_compiled(ak_buf *out, const view *v, const ak_experience *t)
{
    if (v->brief->share > AK_SHARE_FACTS) {
        return;
    }
    size_t before = out->length;
    ak_buf_puts(out, "  launch: ");
    size_t title = out->length;
    ak_prompt_filling(out, v->brief, &t->config, t->registers);
    if (out->length == title && out->failed == AK_OK) {
        out->length = before;
        out->data[before] = 0;
    }
    if (t->registers > 0 || t->shared_bytes > 0 || t->spill_bytes > 0) {
        ak_buf_print(out,
                     "  the compiler used %d registers, %d bytes of shared memory, spilled %d "
                     "bytes\n",
                     t->registers, t->shared_bytes, t->spill_bytes);
    }
}

static void put_anchor(ak_buf *out, const view *v, char letter, size_t number)
{
    const ak_experience *t = trial_at(v, number);
    const ak_space *space = v->brief->space;
    char text[VALUE_BYTES];
    ak_buf_print(out, "- %c = #%zu, ", letter, number);
    put_merit(out, v, t);
    ak_buf_puts(out, ": ");
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        ak_value value = ak_config_value(space, &t->config, p);
        (void)ak_value_format(text, sizeof text, &value);
        ak_buf_print(out, "%s%s=%s", p == 0 ? "" : ",", ak_space_parameter(space, p)->name, text);
    }
    ak_buf_putc(out, '\n');
    if (v->brief->share > AK_SHARE_FACTS) {
        return;
    }
    for (size_t i = 0; i < v->brief->derived_count; i++) {
        ak_derived_show(text, sizeof text, v->brief, &v->brief->derived[i], &t->config);
        ak_buf_print(out, "  %s: %s\n", v->brief->derived[i].name, text);
    }
    put_compiled(out, v, t);
}

/* Says whether the trial with this rank is shown: all of them or, of many, the fastest and the
   slowest. */
static bool is_listed(const view *v, size_t rank)
{
    return v->ok <= AK_PROMPT_LISTED || rank < AK_PROMPT_BEST || rank + AK_PROMPT_WORST >= v->ok;
}

static void put_best(ak_buf *out, const view *v)
{
    if (v->ok == 0) {
        return;
    }
    size_t second = second_anchor(v);
    ak_buf_puts(out, "\n## Anchors\n\n");
    put_anchor(out, v, 'A', v->order[0].number);
    if (second != 0) {
        put_anchor(out, v, 'B', second);
    }
    ak_buf_print(out, "\n## The %s, as differences from A\n\n", timed(v) ? "fastest" : "best");
    for (size_t i = 0; i < v->ok; i++) {
        if (!is_listed(v, i)) {
            continue;
        }
        bool slowest = i >= AK_PROMPT_BEST && i + AK_PROMPT_WORST == v->ok;
        if (i == AK_PROMPT_BEST || slowest) {
            const char *title = slowest    ? timed(v) ? "slowest" : "worst"
                                : timed(v) ? "others, from fast to slow"
                                           : "others, from good to bad";
            ak_buf_print(out, "\n## The %s\n\n", title);
        }
        const ak_experience *t = trial_at(v, v->order[i].number);
        ak_buf_print(out, "- #%zu ", v->order[i].number);
        put_merit(out, v, t);
        if (t->author != NULL) {
            ak_buf_print(out, " (by %s)", t->author);
        }
        ak_buf_print(out, "%s%s", t->again ? " (measured again)" : "",
                     t->same_code ? " (compiles to the same code as an earlier one)" : "");
        if (t->spill_bytes > 0 && v->brief->share <= AK_SHARE_FACTS) {
            ak_buf_print(out, " (spills %d bytes)", t->spill_bytes);
        }
        ak_buf_puts(out, ": ");
        if (i == 0) {
            ak_buf_puts(out, "A itself");
        } else {
            ak_prompt_difference(out, v->brief->space, &trial_at(v, v->order[0].number)->config,
                                 &t->config);
        }
        ak_buf_putc(out, '\n');
    }
}

/* Writes how often each value occurs in the better half of the trials, at most a dozen of them. */
static void put_frequencies(ak_buf *out, const view *v)
{
    const ak_space *space = v->brief->space;
    size_t among = (v->ok + 1) / 2 < AK_PROMPT_BEST ? (v->ok + 1) / 2 : AK_PROMPT_BEST;
    if (among < 3) {
        return;
    }
    ak_buf_print(out, "\n## Values among the best %zu\n\n", among);
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        const ak_parameter *parameter = ak_space_parameter(space, p);
        bool first = true;
        if (ak_space_occurring(space, p) < 2) {
            continue;
        }
        ak_buf_print(out, "- %s:", parameter->name);
        for (size_t value = 0; value < parameter->value_count; value++) {
            size_t count = 0;
            for (size_t i = 0; i < among; i++) {
                count += trial_at(v, v->order[i].number)->config.at[p] == value;
            }
            if (count > 0) {
                char text[VALUE_BYTES];
                (void)ak_value_format(text, sizeof text, &parameter->values[value]);
                ak_buf_print(out, "%s %s x%zu", first ? "" : ",", text, count);
                first = false;
            }
        }
        ak_buf_putc(out, '\n');
    }
}

/* Writes what is known of a value: the best trial with it, or that all trials with it failed. */
static void put_value_known(ak_buf *out, const view *v, size_t p, size_t value)
{
    char text[VALUE_BYTES];
    (void)ak_value_format(text, sizeof text,
                          &ak_space_parameter(v->brief->space, p)->values[value]);
    for (size_t i = 0; i < v->ok; i++) {
        if (trial_at(v, v->order[i].number)->config.at[p] == value) {
            ak_buf_print(out, "%s: best ", text);
            ak_prompt_merit(out, v->brief, v->order[i].ms);
            return;
        }
    }
    ak_buf_print(out, "%s: failed", text);
}

static bool was_tried(const view *v, size_t p, size_t value)
{
    bool tried = false;
    for (size_t i = 0; i < v->history->count && !tried; i++) {
        tried = v->history->trials[i].config.at[p] == value;
    }
    return tried;
}

/* Writes the values of a parameter that were never tried. Each run of them is followed by what is
   known of the tried values next to it. Returns their number. */
static size_t put_untried(ak_buf *out, const view *v, size_t p)
{
    const ak_space *space = v->brief->space;
    const ak_parameter *parameter = ak_space_parameter(space, p);
    size_t untried = 0, run = 0, left = SIZE_MAX;
    for (size_t value = 0; value <= parameter->value_count; value++) {
        bool inside = value < parameter->value_count;
        if (inside && !ak_space_occurs(space, p, value)) {
            continue;
        }
        if (inside && !was_tried(v, p, value)) {
            char text[VALUE_BYTES];
            (void)ak_value_format(text, sizeof text, &parameter->values[value]);
            run++;
            if (++untried <= UNTRIED_SHOWN) {
                ak_buf_print(out, "%s %s", untried == 1 ? "" : ",", text);
            }
            continue;
        }
        bool ordered =
            parameter->values[0].type == AK_VALUE_INT || parameter->values[0].type == AK_VALUE_REAL;
        if (run > 0 && ordered && untried <= UNTRIED_SHOWN && (left != SIZE_MAX || inside)) {
            ak_buf_puts(out, " (beside ");
            if (left != SIZE_MAX) {
                put_value_known(out, v, p, left);
            }
            if (inside) {
                ak_buf_puts(out, left == SIZE_MAX ? "" : ", ");
                put_value_known(out, v, p, value);
            }
            ak_buf_putc(out, ')');
        }
        run = 0;
        left = value;
    }
    if (untried > UNTRIED_SHOWN) {
        ak_buf_print(out, ", ... (%zu of %zu values)", untried, ak_space_occurring(space, p));
    }
    return untried;
}

static void put_coverage(ak_buf *out, const view *v)
{
    const ak_space *space = v->brief->space;
    ak_buf_puts(out, "\n## Values never tried\n\n");
    bool any = false;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        if (ak_space_occurring(space, p) < 2) {
            continue;
        }
        size_t before = out->length;
        ak_buf_print(out, "- %s:", ak_space_parameter(space, p)->name);
        size_t untried = put_untried(out, v, p);
        ak_buf_putc(out, '\n');
        if (untried == 0 && out->failed == AK_OK) {
            out->length = before;
            out->data[before] = 0;
        }
        any = any || untried > 0;
    }
    ak_buf_puts(out, any ? "That a value was not tried is no reason to try it.\n"
                         : "none: each value of each parameter was tried at least once\n");
}

/* Writes the values that all collapsed trials have and at most a third of the others. */
static void put_collapses(ak_buf *out, const view *v)
{
    const ak_space *space = v->brief->space;
    size_t first = 0, shown = 0;
    while (first < v->ok && v->order[first].ms < v->order[0].ms * COLLAPSED) {
        first++;
    }
    size_t collapsed = v->ok - first;
    if (first == 0 || collapsed < 2) {
        return;
    }
    ak_buf_print(
        out, "\n## Collapses\n\n%zu of %zu trials %s at least %.3g times as %s as the best",
        collapsed, v->ok, timed(v) ? "took" : "were", COLLAPSED, timed(v) ? "long" : "bad");
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        size_t value = trial_at(v, v->order[first].number)->config.at[p], with = 0, others = 0;
        for (size_t i = 0; i < v->ok; i++) {
            bool has = trial_at(v, v->order[i].number)->config.at[p] == value;
            with += i >= first && has;
            others += i < first && has;
        }
        if (with == collapsed && others * 3 <= first) {
            char text[VALUE_BYTES];
            (void)ak_value_format(text, sizeof text, &ak_space_parameter(space, p)->values[value]);
            ak_buf_print(out, "%s %s=%s (%zu of the %zu others)",
                         shown++ == 0 ? "; what all of them have and few others:" : ",",
                         ak_space_parameter(space, p)->name, text, others, first);
        }
    }
    ak_buf_puts(out, shown == 0 ? "; no single value explains them.\n" : ".\n");
}

static void put_failure(ak_buf *out, const view *v, size_t number)
{
    const ak_experience *t = trial_at(v, number);
    ak_config fallback;
    ak_space_default(&fallback, v->brief->space);
    ak_buf_print(out, "  - #%zu, ", number);
    if (v->ok > 0) {
        ak_buf_puts(out, "from A: ");
        ak_prompt_difference(out, v->brief->space, &trial_at(v, v->order[0].number)->config,
                             &t->config);
    } else {
        ak_buf_puts(out, "from the default: ");
        ak_prompt_difference(out, v->brief->space, &fallback, &t->config);
    }
    if (t->max_error > 1.0 && t->max_error < 1e300) {
        ak_buf_print(out, "; error %.3g times what is allowed", t->max_error);
    }
    if (t->spill_bytes > 0 && v->brief->share <= AK_SHARE_FACTS) {
        ak_buf_print(out, "; spills %d bytes", t->spill_bytes);
    }
    /* A compiler quotes the source. */
    bool source = t->status == AK_TRIAL_COMPILE_ERROR;
    if (t->reason != NULL && v->brief->share <= (source ? AK_SHARE_SOURCE : AK_SHARE_FACTS)) {
        ak_buf_puts(out, "; ");
        ak_prompt_quote(out, t->reason, AK_PROMPT_TEXT_MAX);
    }
    ak_buf_putc(out, '\n');
}

/* Writes the number of failures of each kind, with the latest ones. */
static void put_failures(ak_buf *out, const view *v)
{
    if (v->ok == v->history->count) {
        return;
    }
    ak_buf_puts(out, "\n## Failures\n\n");
    for (int kind = 0; kind < AK_TRIAL_STATUS_COUNT; kind++) {
        size_t count = 0, shown = 0;
        for (size_t i = 0; i < v->history->count; i++) {
            count += v->history->trials[i].status == (ak_trial_status)kind;
        }
        if (kind == AK_TRIAL_OK || count == 0) {
            continue;
        }
        ak_buf_print(out, "- %s: %zu\n", ak_trial_status_text((ak_trial_status)kind), count);
        for (size_t number = v->history->count; number > 0 && shown < AK_PROMPT_SAMPLES; number--) {
            if (trial_at(v, number)->status == (ak_trial_status)kind) {
                put_failure(out, v, number);
                shown++;
            }
        }
    }
}

/* Returns the trial that a prediction refers to, or NULL if this trial has no time. */
static const ak_experience *parent_of(const view *v, const ak_experience *t)
{
    size_t number = t->parent == 0 ? v->start : t->parent;
    const ak_experience *parent =
        number == 0 || number > v->history->count ? NULL : trial_at(v, number);
    return parent != NULL && parent->status == AK_TRIAL_OK ? parent : NULL;
}

/* Says in words how a measured gain compares with the expected one. */
static const char *verdict_of(double gain, double expected)
{
    double off = gain - expected, size = expected < 0 ? -expected : expected;
    double allowed = size * TRUE_SHARE > TRUE_LEAST ? size * TRUE_SHARE : TRUE_LEAST;
    bool equal = gain > -TRUE_LEAST && gain < TRUE_LEAST && size < TRUE_LEAST;
    return equal                               ? "came true: little difference"
           : off >= -allowed && off <= allowed ? "came true"
           : off > 0                           ? "better than expected"
           : gain > 0                          ? "faster, but by less"
                                               : "not faster";
}

/* Returns whether the result contradicts the prediction, so that it is worth to look at the code.
 */
static bool is_surprise(const view *v, const ak_experience *t)
{
    const ak_experience *parent = parent_of(v, t);
    if (t->status != AK_TRIAL_OK || parent == NULL || overlap(parent, t)) {
        return false;
    }
    double gain = parent->ms / t->ms - 1;
    return strncmp(verdict_of(gain, t->expected), "came true", 9) != 0;
}

static void put_claim(ak_buf *out, const view *v, size_t number)
{
    const ak_experience *t = trial_at(v, number), *parent = parent_of(v, t);
    ak_buf_print(out, "- #%zu from ", number);
    if (t->parent == 0) {
        ak_buf_puts(out, "the default: ");
    } else {
        ak_buf_print(out, "#%zu: ", t->parent);
    }
    ak_buf_print(out, "expected %+.3g %%, ", t->expected * 100);
    if (t->status != AK_TRIAL_OK) {
        ak_buf_print(out, "failed (%s)", ak_trial_status_text(t->status));
    } else if (parent == NULL) {
        ak_prompt_merit(out, v->brief, t->ms);
        ak_buf_print(out, "; its parent has no %s", timed(v) ? "time" : "result");
    } else {
        double gain = parent->ms / t->ms - 1;
        ak_buf_print(out, "measured %+.3g %%: %s", gain * 100,
                     overlap(parent, t) ? "not decided, the intervals overlap"
                                        : verdict_of(gain, t->expected));
    }
    if (t->hypothesis != NULL && t->hypothesis[0] != 0) {
        ak_buf_puts(out, ". ");
        ak_prompt_quote(out, t->hypothesis, AK_PROMPT_TEXT_MAX);
    }
    ak_buf_putc(out, '\n');
    if (is_surprise(v, t)) {
        put_compiled(out, v, t);
    }
}

static void put_claims(ak_buf *out, const view *v)
{
    size_t made = 0, faster = 0, judged = 0, shown = 0;
    double error = 0;
    for (size_t i = 0; i < v->history->count; i++) {
        const ak_experience *t = &v->history->trials[i], *parent = parent_of(v, t);
        if (!t->proposed) {
            continue;
        }
        made++;
        if (t->status == AK_TRIAL_OK && parent != NULL) {
            double gain = parent->ms / t->ms - 1;
            judged++;
            faster += gain > 0 && !overlap(parent, t);
            error += gain > t->expected ? gain - t->expected : t->expected - gain;
        }
    }
    if (made == 0) {
        return;
    }
    ak_buf_print(out, "\n## What came of your predictions\n\n%zu made, %zu could be judged", made,
                 judged);
    if (judged > 0) {
        ak_buf_print(out,
                     ": %zu were %s than their parent; you were off by %.3g percentage points on "
                     "average",
                     faster, timed(v) ? "faster" : "better", error / (double)judged * 100);
    }
    ak_buf_puts(out, ". The latest:\n\n");
    for (size_t number = v->history->count; number > 0 && shown < AK_PROMPT_CLAIMS; number--) {
        if (trial_at(v, number)->proposed) {
            put_claim(out, v, number);
            shown++;
        }
    }
}

static void put_refusals(ak_buf *out, const ak_history *h)
{
    if (h->refusal_count == 0) {
        return;
    }
    ak_buf_puts(out, "\n## Proposals of your last answer that were not tried as you made them\n\n");
    for (size_t i = 0; i < h->refusal_count && i < AK_PROMPT_REFUSALS; i++) {
        ak_buf_puts(out, "- ");
        ak_prompt_quote(out, h->refusals[i].text, AK_PROMPT_TEXT_MAX);
        ak_buf_puts(out, ": ");
        ak_prompt_quote(out, h->refusals[i].reason, AK_PROMPT_TEXT_MAX + 100);
        ak_buf_putc(out, '\n');
    }
    if (h->refusal_count > AK_PROMPT_REFUSALS) {
        ak_buf_print(out, "- and %zu more\n", h->refusal_count - AK_PROMPT_REFUSALS);
    }
}

/* Returns the share of failures among the trials of the previous generation, or among all trials if
   it has none. */
static double failed_share(const ak_history *h)
{
    size_t latest = 0, latest_failed = 0, failed = 0;
    for (size_t i = 0; i < h->count; i++) {
        bool bad = h->trials[i].status != AK_TRIAL_OK;
        bool recent = h->trials[i].proposed && h->trials[i].generation == h->generation - 1;
        failed += bad;
        latest += recent;
        latest_failed += recent && bad;
    }
    return latest > 0     ? (double)latest_failed / (double)latest
           : h->count > 0 ? (double)failed / (double)h->count
                          : 0;
}

/* Estimates the optimum from the fastest trials: the least value of a distribution lies about as
   far below the best of a sample as that lies below the second best (Robson and Whitlock,
   Biometrika 51, 1964). */
static double fitted_optimum(const view *v)
{
    return v->ok < FIT_LEAST ? 0 : 2 * v->order[0].ms - v->order[1].ms;
}

/* Writes what to aim for: what the trials make likely, but never less than the bound. */
static void put_aim(ak_buf *out, const view *v)
{
    double bound = v->brief->share > AK_SHARE_FACTS || !timed(v) ? 0 : v->brief->least_ms;
    double best = v->ok == 0 ? 0 : v->order[0].ms, fitted = fitted_optimum(v);
    if (bound > 0 && bound < best && bound >= best * NEAR_BOUND) {
        ak_buf_print(out, "A is at %.3g %% of the least possible time: little is left to gain.\n",
                     bound / best * 100);
    } else if (bound > 0 && bound < best) {
        ak_buf_print(out, "The least possible time is %.4g ms; A takes %.3g times as long.\n",
                     bound, best / bound);
    }
    if (fitted > bound && fitted < best) {
        ak_buf_print(out, "How far the %s trials lie apart suggests that about ",
                     timed(v) ? "fastest" : "best");
        ak_prompt_merit(out, v->brief, fitted);
        ak_buf_puts(out, " can be reached without a new idea.\n");
    }
}

/* Returns whether the latest generation of the model found nothing faster. */
static bool stands_still(const view *v)
{
    const ak_history *h = v->history;
    return h->generation > 2 && v->ok > 0 &&
           trial_at(v, v->order[0].number)->generation != h->generation - 1;
}

static void put_wish(ak_buf *out, const view *v)
{
    const ak_history *h = v->history;
    double failed = failed_share(h);
    bool last = h->generations > 1 && h->generation >= h->generations;
    ak_buf_print(out, "\n## Your answer\n\nPropose up to %zu configuration%s. ", h->batch,
                 h->batch == 1 ? "" : "s");
    if (failed >= 1.0 / 3) {
        ak_buf_puts(out,
                    "A third or more of the latest failed: take small steps from what works.\n");
    } else if (h->generation <= 1 || h->count == 0) {
        ak_buf_puts(out, "Little was measured yet: spread out. Let several differ clearly in their "
                         "blocking, each for a reason, and each a configuration that you would bet "
                         "on.\n");
    } else if (last || stands_still(v)) {
        ak_buf_print(out,
                     "Search near the %s: change one or two parameters of A or B that the trials "
                     "have not settled, and combine what helped apart. Spend one or two on another "
                     "kind of configuration only if you can say why it wins.\n",
                     timed(v) ? "fastest" : "best");
    } else {
        ak_buf_puts(out,
                    "Build on A and B: combine what helped apart, settle what is undecided, and "
                    "follow the best hypothesis further. A few may be of another kind, where "
                    "the figures speak for it.\n");
    }
    put_aim(out, v);
    ak_buf_puts(out, h->count == 0
                         ? "Fewer are welcome, if they are better.\n"
                         : "Fewer are welcome: propose only what you expect to be faster than A or "
                           "to settle a question. An empty list says that you expect nothing "
                           "more.\n");
}

static int compare_numbers(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static ak_status open_view(view *out, const ak_brief *brief, const ak_history *history,
                           ak_error *err)
{
    *out = (view){.brief = brief, .history = history};
    out->order = ak_alloc(history->count + 1, sizeof *out->order);
    if (out->order == NULL) {
        return ak_fail_memory(err);
    }
    rank_trials(out);
    return AK_OK;
}

ak_status ak_prompt_parents(size_t out[AK_PROMPT_PARENTS], size_t *count, const ak_brief *brief,
                            const ak_history *history)
{
    view v;
    size_t all = 0, claims = 0, kept = 0;
    AK_DO(open_view(&v, brief, history, NULL));
    for (size_t i = 0; i < v.ok; i++) {
        if (is_listed(&v, i)) {
            out[all++] = v.order[i].number;
        }
    }
    for (size_t n = history->count; n > 0 && claims < AK_PROMPT_CLAIMS; n--) {
        const ak_experience *t = trial_at(&v, n);
        claims += t->proposed;
        if (t->proposed && t->status == AK_TRIAL_OK) {
            out[all++] = n;
        }
    }
    if (v.start != 0 && trial_at(&v, v.start)->status == AK_TRIAL_OK) {
        out[all++] = v.start;
    }
    qsort(out, all, sizeof *out, compare_numbers);
    for (size_t i = 0; i < all; i++) {
        if (kept == 0 || out[i] != out[kept - 1]) {
            out[kept++] = out[i];
        }
    }
    *count = kept;
    ak_free(v.order);
    return AK_OK;
}

ak_status ak_prompt_state(ak_buf *out, const ak_brief *brief, const ak_history *history,
                          ak_error *err)
{
    view v;
    AK_DO(open_view(&v, brief, history, err));
    put_summary(out, &v);
    put_best(out, &v);
    put_collapses(out, &v);
    put_frequencies(out, &v);
    if (history->count >= COVERAGE_LEAST) {
        put_coverage(out, &v);
    }
    put_failures(out, &v);
    put_claims(out, &v);
    put_refusals(out, history);
    put_wish(out, &v);
    ak_free(v.order);
    return ak_buf_status(out, err);
}
