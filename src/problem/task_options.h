/*
 * task_options.h: the options that the compiler is given for a task and a configuration.
 *
 * They come in this order: macros of the task (-Ddtype_is_f32=1, -Dactivation_is_relu=1, those of
 * the implementation's "Defines", which may depend on the configuration), the options that the
 * backend's rules add (backend_rules.h), the implementation's CompilerOptions, the configuration's
 * macros and options. Later options override earlier ones.
 *
 * Options that do not depend on the task are added elsewhere. The pool adds -DOWN_SIZE_ONLY=1 for
 * an artifact of the task's own sizes (worker/pool_worker.c). The backend adds the options that its
 * compiler always gets (-fPIC in host_compile.c, --ptxas-options=-v in cuda_compile.c).
 */
#ifndef AK_PROBLEM_TASK_OPTIONS_H
#define AK_PROBLEM_TASK_OPTIONS_H

#include "problem/task.h"

/* Returns AK_INVALID if a value of a parameter adds an option that the backend does not allow in
   a space file, or if two parameters, values or members of "Defines" become one macro that the
   source reads. Called after the task's space is built. */
ak_status ak_task_check_options(const ak_task *task, ak_error *err);

/* Sets *out to the first macro of "Defines" that has another value (or none) at this shape than at
   the task's own sizes, and *value to the value at the own sizes, which is compiled. Sets *out to
   NULL if there is none, or if another entry runs at this shape. The name lives as long as the
   task. */
ak_status ak_task_fixed_define(const char **out, int64_t *value, const ak_task *task,
                               const ak_shape *shape, const ak_config *config, ak_error *err);

/* Appends the options to `out`, which the caller clears with ak_options_clear, also on failure. */
ak_status ak_task_options(ak_options *out, const ak_task *task, const ak_config *config,
                          ak_error *err);

#endif
