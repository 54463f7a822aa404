/*
 * conditions.h: describes the state of a device while it was measured: clocks, power, temperature,
 * and why its clock was held back. The time alone does not show whether a kernel is faster or the
 * device was cooler.
 *
 * A backend that can ask its driver takes samples while timed batches run (backend.h,
 * `conditions`). A trial or a candidate keeps the mean of its samples and every reason other than
 * "idle" that occurred.
 */
#ifndef AK_MEASURE_CONDITIONS_H
#define AK_MEASURE_CONDITIONS_H

#include "base/status.h"

/* X(NAME, bit of nvmlClocksEventReasons, word). So far only NVIDIA's reasons are known. A device
   reports "idle" between two kernels; this does not lower the clock of a kernel, so
   ak_throttle_text leaves it out. */
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
#define AK_THROTTLE_BYTES 160 /* enough for all words with commas */

typedef struct ak_conditions {
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius; /* means */
    uint32_t samples;  /* 0: the conditions are unknown, and all else is 0 */
    uint32_t throttle; /* bits of the reasons that occur in at least one sample */
} ak_conditions;

/* Adds the samples of `more` to `to`: `to` then holds the means and the reasons of all samples. */
void ak_conditions_add(ak_conditions *to, const ak_conditions *more);
/* Writes the reasons except IDLE as "power_cap,thermal", or "none" if there is no other. Bits
   without a word become "other". */
void ak_throttle_text(char out[AK_THROTTLE_BYTES], uint32_t reasons);
/* Sets the conditions of a trial, unless `conditions` are unknown. */
ak_status ak_conditions_to_trial(ak_trial *out, const ak_conditions *conditions, ak_error *err);

#endif
