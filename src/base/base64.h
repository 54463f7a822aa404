/* base64.h: writes bytes as text and reads them back (RFC 4648, with padding and without line
   breaks). */
#ifndef AK_BASE_BASE64_H
#define AK_BASE_BASE64_H

#include "base/buf.h"

/* Returns how many characters encode `length` bytes. */
#define AK_BASE64_CHARACTERS(length) (((size_t)(length) + 2) / 3 * 4)

/* Encodes bytes and appends the text. */
void ak_base64_write(ak_buf *out, const void *bytes, size_t length);
/* Decodes a text and appends the bytes. Returns false, with `out` unchanged, if the text is not
   base64. Returns true even if an append fails; ak_buf_status reports that. */
bool ak_base64_read(ak_buf *out, const char *text, size_t length);

#endif
