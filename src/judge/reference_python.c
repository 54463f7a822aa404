/*
 * reference_python.c: references that are Python functions over NumPy arrays. They run in a Python
 * process of their own (reference_worker.py), which can read installed software and the kernel's
 * folder, write only to the run's folder, and reach neither the network nor other processes. Arrays
 * are exchanged through files in the run's folder.
 */
#include <string.h>
#include <unistd.h>

#include "backend/host/host.h"
#include "backend/script.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "judge/reference.h"

#define SCRIPT "src/judge/reference_worker.py"
#define WHERE  "the Python process of the reference"
#define RUN_NS (600 * AK_SECOND_NS)

typedef struct python_state {
    ak_script script;
    char folder[AK_PATH_MAX];
} python_state;

static ak_status start(python_state *s, const char *kernel, ak_error *err)
{
    const ak_script_spec confined = {
        .asset = SCRIPT, .who = WHERE, .purpose = "a Python reference", .folder = s->folder};
    ak_reads reads;
    ak_reads_open(&reads);
    ak_reads_add_folder(&reads, kernel);
    return ak_script_start(&s->script, &confined, &reads, err);
}

/* Lists the names that the function may have as parameters, those of the outputs, and the modules
   that may be imported from the kernel's folder. */
static bool add_names(json_t *message, const ak_problem *problem)
{
    json_t *names = json_array(), *outputs = json_array(), *modules = json_array();
    bool good = ak_json_set(message, "names", names) && ak_json_set(message, "outputs", outputs) &&
                ak_json_set(message, "modules", modules);
    for (size_t i = 0; good && i < problem->file_count; i++) {
        good = !problem->files[i].module ||
               ak_json_append(modules, json_string(problem->files[i].name));
    }
    for (size_t i = 0; good && i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        good = ak_json_append(names, json_string(argument->name)) &&
               (argument->access == AK_ACCESS_IN ||
                ak_json_append(outputs, json_string(argument->name)));
    }
    for (size_t i = 0; good && i < problem->size_count; i++) {
        good = ak_json_append(names, json_string(problem->sizes[i].name));
    }
    for (size_t i = 0; good && i < problem->choice_count; i++) {
        good = ak_json_append(names, json_string(problem->choices[i].name));
    }
    return good && ak_json_append(names, json_string("dtype"));
}

static ak_status load(python_state *s, const ak_problem *problem, const char *kernel, ak_error *err)
{
    json_auto_t *reply = NULL;
    json_t *message = json_pack("{s:s, s:s, s:s, s:s, s:s}", "op", "open", "file",
                                problem->reference.name, "source", problem->reference_source,
                                "function", problem->reference.function, "folder", kernel);
    if (message == NULL || !add_names(message, problem)) {
        json_decref(message);
        return ak_fail_memory(err);
    }
    ak_status status = ak_script_ask(&reply, &s->script, message, AK_SCRIPT_OPEN_NS, err);
    return status == AK_OK ? AK_OK : ak_fail_within(err, "%s", problem->name);
}

static void close_python(void *opened)
{
    python_state *s = opened;
    ak_script_end(&s->script);
}

static ak_status open_python(void *state, const ak_reference *reference, const char *folder,
                             ak_error *err)
{
    const ak_problem *problem = reference->task->problem;
    char kernel[AK_PATH_MAX];
    python_state *s = state;
    /* The path is absolute because Python imports other modules of the kernel's folder from
       there. */
    ak_host_own_folder(kernel, problem);
    if (kernel[0] == 0) {
        (void)snprintf(kernel, sizeof kernel, "%s", folder); /* a built-in kernel has no folder */
    }
    (void)snprintf(s->folder, sizeof s->folder, "%s", folder);
    AK_DO(start(s, kernel, err));
    return load(s, problem, kernel, err);
}

/* ---- running ------------------------------------------------------------------------------- */

static void file_of(char out[AK_PATH_MAX], const python_state *s, size_t argument)
{
    char name[48];
    (void)snprintf(name, sizeof name, "reference-%ld-%zu.f64", (long)getpid(), argument);
    (void)ak_fs_join(out, s->folder, name, NULL);
}

static json_t *values_json(const ak_task *task, const ak_shape *shape)
{
    const ak_problem *problem = task->problem;
    json_t *values = json_object();
    bool good = ak_json_set_text(values, "dtype", ak_dtype_text(task->dtype));
    for (size_t i = 0; good && i < problem->size_count; i++) {
        good = ak_json_set(values, problem->sizes[i].name, json_integer(shape->size[i]));
    }
    for (size_t i = 0; good && i < problem->choice_count; i++) {
        good = ak_json_set(values, problem->choices[i].name, ak_task_choice_json(task, i));
    }
    return ak_json_whole(values, good);
}

static json_t *arrays_json(const python_state *s, const ak_task *task, const ak_shape *shape)
{
    static const char *const accesses[] = {"in", "out", "inout"}; /* as in ak_access */
    const ak_problem *problem = task->problem;
    json_t *list = json_array();
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        char path[AK_PATH_MAX];
        ak_dtype dtype = ak_task_argument_dtype(task, i);
        json_t *extents = json_array();
        file_of(path, s, i);
        for (size_t d = 0; d < argument->rank; d++) {
            ak_json_add(&extents, json_integer((json_int_t)shape->extent[i][d]));
        }
        json_t *array = json_pack("{s:s, s:s, s:o, s:b, s:s}", "name", argument->name, "file", path,
                                  "shape", extents, "integer", !ak_dtype_is_float(dtype), "access",
                                  accesses[argument->access]);
        ak_json_add(&list, array);
    }
    return list;
}

static ak_status run_python(const ak_reference *reference, const ak_shape *shape,
                            double *const *arrays, ak_error *err)
{
    python_state *s = reference->state;
    const ak_task *task = reference->task;
    const ak_problem *problem = task->problem;
    char path[AK_PATH_MAX], *bytes = NULL;
    json_t *reply = NULL;
    ak_status status = AK_OK;
    for (size_t i = 0; i < problem->argument_count; i++) {
        file_of(path, s, i);
        if (problem->arguments[i].access == AK_ACCESS_OUT) {
            memset(arrays[i], 0, shape->elements[i] * sizeof(double));
        }
        AK_TRY(ak_fs_write(path, arrays[i], shape->elements[i] * sizeof(double), err));
    }
    json_t *message = json_pack("{s:s, s:o, s:o}", "op", "run", "values", values_json(task, shape),
                                "arrays", arrays_json(s, task, shape));
    AK_TRY(ak_script_ask(&reply, &s->script, message, RUN_NS, err));
    for (size_t i = 0; i < problem->argument_count; i++) {
        size_t length = 0, wanted = shape->elements[i] * sizeof(double);
        if (problem->arguments[i].access == AK_ACCESS_IN) {
            continue;
        }
        file_of(path, s, i);
        AK_TRY(ak_fs_read(&bytes, &length, path, wanted, err));
        AK_TRY(length == wanted ? AK_OK
                                : ak_fail(err, AK_INTERNAL, "%s wrote %zu bytes instead of %zu",
                                          WHERE, length, wanted));
        memcpy(arrays[i], bytes, wanted);
        ak_free(bytes);
        bytes = NULL;
    }
out:
    for (size_t i = 0; i < problem->argument_count; i++) {
        file_of(path, s, i);
        (void)unlink(path);
    }
    ak_free(bytes);
    json_decref(reply);
    return status == AK_OK || status == AK_NO_MEMORY ? status
                                                     : ak_fail_within(err, "%s", problem->name);
}

const ak_reference_ops ak_reference_python_ops = {.kind = "python",
                                                  .state_bytes = sizeof(python_state),
                                                  .open = open_python,
                                                  .run = run_python,
                                                  .close = close_python};
