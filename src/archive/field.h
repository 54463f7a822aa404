/*
 * field.h: the table of a trial's archived fields. The archive's columns and rows, the JSON
 * objects, the CSV columns, copies, checksums and the replies of workers are all made from this
 * table. To archive another field, add it to ak_trial in autokernel.h and at the end of this table,
 * because checksums depend on the order, and add a step to schema.c that gives older archives its
 * column. If its kind is not among those of later fields so far, extend has_value in trial.c.
 *
 * X(name, kind, member of ak_trial, who sets it). `name` is the name in the archive, in JSON and in
 * CSV; but JSON has one member, ci_ms, for both ends of the interval, and in CSV the kernel is
 * called "name".
 */
#ifndef AK_ARCHIVE_FIELD_H
#define AK_ARCHIVE_FIELD_H

#include "base/json.h"
#include "base/map.h"

#define AK_FIELD_MAP(X)                                                                            \
    X(run, NULLABLE, run, RUN)                                                                     \
    X(timestamp, TEXT, timestamp, RUN)                                                             \
    X(kernel, TEXT, kernel, RUN)                                                                   \
    X(implementation, TEXT, implementation, RUN)                                                   \
    X(device, TEXT, device, RUN)                                                                   \
    X(size, TEXT, size, RUN)                                                                       \
    X(dtype, TEXT, dtype, RUN)                                                                     \
    X(choices, TEXT, choices, RUN)                                                                 \
    X(config, TEXT, config, RUN)                                                                   \
    X(environment, NULLABLE, environment, RUN)                                                     \
    X(strategy, NULLABLE, strategy, RUN)                                                           \
    X(model, FOREIGN, model, RUN)                                                                  \
    X(generation, INT, generation, RUN)                                                            \
    X(parent, LINK, parent, RUN)                                                                   \
    X(predicted_gain, REAL, predicted_gain, RUN)                                                   \
    X(hypothesis, FOREIGN, hypothesis, RUN)                                                        \
    X(status, STATUS, status, JUDGE)                                                               \
    X(reason, FOREIGN, reason, JUDGE)                                                              \
    X(propose_ns, LONG, propose_ns, RUN)                                                           \
    X(compile_ns, LONG, compile_ns, RUN)                                                           \
    X(check_ns, LONG, check_ns, CLOCK)                                                             \
    X(measure_ns, LONG, measure_ns, CLOCK)                                                         \
    X(overhead_ns, LONG, overhead_ns, CLOCK)                                                       \
    X(samples_ms, SAMPLES, samples_ms, JUDGE)                                                      \
    X(ms, MEASURED, median_ms, JUDGE)                                                              \
    X(ci_low_ms, MEASURED, ci_low_ms, JUDGE)                                                       \
    X(ci_high_ms, MEASURED, ci_high_ms, JUDGE)                                                     \
    X(max_error, UNBOUNDED, max_error, JUDGE)                                                      \
    X(registers, INT, registers, RUN)                                                              \
    X(shared_bytes, INT, shared_bytes, RUN)                                                        \
    X(spill_bytes, INT, spill_bytes, RUN)                                                          \
    X(occupancy, REAL, occupancy, RUN)                                                             \
    X(tflops, MEASURED, tflops, RUN)                                                               \
    X(gbs, MEASURED, gbs, RUN)                                                                     \
    X(efficiency, MEASURED, efficiency, RUN)                                                       \
    X(bound, NULLABLE, bound, RUN)                                                                 \
    X(measured_on, NULLABLE, measured_on, DEVICE)                                                  \
    X(device_uuid, NULLABLE, device_uuid, DEVICE)                                                  \
    X(sm_clock_mhz, MEASURED, sm_clock_mhz, DEVICE)                                                \
    X(memory_clock_mhz, MEASURED, memory_clock_mhz, DEVICE)                                        \
    X(power_watts, MEASURED, power_watts, DEVICE)                                                  \
    X(temperature_celsius, MEASURED, temperature_celsius, DEVICE)                                  \
    X(throttle, NULLABLE, throttle, DEVICE)                                                        \
    X(utilisation, MEASURED, utilisation, RUN)                                                     \
    X(compile_worker, INT, compile_worker, RUN)                                                    \
    X(compiled_before_ns, LONG, compiled_before_ns, RUN)                                           \
    X(joules, MEASURED, joules, JUDGE)                                                             \
    X(joules_low, MEASURED, joules_low, JUDGE)                                                     \
    X(joules_high, MEASURED, joules_high, JUDGE)                                                   \
    X(code_bytes, INT, code_bytes, RUN)                                                            \
    X(cost, MEASURED, cost, RUN)                                                                   \
    X(cost_low, MEASURED, cost_low, RUN)                                                           \
    X(cost_high, MEASURED, cost_high, RUN)                                                         \
    X(code_hash, NULLABLE, code_hash, RUN)                                                         \
    X(same_code, INT, same_code, RUN)                                                              \
    X(imported, INT, imported, RUN)

typedef enum ak_field_kind {
    AK_FIELD_TEXT,      /* char *, NULL counts as "" */
    AK_FIELD_NULLABLE,  /* char * or NULL */
    AK_FIELD_FOREIGN,   /* char * or NULL; any bytes, from a compiler or model */
    AK_FIELD_INT,       /* int */
    AK_FIELD_LONG,      /* int64_t */
    AK_FIELD_LINK,      /* int64_t, id of another trial; 0: none */
    AK_FIELD_REAL,      /* double, finite */
    AK_FIELD_MEASURED,  /* double, 0: not measured */
    AK_FIELD_UNBOUNDED, /* double, may be infinite or NaN */
    AK_FIELD_STATUS,    /* ak_trial_status */
    AK_FIELD_SAMPLES    /* samples_ms and sample_count */
} ak_field_kind;

/* Who sets a field. The values are bits, so that their sum is a set of them. */
typedef enum ak_field_by {
    AK_FIELD_BY_RUN = 1,   /* the tuner, the compile worker, or a computation from other fields */
    AK_FIELD_BY_JUDGE = 2, /* the device worker: results of the configuration */
    AK_FIELD_BY_CLOCK = 4, /* the device worker: how its own time was spent */
    AK_FIELD_BY_DEVICE = 8 /* the device worker: which device it was, and its state */
} ak_field_by;

typedef struct ak_field {
    const char *name, *member; /* `member` is the name in ak_trial and in messages */
    ak_field_kind kind;
    ak_field_by by;
    size_t offset, bytes; /* in ak_trial */
} ak_field;

#define AK_FIELD_ONE(name, kind, member, by) +1
enum { AK_FIELD_COUNT = 0 AK_FIELD_MAP(AK_FIELD_ONE) };
#undef AK_FIELD_ONE
extern const ak_field ak_fields[AK_FIELD_COUNT];

/* Limits for the texts and samples of a trial, whether it was measured here or imported. */
#define AK_TRIAL_TEXT_BYTES_MAX 16384 /* 64 parameters of 250 bytes each */
#define AK_TRIAL_SAMPLES_MAX    65536 /* 256 times as many as the timer takes */

bool ak_field_is_text(ak_field_kind kind);
/* Returns whether a field is one of the two ends of the time's interval. */
bool ak_field_is_interval(const ak_field *field);
/* Return the address of a trial's field, which must be of that type. */
char **ak_field_text(const ak_trial *trial, const ak_field *field);
int *ak_field_int(const ak_trial *trial, const ak_field *field);
int64_t *ak_field_long(const ak_trial *trial, const ak_field *field);
double *ak_field_real(const ak_trial *trial, const ak_field *field);
/* Returns the value of a field as JSON: null for a text that is NULL (unless that counts as ""),
   for a link to no trial, and for a number that is not finite or, if it is measured, not positive.
   Returns NULL without memory. */
json_t *ak_field_json(const ak_trial *trial, const ak_field *field);
/* Returns the address of the text of a trial that the archive calls `name`. The name must exist and
   be that of a text. */
char **ak_trial_text(const ak_trial *trial, const char *name);
/* The names of the texts that identify a trial's task, "kernel" first, NULL-terminated. */
extern const char *const ak_task_texts[];
/* Returns the first of ak_task_texts in which two trials differ (NULL counts as ""), or NULL if the
   trials are of one task. */
const char *ak_trial_task_difference(const ak_trial *a, const ak_trial *b);
/* Gives the number of a trial's task in a map of the caller: tasks are numbered from 0 as they
   come. Tasks with different texts `beside` count as different, too. */
ak_status ak_trial_task_number(size_t *out, ak_map *tasks, const ak_trial *trial,
                               const char *beside, ak_error *err);
/* Returns AK_INVALID because trials from two tasks match. The message begins with `before` and says
   that the text `name` is `a` in one task and `b` in the other. */
ak_status ak_fail_tasks(ak_error *err, const char *before, const char *name, const char *a,
                        const char *b);

/* Checks a trial before it is stored: texts must be UTF-8 (except FOREIGN ones), texts and samples
   must be within the limits above, the kernel must have a name, the status must be known, reals
   other than max_error must be finite, samples, measurements, durations and the id of the parent
   must not be negative, and a trial that is ok must have a time or a cost. */
ak_status ak_trial_validate(const ak_trial *trial, const char *where, ak_error *err);
/* Returns the checksum that the archive keeps beside a trial. It covers all fields except
   efficiency and bound, which are computed again when higher ceilings are measured, and except
   fields that were added later than the checksum, if they have no value. */
int64_t ak_trial_checksum(const ak_trial *trial);
/* Replaces a text of a trial by a copy of `text`, which may be NULL. */
ak_status ak_trial_set_text(char **member, const char *text, ak_error *err);
/* Replace some fields of `out` by the same fields of `from`: those that someone in `by`, a set of
   ak_field_by, sets. ak_trial_copy_fields copies texts and samples. ak_trial_move_fields takes them
   out of `from`, and keeps a text of `out` if `from` has none. */
ak_status ak_trial_copy_fields(ak_trial *out, const ak_trial *from, unsigned by, ak_error *err);
void ak_trial_move_fields(ak_trial *out, ak_trial *from, unsigned by);

#endif
