/*
 * worker.c: the child processes of a run. One executable, five roles:
 *
 *   worker --compile BACKEND     compiles what it is told, at the lowest priority
 *   worker --device DEVICE       owns a device: checks and times candidates and libraries
 *   worker --runner FD FD        started by the host's device worker: runs one candidate
 *   worker --inventory cuda      says which CUDA devices and libraries there are
 *   worker --nvrtc SOURCE CUBIN OPTION...   started by a compile worker: runs NVRTC once
 *
 * The first two read requests on descriptor 3 and write replies on descriptor 4 until the other
 * side closes. They are never started by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/cuda/cuda.h"
#include "backend/host/host.h"
#include "backend/host/host_runner.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/program.h"
#include "worker/evaluate.h"
#include "worker/message.h"
#include "worker/probe.h"

#define WHERE             "worker protocol"
#define LAUNCH_TIMEOUT_NS (30 * AK_SECOND_NS)
#define COMPILERS_MAX     16
/* No source of ours compiles to a hundredth of this. */
#define COMPILED_BYTES_MAX ((rlim_t)256 << 20)
#define EXIT_USAGE         2
#define EXIT_BROKEN        1
#define EXIT_LOST          3

typedef struct worker {
    const ak_backend_ops *backend;
    char device[64];
    ak_task *task;
    ak_evaluator *evaluator;
    int64_t launch_timeout_ns;
} worker;

typedef ak_status (*handler)(json_t **out, worker *w, const json_t *request, ak_error *err);

/* ---- compile worker ------------------------------------------------------------------------ */

/* The folder that a compiler was installed under: .../bin/gcc gives ..., x/gcc gives x. */
static bool home_of(char out[AK_PATH_MAX], const char *compiler)
{
    char found[AK_PATH_MAX];
    if (!ak_fs_which(found, compiler)) {
        return false;
    }
    if (realpath(found, out) == NULL) { /* AK_PATH_MAX is the system's limit */
        return false;
    }
    char *slash = strrchr(out, '/');
    *slash = 0;
    slash = strrchr(out, '/');
    if (slash != NULL && strcmp(slash, "/bin") == 0) {
        *slash = 0;
    }
    return out[0] != 0;
}

/* Told once, before the first compilation: where files may be written and which compilers there
   are. Compilers may read what is installed, not what is somebody's. */
static ak_status start(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    static const char *const usual[] = {"/usr",
                                        "/lib",
                                        "/lib32",
                                        "/lib64",
                                        "/bin",
                                        "/sbin",
                                        "/etc/alternatives",
                                        "/etc/ld.so.cache",
                                        "/dev",
                                        "/opt",
                                        "/proc",
                                        "/sys"};
    enum { USUAL = sizeof usual / sizeof usual[0] };
    char homes[COMPILERS_MAX][AK_PATH_MAX];
    char extra[3][AK_PATH_MAX] = {"", "", ""};
    const char *readable[USUAL + COMPILERS_MAX + 3 + 1];
    const char *folder;
    const char **compilers = NULL;
    size_t count = 0, n = 0;
    (void)out;
    ak_status status = ak_json_string(&folder, request, "folder", WHERE, err);
    if (status == AK_OK) {
        status = ak_message_texts(&compilers, &count, request, "compilers", err);
    }
    if (status != AK_OK) {
        return status;
    }
    for (size_t i = 0; i < USUAL; i++) {
        readable[n++] = usual[i];
    }
    for (size_t i = 0; i < count && i < COMPILERS_MAX; i++) {
        if (home_of(homes[i], compilers[i])) {
            readable[n++] = homes[i];
        }
    }
    if (w->backend->folders != NULL) {
        /* also for itself: such a backend's compiler runs in a child that is this program */
        w->backend->folders(extra[0], extra[1]);
        for (size_t i = 0; i < 2; i++) {
            readable[n] = extra[i];
            n += extra[i][0] != 0 ? 1 : 0;
        }
        if (ak_program_find(extra[2], NULL) == AK_OK) {
            readable[n++] = extra[2];
        }
    }
    readable[n] = NULL;
    const char *const writable[] = {folder, "/dev/null", extra[1][0] != 0 ? extra[1] : NULL, NULL};
    (void)ak_sandbox_files(readable, writable);
    ak_free(compilers);
    return AK_OK;
}

static ak_status compile(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_compile_job job = {0};
    const char **argv = NULL;
    int64_t memory = 0;
    ak_compile_result result = {0};
    ak_status status = ak_json_string(&job.source_path, request, "source", WHERE, err);
    status = status == AK_OK
                 ? ak_json_string_or(&job.compiler, request, "compiler", NULL, WHERE, err)
                 : status;
    status = status == AK_OK ? ak_json_string(&job.folder, request, "folder", WHERE, err) : status;
    status =
        status == AK_OK ? ak_json_string(&job.artifact, request, "artifact", WHERE, err) : status;
    status =
        status == AK_OK ? ak_json_int(&job.timeout_ns, request, "timeout_ns", WHERE, err) : status;
    status = status == AK_OK ? ak_json_int(&memory, request, "memory_max", WHERE, err) : status;
    status = status == AK_OK ? ak_message_texts(&argv, &job.argc, request, "options", err) : status;
    if (status == AK_OK) {
        job.argv = argv;
        job.memory_max = memory > 0 ? (size_t)memory : 0;
        status = w->backend->compile(&result, &job, err);
    }
    if (status == AK_OK) {
        *out = ak_message_from_compile(&result);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    ak_compile_result_clear(&result);
    ak_free(argv);
    return status;
}

/* ---- device worker ------------------------------------------------------------------------- */

static ak_status open_task(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    json_t *object;
    const char *folder;
    ak_task_spec spec = {0};
    ak_scope *facts = NULL;
    if (w->task != NULL) {
        return ak_fail(err, AK_INVALID, WHERE ": a task is open already");
    }
    ak_status status = ak_json_object_or_null(&object, request, "task", WHERE, err);
    if (status == AK_OK && object == NULL) {
        status = ak_fail(err, AK_INVALID, WHERE ": \"task\" is missing");
    }
    status = status == AK_OK ? ak_json_string(&folder, request, "folder", WHERE, err) : status;
    status = status == AK_OK ? ak_json_int_or(&w->launch_timeout_ns, request, "launch_timeout_ns",
                                              LAUNCH_TIMEOUT_NS, WHERE, err)
                             : status;
    status = status == AK_OK ? ak_task_spec_from_json(&spec, object, err) : status;
    if (status == AK_OK && (facts = ak_scope_new(NULL)) == NULL) {
        status = ak_fail_memory(err);
    }
    status = status == AK_OK ? w->backend->facts(facts, w->device, spec.threads, err) : status;
    if (status == AK_OK) {
        ak_device_facts device = {.backend = w->backend->name,
                                  .device = w->device,
                                  .facts = facts,
                                  .available = w->backend->available};
        status = ak_task_bind(&w->task, &spec, &device, err);
    }
    if (status == AK_OK) {
        status = ak_evaluator_open(&w->evaluator, w->backend, w->task, folder, err);
    }
    if (status == AK_OK) {
        ak_stage_times took;
        bool referee = ak_evaluator_preparation(&took, w->evaluator);
        char uuid[AK_UUID_BYTES];
        ak_evaluator_uuid(uuid, sizeof uuid, w->evaluator);
        *out = json_pack("{s:s?, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "uuid",
                         uuid[0] == 0 ? NULL : uuid, "judge", referee ? "device" : "host",
                         "device_ns", took.device_ns, "inputs_ns", took.inputs_ns, "upload_ns",
                         took.upload_ns, "reference_ns", took.reference_ns, "witness_ns",
                         took.witness_ns, "selftest_ns", took.selftest_ns);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    ak_scope_free(facts);
    return status;
}

static ak_status read_entrant(ak_entrant *out, const worker *w, const json_t *object, ak_error *err)
{
    const char *config;
    *out = (ak_entrant){0};
    ak_status status = ak_json_string_or(&out->artifact, object, "artifact", NULL, WHERE, err);
    status = status == AK_OK
                 ? ak_json_string_or(&out->baseline, object, "baseline", NULL, WHERE, err)
                 : status;
    if (status != AK_OK || out->artifact == NULL) {
        return status == AK_OK && out->baseline == NULL
                   ? ak_fail(err, AK_INVALID, WHERE ": neither artifact nor baseline")
                   : status;
    }
    status = ak_json_string(&config, object, "config", WHERE, err);
    status = status == AK_OK
                 ? ak_json_bool_or(&out->own_size, object, "own_size", false, WHERE, err)
                 : status;
    return status == AK_OK ? ak_config_parse(&out->config, w->task->space, config, err) : status;
}

static ak_status need_task(const worker *w, ak_error *err)
{
    return w->evaluator == NULL ? ak_fail(err, AK_INVALID, WHERE ": no task is open") : AK_OK;
}

static ak_status try_one(json_t **out, worker *w, const json_t *request, bool timed, ak_error *err)
{
    ak_entrant entrant;
    ak_timer_plan plan;
    ak_trial trial = {0};
    ak_conditions conditions = {0};
    ak_status status = need_task(w, err);
    status = status == AK_OK ? read_entrant(&entrant, w, request, err) : status;
    status = status == AK_OK ? ak_message_to_plan(&plan, request, err) : status;
    if (status == AK_OK) {
        status = timed
                     ? ak_evaluate_trial(&trial, &conditions, w->evaluator, &entrant, &plan,
                                         w->launch_timeout_ns, err)
                     : ak_evaluate_check(&trial, w->evaluator, &entrant, w->launch_timeout_ns, err);
    }
    if (status == AK_OK) {
        *out = ak_message_from_trial(&trial, &conditions);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    ak_free(trial.reason);
    ak_free(trial.samples_ms);
    return status;
}

static ak_status trial(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    return try_one(out, w, request, true, err);
}

static ak_status check(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    return try_one(out, w, request, false, err);
}

static ak_status duel(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_entrant entrants[AK_CONTESTANTS_MAX];
    ak_duel_entry entries[AK_CONTESTANTS_MAX] = {0};
    json_t *array = NULL, *list = NULL;
    ak_duel_plan plan = {.seconds = 0.0};
    const char *pace = NULL;
    ak_status status = need_task(w, err);
    status = status == AK_OK ? ak_json_array_or_null(&array, request, "contestants", WHERE, err)
                             : status;
    status = status == AK_OK ? ak_json_real_or(&plan.seconds, request, "seconds", 1.0, WHERE, err)
                             : status;
    status = status == AK_OK ? ak_json_string_or(&pace, request, "pace", NULL, WHERE, err) : status;
    status = status == AK_OK ? ak_pace_find(&plan.pace, pace, err) : status;
    size_t count = array == NULL ? 0 : json_array_size(array);
    if (status == AK_OK && (count == 0 || count > AK_CONTESTANTS_MAX)) {
        status = ak_fail(err, AK_INVALID, "a comparison of %zu contestants: must be 1..%d", count,
                         AK_CONTESTANTS_MAX);
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        status = read_entrant(&entrants[i], w, json_array_get(array, i), err);
    }
    if (status == AK_OK) {
        status = ak_evaluate_duel(entries, w->evaluator, entrants, count, &plan,
                                  w->launch_timeout_ns, err);
    }
    if (status == AK_OK && (*out = json_object()) != NULL && (list = json_array()) != NULL) {
        bool good = true;
        for (size_t i = 0; good && i < count; i++) {
            good = json_array_append_new(list, ak_message_from_duel(&entries[i])) == 0;
        }
        good = ak_json_set(*out, "entries", list) && good;
        status = good ? AK_OK : ak_fail_memory(err);
    }
    for (size_t i = 0; i < AK_CONTESTANTS_MAX; i++) {
        ak_free(entries[i].reason);
        ak_free(entries[i].version);
        ak_free(entries[i].samples_ms);
    }
    return status;
}

static ak_status ceilings(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_ceilings found;
    (void)request;
    ak_status status = need_task(w, err);
    status = status == AK_OK ? ak_evaluate_ceilings(&found, w->evaluator, err) : status;
    if (status == AK_OK) {
        *out = ak_message_from_ceilings(&found);
    }
    return status == AK_OK && *out == NULL ? ak_fail_memory(err) : status;
}

static ak_status baselines(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    ak_baseline_info *infos = NULL;
    size_t count = 0;
    (void)request;
    ak_status status = need_task(w, err);
    status = status == AK_OK ? ak_evaluate_baselines(&infos, &count, w->evaluator, err) : status;
    if (status != AK_OK) {
        return status;
    }
    json_t *list = json_array();
    bool good = list != NULL && (*out = json_object()) != NULL;
    for (size_t i = 0; good && i < count; i++) {
        good = json_array_append_new(list, ak_message_from_baseline(&infos[i])) == 0;
    }
    good = good && json_object_set(*out, "baselines", list) == 0;
    json_decref(list);
    ak_baseline_info_free(infos, count);
    return good ? AK_OK : ak_fail_memory(err);
}

static ak_status probe(json_t **out, worker *w, const json_t *request, ak_error *err)
{
    (void)w, (void)request;
    return ak_probe(out, err);
}

/* ---- the request loop ---------------------------------------------------------------------- */

static const struct {
    const char *op;
    handler handle;
} compile_ops[] = {{"start", start}, {"compile", compile}, {NULL, NULL}},
  device_ops[] = {{"probe", probe},         {"open", open_task}, {"trial", trial},
                  {"check", check},         {"duel", duel},      {"ceilings", ceilings},
                  {"baselines", baselines}, {NULL, NULL}};

static bool is_lost(const worker *w)
{
    return w->evaluator != NULL && ak_evaluator_lost(w->evaluator);
}

/* Answers one request. False if the other side has gone. */
static bool answer(worker *w, bool is_device, const json_t *request)
{
    ak_error err = AK_ERROR_INIT;
    const char *op = NULL;
    int64_t id = 0;
    json_t *reply = NULL;
    handler handle = NULL;
    ak_status status = ak_json_int_or(&id, request, "id", 0, WHERE, &err);
    status = status == AK_OK ? ak_json_string(&op, request, "op", WHERE, &err) : status;
    for (size_t i = 0; status == AK_OK && handle == NULL; i++) {
        const char *known = is_device ? device_ops[i].op : compile_ops[i].op;
        if (known == NULL) {
            status = ak_fail(&err, AK_INVALID, WHERE ": unknown operation \"%.40s\"", op);
        } else if (strcmp(known, op) == 0) {
            handle = is_device ? device_ops[i].handle : compile_ops[i].handle;
        }
    }
    if (handle != NULL) {
        status = handle(&reply, w, request, &err);
    }
    if (status == AK_OK) {
        reply = reply == NULL ? json_object() : reply;
        bool good = reply != NULL && ak_json_set(reply, "id", json_integer(id)) &&
                    ak_json_set(reply, "ok", json_true());
        status = good ? AK_OK : ak_fail_memory(&err);
    }
    if (status != AK_OK) {
        json_decref(reply);
        reply = ak_message_failure(id, status, err.text);
    }
    if (is_lost(w)) { /* so that nothing more is asked of this process */
        (void)ak_json_set(reply, "last", json_true());
    }
    bool sent = reply != NULL && ak_protocol_send(AK_PROC_REPLY_FD, reply, NULL) == AK_OK;
    json_decref(reply);
    return sent;
}

static int serve(worker *w, bool is_device)
{
    ak_line_reader reader;
    ak_line_reader_init(&reader);
    int code = 0;
    for (;;) {
        json_t *request = NULL;
        if (ak_protocol_receive(&request, AK_PROC_REQUEST_FD, &reader, NULL) != AK_OK) {
            code = EXIT_BROKEN;
            break;
        }
        if (request == NULL) {
            break;
        }
        bool good = answer(w, is_device, request);
        json_decref(request);
        if (good && is_lost(w)) {
            _exit(
                EXIT_LOST); /* not in good order: freeing what is on the device would wait for it */
        }
        if (!good) {
            code = EXIT_BROKEN;
            break;
        }
    }
    ak_line_reader_free(&reader);
    ak_evaluator_close(w->evaluator);
    ak_task_close(w->task);
    return code;
}

/* ---- roles --------------------------------------------------------------------------------- */

/* Compilers shall run when nobody is being measured, and disturb as little as possible when
   somebody is. */
static int compile_worker(const char *backend)
{
    worker w = {0};
    struct sched_param parameters = {0};
    if (ak_backend_find(&w.backend, backend, NULL) != AK_OK) {
        return EXIT_USAGE;
    }
    struct rlimit file = {.rlim_cur = COMPILED_BYTES_MAX, .rlim_max = COMPILED_BYTES_MAX};
    (void)setrlimit(RLIMIT_FSIZE, &file); /* of compilers too, so that none can fill the disk */
    (void)setpriority(PRIO_PROCESS, 0, 19);
    (void)sched_setscheduler(0, w.backend->is_cpu ? SCHED_IDLE : SCHED_BATCH, &parameters);
    return serve(&w, false);
}

static int device_worker(const char *device)
{
    worker w = {0};
    if (ak_backend_device(&w.backend, w.device, sizeof w.device, device, NULL) != AK_OK) {
        return EXIT_USAGE;
    }
    return serve(&w, true);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

int ak_worker_main(int argc, char **argv)
{
    int64_t block, page;
    if (argc >= 4 && strcmp(argv[2], "--inventory") == 0 && strcmp(argv[3], "cuda") == 0) {
        return ak_cuda_inventory_main();
    }
    if (argc >= 4 && strcmp(argv[2], "--nvrtc") == 0) {
        return ak_cuda_nvrtc_main(argc, argv);
    }
    if (argc < 4 || !is_open(AK_PROC_REQUEST_FD) || !is_open(AK_PROC_REPLY_FD)) {
        return EXIT_USAGE;
    }
    (void)fcntl(AK_PROC_REQUEST_FD, F_SETFD, FD_CLOEXEC);
    (void)fcntl(AK_PROC_REPLY_FD, F_SETFD, FD_CLOEXEC);
    (void)signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[2], "--runner") == 0 && argc == 5 && ak_text_int(&block, argv[3]) &&
        ak_text_int(&page, argv[4]) && block > 2 && page > 2 && block < 4096 && page < 4096) {
        return ak_runner_main((int)block, (int)page);
    }
    if (strcmp(argv[2], "--compile") == 0) {
        return compile_worker(argv[3]);
    }
    if (strcmp(argv[2], "--device") == 0) {
        return device_worker(argv[3]);
    }
    return EXIT_USAGE;
}
