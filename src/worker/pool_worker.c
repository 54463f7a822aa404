/* pool_worker.c: starting workers and compiling, see pool_state.h. */
#include "worker/pool_state.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "problem/launch.h"
#include "worker/process.h"

/* The reference of a large problem, in double. */
#define OPEN_NS (1800 * AK_SECOND_NS)

void ak_pool_worker_stop(ak_pool_worker *w)
{
    ak_process_kill_tree(&w->proc);
    ak_line_reader_free(&w->reader);
    w->busy = false;
}

static ak_status worker_start(ak_pool_worker *w, const ak_pool *pool, const char *role,
                              const char *what, ak_error *err)
{
    const char *const argv[] = {pool->program, "worker", role, what, NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_pool_worker_stop(w);
    ak_line_reader_init(&w->reader);
    return ak_proc_start(&w->proc, &spec, err);
}

/* Sends {"op": op, "id": ...} with the fields of `request`, which is taken. */
ak_status ak_pool_worker_ask(ak_pool_worker *w, ak_pool *pool, const char *op, json_t *request,
                             int64_t limit_ns, ak_error *err)
{
    ak_status status = AK_OK;
    if (request == NULL || !ak_json_set_text(request, "op", op) ||
        !ak_json_set(request, "id", json_integer(++pool->next_request))) {
        status = ak_fail_memory(err);
    } else {
        status = ak_protocol_send(w->proc.to, request, err);
    }
    json_decref(request);
    w->busy = true; /* if sending failed, its end will be noticed */
    w->deadline = ak_clock_ns() + limit_ns;
    return status;
}

static json_t *compiler_names(const ak_pool *pool)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        (void)json_array_append_new(list, json_string(usual[i]));
    }
    for (size_t i = 0; i < ak_space_parameter_count(pool->task->space); i++) {
        const ak_parameter *parameter = ak_space_parameter(pool->task->space, i);
        for (size_t k = 0; parameter->use == AK_USE_COMPILER && k < parameter->value_count; k++) {
            if (parameter->values[k].type == AK_VALUE_STRING) {
                (void)json_array_append_new(list, json_string(parameter->values[k].as.string));
            }
        }
    }
    return list;
}

ak_status ak_pool_compiler_start(ak_pool *pool, ak_pool_worker *w, ak_error *err)
{
    ak_status status = worker_start(w, pool, "--compile", pool->backend->name, err);
    if (status != AK_OK) {
        return status;
    }
    json_t *request = json_object();
    bool good = request != NULL && ak_json_set_text(request, "folder", pool->folder.path) &&
                ak_json_set(request, "compilers", compiler_names(pool));
    if (!good) {
        json_decref(request);
        return ak_fail_memory(err);
    }
    status = ak_pool_worker_ask(w, pool, "start", request, AK_POOL_SPARE_NS, err);
    w->at = AK_POOL_NONE;
    return status;
}

ak_status ak_pool_device_start(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    json_t *task = NULL;
    ak_status status = worker_start(&d->worker, pool, "--device", d->name, err);
    d->state = AK_DEVICE_CLOSED;
    status = status == AK_OK ? ak_task_spec_to_json(&task, pool->task, err) : status;
    if (status != AK_OK) {
        return status;
    }
    json_t *request = json_object();
    bool good =
        request != NULL && ak_json_set(request, "task", task) &&
        ak_json_set_text(request, "folder", pool->folder.path) &&
        ak_json_set(request, "launch_timeout_ns", json_integer(pool->options.launch_timeout_ns));
    if (!good) {
        json_decref(request);
        return ak_fail_memory(err);
    }
    d->state = AK_DEVICE_OPENING;
    return ak_pool_worker_ask(&d->worker, pool, "open", request, OPEN_NS, err);
}

void ak_pool_fault(ak_pool *pool, const ak_error *err)
{
    if (pool->fault.status == AK_OK) {
        pool->fault = *err;
    }
}

/* ---- compiling ----------------------------------------------------------------------------- */

static ak_status compile_request(json_t **out, const ak_pool *pool, const ak_pool_unit *u,
                                 ak_error *err)
{
    ak_options options = {0};
    ak_status status = ak_task_options(&options, pool->task, &u->config, err);
    if (status == AK_OK && u->own_size) {
        status = ak_options_add(&options, AK_LAUNCH_OWN_SIZE_ONLY, err);
    }
    json_t *request = NULL, *list = NULL;
    if (status == AK_OK) {
        request = json_object();
        list = json_array();
        bool good = request != NULL && list != NULL;
        for (size_t i = 0; good && i < options.count; i++) {
            good = json_array_append_new(list, json_string(options.argv[i])) == 0;
        }
        good = good && json_object_set(request, "options", list) == 0;
        good = good && ak_json_set_text(request, "source", pool->source);
        good = good && (options.compiler == NULL ||
                        ak_json_set_text(request, "compiler", options.compiler));
        good = good && ak_json_set_text(request, "folder", pool->folder.path);
        good = good && ak_json_set_text(request, "artifact", u->artifact);
        good = good &&
               ak_json_set(request, "timeout_ns", json_integer(pool->options.compile_timeout_ns));
        good = good && ak_json_set(request, "memory_max",
                                   json_integer((json_int_t)pool->options.memory_max));
        json_decref(list);
        status = good ? AK_OK : ak_fail_memory(err);
    }
    ak_options_clear(&options);
    if (status != AK_OK) {
        json_decref(request);
        return status;
    }
    *out = request;
    return AK_OK;
}

void ak_pool_unit_fails(ak_pool_unit *u, ak_trial_status status, const char *reason)
{
    u->state = AK_UNIT_COMPILED;
    u->compiled = (ak_compile_result){.status = status, .reason = ak_strdup(reason)};
}

void ak_pool_compile(ak_pool *pool)
{
    for (size_t i = 0; i < pool->compiler_count; i++) {
        ak_pool_worker *w = &pool->compilers[i];
        if (w->busy || w->proc.pid == 0) {
            continue;
        }
        while (pool->next_unit < pool->unit_count &&
               (pool->units[pool->next_unit].state != AK_UNIT_WAITING ||
                pool->units[pool->next_unit].users == 0)) {
            pool->next_unit++;
        }
        if (pool->next_unit == pool->unit_count) {
            return;
        }
        ak_pool_unit *u = &pool->units[pool->next_unit];
        ak_error err = AK_ERROR_INIT;
        json_t *request = NULL;
        if (compile_request(&request, pool, u, &err) != AK_OK) {
            ak_pool_unit_fails(u, AK_TRIAL_INVALID, err.text);
            continue;
        }
        u->state = AK_UNIT_COMPILING;
        w->at = pool->next_unit++;
        (void)ak_pool_worker_ask(w, pool, "compile", request,
                                 pool->options.compile_timeout_ns + AK_POOL_SPARE_NS, &err);
    }
}

void ak_pool_compiler_replied(ak_pool *pool, ak_pool_worker *w, const json_t *reply)
{
    ak_error err = AK_ERROR_INIT;
    w->busy = false;
    w->deaths = 0;
    if (w->at == AK_POOL_NONE) {
        return; /* it has started */
    }
    ak_pool_unit *u = &pool->units[w->at];
    w->at = AK_POOL_NONE;
    ak_status status = ak_message_fault(reply, &err);
    if (status == AK_UNAVAILABLE) { /* no compiler: no other configuration will do better */
        ak_pool_fault(pool, &err);
    }
    status = status == AK_OK ? ak_message_to_compile(&u->compiled, reply, &err) : status;
    if (status != AK_OK) {
        ak_pool_unit_fails(u, AK_TRIAL_COMPILE_ERROR, err.text);
    }
    u->state = AK_UNIT_COMPILED;
    pool->artifacts += u->compiled.status == AK_TRIAL_OK ? 1 : 0;
}
