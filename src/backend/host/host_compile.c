/*
 * host_compile.c: source + options -> shared object, by the machine's own gcc or clang. The
 * compiler is a child with limits on time and memory; its temporary files go where the artifact
 * goes; what it prints is bounded and cleaned before anybody sees it.
 */
#include <string.h>

#include "backend/compile.h"
#include "backend/host/host.h"
#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"

#define LOG_MAX            (64u << 10)
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
    result.compile_ns = run.wall_ns;
    ak_compile_judge(&result, &run, job, "the compiler");
    if (result.status == AK_TRIAL_OK) {
        status = ak_compile_hash(&result, job, ak_host_elf_hash, err);
    }
    status = status == AK_OK ? ak_compile_end(&result, err) : status;
    if (status == AK_OK) {
        *out = result;
    } else {
        ak_compile_result_clear(&result);
    }
    ak_proc_result_clear(&run);
    ak_free(argv);
    return status;
}
