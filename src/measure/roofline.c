/*
 * roofline.c: see roofline.h.
 *
 * Everything is computed in base units (flop, byte, second). Rates are converted to and from these
 * by the two constants below, so that no factor of a thousand can get lost.
 */
#include "measure/roofline.h"

#include <math.h>

#define TERA 1e12
#define GIGA 1e9

double ak_roofline_bandwidth(const ak_ceilings *ceilings)
{
    double both = fmax(ceilings->copy_gbs, ceilings->triad_gbs);
    return both > 0.0 ? both : fmax(ceilings->read_gbs, 0.0);
}

void ak_roofline_of(ak_roofline *out, const ak_ceilings *ceilings, double flops, double bytes,
                    double ms)
{
    double peak = ceilings->peak_tflops * TERA;
    double bandwidth = ak_roofline_bandwidth(ceilings) * GIGA;
    double seconds = ms / 1e3;
    double compute_seconds = peak > 0.0 ? flops / peak : 0.0;
    double memory_seconds = bandwidth > 0.0 ? bytes / bandwidth : 0.0;
    double best_seconds = fmax(compute_seconds, memory_seconds);

    *out = (ak_roofline){.memory_bound = memory_seconds > compute_seconds || !(flops > 0.0)};
    if (seconds > 0.0) {
        out->tflops = flops / seconds / TERA;
        out->gbs = bytes / seconds / GIGA;
        out->efficiency = best_seconds / seconds;
    }
}
