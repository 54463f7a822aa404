/* report_md.c: prints the report as Markdown, with tables as GitHub shows them. */
#include "report/section.h"

#include "base/ascii.h"

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

/* Puts a paragraph of one line: what would begin a list is escaped, too, and blanks in front, which
   would make code of it, are left out. */
static void put_paragraph(ak_buf *out, const char *text)
{
    text += strspn(text, " ");
    const char *at = text;
    while (ak_ascii_is_digit(*at)) {
        at++;
    }
    const bool counts = at > text && (*at == '.' || *at == ')') && at[1] == ' '; /* 1. */
    ak_buf_append(out, text, counts ? (size_t)(at - text) : 0);
    if (counts || strchr("+-", *text) != NULL) {
        ak_buf_puts(out, *text == 0 ? "" : "\\");
    }
    put_escaped(out, counts ? at : text);
    ak_buf_puts(out, "\n\n");
}

static void put_fence(ak_buf *out, size_t signs)
{
    for (size_t i = 0; i < signs; i++) {
        ak_buf_putc(out, '`');
    }
}

/* Puts a picture between fences of backticks that are longer than any row of backticks in it, so
   that no name in the picture ends it. */
static void put_picture(ak_buf *out, const char *picture)
{
    size_t longest = 2;
    for (const char *at = strchr(picture, '`'); at != NULL; at = strchr(at, '`')) {
        const size_t row = strspn(at, "`");
        longest = row > longest ? row : longest;
        at += row;
    }
    put_fence(out, longest + 1);
    ak_buf_print(out, "text\n%s", picture);
    put_fence(out, longest + 1);
    ak_buf_puts(out, "\n\n");
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

static void print_section(ak_buf *out, const ak_section *section, size_t width)
{
    (void)width;
    ak_buf_puts(out, out->length == 0 ? "## " : "\n## ");
    put_escaped(out, section->title);
    ak_buf_puts(out, "\n\n");
    if (section->note != NULL && section->note[0] != 0) {
        put_paragraph(out, section->note);
    }
    if (section->picture != NULL) {
        put_picture(out, section->picture);
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

static void print_head(ak_buf *out, const char *title)
{
    ak_buf_puts(out, "# autokernel: ");
    put_escaped(out, title);
    ak_buf_puts(out, "\n");
}

const ak_report_ops ak_report_md = {
    .name = "md", .print_head = print_head, .print_section = print_section};
