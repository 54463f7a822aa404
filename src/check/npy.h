/*
 * npy.h: reads arrays from files. A file in NumPy's format (.npy, versions 1 to 3) states the type
 * of its elements and its shape; any other file holds only the elements.
 */
#ifndef AK_CHECK_NPY_H
#define AK_CHECK_NPY_H

#include "problem/problem.h"

/* Reads an array of `count` elements, in the order of rows. A .npy file may hold floats of 2, 4 or
   8 bytes, integers of 1 to 8 bytes, or booleans, and must have `extents`, if that is not NULL;
   other files hold elements of `dtype`. Returns AK_INVALID, with what the file has and what it
   should have, if they differ. */
ak_status ak_npy_read(double *out, size_t count, const size_t *extents, size_t rank, ak_dtype dtype,
                      const char *path, ak_error *err);

#endif
