/*
 * candidate_name.h: what the candidates of a finish are called. Tables show a candidate that is
 * neither the default nor has a name of its own by its rank alone ("#2").
 */
#ifndef AK_REPORT_CANDIDATE_NAME_H
#define AK_REPORT_CANDIDATE_NAME_H

#include "base/status.h"

/* Returns the name of the candidate that was fastest in the search (0), of the next one, ... */
const char *ak_candidate_name(size_t rank);
/* Returns true for these names and those of earlier runs ("candidate 2"). */
bool ak_candidate_is_ranked(const char *name);

#endif
