/*
 * verify.c: verifies finished bundles. The runtime reads them. The code in a bundle is judged as
 * the code of a trial is, in a confined process, against the reference among the bundle's own
 * sources: the sources are unpacked and opened as a kernel, and the pool loads the bundle's code
 * instead of compiling the sources.
 */
#include "ship/bundle.h"

#include <math.h>
#include <string.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/infix.h"
#include "measure/pressure.h"
#include "measure/verdict.h"
#include "runtime/ak_runtime.h"
#include "tuner/run.h"

#define SLOWDOWN_DEFAULT 0.05
#define ATTEMPTS         3
#define WAIT_NS          (3600 * AK_SECOND_NS)
/* The fewest copies of the code in the comparison that times it; in a finish the best candidate
   takes part twice, too. */
#define COPIES_MIN   2
#define SECONDS_MAX  600 /* of a comparison */
#define CLOCKS_BYTES 80
/* Clocks are reported if times differ by more than this share. */
#define DIFFERENT 0.01

/* ---- verifying ------------------------------------------------------------------------------- */

typedef struct verifying {
    const ak_bundle_verify_options *options;
    double max_slowdown;
    ak_fs_owned unpacked;
    const char *path;
    const char *folder; /* where the files of the bundle are */
    json_t *file;       /* bundle.json */
    json_t *rows;
    ak_pressure_mark begun; /* taken before the first size */
    bool good;
} verifying;

static void verifying_clear(verifying *v)
{
    json_decref(v->file);
    json_decref(v->rows);
    ak_fs_owned_close(&v->unpacked);
}

/* Unpacks a bundle; a path that is a folder is an unpacked bundle already. */
static ak_status unpack(verifying *v, const char *path, ak_error *err)
{
    AK_FREED char *bytes = NULL;
    size_t length = 0;
    AK_AT_END(ak_pack_clear) ak_pack pack = {0};
    if (ak_fs_is_folder(path)) {
        v->folder = path;
        return AK_OK;
    }
    AK_DO(ak_fs_owned_open(&v->unpacked, err));
    AK_DO(ak_fs_read(&bytes, &length, path, AK_BUNDLE_BYTES_MAX, err));
    AK_DO(ak_pack_untar(&pack, bytes, length, path, err));
    ak_status status = ak_pack_write(&pack, v->unpacked.path, err);
    v->folder = v->unpacked.path;
    return status;
}

/* Sets *out to whether the problem among the sources differs from the built-in kernel whose name
   the bundle has. A problem that cannot be opened counts as different. */
static ak_status is_namesake(bool *out, const verifying *v, const char *kernel, ak_error *err)
{
    char name[AK_PATH_MAX], folder[AK_PATH_MAX];
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    bool same = false;
    (void)snprintf(name, sizeof name, "source/%.100s", kernel);
    AK_DO(ak_fs_join(folder, v->folder, name, err));
    const ak_task_spec spec = {.kernel = folder, .kept = true};
    ak_status status = AK_OK;
    if (ak_problem_open_spec(&problem, &spec, NULL) == AK_OK &&
        strcmp(problem->name, kernel) == 0) {
        status = ak_problem_is_as_builtin(&same, problem, err);
    }
    *out = !same;
    return status;
}

ak_status ak_bundle_warning(char **out, const char *path, ak_error *err)
{
    AK_FREED char *json = NULL;
    char text[AK_PATH_MAX + 100];
    bool namesake = false;
    AK_AT_END(verifying_clear) verifying v = {.path = path};
    ak_status status = AK_OK;
    *out = NULL;
    AK_TRY(ak_bundle_read(&json, path, err));
    AK_TRY(ak_json_parse(&v.file, json, strlen(json), path, err));
    const char *kernel = ak_json_text_at(v.file, "kernel");
    if (ak_problem_is_builtin(kernel)) {
        AK_TRY(unpack(&v, path, err));
        AK_TRY(is_namesake(&namesake, &v, kernel, err));
    }
    if (namesake) {
        (void)snprintf(text, sizeof text, "%.200s: its problem differs from the built-in %s", path,
                       kernel);
        AK_TRY(ak_copy_text(out, text, err));
    }
out:
    if (status != AK_OK) {
        (void)ak_fail_unpacked(err, status, v.unpacked.path, path);
    }
    return status;
}

/* Returns an error unless the code and the kernel's folder are the bundle's own: only files that
   bundle.json lists have been compared with their checksums. */
static ak_status own_files(const verifying *v, const json_t *variant, ak_error *err)
{
    const char *code = ak_json_text_at(variant, "file");
    const char *kernel = ak_json_text_at(v->file, "kernel");
    const json_t *list = json_object_get(v->file, "files");
    bool listed = false;
    for (size_t i = 0; i < json_array_size(list) && !listed; i++) {
        listed = ak_json_text_is(json_array_get(list, i), "name", code);
    }
    AK_FAIL_IF(!listed, err, AK_INVALID, "%.200s: its code \"%.80s\" is not one of its files",
               v->path, code);
    AK_FAIL_IF(kernel[0] == '.' || kernel[0] == 0 || strchr(kernel, '/') != NULL, err, AK_INVALID,
               "%.200s: \"%.80s\" is not the name of a kernel", v->path, kernel);
    return AK_OK;
}

static ak_status open_task(ak_task **out, ak_config *config, const verifying *v,
                           const json_t *variant, const char *size, ak_error *err)
{
    const json_t *environment = json_object_get(v->file, "environment");
    AK_FREED char *text = NULL;
    char kernel[AK_PATH_MAX], name[AK_PATH_MAX], device[AK_DEVICE_NAME_BYTES];
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    const char *backend = ak_json_text_at(v->file, "backend");
    (void)snprintf(device, sizeof device, "%.50s:0", backend);
    (void)snprintf(name, sizeof name, "source/%.100s", ak_json_text_at(v->file, "kernel"));
    AK_DO(ak_fs_join(kernel, v->folder, name, err));
    const ak_task_spec spec = {
        .kernel = kernel,
        .kept = true,
        .implementation = ak_json_text_at(v->file, "implementation"),
        .device = ak_bundle_is_for_gpu(backend) ? device : NULL,
        .size = size,
        .dtype = ak_json_text_at(v->file, "dtype"),
        .choices = ak_json_text_at(v->file, "options"),
        .fix = ak_json_text_or_null(v->file, "fix"),
        .allow_numerics = json_is_true(json_object_get(environment, "numerics")),
        .threads = (int)json_integer_value(json_object_get(environment, "threads")),
    };
    AK_DO(ak_task_open(&task, &spec, err));
    AK_DO(ak_config_text_from_json(&text, json_object_get(variant, "config"), NULL, "config", err));
    AK_DO(ak_config_parse(config, task->space, text, err));
    AK_GIVE(out, task);
    return AK_OK;
}

/* Names the first part of `have` that is not as in `want`, such as "arguments 2 shape". */
static void name_difference(ak_buf *out, const char *key, const json_t *have, const json_t *want)
{
    char number[24];
    ak_buf_print(out, "%s%s", out->length == 0 ? "" : " ", key);
    if (json_is_object(have) && json_is_object(want)) {
        AK_EACH_MEMBER(name, part, want) {
            if (!json_equal(json_object_get(have, name), part)) {
                name_difference(out, name, json_object_get(have, name), part);
                return;
            }
        }
    }
    for (size_t i = 0; json_is_array(have) && i < json_array_size(want); i++) {
        const json_t *part = json_array_get(want, i);
        if (json_is_object(part) && !json_equal(json_array_get(have, i), part)) {
            (void)snprintf(number, sizeof number, "%zu", i + 1);
            name_difference(out, number, json_array_get(have, i), part);
            return;
        }
    }
}

/* Returns an error unless bundle.json has the sizes, arguments, options and tolerances of the
   problem among the bundle's sources, so that programs call what is judged here. All but the
   tolerances are compared at the first size, for which bundle.json is written: fills may depend on
   the size. */
static ak_status own_interface(const verifying *v, const ak_task *task, const json_t *measured,
                               ak_error *err)
{
    json_auto_t *interface = NULL, *tolerances = NULL;
    const char *other = NULL;
    AK_AT_END(ak_buf_free) ak_buf what = AK_BUF(160);
    if (json_array_size(v->rows) == 0) {
        AK_DO(ak_bundle_interface(&interface, task, err));
    }
    AK_EACH_MEMBER(key, value, interface) {
        if (other == NULL && !json_equal(json_object_get(v->file, key), value)) {
            other = key;
            name_difference(&what, key, json_object_get(v->file, key), value);
        }
    }
    tolerances = ak_bundle_tolerances(task);
    AK_DO(ak_made(tolerances, err));
    if (other == NULL && !json_equal(json_object_get(measured, "tolerances"), tolerances)) {
        other = "tolerances";
        ak_buf_puts(&what, other);
    }
    AK_FAIL_IF(other != NULL, err, AK_INVALID,
               "%.200s: bundle.json differs from the problem in the bundle (%.150s), so programs "
               "would call something else than what is checked: export it again",
               v->path, what.data);
    return AK_OK;
}

/* Returns whether the size is the first that the bundle measured with its variant. */
static bool is_first(const verifying *v, const json_t *measured)
{
    const json_t *list = json_object_get(v->file, "measured");
    const json_t *variant = json_object_get(measured, "variant");
    size_t i = 0;
    while (i < json_array_size(list) &&
           !json_equal(json_object_get(json_array_get(list, i), "variant"), variant)) {
        i++;
    }
    return json_array_get(list, i) == measured;
}

/* Returns an error unless the guards, the workspace, the threads and the launch in bundle.json, by
   which programs call the code, equal what the sources give, by which the code is judged here. */
static ak_status own_programs(const verifying *v, const json_t *variant, const json_t *measured,
                              ak_task *task, const ak_config *config, ak_error *err)
{
    const ak_bundle_case one = {.task = task, .config = *config};
    AK_AT_END(ak_bundle_programs_clear) ak_bundle_variant own = {.first = &one};
    const bool measured_only = json_is_null(json_object_get(variant, "workspace"));
    const char *other = NULL;
    size_t bytes;
    int threads;
    AK_DO(ak_bundle_programs(&own, measured_only, err));
    AK_DO(ak_task_workspace(&bytes, &threads, task, &task->shape, config, err));
    json_auto_t *want = json_pack("{s:O?,s:O?,s:O?,s:O?}", "when", own.when, "workspace",
                                  own.workspace, "threads", own.threads, "launch", own.launch);
    AK_DO(ak_made(want, err));
    AK_EACH_MEMBER(key, value, want) {
        const json_t *have = json_object_get(variant, key);
        other = json_equal(have == NULL ? json_null() : have, value) ? other : key;
    }
    if (own.launch != NULL && is_first(v, measured) &&
        !json_equal(json_object_get(variant, "own_size"), json_object_get(measured, "size"))) {
        other = "own_size";
    }
    if (ak_json_number_at(measured, "workspace_bytes") != (double)bytes ||
        ak_json_number_at(measured, "threads") != threads) {
        other = "measured";
    }
    AK_FAIL_IF(other != NULL, err, AK_INVALID,
               "%.200s: \"%s\" in bundle.json is not what its sources give here, so programs "
               "would call what is not checked: export it again, on this device",
               v->path, other);
    return AK_OK;
}

/* A size of the bundle while it is verified. */
typedef struct sizing {
    const json_t *measured; /* what bundle.json says of the size */
    ak_config config;
    ak_session session;
    ak_trial trial;           /* result of the code now */
    double then_ms, then_mhz; /* the time and the clock that it is compared with; 0: not known */
    bool searched;            /* then_ms is the time of the search, not of the finish */
    bool slower;              /* the code is slower here */
} sizing;

static void sizing_clear(sizing *s)
{
    ak_session_close(&s->session);
    ak_trial_clear(&s->trial);
}

/* Runs a job and gives its result, which the caller clears. */
static ak_status run_job(ak_result *out, sizing *s, const ak_job *job, ak_error *err)
{
    ak_job mine = *job;
    mine.id = s->session.next_job++;
    AK_DO(ak_pool_submit(s->session.pool, &mine, err));
    return ak_pool_wait(out, s->session.pool, WAIT_NS, err);
}

/* Runs a job that gives a trial, which replaces the one before. */
static ak_status run_trial(sizing *s, ak_job_kind kind, ak_error *err)
{
    AK_AT_END(ak_result_clear) ak_result result = {0};
    const ak_job job = {.kind = kind, .config = s->config};
    AK_DO(run_job(&result, s, &job, err));
    ak_trial_clear(&s->trial);
    AK_GIVE(&s->trial, result.trial);
    return AK_OK;
}

/* Sets the trial's times from the comparison, or its status and reason if there are none. */
static ak_status take_times(ak_trial *out, const ak_result *result, ak_error *err)
{
    const ak_comparison_entry *entry = result->entries;
    ak_stats stats;
    if (result->entry_count == 0 || entry->status != AK_TRIAL_OK) {
        const char *why = result->entry_count == 0 ? result->trial.reason : entry->reason;
        out->status = result->entry_count == 0 ? AK_TRIAL_CRASHED : entry->status;
        return ak_trial_set_text(&out->reason,
                                 why == NULL ? ak_trial_status_text(out->status) : why, err);
    }
    ak_stats_of(&stats, entry->samples_ms, entry->sample_count);
    out->median_ms = stats.median;
    out->ci_low_ms = stats.low;
    out->ci_high_ms = stats.high;
    AK_DO(ak_trial_set_text(&out->reason, entry->reason, err));
    return ak_conditions_to_trial(out, &entry->conditions, err);
}

/* Times the code as a finish does: in a comparison of the same length, with a copy of the code in
   place of each candidate, but with at least COPIES_MIN and at most AK_JUDGED_MAX copies. If the
   bundle states no length or one from SECONDS_MAX on, the comparison is as long as a usual finish
   of COPIES_MIN candidates. */
static ak_status time_as_finish(sizing *s, const json_t *finish, ak_error *err)
{
    AK_AT_END(ak_result_clear) ak_result result = {0};
    ak_comparison_candidate candidates[AK_JUDGED_MAX];
    double count = ak_json_number_at(finish, "candidates");
    double seconds = ak_json_number_at(finish, "seconds");
    const size_t copies = !(count >= COPIES_MIN)  ? COPIES_MIN
                          : count > AK_JUDGED_MAX ? AK_JUDGED_MAX
                                                  : (size_t)count;
    seconds = seconds > 0 && seconds < SECONDS_MAX ? seconds : COPIES_MIN * AK_FINISH_SECONDS;
    for (size_t i = 0; i < copies; i++) {
        candidates[i] = (ak_comparison_candidate){.config = &s->config};
    }
    const ak_job job = {.kind = AK_JOB_COMPARISON,
                        .candidates = candidates,
                        .candidate_count = copies,
                        .plan = {.seconds = seconds,
                                 .extra = seconds,
                                 .protocol = ak_session_protocol(&s->session)}};
    AK_DO(run_job(&result, s, &job, err));
    return take_times(&s->trial, &result, err);
}

/* Returns whether the words of a throttle say that power, heat or a slowdown held the clock
   down. */
static bool held_down(const char *throttle)
{
    return throttle != NULL &&
           (strstr(throttle, "power") != NULL || strstr(throttle, "thermal") != NULL ||
            strstr(throttle, "slowdown") != NULL);
}

/* Times the code as one of the bundle's times was measured, and sets s->then_ms to that time. It
   repeats the finish if the bundle states one, else the search. If power or heat held the clock
   down in the finish, then or now, and the search's time is known, it repeats the search instead:
   such a clock depends on the other candidates of the finish, which are missing here. A table
   states no finish, because its comparison with all of its candidates cannot be repeated. */
static ak_status time_it(sizing *s, ak_error *err)
{
    const json_t *finish = json_object_get(s->measured, "finish");
    const json_t *search = json_object_get(s->measured, "search");
    const json_t *conditions = json_object_get(s->measured, "conditions");
    double searched = ak_json_number_at(search, "ms");
    s->then_ms = ak_json_number_at(s->measured, "ms");
    s->then_mhz = ak_json_number_at(conditions, "sm_clock_mhz");
    s->searched = !json_is_object(finish) ||
                  (searched > 0 && held_down(ak_json_text_at(conditions, "throttle")));
    if (!s->searched) {
        AK_DO(time_as_finish(s, finish, err));
        s->searched =
            searched > 0 && s->trial.status == AK_TRIAL_OK && held_down(s->trial.throttle);
    }
    if (!s->searched) {
        return AK_OK;
    }
    if (searched > 0) {
        s->then_ms = searched;
        s->then_mhz = ak_json_number_at(search, "sm_clock_mhz");
    }
    return run_trial(s, AK_JOB_TRIAL, err);
}

/* Checks the code at its own size and, if its variant serves others, at those of a trial's check.
   Then times it until it is not slower, at most ATTEMPTS times, because other load on the machine
   can only make it look slower. */
static ak_status judge(sizing *s, double max_slowdown, ak_error *err)
{
    AK_DO(run_trial(s, AK_JOB_CHECK, err));
    /* It counts as slower until a time shows otherwise. */
    s->slower = s->trial.status == AK_TRIAL_OK;
    for (int i = 0; i < ATTEMPTS && s->slower && s->trial.status == AK_TRIAL_OK; i++) {
        AK_DO(time_it(s, err));
        s->slower = s->then_ms > 0 && s->trial.ci_low_ms > s->then_ms * (1 + max_slowdown);
    }
    return AK_OK;
}

/* Says what the clocks were then and now if the times differ; "" if they do not, or if a clock is
   not known. */
static void tell_clocks(char out[CLOCKS_BYTES], const sizing *s)
{
    const ak_trial *now = &s->trial;
    out[0] = 0;
    if (s->then_ms > 0 && s->then_mhz > 0 && now->sm_clock_mhz > 0 && now->median_ms > 0 &&
        fabs(now->median_ms / s->then_ms - 1) > DIFFERENT) {
        (void)snprintf(out, CLOCKS_BYTES, "the clock is %d MHz now and was %d MHz then",
                       (int)(now->sm_clock_mhz + 0.5), (int)(s->then_mhz + 0.5));
    }
}

static bool add_row(verifying *v, const char *size, const char *note, const sizing *s)
{
    char clocks[CLOCKS_BYTES];
    const ak_trial *trial = &s->trial;
    const double then = s->then_ms;
    bool ok = trial->status == AK_TRIAL_OK, timed = ok && trial->median_ms > 0;
    json_t *row = json_object();
    tell_clocks(clocks, s);
    bool good =
        ak_json_set_text(row, "size", size) &&
        ak_json_set(row, "variant", json_incref(json_object_get(s->measured, "variant"))) &&
        ak_json_set_texts(row, "status", ak_trial_status_text(trial->status), "reason",
                          trial->reason) &&
        ak_json_set_real(row, "max_error", trial->max_error) &&
        ak_json_set_text(row, "as", s->searched ? "search" : "finish") &&
        ak_json_set_known(row, "then_ms", then) &&
        ak_json_set(row, "ms", timed ? json_real(trial->median_ms) : json_null()) &&
        ak_json_set(row, "ci_ms",
                    timed ? json_pack("[f,f]", trial->ci_low_ms, trial->ci_high_ms)
                          : json_null()) &&
        ak_json_set(row, "slowdown",
                    timed && then > 0 ? json_real(trial->median_ms / then - 1) : json_null()) &&
        ak_json_set(row, "slower", json_boolean(s->slower)) &&
        ak_json_set(row, "conditions", ak_bundle_conditions(trial)) &&
        ak_json_set_texts(row, "clocks", clocks[0] == 0 ? NULL : clocks, "note", note);
    v->good = v->good && ok && !s->slower;
    return ak_json_append(v->rows, ak_json_whole(row, good));
}

static ak_status verify_size(verifying *v, const json_t *measured, ak_error *err)
{
    const json_t *variants = json_object_get(v->file, "variants");
    const json_t *variant =
        json_array_get(variants, (size_t)json_integer_value(json_object_get(measured, "variant")));
    char code[AK_PATH_MAX];
    AK_AT_END(ak_buf_free) ak_buf size = AK_BUF(1024);
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(sizing_clear) sizing s = {.measured = measured};
    AK_DO(own_files(v, variant, err));
    ak_infix_print_size(&size, v->file, json_object_get(measured, "size"));
    AK_DO(ak_buf_status(&size, err));
    AK_DO(open_task(&task, &s.config, v, variant, size.data, err));
    AK_DO(own_interface(v, task, measured, err));
    AK_DO(own_programs(v, variant, measured, task, &s.config, err));
    AK_DO(ak_fs_join(code, v->folder, ak_json_text_at(variant, "file"), err));
    const ak_pool_options options = {.compile_workers = 1,
                                     .artifact = code,
                                     .symbol = ak_json_text_at(variant, "entry"),
                                     /* a variant that serves only measured sizes has no
                                        "workspace" */
                                     .own_sizes =
                                         json_is_null(json_object_get(variant, "workspace")),
                                     .cancel = v->options->cancel};
    AK_DO(ak_session_open(&s.session, task, &options, err));
    AK_DO(judge(&s, v->max_slowdown, err));
    const char *note = ak_json_text_or_null(variant, "note");
    return ak_stored(add_row(v, size.data, note, &s), err);
}

static ak_status report(char **out, const verifying *v, const char *path, ak_error *err)
{
    json_t *object = json_object();
    ak_pressure_mark now;
    char warning[200] = "";
    ak_pressure_take(&now);
    const double pressure = ak_pressure_between(&v->begun, &now);
    if (pressure > AK_VERDICT_BUSY) {
        (void)snprintf(warning, sizeof warning,
                       "the machine was busy with other work: tasks waited for a processor %d %% "
                       "of the time, so slower times say little; verify again when it is idle",
                       (int)(100 * pressure + 0.5));
    }
    bool good = ak_json_set_texts(object, "path", path, "name", ak_json_text_at(v->file, "name")) &&
                ak_json_set_real(object, "max_slowdown", v->max_slowdown) &&
                ak_json_set(object, "measured", json_incref(v->rows)) &&
                ak_json_set(object, "pressure", pressure < 0 ? json_null() : json_real(pressure)) &&
                ak_json_set_text(object, "warning", warning[0] == 0 ? NULL : warning) &&
                ak_json_set(object, "ok", json_boolean(v->good));
    return ak_json_give_text(out, object, good, err);
}

ak_status ak_bundle_verify(char **out_json, bool *good, const char *path,
                           const ak_bundle_verify_options *options, ak_error *err)
{
    AK_AT_END(akr_close_at) akr_bundle *bundle = NULL;
    AK_AT_END(verifying_clear)
    verifying v = {.options = options, .path = path, .good = true, .rows = json_array()};
    ak_status status = AK_OK;
    v.max_slowdown = options->max_slowdown > 0 ? options->max_slowdown : SLOWDOWN_DEFAULT;
    AK_TRY(ak_made(v.rows, err));
    AK_TRY(ak_bundle_open(&bundle, path, AKR_FIT, err));
    AK_TRY(ak_bundle_file(&v.file, bundle, path, err));
    AK_TRY(unpack(&v, path, err));
    const json_t *sizes = json_object_get(v.file, "measured");
    ak_pressure_take(&v.begun);
    AK_EACH(size, sizes) {
        AK_TRY(verify_size(&v, size, err));
    }
    AK_TRY(report(out_json, &v, path, err));
    *good = v.good;
out:
    if (status != AK_OK) {
        (void)ak_fail_unpacked(err, status, v.unpacked.path, path);
    }
    return status;
}
