/* task_scope.c: gathers the names that expressions may use: device facts, sizes, dtype, problem
   options and, for a configuration, its parameters. */
#include "problem/task_bind.h"

#include "base/alloc.h"

ak_status ak_task_set_sizes(ak_scope *scope, const ak_problem *problem, const int64_t *size,
                            ak_error *err)
{
    for (size_t i = 0; i < problem->size_count; i++) {
        AK_DO(ak_scope_set_int(scope, problem->sizes[i].name, size[i], err));
    }
    return AK_OK;
}

static ak_status refuse_fact(const ak_scope *scope, const char *name, const ak_problem *problem,
                             ak_error *err)
{
    ak_value value;
    return ak_scope_get(&value, scope, name)
               ? ak_fail(err, AK_INVALID, "%s: \"%s\" is the name of a device fact; rename it",
                         problem->where, name)
               : AK_OK;
}

/* Returns the value of a numeric option: an integer for "type": "int", else a real. */
static ak_value number_of(const ak_choice_spec *choice, double number)
{
    return choice->kind == AK_CHOICE_WHOLE
               ? (ak_value){.type = AK_VALUE_INT, .as.integer = (int64_t)number}
               : (ak_value){.type = AK_VALUE_REAL, .as.real = number};
}

static ak_status set_choices(ak_scope *scope, const ak_task *task, ak_error *err)
{
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const ak_choice_spec *choice = &task->problem->choices[i];
        char index[80];
        if (choice->kind != AK_CHOICE_TEXT) {
            AK_DO(ak_scope_set(scope, choice->name, number_of(choice, task->number[i]), err));
            continue;
        }
        (void)snprintf(index, sizeof index, "choice_%.63s", choice->name);
        AK_DO(ak_scope_set_int(scope, index, task->choice[i], err));
        AK_DO(ak_scope_set_text(scope, choice->name, choice->values[task->choice[i]], err));
    }
    return AK_OK;
}

ak_status ak_task_constants(ak_task *task, const ak_scope *facts, ak_error *err)
{
    const ak_problem *problem = task->problem;
    task->constants = ak_scope_new(NULL);
    AK_DO(ak_made(task->constants, err));
    ak_scope *scope = task->constants;
    AK_DO(ak_scope_copy(scope, facts, err)); /* the caller may free its scope */
    for (size_t i = 0; i < problem->size_count; i++) {
        AK_DO(refuse_fact(scope, problem->sizes[i].name, problem, err));
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        AK_DO(refuse_fact(scope, problem->choices[i].name, problem, err));
    }
    AK_DO(ak_task_set_sizes(scope, problem, task->shape.size, err));
    AK_DO(ak_scope_set_int(scope, "dtype_bytes", (int64_t)ak_dtype_bytes(task->dtype), err));
    AK_DO(ak_scope_set_text(scope, "dtype", ak_dtype_text(task->dtype), err));
    AK_DO(set_choices(scope, task, err));
    for (size_t i = 0; i < problem->argument_count; i++) {
        if (problem->arguments[i].dtype_text != NULL) {
            AK_DO(ak_dtype_choose(&task->chosen_dtype[i], problem->arguments[i].dtype_text, scope,
                                  problem->where, err));
        }
    }
    return AK_OK;
}

ak_status ak_task_choices_scope(ak_scope *out, ak_problem *problem, const char *choices,
                                ak_error *err)
{
    ak_task task = {.problem = problem};
    ak_status status = ak_task_read_choices(&task, choices, err);
    ak_free(task.choices_text);
    ak_objective_free(task.objective);
    return status == AK_OK ? set_choices(out, &task, err) : status;
}

ak_status ak_task_scope(ak_scope **out, const ak_task *task, const ak_shape *shape,
                        const ak_config *config, ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(task->constants);
    AK_DO(ak_made(scope, err));
    AK_DO(ak_task_set_sizes(scope, task->problem, shape->size, err));
    AK_DO(config == NULL ? AK_OK : ak_config_scope(scope, task->space, config, err));
    AK_GIVE(out, scope);
    return AK_OK;
}

bool ak_task_knows(const ak_task *task, const char *expression)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    const char *const *names;
    if (ak_expr_parse(&expr, expression, "", NULL) != AK_OK) {
        return false;
    }
    size_t count = ak_expr_names(&names, expr), known = 0;
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        size_t parameter;
        known += ak_space_parameter_find(&parameter, task->space, names[i]) ||
                 ak_scope_get(&value, task->constants, names[i]);
    }
    return known == count;
}
