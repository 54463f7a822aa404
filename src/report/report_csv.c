/* report_csv.c: prints the report as CSV in long form, one cell a row: section, row, column, value.
   `export --format csv` writes a row for each trial instead. */
#include "report/section.h"

#include "base/csv.h"

static void print_section(ak_buf *out, const ak_section *section, size_t width)
{
    (void)width;
    bool pairs = section->headers[0] == NULL;
    for (size_t i = 0; i < section->cell_count; i++) {
        size_t row = i / section->columns, c = i % section->columns;
        if (pairs && c == 0) {
            continue; /* the label became the name of the column */
        }
        ak_csv_text(out, section->title);
        ak_buf_print(out, ",%zu,", row + 1);
        ak_csv_text(out, pairs ? section->cells[i - 1] : section->headers[c]);
        ak_buf_putc(out, ',');
        ak_csv_text(out, section->cells[i]);
        ak_buf_putc(out, '\n');
    }
}

static void print_head(ak_buf *out, const char *title)
{
    (void)title;
    ak_buf_puts(out, "section,row,column,value\n");
}

const ak_report_ops ak_report_csv = {
    .name = "csv", .print_head = print_head, .print_section = print_section};
