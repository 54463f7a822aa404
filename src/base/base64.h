/* base64.h: bytes as text (RFC 4648, with padding and without line breaks). */
#ifndef AK_BASE_BASE64_H
#define AK_BASE_BASE64_H

#include "base/buf.h"

/* Returns the characters that `length` bytes take. */
#define AK_BASE64_CHARACTERS(length) (((size_t)(length) + 2) / 3 * 4)

/* Appends the text of some bytes. */
void ak_base64_write(ak_buf *out, const void *bytes, size_t length);
/* Appends the bytes of a text. Returns false, with `out` unchanged, if it is not base64. */
bool ak_base64_read(ak_buf *out, const char *text, size_t length);

#endif
