/* t1.c: reads a T1 file of another tool by itself. If the file describes its kernel and the
   kernel's source is found, the file becomes a problem with one implementation. If not, it becomes
   a space without a problem, which can be listed and simulated (ak_problem_runnable says what is
   missing). */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

/* Returns the member "autokernel" that our export (format_t1.c) writes for a host kernel, because
   T1 can express neither the host nor its options; NULL if the file has none. */
static const json_t *exported_host(const json_t *document)
{
    const json_t *own = json_object_get(document, "autokernel");
    return ak_json_text_is(own, "backend", "host") ? own : NULL;
}

ak_status ak_t1_backend(const char **out, const json_t *document, const char *where, ak_error *err)
{
    static const struct {
        const char *language, *backend;
    } known[] = {
        {"C", "host"}, {"C++", "host"}, {"CUDA", "cuda"}, {"HIP", "hip"}, {"OpenCL", "opencl"}};
    json_t *kernel = NULL;
    const char *language = NULL;
    *out = "none";
    if (exported_host(document) != NULL) {
        *out = "host";
        return AK_OK;
    }
    AK_DO(ak_json_object_or_null(&kernel, document, "KernelSpecification", where, err));
    if (kernel != NULL) {
        AK_DO(ak_json_string_or(&language, kernel, "Language", NULL, where, err));
    }
    if (language == NULL) {
        return AK_OK;
    }
    const size_t i = AK_FIND(known, AK_COUNT(known), language, language);
    if (i < AK_COUNT(known)) {
        *out = known[i].backend;
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "%s: \"Language\" is \"%.40s\", which is not supported; spaces may be for C, "
                   "C++, CUDA, HIP and OpenCL",
                   where, language);
}

/* Gives the problem a document that was made here, and notes its text as a kernel file called
   `name`, which is how the archive keeps it. Takes ownership of the document. */
static ak_status take(json_t **out, ak_problem *problem, const char *name, json_t *document,
                      ak_error *err)
{
    AK_FREED char *text = NULL;
    json_auto_t *owned = document;
    AK_DO(ak_json_text(&text, owned, err));
    AK_DO(ak_kernel_note(problem, name, text, strlen(text), err));
    AK_DO(ak_problem_keep(problem, json_incref(owned), err));
    *out = owned;
    return AK_OK;
}

/* Sets files->folder to the folder of the T1 file. If the kernel's file is in the folder above,
   KernelFile gets "../". */
static ak_status find_file(ak_kernel_files *files, json_t *kernel, const char *path, ak_error *err)
{
    char above[AK_PATH_MAX + 4];
    const char *slash = strrchr(path, '/'), *file = ak_json_text_at(kernel, "KernelFile");
    (void)snprintf(files->folder, sizeof files->folder, "%.*s",
                   slash == NULL || slash == path ? 1 : (int)(slash - path),
                   slash == NULL ? "." : path);
    (void)snprintf(above, sizeof above, "../%.*s", AK_PATH_MAX - 1, file);
    if (ak_kernel_has(files, file)) {
        return AK_OK;
    }
    if (*file != 0 && ak_kernel_has(files, above)) {
        return ak_stored(ak_json_set_text(kernel, "KernelFile", above), err);
    }
    return ak_fail(err, AK_NOT_FOUND,
                   "%s: its KernelFile \"%.100s\" is neither in its folder nor in the one above",
                   path, file);
}

/* Returns whether an argument has a "RandomSeed", which does not choose the contents here. */
static bool has_seed(const json_t *argument)
{
    return json_is_integer(json_object_get(argument, "RandomSeed"));
}

/* Returns whether an argument that the kernel writes has an "Output" of 0, which asks other tools
   not to compare it. Here all that is written is compared. */
static bool is_unwanted(const json_t *argument)
{
    const json_t *output = json_object_get(argument, "Output");
    const bool none =
        json_is_false(output) || (json_is_integer(output) && json_integer_value(output) == 0);
    return none && !ak_json_text_is(argument, "MemoryType", "Scalar") &&
           !ak_json_text_is(argument, "AccessType", "ReadOnly");
}

/* Notes the members of the file that are not used: they name things, say how other tools search, or
   ask for what is done in another way here. */
static ak_status note_unread(ak_problem *problem, const json_t *document, ak_error *err)
{
    static const char *const read[] = {"ConfigurationSpace", "KernelSpecification"};
    static const char *const in_kernel[] = {"Device", "SimulationInput", "BenchmarkName"};
    static const struct {
        const char *key;
        bool (*unread)(const json_t *argument);
    } in_arguments[] = {{"RandomSeed", has_seed}, {"Output", is_unwanted}};
    const json_t *kernel = json_object_get(document, read[1]);
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4096);
    AK_EACH_MEMBER(key, value, document) {
        if (strcmp(key, read[0]) != 0 && strcmp(key, read[1]) != 0) {
            ak_buf_print(&text, "%s%.60s", text.length == 0 ? "" : ", ", key);
        }
    }
    for (size_t i = 0; i < AK_COUNT(in_kernel); i++) {
        if (json_object_get(kernel, in_kernel[i]) != NULL) {
            ak_buf_print(&text, "%s%s", text.length == 0 ? "" : ", ", in_kernel[i]);
        }
    }
    for (size_t i = 0; i < AK_COUNT(in_arguments); i++) {
        bool found = false;
        AK_EACH(argument, json_object_get(kernel, "Arguments")) {
            found = found || in_arguments[i].unread(argument);
        }
        if (found) {
            ak_buf_print(&text, "%s%s", text.length == 0 ? "" : ", ", in_arguments[i].key);
        }
    }
    AK_DO(ak_buf_status(&text, err));
    return text.length > 0 ? ak_problem_text(&problem->unread, problem, text.data, err) : AK_OK;
}

/* Reads the T1 file as a problem that can be run. Returns an error if the file cannot be read so;
   the caller then discards what was set in the problem. */
static ak_status open_kernel(ak_problem *problem, const char *stem, json_t *document,
                             const char *path, ak_error *err)
{
    json_t *made = NULL, *space = NULL;
    json_t *kernel = json_object_get(document, "KernelSpecification");
    char name[AK_KERNEL_NAME_MAX + 4], file[AK_KERNEL_NAME_MAX];
    const char *backend;
    AK_FREED ak_kernel_files *files = NULL;
    AK_DO(AK_NEW(files, 1, err));
    const json_t *own = exported_host(document);
    AK_FAIL_IF(own != NULL, err, AK_INVALID,
               "%s: this is the space of the kernel %.60s, written for other tuners; tune the "
               "kernel itself",
               path, ak_json_text_at(own, "kernel"));
    AK_DO(ak_t1_backend(&backend, document, path, err));
    AK_FAIL_IF(json_object_get(kernel, "Arguments") == NULL, err, AK_INVALID,
               "%s: it has no \"Arguments\", so it is a space without a problem: add them, or make "
               "a kernel folder with a problem.json",
               path);
    const char *file_name = NULL;
    AK_DO(ak_json_string(&file_name, kernel, "KernelFile", path, err));
    AK_DO(find_file(files, kernel, path, err));
    (void)snprintf(name, sizeof name, "%s%.*s", ak_problem_is_builtin(stem) ? "t1_" : "",
                   AK_KERNEL_NAME_MAX - 3, stem);
    for (char *p = name; *p != 0; p++) {
        *p = strchr("-+ .,", *p) != NULL ? '_' : *p;
    }
    AK_DO(ak_t1_convert(&made, &space, document, name, path, err));
    const ak_status status = take(&made, problem, AK_PROBLEM_FILE, made, err);
    if (status != AK_OK) {
        json_decref(space);
        return status;
    }
    (void)snprintf(file, sizeof file, "%s.json", backend);
    AK_DO(take(&space, problem, file, space, err));
    AK_DO(ak_problem_text(&problem->where, problem, path, err));
    AK_DO(note_unread(problem, document, err));
    AK_DO(AK_ARENA_NEW(problem->implementations, problem->arena, 1, err));
    AK_DO(ak_problem_read(problem, files, made, err));
    const ak_space_file made_file = {backend, backend, space, problem->where};
    return ak_implementation_read(problem, files, &made_file, err);
}

ak_status ak_t1_open(ak_problem *problem, const char *path, ak_error *err)
{
    json_t *document;
    char stem[AK_KERNEL_NAME_MAX + 1];
    const char *base = ak_fs_base(path);
    size_t length = strcspn(base, ".");
    length = length < sizeof stem ? length : sizeof stem - 1;
    memcpy(stem, base, length);
    stem[length] = 0;
    ak_error why = AK_ERROR_INIT;
    AK_DO(ak_json_read(&document, path, err));
    ak_status status =
        json_is_object(document) ? open_kernel(problem, stem, document, path, &why) : AK_INVALID;
    if (status == AK_OK || status == AK_NO_MEMORY) {
        json_decref(document);
        return status == AK_OK ? AK_OK : ak_fail_memory(err);
    }
    /* Only the arena of the attempt is kept, because it owns the memory that was allocated. */
    struct ak_arena *arena = problem->arena;
    AK_END_EACH(json_decref, problem->documents, problem->document_count);
    AK_FREE_ALL(problem->documents, problem->files);
    *problem = (ak_problem){.arena = arena};
    AK_DO(ak_problem_keep(problem, document, err));
    AK_DO(ak_problem_text(&problem->lacks, problem, why.text, err));
    return ak_t1_fill(problem, stem, document, path, err);
}

ak_status ak_t1_fill(ak_problem *problem, const char *name, const json_t *document,
                     const char *where, ak_error *err)
{
    AK_DO(json_is_object(document) ? ak_problem_text(&problem->where, problem, where, err)
                                   : ak_fail(err, AK_INVALID, "%s must be a JSON object", where));
    AK_DO(ak_problem_text(&problem->name, problem, *name == 0 ? "space" : name, err));
    const char *about = ak_json_text_or_null(json_object_get(document, "General"), "Description");
    problem->description = about == NULL ? "a tuning space (T1) without a problem" : about;
    problem->flops = "0";
    problem->bytes = "0";
    problem->reference_source = "";
    problem->dtypes[0] = AK_DTYPE_F32; /* a task has a dtype even if nothing depends on it */
    problem->dtype_count = 1;
    AK_DO(AK_ARENA_NEW(problem->implementations, problem->arena, 1, err));
    const char *backend;
    AK_DO(ak_t1_backend(&backend, document, problem->where, err));
    const ak_space_file file = {problem->name, backend, document, problem->where};
    return ak_implementation_read(problem, NULL, &file, err);
}
