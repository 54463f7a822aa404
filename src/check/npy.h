/*
 * npy.h: reads arrays from files. A file in NumPy's format (.npy, versions 1 to 3) states the type
 * of its elements and its shape; any other file holds only the elements.
 */
#ifndef AK_CHECK_NPY_H
#define AK_CHECK_NPY_H

#include "problem/problem.h"

/* The array that a file should hold. */
typedef struct ak_npy_array {
    size_t count;          /* elements */
    const size_t *extents; /* NULL: a .npy file may have any */
    size_t rank;
    ak_dtype dtype;
} ak_npy_array;

/* Reads an array in row-major order. A .npy file may hold floats of 2, 4 or 8 bytes, integers of 1
   to 8 bytes, or booleans; other files hold elements of the array's dtype. Returns AK_INVALID, with
   what the file has and what it should have, if they differ. */
ak_status ak_npy_read(double *out, const ak_npy_array *array, const char *path, ak_error *err);
#endif
