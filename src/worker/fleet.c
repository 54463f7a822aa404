/* fleet.c: implements `autokernel fleet status`, which starts all workers of a launcher and reports
   which of them respond. Each worker says hello, answers a ping, which gives the round-trip time,
   and reports its environment. */
#include "worker/pool_state.h"

#include <poll.h>
#include <string.h>

#include "autokernel/autokernel.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/plain.h"
#include "base/program.h"
#include "worker/relay.h"

/* Limit for each answer: asking drivers and compilers for their versions may take some seconds. A
   worker that still waits in a queue after AK_RELAY_HELLO beats (60 s by default) is reported as
   "queued". */
#define ANSWER_NS (60 * AK_SECOND_NS)
#define POLL_MS   50
/* Room for the reason of a failure. */
#define REASON_BYTES 512

typedef enum visit_state { VISIT_STARTING, VISIT_PINGED, VISIT_ASKED, VISIT_OVER } visit_state;

typedef struct visit {
    ak_pool_worker worker;
    visit_state state;
    int64_t since; /* when this state began */
    json_t *said;  /* what the user is shown */
} visit;

typedef struct look {
    ak_launcher launcher;
    ak_fs_owned folder;
    char program[AK_PATH_MAX];
    visit *visits;
    bool good; /* false: out of memory */
} look;

static void over(visit *v, look *l, const char *state, const char *reason)
{
    v->state = VISIT_OVER;
    l->good = ak_json_set_text(v->said, "state", state) && l->good;
    if (reason != NULL) { /* may come from the other machine, of any length */
        char text[REASON_BYTES];
        ak_plain_copy(text, sizeof text, reason);
        l->good = ak_json_set_text(v->said, "reason", text) && l->good;
    }
    ak_proc_hang_up(&v->worker.proc); /* does not wait, so that all workers end in parallel */
}

static void ask(visit *v, look *l, visit_state state, const char *op)
{
    v->state = state;
    v->since = ak_clock_ns();
    /* listen_to notices a worker's end */
    json_t *request = json_pack("{s:s, s:i}", "op", op, "id", (int)state);
    l->good = ak_message_send(v->worker.proc.to, request, NULL) != AK_NO_MEMORY && l->good;
}

/* Copies the named members of a message into v->said, but only strings, numbers and booleans.
   Strings lose their control characters, which must not reach a terminal. */
static void keep(visit *v, look *l, const json_t *message, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        const json_t *value = json_object_get(message, names[i]);
        char text[128];
        if (json_is_string(value)) {
            ak_plain_copy(text, sizeof text, json_string_value(value));
            l->good = ak_json_set_text(v->said, names[i], text) && l->good;
        } else if (json_is_number(value) || json_is_boolean(value)) {
            l->good =
                ak_json_set(v->said, names[i], json_copy((json_t *)(uintptr_t)value)) && l->good;
        }
    }
}

static void take(visit *v, look *l, const json_t *message)
{
    static const char *const hello[] = {"host",  "version", "build", "cores",
                                        "place", "shared",  NULL};
    static const char *const device[] = {"device", NULL};
    ak_error err = AK_ERROR_INIT;
    double took = (double)(ak_clock_ns() - v->since) / 1e9;
    json_t *facts;
    if (json_object_get(message, "ended") != NULL || json_object_get(message, "died") != NULL) {
        const char *died = ak_json_text_at(message, "died");
        const char *why = *died == 0 ? ak_json_text_at(message, "ended") : died;
        char none[160];
        (void)snprintf(none, sizeof none, "there is no device %.60s there",
                       ak_json_text_at(v->said, "device"));
        over(v, l, "failed", strcmp(why, AK_RELAY_NO_DEVICE) == 0 ? none : why);
    } else if (v->state == VISIT_STARTING && json_object_get(message, "hello") != NULL) {
        keep(v, l, message, hello);
        l->good = ak_json_set_real(v->said, "start_s", took) && l->good;
        ask(v, l, VISIT_PINGED, "ping");
    } else if (json_integer_value(json_object_get(message, "id")) != (json_int_t)v->state) {
        over(v, l, "failed", "it answered what nobody had asked");
    } else if (ak_message_fault(message, &err) != AK_OK) {
        over(v, l, "failed", err.text);
    } else if (v->state == VISIT_PINGED) {
        l->good = ak_json_set_real(v->said, "round_trip_ms", took * 1e3) && l->good;
        ask(v, l, VISIT_ASKED, "who");
    } else {
        keep(v, l, message, device);
        if (ak_json_object_or_null(&facts, message, "environment", "wire protocol", NULL) ==
                AK_OK &&
            facts != NULL) {
            l->good = json_object_set(v->said, "environment", facts) == 0 && l->good;
        }
        over(v, l, "ready", NULL);
    }
}

/* Reads what a worker has sent, and handles the complete messages in it. */
static void listen_to(visit *v, look *l)
{
    ak_error err = AK_ERROR_INIT;
    bool ended = false;
    (void)ak_pool_worker_read(&ended, &v->worker, &err);
    while (v->state != VISIT_OVER && err.status == AK_OK) {
        json_auto_t *message = NULL;
        if (ak_line_reader_next(&message, &v->worker.reader, &err) != AK_OK || message == NULL) {
            break;
        }
        take(v, l, message);
    }
    if (v->state != VISIT_OVER && (ended || err.status != AK_OK)) {
        over(v, l, "failed", err.status != AK_OK ? err.text : "its relay was killed");
    }
}

static void watch(visit *v, look *l)
{
    const int64_t waited = ak_clock_ns() - v->since;
    const int64_t patience = AK_RELAY_HELLO * ak_relay_beat_ms() * AK_MS_NS;
    if (v->state == VISIT_STARTING) { /* its relay limits the start, unless it may queue */
        if (l->launcher.queues && waited >= patience) {
            over(v, l, "queued", "it waits in the queue");
        }
    } else if (v->state != VISIT_OVER && waited >= ANSWER_NS) {
        over(v, l, "failed", "no answer");
    }
}

static void start(visit *v, look *l, size_t seat)
{
    ak_error err = AK_ERROR_INIT;
    const ak_seat *s = &l->launcher.seats[seat];
    const size_t number = l->launcher.first + seat;
    v->since = ak_clock_ns();
    v->said = json_pack("{s:I, s:s, s:s}", "worker", (json_int_t)number, "device", s->device,
                        "host", s->host);
    l->good = v->said != NULL && l->good;
    const ak_link link = {
        .launcher = &l->launcher, .seat = seat, .program = l->program, .folder = l->folder.path};
    if (ak_link_start(&v->worker, &link, &err) != AK_OK) {
        over(v, l, "failed", err.text);
    }
}

/* Handles the messages of all workers until every visit is over or the user cancels. */
static ak_status visit_all(look *l, const volatile int *cancel, ak_error *err)
{
    struct pollfd ready[AK_SEATS_MAX];
    size_t from[AK_SEATS_MAX], count;
    do {
        count = 0;
        for (size_t i = 0; i < l->launcher.count; i++) {
            watch(&l->visits[i], l);
            if (l->visits[i].state != VISIT_OVER) {
                ready[count] =
                    (struct pollfd){.fd = l->visits[i].worker.proc.from, .events = POLLIN};
                from[count++] = i;
            }
        }
        int n = count == 0 ? 0 : poll(ready, count, POLL_MS);
        for (size_t k = 0; n > 0 && k < count; k++) {
            if (ready[k].revents != 0) {
                listen_to(&l->visits[from[k]], l);
            }
        }
        AK_FAIL_IF(cancel != NULL && *cancel != 0, err, AK_CANCELLED, "cancelled");
    } while (count > 0 && l->good);
    return ak_stored(l->good, err);
}

static bool is_ready(const look *l, size_t i)
{
    return ak_json_text_is(l->visits[i].said, "state", "ready");
}

/* Adds to each ready worker's entry how many compile workers a run would start for it: workers on
   the same cores ("place") share them (pool_core.c). Then removes "place" from all entries. */
static void count_compile_workers(look *l)
{
    for (size_t i = 0; i < l->launcher.count; i++) {
        json_t *said = l->visits[i].said;
        const char *place = ak_json_text_at(said, "place");
        const double cores = ak_json_number_at(said, "cores");
        size_t sharing = 0;
        for (size_t k = 0; k < l->launcher.count; k++) {
            const char *other = ak_json_text_at(l->visits[k].said, "place");
            sharing += is_ready(l, k) && strcmp(other, place) == 0 ? 1 : 0;
        }
        if (!is_ready(l, i)) {
            continue;
        }
        const size_t known = l->launcher.seats[i].sharing;
        l->good = ak_json_set(said, "compile_workers",
                              json_integer((json_int_t)ak_relay_compile_workers(
                                  cores, sharing > known ? sharing : known))) &&
                  l->good;
    }
    for (size_t i = 0; i < l->launcher.count; i++) {
        (void)json_object_del(l->visits[i].said, "place");
    }
}

static void close_look(look *l)
{
    for (size_t i = 0; l->visits != NULL && i < l->launcher.count; i++) {
        ak_proc_hang_up(&l->visits[i].worker.proc);
    }
    for (size_t i = 0; l->visits != NULL && i < l->launcher.count; i++) {
        ak_pool_worker_stop(&l->visits[i].worker);
        json_decref(l->visits[i].said);
    }
    ak_free(l->visits);
    ak_fs_owned_close(&l->folder);
    ak_launcher_close(&l->launcher);
}

ak_status ak_fleet_status(char **out_json, const char *launcher, const char *workers,
                          const char *device, const volatile int *cancel, ak_error *err)
{
    AK_AT_END(close_look) look l = {.folder = {.lock = -1}, .good = true};
    json_auto_t *list = NULL;
    AK_DO(ak_launcher_open(&l.launcher, launcher, workers, device == NULL ? "auto" : device, err));
    AK_DO(ak_program_find(l.program, err));
    AK_DO(ak_fs_owned_open(&l.folder, err));
    AK_DO(AK_NEW(l.visits, l.launcher.count, err));
    for (size_t i = 0; i < l.launcher.count; i++) {
        start(&l.visits[i], &l, i);
    }
    AK_DO(visit_all(&l, cancel, err));
    count_compile_workers(&l);
    list = json_array();
    for (size_t i = 0; i < l.launcher.count; i++) {
        l.good = json_array_append(list, l.visits[i].said) == 0 && l.good;
    }
    return l.good ? ak_json_text(out_json, list, err) : ak_fail_memory(err);
}

ak_status ak_fleet_size(size_t *out, const char *launcher, const char *workers, const char *device,
                        ak_error *err)
{
    AK_AT_END(ak_launcher_close) ak_launcher l = {0};
    ak_status status =
        ak_launcher_open(&l, launcher, workers, device == NULL ? "auto" : device, err);
    *out = status == AK_OK ? l.count : 0;
    return status;
}
