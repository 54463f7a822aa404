/* headline.h: says in sentences what a run found: the speed of the best relative to the default and
   to each library, how much of the roofline it reaches, what it changes, and how the search
   went. */
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

/* Prints "; the search was within 5 % of its best after 7, within 1 % after 9", as far as the
   interval of that best is narrow enough to tell. */
void ak_headline_nearness(ak_buf *out, const ak_report_model *model);
/* Prints a time with its unit: s, ms or µs. */
void ak_headline_ms(ak_buf *out, double ms);

#endif
