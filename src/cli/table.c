#include "cli/table.h"

#include "base/alloc.h"
#include "base/plain.h"

/* Limit on the bytes of a cell; a longer text is cut. */
#define CELL_MAX        8192
#define TABLE_BYTES_MAX (256u << 20)

void ak_table_begin(ak_table *table, const char *header, ...)
{
    *table = (ak_table){0};
    va_list args;
    va_start(args, header);
    for (; header != NULL && table->columns < AK_COLUMNS_MAX; header = va_arg(args, const char *)) {
        table->right[table->columns] = header[0] == '>';
        table->below[table->columns] = header[0] == '_';
        bool marked = header[0] == '>' || header[0] == '_';
        table->headers[table->columns++] = marked ? header + 1 : header;
    }
    va_end(args);
}

__attribute__((format(printf, 2, 0))) static void add_cell(ak_table *table, const char *format,
                                                           va_list args)
{
    char text[CELL_MAX];
    (void)vsnprintf(text, sizeof text, format, args);
    ak_plain_line(text);
    if (table->failed || AK_GROW(table->cells, &table->capacity, table->count + 1, NULL) != AK_OK ||
        ak_copy_text(&table->cells[table->count], text, NULL) != AK_OK) {
        table->failed = true;
        return;
    }
    table->count++;
}

void ak_table_cell(ak_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_cell(table, format, args);
    va_end(args);
}

void ak_table_cell_if(ak_table *table, bool known, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_cell(table, known ? format : "-", args);
    va_end(args);
}

void ak_table_print(ak_table *table)
{
    size_t width = ak_columns(stdout);
    ak_layout layout = {.headers = table->headers,
                        .columns = table->columns,
                        .cells = (const char *const *)table->cells,
                        .rows = table->columns == 0 ? 0 : table->count / table->columns,
                        .width = width == 0 ? table->width : width};
    memcpy(layout.right, table->right, sizeof layout.right);
    memcpy(layout.below, table->below, sizeof layout.below);
    ak_buf text = AK_BUF(TABLE_BYTES_MAX);
    if (layout.rows > 0) {
        const size_t headers = ak_layout_table(&text, &layout);
        ak_out_styled(AK_STYLE_BOLD, "%.*s", (int)headers, text.data);
        ak_out_whole(text.data + headers);
    }
    if (table->failed || ak_buf_status(&text, NULL) != AK_OK) {
        ak_complain("out of memory: the table above is not complete");
    }
    ak_buf_free(&text);
    AK_END_EACH(ak_free, table->cells, table->count);
    ak_free(table->cells);
    *table = (ak_table){0};
}
