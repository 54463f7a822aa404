/* test_sandbox.c: tests each layer of the sandbox, in a child process that reports by its exit
   code. A layer that this Linux kernel does not have is skipped with a message. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/sandbox.h"
#include "base/fs.h"

enum { GOOD = 0, BAD = 1, NOT_HERE = 77 };

/* Runs body() in a child process. Returns its exit code, or 1000 + the signal that killed it. */
static int in_child(int (*body)(void))
{
    int how = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(body());
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFSIGNALED(how) ? 1000 + WTERMSIG(how) : WEXITSTATUS(how);
}

static char folder[AK_PATH_MAX], inside[AK_PATH_MAX], outside[AK_PATH_MAX];

static int make_folders(void **state)
{
    (void)state;
    if (ak_fs_temp(folder, NULL) != AK_OK || ak_fs_join(inside, folder, "in", NULL) != AK_OK ||
        ak_fs_join(outside, folder, "out", NULL) != AK_OK) {
        return -1;
    }
    return ak_fs_mkdirs(inside, NULL) == AK_OK && ak_fs_mkdirs(outside, NULL) == AK_OK ? 0 : -1;
}

static int remove_folders(void **state)
{
    (void)state;
    ak_fs_remove(folder);
    return 0;
}

static bool can_open(const char *where, const char *name, int flags)
{
    char path[AK_PATH_MAX];
    if (ak_fs_join(path, where, name, NULL) != AK_OK) {
        return false;
    }
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static int files_body(void)
{
    const char *const readable[] = {"/usr", "/does/not/exist", NULL};
    const char *const writable[] = {inside, NULL};
    if (!ak_sandbox_files(readable, writable)) {
        return NOT_HERE;
    }
    bool good = can_open(inside, "new", O_WRONLY | O_CREAT) && can_open("/usr", "bin", O_RDONLY) &&
                !can_open(outside, "new", O_WRONLY | O_CREAT) &&
                !can_open(outside, "secret", O_RDONLY) &&
                !can_open("/usr", "x", O_WRONLY | O_CREAT);
    return good ? GOOD : BAD;
}

static void files_are_confined(void **state)
{
    (void)state;
    assert_true(can_open(outside, "secret", O_WRONLY | O_CREAT));
    int code = in_child(files_body);
    if (code == NOT_HERE) {
        print_message("Landlock is not in force on this kernel\n");
        assert_int_equal(ak_sandbox_landlock_abi(), 0);
        skip();
    }
    assert_int_equal(code, GOOD);
    assert_true(ak_sandbox_landlock_abi() >= 1);
    assert_true(can_open(outside, "new", O_WRONLY | O_CREAT)); /* the parent is as free as before */
}

static int seal_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && getpid() > 0 ? GOOD : BAD;
}

static int fork_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    return fork() == 0 ? GOOD : BAD;
}

static int socket_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? GOOD : BAD;
}

static int kill_body(void)
{
    const pid_t parent = getppid(); /* not allowed later */
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    return kill(parent, 0) == 0 ? GOOD : BAD;
}

static int abort_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    abort();
}

/* Does what abort() of musl does. */
static void *abort_as_musl(void *unused)
{
    const long self = syscall(SYS_gettid);
    const char nothing[64] = {0};
    (void)unused;
    (void)syscall(SYS_tkill, self, SIGABRT);
    (void)syscall(SYS_rt_sigaction, SIGABRT, nothing, NULL, (size_t)8);
    (void)syscall(SYS_tkill, self, SIGABRT);
    __builtin_trap();
}

static int musl_abort_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    (void)abort_as_musl(NULL);
    return BAD;
}

static atomic_bool sealed;

static void *abort_when_sealed(void *unused)
{
    while (!atomic_load(&sealed)) {
        (void)sched_yield();
    }
    return abort_as_musl(unused);
}

static int musl_thread_abort_body(void)
{
    pthread_t thread;
    (void)signal(SIGILL, SIG_DFL); /* cmocka has handlers of its own */
    (void)signal(SIGTRAP, SIG_DFL);
    if (pthread_create(&thread, NULL, abort_when_sealed, NULL) != 0 || !ak_sandbox_seal()) {
        return NOT_HERE;
    }
    atomic_store(&sealed, true);
    (void)pthread_join(thread, NULL);
    return BAD;
}

static int abort_other_body(void)
{
    const pid_t parent = getppid(); /* not allowed later */
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    return syscall(SYS_tkill, parent, SIGABRT) == -1 && errno == EPERM ? GOOD : BAD;
}

static int kill_thread_body(void)
{
    const pid_t parent = getppid(); /* not allowed later */
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    (void)syscall(SYS_tkill, parent, 0);
    return BAD;
}

static int handler_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    (void)signal(SIGUSR1, SIG_IGN);
    return BAD;
}

static void only_computing_is_allowed(void **state)
{
    (void)state;
    int code = in_child(seal_body);
    if (code == NOT_HERE) {
        print_message("seccomp is not in force here\n");
        skip();
    }
    assert_int_equal(code, GOOD);
    assert_int_equal(in_child(fork_body), 1000 + SIGSYS);
    assert_int_equal(in_child(socket_body), 1000 + SIGSYS);
    assert_int_equal(in_child(kill_body), 1000 + SIGSYS);
    assert_int_equal(in_child(abort_body), 1000 + SIGABRT); /* a crash must look like one */
    assert_int_equal(in_child(musl_abort_body), 1000 + SIGABRT);
    code = in_child(musl_thread_abort_body);
    assert_true(code == 1000 + SIGILL || code == 1000 + SIGTRAP); /* of __builtin_trap */
    assert_int_equal(in_child(abort_other_body), GOOD);
    assert_int_equal(in_child(kill_thread_body), 1000 + SIGSYS);
    assert_int_equal(in_child(handler_body), 1000 + SIGSYS);
}

/* ---- what a process may do with its memory, filters and rights once a candidate is loaded -------
 */

/* Runs a call in a process that is sealed as if a candidate lay in a page; `block` is 1 MiB of
   memory, below which nothing may be mapped, and the system maps nothing by itself. */
static int (*sealed_call)(char *block);

static void *map_fixed(char *at, size_t bytes)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static int loaded_body(void)
{
    char *block = map_fixed((char *)0x10000000000, 1 << 20);
    const uint64_t kept = (uint64_t)(uintptr_t)block;
    if (block == MAP_FAILED || !ak_sandbox_seal() || !ak_sandbox_seal_loaded(1, 2, kept)) {
        return NOT_HERE;
    }
    return sealed_call(block);
}

static int once_loaded(int (*call)(char *block))
{
    sealed_call = call;
    return in_child(loaded_body);
}

static bool is_no_memory(long result)
{
    return result == -1 && errno == ENOMEM;
}

/* What the runner and the C library do. A block of 1 MiB still grows. */
static int usual_calls(char *block)
{
    char *grown = malloc(1 << 20);
    bool good = grown != NULL && map_fixed(block, 4096) == block &&
                madvise(block, 1 << 20, MADV_HUGEPAGE) == 0 && munmap(block, 1 << 20) == 0 &&
                mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    for (int i = 1; good && i < 16; i++) {
        grown[0] = 42;
        char *more = realloc(grown, (size_t)(i + 1) << 20);
        good = more != NULL && more[0] == 42;
        grown = more;
    }
    return good ? GOOD : BAD;
}

static int moving_calls(char *block)
{
    static const int advice[] = {MADV_DONTNEED, MADV_REMOVE, MADV_FREE, 21 /* PAGEOUT */};
    bool good = is_no_memory(syscall(SYS_mremap, block, 4096, 4096, 1, 0)) &&
                is_no_memory(syscall(SYS_mremap, block, 4096, 4096, 3, block + 65536));
    for (size_t i = 0; i < AK_COUNT(advice); i++) {
        good = good && is_no_memory(madvise(block, 4096, advice[i]));
    }
    return good ? GOOD : BAD;
}

static int mapped_over(char *block)
{
    (void)map_fixed(block - 4096, 4096);
    return GOOD;
}

static int mapped_far_over(char *block)
{
    (void)map_fixed((char *)65536, (size_t)(block - (char *)65536) + 4096);
    return GOOD;
}

static int unmapped(char *block)
{
    (void)munmap(block - 4096, 8192);
    return GOOD;
}

static int filter_of_its_own(char *block)
{
    (void)block;
    (void)syscall(SYS_seccomp, 1, 0, NULL);
    return GOOD;
}

static int filter_by_prctl(char *block)
{
    (void)block;
    (void)prctl(PR_SET_SECCOMP, 2, NULL);
    return GOOD;
}

static void memory_and_filters_stay(void **state)
{
    (void)state;
    if (once_loaded(usual_calls) == NOT_HERE) {
        print_message("seccomp is not in force here\n");
        skip();
    }
    assert_int_equal(once_loaded(usual_calls), GOOD);
    assert_int_equal(once_loaded(moving_calls), GOOD);
    assert_int_equal(once_loaded(mapped_over), 1000 + SIGSYS);
    assert_int_equal(once_loaded(mapped_far_over), 1000 + SIGSYS);
    assert_int_equal(once_loaded(unmapped), 1000 + SIGSYS);
    assert_int_equal(once_loaded(filter_of_its_own), 1000 + SIGSYS);
    assert_int_equal(once_loaded(filter_by_prctl), 1000 + SIGSYS);
}

static int dropped_body(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
    ak_sandbox_drop();
    bool good = syscall(SYS_capget, &head, has) == 0 &&
                (has[0].permitted & ~(1u << CAP_DAC_READ_SEARCH)) == 0 && has[1].permitted == 0 &&
                has[0].effective == has[0].permitted && has[1].effective == 0;
    return good && (geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0) ? GOOD
                                                                                           : BAD;
}

static void root_loses_its_capabilities(void **state)
{
    (void)state;
    assert_int_equal(in_child(dropped_body), GOOD);
}

/* ---- what a candidate's own instructions may do ---------------------------------------------- */

#if defined(__x86_64__) || defined(__aarch64__)
/* Where, counted in bytes from the beginning of the second of three pages, the system call lies
   that a candidate, loaded into that page, makes. */
static long call_at;

/* Makes getpid() by an instruction in one of three pages, after the second was sealed. */
static int own_call_body(void)
{
    const long page = sysconf(_SC_PAGESIZE);
#ifdef __x86_64__
    static const unsigned char code[] = {0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05, 0xc3};
    enum { CALL = 5 }; /* mov $SYS_getpid, %eax; syscall; ret */
#else
    static const uint32_t code[] = {0xd2800008u | SYS_getpid << 5, 0xd4000001u, 0xd65f03c0u};
    enum { CALL = 4 }; /* mov x8, SYS_getpid; svc 0; ret */
#endif
    unsigned char *memory =
        mmap(NULL, (size_t)(3 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return BAD;
    }
    unsigned char *begin = memory + page + call_at - CALL;
    long (*call)(void);
    memcpy(begin, code, sizeof code);
    __builtin___clear_cache((char *)begin, (char *)begin + sizeof code);
    memcpy(&call, &begin, sizeof call);
    const uint64_t from = (uint64_t)(uintptr_t)(memory + page);
    if (mprotect(memory, (size_t)(3 * page), PROT_READ | PROT_EXEC) != 0) {
        return NOT_HERE; /* a policy forbids it */
    }
    if (!ak_sandbox_seal() || !ak_sandbox_seal_loaded(from, from + (uint64_t)page, 0)) {
        return NOT_HERE;
    }
    return call() == getpid() ? GOOD : BAD;
}

/* Returns how a child ends that makes a system call `at` bytes behind the beginning of its page. */
static int calling(long at)
{
    call_at = at;
    return in_child(own_call_body);
}

static void own_calls_are_killed_at_the_edges(void **state)
{
    (void)state;
#ifdef __x86_64__
    enum { BYTES = 2 };
#else
    enum { BYTES = 4 };
#endif
    const long page = sysconf(_SC_PAGESIZE);
    if (calling(-64) == NOT_HERE) {
        print_message("seccomp is not in force here\n");
        skip();
    }
    assert_int_equal(calling(-64), GOOD);
    assert_int_equal(calling(-BYTES), GOOD); /* ends where the object begins */
    assert_int_equal(calling(0), 1000 + SIGSYS);
    assert_int_equal(calling(page / 2), 1000 + SIGSYS);
    assert_int_equal(calling(page - BYTES), 1000 + SIGSYS); /* the last bytes of the object */
    assert_int_equal(calling(page), GOOD);
}
#else
static void own_calls_are_killed_at_the_edges(void **state)
{
    (void)state;
    skip();
}
#endif

/* ---- the plan of a baseline that a problem brings -------------------------------------------- */

/* Makes a plan as on a kernel without Landlock, whose ruleset needs a descriptor. */
static void open_without_landlock(ak_sandbox_plan *out)
{
    static const char *const nothing[] = {NULL};
    struct rlimit kept, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = kept.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    ak_sandbox_plan_open_alone(out, nothing, nothing);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    assert_int_equal(out->ruleset, -1);
}

static bool is_refused(long result)
{
    return result == -1 && errno == EPERM;
}

static ak_sandbox_plan plan; /* made before the child, whose process id it does not know */

/* Tests signals with signal 0, which only asks whether a process can be signalled. */
static int plan_signals_body(void)
{
    const int parent = (int)getppid(), self = (int)getpid();
    const struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = parent};
    ak_sandbox_plan_apply(&plan);
    bool good = is_refused(kill(parent, 0)) && is_refused(syscall(SYS_tkill, parent, 0)) &&
                is_refused(syscall(SYS_tgkill, parent, parent, 0)) &&
                is_refused(fcntl(1, F_SETOWN, parent)) && is_refused(fcntl(1, F_SETOWN_EX, &owner));
    return good && syscall(SYS_tgkill, self, self, 0) == 0 && fcntl(1, F_GETFD) >= 0 ? GOOD : BAD;
}

static int plan_abort_body(void)
{
    ak_sandbox_plan_apply(&plan);
    abort();
}

static void a_baseline_signals_only_itself(void **state)
{
    (void)state;
    if (!ak_sandbox_seccomp()) {
        print_message("seccomp is not in force here\n");
        skip();
    }
    open_without_landlock(&plan);
    assert_int_equal(in_child(plan_signals_body), GOOD);
    assert_int_equal(in_child(plan_abort_body), 1000 + SIGABRT);
}

static int no_files_body(void)
{
    char path[AK_PATH_MAX];
    ak_sandbox_limit(0, 0);
    if (ak_fs_join(path, inside, "limited", NULL) != AK_OK) {
        return BAD;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return write(fd, "x", 1) == -1 && errno == EFBIG ? GOOD : BAD;
}

static int memory_body(void)
{
    ak_sandbox_limit((size_t)1 << 30, 0);
    void *memory = mmap(NULL, (size_t)2 << 30, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? GOOD : NOT_HERE;
}

static void limits_hold(void **state)
{
    (void)state;
    assert_int_equal(in_child(no_files_body), GOOD);
    int code = in_child(memory_body);
    assert_true(code == GOOD || code == NOT_HERE); /* not limited in sanitizer builds */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    assert_int_equal(code, GOOD);
#endif
}

static int close_body(void)
{
    int a = fcntl(0, F_DUPFD, 20), b = fcntl(0, F_DUPFD, 40), c = fcntl(0, F_DUPFD, 41);
    const int keep[] = {0, 1, 2, 40};
    ak_sandbox_close_others(keep, 4);
    bool good = a >= 20 && fcntl(a, F_GETFD) == -1 && b == 40 && fcntl(40, F_GETFD) != -1 &&
                c == 41 && fcntl(41, F_GETFD) == -1 && fcntl(2, F_GETFD) != -1;
    return good ? GOOD : BAD;
}

static void other_descriptors_are_closed(void **state)
{
    (void)state;
    assert_int_equal(in_child(close_body), GOOD);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    assert_null(ak_sandbox_missing(true, true));
    assert_non_null(strstr(ak_sandbox_missing(false, true), "no Landlock"));
    assert_non_null(strstr(ak_sandbox_missing(true, false), "no seccomp"));
    assert_non_null(strstr(ak_sandbox_missing(false, false), "neither Landlock nor seccomp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_confined),
        cmocka_unit_test(only_computing_is_allowed),
        cmocka_unit_test(memory_and_filters_stay),
        cmocka_unit_test(root_loses_its_capabilities),
        cmocka_unit_test(own_calls_are_killed_at_the_edges),
        cmocka_unit_test(a_baseline_signals_only_itself),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(other_descriptors_are_closed),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
