/* utf8.h: checking and repair of UTF-8 (RFC 3629: no surrogates, nothing overlong, at most
   U+10FFFF). JSON demands it; compilers, language models and files do not guarantee it. */
#ifndef AK_BASE_UTF8_H
#define AK_BASE_UTF8_H

#include "base/status.h"

/* Returns true if the whole text is UTF-8. */
bool ak_utf8_valid(const char *text);
/* Returns a copy in which U+FFFD replaces each byte that is not UTF-8, or NULL if there is no
   memory. The caller frees it with ak_free. */
char *ak_utf8_clean(const char *text);
/* Replaces by '?' what a terminal may obey in `bytes` bytes of text: all control characters, also
   those of two bytes (U+0080 to U+009F), but line breaks, tabs and escape sequences that only set a
   style ("\033[1m"). The length stays the same. */
void ak_utf8_tame(char *text, size_t bytes);

#endif
