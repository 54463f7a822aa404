/*
 * table.h: aligned columns for people.
 *
 *     ak_table table;
 *     ak_table_begin(&table, "kernel", ">ms", NULL);      '>': to the right
 *     ak_table_cell(&table, "%s", name);                   row by row
 *     ak_table_cell(&table, "%.3f", ms);
 *     ak_table_print(&table);                              and ends it
 */
#ifndef AK_CLI_TABLE_H
#define AK_CLI_TABLE_H

#include "cli/output.h"

#define AK_COLUMNS_MAX 16

typedef struct ak_table {
    const char *headers[AK_COLUMNS_MAX];
    bool right[AK_COLUMNS_MAX];
    size_t columns;
    char **cells;
    size_t count, capacity;
    bool failed; /* no memory: the rest is left out, and printing says so */
} ak_table;

void ak_table_begin(ak_table *table, const char *header, ...) __attribute__((sentinel));
void ak_table_cell(ak_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t ak_table_rows(const ak_table *table);
/* Prints (nothing if there is no row) and frees. */
void ak_table_print(ak_table *table);

#endif
