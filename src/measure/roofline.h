/*
 * roofline.h: computes how fast a task could be on a device, by the roofline model (Williams,
 * Waterman, Patterson 2009): attainable = min(peak, intensity * bandwidth). Units: flop, byte,
 * TFLOP/s = 1e12 flop/s, GB/s = 1e9 byte/s. For example, a matrix product of 4096^3 in fp16 has an
 * intensity of 1365.33 flop/byte. At an A100's 1.939 TB/s the memory limit is then 2647 TFLOP/s,
 * above the A100's peak of 312 TFLOP/s, so the product is bound by compute.
 */
#ifndef AK_MEASURE_ROOFLINE_H
#define AK_MEASURE_ROOFLINE_H

#include <stdbool.h>

/* Ceilings of a device, measured there, or from its data sheet if `measured` is false. 0 means
   unknown. */
typedef struct ak_ceilings {
    /* rate of multiply-adds on the dtype: with all threads of the task or, on a GPU, with the whole
       device, its units for matrix products included */
    double peak_tflops;
    double copy_gbs;  /* bytes read and written by a copy far larger than the caches */
    double triad_gbs; /* a[i] = b[i] + s*c[i], with three streams counted; a GPU: as copy_gbs */
    double read_gbs;  /* bytes read, without writing; a GPU: as copy_gbs */
    double l1_gbs;    /* a copy whose working set fits the first cache */
    double cache_gbs; /* a copy whose working set fits the last private cache */
    bool measured;
} ak_ceilings;

/* A result this many times above the roofline is wrong, not fast: the kernel did not do the work.
   The factor is not 1 because ceilings measured on a busy machine may be too low by a factor of
   two. */
#define AK_IMPLAUSIBLE 4.0

typedef struct ak_roofline {
    double tflops, gbs; /* achieved */
    double efficiency;  /* least possible time / achieved time; above 1 if the data was cached or a
                           ceiling was measured too low */
    bool memory_bound;
} ak_roofline;

/* Returns the bandwidth that limits kernels: the better one of copy and triad, because kernels read
   and write; `read` if neither is known; 0 if `read` is unknown too. */
double ak_roofline_bandwidth(const ak_ceilings *ceilings);
/* Computes the roofline of a task. If `flops` is 0 (a copy), the efficiency is a ratio of
   bandwidths. An unknown ceiling does not limit; if none is known, the efficiency is 0. If `ms` is
   0 or less, nothing was measured: achieved rates and efficiency are 0. */
void ak_roofline_of(ak_roofline *out, const ak_ceilings *ceilings, double flops, double bytes,
                    double ms);

#endif
