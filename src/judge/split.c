/*
 * split.c: finds out how a problem can be divided, so that the reference need not compute all of it
 * (stage_rows.c). The shapes of the arguments say what may be tried: what the reference gives for
 * some rows, or for some columns of them, must be what it gives for them among all. The rows of a
 * stencil, of a running sum, or of what depends on their index fail this.
 */
#include "judge/loaded.h"

#include "base/alloc.h"

/* The reference may take this much work for the rows that are tried. */
#define TRIED_FLOPS 2e7

/* Finds a stage whose results the host knows: the task's own, or the largest edge-case shape; NULL
   if there is none. */
static ak_status known_stage(ak_stage **out, ak_evaluator *e, ak_error *err)
{
    const size_t i = ak_evaluator_largest_edge_case(e);
    *out = NULL;
    if (e->own[0].ready && e->own[0].referee == NULL) {
        *out = &e->own[0];
    } else if (i < e->edge_case_count) {
        AK_DO(ak_stage_prepare(&e->edge_cases[i], e->reference, i + 1, false, err));
        *out = &e->edge_cases[i];
    }
    return AK_OK;
}

/* Sets *out to whether the reference gives for some rows what it gives for them among all rows;
   false if it fails for so few rows. */
static ak_status try_split(bool *out, ak_evaluator *e, const ak_stage *stage,
                           const ak_stage_split *split, ak_error *err)
{
    const ak_stage_draw draw = {.split = split, .flops = TRIED_FLOPS, .least = 2, .some = true};
    AK_AT_END(ak_stage_rows_free_at) ak_stage_rows *rows = NULL;
    ak_error why = AK_ERROR_INIT;
    AK_DO(AK_NEW(rows, 1, err));
    *out = ak_stage_rows_draw(rows, stage, &draw, &e->rng, &why) == AK_OK &&
           ak_stage_rows_compute(rows, e->reference, &why) == AK_OK && ak_stage_rows_agree(rows);
    return AK_OK;
}

ak_status ak_split_find(ak_evaluator *e, ak_error *err)
{
    ak_stage_split found = {.known = true, .rows = true};
    ak_stage *stage;
    size_t fewest = SIZE_MAX;
    if (e->split.known) {
        return AK_OK;
    }
    AK_DO(known_stage(&stage, e, err));
    if (stage == NULL) {
        e->split = (ak_stage_split){.known = true};
        return AK_OK;
    }
    AK_DO(try_split(&found.rows, e, stage, &found, err));
    for (size_t k = 1; found.rows && k < e->task->problem->size_count; k++) {
        const ak_stage_split by = {.known = true, .rows = true, .column = k};
        size_t elements;
        bool agree = false;
        if (ak_stage_has_columns(&elements, &e->own[0], k) && elements < fewest) {
            AK_DO(try_split(&agree, e, stage, &by, err));
        }
        fewest = agree ? elements : fewest;
        found = agree ? by : found;
    }
    e->split = found;
    return AK_OK;
}
