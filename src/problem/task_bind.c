/* task_bind.c: binds a spec to a task: reads its texts, chooses the implementation, computes the
   shape and builds the space for these sizes and this device. */
#include "problem/task_bind.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "space/rank.h"
#include "problem/sources.h"
#include "problem/task_options.h"

static ak_status choose_threads(ak_task *task, int wanted, ak_error *err)
{
    ak_value fact;
    if (wanted < 0 || wanted > TASK_THREADS_MAX) {
        return ak_fail(err, AK_INVALID,
                       "threads: %d is not possible; it must be from 1 to %d, or 0 for all", wanted,
                       TASK_THREADS_MAX);
    }
    task->threads = wanted;
    if (wanted == 0) {
        bool known = ak_scope_get(&fact, task->constants, "cpu_threads") &&
                     fact.type == AK_VALUE_INT && fact.as.integer >= 1 &&
                     fact.as.integer <= TASK_THREADS_MAX;
        /* 0 if the device has no CPU threads of its own */
        task->threads = known ? (int)fact.as.integer : 0;
    }
    return AK_OK;
}

static ak_status build_space(ak_task *task, const ak_device_facts *device, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    if (device->space != NULL) {
        return device->space(&task->space, &task->definition, device->space_context, implementation,
                             task->constants, err);
    }
    ak_space_spec spec = {.definition =
                              json_object_get(implementation->definition, "ConfigurationSpace"),
                          .constants = task->constants,
                          .allow_numerics = task->allow_numerics,
                          .fix = task->fix,
                          .available = device->available,
                          .available_context = device->available_context,
                          .where = implementation->where,
                          .rank = implementation->rank,
                          .outline = device->outline};
    AK_DO(ak_space_build(&task->space, &spec, err));
    AK_DO(device->outline ? AK_OK : ak_task_find_unused(task, err));
    return ak_task_check_options(task, err);
}

/* Returns AK_OK if the implementation can do the task, as far as that does not depend on
   parameters; "Needs" is not checked for a recording. If the user named no dtype, the task gets the
   first dtype of the problem that the implementation computes in. Makes task->constants for it. */
static ak_status fits(const ak_implementation_spec *implementation, ak_task *task, bool dtype_given,
                      const ak_scope *facts, ak_error *err)
{
    const ak_problem *problem = task->problem;
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(100);
    bool found = problem->dtype_count == 0;
    for (size_t i = 0; i < problem->dtype_count; i++) {
        ak_dtype dtype = problem->dtypes[i];
        bool has = (implementation->dtypes >> dtype & 1u) != 0;
        if (has) {
            ak_buf_print(&list, "%s%s", list.length == 0 ? "" : ", ", ak_dtype_text(dtype));
        }
        if (has && !found && (!dtype_given || dtype == task->dtype)) {
            task->dtype = dtype;
            found = true;
        }
    }
    AK_DO(found ? AK_OK
                : ak_fail(err, AK_INVALID, "%s: implementation %s has no dtype %s; it has %s",
                          problem->name, implementation->name, ak_dtype_text(task->dtype),
                          list.data));
    ak_scope_free(task->constants);
    task->constants = NULL;
    AK_DO(ak_task_constants(task, facts, err));
    const json_t *broken =
        task->recorded ? NULL : ak_task_broken_need(implementation, task->constants);
    return broken == NULL
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: implementation %s needs %s", problem->name,
                         implementation->name, ak_json_text_or_null(broken, "Description"));
}

/* Chooses the implementation that the user named, else the first for the device that can do the
   task (for any device if the task is a recording or a space without a problem). Implementations
   for one architecture are tried before the others, because they make the best use of it. The
   implementation that is the reference is passed over, unless it is the only one. If none can do
   the task, fails with the reason of the one that was tried last. */
static ak_status choose_implementation(ak_task *task, const ak_task_spec *spec, bool dtype_given,
                                       const ak_device_facts *device, ak_error *err)
{
    const ak_problem *problem = task->problem;
    bool runnable = ak_problem_runnable(problem, NULL) == AK_OK;
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(300);
    if (spec->implementation != NULL) {
        AK_DO(ak_problem_find(&task->implementation, problem, spec->implementation, err));
        const ak_implementation_spec *named = task->implementation;
        return runnable && !task->recorded && strcmp(named->backend, device->backend) != 0
                   ? ak_fail(err, AK_INVALID,
                             "%s: implementation \"%s\" is for %s devices, not \"%s\"",
                             problem->name, named->name, named->backend, device->device)
                   : fits(named, task, dtype_given, device->facts, err);
    }
    ak_status status = AK_NOT_FOUND;
    const size_t count = problem->implementation_count;
    for (size_t i = 0; i < count; i++) {
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", problem->implementations[i].name);
    }
    for (size_t i = 0; status != AK_OK && i < 2 * count; i++) {
        const ak_implementation_spec *implementation = &problem->implementations[i % count];
        const bool own_turn = (implementation->architecture != NULL) == (i < count);
        const char *reference = problem->reference.kind == NULL ? NULL : problem->reference.name;
        if (count > 1 && reference != NULL && strcmp(reference, implementation->name) == 0) {
            continue; /* the reference is tuned only on request, unless nothing else is there */
        }
        if (own_turn && (!runnable || task->recorded ||
                         strcmp(implementation->backend, device->backend) == 0)) {
            status = fits(implementation, task, dtype_given, device->facts, err);
            task->implementation = implementation;
            if (status == AK_NO_MEMORY) {
                break;
            }
        }
    }
    if (task->implementation == NULL) {
        status = ak_fail(err, AK_NOT_FOUND,
                         "%s has no implementation for the device \"%s\"; it has %s: choose one of "
                         "their devices with --device ('autokernel doctor' lists them)",
                         problem->name, device->backend, list.data);
    }
    return status;
}

static bool knows_name(const void *context, const char *name)
{
    return ak_task_knows(context, name);
}

/* Takes the rank that the device states, else the implementation's. For a recording, a rank that
   reads an unknown name is ignored. */
static ak_status take_rank(ak_task *task, const ak_device_facts *device, ak_error *err)
{
    const char *rank = device->rank != NULL ? device->rank : task->implementation->rank;
    bool known = rank != NULL;
    if (known && task->recorded) {
        AK_DO(ak_rank_known(&known, task->space, task->constants, rank, "\"Rank\"", err));
    }
    return known ? ak_copy_text(&task->rank, rank, err) : AK_OK;
}

static ak_status bind(ak_task *task, const ak_task_spec *spec, const ak_device_facts *device,
                      ak_error *err)
{
    task->allow_numerics = spec->allow_numerics;
    task->kept = spec->kept;
    task->seed = spec->seed;
    task->recorded = device->space != NULL;
    task->sheet = device->sheet;
    task->problem = device->problem;
    if (device->problem == NULL) {
        AK_DO(ak_problem_open_spec(&task->problem, spec, err));
    }
    const struct {
        char **to;
        const char *from; /* NULL: none */
    } texts[] = {{&task->kernel, spec->kernel},
                 {&task->device, device->device},
                 {&task->devices, device->devices == NULL ? device->device : device->devices},
                 {&task->opens, device->opens == NULL ? device->device : device->opens},
                 {&task->fix, spec->fix},
                 {&task->libraries, spec->libraries},
                 {&task->protocol, spec->protocol},
                 {&task->launcher, spec->launcher},
                 {&task->workers, spec->workers}};
    for (size_t i = 0; i < AK_COUNT(texts); i++) {
        AK_DO(texts[i].from == NULL ? AK_OK : ak_copy_text(texts[i].to, texts[i].from, err));
    }
    bool dtype_given = false;
    AK_DO(ak_task_read_dtype(&dtype_given, task, spec->dtype, err));
    AK_DO(ak_task_read_choices(task, spec->choices, err));
    AK_DO(ak_task_read_sizes(task, spec->size, err));
    AK_DO(choose_implementation(task, spec, dtype_given, device, err));
    task->backend = task->recorded ? device->backend : task->implementation->backend;
    AK_DO(choose_threads(task, spec->threads, err));
    int64_t size[AK_SIZES_MAX];
    memcpy(size, task->shape.size, sizeof size);
    AK_DO(ak_task_shape(&task->shape, task, size, err));
    AK_DO(ak_sources_hash(task->source_hash, task->problem, task->implementation, err));
    AK_DO(build_space(task, device, err));
    AK_DO(take_rank(task, device, err));
    AK_DO(ak_objective_check(task->objective, knows_name, task, err));
    AK_DO(task->recorded ? AK_OK
                         : ak_objective_check_work(task->objective, task->shape.flops,
                                                   task->shape.traffic, err));
    assert(task->implementation != NULL && task->constants != NULL && task->space != NULL);
    bool asked = !device->outline; /* the tuner has tried this before a worker binds the task */
    if (asked && ak_problem_runnable(task->problem, NULL) == AK_OK && !task->recorded) {
        AK_DO(ak_task_try_workspace(task, err));
    }
    return AK_OK;
}

ak_status ak_task_bind(ak_task **out, const ak_task_spec *spec, const ak_device_facts *device,
                       ak_error *err)
{
    AK_AT_END(ak_task_close_at) ak_task *task = ak_alloc(1, sizeof *task);
    if (task == NULL) {
        ak_problem_close(device->problem);
        return ak_fail_memory(err);
    }
    AK_DO(bind(task, spec, device, err));
    AK_GIVE(out, task);
    return AK_OK;
}
