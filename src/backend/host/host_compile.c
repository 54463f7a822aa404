/*
 * host_compile.c: source + options -> shared object, by the machine's own gcc or clang. The
 * compiler is a child with limits on time and memory; its temporary files go where the artifact
 * goes; what it prints is bounded and cleaned before anybody sees it.
 */
#include <string.h>

#include "backend/host/host.h"
#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/proc.h"

#define LOG_MAX            (64u << 10)
#define ARTIFACT_MAX       (256u << 20)
#define VERSION_TIMEOUT_NS (5 * AK_SECOND_NS)
/* RLIMIT_CPU of one compiler process beyond the wall limit: catches what outlives its group. */
#define CPU_SECONDS_SPARE 5

static const char *const defaults[] = {"cc", "gcc", "clang", NULL};

/* One that does not even tell its version would cost each configuration its time-out. */
bool ak_host_available(void *context, const char *compiler)
{
    char version[16];
    (void)context;
    ak_host_compiler_version(version, sizeof version, compiler);
    return version[0] != 0;
}

ak_status ak_host_compiler(const char **out, ak_error *err)
{
    char path[AK_PATH_MAX];
    for (size_t i = 0; defaults[i] != NULL; i++) {
        if (ak_fs_which(path, defaults[i])) {
            *out = defaults[i];
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE, "no C compiler found: install gcc or clang");
}

void ak_host_compiler_version(char *out, size_t bytes, const char *compiler)
{
    const char *const argv[] = {compiler, "--version", NULL};
    const char *const variables[] = {"LC_ALL=C", NULL};
    ak_proc_spec spec = {
        .argv = argv, .setenv = variables, .timeout_ns = VERSION_TIMEOUT_NS, .output_max = 4096};
    ak_proc_result result = {0};
    char path[AK_PATH_MAX];
    out[0] = 0;
    if (ak_fs_which(path, compiler) && ak_proc_run(&result, &spec, NULL) == AK_OK) {
        if (result.exit_code == 0) {
            (void)snprintf(out, bytes, "%.*s", (int)strcspn(result.output, "\r\n"), result.output);
        }
        ak_proc_result_clear(&result);
    }
}

ak_status ak_host_source(ak_buf *out, const char *text, const char *name, ak_error *err)
{
    const ak_asset *head = ak_asset_find("src/backend/host/ak_host.h");
    if (head == NULL) {
        return ak_fail(err, AK_INTERNAL, "ak_host.h is not part of this build");
    }
    ak_buf_append(out, head->data, head->length);
    ak_buf_print(out, "\n#line 1 \"%s\"\n", name);
    ak_buf_puts(out, text);
    ak_buf_putc(out, '\n');
    return ak_buf_status(out, err);
}

void ak_compile_result_clear(ak_compile_result *result)
{
    ak_free(result->reason);
    ak_free(result->log);
    *result = (ak_compile_result){0};
}

/* Control characters, the start of escape sequences among them, and what is not ASCII become '?'.
 */
static void clean(char *text)
{
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f) {
            *text = '?';
        }
    }
}

/* The first line with "error" in it, else the first line. */
static char *first_error(const char *log)
{
    const char *best = NULL;
    size_t best_length = 0;
    for (const char *line = log; *line != 0;) {
        size_t length = strcspn(line, "\n");
        bool telling = memmem(line, length, "error", 5) != NULL;
        if (length > 0 && (best == NULL || telling)) {
            best = line;
            best_length = length < 200 ? length : 200;
        }
        if (telling) {
            break;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return best == NULL ? ak_strdup("the compiler failed without a message")
                        : ak_strndup(best, best_length);
}

static bool is_memory(const char *log)
{
    return strstr(log, "out of memory") != NULL || strstr(log, "annot allocate memory") != NULL ||
           strstr(log, "memory exhausted") != NULL || strstr(log, "bad_alloc") != NULL;
}

static void judge(ak_compile_result *out, const ak_proc_result *run, const ak_compile_job *job)
{
    char text[160];
    if (run->timed_out) {
        (void)snprintf(text, sizeof text, "the compiler took longer than %.3g s",
                       (double)job->timeout_ns / 1e9);
        out->status = AK_TRIAL_TIMED_OUT;
        out->reason = ak_strdup(text);
    } else if (is_memory(run->output) && run->exit_code != 0) {
        (void)snprintf(text, sizeof text, "the compiler needs more than %zu MiB of memory",
                       job->memory_max >> 20);
        out->status = AK_TRIAL_OUT_OF_MEMORY;
        out->reason = ak_strdup(text);
    } else if (run->signal != 0) {
        (void)snprintf(text, sizeof text, "the compiler was ended by signal %d (%s)", run->signal,
                       strsignal(run->signal));
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(text);
    } else if (run->exit_code != 0) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = first_error(run->output);
    } else {
        out->status = AK_TRIAL_OK;
    }
}

static ak_status hash_artifact(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    char *file = NULL;
    size_t length = 0;
    ak_status status = ak_fs_read(&file, &length, job->artifact, ARTIFACT_MAX, err);
    if (status == AK_LIMIT || status == AK_NOT_FOUND) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(status == AK_LIMIT ? "the compiler's output is too large"
                                                   : "the compiler wrote no output");
        return out->reason == NULL ? ak_fail_memory(err) : AK_OK;
    }
    if (status != AK_OK) {
        return status;
    }
    if (!ak_host_elf_hash(out->artifact_hash, (const unsigned char *)file, length)) {
        ak_hash_text(out->artifact_hash, file, length);
    }
    ak_free(file);
    return AK_OK;
}

ak_status ak_host_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    const char *compiler = job->compiler;
    char folder[AK_PATH_MAX + 8];
    const char **argv = NULL;
    ak_compile_result result = {0};
    ak_proc_result run = {0};
    ak_status status = compiler == NULL ? ak_host_compiler(&compiler, err) : AK_OK;
    if (status != AK_OK) {
        return status;
    }
    const char *const tail[] = {"-fPIC", "-shared", "-o", job->artifact, job->source_path, "-lm"};
    enum { TAIL = sizeof tail / sizeof tail[0] };
    argv = ak_alloc(job->argc + TAIL + 2, sizeof *argv);
    if (argv == NULL) {
        return ak_fail_memory(err);
    }
    argv[0] = compiler;
    if (job->argc > 0) {
        memcpy(argv + 1, job->argv, job->argc * sizeof *argv);
    }
    memcpy(argv + 1 + job->argc, tail, sizeof tail);
    (void)snprintf(folder, sizeof folder, "TMPDIR=%s", job->folder);
    const char *const variables[] = {"LC_ALL=C", folder, NULL};
    ak_proc_spec spec = {.argv = argv,
                         .setenv = variables,
                         .timeout_ns = job->timeout_ns,
                         .output_max = LOG_MAX,
                         .memory_max = job->memory_max,
                         .cpu_seconds_max =
                             (int)(job->timeout_ns / AK_SECOND_NS) + CPU_SECONDS_SPARE};
    status = ak_proc_run(&run, &spec, err);
    if (status != AK_OK) {
        ak_free(argv);
        return status;
    }
    clean(run.output);
    judge(&result, &run, job);
    result.compile_ns = run.wall_ns;
    if (result.status == AK_TRIAL_OK) {
        status = hash_artifact(&result, job, err);
    } else if (result.reason == NULL) {
        status = ak_fail_memory(err);
    }
    if (run.output_length > 0) {
        result.log = run.output;
        run.output = NULL;
    }
    if (status == AK_OK) {
        *out = result;
    } else {
        ak_compile_result_clear(&result);
    }
    ak_proc_result_clear(&run);
    ak_free(argv);
    return status;
}
