/* utf8.h: is a text UTF-8 (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF)? JSON
   demands it; compilers, models and files do not promise it. */
#ifndef AK_BASE_UTF8_H
#define AK_BASE_UTF8_H

#include "base/status.h"

bool ak_utf8_valid(const char *text);
/* A copy in which each byte that does not belong is U+FFFD (ak_free). NULL: no memory. */
char *ak_utf8_clean(const char *text);

#endif
