/* task_args.c: takes tasks and configurations from the options; see task_args.h. */
#include "cli/task_args.h"

#include "base/alloc.h"
#include "base/device_name.h"
#include "base/fs.h"
#include "cli/options.h"

/* ---- from options to a task ------------------------------------------------------------------ */

#define ASSIGNMENTS_BYTES 512

/* The task that a best_config.json, or a trial given by --config, is a result of. */
typedef struct best_file {
    const char *path; /* of the file, or "#5", the trial; NULL: --config names neither */
    json_t *document;
    const char *kernel;
    char size[ASSIGNMENTS_BYTES], choices[ASSIGNMENTS_BYTES];
    char implementation[64]; /* NAME in --config NAME:CONFIGURATION */
    ak_trial trial;          /* the trial of "#5" */
} best_file;

static void best_file_clear(best_file *file)
{
    json_decref(file->document);
    ak_trial_clear(&file->trial);
}

/* Writes {"M": 64, "N": 64} as "M=64,N=64"; "" if there is no such member. */
static ak_status read_assignments(char out[ASSIGNMENTS_BYTES], const best_file *file,
                                  const char *key, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(ASSIGNMENTS_BYTES - 1);
    json_t *object = NULL;
    AK_DO(ak_json_object_or_null(&object, file->document, key, file->path, err));
    AK_EACH_MEMBER(name, value, object) {
        AK_FAIL_IF(!json_is_number(value) && !json_is_string(value), err, AK_INVALID,
                   "%s: \"%s\": \"%.60s\" must be a number or a text", file->path, key, name);
        ak_buf_print(&text, "%s%s=", text.length == 0 ? "" : ",", name);
        ak_json_print_plain(&text, value);
    }
    if (ak_buf_status(&text, err) != AK_OK) {
        return ak_fail_within(err, "%s: \"%s\"", file->path, key);
    }
    (void)snprintf(out, ASSIGNMENTS_BYTES, "%s", text.data);
    return AK_OK;
}

/* Finds the trial that "#5" names. */
static ak_status find_trial(ak_trial *out, const char *text, const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    ak_archive_filter filter = {.simulated = true};
    bool found;
    char id[32]; /* the configuration ends at a ';', after which another may follow */
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(text + 1, ";"), text + 1);
    AK_FAIL_IF(!ak_text_int(&filter.id, id) || filter.id < 1, err, AK_INVALID,
               "--config %.60s: a trial is named by its id, such as '#5'; 'autokernel "
               "history' shows them",
               text);
    AK_DO(ak_args_archive(&archive, args, err));
    AK_DO(ak_archive_first(&found, out, archive, &filter, err));
    AK_FAIL_IF(!found, err, AK_NOT_FOUND,
               "--config %.60s: there is no such trial in %.200s; 'autokernel history' "
               "shows their ids",
               text, ak_archive_path(archive));
    return AK_OK;
}

/* Fills *spec from the trial's task; options override it later. */
static ak_status read_trial(best_file *file, ak_task_spec *spec, const char *text,
                            const ak_args *args, ak_error *err)
{
    AK_DO(find_trial(&file->trial, text, args, err));
    const ak_trial *trial = &file->trial;
    file->kernel = trial->kernel;
    /* An imported trial may lack implementation and device. */
    spec->implementation = file->implementation[0] != 0    ? file->implementation
                           : trial->implementation[0] != 0 ? trial->implementation
                                                           : NULL;
    spec->device = trial->device[0] == 0 ? NULL : trial->device;
    spec->dtype = trial->dtype;
    spec->size = trial->size;
    spec->choices = trial->choices;
    return AK_OK;
}

/* A ':' in the value of a parameter is not mistaken for a prefix, because it follows an '='. */
size_t ak_config_prefix(const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && text[length] == ':' ? length + 1 : 0;
}

size_t ak_config_length(const char *text)
{
    return text[ak_config_prefix(text)] == '@' ? strlen(text) : strcspn(text, ";");
}

static ak_status read_best(best_file *file, ak_task_spec *spec, const ak_args *args, ak_error *err)
{
    const char *trial = NULL;
    for (size_t i = 0; i < args->config_count && file->path == NULL; i++) {
        size_t prefix = ak_config_prefix(args->config[i]);
        const char *text = args->config[i] + prefix;
        file->path = text[0] == '@' ? text + 1 : NULL;
        trial = text[0] == '#' && trial == NULL ? text : trial;
        if (prefix > 0 && file->implementation[0] == 0) {
            (void)snprintf(file->implementation, sizeof file->implementation, "%.*s",
                           (int)prefix - 1, args->config[i]);
            spec->implementation = file->implementation;
        }
    }
    if (file->path == NULL && trial != NULL) {
        file->path = trial;
        return read_trial(file, spec, trial, args, err);
    }
    if (file->path == NULL) {
        return AK_OK;
    }
    AK_FAIL_IF(file->path[0] == 0, err, AK_INVALID,
               "--config @ needs the name of a file, such as --config @best_config.json");
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
    for (size_t m = 0; m < AK_COUNT(members); m++) {
        AK_TRY(ak_json_string_or(members[m].to, file->document, members[m].key, NULL, file->path,
                                 err));
    }
    if (file->implementation[0] != 0) {
        spec->implementation = file->implementation;
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
    for (size_t i = 0; i < AK_COUNT(texts); i++) {
        if (ak_args_has(args, texts[i].id)) {
            *texts[i].to = args->text[texts[i].id];
        }
    }
    spec->kernel = args->operand[0];
    spec->allow_numerics = ak_args_has(args, AK_OPTION_ALLOW_NUMERICS);
    spec->threads = (int)args->number[AK_OPTION_THREADS];
    spec->seed = (uint64_t)args->number[AK_OPTION_SEED];
}

/* Refuses a result of a recording, unless --device is given or the recording's file is here. */
static ak_status refuse_simulated(const best_file *file, const char *device, const ak_args *args,
                                  ak_error *err)
{
    if (file->path == NULL || ak_args_has(args, AK_OPTION_DEVICE) ||
        !ak_device_is_recorded(device) || ak_fs_is_file(device + strlen(AK_DEVICE_RECORDED))) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "%.200s: this result is from a recording (%.60s), on which nothing can be "
                   "measured; --device auto takes a device of this machine",
                   file->path, device);
}

static ak_status open_task(ak_task **out, const ak_args *args, bool measured, ak_archive *archive,
                           bool race, ak_error *err)
{
    ak_task_spec spec = {0};
    AK_AT_END(best_file_clear) best_file file = {0};
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    ak_status status = read_best(&file, &spec, args, err);
    ak_args_spec(&spec, args);
    if (status == AK_OK && spec.implementation != NULL &&
        strchr(spec.implementation, ',') != NULL) {
        status = ak_fail(err, AK_INVALID,
                         "--impl %.100s: one implementation at a time; 'autokernel compare' takes "
                         "several",
                         spec.implementation);
    }
    status = status == AK_OK ? refuse_simulated(&file, spec.device, args, err) : status;
    if (status == AK_OK) {
        status = measured ? ak_task_choose(&task, &spec, archive, race, &ak_interrupted, err)
                          : ak_task_open(&task, &spec, err);
    }
    /* If the file is a result of another kernel, its sizes do not fit either. The error must name
       the kernel and not the sizes. */
    const char *name = spec.kernel;
    if (status == AK_OK) {
        name = ak_problem_name(ak_task_problem(task));
    } else if (file.kernel != NULL && strchr(name, '/') != NULL) {
        name =
            ak_problem_open(&problem, name, NULL) == AK_OK ? ak_problem_name(problem) : file.kernel;
    }
    AK_FAIL_IF(file.kernel != NULL && strcmp(file.kernel, name) != 0, err, AK_INVALID,
               "%s: this is a result of kernel \"%.60s\", not of \"%.60s\"", file.path, file.kernel,
               name);
    AK_DO(status);
    AK_GIVE(out, task);
    return AK_OK;
}

/* Returns whether the text of --size, such as "M=3,N=4", gives the size `name`. */
static bool size_is_given(const char *text, const char *name, size_t length)
{
    while (*text != 0) {
        text += strspn(text, " ,");
        if (strncmp(text, name, length) == 0 && text[length + strspn(text + length, " ")] == '=') {
            return true;
        }
        text += strcspn(text, ",");
    }
    return false;
}

void ak_default_sizes(ak_buf *out, const ak_task *task, const ak_args *args)
{
    const char *given = args->text[AK_OPTION_SIZE];
    if (given == NULL || strchr(given, '=') == NULL) {
        return;
    }
    bool any = false;
    for (const char *at = ak_task_size(task); *at != 0;) {
        size_t length = strcspn(at, ",");
        if (!size_is_given(given, at, strcspn(at, "="))) {
            if (!any) {
                ak_buf_print(out, "%s %s leaves the kernel's default for the rest: ",
                             args->text[AK_OPTION_SIZES] != NULL ? "--sizes:" : "--size", given);
            }
            ak_buf_print(out, "%s%.*s", any ? "," : "", (int)length, at);
            any = true;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
}

static void warn_of_default_sizes(const ak_task *task, const ak_args *args)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(ASSIGNMENTS_BYTES);
    ak_default_sizes(&text, task, args);
    if (text.length > 0 && ak_buf_status(&text, NULL) == AK_OK) {
        ak_warn("%s", text.data);
    }
}

static size_t count_assignments(const char *text)
{
    size_t count = 0;
    for (; *text != 0; text++) {
        count += *text == '=';
    }
    return count;
}

void ak_warn_listed_sizes(const ak_args *args, const char *const *items, size_t count)
{
    size_t sizes = SIZE_MAX; /* how many the kernel has; not known before a task is open */
    for (size_t i = 0; i < count; i++) {
        ak_task *task = NULL;
        ak_args one = *args;
        const size_t given = count_assignments(items[i]);
        one.text[AK_OPTION_SIZE] = items[i];
        if (given > 0 && given < sizes &&
            open_task(&task, &one, false, NULL, false, NULL) == AK_OK) {
            sizes = count_assignments(ak_task_size(task));
            warn_of_default_sizes(task, &one);
            ak_task_close(task);
        }
    }
}

ak_status ak_args_task(ak_task **out, const ak_args *args, ak_error *err)
{
    AK_DO(open_task(out, args, false, NULL, false, err));
    warn_of_default_sizes(*out, args);
    return AK_OK;
}

ak_status ak_args_look(ak_task **out, const ak_args *args, ak_error *err)
{
    ak_task_spec spec = {.look = true};
    ak_args_spec(&spec, args);
    return ak_task_open(out, &spec, err);
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
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_DO(ak_args_task(&task, args, err));
    if (has_choice(args, task)) {
        /* An archive that does not exist yet counts as empty and is not created. */
        AK_DO(ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], err));
        AK_DO(ak_args_measured_task(&task, args, archive, false, err));
    }
    AK_GIVE(out, task);
    return AK_OK;
}

void ak_warn_ignored(const ak_task *task)
{
    if (ak_task_ignored(task) != NULL) {
        ak_warn("%s", ak_task_ignored(task));
    }
    if (ak_task_unused(task) != NULL) {
        ak_warn("%s", ak_task_unused(task));
    }
}

static ak_status read_candidate(ak_candidate *out, const char *text, const ak_args *args,
                                const ak_task *task, ak_error *err)
{
    const ak_space *space = ak_task_space(task);
    size_t prefix = ak_config_prefix(text);
    const char *mine = ak_task_implementation(task);
    AK_FAIL_IF(prefix > 0 && (strlen(mine) != prefix - 1 || strncmp(text, mine, prefix - 1) != 0),
               err, AK_INVALID,
               "--config %.160s: this configuration is for another implementation than %s; "
               "'autokernel compare' takes several",
               text, mine);
    text += prefix;
    if (strcmp(text, "default") == 0) {
        ak_space_default(&out->config, space);
        (void)snprintf(out->name, sizeof out->name, "default");
        return AK_OK;
    }
    if (text[0] == '#') {
        AK_AT_END(ak_trial_clear) ak_trial trial = {0};
        const char *kernel = ak_problem_name(ak_task_problem(task));
        AK_DO(find_trial(&trial, text, args, err));
        AK_FAIL_IF(strcmp(trial.kernel, kernel) != 0, err, AK_NOT_FOUND,
                   "--config %.60s: there is no such trial of %.60s", text, kernel);
        (void)snprintf(out->name, sizeof out->name, "%s", text);
        AK_FAIL_IF(trial.implementation[0] != 0 && strcmp(trial.implementation, mine) != 0, err,
                   AK_INVALID, "it is of implementation %.60s, not of %s", trial.implementation,
                   mine);
        return ak_config_parse(&out->config, space, trial.config, err);
    }
    if (text[0] != '@') {
        return ak_config_parse(&out->config, space, text, err);
    }
    const char *base = strrchr(text + 1, '/');
    (void)snprintf(out->name, sizeof out->name, "%s", base == NULL ? text + 1 : base + 1);
    return ak_config_read(&out->config, task, text + 1, err);
}

/* Reads one --config, which may hold several configurations with ';' between them. A configuration
   that is not valid is added with the reason in `invalid`. */
static ak_status read_candidates(ak_candidate *out, size_t *count, const char *text,
                                 const ak_args *args, const ak_task *task, ak_error *err)
{
    ak_status status = AK_OK;
    while (status == AK_OK && *text != 0) {
        size_t length = ak_config_length(text);
        AK_FREED char *part = ak_strndup(text, length);
        AK_DO(ak_made(part, err));
        if (part[0] == 0) {
            status = AK_OK; /* an empty item, such as that after a final ';' */
        } else if (*count == AK_CONFIGS_MAX) {
            status = ak_fail(err, AK_INVALID, "--config: at most %d configurations at once",
                             AK_CONFIGS_MAX);
        } else {
            (void)snprintf(out[*count].name, sizeof out->name, "config %zu", *count + 1);
            ak_error why = AK_ERROR_INIT;
            out[*count].invalid[0] = 0;
            status = read_candidate(&out[*count], part, args, task, &why);
            if (status == AK_INVALID) {
                (void)snprintf(out[*count].invalid, sizeof out->invalid, "%.*s",
                               (int)sizeof out->invalid - 1, why.text);
                status = AK_OK;
            } else if (status != AK_OK) {
                status = ak_fail(err, status, "%s", why.text);
            }
            *count += 1;
        }
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
    /* The error must name the trial and the size, because the configuration was not typed. */
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
    const char *choices = ak_task_choices(task), *dtype = ak_task_dtype(task);
    ak_out_styled(AK_STYLE_BOLD, "%s", ak_problem_name(ak_task_problem(task)));
    ak_out("  %s%s%s%s%s  on %s (implementation %s)\n", ak_task_size(task),
           choices[0] == 0 ? "" : "  ", choices, dtype[0] == 0 ? "" : "  ", dtype,
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
    return ak_json_set_texts(object, "kernel", ak_problem_name(ak_task_problem(task)),
                             "implementation", ak_task_implementation(task)) &&
           (ak_task_reason(task) == NULL ||
            ak_json_set_text(object, "reason", ak_task_reason(task))) &&
           ak_json_set_texts(object, "device", ak_task_device(task), "size", ak_task_size(task),
                             "dtype", ak_task_dtype(task), "choices", ak_task_choices(task),
                             "checked_against", ak_task_reference(task));
}
