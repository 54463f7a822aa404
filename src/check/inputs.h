/*
 * inputs.h: makes the inputs of a kernel: arrays, most of them of seeded random numbers, that are
 * rounded to the dtype under test and kept as double beside it, so that the reference sees exactly
 * the numbers that the candidate sees.
 */
#ifndef AK_CHECK_INPUTS_H
#define AK_CHECK_INPUTS_H

#include "problem/task.h"

/* How the numbers of a fill are drawn. The first three habits say how the numbers of uniform and
   normal fills lie within their range: as the problem says, near the ends (of a normal fill: one
   deviation from the mean), or most of them near the middle and some far out. Other fills ignore
   ENDS and MIDDLE. A right kernel is right for every habit. */
typedef enum ak_fill_habit {
    AK_HABIT_USUAL,
    AK_HABIT_ENDS,
    AK_HABIT_MIDDLE,
    /* Each float of a constant fill is 4, 5, 6, 7 or 8 eighths of the constant (of 1 if the
       constant is 0), drawn at random: it has the same sign, is not larger, and needs at most three
       more bits, so that short sums stay exact. This is for problems whose inputs are all constant,
       for which a kernel that reads no input could be right. */
    AK_HABIT_VARIED,
    /* Only one in `period` elements of each row and of each column is not zero ("few_terms" of
       problem.json): sums over rows or columns have few terms, however long they are. */
    AK_HABIT_FEW
} ak_fill_habit;

/* The fill of an argument at one shape. */
typedef struct ak_fill {
    ak_fill_kind kind;
    ak_fill_habit habit;
    double a, b;     /* as in ak_argument_spec */
    size_t elements; /* elements of the whole array */
    /* Nothing may read the array. In floats it holds NaN, in whole numbers the two ends of their
       range by turns, so that a result into which an element went is not right. */
    bool unused;
    size_t row;    /* elements of a row, for AK_HABIT_FEW */
    size_t period; /* for AK_HABIT_FEW; less than 2: all elements stay */
} ak_fill;

/* Fills an array of `count` elements. Each block of 4096 elements is computed by itself, most fills
   with a generator that is seeded by (seed, stream, block), so that the content does not depend on
   how the work is divided. */
void ak_inputs_fill(double *out, size_t count, const ak_fill *fill, ak_dtype dtype, uint64_t seed,
                    uint64_t stream);
/* Fills the elements first .. first + count of the same array, for threads that each fill a
   part. `first` is a multiple of AK_INPUTS_BLOCK. */
#define AK_INPUTS_BLOCK 4096
void ak_inputs_fill_part(double *out, size_t first, size_t count, const ak_fill *fill,
                         ak_dtype dtype, uint64_t seed, uint64_t stream);
/* Convert between doubles and the dtype's bytes. Encoding rounds to nearest, ties to even. 8-bit
   floats and whole numbers saturate; NaN becomes 0 in whole numbers. */
void ak_inputs_encode(void *out, const double *values, size_t count, ak_dtype dtype);
void ak_inputs_decode(double *out, const void *bytes, size_t count, ak_dtype dtype);

/* ---- npy (npy.c) ----------------------------------------------------------------------------- */

/* This part reads arrays from files. A file in NumPy's format (.npy, versions 1 to 3) states the
   type of its elements and its shape; any other file holds only the elements. */

/* The array that a file should hold. */
typedef struct ak_npy_array {
    size_t count;          /* elements */
    const size_t *extents; /* NULL: a .npy file may have any */
    size_t rank;
    ak_dtype dtype;
} ak_npy_array;

/* Reads an array in row-major order. A .npy file may hold little-endian floats of 2, 4 or 8 bytes,
   integers of 1, 2, 4 or 8 bytes, or booleans, whatever the array's dtype; any other file holds
   elements of that dtype. Returns AK_INVALID, with what the file has and what it should have, if
   they differ, or if the columns of a .npy file adjoin. */
ak_status ak_npy_read(double *out, const ak_npy_array *array, const char *path, ak_error *err);

#endif
