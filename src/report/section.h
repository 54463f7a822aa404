/*
 * section.h: a report as a list of titled sections. A section holds pairs of a label and a text,
 * or a table with a header. text, md and csv are three ways to print sections.
 *
 * Cells and notes are safe to print: one line of UTF-8 without control characters. They and the
 * lines of a picture may hold marks of a format, which the format escapes.
 */
#ifndef AK_REPORT_SECTION_H
#define AK_REPORT_SECTION_H

#include "report/report.h"

#define AK_SECTIONS_MAX 32
#define AK_COLUMNS_MAX  10

typedef struct ak_section {
    const char *title, *note; /* note: a line below the title, or NULL */
    size_t columns;
    const char *headers[AK_COLUMNS_MAX]; /* headers[0] NULL: the section holds pairs */
    bool right[AK_COLUMNS_MAX];          /* right-aligned, for numbers */
    bool below[AK_COLUMNS_MAX];          /* printed below its row if the screen has a width, for
                                            long texts */
    bool whole;          /* cells are commands to copy, which are folded only between words */
    const char *picture; /* lines of characters (picture.c), or NULL */
    const char **cells;  /* row by row */
    size_t cell_count, capacity;
} ak_section;

typedef struct ak_sections {
    ak_section items[AK_SECTIONS_MAX];
    size_t count;
    struct ak_arena *arena; /* owns the cells' texts */
} ak_sections;

ak_status ak_sections_build(ak_sections *out, const ak_report_model *model, ak_error *err);
void ak_sections_clear(ak_sections *sections);

#endif
