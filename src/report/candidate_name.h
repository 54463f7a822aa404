/*
 * candidate_name.h: names the candidates of a finish that are named by their rank in the search.
 * Tables show such a candidate by its rank in the finish alone ("#2").
 */
#ifndef AK_REPORT_CANDIDATE_NAME_H
#define AK_REPORT_CANDIDATE_NAME_H

#include "base/status.h"

/* Returns the name of the candidate with this rank in the search; 0: the best. Ranks from 3 on
   share a name. */
const char *ak_candidate_name(size_t rank);
/* Returns true for these names and for those that earlier versions gave ("candidate 2"). */
bool ak_candidate_is_ranked(const char *name);

#endif
