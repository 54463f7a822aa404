/*
 * task.h: a problem bound to sizes, a dtype, problem options, an implementation and a device: what
 * a run works on.
 *
 * ak_task_bind makes it from an ak_task_spec and the facts of the device (backend.h); task_bind.h
 * lists the steps. A task can be written as JSON and rebuilt from it in a worker process:
 * ak_task_spec_to_json, ak_task_spec_from_json. task_options.h says what the compiler is given.
 */
#ifndef AK_PROBLEM_TASK_H
#define AK_PROBLEM_TASK_H

#include "problem/sources.h"
#include "space/space.h"

/* ---- objective (objective.c) ----------------------------------------------------------------- */

/* The objective is what a run makes as small or as large as it can: the time by default, the
   energy, or an expression over what is measured.

     time             the time of one call; its objective is NULL
     energy           joules of one call
     edp              energy times time, in joule seconds
     EXPR             an expression (space/expr.h), which is made as small as possible
     max:EXPR         an expression, which is made as large as possible

   An expression must read something that is measured (measured_names in objective.c), and may read
   the constants of the task (sizes, options, facts of the device) and the parameters of the
   configuration. `tflops` and `gbs` alone mean max:tflops and max:gbs.

   An objective is a part of the task: unless it is the time, its text is one of the task's
   choices, as in "objective=energy", so results with different objectives belong to different
   tasks. Searches compare costs: a cost is the value, or its reciprocal if more is better, and
   always above 0. */

/* The name of the choice that holds the objective. */
#define AK_OBJECTIVE_CHOICE "objective"
#define AK_OBJECTIVE_BYTES  AK_OBJECTIVE_NAME_BYTES

typedef struct ak_objective ak_objective;
/* What was measured for one configuration or library. 0 means not known, except for shared_bytes
   and spill_bytes where has_code is true. */
typedef struct ak_objective_facts {
    double ms, joules, flops, traffic; /* of one call; `flops` in flop, `traffic` in bytes */
    bool has_code;                     /* the members below are known; false for a library */
    int registers, shared_bytes, spill_bytes, code_bytes;
} ak_objective_facts;

/* Parses a text; the caller frees the objective. *out is NULL for "time" and "ms". */
ak_status ak_objective_parse(ak_objective **out, const char *text, ak_error *err);
/* Makes the objective of a recording, which has the values and no expression for them. The caller
   frees it. */
ak_status ak_objective_recorded(ak_objective **out, const char *name, const char *unit,
                                bool maximise, ak_error *err);
void ak_objective_free(ak_objective *objective);
AK_END_AT(ak_objective_free, ak_objective)
/* Returns the canonical text; "time" for NULL. */
const char *ak_objective_text(const ak_objective *objective);
/* Returns whether ak_objective_recorded made it. */
bool ak_objective_is_recorded(const ak_objective *objective);
/* Returns whether the energy must be measured. */
bool ak_objective_weighs(const ak_objective *objective);
/* Returns the unit of the value for tables; "" if it has no name. */
const char *ak_objective_unit(const ak_objective *objective);
/* Returns the value that a cost stands for. */
double ak_objective_value(const ak_objective *objective, double cost);
/* Appends the value of a cost with four digits: "8.25 ms", "2.5 J", or the number alone if it has
   no unit. */
void ak_objective_print(ak_buf *out, const ak_objective *objective, double cost);
/* Refuses names that are neither measured nor known to `knows`. The objective may be NULL here and
   in the next function, but not one of a recording, which has no expression. */
ak_status ak_objective_check(const ak_objective *objective,
                             bool (*knows)(const void *context, const char *name),
                             const void *context, ak_error *err);
/* Refuses an objective that reads tflops or gbs of a task that states 0 flops or 0 bytes. */
ak_status ak_objective_check_work(const ak_objective *objective, double flops, double traffic,
                                  ak_error *err);
/* Computes the cost; the objective must not be NULL. `scope` has sizes, options and parameters, or
   is NULL. Returns AK_UNAVAILABLE with one line if something that the expression reads was not
   measured, and AK_INVALID if the value is not a positive number. */
ak_status ak_objective_cost(double *out, const ak_objective *objective, const ak_scope *scope,
                            const ak_objective_facts *facts, ak_error *err);

/* A problem's shape at one set of sizes: the task's own or an edge case. A row is the elements
   along the innermost extent. Rows begin `pitch` elements apart; elements between two rows belong
   to neither. */
typedef struct ak_shape {
    int64_t size[AK_SIZES_MAX];
    /* elements and extents (the outermost first) of each argument, without the elements between its
       rows */
    size_t elements[AK_ARGUMENTS_MAX];
    size_t extent[AK_ARGUMENTS_MAX][AK_RANK_MAX];
    size_t row[AK_ARGUMENTS_MAX]; /* elements of a row; 1 or more */
    /* elements from one row to the next; equals `row` if rows adjoin */
    size_t pitch[AK_ARGUMENTS_MAX];
    /* bytes from the first element to the last, including those between rows */
    size_t bytes[AK_ARGUMENTS_MAX];
    double fill[AK_ARGUMENTS_MAX][2]; /* the numbers of each argument's fill (ak_fill_kind) */
    bool unused[AK_ARGUMENTS_MAX];    /* "unused" of the argument holds here: nothing may read it */
    double flops, traffic;            /* work in flop; compulsory traffic in bytes */
    double relative, rms;             /* tolerance of the task's dtype; see check/compare.h */
    /* tolerance of each argument that is written: its own, else its dtype's; where the dtype has
       none, 0 if it is whole and not the task's dtype, else the task's tolerance */
    double own_relative[AK_ARGUMENTS_MAX], own_rms[AK_ARGUMENTS_MAX];
    double own_absolute[AK_ARGUMENTS_MAX];
} ak_shape;
/* Returns whether two shapes are of the same sizes. */
static inline bool ak_shape_is_same(const ak_shape *a, const ak_shape *b)
{
    return memcmp(a->size, b->size, sizeof a->size) == 0;
}

struct ak_task {
    ak_problem *problem;
    const ak_implementation_spec *implementation;
    const char *backend; /* "host" */
    char *rank;          /* "Rank" of the space file or the recording (docs/formats.md), or NULL */
    bool recorded;       /* the device is a recording (sim); nothing can be run */
    bool sheet;          /* the device is known only from its data sheet; nothing can be run */
    /* "host", "cuda:0": the device whose times are reported; for a recording "sim:" and the name of
       the recorded device, or of the file if that is not known, so that results do not disclose the
       path of the file */
    char *device;
    const char *left_out; /* what its recording left out, as in ak_recording_facts */
    char *opens;          /* what the backend opens: equal to `device`, or "sim:FILE" */
    char *devices; /* the devices that share the trials of a search: "cuda:0,cuda:1"; `device` comes
                      first */
    ak_shape shape;
    ak_dtype dtype;
    ak_dtype chosen_dtype[AK_ARGUMENTS_MAX]; /* of arguments with a `dtype_text` */
    int choice[AK_CHOICES_MAX];              /* index of each text option's value; 0 for numbers */
    double number[AK_CHOICES_MAX];           /* value of each numeric option; 0 for texts */
    bool allow_numerics;
    bool kept;                /* as in ak_task_spec */
    char *fix;                /* as in ak_task_spec; NULL: nothing is fixed */
    char *protocol;           /* as in ak_task_spec; NULL: "interleaved" */
    char *libraries;          /* as in ak_task_spec; NULL: "default" */
    char *launcher, *workers; /* as in ak_task_spec; not sent to workers */
    int threads;              /* CPU threads; 0: the device has none of its own */
    uint64_t seed;
    char *kernel; /* as the user named it, so that a worker can open it again */
    char *size_text;
    char *choices_text;      /* also names the objective, unless that is the time */
    char *dtype_text;        /* the dtype that a recording states if only its space is known; else
                                NULL */
    ak_objective *objective; /* NULL: the time */
    char source_hash[AK_SOURCES_HASH_BYTES];
    ak_scope *constants; /* sizes, dtype, problem options and device facts */
    ak_space *space;
    json_t *definition; /* the definition that the space of a recording borrows from; else NULL */
    char *unused;       /* the warning of ak_task_unused; NULL: there is none */
    char *reason;       /* why this implementation or data sheet was chosen; NULL: it was named, or
                           there was no choice */
    const volatile int *cancel; /* *cancel is not 0 once the user cancels; NULL: never */
};

/* The facts that a task needs to know of its device. The caller gets them from the backend, because
   problem/ knows no backends. `facts` are names for expressions (cpu_threads, l2_bytes, ...);
   `available` is as in ak_space_spec. */
typedef struct ak_device_facts {
    const char *backend, *device;
    const char *opens;   /* as in ak_task; NULL: `device` */
    const char *devices; /* separated by commas, `device` first; NULL: only `device` */
    const ak_scope *facts;
    bool sheet;   /* the facts come from a data sheet */
    bool outline; /* the space is an outline (space.h): the task is for a worker */
    bool (*available)(void *context, const char *compiler);
    void *available_context;
    /* If not NULL, a recording takes the place of a device: implementations for every backend fit,
       "Needs" and the memory of this machine are not checked, and this function makes the space. A
       rank that reads unknown names is ignored. The space borrows from *definition, which the task
       owns. */
    ak_status (*space)(ak_space **out, json_t **definition, void *context,
                       const ak_implementation_spec *implementation, const ak_scope *constants,
                       ak_error *err);
    void *space_context;
    const char *rank; /* stated by the recording, in place of the implementation's; NULL: none */
    /* If not NULL, this problem is used and spec->kernel is not opened; the task takes it over,
       also on failure. */
    ak_problem *problem;
} ak_device_facts;

/* Binds a spec to a device. The caller ends the task with ak_task_close. */
ak_status ak_task_bind(ak_task **out, const ak_task_spec *spec, const ak_device_facts *device,
                       ak_error *err);

/* Adds the names and values of the problem options to a scope, as a task does for its expressions.
   Options that the text `choices` ("activation=relu", or NULL) names get the values in it; the
   others get their defaults. */
ak_status ak_task_choices_scope(ak_scope *out, ak_problem *problem, const char *choices,
                                ak_error *err);

/* Computes the shape at some sizes; `size` holds a number for each size of the problem. Returns an
   error if a size or an extent is below 1, if another expression of the problem has no sensible
   value, if elements or bytes overflow, or if the arguments and the copies that a check needs
   exceed this machine's memory, unless nothing can be run. */
ak_status ak_task_shape(ak_shape *out, const ak_task *task, const int64_t *size, ak_error *err);

/* Writes sizes as "M=7,N=33". */
void ak_task_size_text(char *out, size_t bytes, const ak_problem *problem, const int64_t *size);

/* Returns true if every name that the expression reads is a parameter or a constant of the task. */
bool ak_task_knows(const ak_task *task, const char *expression);

/* Makes a scope of all names that expressions may use at a shape: constants, sizes and the
   parameters of a configuration (or NULL). The caller frees it with ak_scope_free; the task must
   outlive it. */
ak_status ak_task_scope(ak_scope **out, const ak_task *task, const ak_shape *shape,
                        const ak_config *config, ak_error *err);

/* Sets *out to whether the implementation and, unless it is NULL, the configuration may run at this
   shape: whether `Needs` and the conditions with `EverySize` hold there. A condition that cannot be
   evaluated does not hold. */
ak_status ak_task_allows(bool *out, const ak_task *task, const ak_shape *shape,
                         const ak_config *config, ak_error *err);

/* Sets *out to the first condition of the space that a configuration breaks at a shape, or to NULL.
   A condition that cannot be evaluated is broken. A valid configuration breaks none at the task's
   own sizes. The text lives as long as the task. */
ak_status ak_task_broken_condition(const char **out, const ak_task *task, const ak_shape *shape,
                                   const ak_config *config, ak_error *err);

/* Returns true if all parameters that the conditions with `EverySize`, Workspace and Threads read
   have equal values in both configurations, so that both are allowed at the same shapes and need
   the same workspace and threads there. Returns false for an implementation with a "Launch", which
   may differ at any shape. */
bool ak_task_needs_alike(const ak_task *task, const ak_config *a, const ak_config *b);

/* Returns a fact of the device that is a whole number ("l2_bytes"); 0 if it is unknown. */
int64_t ak_task_fact(const ak_task *task, const char *name);
/* Returns the dtype of argument `i`. */
ak_dtype ak_task_argument_dtype(const ak_task *task, size_t i);
/* Returns the dtype whose rate of arithmetic limits the task. Of the inputs with more than one
   element, the first two are what is multiplied. If both, or the only one, have 8 bits, it is the
   first one's dtype. Otherwise it is the task's or, if that has 8 bits, that of a wider float among
   the two: a sum of weights by 8-bit keys computes as its weights do. */
ak_dtype ak_task_operands(const ak_task *task);

/* Appends to the message in `err` the shape, if it is not the task's own, and the configuration
   (NULL: none), as far as there is room; leaves the message of AK_NO_MEMORY as it is. Returns err's
   status, or AK_INVALID if `err` is NULL. */
ak_status ak_task_blame(const ak_task *task, const ak_shape *shape, const ak_config *config,
                        ak_error *err);

/* Computes the workspace and the threads of a configuration at a shape. If an expression has no
   value, or one that this machine does not allow, the error names the expression, its value and the
   configuration; it rules out this configuration only. */
ak_status ak_task_workspace(size_t *bytes, int *threads, const ak_task *task, const ak_shape *shape,
                            const ak_config *config, ak_error *err);

/* Write and read the spec that rebuilds a task (kernel, implementation, device, sizes, ...) as
   JSON. The caller releases *out; the spec that is read borrows from `object`. */
ak_status ak_task_spec_to_json(json_t **out, const ak_task *task, ak_error *err);
ak_status ak_task_spec_from_json(ak_task_spec *out, const json_t *object, ak_error *err);
/* Returns the value of an option as Python gets it: a text, an integer or a float. The caller owns
   it; NULL: no memory. */
json_t *ak_task_choice_json(const ak_task *task, size_t index);

#endif
