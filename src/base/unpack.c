/* unpack.c: unpacks gzip with zlib piece by piece, so that a small file which would unpack into
   a huge text is refused when it passes the limit, before memory is used up. */
#include "base/unpack.h"

#include <limits.h>
#include <zlib.h>

#include "base/alloc.h"

static void *unpack_alloc(void *context, unsigned count, unsigned size)
{
    (void)context;
    return ak_alloc(count, size);
}

static void unpack_free(void *context, void *memory)
{
    (void)context;
    ak_free(memory);
}

/* 15 is the largest window, which any file may need; 16 accepts gzip only (zlib.h,
   inflateInit2). */
#define WINDOW_GZIP (15 + 16)

/* Unpacks all members of the file: several follow each other in a file made by `cat a.gz b.gz`. */
static ak_status inflate_all(ak_buf *out, z_stream *z, const char *path, ak_error *err)
{
    Bytef chunk[65536];
    int code = Z_OK;
    for (;;) {
        z->next_out = chunk;
        z->avail_out = sizeof chunk;
        code = inflate(z, Z_NO_FLUSH);
        ak_buf_append(out, chunk, sizeof chunk - z->avail_out);
        AK_FAIL_IF(out->failed == AK_LIMIT, err, AK_LIMIT, "%s: unpacks to more than %zu bytes",
                   path, out->max);
        if (out->failed != AK_OK || code == Z_MEM_ERROR) {
            return ak_fail_memory(err);
        }
        if (code == Z_STREAM_END) {
            if (z->avail_in == 0) {
                return AK_OK;
            }
            code = inflateReset(z);
        }
        AK_FAIL_IF(code == Z_BUF_ERROR || (code == Z_OK && z->avail_in == 0 && z->avail_out > 0),
                   err, AK_CORRUPT, "%s: ends in the middle of its gzip data", path);
        AK_FAIL_IF(code != Z_OK, err, AK_CORRUPT, "%s: the gzip data is damaged (%s)", path,
                   z->msg == NULL ? "zlib gives no reason" : z->msg);
    }
}

static ak_status unpack(ak_buf *out, char *packed, size_t bytes, const char *path, ak_error *err)
{
    z_stream z = {.zalloc = unpack_alloc, .zfree = unpack_free};
    AK_FAIL_IF(bytes > UINT_MAX, err, AK_LIMIT, "%s is larger than %u bytes", path, UINT_MAX);
    z.next_in = (Bytef *)packed;
    z.avail_in = (unsigned)bytes;
    if (inflateInit2(&z, WINDOW_GZIP) != Z_OK) {
        return ak_fail_memory(err);
    }
    ak_status status = inflate_all(out, &z, path, err);
    (void)inflateEnd(&z);
    return status;
}

ak_status ak_unpack_read(char **out, size_t *length, const char *path, size_t max, ak_error *err)
{
    AK_FREED char *data = NULL;
    size_t bytes = 0;
    AK_DO(ak_fs_read(&data, &bytes, path, max, err));
    if (bytes < 2 || (unsigned char)data[0] != 0x1f || (unsigned char)data[1] != 0x8b) {
        AK_GIVE(out, data);
        *length = bytes;
        return AK_OK;
    }
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(max);
    AK_DO(unpack(&text, data, bytes, path, err));
    *length = text.length;
    return ak_buf_take(out, &text, err);
}
