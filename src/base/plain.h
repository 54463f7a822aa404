/*
 * plain.h: makes texts from outside harmless before a terminal or a browser shows them.
 */
#ifndef AK_BASE_PLAIN_H
#define AK_BASE_PLAIN_H

#include <stddef.h>

/* If a terminal or a browser would obey the character at `text`, sets *code and returns the length
   of the character in bytes. These are the control characters U+007F to U+009F, the line ends
   U+2028 and U+2029, and those that reverse the order of a line (Unicode's Bidi_Control: U+061C,
   U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), with which a name can look like another one.
   Returns 0 for all others, including controls below U+0020, some of which are wanted; *code then
   means nothing. */
size_t ak_plain_obeyed(unsigned *code, const char *text);
/* Replaces in place each character that ak_plain_obeyed finds: one of three bytes by U+FFFD, a
   shorter one by blanks. A blank also replaces each byte from 0x80 to 0x9F that is not part of a
   UTF-8 character, because some terminals obey it. */
void ak_plain_tame(char *text);
/* Does what ak_plain_tame does and replaces controls below U+0020 by blanks, except line breaks and
   tabs. */
void ak_plain_screen(char *text);
/* Does what ak_plain_tame does and replaces every control below U+0020 by a blank. The text is then
   one line that cannot control a terminal. */
void ak_plain_line(char *text);

/* Copies as many whole characters of a text as fit into `bytes`, as one line of UTF-8 that cannot
   control a terminal. A '?' replaces each control, each byte that is not UTF-8, and what
   ak_plain_obeyed finds. For output of another machine or a launcher, whose encoding is unknown. */
void ak_plain_copy(char *out, size_t bytes, const char *text);

/* Copies the first line of a text; a blank replaces every byte that is no printable ASCII. */
void ak_plain_first_line(char *out, size_t bytes, const char *text);

#endif
