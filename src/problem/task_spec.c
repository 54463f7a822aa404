/* task_spec.c: writes a task's spec as JSON and reads it back, for example in a worker process. */
#include "problem/task_bind.h"

static const char *const spec_keys[] = {
    "kernel",         "implementation", "device", "size",      "dtype",    "choices", "fix",
    "allow_numerics", "threads",        "seed",   "libraries", "protocol", "kept",    NULL};

ak_status ak_task_spec_to_json(json_t **out, const ak_task *task, ak_error *err)
{
    /* Jansson's integers are signed, so the seed is written as the int64_t with the same bits. */
    *out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:s*, s:s*, s:b, s:o*, s:i, s:I}",
                     "kernel", task->kernel, "implementation", task->implementation->name, "device",
                     task->devices, "size", task->size_text, "dtype", ak_dtype_text(task->dtype),
                     "choices", task->choices_text, "fix", task->fix, "libraries", task->libraries,
                     "protocol", task->protocol, "allow_numerics", (int)task->allow_numerics,
                     "kept", task->kept ? json_true() : NULL, "threads", task->threads, "seed",
                     (json_int_t)task->seed);
    return ak_made(*out, err);
}

ak_status ak_task_spec_from_json(ak_task_spec *out, const json_t *object, ak_error *err)
{
    static const char where[] = "task";
    ak_task_spec spec = {.kernel = NULL};
    int64_t threads, seed;
    AK_FAIL_IF(!json_is_object(object), err, AK_INVALID, "%s must be an object", where);
    AK_DO(ak_json_only(object, spec_keys, where, err));
    AK_DO(ak_json_string(&spec.kernel, object, "kernel", where, err));
    AK_DO(ak_json_string_or(&spec.implementation, object, "implementation", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.device, object, "device", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.size, object, "size", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.dtype, object, "dtype", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.choices, object, "choices", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.fix, object, "fix", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.libraries, object, "libraries", NULL, where, err));
    AK_DO(ak_json_string_or(&spec.protocol, object, "protocol", NULL, where, err));
    AK_DO(ak_json_bool_or(&spec.allow_numerics, object, "allow_numerics", false, where, err));
    AK_DO(ak_json_bool_or(&spec.kept, object, "kept", false, where, err));
    AK_DO(ak_json_int_or(&threads, object, "threads", 0, where, err));
    AK_DO(ak_json_int_or(&seed, object, "seed", 0, where, err));
    AK_FAIL_IF(threads < 0 || threads > TASK_THREADS_MAX, err, AK_INVALID,
               "%s: \"threads\" must be from 0 to %d", where, TASK_THREADS_MAX);
    spec.threads = (int)threads;
    spec.seed = (uint64_t)seed;
    *out = spec;
    return AK_OK;
}

json_t *ak_task_choice_json(const ak_task *task, size_t index)
{
    const ak_choice_spec *choice = &task->problem->choices[index];
    const double number = task->number[index];
    return choice->kind == AK_CHOICE_TEXT    ? json_string(choice->values[task->choice[index]])
           : choice->kind == AK_CHOICE_WHOLE ? json_integer((json_int_t)number)
                                             : json_real(number);
}
