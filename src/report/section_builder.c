#include "report/section_builder.h"

#include <assert.h>

#include "base/number.h"
#include "base/plain.h"
#include "base/utf8.h"

ak_status ak_sections_open(ak_section_builder *b, ak_sections *out, ak_error *err)
{
    *out = (ak_sections){.arena = ak_arena_new()};
    *b = (ak_section_builder){.sections = out, .err = err, .status = AK_OK};
    return ak_made(out->arena, err);
}

ak_status ak_sections_end(ak_section_builder *b)
{
    if (b->status != AK_OK) {
        ak_sections_clear(b->sections);
    }
    return b->status;
}

void ak_section_begin(ak_section_builder *b, const char *title)
{
    b->section = &b->sections->items[b->sections->count++];
    b->section->title = title;
    b->section->columns = 2;
}

void ak_section_table(ak_section_builder *b, const char *title, const char *header, ...)
{
    va_list args;
    ak_section_begin(b, title);
    ak_section *s = b->section;
    s->columns = 0;
    va_start(args, header);
    for (; header != NULL; header = va_arg(args, const char *)) {
        assert(s->columns < AK_COLUMNS_MAX);
        s->right[s->columns] = *header == '>';
        s->below[s->columns] = *header == '_';
        s->headers[s->columns++] = header + (*header == '>' || *header == '_' ? 1 : 0);
    }
    va_end(args);
}

/* Returns a copy of a text that lives as long as the sections, as valid UTF-8; NULL, with the
   builder's status, if the builder failed before or there is no memory. */
static char *keep(ak_section_builder *b, const char *text)
{
    AK_FREED char *clean = b->status == AK_OK ? ak_utf8_clean(text) : NULL;
    char *kept = clean == NULL ? NULL : ak_arena_strndup(b->sections->arena, clean, strlen(clean));
    if (b->status == AK_OK) {
        b->status = ak_made(kept, b->err);
    }
    return kept;
}

void ak_section_cell(ak_section_builder *b, const char *text)
{
    ak_section *s = b->section;
    char *kept = keep(b, text);
    if (b->status == AK_OK) {
        b->status = AK_GROW(s->cells, &s->capacity, s->cell_count + 1, b->err);
    }
    if (b->status == AK_OK) {
        ak_plain_line(kept);
        s->cells[s->cell_count++] = kept;
    }
}

/* Formats a text, which the caller frees. A text that is too long is a failure of the builder. */
static ak_buf formatted(ak_section_builder *b, const char *format, va_list args)
{
    ak_buf out = AK_BUF(AK_SECTION_CELL_BYTES_MAX);
    ak_buf_vprint(&out, format, args);
    if (b->status == AK_OK) {
        b->status = ak_buf_status(&out, b->err);
    }
    return out;
}

void ak_section_cellf(ak_section_builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AK_AT_END(ak_buf_free) ak_buf out = formatted(b, format, args);
    va_end(args);
    ak_section_cell(b, out.data);
}

void ak_section_cell_if(ak_section_builder *b, bool known, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AK_AT_END(ak_buf_free) ak_buf out = formatted(b, format, args);
    va_end(args);
    ak_section_cell(b, known ? out.data : "-");
}

void ak_section_pair(ak_section_builder *b, const char *label, const char *text)
{
    if (text != NULL && *text != 0) {
        ak_section_cell(b, label);
        ak_section_cell(b, text);
    }
}

void ak_section_pairf(ak_section_builder *b, const char *label, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AK_AT_END(ak_buf_free) ak_buf out = formatted(b, format, args);
    va_end(args);
    ak_section_pair(b, label, out.data);
}

void ak_section_figure(ak_section_builder *b, const char *format, double value)
{
    char text[48];
    int length = snprintf(text, sizeof text, "%s", "-");
    if (value > 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        length = ak_number_print(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    }
    ak_section_cell(b, length < 0 ? "-" : text);
}

void ak_section_notef(ak_section_builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AK_AT_END(ak_buf_free) ak_buf out = formatted(b, format, args);
    va_end(args);
    char *kept = keep(b, out.data);
    if (kept != NULL) {
        ak_plain_line(kept);
    }
    b->section->note = kept;
}

void ak_section_note_roofline(ak_section_builder *b, double efficiency, bool memory_bound)
{
    const char *note = ak_or_empty(b->section == NULL ? NULL : b->section->note);
    const char *doubt = ak_efficiency_doubt(efficiency, memory_bound);
    if (doubt[0] != 0 && strstr(note, doubt) == NULL) {
        ak_section_notef(b, "%s%sRoofline above 100 %%: %s.", note, note[0] == 0 ? "" : " ", doubt);
    }
}

/* Replaces control characters, which names in the picture may contain, as in cells, but keeps line
   breaks. */
void ak_section_picture(ak_section_builder *b, ak_buf *picture)
{
    if (b->status == AK_OK) {
        b->status = ak_buf_status(picture, b->err);
    }
    if (b->status == AK_OK && picture->length > 0) {
        char *kept = keep(b, picture->data);
        b->section->picture = kept;
        while (kept != NULL && *kept != 0) {
            char *line_end = kept + strcspn(kept, "\n"), after = *line_end;
            *line_end = 0;
            ak_plain_line(kept);
            *line_end = after;
            kept = line_end + (after == 0 ? 0 : 1);
        }
    }
    ak_buf_free(picture);
}

void ak_section_value(ak_section_builder *b, double value)
{
    char text[AK_REAL_BYTES];
    ak_section_cell(b, value > 0 ? ak_number_figure(text, value, AK_DIGITS) : "-");
}

void ak_section_ratio(ak_section_builder *b, double ratio, const char *words)
{
    char text[AK_REAL_BYTES];
    ak_section_cell_if(b, ratio > 0, "%s%s", ak_number_ratio(text, ratio), words);
}

void ak_section_seconds(ak_section_builder *b, double seconds)
{
    char text[AK_REAL_BYTES];
    ak_section_cell(b, seconds < 0 ? "-" : ak_number_figure(text, seconds, AK_DIGITS_DURATION));
}

void ak_section_interval(ak_section_builder *b, double low, double high)
{
    char from[AK_REAL_BYTES], to[AK_REAL_BYTES];
    ak_section_cell_if(b, low > 0 && high > low, "%s .. %s", ak_number_figure(from, low, AK_DIGITS),
                       ak_number_figure(to, high, AK_DIGITS));
}
