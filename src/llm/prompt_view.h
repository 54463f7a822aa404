/* prompt_view.h: what the parts of a prompt's state share: the trials in their order, and how a
   time is written. Internal to prompt_*.c. */
#ifndef AK_LLM_PROMPT_VIEW_H
#define AK_LLM_PROMPT_VIEW_H

#include "llm/prompt.h"

#define AK_PROMPT_VALUE_BYTES 256
/* Trials that are at least this many times as slow as the best have collapsed. */
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
    /* Kinds of configurations (prompt_coverage.c): their number, and of those with fewer than two
       trials the number and their share of the space. */
    size_t kinds, kinds_open;
    double open_share;
} ak_prompt_view;

static inline const ak_experience *ak_prompt_trial(const ak_prompt_view *v, size_t number)
{
    return &v->history->trials[number - 1];
}

/* Says whether the trial with this rank is shown: all of them or, of many, the fastest and the
   slowest. */
static inline bool ak_prompt_is_listed(const ak_prompt_view *v, size_t rank)
{
    return v->ok <= AK_PROMPT_LISTED || rank < AK_PROMPT_BEST || rank + AK_PROMPT_WORST >= v->ok;
}

/* Returns true if the intervals overlap, so that the two may be equally fast. */
static inline bool ak_prompt_overlap(const ak_experience *a, const ak_experience *b)
{
    return a->high_ms > 0 && b->high_ms > 0 && a->low_ms <= b->high_ms && b->low_ms <= a->high_ms;
}

/* Returns the least time that the trial may take: its interval's lower end, or its time if that is
   not known. */
static inline double ak_prompt_least(const ak_experience *t)
{
    return t->low_ms > 0 ? t->low_ms : t->ms;
}

/* Returns whether the objective is the time. */
static inline bool ak_prompt_timed(const ak_prompt_view *v)
{
    return v->brief->objective == NULL;
}

/* Writes a time with its interval, if that is known: "1.2 ms (1.1 .. 1.4)"; with another objective
   its value, and the time behind it: "2.5 J (2.4 .. 2.6), 1.2 ms". */
void ak_prompt_trial_merit(ak_buf *out, const ak_prompt_view *v, const ak_experience *t);
/* Writes how a configuration fills a GPU and what its compiler used, as far as both are known. */
void ak_prompt_compiled(ak_buf *out, const ak_prompt_view *v, const ak_experience *t);

/* Returns the number of the second anchor: the trial, among the dozen best, that differs from the
   best in the most parameters; among equals it is the fastest. Returns 0 if none differs enough. */
size_t ak_prompt_second(const ak_prompt_view *v);
/* Returns whether the result contradicts the prediction, so that it is worth to look at the code.
 */
bool ak_prompt_is_surprise(const ak_prompt_view *v, const ak_experience *t);

/* The parts of the state. Each writes nothing if there is nothing to say. */
void ak_prompt_trials(ak_buf *out, const ak_prompt_view *v);   /* anchors, all trials by speed */
void ak_prompt_failures(ak_buf *out, const ak_prompt_view *v); /* collapses and failures */
/* Writes values and kinds, tried or not, and notes in the view how many kinds there are. */
void ak_prompt_coverage(ak_buf *out, ak_prompt_view *v);
void ak_prompt_claims(ak_buf *out, const ak_prompt_view *v); /* predictions and refusals */
void ak_prompt_wish(ak_buf *out, const ak_prompt_view *v);   /* the request of this generation */

#endif
