/*
 * code_text.h: puts texts from outside (of a kernel, a space, an archive or a bundle) into code
 * that this program generates, so that they cannot become code.
 */
#ifndef AK_BASE_CODE_TEXT_H
#define AK_BASE_CODE_TEXT_H

#include "base/buf.h"

/* Appends a text for use in a comment of C, C++, CUDA or Python: one line, without the characters
   that ak_plain_line replaces, and with a blank between "*" and "/" in either order, so that the
   text neither ends nor begins a comment. */
void ak_code_comment(ak_buf *out, const char *text);
/* Appends a text as a string in double quotes that Python and JSON can read. Line breaks and what
   ak_plain_obeyed finds are escaped. */
void ak_code_string(ak_buf *out, const char *text);

#endif
