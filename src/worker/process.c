/* process.c: see process.h. */
#include "worker/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

/* Compiler driver, compiler, assembler, a wrapper or two: a tree deeper or wider than this is not
   one that we started. */
#define TREE_DEPTH_MAX 16
#define TREE_TEXT_MAX  65536

static void kill_below(pid_t pid, int depth)
{
    char path[64], *text = NULL;
    /* Of the first thread only: our workers start processes from no other. */
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (depth >= TREE_DEPTH_MAX || ak_fs_read(&text, NULL, path, TREE_TEXT_MAX, NULL) != AK_OK) {
        return;
    }
    for (char *at = text; *at != 0;) {
        size_t digits = strspn(at, "0123456789");
        int64_t child = 0;
        char after = at[digits];
        at[digits] = 0;
        if (ak_text_int(&child, at) && child > 1) {
            (void)kill((pid_t)child, SIGSTOP); /* so that it starts no others meanwhile */
            kill_below((pid_t)child, depth + 1);
            (void)kill((pid_t)child, SIGKILL);
        }
        at += digits + (after == 0 ? 0 : 1);
    }
    ak_free(text);
}

void ak_process_kill_tree(ak_proc *proc)
{
    if (proc->pid > 0) {
        (void)kill(proc->pid, SIGSTOP);
        kill_below(proc->pid, 0);
        ak_proc_kill(proc);
    }
}
