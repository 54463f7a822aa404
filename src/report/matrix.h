/*
 * matrix.h: the configurations of a run as numbers: one row a trial, one column a parameter, each
 * cell the index of a value. Pages draw the matrix, and code that compares configurations reads it
 * instead of parsing texts.
 *
 * A configuration that cannot be parsed (from the file of another program) has a row of
 * AK_MATRIX_NONE. A parameter that a configuration does not name has the cell AK_MATRIX_NONE, and
 * so has a value that comes after the first AK_MATRIX_NONE values of its column.
 */
#ifndef AK_REPORT_MATRIX_H
#define AK_REPORT_MATRIX_H

#include "autokernel/autokernel.h"

#define AK_MATRIX_NONE UINT16_MAX
#define AK_MATRIX_COLUMNS_MAX                                                                      \
    128 /* twice the parameters that a space may have; further columns are left out */

typedef struct ak_matrix_column {
    char *name;
    char **values; /* as the configuration's text has them, in the order in which they appear */
    size_t count, capacity;
} ak_matrix_column;

typedef struct ak_matrix {
    const ak_trial *trials; /* the trials of the rows; borrowed */
    ak_matrix_column *columns;
    size_t column_count, column_capacity;
    uint16_t *rows; /* rows[trial * column_count + column] */
    size_t count;
} ak_matrix;

ak_status ak_matrix_of(ak_matrix *out, const ak_trial *trials, size_t count, ak_error *err);
void ak_matrix_clear(ak_matrix *matrix);
/* Writes the row of a configuration, which need not belong to a trial. `row` has column_count
   cells. A value that no trial has is AK_MATRIX_NONE. Fails if `config` cannot be parsed. */
ak_status ak_matrix_row(uint16_t *row, const ak_matrix *matrix, const char *config, ak_error *err);

#endif
