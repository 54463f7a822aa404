/* sim.c: the backend's table, answered from a recording; see sim.h. */
#include "backend/sim/sim.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"

#define PREFIX "sim:"

struct ak_device {
    ak_recording *recording; /* indices are those of the task's space */
    const ak_task *task;
};

const char *ak_sim_path(const char *device)
{
    return strncmp(device, PREFIX, strlen(PREFIX)) == 0 ? device + strlen(PREFIX) : "";
}

/* Visits nothing: recordings are not searched for. */
static ak_status probe(ak_device_visitor visit, void *context, ak_error *err)
{
    (void)visit;
    (void)context;
    (void)err;
    return AK_OK;
}

static ak_status find(const char *device, ak_error *err)
{
    const char *path = ak_sim_path(device);
    bool alone = strchr(device, ':') == NULL; /* the kernel's name gives the file */
    return alone || ak_fs_is_file(path)
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND, "device sim:%.300s: there is no such recording", path);
}

static ak_status facts(ak_scope *out, const char *device, int threads, ak_error *err)
{
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    (void)threads;
    AK_DO(ak_recording_open(&recording, ak_sim_path(device), err));
    return ak_scope_copy(out, recording->device_facts, err);
}

/* Gives the hash of the recording, the only thing that results depend on, and what the recording
   says of the environment in which it was made, because prompts show that. */
static ak_status environment(json_t **out, const char *device, ak_error *err)
{
    AK_FREED char *bytes = NULL;
    char hash[AK_HASH_QUICK_BYTES];
    size_t length = 0;
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    json_auto_t *object = json_object();
    AK_DO(ak_fs_read(&bytes, &length, ak_sim_path(device), AK_JSON_BYTES_MAX, err));
    ak_hash_quick(hash, bytes, length);
    AK_DO(ak_recording_open(&recording, ak_sim_path(device), err));
    bool good =
        ak_json_set_text(object, "name", recording->device) &&
        (recording->environment == NULL || json_object_update(object, recording->environment) == 0);
    AK_DO(ak_stored(good && ak_json_set_text(object, "recording", hash), err));
    *out = json_incref(object);
    return AK_OK;
}

static void close_device(ak_device *device)
{
    if (device != NULL) {
        ak_recording_close(device->recording);
        ak_free(device);
    }
}

AK_END_AT(close_device, ak_device)

static ak_status open_device(ak_device **out, const ak_task *task, ak_error *err)
{
    AK_AT_END(close_device_at) ak_device *device = NULL;
    AK_DO(AK_NEW(device, 1, err));
    device->task = task;
    AK_DO(ak_recording_open_space(&device->recording, ak_sim_path(task->opens),
                                  task->implementation->definition, task->implementation->where,
                                  task->constants, err));
    AK_FAIL_IF(device->recording->count != ak_space_count(task->space), err, AK_INVALID,
               "%s has changed since this command opened it: run the command again",
               device->recording->path);
    AK_GIVE(out, device);
    return AK_OK;
}

static ak_status recall(ak_trial *out, ak_device *device, const ak_config *config, ak_error *err)
{
    uint64_t index;
    AK_FAIL_IF(!ak_space_find(&index, device->task->space, config), err, AK_INTERNAL,
               "%s: a configuration was proposed that was not recorded", device->recording->path);
    const ak_record *record = &device->recording->records[index];
    ak_trial trial = {.status = record->status,
                      .measure_ns = (int64_t)(record->seconds * (double)AK_SECOND_NS)};
    if (record->status == AK_TRIAL_OK) {
        const double cost = ak_recording_time(device->recording, record);
        const double ms = ak_recording_ms(device->recording, record);
        trial.joules = trial.joules_low = trial.joules_high = record->joules;
        if (ak_objective_is_recorded(device->task->objective)) {
            trial.cost = trial.cost_low = trial.cost_high = cost;
        }
        trial.median_ms = trial.ci_low_ms = trial.ci_high_ms = ms;
        trial.samples_ms = ak_alloc(1, sizeof *trial.samples_ms);
        trial.sample_count = trial.samples_ms == NULL ? 0 : 1;
        if (trial.samples_ms != NULL) {
            trial.samples_ms[0] = ms;
        }
    } else {
        trial.reason = ak_strdup("it failed when it was recorded");
    }
    AK_DO(ak_stored(trial.samples_ms != NULL || trial.reason != NULL, err));
    *out = trial;
    return AK_OK;
}

const ak_backend_ops ak_sim_ops = {
    .name = "sim",
    .description =
        "a recording in place of a device (--device sim:FILE): nothing runs, and the clock "
        "advances by recorded times",
    .probe = probe,
    .find = find,
    .facts = facts,
    .environment = environment,
    .bind = ak_sim_bind,
    .open = open_device,
    .recall = recall,
    .close = close_device,
};
