/*
 * sandbox.h: takes rights from a process before it runs untrusted code. Each restriction applies to
 * the calling process itself, cannot be undone, and costs microseconds.
 *
 *   limits   rlimits: memory, CPU time, no files written, no core dump
 *   drop     all capabilities but that of reading files
 *   files    Landlock: only listed paths can be read or written; no TCP connections if the kernel
 *            can deny them
 *   seal     seccomp: only the system calls that computing needs; any other kills the process with
 *            SIGSYS
 *   others   closes every descriptor that is not listed
 *
 * On a kernel without Landlock or seccomp that layer is missing, and an instrumented build does not
 * seal. ak_sandbox_missing says so; every run reports it once and keeps it with its environment,
 * and `autokernel doctor` shows it.
 */
#ifndef AK_BACKEND_SANDBOX_H
#define AK_BACKEND_SANDBOX_H

#include <stdint.h>

#include "base/status.h"

/* Limits the bytes of address space and the seconds of processor time (0: no limit), makes each
   write to a file fail, and allows no core dump. An instrumented build does not limit the address
   space. */
void ak_sandbox_limit(size_t memory_max, int cpu_seconds_max);

/* Takes the capabilities of root from the calling thread, and from what it starts, but for that of
   reading files: what is loaded may lie in a folder of another user, as under sudo. */
void ak_sandbox_drop(void);

/* Returns the version of Landlock, or 0 if the kernel has none or it is switched off. Files are
   covered from version 1 on, TCP ports from 4, signals to others and abstract sockets from 6. */
int ak_sandbox_landlock_abi(void);
/* Restricts files to these two NULL-terminated lists of paths; a list may be NULL. Also denies TCP
   connections, abstract sockets and signals to others, where the kernel's Landlock covers them.
   Skips paths that do not exist. Returns false if the restriction is not in force. */
bool ak_sandbox_files(const char *const *readable, const char *const *writable);

/* Restricts the system calls of all threads, present and future. Returns false if the restriction
   is not in force. */
bool ak_sandbox_seal(void);

/* Seals the process further, after ak_sandbox_seal and once a candidate is loaded: it can open no
   file, add no filter, make no memory executable, move none and change no protection. Below `kept`,
   the end of the executable, it can neither unmap nor replace memory; 0: it can do so anywhere. The
   candidate's own instructions, between `begin` and `end`, can make no system call at all. Returns
   false if the restriction is not in force. */
bool ak_sandbox_seal_loaded(uint64_t begin, uint64_t end, uint64_t kept);

/*
 * A plan confines a child that is about to become another program, such as a compiler. It restricts
 * what the child reads and writes, and the system calls that reach out of it: no socket of any
 * kind; no process group or session of its own, so that everything it starts ends with it; no
 * access to the memory of other processes. Only Landlock, from version 6 on, keeps it from
 * signalling other processes, because a filter cannot know the processes that a compiler itself
 * starts and may end; a child that may start none is different (ak_sandbox_plan_open_alone). The
 * parent prepares the plan. ak_sandbox_plan_apply runs in the child, where it may do little more
 * than make system calls (`confine` in base/proc.h). A restriction that the kernel refuses is left
 * out without an error.
 */
#define AK_SANDBOX_FILTER_MAX 128
typedef struct ak_sandbox_plan {
    int ruleset;                 /* negative: no Landlock, or closed */
    unsigned short length, self; /* self: index of the instruction that compares with the process
                                    id; 0: none */
    uint64_t filter[AK_SANDBOX_FILTER_MAX]; /* instructions of seccomp */
} ak_sandbox_plan;
void ak_sandbox_plan_open(ak_sandbox_plan *out, const char *const *readable,
                          const char *const *writable);
/* Prepares a stricter plan: in addition, the child can start threads but no processes, cannot undo
   that it ends with its parent (base/proc.h), and cannot signal other processes, even without
   Landlock. It may still replace its program by another one, which stays confined. */
void ak_sandbox_plan_open_alone(ak_sandbox_plan *out, const char *const *readable,
                                const char *const *writable);
/* Gives the filter that a program with sanitizers adds to its own before it calls a candidate. It
   allows the system calls of a candidate's process, threads, and what the sanitizers need; any
   other fails with EPERM. Returns the number of instructions; 0: no filter is known for this
   processor. */
size_t ak_sandbox_sanitized(uint64_t out[AK_SANDBOX_FILTER_MAX]);
void ak_sandbox_plan_apply(void *plan);
void ak_sandbox_plan_close(ak_sandbox_plan *plan);

/* Returns whether ak_sandbox_seal would work, without doing it. */
bool ak_sandbox_seccomp(void);

/* Returns one line that says what candidates can do on a machine that lacks one of these layers;
   NULL if it has both. */
const char *ak_sandbox_missing(bool landlock, bool seccomp);

/* Closes every descriptor that is not in `keep`, which must be in ascending order. */
void ak_sandbox_close_others(const int *keep, size_t count);

#endif
