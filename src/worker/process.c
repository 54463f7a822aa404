#include "worker/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"

/* Limits for a tree of processes: its depth, and the bytes of the list of one process's children. A
   compilation starts a driver, a compiler, an assembler and a wrapper or two, which is far below
   both. */
#define TREE_DEPTH_MAX    16
#define TREE_TEXT_MAX     65536
#define DESCENDANT_ROUNDS 5000 /* rounds of 0.2 ms: one second */

/* Kills the descendants of a process except its child `spare` (0: none). Returns how many other
   children were found. */
static size_t kill_below(pid_t pid, pid_t spare, int depth)
{
    size_t found = 0;
    char path[64], *text = NULL;
    /* The file `children` lists only the children of the first thread. That suffices, because our
       workers start processes from no other thread. */
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (depth >= TREE_DEPTH_MAX || ak_fs_read(&text, NULL, path, TREE_TEXT_MAX, NULL) != AK_OK) {
        return 0;
    }
    for (char *at = text; *at != 0;) {
        size_t digits = strspn(at, "0123456789");
        int64_t child = 0;
        char after = at[digits];
        at[digits] = 0;
        if (ak_text_int(&child, at) && child > 1 && child != spare) {
            found++;
            (void)kill((pid_t)child, SIGSTOP); /* so that it starts no more children */
            (void)kill_below((pid_t)child, 0, depth + 1);
            (void)kill((pid_t)child, SIGKILL);
        }
        at += digits + (after == 0 ? 0 : 1);
    }
    ak_free(text);
    return found;
}

void ak_process_end_descendants(pid_t spare)
{
    /* When a process is killed its children become ours, so this repeats until none is left. */
    for (int round = 0; round < DESCENDANT_ROUNDS; round++) {
        pid_t ended;
        do {
            ended = waitpid(-1, NULL, WNOHANG | __WALL);
        } while (ended > 0);
        if (ended < 0 || (kill_below(getpid(), spare, 0) == 0 && spare > 0)) {
            return; /* no child is left, or only `spare` */
        }
        ak_clock_sleep_ns(AK_MS_NS / 5);
    }
}

void ak_process_kill_below(pid_t pid, pid_t spare)
{
    (void)kill_below(pid, spare, 0);
}

bool ak_process_is_stopped(const ak_proc *proc)
{
    siginfo_t info = {0};
    return proc->pid > 0 &&
           waitid(P_PID, (id_t)proc->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == proc->pid;
}

void ak_process_kill_tree(ak_proc *proc)
{
    if (proc->pid > 0) {
        (void)kill(proc->pid, SIGSTOP);
        (void)kill_below(proc->pid, 0, 0);
        ak_proc_kill(proc);
    }
}
