/* argument.c: see argument.h. */
#include "check/argument.h"

#include <math.h>

#include "base/alloc.h"
#include "check/inputs.h"

/* Refuses numbers of a file that an integer dtype cannot hold. */
static ak_status check_whole(const double *values, const ak_npy_array *array, const char *path,
                             ak_error *err)
{
    ak_dtype_range holds;
    for (size_t i = 0; ak_dtype_holds(&holds, array->dtype) && i < array->count; i++) {
        AK_FAIL_IF(
            !(values[i] >= holds.low && values[i] <= holds.high) || rint(values[i]) != values[i],
            err, AK_INVALID,
            "%s: element %zu is %.17g; an argument of %s gets whole numbers from %.0f to %.0f",
            path, i, values[i], ak_dtype_text(array->dtype), holds.low, holds.high);
    }
    return AK_OK;
}

ak_status ak_argument_read(double *out, const ak_task *task, const ak_shape *shape, size_t i,
                           ak_error *err)
{
    const ak_argument_spec *spec = &task->problem->arguments[i];
    const ak_npy_array array = {shape->elements[i], shape->extent[i], spec->rank,
                                ak_task_argument_dtype(task, i)};
    AK_DO(ak_npy_read(out, &array, spec->fill_file, err));
    return check_whole(out, &array, spec->fill_file, err);
}

ak_status ak_argument_input(unsigned char *bytes, const ak_task *task, const ak_shape *shape,
                            size_t i, ak_error *err)
{
    const ak_argument_spec *argument = &task->problem->arguments[i];
    ak_dtype dtype = ak_task_argument_dtype(task, i);
    size_t element = ak_dtype_bytes(dtype), rows = shape->elements[i] / shape->row[i];
    const ak_fill fill = {.kind = argument->fill,
                          .a = shape->fill[i][0],
                          .b = shape->fill[i][1],
                          .unused = shape->unused[i],
                          .elements = shape->elements[i]};
    AK_FREED double *values = NULL;
    AK_DO(AK_NEW(values, shape->elements[i], err));
    if (argument->fill == AK_FILL_FILE && !shape->unused[i]) {
        AK_DO(ak_argument_read(values, task, shape, i, err));
    } else {
        ak_inputs_fill(values, shape->elements[i], &fill, dtype, task->seed, i);
    }
    for (size_t r = 0; r < rows; r++) {
        ak_inputs_encode(bytes + r * shape->pitch[i] * element, values + r * shape->row[i],
                         shape->row[i], dtype);
    }
    return AK_OK;
}
