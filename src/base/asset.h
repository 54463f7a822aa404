/* asset.h: finds files that the build embeds in the library, such as the built-in kernels, the
   runtime for bundles, documents and the scripts of pages (AK_ASSETS in CMakeLists.txt). */
#ifndef AK_BASE_ASSET_H
#define AK_BASE_ASSET_H

#include "base/buf.h"

typedef struct ak_asset {
    const char *path; /* "kernels/matmul/problem.json" */
    const char *data; /* `length` bytes and a 0 */
    size_t length;
    const char *sha256; /* 64 hexadecimal digits, by which a browser recognises a script */
} ak_asset;

extern const ak_asset ak_assets[]; /* sorted by path */
extern const size_t ak_asset_count;

/* Returns the asset with this path, or NULL. */
const ak_asset *ak_asset_find(const char *path);
/* Appends the text at *rest up to the next '@', which marks a gap in a template, or up to its end.
   Moves *rest past the '@', or to the end. */
void ak_asset_part(ak_buf *out, const char **rest);

#endif
