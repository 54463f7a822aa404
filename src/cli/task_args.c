/* task_args.c: see task_args.h. It is long because every command that
   has a task, a configuration or an archive among its arguments takes them from here. */
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

/* ---- from options to a task ------------------------------------------------------------------ */

#define ASSIGNMENTS_BYTES 512

/* The task that a best_config.json, or a trial given by --config, is a result of. */
typedef struct best_file {
    const char *path; /* NULL: --config names neither */
    json_t *document;
    const char *kernel;
    char size[ASSIGNMENTS_BYTES], choices[ASSIGNMENTS_BYTES];
    ak_trial trial; /* the trial of "#5" */
} best_file;

/* Writes {"M": 64, "N": 64} as "M=64,N=64"; "" if there is no such member. */
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

typedef struct found_trial {
    ak_trial *trial;
    bool found;
    ak_status status;
    ak_error *err;
} found_trial;

static bool keep_found(void *context, const ak_trial *trial)
{
    found_trial *f = context;
    f->found = true;
    f->status = ak_trial_copy(f->trial, trial, f->err);
    return false;
}

/* Finds the trial that "#5" names. */
static ak_status find_trial(ak_trial *out, const char *text, const ak_args *args, ak_error *err)
{
    ak_archive *archive = NULL;
    ak_archive_filter filter = {.limit = 1, .simulated = true};
    found_trial f = {.trial = out, .status = AK_OK, .err = err};
    char id[32]; /* others may follow after a ';' */
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(text + 1, ";"), text + 1);
    if (!ak_text_int(&filter.id, id) || filter.id < 1) {
        return ak_fail(err, AK_INVALID,
                       "--config %.60s: a trial is named by its id, such as '#5'; 'autokernel "
                       "history' shows them",
                       text);
    }
    ak_status status = AK_OK;
    AK_TRY(ak_args_archive(&archive, args, err));
    AK_TRY(ak_archive_each(archive, &filter, keep_found, &f, err));
    AK_TRY(f.status);
    if (!f.found) {
        AK_TRY(ak_fail(err, AK_NOT_FOUND,
                       "--config %.60s: there is no such trial in %.200s; 'autokernel history' "
                       "shows their ids",
                       text, ak_archive_path(archive)));
    }
out:
    ak_archive_close(archive);
    return status;
}

/* Fills what the options leave open from the trial's task. */
static ak_status read_trial(best_file *file, ak_task_spec *spec, const char *text,
                            const ak_args *args, ak_error *err)
{
    AK_DO(find_trial(&file->trial, text, args, err));
    const ak_trial *trial = &file->trial;
    file->kernel = trial->kernel;
    spec->implementation = trial->implementation;
    spec->device = trial->device;
    spec->dtype = trial->dtype;
    spec->size = trial->size;
    spec->choices = trial->choices;
    return AK_OK;
}

static ak_status read_best(best_file *file, ak_task_spec *spec, const ak_args *args, ak_error *err)
{
    const char *trial = NULL;
    for (size_t i = 0; i < args->config_count && file->path == NULL; i++) {
        file->path = args->config[i][0] == '@' ? args->config[i] + 1 : NULL;
        trial = args->config[i][0] == '#' && trial == NULL ? args->config[i] : trial;
    }
    if (file->path == NULL && trial != NULL) {
        file->path = trial;
        return read_trial(file, spec, trial, args, err);
    }
    if (file->path == NULL) {
        return AK_OK;
    }
    if (file->path[0] == 0) {
        return ak_fail(err, AK_INVALID,
                       "--config @ needs the name of a file, such as "
                       "--config @best_config.json");
    }
    ak_status status = AK_OK;
    AK_TRY(ak_json_read(&file->document, file->path, err));
    if (!json_is_object(file->document)) {
        AK_TRY(ak_fail(err, AK_INVALID,
                       "%s: this is not a best_config.json; 'autokernel export KERNEL' writes one",
                       file->path));
    }
    const struct {
        const char *key;
        const char **to;
    } members[] = {{"kernel", &file->kernel},
                   {"implementation", &spec->implementation},
                   {"device", &spec->device},
                   {"dtype", &spec->dtype}};
    for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
        AK_TRY(ak_json_string_or(members[m].to, file->document, members[m].key, NULL, file->path,
                                 err));
    }
    AK_TRY(read_assignments(file->size, file, "size", err));
    AK_TRY(read_assignments(file->choices, file, "choices", err));
out:
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
                 {AK_OPTION_LIBRARIES, &spec->libraries}, {AK_OPTION_PROTOCOL, &spec->protocol},
                 {AK_OPTION_LAUNCHER, &spec->launcher},   {AK_OPTION_WORKERS, &spec->workers}};
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
    /* If the file is of another kernel, its sizes do not fit either; the message must name the
       kernel. */
    const char *name = status == AK_OK ? ak_problem_name(ak_task_problem(task)) : spec.kernel;
    if (file.kernel != NULL && strcmp(file.kernel, name) != 0 &&
        (status == AK_OK || strchr(name, '/') == NULL)) {
        status =
            ak_fail(err, AK_INVALID, "%s: this is a result of kernel \"%.60s\", not of \"%.60s\"",
                    file.path, file.kernel, name);
    }
    json_decref(file.document);
    ak_trial_clear(&file.trial);
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
    AK_DO(open_task(&better, args, true, archive, race, err));
    ak_task_close(*task);
    *task = better;
    return AK_OK;
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

static ak_status read_candidate(ak_candidate *out, const char *text, const ak_args *args,
                                const ak_task *task, ak_error *err)
{
    const ak_space *space = ak_task_space(task);
    if (strcmp(text, "default") == 0) {
        ak_space_default(&out->config, space);
        (void)snprintf(out->name, sizeof out->name, "default");
        return AK_OK;
    }
    if (text[0] == '#') {
        ak_trial trial = {0};
        ak_status status = find_trial(&trial, text, args, err);
        if (status == AK_OK) {
            (void)snprintf(out->name, sizeof out->name, "%s", text);
            status = ak_config_parse(&out->config, space, trial.config, err);
        }
        ak_trial_clear(&trial);
        return status;
    }
    if (text[0] != '@') {
        return ak_config_parse(&out->config, space, text, err);
    }
    const char *base = strrchr(text + 1, '/');
    (void)snprintf(out->name, sizeof out->name, "%s", base == NULL ? text + 1 : base + 1);
    return ak_config_read(&out->config, task, text + 1, err);
}

/* Reads one --config, which may hold several configurations with ';' between them. */
static ak_status read_candidates(ak_candidate *out, size_t *count, const char *text,
                                 const ak_args *args, const ak_task *task, ak_error *err)
{
    ak_status status = AK_OK;
    while (status == AK_OK && *text != 0) {
        size_t length = text[0] == '@' ? strlen(text) : strcspn(text, ";");
        char *part = ak_strndup(text, length);
        if (part == NULL) {
            return ak_fail_memory(err);
        }
        if (part[0] == 0) {
            status = AK_OK; /* an empty item, as after the last ';' */
        } else if (*count == AK_CONFIGS_MAX) {
            status = ak_fail(err, AK_INVALID, "--config: at most %d configurations at once",
                             AK_CONFIGS_MAX);
        } else {
            (void)snprintf(out[*count].name, sizeof out->name, "config %zu", *count + 1);
            ak_error why = AK_ERROR_INIT;
            out[*count].invalid[0] = 0;
            status = read_candidate(&out[*count], part, args, task, &why);
            if (status == AK_INVALID) {
                (void)snprintf(out[*count].invalid, sizeof out->invalid, "%s", why.text);
                status = AK_OK;
            } else if (status != AK_OK) {
                status = ak_fail(err, status, "%s", why.text);
            }
            *count += 1;
        }
        ak_free(part);
        text += length + (text[length] == ';' ? 1 : 0);
    }
    return status;
}

ak_status ak_args_candidates_marked(ak_candidate *out, size_t *count, const ak_args *args,
                                    const ak_task *task, ak_error *err)
{
    static const char *const fallback[] = {"default"};
    const char *const *texts = args->config_count > 0 ? args->config : fallback;
    size_t given = args->config_count > 0 ? args->config_count : 1;
    *count = 0;
    for (size_t i = 0; i < given; i++) {
        AK_DO(read_candidates(out, count, texts[i], args, task, err));
    }
    return AK_OK;
}

ak_status ak_candidate_refuse(const ak_candidate *candidate, const ak_task *task, ak_error *err)
{
    /* A trial's configuration was not typed, so the message says whose it is and where. */
    return candidate->name[0] == '#'
               ? ak_fail(err, AK_INVALID, "--config %s at %.160s: %s", candidate->name,
                         ak_task_size(task), candidate->invalid)
               : ak_fail(err, AK_INVALID, "%s", candidate->invalid);
}

ak_status ak_args_candidates(ak_candidate *out, size_t *count, const ak_args *args,
                             const ak_task *task, ak_error *err)
{
    AK_DO(ak_args_candidates_marked(out, count, args, task, err));
    for (size_t i = 0; i < *count; i++) {
        if (out[i].invalid[0] != 0) {
            return ak_candidate_refuse(&out[i], task, err);
        }
    }
    return AK_OK;
}

/* ---- configurations and values --------------------------------------------------------------- */

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

/* ---- tasks ----------------------------------------------------------------------------------- */

void ak_task_print(const ak_task *task)
{
    const char *choices = ak_task_choices(task);
    ak_out("%s%s%s  %s%s%s  %s  on %s (implementation %s)\n", ak_style_on(stdout, AK_STYLE_BOLD),
           ak_problem_name(ak_task_problem(task)), ak_style_on(stdout, AK_STYLE_PLAIN),
           ak_task_size(task), choices[0] == 0 ? "" : "  ", choices, ak_task_dtype(task),
           ak_task_devices(task), ak_task_implementation(task));
    if (ak_task_reference(task) != NULL) {
        ak_out("reference: %s\n", ak_task_reference(task));
    }
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
           ak_json_set_text(object, "choices", ak_task_choices(task)) &&
           ak_json_set_text(object, "checked_against", ak_task_reference(task));
}

/* ---- what to do next ------------------------------------------------------------------------- */

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

/* Adds --archive if it was typed. Settings hold for the next command anyway. */
static void add_archive(ak_buf *out, const ak_args *args)
{
    if (ak_args_typed(args, AK_OPTION_ARCHIVE)) {
        add_option(out, AK_OPTION_ARCHIVE, args->text[AK_OPTION_ARCHIVE]);
    }
}

/* Prints a suggestion, unless it is too long to be useful or memory is out. */
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

void ak_next_resume(const char *verb, const ak_args *args)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    ak_buf_puts(&command, verb);
    for (int i = 0; i < args->word_count; i++) {
        if (strcmp(args->words[i], "--resume") != 0) {
            ak_buf_putc(&command, ' ');
            ak_quote(&command, args->words[i]);
        }
    }
    ak_buf_puts(&command, " --resume");
    suggest(&command, "go on where it was");
}

void ak_next_on_task(const char *verb, const char *why, const ak_args *args, const ak_task *task,
                     bool with_size)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    ak_option_set takes = ak_command_find(verb)->options;
    bool from_file = false;
    for (size_t i = 0; i < args->config_count; i++) {
        from_file = from_file || args->config[i][0] == '@' || args->config[i][0] == '#';
    }
    ak_buf_print(&command, "%s ", verb);
    /* Other commands take no recording as KERNEL; its trials have the name of the recorded
       kernel. */
    bool recorded = strncmp(ak_task_device(task), "sim:", 4) == 0;
    ak_quote(&command, recorded ? ak_problem_name(ak_task_problem(task)) : args->operand[0]);
    const char *fix = args->text[AK_OPTION_FIX];
    const struct {
        ak_option_id id;
        const char *value;
        bool forced;
    } parts[] = {{AK_OPTION_SIZE, ak_task_size(task), with_size || from_file},
                 {AK_OPTION_DTYPE, ak_task_dtype(task), from_file},
                 {AK_OPTION_SET, ak_task_choices(task), from_file},
                 {AK_OPTION_FIX, fix == NULL ? "" : fix, false},
                 {AK_OPTION_IMPL, ak_task_implementation(task), from_file},
                 {AK_OPTION_DEVICE, ak_task_device(task), from_file},
                 {AK_OPTION_THREADS, args->text[AK_OPTION_THREADS], false}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool wanted = parts[i].forced || ak_args_typed(args, parts[i].id);
        if (wanted && parts[i].value[0] != 0 && (takes & AK_O_AT(parts[i].id)) != 0) {
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

/* ---- the archive ----------------------------------------------------------------------------- */

static bool seen_one(void *context, const ak_trial *trial)
{
    (void)trial;
    *(bool *)context = true;
    return false;
}

/* Finds the name under which the archive has a kernel operand. */
static ak_status kernel_name(char **out, bool *archived_out, ak_archive *archive,
                             const char *operand, ak_error *err)
{
    ak_problem *problem = NULL;
    ak_archive_filter filter = {.kernel = operand, .simulated = true, .limit = 1};
    bool archived = false;
    if (strchr(operand, '/') == NULL) {
        AK_DO(ak_archive_each(archive, &filter, seen_one, &archived, err));
    }
    if (!archived) {
        AK_DO(ak_problem_open(&problem, operand, err));
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

/* Brings sizes and options to the canonical form in which the archive has them, by opening a
   task. */
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
        /* Without the kernel or device here, trials are found by the size as it was typed. */
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
        return ak_fail(err, AK_NOT_FOUND,
                       "there is no archive %.300s: check --archive, or make it with 'autokernel "
                       "tune --archive'",
                       path);
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

#define ENVIRONMENTS_MAX 32

typedef struct environments {
    char *at[ENVIRONMENTS_MAX];
    size_t count;
    bool failed;
} environments;

static bool note_environment(void *context, const ak_trial *trial)
{
    environments *e = context;
    for (size_t i = 0; i < e->count; i++) {
        if (trial->environment == NULL || strcmp(e->at[i], trial->environment) == 0) {
            return true;
        }
    }
    if (trial->environment != NULL && e->count < ENVIRONMENTS_MAX) {
        e->at[e->count] = ak_strdup(trial->environment);
        e->failed = e->at[e->count] == NULL;
        e->count += e->failed ? 0 : 1;
    }
    return !e->failed && e->count < ENVIRONMENTS_MAX;
}

ak_status ak_say_environment(ak_archive *archive, const ak_trial *taken, ak_error *err)
{
    environments e = {0};
    ak_archive_filter filter = {.kernel = taken->kernel,
                                .implementation = taken->implementation,
                                .device = taken->device,
                                .size = taken->size,
                                .dtype = taken->dtype,
                                .choices = taken->choices,
                                .ok_only = true};
    ak_status status = ak_archive_each(archive, &filter, note_environment, &e, err);
    if (status == AK_OK && e.count > 1 && taken->environment != NULL) {
        ak_out("%s %s: results of %zu%s environments are archived (compilers, sources, machine); "
               "taken is the latest, %.12s, which trial #%lld is from\n",
               taken->kernel, taken->size == NULL ? "" : taken->size, e.count,
               e.count == ENVIRONMENTS_MAX ? " or more" : "", taken->environment,
               (long long)taken->id);
    }
    for (size_t i = 0; i < e.count; i++) {
        ak_free(e.at[i]);
    }
    return status;
}

ak_status ak_selection_device(ak_task **recorded, ak_archive_filter *filter, ak_error *err)
{
    const char *device = filter->device == NULL ? "" : filter->device;
    if (strncmp(device, "sim:", 4) != 0 || !ak_fs_is_file(device + 4)) {
        return AK_OK;
    }
    ak_task_spec spec = {.kernel = device + 4, .device = "sim", .look = true};
    AK_DO(ak_task_open(recorded, &spec, err));
    filter->device = ak_task_device(*recorded);
    return AK_OK;
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
    if (status == AK_OK) {
        status = ak_selection_device(&out->recorded, &out->filter, err);
    }
    if (status != AK_OK) {
        ak_selection_close(out);
    }
    return status;
}

const char *ak_selection_hint(const ak_selection *selection)
{
    ak_archive_filter filter = selection->filter;
    bool seen = false;
    filter.simulated = true;
    (void)ak_archive_each(selection->archive, &filter, seen_one, &seen, NULL);
    return seen ? "; --device sim shows those on recordings" : "";
}

static bool count_hidden(void *context, const ak_trial *trial)
{
    (void)trial;
    *(size_t *)context += 1;
    return true;
}

void ak_selection_say_hidden(const ak_selection *selection)
{
    ak_archive_filter filter = selection->filter;
    size_t hidden = 0;
    if (filter.device != NULL || filter.run != NULL || filter.environment != NULL) {
        return; /* what was asked for is shown */
    }
    filter.device = "sim";
    (void)ak_archive_each(selection->archive, &filter, count_hidden, &hidden, NULL);
    if (hidden > 0) {
        ak_out("%zu trial%s on recordings %s left out; --device sim shows %s\n", hidden,
               hidden == 1 ? "" : "s", hidden == 1 ? "is" : "are", hidden == 1 ? "it" : "them");
    }
}

void ak_selection_close(ak_selection *selection)
{
    ak_task_close(selection->task);
    ak_task_close(selection->recorded);
    ak_archive_close(selection->archive);
    ak_free(selection->kernel);
    *selection = (ak_selection){0};
}

/* ---- interrupts ------------------------------------------------------------------------------ */

volatile int ak_interrupted;

/* Handles SIGINT and SIGTERM. `timeout` and supervisors signal the child and then its group, so two
   signals within a second count as one. Only a second Ctrl-C ends the process. */
static void interrupt(int number)
{
    static volatile int64_t first_ns;
    int64_t now = ak_clock_ns();
    if (ak_interrupted == 0) {
        first_ns = now;
        ak_interrupted = 1;
    } else if (number == SIGINT && now - first_ns > AK_SECOND_NS) {
        _exit(130); /* 128 + SIGINT, as shells report it */
    }
}

void ak_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}
