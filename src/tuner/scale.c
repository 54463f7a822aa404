#include "tuner/sizes_run.h"

size_t ak_scale_next(size_t *list, size_t *next, size_t anchor, size_t count, size_t most)
{
    size_t taken = 0;
    while (*next < count && taken < most) {
        list[taken++] = (*next)++;
    }
    if (anchor < count && taken > 0) {
        list[taken++] = anchor;
    }
    return taken;
}

void ak_scale_take(double *ms, const size_t *list, const double *measured, size_t count)
{
    double scale = 1;
    for (size_t i = 0; i < count; i++) {
        if (ms[list[i]] > 0 && measured[i] > 0) {
            scale = ms[list[i]] / measured[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!(ms[list[i]] > 0)) {
            ms[list[i]] = measured[i] * scale;
        }
    }
}
