/* prompt_state.c: writes the changing part of a prompt: what was tried and what came of it. It is
   compressed, but no kind of failure is omitted and nothing is stated twice. */
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
/* Share of the best time that a proposal is asked to save, unless the bound is nearer. */
#define AIM 0.1
/* If the bound is at least this share of the best time, little is left to gain. */
#define NEAR_BOUND 0.95

typedef struct placed {
    double ms;
    size_t number;
} placed;

typedef struct view {
    const ak_brief *brief;
    const ak_history *history;
    placed *order; /* trials that are ok, fastest first */
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

/* Writes a time: "1.2 ms", or "1.2 ms (1.1 .. 1.4)" if its interval is known. */
static void put_time(ak_buf *out, const ak_experience *t)
{
    ak_buf_print(out, "%.4g ms", t->ms);
    if (t->high_ms > t->low_ms && t->low_ms > 0) {
        ak_buf_print(out, " (%.4g .. %.4g)", t->low_ms, t->high_ms);
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
    ak_buf_print(out, "\n\n%zu configuration%s tried: %zu ok, %zu failed.\n", h->count,
                 h->count == 1 ? "" : "s", v->ok, h->count - v->ok);
    if (v->ok == 0) {
        return;
    }
    const ak_experience *best = trial_at(v, v->order[0].number);
    ak_buf_print(out, "Best: #%zu, ", v->order[0].number);
    put_time(out, best);
    if (v->start != 0 && trial_at(v, v->start)->status == AK_TRIAL_OK &&
        v->start != v->order[0].number) {
        const ak_experience *start = trial_at(v, v->start);
        ak_buf_print(out, ", %.3g times the speed of the default (#%zu, %.4g ms%s)",
                     start->ms / best->ms, v->start, start->ms,
                     overlap(start, best) ? ": not decided, the intervals overlap" : "");
    }
    if (h->library_ms > 0) {
        ak_buf_print(out, ", %.3g times the speed of the library ", h->library_ms / best->ms);
        ak_prompt_quote(out, h->library, 60);
        ak_buf_print(out, " (%.4g ms)", h->library_ms);
    }
    ak_buf_puts(out, ".\n");
}

static void put_anchor(ak_buf *out, const view *v, char letter, size_t number)
{
    const ak_experience *t = trial_at(v, number);
    const ak_space *space = v->brief->space;
    char text[VALUE_BYTES];
    ak_buf_print(out, "- %c = #%zu, ", letter, number);
    put_time(out, t);
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
    if (t->registers > 0 || t->shared_bytes > 0 || t->spill_bytes > 0) {
        ak_buf_print(out,
                     "  the compiler used %d registers, %d bytes of shared memory, spilled %d "
                     "bytes\n",
                     t->registers, t->shared_bytes, t->spill_bytes);
    }
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
    ak_buf_puts(out, "\n## The fastest, as differences from A\n\n");
    for (size_t i = 0; i < v->ok; i++) {
        if (i >= AK_PROMPT_BEST && i + AK_PROMPT_WORST < v->ok) {
            continue;
        }
        if (i >= AK_PROMPT_BEST && (i == AK_PROMPT_BEST || i + AK_PROMPT_WORST == v->ok)) {
            ak_buf_puts(out, "\n## The slowest\n\n");
        }
        const ak_experience *t = trial_at(v, v->order[i].number);
        ak_buf_print(out, "- #%zu ", v->order[i].number);
        put_time(out, t);
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

static void put_coverage(ak_buf *out, const view *v)
{
    const ak_space *space = v->brief->space;
    ak_buf_puts(out, "\n## Values never tried\n\n");
    bool any = false;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        if (ak_space_occurring(space, p) < 2) {
            continue;
        }
        const ak_parameter *parameter = ak_space_parameter(space, p);
        size_t untried = 0, shown = 0;
        size_t before = out->length;
        ak_buf_print(out, "- %s:", parameter->name);
        for (size_t value = 0; value < parameter->value_count; value++) {
            bool tried = !ak_space_occurs(space, p, value);
            for (size_t i = 0; i < v->history->count && !tried; i++) {
                tried = v->history->trials[i].config.at[p] == value;
            }
            if (!tried && ++untried <= 16) {
                char text[VALUE_BYTES];
                (void)ak_value_format(text, sizeof text, &parameter->values[value]);
                ak_buf_print(out, "%s %s", shown++ == 0 ? "" : ",", text);
            }
        }
        if (untried > shown) {
            ak_buf_print(out, ", ... (%zu of %zu values)", untried, ak_space_occurring(space, p));
        }
        ak_buf_putc(out, '\n');
        if (untried == 0 && out->failed == AK_OK) {
            out->length = before;
            out->data[before] = 0;
        }
        any = any || untried > 0;
    }
    if (!any) {
        ak_buf_puts(out, "none: each value of each parameter was tried at least once\n");
    }
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
    return off >= -allowed && off <= allowed ? "came true"
           : off > 0                         ? "better than expected"
           : gain > 0                        ? "faster, but by less"
                                             : "not faster";
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
        ak_buf_print(out, "%.4g ms; its parent has no time", t->ms);
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
                     ": %zu were faster than their parent; you were off by %.3g percentage "
                     "points on average",
                     faster, error / (double)judged * 100);
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

/* Writes the time to aim for: a tenth less than the best, but never less than the bound. */
static void put_aim(ak_buf *out, const view *v)
{
    if (v->ok == 0) {
        return;
    }
    double best = v->order[0].ms, aim = best * (1 - AIM);
    double bound = v->brief->share > AK_SHARE_FACTS ? 0 : v->brief->least_ms;
    if (bound > 0 && bound < best && bound >= best * NEAR_BOUND) {
        ak_buf_print(out, "A is at %.3g %% of the least possible time: little is left to gain.\n",
                     bound / best * 100);
    } else if (bound > aim && bound < best) {
        ak_buf_print(out, "Aim for %.4g ms, the least possible time.\n", bound);
    } else {
        ak_buf_print(out, "Aim for less than %.4g ms, a tenth less than A, where you see a way.\n",
                     aim);
    }
    ak_buf_puts(out, "Propose only what you expect to be faster or to teach something. If that is "
                     "nothing, answer with an empty list.\n");
}

static void put_wish(ak_buf *out, const view *v)
{
    const ak_history *h = v->history;
    ak_portfolio portfolio;
    double failed = failed_share(h);
    bool late = h->generation > 1 && h->generation * 2 > h->generations && h->generations > 0;
    ak_prompt_portfolio(&portfolio, h->batch, failed, late);
    ak_buf_print(out, "\n## Your answer\n\nPropose %s%zu configuration%s, such as:\n",
                 h->count == 0 ? "" : "up to ", h->batch, h->batch == 1 ? "" : "s");
    if (portfolio.near > 0) {
        ak_buf_print(out, "- %zu near %s: one or two parameters changed\n", portfolio.near,
                     v->ok > 0 ? "A, most of them with A as the parent" : "the default");
    }
    if (portfolio.balanced > 0) {
        ak_buf_print(out,
                     "- %zu balanced: three to five parameters changed together for one "
                     "reason%s\n",
                     portfolio.balanced, v->ok > 1 ? ", from A or B" : "");
    }
    if (portfolio.bold > 0) {
        ak_buf_print(out, "- %zu bold: another way to use this hardware, unlike anything tried\n",
                     portfolio.bold);
    }
    if (failed >= 1.0 / 3) {
        ak_buf_puts(out,
                    "A third or more of the latest failed: take small steps from what works.\n");
    }
    if (h->count == 0) {
        ak_buf_puts(out, "Nothing was measured yet. Let at least three differ clearly in their "
                         "blocking.\n");
    }
    put_aim(out, v);
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
        if (i < AK_PROMPT_BEST || i + AK_PROMPT_WORST >= v.ok) {
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
    put_frequencies(out, &v);
    if (history->count > 0) {
        put_coverage(out, &v);
    }
    put_failures(out, &v);
    put_claims(out, &v);
    put_refusals(out, history);
    put_wish(out, &v);
    ak_free(v.order);
    return ak_buf_status(out, err);
}
