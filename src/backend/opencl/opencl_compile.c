/*
 * opencl_compile.c: builds the program of a configuration. A child does it, as gcc does for the
 * host, so that an ICD that crashes, hangs or takes too much memory costs one configuration.
 *
 * The artifact is the binary that the ICD gives. Where it gives none, or where the confined child
 * does not find the device or gets no context of it (the driver of a graphics processor needs its
 * device files), the artifact is the source with its options, and the device's worker builds it:
 *
 *     //autokernel-opencl OPTIONS
 *     source
 *
 * An ICD that finishes compiling at the first launch, as PoCL does for each size of work-groups,
 * does that in the device's worker, before anything is timed (opencl_launch.c).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/opencl/opencl.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/program.h"

#define LOG_MAX     (64u << 10)
#define OPTIONS_MAX (32u << 10)
static const char head[] = "//autokernel-opencl ";
enum { EXIT_COMPILED = 0, EXIT_REFUSED = 1 };
/* Arguments of autokernel worker --opencl-compile SOURCE ARTIFACT DEVICE IDENTITY OPTIONS */
enum { SOURCE = 3, ARTIFACT = 4, DEVICE = 5, IDENTITY = 6, OPTIONS = 7, ARGUMENTS = 8 };

/* ---- building, in either process --------------------------------------------------------------
 */

/* Gives the build log, which the caller frees; NULL if there is none. */
static char *build_log(const ak_opencl *cl, void *program, void *device)
{
    size_t bytes = 0;
    char *log = NULL;
    if (cl->build_info(program, device, AK_CL_BUILD_LOG, 0, NULL, &bytes) == 0 && bytes > 1 &&
        bytes < AK_OPENCL_BINARY_MAX) {
        log = ak_alloc(bytes + 1, 1);
        if (log != NULL &&
            cl->build_info(program, device, AK_CL_BUILD_LOG, bytes, log, NULL) != 0) {
            ak_free(log);
            log = NULL;
        }
    }
    return log;
}

static int32_t build_source(void **program, char **log, const ak_opencl_target *target,
                            const char *source, const char *options)
{
    int32_t code = 0;
    *program = target->cl->program_source(target->context, 1, &source, NULL, &code);
    if (*program != NULL && code == 0) {
        code = target->cl->program_build(*program, 1, &target->device, options, NULL, NULL);
        *log = build_log(target->cl, *program, target->device);
    }
    return code;
}

static int32_t build_binary(void **program, char **log, const ak_opencl_target *target,
                            const char *binary, size_t length)
{
    int32_t code = 0, state = 0;
    const unsigned char *bytes = (const unsigned char *)binary;
    *program = target->cl->program_binary(target->context, 1, &target->device, &length, &bytes,
                                          &state, &code);
    code = code == 0 ? state : code;
    if (*program != NULL && code == 0) {
        code = target->cl->program_build(*program, 1, &target->device, "", NULL, NULL);
        *log = build_log(target->cl, *program, target->device);
    }
    return code;
}

int32_t ak_opencl_load(void **program, char *why, size_t bytes, const ak_opencl_target *target,
                       const char *artifact, size_t length)
{
    AK_FREED char *log = NULL;
    char options[OPTIONS_MAX];
    int32_t code;
    why[0] = 0;
    if (strncmp(artifact, head, sizeof head - 1) == 0) {
        const char *first = artifact + sizeof head - 1;
        (void)snprintf(options, sizeof options, "%.*s", (int)strcspn(first, "\n"), first);
        code = build_source(program, &log, target, artifact, options);
    } else {
        code = build_binary(program, &log, target, artifact, length);
    }
    if (code != 0) {
        const char *line = log == NULL ? NULL : strstr(log, "error");
        while (line != NULL && line > log && line[-1] != '\n') {
            line--;
        }
        ak_opencl_error_text(why, bytes, code);
        if (line != NULL) {
            (void)snprintf(why, bytes, "%.*s", (int)strcspn(line, "\n"), line);
        }
    }
    return code;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Writes the program's binary; returns false if the ICD gives none or it cannot be written. */
static bool keep_binary(const ak_opencl *cl, void *program, const char *path)
{
    size_t bytes = 0;
    AK_FREED unsigned char *binary = NULL;
    return cl->program_info(program, AK_CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) == 0 &&
           bytes > 0 && bytes <= AK_OPENCL_BINARY_MAX && (binary = ak_alloc(bytes, 1)) != NULL &&
           cl->program_info(program, AK_CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == 0 &&
           ak_fs_write(path, binary, bytes, NULL) == AK_OK;
}

static bool keep_source(const char *source, const char *options, const char *path)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX + OPTIONS_MAX + LOG_MAX);
    ak_buf_print(&text, "%s%s\n", head, options);
    ak_buf_puts(&text, source);
    return ak_buf_status(&text, NULL) == AK_OK &&
           ak_fs_write(path, text.data, text.length, NULL) == AK_OK;
}

/* Finds the device among those that the child reaches, by its identity: if a graphics processor is
   out of reach, its number may belong to another device. Of equal devices the one with the right
   number is preferred. A job without a task has no identity; then the number decides. */
static bool find_device(ak_opencl_place *out, const ak_opencl *cl, const char *device,
                        const char *identity)
{
    ak_opencl_place places[AK_OPENCL_DEVICES_MAX];
    bool found = false;
    for (size_t i = 0, count = ak_opencl_devices(places, cl); i < count; i++) {
        char name[32], known[32];
        (void)snprintf(name, sizeof name, AK_OPENCL_PREFIX "%zu", i);
        (void)snprintf(known, sizeof known, "%lld", (long long)ak_opencl_identity(cl, &places[i]));
        bool numbered = strcmp(name, device) == 0;
        if (identity[0] == 0 ? numbered : strcmp(known, identity) == 0 && (numbered || !found)) {
            *out = places[i];
            found = true;
        }
    }
    return found;
}

int ak_opencl_compile_main(int argc, char **argv)
{
    const ak_opencl *cl;
    ak_opencl_place place;
    ak_error err = AK_ERROR_INIT;
    char *source = NULL, *log = NULL;
    void *program = NULL, *context = NULL;
    int32_t code = 0;
    if (argc != ARGUMENTS) {
        return EXIT_REFUSED;
    }
    if (ak_fs_read(&source, NULL, argv[SOURCE], AK_SOURCE_BYTES_MAX + LOG_MAX, &err) != AK_OK) {
        ak_backend_say(err.text);
        return EXIT_REFUSED;
    }
    bool kept = false;
    int32_t refused; /* why there is no context: the device's worker may get one */
    bool here = ak_opencl_open(&cl, NULL) == AK_OK &&
                find_device(&place, cl, argv[DEVICE], argv[IDENTITY]) &&
                (context = ak_opencl_context(cl, &place, &refused)) != NULL;
    if (here) {
        const ak_opencl_target target = {cl, context, place.device};
        code = build_source(&program, &log, &target, source, argv[OPTIONS]);
        ak_backend_say(ak_or_empty(log));
        if (code != 0 && (log == NULL || strstr(log, "error") == NULL)) {
            char text[64];
            ak_opencl_error_text(text, sizeof text, code);
            ak_backend_say("error: clBuildProgram: ");
            ak_backend_say(text);
        }
        kept = code == 0 && keep_binary(cl, program, argv[ARTIFACT]);
    }
    if (code == 0 && !kept && !keep_source(source, argv[OPTIONS], argv[ARTIFACT])) {
        ak_backend_say("error: the program could not be written");
        code = AK_CL_OUT_OF_RESOURCES;
    }
    AK_FREE_ALL(log, source);
    /* Nothing of the ICD is released: it may hang or crash while it clears up. */
    _exit(code == 0 ? EXIT_COMPILED : EXIT_REFUSED);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Adds the place where a library is installed: the folder above its "lib", because PoCL also reads
   share/pocl there, or else the library's folder. Adds nothing for a name without a folder, which
   is a library of the system. */
static void add_home(ak_compile_folders *out, const char *library)
{
    char home[AK_PATH_MAX];
    if (strchr(library, '/') == NULL || realpath(library, home) == NULL) {
        return;
    }
    char file[AK_PATH_MAX];
    (void)snprintf(file, sizeof file, "%s", home);
    *strrchr(home, '/') = 0;
    for (char *slash = home + strlen(home); slash > home; slash--) {
        if (strcmp(slash, "/lib") == 0 || strncmp(slash, "/lib/", 5) == 0) {
            *slash = 0;
            break;
        }
    }
    ak_reads_add_installation(&out->reads, home);
    ak_reads_add(&out->reads, file); /* of ~/.local/lib this file alone is read */
}

/* Adds the file of an ICD, whose one line names a library, and the place of that library. Does
   nothing for a file without the suffix .icd. */
static void add_icd(ak_compile_folders *out, const char *path)
{
    AK_FREED char *text = NULL;
    if (ak_fs_has_suffix(path, ".icd") &&
        ak_fs_read(&text, NULL, path, AK_PATH_MAX, NULL) == AK_OK) {
        text[strcspn(text, "\r\n")] = 0;
        add_home(out, text);
        ak_reads_add(&out->reads, path);
    }
}

ak_status ak_opencl_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                            ak_error *err)
{
    char cache[AK_PATH_MAX + 32], path[AK_PATH_MAX];
    AK_AT_END(ak_fs_names_free) ak_fs_names icds = {0};
    const char *own = ak_env("OCL_ICD_VENDORS"), *library = ak_env("AUTOKERNEL_LIBOPENCL");
    (void)compilers, (void)count, (void)err;
    ak_reads_add(&out->reads, "/etc/OpenCL");
    if (own != NULL) {
        ak_reads_add_folder(&out->reads, own);
        add_icd(out, own); /* it may be an .icd file instead of a folder */
    }
    if (library != NULL) {
        add_home(out, library);
    }
    const char *vendors = own != NULL ? own : "/etc/OpenCL/vendors";
    (void)ak_fs_list(&icds, vendors, NULL);
    for (size_t i = 0; i < icds.count; i++) {
        if (ak_fs_join(path, vendors, icds.list[i], NULL) == AK_OK) {
            add_icd(out, path);
        }
    }
    ak_opencl_pocl_cache(cache, sizeof cache);
    const char *folder = strchr(cache, '=');
    (void)snprintf(out->writable, AK_PATH_MAX, "%s", folder == NULL ? "" : folder + 1);
    return AK_OK;
}

/* Joins the options, which hold no blanks (opencl_rules.c), and takes out the two that name the
   device. */
static ak_status join(ak_buf *out, const char **device, const char **identity,
                      const ak_compile_job *job, ak_error *err)
{
    const size_t prefix = sizeof AK_OPENCL_DEVICE_OPTION - 1;
    const size_t second = sizeof AK_OPENCL_IDENTITY_OPTION - 1;
    *device = AK_OPENCL_PREFIX "0";
    *identity = "";
    for (size_t i = 0; i < job->argc; i++) {
        if (strncmp(job->argv[i], AK_OPENCL_DEVICE_OPTION, prefix) == 0) {
            *device = job->argv[i] + prefix;
        } else if (strncmp(job->argv[i], AK_OPENCL_IDENTITY_OPTION, second) == 0) {
            *identity = job->argv[i] + second;
        } else {
            ak_buf_print(out, "%s%s", out->length == 0 ? "" : " ", job->argv[i]);
        }
    }
    return ak_buf_status(out, err);
}

static ak_status run_child(ak_proc_result *run, const ak_compile_job *job, ak_error *err)
{
    char program[AK_PATH_MAX], folder[AK_PATH_MAX + 8], cache[AK_PATH_MAX + 32];
    const char *device, *identity;
    AK_AT_END(ak_buf_free) ak_buf options = AK_BUF(OPTIONS_MAX - 1);
    AK_FREED ak_compile_folders *folders = ak_alloc(1, sizeof *folders);
    AK_DO(ak_made(folders, err));
    ak_reads_open(&folders->reads);
    AK_DO(ak_opencl_folders(folders, NULL, 0, err));
    ak_reads_add(&folders->reads, folders->writable);
    AK_DO(ak_program_find(program, err));
    AK_DO(join(&options, &device, &identity, job, err));
    (void)snprintf(folder, sizeof folder, "TMPDIR=%s", job->folder);
    ak_opencl_pocl_cache(cache, sizeof cache);
    const char *const variables[] = {"LC_ALL=C", folder, cache[0] == 0 ? NULL : cache, NULL};
    const char *const argv[] = {program,          "worker",      "--opencl-compile",
                                job->source_path, job->artifact, device,
                                identity,         options.data,  NULL};
    /* The child is this program, and a sanitizer's address space is larger than any limit. */
    ak_proc_spec spec = {.argv = argv,
                         .setenv = variables,
                         .output_max = LOG_MAX - 1,
                         .memory_max = AK_INSTRUMENTED ? 0 : job->memory_max};
    return ak_compile_run_self(run, spec, folders, job, err);
}

ak_status ak_opencl_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    ak_compile_result result = {0};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    AK_TRY(run_child(&run, job, err));
    AK_TRY(ak_compile_judge(&result, &run, job, "the OpenCL compiler", err));
    if (result.status == AK_TRIAL_OK) {
        AK_TRY(ak_compile_hash(&result, job, NULL, err));
    }
out:
    result.compile_ns = ak_clock_ns() - begin;
    return ak_compile_end(out, &result, status, err);
}
