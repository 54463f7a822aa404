#include "base/layout.h"

#include <assert.h>
#include <string.h>

#define GAP          2 /* blanks between two columns */
#define BELOW_INDENT 4
#define LIST_INDENT  2
/* A column of texts stays at least this wide, even if its words are broken. */
#define TEXT_MIN 8

/* ---- characters ------------------------------------------------------------------------------ */

/* Returns the code point at `text` and gives its length in bytes. A byte that is not UTF-8 stands
   for itself. */
static uint32_t decode(size_t *bytes, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 1;
    uint32_t code = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *bytes = 1;
            return p[0];
        }
        code = code << 6 | (p[i] & 0x3fu);
    }
    *bytes = length;
    return code;
}

/* Returns how many columns a code point takes on a terminal (after Unicode 15): none for the usual
   combining marks and format characters, two for East Asian wide characters and pictures, one for
   all others. */
static size_t columns_of(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        size_t columns;
    } ranges[] = {
        {0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},    {0x200b, 0x200f, 0},
        {0x20d0, 0x20f0, 0},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},  {0x1100, 0x115f, 2},
        {0x2e80, 0x303e, 2},   {0x3041, 0x4dbf, 2},   {0x4e00, 0xa4cf, 2},  {0xac00, 0xd7a3, 2},
        {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},  {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < AK_COUNT(ranges); i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) {
            return ranges[i].columns;
        }
    }
    return 1;
}

/* Returns the length in bytes of the next character or escape sequence ("\033[1m"), and gives how
   many columns it takes. */
static size_t step(size_t *columns, const char *text)
{
    size_t bytes;
    if (text[0] == '\033' && text[1] == '[') {
        bytes = 2 + strspn(text + 2, "0123456789;");
        *columns = 0;
        return bytes + (text[bytes] != 0 ? 1 : 0);
    }
    *columns = columns_of(decode(&bytes, text));
    return bytes;
}

static size_t width_of(const char *text, size_t bytes)
{
    size_t width = 0, columns;
    for (size_t at = 0; at < bytes; at += step(&columns, text + at), width += columns) {
    }
    return width;
}

size_t ak_layout_width(const char *text)
{
    return width_of(text, strlen(text));
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Returns true if a line may end at the blank text[at]: not before "..", and unless `loose` neither
   before "%" nor after "..", so that figures and intervals stay in one piece. */
static bool breaks_at(const char *text, size_t at, bool loose)
{
    if (loose) {
        return strncmp(text + at + 1, "..", 2) != 0;
    }
    const char *next = text + at + 1;
    bool unit = next[0] == '%' || strncmp(next, "..", 2) == 0;
    bool interval = at >= 2 && text[at - 1] == '.' && text[at - 2] == '.';
    return !unit && !interval;
}

static size_t fold(const char *text, size_t width, bool loose)
{
    size_t bytes = 0, good = 0, used = 0, start = strspn(text, " ");
    while (text[bytes] != 0) {
        size_t columns, length = step(&columns, text + bytes);
        bool blank = text[bytes] == ' ' && bytes >= start;
        /* A blank at the end of a line takes no column. */
        if (used + columns > width && bytes > 0 && !(blank && breaks_at(text, bytes, loose))) {
            return good > 0 ? good : bytes;
        }
        if (blank ? breaks_at(text, bytes, loose) : text[bytes] == ',' || text[bytes] == ';') {
            good = bytes + length;
        }
        if (used + columns > width && bytes > 0) {
            return good;
        }
        bytes += length;
        used += columns;
    }
    return bytes;
}

size_t ak_layout_fold(const char *text, size_t width)
{
    return fold(text, width, false);
}

size_t ak_layout_cut(const char *text, size_t width)
{
    size_t bytes = 0, columns;
    for (size_t used = 0; text[bytes] != 0;) {
        size_t length = step(&columns, text + bytes);
        if ((used += columns) > width) {
            break;
        }
        bytes += length;
    }
    return bytes;
}

static void blanks(ak_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ak_buf_putc(out, ' ');
    }
}

/* Returns the length of the line in bytes without the blanks at its end. */
static size_t trimmed(const char *text, size_t bytes)
{
    while (bytes > 0 && text[bytes - 1] == ' ') {
        bytes--;
    }
    return bytes;
}

void ak_layout_fill(ak_buf *out, const char *text, size_t width, size_t used, size_t indent)
{
    if (width == 0) {
        ak_buf_puts(out, text);
        return;
    }
    /* a narrow screen keeps half of its width for text */
    indent = indent < width / 2 ? indent : width / 2;
    for (bool first = true; first || *text != 0; first = false) {
        size_t taken = first ? used : indent;
        size_t room = taken < width ? width - taken : 1;
        size_t bytes = ak_layout_fold(text, room);
        if (!first) {
            ak_buf_putc(out, '\n');
            blanks(out, indent);
        }
        ak_buf_append(out, text, text[bytes] == 0 ? bytes : trimmed(text, bytes));
        text += bytes;
    }
}

/* Returns the number of bytes before the first blank that is not in single quotes. */
static size_t word_of(const char *text)
{
    bool quoted = false;
    size_t bytes = 0;
    for (; text[bytes] != 0 && (quoted || text[bytes] != ' '); bytes++) {
        quoted = quoted != (text[bytes] == '\'');
    }
    return bytes;
}

/* Returns how many bytes must stay on one line: a word, or an option with its value if both fit
   into `room` columns. */
static size_t unit_of(const char *text, size_t room)
{
    size_t bytes = word_of(text);
    bool valued = strncmp(text, "--", 2) == 0 && text[bytes] == ' ' && text[bytes + 1] != '-';
    size_t both = valued ? bytes + 1 + word_of(text + bytes + 1) : bytes;
    return width_of(text, both) <= room ? both : bytes;
}

void ak_layout_command(ak_buf *out, const char *text, size_t width, size_t used, size_t indent)
{
    bool fresh = true;
    for (size_t at = used; *text != 0; fresh = false) {
        size_t bytes = unit_of(text, width > indent + 2 ? width - indent - 2 : 0);
        size_t columns = width_of(text, bytes);
        const char *next = text + bytes + (text[bytes] == ' ' ? 1 : 0);
        size_t mark = *next == 0 ? 0 : 2; /* columns of the " \\" before a further line */
        if (width > 0 && !fresh && at + 1 + columns + mark > width) {
            ak_buf_puts(out, " \\\n");
            blanks(out, indent);
            at = indent;
        } else if (!fresh) {
            ak_buf_putc(out, ' ');
            at++;
        }
        ak_buf_append(out, text, bytes);
        at += columns;
        text = next;
    }
}

/* Appends one paragraph of `bytes` bytes. Its line breaks count as blanks. */
static void fill_paragraph(ak_buf *out, const char *text, size_t bytes, size_t width)
{
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(out->max);
    for (size_t i = 0; i < bytes; i++) {
        ak_buf_putc(&line, text[i] == '\n' ? ' ' : text[i]);
    }
    if (line.length > 0) {
        size_t indent = strspn(line.data, " ");
        ak_layout_fill(out, line.data, width, 0, indent > 0 ? indent + LIST_INDENT : 0);
        ak_buf_putc(out, '\n');
    }
}

void ak_layout_paragraphs(ak_buf *out, const char *text, size_t width)
{
    while (*text != 0) {
        size_t bytes = strcspn(text, "\n");
        /* The next line belongs to this paragraph unless one of the two is empty or begins with a
           blank. */
        while (text[0] != ' ' && text[0] != '\n' && text[bytes] == '\n' && text[bytes + 1] != 0 &&
               text[bytes + 1] != '\n' && text[bytes + 1] != ' ') {
            bytes += 1 + strcspn(text + bytes + 1, "\n");
        }
        fill_paragraph(out, text, bytes, width);
        text += bytes;
        text += *text == '\n';
        if (*text == '\n') {
            ak_buf_putc(out, '\n');
            text++;
        }
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct sizing {
    size_t wanted[AK_LAYOUT_COLUMNS_MAX]; /* columns of the longest cell on one line */
    size_t least[AK_LAYOUT_COLUMNS_MAX];  /* columns of the longest piece that is not broken */
} sizing;

/* Returns true if the column's cells stand in the row, not below it. */
static bool beside(const ak_layout *table, size_t column)
{
    return table->width == 0 || !table->below[column];
}

static void measure(size_t *wanted, size_t *least, const char *text, bool loose)
{
    size_t width = ak_layout_width(text);
    *wanted = width > *wanted ? width : *wanted;
    while (*text != 0) {
        size_t bytes = 0, used = 0, columns;
        do { /* goes to the next place where a line may end */
            char c = text[bytes];
            size_t length = step(&columns, text + bytes);
            used += c == ' ' && breaks_at(text, bytes, loose) ? 0 : columns;
            bool end = c == ',' || c == ';' || (c == ' ' && breaks_at(text, bytes, loose));
            bytes += length;
            if (end) {
                break;
            }
        } while (text[bytes] != 0);
        *least = used > *least ? used : *least;
        text += bytes;
    }
}

static void measure_all(sizing *s, const ak_layout *table, bool loose)
{
    *s = (sizing){0};
    for (size_t c = 0; c < table->columns; c++) {
        if (beside(table, c)) {
            if (table->headers != NULL) {
                measure(&s->wanted[c], &s->least[c], table->headers[c], loose);
            }
            for (size_t r = 0; r < table->rows; r++) {
                measure(&s->wanted[c], &s->least[c], table->cells[r * table->columns + c], loose);
            }
        }
    }
}

static size_t total_of(const size_t *widths, const ak_layout *table)
{
    size_t total = table->indent, shown = 0;
    for (size_t c = 0; c < table->columns; c++) {
        if (beside(table, c)) {
            total += widths[c] + (shown > 0 ? GAP : 0);
            shown++;
        }
    }
    return total;
}

/* Takes one screen column from the widest table column that may become narrower. Returns false if
   no column may become narrower. */
static bool narrow(size_t *widths, const size_t *least, const ak_layout *table, bool figures)
{
    size_t widest = table->columns;
    for (size_t c = 0; c < table->columns; c++) {
        bool may = beside(table, c) && widths[c] > least[c] && (figures || !table->right[c]);
        if (may && (widest == table->columns || widths[c] > widths[widest])) {
            widest = c;
        }
    }
    if (widest == table->columns) {
        return false;
    }
    widths[widest]--;
    return true;
}

/* Finds widths at which the table fits. Text columns become narrower first, then the headers above
   figures, then intervals are broken (*loose), then words in texts. Returns false if it does not
   fit even then. */
static bool choose_widths(size_t *widths, bool *loose, const ak_layout *table)
{
    sizing s;
    *loose = false;
    measure_all(&s, table, false);
    memcpy(widths, s.wanted, sizeof s.wanted);
    for (int stage = 0; stage < 4 && total_of(widths, table) > table->width; stage++) {
        if (table->width == 0) {
            return true;
        }
        if (stage == 2) {
            *loose = true;
            measure_all(&s, table, true);
        }
        for (size_t c = 0; stage == 3 && c < table->columns; c++) {
            bool text = !table->right[c] && s.least[c] > TEXT_MIN;
            s.least[c] = text ? TEXT_MIN : s.least[c];
        }
        while (total_of(widths, table) > table->width &&
               narrow(widths, s.least, table, stage > 0)) {
        }
    }
    return total_of(widths, table) <= table->width;
}

/* Appends one row on as many lines as its longest cell needs. Blanks are written only when a
   cell follows them, so that no line ends in one. */
static void put_row(ak_buf *out, const char *const *cells, const size_t *widths, bool loose,
                    const ak_layout *table)
{
    const char *rest[AK_LAYOUT_COLUMNS_MAX];
    for (size_t c = 0; c < table->columns; c++) {
        rest[c] = cells[c];
    }
    for (bool more = true; more;) {
        size_t owed = table->indent;
        more = false;
        for (size_t c = 0; c < table->columns; c++) {
            if (!beside(table, c)) {
                continue;
            }
            size_t bytes = fold(rest[c], widths[c], loose), shown = trimmed(rest[c], bytes);
            size_t used = width_of(rest[c], shown);
            size_t padding = used < widths[c] ? widths[c] - used : 0;
            if (shown > 0) {
                blanks(out, owed + (table->right[c] ? padding : 0));
                ak_buf_append(out, rest[c], shown);
                owed = GAP + (table->right[c] ? 0 : padding);
            } else {
                owed += widths[c] + GAP;
            }
            rest[c] += bytes;
            more = more || *rest[c] != 0;
        }
        ak_buf_putc(out, '\n');
    }
}

static void put_below(ak_buf *out, const char *const *cells, const ak_layout *table)
{
    for (size_t c = 0; c < table->columns; c++) {
        if (!beside(table, c) && cells[c][0] != 0) {
            size_t indent = table->indent + BELOW_INDENT;
            blanks(out, indent);
            ak_layout_fill(out, cells[c], table->width, indent, indent);
            ak_buf_putc(out, '\n');
        }
    }
}

/* Appends the table as a list with one "header: cell" per line, for a screen that is too narrow
   for columns. */
static void put_list(ak_buf *out, const ak_layout *table)
{
    for (size_t i = 0; i < table->rows * table->columns; i++) {
        size_t c = i % table->columns, indent = table->indent + (c == 0 ? 0 : LIST_INDENT);
        AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(out->max);
        const char *header = table->headers == NULL ? "" : table->headers[c];
        ak_buf_print(&line, "%s%s%s", header, header[0] == 0 ? "" : ": ", table->cells[i]);
        if (table->cells[i][0] != 0 && line.length > 0) {
            blanks(out, indent < table->width / 2 ? indent : 0);
            ak_layout_fill(out, line.data, table->width, indent, indent + LIST_INDENT);
            ak_buf_putc(out, '\n');
        }
    }
}

size_t ak_layout_table(ak_buf *out, const ak_layout *table)
{
    size_t widths[AK_LAYOUT_COLUMNS_MAX];
    bool loose;
    assert(table->columns <= AK_LAYOUT_COLUMNS_MAX);
    if (!choose_widths(widths, &loose, table)) {
        put_list(out, table);
        return 0;
    }
    bool headed = false;
    for (size_t c = 0; c < table->columns && table->headers != NULL; c++) {
        headed = headed || (beside(table, c) && table->headers[c][0] != 0);
    }
    const size_t before = out->length;
    if (headed) {
        put_row(out, table->headers, widths, loose, table);
    }
    const size_t header_bytes = out->length - before;
    for (size_t r = 0; r < table->rows; r++) {
        put_row(out, table->cells + r * table->columns, widths, loose, table);
        put_below(out, table->cells + r * table->columns, table);
    }
    return header_bytes;
}
