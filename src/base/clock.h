/* clock.h: reads the clocks of this machine and of the calling thread, and sleeps. */
#ifndef AK_BASE_CLOCK_H
#define AK_BASE_CLOCK_H

#include <stdint.h>

#define AK_SECOND_NS INT64_C(1000000000)
#define AK_MS_NS     INT64_C(1000000)

/* Returns nanoseconds of a clock that never goes back; only differences have a meaning. */
int64_t ak_clock_ns(void);
/* Returns the processor time of the calling thread in nanoseconds. */
int64_t ak_clock_thread_ns(void);
/* Sleeps for at least `ns` nanoseconds, even if signals interrupt the sleep. */
void ak_clock_sleep_ns(int64_t ns);
/* Returns the seconds since 1970-01-01 UTC. */
int64_t ak_clock_utc_seconds(void);

#define AK_CLOCK_UTC_BYTES 32
/* Writes the current date and time in UTC as "2026-11-21T10:54:22.123Z". */
void ak_clock_utc(char out[AK_CLOCK_UTC_BYTES]);
/* Writes the time `ns` nanoseconds ago in the same form. */
void ak_clock_utc_before(char out[AK_CLOCK_UTC_BYTES], int64_t ns);
/* Writes the time `ns` nanoseconds after 1970-01-01 UTC in the same form. */
void ak_clock_utc_at(char out[AK_CLOCK_UTC_BYTES], int64_t ns);

#endif
