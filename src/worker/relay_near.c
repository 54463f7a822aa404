/* relay_near.c: the relay beside the tuner; see relay.h. */
#include "worker/relay.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"
#include "launcher/launcher.h"

#define WHY_BYTES  300
#define SAID_BYTES 2048
/* Most bytes that a message quotes from the other side, without the final 0. */
#define HOST_MAX   60
#define BANNER_MAX 80
#define WORDS_MAX  160
/* To end a launcher, the relay closes its input, sends SIGTERM after CLOSED_NS and SIGKILL after
   another TERM_NS. */
#define CLOSED_NS (1 * AK_SECOND_NS)
#define TERM_NS   (3 * AK_SECOND_NS)
/* The last line to the far relay may take this long to be written. */
#define BYE_NS (200 * AK_MS_NS)
/* Limit for the command that ends what a launcher may have left. */
#define SWEEP_NS (2 * AK_SECOND_NS)

typedef struct near {
    ak_relay_end tuner, node;
    ak_proc proc; /* the launcher */
    const char *name;
    int64_t beat_ns, begun, beaten; /* `beaten`: time of the latest beat */
    bool queues, greeted;
    char host[HOST_MAX + 1];
    char said[SAID_BYTES];               /* end of what the launcher wrote to its stderr */
    size_t length;                       /* bytes of `said` */
    bool deaf;                           /* the launcher has closed its stderr */
    char why[WHY_BYTES];                 /* why the connection is over; "" while it is open */
    bool lost, final;                    /* as in relay.h */
    bool told;                           /* the far relay has reported why it ended */
    bool unclean;                        /* the launcher did not end by itself with exit code 0 */
    const char *sweep[AK_WORDS_MAX + 1]; /* runs after an unclean end; may be empty */
} near;

static void fail(near *n, bool final, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(near *n, bool final, const char *format, ...)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(WHY_BYTES - 1);
    va_list args;
    va_start(args, format);
    ak_buf_vprint(&text, format, args);
    va_end(args);
    ak_plain_copy(n->why, sizeof n->why, text.length == 0 ? "it ended" : text.data);
    n->lost = true;
    n->final = final;
}

/* Reads what the launcher has written to its stderr, and keeps the last SAID_BYTES - 1 bytes. */
static void listen_to_errors(near *n)
{
    char chunk[1024];
    ssize_t got = -1;
    while (!n->deaf && n->proc.errors > 0 &&
           (got = read(n->proc.errors, chunk, sizeof chunk)) > 0) {
        size_t drop = n->length + (size_t)got > sizeof n->said - 1
                          ? n->length + (size_t)got - (sizeof n->said - 1)
                          : 0;
        memmove(n->said, n->said + drop, n->length - drop);
        n->length -= drop;
        memcpy(n->said + n->length, chunk, (size_t)got);
        n->length += (size_t)got;
        n->said[n->length] = 0;
    }
    n->deaf = n->deaf || n->proc.errors <= 0 || got == 0 || (errno != EINTR && errno != EAGAIN);
}

/* Copies the last line of what the launcher wrote to its stderr; "" if there is none. */
static void last_words(char out[WORDS_MAX + 1], near *n)
{
    while (n->length > 0 && strchr("\r\n \t", n->said[n->length - 1]) != NULL) {
        n->said[--n->length] = 0;
    }
    const char *at = strrchr(n->said, '\n');
    ak_plain_copy(out, WORDS_MAX + 1, at == NULL ? n->said : at + 1);
}

/* ---- hello ----------------------------------------------------------------------------------- */

/* Refuses a far relay that has another protocol, version or build than this program. */
static void judge_hello(near *n, const json_t *hello)
{
    char build[AK_BUILD_BYTES];
    const char *host = ak_json_text_at(hello, "host");
    const char *version = ak_json_text_at(hello, "version");
    const char *there = ak_json_text_at(hello, "build");
    int protocol = (int)ak_json_number_at(hello, "protocol");
    ak_relay_build(build);
    ak_plain_copy(n->host, sizeof n->host, host);
    if (protocol != AK_RELAY_PROTOCOL) {
        fail(n, true,
             "%s: speaks protocol %d, and this program speaks %d: install the same "
             "autokernel there",
             n->host, protocol, AK_RELAY_PROTOCOL);
    } else if (strcmp(version, AK_VERSION) != 0) {
        fail(n, true, "%s: has autokernel %.20s, and here is %s: install the same there", n->host,
             version, AK_VERSION);
    } else if (strcmp(there, build) != 0) {
        fail(n, true,
             "%s: has another build of autokernel (%.8s) than this one (%.8s): "
             "install the same there",
             n->host, there, build);
    }
}

static void take_hello(near *n, const ak_buf *line)
{
    json_auto_t *hello = NULL;
    if (ak_json_parse(&hello, line->data, line->length, "hello", NULL) != AK_OK ||
        !ak_json_text_is(hello, "hello", "autokernel")) {
        char banner[BANNER_MAX + 1];
        ak_plain_copy(banner, sizeof banner, line->data);
        fail(n, true,
             "%s printed \"%s\" where the worker should say hello: keep login messages off "
             "standard output",
             n->name, banner);
    } else {
        judge_hello(n, hello);
    }
    if (n->why[0] == 0) {
        n->greeted = true;
        n->beaten = ak_clock_ns();
        if (ak_json_set(hello, "start_ns", json_integer(ak_clock_ns() - n->begun))) {
            ak_relay_say_json(&n->tuner, json_incref(hello));
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void pass_on(near *n)
{
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(AK_LINE_MAX);
    while (n->why[0] == 0 && !n->told && ak_line_reader_line(&line, &n->node.lines)) {
        if (line.length == 0) {
            continue; /* an empty line only says that the node is alive */
        }
        if (!n->greeted) {
            take_hello(n, &line);
            continue;
        }
        n->told = ak_relay_begins(&line, "{\"ended\"");
        ak_relay_say(&n->tuner, line.data, line.length);
    }
    while (n->greeted && ak_line_reader_line(&line, &n->tuner.lines)) {
        ak_relay_say(&n->node, line.data, line.length);
    }
}

/* Returns whether a launcher may have left processes behind; `how` is from ak_proc_wait. */
static bool is_unclean(const char *how)
{
    return strcmp(how, "exit code 0") != 0;
}

static void explain_end(near *n)
{
    char how[128] = "it closed its pipe", words[WORDS_MAX + 1];
    int64_t deadline = ak_clock_ns() + CLOSED_NS;
    for (listen_to_errors(n); !n->deaf && ak_clock_ns() < deadline; listen_to_errors(n)) {
        ak_clock_sleep_ns(AK_MS_NS); /* what the launcher wrote last may not have arrived yet */
    }
    (void)ak_proc_wait(how, sizeof how, &n->proc, deadline - ak_clock_ns());
    n->unclean = is_unclean(how);
    last_words(words, n);
    if (n->node.broken) {
        fail(n, false, "%s: sent a line longer than %u bytes", n->greeted ? n->host : n->name,
             AK_LINE_MAX);
    } else if (n->greeted) {
        fail(n, false, "%s: the connection ended (%s)%s%s", n->host, how, words[0] == 0 ? "" : ": ",
             words);
    } else {
        fail(n, false, "%s ended before the worker said hello (%s)%s%s", n->name, how,
             words[0] == 0 ? "; is autokernel there?" : ": ", words);
    }
}

static void watch(near *n)
{
    int64_t now = ak_clock_ns();
    if (!n->greeted) {
        if (!n->queues && now - n->begun > AK_RELAY_HELLO * n->beat_ns) {
            char words[WORDS_MAX + 1];
            last_words(words, n);
            fail(n, false, "%s: no worker said hello within %lld s%s%s", n->name,
                 (long long)(AK_RELAY_HELLO * n->beat_ns / AK_SECOND_NS), words[0] == 0 ? "" : ": ",
                 words);
        }
        return;
    }
    if (now - n->node.heard > AK_RELAY_MISSED * n->beat_ns) {
        fail(n, false, "%s: nothing was heard of it for %lld ms", n->host,
             (long long)(AK_RELAY_MISSED * n->beat_ns / AK_MS_NS));
    } else if (now - n->beaten >= n->beat_ns) {
        n->beaten = now;
        ak_relay_say(&n->node, "", 0);
    }
}

/* Waits until the launcher has ended. Returns false after wait_ns. */
static bool has_ended(near *n, int64_t wait_ns)
{
    char how[128] = "";
    if (n->proc.pid <= 0) {
        return true;
    }
    const bool ended = ak_proc_wait(how, sizeof how, &n->proc, wait_ns);
    n->unclean = ended ? is_unclean(how) : n->unclean;
    return ended;
}

static void end_launcher(near *n)
{
    static const char bye[] = "{\"bye\":true}";
    if (n->greeted && n->proc.pid > 0 && ak_relay_waiting(&n->node) == 0) {
        ak_relay_say(&n->node, bye, sizeof bye - 1);
        ak_relay_flush(&n->node, BYE_NS);
    }
    ak_proc_hang_up(&n->proc);
    if (!has_ended(n, CLOSED_NS)) {
        ak_proc_signal(&n->proc, SIGTERM);
        ak_proc_signal(&n->proc, SIGCONT); /* somebody may have stopped it */
        if (!has_ended(n, TERM_NS)) {
            ak_proc_kill(&n->proc);
            n->unclean = true;
        }
    }
    if (n->unclean && n->sweep[0] != NULL) {
        ak_relay_run(n->sweep, SWEEP_NS);
    }
}

int ak_relay_near(int argc, char **argv)
{
    static const char *const everything[] = {"*", NULL};
    int64_t ms, sweeps;
    if (argc < 7 || !ak_text_int(&ms, argv[3]) || !ak_text_int(&sweeps, argv[5]) || sweeps < 0 ||
        sweeps > AK_WORDS_MAX || argc < 7 + (int)sweeps) {
        return 2;
    }
    char **const words = argv + 6 + sweeps;
    near n = {.beat_ns = ms * AK_MS_NS,
              .queues = strcmp(argv[4], "1") == 0,
              .name = words[0],
              .begun = ak_clock_ns()};
    memcpy(n.sweep, argv + 6, (size_t)sweeps * sizeof *argv);
    ak_error err = AK_ERROR_INIT;
    ak_relay_open(&n.tuner, AK_PROC_REQUEST_FD, AK_PROC_REPLY_FD);
    ak_relay_open(&n.node, -1, -1);
    ak_proc_spec spec = {.argv = (const char *const *)words, .stdio = true, .passes = everything};
    if (ak_proc_start(&n.proc, &spec, &err) != AK_OK) {
        fail(&n, true, "%s", err.text);
        n.deaf = true;
    } else {
        ak_relay_close(&n.node);
        ak_relay_open(&n.node, n.proc.from, n.proc.to);
    }
    ak_relay_end *const ends[] = {&n.tuner, &n.node};
    while (n.why[0] == 0 && !n.tuner.over && !n.told) {
        ak_relay_turn(ends, 2, n.deaf ? -1 : n.proc.errors, n.beat_ns / 4);
        listen_to_errors(&n);
        pass_on(&n);
        if (n.why[0] == 0 && !n.told && n.node.over) {
            explain_end(&n);
        } else if (n.why[0] == 0) {
            watch(&n);
        }
    }
    if (n.why[0] != 0) {
        ak_relay_say_ended(&n.tuner, n.why, n.lost, n.final);
    }
    ak_relay_flush(&n.tuner, AK_SECOND_NS);
    end_launcher(&n);
    ak_relay_close(&n.tuner);
    ak_relay_close(&n.node);
    return 0;
}
