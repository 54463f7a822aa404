/*
 * cores.h: how many processors this process may use. Not how many the machine has: a container or
 * taskset may allow fewer, and a process for each that is there would only be in its own way.
 */
#ifndef AK_BASE_CORES_H
#define AK_BASE_CORES_H

/* By affinity and by the quota of the control group (cpu.max, or cpu.cfs_quota_us before cgroups
   v2); 1 or more. */
int ak_cores(void);

/* `cores`, or fewer if the quota, "QUOTA PERIOD" in microseconds as in cpu.max, is less: rounded
   up, 1 or more. A text that says no such thing ("max 100000", "-1 100000", "") limits nothing. */
int ak_cores_within(int cores, const char *quota);

#endif
