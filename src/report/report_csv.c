/*
 * report_csv.c: the report in long form, one figure a row: section, row, column, value. (A table
 * with a row per trial is `export --format csv`.)
 */
#include "report/sheet.h"

#include <string.h>

static void put_value(ak_buf *out, const char *text)
{
    if (strpbrk(text, ",\"") == NULL) {
        ak_buf_puts(out, text);
        return;
    }
    ak_buf_putc(out, '"');
    for (; *text != 0; text++) {
        ak_buf_puts(out, *text == '"' ? "\"" : "");
        ak_buf_putc(out, *text);
    }
    ak_buf_putc(out, '"');
}

static void put_sheet(ak_buf *out, const ak_sheet *sheet)
{
    bool pairs = sheet->headers[0] == NULL;
    for (size_t i = 0; i < sheet->cell_count; i++) {
        size_t row = i / sheet->columns, c = i % sheet->columns;
        if (pairs && c == 0) {
            continue; /* the label is the name of the column */
        }
        put_value(out, sheet->title);
        ak_buf_print(out, ",%zu,", row + 1);
        put_value(out, pairs ? sheet->cells[i - 1] : sheet->headers[c]);
        ak_buf_putc(out, ',');
        put_value(out, sheet->cells[i]);
        ak_buf_putc(out, '\n');
    }
}

static ak_status render(ak_buf *out, const ak_report_model *model, ak_error *err)
{
    ak_sheets sheets;
    ak_status status = ak_sheets_build(&sheets, model, err);
    if (status != AK_OK) {
        return status;
    }
    ak_buf_puts(out, "section,row,column,value\n");
    for (size_t i = 0; i < sheets.count; i++) {
        put_sheet(out, &sheets.items[i]);
    }
    ak_sheets_clear(&sheets);
    return ak_buf_status(out, err);
}

const ak_report_ops ak_report_csv = {.name = "csv", .render = render};
