/*
 * few.c: judges a candidate at the task's own size on inputs of which most elements are zero
 * ("few_terms" in problem.json).
 *
 * A tolerance for sums grows with their length, so that a kernel with less precise products passes
 * where sums are long, and needs to be precise only where they are short. Here sums are as long as
 * ever, but only a few of their terms are not zero, and the tolerance is that of so few terms.
 * Which input has the zeros, and where, is drawn when a worker first needs such inputs.
 */
#include "judge/loaded.h"

#include <string.h>

#include "base/alloc.h"

/* So many rows are judged at least, if there are as many: a few thousand elements, among which some
   show the error. */
#define FEW_ROWS 4

ak_status ak_few_plan(ak_evaluator *e, ak_error *err)
{
    const ak_few_terms *few = &e->task->problem->few_terms;
    if (few->terms == 0 || e->task->shape.size[few->size] <= few->terms) {
        return AK_OK;
    }
    AK_DO(ak_stage_plan(&e->few, &e->memory, e->task, e->task->shape.size, 0, 0, err));
    e->few.other = &e->own[0];
    e->few.habit = AK_HABIT_FEW;
    e->few_count = 1;
    return AK_OK;
}

/* Makes the inputs and takes the tolerances of a sum of few terms. */
static ak_status prepare(ak_stage *stage, ak_evaluator *e, ak_error *err)
{
    const ak_few_terms *few = &e->task->problem->few_terms;
    int64_t size[AK_SIZES_MAX];
    ak_shape shorter;
    if (stage->ready) {
        return AK_OK;
    }
    memcpy(size, e->task->shape.size, sizeof size);
    stage->period = (size_t)((size[few->size] + few->terms - 1) / few->terms);
    stage->few = few->arguments[ak_rng_below(&e->rng, few->count)];
    size[few->size] = few->terms;
    AK_DO(ak_task_shape(&shorter, e->task, size, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        stage->shape.own_relative[i] = shorter.own_relative[i];
        stage->shape.own_rms[i] = shorter.own_rms[i];
        stage->shape.own_absolute[i] = shorter.own_absolute[i];
    }
    AK_DO(ak_stage_make_inputs(stage, e->reference, NULL, e->secret ^ UINT64_C(1) << 40, err));
    stage->ready = true;
    return AK_OK;
}

/* Judges the rows, whose reference has been computed, and what must be unchanged. */
static ak_status judge(ak_loaded *r, ak_stage *stage, const ak_stage_rows *rows, ak_error *err)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i)) {
            ak_stage_know(stage, i, ak_compare_rms(rows->arrays[i], rows->shape.elements[i]));
        }
    }
    AK_DO(ak_stage_check_zones(&r->outcome, stage, err));
    const size_t changed = ak_stage_changed_input(stage);
    if (r->outcome.status == AK_TRIAL_OK && changed < ak_stage_arguments(stage)) {
        ak_stage_damages(&r->outcome, stage, AK_STAGE_CHANGES, changed);
    }
    return ak_rows_judge(r, rows, err);
}

ak_status ak_few_check(ak_loaded *r, ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_stage *stage = &e->few;
    ak_error why = AK_ERROR_INIT;
    AK_AT_END(ak_stage_rows_free_at) ak_stage_rows *rows = NULL;
    if (e->few_count == 0) {
        return AK_OK;
    }
    AK_DO(AK_NEW(rows, 1, err));
    AK_DO(prepare(stage, e, err));
    /* If the reference cannot compute some of the rows only, nothing is judged. */
    if (ak_rows_draw(rows, e, stage, FEW_ROWS, &why) == AK_OK &&
        ak_stage_rows_compute(rows, e->reference, &why) == AK_OK) {
        AK_DO(ak_loaded_batch(r, stage, 1, err));
        AK_DO(r->outcome.status == AK_TRIAL_OK ? judge(r, stage, rows, err) : AK_OK);
    }
    if (r->outcome.status != AK_TRIAL_OK) {
        ak_stage_spoilt(stage->memory);
    }
    return AK_OK;
}
