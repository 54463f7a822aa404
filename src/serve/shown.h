/*
 * shown.h: makes what a page shows of the JSON in a row of the archive, whatever another program
 * wrote there: members that are missing or of another type are empty. NULL: no memory.
 */
#ifndef AK_SERVE_SHOWN_H
#define AK_SERVE_SHOWN_H

#include "base/json.h"

/* The arms of a study or the strategies of simulations, each with what it reached. */
json_t *ak_shown_arms(const json_t *result, bool simulated);
/* What a study or simulations are about. */
json_t *ak_shown_subject(const json_t *result, bool simulated);
/* The workers of a fleet; `said` may be NULL. */
json_t *ak_shown_workers(const json_t *said);

#endif
