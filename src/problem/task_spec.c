/* task_spec.c: writes a task's spec as JSON and reads it back, for example in a worker process. */
#include "problem/task_bind.h"

static const char *const spec_keys[] = {
    "kernel",         "implementation", "device", "size",      "dtype",    "choices", "fix",
    "allow_numerics", "threads",        "seed",   "libraries", "protocol", "kept",    NULL};

ak_status ak_task_spec_to_json(json_t **out, const ak_task *task, ak_error *err)
{
    json_t *json = json_object();
    /* Jansson's integers are signed, so the seed is written as the int64_t with the same bits. */
    bool fine = json != NULL && ak_json_set_text(json, "kernel", task->kernel) &&
                ak_json_set_text(json, "implementation", task->implementation->name) &&
                ak_json_set_text(json, "device", task->devices) &&
                ak_json_set_text(json, "size", task->size_text) &&
                ak_json_set_text(json, "dtype", ak_dtype_text(task->dtype)) &&
                ak_json_set_text(json, "choices", task->choices_text) &&
                (task->fix == NULL || ak_json_set_text(json, "fix", task->fix)) &&
                (task->libraries == NULL || ak_json_set_text(json, "libraries", task->libraries)) &&
                (task->protocol == NULL || ak_json_set_text(json, "protocol", task->protocol)) &&
                ak_json_set(json, "allow_numerics", json_boolean(task->allow_numerics)) &&
                (!task->kept || ak_json_set(json, "kept", json_true())) &&
                ak_json_set(json, "threads", json_integer(task->threads)) &&
                ak_json_set(json, "seed", json_integer((json_int_t)task->seed));
    if (!fine) {
        json_decref(json);
        return ak_fail_memory(err);
    }
    *out = json;
    return AK_OK;
}

ak_status ak_task_spec_from_json(ak_task_spec *out, const json_t *object, ak_error *err)
{
    static const char where[] = "task";
    ak_task_spec spec = {.kernel = NULL};
    int64_t threads, seed;
    if (!json_is_object(object)) {
        return ak_fail(err, AK_INVALID, "%s must be an object", where);
    }
    ak_status status = AK_OK;
    AK_TRY(ak_json_only(object, spec_keys, where, err));
    AK_TRY(ak_json_string(&spec.kernel, object, "kernel", where, err));
    AK_TRY(ak_json_string_or(&spec.implementation, object, "implementation", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.device, object, "device", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.size, object, "size", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.dtype, object, "dtype", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.choices, object, "choices", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.fix, object, "fix", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.libraries, object, "libraries", NULL, where, err));
    AK_TRY(ak_json_string_or(&spec.protocol, object, "protocol", NULL, where, err));
    AK_TRY(ak_json_bool_or(&spec.allow_numerics, object, "allow_numerics", false, where, err));
    AK_TRY(ak_json_bool_or(&spec.kept, object, "kept", false, where, err));
    AK_TRY(ak_json_int_or(&threads, object, "threads", 0, where, err));
    AK_TRY(ak_json_int_or(&seed, object, "seed", 0, where, err));
    if (threads < 0 || threads > TASK_THREADS_MAX) {
        return ak_fail(err, AK_INVALID, "%s: \"threads\" must be from 0 to %d", where,
                       TASK_THREADS_MAX);
    }
    spec.threads = (int)threads;
    spec.seed = (uint64_t)seed;
    *out = spec;
out:
    return status;
}
