/* finish_order.h: orders the candidates of a recorded finish as the finish itself did. */
#ifndef AK_ARCHIVE_FINISH_ORDER_H
#define AK_ARCHIVE_FINISH_ORDER_H

#include "base/value_json.h"
#include "measure/contest.h"

/* The order of the candidates: the configurations that ran, as measure/contest.h orders them, then
   the libraries that ran, the fastest first, then those that failed. A list from a damaged archive
   is cut at AK_CONTEST_MAX. */
typedef struct ak_finish_order {
    size_t list[AK_CONTEST_MAX]; /* indices of the candidates */
    size_t ranks;                /* the first `ranks` of them are configurations that ran */
    size_t count;
} ak_finish_order;

/* Reads a recorded speed; ratio 0 if there is none. An unknown verdict becomes AK_SPEED_NONE,
   an unknown doubt AK_DOUBT_NONE. */
ak_speed ak_speed_read(const json_t *object);
/* Returns whether the rounds that a recorded "noise" counts are taken for clean
   (measure/verdict.h). Which rounds were disturbed is not recorded; if half of them were not, at
   least half of the groups have an undisturbed round, as a comparison of four groups or more
   requires. A record that does not say how many rounds were disturbed counts as clean. */
bool ak_noise_is_clean(const json_t *noise);
/* Sets the verdict and the doubt of a speed from its interval, as a comparison does. A control with
   ratio 0 means that there was no control. */
void ak_speed_judge(ak_speed *s, const ak_speed *control, bool clean);
/* Reads what a recorded candidate is ordered by; cost 0 if it is a library or did not run. */
ak_contender ak_contender_read(const json_t *candidate);
/* Orders the candidates of a recorded finish. */
void ak_finish_order_of(ak_finish_order *out, const json_t *candidates);
/* Returns the candidate that is the "best" of a result: the one with the same time and the same
   configuration or, in older archives, with the same time and no configuration. It is borrowed;
   NULL: there is none. */
const json_t *ak_finish_winner(const json_t *result);

#endif
