/*
 * table.h: prints aligned columns for people, at most as wide as the terminal.
 *
 *     ak_table table;
 *     ak_table_begin(&table, "kernel", ">ms", "_configuration", NULL);
 *         '>' aligns a column to the right; on a terminal, the cells of a column with '_' are
 *         printed below their rows, indented; headers must live until the table is printed
 *     ak_table_cell(&table, "%s", name);                   row by row
 *     ak_table_cell(&table, "%.3f", ms);
 *     ak_table_print(&table);                              prints and frees the table
 */
#ifndef AK_CLI_TABLE_H
#define AK_CLI_TABLE_H

#include "base/layout.h"
#include "cli/output.h"

#define AK_COLUMNS_MAX AK_LAYOUT_COLUMNS_MAX

typedef struct ak_table {
    const char *headers[AK_COLUMNS_MAX];
    bool right[AK_COLUMNS_MAX], below[AK_COLUMNS_MAX];
    size_t columns;
    size_t width; /* limit on the columns of a line in a pipe or a file (set for help); 0: none */
    char **cells;
    size_t count, capacity;
    bool failed; /* memory is out: further cells are dropped, and printing says so */
} ak_table;

void ak_table_begin(ak_table *table, const char *header, ...) __attribute__((sentinel));
void ak_table_cell(ak_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a cell as ak_table_cell does, or "-" if what it would show is not known. */
void ak_table_cell_if(ak_table *table, bool known, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the table, or nothing if it has no row, and frees it. */
void ak_table_print(ak_table *table);

#endif
