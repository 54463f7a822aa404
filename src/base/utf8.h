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

/* Returns the bytes of the character at `text` and sets *code, if what shows the character would
   obey it: the control characters U+007F to U+009F, the line ends U+2028 and U+2029, and those that
   turn the order of a line around (Unicode's Bidi_Control: U+061C, U+200E, U+200F, U+202A to U+202E,
   U+2066 to U+2069), with which a name can look like another one. Returns 0 for all others,
   also for controls below U+0020, of which some are wanted. */
size_t ak_utf8_obeyed(unsigned *code, const char *text);
/* Replaces in place what ak_utf8_obeyed finds: by U+FFFD or, where that is longer, by blanks. */
void ak_utf8_tame(char *text);
/* Does the same and replaces every control below U+0020 by a blank: the text is one line that
   cannot steer a terminal. */
void ak_utf8_plain(char *text);

#endif
