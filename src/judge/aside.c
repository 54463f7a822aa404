/*
 * aside.c: judges what a candidate has written for contents whose results the harness does not
 * have.
 *
 * On a GPU batches run on contents that are the task's own, mixed, and so do the runs that are
 * timed on unseen contents (backend/launch/contents.h). If nobody looked at what these leave, a
 * candidate could do nothing for all contents but the own ones. So the outputs of one such run are
 * set aside now and then, and some of their rows, drawn at random, are compared with what the
 * reference gives for the mixed inputs, which this process makes from its own copy.
 */
#include "judge/loaded.h"

#include "base/alloc.h"
#include "base/clock.h"

/* On average one batch in this many is followed by such a look, if the looks since a candidate was
   loaded have taken at most one part in ASIDE_SHARE of the time. */
#define ASIDE_EVERY 4
#define ASIDE_SHARE 16

bool ak_aside_wanted(ak_loaded *r, const ak_stage *stage)
{
    ak_evaluator *e = r->e;
    const int64_t since = ak_clock_ns() - e->aside.begin_ns;
    const bool able = e->backend->fetch_aside != NULL && r->candidate->artifact != NULL &&
                      stage == &e->own[0] && stage->ready;
    const bool drawn = !r->checks && ak_rng_below(&e->rng, ASIDE_EVERY) == 0 &&
                       e->aside.spent_ns * ASIDE_SHARE <= since;
    return able && (drawn || r->last);
}

ak_status ak_aside_judge(ak_loaded *r, const ak_stage *stage, ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_stage_rows *rows;
    ak_error why = AK_ERROR_INIT;
    const int64_t begin = ak_clock_ns();
    AK_DO(AK_NEW(rows, 1, err));
    bool known = ak_rows_draw(rows, e, stage, 1, &why) == AK_OK;
    rows->aside = true;
    rows->mixed = r->outcome.mixed;
    known = known && ak_stage_rows_compute(rows, e->reference, &why) == AK_OK;
    ak_status status = known ? ak_rows_judge(r, rows, err) : AK_OK;
    ak_stage_rows_free(rows);
    e->aside.spent_ns += ak_clock_ns() - begin;
    return status;
}

ak_status ak_aside_batch(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err)
{
    if (r->e->backend->fetch_aside == NULL) {
        return AK_OK;
    }
    r->last = true;
    ak_status status = ak_loaded_batch(r, stage, iterations, err);
    r->last = false;
    return status;
}
