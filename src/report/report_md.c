/* report_md.c: prints the report as Markdown, with tables as GitHub shows them. */
#include "report/section.h"

/* Escapes the characters that mark up text in a line of Markdown: "*" in a configuration is not
   emphasis. */
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
        put_escaped(out, ak_or_empty(cells[c]));
        ak_buf_putc(out, ' ');
    }
    ak_buf_puts(out, "|\n");
}

static void put_section(ak_buf *out, const ak_section *section)
{
    ak_buf_print(out, "%s## %s\n\n", out->length == 0 ? "" : "\n", section->title);
    if (section->note != NULL) {
        ak_buf_print(out, "%s\n\n", section->note);
    }
    if (section->picture != NULL) {
        ak_buf_print(out, "```text\n%s```\n\n", section->picture);
    }
    put_row(out, section->headers, section->columns);
    for (size_t c = 0; c < section->columns; c++) {
        ak_buf_puts(out, section->right[c] ? "| ---: " : "| --- ");
    }
    ak_buf_puts(out, "|\n");
    for (size_t i = 0; i < section->cell_count; i += section->columns) {
        put_row(out, section->cells + i, section->columns);
    }
}

static void print(ak_buf *out, const char *title, const ak_sections *sections, size_t width)
{
    (void)width;
    ak_buf_puts(out, "# autokernel: ");
    put_escaped(out, title);
    ak_buf_puts(out, "\n");
    for (size_t i = 0; i < sections->count; i++) {
        put_section(out, &sections->items[i]);
    }
}

const ak_report_ops ak_report_md = {.name = "md", .print = print};
