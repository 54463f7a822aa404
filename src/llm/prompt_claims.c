/* prompt_claims.c: writes the outcomes of a model's predictions, and which of its proposals were
   refused or changed. */
#include <math.h>

#include "base/number.h"
#include "llm/prompt_view.h"

/* A prediction came true if the gain has the expected direction and differs from the expected gain
   by at most TRUE_SHARE of it, or by at most TRUE_LEAST. A gain or loss below TRUE_LEAST is no
   difference; if none was expected and there is none, the prediction came true. */
#define TRUE_SHARE    0.25
#define TRUE_LEAST    0.02
#define TRUE_ROUNDING 1e-9 /* allows for rounding: a gain exactly at the limit came true */

/* Returns the parent's trial, to which a prediction refers; without a parent, that of the default
   configuration. Returns NULL if there is no such trial or it failed. */
static const ak_experience *parent_of(const ak_prompt_view *v, const ak_experience *t)
{
    size_t number = t->parent == 0 ? v->start : t->parent;
    const ak_experience *parent =
        number == 0 || number > v->history->count ? NULL : ak_prompt_trial(v, number);
    return parent != NULL && parent->status == AK_TRIAL_OK ? parent : NULL;
}

/* Returns the direction of a gain: -1 slower (or worse by another objective), 0 little difference,
   1 faster. */
static int direction(double gain)
{
    return gain >= TRUE_LEAST ? 1 : gain <= -TRUE_LEAST ? -1 : 0;
}

/* Returns true if a gain is as expected (TRUE_SHARE, TRUE_LEAST). */
static bool came_true(double gain, double expected)
{
    double off = fabs(gain - expected), allowed = fabs(expected) * TRUE_SHARE;
    bool alike = direction(gain) == direction(expected);
    return (alike && direction(gain) == 0) ||
           (alike && off <= fmax(allowed, TRUE_LEAST) + TRUE_ROUNDING);
}

/* Returns the outcome of a prediction in words: first what was measured, then how that compares
   with what was expected. A foreseen loss thus reads as a prediction that came true, and an
   unforeseen gain as one that did not. */
static const char *verdict_of(double gain, double expected)
{
    static const char *const words[3][3] = {
        /* measured slower, little difference, faster */
        {NULL, "little difference, where a loss was expected", "faster, where a loss was expected"},
        {"slower, where little difference was expected", NULL,
         "faster, where little difference was expected"},
        {"slower, where a gain was expected", "little difference, where a gain was expected",
         NULL}};
    const char *different = words[direction(expected) + 1][direction(gain) + 1];
    if (different != NULL) {
        return different;
    }
    if (came_true(gain, expected)) {
        return direction(gain) == 0  ? "little difference, as expected"
               : direction(gain) > 0 ? "faster, as expected"
                                     : "slower, as expected";
    }
    return direction(gain) > 0 ? gain > expected ? "faster, and by more than expected"
                                                 : "faster, but by less than expected"
           : gain > expected   ? "slower, but by less than expected"
                               : "slower, and by more than expected";
}

bool ak_prompt_is_surprise(const ak_prompt_view *v, const ak_experience *t)
{
    const ak_experience *parent = parent_of(v, t);
    if (t->status != AK_TRIAL_OK || parent == NULL || ak_prompt_overlap(parent, t) ||
        isnan(t->expected)) {
        return false;
    }
    double gain = parent->ms / t->ms - 1;
    return !came_true(gain, t->expected);
}

/* Writes a gain of speed: "+12.3 %". */
static void put_gain(ak_buf *out, double gain)
{
    char number[AK_REAL_BYTES];
    ak_buf_print(out, "%s%s %%", gain < 0 ? "" : "+", ak_number_short(number, gain * 100, 3));
}

static void put_claim(ak_buf *out, const ak_prompt_view *v, size_t number)
{
    const ak_experience *t = ak_prompt_trial(v, number), *parent = parent_of(v, t);
    ak_buf_print(out, "- #%zu from ", number);
    if (t->parent == 0) {
        ak_buf_puts(out, "the default: ");
    } else {
        ak_buf_print(out, "#%zu: ", t->parent);
    }
    if (isnan(t->expected)) {
        ak_buf_puts(out, "no expected_gain_pct, ");
    } else {
        ak_buf_puts(out, "expected ");
        put_gain(out, t->expected);
        ak_buf_puts(out, ", ");
    }
    if (t->status != AK_TRIAL_OK) {
        ak_buf_print(out, "failed (%s)", ak_trial_status_text(t->status));
    } else if (parent == NULL) {
        ak_objective_print(out, v->brief->objective, t->ms);
        ak_buf_print(out, "; its parent has no %s", ak_prompt_timed(v) ? "time" : "result");
    } else {
        double gain = parent->ms / t->ms - 1;
        ak_buf_puts(out, "measured ");
        put_gain(out, gain);
        if (ak_prompt_overlap(parent, t)) {
            ak_buf_puts(out, ": not decided, the intervals overlap");
        } else if (!isnan(t->expected)) {
            ak_buf_print(out, ": %s", verdict_of(gain, t->expected));
        }
    }
    if (t->hypothesis != NULL && t->hypothesis[0] != 0) {
        ak_buf_puts(out, ". ");
        ak_prompt_quote(out, t->hypothesis, AK_PROMPT_TEXT_MAX);
    }
    ak_buf_putc(out, '\n');
    if (ak_prompt_is_surprise(v, t)) {
        ak_prompt_compiled(out, v, t);
    }
}

static void put_claims(ak_buf *out, const ak_prompt_view *v)
{
    size_t made = 0, hoped = 0, faster = 0, judged = 0, shown = 0;
    double error = 0;
    for (size_t i = 0; i < v->history->count; i++) {
        const ak_experience *t = &v->history->trials[i], *parent = parent_of(v, t);
        if (!t->proposed) {
            continue;
        }
        made++;
        if (t->status == AK_TRIAL_OK && parent != NULL && !isnan(t->expected)) {
            double gain = parent->ms / t->ms - 1;
            judged++;
            hoped += t->expected > 0;
            faster += t->expected > 0 && gain > 0 && !ak_prompt_overlap(parent, t);
            error += gain > t->expected ? gain - t->expected : t->expected - gain;
        }
    }
    if (made == 0) {
        return;
    }
    ak_buf_print(out, "\n## What came of your predictions\n\n%zu made, %zu could be judged", made,
                 judged);
    if (judged > 0) {
        char points[AK_REAL_BYTES];
        ak_buf_print(out,
                     ": of %zu that you expected to be %s than their parent, %zu were; you were "
                     "off by %s percentage points on average",
                     hoped, ak_prompt_timed(v) ? "faster" : "better", faster,
                     ak_number_short(points, error / (double)judged * 100, 3));
    }
    ak_buf_puts(out, ". The latest:\n\n");
    for (size_t number = v->history->count; number > 0 && shown < AK_PROMPT_CLAIMS; number--) {
        if (ak_prompt_trial(v, number)->proposed) {
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

void ak_prompt_claims(ak_buf *out, const ak_prompt_view *v)
{
    put_claims(out, v);
    put_refusals(out, v->history);
}
