/*
 * unseen.h: calls on contents that no process has seen, from which a candidate can have kept
 * nothing. Each begins as a call of a batch does: with its inputs in the caches, and with awake
 * threads.
 */
#ifndef AK_JUDGE_UNSEEN_H
#define AK_JUDGE_UNSEEN_H

#include "judge/loaded.h"

/* Prepares a fresh stage that is not ready with the contents of a random stream. Notes in
   e->prepared_ns what that takes if it is the least so far. */
ak_status ak_unseen_prepare(ak_evaluator *e, ak_stage *stage, uint64_t stream, ak_error *err);
/* Gives a fresh stage contents that no process has seen. */
ak_status ak_unseen_refresh(ak_evaluator *e, ak_stage *stage, ak_error *err);
/* Makes one call on the contents of the stage and judges its result; r->outcome has its time. */
ak_status ak_unseen_call(ak_loaded *r, ak_stage *stage, ak_error *err);

#endif
