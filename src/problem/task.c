/* task.c: the public accessors of a task, and how it is closed. */
#include "problem/task.h"

#include "base/alloc.h"

void ak_task_set_cancel(ak_task *task, const volatile int *cancel)
{
    task->cancel = cancel;
}

void ak_task_close(ak_task *task)
{
    if (task != NULL) {
        ak_space_free(task->space);
        json_decref(task->definition);
        ak_scope_free(task->constants);
        ak_problem_close(task->problem);
        AK_FREE_ALL(task->device, task->devices, task->opens, task->kernel, task->size_text,
                    task->rank, task->fix, task->libraries, task->launcher, task->workers,
                    task->protocol, task->unused, task->reason, task->choices_text,
                    task->dtype_text);
        ak_objective_free(task->objective);
        ak_free(task);
    }
}

/* ---- accessors ------------------------------------------------------------------------------- */

const ak_space *ak_task_space(const ak_task *task)
{
    return task->space;
}

const char *ak_task_objective(const ak_task *task)
{
    return ak_objective_text(task->objective);
}

const char *ak_task_objective_unit(const ak_task *task)
{
    return ak_objective_unit(task->objective);
}

double ak_task_objective_value(const ak_task *task, double cost)
{
    return ak_objective_value(task->objective, cost);
}

const ak_problem *ak_task_problem(const ak_task *task)
{
    return task->problem;
}

const char *ak_task_implementation(const ak_task *task)
{
    return task->implementation->name;
}

const char *ak_task_reason(const ak_task *task)
{
    return task->reason;
}

const char *ak_task_reference(const ak_task *task)
{
    return task->recorded ? NULL : task->problem->reference.text;
}

size_t ak_task_edge_cases(const ak_task *task)
{
    return task->problem->edge_case_count;
}

ak_status ak_task_edge_cases_of(size_t *out, const ak_task *task, const ak_config *config,
                                ak_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < task->problem->edge_case_count; i++) {
        ak_shape shape;
        bool allowed = false;
        AK_DO(ak_task_shape(&shape, task, task->problem->edge_cases[i], err));
        AK_DO(ak_task_allows(&allowed, task, &shape, config, err));
        count += allowed;
    }
    *out = count;
    return AK_OK;
}

bool ak_task_by_sheet(const ak_task *task)
{
    return task->sheet;
}

const char *ak_task_device(const ak_task *task)
{
    return task->device;
}

const char *ak_task_devices(const ak_task *task)
{
    return task->devices;
}

const char *ak_task_size(const ak_task *task)
{
    return task->size_text;
}

int64_t ak_task_fact(const ak_task *task, const char *name)
{
    ak_value value;
    bool known = ak_scope_get(&value, task->constants, name) && value.type == AK_VALUE_INT;
    return known ? value.as.integer : 0;
}

ak_dtype ak_task_argument_dtype(const ak_task *task, size_t i)
{
    const ak_argument_spec *argument = &task->problem->arguments[i];
    return argument->dtype_follows        ? task->dtype
           : argument->dtype_text != NULL ? task->chosen_dtype[i]
                                          : argument->dtype;
}

ak_dtype ak_task_operands(const ak_task *task)
{
    ak_dtype first = task->dtype;
    for (size_t i = 0, seen = 0; i < task->problem->argument_count && seen < 2; i++) {
        if (task->problem->arguments[i].access == AK_ACCESS_OUT || task->shape.elements[i] == 1) {
            continue;
        }
        const ak_dtype dtype = ak_task_argument_dtype(task, i);
        if (ak_dtype_bytes(dtype) > 1) {
            bool wide = ak_dtype_bytes(task->dtype) == 1 && ak_dtype_is_float(dtype);
            return wide ? dtype : task->dtype;
        }
        first = seen++ == 0 ? dtype : first;
    }
    return first;
}

const char *ak_task_dtype(const ak_task *task)
{
    return task->dtype_text != NULL             ? task->dtype_text
           : task->problem->argument_count == 0 ? "" /* of such a task only the space is known */
                                                : ak_dtype_text(task->dtype);
}

const char *ak_task_choices(const ak_task *task)
{
    return task->choices_text;
}

double ak_task_flops(const ak_task *task)
{
    return task->shape.flops;
}

double ak_task_bytes(const ak_task *task)
{
    return task->shape.traffic;
}
