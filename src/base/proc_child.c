/*
 * proc_child.c: see proc_child.h. Between vfork and exec a child makes system calls only, because
 * it shares its parent's memory. A child that runs a call instead is a copy, made by fork.
 *
 * The exit status of a child is known only to the first that waits for it. A program that uses the
 * library may ignore SIGCHLD, so that the kernel reaps children, or may wait for every child
 * itself. In every program but our own (ak_proc_own_program), ak_proc_run therefore starts a guard
 * if there is memory for one: a copy of the process that starts the child's program, waits for its
 * end and ends in the same way. The guard is made by clone() without a signal to its parent, so
 * that neither the kernel nor a wait for every child reaps it (wait(2), __WALL). If the guard
 * executed a program, the kernel would give it back that signal, but it executes none. The guard
 * lives no longer than ak_proc_run, because a copy keeps the memory of its parent from being
 * released.
 */
#include "base/proc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/instrumented.h"

#define SIGNALS_END 65 /* the last signal of Linux plus 1 */
/* The kernel sends this signal to a child with `any_thread` when the thread that is its parent has
   ended: the thread that started the child, or another thread that took its place. */
#define PARENT_SIGNAL SIGUSR2
#define LOWEST_NICE   19
/* This many open files are enough for two pipes for each compile worker and device, and for
   libraries. */
#define FILES_WANTED 1024

extern char **environ;

/* true: no code but this library's waits for children of this process */
static bool ours;
volatile pid_t ak_proc_running; /* see proc_child.h */
/* the parent of a worker when it called ak_proc_end_with_parent */
static volatile pid_t parent_at_start;

/* Resets all signals to their default actions and sets the mask. Ignored and blocked signals are
   inherited through exec, and the program that starts us may ignore any: Python ignores SIGPIPE
   and SIGXFSZ, others ignore SIGCHLD. An ignored SIGHUP stays ignored, as nohup demands. */
static void usual_signals(const sigset_t *mask)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, now;
    for (int number = 1; number < SIGNALS_END; number++) {
        bool ignored = sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
        if (number != SIGHUP || !ignored) {
            (void)sigaction(number, &usual, NULL); /* fails for SIGKILL and SIGSTOP */
        }
    }
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Returns true for signals that a shell or nohup may make a program ignore. */
static bool is_of_terminal(int number)
{
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTSTP ||
           number == SIGTTIN || number == SIGTTOU;
}

void ak_proc_own_program(void)
{
    sigset_t before, mask;
    struct sigaction usual = {.sa_handler = SIG_DFL}, now;
    for (int number = 1; number < SIGNALS_END; number++) {
        bool ignored = sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
        if (ignored && !is_of_terminal(number)) {
            (void)sigaction(number, &usual, NULL);
        }
    }
    (void)sigemptyset(&mask);
    if (sigprocmask(SIG_SETMASK, NULL, &before) == 0 && sigismember(&before, PARENT_SIGNAL) == 1) {
        (void)sigaddset(&mask, PARENT_SIGNAL); /* stays blocked until ak_proc_end_with_parent */
    }
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED) {
        files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    ours = true;
}

/* Handles PARENT_SIGNAL. If the parent process has ended (this process has another parent, or
   nobody holds the other end of the pipe for requests), kills this process's group and the child
   that it runs. If only a thread of the parent has ended, does nothing. */
static void parent_ended(int number)
{
    (void)number;
    struct pollfd requests = {.fd = AK_PROC_REQUEST_FD};
    int kept = errno;
    bool hung_up = poll(&requests, 1, 0) > 0 && (requests.revents & POLLHUP) != 0;
    if (getppid() != parent_at_start || hung_up) {
        if (ak_proc_running > 0) {
            (void)kill(-ak_proc_running, SIGKILL);
        }
        (void)kill(0, SIGKILL);
    }
    errno = kept;
}

void ak_proc_end_with_parent(void)
{
    sigset_t mine;
    struct sigaction action = {.sa_handler = parent_ended, .sa_flags = SA_RESTART};
    parent_at_start = getppid();
    (void)sigaction(PARENT_SIGNAL, &action, NULL);
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, PARENT_SIGNAL);
    (void)sigprocmask(SIG_UNBLOCK, &mine, NULL); /* a signal that came before is delivered now */
}

/* Sets the priority (proc.h says what each means). A priority that the kernel refuses is no
   error. */
static void take_priority(ak_proc_priority priority)
{
    struct sched_param parameters = {0};
    if (priority == AK_PROC_IDLE || priority == AK_PROC_LOW) {
        (void)setpriority(PRIO_PROCESS, 0, LOWEST_NICE);
    }
    if (priority != AK_PROC_USUAL) {
        (void)sched_setscheduler(0, priority == AK_PROC_IDLE ? SCHED_IDLE : SCHED_BATCH,
                                 &parameters);
    }
}

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
    /* Linux before 5.9 has no close_range: close one by one, up to the limit on open files. */
    struct rlimit files;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 1024;
    for (rlim_t fd = first; fd <= last && fd < end; fd++) {
        (void)close((int)fd);
    }
}

/* Runs in the child: prepares it and starts its program or call; exits with code 127 if that
   fails. The descriptors that it is given are above 9 (ak_proc_above_low), so that no dup2
   overwrites another. */
__attribute__((noreturn, noinline)) static void child(const ak_proc_launch *l)
{
    sigset_t mask;
    (void)sigemptyset(&mask);
    if (l->any_thread) {
        (void)sigaddset(&mask, PARENT_SIGNAL); /* stays blocked until ak_proc_end_with_parent */
    }
    if (l->stdio) {
        (void)setsid();
    } else if (!l->grouped) {
        (void)setpgid(0, 0);
    }
    (void)prctl(PR_SET_PDEATHSIG, l->stdio ? SIGTERM : l->any_thread ? PARENT_SIGNAL : SIGKILL);
    if (getppid() != l->parent) {
        _exit(127);
    }
    usual_signals(&mask);
    take_priority(l->priority);
    limit(RLIMIT_CPU, l->cpu);
    int in = l->stdio ? l->request : l->null;
    int out = l->stdio ? l->reply : l->out >= 0 ? l->out : l->null;
    bool good = dup2(in, 0) == 0 && dup2(out, 1) == 1;
    if (l->out >= 0 || fcntl(2, F_GETFD) < 0) {
        /* a closed stderr would be replaced by the next file that is opened */
        good = good && dup2(l->out >= 0 && !l->only_stdout ? l->out : l->null, 2) == 2;
    }
    bool two = !l->stdio && l->request >= 0; /* descriptors 3 and 4 */
    good = good && (!two || dup2(l->request, AK_PROC_REQUEST_FD) >= 0);
    good = good && (!two || dup2(l->reply, AK_PROC_REPLY_FD) >= 0);
    good = good && (l->folder == NULL || chdir(l->folder) == 0);
    if (good && l->confine != NULL) { /* before descriptors are closed: it may use one */
        l->confine(l->confine_context);
    }
    if (!l->keep_files) {
        ak_proc_close_range(two ? AK_PROC_REPLY_FD + 1 : 3, ~0u);
    }
    /* This comes last: under a sanitizer the calls above may have to map memory, which the limit
       would refuse. */
    limit(RLIMIT_AS, l->call != NULL && AK_INSTRUMENTED ? 0 : l->memory);
    if (good && l->call != NULL) {
        environ = (char **)(uintptr_t)l->envp;
        _exit(l->call(l->context));
    }
    if (good) {
        (void)execve(l->path, l->argv, l->envp);
    }
    _exit(127);
}

/* vfork returns twice, so its result must not live in a register that the child reuses. This
   function's frame therefore holds nothing else. */
__attribute__((noinline)) static pid_t spawn(const ak_proc_launch *l)
{
    pid_t pid = vfork();
    if (pid == 0) {
        child(l);
    }
    return pid;
}

static pid_t copy(const ak_proc_launch *l)
{
    pid_t pid = fork();
    if (pid == 0) {
        child(l);
    }
    return pid;
}

/* Runs in the guard: starts the program, waits for it and ends with the same exit code or
   signal. */
__attribute__((noreturn)) static void guard(const ak_proc_launch *l)
{
    int how = 0;
    ak_proc_launch inner = *l;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    struct rlimit none = {0};
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent) {
        _exit(127);
    }
    (void)sigaction(SIGCHLD, &usual, NULL);
    inner.parent = getpid();
    inner.grouped = true;
    pid_t pid = spawn(&inner);
    /* This also closes the guard's end of the output pipe, so that the reader sees the end of the
       output once the program closes its own. */
    ak_proc_close_range(0, ~0u);
    if (pid < 0) {
        _exit(127);
    }
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(how)) {
        sigset_t mask;
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)sigaction(WTERMSIG(how), &usual, NULL);
        (void)sigemptyset(&mask);
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        (void)kill(getpid(), WTERMSIG(how));
    }
    _exit(WEXITSTATUS(how));
}

static pid_t spawn_guarded(const ak_proc_launch *l)
{
    pid_t pid = (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L); /* a fork that sends no SIGCHLD */
    if (pid == 0) {
        guard(l);
    }
    return pid < 0 ? spawn(l) : pid; /* without memory for a copy the program may still start */
}

pid_t ak_proc_spawn(const ak_proc_launch *l)
{
    return l->call != NULL ? copy(l) : l->guarded && !ours ? spawn_guarded(l) : spawn(l);
}
