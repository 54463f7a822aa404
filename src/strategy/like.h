/*
 * like.h: holds results that were measured elsewhere for a similar task: on another device, at
 * another size, or in another dtype. They form a list of configurations with their times. Only the
 * order of the times carries over to this task.
 *
 *     ak_like *like = ak_like_new(space);
 *     status = ak_like_begin(like, "cache.json.gz", &err);         one place where it was measured
 *     status = ak_like_add(like, values, 1.25, &err);              for each configuration there
 *     ...
 *     status = ak_like_finish(like, seed, &err);
 *
 * After ak_like_finish the list is read-only, and any number of threads may use it. It gives
 * strategies and callers two things:
 *
 *     - candidates: from the best configurations of each place, those that differ from each other
 *       in two parameters or more, each mapped to the nearest valid configuration of this space.
 *       One that would change too much is left out. transfer.h says how many are tried.
 *     - an expectation for any configuration (a random forest over the ranks), which a model takes
 *       as one more feature that may explain the times (guided.h).
 */
#ifndef AK_STRATEGY_LIKE_H
#define AK_STRATEGY_LIKE_H

#include "space/space.h"

#define AK_LIKE_CANDIDATES_MAX 64

typedef struct ak_like ak_like;

/* Creates an empty list, which borrows the space. Later calls also accept configurations of an
   equal space. Returns NULL without memory. */
ak_like *ak_like_new(const ak_space *space);
void ak_like_free(ak_like *like);
AK_END_AT(ak_like_free, ak_like)

/* Begins a new place. Only configurations of the same place are compared with each other. The
   caller begins with the place most similar to this task. */
ak_status ak_like_begin(ak_like *like, const char *name, ak_error *err);
/* Adds a configuration. `values` is an object of parameters and values; a time of HUGE_VAL, or one
   that is not above 0, stands for a failure. A configuration that has too little in common with
   this space is counted and skipped. */
ak_status ak_like_add(ak_like *like, const json_t *values, double time, ak_error *err);
ak_status ak_like_finish(ak_like *like, uint64_t seed, ak_error *err);

size_t ak_like_candidates(const ak_config **out, const ak_like *like);
/* Returns the expected rank from 0 (the best) to 1 (the worst, or a failure); 0 if the list is
   empty. */
double ak_like_expects(const ak_like *like, const ak_config *config);
/* Returns how well the list predicts its own order, from 0 (or unknown) to 1: the share of the
   variance of the ranks that the forest explains for configurations that it has not seen. */
double ak_like_reliability(const ak_like *like);
/* Returns one line that says how many candidates there are, where they come from, and how many
   configurations did not fit; "" if no place was begun. Places with very long names are counted
   and not named. */
const char *ak_like_text(const ak_like *like);

#endif
