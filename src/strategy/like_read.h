/* like_read.h: builds lists (like.h) from recordings. */
#ifndef AK_STRATEGY_LIKE_READ_H
#define AK_STRATEGY_LIKE_READ_H

#include "recording/recording.h"
#include "strategy/like.h"

/* Adds all configurations of a recording as one place, named after its file. */
ak_status ak_like_add_recording(ak_like *like, const ak_recording *recording, ak_error *err);

/* Opens a finished list of recordings for a search on `own`, which is left out of it, because it
   would give the answers away. The caller frees the list with ak_like_free. */
ak_status ak_like_open(ak_like **out, const ak_recording *own,
                       const ak_recording *const *recordings, size_t count, uint64_t seed,
                       ak_error *err);
/* Returns ak_like_text or, if all recordings were the searched one itself, that none is used. */
const char *ak_like_said(const ak_like *like);

#endif
