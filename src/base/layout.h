/*
 * layout.h: lays out texts and tables for a screen of a given width.
 *
 * Widths are columns of a terminal: an East Asian wide character takes two, a combining mark and an
 * escape sequence that sets a style take none. A width of 0 means no limit (a pipe or a file): each
 * row is then one whole line, so that other programs can read it.
 */
#ifndef AK_BASE_LAYOUT_H
#define AK_BASE_LAYOUT_H

#include "base/buf.h"

/* Returns how many columns a text takes. A byte that is not UTF-8 takes one. */
size_t ak_layout_width(const char *text);

/* Returns how many bytes of `text` go on a line of `width` columns: at least one character unless
   the text is empty. A line ends after a blank, a comma or a semicolon if it can. A number stays
   with its percent sign ("12.3 %") and an interval in one piece ("9.9 .. 10.5"). */
size_t ak_layout_fold(const char *text, size_t width);

/* Returns how many bytes of `text` fit into `width` columns, even if that ends inside a word. */
size_t ak_layout_cut(const char *text, size_t width);

/* Appends `text`, folded. Lines after the first begin with `indent` blanks, of which there are at
   most half of `width`; `used` columns of the first line are taken already. With a width of 0 the
   text is not folded. The last line gets no line break. */
void ak_layout_fill(ak_buf *out, const char *text, size_t width, size_t used, size_t indent);

/* Appends a shell command, folded between its words so that it can still be copied: every line
   but the last ends in a backslash. A word that is longer than a line stays whole. */
void ak_layout_command(ak_buf *out, const char *text, size_t width, size_t used, size_t indent);

/* Appends paragraphs, each folded. Line breaks inside a paragraph count as blanks, an empty line
   separates paragraphs, and a line that begins with a blank is a paragraph of its own, whose
   further lines are indented more. Every line ends in a line break. */
void ak_layout_paragraphs(ak_buf *out, const char *text, size_t width);

#define AK_LAYOUT_COLUMNS_MAX 16

typedef struct ak_layout {
    const char *const *headers;        /* one for each column; NULL: no header line */
    bool right[AK_LAYOUT_COLUMNS_MAX]; /* aligned to the right, as figures are */
    /* The cell is written below its row, indented, because it is too long for a column (a
       configuration). Without a limit of width it is a column like the others. */
    bool below[AK_LAYOUT_COLUMNS_MAX];
    size_t columns;
    const char *const *cells; /* row by row */
    size_t rows;
    size_t width;  /* 0: no limit */
    size_t indent; /* blanks before each line */
} ak_layout;

/* Appends the table. A column that is too wide is folded, texts before figures; if the table still
   does not fit, each row becomes a list with one cell per line, without empty cells. No line ends
   in a blank. Returns the bytes in the header lines; 0 if there are none, as in a list. */
size_t ak_layout_table(ak_buf *out, const ak_layout *table);

#endif
