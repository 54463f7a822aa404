/* headline_sizes.h: says in sentences what a run over many sizes found. An undecided size is
   neither a win nor a loss, and no ratio includes it. */
#ifndef AK_REPORT_HEADLINE_SIZES_H
#define AK_REPORT_HEADLINE_SIZES_H

#include "base/buf.h"
#include "base/value_json.h"

/* How much slower the dispatch table of a run is than the best configuration of each size, over the
   sizes for which that was decided. A tie counts as no loss. */
typedef struct ak_sizes_lost {
    double geomean, worst;  /* ratios of times or costs; 1: no loss, 0: nothing was decided */
    const char *worst_size; /* borrowed; NULL: there is no loss at any size */
    size_t open;            /* sizes for which that was not decided */
} ak_sizes_lost;

ak_sizes_lost ak_sizes_lost_of(const json_t *result);

/* Says how many sizes were tuned and what the table loses. */
void ak_headline_sizes(ak_buf *out, const json_t *result, bool timed);
/* Compares the dispatch table with the libraries; prints nothing if there are none. */
void ak_headline_libraries(ak_buf *out, const json_t *result, bool timed);

#endif
