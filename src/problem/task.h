/*
 * task.h: a problem bound to sizes, dtype, choices, implementation and device: what a run works on.
 *
 * Built from an ak_task_spec and the facts of the device (backend.h). A task can be described as
 * JSON and rebuilt from it in a worker process: ak_task_to_json, ak_task_open_json.
 */
#ifndef AK_PROBLEM_TASK_H
#define AK_PROBLEM_TASK_H

#include "problem/problem.h"
#include "problem/space.h"

/* A problem's shape at one set of sizes: the task's own or an awkward one. A row is a run of the
   innermost extent; rows are `pitch` elements apart, and what is between them belongs to nobody. */
typedef struct ak_shape {
    int64_t size[AK_SIZES_MAX];
    size_t elements[AK_ARGUMENTS_MAX]; /* of each argument, without what is between its rows */
    size_t row[AK_ARGUMENTS_MAX];      /* elements of a row, 1 or more */
    size_t pitch[AK_ARGUMENTS_MAX];    /* elements from one row to the next; `row` if they adjoin */
    size_t bytes[AK_ARGUMENTS_MAX];    /* from the first element to the last, all in between */
    double flops, traffic;             /* work, compulsory bytes */
    double relative, rms;              /* tolerance */
} ak_shape;

struct ak_task {
    ak_problem *problem;
    const ak_implementation_spec *implementation;
    const char *backend; /* "host" */
    const char *rank;    /* the implementation's "Rank" (docs/formats.md); NULL: none */
    bool recorded;       /* its space was recorded; nothing of it can be run */
    bool sheet;          /* the device is known by its data sheet; nothing of it can be run */
    char *device;        /* "host", "cuda:0": where claims are measured */
    char *devices;       /* "cuda:0,cuda:1": these share the trials of a search; `device` first */
    ak_shape shape;
    ak_dtype dtype;
    int choice[AK_CHOICES_MAX];    /* index of the value; 0 of a number */
    double number[AK_CHOICES_MAX]; /* of a number its value; else 0 */
    bool allow_numerics;
    char *fix;       /* NULL: nothing is fixed */
    char *protocol;  /* as in ak_task_spec; NULL: "interleaved" */
    char *libraries; /* as in ak_task_spec; NULL: "default" */
    int threads;     /* as in ak_task_spec: 0 means all */
    uint64_t seed;
    char *kernel; /* as given, so that a worker can open it again */
    char *size_text, *choices_text;
    char source_hash[33]; /* of implementation source, reference and problem.json */
    ak_scope *constants;  /* sizes, dtype_bytes, choices, device facts */
    ak_space *space;
    json_t *definition; /* of a recorded space, which borrows from it; NULL: the implementation's */
    char *reason;       /* why this implementation; NULL: there was nothing to choose */
    const volatile int *cancel; /* NULL: never */
};

/* Facts of a device for expressions (cpu_threads, l2_bytes, ...) come from the backend as a scope;
   problem/ does not know backends, so the caller hands them in. `available` as in ak_space_spec. */
typedef struct ak_device_facts {
    const char *backend, *device;
    const char *devices; /* with commas, `device` first; NULL: only that */
    const ak_scope *facts;
    bool sheet; /* they are those of a data sheet */
    bool (*available)(void *context, const char *compiler);
    void *available_context;
    /* (optional) A recording in place of a device: any implementation will do, nothing is asked of
       the machine, the space is made by this, and a rank that reads what is not known is none. */
    ak_status (*space)(
        ak_space **out, json_t **definition, void *context,
        const ak_implementation_spec *implementation, const ak_scope *constants,
        ak_error *err); /* the definition that the space borrows from: for the task */
    void *space_context;
    ak_problem *problem; /* (optional) instead of opening spec->kernel; taken, also on failure */
} ak_device_facts;

ak_status ak_task_bind(ak_task **out, const ak_task_spec *spec, const ak_device_facts *device,
                       ak_error *err);

/* What expressions read of the choices, as in a task: those of the text ("activation=relu", NULL
   for none), the others at their defaults. */
ak_status ak_task_choices_scope(ak_scope *out, ak_problem *problem, const char *choices,
                                ak_error *err);

/* Sizes are checked: 1 or more, element counts and bytes without overflow and within physical
   memory. `size` has one value per size of the problem. */
ak_status ak_task_shape(ak_shape *out, const ak_task *task, const int64_t *size, ak_error *err);

/* Are all names that the expression reads parameters or constants of the task? */
bool ak_task_knows(const ak_task *task, const char *expression);

/* All names that expressions may use at a shape: constants, sizes and, unless NULL, the parameters
   of a configuration. Free with ak_scope_free; the task must outlive it. */
ak_status ak_task_scope(ak_scope **out, const ak_task *task, const ak_shape *shape,
                        const ak_config *config, ak_error *err);

/* May the implementation (and configuration, unless NULL) be run at this shape: do `Needs` and the
   conditions with `EverySize` hold there? */
ak_status ak_task_allows(bool *out, const ak_task *task, const ak_shape *shape,
                         const ak_config *config, ak_error *err);

/* Workspace bytes and threads of a configuration at a shape. */
ak_status ak_task_workspace(size_t *bytes, int *threads, const ak_task *task, const ak_shape *shape,
                            const ak_config *config, ak_error *err);

/* -D macros that do not depend on the configuration: dtype_is_f32=1, activation_is_relu=1; then the
   implementation's CompilerOptions; then the configuration's. */
ak_status ak_task_options(ak_options *out, const ak_task *task, const ak_config *config,
                          ak_error *err);

/* The spec that rebuilds this task (kernel, implementation, device, sizes...) as JSON, and back;
   the result of the second borrows from `object`. */
ak_status ak_task_spec_to_json(json_t **out, const ak_task *task, ak_error *err);
ak_status ak_task_spec_from_json(ak_task_spec *out, const json_t *object, ak_error *err);

#endif
