/*
 * conditions.h: what a device did while it was measured: clocks, power, temperature, and why its
 * clock was held back. A time alone does not tell a better kernel from a cooler device.
 *
 * A backend that can ask its driver samples while timed batches run (backend.h, `conditions`); what
 * is kept of a trial or a contestant is the mean of its samples and every reason that was seen.
 */
#ifndef AK_MEASURE_CONDITIONS_H
#define AK_MEASURE_CONDITIONS_H

#include "problem/problem.h"

/* X(NAME, bit of nvmlClocksEventReasons, word): NVIDIA's are the only ones so far. "idle" is what a
   device says between two kernels; it holds nothing back. */
#define AK_THROTTLE_MAP(X)                                                                         \
    X(IDLE, 0x001, "idle")                                                                         \
    X(APPLICATION, 0x002, "application_clocks")                                                    \
    X(POWER_CAP, 0x004, "power_cap")                                                               \
    X(SLOWDOWN, 0x008, "hardware_slowdown")                                                        \
    X(SYNC_BOOST, 0x010, "sync_boost")                                                             \
    X(THERMAL, 0x020, "thermal")                                                                   \
    X(HARDWARE_THERMAL, 0x040, "hardware_thermal")                                                 \
    X(POWER_BRAKE, 0x080, "power_brake")                                                           \
    X(DISPLAY, 0x100, "display_clocks")

enum {
#define AK_THROTTLE_ENUM(name, bit, word) AK_THROTTLE_##name = (bit),
    AK_THROTTLE_MAP(AK_THROTTLE_ENUM)
#undef AK_THROTTLE_ENUM
};
#define AK_THROTTLE_BYTES 160 /* all words with commas */

typedef struct ak_conditions {
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius; /* means */
    uint32_t samples;  /* 0: nobody knows, and all else is 0 */
    uint32_t throttle; /* reasons seen in any sample */
} ak_conditions;

/* The samples of both together. */
void ak_conditions_add(ak_conditions *to, const ak_conditions *more);
/* "power_cap,thermal"; "none" without a reason; a bit that has no word is "other". */
void ak_throttle_text(char out[AK_THROTTLE_BYTES], uint32_t reasons);

/* Dense floating-point operations that one multiprocessor does in a clock, by the vendor's
   tables; 0 where they are not known. `compute_capability` as the device fact: 90 for 9.0. */
double ak_flops_per_clock(int64_t compute_capability, ak_dtype dtype);

#endif
