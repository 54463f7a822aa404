/* unpack.h: reads files that may be compressed with gzip (RFC 1952), as most recordings are. */
#ifndef AK_BASE_UNPACK_H
#define AK_BASE_UNPACK_H

#include "base/fs.h"

/* Reads a whole file and unpacks it if it begins as gzip does. `max` limits both the bytes of
   the file and the bytes that come out of it; more is AK_LIMIT. A packed file that is damaged, ends
   too early or is followed by other bytes is AK_CORRUPT. *out ends in a 0 that *length does not
   count, and the caller frees it with ak_free. */
ak_status ak_unpack_read(char **out, size_t *length, const char *path, size_t max, ak_error *err);

#endif
