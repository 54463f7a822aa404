/*
 * stage_referee.c: stages that the device judges; see stage.h.
 *
 * The host keeps the bytes of the inputs, to repair what a candidate damages. After a run that is
 * judged it fetches only the red zones and the referee's findings. The referee compares every
 * element of every output with its reference. The reference itself is compared with that of the
 * host: in full on every edge-case shape, but only on some rows, the first and the last among them,
 * at the shape to be tuned.
 *
 * Comparing some rows needs a problem that consists of separate problems (stage_rows.c). The host
 * judges other problems.
 */
#include "judge/stage.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* At the shape to be tuned, as many rows are compared as the host computes in about half a second
   on one core, at most AK_STAGE_ROWS_MAX, but always the first and the last row. */
#define ROWS_MIN   2
#define ROWS_FLOPS 1e9
/* The self-test of the tolerance fetches at most this many elements of a device's reference. This
   is stricter than a test of all elements, because a wrong output that passes on these may fail
   elsewhere. */
#define SELFTEST_MAX ((size_t)1 << 18)

static const ak_referee_ops *ops_of(const ak_stage *stage)
{
    return stage->memory->backend->referee;
}

/* ---- two references ------------------------------------------------------------------------ */

/* `count` elements of an output, from element `first` on, as the host computed them. */
typedef struct stretch {
    const double *host;
    size_t first, count;
} stretch;

static ak_status compare_values(const ak_stage *stage, ak_referee *referee, size_t argument,
                                const stretch *s, ak_error *err)
{
    const ak_compare_argument named = ak_stage_named(stage, argument);
    char where[64], element[AK_ELEMENT_BYTES];
    size_t nans = 0;
    AK_FREED double *device = NULL;
    double rms = 0.0;
    AK_DO(AK_NEW(device, s->count, err));
    ops_of(stage)->describe(&nans, &rms, referee, argument);
    AK_DO(ops_of(stage)->values(device, referee, argument, s->first, s->count, err));
    for (size_t i = 0; i < s->count; i++) {
        if (!ak_stage_values_agree(device[i], s->host[i], rms)) {
            ak_stage_size_text(where, sizeof where, stage);
            return ak_fail(err, AK_INVALID,
                           "%s: at %s the device's reference has %s = %.17g and reference.c "
                           "has %.17g: no result can be judged; repair reference.cu or the device",
                           stage->task->problem->name, where,
                           ak_compare_element(element, &named, (int64_t)(s->first + i)), device[i],
                           s->host[i]);
        }
    }
    return AK_OK;
}

ak_status ak_stage_witness(ak_stage *stage, ak_error *err)
{
    const ak_referee_ops *ops = ops_of(stage);
    ak_referee *referee = NULL;
    ak_status status = AK_OK;
    AK_TRY(ops->open(&referee, stage->memory->device, &stage->shape, stage->offset, err));
    AK_TRY(ak_stage_set(stage, 0, err));
    AK_TRY(ops->compute(referee, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i)) {
            const stretch all = {stage->reference[i], 0, stage->shape.elements[i]};
            AK_TRY(compare_values(stage, referee, i, &all, err));
        }
    }
out:
    ops->close(referee);
    return status;
}

/* ---- some rows ----------------------------------------------------------------------------- */

static ak_status witness_rows(const ak_stage *stage, ak_referee *referee, ak_reference *reference,
                              ak_error *err)
{
    AK_AT_END(ak_stage_rows_free_at) ak_stage_rows *s = NULL;
    ak_rng rng;
    AK_DO(AK_NEW(s, 1, err));
    ak_rng_seed(&rng, stage->task->seed ^ UINT64_C(0x7769746e657373));
    const ak_stage_draw draw = {
        .split = stage->split, .flops = ROWS_FLOPS, .least = ROWS_MIN, .whole = true};
    AK_DO(ak_stage_rows_draw(s, stage, &draw, &rng, err));
    s->row[0] = 0;
    if (s->rows.count > 1) {
        s->row[1] = (size_t)stage->shape.size[0] - 1;
    }
    AK_DO(ak_stage_rows_compute(s, reference, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const size_t width = s->rows.elements[i];
        for (size_t k = 0; ak_stage_is_output(stage, i) && k < s->rows.count; k++) {
            const stretch row = {s->arrays[i] + k * width, s->row[k] * width, width};
            AK_DO(compare_values(stage, referee, i, &row, err));
        }
    }
    return AK_OK;
}

/* ---- making ready -------------------------------------------------------------------------- */

ak_status ak_stage_right(double *out, const ak_stage *stage, size_t argument, size_t count,
                         ak_error *err)
{
    if (stage->referee != NULL) {
        return ops_of(stage)->values(out, stage->referee, argument, 0, count, err);
    }
    memcpy(out, stage->reference[argument], count * sizeof *out);
    return AK_OK;
}

static void free_arrays(double *(*arrays)[AK_ARGUMENTS_MAX])
{
    AK_END_EACH(ak_free, *arrays, AK_ARGUMENTS_MAX);
}

ak_status ak_stage_selftest(const ak_stage *stage, size_t argument, ak_error *err)
{
    const ak_problem *problem = stage->task->problem;
    const size_t all = stage->shape.elements[argument];
    const size_t count = stage->referee == NULL || all < SELFTEST_MAX ? all : SELFTEST_MAX;
    AK_AT_END(free_arrays) double *copies[AK_ARGUMENTS_MAX] = {NULL};
    AK_FREED double *fetched = NULL;
    const double *right = stage->reference[argument];
    ak_compare_inputs given = {0};
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_access(stage, i) != AK_ACCESS_OUT && stage->shape.elements[i] == all) {
            AK_DO(AK_NEW(copies[i], count, err));
            ak_stage_decode(copies[i], stage, i, 0, count);
            given.list[given.count++] = (ak_compare_input){.name = problem->arguments[i].name,
                                                           .values = copies[i],
                                                           .elements = count,
                                                           .written = ak_stage_is_output(stage, i)};
        }
    }
    if (stage->referee != NULL) {
        AK_DO(AK_NEW(fetched, count, err));
        AK_DO(ak_stage_right(fetched, stage, argument, count, err));
        right = fetched;
    }
    const ak_compare_with with = {ak_stage_dtype(stage, argument), right, count,
                                  stage->shape.own_relative[argument], stage->rms[argument]};
    const ak_compare_argument named = ak_stage_named(stage, argument);
    return ak_compare_selftest(problem->name, &named, &with, &given, err);
}

ak_status ak_stage_selftest_all(const ak_stage *stage, ak_error *err)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        AK_DO(ak_stage_is_output(stage, i) ? ak_stage_selftest(stage, i, err) : AK_OK);
    }
    return AK_OK;
}

/* Computes the reference from the inputs in the block and compares it with the host's. */
static ak_status make_reference(ak_stage *stage, ak_reference *reference, bool selftest,
                                ak_stage_times *times, ak_error *err)
{
    const ak_referee_ops *ops = ops_of(stage);
    int64_t begin = ak_clock_ns();
    ak_status status = ops->compute(stage->referee, err);
    for (size_t i = 0; status == AK_OK && i < ak_stage_arguments(stage); i++) {
        size_t nans = 0;
        double rms = 0.0;
        if (ak_stage_is_output(stage, i)) {
            ops->describe(&nans, &rms, stage->referee, i);
            ak_stage_know(stage, i, rms);
        } else {
            status = ops->fingerprint(&stage->hash[i], stage->referee, i, err);
        }
        if (nans > 0) {
            status =
                ak_fail(err, AK_INVALID,
                        "%s: the reference gives NaN at %zu element%s of %s: any result would be "
                        "right there; choose other inputs or repair the reference",
                        stage->task->problem->name, nans, ak_plural(nans),
                        stage->task->problem->arguments[i].name);
        }
    }
    int64_t computed = ak_clock_ns();
    status = status == AK_OK ? witness_rows(stage, stage->referee, reference, err) : status;
    int64_t witnessed = ak_clock_ns();
    status = status == AK_OK && selftest ? ak_stage_selftest_all(stage, err) : status;
    times->reference_ns += computed - begin;
    times->witness_ns += witnessed - computed;
    times->selftest_ns += ak_clock_ns() - witnessed;
    return status;
}

ak_status ak_stage_prepare_referee(ak_stage *stage, ak_reference *reference, uint64_t stream,
                                   bool selftest, ak_stage_times *times, ak_error *err)
{
    const ak_referee_ops *ops = ops_of(stage);
    ak_stage_memory *memory = stage->memory;
    int64_t begin = ak_clock_ns();
    ak_status status =
        ops->open(&stage->referee, memory->device, &stage->shape, stage->offset, err);
    int64_t opened = ak_clock_ns();
    status = status == AK_OK ? ak_stage_make_inputs(stage, reference, NULL, stream, err) : status;
    int64_t made = ak_clock_ns();
    status = status == AK_OK ? ak_stage_set(stage, 0, err) : status;
    int64_t set = ak_clock_ns();
    times->inputs_ns += made - opened;
    times->upload_ns += set - made;
    times->reference_ns += opened - begin;
    if (status == AK_OK) {
        status = make_reference(stage, reference, selftest, times, err);
    }
    stage->ready = status == AK_OK;
    if (status != AK_OK) {
        memory->resident[stage->place] = NULL;
        ak_stage_free(stage);
    }
    return status;
}

/* ---- after a run --------------------------------------------------------------------------- */

ak_status ak_stage_judge_referee(ak_outcome *out, double *max_error, ak_stage *stage, ak_error *err)
{
    const ak_referee_ops *ops = ops_of(stage);
    AK_DO(ak_stage_fetch_zones(stage, err));
    if (!ak_stage_zones_whole(out, stage)) {
        return AK_OK;
    }
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        uint64_t hash = 0;
        if (ak_stage_is_output(stage, i)) {
            continue;
        }
        AK_DO(ops->fingerprint(&hash, stage->referee, i, err));
        if (hash != stage->hash[i]) {
            ak_stage_damages(out, stage, AK_STAGE_CHANGES, i);
            return AK_OK;
        }
    }
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        ak_compare_result result;
        const ak_compare_with with = {.relative = stage->slack * stage->shape.own_relative[i],
                                      .rms = stage->slack * stage->rms[i]};
        bool intact = true;
        if (!ak_stage_is_output(stage, i)) {
            continue;
        }
        AK_DO(ops->compare(&result, &intact, stage->referee, i, &with, err));
        if (!intact) {
            ak_stage_spoilt(stage->memory);
            ak_stage_wrong(out, stage, "it writes to memory outside of its arguments");
            return AK_OK;
        }
        if (result.strays > 0) {
            ak_stage_damages(out, stage, AK_STAGE_BETWEEN_ROWS, i);
            return AK_OK;
        }
        if (!ak_stage_take_compared(out, max_error, stage, i, &result)) {
            return AK_OK;
        }
    }
    return AK_OK;
}
