#include "backend/host/host_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"

/* A child that has closed its pipe must have ended after this time, in which the system takes its
   memory back. */
#define DEATH_NS (2 * AK_SECOND_NS)
/* A child that is out of time gets as much more as its threads, added up, have waited for a
   processor, less what it got before: at most GRANT_MAX times its limit over all batches, and none
   if it would be less than 1/GRANT_PART of the limit. */
#define GRANT_MAX  3
#define GRANT_PART 10

void ak_host_child_free(ak_runnable *runner)
{
    if (runner != NULL) {
        ak_proc_kill(&runner->proc);
        if (runner->page != NULL) {
            (void)munmap(runner->page, sizeof *runner->page);
        }
        ak_free(runner);
    }
}

void ak_host_child_reap(ak_device *device, bool all)
{
    bool room = false;
    for (int i = 0; i < AK_HOST_DYING_MAX; i++) {
        if (device->dying[i] != 0) {
            bool wait = all || (i == AK_HOST_DYING_MAX - 1 && !room);
            pid_t done = waitpid(device->dying[i], NULL, wait ? 0 : WNOHANG);
            device->dying[i] = done == 0 ? device->dying[i] : 0;
        }
        room = room || device->dying[i] == 0;
    }
}

void ak_host_child_drop(ak_runnable *runner)
{
    ak_device *device = runner->device;
    pid_t pid = runner->proc.pid;
    if (pid > 0) {
        (void)kill(-pid, SIGKILL);
        (void)close(runner->proc.to);
        (void)close(runner->proc.from);
        runner->proc.pid = 0;
        ak_host_child_reap(device, false);
        for (int i = 0; i < AK_HOST_DYING_MAX; i++) {
            if (device->dying[i] == 0) {
                device->dying[i] = pid;
                break;
            }
        }
    }
    ak_host_child_free(runner);
}

int ak_host_child_memory(const char *name)
{
    int fd = memfd_create(name, MFD_ALLOW_SEALING);
    if (fd >= 0 && fd <= AK_PROC_LOW_MAX) {
        int moved = fcntl(fd, F_DUPFD, AK_PROC_LOW_MAX + 1);
        (void)close(fd);
        fd = moved;
    }
    return fd;
}

ak_status ak_host_child_start(ak_runnable **out, ak_device *device, ak_error *err)
{
    ak_runnable *runner;
    AK_DO(AK_NEW(runner, 1, err));
    runner->device = device;
    ak_status status = AK_OK;
    int fd = ak_host_child_memory("autokernel-page");
    void *page = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(ak_runner_page)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
        page = mmap(NULL, sizeof(ak_runner_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page == MAP_FAILED) {
        AK_TRY(ak_fail(err, AK_IO, "no shared memory for a runner: %s%s", strerror(errno),
                       ak_fs_advice(errno)));
    }
    runner->page = page;
    char block_text[16], page_text[16];
    (void)snprintf(block_text, sizeof block_text, "%d", device->block_fd);
    (void)snprintf(page_text, sizeof page_text, "%d", fd);
    const char *const argv[] = {"/proc/self/exe", "worker",  "--runner",
                                block_text,       page_text, NULL};
    /* In builds with a sanitizer a crash of a candidate must end it with a signal. */
#define PLAIN_CRASHES                                                                              \
    "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
    const char *const variables[] = {"ASAN_OPTIONS=" PLAIN_CRASHES, "TSAN_OPTIONS=" PLAIN_CRASHES,
                                     NULL};
    ak_proc_spec spec = {.argv = argv, .setenv = variables, .keep_files = true};
    AK_TRY(ak_proc_start(&runner->proc, &spec, err));
    *out = runner;
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != AK_OK) {
        ak_host_child_free(runner);
    }
    return status;
}

ak_status ak_host_child_take(ak_runnable **out, ak_device *device, ak_error *err)
{
    AK_DO(device->spare == NULL ? ak_host_child_start(&device->spare, device, err) : AK_OK);
    *out = device->spare;
    device->spare = NULL;
    return AK_OK;
}

/* Finds out why a child has closed its pipe, and kills it if it does not end by itself. */
static void post_mortem(ak_outcome *out, ak_runnable *runner)
{
    int how = 0;
    pid_t done = 0;
    int64_t deadline = ak_clock_ns() + DEATH_NS;
    while ((done = waitpid(runner->proc.pid, &how, WNOHANG)) == 0 && ak_clock_ns() < deadline) {
        ak_clock_sleep_ns(AK_MS_NS / 10);
    }
    if (done != runner->proc.pid) {
        ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it closed the harness' pipe");
    } else if (!WIFSIGNALED(how)) {
        ak_outcome_refuse(out, AK_TRIAL_CRASHED, "it ended the process (exit code %d)",
                          WEXITSTATUS(how));
    } else if (WTERMSIG(how) == SIGSYS) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "it made a system call that a kernel must not make (threads, processes, files "
            "and signals belong to the harness; for threads, also those of OpenMP, use "
            "call->parallel of ak_host.h)");
    } else if (WTERMSIG(how) == SIGKILL) {
        ak_outcome_refuse(out, AK_TRIAL_OUT_OF_MEMORY,
                          "the system killed it, most likely because memory ran out");
    } else if (WTERMSIG(how) == SIGXCPU) {
        ak_outcome_refuse(out, AK_TRIAL_TIMED_OUT, "it used up its CPU time");
    } else if (WTERMSIG(how) == SIGILL) {
        ak_outcome_refuse(
            out, AK_TRIAL_CRASHED,
            "signal %d (%s): the code has an instruction that this processor lacks, or a "
            "trap: compile with -march=native, or write into \"Needs\" of the space file what "
            "it needs (vector_bytes == 64)",
            WTERMSIG(how), strsignal(WTERMSIG(how)));
    } else {
        ak_outcome_refuse(out, AK_TRIAL_CRASHED, "signal %d (%s)", WTERMSIG(how),
                          strsignal(WTERMSIG(how)));
    }
    if (done == runner->proc.pid) {
        (void)kill(-runner->proc.pid, SIGKILL);
        runner->proc.pid = 0;
        (void)close(runner->proc.to);
        (void)close(runner->proc.from);
    } else {
        ak_proc_kill(&runner->proc);
    }
}

int64_t ak_host_waits(const char *schedstat)
{
    char text[96];
    int fd = open(schedstat, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = 0;
    const char *second = strchr(text, ' ');
    if (fd >= 0) {
        (void)close(fd);
    }
    return second == NULL ? -1 : strtoll(second, NULL, 10);
}

int64_t ak_host_child_waits(const ak_runnable *runner)
{
    char folder[64], path[384];
    int64_t sum = 0;
    (void)snprintf(folder, sizeof folder, "/proc/%d/task", (int)runner->proc.pid);
    DIR *tasks = opendir(folder);
    if (tasks == NULL) {
        return -1;
    }
    for (const struct dirent *one = readdir(tasks); one != NULL && sum >= 0; one = readdir(tasks)) {
        if (one->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s/schedstat", folder, one->d_name);
            const int64_t waits = ak_host_waits(path);
            sum = waits < 0 ? -1 : sum + waits;
        }
    }
    (void)closedir(tasks);
    return sum;
}

/* Returns the extra time for a child that is out of time; 0: none (GRANT_MAX), also if its waits
   are not known. */
static int64_t more_time(ak_runnable *runner, int64_t limit_ns)
{
    int64_t waits = ak_host_child_waits(runner), most = GRANT_MAX * limit_ns - runner->granted_ns;
    int64_t more = waits - runner->granted_ns;
    more = more < most ? more : most;
    return waits < 0 || more < limit_ns / GRANT_PART ? 0 : more;
}

ak_host_limit ak_host_limit_of(int64_t ns)
{
    return (ak_host_limit){.ns = ns, .deadline = ak_clock_ns() + ns};
}

bool ak_host_child_await(ak_outcome *out, char *got, ak_runnable *runner, ak_host_limit limit)
{
    for (;;) {
        int64_t left = limit.deadline - ak_clock_ns();
        int64_t more = left > 0 ? 0 : more_time(runner, limit.ns);
        if (more > 0) {
            runner->granted_ns += more;
            limit.deadline += more;
            continue;
        }
        if (left <= 0) {
            ak_proc_kill(&runner->proc);
            ak_outcome_refuse(out, AK_TRIAL_TIMED_OUT, "no answer within %.3g s",
                              (double)limit.ns / 1e9);
            return false;
        }
        struct pollfd ready = {.fd = runner->proc.from, .events = POLLIN};
        struct timespec wait = {.tv_sec = left / AK_SECOND_NS, .tv_nsec = left % AK_SECOND_NS};
        if (ppoll(&ready, 1, &wait, NULL) <= 0) {
            continue;
        }
        ssize_t count = read(runner->proc.from, got, 1);
        if (count == 1) {
            return true;
        }
        if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            post_mortem(out, runner);
            return false;
        }
    }
}

bool ak_host_child_await_byte(ak_outcome *out, char want, ak_runnable *runner, ak_host_limit limit)
{
    char got = 0;
    if (!ak_host_child_await(out, &got, runner, limit)) {
        return false;
    }
    if (got == AK_RUNNER_NOTHING || got != want) {
        ak_proc_kill(&runner->proc);
        ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        return false;
    }
    return true;
}

bool ak_host_child_command(ak_outcome *out, ak_runnable *runner, char what)
{
    if (runner->proc.pid > 0) {
        (void)kill(runner->proc.pid, SIGCONT);
        while (write(runner->proc.to, &what, 1) < 0) {
            if (errno != EINTR) {
                post_mortem(out, runner);
                return false;
            }
        }
        return true;
    }
    ak_outcome_refuse(out, AK_TRIAL_CRASHED, "its process had already ended");
    return false;
}

void ak_host_child_reply(ak_outcome *out, const ak_runner_page *page)
{
    int32_t status = page->status;
    char reason[sizeof page->reason];
    memcpy(reason, page->reason, sizeof reason);
    reason[sizeof reason - 1] = 0;
    for (char *c = reason; *c != 0; c++) {
        *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? ' ' : *c;
    }
    if (status < 0 || status >= AK_TRIAL_STATUS_COUNT) {
        ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it changed the harness' memory");
    } else if (status != AK_TRIAL_OK) {
        ak_outcome_refuse(out, (ak_trial_status)status, "%s", reason);
    }
}
