/* charset.h: decides which characters a terminal and the texts of the user hold. */
#ifndef AK_BASE_CHARSET_H
#define AK_BASE_CHARSET_H

#include <stdbool.h>

/* Returns whether texts of the user are UTF-8, as LC_ALL, LC_CTYPE or LANG says. This alone decides
   which characters reach a terminal or a file of the user's. */
bool ak_charset_is_utf8(void);
/* Replaces in place our own characters that are not ASCII, unless texts are UTF-8: the
   microsecond's "us" and the bars of a curve. Names and messages of others stay as they are. */
void ak_charset_fit(char *text);

#endif
