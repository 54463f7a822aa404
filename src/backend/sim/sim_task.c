/* sim_task.c: makes the task of a recording. */
#include "backend/sim/sim.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/rng.h"

#define CHOICES_BYTES 8192

typedef struct binding {
    const char *path;
    uint64_t seed;
} binding;

/* Makes the space of the recorded configurations, with the implementation's values and defaults. If
   nothing states the default configuration, the seed decides it, as in a simulation (lab/replay.c),
   with other random numbers than the strategies use. */
static ak_status space_of(ak_space **out, json_t **definition, void *context,
                          const ak_implementation_spec *implementation, const ak_scope *constants,
                          ak_error *err)
{
    const binding *b = context;
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    AK_DO(ak_recording_open_space(&recording, b->path, implementation->definition,
                                  implementation->where, constants, err));
    AK_DO(ak_recording_space_new(out, recording, err));
    if (!recording->has_default) {
        ak_rng rng;
        ak_config start;
        ak_rng_seed(&rng, ~b->seed);
        ak_space_sample(&start, *out, &rng);
        ak_space_set_default(*out, &start);
    }
    *definition = json_incref(recording->definition);
    return AK_OK;
}

static size_t recorded_parameters(const ak_recording *recording,
                                  const ak_implementation_spec *implementation)
{
    const json_t *space = json_object_get(implementation->definition, "ConfigurationSpace");
    const json_t *list = json_object_get(space, "TuningParameters");
    size_t found, count = 0;
    AK_EACH(parameter, list) {
        const char *name = ak_json_text_or_null(parameter, "Name");
        count += name != NULL && ak_space_parameter_find(&found, recording->space, name);
    }
    return count;
}

/* Returns the recorded implementation or, if the file names none, the first that shares most
   parameters with the file. */
static const char *implementation_of(const ak_problem *problem, const ak_recording *recording)
{
    if (recording->implementation[0] != 0) {
        return recording->implementation;
    }
    size_t best = 0, most = 0;
    for (size_t i = 0; i < problem->implementation_count; i++) {
        size_t shared = recorded_parameters(recording, &problem->implementations[i]);
        best = shared > most ? i : best;
        most = shared > most ? shared : most;
    }
    return ak_problem_implementation(problem, best);
}

/* Makes a problem from the recording itself, of which only the space is known. */
static ak_status problem_of(ak_problem **out, const ak_recording *recording, ak_error *err)
{
    json_t *document = json_pack("{s:O}", "ConfigurationSpace", recording->definition);
    return document == NULL ? ak_fail_memory(err)
                            : ak_problem_of_space(out, recording->kernel, recording->implementation,
                                                  document, recording->path, err);
}

/* Opens the named kernel. The recording itself takes its place if `kernel` is the recording's path,
   or the recorded name of a kernel that is not installed; *alone is then true, because only the
   space is known. */
static ak_status open_problem(ak_problem **out, bool *alone, const char *kernel,
                              const ak_recording *recording, ak_error *err)
{
    *alone = strcmp(kernel, recording->path) == 0;
    ak_status status = *alone ? AK_OK : ak_problem_open(out, kernel, err);
    if (status == AK_NOT_FOUND && strcmp(kernel, recording->kernel) == 0) {
        *alone = true;
        status = AK_OK;
    }
    return status == AK_OK && *alone ? problem_of(out, recording, err) : status;
}

/* Refuses a task that contradicts the recording. An empty text contradicts nothing. */
static ak_status agree(const char *what, const char *task, const char *recorded, const char *path,
                       ak_error *err)
{
    AK_FAIL_IF(recorded[0] != 0 && task[0] != 0 && strcmp(task, recorded) != 0, err, AK_INVALID,
               "%.200s was recorded with %s %.100s, not with %.100s", path, what, recorded, task);
    return AK_OK;
}

/* Returns the length of the choices without the objective, which comes last. Choices are compared
   without it, because a recording serves every objective over what it holds. */
static size_t without_objective(const char *choices)
{
    const char *at = strstr(choices, AK_OBJECTIVE_CHOICE "=");
    while (at != NULL && at != choices && at[-1] != ',') {
        at = strstr(at + 1, AK_OBJECTIVE_CHOICE "=");
    }
    return at == NULL ? strlen(choices) : (size_t)(at - choices) - (at == choices ? 0 : 1);
}

static bool same_choices(const char *asked, const char *recorded)
{
    size_t length = without_objective(asked);
    return length == without_objective(recorded) && memcmp(asked, recorded, length) == 0;
}

static ak_status check_task(const ak_task *task, const ak_recording *recording, ak_error *err)
{
    const char *path = recording->path;
    /* Files of other tools write sizes in their own way. A task of which only the space is known
       has none. */
    bool ours = recording->implementation[0] != 0 && task->problem->size_count > 0;
    AK_DO(ours ? agree("size", task->size_text, recording->size, path, err) : AK_OK);
    if (ours) {
        AK_DO(agree("dtype", ak_dtype_text(task->dtype), recording->dtype, path, err));
    }
    /* An empty text is compared, too, because options at their defaults may have none. */
    if (ours && !same_choices(task->choices_text, recording->choices)) {
        const char *recorded = recording->choices, *asked = task->choices_text;
        return ak_fail(err, AK_INVALID, "%.200s was recorded with options %.100s, not with %.100s",
                       path, recorded[0] == 0 ? "at their defaults" : recorded,
                       asked[0] == 0 ? "at their defaults" : asked);
    }
    return AK_OK;
}

static const char *given_or(const char *given, const char *recorded)
{
    return given != NULL || recorded[0] == 0 ? given : recorded;
}

/* Writes the size of a recording in the form that trials and runs have. "M=128,N=64", from a
   recording that autokernel made, is copied; "128x64" becomes "X=128,Y=64", as in an import of such
   a file; any other text becomes "". */
static ak_status size_of(char **out, const ak_recording *recording, ak_error *err)
{
    static const char *const names[] = {"X", "Y", "Z", "W"};
    const char *at = recording->size;
    ak_buf text = AK_BUF(AK_PATH_MAX);
    if (strchr(at, '=') != NULL) {
        ak_buf_puts(&text, at);
        at = "";
    }
    for (size_t i = 0; *at != 0 && i < AK_COUNT(names); i++) {
        int digits = (int)strspn(at, "0123456789");
        ak_buf_print(&text, "%s%s=%.*s", i == 0 ? "" : ",", names[i], digits, at);
        at += digits;
        if (digits == 0 || (*at != 0 && *at != 'x') || strcmp(at, "x") == 0) {
            break; /* a text that is no size leaves a rest in `at` */
        }
        at += *at == 'x';
    }
    if (*at != 0) {
        ak_buf_clear(&text);
    }
    return ak_buf_take(out, &text, err);
}

/* Gives the name of the task's device: "sim:NVIDIA H200", or "sim:here.json", the name of the file,
   if the recording names no device. The folder is left out, because trials and reports show the
   name. Commas become blanks, because they would separate devices. */
static ak_status device_of(char **out, const ak_recording *recording, const char *path,
                           ak_error *err)
{
    ak_buf text = AK_BUF(AK_PATH_MAX);
    const char *name = recording->device;
    ak_buf_print(&text, "%s:%s", ak_sim_ops.name, name[0] == 0 ? ak_fs_base(path) : name);
    for (size_t i = 0; i < text.length; i++) {
        text.data[i] = text.data[i] == ',' ? ' ' : text.data[i];
    }
    return ak_buf_take(out, &text, err);
}

/* Refuses a recording whose objective is no time if a configuration that worked has no time. */
static ak_status have_times(const ak_recording *recording, ak_error *err)
{
    for (size_t i = 0; i < recording->count && !ak_recording_is_timed(recording); i++) {
        const ak_record *record = &recording->records[i];
        AK_FAIL_IF(record->status == AK_TRIAL_OK && !(record->ms > 0), err, AK_INVALID,
                   "%.200s has %.60s, but not the time, of each configuration that worked, and "
                   "tune needs both: search it with 'autokernel simulate'",
                   recording->path, recording->objective);
    }
    return AK_OK;
}

/* Refuses options that have no meaning if nothing is measured, and what have_times refuses. */
static ak_status refuse(const ak_task_spec *spec, const ak_recording *recording, ak_error *err)
{
    AK_FAIL_IF(spec->fix != NULL, err, AK_INVALID,
               "parameters of a recording cannot be fixed; leave --fix out");
    AK_FAIL_IF(spec->libraries != NULL && strcmp(spec->libraries, "none") != 0, err, AK_INVALID,
               "a recording holds no libraries; leave --libraries out");
    AK_FAIL_IF(spec->protocol != NULL, err, AK_INVALID,
               "nothing is measured on a recording; leave --protocol out");
    return have_times(recording, err);
}

/* Writes the first `length` bytes of a list of choices, and behind them another list. */
static void join_choices(char out[CHOICES_BYTES], const char *first, size_t length,
                         const char *second)
{
    (void)snprintf(out, CHOICES_BYTES, "%.*s%s%s", (int)length, first,
                   length == 0 || second[0] == 0 ? "" : ",", second);
}

/* Takes size, dtype and options from a recording that autokernel made, unless they were given. An
   objective that was given without other options is put behind the recorded ones. `choices` holds
   the text of the options. */
static void take_from(ak_task_spec *own, char choices[CHOICES_BYTES], const ak_recording *recording)
{
    own->size = given_or(own->size, recording->size);
    own->dtype = given_or(own->dtype, recording->dtype);
    bool only_objective = own->choices != NULL && without_objective(own->choices) == 0;
    join_choices(choices, recording->choices, without_objective(recording->choices),
                 only_objective ? own->choices : "");
    own->choices = only_objective || own->choices == NULL ? choices : own->choices;
}

/* Removes the options from own->choices if they are the recorded ones: the user may repeat these,
   but a task of which only the space is known has no options. */
static void leave_out_recorded(ak_task_spec *own, const ak_recording *recording)
{
    const size_t length = own->choices == NULL ? 0 : without_objective(own->choices);
    if (length > 0 && same_choices(own->choices, recording->choices)) {
        own->choices += length;
        own->choices = *own->choices == 0 ? NULL : own->choices + 1;
    }
}

/* Replaces the choices of a task by the first `length` bytes of `first` and by `second`. */
static ak_status set_choices(ak_task *task, const char *first, size_t length, const char *second,
                             ak_error *err)
{
    char choices[CHOICES_BYTES];
    join_choices(choices, first, length, second);
    ak_free(task->choices_text);
    return ak_copy_text(&task->choices_text, choices, err);
}

/* Removes the objective from own->choices if it is the recorded one. Returns whether the task gets
   the recorded objective: false if that is the time or if another one is asked for. */
static bool take_objective(ak_task_spec *own, char choices[CHOICES_BYTES],
                           const ak_recording *recording)
{
    char asked[AK_OBJECTIVE_NAME_BYTES];
    const char *given = ak_or_empty(own->choices), *name = ak_choices_objective(asked, given);
    const size_t length = without_objective(given);
    if (ak_recording_is_timed(recording)) {
        return false;
    }
    if (given[length] == 0) {
        return true;
    }
    name += recording->maximise && strncmp(name, "max:", 4) == 0 ? 4 : 0;
    if (strcmp(name, recording->objective) != 0) {
        return false;
    }
    (void)snprintf(choices, CHOICES_BYTES, "%.*s", (int)length, given);
    own->choices = length == 0 ? NULL : choices;
    return true;
}

static ak_status set_objective(ak_task *task, const ak_recording *recording, ak_error *err)
{
    char choice[CHOICES_BYTES / 2];
    AK_DO(ak_objective_recorded(&task->objective, recording->objective,
                                ak_or_empty(recording->unit), recording->maximise, err));
    (void)snprintf(choice, sizeof choice, AK_OBJECTIVE_CHOICE "=%s",
                   ak_objective_text(task->objective));
    return set_choices(task, task->choices_text, strlen(task->choices_text), choice, err);
}

/* Gives a task of which only the space is known the recorded size, dtype and options; leaves any
   other task as it is. */
static ak_status take_text(ak_task *task, char **size, const ak_recording *recording, ak_error *err)
{
    const size_t length = without_objective(recording->choices);
    if (task->problem->size_count > 0) {
        return AK_OK;
    }
    ak_free(task->size_text);
    task->size_text = *size;
    *size = NULL;
    AK_DO(ak_copy_text(&task->dtype_text, recording->dtype, err));
    return length == 0 ? AK_OK
                       : set_choices(task, recording->choices, length, task->choices_text, err);
}

static ak_status bind(ak_task **out, const ak_task_spec *spec, const char *opens,
                      const char *device, const ak_recording *recording, ak_error *err)
{
    ak_task_spec own = *spec;
    char choices[CHOICES_BYTES], asked[CHOICES_BYTES];
    AK_FREED char *size = NULL;
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    binding b = {.path = recording->path, .seed = spec->seed};
    bool alone = false;
    AK_DO(refuse(spec, recording, err));
    AK_DO(open_problem(&problem, &alone, spec->kernel, recording, err));
    bool ours = !alone && recording->implementation[0] != 0;
    const bool recorded = take_objective(&own, asked, recording);
    AK_FAIL_IF(ours && strcmp(problem->name, recording->kernel) != 0, err, AK_INVALID,
               "%.200s is a recording of the kernel %.60s, not of %.60s", recording->path,
               recording->kernel, problem->name);
    if (own.implementation == NULL && !alone) {
        own.implementation = implementation_of(problem, recording);
    }
    if (ours) {
        take_from(&own, choices, recording);
    } else if (alone) {
        leave_out_recorded(&own, recording);
    }
    AK_DO(size_of(&size, recording, err));
    if (alone && own.size != NULL && size[0] != 0) {
        AK_DO(agree("size", own.size, size, recording->path, err));
        own.size = NULL; /* a task of which only the space is known has no size that could be set */
    }
    ak_device_facts known = {.backend = ak_sim_ops.name,
                             .device = device,
                             .opens = opens,
                             .facts = recording->device_facts,
                             .problem = problem,
                             .space = space_of,
                             .space_context = &b,
                             .rank = recording->stated_rank};
    problem = NULL; /* the task's, also after a failure */
    AK_DO(ak_task_bind(&task, &own, &known, err));
    AK_DO(check_task(task, recording, err));
    AK_DO(take_text(task, &size, recording, err));
    AK_DO(recorded ? set_objective(task, recording, err) : AK_OK);
    *out = task;
    task = NULL;
    return AK_OK;
}

ak_status ak_sim_bind(ak_task **out, const ak_task_spec *spec, const char *device, ak_error *err)
{
    char name[AK_PATH_MAX + 8];
    AK_FREED char *shown = NULL;
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    AK_FAIL_IF(spec->kernel == NULL || spec->kernel[0] == 0, err, AK_INVALID, "no kernel is named");
    const char *path = ak_sim_path(device)[0] == 0 ? spec->kernel : ak_sim_path(device);
    AK_FAIL_IF(strlen(path) >= AK_PATH_MAX, err, AK_LIMIT,
               "the name of the recording is longer than %d bytes", AK_PATH_MAX);
    (void)snprintf(name, sizeof name, "%s:%s", ak_sim_ops.name, path);
    AK_DO(ak_fs_reachable(path, err));
    AK_DO(ak_sim_path(device)[0] != 0 || ak_fs_is_file(path)
              ? ak_recording_open(&recording, path, err)
          : strpbrk(path, "./") != NULL
              ? ak_fail(err, AK_NOT_FOUND, "%.300s: there is no such file", path)
              : ak_fail(err, AK_INVALID, "device sim needs a recording: give --device sim:FILE"));
    AK_DO(device_of(&shown, recording, path, err));
    AK_DO(bind(out, spec, name, shown, recording, err));
    (*out)->left_out = recording->facts.left_out;
    return AK_OK;
}
