/*
 * autokernel.h: find fast, correct configurations of compute kernels.
 *
 * Read this header from top to bottom; it is the order in which a program uses it.
 *
 *   1. status and errors         what every call returns
 *   2. values, parameters, spaces   what can be tuned
 *   3. problems and tasks        what is to be computed, where
 *   4. trials                    what was measured
 *   5. the archive               where trials live
 *   6. tester and optimizer      try one configuration; find the best one
 *   7. comparing and reporting   against vendor libraries, for people and programs
 *   8. language models           which one proposes, and what it may cost
 *   9. lists                     what this build and this machine offer
 *  10. recordings                compare strategies without a device
 *  11. studies                   which way of searching is worth its price
 *
 * Conventions. A function that can fail returns ak_status and takes `ak_error *err` last; err may
 * be NULL. Out parameters come first and are untouched on failure unless said otherwise. `_open`
 * and `_new` give an object to the caller, who ends it with `_close` or `_free`; both accept NULL.
 * A `const char *` that is returned lives as long as the object it came from. Objects are used by
 * one thread at a time. Times end in _ns, _ms or _seconds, sizes in _bytes. Rates are decimal:
 * 1 TFLOP/s = 1e12 flop/s, 1 GB/s = 1e9 byte/s.
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

/* ---- 1. status and errors ------------------------------------------------------------------- */

/* X(NAME, text). A failed *candidate* is not an error: it is a trial with a status of its own. */
#define AK_STATUS_MAP(X)                          \
    X(OK, "ok")                                   \
    X(INVALID, "invalid input")                   \
    X(NOT_FOUND, "not found")                     \
    X(NO_MEMORY, "out of memory")                 \
    X(IO, "input or output failed")               \
    X(CORRUPT, "damaged data")                    \
    X(LIMIT, "a limit was exceeded")              \
    X(TIMED_OUT, "took too long")                 \
    X(CANCELLED, "cancelled")                     \
    X(CRASHED, "a child process crashed")         \
    X(UNAVAILABLE, "not available on this machine") \
    X(INTERNAL, "internal error")

typedef enum ak_status {
#define AK_STATUS_ENUM(name, text) AK_##name,
    AK_STATUS_MAP(AK_STATUS_ENUM)
#undef AK_STATUS_ENUM
} ak_status;

AK_API const char *ak_status_text(ak_status status);

/* One line that says what went wrong, where, and what to do. Owned by the caller, usually on the
   stack; written once, where the fault is found. Start from AK_ERROR_INIT. */
typedef struct ak_error {
    ak_status status;
    char text[480];
} ak_error;
#define AK_ERROR_INIT {AK_OK, ""}

/* ---- 2. values, parameters, spaces ---------------------------------------------------------- */

typedef enum ak_value_type {
    AK_VALUE_BOOL,
    AK_VALUE_INT,
    AK_VALUE_REAL,
    AK_VALUE_STRING,
    AK_VALUE_LIST
} ak_value_type;

/* A value of a parameter or of an expression. Strings and lists are borrowed from their owner
   (a space, an arena). */
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

/* A configuration: for each parameter of its space, the index of the value chosen. Plain data: copy
   it freely, zero it to start. Positions past the space's parameters are 0. */
#define AK_PARAMETERS_MAX 64
typedef struct ak_config {
    uint16_t at[AK_PARAMETERS_MAX];
} ak_config;

/* How the value of a parameter reaches the compiler. */
typedef enum ak_parameter_use {
    AK_USE_DEFINE,   /* -DNAME=value; a string or bool also as -DNAME_is_value=1 */
    AK_USE_OPTION,   /* command-line options of the compiler: "compiler passes" */
    AK_USE_COMPILER, /* which compiler */
} ak_parameter_use;

typedef struct ak_parameter {
    const char *name;
    const char *description; /* "" if none */
    const ak_value *values;
    size_t value_count;
    size_t default_index;
    ak_parameter_use use;
    bool numerics; /* changes results: only the default is offered unless the user allows more */
} ak_parameter;

/* The valid configurations of an implementation, for one problem size and device. Immutable. */
typedef struct ak_space ak_space;

AK_API size_t ak_space_parameter_count(const ak_space *space);
AK_API const ak_parameter *ak_space_parameter(const ak_space *space, size_t index);
AK_API size_t ak_space_condition_count(const ak_space *space);
AK_API const char *ak_space_condition(const ak_space *space, size_t index);
AK_API const char *ak_space_condition_reason(const ak_space *space, size_t index); /* "" if none */
/* Size of the Cartesian product of all values (a double: it may exceed 2^64). */
AK_API double ak_space_cartesian(const ak_space *space);
/* Number of valid configurations; they have indices 0..count-1. */
AK_API uint64_t ak_space_count(const ak_space *space);
AK_API void ak_space_at(ak_config *out, const ak_space *space, uint64_t index);
/* False if the configuration is not in the space. `index` may be NULL. */
AK_API bool ak_space_find(uint64_t *index, const ak_space *space, const ak_config *config);
/* The declared default or, if a condition excludes it, the valid configuration nearest to it. */
AK_API void ak_space_default(ak_config *out, const ak_space *space);

/* Canonical text, the identity of a configuration: "MR=6,KC=256,compiler=gcc", parameters in the
   order of the space. Writes at most `bytes` (with the final 0) and returns the length needed. */
AK_API size_t ak_config_format(char *out, size_t bytes, const ak_space *space,
                               const ak_config *config);
/* Reads "k=v,k=v" in any order; parameters left out take their default. The result is valid. */
AK_API ak_status ak_config_parse(ak_config *out, const ak_space *space, const char *text,
                                 ak_error *err);

/* ---- 3. problems and tasks ------------------------------------------------------------------ */

/* What to compute: a kernel folder (problem.json and implementations), built in or the user's. */
typedef struct ak_problem ak_problem;

/* `name` is a built-in kernel ("matmul"), a folder with a problem.json, or a T1 file. A folder
   whose problem or implementation has the name of a built-in one must hold the same: AK_INVALID. */
AK_API ak_status ak_problem_open(ak_problem **out, const char *name, ak_error *err);
AK_API void ak_problem_close(ak_problem *problem);
AK_API const char *ak_problem_name(const ak_problem *problem);
AK_API const char *ak_problem_description(const ak_problem *problem);
/* One line per size, dtype, choice, argument and implementation, for people. */
AK_API ak_status ak_problem_describe(char **out_text, const ak_problem *problem, ak_error *err);
AK_API size_t ak_problem_implementation_count(const ak_problem *problem);
AK_API const char *ak_problem_implementation(const ak_problem *problem, size_t index);

/* A problem with everything decided but the configuration. Texts may be NULL for the default. */
typedef struct ak_task_spec {
    const char *kernel;         /* as for ak_problem_open */
    const char *implementation; /* "host"; NULL: the best one for the device */
    const char *device;         /* "auto", "host", "cuda:0"; equal ones that share the trials of
                                   ak_tune: "cuda:all", "cuda:0,cuda:1". All else happens on the
                                   first. "auto" (NULL): the first one there is for the
                                   implementation; "cuda:H200": a data sheet (docs/cuda.md), for
                                   looking at spaces where there is no device */
    const char *size;           /* "M=1024,N=1024,K=1024", or "1024" for all sizes alike */
    const char *dtype;          /* "f32" */
    const char *choices;        /* "activation=relu,bias=add" */
    bool allow_numerics;        /* offer compiler options that change results */
    bool look;                  /* nothing will be run: where the machine has no device for the
                                   implementation, a data sheet stands in for it */
    const char *fix;            /* "MR=6,KC=256:512": only these values of these parameters */
    /* libraries to compare with: "default" (NULL: the same) are those that start quickly, "all",
       "none", and names, such as "default,torch-eager" */
    const char *libraries;
    /* how contestants are measured beside each other in finishes and comparisons: "interleaved"
       (NULL: the same), "burst" or "sustained" (docs/cuda.md) */
    const char *protocol;
    int threads;                /* CPU threads for host kernels and libraries; 0: all */
    uint64_t seed;              /* of inputs and searches, recorded with every run; 0, the default,
                                   is a seed like any other */
} ak_task_spec;

typedef struct ak_task ak_task;

AK_API ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err);
AK_API void ak_task_close(ak_task *task);
/* Testers and comparisons of this task end with AK_CANCELLED, within a fraction of a second and
   without leaving a process behind, once *cancel is not zero; set it from a signal handler. It
   must outlive them. (ak_tune has an option of its own.) */
AK_API void ak_task_set_cancel(ak_task *task, const volatile int *cancel);
AK_API const ak_space *ak_task_space(const ak_task *task);
AK_API const ak_problem *ak_task_problem(const ak_task *task);
AK_API const char *ak_task_implementation(const ak_task *task);
/* Why this implementation, or the data sheet of this device, one line; NULL: it was asked for, or
   there is no other. */
AK_API const char *ak_task_reason(const ak_task *task);
/* Is the device one by its data sheet? Then all but looking is refused: AK_UNAVAILABLE. */
AK_API bool ak_task_by_sheet(const ak_task *task);
AK_API const char *ak_task_device(const ak_task *task);  /* "host"; of several the first */
AK_API const char *ak_task_devices(const ak_task *task); /* all, "cuda:0,cuda:1" */
AK_API const char *ak_task_size(const ak_task *task);    /* "M=1024,N=1024,K=1024" */
AK_API const char *ak_task_dtype(const ak_task *task);
AK_API const char *ak_task_choices(const ak_task *task); /* "" if the problem has none */
AK_API double ak_task_flops(const ak_task *task);        /* useful work, from problem.json */
AK_API double ak_task_bytes(const ak_task *task);        /* compulsory traffic */

/* ---- 4. trials ------------------------------------------------------------------------------ */

/* X(NAME, text as stored, shown and exported) */
#define AK_TRIAL_MAP(X)                 \
    X(OK, "ok")                         \
    X(INVALID, "invalid")               \
    X(COMPILE_ERROR, "compile_error")   \
    X(LAUNCH_ERROR, "launch_error")     \
    X(WRONG_RESULT, "wrong_result")     \
    X(CRASHED, "crashed")               \
    X(TIMED_OUT, "timed_out")           \
    X(OUT_OF_MEMORY, "out_of_memory")   \
    X(REJECTED, "rejected")

typedef enum ak_trial_status {
#define AK_TRIAL_ENUM(name, text) AK_TRIAL_##name,
    AK_TRIAL_MAP(AK_TRIAL_ENUM)
#undef AK_TRIAL_ENUM
    AK_TRIAL_STATUS_COUNT
} ak_trial_status;

AK_API const char *ak_trial_status_text(ak_trial_status status);
/* False if the text names no status. */
AK_API bool ak_trial_status_parse(ak_trial_status *out, const char *text);

/* One configuration, tried. Texts are owned by the trial (or NULL); times that were not measured
   are 0; a failed trial has no samples. */
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
    char *config;      /* canonical text: the identity */
    char *environment; /* hash of device, compiler, source, library versions */
    /* who proposed it */
    char *strategy;
    char *model; /* of a language model; NULL otherwise */
    int generation;
    int64_t parent; /* trial it was derived from, 0 if none */
    double predicted_gain; /* of time over the parent: 0.1 is a tenth less */
    char *hypothesis;      /* the model's reason, one line; NULL: none */
    /* what became of it */
    ak_trial_status status;
    char *reason; /* one line; NULL when ok */
    int64_t propose_ns, compile_ns, check_ns, measure_ns, overhead_ns;
    double *samples_ms;
    size_t sample_count;
    double median_ms, ci_low_ms, ci_high_ms; /* 95 % interval of the median */
    double max_error;                        /* largest error as a fraction of what is allowed */
    int registers, shared_bytes, spill_bytes;
    double occupancy;
    double tflops, gbs, efficiency; /* efficiency: fraction of the roofline, 0..1 */
    char *bound;                    /* "compute" or "memory" */
    /* Where it was measured: several devices may share a run. */
    char *measured_on; /* "cuda:1"; NULL: not recorded */
    char *device_uuid; /* "GPU-5fd4f087-..."; NULL: the device has none */
    /* What the device did meanwhile, by its driver; means over samples, 0 and NULL: not known. */
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius;
    char *throttle;     /* why the clock was held back: "none", "power_cap", "power_cap,thermal" */
    double utilisation; /* of the arithmetic units at that clock, 0..1; if bound by compute */
} ak_trial;

AK_API void ak_trial_clear(ak_trial *trial);
AK_API ak_status ak_trial_copy(ak_trial *out, const ak_trial *trial, ak_error *err);
/* The object of `autokernel history --json` (docs/formats.md). Free with ak_text_free. */
AK_API ak_status ak_trial_json(char **out_text, const ak_trial *trial, ak_error *err);

/* ---- 5. the archive ------------------------------------------------------------------------- */

/* Every trial ever made, in one SQLite file. A trial that was added is durable when the call
   returns. Several processes may use one archive at once. */
typedef struct ak_archive ak_archive;

/* `path` NULL: AUTOKERNEL_ARCHIVE, else autokernel/archive.db under the XDG data folder. Creates
   what is missing. A damaged file or one of a newer schema is refused and left as it is. */
AK_API ak_status ak_archive_open(ak_archive **out, const char *path, ak_error *err);
/* The same for reading: one that is not there is empty, and nothing is created. */
AK_API ak_status ak_archive_open_existing(ak_archive **out, const char *path, ak_error *err);
AK_API void ak_archive_close(ak_archive *archive);
AK_API const char *ak_archive_path(const ak_archive *archive);

/* Fields left NULL or 0 match everything. `run` may be that of ak_tune_sizes: the trials of its
   sizes match. */
typedef struct ak_archive_filter {
    const char *kernel, *implementation, *device, *size, *dtype, *choices, *run, *environment;
    const char *config;
    bool ok_only;
    bool best_first; /* by median; default: oldest first */
    size_t limit;
} ak_archive_filter;

/* AK_NOT_FOUND if the archive has no run of this id: a filter that names it would match nothing. */
AK_API ak_status ak_archive_check_run(ak_archive *archive, const char *run, ak_error *err);

/* Called for each trial; the trial is borrowed for the call. Return false to stop. */
typedef bool (*ak_trial_visitor)(void *context, const ak_trial *trial);
AK_API ak_status ak_archive_each(ak_archive *archive, const ak_archive_filter *filter,
                                 ak_trial_visitor visit, void *context, ak_error *err);

/* The best configuration of one task, as far as it is known: the winner of the finish of a run
   (measured again, beside the baseline) counts for more than the lowest median, which is partly
   luck. All matching trials must be of one task (kernel, device, size, dtype, choices); of several
   environments of an implementation the one with the latest trial counts, of several
   implementations the fastest. AK_NOT_FOUND if nothing that is ok matches.
   The caller clears `out`. */
AK_API ak_status ak_archive_best(ak_trial *out, ak_archive *archive,
                                 const ak_archive_filter *filter, ak_error *err);

/* Formats, by name: see ak_list(AK_LIST_FORMATS). Export writes to `path` ("-": standard output)
   all or nothing; import adds all trials of the file or none, but for those that the archive has
   already: of the same run, time, task, configuration and result. `known` (may be NULL): how many
   these were. */
AK_API ak_status ak_archive_export(ak_archive *archive, const ak_archive_filter *filter,
                                   const char *format, const char *path, ak_error *err);
AK_API ak_status ak_archive_import(size_t *added, size_t *known, ak_archive *archive,
                                   const char *format, const char *path, ak_error *err);

/* The configuration of a best_config.json as canonical text. Free with ak_text_free. */
AK_API ak_status ak_best_config_read(char **out_text, const char *path, ak_error *err);

/* ---- 6. tester and optimizer ---------------------------------------------------------------- */

/* Compiles, checks and times configurations of one task, one at a time, in a process of its own: a
   crash or a hang of a candidate costs one trial. */
typedef struct ak_tester ak_tester;

AK_API ak_status ak_tester_open(ak_tester **out, const ak_task *task, ak_error *err);
AK_API void ak_tester_close(ak_tester *tester);
/* Fails only if the harness fails; what the candidate did is in `out`, which the caller clears. */
AK_API ak_status ak_tester_run(ak_trial *out, ak_tester *tester, const ak_config *config,
                               ak_error *err);
/* Correctness only, over the problem's awkward sizes and the task's own. */
AK_API ak_status ak_tester_check(ak_trial *out, ak_tester *tester, const ak_config *config,
                                 ak_error *err);

/* As ak_task_open; but where spec->implementation is NULL and several can do the task, measured
   results choose: the archive's (may be NULL), in the environment of today, at this size or the
   nearest, by no more than a factor of two, at which all of them were measured; else, with `race`,
   their default configurations, each compiled, checked and timed now, and archived. Without either
   it is the first of the kernel's folder. `cancel` may be NULL. */
AK_API ak_status ak_task_choose(ak_task **out, const ak_task_spec *spec, ak_archive *archive,
                                bool race, const volatile int *cancel, ak_error *err);

/* What happens during a run, as one stream: the log, the progress bar and --events all read it.
   `json` is one object without line breaks, see docs/formats.md for the events and their fields. */
typedef void (*ak_event_sink)(void *context, const char *event, const char *json);

typedef struct ak_tune_options {
    /* NULL: "portfolio", with a language model "hybrid"; see ak_list(AK_LIST_STRATEGIES).
       Hyper-parameters follow a colon:
       "genetic:population=30,mutation=0.2"; see ak_list(AK_LIST_HYPERPARAMETERS) */
    const char *strategy;
    size_t evaluations;    /* configurations to try, the resumed ones included; 0: 60 */
    double seconds;        /* wall time; 0: no limit */
    double spent_seconds;  /* of these, by what came before: the race of ak_task_choose */
    double target_speedup; /* stop when the baseline is beaten by this factor; 0: never. A
                              recording has no baseline: AK_INVALID */
    bool resume;           /* trials of the same key in the archive count as evaluated, so that
                              a run that is resumed ends where it would have ended */
    size_t finalists;      /* re-measured interleaved with the baseline, and the default; 0: 3 */
    /* Configurations to try right after the default, as text; those that are not in the space are
       passed over. Borrowed for the call. */
    const char *const *first;
    size_t first_count;
    ak_event_sink sink;    /* may be NULL */
    void *sink_context;
    const volatile int *cancel; /* set to non-zero from a signal handler to end the run early */
    /* For strategies that ask a language model (llm, llm-oneshot, hybrid); NULL: none. Its `cancel`
       is that of the run. Where it cannot be reached, the run says so (the event "warning") and
       carries on with "portfolio"; what no waiting can cure, such as a budget for a model without a
       price, is refused. */
    const struct ak_llm_options *llm;
    int generations; /* questions to the model; 0: the strategy's default. 1 is one shot */
    size_t batch;    /* proposals a question; 0: what the budget leaves for each */
} ak_tune_options;

/* A contestant of an interleaved measurement. */
typedef struct ak_contestant {
    char *name;    /* "tuned", "default", or the library: "OpenBLAS" */
    char *version; /* with the core type: "0.3.21 Cooperlake"; NULL for candidates */
    char *config;  /* NULL for libraries */
    char *library; /* what it is called in --libraries: "cublaslt-best"; NULL for candidates */
    char *reason;  /* why it failed, in one line; NULL if it did not */
    double median_ms, ci_low_ms, ci_high_ms;
    double tflops, gbs, efficiency;
    double ratio, ratio_low, ratio_high; /* speed relative to the first library, paired, 95 % */
    bool tie;                            /* the interval of the ratio contains 1 */
    /* as in ak_trial */
    double sm_clock_mhz, memory_clock_mhz, power_watts, temperature_celsius;
    char *throttle;
    double utilisation;
    /* may kernels of a batch begin before those ahead of them have ended (CUDA: programmatic
       launches)? "none", "within runs", "between runs"; NULL: not known */
    char *overlap;
} ak_contestant;

typedef struct ak_tune_result {
    char *run;
    size_t evaluated;                      /* trials of this run, resumed ones not counted */
    size_t failed[AK_TRIAL_STATUS_COUNT];  /* by status */
    size_t resumed;
    double seconds;
    /* "evaluations", "time", "target", "exhausted", "converged", "cancelled"; of a language model
       "generations" (all its answers were tried) and "stalled" (two in a row gained nothing) */
    const char *stopped_by;
    bool found;             /* a verified best exists */
    ak_trial best;
    double speedup; /* best against the baseline, from the interleaved finish; 0 without one */
    ak_contestant *contestants; /* finalists and baselines, as re-measured */
    size_t contestant_count;
    size_t baseline; /* index in contestants of the fastest library; contestant_count if none */
    char **warnings; /* what makes the finish less sure than its intervals say, one line each */
    size_t warning_count;
    /* The language model, if the strategy asked one. */
    char *model; /* NULL: none */
    size_t llm_calls, llm_failed; /* failed, or given up when the run ended: without an answer */
    int64_t llm_input_tokens, llm_output_tokens;
    bool llm_priced; /* false: the price is not known, the cost is 0 */
    double llm_cost_usd;
} ak_tune_result;

/* Finds the best configuration of the task. `archive` may be NULL (nothing is kept). */
AK_API ak_status ak_tune(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                         const ak_tune_options *options, ak_error *err);
AK_API void ak_tune_result_clear(ak_tune_result *result);
/* The object that `autokernel tune --json` prints (docs/formats.md). Free with ak_text_free. */
AK_API ak_status ak_tune_result_json(char **out_text, const ak_tune_result *result,
                                     const ak_task *task, ak_error *err);

/* Many sizes. Each size is tuned by itself; the leaders of all sizes are measured at every size,
   interleaved; and of these the few are chosen that, together, lose least against tuning each size
   (geometric mean of the ratios of times). What they lose is then measured once more, so that the
   figure does not profit from the choice. */
#define AK_TUNE_SIZES_MAX 64

/* One of the sizes. Indices are into `configs` of the result. */
typedef struct ak_size_result {
    char *size;       /* "M=1024,N=1024,K=1024" */
    char *run;        /* of its own tuning, for ak_report; NULL if it was not begun */
    size_t evaluated; /* by that run */
    bool measured;    /* the members below are known */
    size_t winner;    /* the fastest here of all leaders */
    double ms;        /* of the winner */
    char *library;    /* the fastest one, measured beside it; NULL if there is none */
    double library_ms;
    size_t config; /* what the table gives for this size */
    double loss;   /* its time over the winner's, 1 if it is the winner; paired, measured again */
    double loss_low, loss_high; /* 95 % */
} ak_size_result;

/* What some configurations, chosen together, lose over all sizes, each served by its fastest. */
typedef struct ak_sizes_loss {
    size_t configs;
    double geomean, worst; /* 0: they do not serve every size */
    size_t worst_size;     /* index in `sizes` */
} ak_sizes_loss;

typedef struct ak_sizes_result {
    char *run;
    char *kernel, *implementation, *device, *dtype, *choices; /* what the sizes have in common */
    ak_size_result *sizes;
    size_t size_count;
    char **configs; /* the leaders, as text */
    size_t config_count;
    double *ms; /* ms[config * size_count + size], interleaved; 0: cannot be used there */
    size_t *table; /* the chosen: indices into `configs`; none if the run ended early */
    size_t table_count;
    bool exact;              /* of all choices the best one; else found greedily */
    ak_sizes_loss loss;      /* of the table, as measured again */
    ak_sizes_loss *tradeoff; /* 1, 2, ... configurations, by the measurement they are chosen by */
    size_t tradeoff_count;
    size_t evaluated;
    /* The language model, by all sizes together; as in ak_tune_result. */
    char *model;
    size_t llm_calls, llm_failed;
    int64_t llm_input_tokens, llm_output_tokens;
    bool llm_priced;
    double llm_cost_usd;
    double seconds;
    const char *stopped_by; /* "done", "cancelled", or "nothing" if a size has no working one */
} ak_sizes_result;

/* `spec->size` is not read. Without `spec->implementation` it is the one that most sizes choose
   (ak_task_choose, with race). `table` is how many configurations may be chosen. Evaluations,
   seconds and the language model's budget of the options are for all sizes together (evaluations
   0: 60 each); what a size leaves goes to those after it. With `resume` a size whose own tuning
   came to its end in an earlier run is not tuned again. AK_INVALID for a size given twice. */
AK_API ak_status ak_tune_sizes(ak_sizes_result *out, const ak_task_spec *spec,
                               const char *const *sizes, size_t size_count, size_t table,
                               ak_archive *archive, const ak_tune_options *options, ak_error *err);
AK_API void ak_sizes_result_clear(ak_sizes_result *result);
/* The object that `autokernel tune --sizes --json` prints. Free with ak_text_free. */
AK_API ak_status ak_sizes_result_json(char **out_text, const ak_sizes_result *result,
                                      ak_error *err);

/* The configuration that a file gives for a task: a best_config.json its one, a dispatch.json the
   one of the nearest size that is valid at the task's own (docs/formats.md has the rule). */
AK_API ak_status ak_config_read(ak_config *out, const ak_task *task, const char *path,
                                ak_error *err);

/* ---- 7. comparing and reporting ------------------------------------------------------------- */

typedef struct ak_comparison {
    ak_contestant *contestants; /* libraries first, then the configurations in the order given */
    size_t count;
    char **warnings; /* as in ak_tune_result */
    size_t warning_count;
} ak_comparison;

/* Measures the vendor libraries (if `baselines`) and configurations, interleaved in one run. */
AK_API ak_status ak_compare(ak_comparison *out, const ak_task *task, const ak_config *configs,
                            const char *const *names, size_t count, bool baselines,
                            double seconds, ak_error *err);
AK_API void ak_comparison_clear(ak_comparison *comparison);
/* As JSON: kernel, device, size, dtype, choices and the contestants. Free with ak_text_free. */
AK_API ak_status ak_comparison_json(char **out_text, const ak_comparison *comparison,
                                    const ak_task *task, ak_error *err);

/* Report of a run (NULL: the latest) in "text", "csv", "json" or "md". Free with ak_text_free. */
AK_API ak_status ak_report(char **out_text, ak_archive *archive, const char *run,
                           const char *format, ak_error *err);
/* Which parameters make the difference among the trials that match, as JSON: the member "impact" of
   a report (docs/formats.md). Trials of several tasks may match; their times are compared within
   their task. Free with ak_text_free. */
AK_API ak_status ak_archive_impact(char **out_text, ak_archive *archive,
                                   const ak_archive_filter *filter, ak_error *err);
AK_API void ak_text_free(char *text);

/* ---- 8. language models --------------------------------------------------------------------- */

/* Which language model to ask, and within which limits (docs/llm.md). Texts may be NULL and numbers
   0 for the default. Keys are read from OPENAI_API_KEY or ANTHROPIC_API_KEY or from key_file, and
   appear in nothing that autokernel writes or prints. */
typedef struct ak_llm_options {
    const char *model;    /* "openai:gpt-5", provider and model; "replay:DIR"; NULL: `replay`'s */
    const char *url;      /* base address of the server, with or without /v1 */
    const char *effort;   /* of reasoning: none, minimal, low, medium, high, xhigh, max */
    const char *key_file; /* first line is the key; only its owner may read it (mode 0600) */
    const char *prices;   /* JSON file with prices that extend or replace the built-in ones */
    const char *record;   /* folder, of one model and effort: every answer is kept; one that is
                             there is not asked again */
    const char *replay;   /* folder: answers come from there, nothing is sent */
    double budget_usd;    /* no call is made that could exceed it; 0: no limit */
    double connect_seconds; /* to reach the server; 0: 10 */
    double stall_seconds;   /* without a byte; 0: 300, as long as a model may think in silence */
    double timeout_seconds; /* of one attempt; 0: 900 */
    int retries;            /* after the first attempt; 0: 4; negative: none */
    uint64_t seed;          /* of the jitter between attempts */
    const volatile int *cancel; /* set to non-zero from a signal handler to end calls at once */
} ak_llm_options;

/* Asks for one word, to see whether provider, key, model, schema and price work. `out_json` is one
   object (docs/llm.md). Free with ak_text_free. */
AK_API ak_status ak_llm_check(char **out_json, const ak_llm_options *options, ak_error *err);

/* The conversations of a run (NULL: the latest) as a JSON text, {"run": ..., "calls": [...]}: of
   each question the prompt, the reply or the error, tokens, cost and time, and of each proposal its
   prediction and what came of it (docs/formats.md). ak_text_free. */
AK_API ak_status ak_llm_conversation(char **out_json, ak_archive *archive, const char *run,
                                     ak_error *err);
/* What language models were worth in the trials that the filter selects, as a JSON text: success by
   proposer, the best of each generation, predictions against outcomes, tokens and cost for each
   percent gained (docs/formats.md). "null" if none took part. ak_text_free. */
AK_API ak_status ak_llm_worth(char **out_json, ak_archive *archive,
                              const ak_archive_filter *filter, ak_error *err);

/* ---- 9. lists ------------------------------------------------------------------------------- */

typedef enum ak_list_kind {
    AK_LIST_KERNELS,
    AK_LIST_BACKENDS,
    AK_LIST_STRATEGIES,
    AK_LIST_FORMATS, /* of export and import */
    AK_LIST_DEVICES, /* probes the machine in a child process */
    AK_LIST_BASELINES,
    AK_LIST_HYPERPARAMETERS, /* of strategies: "genetic:population", "20 (2 to 1000): ..." */
    AK_LIST_PROVIDERS        /* of language models */
} ak_list_kind;

typedef void (*ak_list_visitor)(void *context, const char *name, const char *description);
AK_API ak_status ak_list(ak_list_kind kind, ak_list_visitor visit, void *context, ak_error *err);

/* Everything `autokernel doctor` knows, as a JSON text: devices with measured ceilings, compilers,
   libraries with versions, settings in force and where each came from. Free with ak_text_free. */
AK_API ak_status ak_doctor(char **out_json, ak_error *err);

/* Writes the skeleton of a new kernel into the folder `path`, which must not exist. */
AK_API ak_status ak_kernel_new(const char *path, ak_error *err);

/* The body of `autokernel worker`: the child processes that compile, check and time. A program that
   embeds the library either installs the autokernel executable (found beside the program, in PATH
   or by AUTOKERNEL_WORKER) or calls this from its own main when argv[1] is "worker". */
AK_API int ak_worker_main(int argc, char **argv);

/* ---- 10. recordings: searching without a device --------------------------------------------- */

/* A space whose configurations were all measured once: what became of each, and what trying it
   cost. A search over a recording needs no device, takes seconds and gives the same result every
   time, so that strategies can be compared and tuned. */
typedef struct ak_recording ak_recording;

/* `path` is a cache file of Kernel Tuner (also of a run that was stopped), a T4 file, the JSON
   results of KTT, each also compressed with gzip, or an archive of ours that holds one task. Up to
   64 MiB unpacked. docs/formats.md says what is read of each. */
AK_API ak_status ak_recording_open(ak_recording **out, const char *path, ak_error *err);
/* The same with the T1 file of its space, which has the parameters, their values and defaults, and
   the conditions: all that was recorded must be valid there. NULL: as ak_recording_open. */
AK_API ak_status ak_recording_open_t1(ak_recording **out, const char *path, const char *t1,
                                      ak_error *err);
AK_API void ak_recording_close(ak_recording *recording);
/* The configurations that were recorded, failed ones too, and nothing else is valid in it. */
AK_API const ak_space *ak_recording_space(const ak_recording *recording);

typedef struct ak_recorded {
    ak_config config;
    ak_trial_status status;
    double value;   /* of the objective, if ok */
    double seconds; /* compiling, benchmarking, checking, framework and strategy together */
} ak_recorded;
/* By the index in the space. */
AK_API void ak_recording_at(ak_recorded *out, const ak_recording *recording, uint64_t index);

/* Texts are "" where the file does not say. The last five are of the score, see ak_simulate. */
typedef struct ak_recording_facts {
    const char *kernel, *device, *size;
    const char *objective; /* "time" */
    bool maximise;         /* more of it is better */
    size_t configurations, ok;
    double optimum, median; /* of the objective, over those that are ok */
    double seconds_median;  /* cost of one */
    double seconds_each;    /* mean cost of one that is ok, with the failures on the way to it */
    double target;          /* objective at the cut-off: 95 % of the way from median to optimum */
    size_t evaluations;     /* that random search is expected to need for it */
    double first_seconds, last_seconds; /* cut-offs at 1 % and 95 %: the score is taken between */
} ak_recording_facts;
AK_API const ak_recording_facts *ak_recording_describe(const ak_recording *recording);

typedef struct ak_simulate_options {
    const char *strategy; /* as in ak_tune_options; NULL: "portfolio" */
    size_t repeats;       /* 0: 25 */
    uint64_t seed;        /* the seeds of the repeats are derived from it, in order */
    size_t batch;         /* proposals that are asked for at once; 0: 1 */
    size_t evaluations;   /* of one repeat, and told to the strategy; 0: no limit */
    /* Simulated, of one repeat; 0: 1.1 times the cut-off at 95 %, and, unless `evaluations` is
       given, no further than to the optimum: nothing better can come. */
    double seconds;
    int jobs;             /* threads; 0: one for each core. The result does not depend on it */
    const volatile int *cancel;
} ak_simulate_options;

/* One repeat. */
typedef struct ak_simulated {
    uint64_t seed;
    size_t evaluations, failed;
    double seconds; /* simulated */
    bool found;
    uint64_t best; /* index in the space, if found */
    double best_value;
    size_t best_at; /* evaluation that found it, from 1 */
    double best_seconds;
    double thinking_ms; /* processor time that the strategy took: measured, not simulated */
} ak_simulated;

typedef struct ak_simulation {
    ak_simulated *repeats;
    size_t count;
    double median_best;     /* best_value, median over the repeats that found something; else 0 */
    double ms_per_proposal; /* thinking, over all repeats */
    /* 1 is the optimum at once, 0 as good as random search, below 0 worse. False: it cannot be
       scored (the recording has no costs, or no configuration better than the median). */
    bool scored;
    double score;
} ak_simulation;

/* Replays a search on the recording, with a clock that advances by what each configuration cost
   when it was recorded. The strategy's own thinking is measured but not on that clock. Where
   no T1 file gives a default configuration, each repeat has another, drawn at random.

   The score follows Willemsen et al., Future Generation Computer Systems 2024, doi
   10.1016/j.future.2024.05.021: with F(t) the objective at the mean rank of the best found by time
   t over the repeats, R(t) that of random search, and `opt` the optimum, it is the mean of
   (R(t) - F(t)) / (R(t) - opt) over 1,000 times from first_seconds to last_seconds. */
AK_API ak_status ak_simulate(ak_simulation *out, const ak_recording *recording,
                             const ak_simulate_options *options, ak_error *err);
AK_API void ak_simulation_clear(ak_simulation *simulation);

/* ---- 11. studies: which way of searching is worth its price? -------------------------------- */

/* Each arm is a strategy; all get the same number of evaluations, the default configuration first,
   and the same seeds. A run of an arm that asks a language model counts only if the model answered:
   one that fell back to another strategy is reported and left out. */
typedef struct ak_study_options {
    const char *arms; /* strategies with commas; NULL: random,local,portfolio and, with a model,
                         llm-oneshot,llm,hybrid too */
    size_t evaluations;               /* of each run; 0: 60 */
    size_t seeds;                     /* runs of each arm; 0: 10 */
    uint64_t seed;                    /* the seeds of the runs are derived from it */
    const struct ak_llm_options *llm; /* NULL: none */
    int generations;                  /* as in ak_tune_options */
    size_t batch;
    ak_event_sink sink; /* "run" after each run: arm, seed, best; and those of ak_tune; or NULL */
    void *sink_context;
    const volatile int *cancel;
} ak_study_options;

/* On a recording: nothing runs, the clock advances by what each configuration cost and by how long
   each reply took. `out_json` is described in docs/formats.md; free it with ak_text_free. */
AK_API ak_status ak_study_recording(char **out_json, const ak_recording *recording,
                                    const ak_study_options *options, ak_error *err);
/* On a device: each run is an ak_tune. `archive` may be NULL. */
AK_API ak_status ak_study_task(char **out_json, const ak_task *task, ak_archive *archive,
                               const ak_study_options *options, ak_error *err);

#ifdef __cplusplus
}
#endif
#endif
