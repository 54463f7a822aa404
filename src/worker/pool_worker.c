/* pool_worker.c: starts workers and compiles units; see pool_state.h. */
#include "worker/pool_state.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "problem/task_options.h"
#include "worker/process.h"

/* A compilation is limited in processor time. On the wall clock the pool waits for this many times
   that limit, longer than the compile worker itself waits (compile.h). */
#define COMPILE_CLOCK_TIMES 6
/* Limit for opening a task: the reference of a large problem is computed in double. */
#define OPEN_NS (1800 * AK_SECOND_NS)
/* A relay needs at most this long to end a launcher (relay_near.c). */
#define LINK_END_NS (8 * AK_SECOND_NS)

void ak_pool_worker_stop(ak_pool_worker *w)
{
    char how[128];
    if (w->linked) {
        ak_proc_hang_up(&w->proc);         /* the relay ends the launcher, which ends the worker */
        ak_proc_signal(&w->proc, SIGCONT); /* somebody may have stopped it */
        (void)ak_proc_wait(how, sizeof how, &w->proc, LINK_END_NS);
    }
    ak_process_kill_tree(&w->proc);
    ak_line_reader_free(&w->reader);
    w->busy = w->linked = w->stands = w->greeted = w->lost = w->final = false;
    w->stale = 0;
    w->why[0] = 0;
}

ak_status ak_pool_worker_start(ak_pool_worker *w, const ak_proc_spec *spec, ak_error *err)
{
    ak_pool_worker_stop(w);
    ak_line_reader_init(&w->reader);
    return ak_proc_start(&w->proc, spec, err);
}

static ak_status worker_start(ak_pool_worker *w, const ak_pool *pool, const char *role,
                              const char *what, ak_error *err)
{
    const char *const argv[] = {pool->program, "worker", role, what, NULL};
    const ak_proc_spec spec = {.argv = argv, .any_thread = true};
    return ak_pool_worker_start(w, &spec, err);
}

ak_status ak_pool_worker_read(bool *over, ak_pool_worker *w, ak_error *err)
{
    char chunk[65536];
    for (;;) {
        ssize_t got = read(w->proc.from, chunk, sizeof chunk);
        if (got > 0) {
            AK_DO(ak_line_reader_feed(&w->reader, chunk, (size_t)got, err));
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            *over = true;
            return AK_OK;
        } else if (errno == EAGAIN) {
            return AK_OK;
        }
    }
}

ak_status ak_pool_worker_ask(ak_pool_worker *w, ak_pool *pool, const char *op, json_t *request,
                             int64_t limit_ns, ak_error *err)
{
    ak_status status = AK_OK;
    if (request == NULL || !ak_json_set_text(request, "op", op) ||
        !ak_json_set(request, "id", json_integer(++pool->next_request))) {
        status = ak_fail_memory(err);
    } else {
        w->request = pool->next_request;
        status = ak_wire_send(w->proc.to, request, err);
    }
    json_decref(request);
    /* If sending failed, reading notices the end of the worker. */
    w->busy = true;
    w->deadline = ak_clock_ns() + limit_ns;
    return status;
}

/* Adds the implementation's language, or the backend's name if the implementation names no
   language, and the compilers among the values of the task's space. */
static void add_compilers(json_t *list, const ak_task *task)
{
    const char *language = task->implementation->language;
    (void)ak_json_append(list, json_string(language == NULL ? task->backend : language));
    for (size_t i = 0; i < ak_space_parameter_count(task->space); i++) {
        const ak_parameter *parameter = ak_space_parameter(task->space, i);
        for (size_t k = 0; parameter->use == AK_USE_COMPILER && k < parameter->value_count; k++) {
            if (parameter->values[k].type == AK_VALUE_STRING) {
                (void)ak_json_append(list, json_string(parameter->values[k].as.string));
            }
        }
    }
}

static json_t *compiler_names(const ak_pool *pool)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    json_t *list = ak_json_texts(usual, AK_COUNT(usual));
    add_compilers(list, pool->task);
    for (size_t i = 0; i < pool->options.other_count; i++) {
        add_compilers(list, pool->options.others[i]);
    }
    return list;
}

json_t *ak_pool_start_request(const ak_pool *pool, const char *folder)
{
    return json_pack("{s:s, s:o}", "folder", folder, "compilers", compiler_names(pool));
}

ak_status ak_pool_compiler_start(ak_pool *pool, ak_pool_worker *w, ak_error *err)
{
    AK_DO(worker_start(w, pool, "--compile", pool->backend->name, err));
    json_t *request = ak_pool_start_request(pool, pool->folder.path);
    AK_DO(ak_made(request, err));
    ak_status status = ak_pool_worker_ask(w, pool, "start", request, AK_POOL_SPARE_NS, err);
    w->at = AK_POOL_NONE;
    return status;
}

/* Adds the fields that only a worker on another machine needs. */
static bool add_elsewhere(json_t *request, json_t *task, const ak_pool *pool,
                          const ak_pool_device *d)
{
    char kernel[PATH_MAX];
    json_t *environment = NULL;
    const char *text = pool->options.environment;
    if (!ak_pool_travel_kernel(kernel, pool, d) ||
        (kernel[0] != 0 &&
         (!ak_json_set_text(task, "kernel", kernel) || !ak_json_set(task, "kept", json_true())))) {
        return false;
    }
    return text == NULL ||
           (ak_json_parse(&environment, text, strlen(text), "environment", NULL) == AK_OK &&
            ak_json_set(request, "environment", environment));
}

ak_status ak_pool_device_open(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    json_t *task = NULL;
    bool elsewhere = pool->launcher.ops != NULL;
    AK_DO(ak_task_spec_to_json(&task, pool->task, err));
    json_t *request = json_object();
    bool good =
        request != NULL && ak_json_set(request, "task", task) &&
        ak_json_set_text(request, "folder", elsewhere ? d->folder : pool->folder.path) &&
        (!elsewhere || add_elsewhere(request, task, pool, d)) &&
        ak_json_set(request, "launch_timeout_ns", json_integer(pool->options.launch_timeout_ns));
    if (!good) {
        json_decref(request);
        return ak_fail_memory(err);
    }
    return ak_pool_worker_ask(&d->worker, pool, "open", request, OPEN_NS, err);
}

ak_status ak_pool_device_start(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    bool elsewhere = pool->launcher.ops != NULL;
    d->state = AK_DEVICE_CLOSED;
    AK_DO(elsewhere ? ak_pool_seat_start(pool, d, err)
                    : worker_start(&d->worker, pool, "--device", d->name, err));
    d->state = AK_DEVICE_OPENING;
    /* a worker on another machine is told what to open when its relay has said hello */
    if (d->worker.linked && !d->worker.greeted) {
        return AK_OK;
    }
    ak_status status = ak_pool_device_open(pool, d, err);
    /* reading notices the end of a relay */
    return elsewhere && status == AK_CRASHED ? AK_OK : status;
}

void ak_pool_fault(ak_pool *pool, const ak_error *err)
{
    if (pool->fault.status == AK_OK) {
        pool->fault = *err;
    }
}

/* ---- compiling ----------------------------------------------------------------------------- */

int64_t ak_pool_compile_limit(const ak_pool *pool)
{
    return COMPILE_CLOCK_TIMES * pool->options.compile_timeout_ns + AK_POOL_SPARE_NS;
}

ak_status ak_pool_compile_request(json_t **out, const ak_pool *pool, const ak_pool_device *d,
                                  const ak_pool_unit *u, ak_error *err)
{
    AK_AT_END(ak_options_clear) ak_options options = {0};
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    size_t bytes;
    int threads;
    /* A configuration that cannot be run is not compiled. */
    AK_DO(ak_task_workspace(&bytes, &threads, u->task, &u->task->shape, &u->config, err));
    AK_DO(ak_task_options(&options, u->task, &u->config, err));
    if (u->specialised) {
        AK_DO(ak_options_add(&options, AK_OWN_SIZE_ONLY, err));
    }
    if (u->task == pool->task) {
        ak_pool_travel_path(source, d, pool->source);
    } else {
        AK_DO(ak_pool_source_path(source, pool, u->task, err));
    }
    ak_pool_travel_path(artifact, d, u->artifact);
    *out = json_pack(
        "{s:o, s:s, s:s*, s:s, s:s, s:I, s:o*, s:I, s:b}", "options",
        ak_json_texts((const char *const *)options.argv, options.count), "source", source,
        "compiler", options.compiler, "folder", d == NULL ? pool->folder.path : d->folder,
        "artifact", artifact, "timeout_ns", (json_int_t)pool->options.compile_timeout_ns, "again",
        u->attempts == 0 ? NULL : json_true(), "memory_max", (json_int_t)pool->options.memory_max,
        "reject_slow", (int)u->task->implementation->rejects_spills);
    return ak_made(*out, err);
}

void ak_pool_unit_fails(ak_pool_unit *u, ak_trial_status status, const char *reason)
{
    u->state = AK_UNIT_COMPILED;
    u->compiled = (ak_compile_result){.status = status, .reason = ak_strdup(reason)};
}

size_t ak_pool_next_waiting(ak_pool *pool)
{
    int64_t now = ak_clock_ns();
    while (pool->next_unit < pool->unit_count &&
           (pool->units[pool->next_unit].state != AK_UNIT_WAITING ||
            pool->units[pool->next_unit].users == 0)) {
        pool->next_unit++;
    }
    size_t at = pool->next_unit;
    while (at < pool->unit_count &&
           (pool->units[at].state != AK_UNIT_WAITING || pool->units[at].users == 0 ||
            pool->units[at].not_before > now)) {
        at++;
    }
    return at;
}

void ak_pool_unit_again(ak_pool *pool, size_t at, const ak_error *why)
{
    ak_pool_unit *u = &pool->units[at];
    u->not_before = ak_clock_ns() + (AK_POOL_PAUSE_NS << u->attempts);
    u->fault = *why;
    if (++u->attempts < AK_POOL_ATTEMPTS) {
        u->state = AK_UNIT_WAITING;
        pool->next_unit = at < pool->next_unit ? at : pool->next_unit;
        return;
    }
    ak_pool_unit_fails(u, AK_TRIAL_TIMED_OUT, why->text);
    u->deleted = true; /* a later job compiles it again */
}

void ak_pool_unit_lost(ak_pool *pool, size_t at)
{
    ak_pool_unit *u = &pool->units[at];
    pool->artifacts -=
        u->state == AK_UNIT_COMPILED && u->compiled.status == AK_TRIAL_OK && !u->deleted ? 1 : 0;
    u->place = AK_POOL_NONE;
    if (u->state == AK_UNIT_COMPILED && u->users == 0) {
        u->deleted = true; /* a later job compiles it again */
        return;
    }
    ak_compile_result_clear(&u->compiled);
    u->state = AK_UNIT_WAITING;
    u->deleted = false;
    pool->next_unit = at < pool->next_unit ? at : pool->next_unit;
}

bool ak_pool_is_loud(const ak_pool *pool)
{
    for (size_t i = 0; pool->backend->is_cpu && i < pool->compiler_count; i++) {
        const ak_pool_worker *w = &pool->compilers[i];
        if (w->busy && w->at != AK_POOL_NONE && pool->units[w->at].attempts > 0) {
            return true;
        }
    }
    return pool->backend->is_cpu && ak_pool_cores_are_loud(pool);
}

/* Gives waiting units to the free compile workers of this machine. With a launcher these are
   started when they are first needed. */
static void compile_here(ak_pool *pool)
{
    for (size_t i = 0; i < pool->compiler_count; i++) {
        ak_pool_worker *w = &pool->compilers[i];
        ak_error err = AK_ERROR_INIT;
        if (w->busy) {
            continue;
        }
        size_t at = ak_pool_next_waiting(pool);
        if (at == pool->unit_count) {
            return;
        }
        if (w->proc.pid == 0) {
            if (pool->launcher.ops != NULL && ak_pool_compiler_start(pool, w, &err) != AK_OK) {
                ak_pool_fault(pool, &err);
            }
            continue;
        }
        ak_pool_unit *u = &pool->units[at];
        json_t *request = NULL;
        if (ak_pool_compile_request(&request, pool, NULL, u, &err) != AK_OK) {
            ak_pool_unit_fails(u, AK_TRIAL_INVALID, err.text);
            continue;
        }
        u->state = AK_UNIT_COMPILING;
        w->at = at;
        w->number = w->number == 0 ? ++pool->numbered : w->number;
        (void)ak_pool_worker_ask(w, pool, "compile", request, ak_pool_compile_limit(pool), &err);
    }
}

void ak_pool_compile(ak_pool *pool)
{
    if (!ak_pool_cores_compile(pool)) {
        compile_here(pool);
    }
}

bool ak_pool_unit_compiled(ak_pool *pool, size_t at, int worker, const json_t *reply)
{
    ak_error err = AK_ERROR_INIT;
    ak_pool_unit *u = &pool->units[at];
    ak_status status = ak_message_fault(reply, &err);
    if (status != AK_OK && status != AK_INVALID && status != AK_LIMIT) {
        ak_pool_unit_again(pool, at, &err);
        return false;
    }
    u->attempts = 0;
    status = status == AK_OK ? ak_message_to_compile(&u->compiled, reply, &err) : status;
    if (status != AK_OK) {
        ak_pool_unit_fails(u, AK_TRIAL_COMPILE_ERROR, err.text);
    }
    u->state = AK_UNIT_COMPILED;
    u->compile_worker = worker;
    u->ended_ns = ak_clock_ns();
    pool->artifacts += u->compiled.status == AK_TRIAL_OK ? 1 : 0;
    return u->compiled.status == AK_TRIAL_OK;
}

void ak_pool_compiler_replied(ak_pool *pool, ak_pool_worker *w, const json_t *reply)
{
    size_t at = w->at;
    w->busy = false;
    w->deaths = 0;
    w->at = AK_POOL_NONE;
    if (at != AK_POOL_NONE) { /* otherwise it is the reply to "start" */
        (void)ak_pool_unit_compiled(pool, at, w->number, reply);
    }
}
