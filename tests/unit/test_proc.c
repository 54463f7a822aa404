/* test_proc.c: tests child processes of a program that has changed its signal handlers and file
   descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"

static ak_proc_result run(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_proc_result result;
    ak_error err = AK_ERROR_INIT;
    if (ak_proc_run(&result, &spec, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

static void expect_ends_to_be_known(void)
{
    ak_proc_result result = run("echo bad; exit 3");
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.output, "bad\n");
    ak_proc_result_clear(&result);
    result = run("kill -SEGV $$");
    assert_int_equal(result.signal, SIGSEGV);
    ak_proc_result_clear(&result);
    result = run("exit 0");
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.signal, 0);
    ak_proc_result_clear(&result);
}

static void ends_are_known_where_sigchld_is_ignored(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    expect_ends_to_be_known();
    (void)signal(SIGCHLD, before);
}

static volatile sig_atomic_t reaped;

static void reap_all(int number)
{
    int kept = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
        reaped = 1;
    }
    errno = kept;
}

/* Expects to learn how a worker ended although the program itself has waited for that child. With
   `after_reap_all`, the worker is asked about only after reap_all has waited for it, because
   otherwise either could come first. */
static void expect_a_worker_to_be_explained(const char *known, bool after_reap_all)
{
    const char *const argv[] = {"sh", "-c", "kill -SEGV $$", NULL};
    ak_proc_spec spec = {.argv = argv, .any_thread = true};
    ak_proc proc;
    char how[160];
    reaped = 0;
    assert_int_equal(ak_proc_start(&proc, &spec, NULL), AK_OK);
    while (after_reap_all && !reaped) {
        ak_clock_sleep_ns(AK_MS_NS);
    }
    while (!ak_proc_ended(how, sizeof how, &proc)) {
        ak_clock_sleep_ns(AK_MS_NS);
    }
    if (strstr(how, known) == NULL && strstr(how, "this program ignores SIGCHLD") == NULL) {
        fail_msg("%s", how); /* before Linux 6.15 nobody knows, and that is said */
    }
}

static void ends_are_known_where_others_wait(void **state)
{
    (void)state;
    struct sigaction before, action = {.sa_handler = reap_all};
    assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
    expect_ends_to_be_known();
    expect_a_worker_to_be_explained("signal 11", true);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    void (*usual)(int) = signal(SIGCHLD, SIG_IGN);
    expect_a_worker_to_be_explained("signal 11", false);
    (void)signal(SIGCHLD, usual);
    expect_a_worker_to_be_explained("signal 11", false);
}

static void signals_are_not_inherited(void **state)
{
    (void)state;
    sigset_t some, before;
    static const int ignored[] = {SIGCHLD, SIGPIPE, SIGXFSZ, SIGTERM, SIGUSR1, SIGSEGV};
    enum { COUNT = sizeof ignored / sizeof ignored[0] };
    void (*handlers[COUNT])(int);
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGTERM);
    (void)sigaddset(&some, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &some, &before), 0);
    for (size_t i = 0; i < COUNT; i++) {
        handlers[i] = signal(ignored[i], SIG_IGN);
    }
    const char *const argv[] = {"grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_proc_result result;
    ak_status status = ak_proc_run(&result, &spec, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        (void)signal(ignored[i], handlers[i]);
    }
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(status, AK_OK);
    for (const char *line = result.output; *line != 0; line = strchr(line, '\n') + 1) {
        uint64_t set = strtoull(line + strlen("SigIgn:\t"), NULL, 16);
        set &= ~(UINT64_C(1) << (SIGHUP - 1)); /* nohup is for whole trees */
        set &= ~(UINT64_C(3) << 31);           /* 32 and 33 belong to the C library's threads */
        if (set != 0) {
            fail_msg("%s", result.output);
        }
    }
    ak_proc_result_clear(&result);
}

static void files_are_not_inherited(void **state)
{
    (void)state;
    int file = fcntl(0, F_DUPFD, 70), kept = fcntl(2, F_DUPFD_CLOEXEC, 100);
    ak_proc_result result = run("echo /proc/$$/fd/*");
    assert_int_equal(file, 70);
    assert_null(strstr(result.output, "/fd/70"));
    ak_proc_result_clear(&result);
    /* What would become the first file that a program opens is held by nothing else. */
    (void)close(2);
    const char *const argv[] = {"sh", "-c", "test -e /proc/$$/fd/2 && echo held >&4", NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_proc proc;
    ak_status status = ak_proc_start(&proc, &spec, NULL);
    assert_int_equal(dup2(kept, 2), 2);
    (void)close(kept);
    (void)close(file);
    assert_int_equal(status, AK_OK);
    char reply[8] = "";
    while (read(proc.from, reply, sizeof reply - 1) < 0 && errno == EAGAIN) {
        ak_clock_sleep_ns(AK_MS_NS);
    }
    assert_string_equal(reply, "held\n");
    ak_proc_kill(&proc);
}

static void too_few_descriptors_are_said(void **state)
{
    (void)state;
    int open_ones[64];
    size_t count = 0;
    struct rlimit before, few = {.rlim_cur = 24};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < 64 && (open_ones[count] = open("/dev/null", O_RDONLY)) >= 0) {
        count++;
    }
    const char *const argv[] = {"true", NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_proc_result result;
    ak_error err = AK_ERROR_INIT;
    ak_status status = ak_proc_run(&result, &spec, &err);
    while (count > 0) {
        (void)close(open_ones[--count]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, AK_IO);
    assert_non_null(strstr(err.text, "Too many open files"));
    assert_non_null(strstr(err.text, "ulimit -n"));
}

/* Returns what a child sees of our variables, to be cleared with ak_proc_result_clear. */
static ak_proc_result seen_by_child(const char *const *passes)
{
    static const char *const argv[] = {"env", NULL};
    const ak_proc_spec spec = {.argv = argv, .passes = passes};
    ak_proc_result result;
    assert_int_equal(ak_proc_run(&result, &spec, NULL), AK_OK);
    return result;
}

static void settings_that_slow_libraries_stay_here(void **state)
{
    (void)state;
    static const char *const names[] = {"NVIDIA_TF32_OVERRIDE",    "CUDA_LAUNCH_BLOCKING",
                                        "CUBLAS_WORKSPACE_CONFIG", "CUDNN_LOGLEVEL_DBG",
                                        "CUBLASLT_LOG_LEVEL",      "TORCH_COMPILE_DISABLE"};
    static const char *const all[] = {"*", NULL};
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        assert_int_equal(setenv(names[i], "1", 1), 0);
    }
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "3", 1), 0);
    ak_proc_result usual = seen_by_child(NULL), whole = seen_by_child(all);
    assert_non_null(strstr(usual.output, "CUDA_VISIBLE_DEVICES=3\n"));
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        assert_null(strstr(usual.output, names[i]));
        assert_non_null(strstr(whole.output, names[i]));
        assert_int_equal(unsetenv(names[i]), 0);
    }
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    ak_proc_result_clear(&usual);
    ak_proc_result_clear(&whole);
}

static void unset_variables_are_gone(void **state)
{
    (void)state;
    static const char *const names[] = {"ONEDNN_", "TZDIR", NULL};
    assert_int_equal(setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1), 0);
    assert_int_equal(setenv("ONEDNN_VERBOSE", "2", 1), 0);
    assert_int_equal(setenv("ONEDNNX", "kept", 1), 0);
    assert_int_equal(setenv("TZDIR", "/", 1), 0);
    assert_int_equal(setenv("TZDIRX", "kept", 1), 0);
    ak_proc_unset(names);
    assert_null(getenv("ONEDNN_MAX_CPU_ISA"));
    assert_null(getenv("ONEDNN_VERBOSE"));
    assert_null(getenv("TZDIR"));
    assert_string_equal(getenv("ONEDNNX"), "kept");
    assert_string_equal(getenv("TZDIRX"), "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_slow_libraries_stay_here),
        cmocka_unit_test(unset_variables_are_gone),
        cmocka_unit_test(ends_are_known_where_sigchld_is_ignored),
        cmocka_unit_test(ends_are_known_where_others_wait),
        cmocka_unit_test(signals_are_not_inherited),
        cmocka_unit_test(files_are_not_inherited),
        cmocka_unit_test(too_few_descriptors_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
