/*
 * code_text.h: puts texts that others wrote (of a kernel, a space, an archive or a bundle) into
 * code that this program writes, so that they stay texts there.
 */
#ifndef AK_BASE_CODE_TEXT_H
#define AK_BASE_CODE_TEXT_H

#include "base/buf.h"

/* Appends a text as part of a comment between the marks of C, C++ and CUDA, or behind Python's: in
   one line, without what ak_plain_line replaces, and with a blank between a "*" and a "/", so that
   it neither ends the comment nor begins one. */
void ak_code_comment(ak_buf *out, const char *text);
/* Appends a text as a string in double quotes, as Python and JSON read it, in one line that has
   nothing that ak_plain_obeyed finds. */
void ak_code_string(ak_buf *out, const char *text);

#endif
