/* clock.h: all time of the library. */
#ifndef AK_BASE_CLOCK_H
#define AK_BASE_CLOCK_H

#include <stdint.h>

int64_t ak_clock_ns(void);        /* monotonic */
int64_t ak_clock_thread_ns(void); /* processor time of the calling thread */
void ak_clock_sleep_ns(int64_t ns);
int64_t ak_clock_utc_seconds(void); /* since 1970 */
#define AK_CLOCK_UTC_BYTES 32
void ak_clock_utc(char out[AK_CLOCK_UTC_BYTES]);                /* "2026-11-21T10:54:22.123Z" */
void ak_clock_utc_at(char out[AK_CLOCK_UTC_BYTES], int64_t ns); /* the same, so long after 1970 */
#define AK_SECOND_NS INT64_C(1000000000)
#define AK_MS_NS     INT64_C(1000000)

#endif
