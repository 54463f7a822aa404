/* bundle_fixture.h: makes a bundle with any text as its bundle.json, and with matching
   checksums. */
#ifndef AK_TEST_BUNDLE_FIXTURE_H
#define AK_TEST_BUNDLE_FIXTURE_H

#include <string.h>

#include "base/pack.h"
#include "runtime/ak_runtime.h"

/* Writes the tar file of a bundle. If `code` is NULL, it has no other files. Returns false if
   memory is out. */
static inline bool bundle_wrap(ak_buf *out, const char *json, size_t length, const void *code,
                               size_t code_length)
{
    ak_pack pack = {0};
    char sum[96];
    akr_sha256(sum, json, length);
    memcpy(sum + 64, "  bundle.json\n", 15);
    bool good = ak_pack_add(&pack, "bundle.json", json, length, NULL) == AK_OK &&
                ak_pack_add(&pack, "bundle.sha256", sum, strlen(sum), NULL) == AK_OK &&
                (code == NULL || ak_pack_add(&pack, "0.so", code, code_length, NULL) == AK_OK) &&
                ak_pack_tar(out, &pack, NULL) == AK_OK;
    ak_pack_clear(&pack);
    return good;
}

#endif
