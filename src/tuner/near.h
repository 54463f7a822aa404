/* near.h: computes the distance between two sizes of a kernel. */
#ifndef AK_TUNER_NEAR_H
#define AK_TUNER_NEAR_H

#include <stdbool.h>

/* Returns the distance of two sizes such as "M=512,N=64": the sum of |log2(x / y)| over their pairs
   of extents x and y; infinity if the sizes are not of one kernel. Unless it is infinite, sets
   *alike (may be NULL) to whether each extent is a multiple of 8 in both sizes or in neither: rows
   that are not aligned to vectors may favour another implementation. */
double ak_near_sizes(bool *alike, const char *a, const char *b);

#endif
