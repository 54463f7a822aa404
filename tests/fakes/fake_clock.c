/*
 * fake_clock.c: a library to preload (LD_PRELOAD) that shifts the calendar by AK_TEST_DAYS days;
 * clocks that measure are not changed. Unlike libfaketime it needs no shared memory, so that
 * confined compilers run below it.
 */
#include <stdlib.h>

#include "shifted_clock.h"

static time_t shift(void)
{
    const char *days = getenv("AK_TEST_DAYS");
    return days == NULL ? 0 : (time_t)strtol(days, NULL, 10) * 86400;
}
