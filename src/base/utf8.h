/* utf8.h: checks and repairs UTF-8 (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF).
   JSON demands it; compilers, language models and files do not guarantee it. */
#ifndef AK_BASE_UTF8_H
#define AK_BASE_UTF8_H

#include "base/status.h"

/* Returns true if the whole text is UTF-8. */
bool ak_utf8_valid(const char *text);
/* Returns the length of the byte order mark that some editors put in front of a text: 3, or 0 if
   there is none. */
size_t ak_utf8_mark(const char *text);
/* Returns the largest number of bytes, at most `max`, to which a UTF-8 text can be cut without
   splitting a character. */
size_t ak_utf8_cut(const char *text, size_t max);
/* Returns a copy in which U+FFFD replaces each byte that is not UTF-8, or NULL if there is no
   memory. The caller frees it with ak_free. */
char *ak_utf8_clean(const char *text);

#endif
