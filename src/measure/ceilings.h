/*
 * ceilings.h: keeps the highest ceilings that were measured on a machine. Other load can only make
 * a ceiling look lower than it is, so each run on a device raises the kept values to its own where
 * these are higher. They are in ceilings.json in the user's cache folder, with one member for each
 * backend, dtype and environment; the key (tuner/session.c) leaves out what does not affect the
 * ceilings. Removing the file forgets the values of earlier runs.
 */
#ifndef AK_MEASURE_CEILINGS_H
#define AK_MEASURE_CEILINGS_H

#include "base/json.h"
#include "measure/roofline.h"

/* X(figure of ak_ceilings, which is also its name in JSON) */
#define AK_CEILINGS_FIGURES(X)                                                                     \
    X(peak_tflops)                                                                                 \
    X(copy_gbs)                                                                                    \
    X(triad_gbs)                                                                                   \
    X(read_gbs)                                                                                    \
    X(l1_gbs)                                                                                      \
    X(cache_gbs)

/* Raises each figure of `to` to that of `more` if that is higher; `to` counts as measured if one of
   the two was. Returns true if any figure rose. */
bool ak_ceilings_raise(ak_ceilings *to, const ak_ceilings *more);
/* Returns the factor by which the peak or the bandwidth rose, whichever is larger. The factor is 1
   for a figure that was unknown before. */
double ak_ceilings_growth(const ak_ceilings *before, const ak_ceilings *after);
/* Makes an object with a member for each figure; NULL: no memory. */
json_t *ak_ceilings_json(const ak_ceilings *ceilings);
/* Merges `ceilings` with the figures that the file keeps under this key: both get the higher value
   of each figure. If there is no cache folder, nothing changes; a file that cannot be read counts
   as empty. A failure to write the file is ignored, because the measurement is valid without it.
   The file is not locked: of two processes that write at once, one may lose the figures of the
   other, which later runs measure again. */
void ak_ceilings_keep(ak_ceilings *ceilings, const char *key);

#endif
