/*
 * plain.h: makes texts harmless that others wrote and that a terminal or a browser shows.
 */
#ifndef AK_BASE_PLAIN_H
#define AK_BASE_PLAIN_H

#include <stddef.h>

/* Returns the bytes of the character at `text` and sets *code, if what shows the character would
   obey it: the control characters U+007F to U+009F, the line ends U+2028 and U+2029, and those that
   turn the order of a line around (Unicode's Bidi_Control: U+061C, U+200E, U+200F, U+202A to
   U+202E, U+2066 to U+2069), with which a name can look like another one. Returns 0 for all others,
   also for controls below U+0020, of which some are wanted. */
size_t ak_plain_obeyed(unsigned *code, const char *text);
/* Replaces in place what ak_plain_obeyed finds, by U+FFFD or, where that is longer, by blanks, and
   by blanks the bytes 0x80 to 0x9F that are part of no character, which some terminals obey. */
void ak_plain_tame(char *text);
/* The styles of our own output, which ak_style of cli/output.h numbers; NULL-terminated. */
extern const char *const ak_plain_styles[];
/* Does the same for a terminal: of the controls below U+0020 line ends, tabulators and these styles
   remain, and blanks replace the others. */
void ak_plain_screen(char *text);
/* Does the same and replaces every control below U+0020 by a blank: the text is one line that
   cannot steer a terminal. */
void ak_plain_line(char *text);

/* Copies as much of a text as fits, without cutting a character in two: one line of UTF-8 that
   cannot steer a terminal. A '?' replaces each control, each byte that is not UTF-8, and what
   ak_plain_obeyed finds. For what another machine or a launcher wrote in whatever encoding. */
void ak_plain_copy(char *out, size_t bytes, const char *text);

/* Copies the first line of a text; a blank replaces every byte that is no printable ASCII. */
void ak_plain_first_line(char *out, size_t bytes, const char *text);

#endif
