/*
 * argument.h: makes the numbers of one argument, drawn by its fill or read from its file.
 */
#ifndef AK_CHECK_ARGUMENT_H
#define AK_CHECK_ARGUMENT_H

#include "problem/task.h"

/* Reads an argument whose fill is AK_FILL_FILE: shape->elements[i] numbers without padding. Returns
   AK_INVALID if the file has another array, or a number that the argument's integer dtype cannot
   hold. */
ak_status ak_argument_read(double *out, const ak_task *task, const ak_shape *shape, size_t i,
                           ak_error *err);
/* Writes an input, laid out as candidates see it: its rows in the dtype of the argument,
   shape->pitch[i] elements apart. `bytes` has shape->bytes[i] bytes; those between rows are left as
   they are. */
ak_status ak_argument_input(unsigned char *bytes, const ak_task *task, const ak_shape *shape,
                            size_t i, ak_error *err);

#endif
