/*
 * outcome.h: says which measured time of a configuration counts, also to judge predictions. `llm
 * show`, `stats` and reports use this one rule: the time of the run's finish if the configuration
 * took part in it, else the latest time of the search if it was measured again there, else the time
 * of its trial. Repeated measurements come first, because a single trial of the default on a
 * briefly busy machine would make all others look fast.
 *
 * Prompts follow the same rule during the search, before there is a finish.
 */
#ifndef AK_REPORT_OUTCOME_H
#define AK_REPORT_OUTCOME_H

#include "base/json.h"

/* A cost (a time, unless the objective is another) or a ratio of speeds with its interval; 0: not
   known. */
typedef struct ak_outcome {
    double cost, low, high;
    double ms;        /* the time behind the cost */
    const char *from; /* "finish", "again" (in the search) or "search" (the trial) */
} ak_outcome;

/* Returns the result of a run, which the caller releases; NULL if it cannot be read. */
json_t *ak_outcome_result(ak_archive *archive, const char *run);
/* Returns the time and cost of the trial's configuration by the rule above; cost 0 if it has none.
   `result` is the result of the trial's run, or NULL. */
ak_outcome ak_outcome_of(const json_t *result, const ak_trial *trial);
/* Returns the speed of the outcome `of` relative to `start`, as `cost`; all 0 if one of them has no
   time. If one of them has no interval, `low` and `high` are the ratio too. */
ak_outcome ak_outcome_speed(const ak_outcome *start, const ak_outcome *of);
/* Returns the speed of the trial `to` relative to `from`, a trial of the same run; all 0 if one of
   them has no time. If one was measured in the finish and the other only in the search, the machine
   may have been busy at one of these times. The trial that has both times then counts with the
   shorter one, because other work only makes times longer, and with an interval that reaches over
   both. */
ak_outcome ak_outcome_speed_over(const json_t *result, const ak_trial *from, const ak_trial *to);
/* Returns the gain of speed over its parent that was predicted for a trial: 0.1 means 1.10 times
   the parent's speed; negative: a loss; 0: nothing was predicted, or an impossible gain. */
double ak_predicted_speed(const ak_trial *trial);
/* Returns whether the interval of a speed does not contain 1, so that it is known which of the two
   is better. */
bool ak_outcome_decided(const ak_outcome *speed);

#endif
