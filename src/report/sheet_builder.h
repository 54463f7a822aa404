/* sheet_builder.h: for those who fill sheets: sheet.c and the files beside it that add some. */
#ifndef AK_REPORT_SHEET_BUILDER_H
#define AK_REPORT_SHEET_BUILDER_H

#include "report/sheet.h"

#define AK_SHEET_CELL_BYTES_MAX (64u << 10)

/* A sheet under construction; the first failure sticks. */
typedef struct ak_sheet_builder {
    ak_sheets *sheets;
    ak_sheet *sheet;
    ak_status status;
    ak_error *err;
} ak_sheet_builder;

/* Titles and headers are constants, cells are copied. */
void ak_sheet_begin(ak_sheet_builder *b, const char *title, size_t columns);
void ak_sheet_column(ak_sheet_builder *b, size_t at, const char *header, bool right);
void ak_sheet_notef(ak_sheet_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ak_sheet_cell(ak_sheet_builder *b, const char *text);
void ak_sheet_cellf(ak_sheet_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A pair is left out if there is nothing to say. */
void ak_sheet_pair(ak_sheet_builder *b, const char *label, const char *text);
void ak_sheet_pairf(ak_sheet_builder *b, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A positive number, or "-". */
void ak_sheet_figure(ak_sheet_builder *b, const char *format, double value);

/* The sheets of other files. */
void ak_sheets_add_impact(ak_sheet_builder *b, const ak_report_model *model);
void ak_sheets_add_warnings(ak_sheet_builder *b, const ak_report_model *model);
void ak_sheets_add_devices(ak_sheet_builder *b, const ak_report_model *model);
void ak_sheets_add_conditions(ak_sheet_builder *b, const ak_report_model *model);
void ak_sheets_add_sizes(ak_sheet_builder *b, const ak_report_model *model);

#endif
