/* table.c: see table.h. Widths are counted in UTF-8 characters, not bytes. */
#include "cli/table.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"

/* Longest cell; a configuration of 64 parameters stays below. */
#define CELL_MAX 8192

void ak_table_begin(ak_table *table, const char *header, ...)
{
    *table = (ak_table){0};
    va_list args;
    va_start(args, header);
    for (; header != NULL && table->columns < AK_COLUMNS_MAX; header = va_arg(args, const char *)) {
        table->right[table->columns] = header[0] == '>';
        table->headers[table->columns++] = header[0] == '>' ? header + 1 : header;
    }
    va_end(args);
}

/* Neither C0 nor C1 control characters may reach the terminal; C1 ones are C2 80 .. C2 9F in UTF-8.
 */
static void clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p != 0; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            *p = ' ';
        } else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
            p[0] = ' ';
            p[1] = ' ';
        }
    }
}

void ak_table_cell(ak_table *table, const char *format, ...)
{
    char text[CELL_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean(text);
    void *cells = table->cells;
    if (table->failed ||
        ak_grow(&cells, &table->capacity, table->count + 1, sizeof(char *), NULL) != AK_OK) {
        table->failed = true;
        return;
    }
    table->cells = cells;
    table->cells[table->count] = ak_strdup(text);
    if (table->cells[table->count] == NULL) {
        table->failed = true;
        return;
    }
    table->count++;
}

size_t ak_table_rows(const ak_table *table)
{
    return table->columns == 0 ? 0 : table->count / table->columns;
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
        width += (*p & 0xc0) != 0x80; /* all but the continuation bytes */
    }
    return width;
}

/* Without blanks at the end. */
static void print_row(const ak_table *table, const char *const *row, const size_t *widths)
{
    size_t columns = table->columns;
    while (columns > 0 && row[columns - 1][0] == 0) {
        columns--;
    }
    for (size_t c = 0; c < columns; c++) {
        int pad = (int)(widths[c] - width_of(row[c]));
        bool last = c + 1 == columns;
        const char *gap = last ? "" : "  ";
        if (table->right[c]) {
            ak_out("%*s%s%s", pad, "", row[c], gap);
        } else {
            ak_out("%s%*s%s", row[c], last ? 0 : pad, "", gap);
        }
    }
}

void ak_table_print(ak_table *table)
{
    size_t widths[AK_COLUMNS_MAX] = {0}, rows = ak_table_rows(table);
    for (size_t c = 0; c < table->columns; c++) {
        widths[c] = width_of(table->headers[c]);
        for (size_t r = 0; r < rows; r++) {
            size_t width = width_of(table->cells[r * table->columns + c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    if (rows > 0) {
        ak_out("%s", ak_style_on(stdout, AK_STYLE_BOLD));
        print_row(table, table->headers, widths);
        ak_out("%s\n", ak_style_on(stdout, AK_STYLE_PLAIN));
    }
    for (size_t r = 0; r < rows; r++) {
        print_row(table, (const char *const *)table->cells + r * table->columns, widths);
        ak_out("\n");
    }
    if (table->failed) {
        ak_complain("out of memory: the table above is not complete");
    }
    for (size_t i = 0; i < table->count; i++) {
        ak_free(table->cells[i]);
    }
    ak_free(table->cells);
    *table = (ak_table){0};
}
