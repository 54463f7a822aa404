/*
 * cuda_sanitize.c: runs a candidate at the edge-case shapes that are small enough under three tools
 * of compute-sanitizer, until one finds something: memcheck (accesses out of bounds), racecheck
 * (threads of a block that race for shared memory) and initcheck (memory that is read before
 * anybody has written it). Each argument is an allocation of its own, so that accesses outside of
 * it are found, unless they hit another allocation.
 *
 * The tuner's process compiles and starts the tool; the tool runs `autokernel worker --sanitized
 * FOLDER`, which is the first part of this file. Results are not judged here.
 *
 * The tool preloads its libraries into the process that it starts, follows every process that this
 * one starts, and waits until one of them opens the driver. The process therefore starts no other,
 * opens the driver itself, and leaves its environment as the tool has made it. What it must know of
 * the device is in task.json.
 *
 * The tool and the process that it starts are not confined, because they talk through sockets and
 * the tool traces the process (docs/trust.md). The compiler is confined.
 */
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/cuda/cuda_device.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/plain.h"
#include "base/proc.h"
#include "base/program.h"
#include "check/argument.h"
#include "problem/task_options.h"

#define COMPILE_NS  (180 * AK_SECOND_NS)
#define COMPILE_MAX ((size_t)8 << 30)
#define RUN_NS      (120 * AK_SECOND_NS)
#define LAUNCH_NS   (60 * AK_SECOND_NS)
#define OUTPUT_MAX  ((size_t)64 << 10)
#define TASK_MAX    ((size_t)64 << 20)
#define CONFIG_MAX  4097
#define ENDED       "\n. all shapes have run\n"
#define FOUND_EXIT  99
#define FOUND_TEXT  "99"
/* Shapes with more work or memory are left out: the tools make a kernel a hundred times slower. */
#define SHAPE_FLOPS 1e8
#define SHAPE_BYTES 16e6

static const char *const tools[] = {"memcheck", "racecheck", "initcheck"};
enum { TOOLS = AK_COUNT(tools) };

/* ---- the tool's process ---------------------------------------------------------------------- */

/* Gives each argument an allocation of its own and fills the inputs. The caller frees them, also on
   failure. */
static ak_status place(ak_cuda_address *out, ak_device *device, const ak_task *task,
                       const ak_shape *shape, ak_error *err)
{
    const ak_cuda_driver *cuda = device->cuda;
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        int code = cuda->memory_alloc(&out[i], shape->bytes[i]);
        AK_DO(ak_cuda_fail(device, code, "reserving an argument", err));
        if (task->problem->arguments[i].access != AK_ACCESS_OUT) {
            AK_FREED unsigned char *bytes = NULL;
            AK_DO(AK_NEW(bytes, shape->bytes[i], err));
            AK_DO(ak_argument_input(bytes, task, shape, i, err));
            code = cuda->upload(out[i], bytes, shape->bytes[i], device->stream);
            code = code == 0 ? ak_cuda_wait(device, LAUNCH_NS) : code;
            AK_DO(ak_cuda_fail(device, code, "upload", err));
        }
    }
    return AK_OK;
}

/* Prints "@ M=7,N=33". */
static void say_shape(const ak_task *task, const int64_t *size)
{
    char text[512];
    ak_task_size_text(text, sizeof text, task->problem, size);
    ak_backend_say("@ ");
    ak_backend_say(text);
    ak_backend_say("\n");
}

static ak_status run_at(ak_device *device, const ak_task *task, const ak_config *config,
                        const char *artifact, const int64_t *size, ak_error *err)
{
    ak_cuda_address address[AK_ARGUMENTS_MAX] = {0};
    size_t offset[AK_ARGUMENTS_MAX];
    ak_shape shape;
    ak_runnable *runnable = NULL;
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    ak_load load = {.artifact = artifact};
    ak_launch launch = {.task = task,
                        .shape = &shape,
                        .offset = offset,
                        .config = config,
                        .iterations = 1,
                        .timeout_ns = LAUNCH_NS};
    ak_status status = AK_OK;
    bool fits = false;
    AK_TRY(ak_task_shape(&shape, task, size, err));
    AK_TRY(ak_task_allows(&fits, task, &shape, config, err));
    /* The task's own shape is left out: its launch copies the block, which is not reserved here. */
    bool own = ak_shape_is_same(&shape, &task->shape);
    if (!fits || own || shape.flops > SHAPE_FLOPS || shape.traffic > SHAPE_BYTES) {
        return AK_OK;
    }
    AK_TRY(ak_task_workspace(&launch.workspace_bytes, &launch.threads, task, &shape, config, err));
    AK_TRY(place(address, device, task, &shape, err));
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        offset[i] = (size_t)(address[i] - device->block); /* the block is at 0 */
    }
    say_shape(task, size);
    AK_TRY(ak_cuda_ops.load(&runnable, device, &load, &outcome, err));
    if (outcome.status == AK_TRIAL_OK) {
        AK_TRY(ak_cuda_ops.launch(&outcome, runnable, &launch, err));
    }
    if (outcome.status != AK_TRIAL_OK) {
        status = ak_fail(err, AK_INVALID, "%s", outcome.reason);
    }
out:
    if (runnable != NULL) {
        ak_cuda_ops.unload(runnable);
    }
    for (size_t i = 0; i < AK_ARGUMENTS_MAX && !device->lost; i++) {
        if (address[i] != 0) {
            (void)device->cuda->memory_free(address[i]);
        }
    }
    return status;
}

/* Opens the task with the device's facts as the tuner's process found them. */
static ak_status open_task(ak_task **out, const json_t *file, const char *path, ak_error *err)
{
    json_t *object = NULL, *known = NULL;
    ak_task_spec spec = {0};
    AK_AT_END(ak_scope_free_at) ak_scope *facts = ak_scope_new(NULL);
    AK_DO(ak_made(facts, err));
    AK_DO(ak_json_object_or_null(&object, file, "task", path, err));
    AK_DO(ak_json_object_or_null(&known, file, "facts", path, err));
    AK_DO(ak_task_spec_from_json(&spec, object, err));
    AK_EACH_MEMBER(name, value, known) {
        AK_DO(ak_scope_set_int(facts, name, json_integer_value(value), err));
    }
    const ak_device_facts device = {
        .backend = ak_cuda_ops.name, .device = spec.device, .facts = facts};
    return ak_task_bind(out, &spec, &device, err);
}

static void close_device(ak_device **device)
{
    ak_cuda_ops.close(*device);
}

static ak_status run_all(const char *folder, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    const char *config_text = NULL;
    json_auto_t *file = NULL;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(close_device) ak_device *device = NULL;
    ak_config config;
    size_t length = 0;
    AK_DO(ak_fs_join(path, folder, "task.json", err));
    AK_DO(ak_fs_read(&text, &length, path, TASK_MAX, err));
    AK_DO(ak_json_parse(&file, text, length, path, err));
    AK_DO(ak_json_string(&config_text, file, "config", path, err));
    AK_DO(open_task(&task, file, path, err));
    AK_DO(ak_config_parse(&config, task->space, config_text, err));
    AK_DO(ak_fs_join(path, folder, "kernel.cubin", err));
    AK_DO(ak_cuda_ops.open(&device, task, err));
    for (size_t i = 0; i < task->problem->edge_case_count; i++) {
        AK_DO(run_at(device, task, &config, path, task->problem->edge_cases[i], err));
    }
    return AK_OK;
}

int ak_cuda_sanitized_main(int argc, char **argv)
{
    ak_error err = AK_ERROR_INIT;
    if (argc != 4) {
        return AK_WORKER_EXIT_USAGE;
    }
    if (run_all(argv[3], &err) != AK_OK) {
        ak_backend_say("! ");
        ak_backend_say(err.text);
        ak_backend_say("\n");
        return 1;
    }
    ak_backend_say(ENDED);
    return 0;
}

/* ---- the tuner's process --------------------------------------------------------------------- */

static bool find_tool(char out[AK_PATH_MAX])
{
    static const char *const places[] = {"compute-sanitizer",
                                         "/usr/local/cuda/bin/compute-sanitizer",
                                         "/opt/cuda/bin/compute-sanitizer"};
    for (size_t i = 0; i < AK_COUNT(places); i++) {
        if (ak_fs_which(out, places[i])) {
            return true;
        }
    }
    return false;
}

static ak_status write_task(const char *folder, const ak_task *task, const ak_config *config,
                            ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    char config_text[CONFIG_MAX];
    json_auto_t *spec = NULL, *facts = NULL, *file = NULL;
    const char *name;
    ak_value value;
    AK_AT_END(ak_scope_free_at) ak_scope *known = ak_scope_new(NULL);
    AK_DO(ak_made(known, err));
    AK_DO(ak_fs_join(path, folder, "task.json", err));
    AK_DO(ak_task_spec_to_json(&spec, task, err));
    AK_DO(ak_cuda_facts(known, task->device, task->threads, err));
    AK_DO(ak_made(facts = json_object(), err));
    for (size_t i = 0; ak_scope_at(&name, &value, known, i); i++) { /* all are integers */
        AK_DO(ak_stored(ak_json_set(facts, name, json_integer(value.as.integer)), err));
    }
    (void)ak_config_format(config_text, sizeof config_text, task->space, config);
    file = json_pack("{s:O, s:O, s:s}", "task", spec, "facts", facts, "config", config_text);
    AK_DO(ak_made(file, err));
    AK_DO(ak_json_text(&text, file, err));
    return ak_fs_write(path, text, strlen(text), err);
}

static ak_status compile(ak_sanitized *out, const char *folder, const ak_task *task,
                         const ak_config *config, ak_error *err)
{
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX];
    AK_AT_END(ak_options_clear) ak_options options = {0};
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    AK_DO(ak_fs_join(source, folder, "kernel.cu", err));
    AK_DO(ak_fs_join(artifact, folder, "kernel.cubin", err));
    AK_DO(ak_backend_source(&text, task->implementation->source, "kernel.cu", err));
    AK_DO(ak_fs_write(source, text.data, text.length, err));
    AK_DO(ak_task_options(&options, task, config, err));
    /* Triton's code always has the lines of its source. */
    const bool triton = ak_implementation_is_triton(task->implementation);
    AK_DO(triton ? AK_OK : ak_options_add(&options, "-lineinfo", err));
    const ak_compile_job job = {.source_path = source,
                                .compiler = options.compiler,
                                .argv = (const char *const *)options.argv,
                                .argc = options.count,
                                .folder = folder,
                                .artifact = artifact,
                                .timeout_ns = COMPILE_NS,
                                .memory_max = COMPILE_MAX};
    AK_DO(ak_cuda_compile(&result, &job, err));
    out->ran = result.status == AK_TRIAL_OK;
    if (!out->ran) {
        (void)snprintf(out->found, sizeof out->found, "it cannot be compiled%s: %.200s",
                       triton ? "" : " with -lineinfo", result.reason);
    }
    return AK_OK;
}

static void one_line(char *out, size_t bytes, const char *text)
{
    ak_plain_first_line(out, bytes, text + strspn(text, "= "));
}

/* Returns the line after the one at `text`; "" if that is the last. */
static const char *next_line(const char *text)
{
    text += strcspn(text, "\n");
    return *text == 0 ? text : text + 1;
}

/* Reads what a tool said: the first finding, where it is, and at which shape; or why the tool did
   not run to its end, with out->ran false. */
static void tell(ak_sanitized *out, const char *tool, const ak_proc_result *run)
{
    char what[120] = "", where[100] = "", shape[64] = "";
    size_t shapes = 0;
    const char *text = ak_or_empty(run->output);
    for (const char *line = text; *line != 0; line = next_line(line)) {
        bool says = strncmp(line, "=========", 9) == 0;
        if (line[0] == '@' && what[0] == 0) {
            one_line(shape, sizeof shape, line + 1);
            shapes++;
        } else if (says && what[0] == 0 && strstr(line, "COMPUTE-SANITIZER") == NULL) {
            one_line(what, sizeof what, line);
        } else if (says && where[0] == 0 && what[0] != 0) {
            one_line(where, sizeof where, line);
        }
    }
    out->shapes = shapes > out->shapes ? shapes : out->shapes;
    if (run->exit_code == FOUND_EXIT) {
        (void)snprintf(out->found, sizeof out->found, "compute-sanitizer %s: %s %s, at %s", tool,
                       what, where, shape);
    } else if (run->exit_code != 0 || run->timed_out) {
        const char *said = strstr(text, "\n! ");
        out->ran = false;
        one_line(where, sizeof where, said != NULL ? said + 3 : what[0] != 0 ? what : text);
        (void)snprintf(
            out->found, sizeof out->found, "compute-sanitizer %s did not run to its end (%s%s): %s",
            tool, run->timed_out ? "it took too long" : "it failed",
            strstr(text, ENDED) != NULL ? "; the candidate itself ran to its end" : "", where);
    }
}

ak_status ak_cuda_sanitize(ak_sanitized *out, const ak_task *task, const ak_config *config,
                           ak_error *err)
{
    char folder[AK_PATH_MAX] = "", program[AK_PATH_MAX], tool[AK_PATH_MAX];
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    ak_status status = AK_OK;
    *out = (ak_sanitized){.tool = "compute-sanitizer (memcheck, racecheck, initcheck)"};
    if (!find_tool(tool)) {
        (void)snprintf(
            out->found, sizeof out->found,
            "compute-sanitizer is not in PATH or /usr/local/cuda: it comes with the CUDA toolkit");
        return AK_OK;
    }
    AK_TRY(ak_program_find(program, err));
    AK_TRY(ak_fs_temp(folder, err));
    AK_TRY(write_task(folder, task, config, err));
    AK_TRY(compile(out, folder, task, config, err));
    for (size_t i = 0; i < TOOLS && out->ran && out->found[0] == 0; i++) {
        const char *const argv[] = {tool,     "--tool",           tools[i],   "--print-limit",
                                    "1",      "--launch-timeout", "60",       "--target-processes",
                                    "all",    "--error-exitcode", FOUND_TEXT, program,
                                    "worker", "--sanitized",      folder,     NULL};
        /* The tool keeps this process' working folder, because the task may name its kernel by a
           relative path. */
        ak_proc_spec spec = {
            .argv = argv, .timeout_ns = RUN_NS, .output_max = OUTPUT_MAX, .priority = AK_PROC_LOW};
        ak_proc_result_clear(&run);
        AK_TRY(ak_proc_run(&run, &spec, err));
        tell(out, tools[i], &run);
    }
out:
    if (folder[0] != 0) {
        ak_fs_remove(folder);
    }
    return status;
}
