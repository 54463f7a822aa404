/* prompt_state.c: writes the changing part of a prompt: what was tried and what came of it. It is
   compressed: most trials are written as differences from the best. The parts are in
   prompt_trials.c, prompt_coverage.c, prompt_claims.c and prompt_wish.c. */
#include <stdlib.h>

#include "base/number.h"
#include "llm/prompt_view.h"

/* An interval whose ends differ by this factor says little about a configuration. */
#define WIDE 2.0

static int compare_times(const void *a, const void *b)
{
    const ak_placed *x = a, *y = b;
    int by_ms = (x->ms > y->ms) - (x->ms < y->ms);
    return by_ms != 0 ? by_ms : (x->number > y->number) - (x->number < y->number);
}

static void rank_trials(ak_prompt_view *v)
{
    ak_config fallback;
    ak_space_default(&fallback, v->brief->space);
    for (size_t i = 0; i < v->history->count; i++) {
        const ak_experience *t = &v->history->trials[i];
        if (v->start == 0 && memcmp(&t->config, &fallback, sizeof fallback) == 0) {
            v->start = i + 1;
        }
        if (t->status == AK_TRIAL_OK) {
            v->order[v->ok++] = (ak_placed){t->ms, i + 1};
        }
    }
    qsort(v->order, v->ok, sizeof *v->order, compare_times);
}

/* Writes how far the results can be trusted: whether they have intervals (a recording has none),
   and whether the machine was busy. */
static void put_precision(ak_buf *out, const ak_prompt_view *v)
{
    size_t known = 0, wide = 0;
    for (size_t i = 0; i < v->ok; i++) {
        const ak_experience *t = ak_prompt_trial(v, v->order[i].number);
        known += t->low_ms > 0 && t->high_ms > t->low_ms;
        wide += t->low_ms > 0 && t->high_ms >= t->low_ms * WIDE;
    }
    if (known > 0) {
        ak_buf_puts(out,
                    "In parentheses: 95 % intervals; where two overlap, nothing is decided.\n");
    } else if (v->ok > 1) {
        ak_buf_puts(out, "No intervals are known: differences of a percent may be noise.\n");
    }
    if (wide > 0) {
        ak_buf_print(out,
                     "%zu trial%s an interval from one time to twice that or more: the machine was "
                     "busy, so what is slow there may not be the configuration.\n",
                     wide, wide == 1 ? " has" : "s have");
    }
}

static void put_summary(ak_buf *out, const ak_prompt_view *v)
{
    const ak_history *h = v->history;
    ak_buf_print(out, "# State before generation %d", h->generation);
    if (h->generations > 0) {
        ak_buf_print(out, " of %d", h->generations);
    }
    if (h->hidden) {
        ak_buf_puts(out,
                    "\n\nYou are not told what was tried and what came of it, so that rule 6 and "
                    "what is said of measured parents do not apply.\n");
        return;
    }
    ak_buf_print(out, "\n\n%zu configuration%s tried", h->count, ak_plural(h->count));
    if (h->evaluations > 0) {
        ak_buf_print(out, " of the %zu that the budget allows", h->evaluations);
    }
    ak_buf_print(out, ": %zu ok, %zu failed.\n", v->ok, h->count - v->ok);
    if (v->ok == 0) {
        return;
    }
    char times[AK_REAL_BYTES];
    const char *merit = ak_prompt_timed(v) ? "the speed of" : "as good as";
    const ak_experience *best = ak_prompt_trial(v, v->order[0].number);
    ak_buf_print(out, "Best: #%zu, ", v->order[0].number);
    ak_prompt_trial_merit(out, v, best);
    if (v->start != 0 && ak_prompt_trial(v, v->start)->status == AK_TRIAL_OK &&
        v->start != v->order[0].number) {
        const ak_experience *start = ak_prompt_trial(v, v->start);
        ak_buf_print(out, ", %s times %s the default (#%zu, ",
                     ak_number_short(times, start->ms / best->ms, 3), merit, v->start);
        ak_objective_print(out, v->brief->objective, start->ms);
        ak_buf_puts(out,
                    ak_prompt_overlap(start, best) ? ": not decided, the intervals overlap)" : ")");
    }
    if (h->library_ms > 0) {
        ak_buf_print(out, ", %s times %s the library ",
                     ak_number_short(times, h->library_ms / best->ms, 3), merit);
        ak_prompt_quote(out, h->library, 60);
        ak_buf_puts(out, " (");
        ak_objective_print(out, v->brief->objective, h->library_ms);
        ak_buf_putc(out, ')');
    }
    ak_buf_puts(out, ".\n");
    put_precision(out, v);
}

static int compare_numbers(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static ak_status open_view(ak_prompt_view *out, const ak_brief *brief, const ak_history *history,
                           ak_error *err)
{
    *out = (ak_prompt_view){.brief = brief, .history = history};
    AK_DO(AK_NEW(out->order, history->count + 1, err));
    rank_trials(out);
    return AK_OK;
}

ak_status ak_prompt_parents(size_t out[AK_PROMPT_PARENTS], size_t *count, const ak_brief *brief,
                            const ak_history *history)
{
    ak_prompt_view v;
    size_t all = 0, claims = 0, kept = 0;
    AK_DO(open_view(&v, brief, history, NULL));
    for (size_t i = 0; i < v.ok; i++) {
        if (ak_prompt_is_listed(&v, i)) {
            out[all++] = v.order[i].number;
        }
    }
    for (size_t n = history->count; n > 0 && claims < AK_PROMPT_CLAIMS; n--) {
        const ak_experience *t = ak_prompt_trial(&v, n);
        claims += t->proposed;
        if (t->proposed && t->status == AK_TRIAL_OK) {
            out[all++] = n;
        }
    }
    if (v.start != 0 && ak_prompt_trial(&v, v.start)->status == AK_TRIAL_OK) {
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

ak_status ak_prompt_looks(size_t out[AK_PROMPT_LOOKS], size_t *count, const ak_brief *brief,
                          const ak_history *history)
{
    ak_prompt_view v;
    size_t all = 0, claims = 0;
    AK_DO(open_view(&v, brief, history, NULL));
    if (v.ok > 0) {
        size_t second = ak_prompt_second(&v);
        out[all++] = v.order[0].number;
        out[all] = second;
        all += second != 0;
    }
    for (size_t n = history->count; n > 0 && claims < AK_PROMPT_CLAIMS; n--) {
        const ak_experience *t = ak_prompt_trial(&v, n);
        claims += t->proposed;
        if (t->proposed && ak_prompt_is_surprise(&v, t)) {
            out[all++] = n;
        }
    }
    *count = all;
    ak_free(v.order);
    return AK_OK;
}

ak_status ak_prompt_state(ak_buf *out, const ak_brief *brief, const ak_history *history,
                          ak_error *err)
{
    ak_prompt_view v;
    AK_DO(open_view(&v, brief, history, err));
    put_summary(out, &v);
    ak_prompt_trials(out, &v);
    ak_prompt_coverage(out, &v);
    ak_prompt_failures(out, &v);
    ak_prompt_claims(out, &v);
    ak_prompt_wish(out, &v);
    ak_free(v.order);
    return ak_buf_status(out, err);
}
