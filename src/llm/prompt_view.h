/* prompt_view.h: declares what the parts of a prompt's state share: the trials in their order, and
   how a result is written. Internal to prompt_*.c. */
#ifndef AK_LLM_PROMPT_VIEW_H
#define AK_LLM_PROMPT_VIEW_H

#include "llm/prompt.h"

/* Trials whose time or cost is at least this many times that of the best have collapsed. */
#define AK_PROMPT_COLLAPSED 2.0

typedef struct ak_placed {
    double ms; /* as in ak_experience */
    size_t number;
} ak_placed;

typedef struct ak_prompt_view {
    const ak_brief *brief;
    const ak_history *history;
    ak_placed *order; /* trials that are ok, the best first */
    size_t ok;
    size_t start; /* number of the default's trial; 0 if it was not tried */
    /* Kinds of configurations (prompt_coverage.c): their number, the number of open kinds, which
       have fewer than two trials, and the share of the space that open kinds make up.
       ak_prompt_coverage sets them; while few trials exist it may leave the open kinds at 0. */
    size_t kinds, kinds_open;
    double open_share;
} ak_prompt_view;

static inline const ak_experience *ak_prompt_trial(const ak_prompt_view *v, size_t number)
{
    return &v->history->trials[number - 1];
}

/* Returns true if the state lists the trial with this rank (0 is the best): up to AK_PROMPT_LISTED
   trials are all listed, of more only the best and the worst. */
static inline bool ak_prompt_is_listed(const ak_prompt_view *v, size_t rank)
{
    return v->ok <= AK_PROMPT_LISTED || rank < AK_PROMPT_BEST || rank + AK_PROMPT_WORST >= v->ok;
}

/* Returns true if both intervals are known and overlap, so that the two may be equally good. */
static inline bool ak_prompt_overlap(const ak_experience *a, const ak_experience *b)
{
    return a->high_ms > 0 && b->high_ms > 0 && a->low_ms <= b->high_ms && b->low_ms <= a->high_ms;
}

/* Returns the least time or cost that the trial may have: the lower end of its interval or, if that
   is unknown, `ms`. */
static inline double ak_prompt_least(const ak_experience *t)
{
    return t->low_ms > 0 ? t->low_ms : t->ms;
}

/* Returns true if the objective is the time. */
static inline bool ak_prompt_timed(const ak_prompt_view *v)
{
    return v->brief->objective == NULL;
}

/* Writes a time with its interval, if that is known: "1.2 ms (1.1 .. 1.4)"; with another objective
   its value, followed by the time: "2.5 J (2.4 .. 2.6), 1.2 ms". */
void ak_prompt_trial_merit(ak_buf *out, const ak_prompt_view *v, const ak_experience *t);
/* Writes how a configuration fills a GPU, what its compiler used and what its code looks like, as
   far as these are known and the share allows it. */
void ak_prompt_compiled(ak_buf *out, const ak_prompt_view *v, const ak_experience *t);

/* Returns the number of the second anchor: the trial, among the dozen best, that differs from the
   best in the most parameters; of equally different ones the best. Returns 0 if all are too similar
   or too slow (ANCHOR_DISTANCE, ANCHOR_SLOWER). */
size_t ak_prompt_second(const ak_prompt_view *v);
/* Returns true if the result contradicts the prediction, so that the state shows the code, too. */
bool ak_prompt_is_surprise(const ak_prompt_view *v, const ak_experience *t);

/* The parts of the state. All but the request write nothing if there is nothing to say. */
void ak_prompt_trials(ak_buf *out, const ak_prompt_view *v);   /* anchors, listed trials */
void ak_prompt_failures(ak_buf *out, const ak_prompt_view *v); /* collapses and failures */
/* Writes values and kinds, tried or not, and stores the numbers of kinds in the view. */
void ak_prompt_coverage(ak_buf *out, ak_prompt_view *v);
void ak_prompt_claims(ak_buf *out, const ak_prompt_view *v); /* predictions and refusals */
void ak_prompt_wish(ak_buf *out, const ak_prompt_view *v);   /* the request of this generation */

#endif
