/*
 * host_compile.c: compiles source and options to a shared object, with the machine's own gcc or
 * clang. The compiler runs as a child with limits on time and memory. It reads only the source and
 * what is installed, and reaches no network and no other process's memory (sandbox.h). Its
 * temporary files go where the artifact goes; its output is bounded and cleaned before anybody sees
 * it.
 *
 * Earlier compilations are taken from the cache (compile_cache.h) if the compiler, its options, the
 * source, this processor, the version of the C library and the headers that it reads are the same.
 * A new assembler or linker is not noticed. Code with Fortran is not cached, because a second
 * compiler takes part, nor is code that may depend on files that no rule names (look_at_files).
 */
#include <gnu/libc-version.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/compile.h"
#include "backend/compile_cache.h"
#include "backend/host/host.h"
#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"

#define LOG_MAX (64u << 10)
/* This is long because a busy machine takes seconds to load clang. */
#define VERSION_TIMEOUT_NS (30 * AK_SECOND_NS)
/* Limits for references and baselines. */
#define OWN_TIMEOUT_NS (120 * AK_SECOND_NS)
#define OWN_MEMORY_MAX ((size_t)4 << 30)
/* Room for the first line of --version, and the number of compilers for which it is kept. */
#define VERSION_BYTES 256
#define ANSWERS       4

/* Makes the linker leave out all symbols except those that the loader can look up. */
#define STRIP "-s"

static const char *const defaults[] = {"cc", "gcc", "clang", NULL};

/* Returns whether a compiler can be used. One that fails to report its version would fail for each
   configuration, too. One that gave no answer counts as usable; if it is gcc or clang,
   ak_host_environment refuses to go on without the answer. */
bool ak_host_available(void *context, const char *compiler)
{
    char version[16];
    (void)context;
    return !ak_host_compiler_version(version, sizeof version, compiler, NULL) || version[0] != 0;
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
    return ak_fail(err, AK_UNAVAILABLE,
                   "no C compiler was found in PATH: install gcc or clang, or add its "
                   "folder to PATH");
}

/* Writes the first line of --version; leaves `out` as it is if the compiler fails. Returns false if
   it gave no answer: time ran out, a signal ended it, or this machine had no process or file left
   for it. */
static bool ask_version(char *out, size_t bytes, const char *compiler, ak_error *why)
{
    const char *const argv[] = {compiler, "--version", NULL};
    /* On stderr the loader complains of LD_PRELOAD, and a shell of the locale. */
    const ak_proc_spec spec = {
        .argv = argv, .timeout_ns = VERSION_TIMEOUT_NS, .output_max = 4096, .only_stdout = true};
    AK_AT_END(ak_proc_result_clear) ak_proc_result result = {0};
    const ak_status status = ak_compile_run(&result, spec, NULL, NULL, why);
    if (status != AK_OK) {
        return status == AK_NOT_FOUND;
    }
    if (result.exit_code == 0) {
        (void)snprintf(out, bytes, "%.*s", (int)strcspn(result.output, "\r\n"), result.output);
    }
    return !result.timed_out && result.signal == 0;
}

/* A compiler's version, and the state of its file when it was asked. If the file is a script, a
   change of the compiler that it calls is not noticed within a process. */
typedef struct answer {
    char path[AK_PATH_MAX], version[VERSION_BYTES];
    struct stat file;
} answer;

static bool is_same(const answer *a, const char *path, const struct stat *file)
{
    return strcmp(a->path, path) == 0 && a->file.st_dev == file->st_dev &&
           a->file.st_ino == file->st_ino && a->file.st_size == file->st_size &&
           a->file.st_mtim.tv_sec == file->st_mtim.tv_sec &&
           a->file.st_mtim.tv_nsec == file->st_mtim.tv_nsec;
}

/* Keeps the versions of ANSWERS compilers until their files change, because clang takes 20 ms to
   answer, and the version is asked for by the environment of the device, by its description and in
   each compilation. */
bool ak_host_compiler_version(char *out, size_t bytes, const char *compiler, ak_error *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `answers` and `next` */
    static answer answers[ANSWERS];
    static size_t next;
    char path[AK_PATH_MAX];
    struct stat file;
    out[0] = 0;
    bool answered = true;
    if (!ak_fs_which(path, compiler) || stat(path, &file) != 0) {
        return true;
    }
    (void)pthread_mutex_lock(&lock);
    answer *found = NULL;
    for (size_t i = 0; i < ANSWERS && found == NULL; i++) {
        found = is_same(&answers[i], path, &file) ? &answers[i] : NULL;
    }
    if (found == NULL) {
        found = &answers[next++ % ANSWERS];
        *found = (answer){.file = file};
        answered = ask_version(found->version, sizeof found->version, compiler, why);
        /* A compiler that gave no version is asked again, because the machine may have been too
           busy. */
        (void)snprintf(found->path, sizeof found->path, "%s", found->version[0] == 0 ? "" : path);
    }
    (void)snprintf(out, bytes, "%s", found->version);
    (void)pthread_mutex_unlock(&lock);
    return answered;
}

ak_status ak_host_need_version(char *out, size_t bytes, const char *compiler, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    if (ak_host_compiler_version(out, bytes, compiler, &why)) {
        return AK_OK;
    }
    AK_FAIL_IF(why.text[0] != 0, err, AK_UNAVAILABLE, "%s", why.text);
    return ak_fail(err, AK_UNAVAILABLE,
                   "'%.100s --version' gave no answer within %d s, or was killed, and results "
                   "belong to a version: try again when this machine is less busy, or take "
                   "the compiler out of PATH",
                   compiler, (int)(VERSION_TIMEOUT_NS / AK_SECOND_NS));
}

ak_status ak_host_source(ak_buf *out, const char *text, const char *name, ak_error *err)
{
    const ak_asset *head = ak_asset_find("src/backend/host/ak_host.h");
    AK_FAIL_IF(head == NULL, err, AK_INTERNAL, "ak_host.h is not part of this build");
    ak_buf_append(out, head->data, head->length);
    ak_buf_putc(out, '\n');
    return ak_backend_source(out, text, name, err);
}

/* Replaces the reason if the undefined function is the one that "KernelName" names. */
static void name_entry(char *why, size_t bytes, const ak_compile_job *job)
{
    char name[64], call[80];
    AK_FREED char *text = NULL;
    size_t length;
    const char *launch;
    if (strncmp(why, "it uses ", 8) != 0 ||
        ak_fs_read(&text, &length, job->source_path, AK_SOURCE_BYTES_MAX, NULL) != AK_OK) {
        return;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(why + 8, " "), why + 8);
    (void)snprintf(call, sizeof call, "    (void)%s(", name);
    launch = strstr(text, "#line 1 \"Launch\"\n");
    if (launch != NULL && strstr(launch, call) != NULL) {
        (void)snprintf(
            why, bytes, "the source defines no function %.48s, which \"KernelName\" names%s", name,
            strstr(text, AK_FORTRAN_BEGIN "\n") == NULL ? "" : "; Fortran needs bind(c)");
    }
}

/* What one compilation needs besides the compiler and the job's own options. */
typedef struct parts {
    bool fortran, openmp;
    /* Assembly is written as the source has it. Clang leaves it so only for an external assembler;
       otherwise it writes the contents of an included file in place of the directive. */
    bool verbatim;
    char c_file[AK_PATH_MAX + 8], fortran_file[AK_PATH_MAX + 8], prefix[AK_PATH_MAX + 8];
    char rule[AK_PATH_MAX + 8];  /* file in which the compiler says what it has read, as a rule for
                                    make */
    char list[AK_PATH_MAX + 24]; /* option that has the assembler list what it reads; "": none */
} parts;

bool ak_host_fortran_part(char **begin, char **end, char *source)
{
    *begin = strstr(source, AK_FORTRAN_BEGIN "\n");
    *end = *begin == NULL ? NULL : strstr(*begin, AK_FORTRAN_END "\n");
    return *end != NULL;
}

/* If the source has Fortran, cuts that part out and writes both parts to separate files. */
static ak_status split(parts *out, const ak_compile_job *job, ak_error *err)
{
    AK_FREED char *text = NULL;
    char *begin, *end;
    size_t length = 0;
    AK_DO(ak_fs_read(&text, &length, job->source_path, AK_SOURCE_BYTES_MAX, err));
    if (!ak_host_fortran_part(&begin, &end, text)) {
        return AK_OK;
    }
    out->fortran = true;
    (void)snprintf(out->c_file, sizeof out->c_file, "%s.c", job->artifact);
    (void)snprintf(out->fortran_file, sizeof out->fortran_file, "%s.f90", job->artifact);
    char *source = begin + sizeof AK_FORTRAN_BEGIN; /* with its line break */
    AK_DO(ak_fs_write(out->fortran_file, source, (size_t)(end - source), err));
    memset(begin, ' ', (size_t)(end - begin)); /* one long empty line */
    return ak_fs_write(out->c_file, text, length, err);
}

/* Makes gcc link a candidate without libgomp, whose functions the runner has (host_openmp.h): gcc
   reads from libgomp.spec what to link for OpenMP, and finds ours first. */
static ak_status leave_out_libgomp(parts *out, const ak_compile_job *job, ak_error *err)
{
    static const char spec[] = "*link_gomp: -lm\n";
    char path[AK_PATH_MAX];
    out->openmp = true;
    (void)snprintf(out->prefix, sizeof out->prefix, "-B%s", job->folder);
    AK_DO(ak_fs_join(path, job->folder, "libgomp.spec", err));
    return ak_fs_is_file(path) ? AK_OK : ak_fs_write(path, spec, sizeof spec - 1, err);
}

/* Returns whether this compiler or machine cannot compile Fortran, with the reason in `out`. */
static bool lacks_fortran(ak_compile_result *out, const char *compiler)
{
    char path[AK_PATH_MAX];
    const char *why = strstr(compiler, "clang") != NULL
                          ? "clang compiles no Fortran: let COMPILER be gcc"
                      : !ak_fs_which(path, "gfortran")
                          ? "Fortran needs gfortran, which is not installed (apt install gfortran)"
                          : NULL;
    if (why != NULL) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(why);
    }
    return why != NULL;
}

/* Constants are not searched for system calls, so they must not be executable (separate-code).
   Linkers for x86-64 do this by default, and gold does not know the option. */
#ifdef __aarch64__
#define LINK "-Wl,-z,relro,-z,now,-z,separate-code,--build-id=none"
#else
#define LINK "-Wl,-z,relro,-z,now,--build-id=none"
#endif

/* Returns whether a compiler is clang or based on it: such compilers have a built-in assembler. If
   it does not say its version, its name decides. */
static bool is_clang(const char *compiler)
{
    static const char *const names[] = {"clang", "LLVM", "oneAPI"};
    char version[VERSION_BYTES];
    bool is = false;
    (void)ak_host_compiler_version(version, sizeof version, compiler, NULL);
    if (version[0] == 0) {
        const char *slash = strrchr(compiler, '/');
        (void)snprintf(version, sizeof version, "%s", slash == NULL ? compiler : slash + 1);
    }
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        is = is || strstr(version, names[i]) != NULL;
    }
    return is;
}

#define LIST "-Wa,--MD,"

/* Has the assembler list what it reads, unless it is clang's, the source has Fortran, or the path
   of the list has a comma, which would end the option's argument. */
static void list_files(parts *out, const char *compiler, const ak_compile_job *job)
{
    if (!out->fortran && !is_clang(compiler) && strchr(job->artifact, ',') == NULL) {
        (void)snprintf(out->list, sizeof out->list, LIST "%s.r", job->artifact);
    }
}

/* Returns the command, which the caller frees, or NULL without memory. */
static const char **command_of(const char *compiler, const parts *p, const ak_compile_job *job)
{
    /* The compiler's start files are left out because they have a writable variable, and the
       linker's id because it hashes names of files. -s leaves out all names but those that can be
       looked up, so that a file is the same wherever it is compiled. Each message of gfortran is
       one line without its caret. */
    const char *const tail[] = {"-fPIC",
                                "-shared",
                                "-nostartfiles",
                                LINK,
                                STRIP,
                                p->openmp ? p->prefix : NULL,
                                p->fortran ? NULL : "-MD",
                                p->fortran ? NULL : "-MF",
                                p->fortran ? NULL : p->rule,
                                p->list[0] == 0 ? NULL : p->list,
                                "-o",
                                job->artifact,
                                p->fortran ? p->c_file : job->source_path,
                                p->fortran ? "-cpp" : NULL,
                                p->fortran ? "-fno-diagnostics-show-caret" : NULL,
                                p->fortran ? "-xf95" : NULL,
                                p->fortran ? p->fortran_file : NULL,
                                "-lm"};
    return ak_compile_command(compiler, job->argv, job->argc, tail, AK_COUNT(tail));
}

/* Runs the compiler and judges what it says. */
static ak_status run_compiler(ak_compile_result *result, const char *const *argv,
                              const ak_compile_job *job, ak_error *err)
{
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    ak_proc_spec spec = {.argv = argv, .output_max = LOG_MAX, .memory_max = job->memory_max};
    ak_compile_limit(&spec, job);
    AK_DO(ak_compile_run(&run, spec, job->source_path, job->folder, err));
    result->compile_ns = run.wall_ns;
    return ak_compile_judge(result, &run, job, "the compiler", err);
}

/* Has the compiler write the assembly of the job's source. Fortran cannot contain assembly, so only
   the C part of a source is compiled. *text is NULL if it does not compile, with the reason in
   `result`; else the caller frees it. */
static ak_status assembly_of(char **text, ak_compile_result *result, const char *compiler,
                             const parts *p, const ak_compile_job *job, ak_error *err)
{
    char path[AK_PATH_MAX + 8];
    AK_AT_END(ak_compile_result_clear) ak_compile_result made = {0};
    *text = NULL;
    (void)snprintf(path, sizeof path, "%s.s", job->artifact);
    const char *const tail[] = {
        "-fPIC", "-w", "-fno-lto", p->verbatim && is_clang(compiler) ? "-fno-integrated-as" : "-w",
        "-S",    "-o", path,       p->fortran ? p->c_file : job->source_path};
    AK_FREED const char **argv =
        ak_compile_command(compiler, job->argv, job->argc, tail, AK_COUNT(tail));
    AK_DO(ak_made(argv, err));
    ak_status status = AK_OK;
    AK_TRY(run_compiler(&made, argv, job, err));
    if (made.status == AK_TRIAL_OK) {
        AK_TRY(ak_fs_read(text, NULL, path, AK_ARTIFACT_MAX, err));
    } else {
        result->status = made.status;
        result->reason = made.reason;
        made.reason = NULL;
    }
out:
    (void)unlink(path);
    return status;
}

/* Rejects a candidate whose assembly has system calls, or what could hide one. */
static ak_status look_at_assembly(ak_compile_result *result, const char *compiler, const parts *p,
                                  const ak_compile_job *job, ak_error *err)
{
#ifdef __aarch64__
    const bool arm = true;
#else
    const bool arm = false;
#endif
    AK_FREED char *text = NULL;
    char why[220];
    AK_DO(assembly_of(&text, result, compiler, p, job, err));
    if (text != NULL && ak_host_assembly_calls(why, sizeof why, text, arm)) {
        result->status = AK_TRIAL_REJECTED;
        result->reason = ak_strdup(why);
    }
    return AK_OK;
}

/* Rejects a source, also a reference's, that has the assembler read a file: no rule names that
   file, so nothing would notice when it changes. Sets *known to whether the rule names all files
   that matter. */
static ak_status look_at_files(bool *known, ak_compile_result *result, const char *compiler,
                               const parts *p, const ak_compile_job *job, ak_error *err)
{
    static const char *const assembler[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const asks[] = {"__has_include", "__has_embed", NULL};
    const char *rule = p->fortran ? NULL : p->rule;
    AK_FREED char *text = NULL;
    bool unknown = false, reads = false;
    *known = !ak_compile_may_have_word(rule, job, asks);
    if (p->list[0] != 0 && ak_fs_is_file(p->list + strlen(LIST))) {
        reads = ak_compile_reads_more(p->list + strlen(LIST), p->rule);
    } else if (ak_compile_may_have_word(rule, job, assembler)) {
        parts verbatim = *p;
        verbatim.verbatim = true;
        AK_DO(assembly_of(&text, result, compiler, &verbatim, job, err));
        reads = text != NULL && ak_host_assembly_reads(&unknown, text);
    }
    if (reads) {
        result->status = AK_TRIAL_REJECTED;
        result->reason = ak_strdup("it has the assembler read a file (.incbin or .include): put "
                                   "what it needs into the source");
    }
    *known = *known && !unknown;
    return AK_OK;
}

/* Rejects a candidate whose artifact could cheat, before it runs. */
static ak_status look_at(ak_compile_result *result, const char *compiler, const parts *p,
                         const ak_compile_job *job, ak_error *err)
{
    AK_FREED char *file = NULL;
    char why[200];
    size_t length = 0;
    char hash[AK_HASH_BYTES];
    AK_DO(ak_fs_read(&file, &length, job->artifact, AK_ARTIFACT_MAX, err));
    ak_hash_text(hash, file, length);
    if (strcmp(hash, result->file_hash) != 0) {
        result->status = AK_TRIAL_REJECTED;
        result->reason = ak_strdup("its artifact changed while it was looked at");
    } else if (ak_host_elf_refused(why, sizeof why, (const unsigned char *)file, length)) {
        name_entry(why, sizeof why, job);
        result->status = AK_TRIAL_REJECTED;
        result->reason = ak_strdup(why);
    } else if (ak_host_elf_may_call((const unsigned char *)file, length)) {
        return look_at_assembly(result, compiler, p, job, err);
    }
    return AK_OK;
}

/* Hashes when something was last put into a folder of headers, or taken out, because a new header
   may hide another of its name. The cache itself notices changes of headers in use. */
static void hash_folder(ak_hasher *hasher, const char *path)
{
    struct stat folder = {0};
    (void)stat(path, &folder);
    const int64_t when[] = {(int64_t)folder.st_mtim.tv_sec, (int64_t)folder.st_mtim.tv_nsec};
    ak_hasher_add(hasher, when, sizeof when);
}

/* Hashes the usual folders of headers, and those that options name. */
static void hash_header_folders(ak_hasher *hasher, const ak_compile_job *job)
{
    static const char *const options[] = {"-I", "--include-path="};
    hash_folder(hasher, "/usr/local/include");
    hash_folder(hasher, "/usr/include");
    for (size_t i = 0; i < job->argc; i++) {
        for (size_t k = 0; k < AK_COUNT(options); k++) {
            const size_t length = strlen(options[k]);
            if (strncmp(job->argv[i], options[k], length) == 0) {
                hash_folder(hasher, job->argv[i] + length);
            }
        }
    }
}

/* Finds the place of a compilation in the cache. out->usable is false if there is none: without a
   cache, for code with Fortran, and if the compiler, its version or the processor is not known. */
static ak_status cache_find(ak_compile_cache *out, const char *const *argv, const parts *p,
                            const ak_compile_job *job, ak_error *err)
{
    static const char *const variables[] = {"PATH",          "CPATH",           "C_INCLUDE_PATH",
                                            "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH"};
    char path[AK_PATH_MAX], version[VERSION_BYTES];
    AK_FREED char *source = NULL;
    struct stat file;
    size_t length = 0;
    out->usable = false;
    if (p->fortran || !ak_fs_which(path, argv[0]) || stat(path, &file) != 0) {
        return AK_OK;
    }
    const int64_t identity[] = {(int64_t)file.st_dev, (int64_t)file.st_ino, (int64_t)file.st_size,
                                (int64_t)file.st_mtim.tv_sec, (int64_t)file.st_mtim.tv_nsec};
    AK_DO(ak_fs_read(&source, &length, job->source_path, AK_SOURCE_BYTES_MAX, err));
    const bool answered = ak_host_compiler_version(version, sizeof version, argv[0], NULL);
    ak_hasher *hasher = ak_hasher_new();
    ak_hasher_add(hasher, source, length);
    ak_hasher_add_text(hasher, path);
    ak_hasher_add(hasher, identity, sizeof identity);
    ak_hasher_add_text(hasher, version);
    ak_hasher_add_text(hasher, gnu_get_libc_version());
    hash_header_folders(hasher, job);
    bool known = ak_host_hash_processor(hasher);
    for (size_t i = 0; i < AK_COUNT(variables); i++) {
        ak_hasher_add_text(hasher, ak_env(variables[i]));
    }
    for (size_t i = 1; argv[i] != NULL; i++) {
        bool varies = argv[i] == job->artifact || argv[i] == job->source_path ||
                      argv[i] == p->prefix || argv[i] == p->rule || argv[i] == p->list;
        ak_hasher_add_text(hasher, varies ? "" : argv[i]);
    }
    ak_compile_cache_find(out, "host", hasher);
    out->usable = out->usable && known && answered;
    return AK_OK;
}

ak_status ak_host_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                          ak_error *err)
{
    (void)compilers, (void)count, (void)err;
    ak_compile_cache_open(out->writable, "host");
    return AK_OK;
}

/* Compiles a rejected candidate again, with symbols, so that the reason can name the variable. */
static ak_status name_variable(ak_compile_result *result, const char **argv,
                               const ak_compile_job *job, ak_error *err)
{
    char why[200];
    AK_FREED char *file = NULL;
    size_t length = 0;
    AK_AT_END(ak_compile_result_clear) ak_compile_result again = {0};
    for (const char **argument = argv; *argument != NULL; argument++) {
        *argument = strcmp(*argument, STRIP) == 0 ? "-g0" : *argument;
    }
    ak_status status = run_compiler(&again, argv, job, err);
    if (status == AK_OK && again.status == AK_TRIAL_OK &&
        ak_fs_read(&file, &length, job->artifact, AK_ARTIFACT_MAX, NULL) == AK_OK &&
        ak_host_elf_refused(why, sizeof why, (const unsigned char *)file, length)) {
        ak_free(result->reason);
        result->reason = ak_strdup(why);
    }
    return status;
}

ak_status ak_host_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    const char *compiler = job->compiler;
    const char **argv = NULL;
    ak_compile_cache *place = ak_alloc(1, sizeof *place);
    ak_compile_result result = {0};
    parts p = {.fortran = false};
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    AK_TRY(ak_made(place, err));
    AK_TRY(compiler == NULL ? ak_host_compiler(&compiler, err) : AK_OK);
    (void)snprintf(p.rule, sizeof p.rule, "%s.d", job->artifact);
    AK_TRY(split(&p, job, err));
    if (p.fortran && lacks_fortran(&result, compiler)) {
        goto out;
    }
    if (AK_HAS_TEXT(job->argv, job->argc, AK_OPTION_OPENMP)) {
        AK_TRY(leave_out_libgomp(&p, job, err));
    }
    list_files(&p, compiler, job);
    argv = command_of(compiler, &p, job);
    AK_TRY(ak_made(argv, err));
    AK_TRY(cache_find(place, argv, &p, job, err));
    if (ak_compile_cache_take(&result.log, place, job->artifact)) {
        result.compile_ns = ak_clock_ns() - begin;
    } else {
        AK_TRY(run_compiler(&result, argv, job, err));
        bool known = false;
        if (result.status == AK_TRIAL_OK) {
            AK_TRY(look_at_files(&known, &result, compiler, &p, job, err));
        }
        if (result.status == AK_TRIAL_OK && known) {
            ak_compile_cache_keep(place, job->artifact, result.log, p.rule, job->source_path);
        }
    }
    if (result.status == AK_TRIAL_OK) {
        AK_TRY(ak_compile_hash(&result, job, ak_host_elf_hash, err));
    }
    if (result.status == AK_TRIAL_OK && !job->keeps_state) {
        AK_TRY(look_at(&result, compiler, &p, job, err));
    }
    if (result.status == AK_TRIAL_REJECTED && result.reason != NULL &&
        strstr(result.reason, "stay writable") != NULL) {
        AK_TRY(name_variable(&result, argv, job, err));
    }
out:
    (void)unlink(p.rule);
    if (p.list[0] != 0) {
        (void)unlink(p.list + strlen(LIST));
    }
    if (p.fortran) {
        (void)unlink(p.c_file);
        (void)unlink(p.fortran_file);
    }
    AK_FREE_ALL(argv, place);
    return ak_compile_end(out, &result, status, err);
}

ak_status ak_host_compile_own(ak_compile_job job, const ak_buf *text, const char *who,
                              ak_error *err)
{
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    job.keeps_state = true;
    job.timeout_ns = OWN_TIMEOUT_NS;
    job.memory_max = OWN_MEMORY_MAX;
    AK_DO(ak_fs_write(job.source_path, text->data, text->length, err));
    AK_DO(ak_compile_apart(&result, &ak_host_ops, &job, err));
    return result.status == AK_TRIAL_OK
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s does not compile: %s", who, result.reason);
}
