/*
 * proc_launch.c: see proc_child.h. Everything that a child needs is prepared before vfork, so that
 * a large parent is neither copied nor stopped for long. Only a call and a guard (proc_child.c) are
 * copies of the parent.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/proc_child.h"

#define ENVIRONMENT_MAX 4096 /* at most this many variables of our environment are considered */

extern char **environ;

/* ---- pipes ----------------------------------------------------------------------------------- */

int ak_proc_above_low(int fd)
{
    if (fd < 0 || fd > AK_PROC_LOW_MAX) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, AK_PROC_LOW_MAX + 1);
    int why = errno == EINVAL ? EMFILE : errno; /* EINVAL: the limit itself is as low as that */
    (void)close(fd);
    errno = why;
    return moved;
}

bool ak_proc_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    ends[0] = ak_proc_above_low(ends[0]);
    ends[1] = ak_proc_above_low(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

ak_status ak_proc_fail_pipe(const ak_proc_spec *spec, int why, ak_error *err)
{
    return ak_fail(err, AK_IO, "%s: a pipe cannot be made: %s%s", spec->argv[0], strerror(why),
                   ak_fs_advice(why));
}

void ak_proc_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Returns the child's environment: `added`, and those of our own variables that the child may see
   and `added` does not set. NULL: no memory. The caller frees the list; its texts are borrowed. */
static char **environment_with(const char *const *added, const char *const *more)
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
        bool replaced = !ak_proc_passes(environ[i], more);
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

ak_status ak_proc_launch_with(pid_t *out, const ak_proc_spec *spec, int output, int request,
                              int reply, ak_error *err)
{
    char path[AK_PATH_MAX];
    if (spec->call != NULL) {
        (void)snprintf(path, sizeof path, "%s", spec->argv[0]);
    } else if (!ak_fs_which(path, spec->argv[0])) {
        return ak_fail(err, AK_NOT_FOUND, "%s: there is no such program", spec->argv[0]);
    }
    char **envp = environment_with(spec->setenv, spec->passes);
    AK_DO(ak_made(envp, err));
    int null = ak_proc_above_low(open("/dev/null", O_RDWR | O_CLOEXEC));
    ak_proc_launch l = {.call = spec->call,
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
                        .cpu = (rlim_t)spec->cpu_seconds_max,
                        .guarded = output >= 0 && !spec->stdio, /* ak_proc_run only */
                        .keep_files = spec->keep_files,
                        .only_stdout = spec->only_stdout,
                        .any_thread = spec->any_thread,
                        .stdio = spec->stdio,
                        .confine = spec->confine,
                        .confine_context = spec->confine_context,
                        .priority = spec->priority};
    /* No signal handler of ours may run in the child while it shares our memory. */
    sigset_t all, kept;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &kept);
    pid_t pid = ak_proc_spawn(&l);
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    int why = errno;
    ak_free(envp);
    ak_proc_close(&null);
    AK_FAIL_IF(pid < 0, err, AK_IO, "%s: cannot be started: %s", path, strerror(why));
    if (!spec->stdio) {
        (void)setpgid(pid, pid);
    }
    *out = pid;
    return AK_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int64_t nanoseconds(const struct timeval *time)
{
    return (int64_t)time->tv_sec * AK_SECOND_NS + (int64_t)time->tv_usec * 1000;
}

/* __WALL also finds children that send no signal when they end. */
pid_t ak_proc_reap(pid_t pid, int *how, int64_t *cpu_ns, int options)
{
    struct rusage used = {0};
    pid_t done;
    do {
        done = wait4(pid, how, options | __WALL, &used);
    } while (done < 0 && errno == EINTR);
    *cpu_ns = nanoseconds(&used.ru_utime) + nanoseconds(&used.ru_stime);
    return done;
}
