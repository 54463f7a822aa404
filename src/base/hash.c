/* hash.c: see hash.h. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

uint64_t ak_hash64(const void *data, size_t length)
{
    return XXH3_64bits(data, length);
}

static void print_hash(char out[AK_HASH_BYTES], XXH128_hash_t hash)
{
    (void)snprintf(out, AK_HASH_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
}

void ak_hash_text(char out[AK_HASH_BYTES], const void *data, size_t length)
{
    print_hash(out, XXH3_128bits(data, length));
}

struct ak_hasher {
    XXH3_state_t *state;
};

ak_hasher *ak_hasher_new(void)
{
    ak_hasher *hasher = ak_alloc(1, sizeof *hasher);
    if (hasher != NULL) {
        hasher->state = XXH3_createState();
        if (hasher->state == NULL) {
            ak_free(hasher);
            return NULL;
        }
        (void)XXH3_128bits_reset(hasher->state);
    }
    return hasher;
}

void ak_hasher_add(ak_hasher *hasher, const void *data, size_t length)
{
    if (hasher != NULL) {
        uint64_t frame = length;
        (void)XXH3_128bits_update(hasher->state, &frame, sizeof frame);
        (void)XXH3_128bits_update(hasher->state, data, length);
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
        print_hash(out, XXH3_128bits_digest(hasher->state));
        (void)XXH3_freeState(hasher->state);
        ak_free(hasher);
    }
}
