/* host_own.c: prepares the baselines that a problem brings: compiles a C file, or a call of a
   library's function, and describes the arguments of a Python function. own.c runs them, in a
   runner. */
#include "backend/host/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

#define OPTIONS_MAX 40

const ak_own_baseline *ak_host_own_find(const ak_problem *problem, const char *name)
{
    const size_t i =
        name == NULL ? problem->own_count : AK_FIND(problem->own, problem->own_count, name, name);
    return i < problem->own_count ? &problem->own[i] : NULL;
}

void ak_host_own_folder(char out[AK_PATH_MAX], const ak_problem *problem)
{
    char folder[AK_PATH_MAX];
    const char *slash = strrchr(problem->where, '/');
    int length = slash == NULL ? 0 : slash == problem->where ? 1 : (int)(slash - problem->where);
    (void)snprintf(folder, sizeof folder, "%.*s", length, problem->where);
    if (realpath(folder[0] == 0 ? "." : folder, out) == NULL) {
        out[0] = 0;
    }
}

ak_status ak_host_own_library(char out[AK_PATH_MAX], const ak_problem *problem,
                              const ak_own_baseline *own, ak_error *err)
{
    const char *library = ak_or_empty(own->library);
    char folder[AK_PATH_MAX];
    if (library[0] == '/' || strchr(library, '/') == NULL) {
        (void)snprintf(out, AK_PATH_MAX, "%s", library);
        return AK_OK;
    }
    ak_host_own_folder(folder, problem);
    return ak_fs_join(out, folder, library, err);
}

/* Prints the source and, if the baseline lists arguments, the ak_kernel that passes them. A
   library's function is only declared: the runner loads the library first. */
static ak_status print_source(ak_buf *out, const ak_problem *problem, const ak_own_baseline *own,
                              ak_error *err)
{
    AK_DO(ak_host_source(out, own->source == NULL ? "" : own->text,
                         own->source == NULL ? "Launch" : own->source, err));
    ak_buf_putc(out, '\n');
    const ak_host_entry entry = {.name = own->function,
                                 .language = own->library != NULL ? AK_LANGUAGE_FORTRAN : NULL,
                                 .launch = own->launch,
                                 .problem = problem,
                                 .where = "\"arguments\""};
    return own->launch == NULL ? AK_OK : ak_host_adapt(out, &entry, err);
}

static ak_status compile(const char *artifact, const char *source, const ak_task *task,
                         const ak_own_baseline *own, const char *folder, ak_error *err)
{
    char dtype[32];
    (void)snprintf(dtype, sizeof dtype, "-Ddtype_is_%s=1", ak_dtype_text(task->dtype));
    const char *options[OPTIONS_MAX] = {"-std=gnu17", dtype, "-O3", "-march=native"};
    size_t count = own->options == NULL ? 4 : 2;
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(own->options) && count < OPTIONS_MAX; i++) {
        const char *option = json_string_value(json_array_get(own->options, i));
        AK_FAIL_IF(!ak_host_rules.allows_option(option), err, AK_INVALID,
                   "the option \"%.60s\" is not allowed; it may choose how code is generated "
                   "(docs/formats.md, CompilerOptions)",
                   option);
        options[count++] = option;
    }
    AK_DO(print_source(&text, task->problem, own, err));
    AK_DO(ak_buf_status(&text, err));
    const ak_compile_job job = {.source_path = source,
                                .argv = options,
                                .argc = count,
                                .folder = folder,
                                .artifact = artifact};
    return ak_host_compile_own(job, &text, "it", err);
}

/* Writes a file with the first message to own_worker.py; the message says what to run. */
static ak_status describe(const char *path, const ak_task *task, const ak_own_baseline *own,
                          ak_error *err)
{
    static const char *const accesses[] = {"in", "out", "inout"}; /* as in ak_access */
    const ak_problem *problem = task->problem;
    json_t *arguments = json_array(), *sizes = json_array(), *choices = json_object();
    char folder[AK_PATH_MAX];
    ak_host_own_folder(folder, problem);
    json_auto_t *message =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "file", own->python, "source",
                  own->text, "function", own->function, "dtype", ak_dtype_text(task->dtype),
                  "folder", folder, "arguments", arguments, "sizes", sizes, "choices", choices);
    bool good = message != NULL;
    for (size_t i = 0; good && i < problem->argument_count; i++) {
        good = ak_json_append(arguments,
                              json_pack("{s:s, s:s, s:s, s:i}", "name", problem->arguments[i].name,
                                        "dtype", ak_dtype_numpy(ak_task_argument_dtype(task, i)),
                                        "access", accesses[problem->arguments[i].access], "rank",
                                        (int)problem->arguments[i].rank));
    }
    for (size_t i = 0; good && i < problem->size_count; i++) {
        good = ak_json_append(sizes, json_string(problem->sizes[i].name));
    }
    for (size_t i = 0; good && i < problem->choice_count; i++) {
        good = ak_json_set(choices, problem->choices[i].name, ak_task_choice_json(task, i));
    }
    AK_FREED char *text = NULL;
    AK_DO(good ? ak_json_text(&text, message, err) : ak_fail_memory(err));
    return ak_fs_write(path, text, strlen(text), err);
}

ak_status ak_host_own_prepare(char out[AK_PATH_MAX], const ak_task *task,
                              const ak_own_baseline *own, const char *folder, ak_error *err)
{
    char name[96], source[AK_PATH_MAX];
    (void)snprintf(name, sizeof name, "own-%s.%s", own->name, own->python != NULL ? "json" : "so");
    AK_DO(ak_fs_join(out, folder, name, err));
    if (ak_fs_is_file(out)) {
        return AK_OK;
    }
    (void)snprintf(name, sizeof name, "own-%s.c", own->name);
    AK_DO(ak_fs_join(source, folder, name, err));
    ak_status status = own->python != NULL ? describe(out, task, own, err)
                                           : compile(out, source, task, own, folder, err);
    return status == AK_OK
               ? AK_OK
               : ak_fail_within(err, "%s: the baseline %s", task->problem->where, own->name);
}
