/* asset.h: the files of the built-in kernels and the scripts of pages, which the build embeds in
   the executable. */
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
/* Appends the text at *rest up to the next '@', where a template has something filled in, or up to
   its end, and moves *rest behind that. */
void ak_asset_part(ak_buf *out, const char **rest);

#endif
