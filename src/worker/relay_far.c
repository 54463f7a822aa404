/* relay_far.c: the relay beside the workers that were started from another machine; see relay.h. */
#include "worker/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/fs.h"
#include "base/program.h"
#include "base/text.h"
#include "launcher/launcher.h"
#include "worker/process.h"
#include "worker/travel.h"

/* The last line may take this long to be written, and a worker that closed its pipe this long to
   end. */
#define LAST_NS AK_SECOND_NS

#define LEAVE_NS (5 * AK_SECOND_NS) /* limit for the command that ends the launcher's job */

/* A worker process and the pipes to it. */
typedef struct child {
    ak_proc proc;
    ak_relay_end end;
    bool runs;
} child;

typedef struct far {
    ak_relay_end near;
    char self[AK_PATH_MAX];    /* this program */
    const char *folder;        /* for the files of the run */
    const char *role, *what;   /* command line of the device worker */
    const char *backend;       /* of the compile workers; NULL: there are none */
    child device;              /* the device worker */
    int64_t begun;             /* its number: how many were started so far */
    child cores[AK_CORES_MAX]; /* compile worker K is cores[K - 1] */
    ak_travel_file file;       /* the file that the tuner fetches */
    bool over;                 /* the connection ends */
    bool bye;                  /* the near relay ends it, and the launcher with it */
    ak_proc guard;
} far;

static void say_hello(ak_relay_end *near, const char *folder, bool shared)
{
    char build[AK_BUILD_BYTES], host[AK_CORES_HOST_BYTES], place[AK_CORES_PLACE_BYTES];
    ak_cores_host(host);
    ak_relay_build(build);
    ak_cores_place(place);
    ak_relay_say_json(near, json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:b, s:s}", "hello",
                                      "autokernel", "protocol", AK_RELAY_PROTOCOL, "version",
                                      AK_VERSION, "build", build, "host", host, "cores", ak_cores(),
                                      "place", place, "shared", shared, "folder", folder));
}

/* ---- workers --------------------------------------------------------------------------------- */

static ak_status child_start(child *c, const far *f, const char *role, const char *what,
                             ak_error *err)
{
    const char *const words[] = {f->self, "worker", role, what, NULL};
    const ak_proc_spec spec = {.argv = words, .any_thread = true};
    AK_DO(ak_proc_start(&c->proc, &spec, err));
    ak_relay_open(&c->end, c->proc.from, c->proc.to);
    c->runs = true;
    return AK_OK;
}

static void child_stop(child *c)
{
    if (c->runs) {
        ak_process_kill_tree(&c->proc);
        ak_relay_close(&c->end);
        c->runs = false;
    }
}

/* Returns whether a worker is gone; if so, `how` says how. *lost is true if somebody has stopped it
   (SIGSTOP), so that it would never answer. */
static bool child_is_gone(char *how, size_t bytes, bool *lost, child *c)
{
    *lost = false;
    if (c->end.over) {
        (void)snprintf(how, bytes, "it closed its pipe");
        (void)ak_proc_wait(how, bytes, &c->proc, LAST_NS);
        if (c->end.broken) {
            (void)snprintf(how, bytes, "it sent a line that is too long");
        }
        return true;
    }
    *lost = ak_process_is_stopped(&c->proc);
    (void)snprintf(how, bytes, "somebody stopped it");
    return *lost;
}

static void device_died(far *f, const char *how, bool lost)
{
    ak_relay_say_json(&f->near, json_pack("{s:s, s:I, s:b}", "died", how, "begun",
                                          (json_int_t)f->begun, "lost", (int)lost));
}

static void device_start(far *f)
{
    ak_error err = AK_ERROR_INIT;
    child_stop(&f->device);
    f->begun++;
    if (child_start(&f->device, f, f->role, f->what, &err) != AK_OK) {
        device_died(f, err.text, true);
    }
}

static void core_ended(far *f, int64_t number, const char *how)
{
    ak_relay_say_json(&f->near, json_pack("{s:I, s:s}", "core", (json_int_t)number, "ended", how));
}

/* Passes a request on to a compile worker, which is started if it does not run. `rest`: the line
   after {"core": number,. */
static void core_hear(far *f, int64_t number, const char *rest)
{
    ak_error err = AK_ERROR_INIT;
    if (number < 1 || number > AK_CORES_MAX || f->backend == NULL) {
        core_ended(f, number, "there is no such compile worker");
        return;
    }
    child *c = &f->cores[number - 1];
    if (!c->runs && child_start(c, f, "--compile", f->backend, &err) != AK_OK) {
        core_ended(f, number, err.text);
        return;
    }
    ak_buf_putc(&c->end.pending, '{');
    ak_relay_say(&c->end, rest, strlen(rest));
}

/* Passes on a compile worker's lines, with its number. Returns false if one is not an object. */
static bool core_speak(far *f, child *c, int64_t number, ak_buf *line)
{
    char head[40];
    (void)snprintf(head, sizeof head, AK_RELAY_CORE "%lld,", (long long)number);
    while (ak_line_reader_line(line, &c->end.lines)) {
        if (line->length < 3 || line->data[0] != '{') {
            return false;
        }
        ak_buf_puts(&f->near.pending, head);
        ak_relay_say(&f->near, line->data + 1, line->length - 1);
    }
    return true;
}

/* ---- lines from the tuner -------------------------------------------------------------------- */

/* Carries out a line that is for the relay itself. */
static void obey(far *f, const ak_buf *line)
{
    json_auto_t *order = NULL;
    if (ak_json_parse(&order, line->data, line->length, "order", NULL) != AK_OK) {
        return;
    }
    int64_t core = (int64_t)ak_json_number_at(order, "end");
    if (json_object_get(order, "begin") != NULL) {
        device_start(f);
    } else if (json_object_get(order, "fetch") != NULL) {
        ak_travel_open(&f->file, f->folder, ak_json_text_at(order, "fetch"));
    } else if (core >= 1 && core <= AK_CORES_MAX) {
        child_stop(&f->cores[core - 1]);
    }
}

/* Handles the lines from the tuner: answers beats, writes files, carries out what is for the relay
   and passes the rest on to the workers. A file that cannot be written ends the connection. */
static void hear(far *f)
{
    ak_error err = AK_ERROR_INIT;
    ak_buf line = AK_BUF(AK_LINE_MAX);
    while (err.status == AK_OK && ak_line_reader_line(&line, &f->near.lines)) {
        char *rest = NULL;
        if (line.length == 0) {
            ak_relay_say(&f->near, "", 0);
        } else if (ak_relay_begins(&line, "{\"file\":")) {
            (void)ak_travel_take(&line, f->folder, &err);
        } else if (ak_relay_begins(&line, AK_RELAY_CORE)) {
            int64_t number = strtoll(line.data + sizeof AK_RELAY_CORE - 1, &rest, 10);
            core_hear(f, number, *rest == ',' ? rest + 1 : rest);
        } else if (ak_relay_begins(&line, "{\"bye\":")) {
            f->bye = true;
        } else if (ak_relay_begins(&line, "{\"begin\":") || ak_relay_begins(&line, "{\"end\":") ||
                   ak_relay_begins(&line, "{\"fetch\":")) {
            obey(f, &line);
        } else if (f->device.runs) {
            ak_relay_say(&f->device.end, line.data, line.length);
        }
    }
    ak_buf_free(&line);
    if (err.status != AK_OK) {
        ak_relay_say_ended(&f->near, err.text, true, false);
        f->over = true;
    }
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* Starts the guard. If that fails, the relay works without one. */
static void guard_begin(far *f, int64_t patience_ms)
{
    char relay[24], patience[24];
    (void)snprintf(relay, sizeof relay, "%ld", (long)getpid());
    (void)snprintf(patience, sizeof patience, "%lld", (long long)patience_ms);
    const char *const words[] = {f->self, "worker", "--guard", relay, patience, NULL};
    const ak_proc_spec spec = {.argv = words};
    if (ak_proc_start(&f->guard, &spec, NULL) == AK_OK) {
        (void)fcntl(f->guard.to, F_SETFL, O_NONBLOCK);
    }
}

static void guard_tell(const far *f)
{
    if (f->guard.pid > 0) {
        (void)!write(f->guard.to, "", 1); /* if the pipe is full, the guard has bytes to read */
    }
}

int ak_relay_guard(int argc, char **argv)
{
    int64_t relay, patience_ms;
    struct pollfd ready = {.fd = AK_PROC_REQUEST_FD, .events = POLLIN};
    char bytes[64];
    int got;
    if (argc < 5 || !ak_text_int(&relay, argv[3]) || !ak_text_int(&patience_ms, argv[4]) ||
        patience_ms < 1 || patience_ms > INT_MAX || relay != getppid()) {
        return 2;
    }
    do {
        got = poll(&ready, 1, (int)patience_ms);
    } while ((got > 0 && read(ready.fd, bytes, sizeof bytes) > 0) || (got < 0 && errno == EINTR));
    if (got == 0 && relay == getppid()) {
        ak_process_kill_below((pid_t)relay, getpid());
        (void)kill((pid_t)relay, SIGKILL);
    }
    return 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Passes on what the workers say, and says which of them are gone. */
static void speak(far *f)
{
    char how[128];
    bool lost;
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(AK_LINE_MAX);
    while (f->device.runs && ak_line_reader_line(&line, &f->device.end.lines)) {
        ak_relay_say(&f->near, line.data, line.length);
    }
    if (f->device.runs && child_is_gone(how, sizeof how, &lost, &f->device)) {
        child_stop(&f->device);
        device_died(f, how, lost);
    }
    for (int64_t i = 0; i < AK_CORES_MAX; i++) {
        child *c = &f->cores[i];
        if (c->runs && !core_speak(f, c, i + 1, &line)) {
            child_stop(c);
            core_ended(f, i + 1, "it broke the protocol");
        }
        if (c->runs && child_is_gone(how, sizeof how, &lost, c)) {
            child_stop(c);
            core_ended(f, i + 1, how);
        }
    }
}

/* Sends pieces of the file that the tuner fetches, as long as few bytes wait to be written. */
static void send_file(far *f)
{
    while (f->file.open && ak_relay_waiting(&f->near) < AK_LINE_MAX / 2) {
        ak_relay_say_json(&f->near, ak_travel_next(&f->file));
    }
}

static void serve(far *f, int64_t beat_ns)
{
    while (!f->over && !f->near.over &&
           ak_clock_ns() - f->near.heard <= AK_RELAY_MISSED * beat_ns) {
        ak_relay_end *ends[AK_RELAY_ENDS_MAX] = {&f->near};
        size_t count = 1;
        if (f->device.runs) {
            ends[count++] = &f->device.end;
        }
        for (size_t i = 0; i < AK_CORES_MAX; i++) {
            if (f->cores[i].runs) {
                ends[count++] = &f->cores[i].end;
            }
        }
        guard_tell(f);
        ak_relay_turn(ends, count, -1, f->file.open ? AK_MS_NS : beat_ns / 2);
        hear(f);
        speak(f);
        send_file(f);
    }
}

static void end(far *f)
{
    ak_relay_flush(&f->near, LAST_NS);
    child_stop(&f->device);
    for (size_t i = 0; i < AK_CORES_MAX; i++) {
        child_stop(&f->cores[i]);
    }
    ak_proc_kill(&f->guard);
    ak_process_end_descendants(0);
    ak_travel_close(&f->file);
}

/* Ends the launcher's job (Slurm) in which this relay runs, if that job belongs to this run. */
static void leave_job(const char *folder)
{
    AK_AT_END(ak_words_free) ak_words words = {.count = 0};
    if (ak_launcher_leave(&words, ak_fs_base(folder), NULL) == AK_OK && words.count > 0) {
        ak_relay_run((const char *const *)words.at, LEAVE_NS);
    }
}

int ak_relay_far(int argc, char **argv)
{
    static far f; /* too large for the stack */
    int64_t ms;
    if (argc < 7 || !ak_program_self(f.self) || !ak_text_int(&ms, argv[3])) {
        return 2;
    }
    ak_error err = AK_ERROR_INIT;
    /* Standard input and output belong to the messages; whatever else prints, prints to stderr. */
    int in = fcntl(0, F_DUPFD_CLOEXEC, 10), out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0) {
        return 2;
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    ak_relay_open(&f.near, in, out);
    ak_fs_owned own = {.lock = -1};
    const bool shared = ak_fs_is_folder(argv[4]);
    bool good = shared || ak_fs_owned_open(&own, &err) == AK_OK;
    f.folder = shared ? argv[4] : own.path;
    f.role = argv[5];
    f.what = argv[6];
    f.backend = argc > 7 ? argv[7] : NULL;
    say_hello(&f.near, f.folder, shared);
    if (good) {
        device_start(&f);
        guard_begin(&f, AK_RELAY_MISSED * ms);
        serve(&f, ms * AK_MS_NS);
    } else {
        ak_relay_say_ended(&f.near, err.text, true, false);
    }
    const bool alone = good && !f.over && !f.bye;
    end(&f);
    ak_fs_owned_close(&own);
    ak_relay_close(&f.near);
    if (alone) { /* the near relay, which would end the job, is gone */
        leave_job(argv[4]);
    }
    return 0;
}
