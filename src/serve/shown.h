/*
 * shown.h: makes the JSON that a page shows from the JSON in a row of the archive. Another program
 * may have written the row, so texts that are missing or of another type become empty. Each
 * function returns a new value, or NULL if there is no memory.
 */
#ifndef AK_SERVE_SHOWN_H
#define AK_SERVE_SHOWN_H

#include "base/json.h"

/* Returns [{"name", "value"}]: each arm of a study with its final quality, or each simulated
   strategy with its score; a value that is missing is null. */
json_t *ak_shown_arms(const json_t *result, bool simulated);
/* Returns what was searched: "matmul M=64 on host". For simulations it describes the first
   recording, and " and 2 more" counts the others. */
json_t *ak_shown_subject(const json_t *result, bool simulated);
/* Returns the workers in `said`, the record of a fleet, with the members that a page shows. If
   `said` is NULL, returns an empty array. */
json_t *ak_shown_workers(const json_t *said);

#endif
