/* reference_arrays.c: references that are arrays in files: the right results of one size. */
#include "check/inputs.h"
#include "judge/reference.h"

static ak_status run_arrays(const ak_reference *reference, const ak_shape *shape,
                            double *const *arrays, ak_error *err)
{
    const ak_task *task = reference->task;
    const ak_problem *problem = task->problem;
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        if (problem->reference.array[i] != NULL) {
            const ak_npy_array array = {shape->elements[i], shape->extent[i], argument->rank,
                                        ak_task_argument_dtype(task, i)};
            status = ak_npy_read(arrays[i], &array, problem->reference.array[i], err);
        }
    }
    return status == AK_OK ? AK_OK : ak_fail_within(err, "%s: reference", problem->name);
}

const ak_reference_ops ak_reference_arrays_ops = {.kind = "arrays", .run = run_arrays};
