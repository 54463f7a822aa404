#include "base/cores.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/text.h"

#define CORES_MAX 65536
#define QUOTA_MAX 64 /* bytes of a quota file */

int ak_cores_within(int cores, const char *quota)
{
    char *end = NULL;
    double limit = ak_number_read(quota, &end);
    double period = end == quota ? 0 : ak_number_read(end, NULL);
    if (!(limit > 0 && period > 0 && limit / period < cores)) {
        return cores;
    }
    int whole = (int)(limit / period);
    return whole < limit / period || whole < 1 ? whole + 1 : whole;
}

/* Reads the first line of a quota file of the control group; "" if it cannot be read. In a
   container the process's own group is mounted as the root; elsewhere the root group has no
   quota. */
static void read_quota(char out[QUOTA_MAX], const char *path)
{
    AK_FREED char *text = NULL;
    out[0] = 0;
    if (ak_fs_read(&text, NULL, path, QUOTA_MAX - 1, NULL) == AK_OK) {
        (void)snprintf(out, QUOTA_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    }
}

/* Returns how many processors Slurm gives this process if it is a task of a job step; 0:
   unknown. */
static int cores_of_step(void)
{
    const char *text = ak_env("SLURM_STEP_ID") == NULL ? NULL : ak_env("SLURM_CPUS_PER_TASK");
    int64_t cores;
    return text != NULL && ak_text_int(&cores, text) && cores > 0 && cores < CORES_MAX ? (int)cores
                                                                                       : 0;
}

int ak_cores(void)
{
    cpu_set_t set;
    char quota[QUOTA_MAX], period[QUOTA_MAX], both[2 * QUOTA_MAX];
    long cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : sysconf(_SC_NPROCESSORS_ONLN);
    cores = cores < 1 ? 1 : cores > CORES_MAX ? CORES_MAX : cores;
    read_quota(both, "/sys/fs/cgroup/cpu.max");
    if (both[0] == 0) {
        read_quota(quota, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        read_quota(period, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        (void)snprintf(both, sizeof both, "%s %s", quota, period);
    }
    int step = cores_of_step();
    cores = step > 0 && step < cores ? step : cores;
    return ak_cores_within((int)cores, both);
}

void ak_cores_host(char out[AK_CORES_HOST_BYTES])
{
    const char *node = ak_env("SLURM_STEP_ID") == NULL ? NULL : ak_env("SLURMD_NODENAME");
    out[0] = out[AK_CORES_HOST_BYTES - 1] = 0;
    if (node != NULL) {
        (void)snprintf(out, AK_CORES_HOST_BYTES, "%.60s", node);
    } else {
        (void)gethostname(out, AK_CORES_HOST_BYTES - 1);
    }
}

void ak_cores_place(char out[AK_CORES_PLACE_BYTES])
{
    cpu_set_t set;
    char host[AK_CORES_HOST_BYTES], processors[AK_HASH_QUICK_BYTES] = "";
    const char *job = ak_env("SLURM_JOB_ID"), *step = ak_env("SLURM_STEP_ID");
    ak_cores_host(host);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        ak_hash_quick(processors, &set, sizeof set);
    }
    if (cores_of_step() > 0 && job != NULL && step != NULL) {
        (void)snprintf(out, AK_CORES_PLACE_BYTES, "%.60s step %.20s.%.20s", host, job, step);
    } else {
        (void)snprintf(out, AK_CORES_PLACE_BYTES, "%.60s %.16s", host, processors);
    }
}
