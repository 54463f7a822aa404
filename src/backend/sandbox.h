/*
 * sandbox.h: what a process gives up before it touches somebody else's code. Everything here is for
 * the calling process itself, cannot be undone, and costs microseconds.
 *
 *   limits   rlimits: memory, CPU time, no files written, no core dump
 *   files    Landlock: only what is listed can be read (or written); no network where the kernel
 * knows seal     seccomp: only the system calls that computing needs; anything else kills the
 * process with SIGSYS others   closes every descriptor that is not listed
 *
 * A kernel without Landlock or seccomp leaves that layer out; ak_sandbox_missing says so, every run
 * repeats it once and keeps it with its environment, and `autokernel doctor` shows it.
 */
#ifndef AK_BACKEND_SANDBOX_H
#define AK_BACKEND_SANDBOX_H

#include "base/status.h"

typedef struct ak_sandbox_limits {
    size_t memory_max;   /* of address space in bytes; 0: no limit */
    int cpu_seconds_max; /* 0: no limit */
    bool writes_files;   /* false: writing to a file fails */
} ak_sandbox_limits;

void ak_sandbox_limit(const ak_sandbox_limits *limits);

/* 0: the kernel has no Landlock, or it is switched off. */
int ak_sandbox_landlock_abi(void);
/* Paths are NULL-terminated lists; those that do not exist are skipped. False if not in force. */
bool ak_sandbox_files(const char *const *readable, const char *const *writable);

/* For all threads of the process, present and future. False if not in force. */
bool ak_sandbox_seal(void);

/* Whether ak_sandbox_seal will work, without doing it. */
bool ak_sandbox_seccomp(void);

/* What a machine with or without these layers does not keep candidates from, as one line for
   people; NULL if nothing is missing. */
const char *ak_sandbox_missing(bool landlock, bool seccomp);

/* `keep` in ascending order. */
void ak_sandbox_close_others(const int *keep, size_t count);

#endif
