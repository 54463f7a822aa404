/* test_sandbox.c: tests each layer of the sandbox, in a child process that reports by its exit
   code. A layer that this Linux kernel does not have is skipped with a message. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    return kill(getppid(), 0) == 0 ? GOOD : BAD;
}

static int abort_body(void)
{
    if (!ak_sandbox_seal()) {
        return NOT_HERE;
    }
    abort();
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
}

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
        cmocka_unit_test(a_baseline_signals_only_itself),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(other_descriptors_are_closed),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
