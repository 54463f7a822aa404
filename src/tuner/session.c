/* session.c: opens and closes a session, and says what its results depend on; see session.h. */
#include "tuner/session.h"

#include "archive/archive.h"
#include "backend/mix.h"
#include "measure/ceilings.h"
#include "worker/environment.h"

ak_status ak_session_environment(char hash[AK_ENVIRONMENT_BYTES], char **out_json,
                                 const ak_task *task, ak_error *err)
{
    json_auto_t *facts = NULL;
    char *text = NULL;
    AK_FAIL_IF(task->sheet, err, AK_UNAVAILABLE,
               "%s is known by its data sheet: its spaces can be listed, nothing can be "
               "run on it; `autokernel doctor` lists the devices of this machine",
               task->device);
    AK_DO(ak_environment_facts(&facts, task, err));
    AK_DO(ak_json_text(&text, facts, err));
    ak_hash_text(hash, text, strlen(text));
    *out_json = text;
    return AK_OK;
}

/* Computes a hash that this environment has in older archives (ak_sources_hash_former). */
static ak_status former_hash(char former[AK_HASH_QUICK_BYTES], int which, const ak_task *task,
                             const char *words, ak_error *err)
{
    json_auto_t *facts = NULL;
    AK_FREED char *text = NULL;
    char source[AK_SOURCES_HASH_BYTES];
    AK_DO(ak_json_parse(&facts, words, strlen(words), "environment", err));
    AK_DO(ak_sources_hash_former(source, which, task->problem, task->implementation, err));
    AK_DO(ak_stored(ak_json_set_text(facts, "source", source), err));
    AK_DO(ak_json_text(&text, facts, err));
    ak_hash_quick(former, text, strlen(text));
    return AK_OK;
}

void ak_session_rename(const ak_task *task, ak_archive *archive, const char *hash,
                       const char *words)
{
    char former[AK_HASH_QUICK_BYTES];
    for (int which = 0; archive != NULL && which < AK_SOURCES_FORMER; which++) {
        bool renamed = false;
        if (former_hash(former, which, task, words, NULL) == AK_OK &&
            ak_archive_rename_environment(&renamed, archive, former, hash, words, NULL) == AK_OK &&
            renamed) {
            ak_session_keep_sources(task, archive);
        }
    }
}

void ak_session_keep_sources(const ak_task *task, ak_archive *archive)
{
    AK_AT_END(ak_pack_clear) ak_pack sources = {0};
    if (archive != NULL && !task->recorded && !task->sheet &&
        ak_sources_of(&sources, task->problem, task->implementation, AK_SOURCES_DATA, NULL) ==
            AK_OK) {
        (void)ak_archive_keep_sources(archive, task->source_hash, &sources, NULL);
    }
}

ak_status ak_session_open(ak_session *out, const ak_task *task, const ak_pool_options *options,
                          ak_error *err)
{
    AK_AT_END(ak_session_close) ak_session opened = {.task = task, .next_job = 1};
    ak_pool_options pool = *options;
    pool.launcher = task->launcher;
    pool.workers = task->workers;
    pool.cancel = options->cancel == NULL ? task->cancel : options->cancel;
    *out = (ak_session){0};
    AK_FAIL_IF(task->recorded && task->launcher != NULL, err, AK_INVALID,
               "--launcher: a recording is searched by this process; leave it out");
    AK_DO(task->recorded ? AK_OK : ak_problem_runnable(task->problem, err));
    AK_DO(ak_session_environment(opened.environment, &opened.environment_json, task, err));
    for (size_t i = 0; i < options->other_count; i++) { /* fails if one cannot run here */
        char hash[AK_ENVIRONMENT_BYTES], *facts = NULL;
        AK_DO(ak_session_environment(hash, &facts, options->others[i], err));
        ak_free(facts);
    }
    pool.environment = opened.environment_json;
    AK_DO(ak_pool_open(&opened.pool, task, &pool, err));
    AK_GIVE(out, opened);
    return AK_OK;
}

const ak_protocol *ak_session_protocol(const ak_session *session)
{
    const ak_protocol *protocol = NULL;
    /* ak_task_open has checked that this protocol exists. */
    return ak_protocol_find(&protocol, session->task->protocol, NULL) == AK_OK
               ? protocol
               : &ak_protocols[AK_PROTOCOL_INTERLEAVED];
}

/* Builds the key of the ceilings: backend, dtype, operations that the device does per clock in this
   task, and a hash of the environment without the facts that do not affect the ceilings. If the
   operations are not known, the hash includes the task's options. */
static ak_status name_ceilings(char **out, const char *environment, const ak_task *task,
                               ak_error *err)
{
    static const char *const others[] = {"source",  "autokernel", "numerics", "compilers",
                                         "sandbox", "libc",       "reference"};
    json_auto_t *facts = NULL;
    AK_FREED char *text = NULL;
    char hash[AK_ENVIRONMENT_BYTES];
    AK_AT_END(ak_buf_free) ak_buf key = AK_BUF(1u << 10);
    const ak_backend_ops *backend = NULL;
    AK_DO(ak_backend_find(&backend, task->backend, err));
    double rate = backend->flops_per_clock == NULL
                      ? 0
                      : backend->flops_per_clock(task->constants, ak_task_operands(task));
    AK_DO(ak_json_parse(&facts, environment, strlen(environment), "environment", err));
    for (size_t i = 0; i < AK_COUNT(others); i++) {
        (void)json_object_del(facts, others[i]);
    }
    if (backend->flops_per_clock != NULL && rate <= 0) {
        /* It is not known how options, such as the precision of f32, change the arithmetic. */
        AK_DO(ak_stored(ak_json_set_text(facts, "choices", task->choices_text), err));
    }
    AK_DO(ak_json_text(&text, facts, err));
    ak_hash_text(hash, text, strlen(text));
    ak_buf_print(&key, "%s %s %.0f %s", task->backend, ak_dtype_text(ak_task_operands(task)), rate,
                 hash);
    return ak_buf_take(out, &key, err);
}

ak_status ak_session_ceilings(ak_session *session, ak_error *err)
{
    ak_ceilings now = {0};
    AK_DO(ak_pool_ceilings(&now, session->pool, err));
    if (ak_pool_recalls(session->pool)) {
        return AK_OK;
    }
    if (session->ceilings_key == NULL) {
        AK_DO(name_ceilings(&session->ceilings_key, session->environment_json, session->task, err));
    }
    ak_ceilings_keep(&now, session->ceilings_key);
    (void)ak_ceilings_raise(&session->ceilings, &now);
    return AK_OK;
}

ak_status ak_session_survey(ak_session *session, ak_error *err)
{
    ak_status status = ak_session_ceilings(session, err);
    return status != AK_OK ? status
                           : ak_pool_baselines(&session->baselines, &session->baseline_count,
                                               session->pool, err);
}

bool ak_session_look(ak_buf *out, const ak_session *session, const ak_config *config)
{
    char path[AK_PATH_MAX];
    ak_mix mix;
    if (!ak_pool_artifact(path, session->pool, config) || !ak_mix_of(&mix, path)) {
        return false;
    }
    ak_mix_print(out, &mix);
    return true;
}

void ak_session_close(ak_session *session)
{
    ak_pool_close(session->pool);
    ak_baseline_info_free(session->baselines, session->baseline_count);
    AK_FREE_ALL(session->environment_json, session->ceilings_key);
    *session = (ak_session){0};
}
