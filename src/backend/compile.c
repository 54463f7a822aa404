#include "backend/compile.h"

#include <limits.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/elf_file.h"
#include "backend/reads.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/number.h"

/* compile.h explains these at ak_compile_limit. */
#define IDLE_PART   3
#define CLOCK_TIMES 5

ak_status ak_compile_run(ak_proc_result *out, ak_proc_spec spec, const char *source,
                         const char *folder, ak_error *err)
{
    char temporary[AK_PATH_MAX + 8];
    ak_reads reads;
    ak_sandbox_plan plan;
    ak_reads_open(&reads);
    ak_reads_add(&reads, source);
    ak_reads_add_tool(&reads, spec.argv[0]);
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", ak_or_empty(folder));
    const char *const writable[] = {"/dev/null", folder, NULL};
    const char *const variables[] = {"LC_ALL=C", folder == NULL ? NULL : temporary, NULL};
    ak_sandbox_plan_open(&plan, reads.path, writable);
    spec.setenv = variables;
    spec.confine = ak_sandbox_plan_apply;
    spec.confine_context = &plan;
    ak_status status = ak_proc_run(out, &spec, err);
    ak_sandbox_plan_close(&plan);
    return status;
}

ak_status ak_compile_run_self(ak_proc_result *out, ak_proc_spec spec, ak_compile_folders *folders,
                              const ak_compile_job *job, ak_error *err)
{
    ak_sandbox_plan plan;
    ak_reads *reads = &folders->reads;
    const char *const writable[] = {job->folder, "/dev/null",
                                    folders->writable[0] == 0 ? NULL : folders->writable, NULL};
    ak_reads_add_tool(reads, spec.argv[0]);
    ak_reads_add(reads, spec.argv[0]);
    ak_reads_add_variable(reads, "LD_LIBRARY_PATH");
    ak_reads_add(reads, job->source_path);
    if (AK_INSTRUMENTED) {
        ak_reads_add(reads, "/proc"); /* where a sanitizer's runtime reads its options */
    }
    ak_sandbox_plan_open(&plan, reads->path, writable);
    spec.confine = ak_sandbox_plan_apply;
    spec.confine_context = &plan;
    ak_compile_limit(&spec, job);
    ak_status status = ak_proc_run(out, &spec, err);
    ak_sandbox_plan_close(&plan);
    return status;
}

const char **ak_compile_command(const char *compiler, const char *const *options, size_t count,
                                const char *const *tail, size_t more)
{
    const char **argv = ak_alloc(count + more + 2, sizeof *argv);
    size_t used = 0;
    for (size_t i = 0; argv != NULL && i < 1 + count + more; i++) {
        const char *word = i == 0 ? compiler : i <= count ? options[i - 1] : tail[i - 1 - count];
        if (word != NULL) {
            argv[used++] = word;
        }
    }
    return argv;
}

void ak_compile_result_clear(ak_compile_result *result)
{
    AK_FREE_ALL(result->reason, result->log);
    *result = (ak_compile_result){0};
}

/* Replaces by '?' what is not ASCII and all control characters, such as the start of an escape
   sequence, except line ends and tabs. */
static void clean(char *text)
{
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f) {
            *text = '?';
        }
    }
}

/* Returns a copy of the first line that contains "error" or "Error: ", else of the first line that
   is not empty, cut to 200 bytes; "WHO failed without a message" if there is none; NULL: no memory.
   "1 error generated." does not count: clang writes it to another descriptor, perhaps before the
   error. */
static char *first_error(const char *log, const char *who)
{
    const char *best = NULL;
    size_t best_length = 0;
    for (const char *line = log; *line != 0;) {
        size_t length = strcspn(line, "\n");
        bool telling = (memmem(line, length, "error", 5) != NULL ||
                        memmem(line, length, "Error: ", 7) != NULL) && /* the assembler's form */
                       memmem(line, length, " generated.", 11) == NULL;
        if (length > 0 && (best == NULL || telling)) {
            best = line;
            best_length = length < 200 ? length : 200;
        }
        if (telling) {
            break;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    if (best == NULL) {
        char text[80];
        (void)snprintf(text, sizeof text, "%s failed without a message", who);
        return ak_strdup(text);
    }
    return ak_strndup(best, best_length);
}

static bool is_memory(const char *log)
{
    return strstr(log, "out of memory") != NULL || strstr(log, "annot allocate memory") != NULL ||
           strstr(log, "memory exhausted") != NULL || strstr(log, "bad_alloc") != NULL;
}

void ak_compile_limit(ak_proc_spec *spec, const ak_compile_job *job)
{
    spec->priority = job->priority;
    spec->cpu_seconds_max = (int)((job->timeout_ns + AK_SECOND_NS - 1) / AK_SECOND_NS);
    spec->timeout_ns =
        job->priority == AK_PROC_IDLE ? job->timeout_ns / IDLE_PART : job->timeout_ns * CLOCK_TIMES;
}

/* Returns the first line of the log that says that the machine lacks something, or NULL. A line
   with #error does not count, because a source can write it. */
static const char *lack(const char *log)
{
    static const char *const texts[] = {"No space left on device",
                                        "Disk quota exceeded",
                                        "Read-only file system",
                                        "Input/output error",
                                        "Too many open files",
                                        "Resource temporarily unavailable",
                                        "annot create temporary file",
                                        "cannot execute",
                                        "posix_spawn",
                                        "fork: "};
    for (const char *line = log; *line != 0;) {
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; i < AK_COUNT(texts); i++) {
            if (memmem(line, length, texts[i], strlen(texts[i])) != NULL &&
                memmem(line, length, "#error", 6) == NULL) {
                return line;
            }
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return NULL;
}

static ak_status fail_folder(const char *folder, ak_error *err)
{
    return ak_fail(err, AK_IO,
                   "%.200s: %s; the folder for temporary files can no longer be used: "
                   "set TMPDIR to one that stays",
                   folder, strerror(errno));
}

/* Returns whether a reason says that the compiler did not find a file that the source includes. A
   compiler sees only the source, not the kernel's folder. */
static bool lacks_file(const char *reason)
{
    static const char *const words[] = {": No such file or directory", "' file not found",
                                        "cannot open source file"};
    bool missing = false;
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        missing = missing || strstr(reason, words[i]) != NULL;
    }
    return missing && strstr(reason, "cannot execute") == NULL; /* a part of the compiler */
}

/* Appends advice to a reason whose own words do not say what to do. */
static ak_status advise(ak_compile_result *out, const char *log, ak_error *err)
{
    const char *advice = NULL;
    if (out->reason != NULL && lacks_file(out->reason)) {
        advice = "name a file of the kernel's folder in \"Include\" of the space file, which puts "
                 "it in front of the source, and take the #include out";
    } else if (out->reason != NULL && strstr(log, "#pragma GCC unroll") != NULL &&
               strstr(log, "requires an assignment-expression") != NULL) {
        advice = "gcc replaces no macro in \"#pragma GCC unroll NAME\": write UNROLLED(NAME) there "
                 "and, above it, #define PRAGMA(text) _Pragma(#text) and #define UNROLLED(n) "
                 "PRAGMA(GCC unroll n)";
    }
    if (advice == NULL) {
        return AK_OK;
    }
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(16384);
    char *longer = NULL;
    ak_buf_print(&text, "%s; %s", out->reason, advice);
    AK_DO(ak_buf_take(&longer, &text, err));
    ak_free(out->reason);
    out->reason = longer;
    return AK_OK;
}

/* Fails if the machine, not the configuration, made the compilation fail. */
static ak_status look_around(const ak_proc_result *run, const ak_compile_job *job, const char *who,
                             ak_error *err)
{
    const char *line = lack(run->output);
    if (access(job->folder, W_OK) != 0 || access(job->source_path, R_OK) != 0) {
        return fail_folder(job->folder, err);
    }
    AK_FAIL_IF(line != NULL, err, AK_IO,
               "%s failed: %.*s; free space in %.120s or set TMPDIR to another folder", who,
               (int)(strcspn(line, "\n") < 160 ? strcspn(line, "\n") : 160), line, job->folder);
    return run->exit_code == 127 ? ak_fail(err, AK_IO, "%s could not be started", who) : AK_OK;
}

ak_status ak_compile_judge(ak_compile_result *out, ak_proc_result *run, const ak_compile_job *job,
                           const char *who, ak_error *err)
{
    char text[200];
    clean(run->output);
    bool failed = run->timed_out || run->signal != 0 || run->exit_code != 0;
    bool used_up = failed && run->cpu_ns >= job->timeout_ns / 10 * 9;
    AK_FAIL_IF(run->timed_out && !used_up && job->priority == AK_PROC_IDLE, err, AK_TIMED_OUT,
               "%s got no processor time for %.3g s, because the machine is busy: run it again "
               "when it is idle",
               who, (double)run->wall_ns / 1e9);
    AK_DO(failed && !used_up ? look_around(run, job, who, err) : AK_OK);
    if (run->timed_out || used_up) {
        (void)ak_number_print(text, sizeof text, "%s took longer than %.3g s%s", who,
                              (double)(used_up ? job->timeout_ns : CLOCK_TIMES * job->timeout_ns) /
                                  1e9,
                              used_up ? " of processor time" : "");
        out->status = AK_TRIAL_TIMED_OUT;
        out->reason = ak_strdup(text);
    } else if (is_memory(run->output) && run->exit_code != 0) {
        char most[AK_REAL_BYTES];
        (void)snprintf(text, sizeof text, "%s needs more than %s of memory", who,
                       ak_number_size(most, job->memory_max));
        out->status = AK_TRIAL_OUT_OF_MEMORY;
        out->reason = ak_strdup(text);
    } else if (run->signal != 0) {
        (void)snprintf(text, sizeof text, "%s was ended by signal %d (%s)", who, run->signal,
                       strsignal(run->signal));
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = ak_strdup(text);
    } else if (run->exit_code != 0) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        out->reason = first_error(run->output, who);
        ak_lacking_explain(out, job);
        AK_DO(advise(out, run->output, err));
    } else {
        out->status = AK_TRIAL_OK;
    }
    if (run->output_length > 0) {
        out->log = run->output;
        run->output = NULL;
    }
    return AK_OK;
}

/* Returns how many bytes the sections with code have. */
static uint64_t section_bytes(const ak_elf *elf)
{
    Elf64_Shdr section;
    uint64_t sum = 0;
    for (size_t i = 0; elf->head.e_shentsize == sizeof section && ak_elf_section(&section, elf, i);
         i++) {
        bool code = (section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_type == SHT_PROGBITS;
        sum += code ? section.sh_size : 0;
    }
    return sum;
}

/* Returns how many bytes of the file are loaded to where code may run. */
static uint64_t segment_bytes(const ak_elf *elf, size_t length)
{
    Elf64_Phdr segment;
    uint64_t sum = 0;
    for (size_t i = 0; ak_elf_segment(&segment, elf, i); i++) {
        bool code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
                    ak_elf_inside(segment.p_offset, segment.p_filesz, length);
        sum += code ? segment.p_filesz : 0;
    }
    return sum;
}

/* Returns how many bytes of machine code a file has, at most INT_MAX; 0 if it is no 64-bit ELF
   file, which must be in this machine's byte order. In a shared object for the host all that the
   loader makes executable counts: its author chooses the types of its sections, so code could hide
   in a section of another type. */
static int code_bytes(const char *file, size_t length)
{
    ak_elf elf;
    if (!ak_elf_open(&elf, file, length) || elf.head.e_ident[EI_CLASS] != ELFCLASS64) {
        return 0;
    }
    const uint64_t sum =
        elf.head.e_machine == EM_CUDA ? section_bytes(&elf) : segment_bytes(&elf, length);
    return sum > INT_MAX ? INT_MAX : (int)sum;
}

ak_status ak_compile_hash(ak_compile_result *out, const ak_compile_job *job,
                          bool (*of_code)(char out[AK_HASH_BYTES], const unsigned char *file,
                                          size_t length),
                          ak_error *err)
{
    AK_FREED char *file = NULL;
    size_t length = 0;
    ak_status status = ak_fs_read(&file, &length, job->artifact, AK_ARTIFACT_MAX, err);
    if (status == AK_NOT_FOUND && access(job->folder, W_OK) != 0) {
        return fail_folder(job->folder, err);
    }
    if (status == AK_LIMIT || status == AK_NOT_FOUND) {
        out->status = AK_TRIAL_COMPILE_ERROR;
        return ak_copy_text(&out->reason,
                            status == AK_LIMIT ? "the compiler's output is too large"
                                               : "the compiler wrote no output",
                            err);
    }
    AK_DO(status);
    ak_hash_text(out->file_hash, file, length);
    if (of_code == NULL || !of_code(out->artifact_hash, (const unsigned char *)file, length)) {
        memcpy(out->artifact_hash, out->file_hash, sizeof out->artifact_hash);
    }
    out->code_bytes = code_bytes(file, length);
    return AK_OK;
}

/* Copies the artifact out of the folder that its compiler could write to. Rejects an artifact that
   has changed since it was hashed, or is a link, which could lead to any file that this process may
   read. */
static ak_status take_out(ak_compile_result *result, const char *from, const char *to,
                          ak_error *err)
{
    char hash[AK_HASH_BYTES];
    AK_FREED char *bytes = NULL;
    size_t length = 0;
    struct stat file;
    if (lstat(from, &file) == 0 && S_ISREG(file.st_mode)) {
        AK_DO(ak_fs_read(&bytes, &length, from, AK_ARTIFACT_MAX, err));
        ak_hash_text(hash, bytes, length);
    }
    ak_status status = AK_OK;
    if (bytes != NULL && strcmp(hash, result->file_hash) == 0) {
        status = ak_fs_write(to, bytes, length, err);
    } else {
        result->status = AK_TRIAL_REJECTED;
        status = ak_copy_text(&result->reason, "its artifact changed after it was looked at", err);
    }
    return status;
}

ak_status ak_compile_apart(ak_compile_result *out, const ak_backend_ops *backend,
                           const ak_compile_job *job, ak_error *err)
{
    char folder[AK_PATH_MAX], artifact[AK_PATH_MAX], name[64];
    const char *suffix = strrchr(ak_fs_base(job->artifact), '.');
    ak_compile_result result = {0};
    (void)snprintf(name, sizeof name, "apart-%ld", (long)getpid());
    AK_DO(ak_fs_join(folder, job->folder, name, err));
    (void)snprintf(name, sizeof name, "artifact%.40s", ak_or_empty(suffix));
    AK_DO(ak_fs_join(artifact, folder, name, err));
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return fail_folder(job->folder, err);
    }
    ak_compile_job apart = *job;
    apart.folder = folder;
    apart.artifact = artifact;
    ak_status status = backend->compile(&result, &apart, err);
    if (status == AK_OK && result.status == AK_TRIAL_OK) {
        status = take_out(&result, artifact, job->artifact, err);
    }
    if (backend->compiler_process != NULL && backend->compiler_process() != 0) {
        (void)unlink(artifact);
    } else {
        ak_fs_remove(folder);
    }
    return ak_compile_end(out, &result, status, err);
}

ak_status ak_compile_end(ak_compile_result *out, ak_compile_result *result, ak_status status,
                         ak_error *err)
{
    if (status == AK_OK && result->status != AK_TRIAL_OK && result->reason == NULL) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        *out = *result;
    } else {
        ak_compile_result_clear(result);
    }
    return status;
}
