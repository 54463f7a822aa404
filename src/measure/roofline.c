/*
 * roofline.c: see roofline.h.
 *
 * Everything is computed in base units (flop, byte, second) and converted once, at the end, by the
 * two constants below: a factor of a thousand has nowhere to get lost.
 */
#include "measure/roofline.h"

#include <math.h>

#define TERA 1e12
#define GIGA 1e9

void ak_roofline_of(ak_roofline *out, const ak_ceilings *ceilings, double flops, double bytes,
                    double ms)
{
    double peak = ceilings->peak_tflops * TERA;
    double bandwidth = fmax(ceilings->copy_gbs, ceilings->triad_gbs) * GIGA;
    if (!(bandwidth > 0.0)) {
        bandwidth = ceilings->read_gbs * GIGA;
    }
    double seconds = ms / 1e3;
    double compute_seconds = peak > 0.0 ? flops / peak : 0.0;
    double memory_seconds = bandwidth > 0.0 ? bytes / bandwidth : 0.0;
    double best_seconds = fmax(compute_seconds, memory_seconds);

    *out = (ak_roofline){0};
    out->memory_bound = memory_seconds > compute_seconds || !(flops > 0.0);
    if (bytes > 0.0) {
        out->intensity = flops / bytes;
        out->memory_tflops = out->intensity * bandwidth / TERA;
    } else if (flops > 0.0) {
        out->intensity = INFINITY;
        out->memory_tflops = bandwidth > 0.0 ? INFINITY : 0.0;
    }
    if (best_seconds > 0.0) {
        out->attainable_tflops = flops / best_seconds / TERA;
    }
    if (seconds > 0.0) {
        out->tflops = flops / seconds / TERA;
        out->gbs = bytes / seconds / GIGA;
        out->efficiency = best_seconds / seconds;
    }
}
