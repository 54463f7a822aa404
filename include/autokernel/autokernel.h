/*
 * autokernel.h: finds fast, correct configurations of compute kernels.
 *
 * Read this header from top to bottom: it is in the order in which a program uses it.
 *
 *   1. status and errors         what a call that can fail returns
 *   2. values, parameters, spaces   what can be tuned
 *   3. problems and tasks        what is to be computed, where
 *   4. trials                    what was measured
 *   5. the archive               where trials live
 *   6. tester and optimizer      try one configuration; find the best one
 *   7. comparing and reporting   against vendor libraries, for people and programs
 *   8. language models           which one proposes, and what it may cost
 *   9. lists                     what this build and this machine offer
 *  10. recordings                compare strategies without a device
 *  11. studies                   compare ways of searching at equal budgets
 *  12. bundles                   results that run where autokernel is not installed
 *
 * Conventions. A function that can fail returns ak_status and takes `ak_error *err` last; err may
 * be NULL. Out parameters come first; after a failure they own nothing and mean nothing, unless
 * their comment says otherwise.
 * The caller owns an object that `_open` or `_new` returns and ends it with `_close` or `_free`,
 * which accept NULL. A returned `const char *` lives as long as the object it came from. One thread
 * at a time may use an object. Names of times end in _ns, _ms or _seconds, names of sizes in
 * _bytes. Rates are decimal: 1 TFLOP/s = 1e12 flop/s, 1 GB/s = 1e9 byte/s. The locale changes no
 * text that is read or written: a program may call setlocale.
 *
 * The library runs the autokernel executable, which compiles and measures: the one that
 * AUTOKERNEL_WORKER names, else one beside the program, else the one that was installed with the
 * library, else one in PATH. Build a program with `cc x.c $(pkg-config --cflags --libs
 * autokernel)`.
 */
#ifndef AUTOKERNEL_H
#define AUTOKERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AK_API __attribute__((visibility("default")))

#define AK_VERSION "0.1.0"
AK_API const char *ak_version(void);

/* ---- 1. status and errors -------------------------------------------------------------------- */

/* X(NAME, text). A failed *candidate* is not an error but a trial (section 4) with a status. */
#define AK_STATUS_MAP(X)                                                                           \
    X(OK, "ok")                                                                                    \
    X(INVALID, "invalid input")                                                                    \
    X(NOT_FOUND, "not found")                                                                      \
    X(NO_MEMORY, "out of memory")                                                                  \
    X(IO, "input or output failed")                                                                \
    X(CORRUPT, "damaged data")                                                                     \
    X(LIMIT, "a limit was exceeded")                                                               \
    X(TIMED_OUT, "took too long")                                                                  \
    X(CANCELLED, "cancelled")                                                                      \
    X(CRASHED, "a child process crashed")                                                          \
    X(UNAVAILABLE, "not available on this machine")                                                \
    X(INTERNAL, "internal error")

typedef enum ak_status {
#define AK_STATUS_ENUM(name, text) AK_##name,
    AK_STATUS_MAP(AK_STATUS_ENUM)
#undef AK_STATUS_ENUM
} ak_status;

AK_API const char *ak_status_text(ak_status status);

/* Describes a failure in one line: what went wrong, where, and what to do. The caller owns it,
   usually on the stack, and starts from AK_ERROR_INIT. */
typedef struct ak_error {
    ak_status status;
    char text[480];
} ak_error;
#define AK_ERROR_INIT                                                                              \
    {                                                                                              \
        AK_OK, ""                                                                                  \
    }

/* ---- 2. values, parameters, spaces ----------------------------------------------------------- */

typedef enum ak_value_type {
    AK_VALUE_BOOL,
    AK_VALUE_INT,
    AK_VALUE_REAL,
    AK_VALUE_STRING,
    AK_VALUE_LIST
} ak_value_type;

/* A parameter's or an expression's value. Strings and lists belong to the space or the arena that
   the value came from. */
typedef struct ak_value {
    ak_value_type type;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string;
        struct {
            const struct ak_value *items;
            size_t count;
        } list;
    } as;
} ak_value;

/* A configuration: the index of the chosen value for each parameter of its space. It is plain data:
   copy it freely, zero it to start. Positions after the space's last parameter are 0. */
#define AK_PARAMETERS_MAX 64
typedef struct ak_config {
    uint16_t at[AK_PARAMETERS_MAX];
} ak_config;

/* How the value of a parameter reaches the compiler. */
typedef enum ak_parameter_use {
    AK_USE_DEFINE,   /* -DNAME=value; a string or bool also as -DNAME_is_value=1 */
    AK_USE_OPTION,   /* options on the compiler's command line: "compiler passes" */
    AK_USE_COMPILER, /* the compiler itself */
} ak_parameter_use;

typedef struct ak_parameter {
    const char *name;
    const char *description; /* "" if none */
    const ak_value *values;
    size_t value_count;
    size_t default_index; /* the value in the default configuration */
    ak_parameter_use use;
    bool numerics; /* changes results: only its default is offered unless the task allows more */
} ak_parameter;

/* The valid configurations of an implementation for one task. A space is immutable. */
typedef struct ak_space ak_space;

AK_API size_t ak_space_parameter_count(const ak_space *space);
AK_API const ak_parameter *ak_space_parameter(const ak_space *space, size_t index);
AK_API size_t ak_space_condition_count(const ak_space *space);
AK_API const char *ak_space_condition(const ak_space *space, size_t index);
AK_API const char *ak_space_condition_reason(const ak_space *space, size_t index); /* "" if none */
/* Returns the size of the Cartesian product of all values. It is a double because it may exceed
   2^64. */
AK_API double ak_space_cartesian(const ak_space *space);
/* Returns true if some valid configuration gives the parameter this value; both are indices. */
AK_API bool ak_space_occurs(const ak_space *space, size_t parameter, size_t value);
/* Returns the number of valid configurations. Their indices are 0..count-1. */
AK_API uint64_t ak_space_count(const ak_space *space);
AK_API void ak_space_at(ak_config *out, const ak_space *space, uint64_t index);
/* Returns false if the configuration is not in the space. `index` may be NULL. */
AK_API bool ak_space_find(uint64_t *index, const ak_space *space, const ak_config *config);
/* Gives the default configuration: the declared one or, if a condition excludes that, the valid
   configuration nearest to it. */
AK_API void ak_space_default(ak_config *out, const ak_space *space);

/* Writes the canonical text, which identifies a configuration: "MR=6,KC=256,compiler=gcc", with the
   parameters in the order of the space. At most `bytes` are written, the final 0 included. Returns
   the length of the whole text. */
AK_API size_t ak_config_format(char *out, size_t bytes, const ak_space *space,
                               const ak_config *config);
/* Reads "k=v,k=v" in any order. A parameter that is left out takes its value in ak_space_default.
   AK_INVALID if the configuration is not valid. */
AK_API ak_status ak_config_parse(ak_config *out, const ak_space *space, const char *text,
                                 ak_error *err);

/* ---- 3. problems and tasks ------------------------------------------------------------------- */

/* What to compute: a kernel folder (problem.json and implementations), built in or the user's
   own. */
typedef struct ak_problem ak_problem;

/* Opens a problem. `name` is a built-in kernel ("matmul"), a folder with a problem.json, a Python
   file with a Triton kernel (kernel.py, or kernel.py:function) and its settings beside it, or a T1
   file. AK_INVALID if a folder uses the name of a built-in problem or implementation for something
   else. */
AK_API ak_status ak_problem_open(ak_problem **out, const char *name, ak_error *err);
AK_API void ak_problem_close(ak_problem *problem);
AK_API const char *ak_problem_name(const ak_problem *problem);
AK_API const char *ak_problem_description(const ak_problem *problem);
/* Describes the problem for people: one line for each size, dtype, option, argument and
   implementation, and lines on what is not used or keeps it from being run. Free with
   ak_text_free. */
AK_API ak_status ak_problem_describe(char **out_text, const ak_problem *problem, ak_error *err);
AK_API size_t ak_problem_implementation_count(const ak_problem *problem);
AK_API const char *ak_problem_implementation(const ak_problem *problem, size_t index);

/* Everything that determines a measurement except the configuration. A text may be NULL for its
   default. */
typedef struct ak_task_spec {
    const char *kernel;         /* as for ak_problem_open */
    const char *implementation; /* "host"; NULL: the first for the device that can do the task; see
                                   ak_task_choose */
    /* "auto", "host" or "cuda:0". "cuda:all" and "cuda:0,cuda:1" name equal devices that share the
       trials of ak_tune; everything else happens on the first of them. "auto" (NULL) is the first
       device that the implementation can use. "cuda:H200" is a data sheet (docs/cuda.md), for which
       spaces can be listed without such a device. */
    const char *device;
    const char *size;  /* "M=1024,N=1024,K=1024", or "1024" for all sizes */
    const char *dtype; /* "f32" */
    /* Options of the problem, "activation=relu,bias=add". The option `objective` exists for every
       problem: "objective=energy" (docs/protocol.md, "Objectives"). */
    const char *choices;
    bool allow_numerics; /* offer compiler options that change results */
    bool kept;           /* the kernel is a folder of sources that were kept, for instance in a
                            bundle; it may be an earlier version of the built-in kernel of the same
                            name */
    bool look;           /* nothing will be run: if the machine has no device for the
                            implementation, a data sheet takes its place */
    const char *fix;     /* "MR=6,KC=256:512": only these values of these parameters */
    /* Libraries to compare with: "default" (NULL) for those that start quickly, "all", "none", or
       names, such as "default,torch-eager". */
    const char *libraries;
    /* How comparisons and finishes order their batches: "interleaved" (NULL), "burst" or
       "sustained" (docs/cuda.md). */
    const char *protocol;
    /* How workers are started on other machines: "ssh:gpu1,gpu2*4", "slurm", "cmd:WORDS"
       (docs/scale.md); NULL: workers are processes of this machine. The other machines must be like
       this one, because the task looks for devices, compilers and libraries here only. */
    const char *launcher;
    /* Number of workers that the launcher starts, as "N" or "MIN-MAX": work begins with MIN of them
       and takes the others when they come. NULL: from one to as many as the launcher has places
       for. */
    const char *workers;
    int threads; /* CPU threads for host kernels and libraries; 0: all */
    /* Seed of searches, and of the inputs at edge-case sizes; every run records it. Inputs that are
       timed are drawn by the system, so that no kernel can hold their answers. */
    uint64_t seed;
} ak_task_spec;

typedef struct ak_task ak_task;

AK_API ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err);
AK_API void ak_task_close(ak_task *task);
/* Testers and comparisons of this task end with AK_CANCELLED once *cancel is not zero: within a
   fraction of a second and without leaving a process behind. A signal handler may set the variable,
   which must outlive the testers and comparisons. (ak_tune has an option of its own.) */
AK_API void ak_task_set_cancel(ak_task *task, const volatile int *cancel);
AK_API const ak_space *ak_task_space(const ak_task *task);
AK_API const ak_problem *ak_task_problem(const ak_task *task);
AK_API const char *ak_task_implementation(const ak_task *task);
/* Explains in one line why this implementation, or this device's data sheet, was chosen; NULL if
   the caller named it or there was no choice. */
AK_API const char *ak_task_reason(const ak_task *task);
/* Returns true if the device is known by its data sheet only. Such a task can be inspected;
   whatever would run on the device fails with AK_UNAVAILABLE. */
AK_API bool ak_task_by_sheet(const ak_task *task);
/* Returns what results are compared with: "C function in reference.c", "Python function
   reference.py:reference", "arrays in files (c.npy), one size only", "implementation host_plain of
   the same problem", or "agrees with the default configuration (the weakest reference)". NULL for a
   task whose results cannot be checked: a recording or a space by itself. */
AK_API const char *ak_task_reference(const ak_task *task);
/* Says what is ignored in the implementation's source, such as OpenMP directives if the space file
   does not ask for OpenMP, or in the task's recording; NULL: nothing. */
AK_API const char *ak_task_ignored(const ak_task *task);
/* Names the parameters that neither the implementation's source nor its space file uses, so that
   all their values give the same code; NULL: there are none, or it is not known. */
AK_API const char *ak_task_unused(const ak_task *task);
/* Returns how many edge-case sizes the problem lists ("awkward" in problem.json). A configuration
   is checked at those where it is valid (ak_task_edge_cases_of), in a search at one of them at
   most. */
AK_API size_t ak_task_edge_cases(const ak_task *task);
/* Gives the number of edge-case sizes at which a configuration can be checked: "Needs" and the
   conditions with "EverySize" may exclude some or all of them. */
AK_API ak_status ak_task_edge_cases_of(size_t *out, const ak_task *task, const ak_config *config,
                                       ak_error *err);
/* The sizes at which a configuration can be checked: the task's own, those that the problem lists,
   and sizes between these, which are drawn at random. */
typedef enum ak_checked_sizes {
    AK_CHECKED_OWN,    /* the task's own only */
    AK_CHECKED_LISTED, /* some of the edge-case sizes, too */
    AK_CHECKED_DRAWN   /* at least one size that is drawn, too */
} ak_checked_sizes;
/* Gives how far the checks of a configuration reach. Conditions may exclude sizes, a problem may
   list none or leave none between those that it lists, and inputs from files exist at one size
   only. */
AK_API ak_status ak_task_checked_sizes(ak_checked_sizes *out, const ak_task *task,
                                       const ak_config *config, ak_error *err);
AK_API const char *ak_task_device(const ak_task *task);  /* "host"; the first of several */
AK_API const char *ak_task_devices(const ak_task *task); /* all of them: "cuda:0,cuda:1" */
AK_API const char *ak_task_size(const ak_task *task);    /* "M=1024,N=1024,K=1024" */
AK_API const char *ak_task_dtype(const ak_task *task);   /* "" if a recording does not say it */
AK_API const char *ak_task_choices(const ak_task *task); /* options of the problem; "" if it has
                                                            none */
AK_API double ak_task_flops(const ak_task *task);        /* useful work of one run, in flop */
AK_API double ak_task_bytes(const ak_task *task);        /* compulsory traffic of one run */
/* Gives what is known before anything is compiled, as one JSON object (free with ak_text_free).
   Without a configuration (NULL) it has "hardware" and "shape", objects of texts. With one, which
   must be in the task's space, it has "text" (canonical), "config", "index", "derived" (what
   follows from it by the formulas of its space file, as texts) and, except for recordings,
   "compiler", "options", "threads" and "workspace_bytes". */
AK_API ak_status ak_task_facts(char **out_json, const ak_task *task, const ak_config *config,
                               ak_error *err);

/* ---- 4. trials ------------------------------------------------------------------------------- */

/* X(NAME, text as stored, shown and exported) */
#define AK_TRIAL_MAP(X)                                                                            \
    X(OK, "ok")                                                                                    \
    X(INVALID, "invalid")                                                                          \
    X(COMPILE_ERROR, "compile_error")                                                              \
    X(LAUNCH_ERROR, "launch_error")                                                                \
    X(WRONG_RESULT, "wrong_result")                                                                \
    X(CRASHED, "crashed")                                                                          \
    X(TIMED_OUT, "timed_out")                                                                      \
    X(OUT_OF_MEMORY, "out_of_memory")                                                              \
    X(REJECTED, "rejected")

typedef enum ak_trial_status {
#define AK_TRIAL_ENUM(name, text) AK_TRIAL_##name,
    AK_TRIAL_MAP(AK_TRIAL_ENUM)
#undef AK_TRIAL_ENUM
        AK_TRIAL_STATUS_COUNT
} ak_trial_status;

AK_API const char *ak_trial_status_text(ak_trial_status status);
/* Returns false if the text names no status. */
AK_API bool ak_trial_status_parse(ak_trial_status *out, const char *text);

/* The `strategy` of trials that record a failed check: the configuration passed in the search, but
   failed a check at more sizes, such as that before the finish. Such a configuration is never the
   best, unless the reason says that the check did not judge it. */
#define AK_FINALISTS "check of the finalists"

/* What lists append to a trial with `same_code`. */
#define AK_SAME_CODE " (not measured: same code and time as an earlier trial)"

/* The outcome of one configuration. Texts are owned by the trial or NULL. A time that was not
   measured is 0. A failed trial has no samples. */
typedef struct ak_trial {
    int64_t id; /* row in the archive, 0 if not archived */
    char *run;
    char *timestamp; /* UTC, "2026-11-21T10:54:22.123Z" */
    char *kernel;
    char *implementation;
    char *device;
    char *size;
    char *dtype;
    char *choices;
    char *config;      /* canonical text, which identifies the configuration */
    char *environment; /* hash of device, compilers, source and library versions */
    /* Who proposed it. */
    char *strategy; /* AK_FINALISTS: the trial records a failed check */
    char *model;    /* the language model; NULL if none proposed it */
    int generation;
    int64_t parent;        /* trial it was derived from, 0 if none */
    double predicted_gain; /* predicted reduction of the parent's time: 0.1 is 10 % */
    char *hypothesis;      /* the model's reason, one line; NULL: none */
    /* What became of it. */
    ak_trial_status status;
    char *reason; /* why the trial failed, or what is to be known of its time, in one line; NULL:
                     nothing */
    int64_t propose_ns, compile_ns, check_ns, measure_ns, overhead_ns;
    double *samples_ms;
    size_t sample_count;
    double median_ms, ci_low_ms, ci_high_ms; /* 95 % interval of the median; see
                                                ak_trial_few_samples */
    double max_error;                        /* largest error as a fraction of what is allowed */
    int registers, shared_bytes, spill_bytes;
    double occupancy;
    double tflops, gbs, efficiency; /* efficiency: fraction of the roofline; it can exceed 1, such
                                       as for data that stay in a cache */
    char *bound;                    /* "compute" or "memory" */
    /* Where it was measured: several devices may share a run. */
    char *measured_on; /* "cuda:1"; NULL: not recorded */
    char *device_uuid; /* "GPU-5fd4f087-..."; NULL: the device has none */
    /* The device's state while it measured, as its driver reports it: means over samples; 0 and
       NULL: not known. */
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius;
    char *throttle;     /* why the clock was reduced: "none", "power_cap", "power_cap,thermal" */
    double utilisation; /* of the arithmetic units at that clock, 0..1; set if bound by compute */
    /* The number, from 1, of the run's compile worker that compiled it, and the time from the end
       of the compilation to the end of the trial; 0: not known. */
    int compile_worker;
    int64_t compiled_before_ns;
    /* Energy of one call with the least and the most that was measured, and the bytes of machine
       code; 0: not known. */
    double joules, joules_low, joules_high;
    int code_bytes;
    /* What a search minimises if the objective is not the time, with its interval: the value of the
       objective, or its reciprocal if more is better; 0: the objective is the time. */
    double cost, cost_low, cost_high;
    char *code_hash; /* of the machine code that was judged; NULL: not known or specialised */
    /* 1: it was not measured, because an earlier trial in the run has the same code and runs it in
       the same way; outcome, time and samples are copied from that trial. Else 0. */
    int same_code;
    /* 1: ak_archive_import added it to its archive, from a file or another archive, so it may have
       been measured on another machine or by another tool. Else 0. */
    int imported;
    /* If the time is from the finish of a run (ak_archive_best): how many candidates took part in
       it, and the seconds that were planned for them, as in ak_noise. 0: not known, or the time is
       from a search. */
    size_t finish_candidates;
    double finish_seconds;
    /* If the time is from the finish of a run: the time that the search had measured, in batches
       too short for a power limit to act, and the clock meanwhile. 0: not known. */
    double search_ms, search_clock_mhz;
} ak_trial;
/* Returns a trial's number of samples if they are too few for a 95 % interval of the median, so
   that `ci_low_ms` and `ci_high_ms` are only their range; else 0. Always 0 for a time from a finish
   (`search_ms` is set), whose interval comes from its rounds. */
AK_API size_t ak_trial_few_samples(const ak_trial *trial);
/* Returns the figure by which trials of one task are compared, less is better: the cost or, if the
   objective is the time, the median in ms; 0 if the trial failed. */
AK_API double ak_trial_cost(const ak_trial *trial);
/* Returns the value that the trial's cost stands for, under the objective that its choices name; 0
   if that is the time. ak_choices_objective gives the name of that objective, "time" if the choices
   name none. */
AK_API double ak_trial_value(const ak_trial *trial);
#define AK_OBJECTIVE_NAME_BYTES 256
AK_API const char *ak_choices_objective(char out[AK_OBJECTIVE_NAME_BYTES], const char *choices);

/* Where a task lies on the roofline of its device (Williams, Waterman, Patterson 2009), and how
   much of it was reached. A member that is not known is 0. */
typedef struct ak_placement {
    double flops, bytes; /* useful work of one run, and the traffic that it cannot avoid */
    double intensity;    /* flop/byte */
    double peak_tflops, bandwidth_gbs;    /* the ceilings of the device for this task */
    bool cache;                           /* bandwidth_gbs is a cache's: it holds all data */
    double memory_gbs, cache_gbs, l1_gbs; /* bandwidth of the memory, the last private and the first
                                             cache */
    double compute_ms, memory_ms; /* least time of the arithmetic and of the traffic; the longer one
                                     binds */
    bool memory_bound;
    double tflops, gbs, efficiency; /* reached; efficiency: fraction of the limit that binds */
    double compute_utilisation, bandwidth_utilisation; /* fractions of each ceiling; 1: all of it */
} ak_placement;

/* Returns a clause that explains why a fraction of the roofline is above 1, such as "the device was
   slower when its ceilings were measured"; "" if it is not above 1. */
AK_API const char *ak_efficiency_doubt(double efficiency, bool memory_bound);
typedef void (*ak_placement_visitor)(void *context, const char *name, const char *text);
/* Calls the visitor for each fact that is known, with a name and a text: "intensity", "170.7
   flop/byte (...)". */
AK_API void ak_placement_describe(const ak_placement *placement, ak_placement_visitor visit,
                                  void *context);
/* Places one trial from the archive. A trial records its rates but not the device's ceilings, so
   the members for ceilings, bandwidths and least times are 0. */
AK_API void ak_place_trial(ak_placement *out, const ak_trial *trial);

AK_API void ak_trial_clear(ak_trial *trial);
AK_API ak_status ak_trial_copy(ak_trial *out, const ak_trial *trial, ak_error *err);
/* Returns the object that `autokernel history --json` prints (docs/formats.md). Free with
   ak_text_free. */
AK_API ak_status ak_trial_json(char **out_text, const ak_trial *trial, ak_error *err);

/* ---- 5. the archive -------------------------------------------------------------------------- */

/* A store of trials and runs in one SQLite file. A trial is durable when the call that adds it
   returns; ak_tune keeps its trials in memory while the archive cannot be written. Several
   processes may use one archive at once. */
typedef struct ak_archive ak_archive;

/* Opens the archive, and creates it if it does not exist. `path` NULL means AUTOKERNEL_ARCHIVE or,
   if that is not set, autokernel/archive.db under the XDG data folder. Only that folder is created;
   any other must exist (AK_NOT_FOUND). A file with a newer schema or with damage is refused and not
   changed; damage in a file above 64 MiB may be found only when it is read. */
AK_API ak_status ak_archive_open(ak_archive **out, const char *path, ak_error *err);
/* Opens the archive as ak_archive_open does, but creates nothing: if the file does not exist, the
   archive is empty. If the file or its folder cannot be written, the archive is a copy in
   memory. */
AK_API ak_status ak_archive_open_existing(ak_archive **out, const char *path, ak_error *err);
AK_API void ak_archive_close(ak_archive *archive);
AK_API const char *ak_archive_path(const ak_archive *archive);
/* Returns the path of the file into which the latest run wrote its results because the archive
   could not be written, and which ak_archive_import can add (format "json"); NULL: there is none.
   Valid until the archive is closed. */
AK_API const char *ak_archive_left(const ak_archive *archive);

/* Selects trials. A field that is NULL or 0 matches everything, with one exception: trials on
   recordings (devices "sim:FILE") match only if `device`, `run`, `environment` or `simulated` asks
   for them, because nothing was measured in them. The device "sim" matches all of these. `run` may
   be a run of ak_tune_sizes; then the trials of all its sizes match. */
typedef struct ak_archive_filter {
    const char *kernel, *implementation, *device, *size, *dtype, *choices, *run, *environment;
    const char *config;
    const char *named; /* how a command names the kernel, for errors only; NULL: as `kernel` */
    const char *place; /* where ak_archive_best looks first for the kernel as it is now; NULL: only
                          where its runs found it */
    const ak_problem *problem; /* not NULL: leave out trials whose sizes have other names than this
                                  problem's: of another kernel of the same name */
    int64_t id;                /* id of one trial */
    bool ok_only;
    bool winner;     /* include the winner of `run` if --resume took it over from another run */
    bool simulated;  /* include trials on recordings */
    bool best_first; /* order by cost, which is the median in ms unless the objective is another,
                        with failed trials last; default: by time stamp, oldest first */
    size_t limit;
} ak_archive_filter;

/* Gives the id of the run that `text` names: its whole id, or at least 4 of its first digits if no
   other run begins with them. AK_NOT_FOUND if the archive has no such run, which a filter would not
   report; AK_INVALID if several begin so. Free with ak_text_free. */
AK_API ak_status ak_archive_find_run(char **out_id, ak_archive *archive, const char *text,
                                     ak_error *err);
/* Returns the array of runs that `autokernel history --runs --json` prints (docs/formats.md),
   newest first. Of the filter only kernel, implementation, device, size, dtype, choices, run (a
   whole id) and limit count; runs on recordings match unless the device says otherwise. *matched
   counts all that match. Free with ak_text_free. */
AK_API ak_status ak_archive_runs_json(char **out_text, size_t *matched, ak_archive *archive,
                                      const ak_archive_filter *filter, ak_error *err);

/* Receives each trial, which is borrowed for the call. Returning false stops. */
typedef bool (*ak_trial_visitor)(void *context, const ak_trial *trial);
AK_API ak_status ak_archive_each(ak_archive *archive, const ak_archive_filter *filter,
                                 ak_trial_visitor visit, void *context, ak_error *err);

/* Adds a trial, which is durable when the call returns. Sets trial->id and, if it is NULL,
   trial->timestamp. The run, if the trial has one, must be in the archive. In a reason, model or
   hypothesis, bytes that are not UTF-8 are replaced by U+FFFD, because a compiler may print
   anything; other texts must be UTF-8. */
AK_API ak_status ak_archive_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err);

/* Adds a trial that failed a check (ak_tester_check) if the archive has a result for the same
   configuration, task and environment, which then no longer counts for ak_archive_best; *out says
   whether the trial was added. One that passed or was not judged never is. Always sets
   trial->strategy to AK_FINALISTS, because finalists get the same check. */
AK_API ak_status ak_archive_refute(bool *out, ak_archive *archive, ak_trial *trial, ak_error *err);

/* Finds the best configuration of one task. The winner of a run's finish, where it was measured
   again beside the baselines, takes precedence over the trial of the least cost (ak_trial_cost),
   which is partly luck; of several finishes the latest that measured a configuration counts for it.
   All matching successful trials must be of one task (kernel, device, size, dtype, choices), else
   AK_INVALID. If an implementation has several environments, the one with the latest trial, by its
   time, counts, unless the kernel has changed since and another environment, which differs in
   nothing but the source, has trials of the kernel as it is now (an edit that was taken back). If
   there are several implementations, that of the least cost counts, among those whose environments
   differ in the source only. AK_NOT_FOUND if no successful trial matches, or if later checks
   refuted all configurations. The caller clears `out`. */
AK_API ak_status ak_archive_best(ak_trial *out, ak_archive *archive,
                                 const ak_archive_filter *filter, ak_error *err);

/* A list of trials. ak_trials_clear frees it; a list that is all zero is empty. */
typedef struct ak_trials {
    ak_trial *list;
    size_t count;
} ak_trials;
AK_API void ak_trials_clear(ak_trials *trials);
/* Finds the best configuration (ak_archive_best) of every task and implementation that the filter
   matches, in the order in which they first had a successful trial. A task is left out if a later
   check refuted all its configurations. The caller clears `out`. */
AK_API ak_status ak_archive_best_of_tasks(ak_trials *out, ak_archive *archive,
                                          const ak_archive_filter *filter, ak_error *err);

/* Gives what a trial's run says of it if it is the run's best (ak_archive_best), as a JSON object:
   "baseline", "over_default" and "warnings" as in best_config.json (docs/formats.md), and
   "undecided", a sentence about the speeds that the finish did not decide. Members for which the
   run says nothing are null. Free with ak_text_free. */
AK_API ak_status ak_archive_evidence(char **out_text, ak_archive *archive, const ak_trial *trial,
                                     ak_error *err);

/* Copies the first matching trial to *out, which the caller clears; *found says whether one
   matches. */
AK_API ak_status ak_archive_first(bool *found, ak_trial *out, ak_archive *archive,
                                  const ak_archive_filter *filter, ak_error *err);

/* Counts the matching trials and, unless `environments` is NULL, the environments that occur in
   them. The filter's order and limit are ignored. */
AK_API ak_status ak_archive_count(size_t *trials, size_t *environments, ak_archive *archive,
                                  const ak_archive_filter *filter, ak_error *err);

/* Writes and reads files of trials; ak_list(AK_LIST_FORMATS) names the formats. Export writes the
   file `path` completely or not at all, or to standard output ("-"). Import adds all trials of the
   file or none. It skips trials that the archive already has: those with the same configuration and
   time stamp (or the same result, if there is no time stamp) and with the same run, task and
   environment as far as the file gives them. `known` (may be NULL) counts the skipped trials. If
   `format` is NULL, import recognises it by the contents. A file to import may be compressed with
   gzip. With `format` NULL it may also be another archive: then its runs, environments, sources and
   conversations are added as well, and runs whose ids are taken get new ones. */
AK_API ak_status ak_archive_export(ak_archive *archive, const ak_archive_filter *filter,
                                   const char *format, const char *path, ak_error *err);
/* What a format of export holds, and so which function writes it. */
typedef enum ak_format_content {
    AK_FORMAT_TRIALS, /* ak_archive_export, ak_archive_export_text */
    AK_FORMAT_TASK,   /* ak_task_export */
    AK_FORMAT_BUNDLE  /* ak_bundle_export */
} ak_format_content;
AK_API ak_status ak_format_holds(ak_format_content *out, const char *format, ak_error *err);
/* Gives what ak_archive_export would write. Free with ak_text_free. */
AK_API ak_status ak_archive_export_text(char **out, ak_archive *archive,
                                        const ak_archive_filter *filter, const char *format,
                                        ak_error *err);
AK_API ak_status ak_archive_import(size_t *added, size_t *known, ak_archive *archive,
                                   const char *format, const char *path, ak_error *err);
/* Says what the last ak_archive_import did not take from its file: the cut-off last entry of a
   Kernel Tuner cache, or the result of a run whose beginning is in another archive; NULL:
   nothing. */
AK_API const char *ak_archive_left_out(const ak_archive *archive);
/* Returns how many of the trials that the last ak_archive_import added have a time but no
   device. */
AK_API size_t ak_archive_unplaced(const ak_archive *archive);
/* Returns how many runs in this archive got their result from the last ak_archive_import. */
AK_API size_t ak_archive_results_added(const ak_archive *archive);

/* Writes a file that describes a task instead of trials. The format "t1" is its space as other
   tuners read it, with sizes, options and device facts resolved. */
AK_API ak_status ak_task_export(const ak_task *task, const char *format, const char *path,
                                ak_error *err);

/* How much ak_archive_remove removes or would remove. */
typedef struct ak_removal {
    size_t runs, trials, calls, sources;
    size_t resumed_by; /* runs that are kept although trials that they resumed are removed */
} ak_removal;
/* Removes a run, named as for ak_archive_find_run, with its trials and conversations and, if it is
   over many sizes, the runs of its sizes that no other such run names; or a trial, named as "#5".
   Sources and environments that nobody needs any more go too. Refuses (AK_INVALID) a run that is in
   progress on this machine, or a trial of such a run. *out counts what is removed or, unless
   `really` is set, what would be. */
AK_API ak_status ak_archive_remove(ak_removal *out, ak_archive *archive, const char *what,
                                   bool really, ak_error *err);

typedef void (*ak_source_visitor)(void *context, const char *name, const char *data, size_t length);
/* Calls the visitor for each file ("matmul/host.c") of the kernel that a trial measured, with the
   contents that it had then. AK_NOT_FOUND if there is no such trial, AK_UNAVAILABLE if the archive
   does not have its source. */
AK_API ak_status ak_archive_source(ak_archive *archive, int64_t trial, ak_source_visitor visit,
                                   void *context, ak_error *err);

/* Finds what ak_problem_open takes, from the current folder, for a kernel of the archive: `operand`
   (may be NULL) or the name `kernel`, if that opens a kernel of this name, else the folder that a
   run on this machine opened it from. *out is NULL if all fail (free with ak_text_free). */
AK_API ak_status ak_archive_kernel_place(char **out, ak_archive *archive, const char *kernel,
                                         const char *operand, ak_error *err);
/* Finds whether the kernel has changed since a trial measured it: the source of its implementation,
   the space file, problem.json or the reference. If so, *out_place is where the changed kernel is,
   a name for ak_problem_open (free with ak_text_free); NULL if the kernel is the same, or if that
   cannot be known: for recordings, imported trials and kernels that no longer exist. The kernel is
   looked for at `place` (may be NULL), then where the trial's run had it, then by its name alone,
   as ak_problem_open does. */
AK_API ak_status ak_archive_kernel_changed(char **out_place, ak_archive *archive,
                                           const ak_trial *trial, const char *place, ak_error *err);

/* Reads the configuration in a best_config.json, as text for ak_config_parse; the parameters have
   the order of the file. Free with ak_text_free. */
AK_API ak_status ak_best_config_read(char **out_text, const char *path, ak_error *err);

/* ---- 6. tester and optimizer ----------------------------------------------------------------- */

/* Compiles, checks and times configurations of one task, one at a time, in a process of its own: a
   crash or a hang of a candidate costs one trial. */
typedef struct ak_tester ak_tester;

AK_API ak_status ak_tester_open(ak_tester **out, const ak_task *task, ak_error *err);
AK_API void ak_tester_close(ak_tester *tester);
/* Compiles, checks and times one configuration. What the candidate did is in `out`, which the
   caller clears, also if the candidate failed. AK_INVALID if the configuration is not in the space;
   other errors say that the harness failed or was cancelled. */
AK_API ak_status ak_tester_run(ak_trial *out, ak_tester *tester, const ak_config *config,
                               ak_error *err);
/* Returns the highest pressure (ak_noise) on this machine before, while and after ak_tester_run
   measured, and during checks that timed out; negative: not known, as on a recording or on other
   machines. Writes a one-line warning if the pressure may have lengthened times or made a check
   time out, else "". */
AK_API double ak_tester_pressure(char *warning, size_t bytes, const ak_tester *tester);
/* Stores in an archive the facts of the environment that the tester's trials name by a hash (the
   version of the compiler, hashes of the sources and the like) and the sources, as ak_tune does.
   Without the facts, exports of these trials lack them, and ak_archive_kernel_changed cannot tell
   whether the kernel has changed; without the sources, no bundle can be made from these trials once
   it has. */
AK_API ak_status ak_tester_archive(const ak_tester *tester, ak_archive *archive, ak_error *err);
/* Writes one line about the hottest loop in a configuration's compiled code, after ak_tester_run:
   "hot loop: 96 FMA of 512 bits, 28 loads, 12 others; busiest: arithmetic". Returns false if that
   is not known, as for a recording or without a disassembler. */
AK_API bool ak_tester_code(char *out, size_t bytes, const ak_tester *tester,
                           const ak_config *config);
/* Has `waiting` called about every two seconds while a configuration is run or checked; `seconds`
   is the time since that began. NULL: never. */
AK_API void ak_tester_on_wait(ak_tester *tester, void (*waiting)(void *context, double seconds),
                              void *context);
/* Returns whether the device, the inputs and the reference's results are ready, which they are
   before the first configuration runs. Always false for a recording, which has none. */
AK_API bool ak_tester_ready(const ak_tester *tester);
/* Checks a configuration's results at the task's own size and, as far as ak_task_checked_sizes
   says, at the edge-case sizes and at sizes drawn at random; measures nothing. The caller clears
   `out`. */
AK_API ak_status ak_tester_check(ak_trial *out, ak_tester *tester, const ak_config *config,
                                 ak_error *err);
/* With `on`, ak_tester_check also runs each configuration under sanitizers at the edge-case sizes,
   if it passes, gives a wrong result or crashes: on the host a build with AddressSanitizer and
   UndefinedBehaviorSanitizer, on CUDA under compute-sanitizer; other backends have none. If the
   sanitizers find an error, or each call leaks memory, the reason says so, and a trial that had
   passed becomes AK_TRIAL_REJECTED. */
AK_API void ak_tester_sanitize(ak_tester *tester, bool on);
/* Writes one line on what the sanitizers have done so far, or why they did nothing; "" if they were
   not asked for. */
AK_API void ak_tester_sanitizing(char *out, size_t bytes, const ak_tester *tester);

/* Opens a task like ak_task_open. If spec->implementation is NULL, the device is no recording and
   several implementations can run the task, it chooses the fastest by measurements. First it looks
   in `archive` (may be NULL) for those from the same environment, at this size or at the nearest
   one within a factor of two at which all implementations were measured. Without these and with
   `race`, it compiles, checks, times and, with an archive, archives the default configuration of
   each now; without `race`, archived results of some implementations suffice. Without any result it
   takes the implementation that ak_task_open chooses. Other implementations in Triton do not take
   part. `cancel` may be NULL. */
AK_API ak_status ak_task_choose(ak_task **out, const ak_task_spec *spec, ak_archive *archive,
                                bool race, const volatile int *cancel, ak_error *err);

/* Receives the events of a run: the log, the progress bar and --events all read this stream. `json`
   is one object without line breaks; docs/formats.md lists the events and their fields. */
typedef void (*ak_event_sink)(void *context, const char *event, const char *json);

typedef struct ak_tune_options {
    /* NULL: "portfolio", with a language model "hybrid"; see ak_list(AK_LIST_STRATEGIES).
       Hyper-parameters follow a colon: "genetic:population=30,mutation=0.2"; see
       ak_list(AK_LIST_HYPERPARAMETERS). */
    const char *strategy;
    size_t evaluations;    /* configurations to try, resumed ones included; 0: 60 */
    double seconds;        /* wall time; 0: no limit */
    double spent_seconds;  /* part of `seconds` that was spent before the call, by the race of
                              ak_task_choose */
    double finish_seconds; /* time for which the finish measures each candidate; 0: 0.7, and 0.5 at
                              each size in ak_tune_sizes */
    double target_speedup; /* stop when a configuration beats the fastest library, or the default if
                              there is none, by this factor; 0: never. AK_INVALID on a recording,
                              which has no finish */
    bool resume;           /* count archived trials of the same task and environment as evaluated,
                              so that the resumed run ends where it would have ended */
    bool sanitize;         /* run finalists under sanitizers, too, as ak_tester_sanitize says */
    size_t finalists; /* how many of the best (of each device, if several share the run) the finish
                         measures beside the baselines and the default; 0: 3 */
    /* Configurations to try right after the default, as texts. Those that are not in the space are
       skipped. Borrowed for the call. */
    const char *const *first;
    size_t first_count;
    /* Recordings of this kernel at other sizes, dtypes or on other devices. Their best
       configurations are tried after the default, one by one while it pays, at most a tenth of the
       budget at a time; strategies that fit a model to the times also learn from the order of all
       their configurations. Without recordings, the archive's trials of this kernel elsewhere take
       their place, unless `like_none`. The event "like" reports how many there are and their
       source. Borrowed for the call. */
    const struct ak_recording *const *like;
    size_t like_count;
    bool like_none;
    ak_event_sink sink; /* may be NULL */
    void *sink_context;
    const volatile int *cancel; /* set to non-zero from a signal handler to end the run early */
    /* For strategies that ask a language model (llm, llm-oneshot, hybrid); NULL: none. The run's
       `cancel` counts instead of llm->cancel. If the model cannot be reached, the run reports it
       (the event "warning") and continues with "portfolio". Options that can never work are
       refused, such as one of these strategies without a model, or a budget for a model without a
       price. */
    const struct ak_llm_options *llm;
    bool llm_must_ask; /* true: AK_INVALID if the strategy asks no model; false: a warning if `llm`
                          is set */
    int generations;   /* questions to the model; 0: the strategy's default; 1: one shot */
    size_t batch;      /* proposals for each question; 0: what the budget leaves for each */
} ak_tune_options;

/* What a run asked a language model. Questions that a limit refused are not counted. */
typedef struct ak_llm_use {
    char *model;          /* NULL: none was asked */
    size_t calls, failed; /* failed: without an answer, by failure or by the end of the run */
    size_t uncounted;     /* calls whose tokens are not known, because none were reported or an
                             attempt was lost; they are not in the sums */
    int64_t input_tokens, output_tokens;
    int64_t tokens; /* what counts against ak_llm_options.tokens; a call that reported none counts
                       with its worst case */
    bool priced;    /* false: the price is not known and the cost is 0 */
    double cost_usd;
} ak_llm_use;

/* X(NAME, word): what a comparison says of a candidate relative to another. NONE: it was not
   measured now, as on a recording, or it is the other one itself. TIE: the interval of the ratio
   reaches into the difference between two measurements of identical code, which is taken as 1 % at
   least. UNDECIDED (shown as "not decided"): the interval, or the control's, is wider than a fifth,
   the two overlap, too few rounds were undisturbed (docs/protocol.md), or the two were not measured
   beside each other. A tie or an undecided ratio is never shown as a win. */
#define AK_SPEED_MAP(X)                                                                            \
    X(NONE, "none")                                                                                \
    X(FASTER, "faster")                                                                            \
    X(SLOWER, "slower")                                                                            \
    X(TIE, "tie")                                                                                  \
    X(UNDECIDED, "undecided")
typedef enum ak_speed_verdict {
#define AK_SPEED_ENUM(name, word) AK_SPEED_##name,
    AK_SPEED_MAP(AK_SPEED_ENUM)
#undef AK_SPEED_ENUM
} ak_speed_verdict;
AK_API const char *ak_speed_verdict_text(ak_speed_verdict verdict);

/* Why a verdict is undecided, though the interval may be far from 1. */
#define AK_DOUBT_MAP(X)                                                                            \
    X(NONE, "", "")                                                                                \
    X(VARIES, "times vary",                                                                        \
      "the ends of the interval differ by more than a fifth, so the times are too uncertain for "  \
      "a decision, whatever the ratio is")                                                         \
    X(CONTROL, "same code differs",                                                                \
      "one candidate that took part twice differed from itself by as much or too uncertainly, so " \
      "the interval may be an accident")                                                           \
    X(BUSY, "busy",                                                                                \
      "candidates waited for a processor in too many rounds, so that the interval may show whom "  \
      "the scheduler favoured")                                                                    \
    X(APART, "not measured beside each other",                                                     \
      "the times are those of single trials, so that the ratio may show what else the machine "    \
      "did meanwhile")
typedef enum ak_speed_doubt {
#define AK_DOUBT_ENUM(name, word, sentence) AK_DOUBT_##name,
    AK_DOUBT_MAP(AK_DOUBT_ENUM)
#undef AK_DOUBT_ENUM
} ak_speed_doubt;
/* Return a word or two that name the doubt, and a sentence that explains it; "" for NONE. */
AK_API const char *ak_speed_doubt_text(ak_speed_doubt doubt);
AK_API const char *ak_speed_doubt_sentence(ak_speed_doubt doubt);

/* A speed relative to another: above 1 is faster. Times are paired by rounds; `low` and `high` are
   a 95 % interval. */
typedef struct ak_speed {
    double ratio, low, high; /* 0: not known */
    ak_speed_verdict verdict;
    ak_speed_doubt doubt; /* why the verdict is undecided */
} ak_speed;

/* What separates a difference from noise in one comparison. Pressure is the fraction of time in
   which something on the machine waited for a processor, 0..1; negative: not known. */
typedef struct ak_noise {
    ak_speed control; /* one candidate against itself under another name; ratio 0: not measured */
    double pressure_before, pressure, pressure_after; /* before, during and after the comparison */
    size_t rounds, disturbed; /* disturbed: rounds in which a candidate waited for a processor */
    bool waits_known;  /* false: nothing told whether a candidate waited, as on a GPU or where
                          the driver's threads run it */
    bool extended;     /* the machine was busy, so more rounds were made than planned */
    size_t candidates; /* number of candidates, the control and libraries included */
    size_t unseen;     /* number of candidates that took much longer on unseen inputs than in
                          batches; if not 0, all times are from calls on unseen inputs */
    double seconds;    /* measuring time that was planned for all of them */
} ak_noise;

/* A candidate of a comparison: a configuration or a library. */
typedef struct ak_compared {
    char *name;          /* "tuned", "default", or the library: "OpenBLAS" */
    char *version;       /* with the core type: "0.3.21 Cooperlake"; NULL for configurations */
    char *config;        /* NULL for libraries */
    int64_t trial;       /* id of its trial in the search; 0: not known, as for libraries */
    char *library;       /* its name in --libraries: "cublaslt-best"; NULL for configurations */
    const ak_task *task; /* the task in ak_compare_options whose space has `config`; NULL: the
                            compared task itself */
    char *reason;        /* why it failed, in one line; NULL if it did not */
    double median_ms, ci_low_ms, ci_high_ms;
    double tflops, gbs, efficiency;
    /* Speed relative to the reference (ak_tune_result, ak_comparison): most often the best library
       or, without one, the default. */
    double ratio, ratio_low, ratio_high;
    ak_speed_verdict verdict;
    ak_speed_doubt doubt;  /* why the verdict is undecided */
    bool tie;              /* the verdict is a tie */
    bool ranked;           /* tables show its rank instead of its name */
    ak_speed over_default; /* speed relative to the default; ratio 0 if that did not take part */
    /* The clocks and the power while it ran, as in ak_trial. */
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius;
    char *throttle;
    double utilisation;
    /* Whether kernels of a batch may begin before those ahead of them have ended (programmatic
       launches in CUDA): "none", "within runs", "between runs"; NULL: not known. */
    char *overlap;
    /* Energy of one call, and the cost with its interval; 0 as in ak_trial. Ratios and verdicts are
       of costs if the task has an objective other than the time. */
    double joules;
    double cost, cost_low, cost_high;
    char *note; /* says in one line what the time is if it is not that in a batch; else NULL */
} ak_compared;
/* Returns the figure by which candidates are compared, as ak_trial_cost does for trials. */
AK_API double ak_compared_cost(const ak_compared *compared);
/* Writes the indices of the configurations that were measured, the best first, and returns how many
   there are; `order` has room for AK_COMPARED_MAX. What the paired speeds have decided comes before
   the medians (docs/protocol.md, "Verdicts"). */
#define AK_COMPARED_MAX 64
AK_API size_t ak_compared_order(size_t *order, const ak_compared *list, size_t count);
/* Return the task's objective ("time", "energy", "edp" or an expression), the unit of its values
   ("J"; "" if it has no name), and the value that a cost stands for. */
AK_API const char *ak_task_objective(const ak_task *task);
AK_API const char *ak_task_objective_unit(const ak_task *task);
AK_API double ak_task_objective_value(const ak_task *task, double cost);

typedef struct ak_tune_result {
    char *run;
    size_t evaluated;                     /* trials of this run, resumed ones not counted */
    size_t failed[AK_TRIAL_STATUS_COUNT]; /* by status, including trials that record a failed check
                                             (AK_FINALISTS), also of resumed configurations */
    size_t resumed;
    double seconds;
    /* "evaluations", "time", "target", "exhausted", "converged", "cancelled" or "fault" (the
       machine failed); with a language model also "generations" (all its answers were tried),
       "stalled" (two generations in a row gained nothing) and "satisfied" (it expects nothing
       better) */
    const char *stopped_by;
    bool found; /* a verified best exists */
    ak_trial best;
    ak_placement placement; /* placement of the best */
    /* Speed of the best relative to the fastest library or, without one, to the default, by the
       finish; 0 without both. */
    double speedup;
    ak_compared *candidates; /* candidates of the finish: configurations and libraries */
    size_t candidate_count;
    size_t baseline;  /* index in `candidates` of the best library; candidate_count if none. "copy",
                         which only copies memory, does not count */
    size_t reference; /* index of the candidate that ratios are relative to: the best library (as
                         for `baseline`), else the default, else the first candidate that worked;
                         candidate_count if none did */
    size_t tuned;     /* index of the best; candidate_count if there was no finish */
    ak_noise noise;   /* noise of the finish */
    char *summary;    /* the finish in words, "1.04 times the speed of oneDNN (1.02 .. 1.06)" */
    /* One line for each reason why the finish is less certain than its intervals say, or why a
       language model contributed nothing, or nothing more. */
    char **warnings;
    size_t warning_count;
    char *sanitizers; /* what sanitizers said of the finalists; NULL: they were not asked for */
    /* The configurations that the search measured again, side by side, with their latest times. */
    ak_compared *again;
    size_t again_count;
    bool best_again; /* the best is in `again`, from which its time comes */
    ak_llm_use llm;  /* the language model, if the strategy asked one */
} ak_tune_result;

/* Finds the best configuration of the task. `archive` may be NULL; then nothing is kept. `options`
   may be NULL for the defaults. */
AK_API ak_status ak_tune(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                         const ak_tune_options *options, ak_error *err);
AK_API void ak_tune_result_clear(ak_tune_result *result);
/* Returns the object that `autokernel tune --json` prints (docs/formats.md). Free with
   ak_text_free. */
AK_API ak_status ak_tune_result_json(char **out_text, const ak_tune_result *result,
                                     const ak_task *task, ak_error *err);

/* ak_tune_sizes tunes each of many sizes by itself. The best configurations of all sizes are then
   measured at every size, interleaved, and the few that together lose least are chosen, compared
   with tuning each size (geometric mean of the ratios of times or, with another objective, of
   costs). Their loss is measured once more, so that the figure does not profit from the choice. */
#define AK_TUNE_SIZES_MAX 64

/* The result for one size. Indices point into `configs` of the result. */
typedef struct ak_size_result {
    char *size;             /* "M=1024,N=1024,K=1024" */
    char *run;              /* run of this size's tuning, for ak_report; NULL if it was not begun */
    size_t evaluated;       /* trials of that run */
    bool measured;          /* the members below are known */
    size_t winner;          /* the best configuration at this size */
    double ms;              /* time of the winner */
    double low_ms, high_ms; /* 95 % interval of `ms` */
    char *library;          /* the best library, measured beside it; NULL if there is none */
    char *library_name;     /* its name in --libraries */
    double library_ms;
    ak_speed over_library; /* speed of the winner, paired by rounds; ratio 0 without a library */
    /* The costs by which winner and library were chosen, and the values that they stand for under
       the objective. By default all are the times. 0: not known. */
    double cost, value, library_cost, library_value;
    size_t config; /* the configuration that the table assigns to this size */
    double loss;   /* cost of `config` relative to the winner's, paired and measured again; 1 if it
                      is the winner */
    double loss_low, loss_high; /* 95 % interval of `loss` */
    /* Of `config` against the winner. If it is the winner: NONE, or UNDECIDED if the comparison was
       too uncertain to tell which configuration is the best; then the interval is 0. */
    ak_speed_verdict verdict;
    ak_speed config_over_library; /* speed of `config` relative to the library */
    ak_noise noise;               /* of the comparison that found the winner */
} ak_size_result;

/* What a set of configurations loses over all sizes, if each size uses the best of the set. */
typedef struct ak_sizes_loss {
    size_t configs;
    double geomean, worst; /* 0: nothing was decided */
    size_t worst_size;     /* index in `sizes` */
    size_t open;           /* number of sizes whose loss is not decided; no figure counts them */
    size_t unusable;       /* number of sizes that the set cannot serve; no figure counts them */
} ak_sizes_loss;

typedef struct ak_sizes_result {
    char *run;
    char *kernel, *implementation, *device, *dtype, *choices; /* what the sizes have in common */
    ak_size_result *sizes;
    size_t size_count;
    char **configs; /* the configurations measured at every size, as text */
    size_t config_count;
    double *ms;    /* ms[config * size_count + size]: median of an interleaved comparison; 0: the
                      configuration failed or is not valid there */
    double *costs; /* the costs, which decide the choice: by default the times */
    /* speeds[config * size_count + size] is relative to the winner of the size; ratio 0 as in ms */
    ak_speed *speeds;
    ak_sizes_loss *alone;   /* for each configuration, what it loses if all sizes use it */
    char *objective, *unit; /* as ak_task_objective has them: "time", "ms" */
    size_t *table; /* the chosen indices into `configs`; none unless `stopped_by` is "done" */
    size_t table_count;
    bool exact;              /* the table is the best of all possible ones; false: found greedily */
    ak_sizes_loss loss;      /* loss of the table, measured again */
    ak_sizes_loss *tradeoff; /* loss of 1, 2, ... configurations, at most 8, by the measurement that
                                chose them */
    size_t tradeoff_count;
    size_t evaluated;
    ak_llm_use llm; /* over all sizes */
    double seconds;
    char **warnings; /* what made the comparisons at a size less certain, with the size in front */
    size_t warning_count;
    const char *stopped_by; /* "done", "cancelled", or "nothing" if no table serves every size, as
                               when no configuration works at one */
} ak_sizes_result;

/* The request to tune several sizes. The caller owns everything. */
typedef struct ak_sizes_request {
    const ak_task_spec *spec; /* `size` is ignored. Without `implementation`, the one that most
                                 sizes choose is used (ak_task_choose, with race) */
    const char *const *sizes; /* `size_count` texts as in ak_task_spec; AK_INVALID if a size is
                                 given twice */
    size_t size_count;
    size_t table; /* how many configurations may be chosen, 1 to `size_count` */
    /* Each size has just been tuned by a run of its own in the archive. Its result is used, however
       many configurations it tried. A size without such a run is tuned. */
    bool tuned;
} ak_sizes_request;

/* Tunes several sizes. Evaluations, seconds and the language model's budget of the options apply to
   all sizes together (evaluations 0: 60 for each size); what a size does not use goes to those
   after it. With `resume`, a size whose tuning was completed in an earlier run is not tuned again.
   `archive` may be NULL. */
AK_API ak_status ak_tune_sizes(ak_sizes_result *out, const ak_sizes_request *request,
                               ak_archive *archive, const ak_tune_options *options, ak_error *err);
AK_API void ak_sizes_result_clear(ak_sizes_result *result);
/* Returns the object that `autokernel tune --sizes --json` prints. Free with ak_text_free. */
AK_API ak_status ak_sizes_result_json(char **out_text, const ak_sizes_result *result,
                                      ak_error *err);

/* Reads a task's configuration from a best_config.json or a dispatch.json. From the latter it takes
   the entry for the nearest size whose configuration is valid at the task's own (docs/formats.md
   has the rule). */
AK_API ak_status ak_config_read(ak_config *out, const ak_task *task, const char *path,
                                ak_error *err);

/* ---- 7. comparing and reporting -------------------------------------------------------------- */

typedef struct ak_comparison {
    ak_compared *candidates; /* libraries first, then the configurations in the order given */
    size_t count;
    ak_placement placement; /* the task's limits; the rates that were reached are 0 */
    size_t reference; /* index of the candidate that ratios are relative to: the best library (but
                         not "copy", which only copies memory), else the first configuration, else
                         the first candidate that worked; `count` if none did */
    ak_noise noise;
    char *summary;   /* how the last configuration did, in words; NULL: there is nothing to say */
    char **warnings; /* as in ak_tune_result */
    size_t warning_count;
} ak_comparison;

/* The candidates of a comparison, and its length. The caller owns everything. */
typedef struct ak_compare_options {
    const ak_config *configs; /* `count` of them; `tasks` says in which space each is */
    const char *const *names; /* one for each configuration */
    /* One for each configuration: the task whose space it is in, or NULL for the task itself. Such
       a task has another implementation, but the same problem, size, dtype, options and device.
       NULL: all configurations are in the space of the task itself. */
    const ak_task *const *tasks;
    size_t count;
    bool baselines; /* include the installed vendor libraries */
    double seconds; /* measuring time for all candidates together; 0: 1 second for each, and more if
                       the machine is busy */
} ak_compare_options;

/* Measures configurations and libraries in one comparison. */
AK_API ak_status ak_compare(ak_comparison *out, const ak_task *task,
                            const ak_compare_options *options, ak_error *err);
typedef bool (*ak_comparison_visitor)(void *context, ak_comparison *comparison);
/* Repeats the comparison, which shows how repeatable it is on this machine. Everything is opened
   and compiled once; each comparison has new processes. The visitor may keep a comparison by
   zeroing *comparison, and ends the series by returning false. */
AK_API ak_status ak_compare_each(const ak_task *task, const ak_compare_options *options,
                                 size_t times, ak_comparison_visitor visit, void *context,
                                 ak_error *err);
AK_API void ak_comparison_clear(ak_comparison *comparison);
/* Returns the comparison as JSON: kernel, device, size, dtype, choices, roofline, candidates,
   reference, summary, noise and warnings. Free with ak_text_free. */
AK_API ak_status ak_comparison_json(char **out_text, const ak_comparison *comparison,
                                    const ak_task *task, ak_error *err);

/* Gives the report of a run (NULL: the latest that was not imported or, without one, the latest) in
   the format "text", "csv", "json", "md" or "html", a page that needs no network. "text:80" is text
   for a screen of 80 columns ("text": 100); "text:0" does not fold lines. Free with
   ak_text_free. */
AK_API ak_status ak_report(char **out_text, ak_archive *archive, const char *run,
                           const char *format, ak_error *err);
/* Gives a report of two runs side by side, in the same formats: what each found, where their
   configurations and environments differ, and the configurations that both tried. Free with
   ak_text_free. */
AK_API ak_status ak_report_versus(char **out_text, ak_archive *archive, const char *a,
                                  const char *b, const char *format, ak_error *err);
/* Gives a report on how one run's task fared over the versions of its kernel, in the same formats:
   what the runs of each version reached, how the run's best configuration did in each, and which
   source lines changed. Free with ak_text_free. */
AK_API ak_status ak_report_versions(char **out_text, ak_archive *archive, const char *run,
                                    const char *format, ak_error *err);
/* Returns the importance of the parameters among the trials that match, as JSON: the member
   "impact" of a report (docs/formats.md). Trials of several tasks may match; times are compared
   within a task. Free with ak_text_free. */
AK_API ak_status ak_archive_importance(char **out_text, ak_archive *archive,
                                       const ak_archive_filter *filter, ak_error *err);
AK_API void ak_text_free(char *text);

/* The options of the dashboard, a server for browsers that shows the runs of an archive, also those
   in progress. The server only reads, and the archive need not exist yet. Without a token, it
   answers only requests that are addressed to this machine's own names; with a token, only requests
   that carry the token. A text may be NULL for its default. */
typedef struct ak_serve_options {
    const char *archive;    /* as for ak_archive_open */
    const char *address;    /* IPv4 address; NULL: "127.0.0.1". An address that other machines can
                               reach needs a token */
    unsigned port;          /* 0: any free port */
    const char *token_file; /* its first line is the token; only its owner may read it */
    void (*ready)(void *context, const char *url); /* may be NULL */
    void *context;
    const volatile int *cancel; /* set to non-zero from a signal handler to end it */
} ak_serve_options;

/* Runs the dashboard until it is cancelled. AK_UNAVAILABLE if libmicrohttpd, which this call loads,
   is not installed. */
AK_API ak_status ak_serve(const ak_serve_options *options, ak_error *err);

/* ---- 8. language models ---------------------------------------------------------------------- */

/* Which language model to ask, and within which limits (docs/llm.md). A text may be NULL and a
   number 0 for its default. Keys are read from OPENAI_API_KEY, ANTHROPIC_API_KEY or key_file;
   autokernel never writes or prints them. */
typedef struct ak_llm_options {
    const char *model;      /* provider and model, "openai:gpt-5", "file:DIR" or "replay:DIR"; NULL:
                               the model of `replay` */
    const char *url;        /* base address of the server, with or without /v1 */
    const char *effort;     /* reasoning effort: none, minimal, low, medium, high, xhigh, max */
    const char *share;      /* what the model is told: "space" (parameters, conditions, times),
                               "facts" (also device, shape, and why trials failed) or "source"
                               (also the source and what compilers say); NULL: "source" */
    const char *key_file;   /* its first line is the key; only the owner may read it (mode 0600) */
    const char *prices;     /* JSON file with prices that extend or replace the built-in ones */
    const char *record;     /* folder that keeps every answer, for one model and effort; a question
                               that it answers is not asked again */
    const char *replay;     /* folder that all answers come from; nothing is sent */
    double budget_usd;      /* a call that could exceed it is not made; 0: no limit */
    double connect_seconds; /* limit on reaching the server; 0: 10 */
    double stall_seconds;   /* limit on silence; 0: 300, which leaves a model time to think */
    double timeout_seconds; /* limit on one attempt; 0: 900, with "file:DIR" 1800 */
    int output_tokens;      /* most output tokens of a call, with reasoning; 0: by the question */
    int64_t tokens;         /* a call that could exceed these tokens of a run, input and output, is
                               not made; 0: no limit */
    int calls;              /* most calls of a run; 0: no limit */
    int retries;            /* retries after the first attempt; 0: 4; negative: none */
    uint64_t seed;          /* seed of the jitter between attempts */
    const volatile int *cancel; /* set to non-zero from a signal handler to end calls at once */
    /* Takes a line for the user about each question to a model that is reached by hand: where it
       lies and where its reply is awaited. NULL: nobody is told. A run sends it as the event
       "waiting" instead. */
    void (*notice)(void *context, const char *text);
    /* Takes a line for the user about what went wrong with a question that was answered: the server
       counts more tokens than were set aside for it. NULL: nobody is told. A run sends it as the
       event "warning" instead. */
    void (*warning)(void *context, const char *text);
    void *notice_context; /* passed to `notice` and `warning` */
} ak_llm_options;

/* Asks for one word, to see whether provider, key, model, schema and price work. `out_json` is one
   object (docs/llm.md). Free with ak_text_free. */
AK_API ak_status ak_llm_check(char **out_json, const ak_llm_options *options, ak_error *err);

/* Returns the conversations of a run (NULL: as for ak_report) as JSON, {"run": ..., "calls":
   [...]}. Each call has the prompt, the reply or the error, tokens, cost and time, and for each
   proposal its prediction and outcome (docs/formats.md). Free with ak_text_free. */
AK_API ak_status ak_llm_conversation(char **out_json, ak_archive *archive, const char *run,
                                     ak_error *err);
/* Returns what language models contributed to the trials that match, as JSON: success by proposer,
   the best of each generation, predictions against outcomes, tokens and cost for each percent
   gained (docs/formats.md); "null" if none took part. Free with ak_text_free. */
AK_API ak_status ak_llm_worth(char **out_json, ak_archive *archive, const ak_archive_filter *filter,
                              ak_error *err);

/* ---- 9. lists -------------------------------------------------------------------------------- */

typedef enum ak_list_kind {
    AK_LIST_KERNELS,
    AK_LIST_BACKENDS,
    AK_LIST_STRATEGIES,
    AK_LIST_FORMATS,         /* formats of export and import */
    AK_LIST_DEVICES,         /* probes the machine in a child process */
    AK_LIST_BASELINES,       /* libraries; probes the machine, too */
    AK_LIST_HYPERPARAMETERS, /* hyper-parameters of strategies: "genetic:population", "20 (2 to
                                1000): ..." */
    AK_LIST_PROVIDERS        /* providers of language models */
} ak_list_kind;

typedef void (*ak_list_visitor)(void *context, const char *name, const char *description);
AK_API ak_status ak_list(ak_list_kind kind, ak_list_visitor visit, void *context, ak_error *err);

/* Returns what `autokernel doctor` finds on this machine, as JSON: devices with measured ceilings,
   compilers, libraries with versions, Python, and providers of language models. (The command adds
   the settings and a verdict.) Free with ak_text_free. */
AK_API ak_status ak_doctor(char **out_json, ak_error *err);

/* Starts every worker of a launcher, asks each for its identity, and ends them: what `autokernel
   fleet status` shows. `workers` and `device` may be NULL. The JSON array has an object for each
   worker (docs/scale.md). Free with ak_text_free. */
AK_API ak_status ak_fleet_status(char **out_json, const char *launcher, const char *workers,
                                 const char *device, const volatile int *cancel, ak_error *err);
/* Gives the number of workers for which a launcher has places, within `workers`; *out is 0 on
   failure. `workers` and `device` may be NULL. */
AK_API ak_status ak_fleet_size(size_t *out, const char *launcher, const char *workers,
                               const char *device, ak_error *err);

/* Writes the skeleton of a new kernel into the folder `path`, which must not exist. */
AK_API ak_status ak_kernel_new(const char *path, ak_error *err);
/* Does what ak_kernel_new does, with an implementation for CUDA devices beside the one for the
   CPU. */
AK_API ak_status ak_kernel_new_cuda(const char *path, ak_error *err);
/* Writes a Triton kernel, NAME.py, and its settings, NAME.json, into the folder `path`, which must
   not exist and whose name is NAME. */
AK_API ak_status ak_kernel_new_triton(const char *path, ak_error *err);
/* Writes a kernel folder for a kernel that exists: `file` is a T1 file (.json), a source (.cu, .cl,
   .c, .cpp), or a Python file with a Triton kernel and its settings beside it (kernel.py, or
   kernel.py:function). *out_note has a line for each thing that the file leaves open, and where to
   write it; NULL if nothing is missing. Free it with ak_text_free. */
AK_API ak_status ak_kernel_adopt(char **out_note, const char *path, const char *file,
                                 ak_error *err);

/* Serves as `autokernel worker`, a child process that compiles, checks or times, and returns its
   exit code. A program that embeds the library either installs the autokernel executable (see the
   head of this file) or calls this function from its main when argv[1] is "worker". */
AK_API int ak_worker_main(int argc, char **argv);

/* ---- 10. recordings: searching without a device ---------------------------------------------- */

/* The outcomes of a space's configurations, each tried once, and what each trial cost. A search on
   a recording needs no device, takes seconds and, with the same seed, gives the same result, so
   that strategies can be compared and tuned. */
typedef struct ak_recording ak_recording;

/* Opens a recording. `path` is a cache file of Kernel Tuner (also of an interrupted run), a T4 file
   or the JSON results of KTT, each also compressed with gzip and at most 64 MiB unpacked, or an
   archive that holds one task. docs/formats.md says what is read of each. */
AK_API ak_status ak_recording_open(ak_recording **out, const char *path, ak_error *err);
/* Opens a recording with the T1 file of its space, which gives the parameters, their values and
   defaults, and the conditions. Every recorded configuration must be valid there. If `t1` is NULL,
   it does the same as ak_recording_open. */
AK_API ak_status ak_recording_open_t1(ak_recording **out, const char *path, const char *t1,
                                      ak_error *err);
AK_API void ak_recording_close(ak_recording *recording);
/* Returns a space in which exactly the recorded configurations are valid, failed ones included. */
AK_API const ak_space *ak_recording_space(const ak_recording *recording);

typedef struct ak_recorded {
    ak_config config;
    ak_trial_status status;
    double value;   /* value of the objective, if ok */
    double seconds; /* compiling, benchmarking, checking, framework and strategy together */
} ak_recorded;
/* Gives the outcome of the configuration with this index in the space. */
AK_API void ak_recording_at(ak_recorded *out, const ak_recording *recording, uint64_t index);

/* Facts about a recording. A text is "" if the file does not have it. The members from
   `seconds_each` to `last_seconds` belong to the score, see ak_simulate. */
typedef struct ak_recording_facts {
    const char *kernel, *device, *size;
    const char *objective; /* "time" */
    bool maximise;         /* a larger objective is better */
    size_t configurations, ok;
    double optimum, median; /* of the objective, over the successful configurations */
    double seconds_median;  /* median cost of one configuration */
    double seconds_each;    /* mean cost of a successful one, with the failures on the way to it */
    double target;          /* objective at the cut-off: 95 % of the way from median to optimum */
    size_t evaluations;     /* expected number of evaluations that random search needs to reach
                               `target` */
    double first_seconds, last_seconds; /* cut-offs at 1 % and 95 %; the score is taken between
                                           them */
    const char *left_out;               /* as ak_archive_left_out */
} ak_recording_facts;
AK_API const ak_recording_facts *ak_recording_describe(const ak_recording *recording);

typedef struct ak_simulate_options {
    const char *strategy; /* as in ak_tune_options, but AK_INVALID if it asks a model; NULL:
                             "portfolio" */
    size_t repeats;       /* 0: 25 */
    uint64_t seed;        /* the seeds of the repeats are derived from it, in order */
    size_t batch;         /* proposals asked for at once; 0: 1 */
    /* As in ak_tune_options. The recording that is searched is skipped. */
    const ak_recording *const *like;
    size_t like_count;
    size_t evaluations; /* limit of one repeat, which the strategy is told; 0: no limit */
    /* Simulated time limit of one repeat. 0: 1.1 times the cut-off at 95 %, or no limit if the
       recording has no cut-off but `evaluations` is set; unless `evaluations` is set, the search
       also stops at the optimum, because nothing better can come. */
    double seconds;
    int jobs; /* threads; 0: one for each core. The result does not depend on it */
    const volatile int *cancel;
} ak_simulate_options;

/* The result of one repeat. */
typedef struct ak_simulated {
    uint64_t seed;
    size_t evaluations, failed;
    double seconds; /* simulated */
    bool found;
    uint64_t best; /* index in the space, if found */
    double best_value;
    size_t best_at; /* evaluation that found it, from 1 */
    double best_seconds;
    double thinking_ms; /* processor time of the strategy: measured, not simulated */
} ak_simulated;

typedef struct ak_simulation {
    ak_simulated *repeats;
    size_t count;
    char *like;             /* says in one line which of options.like was used; NULL: none */
    double median_best;     /* median of best_value over the repeats that found something; 0: none
                               did */
    double ms_per_proposal; /* processor time for each proposal, over all repeats */
    /* Score: 1 is the optimum at once, 0 as good as random search, below 0 worse. `scored` is false
       if the recording has no costs, or if random search is expected to have the optimum at all
       times of the score. */
    bool scored;
    double score;
} ak_simulation;

/* Replays a search on the recording, with a clock that advances by what each configuration cost
   when it was recorded. The strategy's own thinking is measured but not on that clock. If no T1
   file gives a default configuration, each repeat draws one at random.

   The score follows Willemsen et al., Future Generation Computer Systems 2024, doi
   10.1016/j.future.2024.05.021: with F(t) the objective at the mean rank of the best found by time
   t over the repeats, R(t) that of random search, and `opt` the optimum, it is the mean, over 1,000
   times from first_seconds to last_seconds, of (R(t) - F(t)) / (R(t) - opt). Times at which R(t) is
   `opt` do not count. */
AK_API ak_status ak_simulate(ak_simulation *out, const ak_recording *recording,
                             const ak_simulate_options *options, ak_error *err);
AK_API void ak_simulation_clear(ak_simulation *simulation);

/* ---- 11. studies: comparing ways of searching ------------------------------------------------ */

/* A study compares strategies, called arms. All arms get the same number of evaluations, begin with
   the default configuration and use the same seeds. A run that asks a language model counts only if
   the model answered; a run that fell back to another strategy is reported, and counts only for
   "deployed", the quality of all runs, "spent", what they cost, and the best value that qualities
   are relative to if no optimum is known. */
typedef struct ak_study_options {
    const char *arms; /* strategies, separated by commas; NULL: random,local,portfolio and, with a
                         language model, also llm-oneshot,llm,hybrid */
    /* As in ak_tune_options, for all arms alike. The archive is not used. */
    const struct ak_recording *const *like;
    size_t like_count;
    size_t evaluations;               /* of each run; 0: 60 */
    size_t seeds;                     /* runs of each arm; 0: 10 */
    uint64_t seed;                    /* the seeds of the runs are derived from it */
    const struct ak_llm_options *llm; /* NULL: none */
    int generations;                  /* as in ak_tune_options */
    size_t batch;
    ak_event_sink sink; /* gets "run" after each run (arm, seed, best, ...), on a device also the
                           events of ak_tune, on a recording "waiting" and "warning"; may be
                           NULL */
    void *sink_context;
    const volatile int *cancel;
} ak_study_options;

/* Runs the study on a recording: the clock advances by what each configuration cost and by how long
   each reply took. docs/formats.md describes `out_json`; free it with ak_text_free. */
AK_API ak_status ak_study_recording(char **out_json, const ak_recording *recording,
                                    const ak_study_options *options, ak_error *err);
/* Runs the study on a device: each run is an ak_tune. `archive` may be NULL. */
AK_API ak_status ak_study_task(char **out_json, const ak_task *task, ak_archive *archive,
                               const ak_study_options *options, ak_error *err);

/* Keeps a result in the archive, so that the dashboard shows it. `kind` is "study" and `json` the
   result of one of the two calls above, or "simulate" and what `autokernel simulate --json` prints
   for several strategies. A member "command" says how to repeat it. */
AK_API ak_status ak_archive_add_study(ak_archive *archive, const char *kind, const char *json,
                                      ak_error *err);
/* Gives an HTML page that shows a result that ak_archive_add_study can keep. Free with
   ak_text_free. */
AK_API ak_status ak_study_page(char **out, const char *kind, const char *json, ak_error *err);

/* ---- 12. bundles: results that run where autokernel is not ---------------------------------- */

/* Selects what a bundle ships. docs/shipping.md says how a bundle is used, docs/formats.md what is
   in it. */
typedef struct ak_bundle_request {
    const char *kernel;              /* as for ak_problem_open; its sources are read there */
    const ak_archive_filter *filter; /* selects the trials whose best is shipped (ak_archive_best)
                                        or, with `table`, the runs */
    int64_t trial;                   /* ship the trial with this id instead of the best; 0: the
                                        best */
    bool table; /* ship the table of the latest run over many sizes, which serves each of them */
    /* (optional) Gets a line for each variant that was checked at fewer sizes than usual, or that
       serves fewer sizes because of that. */
    void (*note)(void *context, const char *line);
    /* (optional) Is called for each file before any is written. A failure ends the export. `folder`
       is NULL if `name` is the path. */
    ak_status (*before)(void *context, const char *folder, const char *name, const void *data,
                        size_t length, ak_error *err);
    void *context; /* passed to `note` and `before` */
} ak_bundle_request;

/* Compiles the best configurations of the archive and writes them with all that is needed to run
   them. The format "bundle" is one file, or a folder if `path` is a folder or ends in '/'; the
   format "c" is always a folder. For one file, the path "-" is standard output. Without a path
   (NULL) the file or folder is named after the kernel and its dtype. Equal archives and compilers
   give equal bytes. *out_path is the path that was written (free with ak_text_free). */
AK_API ak_status ak_bundle_export(char **out_path, ak_archive *archive,
                                  const ak_bundle_request *request, const char *format,
                                  const char *path, ak_error *err);

/* Checks that a bundle (a file or a folder) is whole, and returns its bundle.json. Free with
   ak_text_free. */
AK_API ak_status ak_bundle_read(char **out_json, const char *path, ak_error *err);

/* Gives a one-line warning if a bundle's kernel has the name of a built-in one but another problem,
   else NULL. Free with ak_text_free. */
AK_API ak_status ak_bundle_warning(char **out, const char *path, ak_error *err);

typedef struct ak_bundle_verify_options {
    double max_slowdown; /* a slowdown up to this fraction is accepted; 0: 0.05, a twentieth */
    const volatile int *cancel;
} ak_bundle_verify_options;

/* Runs the code of a bundle again, confined as in a trial. It finds whether every result is right,
   at the measured sizes and, if the code serves other sizes too, at the edge-case sizes of the
   problem, and whether each measured size is as fast as the bundle says. A size counts as slower if
   three measurements find it slower by more than `max_slowdown` at the low end of the interval.
   *good is true if no result is wrong and no size is slower. `out_json` has a row for each measured
   size (docs/formats.md); free it with ak_text_free. AK_UNAVAILABLE if this machine cannot run
   it. */
AK_API ak_status ak_bundle_verify(char **out_json, bool *good, const char *path,
                                  const ak_bundle_verify_options *options, ak_error *err);

#ifdef __cplusplus
}
#endif
#endif
