/* like_read.h: builds lists (like.h) from recordings. */
#ifndef AK_STRATEGY_LIKE_READ_H
#define AK_STRATEGY_LIKE_READ_H

#include "recording/recording.h"
#include "strategy/like.h"

/* Adds all configurations of a recording as one place, named after its file. */
ak_status ak_like_add_recording(ak_like *like, const ak_recording *recording, ak_error *err);

/* Makes a finished list from recordings for a search on `own`. `own` itself is left out, because it
   would give the answers away. The caller frees the list with ak_like_free. */
ak_status ak_like_open(ak_like **out, const ak_recording *own,
                       const ak_recording *const *recordings, size_t count, uint64_t seed,
                       ak_error *err);
/* Returns ak_like_text or, if no recording besides the searched one was given, a line that says
   so. */
const char *ak_like_said(const ak_like *like);

#endif
