/*
 * task_bind.h: the steps that turn an ak_task_spec into an ak_task, in this order: read the texts
 * (task_read.c), choose the implementation (task_needs.c says whether it can do the task) and
 * gather the constants for it (task_scope.c), compute the shape (task_shape.c), build the space,
 * try the workspace. task_bind.c calls them. Each step writes its own members of the task, which
 * its owner closes with ak_task_close even after a failure. Internal to problem/.
 */
#ifndef AK_PROBLEM_TASK_BIND_H
#define AK_PROBLEM_TASK_BIND_H

#include "problem/task.h"

#define TASK_THREADS_MAX 4096
#define TASK_SIZE_MAX    (INT64_C(1) << 53) /* a double holds every size exactly */

/* Read texts of a spec; task->problem must be set. A text that is NULL or empty means defaults.
   ak_task_read_dtype sets *given to whether `text` names a dtype. */
ak_status ak_task_read_dtype(bool *given, ak_task *task, const char *text, ak_error *err);
/* Reads problem options. Sets choice, number, objective and choices_text. */
ak_status ak_task_read_choices(ak_task *task, const char *text, ak_error *err);
/* Reads sizes. Sets shape.size and size_text. A single number stands for every size. */
ak_status ak_task_read_sizes(ak_task *task, const char *text, ak_error *err);

/* Sets task->constants to copies of the facts, the sizes, the dtype and the problem options, and
   task->chosen_dtype. Returns AK_INVALID if a size or an option has the name of a fact. */
ak_status ak_task_constants(ak_task *task, const ak_scope *facts, ak_error *err);
/* Adds the sizes' names to a scope, with the values in `size`. */
ak_status ak_task_set_sizes(ak_scope *scope, const ak_problem *problem, const int64_t *size,
                            ak_error *err);

/* Returns this machine's memory in bytes, or INFINITY if it is unknown. */
double ak_task_memory(void);

/* Returns the first condition of "Needs" that does not hold, or NULL. A condition that cannot be
   evaluated does not hold. */
const json_t *ak_task_broken_need(const ak_implementation_spec *implementation,
                                  const ak_scope *scope);
/* Fails if Workspace or Threads of the space file has no allowed value for the default
   configuration, and reads no parameter or reads an unknown name: then every configuration has this
   fault, and the run is refused before it compiles anything. Other faults are reported by
   the trials of the configurations that have them. */
ak_status ak_task_try_workspace(const ak_task *task, ak_error *err);

/* Sets task->unused to the warning that ak_task_unused returns. Called once, after the space is
   built. */
ak_status ak_task_find_unused(ak_task *task, ak_error *err);

#endif
