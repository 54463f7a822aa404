/* near.h: computes the distance between two sizes of a kernel. */
#ifndef AK_TUNER_NEAR_H
#define AK_TUNER_NEAR_H

/* Takes sizes such as "M=512,N=64". Returns the base-2 logarithm of the product of the ratios of
   their extents, each taken above 1; infinite if the sizes are not of one kernel. */
double ak_near_sizes(const char *a, const char *b);

#endif
