/* summary.h: summarises a comparison in one line. */
#ifndef AK_TUNER_SUMMARY_H
#define AK_TUNER_SUMMARY_H

#include "tuner/side_by_side.h"

/* Writes a line such as "2.10 times the default (2.04 .. 2.15); a tie with OpenBLAS 0.3.21" about
   candidate `which`. `objective` is NULL if the objective is the time. *out is NULL if there is
   nothing to compare with; the caller frees it with ak_free. */
ak_status ak_summary(char **out, const ak_comparison_result *comparison, size_t which,
                     const ak_objective *objective, ak_error *err);

#endif
