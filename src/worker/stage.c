/* stage.c: see stage.h. */
#include "worker/stage.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "check/guard.h"
#include "check/inputs.h"

/* Two shapes of one problem use streams this far apart. */
#define STREAMS_PER_STAGE AK_ARGUMENTS_MAX

static ak_dtype dtype_of(const ak_stage *stage, size_t argument)
{
    const ak_argument_spec *spec = &stage->task->problem->arguments[argument];
    return spec->dtype_follows ? stage->task->dtype : spec->dtype;
}

static size_t count_of(const ak_stage *stage)
{
    return stage->task->problem->argument_count;
}

static ak_access access_of(const ak_stage *stage, size_t argument)
{
    return stage->task->problem->arguments[argument].access;
}

bool ak_stage_in_place(const ak_stage *stage)
{
    for (size_t i = 0; i < count_of(stage); i++) {
        if (access_of(stage, i) == AK_ACCESS_INOUT) {
            return true;
        }
    }
    return false;
}

ak_status ak_stage_plan(ak_stage *stage, ak_stage_memory *memory, const ak_task *task,
                        const int64_t *size, int place, size_t base, ak_error *err)
{
    *stage = (ak_stage){.memory = memory, .task = task, .place = place, .base = base, .slack = 1.0};
    ak_status status = ak_task_shape(&stage->shape, task, size, err);
    if (status != AK_OK) {
        return status;
    }
    stage->total = ak_guard_layout(stage->relative, stage->shape.bytes, count_of(stage));
    if (stage->total == 0 || stage->total > SIZE_MAX - base) {
        return ak_fail(err, AK_LIMIT, "%s: the arguments are too large", task->problem->name);
    }
    for (size_t i = 0; i < count_of(stage); i++) {
        stage->offset[i] = base + stage->relative[i];
    }
    return AK_OK;
}

static ak_status make_inputs(ak_stage *stage, double **arrays, uint64_t stream, ak_error *err)
{
    for (size_t i = 0; i < count_of(stage); i++) {
        size_t elements = stage->shape.elements[i];
        arrays[i] = ak_alloc(elements, sizeof(double));
        stage->accepted[i] = ak_alloc(stage->shape.bytes[i], 1);
        if (arrays[i] == NULL || stage->accepted[i] == NULL) {
            return ak_fail_memory(err);
        }
        if (access_of(stage, i) == AK_ACCESS_OUT) {
            continue;
        }
        stage->inputs[i] = ak_alloc(stage->shape.bytes[i], 1);
        if (stage->inputs[i] == NULL) {
            return ak_fail_memory(err);
        }
        ak_inputs_fill(arrays[i], elements, &stage->task->problem->arguments[i], dtype_of(stage, i),
                       stage->task->seed, stream * STREAMS_PER_STAGE + i);
        ak_inputs_encode(stage->inputs[i], arrays[i], elements, dtype_of(stage, i));
        stage->hash[i] = ak_hash64(stage->inputs[i], stage->shape.bytes[i]);
    }
    return AK_OK;
}

static ak_status selftest_all(const ak_stage *stage, double *const *arrays, ak_error *err)
{
    const ak_problem *problem = stage->task->problem;
    const double *inputs[AK_ARGUMENTS_MAX];
    size_t counts[AK_ARGUMENTS_MAX], count = 0;
    for (size_t i = 0; i < count_of(stage); i++) {
        if (access_of(stage, i) == AK_ACCESS_IN) {
            inputs[count] = arrays[i];
            counts[count++] = stage->shape.elements[i];
        }
    }
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < count_of(stage); i++) {
        if (access_of(stage, i) != AK_ACCESS_IN) {
            status =
                ak_compare_selftest(problem->name, problem->arguments[i].name, dtype_of(stage, i),
                                    arrays[i], stage->shape.elements[i], stage->shape.relative,
                                    stage->shape.rms, inputs, counts, count, err);
        }
    }
    return status;
}

ak_status ak_stage_prepare(ak_stage *stage, ak_reference *reference, uint64_t stream, bool selftest,
                           ak_error *err)
{
    double *arrays[AK_ARGUMENTS_MAX] = {NULL};
    if (stage->ready) {
        return AK_OK;
    }
    ak_status status = make_inputs(stage, arrays, stream, err);
    if (status == AK_OK) {
        status = ak_reference_run(reference, &stage->shape, arrays, err);
    }
    if (status == AK_OK && selftest) {
        status = selftest_all(stage, arrays, err);
    }
    for (size_t i = 0; i < count_of(stage); i++) {
        if (status == AK_OK && access_of(stage, i) != AK_ACCESS_IN) {
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

void ak_stage_free(ak_stage *stage)
{
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        ak_free(stage->inputs[i]);
        ak_free(stage->reference[i]);
        ak_free(stage->accepted[i]);
        stage->inputs[i] = stage->accepted[i] = NULL;
        stage->reference[i] = NULL;
    }
    stage->ready = false;
}

void ak_stage_forget(ak_stage *stage)
{
    stage->has_accepted = false;
}

/* ---- before and after a run ---------------------------------------------------------------- */

static ak_status push(const ak_stage *stage, size_t offset, size_t bytes, ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    return memory->copy == NULL
               ? AK_OK
               : memory->backend->upload(memory->device, offset, memory->copy + offset, bytes, err);
}

static ak_status put_input(const ak_stage *stage, size_t i, ak_error *err)
{
    memcpy(stage->memory->bytes + stage->offset[i], stage->inputs[i], stage->shape.bytes[i]);
    return push(stage, stage->offset[i], stage->shape.bytes[i], err);
}

static ak_status poison_output(const ak_stage *stage, size_t i, unsigned round, ak_error *err)
{
    const ak_stage_memory *memory = stage->memory;
    ak_dtype dtype = dtype_of(stage, i);
    size_t bytes = ak_dtype_bytes(dtype);
    uint64_t element = 0;
    if (memory->copy != NULL && memory->backend->fill != NULL && bytes <= sizeof(uint32_t)) {
        /* what lies in the copy does not matter: it is downloaded before it is looked at */
        ak_guard_poison(&element, bytes, dtype, round);
        return memory->backend->fill(memory->device, stage->offset[i], &element, bytes,
                                     stage->shape.elements[i], err);
    }
    ak_guard_poison(memory->bytes + stage->offset[i], stage->shape.bytes[i], dtype, round);
    return push(stage, stage->offset[i], stage->shape.bytes[i], err);
}

ak_status ak_stage_set(ak_stage *stage, unsigned round, ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    ak_status status = AK_OK;
    bool move_in = memory->resident[stage->place] != stage;
    if (move_in) {
        ak_guard_paint(memory->bytes + stage->base, stage->relative, stage->shape.bytes,
                       count_of(stage));
        status = push(stage, stage->base, stage->total, err);
    }
    for (size_t i = 0; status == AK_OK && i < count_of(stage); i++) {
        ak_access access = access_of(stage, i);
        if (access == AK_ACCESS_OUT) {
            status = poison_output(stage, i, round, err);
        } else if (access == AK_ACCESS_INOUT || move_in) {
            status = put_input(stage, i, err);
        }
    }
    memory->resident[stage->place] = status == AK_OK ? stage : NULL;
    return status;
}

/* "M=7,N=33,K=1" */
static void size_text(char *out, size_t bytes, const ak_stage *stage)
{
    const ak_problem *problem = stage->task->problem;
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < problem->size_count && used < bytes; i++) {
        int wrote = snprintf(out + used, bytes - used, "%s%s=%lld", i == 0 ? "" : ",",
                             problem->sizes[i].name, (long long)stage->shape.size[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static void wrong(ak_outcome *out, const ak_stage *stage, const char *text)
{
    char where[64];
    size_text(where, sizeof where, stage);
    out->status = AK_TRIAL_WRONG_RESULT;
    (void)snprintf(out->reason, sizeof out->reason, "at %s: %.160s", where, text);
}

/* Everything that must still be as it was. What is found damaged is repaired for the next
 * candidate. */
static bool untouched(ak_outcome *out, ak_stage *stage)
{
    ak_stage_memory *memory = stage->memory;
    const ak_problem *problem = stage->task->problem;
    char text[160];
    bool after = false;
    size_t damaged = ak_guard_damaged(&after, memory->bytes + stage->base, stage->relative,
                                      stage->shape.bytes, count_of(stage));
    if (damaged < count_of(stage)) {
        (void)snprintf(text, sizeof text, "it writes outside of %s, %s",
                       problem->arguments[damaged].name,
                       after ? "behind its end" : "before its start");
    }
    for (size_t i = 0; damaged == count_of(stage) && i < count_of(stage); i++) {
        if (access_of(stage, i) == AK_ACCESS_IN &&
            ak_hash64(memory->bytes + stage->offset[i], stage->shape.bytes[i]) != stage->hash[i]) {
            (void)snprintf(text, sizeof text, "it changes its input %s",
                           problem->arguments[i].name);
            damaged = i;
        }
    }
    if (damaged == count_of(stage)) {
        return true;
    }
    wrong(out, stage, text);
    memory->resident[0] = memory->resident[1] = NULL;
    return false;
}

static bool output_right(ak_outcome *out, double *max_error, ak_stage *stage, size_t i)
{
    ak_compare_result result;
    char text[200];
    ak_compare_output(&result, stage->memory->bytes + stage->offset[i], dtype_of(stage, i),
                      stage->reference[i], stage->shape.elements[i],
                      stage->slack * stage->shape.relative, stage->slack * stage->shape.rms);
    *max_error = result.max_error > *max_error ? result.max_error : *max_error;
    if (!result.ok) {
        ak_compare_text(text, sizeof text, &result, stage->task->problem->arguments[i].name);
        wrong(out, stage, text);
    }
    return result.ok;
}

ak_status ak_stage_judge(ak_outcome *out, double *max_error, ak_stage *stage, bool quick,
                         ak_error *err)
{
    ak_stage_memory *memory = stage->memory;
    if (memory->copy != NULL) {
        ak_status status = memory->backend->download(memory->copy + stage->base, memory->device,
                                                     stage->base, stage->total, err);
        if (status != AK_OK) {
            return status;
        }
    }
    if (!untouched(out, stage)) {
        return AK_OK;
    }
    for (size_t i = 0; i < count_of(stage); i++) {
        if (access_of(stage, i) == AK_ACCESS_IN) {
            continue;
        }
        const unsigned char *output = memory->bytes + stage->offset[i];
        if (quick && stage->has_accepted &&
            memcmp(output, stage->accepted[i], stage->shape.bytes[i]) == 0) {
            continue;
        }
        if (!output_right(out, max_error, stage, i)) {
            return AK_OK;
        }
        memcpy(stage->accepted[i], output, stage->shape.bytes[i]);
    }
    stage->has_accepted = true;
    return AK_OK;
}
