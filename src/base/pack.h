/*
 * pack.h: a set of files in memory, each with a name and its bytes, which can be written as a tar
 * file (POSIX ustar, uncompressed) that every tar program unpacks. Equal files in equal order give
 * an equal tar file, because it has no times and no owners.
 */
#ifndef AK_BASE_PACK_H
#define AK_BASE_PACK_H

#include "base/buf.h"

#define AK_PACK_NAME_MAX  99
#define AK_PACK_FILES_MAX 1024

typedef struct ak_pack_file {
    char *name; /* relative, "kernel/matmul/host.c" */
    char *data; /* ends in a 0 that `length` does not count */
    size_t length;
} ak_pack_file;

/* A set of files. The caller sets it to zero before the first call and frees it with
   ak_pack_clear. */
typedef struct ak_pack {
    ak_pack_file *files;
    size_t count, capacity;
} ak_pack;

void ak_pack_clear(ak_pack *pack);
/* Returns whether a name of at most `most` bytes leads to a file below the folder that it is
   relative to: it is not absolute, and no part of it is empty, "." or "..". */
bool ak_pack_is_name(const char *name, size_t most);
/* Adds a copy of a file. Does nothing if the pack has a file with this name and the same bytes.
   Returns AK_INVALID if it has one with this name and other bytes, or if ak_pack_is_name refuses
   the name (AK_PACK_NAME_MAX); AK_LIMIT beyond AK_PACK_FILES_MAX files. */
ak_status ak_pack_add(ak_pack *pack, const char *name, const void *data, size_t length,
                      ak_error *err);
const ak_pack_file *ak_pack_find(const ak_pack *pack, const char *name); /* NULL: none */
/* Returns whether a file can be shown as text, which is so if none of its bytes is 0. */
bool ak_pack_is_text(const char *data, size_t length);
void ak_pack_sort(ak_pack *pack); /* by name */

/* Appends the files as a tar file. Fails as ak_buf_status does. */
ak_status ak_pack_tar(ak_buf *out, const ak_pack *pack, ak_error *err);
/* Reads a tar file that ak_pack_tar wrote; returns AK_CORRUPT if it is damaged or incomplete, and
   refuses names as ak_pack_add does. `where` names the file in messages. */
ak_status ak_pack_untar(ak_pack *out, const void *bytes, size_t length, const char *where,
                        ak_error *err);

/* Writes each file below the folder, which is created if necessary, with those above it. */
ak_status ak_pack_write(const ak_pack *pack, const char *folder, ak_error *err);

/* Write and read the tar file in compressed form (zlib, RFC 1950). ak_pack_unsqueeze returns
   AK_LIMIT if the uncompressed tar file has more than `max` bytes. */
ak_status ak_pack_squeeze(ak_buf *out, const ak_pack *pack, ak_error *err);
ak_status ak_pack_unsqueeze(ak_pack *out, const void *bytes, size_t length, size_t max,
                            const char *where, ak_error *err);

#endif
