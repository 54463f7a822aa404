/*
 * pressure.h: measures how busy the machine is with other things. The pressure is the share of the
 * time in which at least one runnable task waited for a processor. Linux reports this waiting time
 * (pressure stall information: the line "some" of /proc/pressure/cpu, in microseconds since the
 * machine started). During a measurement with one thread for each processor the pressure is near 0
 * if nothing else runs, and near 1 if as many endless loops run as well.
 *
 * One mark is taken before and one after a measurement. If the system has no such file (Linux has
 * it from 4.20 on), the pressure is unknown, which is a negative number.
 */
#ifndef AK_MEASURE_PRESSURE_H
#define AK_MEASURE_PRESSURE_H

#include "base/status.h"

typedef struct ak_pressure_mark {
    int64_t at_ns;     /* ak_clock_ns */
    int64_t waited_us; /* negative: unknown */
} ak_pressure_mark;

/* Takes a mark now. */
void ak_pressure_take(ak_pressure_mark *out);
/* Returns the pressure between two marks, 0..1; negative: unknown. */
double ak_pressure_between(const ak_pressure_mark *from, const ak_pressure_mark *to);
#define AK_PRESSURE_LOOK_NS INT64_C(50000000)
/* Returns the pressure of the machine while this thread sleeps for AK_PRESSURE_LOOK_NS; negative:
   unknown. */
double ak_pressure_look(void);
/* Returns the number after "total=" in the line "some" of a text in the form of /proc/pressure/cpu;
   negative: there is none. */
int64_t ak_pressure_parse(const char *text);

#endif
