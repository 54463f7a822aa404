/*
 * host_sanitize.c: builds a candidate with AddressSanitizer and UndefinedBehaviorSanitizer,
 * together with a small program that calls it at the edge-case shapes, and runs that program, as
 * confined as a compiler. The preprocessor runs first, with the options of a trial alone, so that
 * no macro tells the source of the sanitizers; attributes that turn them off are taken out of the
 * text that it leaves. Every argument is an allocation of its own, so that every access outside
 * it is found; the red zones of the harness show only writes, not reads. Memory that a call
 * allocates and does not free is found by comparing what the sanitizer's allocator reports before
 * and after the call.
 *
 * Results are not judged here: the check of candidates does that with the real code.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/compile.h"
#include "backend/host/host.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/plain.h"
#include "check/inputs.h"
#include "problem/task_options.h"

#define COMPILE_NS (180 * AK_SECOND_NS)
#define RUN_NS     (120 * AK_SECOND_NS)
#define OUTPUT_MAX ((size_t)64 << 10)
/* Shapes with more work or memory are left out: a sanitizer makes a kernel several times slower. */
#define SHAPE_FLOPS 1e8
#define SHAPE_BYTES 16e6
/* At most this many options are added to those of the configuration and of its targets. */
#define MORE_OPTIONS 16
#define TEXT_MAX     (64u << 20)

static const char tool[] = "AddressSanitizer and UndefinedBehaviorSanitizer";

/* What is compiled beside the candidate, behind a table of the shapes. It prints "@ N" before shape
   N and "lost BYTES" if each of some calls has allocated more than it has freed. */
static const char driver[] =
    "#include <pthread.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "size_t __sanitizer_get_current_allocated_bytes(void);\n"
    "void ak_kernel(const ak_host_call *call);\n"
    "typedef struct ak_s_pool {\n"
    "    pthread_barrier_t barrier;\n"
    "    int n;\n"
    "} ak_s_pool;\n"
    "typedef struct ak_s_part {\n"
    "    void (*task)(void *context, int thread, int n);\n"
    "    void *context;\n"
    "    int thread, n;\n"
    "} ak_s_part;\n"
    "static void *ak_s_start(void *argument)\n"
    "{\n"
    "    ak_s_part *p = argument;\n"
    "    p->task(p->context, p->thread, p->n);\n"
    "    return NULL;\n"
    "}\n"
    "static void ak_s_parallel(void *opaque, int n, void (*task)(void *, int, int), void "
    "*context)\n"
    "{\n"
    "    ak_s_pool *pool = opaque;\n"
    "    pthread_t threads[ak_s_threads_max];\n"
    "    ak_s_part parts[ak_s_threads_max];\n"
    "    n = n < 1 ? 1 : n > ak_s_threads_max ? ak_s_threads_max : n;\n"
    "    pool->n = n;\n"
    "    pthread_barrier_init(&pool->barrier, NULL, (unsigned)n);\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        parts[i] = (ak_s_part){task, context, i, n};\n"
    "        if (i > 0 && pthread_create(&threads[i], NULL, ak_s_start, &parts[i]) != 0) {\n"
    "            exit(98);\n"
    "        }\n"
    "    }\n"
    "    task(context, 0, n);\n"
    "    for (int i = 1; i < n; i++) {\n"
    "        pthread_join(threads[i], NULL);\n"
    "    }\n"
    "    pthread_barrier_destroy(&pool->barrier);\n"
    "    pool->n = 1;\n"
    "}\n"
    "static void ak_s_barrier(void *opaque)\n"
    "{\n"
    "    ak_s_pool *pool = opaque;\n"
    "    if (pool->n > 1) {\n"
    "        pthread_barrier_wait(&pool->barrier);\n"
    "    }\n"
    "}\n"
    "static void *ak_s_memory(size_t bytes)\n"
    "{\n"
    "    void *memory = NULL;\n"
    "    if (posix_memalign(&memory, 64, bytes > 0 ? bytes : 1) != 0) {\n"
    "        exit(98);\n"
    "    }\n"
    "    memset(memory, 0xff, bytes);\n"
    "    return memory;\n"
    "}\n"
    "const char *__asan_default_options(void)\n"
    "{\n"
    "    return \"detect_leaks=0:color=never\";\n"
    "}\n"
    "const char *__ubsan_default_options(void)\n"
    "{\n"
    "    return \"color=never\";\n"
    "}\n"
    "int __lsan_is_turned_off(void)\n"
    "{\n"
    "    return 1;\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    FILE *inputs = argc > 1 ? fopen(argv[1], \"rb\") : NULL;\n"
    "    if (inputs == NULL) {\n"
    "        return 98;\n"
    "    }\n"
    "    for (size_t i = 0; i < sizeof ak_s_shapes / sizeof ak_s_shapes[0]; i++) {\n"
    "        const ak_s_shape *s = &ak_s_shapes[i];\n"
    "        void *arg[ak_s_arguments];\n"
    "        ak_s_pool pool = {.n = 1};\n"
    "        fprintf(stderr, \"@ %zu\\n\", i);\n"
    "        for (int a = 0; a < ak_s_arguments; a++) {\n"
    "            arg[a] = ak_s_memory(s->bytes[a]);\n"
    "            if (ak_s_read[a] && fread(arg[a], 1, s->bytes[a], inputs) != s->bytes[a]) {\n"
    "                return 98;\n"
    "            }\n"
    "        }\n"
    "        ak_host_call call = {.size = s->size, .choice = ak_s_choice, .number = ak_s_number,\n"
    "                             .arg = arg, .pitch = s->pitch,\n"
    "                             .workspace = ak_s_memory(s->workspace), .threads = s->threads,\n"
    "                             .parallel = ak_s_parallel, .barrier = ak_s_barrier,\n"
    "                             .pool = &pool};\n"
    "        size_t before = 0, lost = (size_t)-1;\n"
    "        for (int k = 0; k < 4; k++) {\n"
    "            ak_kernel(&call);\n"
    "            size_t now = __sanitizer_get_current_allocated_bytes();\n"
    "            size_t more = now > before ? now - before : 0;\n"
    "            lost = k > 0 && more < lost ? more : lost;\n"
    "            before = now;\n"
    "        }\n"
    "        if (lost > 0) {\n"
    "            fprintf(stderr, \"lost %zu\\n\", lost);\n"
    "            return 97;\n"
    "        }\n"
    "        for (int a = 0; a < ak_s_arguments; a++) {\n"
    "            free(arg[a]);\n"
    "        }\n"
    "        free(call.workspace);\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

typedef struct build {
    const ak_task *task;
    const ak_config *config;
    ak_shape *shapes;
    size_t count;
    char folder[AK_PATH_MAX], source[AK_PATH_MAX], program[AK_PATH_MAX], inputs[AK_PATH_MAX];
    char object[AK_PATH_MAX], main_file[AK_PATH_MAX];
    ak_buf table;
    ak_options options; /* those of a trial */
    ak_host_targets targets;
    const char *compiler;
} build;

static ak_access access_of(const build *b, size_t argument)
{
    return b->task->problem->arguments[argument].access;
}

/* Appends the shapes that the configuration allows and that are small enough. */
static ak_status choose_shapes(build *b, ak_error *err)
{
    const ak_problem *problem = b->task->problem;
    ak_status status = AK_OK;
    AK_DO(AK_NEW(b->shapes, problem->edge_case_count + 1, err));
    for (size_t i = 0; status == AK_OK && i <= problem->edge_case_count; i++) {
        const int64_t *size =
            i < problem->edge_case_count ? problem->edge_cases[i] : b->task->shape.size;
        ak_shape *shape = &b->shapes[b->count];
        bool allowed = false;
        double bytes = 0;
        status = ak_task_shape(shape, b->task, size, err);
        status =
            status == AK_OK ? ak_task_allows(&allowed, b->task, shape, b->config, err) : status;
        for (size_t a = 0; status == AK_OK && a < problem->argument_count; a++) {
            bytes += (double)shape->bytes[a];
        }
        b->count +=
            status == AK_OK && allowed && shape->flops <= SHAPE_FLOPS && bytes <= SHAPE_BYTES ? 1
                                                                                              : 0;
    }
    return status;
}

static void print_list(ak_buf *out, const char *name, const size_t *list, size_t count)
{
    ak_buf_print(out, ".%s = {", name);
    for (size_t i = 0; i < count; i++) {
        ak_buf_print(out, "%s%zu", i == 0 ? "" : ", ", list[i]);
    }
    ak_buf_puts(out, "}, ");
}

static ak_status print_shape(build *b, const ak_shape *shape, ak_error *err)
{
    const ak_problem *problem = b->task->problem;
    size_t workspace, sizes[AK_SIZES_MAX];
    int threads;
    ak_status status = ak_task_workspace(&workspace, &threads, b->task, shape, b->config, err);
    for (size_t i = 0; i < problem->size_count; i++) {
        sizes[i] = (size_t)shape->size[i];
    }
    ak_buf_puts(&b->table, "    {");
    print_list(&b->table, "size", sizes, problem->size_count);
    print_list(&b->table, "bytes", shape->bytes, problem->argument_count);
    print_list(&b->table, "pitch", shape->pitch, problem->argument_count);
    ak_buf_print(&b->table, ".workspace = %zu, .threads = %d},\n", workspace,
                 threads < 1 ? 1 : threads);
    return status;
}

/* Writes the program: what a kernel sees of the harness, the table, and the driver. */
static ak_status write_program(build *b, ak_error *err)
{
    enum { THREADS_MAX = 64 };
    const ak_task *task = b->task;
    const ak_problem *problem = task->problem;
    ak_status status = ak_fs_join(b->main_file, b->folder, "program.c", err);
    b->table = (ak_buf)AK_BUF((size_t)4 << 20);
    status = status == AK_OK ? ak_host_source(&b->table, "", "program.c", err) : status;
    ak_buf_print(&b->table,
                 "enum { ak_s_threads_max = %d, ak_s_arguments = %zu };\n"
                 "typedef struct ak_s_shape {\n"
                 "    int64_t size[%d], pitch[%d];\n"
                 "    size_t bytes[%d], workspace;\n"
                 "    int threads;\n"
                 "} ak_s_shape;\n",
                 THREADS_MAX, problem->argument_count, AK_SIZES_MAX, AK_ARGUMENTS_MAX,
                 AK_ARGUMENTS_MAX);
    ak_buf_puts(&b->table, "static const int ak_s_read[] = {");
    for (size_t i = 0; i < problem->argument_count; i++) {
        ak_buf_print(&b->table, "%d,", access_of(b, i) != AK_ACCESS_OUT);
    }
    ak_buf_print(&b->table, "};\nstatic const int ak_s_choice[%d] = {", AK_CHOICES_MAX);
    for (size_t i = 0; i < problem->choice_count; i++) {
        ak_buf_print(&b->table, "%d,", task->choice[i]);
    }
    ak_buf_print(&b->table, "};\nstatic const double ak_s_number[%d] = {", AK_CHOICES_MAX);
    for (size_t i = 0; i < problem->choice_count; i++) {
        char text[AK_REAL_BYTES];
        ak_number_shortest(text, task->number[i]);
        ak_buf_print(&b->table, "%s,", text);
    }
    ak_buf_puts(&b->table, "};\nstatic const ak_s_shape ak_s_shapes[] = {\n");
    for (size_t i = 0; status == AK_OK && i < b->count; i++) {
        status = print_shape(b, &b->shapes[i], err);
    }
    ak_buf_puts(&b->table, "};\n");
    ak_buf_puts(&b->table, driver);
    status = status == AK_OK ? ak_buf_status(&b->table, err) : status;
    status =
        status == AK_OK ? ak_fs_write(b->main_file, b->table.data, b->table.length, err) : status;
    ak_buf_free(&b->table);
    return status;
}

/* Appends the inputs of one shape as the candidate sees them. */
static ak_status append_inputs(ak_buf *out, const build *b, const ak_shape *shape, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < b->task->problem->argument_count; i++) {
        if (b->task->problem->arguments[i].access == AK_ACCESS_OUT) {
            continue;
        }
        unsigned char *bytes = ak_alloc(shape->bytes[i], 1);
        status = bytes == NULL ? ak_fail_memory(err)
                               : ak_inputs_of_argument(bytes, b->task, shape, i, err);
        if (status == AK_OK) {
            ak_buf_append(out, (const char *)bytes, shape->bytes[i]);
        }
        ak_free(bytes);
    }
    return status;
}

static ak_status write_files(build *b, ak_error *err)
{
    const ak_implementation_spec *implementation = b->task->implementation;
    char name[128];
    ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX), inputs = AK_BUF((size_t)1 << 30);
    ak_status status = AK_OK;
    (void)snprintf(name, sizeof name, "%.100s.c", implementation->name);
    AK_TRY(ak_fs_join(b->source, b->folder, "source.c", err));
    AK_TRY(ak_fs_join(b->program, b->folder, "program", err));
    AK_TRY(ak_fs_join(b->object, b->folder, "kernel.o", err));
    AK_TRY(ak_fs_join(b->inputs, b->folder, "inputs", err));
    AK_TRY(ak_host_source(&text, implementation->source, name, err));
    AK_TRY(ak_fs_write(b->source, text.data, text.length, err));
    for (size_t i = 0; i < b->count; i++) {
        AK_TRY(append_inputs(&inputs, b, &b->shapes[i], err));
    }
    AK_TRY(ak_buf_status(&inputs, err));
    AK_TRY(ak_fs_write(b->inputs, inputs.data, inputs.length, err));
    AK_TRY(write_program(b, err));
out:
    ak_buf_free(&text);
    ak_buf_free(&inputs);
    return status;
}

/* Runs the program of `argv` in the folder, as confined as a compiler. */
static ak_status run_confined(ak_proc_result *out, const build *b, const char *compiler,
                              const char *const *argv, int64_t timeout_ns, ak_error *err)
{
    char temporary[AK_PATH_MAX + 8];
    ak_reads reads;
    const char *const writable[] = {"/dev/null", b->folder, NULL};
    const char *const environment[] = {"LC_ALL=C", temporary, NULL};
    ak_sandbox_plan plan;
    ak_reads_open(&reads);
    ak_reads_add(&reads, "/proc/self"); /* a sanitizer reads the map of its own memory */
    ak_reads_add_tool(&reads, compiler);
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", b->folder);
    ak_sandbox_plan_open(&plan, reads.path, writable);
    ak_proc_spec spec = {.argv = argv,
                         .setenv = environment,
                         .folder = b->folder,
                         .confine = ak_sandbox_plan_apply,
                         .confine_context = &plan,
                         .timeout_ns = timeout_ns,
                         .output_max = OUTPUT_MAX,
                         .priority = AK_PROC_LOW};
    ak_status status = ak_proc_run(out, &spec, err);
    ak_sandbox_plan_close(&plan);
    return status;
}

/* Gives the sizes of the shape that ran last: "at M=7,N=33". */
static void name_shape(char *out, size_t bytes, const build *b, const char *output)
{
    size_t shape = 0;
    for (const char *at = output; (at = strstr(at, "@ ")) != NULL; at++) {
        shape = at == output || at[-1] == '\n' ? (size_t)strtoul(at + 2, NULL, 10) : shape;
    }
    out[0] = 0;
    if (shape < b->count) {
        (void)snprintf(out, bytes, "at ");
        ak_task_size_text(out + 3, bytes - 3, b->task->problem, b->shapes[shape].size);
    }
}

/* Reads from the program's output what the sanitizer found, and where in the candidate's source. */
static void tell(ak_sanitized *out, const build *b, const ak_proc_result *run)
{
    char where[128], name[128], line[160] = "";
    const char *output = run->output == NULL ? "" : run->output;
    const char *address = strstr(output, "ERROR: AddressSanitizer: ");
    const char *undefined = strstr(output, ": runtime error: ");
    const char *lost = strstr(output, "\nlost ");
    out->ran = true;
    if (run->exit_code == 0 && !run->timed_out) {
        return;
    }
    name_shape(where, sizeof where, b, output);
    (void)snprintf(name, sizeof name, "%.100s.c:", b->task->implementation->name);
    if (address != NULL) {
        const char *what = address + strlen("ERROR: AddressSanitizer: ");
        const char *frame = strstr(what, name);
        if (frame != NULL) {
            ak_plain_first_line(line, sizeof line, frame);
        }
        (void)snprintf(out->found, sizeof out->found, "AddressSanitizer: %.*s%s%s, %.100s",
                       (int)strcspn(what, " \r\n"), what, line[0] == 0 ? "" : " in ", line, where);
    } else if (undefined != NULL) {
        const char *begin = undefined;
        while (begin > output && begin[-1] != '\n') {
            begin--;
        }
        ak_plain_first_line(line, sizeof line, begin);
        (void)snprintf(out->found, sizeof out->found, "UndefinedBehaviorSanitizer: %.140s, %.80s",
                       line, where);
    } else if (lost != NULL) {
        (void)snprintf(out->found, sizeof out->found,
                       "it allocates %.*s bytes in each call that it does not free, %.100s",
                       (int)strspn(lost + 6, "0123456789"), lost + 6, where);
    } else if (run->timed_out) {
        (void)snprintf(out->found, sizeof out->found, "no end within %d s with sanitizers, %.100s",
                       (int)(RUN_NS / AK_SECOND_NS), where);
    } else {
        out->ran = false;
        ak_plain_first_line(line, sizeof line, output);
        (void)snprintf(out->found, sizeof out->found,
                       "the program with sanitizers did not run (exit code %d, signal %d): %.100s",
                       run->exit_code, run->signal, line);
    }
}

static const char *const sanitizers[] = {"-O1",
                                         "-g1",
                                         "-fno-omit-frame-pointer",
                                         "-fsanitize=address,undefined",
                                         "-fno-sanitize-recover=all",
                                         "-w"};

/* Says why it cannot be built. */
static void cannot(ak_sanitized *out, const build *b, const ak_proc_result *run)
{
    char line[160];
    const char *error = run->output == NULL ? NULL : strstr(run->output, "error");
    error = run->timed_out ? "it took too long" : error;
    ak_plain_first_line(line, sizeof line, error == NULL ? "no message" : error);
    (void)snprintf(out->found, sizeof out->found,
                   "%.60s cannot build it with sanitizers (is libasan installed?): %.120s",
                   b->compiler, line);
}

/* Replaces a letter of each attribute that turns a sanitizer off: no compiler knows the new name,
   and a variable of that name gets it everywhere. */
static void let_all_be_seen(char *text)
{
    static const char *const words[] = {"no_sanitize", "no_address_safety_analysis",
                                        "disable_sanitizer_instrumentation"};
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        for (char *p = text; (p = strstr(p, words[i])) != NULL; p++) {
            *p = 'x';
        }
    }
}

/* Puts what the compiler sees of the candidate in place of its source; *seen is false if the
   compiler refuses it. Before version 14 gcc's preprocessor alone does not obey pragmas about
   targets, so it gets them as options when it is asked again. */
static ak_status preprocess(bool *seen, ak_proc_result *run, build *b, ak_error *err)
{
    char *text = NULL, *source = NULL;
    size_t length = 0;
    ak_status status = AK_OK;
    AK_TRY(ak_fs_read(&source, &length, b->source, TEXT_MAX, err));
    AK_TRY(ak_host_preprocess(&text, run, b->compiler, &b->options, b->source, b->folder, err));
    AK_TRY(text == NULL ? AK_OK : ak_host_targets_of(&b->targets, source, text, err));
    if (text != NULL && b->targets.options.count > 0 &&
        strstr(text, "#pragma GCC target") != NULL) {
        for (size_t i = 0; i < b->targets.options.count; i++) {
            AK_TRY(ak_options_add(&b->options, b->targets.options.argv[i], err));
        }
        ak_free(text);
        ak_proc_result_clear(run);
        AK_TRY(ak_host_preprocess(&text, run, b->compiler, &b->options, b->source, b->folder, err));
    }
    *seen = text != NULL;
    if (text != NULL) {
        let_all_be_seen(text);
        status = ak_fs_write(b->source, text, strlen(text), err);
    }
out:
    ak_free(text);
    ak_free(source);
    return status;
}

/* Returns whether an option of a trial is left out: it says what is made, the language, or what a
   sanitizer leaves out. */
static bool is_left_out(const char *option)
{
    static const char *const left_out[] = {"-shared",       "-xc++",      "--param=asan",
                                           "-fno-sanitize", "-fsanitize", NULL};
    return ak_compile_listed(left_out, option);
}

/* Compiles the candidate to an object, or links it with the program. */
static ak_status compile(ak_proc_result *run, const build *b, bool links, ak_error *err)
{
    static const char *const linking[] = {"-fopenmp", "-pthread", "-flto", "-m", NULL};
    const char *language = b->task->implementation->language;
    const bool cpp = language != NULL && strcmp(language, "c++") == 0;
    const char *const tail[] = {"-o",
                                links ? b->program : b->object,
                                links ? b->main_file : "-c",
                                links ? b->object : "-x",
                                links ? "-lm" : (cpp ? "c++-cpp-output" : "cpp-output"),
                                links ? "-lpthread" : b->source,
                                NULL};
    const char **argv = ak_alloc(b->options.count + MORE_OPTIONS, sizeof *argv);
    size_t n = 0;
    if (argv == NULL) {
        return ak_fail_memory(err);
    }
    argv[n++] = b->compiler;
    for (size_t i = 0; i < b->options.count; i++) {
        const char *option = b->options.argv[i];
        if (!is_left_out(option) && (!links || ak_compile_listed(linking, option))) {
            argv[n++] = option;
        }
    }
    for (size_t i = 0; i < AK_COUNT(sanitizers); i++) {
        argv[n++] = sanitizers[i];
    }
    memcpy(argv + n, tail, sizeof tail);
    ak_status status = run_confined(run, b, b->compiler, argv, COMPILE_NS, err);
    ak_free(argv);
    return status;
}

static ak_status compile_program(ak_sanitized *out, build *b, ak_error *err)
{
    ak_proc_result run = {0};
    ak_status status = AK_OK;
    AK_TRY(ak_task_options(&b->options, b->task, b->config, err));
    b->compiler = b->options.compiler;
    AK_TRY(b->compiler != NULL ? AK_OK : ak_host_compiler(&b->compiler, err));
    AK_TRY(preprocess(&out->ran, &run, b, err));
    for (int links = 0; links < 2 && out->ran; links++) {
        ak_proc_result_clear(&run);
        AK_TRY(compile(&run, b, links != 0, err));
        out->ran = run.exit_code == 0 && !run.timed_out;
    }
    if (!out->ran) {
        cannot(out, b, &run);
    }
out:
    ak_proc_result_clear(&run);
    return status;
}

ak_status ak_host_sanitize(ak_sanitized *out, const ak_task *task, const ak_config *config,
                           ak_error *err)
{
    ak_proc_result run = {0};
    build *b = ak_alloc(1, sizeof *b);
    ak_status status = ak_made(b, err);
    *out = (ak_sanitized){.tool = tool};
    if (status != AK_OK) {
        return status;
    }
    const char *language = task->implementation->language;
    if (language != NULL && strcmp(language, AK_LANGUAGE_FORTRAN) == 0) {
        (void)snprintf(out->found, sizeof out->found, "kernels in Fortran are not built with %s",
                       tool);
        goto out;
    }
    b->task = task;
    b->config = config;
    AK_TRY(ak_fs_temp(b->folder, err));
    AK_TRY(choose_shapes(b, err));
    AK_TRY(write_files(b, err));
    out->shapes = b->count;
    AK_TRY(compile_program(out, b, err));
    if (out->ran) {
        const char *const argv[] = {b->program, b->inputs, NULL};
        AK_TRY(run_confined(&run, b, argv[0], argv, RUN_NS, err));
        tell(out, b, &run);
    }
out:
    if (b->folder[0] != 0) {
        ak_fs_remove(b->folder);
    }
    ak_proc_result_clear(&run);
    ak_options_clear(&b->options);
    ak_host_targets_clear(&b->targets);
    ak_free(b->shapes);
    ak_free(b);
    return status;
}
