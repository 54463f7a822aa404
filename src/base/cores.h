/*
 * cores.h: how many processors this process may use. A container or taskset may allow fewer than
 * the machine has, and more threads than allowed processors only slow each other down.
 */
#ifndef AK_BASE_CORES_H
#define AK_BASE_CORES_H

/* Returns the number of processors that the affinity and the control group's quota allow
   (cpu.max, or cpu.cfs_quota_us before cgroups v2); 1 or more. */
int ak_cores(void);

/* Returns the smaller of `cores` and the quota, rounded up; 1 or more. `quota` is "QUOTA PERIOD"
   in microseconds, as in cpu.max. A text without two positive numbers ("max 100000", "-1
   100000", "") limits nothing. */
int ak_cores_within(int cores, const char *quota);

#endif
