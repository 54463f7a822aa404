/* headline_sizes.h: says in sentences what a run over many sizes found. What was not decided is no
   win and no loss, and is in no figure. */
#ifndef AK_REPORT_HEADLINE_SIZES_H
#define AK_REPORT_HEADLINE_SIZES_H

#include "base/buf.h"
#include "base/value_json.h"

/* What the table of a run loses against the best of each size, over the sizes for which that was
   decided; a tie loses nothing. */
typedef struct ak_sizes_lost {
    double geomean, worst;  /* 0: nothing was decided */
    const char *worst_size; /* borrowed; NULL: it loses nowhere */
    size_t open;            /* sizes for which it was not decided */
} ak_sizes_lost;

ak_sizes_lost ak_sizes_lost_of(const json_t *result);

/* Says how many sizes were tuned and what the table loses. */
void ak_headline_sizes(ak_buf *out, const json_t *result, bool timed);
/* Compares with the libraries; prints nothing if there are none. */
void ak_headline_libraries(ak_buf *out, const json_t *result, bool timed);

#endif
