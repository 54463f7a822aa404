/*
 * sandbox.c: see sandbox.h. The structures and numbers of Landlock are written out here, because
 * the headers of a distribution may be older than the kernels that it runs on.
 *
 * It is long because all filters share their lists of system calls and the instructions that answer
 * them.
 */
#include "backend/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/instrumented.h"
#include "base/proc.h"

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

void ak_sandbox_limit(size_t memory_max, int cpu_seconds_max)
{
    limit(RLIMIT_CORE, 0);
    if (memory_max > 0 && !AK_INSTRUMENTED) {
        limit(RLIMIT_AS, memory_max);
    }
    if (cpu_seconds_max > 0) {
        limit(RLIMIT_CPU, (rlim_t)cpu_seconds_max);
    }
    limit(RLIMIT_FSIZE, 0);
    (void)signal(SIGXFSZ, SIG_IGN); /* a write then fails */
}

void ak_sandbox_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(__NR_capget, &head, has) != 0) {
        return;
    }
    for (unsigned long one = 0; prctl(PR_CAPBSET_DROP, one, 0, 0, 0) == 0; one++) {
    }
    const uint32_t left = has[0].permitted & 1u << CAP_DAC_READ_SEARCH;
    const struct __user_cap_data_struct few[_LINUX_CAPABILITY_U32S_3] = {
        {.effective = left, .permitted = left}};
    (void)syscall(__NR_capset, &head, few);
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
/* The rights that are granted by a rule for a file; the kernel refuses such a rule if it has rights
   of folders. */
#define LL_OF_FILE (LL_EXECUTE | (UINT64_C(1) << 1) | LL_READ_FILE | (UINT64_C(1) << 14))

/* The rights that Landlock takes away, one bit each. */
typedef struct ll_ruleset {
    uint64_t access_fs;
    /* From version 4 on: to bind and to connect TCP ports. */
    uint64_t access_net;
    /* From version 6 on: to reach abstract sockets of processes outside, and to signal these. */
    uint64_t scoped;
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

/* Returns a descriptor, or a negative number if the kernel has no Landlock or refuses the rules. */
static int make_ruleset(const char *const *readable, const char *const *writable)
{
    int abi = ak_sandbox_landlock_abi();
    if (abi < 1) {
        return -1;
    }
    /* Every right that this version of Landlock can take away: 13 in the first version, and one
       more each in the second (moving files to another folder), the third (truncating) and the
       fifth (ioctl on devices). */
    int bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
    ll_ruleset rules = {.access_fs = (UINT64_C(1) << bits) - 1, .access_net = 3, .scoped = 3};
    size_t size = abi >= 6   ? sizeof rules
                  : abi >= 4 ? offsetof(ll_ruleset, scoped)
                             : offsetof(ll_ruleset, access_net);
    int ruleset = (int)syscall(LL_CREATE_RULESET, &rules, size, 0u);
    if (ruleset >= 0) {
        allow(ruleset, readable, LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
        allow(ruleset, writable, rules.access_fs);
    }
    return ruleset;
}

bool ak_sandbox_files(const char *const *readable, const char *const *writable)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int ruleset = make_ruleset(readable, writable);
    bool good = ruleset >= 0 && syscall(LL_RESTRICT_SELF, ruleset, 0u) == 0;
    if (ruleset >= 0) {
        (void)close(ruleset);
    }
    return good;
}

/* ---- seccomp ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* The system calls that loading a shared object, computing, waiting and ending need. None starts a
   process or thread, opens a socket, signals others, or changes limits. */
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
    /* These two are called by threads that are just starting. */
    __NR_set_robust_list,
#ifdef __NR_rseq
    __NR_rseq,
#endif
};

#define LOAD(member)                                                                               \
    (struct sock_filter)                                                                           \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
/* SKIP_UNLESS skips the next instruction unless the loaded value equals `value`; SKIP_IF skips it
   if they are equal. */
#define SKIP_UNLESS(value)                                                                         \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, 1)
#define SKIP_IF(value)                                                                             \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 1, 0)

#ifdef ARCHITECTURE
/* Begins a filter: system calls of another architecture get `otherwise`. Like the functions that
   get a number `n` of instructions and append to them, returns the number of instructions so far.
 */
static unsigned short begin_filter(struct sock_filter *code, uint32_t otherwise)
{
    code[0] = LOAD(arch);
    code[1] = SKIP_IF(ARCHITECTURE);
    code[2] = RETURN(otherwise);
    code[3] = LOAD(nr);
    return 4;
}

/* Appends instructions that answer each system call of a list with `what`. */
static unsigned short answer(struct sock_filter *code, unsigned short n, const int *calls,
                             size_t count, uint32_t what)
{
    for (size_t i = 0; i < count; i++) {
        code[n++] = SKIP_UNLESS(calls[i]);
        code[n++] = RETURN(what);
    }
    return n;
}

static const uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
#define ABORTING 13
/* Appends ABORTING instructions that let abort() end the process as a crash does. It signals the
   process itself (tgkill) or, in musl, the thread (tkill), which is allowed if the number is that
   of the process; a process id fits the lower half of the argument, and the kernel ignores the
   upper one. The numbers of other threads are not known here, so their tkill fails, and so does
   setting the handler back: musl then goes on to an instruction that crashes. */
static unsigned short let_abort(struct sock_filter *code, unsigned short n)
{
    const uint32_t self = (uint32_t)getpid();
    const struct sock_filter block[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tkill, 0, 7),
        LOAD(args[0]),
        SKIP_UNLESS(self),
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(args[1]),
        SKIP_UNLESS(SIGABRT),
        RETURN(refused),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigaction, 0, 3),
        LOAD(args[0]),
        SKIP_UNLESS(SIGABRT),
        RETURN(refused),
    };
    _Static_assert(AK_COUNT(block) == ABORTING, "room for these");
    memcpy(code + n, block, sizeof block);
    return (unsigned short)(n + ABORTING);
}
#endif

bool ak_sandbox_seal(void)
{
#ifndef ARCHITECTURE
    return false;
#else
    static const int needed_for_next[] = {__NR_seccomp}; /* ak_sandbox_seal_loaded forbids it */
    struct sock_filter code[2 * AK_COUNT(computing) + 10 + ABORTING];
    unsigned short n = begin_filter(code, SECCOMP_RET_KILL_PROCESS);
    n = answer(code, n, computing, AK_COUNT(computing), SECCOMP_RET_ALLOW);
    n = answer(code, n, needed_for_next, AK_COUNT(needed_for_next), SECCOMP_RET_ALLOW);
    n = let_abort(code, n);
    code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {.len = n, .filter = code};
    if (AK_INSTRUMENTED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#endif
}

/* System calls that loading needs and computing does not. */
static const int loading[] = {
#ifdef __NR_open
    __NR_open,
#endif
#ifdef __NR_readlink
    __NR_readlink,
#endif
    __NR_openat,
    __NR_readlinkat,
};

/* System calls that would let a candidate escape the filters: its code would become data that it
   can write, or a filter of its own would answer other calls of the runner. */
static const int escaping[] = {__NR_mprotect, __NR_seccomp};

/* Appends instructions that skip the next `skipped` ones if the 64-bit member of seccomp_data at
   the offset `at` is below `bound`; returns the number of those appended. They assume that the
   upper half lies behind the lower one, as on a little-endian machine. */
static unsigned short skip_below(struct sock_filter *code, size_t at, uint64_t bound,
                                 unsigned char skipped)
{
    const uint32_t high = (uint32_t)(bound >> 32), low = (uint32_t)bound;
    const struct sock_filter block[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at + 4),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, high, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, (unsigned char)(skipped + 2)),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, skipped),
    };
    memcpy(code, block, sizeof block);
    return AK_COUNT(block);
}

/* Appends the last instructions of the second filter, which decide about the calls that map memory.
   mremap always fails, and madvise fails except for huge pages: realloc then copies, and glibc and
   musl ignore a madvise that fails. */
static unsigned short keep_maps(struct sock_filter *code, unsigned short n, uint64_t kept)
{
    const struct sock_filter block[] = {
        SKIP_UNLESS(__NR_mremap),
        RETURN(SECCOMP_RET_ERRNO | ENOMEM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_madvise, 0, 4),
        LOAD(args[2]),
        SKIP_UNLESS(MADV_HUGEPAGE),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | ENOMEM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_munmap, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 8, 0),
        LOAD(args[3]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED, 0, 5),
    };
    memcpy(code + n, block, sizeof block);
    n += AK_COUNT(block);
    n += skip_below(code + n, offsetof(struct seccomp_data, args[0]), kept, 1);
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    return n;
}

bool ak_sandbox_seal_loaded(uint64_t begin, uint64_t end, uint64_t kept)
{
#ifndef ARCHITECTURE
    (void)begin, (void)end, (void)kept;
    return false;
#else
    enum { ONE = 5 };
    const size_t at = offsetof(struct seccomp_data, instruction_pointer);
    struct sock_filter code[2 * (AK_COUNT(loading) + AK_COUNT(escaping)) + 3 * ONE + 20];
    unsigned short n = 0;
    /* The instruction pointer is the address behind the calling instruction, so the calls of the
       range have the values from begin + 1 to `end`. */
    n += skip_below(code + n, at, begin + 1, ONE + 2);
    n += skip_below(code + n, at, end + 1, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1);
    code[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    code[n++] = LOAD(nr); /* the first filter has checked the architecture */
    n = answer(code, n, loading, AK_COUNT(loading), SECCOMP_RET_ERRNO | EACCES);
    n = answer(code, n, escaping, AK_COUNT(escaping), SECCOMP_RET_KILL_PROCESS);
    n = keep_maps(code, n, kept);
    struct sock_fprog program = {.len = n, .filter = code};
    return !AK_INSTRUMENTED &&
           syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#endif
}

/* System calls that no compiler needs. Each fails with EPERM, so that a program that merely tries
   one can continue. */
static const int reaching[] = {
    __NR_socket,
    __NR_socketpair,
    __NR_setsid,
    __NR_setpgid,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_kcmp,
    __NR_perf_event_open,
    __NR_bpf,
    __NR_userfaultfd,
    __NR_add_key,
    __NR_request_key,
    __NR_keyctl,
    __NR_unshare,
    __NR_setns,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
#ifdef __NR_io_uring_setup
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
#endif
#ifdef __NR_pidfd_getfd
    __NR_pidfd_getfd,
#endif
    /* These make memory, semaphores and messages that outlive the process. */
    __NR_shmget,
    __NR_shmat,
    __NR_semget,
    __NR_msgget,
    __NR_mq_open,
};
/* From this number on, x86-64 has the same system calls again (x32). */
#define OTHER_NUMBERS 0x40000000u

/* System calls that ak_sandbox_plan_open_alone also refuses: they start a process, or open a
   descriptor for one. */
static const int starting[] = {
#ifdef __NR_fork
    __NR_fork,
    __NR_vfork,
#endif
#ifdef __NR_pidfd_open
    __NR_pidfd_open,
#endif
};

/* System calls that signal processes. no_signals treats another one, tgkill, by itself. */
static const int signalling[] = {
#ifdef __NR_pidfd_send_signal
    __NR_pidfd_send_signal,
#endif
    __NR_kill,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
};
/* Commands for fcntl that choose which process the kernel signals when a file is ready. */
static const int owning[] = {F_SETOWN, F_SETOWN_EX};

/* What a sanitizer's runtime calls beyond what computing needs. */
static const int sanitizing[] = {__NR_rt_sigaction, __NR_sigaltstack, __NR_prlimit64,
#ifdef __NR_getrlimit
                                 __NR_getrlimit,
#endif
                                 __NR_sched_setaffinity};

static void plan_files(ak_sandbox_plan *out, const char *const *readable,
                       const char *const *writable)
{
    *out = (ak_sandbox_plan){.ruleset = ak_proc_above_low(make_ruleset(readable, writable))};
}

#ifdef ARCHITECTURE
/* Appends instructions that let clone start threads but no processes. */
static unsigned short only_threads(struct sock_filter *code, unsigned short n)
{
#ifdef __NR_clone3 /* filters cannot read its flags; after ENOSYS the C library uses clone */
    code[n++] = SKIP_UNLESS(__NR_clone3);
    code[n++] = RETURN(SECCOMP_RET_ERRNO | ENOSYS);
#endif
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4);
    code[n++] = LOAD(args[0]);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    code[n++] = RETURN(refused);
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    return n;
}

/* Appends instructions that refuse signals to other processes. abort() and raise() signal the
   process itself by tgkill, so this is allowed: ak_sandbox_plan_apply completes the instruction at
   out->self, because the process id is not known earlier. */
static unsigned short no_signals(ak_sandbox_plan *out, struct sock_filter *code, unsigned short n)
{
    n = answer(code, n, signalling, AK_COUNT(signalling), refused);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 4);
    code[n++] = LOAD(args[0]);
    out->self = n;
    code[n++] = SKIP_IF(0);
    code[n++] = RETURN(refused);
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0,
                                             2 * AK_COUNT(owning) + 2);
    code[n++] = LOAD(args[1]);
    n = answer(code, n, owning, AK_COUNT(owning), refused);
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    return n;
}

/* Begins the filter of a plan: refuses other architectures, x32 and the calls in `reaching`. */
static unsigned short plan_begin(struct sock_filter *code)
{
    unsigned short n = begin_filter(code, refused);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1);
    code[n++] = RETURN(refused);
    return answer(code, n, reaching, AK_COUNT(reaching), refused);
}

static void plan_end(ak_sandbox_plan *out, struct sock_filter *code, unsigned short n)
{
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    memcpy(out->filter, code, n * sizeof code[0]);
    out->length = n;
}
#endif

void ak_sandbox_plan_open(ak_sandbox_plan *out, const char *const *readable,
                          const char *const *writable)
{
    plan_files(out, readable, writable);
#ifdef ARCHITECTURE
    struct sock_filter code[AK_SANDBOX_FILTER_MAX];
    plan_end(out, code, plan_begin(code));
#endif
}

void ak_sandbox_plan_open_alone(ak_sandbox_plan *out, const char *const *readable,
                                const char *const *writable)
{
    plan_files(out, readable, writable);
#ifdef ARCHITECTURE
    struct sock_filter code[AK_SANDBOX_FILTER_MAX];
    unsigned short n = plan_begin(code);
    _Static_assert(2 * (AK_COUNT(reaching) + AK_COUNT(starting) + AK_COUNT(signalling)) + 38 <=
                       AK_SANDBOX_FILTER_MAX,
                   "a longer filter");
    n = answer(code, n, starting, AK_COUNT(starting), refused);
    n = no_signals(out, code, n);
    n = only_threads(code, n);
    /* prlimit64 is allowed only for process 0, which means the calling one. */
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 4);
    code[n++] = LOAD(args[0]);
    code[n++] = SKIP_IF(0);
    code[n++] = RETURN(refused);
    code[n++] = RETURN(SECCOMP_RET_ALLOW);
    /* prctl must not change the signal that ends the child with its parent. */
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3);
    code[n++] = LOAD(args[0]);
    code[n++] = SKIP_UNLESS(PR_SET_PDEATHSIG);
    code[n++] = RETURN(refused);
    plan_end(out, code, n);
#endif
}

size_t ak_sandbox_sanitized(uint64_t out[AK_SANDBOX_FILTER_MAX])
{
#ifndef ARCHITECTURE
    (void)out;
    return 0;
#else
    struct sock_filter code[AK_SANDBOX_FILTER_MAX];
    unsigned short n = begin_filter(code, refused);
    _Static_assert(2 * (AK_COUNT(computing) + AK_COUNT(sanitizing)) + 12 <= AK_SANDBOX_FILTER_MAX,
                   "a longer filter");
    n = answer(code, n, computing, AK_COUNT(computing), SECCOMP_RET_ALLOW);
    n = answer(code, n, sanitizing, AK_COUNT(sanitizing), SECCOMP_RET_ALLOW);
    n = only_threads(code, n);
    code[n++] = RETURN(refused);
    memcpy(out, code, n * sizeof code[0]);
    return n;
#endif
}

void ak_sandbox_plan_apply(void *plan)
{
    ak_sandbox_plan *p = plan;
    if (p->self > 0) {
        const struct sock_filter own = SKIP_IF(getpid());
        memcpy(&p->filter[p->self], &own, sizeof own);
    }
    struct sock_fprog program = {.len = p->length,
                                 .filter = (struct sock_filter *)(uintptr_t)p->filter};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (p->ruleset >= 0) {
        (void)syscall(LL_RESTRICT_SELF, p->ruleset, 0u);
    }
    if (p->length > 0) {
        (void)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program);
    }
}

void ak_sandbox_plan_close(ak_sandbox_plan *plan)
{
    if (plan->ruleset >= 0) {
        (void)close(plan->ruleset);
        plan->ruleset = -1;
    }
}

bool ak_sandbox_seccomp(void)
{
#ifndef ARCHITECTURE
    return false;
#else
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return !AK_INSTRUMENTED && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
#endif
}

const char *ak_sandbox_missing(bool landlock, bool seccomp)
{
    static const char *const lines[2][2] = {
        {"this kernel has neither Landlock nor seccomp: candidates and compilers can access "
         "the user's files, and candidates can make any system call; tune trusted kernels only",
         "this kernel has no Landlock: candidates and compilers can access the user's "
         "files; tune trusted kernels only"},
        {"this kernel has no seccomp filter, or this build is instrumented: candidates can "
         "make any system call; tune trusted kernels only",
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
