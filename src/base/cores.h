/*
 * cores.h: finds out how many processors this process may use, and which. A container or taskset
 * may allow fewer than the machine has, and more threads than allowed processors only slow each
 * other down.
 */
#ifndef AK_BASE_CORES_H
#define AK_BASE_CORES_H

/* Returns the number of processors that the affinity (if it is not known: all processors), the
   control group's quota (cpu.max, or cpu.cfs_quota_us before cgroups v2) and Slurm
   (SLURM_CPUS_PER_TASK in a job step) allow; 1 or more. */
int ak_cores(void);

/* Writes a text that is the same for processes that may use the same processors, and differs
   otherwise: the host and a hash of the affinity or, if Slurm gives a job step its own processors,
   the host and the step, because Slurm may leave the affinity as it is. */
#define AK_CORES_PLACE_BYTES 128
void ak_cores_place(char out[AK_CORES_PLACE_BYTES]);

/* Writes the name of this machine: Slurm's name of the node in a job step, else the host name. */
#define AK_CORES_HOST_BYTES 64
void ak_cores_host(char out[AK_CORES_HOST_BYTES]);

/* Returns the smaller of `cores` and the quota in processors, rounded up; 1 or more if `cores` is.
   `quota` is "QUOTA PERIOD" in microseconds, as in cpu.max. A text without two positive numbers
   ("max 100000", "-1 100000", "") limits nothing. */
int ak_cores_within(int cores, const char *quota);

#endif
