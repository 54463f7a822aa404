#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "runtime/ak_runtime.h"

uint64_t ak_hash64(const void *data, size_t length)
{
    return XXH3_64bits(data, length);
}

void ak_hash_text(char out[AK_HASH_BYTES], const void *data, size_t length)
{
    akr_sha256(out, data, length);
}

void ak_hash_quick(char out[AK_HASH_QUICK_BYTES], const void *data, size_t length)
{
    const XXH128_hash_t hash = XXH3_128bits(data, length);
    (void)snprintf(out, AK_HASH_QUICK_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
}

bool ak_hash_is_quick(const char *hash)
{
    return strlen(hash) == AK_HASH_QUICK_BYTES - 1;
}

struct ak_hasher {
    ak_buf pieces;
    bool quick;
};

static ak_hasher *new_hasher(bool quick)
{
    ak_hasher *hasher = ak_alloc(1, sizeof *hasher);
    if (hasher != NULL) {
        *hasher = (ak_hasher){.pieces = AK_BUF(SIZE_MAX / 2), .quick = quick};
    }
    return hasher;
}

ak_hasher *ak_hasher_new(void)
{
    return new_hasher(false);
}

ak_hasher *ak_hasher_new_quick(void)
{
    return new_hasher(true);
}

void ak_hasher_add(ak_hasher *hasher, const void *data, size_t length)
{
    if (hasher != NULL) {
        uint64_t frame = length;
        ak_buf_append(&hasher->pieces, &frame, sizeof frame);
        ak_buf_append(&hasher->pieces, data, length);
    }
}

void ak_hasher_add_text(ak_hasher *hasher, const char *text)
{
    ak_hasher_add(hasher, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

void ak_hasher_end(char out[AK_HASH_BYTES], ak_hasher *hasher)
{
    out[0] = 0;
    if (hasher != NULL) {
        const ak_buf *pieces = &hasher->pieces;
        if (ak_buf_status(pieces, NULL) == AK_OK) {
            (hasher->quick ? ak_hash_quick : ak_hash_text)(out, pieces->data, pieces->length);
        }
        ak_buf_free(&hasher->pieces);
        ak_free(hasher);
    }
}
