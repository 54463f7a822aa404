/*
 * verify.c: describes and verifies finished bundles. The runtime reads them. Verifying judges the
 * code of a bundle as that of a trial, in a confined process, against the reference among the
 * bundle's own sources: the sources are unpacked and opened as a kernel, and the pool loads the
 * bundle's code instead of compiling the sources.
 */
#include "ship/bundle.h"

#include <string.h>

#include "archive/config_text.h"
#include "backend/backend.h"
#include "base/alloc.h"
#include "measure/pressure.h"
#include "measure/verdict.h"
#include "runtime/ak_runtime.h"
#include "tuner/session.h"

#define SLOWDOWN_DEFAULT 0.05
#define ATTEMPTS         3
#define WAIT_NS          (3600 * AK_SECOND_NS)

static ak_status open_bundle(akr_bundle **out, const char *path, int flags, ak_error *err)
{
    static const ak_status statuses[] = {
        [AKR_OK] = AK_OK,           [AKR_NOT_FOUND] = AK_NOT_FOUND, [AKR_FOREIGN] = AK_INVALID,
        [AKR_DAMAGED] = AK_CORRUPT, [AKR_DEVICE] = AK_UNAVAILABLE,  [AKR_NO_MEMORY] = AK_NO_MEMORY,
        [AKR_SYSTEM] = AK_IO};
    akr_error why;
    akr_status status = akr_open(out, path, flags, &why);
    bool known = (size_t)status < sizeof statuses / sizeof statuses[0];
    if (status == AKR_NOT_FOUND) {
        return ak_fail(err, AK_NOT_FOUND,
                       "%.300s; give a bundle, which 'autokernel export KERNEL --format bundle' "
                       "writes",
                       why.text);
    }
    return status == AKR_OK
               ? AK_OK
               : ak_fail(err, known && statuses[status] != AK_OK ? statuses[status] : AK_INTERNAL,
                         "%s", why.text);
}

ak_status ak_bundle_read(char **out_json, const char *path, ak_error *err)
{
    akr_bundle *bundle = NULL;
    AK_DO(open_bundle(&bundle, path, AKR_LOOK, err));
    char *text = ak_strdup(akr_describe(bundle)->json);
    akr_close(bundle);
    *out_json = text;
    return text == NULL ? ak_fail_memory(err) : AK_OK;
}

/* ---- verifying --------------------------------------------------------------------------------
 */

typedef struct verifying {
    const ak_bundle_verify_options *options;
    double max_slowdown;
    ak_fs_owned unpacked;
    const char *path;
    const char *folder; /* where the files of the bundle are */
    json_t *file;       /* bundle.json */
    json_t *rows;
    ak_pressure_mark begun; /* when the first size was begun */
    bool good;
} verifying;

/* Unpacks a bundle; a path that is a folder is an unpacked bundle already. */
static ak_status unpack(verifying *v, const char *path, ak_error *err)
{
    char *bytes = NULL;
    size_t length = 0;
    ak_pack pack = {0};
    ak_status status = AK_OK;
    if (ak_fs_is_folder(path)) {
        v->folder = path;
        return AK_OK;
    }
    AK_TRY(ak_fs_owned_open(&v->unpacked, err));
    AK_TRY(ak_fs_read(&bytes, &length, path, AK_BUNDLE_BYTES_MAX, err));
    AK_TRY(ak_pack_untar(&pack, bytes, length, path, err));
    status = ak_pack_write(&pack, v->unpacked.path, err);
    v->folder = v->unpacked.path;
out:
    ak_pack_clear(&pack);
    ak_free(bytes);
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
        listed = strcmp(ak_json_text_at(json_array_get(list, i), "name"), code) == 0;
    }
    if (!listed) {
        return ak_fail(err, AK_INVALID, "%.200s: its code \"%.80s\" is not one of its files",
                       v->path, code);
    }
    return kernel[0] != '.' && kernel[0] != 0 && strchr(kernel, '/') == NULL
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%.200s: \"%.80s\" is no name of a kernel", v->path,
                         kernel);
}

/* Writes a size as "M=64,N=32". */
static ak_status size_text(ak_buf *out, const json_t *file, const json_t *size, ak_error *err)
{
    const json_t *names = json_object_get(file, "sizes");
    for (size_t i = 0; i < json_array_size(size); i++) {
        ak_buf_print(out, "%s%s=%lld", i == 0 ? "" : ",",
                     ak_json_text_at(json_array_get(names, i), "name"),
                     (long long)json_integer_value(json_array_get(size, i)));
    }
    return ak_buf_status(out, err);
}

static ak_status open_task(ak_task **out, ak_config *config, const verifying *v,
                           const json_t *variant, const char *size, ak_error *err)
{
    const json_t *environment = json_object_get(v->file, "environment");
    char kernel[AK_PATH_MAX], name[AK_PATH_MAX], device[AK_DEVICE_NAME_BYTES], *text = NULL;
    ak_task *task = NULL;
    ak_status status = AK_OK;
    const char *backend = ak_json_text_at(v->file, "backend");
    (void)snprintf(device, sizeof device, "%.50s:0", backend);
    (void)snprintf(name, sizeof name, "source/%.100s", ak_json_text_at(v->file, "kernel"));
    AK_TRY(ak_fs_join(kernel, v->folder, name, err));
    const ak_task_spec spec = {
        .kernel = kernel,
        .kept = true,
        .implementation = ak_json_text_at(v->file, "implementation"),
        .device = ak_bundle_is_for_gpu(backend) ? device : NULL,
        .size = size,
        .dtype = ak_json_text_at(v->file, "dtype"),
        .choices = ak_json_text_at(v->file, "options"),
        .allow_numerics = json_is_true(json_object_get(environment, "numerics")),
        .threads = (int)json_integer_value(json_object_get(environment, "threads")),
    };
    AK_TRY(ak_task_open(&task, &spec, err));
    AK_TRY(
        ak_config_text_from_json(&text, json_object_get(variant, "config"), NULL, "config", err));
    AK_TRY(ak_config_parse(config, task->space, text, err));
    *out = task;
    task = NULL;
out:
    ak_free(text);
    ak_task_close(task);
    return status;
}

static ak_status run_job(ak_trial *out, ak_session *session, const ak_config *config,
                         ak_job_kind kind, ak_error *err)
{
    ak_result result = {0};
    const ak_job job = {.kind = kind, .id = session->next_job++, .config = *config};
    ak_status status = AK_OK;
    AK_TRY(ak_pool_submit(session->pool, &job, err));
    AK_TRY(ak_pool_wait(&result, session->pool, WAIT_NS, err));
    ak_trial_clear(out);
    *out = result.trial;
    result.trial = (ak_trial){0};
out:
    ak_result_clear(&result);
    return status;
}

/* Checks the code at all shapes, then times it until it is not slower, at most three times, because
   other load on the machine can only make it look slower. */
static ak_status judge(ak_trial *out, bool *slower, const verifying *v, ak_session *session,
                       const ak_config *config, double then_ms, ak_error *err)
{
    ak_status status = run_job(out, session, config, AK_JOB_CHECK, err);
    for (int i = 0; i < ATTEMPTS && status == AK_OK && out->status == AK_TRIAL_OK; i++) {
        status = run_job(out, session, config, AK_JOB_TRIAL, err);
        *slower = then_ms > 0 && out->ci_low_ms > then_ms * (1 + v->max_slowdown);
        if (!*slower) {
            break;
        }
    }
    return status;
}

static bool add_row(verifying *v, const char *size, const json_t *measured, const ak_trial *trial,
                    bool slower)
{
    double then = ak_json_number_at(measured, "ms");
    bool ok = trial->status == AK_TRIAL_OK, timed = ok && trial->median_ms > 0;
    json_t *row = json_object();
    bool good =
        ak_json_set_text(row, "size", size) &&
        ak_json_set(row, "variant", json_incref(json_object_get(measured, "variant"))) &&
        ak_json_set_text(row, "status", ak_trial_status_text(trial->status)) &&
        ak_json_set_text(row, "reason", trial->reason) &&
        ak_json_set_real(row, "max_error", trial->max_error) &&
        ak_json_set(row, "then_ms", then > 0 ? json_real(then) : json_null()) &&
        ak_json_set(row, "ms", timed ? json_real(trial->median_ms) : json_null()) &&
        ak_json_set(row, "ci_ms",
                    timed ? json_pack("[f,f]", trial->ci_low_ms, trial->ci_high_ms)
                          : json_null()) &&
        ak_json_set(row, "slowdown",
                    timed && then > 0 ? json_real(trial->median_ms / then - 1) : json_null()) &&
        ak_json_set(row, "slower", json_boolean(slower));
    v->good = v->good && ok && !slower;
    if (!good) {
        json_decref(row);
        return false;
    }
    return json_array_append_new(v->rows, row) == 0;
}

static ak_status verify_size(verifying *v, const json_t *measured, ak_error *err)
{
    const json_t *variants = json_object_get(v->file, "variants");
    const json_t *variant =
        json_array_get(variants, (size_t)json_integer_value(json_object_get(measured, "variant")));
    char code[AK_PATH_MAX];
    ak_buf size = AK_BUF(1024);
    ak_task *task = NULL;
    ak_config config;
    ak_session session = {0};
    ak_trial trial = {0};
    bool slower = false;
    ak_status status = AK_OK;
    AK_TRY(own_files(v, variant, err));
    AK_TRY(size_text(&size, v->file, json_object_get(measured, "size"), err));
    AK_TRY(open_task(&task, &config, v, variant, size.data, err));
    AK_TRY(ak_fs_join(code, v->folder, ak_json_text_at(variant, "file"), err));
    const ak_session_options options = {.compile_workers = 1,
                                        .artifact = code,
                                        .symbol = ak_json_text_at(variant, "entry"),
                                        .cancel = v->options->cancel};
    AK_TRY(ak_session_open(&session, task, &options, err));
    AK_TRY(judge(&trial, &slower, v, &session, &config, ak_json_number_at(measured, "ms"), err));
    status = add_row(v, size.data, measured, &trial, slower) ? AK_OK : ak_fail_memory(err);
out:
    ak_session_close(&session);
    ak_trial_clear(&trial);
    ak_task_close(task);
    ak_buf_free(&size);
    return status;
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
    bool good = ak_json_set_text(object, "path", path) &&
                ak_json_set_text(object, "name", ak_json_text_at(v->file, "name")) &&
                ak_json_set_real(object, "max_slowdown", v->max_slowdown) &&
                ak_json_set(object, "measured", json_incref(v->rows)) &&
                ak_json_set(object, "pressure", pressure < 0 ? json_null() : json_real(pressure)) &&
                ak_json_set_text(object, "warning", warning[0] == 0 ? NULL : warning) &&
                ak_json_set(object, "ok", json_boolean(v->good));
    ak_status status = good ? ak_json_text(out, object, err) : ak_fail_memory(err);
    json_decref(object);
    return status;
}

ak_status ak_bundle_verify(char **out_json, bool *good, const char *path,
                           const ak_bundle_verify_options *options, ak_error *err)
{
    akr_bundle *bundle = NULL;
    verifying v = {.options = options, .path = path, .good = true, .rows = json_array()};
    ak_status status = AK_OK;
    v.max_slowdown = options->max_slowdown > 0 ? options->max_slowdown : SLOWDOWN_DEFAULT;
    AK_TRY(v.rows == NULL ? ak_fail_memory(err) : AK_OK);
    AK_TRY(open_bundle(&bundle, path, AKR_FIT, err));
    const char *json = akr_describe(bundle)->json;
    AK_TRY(ak_json_parse(&v.file, json, strlen(json), path, err));
    AK_TRY(unpack(&v, path, err));
    const json_t *sizes = json_object_get(v.file, "measured");
    ak_pressure_take(&v.begun);
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        AK_TRY(verify_size(&v, json_array_get(sizes, i), err));
    }
    AK_TRY(report(out_json, &v, path, err));
    *good = v.good;
out:
    akr_close(bundle);
    json_decref(v.file);
    json_decref(v.rows);
    ak_fs_owned_close(&v.unpacked);
    return status;
}
