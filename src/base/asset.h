/* asset.h: files carried inside the executable (the built-in kernels), embedded by the build. */
#ifndef AK_BASE_ASSET_H
#define AK_BASE_ASSET_H

#include <stddef.h>

typedef struct ak_asset {
    const char *path; /* "kernels/matmul/problem.json" */
    const char *data; /* followed by a 0 */
    size_t length;
} ak_asset;

extern const ak_asset ak_assets[]; /* sorted by path */
extern const size_t ak_asset_count;

const ak_asset *ak_asset_find(const char *path); /* NULL if there is none */

#endif
