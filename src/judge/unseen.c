/* unseen.c: see loaded.h. */
#include "judge/loaded.h"

#include "base/clock.h"

/* Contents that ak_unseen_refresh gives to stages come from the random streams from this one on,
   counted from e->secret. */
#define REFRESH_STREAM 4096

ak_status ak_unseen_prepare(ak_evaluator *e, ak_stage *stage, uint64_t stream, ak_error *err)
{
    const int64_t begin = ak_clock_ns();
    if (stage->ready) {
        return AK_OK;
    }
    AK_DO(ak_stage_prepare(stage, e->reference, stream, false, err));
    const int64_t took = ak_clock_ns() - begin;
    e->prepared_ns = e->prepared_ns == 0 || took < e->prepared_ns ? took : e->prepared_ns;
    return AK_OK;
}

ak_status ak_unseen_refresh(ak_evaluator *e, ak_stage *stage, ak_error *err)
{
    ak_stage_free(stage);
    ak_stage_forget(stage);
    if (e->memory.resident[stage->place] == stage) {
        e->memory.resident[stage->place] = NULL;
    }
    return ak_unseen_prepare(e, stage, e->secret + REFRESH_STREAM + e->refreshed++, err);
}

ak_status ak_unseen_call(ak_loaded *r, ak_stage *stage, ak_error *err)
{
    r->unseen = true;
    ak_status status = ak_loaded_batch(r, stage, 1, err);
    r->unseen = false;
    return status == AK_OK && r->outcome.status == AK_TRIAL_OK
               ? ak_loaded_judge(r, stage, true, err)
               : status;
}
