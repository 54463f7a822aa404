/* report_text.c: prints the report for people, without colours or escape sequences, so that it can
   be piped, mailed and pasted. Long cells (configurations, reasons) are folded in their column,
   unless the width is 0. Commands are folded only between words, so that they can be copied. */
#include "report/section.h"

#include <assert.h>

#include "base/layout.h"
#include "report/headline.h"

#define INDENT 2

/* Writes pairs whose texts are commands to copy. */
static void put_commands(ak_buf *out, const ak_section *section, size_t width)
{
    for (size_t i = 0; i + 1 < section->cell_count; i += 2) {
        size_t used = INDENT + ak_layout_width(section->cells[i]) + INDENT;
        ak_buf_print(out, "%*s%s%*s", INDENT, "", section->cells[i], INDENT, "");
        ak_layout_command(out, section->cells[i + 1], width, used, used);
        ak_buf_putc(out, '\n');
    }
}

static void put_note(ak_buf *out, const char *note, size_t width)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(1 << 16);
    ak_buf_print(&text, "(%s)", note);
    ak_buf_puts(out, "  ");
    ak_layout_fill(out, text.data, width, INDENT, INDENT + 1);
    ak_buf_putc(out, '\n');
}

static void put_picture(ak_buf *out, const char *picture)
{
    for (const char *line = picture; *line != 0;) {
        size_t length = strcspn(line, "\n");
        ak_buf_print(out, "%*s%.*s\n", length == 0 ? 0 : INDENT, "", (int)length, line);
        line += length + (line[length] == 0 ? 0 : 1);
    }
}

static void print_section(ak_buf *out, const ak_section *section, size_t width)
{
    static_assert(AK_COLUMNS_MAX <= AK_LAYOUT_COLUMNS_MAX, "a section is a table");
    ak_layout table = {.headers = section->headers[0] == NULL ? NULL : section->headers,
                       .columns = section->columns,
                       .cells = section->cells,
                       .rows = section->cell_count / section->columns,
                       .width = width,
                       .indent = INDENT};
    memcpy(table.right, section->right, sizeof section->right);
    memcpy(table.below, section->below, sizeof section->below);
    ak_buf_print(out, "%s%s\n", out->length == 0 ? "" : "\n", section->title);
    if (section->note != NULL && section->note[0] != 0) {
        put_note(out, section->note, width);
    }
    if (section->picture != NULL && (width == 0 || width >= AK_PICTURE_WIDTH + INDENT)) {
        put_picture(out, section->picture);
    }
    if (section->whole) {
        put_commands(out, section, width);
    } else {
        (void)ak_layout_table(out, &table);
    }
}

const ak_report_ops ak_report_text = {.name = "text", .print_section = print_section};
