/*
 * sheet.h: a report as a list of titled sheets, each either pairs of a label and a text or a table
 * with a header. text, md and csv are three ways to print them.
 *
 * Cells are safe to print: UTF-8, without control characters.
 */
#ifndef AK_REPORT_SHEET_H
#define AK_REPORT_SHEET_H

#include "report/report.h"

#define AK_SHEETS_MAX  32
#define AK_COLUMNS_MAX 8

typedef struct ak_sheet {
    const char *title, *note; /* note: a line under the title, or NULL */
    size_t columns;
    const char *headers[AK_COLUMNS_MAX]; /* headers[0] NULL: pairs */
    bool right[AK_COLUMNS_MAX];          /* numbers */
    bool whole;                          /* its cells are to be copied: never folded */
    const char **cells;                  /* row by row */
    size_t cell_count, capacity;
} ak_sheet;

typedef struct ak_sheets {
    ak_sheet items[AK_SHEETS_MAX];
    size_t count;
    struct ak_arena *arena; /* owns the cells' texts */
} ak_sheets;

ak_status ak_sheets_build(ak_sheets *out, const ak_report_model *model, ak_error *err);
void ak_sheets_clear(ak_sheets *sheets);

#endif
