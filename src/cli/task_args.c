/* task_args.c: see task_args.h. */
#include "cli/task_args.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "cli/options.h"
#include "cli/table.h"

/* ---- from options to a task -------------------------------------------------------------------
 */

#define ASSIGNMENTS_BYTES 512

/* A best_config.json among the --config: what it is the best of. */
typedef struct best_file {
    const char *path; /* NULL: there is none */
    json_t *document;
    const char *kernel;
    char size[ASSIGNMENTS_BYTES], choices[ASSIGNMENTS_BYTES];
} best_file;

/* {"M": 64, "N": 64} as "M=64,N=64"; "" if there is no such member. */
static ak_status read_assignments(char out[ASSIGNMENTS_BYTES], const best_file *file,
                                  const char *key, ak_error *err)
{
    ak_buf text = AK_BUF(ASSIGNMENTS_BYTES - 1);
    json_t *object = NULL, *value;
    const char *name;
    ak_status status = ak_json_object_or_null(&object, file->document, key, file->path, err);
    json_object_foreach(object, name, value)
    {
        const char *comma = text.length == 0 ? "" : ",";
        if (json_is_integer(value)) {
            ak_buf_print(&text, "%s%s=%lld", comma, name, (long long)json_integer_value(value));
        } else if (json_is_string(value)) {
            ak_buf_print(&text, "%s%s=%s", comma, name, json_string_value(value));
        } else if (json_is_real(value)) {
            ak_buf_print(&text, "%s%s=", comma, name);
            ak_json_print(&text, value, false);
        } else if (status == AK_OK) {
            status = ak_fail(err, AK_INVALID, "%s: \"%s\": \"%.60s\" must be a number or a text",
                             file->path, key, name);
        }
    }
    if (status == AK_OK && ak_buf_status(&text, err) != AK_OK) {
        status = ak_fail_within(err, "%s: \"%s\"", file->path, key);
    }
    if (status == AK_OK) {
        (void)snprintf(out, ASSIGNMENTS_BYTES, "%s", text.data);
    }
    ak_buf_free(&text);
    return status;
}

static ak_status read_best(best_file *file, ak_task_spec *spec, const ak_args *args, ak_error *err)
{
    for (size_t i = 0; i < args->config_count && file->path == NULL; i++) {
        file->path = args->config[i][0] == '@' ? args->config[i] + 1 : NULL;
    }
    if (file->path == NULL) {
        return AK_OK;
    }
    if (file->path[0] == 0) {
        return ak_fail(err, AK_INVALID,
                       "--config @ needs the name of a file, such as "
                       "--config @best_config.json");
    }
    ak_status status = ak_json_read(&file->document, file->path, err);
    if (status == AK_OK && !json_is_object(file->document)) {
        status = ak_fail(err, AK_INVALID,
                         "%s: is no best_config.json; 'autokernel export KERNEL' writes one",
                         file->path);
    }
    const struct {
        const char *key;
        const char **to;
    } members[] = {{"kernel", &file->kernel},
                   {"implementation", &spec->implementation},
                   {"device", &spec->device},
                   {"dtype", &spec->dtype}};
    for (size_t m = 0; m < sizeof members / sizeof members[0] && status == AK_OK; m++) {
        status =
            ak_json_string_or(members[m].to, file->document, members[m].key, NULL, file->path, err);
    }
    if (status == AK_OK) {
        status = read_assignments(file->size, file, "size", err);
    }
    if (status == AK_OK) {
        status = read_assignments(file->choices, file, "choices", err);
    }
    spec->size = file->size[0] == 0 ? NULL : file->size;
    spec->choices = file->choices[0] == 0 ? NULL : file->choices;
    return status;
}

void ak_args_spec(ak_task_spec *spec, const ak_args *args)
{
    const struct {
        ak_option_id id;
        const char **to;
    } texts[] = {{AK_OPTION_IMPL, &spec->implementation}, {AK_OPTION_DEVICE, &spec->device},
                 {AK_OPTION_SIZE, &spec->size},           {AK_OPTION_DTYPE, &spec->dtype},
                 {AK_OPTION_SET, &spec->choices},         {AK_OPTION_FIX, &spec->fix},
                 {AK_OPTION_LIBRARIES, &spec->libraries}, {AK_OPTION_PROTOCOL, &spec->protocol}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (ak_args_has(args, texts[i].id)) {
            *texts[i].to = args->text[texts[i].id];
        }
    }
    spec->kernel = args->operand[0];
    spec->allow_numerics = ak_args_has(args, AK_OPTION_ALLOW_NUMERICS);
    spec->threads = (int)args->number[AK_OPTION_THREADS];
    spec->seed = (uint64_t)args->number[AK_OPTION_SEED];
}

static ak_status open_task(ak_task **out, const ak_args *args, bool measured, ak_archive *archive,
                           bool race, ak_error *err)
{
    ak_task_spec spec = {0};
    best_file file = {0};
    ak_task *task = NULL;
    ak_status status = read_best(&file, &spec, args, err);
    ak_args_spec(&spec, args);
    if (status == AK_OK) {
        status = measured ? ak_task_choose(&task, &spec, archive, race, &ak_interrupted, err)
                          : ak_task_open(&task, &spec, err);
    }
    /* Sizes of another kernel are no sizes of this one; the kernel is what is wrong then. */
    const char *name = status == AK_OK ? ak_problem_name(ak_task_problem(task)) : spec.kernel;
    if (file.kernel != NULL && strcmp(file.kernel, name) != 0 &&
        (status == AK_OK || strchr(name, '/') == NULL)) {
        status = ak_fail(err, AK_INVALID, "%s: is the best of kernel \"%.60s\", not of \"%.60s\"",
                         file.path, file.kernel, name);
    }
    json_decref(file.document);
    if (status != AK_OK) {
        ak_task_close(task);
        return status;
    }
    *out = task;
    return AK_OK;
}

ak_status ak_args_task(ak_task **out, const ak_args *args, ak_error *err)
{
    return open_task(out, args, false, NULL, false, err);
}

static bool has_choice(const ak_args *args, const ak_task *task)
{
    return !ak_args_has(args, AK_OPTION_IMPL) &&
           ak_problem_implementation_count(ak_task_problem(task)) > 1;
}

ak_status ak_args_measured_task(ak_task **task, const ak_args *args, ak_archive *archive, bool race,
                                ak_error *err)
{
    ak_task *better = NULL;
    if (!has_choice(args, *task)) {
        return AK_OK;
    }
    ak_status status = open_task(&better, args, true, archive, race, err);
    if (status == AK_OK) {
        ak_task_close(*task);
        *task = better;
    }
    return status;
}

ak_status ak_args_known_task(ak_task **out, const ak_args *args, ak_error *err)
{
    ak_archive *archive = NULL;
    ak_task *task = NULL;
    ak_status status = ak_args_task(&task, args, err);
    if (status == AK_OK && has_choice(args, task)) {
        status = ak_args_archive(&archive, args, err);
        status = status == AK_OK ? ak_args_measured_task(&task, args, archive, false, err) : status;
    }
    ak_archive_close(archive);
    if (status != AK_OK) {
        ak_task_close(task);
        return status;
    }
    *out = task;
    return AK_OK;
}

static ak_status read_candidate(ak_candidate *out, const char *text, const ak_task *task,
                                ak_error *err)
{
    const ak_space *space = ak_task_space(task);
    if (strcmp(text, "default") == 0) {
        ak_space_default(&out->config, space);
        (void)snprintf(out->name, sizeof out->name, "default");
        return AK_OK;
    }
    if (text[0] != '@') {
        return ak_config_parse(&out->config, space, text, err);
    }
    const char *base = strrchr(text + 1, '/');
    (void)snprintf(out->name, sizeof out->name, "%s", base == NULL ? text + 1 : base + 1);
    return ak_config_read(&out->config, task, text + 1, err);
}

ak_status ak_args_candidates(ak_candidate *out, size_t *count, const ak_args *args,
                             const ak_task *task, ak_error *err)
{
    static const char *const fallback[] = {"default"};
    const char *const *texts = args->config_count > 0 ? args->config : fallback;
    *count = args->config_count > 0 ? args->config_count : 1;
    for (size_t i = 0; i < *count; i++) {
        (void)snprintf(out[i].name, sizeof out[i].name, "config %zu", i + 1);
        ak_status status = read_candidate(&out[i], texts[i], task, err);
        if (status != AK_OK) {
            return status;
        }
    }
    return AK_OK;
}

/* ---- configurations and values ----------------------------------------------------------------
 */

ak_status ak_config_text(char **out, const ak_space *space, const ak_config *config, ak_error *err)
{
    size_t length = ak_config_format(NULL, 0, space, config);
    char *text = ak_alloc(length + 1, 1);
    if (text == NULL) {
        return ak_fail_memory(err);
    }
    (void)ak_config_format(text, length + 1, space, config);
    *out = text;
    return AK_OK;
}

void ak_value_show(char *out, size_t bytes, const ak_value *value)
{
    size_t used = 0;
    switch (value->type) {
    case AK_VALUE_BOOL:
        (void)snprintf(out, bytes, "%s", value->as.boolean ? "true" : "false");
        return;
    case AK_VALUE_INT:
        (void)snprintf(out, bytes, "%lld", (long long)value->as.integer);
        return;
    case AK_VALUE_REAL:
        (void)snprintf(out, bytes, "%g", value->as.real);
        return;
    case AK_VALUE_STRING:
        (void)snprintf(out, bytes, "%s", value->as.string);
        return;
    case AK_VALUE_LIST:
        (void)snprintf(out, bytes, "[");
        for (size_t i = 0; i < value->as.list.count; i++) {
            used = strlen(out);
            (void)snprintf(out + used, bytes - used, "%s", i == 0 ? "" : " ");
            used = strlen(out);
            ak_value_show(out + used, bytes - used, &value->as.list.items[i]);
        }
        used = strlen(out);
        (void)snprintf(out + used, bytes - used, "]");
        return;
    }
}

/* ---- tasks and contestants --------------------------------------------------------------------
 */

void ak_task_print(const ak_task *task)
{
    const char *choices = ak_task_choices(task);
    ak_out("%s%s%s  %s%s%s  %s  on %s (implementation %s)\n", ak_style_on(stdout, AK_STYLE_BOLD),
           ak_problem_name(ak_task_problem(task)), ak_style_on(stdout, AK_STYLE_PLAIN),
           ak_task_size(task), choices[0] == 0 ? "" : "  ", choices, ak_task_dtype(task),
           ak_task_devices(task), ak_task_implementation(task));
    if (ak_task_reason(task) != NULL && ak_task_by_sheet(task)) {
        ak_out("%s\n", ak_task_reason(task));
    } else if (ak_task_reason(task) != NULL) {
        ak_out("implementation %s: %s\n", ak_task_implementation(task), ak_task_reason(task));
    }
}

bool ak_task_json(json_t *object, const ak_task *task)
{
    return ak_json_set_text(object, "kernel", ak_problem_name(ak_task_problem(task))) &&
           ak_json_set_text(object, "implementation", ak_task_implementation(task)) &&
           (ak_task_reason(task) == NULL ||
            ak_json_set_text(object, "reason", ak_task_reason(task))) &&
           ak_json_set_text(object, "device", ak_task_device(task)) &&
           ak_json_set_text(object, "size", ak_task_size(task)) &&
           ak_json_set_text(object, "dtype", ak_task_dtype(task)) &&
           ak_json_set_text(object, "choices", ak_task_choices(task));
}

/* Only where the device's driver says. */
static void print_conditions(const ak_contestant *list, size_t count)
{
    ak_table table;
    char a[AK_NUMBER_BYTES];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any = any || list[i].sm_clock_mhz > 0;
    }
    if (!any) {
        return;
    }
    ak_out("\n");
    ak_table_begin(&table, "while it ran", ">SM MHz", ">memory MHz", ">W", ">degrees C",
                   "held back by", ">utilisation", NULL);
    for (size_t i = 0; i < count; i++) {
        const ak_contestant *c = &list[i];
        ak_table_cell(&table, "%s", c->name);
        ak_table_cell(&table, "%.0f", c->sm_clock_mhz);
        ak_table_cell(&table, "%.0f", c->memory_clock_mhz);
        ak_table_cell(&table, "%.0f", c->power_watts);
        ak_table_cell(&table, "%.0f", c->temperature_celsius);
        ak_table_cell(&table, "%s", c->throttle == NULL ? "-" : c->throttle);
        ak_table_cell(&table, "%s", c->utilisation > 0 ? ak_show_percent(a, c->utilisation) : "-");
    }
    ak_table_print(&table);
}

/* Who begins early, and where; nothing if nobody does. */
static void print_overlap(const ak_contestant *list, size_t count)
{
    static const struct {
        const char *word, *text;
    } lines[] = {
        {"between runs", "runs that may begin before the one before has ended (programmatic "
                         "launches)"},
        {"within runs", "kernels of one run that may begin before the one before has ended "
                        "(programmatic launches)"},
    };
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            if (list[i].overlap != NULL && strcmp(list[i].overlap, lines[k].word) == 0) {
                ak_out("%s%s %s", any ? ";" : lines[k].text, any ? "" : ":", list[i].name);
                any = true;
            }
        }
        ak_out("%s", any ? "\n" : "");
    }
}

void ak_contestants_print(const ak_contestant *list, size_t count)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    ak_table_begin(&table, "contestant", ">ms", "95 % interval", ">TFLOP/s", ">GB/s", ">roofline",
                   ">speed", "95 % interval", "", NULL);
    for (size_t i = 0; i < count; i++) {
        const ak_contestant *c = &list[i];
        bool measured = c->median_ms > 0;
        bool brief = c->version != NULL && strlen(c->version) <= AK_VERSION_BESIDE;
        ak_table_cell(&table, "%s%s%s", c->name, brief ? " " : "", brief ? c->version : "");
        ak_table_cell(&table, "%s", ak_show_real(a, c->median_ms));
        ak_table_cell(&table, "%s", ak_show_interval(a, c->ci_low_ms, c->ci_high_ms));
        ak_table_cell(&table, "%s", ak_show_real(a, c->tflops));
        ak_table_cell(&table, "%s", ak_show_real(a, c->gbs));
        ak_table_cell(&table, "%s", ak_show_percent(a, c->efficiency));
        ak_table_cell(&table, "%s", ak_show_ratio(a, c->ratio));
        if (measured && c->ratio_high > 0) {
            ak_table_cell(&table, "%s .. %s", ak_show_ratio(a, c->ratio_low),
                          ak_show_ratio(b, c->ratio_high));
        } else {
            ak_table_cell(&table, "-");
        }
        /* The reference itself has the ratio 1 exactly. */
        bool reference = c->ratio_low == 1 && c->ratio_high == 1;
        ak_table_cell(&table, "%s%s",
                      !measured   ? "failed: "
                      : reference ? "reference"
                      : c->tie    ? "tie"
                                  : "",
                      measured || c->reason == NULL ? "" : c->reason);
    }
    ak_table_print(&table);
    for (size_t i = 0; i < count; i++) {
        if (list[i].version != NULL && strlen(list[i].version) > AK_VERSION_BESIDE) {
            ak_out("%s: %s\n", list[i].name, list[i].version);
        }
    }
    print_overlap(list, count);
    print_conditions(list, count);
}

void ak_warnings_print(char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ak_out("warning: %s\n", texts[i]);
    }
}

/* ---- what to do next --------------------------------------------------------------------------
 */

#define HINT_BYTES (4 * AK_PATH_MAX)

const char *ak_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void ak_quote(ak_buf *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./,:=+@%";
    if (word[0] != 0 && word[strspn(word, plain)] == 0) {
        ak_buf_puts(out, word);
        return;
    }
    ak_buf_putc(out, '\'');
    for (; *word != 0; word++) {
        if (*word == '\'') {
            ak_buf_puts(out, "'\\''");
        } else {
            ak_buf_putc(out, *word);
        }
    }
    ak_buf_putc(out, '\'');
}

static void add_option(ak_buf *out, ak_option_id id, const char *value)
{
    ak_buf_print(out, " --%s ", ak_options_all[id].name);
    ak_quote(out, value);
}

/* Settings of files and the environment hold for the next command too; those of the command line
   would be lost. */
static void add_archive(ak_buf *out, const ak_args *args)
{
    if (ak_args_typed(args, AK_OPTION_ARCHIVE)) {
        add_option(out, AK_OPTION_ARCHIVE, args->text[AK_OPTION_ARCHIVE]);
    }
}

/* A suggestion that is too long to be of use, or for which there is no memory, is left out. */
static void suggest(ak_buf *command, const char *why)
{
    if (ak_buf_status(command, NULL) == AK_OK) {
        ak_out_next(command->data, why);
    }
    ak_buf_free(command);
}

void ak_next_on_archive(const char *words, const char *why, const ak_args *args)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    ak_buf_puts(&command, words);
    add_archive(&command, args);
    suggest(&command, why);
}

void ak_next_on_task(const char *verb, const char *why, const ak_args *args, const ak_task *task,
                     bool sized)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    uint64_t takes = ak_command_find(verb)->options;
    bool from_file = false;
    for (size_t i = 0; i < args->config_count; i++) {
        from_file = from_file || args->config[i][0] == '@';
    }
    ak_buf_print(&command, "%s ", verb);
    /* A recording's file is no kernel to other commands; its trials have the kernel's name. */
    bool recorded = strncmp(ak_task_device(task), "sim:", 4) == 0;
    ak_quote(&command, recorded ? ak_problem_name(ak_task_problem(task)) : args->operand[0]);
    const char *fix = args->text[AK_OPTION_FIX];
    const struct {
        ak_option_id id;
        const char *value;
        bool forced;
    } parts[] = {{AK_OPTION_SIZE, ak_task_size(task), sized || from_file},
                 {AK_OPTION_DTYPE, ak_task_dtype(task), from_file},
                 {AK_OPTION_SET, ak_task_choices(task), from_file},
                 {AK_OPTION_FIX, fix == NULL ? "" : fix, false},
                 {AK_OPTION_IMPL, ak_task_implementation(task), from_file},
                 {AK_OPTION_DEVICE, ak_task_device(task), from_file},
                 {AK_OPTION_THREADS, args->text[AK_OPTION_THREADS], false}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool wanted = parts[i].forced || ak_args_typed(args, parts[i].id);
        if (wanted && parts[i].value[0] != 0 && (takes & (UINT64_C(1) << parts[i].id)) != 0) {
            add_option(&command, parts[i].id, parts[i].value);
        }
    }
    if (ak_args_typed(args, AK_OPTION_ALLOW_NUMERICS) && (takes & AK_O(ALLOW_NUMERICS)) != 0) {
        ak_buf_puts(&command, " --allow-numerics");
    }
    if ((takes & AK_O(ARCHIVE)) != 0) {
        add_archive(&command, args);
    }
    suggest(&command, why);
}

/* ---- the archive ------------------------------------------------------------------------------
 */

static bool seen_one(void *context, const ak_trial *trial)
{
    (void)trial;
    *(bool *)context = true;
    return false;
}

/* The name under which the archive knows a kernel operand. */
static ak_status kernel_name(char **out, bool *archived_out, ak_archive *archive,
                             const char *operand, ak_error *err)
{
    ak_problem *problem = NULL;
    ak_archive_filter filter = {.kernel = operand, .limit = 1};
    bool archived = false;
    if (strchr(operand, '/') == NULL) {
        ak_status status = ak_archive_each(archive, &filter, seen_one, &archived, err);
        if (status != AK_OK) {
            return status;
        }
    }
    if (!archived) {
        ak_status status = ak_problem_open(&problem, operand, err);
        if (status != AK_OK) {
            return status;
        }
    }
    char *name = ak_strdup(archived ? operand : ak_problem_name(problem));
    ak_problem_close(problem);
    if (name == NULL) {
        return ak_fail_memory(err);
    }
    *out = name;
    *archived_out = archived;
    return AK_OK;
}

/* The archive knows sizes and choices in their canonical form only; a task knows how to write it.
 */
static ak_status canonical(ak_selection *out, const ak_args *args, bool archived, ak_error *err)
{
    const char *size = args->text[AK_OPTION_SIZE], *set = args->text[AK_OPTION_SET];
    if (size == NULL && set == NULL) {
        return AK_OK;
    }
    if (args->operand_count == 0) {
        if (size != NULL && strchr(size, '=') == NULL) {
            return ak_fail(err, AK_INVALID,
                           "--size %.60s without a KERNEL must be in full, as in M=64,N=64,K=64",
                           size);
        }
        return AK_OK;
    }
    ak_task_spec spec = {.kernel = args->operand[0],
                         .implementation = out->filter.implementation,
                         .device = out->filter.device,
                         .size = size,
                         .dtype = out->filter.dtype,
                         .choices = set,
                         .look = true};
    ak_status status = ak_task_open(&out->task, &spec, err);
    if (status != AK_OK) {
        /* Trials of a kernel or device that is not here are found by what they are called. */
        return archived && size != NULL && strchr(size, '=') != NULL ? AK_OK : status;
    }
    out->filter.size = size == NULL ? NULL : ak_task_size(out->task);
    out->filter.choices = set == NULL ? NULL : ak_task_choices(out->task);
    return AK_OK;
}

ak_status ak_args_archive(ak_archive **out, const ak_args *args, ak_error *err)
{
    const char *path = args->text[AK_OPTION_ARCHIVE];
    if (ak_args_typed(args, AK_OPTION_ARCHIVE) && access(path, F_OK) != 0 && errno == ENOENT) {
        return ak_fail(err, AK_NOT_FOUND, "%.300s: no such archive", path);
    }
    ak_status status = ak_archive_open_existing(out, path, err);
    if (status == AK_OK && args->text[AK_OPTION_RUN] != NULL) {
        status = ak_archive_check_run(*out, args->text[AK_OPTION_RUN], err);
        if (status != AK_OK) {
            ak_archive_close(*out);
            *out = NULL;
        }
    }
    return status;
}

ak_status ak_selection_open(ak_selection *out, const ak_args *args, ak_error *err)
{
    *out = (ak_selection){0};
    const char *device = args->text[AK_OPTION_DEVICE];
    bool archived = false;
    out->filter =
        (ak_archive_filter){.implementation = args->text[AK_OPTION_IMPL],
                            .device = device != NULL && strcmp(device, "auto") == 0 ? NULL : device,
                            .size = args->text[AK_OPTION_SIZE],
                            .dtype = args->text[AK_OPTION_DTYPE],
                            .choices = args->text[AK_OPTION_SET],
                            .run = args->text[AK_OPTION_RUN]};
    ak_status status = ak_args_archive(&out->archive, args, err);
    if (status == AK_OK && args->operand_count > 0) {
        status = kernel_name(&out->kernel, &archived, out->archive, args->operand[0], err);
        out->filter.kernel = out->kernel;
    }
    if (status == AK_OK) {
        status = canonical(out, args, archived, err);
    }
    if (status != AK_OK) {
        ak_selection_close(out);
    }
    return status;
}

void ak_selection_close(ak_selection *selection)
{
    ak_task_close(selection->task);
    ak_archive_close(selection->archive);
    ak_free(selection->kernel);
    *selection = (ak_selection){0};
}

/* ---- interrupts -------------------------------------------------------------------------------
 */

volatile int ak_interrupted;

/* `timeout` and supervisors signal the child and then its group: two signals within a second are
   one. Only a second Ctrl-C is impatience. */
static void interrupt(int number)
{
    static volatile int64_t first_ns;
    int64_t now = ak_clock_ns();
    if (ak_interrupted == 0) {
        first_ns = now;
        ak_interrupted = 1;
    } else if (number == SIGINT && now - first_ns > AK_SECOND_NS) {
        _exit(130); /* 128 + SIGINT, as a shell reports it */
    }
}

void ak_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}
