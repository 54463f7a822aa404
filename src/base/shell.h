/* shell.h: writes words for a POSIX shell. */
#ifndef AK_BASE_SHELL_H
#define AK_BASE_SHELL_H

#include "base/buf.h"

/* Appends a word so that a shell reads it as it is; it is in apostrophes only if it needs them. */
void ak_shell_quote(ak_buf *out, const char *word);
/* Appends text for use within apostrophes. An apostrophe in it closes them, is escaped, and opens
   them again. */
void ak_shell_within(ak_buf *out, const char *text);

#endif
