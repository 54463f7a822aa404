/*
 * worker.c: the child processes of a run. One executable has two roles for every backend:
 *
 *   worker --compile BACKEND     compiles what it is told to, at a low priority
 *   worker --device DEVICE       owns a device: checks and times candidates and libraries
 *
 * Both read requests on descriptor 3 and write replies on descriptor 4 until the other side closes.
 * They are never started by hand. Besides them there are the roles that a backend adds (`roles` in
 * backend.h) and
 *
 *   worker --link, --stdio       connect the tuner with the workers on another machine (relay.h)
 *   worker --guard               ends a stopped relay (relay.h)
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/compile.h"
#include "backend/sandbox.h"
#include "base/cores.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/program.h"
#include "judge/evaluate.h"
#include "worker/environment.h"
#include "worker/message.h"
#include "worker/process.h"
#include "worker/relay.h"

#define WHERE             "wire protocol"
#define LAUNCH_TIMEOUT_NS (30 * AK_SECOND_NS)
/* Largest file that a compiler may write: over a hundred times what a built-in kernel needs. */
#define COMPILED_BYTES_MAX ((rlim_t)256 << 20)
#define EXIT_BROKEN        1
#define EXIT_LOST          3

typedef struct worker {
    const ak_backend_ops *backend;
    char device[64];
    ak_task *task;
    ak_task *others[AK_JUDGED_MAX]; /* of other implementations, opened when first needed */
    size_t other_count;
    ak_evaluator *evaluator;
    int64_t launch_timeout_ns;
} worker;

typedef ak_status (*handler)(json_t **out, worker *w, const json_t *request, ak_error *err);

/* ---- compile worker ------------------------------------------------------------------------ */

/* Handles the first request to a compile worker, which names the compilers and the folder that they
   may write to. Confines the worker and its compilers: they may read what is installed, but not the
   files of users. */
static ak_status start(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    char program[AK_PATH_MAX];
    AK_FREED ak_compile_folders *all = NULL;
    const char *folder;
    AK_FREED const char **compilers = NULL;
    size_t count = 0;
    (void)out;
    AK_DO(AK_NEW(all, 1, err));
    AK_DO(ak_json_string(&folder, request, "folder", WHERE, err));
    AK_DO(ak_message_texts(&compilers, &count, request, "compilers", err));
    ak_reads_open(&all->reads);
    for (size_t i = 0; i < count; i++) {
        ak_reads_add_tool(&all->reads, compilers[i]);
    }
    if (w->backend->folders != NULL) {
        /* The compiler of such a backend runs in a child process of this program, so the program
           must be readable. */
        AK_DO(w->backend->folders(all, compilers, count, err));
        ak_reads_add(&all->reads, all->writable);
        ak_reads_add(&all->reads, "/proc/self");
        ak_reads_add(&all->reads, ak_program_find(program, NULL) == AK_OK ? program : NULL);
    }
    const char *const writable[] = {folder, "/dev/null",
                                    all->writable[0] != 0 ? all->writable : NULL, NULL};
    (void)ak_sandbox_files(all->reads.path, writable);
    return AK_OK;
}

static ak_status compile(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_compile_job job = {0};
    AK_FREED const char **argv = NULL;
    int64_t memory = 0;
    bool again = false;
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    AK_DO(ak_json_string(&job.source_path, request, "source", WHERE, err));
    AK_DO(ak_json_string_or(&job.compiler, request, "compiler", NULL, WHERE, err));
    AK_DO(ak_json_string(&job.folder, request, "folder", WHERE, err));
    AK_DO(ak_json_string(&job.artifact, request, "artifact", WHERE, err));
    AK_DO(ak_json_int(&job.timeout_ns, request, "timeout_ns", WHERE, err));
    AK_DO(ak_json_int(&memory, request, "memory_max", WHERE, err));
    AK_DO(ak_json_bool_or(&job.reject_slow, request, "reject_slow", false, WHERE, err));
    AK_DO(ak_json_bool_or(&again, request, "again", false, WHERE, err));
    AK_DO(ak_message_texts(&argv, &job.argc, request, "options", err));
    job.argv = argv;
    job.memory_max = memory > 0 ? (size_t)memory : 0;
    job.priority = again ? AK_PROC_BATCH : w->backend->is_cpu ? AK_PROC_IDLE : AK_PROC_LOW;
    ak_status status = ak_compile_apart(&result, w->backend, &job, err);
    ak_process_end_descendants(
        w->backend->compiler_process == NULL ? 0 : w->backend->compiler_process());
    AK_DO(status);
    *out = ak_message_from_compile(&result);
    return ak_made(*out, err);
}

/* ---- device worker ------------------------------------------------------------------------- */

/* Refuses to work for a tuner whose environment differs from this machine's, because the same
   configuration would give other results here. */
static ak_status same_environment(const worker *w, const json_t *request, ak_error *err)
{
    char what[320], host[AK_CORES_HOST_BYTES];
    json_t *wanted = NULL;
    json_auto_t *found = NULL;
    ak_status status = ak_json_object_or_null(&wanted, request, "environment", WHERE, err);
    if (status != AK_OK || wanted == NULL) {
        return status; /* the worker runs on the tuner's own machine */
    }
    status = ak_environment_facts(&found, w->task, err);
    if (status == AK_OK && ak_environment_differs(what, sizeof what, found, wanted)) {
        ak_cores_host(host);
        status = ak_fail(err, AK_UNAVAILABLE, "%s is another environment: %s", host, what);
    }
    return status;
}

static ak_status bind_task(ak_task **out, const worker *w, const ak_task_spec *spec, ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *facts = ak_scope_new(NULL);
    AK_DO(ak_made(facts, err));
    AK_DO(w->backend->facts(facts, w->device, spec->threads, err));
    const ak_device_facts device = {.backend = w->backend->name,
                                    .device = w->device,
                                    .facts = facts,
                                    .outline = true,
                                    .available = w->backend->available};
    return ak_task_bind(out, spec, &device, err);
}

/* Finds, or opens, the worker's task with another implementation and without `fix`. The worker owns
   it. */
static ak_status other_task(const ak_task **out, worker *w, const char *name, ak_error *err)
{
    ak_task_spec spec;
    json_auto_t *json = NULL;
    for (size_t i = 0; i < w->other_count; i++) {
        if (strcmp(w->others[i]->implementation->name, name) == 0) {
            *out = w->others[i];
            return AK_OK;
        }
    }
    AK_FAIL_IF(w->other_count == AK_JUDGED_MAX, err, AK_LIMIT,
               WHERE ": more than %d implementations", AK_JUDGED_MAX);
    AK_DO(ak_task_spec_to_json(&json, w->task, err));
    AK_DO(ak_task_spec_from_json(&spec, json, err));
    spec.implementation = name;
    spec.fix = NULL; /* it names parameters of the task's own implementation */
    AK_DO(bind_task(&w->others[w->other_count], w, &spec, err));
    *out = w->others[w->other_count++];
    return AK_OK;
}

static ak_status open_task(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    json_t *object;
    const char *folder;
    ak_task_spec spec = {0};
    AK_FAIL_IF(w->task != NULL, err, AK_INVALID, WHERE ": a task is open already");
    AK_DO(ak_json_object(&object, request, "task", WHERE, err));
    AK_DO(ak_json_string(&folder, request, "folder", WHERE, err));
    AK_DO(ak_json_int_or(&w->launch_timeout_ns, request, "launch_timeout_ns", LAUNCH_TIMEOUT_NS,
                         WHERE, err));
    AK_DO(ak_task_spec_from_json(&spec, object, err));
    AK_DO(bind_task(&w->task, w, &spec, err));
    AK_DO(same_environment(w, request, err));
    AK_DO(ak_evaluator_open(&w->evaluator, w->backend, w->task, folder, err));
    ak_stage_times took;
    bool referee = ak_evaluator_preparation(&took, w->evaluator);
    char uuid[AK_UUID_BYTES];
    ak_evaluator_uuid(uuid, sizeof uuid, w->evaluator);
    *out =
        json_pack("{s:s?, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "uuid", uuid[0] == 0 ? NULL : uuid,
                  "judge", referee ? "device" : "host", "device_ns", took.device_ns, "inputs_ns",
                  took.inputs_ns, "upload_ns", took.upload_ns, "reference_ns", took.reference_ns,
                  "witness_ns", took.witness_ns, "selftest_ns", took.selftest_ns);
    return ak_made(*out, err);
}

static ak_status read_candidate(ak_judge_candidate *out, worker *w, const json_t *object,
                                ak_error *err)
{
    const char *config, *implementation;
    *out = (ak_judge_candidate){0};
    AK_DO(ak_json_string_or(&out->artifact, object, "artifact", NULL, WHERE, err));
    AK_DO(ak_json_string_or(&out->baseline, object, "baseline", NULL, WHERE, err));
    if (out->artifact == NULL) {
        return out->baseline == NULL
                   ? ak_fail(err, AK_INVALID,
                             WHERE ": a candidate has neither artifact nor baseline")
                   : AK_OK;
    }
    AK_DO(ak_json_string(&config, object, "config", WHERE, err));
    AK_DO(ak_json_string_or(&out->hash, object, "file_hash", NULL, WHERE, err));
    AK_DO(ak_json_string_or(&out->symbol, object, "symbol", NULL, WHERE, err));
    AK_DO(ak_json_bool_or(&out->specialised, object, "own_size", false, WHERE, err));
    AK_DO(ak_json_string_or(&implementation, object, "implementation", NULL, WHERE, err));
    if (implementation != NULL) {
        AK_DO(other_task(&out->task, w, implementation, err));
    }
    return ak_config_parse(&out->config, (out->task == NULL ? w->task : out->task)->space, config,
                           err);
}

static bool is_lost(const worker *w)
{
    return w->evaluator != NULL && ak_evaluator_lost(w->evaluator);
}

static ak_status try_one(json_t **out, worker *w, const json_t *request, bool timed, ak_error *err)
{
    ak_judge_candidate candidate;
    ak_timer_plan plan;
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    ak_conditions conditions = {0};
    ak_error why = AK_ERROR_INIT;
    ak_stage_times took;
    AK_DO(read_candidate(&candidate, w, request, err));
    AK_DO(ak_message_to_plan(&plan, request, err));
    (void)ak_evaluator_preparation(&took, w->evaluator);
    int64_t limit = ak_evaluate_plain_limit(took.reference_ns, w->launch_timeout_ns);
    ak_status status =
        timed ? ak_evaluate_trial(&trial, &conditions, w->evaluator, &candidate, &plan, limit, &why)
              : ak_evaluate_check(&trial, w->evaluator, &candidate, limit, &why);
    /* The candidate left the device in an error, which the next call reported. */
    if (status != AK_OK && status != AK_NO_MEMORY && is_lost(w)) {
        ak_free(trial.reason);
        trial.status = AK_TRIAL_CRASHED;
        trial.reason = ak_strdup(why.text);
        status = ak_made(trial.reason, &why);
    }
    AK_DO(status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text));
    *out = ak_message_from_trial(&trial, &conditions);
    bool good = *out != NULL && (!ak_evaluator_unjudged(w->evaluator) ||
                                 ak_json_set(*out, "unjudged", json_true()));
    good = good && (!ak_evaluator_waited(w->evaluator) || ak_json_set(*out, "waited", json_true()));
    return ak_stored(good, err);
}

static ak_status trial(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    return try_one(out, w, request, true, err);
}

static ak_status check(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    return try_one(out, w, request, false, err);
}

static ak_status comparison(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_judge_candidate candidates[AK_JUDGED_MAX];
    ak_comparison_entry entries[AK_JUDGED_MAX] = {0};
    json_t *array = NULL, *list = NULL;
    ak_comparison_plan plan = {.seconds = 0.0};
    ak_comparison_course course = {0};
    const char *protocol = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_json_array_or_null(&array, request, "candidates", WHERE, err));
    AK_TRY(ak_json_real_or(&plan.seconds, request, "seconds", 1.0, WHERE, err));
    AK_TRY(ak_json_real_or(&plan.extra, request, "extra", 0.0, WHERE, err));
    AK_TRY(ak_json_string_or(&protocol, request, "protocol", NULL, WHERE, err));
    AK_TRY(ak_protocol_find(&plan.protocol, protocol, err));
    size_t count = array == NULL ? 0 : json_array_size(array);
    if (count == 0 || count > AK_JUDGED_MAX) {
        AK_TRY(ak_fail(err, AK_INVALID, "a comparison has %zu candidates: it must have 1..%d",
                       count, AK_JUDGED_MAX));
    }
    for (size_t i = 0; i < count; i++) {
        AK_TRY(read_candidate(&candidates[i], w, json_array_get(array, i), err));
    }
    const ak_comparison_request compared = {candidates, count, &plan, w->launch_timeout_ns};
    AK_TRY(ak_evaluate_comparison(entries, &course, w->evaluator, &compared, err));
    *out = json_object();
    list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, ak_message_from_comparison(&entries[i]));
    }
    AK_TRY(
        ak_stored(ak_json_set(*out, "entries", list) && ak_message_set_course(*out, &course), err));
out:
    AK_CLEAR_EACH(ak_comparison_entry_clear, entries, AK_JUDGED_MAX);
    return status;
}

static ak_status ceilings(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_ceilings found;
    (void)request;
    AK_DO(ak_evaluate_ceilings(&found, w->evaluator, err));
    *out = ak_message_from_ceilings(&found);
    return ak_made(*out, err);
}

static ak_status baselines(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_baseline_info *infos = NULL;
    size_t count = 0;
    (void)request;
    AK_DO(ak_evaluate_baselines(&infos, &count, w->evaluator, err));
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, ak_message_from_baseline(&infos[i]));
    }
    ak_baseline_info_free(infos, count);
    *out = json_pack("{s:o}", "baselines", list);
    return ak_made(*out, err);
}

static ak_status probe(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    bool ceilings = false;
    (void)w;
    AK_DO(ak_json_bool_or(&ceilings, request, "ceilings", false, WHERE, err));
    return ak_probe(out, ceilings, err);
}

/* Does nothing, so that the time until the answer is the round-trip time. */
static ak_status ping(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    (void)out, (void)w, (void)request, (void)err;
    return AK_OK;
}

/* Reports this worker's device and environment. */
static ak_status who(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    json_t *facts = NULL;
    (void)request;
    AK_DO(w->backend->environment(&facts, w->device, err));
    *out = json_pack("{s:s, s:o}", "device", w->device, "environment", facts);
    return ak_made(*out, err);
}

/* ---- the request loop ---------------------------------------------------------------------- */

typedef struct operation {
    const char *op;
    handler handle;
    bool needs_task; /* a task must be open */
} operation;
static const operation compile_ops[] = {{"start", start, false}, {"compile", compile, false}, {0}},
                       device_ops[] = {{"ping", ping, false},
                                       {"who", who, false},
                                       {"probe", probe, false},
                                       {"open", open_task, false},
                                       {"trial", trial, true},
                                       {"check", check, true},
                                       {"comparison", comparison, true},
                                       {"ceilings", ceilings, true},
                                       {"baselines", baselines, true},
                                       {0}};

/* Answers one request. Returns false if the other side has ended. */
static bool answer(worker *w, const operation *operations, const json_t *request)
{
    ak_error err = AK_ERROR_INIT;
    const char *op = NULL;
    int64_t id = 0;
    json_t *reply = NULL;
    ak_status status = ak_json_int_or(&id, request, "id", 0, WHERE, &err);
    status = status == AK_OK ? ak_json_string(&op, request, "op", WHERE, &err) : status;
    if (status == AK_OK) {
        while (operations->op != NULL && strcmp(operations->op, op) != 0) {
            operations++;
        }
        status = operations->op == NULL
                     ? ak_fail(&err, AK_INVALID, WHERE ": unknown operation \"%.40s\"", op)
                 : operations->needs_task && w->evaluator == NULL
                     ? ak_fail(&err, AK_INVALID, WHERE ": no task is open")
                     : operations->handle(&reply, w, request, &err);
    }
    if (status == AK_OK) {
        reply = reply == NULL ? json_object() : reply;
        bool good = reply != NULL && ak_json_set(reply, "id", json_integer(id)) &&
                    ak_json_set(reply, "ok", json_true());
        status = ak_stored(good, &err);
    }
    if (status != AK_OK) {
        json_decref(reply);
        reply = ak_message_failure(id, status, err.text);
    }
    if (is_lost(w)) { /* the pool asks a lost worker nothing more */
        (void)ak_json_set(reply, "last", json_true());
    }
    return ak_message_send(AK_PROC_REPLY_FD, reply, NULL) == AK_OK;
}

static int serve(worker *w, const operation *operations)
{
    ak_line_reader reader;
    ak_line_reader_init(&reader);
    int code = 0;
    for (;;) {
        json_t *request = NULL;
        if (ak_wire_receive(&request, AK_PROC_REQUEST_FD, &reader, NULL) != AK_OK) {
            code = EXIT_BROKEN;
            break;
        }
        if (request == NULL) {
            break;
        }
        bool good = answer(w, operations, request);
        json_decref(request);
        if (good && is_lost(w)) {
            /* Skips the clean end: freeing memory on a lost device would wait for it. */
            _exit(EXIT_LOST);
        }
        if (!good) {
            code = EXIT_BROKEN;
            break;
        }
    }
    ak_line_reader_free(&reader);
    ak_evaluator_close(w->evaluator);
    AK_END_EACH(ak_task_close, w->others, w->other_count);
    ak_task_close(w->task);
    return code;
}

/* ---- roles --------------------------------------------------------------------------------- */

/* Serves compile requests. Compilers must not disturb measurements: if measurements run on this
   machine's own processors, compilers get only processors that are idle (SCHED_IDLE), because even
   the lowest priority would take time from the code that is timed. A compilation that gets no
   processor in this way is repeated at the usual priority (`again`) while nothing is timed. The
   worker itself has little to do. */
static int compile_worker(const char *backend)
{
    worker w = {0};
    struct sched_param parameters = {0};
    if (ak_backend_find(&w.backend, backend, NULL) != AK_OK) {
        return AK_WORKER_EXIT_USAGE;
    }
    struct rlimit file = {.rlim_cur = COMPILED_BYTES_MAX, .rlim_max = COMPILED_BYTES_MAX};
    /* This limits compilers too, so that none can fill the disk. */
    (void)setrlimit(RLIMIT_FSIZE, &file);
    /* Processes that a compiler leaves behind become children of this one. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)sched_setscheduler(0, SCHED_BATCH, &parameters);
    return serve(&w, compile_ops);
}

static int device_worker(const char *device)
{
    worker w = {0};
    return ak_backend_device(&w.backend, w.device, sizeof w.device, device, NULL) != AK_OK
               ? AK_WORKER_EXIT_USAGE
               : serve(&w, device_ops);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Returns the role that some backend adds under this option, or NULL. */
static const ak_backend_role *find_role(const char *option)
{
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        const ak_backend_role *role = ak_backends[i]->roles;
        while (role != NULL && role->option != NULL && strcmp(role->option, option) != 0) {
            role++;
        }
        if (role != NULL && role->option != NULL) {
            return role;
        }
    }
    return NULL;
}

int ak_worker_main(int argc, char **argv)
{
    const ak_backend_role *role = argc > 2 ? find_role(argv[2]) : NULL;
    if (role != NULL) {
        return role->main(argc, argv);
    }
    if (argc > 2 && strcmp(argv[2], "--stdio") == 0) {
        ak_proc_own_program();
        return ak_relay_far(argc, argv);
    }
    if (argc < 4 || !is_open(AK_PROC_REQUEST_FD) || !is_open(AK_PROC_REPLY_FD)) {
        return AK_WORKER_EXIT_USAGE;
    }
    (void)fcntl(AK_PROC_REQUEST_FD, F_SETFD, FD_CLOEXEC);
    (void)fcntl(AK_PROC_REPLY_FD, F_SETFD, FD_CLOEXEC);
    ak_proc_own_program();
    if (strcmp(argv[2], "--guard") == 0) {
        return ak_relay_guard(argc, argv);
    }
    if (strcmp(argv[2], "--link") == 0) {
        return ak_relay_near(argc, argv); /* it outlives the tuner, to end what it has started */
    }
    ak_proc_end_with_parent();
    if (strcmp(argv[2], "--compile") == 0) {
        return compile_worker(argv[3]);
    }
    return strcmp(argv[2], "--device") == 0 ? device_worker(argv[3]) : AK_WORKER_EXIT_USAGE;
}
