/* report_md.c: Markdown with tables as GitHub shows them. */
#include "report/sheet.h"

#include <string.h>

/* Every character that Markdown might take for its own is escaped: a configuration is not emphasis.
 */
static void put_escaped(ak_buf *out, const char *text)
{
    for (; *text != 0; text++) {
        if (strchr("\\`*_{}[]<>|#&~", *text) != NULL) {
            ak_buf_putc(out, '\\');
        }
        ak_buf_putc(out, *text);
    }
}

static void put_row(ak_buf *out, const char *const *cells, size_t columns)
{
    for (size_t c = 0; c < columns; c++) {
        ak_buf_puts(out, "| ");
        put_escaped(out, cells[c] == NULL ? "" : cells[c]);
        ak_buf_putc(out, ' ');
    }
    ak_buf_puts(out, "|\n");
}

static void put_sheet(ak_buf *out, const ak_sheet *sheet)
{
    ak_buf_print(out, "%s## %s\n\n", out->length == 0 ? "" : "\n", sheet->title);
    if (sheet->note != NULL) {
        ak_buf_print(out, "%s\n\n", sheet->note);
    }
    put_row(out, sheet->headers, sheet->columns);
    for (size_t c = 0; c < sheet->columns; c++) {
        ak_buf_puts(out, sheet->right[c] ? "| ---: " : "| --- ");
    }
    ak_buf_puts(out, "|\n");
    for (size_t i = 0; i < sheet->cell_count; i += sheet->columns) {
        put_row(out, sheet->cells + i, sheet->columns);
    }
}

static ak_status render(ak_buf *out, const ak_report_model *model, ak_error *err)
{
    ak_sheets sheets;
    ak_status status = ak_sheets_build(&sheets, model, err);
    if (status != AK_OK) {
        return status;
    }
    ak_buf_puts(out, "# autokernel: ");
    put_escaped(out, sheets.items[0].cells[3]); /* the kernel, in the second pair of the first */
    ak_buf_puts(out, "\n");
    for (size_t i = 0; i < sheets.count; i++) {
        put_sheet(out, &sheets.items[i]);
    }
    ak_sheets_clear(&sheets);
    return ak_buf_status(out, err);
}

const ak_report_ops ak_report_md = {.name = "md", .render = render};
