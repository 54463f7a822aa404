/* like_read.c: builds lists (like.h) from recordings. */
#include <math.h>
#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/value_json.h"
#include "strategy/like_read.h"

static ak_status values_of(json_t **out, const ak_recording *recording, const ak_config *config,
                           ak_error *err)
{
    AK_FREED char *text = NULL;
    AK_DO(ak_config_text(&text, recording->space, config, err));
    return ak_config_text_to_json(out, text, recording->path, err);
}

ak_status ak_like_add_recording(ak_like *like, const ak_recording *recording, ak_error *err)
{
    AK_DO(ak_like_begin(like, recording->path, err));
    for (size_t i = 0; i < recording->count; i++) {
        const ak_record *record = &recording->records[i];
        json_auto_t *values = NULL;
        double time =
            record->status == AK_TRIAL_OK ? ak_recording_time(recording, record) : HUGE_VAL;
        AK_DO(values_of(&values, recording, &recording->configs[i], err));
        AK_DO(ak_like_add(like, values, time, err));
    }
    return AK_OK;
}

ak_status ak_like_open(ak_like **out, const ak_recording *own,
                       const ak_recording *const *recordings, size_t count, uint64_t seed,
                       ak_error *err)
{
    AK_AT_END(ak_like_free_at) ak_like *like = ak_like_new(own->space);
    AK_DO(ak_made(like, err));
    for (size_t i = 0; i < count; i++) {
        AK_DO(strcmp(recordings[i]->path, own->path) == 0
                  ? AK_OK
                  : ak_like_add_recording(like, recordings[i], err));
    }
    AK_DO(ak_like_finish(like, seed, err));
    AK_GIVE(out, like);
    return AK_OK;
}

const char *ak_like_said(const ak_like *like)
{
    const char *text = ak_like_text(like);
    return text[0] != 0 ? text
                        : "nothing of --like is used, because it is the recording that is searched";
}
