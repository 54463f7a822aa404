/* triton_compile.c: the Python process that compiles; see triton.h. */
#include <string.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/script.h"
#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"

#define SCRIPT "src/backend/triton/triton_worker.py"
#define WHERE  "the Python process of Triton"
/* A compilation may take this many times its limit of processor time by the clock. */
#define CLOCK_TIMES 5
/* Address space that Python and LLVM map before they compile anything. */
#define MAPPED_BYTES ((size_t)4 << 30)

/* The Python process that compiles for this process, one job at a time. */
static struct {
    bool started;
    ak_script script;
    char version[32];
    char folder[AK_PATH_MAX];
} python;

pid_t ak_triton_process(void)
{
    return python.started ? python.script.proc.pid : 0;
}

static void stop(void)
{
    if (python.started) {
        ak_script_end(&python.script);
        python.started = false;
    }
}

ak_status ak_triton_folders(ak_compile_folders *out, ak_error *err)
{
    AK_AT_END(ak_script_home_clear) ak_script_home home = {0};
    AK_DO(ak_script_find(&home, "a Triton kernel", err));
    ak_script_reads(&out->reads, &home);
    return AK_OK;
}

/* Starts the process. It may read what is installed and the folder `beside`, unless that is NULL,
   "" or private, and write to `folder` only; if `folder` is "", it may write nowhere. */
static ak_status start(ak_script *out, const char *folder, const char *beside, ak_error *err)
{
    char cache[AK_PATH_MAX + 32];
    ak_reads reads;
    ak_reads_open(&reads);
    ak_reads_add(&reads, folder);
    ak_reads_add_folder(&reads, beside);
    (void)snprintf(cache, sizeof cache, "TRITON_CACHE_DIR=%s/triton", folder);
    const ak_script_spec confined = {.asset = SCRIPT,
                                     .who = WHERE,
                                     .purpose = "a Triton kernel",
                                     .folder = folder,
                                     .variable = cache,
                                     .may_start = true};
    return ak_script_start(out, &confined, &reads, err);
}

/* Asks the process to import Triton and gives the version. Ends the process if it cannot. */
static ak_status import(char *version, size_t bytes, ak_script *script, ak_error *err)
{
    json_auto_t *reply = NULL;
    const char *text;
    ak_status status =
        ak_script_ask(&reply, script, json_pack("{s:s}", "op", "open"), AK_SCRIPT_OPEN_NS, err);
    status = status == AK_OK ? ak_json_string(&text, reply, "version", WHERE, err) : status;
    if (status == AK_OK) {
        (void)snprintf(version, bytes, "%s", text);
    } else {
        ak_script_end(script);
        status = status == AK_INVALID ? AK_UNAVAILABLE : status;
        if (err != NULL) {
            err->status = status;
        }
    }
    return status;
}

ak_status ak_triton_version(char *out, size_t bytes, ak_error *err)
{
    if (!python.started) {
        ak_script script;
        AK_DO(start(&script, "", NULL, err));
        AK_DO(import(python.version, sizeof python.version, &script, err));
        ak_script_end(&script);
    }
    (void)snprintf(out, bytes, "%s", python.version);
    return AK_OK;
}

ak_status ak_triton_ask(json_t **out, json_t *request, const char *folder, const char *beside,
                        int64_t timeout_ns, ak_error *err)
{
    ak_script script;
    char version[sizeof python.version];
    ak_status status = start(&script, folder, beside, err);
    status = status == AK_OK ? import(version, sizeof version, &script, err) : status;
    if (status != AK_OK) {
        json_decref(request);
        return status;
    }
    status = ak_script_ask(out, &script, request, timeout_ns, err);
    ak_script_end(&script);
    return status;
}

static json_t *request_of(const ak_compile_job *job)
{
    int64_t seconds = (job->timeout_ns + AK_SECOND_NS - 1) / AK_SECOND_NS;
    const char *function = "ak_kernel";
    json_t *options = json_array();
    for (size_t i = 0; i < job->argc; i++) {
        ak_json_add(&options, json_string(job->argv[i]));
        if (strncmp(job->argv[i], "--function=", 11) == 0) {
            function = job->argv[i] + 11;
        }
    }
    size_t memory = job->memory_max == 0 || AK_INSTRUMENTED ? 0 : job->memory_max + MAPPED_BYTES;
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:I}", "op", "compile",
                     "source", job->source_path, "name", "the kernel's source", "function",
                     function, "options", options, "artifact", job->artifact, "folder", job->folder,
                     "cpu_seconds", (json_int_t)seconds, "wall_seconds",
                     CLOCK_TIMES * (json_int_t)seconds, "memory", (json_int_t)memory);
}

static ak_status read_result(ak_compile_result *out, const json_t *reply, ak_error *err)
{
    const char *text, *reason, *log;
    int64_t registers, shared, spill;
    AK_DO(ak_json_string(&text, reply, "status", WHERE, err));
    AK_DO(ak_json_string_or(&reason, reply, "reason", NULL, WHERE, err));
    AK_DO(ak_json_string_or(&log, reply, "log", NULL, WHERE, err));
    AK_DO(ak_json_int_or(&registers, reply, "registers", 0, WHERE, err));
    AK_DO(ak_json_int_or(&shared, reply, "shared", 0, WHERE, err));
    AK_DO(ak_json_int_or(&spill, reply, "spill", 0, WHERE, err));
    AK_FAIL_IF(!ak_trial_status_parse(&out->status, text), err, AK_INTERNAL,
               WHERE " replied with the status \"%.40s\"", text);
    out->reason = ak_strdup(reason);
    out->log = ak_strdup(log);
    out->registers = (int)registers;
    out->shared_bytes = (int)shared;
    out->spill_bytes = (int)spill;
    return AK_OK;
}

ak_status ak_triton_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    ak_compile_result result = {0};
    json_auto_t *reply = NULL;
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    if (strcmp(python.folder, job->folder) != 0) { /* the process may write to one folder only */
        stop();
        (void)snprintf(python.folder, sizeof python.folder, "%s", job->folder);
    }
    if (!python.started) {
        char beside[AK_PATH_MAX]; /* the folder of the sources, which it reads */
        const size_t length = (size_t)(ak_fs_base(job->source_path) - job->source_path);
        (void)snprintf(beside, sizeof beside, "%.*s", (int)length, job->source_path);
        AK_TRY(start(&python.script, job->folder, beside, err));
        AK_TRY(import(python.version, sizeof python.version, &python.script, err));
        python.started = true;
    }
    status = ak_script_ask(&reply, &python.script, request_of(job),
                           job->timeout_ns * CLOCK_TIMES + AK_SCRIPT_OPEN_NS, err);
    if (status != AK_OK && status != AK_INVALID) {
        stop(); /* the process has been ended */
    }
    if (status == AK_CRASHED || status == AK_TIMED_OUT || status == AK_LIMIT) {
        /* This costs one configuration only. */
        result.status = status == AK_TIMED_OUT ? AK_TRIAL_TIMED_OUT : AK_TRIAL_COMPILE_ERROR;
        result.reason = ak_strdup(err == NULL ? WHERE " ended" : err->text);
        status = AK_OK;
    } else if (status == AK_OK) {
        AK_TRY(read_result(&result, reply, err));
        ak_lacking_explain(&result, job);
    }
    AK_TRY(status);
    if (result.status == AK_TRIAL_OK) {
        AK_TRY(ak_compile_hash(&result, job, NULL, err));
    }
out:
    result.compile_ns = ak_clock_ns() - begin;
    return ak_compile_end(out, &result, status, err);
}
