/*
 * roofline.h: how fast could it be? The roofline model (Williams, Waterman, Patterson 2009):
 * attainable = min(peak, intensity * bandwidth). Units: flop, byte, TFLOP/s = 1e12 flop/s,
 * GB/s = 1e9 byte/s. 4096^3 fp16 has intensity 1365.33 flop/byte; at an A100's 1.939 TB/s the
 * memory limit is then 2647 TFLOP/s, above its 312 TFLOP/s peak: compute bound.
 */
#ifndef AK_MEASURE_ROOFLINE_H
#define AK_MEASURE_ROOFLINE_H

#include <stdbool.h>

/* Ceilings of a device, measured there (or from a datasheet where `measured` is false). 0: unknown.
 */
typedef struct ak_ceilings {
    double peak_tflops; /* FMA rate of the dtype, all threads of the task */
    double copy_gbs;    /* read + written bytes of a copy far larger than the caches */
    double triad_gbs;   /* a[i] = b[i] + s*c[i], 3 streams counted */
    double read_gbs;
    double l1_gbs;    /* copy of a working set that fits the first cache; 0: unknown */
    double cache_gbs; /* the same for the last private cache */
    bool measured;
} ak_ceilings;

typedef struct ak_roofline {
    double intensity;     /* flop/byte; infinite without traffic */
    double memory_tflops; /* intensity * bandwidth */
    double attainable_tflops;
    double tflops, gbs; /* achieved */
    double efficiency;  /* achieved / attainable time, 0..1 (above 1: the working set was cached) */
    bool memory_bound;
} ak_roofline;

/* The bandwidth is the better one of copy and triad: kernels read and write; `read` only if neither
   is known. flops may be 0 (a copy): then efficiency is a bandwidth ratio. A limit that is unknown
   does not limit; without any, attainable and efficiency are 0. ms <= 0 (not measured): achieved
   rates and efficiency are 0. */
void ak_roofline_of(ak_roofline *out, const ak_ceilings *ceilings, double flops, double bytes,
                    double ms);

#endif
