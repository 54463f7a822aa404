/*
 * host_sanitize.c: builds a candidate with AddressSanitizer and UndefinedBehaviorSanitizer, and a
 * small program (sanitize_driver.h) that calls it at the edge-case shapes and at the task's own,
 * unless they are too large. Then it runs that program, confined (run_program). Two things count:
 * the sanitizers' report, and that the program says at its end a word that no candidate knows.
 * The preprocessor runs first, with a trial's options and without those of the sanitizers, so that
 * no macro tells the source that there are sanitizers. In the preprocessed text, attributes that
 * turn sanitizers off are renamed. Every argument is an allocation of its own, so that accesses
 * outside it are found, reads included, unless they hit another allocation. Memory that a call
 * allocates and does not free is found by comparing what the sanitizer's allocator reports before
 * and after the call.
 *
 * Results are not judged here: the check of candidates does that with the real code.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backend/compile.h"
#include "backend/elf_file.h"
#include "backend/host/host.h"
#include "backend/host/host_elf_parts.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/plain.h"
#include "check/argument.h"
#include "problem/task_options.h"

#define COMPILE_NS (180 * AK_SECOND_NS)
#define RUN_NS     (120 * AK_SECOND_NS)
#define OUTPUT_MAX ((size_t)64 << 10)
/* Shapes with more work or memory are left out: a sanitizer makes a kernel several times slower. */
#define SHAPE_FLOPS 1e8
#define SHAPE_BYTES 16e6
/* Room in a command for what is not an option of the trial or of its targets: the compiler, its
   sanitizers, files and libraries. */
#define MORE_OPTIONS 24
#define TEXT_MAX     (64u << 20)

static const char tool[] = "AddressSanitizer and UndefinedBehaviorSanitizer";

typedef struct build {
    const ak_task *task;
    const ak_config *config;
    ak_shape *shapes;
    size_t count;
    char folder[AK_PATH_MAX], source[AK_PATH_MAX], program[AK_PATH_MAX], inputs[AK_PATH_MAX];
    char object[AK_PATH_MAX], library[AK_PATH_MAX], main_file[AK_PATH_MAX];
    char token[AK_HASH_BYTES]; /* what the program says at its end */
    ak_buf table;
    ak_options options; /* the compiler options that a trial uses */
    ak_host_targets targets;
} build;

static ak_access access_of(const build *b, size_t argument)
{
    return b->task->problem->arguments[argument].access;
}

/* Chooses from the edge-case shapes and the task's own those that the configuration allows and that
   are small enough. */
static ak_status choose_shapes(build *b, ak_error *err)
{
    const ak_problem *problem = b->task->problem;
    AK_DO(AK_NEW(b->shapes, problem->edge_case_count + 1, err));
    for (size_t i = 0; i <= problem->edge_case_count; i++) {
        const int64_t *size =
            i < problem->edge_case_count ? problem->edge_cases[i] : b->task->shape.size;
        ak_shape *shape = &b->shapes[b->count];
        bool allowed = false;
        double bytes = 0;
        AK_DO(ak_task_shape(shape, b->task, size, err));
        AK_DO(ak_task_allows(&allowed, b->task, shape, b->config, err));
        for (size_t a = 0; a < problem->argument_count; a++) {
            bytes += (double)shape->bytes[a];
        }
        b->count += allowed && shape->flops <= SHAPE_FLOPS && bytes <= SHAPE_BYTES;
    }
    return AK_OK;
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
    AK_DO(ak_task_workspace(&workspace, &threads, b->task, shape, b->config, err));
    for (size_t i = 0; i < problem->size_count; i++) {
        sizes[i] = (size_t)shape->size[i];
    }
    ak_buf_puts(&b->table, "    {");
    print_list(&b->table, "size", sizes, problem->size_count);
    print_list(&b->table, "bytes", shape->bytes, problem->argument_count);
    print_list(&b->table, "pitch", shape->pitch, problem->argument_count);
    ak_buf_print(&b->table, ".workspace = %zu, .threads = %d},\n", workspace,
                 threads < 1 ? 1 : threads);
    return AK_OK;
}

/* Prints the filter of system calls that the program gives itself; an empty one without seccomp. */
static void print_filter(ak_buf *out)
{
    uint64_t filter[AK_SANDBOX_FILTER_MAX];
    const size_t count = ak_sandbox_seccomp() ? ak_sandbox_sanitized(filter) : 0;
    ak_buf_print(out,
                 "enum { ak_s_filter_count = %zu };\n"
                 "static const uint64_t ak_s_filter[] = {0",
                 count);
    for (size_t i = 0; i < count; i++) {
        ak_buf_print(out, "%s%lluu", i == 0 ? " + " : ",", (unsigned long long)filter[i]);
    }
    ak_buf_puts(out, "};\n");
}

/* Prints the program: what a kernel sees of the harness, the table, and the driver. */
static ak_status print_program(build *b, ak_error *err)
{
    enum { THREADS_MAX = 64 };
    const ak_task *task = b->task;
    const ak_problem *problem = task->problem;
    const ak_asset *source = ak_asset_find("src/backend/host/sanitize_driver.h");
    AK_DO(ak_made(source, err));
    AK_DO(ak_host_source(&b->table, "", "program.c", err));
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
    for (size_t i = 0; i < b->count; i++) {
        AK_DO(print_shape(b, &b->shapes[i], err));
    }
    ak_buf_print(&b->table, "};\nstatic const size_t ak_s_shape_count = %zu;\n", b->count);
    print_filter(&b->table);
    ak_buf_append(&b->table, source->data, source->length);
    return ak_buf_status(&b->table, err);
}

/* Appends the inputs of one shape as the candidate sees them. */
static ak_status append_inputs(ak_buf *out, const build *b, const ak_shape *shape, ak_error *err)
{
    for (size_t i = 0; i < b->task->problem->argument_count; i++) {
        if (access_of(b, i) != AK_ACCESS_OUT) {
            AK_FREED unsigned char *bytes = NULL;
            AK_DO(AK_NEW(bytes, shape->bytes[i], err));
            AK_DO(ak_argument_input(bytes, b->task, shape, i, err));
            ak_buf_append(out, (const char *)bytes, shape->bytes[i]);
        }
    }
    return AK_OK;
}

static ak_status draw_token(build *b, ak_error *err)
{
    unsigned char random[32];
    AK_FAIL_IF(getrandom(random, sizeof random, 0) != (ssize_t)sizeof random, err, AK_IO,
               "the system gives no random numbers");
    ak_hash_text(b->token, (const char *)random, sizeof random);
    return AK_OK;
}

static ak_status write_files(build *b, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf inputs = AK_BUF((size_t)1 << 30);
    AK_DO(ak_fs_join(b->source, b->folder, "source.c", err));
    AK_DO(ak_fs_join(b->program, b->folder, "program", err));
    AK_DO(ak_fs_join(b->object, b->folder, "kernel.o", err));
    AK_DO(ak_fs_join(b->library, b->folder, "kernel.so", err));
    AK_DO(ak_fs_join(b->inputs, b->folder, "inputs", err));
    AK_DO(ak_backend_write_source(b->source, &ak_host_ops, b->task->implementation, err));
    for (size_t i = 0; i < b->count; i++) {
        AK_DO(append_inputs(&inputs, b, &b->shapes[i], err));
    }
    AK_DO(draw_token(b, err));
    ak_buf_puts(&inputs, b->token);
    AK_DO(ak_buf_status(&inputs, err));
    AK_DO(ak_fs_write(b->inputs, inputs.data, inputs.length, err));
    AK_DO(ak_fs_join(b->main_file, b->folder, "program.c", err));
    AK_DO(print_program(b, err));
    return ak_fs_write(b->main_file, b->table.data, b->table.length, err);
}

static ak_proc_spec spec_of(const build *b, const char *const *argv, int64_t timeout_ns)
{
    return (ak_proc_spec){.argv = argv,
                          .folder = b->folder,
                          .timeout_ns = timeout_ns,
                          .output_max = OUTPUT_MAX,
                          .priority = AK_PROC_LOW};
}

/* Runs a compiler, or a tool that comes with one, in the folder. */
static ak_status run_tool(ak_proc_result *out, const build *b, const char *const *argv,
                          ak_error *err)
{
    return ak_compile_run(out, spec_of(b, argv, COMPILE_NS), b->folder, b->folder, err);
}

/* Runs what was compiled. It may read what is installed and its folder, writes nothing, reaches no
   network and starts no process. Unlike a candidate's child it may start threads. Before it calls
   the candidate it takes more system calls from itself (print_filter). */
static ak_status run_program(ak_proc_result *out, const build *b, ak_error *err)
{
    char temporary[AK_PATH_MAX + 8];
    ak_reads reads;
    ak_sandbox_plan plan;
    const char *const argv[] = {b->program, b->inputs, b->library, NULL};
    const char *const writable[] = {"/dev/null", NULL};
    const char *const environment[] = {"LC_ALL=C", temporary, NULL};
    ak_proc_spec spec = spec_of(b, argv, RUN_NS);
    ak_reads_open(&reads);
    ak_reads_add(&reads, "/proc/self"); /* a sanitizer reads its own memory map */
    ak_reads_add(&reads, b->folder);
    ak_reads_add_tool(&reads,
                      b->options.compiler); /* the sanitizers' runtime is installed with it */
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", b->folder);
    ak_sandbox_plan_open_alone(&plan, reads.path, writable);
    spec.setenv = environment;
    spec.confine = ak_sandbox_plan_apply;
    spec.confine_context = &plan;
    ak_status status = ak_proc_run(out, &spec, err);
    ak_sandbox_plan_close(&plan);
    return status;
}

/* Gives the sizes of the shape that ran last, or of the first if none ran: "at M=7,N=33". */
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

/* Returns the first place in a text that names a line of one of the kernel's own files, such as
   "kernel.c:12", or NULL. Folders in front of the name are left out. */
static const char *own_line(const build *b, const char *text)
{
    const ak_implementation_spec *implementation = b->task->implementation;
    const char *first = NULL;
    for (size_t i = 0; i < implementation->file_count; i++) {
        const char *name = ak_fs_base(implementation->files[i]);
        const size_t length = strlen(name);
        for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
            if ((at == text || strchr(" /\n", at[-1]) != NULL) && at[length] == ':' &&
                at[length + 1] >= '0' && at[length + 1] <= '9') {
                first = first == NULL || at < first ? at : first;
                break;
            }
        }
    }
    return first;
}

/* Finds the line of the source if a report has none. The runtime of clang leaves this to another
   program, which the confined process could not start. So that program is asked here for the first
   addresses in the candidate. */
static void find_line(char *out, size_t bytes, const build *b, const char *report)
{
    static const char *const tools[] = {"llvm-symbolizer", "llvm-addr2line", "addr2line"};
    enum { FRAMES = 4 };
    char path[AK_PATH_MAX], place[AK_PATH_MAX + 8], address[32];
    size_t chosen = 0;
    while (chosen < AK_COUNT(tools) && !ak_fs_which(path, tools[chosen])) {
        chosen++;
    }
    (void)snprintf(place, sizeof place, "%s+0x", b->library);
    for (int i = 0; i < FRAMES && chosen < AK_COUNT(tools) && out[0] == 0; i++) {
        report = strstr(report, place);
        if (report == NULL) {
            return;
        }
        report += strlen(place) - 2;
        (void)snprintf(address, sizeof address, "%.*s", (int)strspn(report, "0123456789abcdefx"),
                       report);
        const char *const argv[] = {tools[chosen], "-e", b->library, address, NULL};
        AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
        if (run_tool(&run, b, argv, NULL) == AK_OK) {
            const char *found = own_line(b, run.output);
            if (found != NULL) {
                ak_plain_first_line(out, bytes, found);
            }
        }
    }
}

/* Returns whether the output ends with `how` and the token, which only the program can print. */
static bool says(const build *b, const char *output, const char *how)
{
    char line[AK_HASH_BYTES + 16];
    (void)snprintf(line, sizeof line, "\n%s %s\n", how, b->token);
    const size_t length = strlen(output), own = strlen(line);
    return length >= own && strcmp(output + length - own, line) == 0;
}

/* What the program prints before the number of bytes that each call loses at least. */
#define LOST "\nlost "

/* Reads from the program's output what the sanitizer found, and where in the candidate's source. */
static void tell(ak_sanitized *out, const build *b, const ak_proc_result *run)
{
    char where[128], line[160] = "";
    const char *output = ak_or_empty(run->output);
    const char *address = strstr(output, "ERROR: AddressSanitizer: ");
    const char *undefined = strstr(output, ": runtime error: ");
    const char *lost = strstr(output, LOST);
    const bool found = address != NULL || undefined != NULL || lost != NULL;
    const bool called = strncmp(output, "@ ", 2) == 0 || strstr(output, "\n@ ") != NULL;
    out->ran = true;
    if (!found && !run->timed_out && run->exit_code == 0 && says(b, output, "done")) {
        return;
    }
    name_shape(where, sizeof where, b, output);
    if (address != NULL) {
        const char *what = address + strlen("ERROR: AddressSanitizer: ");
        const char *frame = own_line(b, what);
        if (frame != NULL) {
            ak_plain_first_line(line, sizeof line, frame);
        } else {
            find_line(line, sizeof line, b, what);
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
                       (int)strspn(lost + strlen(LOST), "0123456789"), lost + strlen(LOST), where);
    } else if (run->timed_out) {
        (void)snprintf(out->found, sizeof out->found, "no end within %d s with sanitizers, %.100s",
                       (int)(RUN_NS / AK_SECOND_NS), where);
    } else if (called && !says(b, output, "unable")) {
        (void)snprintf(out->found, sizeof out->found,
                       "it ends the program with sanitizers before its end (exit code %d, signal "
                       "%d), %.100s",
                       run->exit_code, run->signal, where);
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

/* Writes why the candidate cannot be built with sanitizers. */
static void cannot(ak_sanitized *out, const build *b, const ak_proc_result *run)
{
    char line[160];
    const char *error = run->output == NULL ? NULL : strstr(run->output, "error");
    error = run->timed_out ? "it took too long" : error;
    ak_plain_first_line(line, sizeof line, error == NULL ? "no message" : error);
    (void)snprintf(out->found, sizeof out->found,
                   "%.60s cannot build it with sanitizers (is libasan installed?): %.120s",
                   b->options.compiler, line);
}

/* Replaces a letter in the name of each attribute that turns a sanitizer off, so that compilers do
   not know it. A variable of the same name is renamed everywhere, which changes nothing. */
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

/* Replaces the candidate's source by its preprocessed text; *seen is false if the compiler refuses
   it or takes too long. Before version 14 gcc's preprocessor does not obey pragmas about targets,
   so it runs a second time with these targets as options. */
static ak_status preprocess(bool *seen, ak_proc_result *run, build *b, ak_error *err)
{
    AK_FREED char *text = NULL, *source = NULL;
    size_t length = 0;
    AK_DO(ak_fs_read(&source, &length, b->source, TEXT_MAX, err));
    AK_DO(ak_host_preprocess(&text, run, &b->options, b->source, b->folder, err));
    AK_DO(text == NULL ? AK_OK : ak_host_targets_of(&b->targets, source, text, err));
    if (text != NULL && b->targets.options.count > 0 &&
        strstr(text, "#pragma GCC target") != NULL) {
        for (size_t i = 0; i < b->targets.options.count; i++) {
            AK_DO(ak_options_add(&b->options, b->targets.options.argv[i], err));
        }
        ak_free(text);
        ak_proc_result_clear(run);
        AK_DO(ak_host_preprocess(&text, run, &b->options, b->source, b->folder, err));
    }
    *seen = text != NULL;
    if (text != NULL) {
        let_all_be_seen(text);
        return ak_fs_write(b->source, text, strlen(text), err);
    }
    return AK_OK;
}

/* Returns whether an option of a trial is left out because it would choose the kind of output, the
   language, or what the sanitizers do. */
static bool is_left_out(const char *option)
{
    static const char *const left_out[] = {
        "-shared", "-xc++", "--param=asan", "-fno-sanitize", "-fsanitize", "-flto", NULL};
    return ak_text_begins(option, left_out);
}

/* What is compiled, in this order. */
typedef enum product { OBJECT, LIBRARY, PROGRAM } product;

static ak_status compile(ak_proc_result *run, const build *b, product what, ak_error *err)
{
    static const char *const linking[] = {"-fopenmp", "-pthread", "-m", NULL};
    const bool cpp = ak_text_same(b->task->implementation->language, "c++");
    const char *const object[] = {
        "-fPIC", "-o", b->object, "-c", "-x", cpp ? "c++-cpp-output" : "cpp-output", b->source};
    const char *const library[] = {"-shared", "-fPIC", "-o", b->library, b->object, "-lm"};
    const char *const program[] = {"-o", b->program, b->main_file, "-lm", "-ldl", "-lpthread"};
    const char *const *const tails[] = {object, library, program};
    static const size_t lengths[] = {AK_COUNT(object), AK_COUNT(library), AK_COUNT(program)};
    AK_FREED const char **argv = ak_alloc(b->options.count + MORE_OPTIONS, sizeof *argv);
    size_t n = 0;
    AK_DO(ak_made(argv, err));
    argv[n++] = b->options.compiler;
    for (size_t i = 0; i < b->options.count; i++) {
        const char *option = b->options.argv[i];
        if (!is_left_out(option) && (what == OBJECT || ak_text_begins(option, linking))) {
            argv[n++] = option;
        }
    }
    for (size_t i = 0; i < AK_COUNT(sanitizers); i++) {
        argv[n++] = sanitizers[i];
    }
    memcpy(argv + n, tails[what], lengths[what] * sizeof *argv);
    return run_tool(run, b, argv, err);
}

/* Refuses an object that defines functions of the sanitizers' interface, which would take the place
   of the sanitizers' own. A trial's artifact with one is refused, too. */
static ak_status look_at_object(ak_sanitized *out, const build *b, ak_error *err)
{
    AK_FREED char *file = NULL;
    const char *name = NULL;
    size_t length = 0;
    ak_elf elf;
    AK_DO(ak_fs_read(&file, &length, b->object, TEXT_MAX, err));
    if (ak_elf_open(&elf, file, length) && ak_elf_symbols(&elf, ak_host_elf_is_hook, &name)) {
        (void)snprintf(out->found, sizeof out->found,
                       "it defines %.60s, which is part of the sanitizers", name);
    }
    return AK_OK;
}

static ak_status compile_program(ak_sanitized *out, build *b, ak_error *err)
{
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    AK_DO(ak_task_options(&b->options, b->task, b->config, err));
    AK_DO(b->options.compiler != NULL ? AK_OK : ak_host_compiler(&b->options.compiler, err));
    AK_DO(preprocess(&out->ran, &run, b, err));
    for (product what = OBJECT; what <= PROGRAM && out->ran && out->found[0] == 0; what++) {
        ak_proc_result_clear(&run);
        AK_DO(compile(&run, b, what, err));
        out->ran = run.exit_code == 0 && !run.timed_out;
        AK_DO(out->ran && what == OBJECT ? look_at_object(out, b, err) : AK_OK);
    }
    if (!out->ran) {
        cannot(out, b, &run);
    }
    return AK_OK;
}

ak_status ak_host_sanitize(ak_sanitized *out, const ak_task *task, const ak_config *config,
                           ak_error *err)
{
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    build *b = ak_alloc(1, sizeof *b);
    ak_status status = AK_OK;
    *out = (ak_sanitized){.tool = tool};
    AK_DO(ak_made(b, err));
    b->table = (ak_buf)AK_BUF((size_t)4 << 20);
    if (ak_text_same(task->implementation->language, AK_LANGUAGE_FORTRAN)) {
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
    if (out->ran && out->found[0] == 0) {
        AK_TRY(run_program(&run, b, err));
        tell(out, b, &run);
    }
out:
    if (b->folder[0] != 0) {
        ak_fs_remove(b->folder);
    }
    ak_options_clear(&b->options);
    ak_host_targets_clear(&b->targets);
    ak_buf_free(&b->table);
    AK_FREE_ALL(b->shapes, b);
    return status;
}
