/* charset.h: fits text output to the user's character set. JSON, CSV and pages are always UTF-8. */
#ifndef AK_BASE_CHARSET_H
#define AK_BASE_CHARSET_H

#include <stdbool.h>

/* Returns whether the user's texts are UTF-8, according to the first of LC_ALL, LC_CTYPE and LANG
   that is set and not empty; false if there is none. */
bool ak_charset_is_utf8(void);
/* Unless texts are UTF-8, replaces in place the characters outside ASCII that this program writes:
   the micro sign of a unit and the bars of a curve. All others, such as those in names, stay as
   they are. */
void ak_charset_fit(char *text);

#endif
