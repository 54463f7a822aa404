/* headline_sizes.h: says in sentences what a run over many sizes found. An undecided size is
   neither a win nor a loss, and no ratio includes it. */
#ifndef AK_REPORT_HEADLINE_SIZES_H
#define AK_REPORT_HEADLINE_SIZES_H

#include "base/buf.h"
#include "base/value_json.h"

/* What the table of a run loses against the best of each size, over the sizes for which that was
   decided; a tie loses nothing. */
typedef struct ak_sizes_lost {
    double geomean, worst;  /* ratios, 1: no loss; 0: nothing was decided */
    const char *worst_size; /* borrowed; NULL: it loses nowhere */
    size_t open;            /* sizes for which that was not decided */
} ak_sizes_lost;

ak_sizes_lost ak_sizes_lost_of(const json_t *result);

/* Says how many sizes were tuned and what the table loses. */
void ak_headline_sizes(ak_buf *out, const json_t *result, bool timed);
/* Compares with the libraries; prints nothing if there are none. */
void ak_headline_libraries(ak_buf *out, const json_t *result, bool timed);

#endif
