/*
 * sandbox.c: see sandbox.h. The structures and numbers of Landlock are written out here, because
 * the headers of a distribution are older than the kernels that it runs on.
 */
#include "backend/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"

/* Address sanitizer reserves terabytes of address space and reports through system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef __GLIBC__
typedef __rlimit_resource_t resource_kind;
#else
typedef int resource_kind;
#endif

static void limit(resource_kind resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0) {
        now.rlim_max = now.rlim_max < value ? now.rlim_max : value;
        now.rlim_cur = now.rlim_max;
        (void)setrlimit(resource, &now);
    }
}

void ak_sandbox_limit(const ak_sandbox_limits *limits)
{
    limit(RLIMIT_CORE, 0);
    if (limits->memory_max > 0 && !SANITIZED) {
        limit(RLIMIT_AS, limits->memory_max);
    }
    if (limits->cpu_seconds_max > 0) {
        limit(RLIMIT_CPU, (rlim_t)limits->cpu_seconds_max);
    }
    if (!limits->writes_files) {
        limit(RLIMIT_FSIZE, 0);
        (void)signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    }
}

/* ---- Landlock (Documentation/userspace-api/landlock.rst of the kernel) --------------------- */

#define LL_CREATE_RULESET 444
#define LL_ADD_RULE       445
#define LL_RESTRICT_SELF  446
#define LL_VERSION_FLAG   1u
#define LL_RULE_PATH      1

#define LL_EXECUTE   (UINT64_C(1) << 0)
#define LL_READ_FILE (UINT64_C(1) << 2)
#define LL_READ_DIR  (UINT64_C(1) << 3)
/* Bits that mean something for a file that is not a folder. */
#define LL_OF_FILE (LL_EXECUTE | (UINT64_C(1) << 1) | LL_READ_FILE | (UINT64_C(1) << 14))

typedef struct ll_ruleset {
    uint64_t access_fs;
    uint64_t access_net; /* from version 4 */
} ll_ruleset;

typedef struct __attribute__((packed)) ll_path {
    uint64_t allowed;
    int32_t parent_fd;
} ll_path;

int ak_sandbox_landlock_abi(void)
{
    long version = syscall(LL_CREATE_RULESET, NULL, (size_t)0, LL_VERSION_FLAG);
    return version < 0 ? 0 : (int)version;
}

static void allow(int ruleset, const char *const *paths, uint64_t access)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        int fd = open(paths[i], O_PATH | O_CLOEXEC);
        if (fd < 0) {
            continue;
        }
        ll_path rule = {.allowed = access, .parent_fd = fd};
        if (syscall(LL_ADD_RULE, ruleset, LL_RULE_PATH, &rule, 0u) != 0 && errno == EINVAL) {
            rule.allowed = access & LL_OF_FILE;
            (void)syscall(LL_ADD_RULE, ruleset, LL_RULE_PATH, &rule, 0u);
        }
        (void)close(fd);
    }
}

bool ak_sandbox_files(const char *const *readable, const char *const *writable)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int abi = ak_sandbox_landlock_abi();
    if (abi < 1) {
        return false;
    }
    /* Every right that this version of the kernel can take away: 13 in the first, one more in each
       of the second (moving files), third (truncating) and fifth (ioctl on devices). */
    int bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
    ll_ruleset rules = {.access_fs = (UINT64_C(1) << bits) - 1, .access_net = abi >= 4 ? 3 : 0};
    size_t size = abi >= 4 ? sizeof rules : sizeof rules.access_fs;
    int ruleset = (int)syscall(LL_CREATE_RULESET, &rules, size, 0u);
    if (ruleset < 0) {
        return false;
    }
    allow(ruleset, readable, LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
    allow(ruleset, writable, rules.access_fs);
    bool good = syscall(LL_RESTRICT_SELF, ruleset, 0u) == 0;
    (void)close(ruleset);
    return good;
}

/* ---- seccomp ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* What loading a shared object, computing, waiting and ending need. No process, thread, socket,
   signal to others, or change of limits. */
static const int computing[] = {
#ifdef __NR_open
    __NR_open,
#endif
#ifdef __NR_stat
    __NR_stat,
#endif
#ifdef __NR_readlink
    __NR_readlink,
#endif
#ifdef __NR_access
    __NR_access,
#endif
    __NR_futex,
    __NR_read,
    __NR_write,
    __NR_sched_yield,
    __NR_openat,
    __NR_close,
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_readlinkat,
    __NR_faccessat,
    __NR_pread64,
    __NR_lseek,
    __NR_mmap,
    __NR_munmap,
    __NR_mremap,
    __NR_mprotect,
    __NR_madvise,
    __NR_brk,
    __NR_exit,
    __NR_exit_group,
    __NR_clock_gettime,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_gettimeofday,
    __NR_getrandom,
    __NR_getpid,
    __NR_gettid,
    __NR_rt_sigreturn,
    __NR_rt_sigprocmask,
    __NR_restart_syscall,
    __NR_sched_getaffinity,
    __NR_sysinfo,
    __NR_uname,
    __NR_getcpu,
    __NR_membarrier,
    __NR_set_robust_list, /* these two by threads that are just starting */
#ifdef __NR_rseq
    __NR_rseq,
#endif
};

#define LOAD(member)                                                                               \
    (struct sock_filter)                                                                           \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
/* The next instruction is skipped unless (if) the value is the one loaded. */
#define SKIP_UNLESS(value)                                                                         \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, 1)
#define SKIP_IF(value)                                                                             \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 1, 0)

bool ak_sandbox_seal(void)
{
#ifndef ARCHITECTURE
    return false;
#else
    enum { CALLS = sizeof computing / sizeof computing[0] };
    struct sock_filter code[2 * CALLS + 12];
    unsigned short n = 0;
    code[n++] = LOAD(arch);
    code[n++] = SKIP_IF(ARCHITECTURE);
    code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    code[n++] = LOAD(nr);
    for (int i = 0; i < CALLS; i++) {
        code[n++] = SKIP_UNLESS(computing[i]);
        code[n++] = RETURN(SECCOMP_RET_ALLOW);
    }
    /* abort() sends a signal, which is fine as long as it is to ourselves. The argument has 64
       bits; a process id fits the lower half, and the upper one is ignored by the kernel. */
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3);
    code[n++] = LOAD(args[0]);
    code[n++] = SKIP_UNLESS(getpid());
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {.len = n, .filter = code};
    if (SANITIZED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#endif
}

bool ak_sandbox_seccomp(void)
{
#ifndef ARCHITECTURE
    return false;
#else
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return !SANITIZED && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
#endif
}

const char *ak_sandbox_missing(bool landlock, bool seccomp)
{
    static const char *const lines[2][2] = {
        {"this kernel has neither Landlock nor seccomp: candidates and compilers are not kept from "
         "the user's files, and candidates not from any system call; tune trusted kernels only",
         "this kernel has no Landlock: candidates and compilers are not kept from the user's "
         "files; tune trusted kernels only"},
        {"this kernel has no seccomp filter, or this build is instrumented: candidates are not "
         "kept from any system call; tune trusted kernels only",
         NULL}};
    return lines[landlock ? 1 : 0][seccomp ? 1 : 0];
}

void ak_sandbox_close_others(const int *keep, size_t count)
{
    unsigned first = 0;
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)keep[i] > first) {
            ak_proc_close_range(first, (unsigned)keep[i] - 1);
        }
        first = (unsigned)keep[i] + 1;
    }
    ak_proc_close_range(first, ~0u);
}
