/*
 * fleet_rate.c: measures how many trials a second one tuner can handle, with workers that only
 * wait.
 *
 *     cmake --build build/release --target fleet_rate
 *     build/release/fleet_rate 64 10 20000 /tmp/rate.db
 *
 * Arguments: workers, milliseconds of a trial, trials, archive ("-": none). The tuner's relays, its
 * loop, the strategy (exhaustive) and the archive are the real ones. The machines of the workers
 * are simulated by this program: each is a relay that replies for its device worker after the time
 * of a trial, and at once for its AUTOKERNEL_RATE_CORES (2) compile workers.
 *
 * It prints the trials a second from the first to the last trial, and the tuner's processor time
 * for each. The inverse of that time is the rate that the loop can reach with a core of its own.
 * `strace -c -e trace=fsync,fdatasync` shows how long the flushes of the archive take.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "autokernel/autokernel.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/proc.h"
#include "backend/backend.h"
#include "worker/message.h"
#include "worker/relay.h"

#define SAMPLES 9

/* ---- the worker that waits ------------------------------------------------------------------- */

static json_t *trial_reply(void)
{
    double samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = 1.0 + 0.001 * i;
    }
    const ak_trial trial = {.status = AK_TRIAL_OK,
                            .median_ms = 1.004,
                            .ci_low_ms = 1.0,
                            .ci_high_ms = 1.008,
                            .samples_ms = samples,
                            .sample_count = SAMPLES,
                            .check_ns = AK_MS_NS,
                            .measure_ns = AK_MS_NS};
    const ak_conditions none = {0};
    return ak_message_from_trial(&trial, &none);
}

static json_t *reply_to(const char *op)
{
    const ak_ceilings ceilings = {0};
    const ak_compile_result compiled = {.status = AK_TRIAL_OK, .compile_ns = AK_MS_NS};
    return strcmp(op, "trial") == 0       ? trial_reply()
           : strcmp(op, "ceilings") == 0  ? ak_message_from_ceilings(&ceilings)
           : strcmp(op, "baselines") == 0 ? json_pack("{s:[]}", "baselines")
           : strcmp(op, "compile") == 0   ? ak_message_from_compile(&compiled)
           : strcmp(op, "start") == 0     ? json_object()
                                          : json_pack("{s:s}", "judge", "host");
}

/* Replies at once for a compile worker. */
static void answer_core(int out, const json_t *request)
{
    json_t *reply = reply_to(ak_json_text_at(request, "op"));
    (void)ak_json_set(reply, "core", json_incref(json_object_get(request, "core")));
    (void)ak_json_set(reply, "id", json_incref(json_object_get(request, "id")));
    (void)ak_json_set(reply, "ok", json_true());
    (void)ak_wire_send(out, reply, NULL);
    json_decref(reply);
}

static int answer_all(int in, int out, const char *hello)
{
    const char *text = getenv("AUTOKERNEL_RATE_MS");
    const int64_t pause = (int64_t)(1e6 * (text == NULL ? 0 : strtod(text, NULL)));
    ak_line_reader lines;
    ak_buf line = AK_BUF(AK_LINE_MAX);
    char chunk[65536];
    ssize_t got;
    int64_t due = 0; /* when the pending reply is due; 0: there is none */
    json_t *reply = NULL;
    ak_line_reader_init(&lines);
    if (hello != NULL && write(out, hello, strlen(hello)) < 0) {
        return 1;
    }
    for (;;) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int64_t left = due == 0 ? -1 : due - ak_clock_ns();
        struct timespec wait = {.tv_sec = left / AK_SECOND_NS, .tv_nsec = left % AK_SECOND_NS};
        if (due != 0 && left <= 0) {
            (void)ak_wire_send(out, reply, NULL);
            json_decref(reply);
            due = 0;
            continue;
        }
        if (ppoll(&ready, 1, due == 0 ? NULL : &wait, NULL) <= 0) {
            continue;
        }
        got = read(in, chunk, sizeof chunk);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            return 0;
        }
        (void)ak_line_reader_feed(&lines, chunk, got < 0 ? 0 : (size_t)got, NULL);
        while (ak_line_reader_line(&line, &lines)) {
            json_t *request = NULL;
            if (line.length == 0) {
                (void)!write(out, "\n", 1); /* an empty line says that this end is alive */
            } else if (ak_json_parse(&request, line.data, line.length, "request", NULL) != AK_OK) {
                return 1;
            } else if (json_object_get(request, "core") != NULL) {
                answer_core(out, request);
                json_decref(request);
            } else {
                const char *op = ak_json_text_at(request, "op");
                reply = reply_to(op);
                (void)ak_json_set(reply, "id", json_incref(json_object_get(request, "id")));
                (void)ak_json_set(reply, "ok", json_true());
                due = ak_clock_ns() + (strcmp(op, "trial") == 0 ? pause : 0);
                json_decref(request);
            }
        }
    }
}

static int worker(int argc, char **argv)
{
    char build[AK_BUILD_BYTES], hello[1024];
    const char *cores = getenv("AUTOKERNEL_RATE_CORES");
    if (argc > 4 && strcmp(argv[2], "--stdio") == 0) {
        ak_relay_build(build);
        (void)snprintf(hello, sizeof hello,
                       "{\"hello\":\"autokernel\",\"protocol\":%d,\"version\":\"%s\",\"build\":"
                       "\"%s\",\"host\":\"h\",\"cores\":%.9s,\"place\":\"%ld\",\"shared\":true,"
                       "\"folder\":\"%.400s\"}\n",
                       AK_RELAY_PROTOCOL, AK_VERSION, build, cores == NULL ? "2" : cores,
                       (long)getpid(), argv[4]);
        return answer_all(0, 1, hello);
    }
    if (argc > 2 && strcmp(argv[2], "--compile") == 0) {
        return answer_all(AK_PROC_REQUEST_FD, AK_PROC_REPLY_FD, NULL);
    }
    return ak_worker_main(argc, argv);
}

/* ---- the tuner ------------------------------------------------------------------------------- */

typedef struct tally {
    size_t count, wanted;
    int64_t first, last;
    double cpu_first, cpu_last; /* seconds of this process */
    volatile int cancel;
} tally;

static double cpu_seconds(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Counts trials, and ends the run after the last one, because the finish has no influence on the
   rate. */
static void listen_to(void *context, const char *event, const char *json)
{
    tally *t = context;
    (void)json;
    if (strcmp(event, "trial") != 0 || t->count == t->wanted) {
        return;
    }
    t->last = ak_clock_ns();
    t->cpu_last = cpu_seconds();
    if (t->count++ == 0) {
        t->first = t->last;
        t->cpu_first = t->cpu_last;
    }
    t->cancel = t->count == t->wanted;
}

static int fail(const ak_error *err)
{
    (void)fprintf(stderr, "fleet_rate: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    char self[4096] = "";
    ak_error err = AK_ERROR_INIT;
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        return worker(argc, argv);
    }
    if (argc < 5 || readlink("/proc/self/exe", self, sizeof self - 1) <= 0) {
        (void)fprintf(stderr, "usage: fleet_rate WORKERS MS TRIALS ARCHIVE\n");
        return 2;
    }
    (void)setenv("AUTOKERNEL_WORKER", self, 1);
    (void)setenv("AUTOKERNEL_RATE_MS", argv[2], 1);
    const ak_task_spec spec = {.device = "host",
                               .size = "64",
                               .kernel = "softmax",
                               .implementation = "host",
                               .libraries = "none",
                               .launcher = "cmd:env",
                               .workers = argv[1]};
    tally t = {.wanted = strtoul(argv[3], NULL, 10)};
    const ak_tune_options options = {.strategy = "exhaustive", /* never converges */
                                     .evaluations = t.wanted,
                                     .sink = listen_to,
                                     .sink_context = &t,
                                     .cancel = &t.cancel};
    ak_task *task = NULL;
    ak_archive *archive = NULL;
    ak_tune_result result = {0};
    bool stored = strcmp(argv[4], "-") != 0;
    if (ak_task_open(&task, &spec, &err) != AK_OK ||
        (stored && ak_archive_open(&archive, argv[4], &err) != AK_OK) ||
        ak_tune(&result, task, archive, &options, &err) != AK_OK) {
        return fail(&err);
    }
    double span = (double)(t.last - t.first) / 1e9, cpu = t.cpu_last - t.cpu_first;
    size_t count = t.count - 1;
    printf("%s workers, trials of %s ms, %s: %zu trials in %.2f s: %.0f a second; the tuner takes "
           "%.3f ms of a processor for each (%.0f a second on a core)\n",
           argv[1], argv[2], stored ? "on disk" : "nothing stored", count, span,
           (double)count / span, 1e3 * cpu / (double)count, (double)count / cpu);
    ak_tune_result_clear(&result);
    ak_archive_close(archive);
    ak_task_close(task);
    return 0;
}
