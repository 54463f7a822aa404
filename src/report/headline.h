/* headline.h: says in sentences what a run found: the speed of the best configuration relative to
   the default and to each library, how much of the roofline the best reaches, which parameters of
   the default it changes, and how the search went. */
#ifndef AK_REPORT_HEADLINE_H
#define AK_REPORT_HEADLINE_H

#include "report/report.h"

#define AK_HEADLINE_MAX 10

typedef struct ak_headline {
    const char *topic[AK_HEADLINE_MAX]; /* "best", "roofline", ...; constants */
    char *text[AK_HEADLINE_MAX];
    size_t count;
} ak_headline;

ak_status ak_headline_of(ak_headline *out, const ak_report_model *model, ak_error *err);
void ak_headline_clear(ak_headline *headline);

/* Prints "; the search was within 5 % of its best after 7, within 1 % after 9", or that this is not
   known if the interval of that best is too wide to tell. The part on 1 % is left out if the
   interval is too wide for that part alone. Prints nothing if no trial was successful. */
void ak_headline_nearness(ak_buf *out, const ak_report_model *model);
/* Prints a time with its unit: s, ms or µs. */
void ak_headline_ms(ak_buf *out, double ms);

/* ---- a run over many sizes (headline_sizes.c) ------------------------------------------------ */

/* An undecided size is neither a win nor a loss, and no ratio includes it. */

/* How much slower, or worse by the objective, the dispatch table of a run is than each size's best
   configuration, over the sizes for which that was decided. A tie counts as no loss. */
typedef struct ak_sizes_lost {
    double geomean, worst;  /* ratios of times or costs; 1: no loss, 0: nothing was decided */
    const char *worst_size; /* borrowed; NULL: there is no loss at any size */
    size_t open;            /* sizes for which that was not decided */
} ak_sizes_lost;

ak_sizes_lost ak_sizes_lost_of(const json_t *result);

/* Says how many sizes were tuned and what the table loses; prints nothing if the result has no
   sizes. */
void ak_headline_sizes(ak_buf *out, const ak_report_model *model);
/* Compares the dispatch table with the fastest library of each size (with an objective other than
   the time, the best). Where the table was not compared, it compares the size's best configuration
   instead. Prints nothing if no size has a library. */
void ak_headline_libraries(ak_buf *out, const ak_report_model *model);

/* ---- pictures in characters (picture.c) ------------------------------------------------------ */

/* Pictures are at most AK_PICTURE_WIDTH columns wide and plain: no colours, no escape sequences. A
   picture that has nothing to show stays empty. */

#define AK_PICTURE_WIDTH     76
#define AK_PICTURE_BYTES_MAX (16u << 10)

/* Draws the time of the best so far, by the objective, over the evaluations as one line: the time
   of the first successful trial, a block for every few evaluations (a blank as long as none was
   successful), the time at the end. The height of a block is the speed on a logarithmic scale. */
void ak_picture_convergence(ak_buf *out, const ak_report_model *model);
/* Draws the roofline on logarithmic scales with the configurations, the libraries and the best. If
   one of the figures that this needs is missing, as for a kernel without arithmetic, it draws a bar
   for each ceiling whose utilisation is known. */
void ak_picture_roofline(ak_buf *out, const ak_report_model *model);

#endif
