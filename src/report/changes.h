/*
 * changes.h: finds in which parameters the best configuration differs from the default, and what
 * each of these changes is worth.
 *
 * The worth of a change comes from pairs of successful trials that differ in this parameter alone,
 * one with the default's value and one with the best's. The speed is the median over the pairs of
 * the ratio of their times (or costs, if the objective is not the time); `least` and `greatest`
 * bound it by the intervals of the times or, where a time has none, by the ratios. Two trials that
 * share one measurement, because they have the same code, have the ratio 1. A search need not have
 * made such a pair; then nothing is known about the change by itself.
 */
#ifndef AK_REPORT_CHANGES_H
#define AK_REPORT_CHANGES_H

#include "report/matrix.h"

typedef struct ak_report_change {
    const char *name, *from, *to; /* parameter, value of the default, value of the best; borrowed
                                     from the matrix */
    size_t pairs;
    size_t same_code; /* the pairs of which one trial was not measured, because both have the same
                         code */
    double speed, least, greatest; /* cost with `from` over cost with `to`; 0 without a pair */
} ak_report_change;

/* Returns whether the pairs leave open if the change makes anything faster or, with another
   objective, better: their bounds lie on both sides of 1 and are too far apart to decide
   (measure/verdict.h). One pair is enough to decide; without a pair it returns false. */
bool ak_report_change_is_open(const ak_report_change *change);
/* Finds the changes, in the order of the parameters; the caller frees the list. A parameter is left
   out if `from` or `to` does not name it, or gives it a value that no trial has. Fails if one of
   the two configurations cannot be read. */
ak_status ak_changes_of(ak_report_change **out, size_t *count, const ak_matrix *matrix,
                        const char *from, const char *to, ak_error *err);

#endif
