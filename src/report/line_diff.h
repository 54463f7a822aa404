/* line_diff.h: finds which lines differ between two texts. */
#ifndef AK_REPORT_LINE_DIFF_H
#define AK_REPORT_LINE_DIFF_H

#include "base/status.h"

typedef struct ak_line_change {
    char kind;        /* '-' a line of the old text, '+' of the new one */
    size_t line;      /* number of the line in that text, from 1 */
    const char *text; /* borrowed from the text, without the line break */
    size_t length;
} ak_line_change;

/* Unchanged are the lines that both texts begin or end with and, between these, a longest common
   subsequence. If finding that takes more than this many comparisons, all lines between are
   changed. */
#define AK_LINE_DIFF_WORK_MAX (4u << 20)

/* Gives the changes in the order of the texts; the caller frees the list with ak_free. */
ak_status ak_line_diff(ak_line_change **out, size_t *count, const char *before, const char *after,
                       ak_error *err);

#endif
