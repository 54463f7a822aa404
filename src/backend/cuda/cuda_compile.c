/*
 * cuda_compile.c: compiles source and options to a cubin. NVRTC runs in a child of its own, as gcc
 * does for the host, so that a compiler that crashes, hangs or takes too much memory costs one
 * configuration. In a compile worker the child is a copy of the worker, which has NVRTC loaded,
 * because starting a program that loads it takes a fifth as long as compiling. Other processes may
 * have threads and cannot be copied safely, so they start this program anew.
 *
 * Earlier compilations are taken from the cache (compile_cache.h), unless the code may depend on
 * headers. The key is the source, the options (one is the architecture), and the version and file
 * of NVRTC.
 *
 * If the implementation says so (`Spills`), this file rejects code that spills more than a few
 * registers (AK_CUDA_SPILLS_FEW) or in which ptxas serialised tensor instructions (every note C75xx
 * in the log counts; C7508 to C7517 are known): such code runs several times slower than its
 * template was meant to. For other implementations the result only records the spilled bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/compile_cache.h"
#include "backend/cuda/cuda.h"
#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/hash.h"
#include "base/program.h"

#define LOG_MAX           (64u << 10)
#define NVRTC_OPTIONS_MAX 256
enum { EXIT_COMPILED = 0, EXIT_REFUSED = 1, EXIT_NO_NVRTC = 3 };

/* ---- the child ------------------------------------------------------------------------------- */

static void say_log(const ak_cuda_nvrtc *nvrtc, void *program)
{
    size_t bytes = 0;
    if (nvrtc->log_size(program, &bytes) == 0 && bytes > 1) {
        AK_FREED char *log = ak_alloc(bytes + 1, 1);
        if (log != NULL && nvrtc->log(program, log) == 0) {
            ak_backend_say(log);
        }
    }
}

static bool keep_cubin(const ak_cuda_nvrtc *nvrtc, void *program, const char *path)
{
    size_t bytes = 0;
    AK_FREED char *cubin = NULL;
    return nvrtc->cubin_size(program, &bytes) == 0 && bytes > 0 &&
           (cubin = ak_alloc(bytes, 1)) != NULL && nvrtc->cubin(program, cubin) == 0 &&
           ak_fs_write(path, cubin, bytes, NULL) == AK_OK;
}

/* Arguments of autokernel worker --nvrtc SOURCE CUBIN OPTION... */
enum { SOURCE = 3, CUBIN = 4, OPTIONS = 5 };

int ak_cuda_nvrtc_main(int argc, char **argv)
{
    const ak_cuda_nvrtc *nvrtc;
    ak_error err = AK_ERROR_INIT;
    AK_FREED char *source = NULL;
    void *program = NULL;
    if (argc < OPTIONS || argc - OPTIONS > NVRTC_OPTIONS_MAX) {
        return EXIT_REFUSED;
    }
    if (ak_cuda_nvrtc_open(&nvrtc, &err) != AK_OK) {
        ak_backend_say(err.text);
        return EXIT_NO_NVRTC;
    }
    if (ak_fs_read(&source, NULL, argv[SOURCE], AK_SOURCE_BYTES_MAX + LOG_MAX, &err) != AK_OK) {
        ak_backend_say(err.text);
        return EXIT_REFUSED;
    }
    int code = nvrtc->create(&program, source, "kernel.cu", 0, NULL, NULL);
    if (code == 0) {
        code = nvrtc->compile(program, argc - OPTIONS, (const char *const *)(argv + OPTIONS));
        say_log(nvrtc, program);
    }
    if (code == 0 && !keep_cubin(nvrtc, program, argv[CUBIN])) {
        ak_backend_say("error: the compiled code could not be written");
        code = 1;
    }
    (void)nvrtc->destroy(&program);
    return code == 0 ? EXIT_COMPILED : EXIT_REFUSED;
}

typedef struct command {
    int argc;
    char **argv;
} command;

static int run_here(void *context)
{
    const command *c = context;
    return ak_cuda_nvrtc_main(c->argc, c->argv);
}

/* ---- what the log says ----------------------------------------------------------------------- */

static int number_before(const char *log, const char *at)
{
    const char *digit = at;
    while (digit > log && digit[-1] >= '0' && digit[-1] <= '9') {
        digit--;
    }
    return digit < at ? (int)strtol(digit, NULL, 10) : 0;
}

/* Returns the largest number that precedes `what`; 0 if it does not occur. */
static int largest(const char *log, const char *what)
{
    int most = 0;
    for (const char *at = strstr(log, what); at != NULL; at = strstr(at + 1, what)) {
        int found = number_before(log, at);
        most = found > most ? found : most;
    }
    return most;
}

/* Reads registers, shared and spilled bytes from the log of ptxas; each is the largest of all
   entries. Returns the line of a note that a tensor instruction was serialised (C75xx), or NULL. */
static const char *read_spills(ak_compile_result *out, const char *log)
{
    out->registers = largest(log, " registers");
    out->shared_bytes = largest(log, " bytes smem");
    int stores = largest(log, " bytes spill stores"), loads = largest(log, " bytes spill loads");
    out->spill_bytes = stores > loads ? stores : loads;
    const char *note = strstr(log, "(C75");
    while (note != NULL && note > log && note[-1] != '\n') {
        note--;
    }
    return note;
}

/* Reads the log and, with `reject`, rejects code that spills more than AK_CUDA_SPILLS_FEW bytes or
   was serialised. */
static void read_log(ak_compile_result *out, const char *log, bool reject)
{
    char text[256];
    const char *note = read_spills(out, log);
    if (!reject) {
        return;
    }
    if (note != NULL) {
        (void)snprintf(text, sizeof text, "ptxas serialised tensor instructions: %.*s",
                       (int)(strcspn(note, "\n") < 160 ? strcspn(note, "\n") : 160), note);
    } else if (out->spill_bytes > AK_CUDA_SPILLS_FEW) {
        (void)snprintf(text, sizeof text, "it spills %d bytes of registers to memory",
                       out->spill_bytes);
    } else {
        return;
    }
    out->status = AK_TRIAL_REJECTED;
    out->reason = ak_strdup(text);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* Skips line splices: a backslash, or the trigraph ??/, before the end of a line. */
static const char *unspliced(const char *at)
{
    while (*at == '\\' || strncmp(at, "?\?/", 3) == 0) {
        const char *sign = at + (*at == '\\' ? 1 : 3);
        const char *end = sign + strspn(sign, " \t\r\v\f");
        if (*end != '\n') {
            break;
        }
        at = end + 1;
    }
    return at;
}

/* Returns whether a source or an option may make NVRTC read other files. Without any folder of
   headers NVRTC still reads absolute paths and those that begin at the current folder. Looks for
   words only, so one in a comment counts, too. The kernel's own files are part of the source
   already. */
static bool may_read_files(const char *text)
{
    static const char *const words[] = {"include", "include_next", "import", "embed"};
    char word[24];
    for (const char *at = unspliced(text); *at != 0;) {
        size_t length = 0;
        for (; ak_ascii_is_word(*at); at = unspliced(at + 1)) {
            length += length + 1 < sizeof word ? 1 : 0;
            word[length - 1] = *at;
        }
        word[length] = 0;
        if (AK_HAS_TEXT(words, AK_COUNT(words), word)) {
            return true;
        }
        at = length == 0 ? unspliced(at + 1) : at;
    }
    return false;
}

/* Returns whether the code may depend on headers. The cache is then not used, because NVRTC does
   not say which headers it has read, so the key cannot cover them. */
static bool has_headers(const ak_compile_job *job, const char *source)
{
    static const char *const names[] = {"-I", "--include-path"};
    static const char *const asks[] = {"__has_include", "__has_embed", NULL};
    bool may = may_read_files(source) || ak_compile_may_have_word(NULL, job, asks);
    for (size_t i = 0; i < job->argc && !may; i++) {
        may = may_read_files(job->argv[i]);
        for (size_t k = 0; k < AK_COUNT(names); k++) {
            may = may || strncmp(job->argv[i], names[k], strlen(names[k])) == 0;
        }
    }
    return may;
}

static ak_status cache_find(ak_compile_cache *out, const ak_compile_job *job,
                            const ak_cuda_nvrtc *nvrtc, ak_error *err)
{
    AK_FREED char *source = NULL;
    int version[2] = {0, 0};
    struct stat file;
    size_t length = 0;
    out->usable = false;
    if (stat(nvrtc->path, &file) != 0) {
        return AK_OK;
    }
    /* nvrtcVersion omits the patch level, so the key also identifies the file. */
    const int64_t identity[] = {(int64_t)file.st_dev, (int64_t)file.st_ino, (int64_t)file.st_size,
                                (int64_t)file.st_mtim.tv_sec, (int64_t)file.st_mtim.tv_nsec};
    AK_DO(ak_fs_read(&source, &length, job->source_path, AK_SOURCE_BYTES_MAX + LOG_MAX, err));
    if (has_headers(job, source)) {
        return AK_OK;
    }
    ak_hasher *hasher = ak_hasher_new();
    (void)nvrtc->version(&version[0], &version[1]);
    ak_hasher_add(hasher, version, sizeof version);
    ak_hasher_add(hasher, identity, sizeof identity);
    ak_hasher_add(hasher, source, length);
    for (size_t i = 0; i < job->argc; i++) {
        ak_hasher_add_text(hasher, job->argv[i]);
    }
    ak_compile_cache_find(out, "cuda", hasher);
    return AK_OK;
}

static bool is_worker; /* a compile worker has a single thread and NVRTC loaded */

/* Adds the place of NVRTC, which loads further libraries there; returns false if there is none. */
static bool add_nvrtc(ak_compile_folders *out)
{
    const ak_cuda_nvrtc *nvrtc;
    char library[AK_PATH_MAX];
    const bool found =
        ak_cuda_nvrtc_open(&nvrtc, NULL) == AK_OK && realpath(nvrtc->path, library) != NULL;
    if (found) {
        ak_reads_add_beside(&out->reads, library);
    }
    return found;
}

ak_status ak_cuda_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                          ak_error *err)
{
    bool triton = false, cuda = false; /* a comparison may need both */
    for (size_t i = 0; i < count; i++) {
        triton = triton || strcmp(compilers[i], AK_TRITON) == 0;
        cuda = cuda || strcmp(compilers[i], "cuda") == 0;
    }
    if (triton) {
        AK_DO(ak_triton_folders(out, err));
        if (!cuda) {
            return AK_OK;
        }
    }
    is_worker = add_nvrtc(out);
    ak_compile_cache_open(out->writable, "cuda");
    return AK_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static ak_status run_nvrtc(ak_proc_result *run, const ak_compile_job *job, ak_error *err)
{
    char program[AK_PATH_MAX], folder[AK_PATH_MAX + 8];
    AK_DO(ak_program_find(program, err));
    const char *const head[] = {program,          "worker",      "--nvrtc",
                                job->source_path, job->artifact, "--ptxas-options=-v"};
    enum { HEAD = AK_COUNT(head) };
    AK_FREED const char **argv = NULL;
    AK_DO(AK_NEW(argv, job->argc + HEAD + 1, err));
    memcpy(argv, head, sizeof head);
    if (job->argc > 0) {
        memcpy(argv + HEAD, job->argv, job->argc * sizeof *argv);
    }
    (void)snprintf(folder, sizeof folder, "TMPDIR=%s", job->folder);
    /* In builds with AddressSanitizer the search for leaks needs calls that the sandbox refuses. */
    const char *const variables[] = {"LC_ALL=C", "ASAN_OPTIONS=detect_leaks=0", folder, NULL};
    command here = {.argc = (int)job->argc + HEAD, .argv = (char **)(uintptr_t)argv};
    /* The child is this program, and a sanitizer's address space is larger than any limit. */
    ak_proc_spec spec = {.argv = argv,
                         .call = is_worker ? run_here : NULL,
                         .context = &here,
                         .setenv = variables,
                         .output_max = LOG_MAX - 1,
                         .memory_max = AK_INSTRUMENTED ? 0 : job->memory_max};
    AK_FREED ak_compile_folders *folders = NULL;
    AK_DO(AK_NEW(folders, 1, err));
    ak_reads_open(&folders->reads);
    add_nvrtc(folders);
    return ak_compile_run_self(run, spec, folders, job, err);
}

ak_status ak_cuda_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    const ak_cuda_nvrtc *nvrtc;
    if (job->compiler != NULL && strcmp(job->compiler, AK_TRITON) == 0) {
        return ak_triton_compile(out, job, err);
    }
    AK_FREED ak_compile_cache *place = ak_alloc(1, sizeof *place);
    ak_compile_result result = {0};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    AK_TRY(place == NULL ? ak_fail_memory(err) : ak_cuda_nvrtc_open(&nvrtc, err));
    AK_TRY(cache_find(place, job, nvrtc, err));
    if (!ak_compile_cache_take(&result.log, place, job->artifact)) {
        AK_TRY(run_nvrtc(&run, job, err));
        if (run.exit_code == EXIT_NO_NVRTC) {
            AK_TRY(ak_fail(err, AK_UNAVAILABLE, "%.300s", run.output));
        }
        AK_TRY(ak_compile_judge(&result, &run, job, "NVRTC", err));
        if (result.status == AK_TRIAL_OK) {
            ak_compile_cache_keep(place, job->artifact, result.log, NULL, NULL);
        }
    }
    if (result.status == AK_TRIAL_OK) {
        read_log(&result, ak_or_empty(result.log), job->reject_slow);
    }
    if (result.status == AK_TRIAL_OK) {
        AK_TRY(ak_compile_hash(&result, job, ak_cuda_code_hash, err));
    }
out:
    result.compile_ns = ak_clock_ns() - begin;
    return ak_compile_end(out, &result, status, err);
}

ak_status ak_cuda_requires(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                           ak_error *err)
{
    static const char option[] = "--gpu-architecture=";
    const ak_cuda_nvrtc *nvrtc;
    const char *architecture = "";
    int major = 0, minor = 0;
    for (size_t i = 0; i < job->argc; i++) {
        if (strncmp(job->argv[i], option, sizeof option - 1) == 0) {
            architecture = job->argv[i] + sizeof option - 1;
        }
    }
    AK_FAIL_IF(strncmp(architecture, "sm_", 3) != 0, err, AK_INVALID,
               "code for \"%.40s\" cannot be shipped: it names no device", architecture);
    AK_DO(ak_cuda_nvrtc_open(&nvrtc, err));
    (void)nvrtc->version(&major, &minor);
    (void)snprintf(version, bytes, "NVRTC %d.%d", major, minor);
    *out = json_pack("{s:s, s:i, s:i}", "architecture", architecture, "compute_capability",
                     (int)strtol(architecture + 3, NULL, 10), "driver", major * 1000);
    return ak_made(*out, err);
}
