/* pool_fleet.c: manages workers on other machines, and chooses which device is the home; see
   pool_state.h. */
#include "worker/pool_state.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/plain.h"
#include "worker/relay.h"

/* A seat is given up when STARTS_MAX starts in a row have failed. The pause after the first failure
   is 2 / PAUSE_PART of a beat; it doubles with each further one. */
#define STARTS_MAX 3
#define PAUSE_PART 5

/* ---- the home -------------------------------------------------------------------------------- */

static bool works(const ak_pool_device *d)
{
    return d->state == AK_DEVICE_FREE || d->state == AK_DEVICE_JOB || d->state == AK_DEVICE_ASKED;
}

static size_t usable(const ak_pool *pool)
{
    return pool->device_count - ak_pool_given_up(pool);
}

bool ak_pool_promote(ak_pool *pool)
{
    for (size_t i = 0; i < pool->device_count && !works(&pool->devices[pool->home]); i++) {
        if (works(&pool->devices[i])) {
            pool->home = i;
        }
    }
    /* a device that may still come back or become ready is better than none */
    for (size_t i = 0;
         i < pool->device_count && pool->devices[pool->home].state == AK_DEVICE_GIVEN_UP; i++) {
        if (pool->devices[i].state != AK_DEVICE_GIVEN_UP) {
            pool->home = i;
        }
    }
    return usable(pool) > 0;
}

void ak_pool_give_up(ak_pool *pool, ak_pool_device *d, const char *text)
{
    size_t opened = 0;
    ak_error why = AK_ERROR_INIT;
    /* `text` may be the worker's `why`, which ak_pool_worker_stop clears */
    ak_plain_copy(pool->gone, sizeof pool->gone, text);
    ak_plain_copy(d->gone, sizeof d->gone, text);
    text = pool->gone;
    ak_pool_cores_lost(pool, d);
    ak_pool_worker_stop(&d->worker);
    d->state = AK_DEVICE_GIVEN_UP;
    for (size_t i = 0; i < pool->device_count; i++) {
        opened += pool->devices[i].opened ? 1 : 0;
    }
    if (!ak_pool_promote(pool) || (opened < pool->least && usable(pool) < pool->least)) {
        ak_status status = pool->launcher.ops == NULL ? AK_CRASHED : AK_UNAVAILABLE;
        if (pool->device_count == 1) {
            (void)ak_fail(&why, status, "%s", text);
        } else {
            (void)ak_fail(&why, status, "%zu of %zu workers are left, and %zu %s needed: %s",
                          usable(pool), pool->device_count, pool->least,
                          pool->least == 1 ? "is" : "are", text);
        }
        ak_pool_fault(pool, &why);
    }
}

void ak_pool_mind_deadline(ak_pool *pool)
{
    ak_error why = AK_ERROR_INIT;
    bool any = pool->launcher.ops == NULL || pool->options.deadline_ns == 0 ||
               ak_clock_ns() < pool->options.deadline_ns;
    for (size_t i = 0; i < pool->device_count && !any; i++) {
        any = works(&pool->devices[i]);
    }
    if (!any) {
        (void)ak_fail(&why, AK_UNAVAILABLE,
                      "no worker is ready, and the time of the run is over: %s",
                      pool->gone[0] != 0      ? pool->gone
                      : pool->launcher.queues ? "they still wait in the queue"
                                              : "none has opened the task yet");
        ak_pool_fault(pool, &why);
    }
}

/* ---- seats ----------------------------------------------------------------------------------- */

ak_status ak_pool_seats(ak_pool *pool, ak_error *err)
{
    ak_launcher *l = &pool->launcher;
    AK_DO(ak_launcher_open(l, pool->options.launcher, pool->options.workers, pool->task->devices,
                           err));
    if (l->whole > l->count) { /* other tuners on this machine have the other seats */
        size_t share = pool->compiler_count * l->count / l->whole;
        pool->compiler_count = share == 0 ? 1 : share;
    }
    if (pool->options.no_device) {
        return AK_OK;
    }
    pool->device_count = pool->options.every_device ? l->count : 1;
    pool->least = pool->options.every_device ? l->least : 1;
    for (size_t i = 0; i < pool->device_count; i++) {
        pool->devices[i].fetching = AK_POOL_NONE;
        (void)snprintf(pool->devices[i].name, sizeof pool->devices[i].name, "%.60s",
                       l->seats[i].device);
    }
    return AK_OK;
}

ak_status ak_link_start(ak_pool_worker *w, const ak_link *link, ak_error *err)
{
    char beat[24], count[24];
    const ak_launcher *l = link->launcher;
    ak_launcher run = *l; /* the run is named after its folder, whose name is unique */
    AK_AT_END(ak_words_free) ak_words words = {.count = 0}, sweep = {.count = 0};
    (void)snprintf(beat, sizeof beat, "%lld", (long long)ak_relay_beat_ms());
    (void)snprintf(run.run, sizeof run.run, "%.60s", ak_fs_base(link->folder));
    const char *const far[] = {link->program,
                               "worker",
                               "--stdio",
                               beat,
                               link->folder,
                               "--device",
                               l->seats[link->seat].device,
                               link->backend,
                               NULL};
    const char *argv[6 + 2 * AK_WORDS_MAX + 1] = {link->program,         "worker", "--link", beat,
                                                  l->queues ? "1" : "0", count};
    AK_DO(ak_launcher_command(&words, &run, link->seat, far, err));
    AK_DO(l->ops->sweep != NULL ? l->ops->sweep(&sweep, &run, link->seat, err) : AK_OK);
    (void)snprintf(count, sizeof count, "%zu", sweep.count);
    for (size_t i = 0; i < sweep.count; i++) {
        argv[6 + i] = sweep.at[i];
    }
    for (size_t i = 0; i < words.count; i++) {
        argv[6 + sweep.count + i] = words.at[i];
    }
    const ak_proc_spec spec = {.argv = argv, .any_thread = true, .passes = l->ops->passes};
    AK_DO(ak_pool_worker_start(w, &spec, err));
    w->linked = w->busy = true;
    w->request = 0; /* nothing is asked before the worker has said hello */
    /* a stopped relay reads nothing; no write may block on it */
    (void)fcntl(w->proc.to, F_SETFL, O_NONBLOCK);
    return AK_OK;
}

/* Has the relay start another device worker. The connection and the files on its machine remain. */
static ak_status begin_again(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    ak_pool_worker *w = &d->worker;
    json_t *line = json_pack("{s:I}", "begin", (json_int_t)++w->begun);
    ak_status status = ak_message_send(w->proc.to, line, err);
    w->stale = pool->next_request;
    w->lost = w->final = false;
    w->why[0] = 0;
    return status == AK_CRASHED ? AK_OK : status; /* reading notices the end of the relay */
}

ak_status ak_pool_seat_start(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    if (d->worker.stands) {
        return begin_again(pool, d, err);
    }
    ak_pool_cores_lost(pool, d);
    const ak_link link = {&pool->launcher, (size_t)(d - pool->devices), pool->program,
                          pool->folder.path, pool->backend->name};
    return ak_link_start(&d->worker, &link, err);
}

void ak_pool_seats_again(ak_pool *pool)
{
    int64_t now = ak_clock_ns();
    for (size_t i = 0; pool->launcher.ops != NULL && i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        ak_error err = AK_ERROR_INIT;
        if (d->state == AK_DEVICE_CLOSED && now >= d->not_before &&
            ak_pool_device_start(pool, d, &err) != AK_OK && err.status != AK_CRASHED) {
            ak_pool_seat_ended(pool, d, err.text, true); /* for example a limit on open files */
        }
    }
}

void ak_pool_seat_ended(ak_pool *pool, ak_pool_device *d, const char *text, bool opening)
{
    bool final = d->worker.final;
    int deaths = ++d->worker.deaths;
    d->failures = opening ? d->failures + 1 : 0;
    ak_plain_copy(pool->gone, sizeof pool->gone, text);
    ak_plain_copy(d->gone, sizeof d->gone, text);
    if (final || d->failures >= STARTS_MAX || deaths >= AK_POOL_DEVICE_DEATHS) {
        ak_pool_give_up(pool, d, text);
        return;
    }
    if (!d->worker.stands) {
        ak_pool_cores_lost(pool, d);
        ak_pool_worker_stop(&d->worker);
    }
    d->state = AK_DEVICE_CLOSED;
    int64_t pause = ak_relay_beat_ms() * AK_MS_NS / PAUSE_PART;
    d->not_before = ak_clock_ns() + (opening ? pause << d->failures : 0);
    (void)ak_pool_promote(pool);
}

/* ---- what relays say ------------------------------------------------------------------------- */

/* Notes the host and folders of a worker that said hello, and has it open the task. */
static void greet(ak_pool *pool, ak_pool_device *d, const json_t *hello)
{
    char host[32];
    ak_error err = AK_ERROR_INIT;
    const char *folder = ak_json_text_at(hello, "folder");
    const size_t seat = (size_t)(d - pool->devices);
    ak_plain_copy(host, sizeof host, ak_json_text_at(hello, "host"));
    (void)snprintf(d->name, sizeof d->name, "%.30s@%.31s", pool->launcher.seats[seat].device, host);
    (void)snprintf(d->folder, sizeof d->folder, "%s", folder);
    d->away = !json_is_true(json_object_get(hello, "shared"));
    d->worker.greeted = d->worker.stands = true;
    d->worker.begun = 1;
    if (ak_pool_cores_open(pool, d, hello, &err) != AK_OK ||
        ak_pool_travel_begin(pool, d, &err) != AK_OK ||
        ak_pool_device_open(pool, d, &err) == AK_NO_MEMORY) {
        ak_pool_fault(pool, &err);
    }
}

/* Handles {"died": how, "begun": number, "lost": ...}. */
static ak_link_message note_death(ak_pool_device *d, const json_t *message)
{
    ak_pool_worker *w = &d->worker;
    if (json_integer_value(json_object_get(message, "begun")) != w->begun ||
        d->state == AK_DEVICE_CLOSED) {
        return AK_LINK_HANDLED; /* the message is of an earlier worker, or this end is known */
    }
    ak_plain_copy(w->why, sizeof w->why, ak_json_text_at(message, "died"));
    if (d->state == AK_DEVICE_OPENING && strcmp(w->why, AK_RELAY_NO_DEVICE) == 0) {
        (void)snprintf(w->why, sizeof w->why, "there is no device %.*s there",
                       (int)strcspn(d->name, "@"), d->name);
    }
    w->lost = json_is_true(json_object_get(message, "lost"));
    w->final = false;
    return AK_LINK_DIED;
}

ak_status ak_pool_link_said(ak_link_message *out, ak_pool *pool, ak_pool_device *d,
                            const json_t *message, ak_error *err)
{
    ak_pool_worker *w = &d->worker;
    const int64_t id = json_integer_value(json_object_get(message, "id"));
    *out = AK_LINK_HANDLED;
    if (json_object_get(message, "hello") != NULL && !w->greeted) {
        greet(pool, d, message);
    } else if (json_object_get(message, "core") != NULL) {
        return ak_pool_core_said(pool, d, message, err);
    } else if (json_object_get(message, "file") != NULL ||
               json_object_get(message, "fetched") != NULL) {
        return ak_pool_travel_said(pool, d, message, err);
    } else if (json_object_get(message, "died") != NULL) {
        *out = note_death(d, message);
    } else if (json_object_get(message, "ended") != NULL) {
        ak_plain_copy(w->why, sizeof w->why, ak_json_text_at(message, "ended"));
        w->lost = json_is_true(json_object_get(message, "lost"));
        w->final = json_is_true(json_object_get(message, "final"));
        *out = AK_LINK_OVER;
    } else if (id <= 0 || id > w->stale) {
        *out = AK_LINK_WORKERS;
    }
    return AK_OK;
}
