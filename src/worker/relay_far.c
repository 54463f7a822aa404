/* relay_far.c: the relay beside a worker that was started from another machine; see relay.h. */
#include "worker/relay.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/fs.h"
#include "worker/process.h"
#include "worker/travel.h"

#define LAST_NS AK_SECOND_NS /* the last line may take this long to be written */

static void say_hello(ak_relay_end *near, const char *folder, bool shared)
{
    char build[AK_BUILD_BYTES], host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    ak_relay_build(build);
    json_t *hello =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:b, s:s}", "hello", "autokernel", "protocol",
                  AK_RELAY_PROTOCOL, "version", AK_VERSION, "build", build, "host", host, "cores",
                  ak_cores(), "shared", shared, "folder", folder);
    ak_relay_say_json(near, hello);
    json_decref(hello);
}

/* Returns true if somebody has stopped the worker (SIGSTOP), so that it would never answer. */
static bool is_stopped(const ak_proc *proc)
{
    siginfo_t info = {0};
    return proc->pid > 0 &&
           waitid(P_PID, (id_t)proc->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == proc->pid;
}

static void say_ended(ak_relay_end *near, const char *how, bool lost)
{
    json_t *last = json_pack("{s:s, s:b, s:b}", "ended", how, "lost", lost, "final", false);
    ak_relay_say_json(near, last);
    json_decref(last);
}

/* Handles the lines that have come from the tuner: beats are sent back, files are kept, and all
   others are the worker's. Returns false if a file cannot be kept. */
static bool hear(ak_relay_end *near, ak_relay_end *worker, const char *folder)
{
    ak_error err = AK_ERROR_INIT;
    ak_buf line = AK_BUF(AK_LINE_MAX);
    while (err.status == AK_OK && ak_line_reader_line(&line, &near->lines)) {
        if (ak_travel_is(&line)) {
            (void)ak_travel_take(&line, folder, &err);
        } else {
            ak_relay_say(line.length == 0 ? near : worker, line.data, line.length);
        }
    }
    ak_buf_free(&line);
    if (err.status != AK_OK) {
        say_ended(near, err.text, true);
    }
    return err.status == AK_OK;
}

static void serve(ak_relay_end *near, ak_proc *proc, const char *folder, int64_t beat_ns)
{
    ak_relay_end worker;
    ak_buf line = AK_BUF(AK_LINE_MAX);
    ak_relay_open(&worker, proc->from, proc->to);
    while (!near->over && ak_clock_ns() - near->heard <= AK_RELAY_MISSED * beat_ns) {
        ak_relay_turn(near, &worker, -1, beat_ns / 2);
        if (!hear(near, &worker, folder)) {
            break;
        }
        while (ak_line_reader_line(&line, &worker.lines)) {
            ak_relay_say(near, line.data, line.length);
        }
        if (worker.over) {
            char how[128] = "it closed its pipe";
            const int64_t deadline = ak_clock_ns() + LAST_NS;
            while (!ak_proc_ended(how, sizeof how, proc) && ak_clock_ns() < deadline) {
                ak_clock_sleep_ns(AK_MS_NS);
            }
            say_ended(near, worker.broken ? "it sent a line that is too long" : how, false);
            break;
        }
        if (is_stopped(proc)) {
            say_ended(near, "somebody stopped it", true);
            break;
        }
    }
    ak_relay_close(&worker);
    ak_buf_free(&line);
}

int ak_relay_far(int argc, char **argv)
{
    char self[AK_PATH_MAX];
    int64_t ms;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (argc < 7 || length <= 0 || !ak_text_int(&ms, argv[3])) {
        return 2;
    }
    self[length] = 0;
    ak_relay_end near;
    ak_error err = AK_ERROR_INIT;
    ak_proc proc = {0};
    /* Standard input and output belong to the messages; whatever else prints, prints to stderr. */
    int in = fcntl(0, F_DUPFD_CLOEXEC, 10), out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0) {
        return 2;
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ak_relay_open(&near, in, out);
    ak_fs_owned own = {.lock = -1};
    const bool shared = ak_fs_is_folder(argv[4]);
    const char *folder = shared ? argv[4] : own.path;
    const char *const words[] = {self, "worker", argv[5], argv[6], NULL};
    ak_proc_spec spec = {.argv = words, .any_thread = true};
    if ((shared || ak_fs_owned_open(&own, &err) == AK_OK) &&
        ak_proc_start(&proc, &spec, &err) == AK_OK) {
        say_hello(&near, folder, shared);
        serve(&near, &proc, folder, ms * AK_MS_NS);
    } else {
        say_hello(&near, folder, shared);
        say_ended(&near, err.text, true);
    }
    ak_relay_flush(&near, LAST_NS);
    ak_process_kill_tree(&proc);
    ak_process_end_descendants(0);
    ak_fs_owned_close(&own);
    ak_relay_close(&near);
    return 0;
}
