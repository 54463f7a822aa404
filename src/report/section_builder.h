/* section_builder.h: functions that fill sections, for the files section_*.c. */
#ifndef AK_REPORT_SECTION_BUILDER_H
#define AK_REPORT_SECTION_BUILDER_H

#include "report/section.h"

#define AK_SECTION_CELL_BYTES_MAX (64u << 10)

/* A section under construction. After the first failure, no further cells or pictures are added. */
typedef struct ak_section_builder {
    ak_sections *sections;
    ak_section *section;
    ak_status status;
    ak_error *err;
} ak_section_builder;

/* Begins an empty list of sections. */
ak_status ak_sections_open(ak_section_builder *b, ak_sections *out, ak_error *err);
/* Returns the builder's status; clears the sections if it failed. */
ak_status ak_sections_end(ak_section_builder *b);
/* Titles and headers must be constants. Cells are copied. ak_section_begin begins a section of
   pairs. */
void ak_section_begin(ak_section_builder *b, const char *title);
/* Begins a section whose columns have these headers; NULL ends them. A column whose header begins
   with '>' is right-aligned, for numbers. A column whose header begins with '_' is printed below
   its row if the screen has a width. */
void ak_section_table(ak_section_builder *b, const char *title, const char *header, ...)
    __attribute__((sentinel));
void ak_section_notef(ak_section_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds to the section's note why a fraction of the roofline is above 1; adds nothing if it is not,
   or if the note says so already. */
void ak_section_note_roofline(ak_section_builder *b, double efficiency, bool memory_bound);
/* Adds the text of a buffer as the section's picture and frees the buffer; an empty buffer adds no
   picture. */
void ak_section_picture(ak_section_builder *b, ak_buf *picture);
void ak_section_cell(ak_section_builder *b, const char *text);
void ak_section_cellf(ak_section_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a cell as ak_section_cellf does, or "-" if what it would show is not `known`. */
void ak_section_cell_if(ak_section_builder *b, bool known, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a row of a label and a text, unless the text is empty or NULL. */
void ak_section_pair(ak_section_builder *b, const char *label, const char *text);
void ak_section_pairf(ak_section_builder *b, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a count or a share; "-" if it is not positive. */
void ak_section_figure(ak_section_builder *b, const char *format, double value);

/* Add a measured value, a ratio of two speeds with `words` behind it, or a number of seconds, as
   base/number.h shows them. A value or ratio that is not positive becomes "-", and so do
   negative seconds. */
void ak_section_value(ak_section_builder *b, double value);
void ak_section_ratio(ak_section_builder *b, double ratio, const char *words);
void ak_section_seconds(ak_section_builder *b, double seconds);
/* Adds an interval, or "-" if there is none: a recorded time has no interval. */
void ak_section_interval(ak_section_builder *b, double low, double high);

/* Add the sections of the files section_NAME.c. */
void ak_sections_add_words(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_changes(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_importance(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_warnings(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_devices(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_conditions(ak_section_builder *b, const ak_report_model *model);
void ak_sections_add_sizes(ak_section_builder *b, const ak_report_model *model);

#endif
