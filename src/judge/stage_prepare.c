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
        if (ak_stage_access(stage, i) != AK_ACCESS_IN &&
            !(stage->shape.pitch[i] == stage->shape.row[i])) {
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
        if (ak_stage_access(stage, i) != AK_ACCESS_IN) {
            const ak_compare_argument named = ak_stage_named(stage, i);
            AK_DO(ak_compare_representable(problem->name, &named, where, &with, err));
        }
    }
    return AK_OK;
}

/* Gives what a kernel finds in the arguments that it reads. For arguments that it also writes,
   `arrays` already holds the reference, so their contents are decoded into separate arrays. */
static ak_status list_inputs(ak_compare_inputs *out, double **before, const ak_stage *stage,
                             double *const *arrays, ak_error *err)
{
    *out = (ak_compare_inputs){0};
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const size_t elements = stage->shape.elements[i];
        const bool written = ak_stage_is_output(stage, i);
        if (ak_stage_access(stage, i) == AK_ACCESS_OUT) {
            continue;
        }
        if (written) {
            AK_DO(AK_NEW(before[i], elements, err));
            ak_stage_decode(before[i], stage, i, 0, elements);
        }
        out->list[out->count++] =
            (ak_compare_input){.name = stage->task->problem->arguments[i].name,
                               .values = written ? before[i] : arrays[i],
                               .elements = elements,
                               .written = written};
    }
    return AK_OK;
}

static ak_status selftest_all(const ak_stage *stage, double *const *arrays, ak_error *err)
{
    const ak_problem *problem = stage->task->problem;
    double *before[AK_ARGUMENTS_MAX] = {NULL};
    ak_compare_inputs given;
    ak_status status = list_inputs(&given, before, stage, arrays, err);
    for (size_t i = 0; status == AK_OK && i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i)) {
            const ak_compare_with with = {ak_stage_dtype(stage, i), arrays[i],
                                          stage->shape.elements[i], stage->shape.own_relative[i],
                                          stage->rms[i]};
            const ak_compare_argument named = ak_stage_named(stage, i);
            status = ak_compare_selftest(problem->name, &named, &with, &given, err);
        }
    }
    AK_END_EACH(ak_free, before, AK_ARGUMENTS_MAX);
    return status;
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
        if (ak_stage_access(stage, i) != AK_ACCESS_IN) {
            ak_stage_know(stage, i, ak_compare_rms(arrays[i], stage->shape.elements[i]));
        }
    }
    if (selftest) {
        AK_TRY(selftest_all(stage, arrays, err));
    }
out:
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (status == AK_OK && ak_stage_access(stage, i) != AK_ACCESS_IN) {
            stage->reference[i] = arrays[i];
        } else {
            ak_free(arrays[i]);
        }
    }
    stage->ready = status == AK_OK;
    if (status != AK_OK) {
        ak_stage_free(stage);
    }
    return status;
}
