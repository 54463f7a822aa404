/* finish_order.h: orders the candidates of a recorded finish as the finish itself did. */
#ifndef AK_REPORT_FINISH_ORDER_H
#define AK_REPORT_FINISH_ORDER_H

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
void ak_finish_order_of(ak_finish_order *out, const json_t *candidates);

#endif
