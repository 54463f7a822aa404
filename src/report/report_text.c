/*
 * report_text.c: for a terminal of 100 columns, without colours or line drawing, so that it can be
 * piped, mailed and pasted. Long cells (configurations, reasons) are folded in their column.
 */
#include "report/sheet.h"

#include <string.h>

#define LINE_WIDTH 100
#define GAP        2
#define NOTE_WIDTH (LINE_WIDTH - 4) /* two blanks, and parentheses */
#define FOLD_MIN   24               /* narrower columns than this are not folded */

static void blanks(ak_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ak_buf_putc(out, ' ');
    }
}

static size_t characters(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

/* Bytes of the part of `text` that goes on a line of `width` characters, cut after a comma or at a
   blank if there is one. */
static size_t fold(const char *text, size_t width)
{
    size_t bytes = 0, good = 0;
    for (size_t used = 0; text[bytes] != 0 && used < width; used++) {
        if (text[bytes] == ' ' || text[bytes] == ',') {
            good = bytes + 1;
        }
        do {
            bytes++;
        } while (((unsigned char)text[bytes] & 0xc0) == 0x80);
    }
    return text[bytes] == 0 || good == 0 ? bytes : good;
}

/* One row, over as many lines as its longest cell needs. Blanks are owed until something follows
   them, so that no line ends in one. */
static void put_row(ak_buf *out, const char *const *cells, const size_t *widths, const bool *right,
                    size_t columns)
{
    const char *rest[AK_COLUMNS_MAX];
    for (size_t c = 0; c < columns; c++) {
        rest[c] = cells[c];
    }
    for (bool more = true; more;) {
        size_t owed = GAP;
        more = false;
        for (size_t c = 0; c < columns; c++) {
            size_t bytes = fold(rest[c], widths[c]);
            size_t shown = bytes;
            while (shown > 0 && rest[c][shown - 1] == ' ') {
                shown--;
            }
            size_t used = characters(rest[c], shown);
            size_t padding = used < widths[c] ? widths[c] - used : 0;
            if (shown > 0) {
                blanks(out, owed + (right[c] ? padding : 0));
                ak_buf_append(out, rest[c], shown);
                owed = GAP + (right[c] ? 0 : padding);
            } else {
                owed += widths[c] + GAP;
            }
            rest[c] += bytes;
            more = more || *rest[c] != 0;
        }
        ak_buf_putc(out, '\n');
    }
}

/* Every column as wide as it needs; if that is too much, the widest ones are folded. */
static void choose_widths(size_t *widths, const ak_sheet *sheet)
{
    size_t total = GAP;
    for (size_t c = 0; c < sheet->columns; c++) {
        widths[c] = sheet->headers[c] == NULL
                        ? 0
                        : characters(sheet->headers[c], strlen(sheet->headers[c]));
        for (size_t i = c; i < sheet->cell_count; i += sheet->columns) {
            size_t width = characters(sheet->cells[i], strlen(sheet->cells[i]));
            widths[c] = width > widths[c] ? width : widths[c];
        }
        total += widths[c] + GAP;
    }
    while (total > LINE_WIDTH + GAP && !sheet->whole) {
        size_t widest = 0;
        for (size_t c = 1; c < sheet->columns; c++) {
            widest = widths[c] >= widths[widest] ? c : widest;
        }
        if (widths[widest] <= FOLD_MIN) {
            break;
        }
        widths[widest]--;
        total--;
    }
}

static void put_sheet(ak_buf *out, const ak_sheet *sheet)
{
    size_t widths[AK_COLUMNS_MAX];
    choose_widths(widths, sheet);
    ak_buf_print(out, "%s%s\n", out->length == 0 ? "" : "\n", sheet->title);
    for (const char *note = sheet->note; note != NULL && *note != 0;) {
        size_t bytes = fold(note, NOTE_WIDTH), shown = bytes;
        while (shown > 0 && note[shown - 1] == ' ') {
            shown--;
        }
        ak_buf_print(out, "  %s%.*s%s\n", note == sheet->note ? "(" : " ", (int)shown, note,
                     note[bytes] == 0 ? ")" : "");
        note += bytes;
    }
    if (sheet->headers[0] != NULL) {
        put_row(out, sheet->headers, widths, sheet->right, sheet->columns);
    }
    for (size_t i = 0; i < sheet->cell_count; i += sheet->columns) {
        put_row(out, sheet->cells + i, widths, sheet->right, sheet->columns);
    }
}

static ak_status render(ak_buf *out, const ak_report_model *model, ak_error *err)
{
    ak_sheets sheets;
    ak_status status = ak_sheets_build(&sheets, model, err);
    if (status != AK_OK) {
        return status;
    }
    for (size_t i = 0; i < sheets.count; i++) {
        put_sheet(out, &sheets.items[i]);
    }
    ak_sheets_clear(&sheets);
    return ak_buf_status(out, err);
}

const ak_report_ops ak_report_text = {.name = "text", .render = render};
