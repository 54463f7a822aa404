/* asset.c: finds an asset by binary search in the table that the build generates. */
#include "base/asset.h"

const ak_asset *ak_asset_find(const char *path)
{
    size_t low = 0, high = ak_asset_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, ak_assets[middle].path);
        if (order == 0) {
            return &ak_assets[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

void ak_asset_part(ak_buf *out, const char **rest)
{
    const size_t length = strcspn(*rest, "@");
    ak_buf_append(out, *rest, length);
    *rest += length + ((*rest)[length] == 0 ? 0 : 1);
}
