/*
 * proc.c: see proc.h. Everything a child needs is prepared before vfork: between vfork and exec it
 * makes system calls only, so a large parent is neither copied nor disturbed. Only a call wants the
 * copy, and gets it by fork.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"

#define OUTPUT_MAX_DEFAULT 65536
#define ENVIRONMENT_MAX    4096 /* variables */

extern char **environ;

typedef struct launch {
    int (*call)(void *context); /* NULL: the program */
    void *context;
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *folder;
    int out;     /* becomes stdout and stderr; -1: stderr stays, stdout is /dev/null */
    int request; /* becomes AK_PROC_REQUEST_FD; -1: none */
    int reply;   /* becomes AK_PROC_REPLY_FD */
    int null;
    pid_t parent;
    rlim_t memory, cpu; /* 0: none */
} launch;

static void limit(__rlimit_resource_t resource, rlim_t value)
{
    if (value != 0) {
        struct rlimit both = {.rlim_cur = value, .rlim_max = value};
        (void)setrlimit(resource, &both);
    }
}

void ak_proc_close_range(unsigned first, unsigned last)
{
#ifdef __NR_close_range
    if (syscall(__NR_close_range, first, last, 0u) == 0) {
        return;
    }
#endif
    /* Before Linux 5.9: one by one, as far as there can be any. */
    struct rlimit files;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 1024;
    for (rlim_t fd = first; fd <= last && fd < end; fd++) {
        (void)close((int)fd);
    }
}

/* The descriptors that are handed over are above 9 (see above_low), so no dup2 overwrites another.
 */
__attribute__((noreturn, noinline)) static void child(const launch *l)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent) {
        _exit(127);
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGINT, &usual, NULL);
    (void)sigaction(SIGTERM, &usual, NULL);
    (void)sigaction(SIGPIPE, &usual, NULL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    limit(RLIMIT_AS, l->memory);
    limit(RLIMIT_CPU, l->cpu);
    bool good = dup2(l->null, 0) == 0 && dup2(l->out >= 0 ? l->out : l->null, 1) == 1;
    good = good && (l->out < 0 || dup2(l->out, 2) == 2);
    good = good && (l->request < 0 || dup2(l->request, AK_PROC_REQUEST_FD) >= 0);
    good = good && (l->reply < 0 || dup2(l->reply, AK_PROC_REPLY_FD) >= 0);
    good = good && (l->folder == NULL || chdir(l->folder) == 0);
    if (good && l->call != NULL) {
        environ = (char **)(uintptr_t)l->envp;
        ak_proc_close_range(STDERR_FILENO + 1, ~0u);
        _exit(l->call(l->context));
    }
    if (good) {
        (void)execve(l->path, l->argv, l->envp);
    }
    _exit(127);
}

/* vfork returns twice, so its result must not live in a register that the child reuses: the pid is
   returned from a function whose frame holds nothing else. */
__attribute__((noinline)) static pid_t spawn(const launch *l)
{
    pid_t pid = vfork();
    if (pid == 0) {
        child(l);
    }
    return pid;
}

static pid_t copy(const launch *l)
{
    pid_t pid = fork();
    if (pid == 0) {
        child(l);
    }
    return pid;
}

static int above_low(int fd)
{
    if (fd < 0 || fd > 9) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    (void)close(fd);
    return moved;
}

static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    ends[0] = above_low(ends[0]);
    ends[1] = above_low(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* Our environment with the spec's variables in place of those of the same name. */
static char **environment_with(const char *const *added)
{
    size_t count = 0, extra = 0;
    while (environ[count] != NULL && count < ENVIRONMENT_MAX) {
        count++;
    }
    while (added != NULL && added[extra] != NULL) {
        extra++;
    }
    char **all = ak_alloc(count + extra + 1, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        size_t name = strcspn(environ[i], "=") + 1;
        for (size_t j = 0; j < extra && !replaced; j++) {
            replaced = strncmp(environ[i], added[j], name) == 0;
        }
        if (!replaced) {
            all[used++] = environ[i];
        }
    }
    for (size_t j = 0; j < extra; j++) {
        all[used++] = (char *)(uintptr_t)added[j];
    }
    return all;
}

static ak_status launch_with(pid_t *out, const ak_proc_spec *spec, int output, int request,
                             int reply, ak_error *err)
{
    char path[AK_PATH_MAX];
    if (spec->call != NULL) {
        (void)snprintf(path, sizeof path, "%s", spec->argv[0]);
    } else if (!ak_fs_which(path, spec->argv[0])) {
        return ak_fail(err, AK_NOT_FOUND, "%s: no such program", spec->argv[0]);
    }
    char **envp = environment_with(spec->setenv);
    if (envp == NULL) {
        return ak_fail_memory(err);
    }
    int null = above_low(open("/dev/null", O_RDWR | O_CLOEXEC));
    launch l = {.call = spec->call,
                .context = spec->context,
                .path = path,
                .argv = (char *const *)(uintptr_t)spec->argv,
                .envp = envp,
                .folder = spec->folder,
                .out = output,
                .request = request,
                .reply = reply,
                .null = null,
                .parent = getpid(),
                .memory = spec->memory_max,
                .cpu = (rlim_t)spec->cpu_seconds_max};
    /* No signal handler of ours may run in the child, whose memory is still ours. */
    sigset_t all, kept;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &kept);
    pid_t pid = l.call != NULL ? copy(&l) : spawn(&l);
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    int why = errno;
    ak_free(envp);
    close_one(&null);
    if (pid < 0) {
        return ak_fail(err, AK_IO, "%s: cannot be started: %s", path, strerror(why));
    }
    (void)setpgid(pid, pid);
    *out = pid;
    return AK_OK;
}

static void note_end(ak_proc_result *out, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        out->signal = WTERMSIG(wait_status);
        out->exit_code = -1;
    } else {
        out->exit_code = WEXITSTATUS(wait_status);
    }
}

ak_status ak_proc_run(ak_proc_result *out, const ak_proc_spec *spec, ak_error *err)
{
    int ends[2];
    if (!make_pipe(ends)) {
        close_one(&ends[0]);
        close_one(&ends[1]);
        return ak_fail(err, AK_IO, "%s: no pipe: %s", spec->argv[0], strerror(errno));
    }
    pid_t pid = 0;
    int64_t begin = ak_clock_ns();
    ak_status status = launch_with(&pid, spec, ends[1], -1, -1, err);
    close_one(&ends[1]);
    if (status != AK_OK) {
        close_one(&ends[0]);
        return status;
    }
    ak_proc_result result = {0};
    ak_buf output = AK_BUF(spec->output_max == 0 ? OUTPUT_MAX_DEFAULT : spec->output_max);
    int64_t deadline = spec->timeout_ns > 0 ? begin + spec->timeout_ns : INT64_MAX;
    /* Read until every holder of the pipe has closed it, or time is up. */
    for (;;) {
        int64_t left = deadline - ak_clock_ns();
        if (left <= 0) {
            result.timed_out = true;
            break;
        }
        int64_t wait_ms = left / AK_MS_NS + 1;
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        int n = poll(&ready, 1, wait_ms > 1000000 ? 1000000 : (int)wait_ms);
        if (n == 0 || (n < 0 && errno == EINTR)) {
            continue;
        }
        char chunk[16384];
        ssize_t got = read(ends[0], chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        size_t room = output.max - output.length;
        size_t take = (size_t)got < room ? (size_t)got : room;
        result.cut = result.cut || take < (size_t)got;
        ak_buf_append(&output, chunk, take);
    }
    close_one(&ends[0]);
    int how = 0;
    /* The child has closed its output but may still run. */
    while (!result.timed_out) {
        pid_t done = waitpid(pid, &how, deadline == INT64_MAX ? 0 : WNOHANG);
        if (done == pid || (done < 0 && errno != EINTR)) {
            break;
        }
        if (ak_clock_ns() >= deadline) {
            result.timed_out = true;
        } else if (done == 0) {
            ak_clock_sleep_ns(AK_MS_NS / 5);
        }
    }
    (void)kill(-pid, SIGKILL); /* what is left of the group, in any case */
    if (result.timed_out) {
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
        }
    }
    result.wall_ns = ak_clock_ns() - begin;
    note_end(&result, how);
    result.output_length = output.length;
    status = ak_buf_take(&result.output, &output, err);
    if (status == AK_OK) {
        *out = result;
    }
    return status;
}

void ak_proc_result_clear(ak_proc_result *result)
{
    ak_free(result->output);
    *result = (ak_proc_result){0};
}

ak_status ak_proc_start(ak_proc *out, const ak_proc_spec *spec, ak_error *err)
{
    int request[2] = {-1, -1}, reply[2] = {-1, -1};
    ak_proc proc = {.pid = 0, .to = -1, .from = -1};
    ak_status status;
    if (!make_pipe(request) || !make_pipe(reply)) {
        status = ak_fail(err, AK_IO, "%s: no pipe: %s", spec->argv[0], strerror(errno));
    } else {
        status = launch_with(&proc.pid, spec, -1, request[0], reply[1], err);
    }
    close_one(&request[0]);
    close_one(&reply[1]);
    if (status != AK_OK) {
        close_one(&request[1]);
        close_one(&reply[0]);
        return status;
    }
    proc.to = request[1];
    proc.from = reply[0];
    (void)fcntl(proc.from, F_SETFL, O_NONBLOCK);
    *out = proc;
    return AK_OK;
}

static void close_pipes(ak_proc *proc)
{
    close_one(&proc->to);
    close_one(&proc->from);
}

void ak_proc_kill(ak_proc *proc)
{
    if (proc->pid > 0) {
        (void)kill(-proc->pid, SIGKILL);
        (void)kill(proc->pid, SIGKILL); /* in case it left its group */
        while (waitpid(proc->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        proc->pid = 0;
        close_pipes(proc);
    }
}

bool ak_proc_ended(char *how, size_t bytes, ak_proc *proc)
{
    int wait_status = 0;
    if (proc->pid <= 0) {
        (void)snprintf(how, bytes, "not running");
        return true;
    }
    pid_t done = waitpid(proc->pid, &wait_status, WNOHANG);
    if (done == 0 || (done < 0 && errno == EINTR)) {
        return false;
    }
    if (done > 0 && WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        (void)snprintf(how, bytes, "signal %d (%s)", number, strsignal(number));
    } else {
        (void)snprintf(how, bytes, "exit code %d", done > 0 ? WEXITSTATUS(wait_status) : -1);
    }
    (void)kill(-proc->pid, SIGKILL);
    proc->pid = 0;
    close_pipes(proc);
    return true;
}

bool ak_proc_wait(ak_proc *proc, int64_t timeout_ns)
{
    int64_t deadline = ak_clock_ns() + timeout_ns;
    char how[64];
    while (!ak_proc_ended(how, sizeof how, proc)) {
        if (ak_clock_ns() >= deadline) {
            return false;
        }
        ak_clock_sleep_ns(AK_MS_NS / 5);
    }
    return true;
}
