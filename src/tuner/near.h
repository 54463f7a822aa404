/* near.h: computes the distance between two sizes of a kernel. */
#ifndef AK_TUNER_NEAR_H
#define AK_TUNER_NEAR_H

#include <stdbool.h>

/* Takes sizes such as "M=512,N=64". Returns the base-2 logarithm of the product of the ratios of
   their extents, each taken above 1; infinite if the sizes are not of one kernel. *alike (unless
   NULL) is whether each extent is a multiple of 8 in both or in neither: where rows begin anywhere
   in memory, another implementation may be best than where they begin at whole vectors. */
double ak_near_sizes(bool *alike, const char *a, const char *b);

#endif
