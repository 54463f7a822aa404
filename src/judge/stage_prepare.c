/*
 * stage_prepare.c: makes a stage's reference on the host, and checks that outputs of whole numbers
 * can hold it and, if asked, that the tolerance tells right from wrong; see stage.h.
 */
#include "judge/stage.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static bool has_nan(const ak_stage *stage, double *const *arrays)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        for (size_t k = 0; ak_stage_is_output(stage, i) && k < stage->shape.elements[i]; k++) {
            if (isnan(arrays[i][k])) {
                return true;
            }
        }
    }
    return false;
}

/* Finds the unused argument without whose content the reference would succeed and give no NaN, and
   blames it. Returns `status`, with the error as it is, if there is none. */
static ak_status blame_unused(const ak_stage *stage, ak_reference *reference, double *const *arrays,
                              ak_status status, ak_error *err)
{
    const ak_problem *problem = stage->task->problem;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        ak_error why = AK_ERROR_INIT;
        if (!stage->shape.unused[i]) {
            continue;
        }
        memset(arrays[i], 0, stage->shape.elements[i] * sizeof **arrays);
        for (size_t k = 0; k < ak_stage_arguments(stage); k++) {
            if (ak_stage_access(stage, k) == AK_ACCESS_INOUT) {
                ak_stage_decode(arrays[k], stage, k, 0, stage->shape.elements[k]);
            }
        }
        AK_FAIL_IF(ak_reference_run(reference, &stage->shape, arrays, &why) == AK_OK &&
                       !has_nan(stage, arrays),
                   err, AK_INVALID,
                   "%s: the reference reads %s, which nothing may read here (\"unused\": \"%s\"): "
                   "let it compute without %s, or correct \"unused\" in problem.json",
                   problem->name, problem->arguments[i].name, problem->arguments[i].unused,
                   problem->arguments[i].name);
    }
    return status;
}

static ak_status run_reference(const ak_stage *stage, ak_reference *reference,
                               double *const *arrays, ak_error *err)
{
    const ak_status status = ak_reference_run(reference, &stage->shape, arrays, err);
    return status == AK_OK && !has_nan(stage, arrays)
               ? AK_OK
               : blame_unused(stage, reference, arrays, status, err);
}

static ak_status make_arrays(ak_stage *stage, double **arrays, ak_error *err)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        arrays[i] = ak_alloc(stage->shape.elements[i], sizeof(double));
        stage->accepted[i] = ak_alloc(ak_stage_tight_bytes(stage, i), 1);
        AK_DO(ak_stored(arrays[i] != NULL && stage->accepted[i] != NULL, err));
        if (ak_stage_is_output(stage, i) && stage->shape.pitch[i] != stage->shape.row[i]) {
            stage->rows[i] = ak_alloc(ak_stage_tight_bytes(stage, i), 1);
            AK_DO(ak_made(stage->rows[i], err));
        }
    }
    return AK_OK;
}

/* Refuses results of the reference that an integer dtype cannot hold. */
static ak_status check_representable(const ak_stage *stage, double *const *arrays, ak_error *err)
{
    const ak_problem *problem = stage->task->problem;
    char where[128];
    ak_task_size_text(where, sizeof where, problem, stage->shape.size);
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const ak_compare_with with = {.dtype = ak_stage_dtype(stage, i),
                                      .reference = arrays[i],
                                      .count = stage->shape.elements[i]};
        if (ak_stage_is_output(stage, i)) {
            const ak_compare_argument named = ak_stage_named(stage, i);
            AK_DO(ak_compare_representable(problem->name, &named, where, &with, err));
        }
    }
    return AK_OK;
}

void ak_stage_know(ak_stage *stage, size_t argument, double rms)
{
    const ak_shape *shape = &stage->shape;
    stage->level[argument] = rms;
    stage->rms[argument] = shape->own_rms[argument];
    if (shape->own_absolute[argument] > 0.0 && rms > 0.0) {
        stage->rms[argument] += shape->own_absolute[argument] / rms;
    }
}

ak_status ak_stage_prepare(ak_stage *stage, ak_reference *reference, uint64_t stream, bool selftest,
                           ak_error *err)
{
    double *arrays[AK_ARGUMENTS_MAX] = {NULL};
    if (stage->ready) {
        return AK_OK;
    }
    ak_status status = AK_OK;
    AK_TRY(make_arrays(stage, arrays, err));
    AK_TRY(ak_stage_make_inputs(stage, reference, arrays, stream, err));
    AK_TRY(run_reference(stage, reference, arrays, err));
    AK_TRY(check_representable(stage, arrays, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i)) {
            ak_stage_know(stage, i, ak_compare_rms(arrays[i], stage->shape.elements[i]));
            AK_GIVE(&stage->reference[i], arrays[i]);
        }
    }
    AK_TRY(selftest ? ak_stage_selftest_all(stage, err) : AK_OK);
out:
    AK_END_EACH(ak_free, arrays, AK_ARGUMENTS_MAX);
    stage->ready = status == AK_OK;
    if (status != AK_OK) {
        ak_stage_free(stage);
    }
    return status;
}
