/* proc_start.c: starts and ends a long-lived child that receives requests and sends replies over
   two pipes; see proc.h. */
#include "base/proc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* These declarations follow linux/pidfd.h in Linux 6.15, which is newer than most systems'
   headers. */
#define PIDFD_EXIT_KNOWN (UINT64_C(1) << 3)
typedef struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t ids[11]; /* ids of the process, its thread group, its parent, users and groups */
    int32_t exit_code;
} pidfd_info;
#define PIDFD_ASK _IOWR(0xFF, 11, pidfd_info)

ak_status ak_proc_start(ak_proc *out, const ak_proc_spec *spec, ak_error *err)
{
    int request[2] = {-1, -1}, reply[2] = {-1, -1}, errors[2] = {-1, -1};
    ak_proc proc = {.pid = 0, .to = -1, .from = -1};
    ak_status status;
    if (!ak_proc_pipe(request) || !ak_proc_pipe(reply) || (spec->stdio && !ak_proc_pipe(errors))) {
        status = ak_proc_fail_pipe(spec, errno, err);
    } else {
        status = ak_proc_launch_with(&proc.pid, spec, errors[1], request[0], reply[1], err);
    }
    ak_proc_close(&request[0]);
    ak_proc_close(&reply[1]);
    ak_proc_close(&errors[1]);
    if (status != AK_OK) {
        ak_proc_close(&request[1]);
        ak_proc_close(&reply[0]);
        ak_proc_close(&errors[0]);
        return status;
    }
    proc.to = request[1];
    proc.from = reply[0];
#ifdef __NR_pidfd_open
    proc.descriptor =
        spec->any_thread ? ak_proc_above_low((int)syscall(__NR_pidfd_open, proc.pid, 0)) : 0;
    proc.descriptor = proc.descriptor < 0 ? 0 : proc.descriptor;
#endif
    (void)fcntl(proc.from, F_SETFL, O_NONBLOCK);
    if (spec->stdio) {
        proc.errors = errors[0];
        (void)fcntl(proc.errors, F_SETFL, O_NONBLOCK);
    }
    *out = proc;
    return AK_OK;
}

void ak_proc_hang_up(ak_proc *proc)
{
    if (proc->pid > 0) {
        ak_proc_close(&proc->to);
    }
}

void ak_proc_signal(const ak_proc *proc, int number)
{
    if (proc->pid > 0) {
        (void)kill(-proc->pid, number);
    }
}

static void close_pipes(ak_proc *proc)
{
    ak_proc_close(&proc->to);
    ak_proc_close(&proc->from);
    if (proc->descriptor > 0) {
        (void)close(proc->descriptor);
        proc->descriptor = 0;
    }
    if (proc->errors > 0) {
        (void)close(proc->errors);
        proc->errors = 0;
    }
}

void ak_proc_kill(ak_proc *proc)
{
    int how;
    int64_t cpu_ns;
    if (proc->pid > 0) {
        (void)kill(-proc->pid, SIGKILL);
        (void)kill(proc->pid, SIGKILL); /* it may have left its group */
        (void)ak_proc_reap(proc->pid, &how, &cpu_ns, 0);
        proc->pid = 0;
        close_pipes(proc);
    }
}

/* Asks the pidfd how the child ended, after somebody else has waited for it. Linux before 6.15
   does not answer. */
static bool ask_descriptor(int *how, const ak_proc *proc)
{
    pidfd_info info = {.mask = PIDFD_EXIT_KNOWN};
    if (proc->descriptor <= 0 || ioctl(proc->descriptor, PIDFD_ASK, &info) != 0 ||
        (info.mask & PIDFD_EXIT_KNOWN) == 0) {
        return false;
    }
    *how = info.exit_code;
    return true;
}

bool ak_proc_ended(char *how, size_t bytes, ak_proc *proc)
{
    int wait_status = 0;
    int64_t cpu_ns;
    if (proc->pid <= 0) {
        (void)snprintf(how, bytes, "not running");
        return true;
    }
    pid_t done = ak_proc_reap(proc->pid, &wait_status, &cpu_ns, WNOHANG);
    if (done == 0) {
        return false;
    }
    if (done < 0 && !ask_descriptor(&wait_status, proc)) {
        (void)snprintf(how, bytes,
                       "exit status unknown: this program ignores SIGCHLD or waits for children "
                       "that are not its own");
    } else if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        (void)snprintf(how, bytes, "signal %d (%s)", number, strsignal(number));
    } else {
        (void)snprintf(how, bytes, "exit code %d", WEXITSTATUS(wait_status));
    }
    (void)kill(-proc->pid, SIGKILL);
    proc->pid = 0;
    close_pipes(proc);
    return true;
}

bool ak_proc_wait(char *how, size_t bytes, ak_proc *proc, int64_t timeout_ns)
{
    int64_t deadline = ak_clock_ns() + timeout_ns;
    while (!ak_proc_ended(how, bytes, proc)) {
        if (ak_clock_ns() >= deadline) {
            return false;
        }
        ak_clock_sleep_ns(AK_MS_NS / 5);
    }
    return true;
}
