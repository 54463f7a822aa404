/* pool_ask.c: asks questions of a device worker that belongs to a pool or is started for the
   question. */
#include "worker/pool_state.h"

#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/program.h"
#include "worker/process.h"

/* A probe loads compilers and libraries and may measure ceilings, all of which takes some
   seconds. */
#define PROBE_SECONDS 120

/* Asks the home's worker as soon as it is free, and waits for the answer. */
static ak_status ask(json_t **out, ak_pool *pool, const char *op, ak_error *err)
{
    bool asked = false;
    AK_FAIL_IF(pool->device_count == 0, err, AK_INVALID, "the pool was opened without a device");
    json_decref(pool->answer);
    pool->answer = NULL;
    pool->asked = 0;
    pool->ask_again = false;
    for (;;) {
        ak_pool_device *home = &pool->devices[pool->home];
        asked = asked && !pool->ask_again;
        pool->ask_again = false;
        if (pool->answer != NULL) {
            AK_DO(ak_message_fault(pool->answer, err));
            *out = pool->answer;
            pool->answer = NULL;
            return AK_OK;
        }
        AK_FAIL_IF(ak_pool_cancelled(pool), err, AK_CANCELLED, "cancelled");
        if (!asked && home->state == AK_DEVICE_FREE) {
            asked = true;
            home->state = AK_DEVICE_ASKED;
            (void)ak_pool_worker_ask(&home->worker, pool, op, json_object(), AK_POOL_QUESTION_NS,
                                     NULL);
            pool->asked = pool->next_request;
        }
        AK_DO(ak_pool_turn(pool, AK_POOL_CANCEL_POLL_NS, false, err));
    }
}

json_t *ak_pool_preparation(const ak_pool *pool)
{
    json_t *prepared = pool->device_count == 0 ? NULL : pool->devices[pool->home].prepared;
    json_t *out = prepared == NULL ? NULL : json_deep_copy(prepared);
    (void)json_object_del(out, "ok");
    (void)json_object_del(out, "id");
    return out;
}

ak_status ak_pool_ceilings(ak_ceilings *out, ak_pool *pool, ak_error *err)
{
    json_auto_t *answer = NULL;
    if (ak_pool_recalls(pool)) {
        *out = (ak_ceilings){0}; /* all zero: unknown */
        return AK_OK;
    }
    AK_DO(ask(&answer, pool, "ceilings", err));
    return ak_message_to_ceilings(out, answer, err);
}

ak_status ak_pool_baselines(ak_baseline_info **out, size_t *count, ak_pool *pool, ak_error *err)
{
    json_auto_t *answer = NULL;
    json_t *list = NULL;
    if (ak_pool_recalls(pool)) {
        *out = NULL;
        *count = 0;
        return AK_OK;
    }
    ak_baseline_info *infos = NULL;
    size_t done = 0;
    ak_status status = AK_OK;
    AK_DO(ask(&answer, pool, "baselines", err));
    AK_TRY(ak_json_array_or_null(&list, answer, "baselines", "wire protocol", err));
    AK_TRY(AK_NEW(infos, json_array_size(list) + 1, err));
    for (; done < json_array_size(list); done++) {
        AK_TRY(ak_message_to_baseline(&infos[done], json_array_get(list, done), err));
    }
    *out = infos;
    *count = done;
    infos = NULL;
out:
    ak_baseline_info_free(infos, done);
    return status;
}

ak_status ak_pool_probe(json_t **out, bool ceilings, ak_error *err)
{
    char program[AK_PATH_MAX];
    AK_AT_END(ak_process_kill_tree) ak_proc proc = {0};
    AK_AT_END(ak_line_reader_free) ak_line_reader reader = {0};
    json_auto_t *reply = NULL;
    AK_DO(ak_program_find(program, err));
    const char *const argv[] = {program, "worker", "--device", "auto", NULL};
    ak_proc_spec spec = {.argv = argv};
    ak_line_reader_init(&reader);
    AK_DO(ak_proc_start(&proc, &spec, err));
    AK_DO(ak_message_send(
        proc.to, json_pack("{s:s, s:i, s:b}", "op", "probe", "id", 1, "ceilings", (int)ceilings),
        err));
    struct pollfd ready = {.fd = proc.from, .events = POLLIN};
    const int64_t until = ak_clock_ns() + PROBE_SECONDS * AK_SECOND_NS;
    int answered;
    do {
        const int64_t left = (until - ak_clock_ns()) / AK_MS_NS;
        answered = poll(&ready, 1, left > 0 ? (int)left : 0);
    } while (answered < 0 && errno == EINTR);
    AK_FAIL_IF(answered == 0, err, AK_TIMED_OUT,
               "no answer within %d s about the devices of this machine: a driver may hang; try "
               "`nvidia-smi`",
               PROBE_SECONDS);
    AK_DO(ak_wire_receive(&reply, proc.from, &reader, err));
    AK_FAIL_IF(reply == NULL, err, AK_CRASHED, "%s: the worker ended at once", program);
    AK_DO(ak_message_fault(reply, err));
    (void)json_object_del(reply, "ok");
    (void)json_object_del(reply, "id");
    AK_GIVE(out, reply);
    return AK_OK;
}
