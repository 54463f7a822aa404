#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

int64_t ak_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * AK_SECOND_NS + now.tv_nsec;
}

int64_t ak_clock_thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * AK_SECOND_NS + now.tv_nsec;
}

void ak_clock_sleep_ns(int64_t ns)
{
    struct timespec left = {.tv_sec = ns / AK_SECOND_NS, .tv_nsec = ns % AK_SECOND_NS};
    while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

int64_t ak_clock_utc_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec;
}

void ak_clock_utc(char out[AK_CLOCK_UTC_BYTES])
{
    ak_clock_utc_before(out, 0);
}

void ak_clock_utc_before(char out[AK_CLOCK_UTC_BYTES], int64_t ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    ak_clock_utc_at(out, (int64_t)now.tv_sec * AK_SECOND_NS + now.tv_nsec - ns);
}

void ak_clock_utc_at(char out[AK_CLOCK_UTC_BYTES], int64_t ns)
{
    struct tm utc;
    time_t whole = (time_t)(ns / AK_SECOND_NS);
    (void)gmtime_r(&whole, &utc);
    char seconds[24];
    (void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(out, AK_CLOCK_UTC_BYTES, "%s.%03dZ", seconds,
                   (int)(ns % AK_SECOND_NS / AK_MS_NS));
}
