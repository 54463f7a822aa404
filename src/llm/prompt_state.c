/* prompt_state.c: what was tried and what came of it, compressed: nothing that failed is left out,
   and nothing is said twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/prompt.h"

#define VALUE_BYTES 256
/* The second anchor differs from the best in at least this many parameters, and is not slower by
   more than this factor. */
#define ANCHOR_DISTANCE 2
#define ANCHOR_SLOWER   1.5
/* A prediction came true if the gain was at least this part of what was expected. */
#define TRUE_SHARE 0.5

typedef struct placed {
    double ms;
    size_t number;
} placed;

typedef struct view {
    const ak_brief *brief;
    const ak_history *history;
    placed *order; /* trials that are ok, fastest first */
    size_t ok;
    size_t start; /* number of the default's trial, 0: it was not tried */
} view;

static const ak_experience *trial_at(const view *v, size_t number)
{
    return &v->history->trials[number - 1];
}

/* ---- order ------------------------------------------------------------------------------------
 */

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

/* Of the dozen best the one most unlike the best; the faster of equals. 0: none is unlike. */
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

/* ---- parts ------------------------------------------------------------------------------------
 */

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
    ak_buf_print(out, "Best: #%zu, %.4g ms", v->order[0].number, best->ms);
    if (v->start != 0 && trial_at(v, v->start)->status == AK_TRIAL_OK &&
        v->start != v->order[0].number) {
        double start = trial_at(v, v->start)->ms;
        ak_buf_print(out, ", %.3g times the speed of the default (#%zu, %.4g ms)", start / best->ms,
                     v->start, start);
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
    ak_buf_print(out, "- %c = #%zu, %.4g ms: ", letter, number, t->ms);
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        ak_value value = ak_config_value(space, &t->config, p);
        (void)ak_value_format(text, sizeof text, &value);
        ak_buf_print(out, "%s%s=%s", p == 0 ? "" : ",", ak_space_parameter(space, p)->name, text);
    }
    ak_buf_putc(out, '\n');
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
    for (size_t i = 0; i < v->ok && i < AK_PROMPT_BEST; i++) {
        const ak_experience *t = trial_at(v, v->order[i].number);
        ak_buf_print(out, "- #%zu %.4g ms%s%s", v->order[i].number, t->ms,
                     t->again ? " (measured again)" : "",
                     t->same_code ? " (compiles to the same code as an earlier one)" : "");
        if (t->spill_bytes > 0) {
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

/* How often each value occurs among the better half, at most a dozen. */
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
        const ak_parameter *parameter = ak_space_parameter(space, p);
        size_t untried = 0, shown = 0;
        size_t before = out->length;
        ak_buf_print(out, "- %s:", parameter->name);
        for (size_t value = 0; value < parameter->value_count; value++) {
            bool tried = false;
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
            ak_buf_print(out, ", ... (%zu of %zu values)", untried, parameter->value_count);
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
    if (t->spill_bytes > 0) {
        ak_buf_print(out, "; spills %d bytes", t->spill_bytes);
    }
    if (t->reason != NULL) {
        ak_buf_puts(out, "; ");
        ak_prompt_quote(out, t->reason, AK_PROMPT_TEXT_MAX);
    }
    ak_buf_putc(out, '\n');
}

/* By kind, with the latest of each. */
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

/* The trial that a prediction was relative to, or NULL if it has no time. */
static const ak_experience *parent_of(const view *v, const ak_experience *t)
{
    size_t number = t->parent == 0 ? v->start : t->parent;
    const ak_experience *parent =
        number == 0 || number > v->history->count ? NULL : trial_at(v, number);
    return parent != NULL && parent->status == AK_TRIAL_OK ? parent : NULL;
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
                     gain >= t->expected * TRUE_SHARE && gain > 0 ? "came true"
                     : gain > 0                                   ? "faster, but by less"
                                                                  : "not faster");
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
            faster += gain > 0;
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

/* Share of failures among the trials of the generation before this one, or of all. */
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

static void put_wish(ak_buf *out, const view *v)
{
    const ak_history *h = v->history;
    ak_portfolio portfolio;
    double failed = failed_share(h);
    ak_prompt_portfolio(&portfolio, h->batch, failed);
    ak_buf_print(out, "\n## Your answer\n\nPropose %zu configuration%s:\n", h->batch,
                 h->batch == 1 ? "" : "s");
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
    if (v->ok > 0) {
        ak_buf_print(out,
                     "Aim for less than %.4g ms, a tenth less than A. If you expect nothing "
                     "better, answer with an empty list.\n",
                     trial_at(v, v->order[0].number)->ms * 0.9);
    }
}

ak_status ak_prompt_state(ak_buf *out, const ak_brief *brief, const ak_history *history,
                          ak_error *err)
{
    view v = {.brief = brief, .history = history};
    v.order = ak_alloc(history->count + 1, sizeof *v.order);
    if (v.order == NULL) {
        return ak_fail_memory(err);
    }
    rank_trials(&v);
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
