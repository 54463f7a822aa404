/*
 * field.h: the table of a trial's fields. The archive's columns and rows, the JSON objects, the CSV
 * columns, copies and checksums are all made from this table. To add a field to ak_trial, add it
 * here and in autokernel.h, and add a step to schema.c that gives older archives its column.
 *
 * X(name in the archive, in JSON and in CSV, kind, member of ak_trial)
 */
#ifndef AK_ARCHIVE_FIELD_H
#define AK_ARCHIVE_FIELD_H

#include "base/status.h"

#define AK_FIELD_MAP(X)                                                                            \
    X(run, NULLABLE, run)                                                                          \
    X(timestamp, TEXT, timestamp)                                                                  \
    X(kernel, TEXT, kernel)                                                                        \
    X(implementation, TEXT, implementation)                                                        \
    X(device, TEXT, device)                                                                        \
    X(size, TEXT, size)                                                                            \
    X(dtype, TEXT, dtype)                                                                          \
    X(choices, TEXT, choices)                                                                      \
    X(config, TEXT, config)                                                                        \
    X(environment, NULLABLE, environment)                                                          \
    X(strategy, NULLABLE, strategy)                                                                \
    X(model, FOREIGN, model)                                                                       \
    X(generation, INT, generation)                                                                 \
    X(parent, LINK, parent)                                                                        \
    X(predicted_gain, REAL, predicted_gain)                                                        \
    X(hypothesis, FOREIGN, hypothesis)                                                             \
    X(status, STATUS, status)                                                                      \
    X(reason, FOREIGN, reason)                                                                     \
    X(propose_ns, LONG, propose_ns)                                                                \
    X(compile_ns, LONG, compile_ns)                                                                \
    X(check_ns, LONG, check_ns)                                                                    \
    X(measure_ns, LONG, measure_ns)                                                                \
    X(overhead_ns, LONG, overhead_ns)                                                              \
    X(samples_ms, SAMPLES, samples_ms)                                                             \
    X(ms, MEASURED, median_ms)                                                                     \
    X(ci_low_ms, MEASURED, ci_low_ms)                                                              \
    X(ci_high_ms, MEASURED, ci_high_ms)                                                            \
    X(max_error, UNBOUNDED, max_error)                                                             \
    X(registers, INT, registers)                                                                   \
    X(shared_bytes, INT, shared_bytes)                                                             \
    X(spill_bytes, INT, spill_bytes)                                                               \
    X(occupancy, REAL, occupancy)                                                                  \
    X(tflops, MEASURED, tflops)                                                                    \
    X(gbs, MEASURED, gbs)                                                                          \
    X(efficiency, MEASURED, efficiency)                                                            \
    X(bound, NULLABLE, bound)                                                                      \
    X(measured_on, NULLABLE, measured_on)                                                          \
    X(device_uuid, NULLABLE, device_uuid)                                                          \
    X(sm_clock_mhz, MEASURED, sm_clock_mhz)                                                        \
    X(memory_clock_mhz, MEASURED, memory_clock_mhz)                                                \
    X(power_watts, MEASURED, power_watts)                                                          \
    X(temperature_celsius, MEASURED, temperature_celsius)                                          \
    X(throttle, NULLABLE, throttle)                                                                \
    X(utilisation, MEASURED, utilisation)                                                          \
    X(compile_worker, INT, compile_worker)                                                         \
    X(compiled_before_ns, LONG, compiled_before_ns)                                                \
    X(joules, MEASURED, joules)                                                                    \
    X(joules_low, MEASURED, joules_low)                                                            \
    X(joules_high, MEASURED, joules_high)                                                          \
    X(code_bytes, INT, code_bytes)                                                                 \
    X(cost, MEASURED, cost)                                                                        \
    X(cost_low, MEASURED, cost_low)                                                                \
    X(cost_high, MEASURED, cost_high)

typedef enum ak_field_kind {
    AK_FIELD_TEXT,      /* char *, NULL counts as "" */
    AK_FIELD_NULLABLE,  /* char * or NULL */
    AK_FIELD_FOREIGN,   /* char * or NULL; any bytes, from a compiler or model */
    AK_FIELD_INT,       /* int */
    AK_FIELD_LONG,      /* int64_t */
    AK_FIELD_LINK,      /* int64_t, id of another trial; 0: none */
    AK_FIELD_REAL,      /* double, finite */
    AK_FIELD_MEASURED,  /* double, 0: not measured */
    AK_FIELD_UNBOUNDED, /* double, may be infinite */
    AK_FIELD_STATUS,    /* ak_trial_status */
    AK_FIELD_SAMPLES    /* samples_ms and sample_count */
} ak_field_kind;

typedef struct ak_field {
    const char *name;
    ak_field_kind kind;
    size_t offset; /* in ak_trial */
} ak_field;

#define AK_FIELD_ONE(name, kind, member) +1
enum { AK_FIELD_COUNT = 0 AK_FIELD_MAP(AK_FIELD_ONE) };
#undef AK_FIELD_ONE
extern const ak_field ak_fields[AK_FIELD_COUNT];

/* Limits for the texts and samples of a trial, whether it was measured here or imported. */
#define AK_TRIAL_TEXT_BYTES_MAX 16384 /* 64 parameters of 250 bytes each */
#define AK_TRIAL_SAMPLES_MAX    65536 /* 256 times as many as the timer takes */

bool ak_field_is_text(ak_field_kind kind);
char **ak_field_text(const ak_trial *trial, const ak_field *field);
int *ak_field_int(const ak_trial *trial, const ak_field *field);
int64_t *ak_field_long(const ak_trial *trial, const ak_field *field);
double *ak_field_real(const ak_trial *trial, const ak_field *field);

/* Checks a trial before it is stored: texts must be UTF-8 (except FOREIGN ones) and within their
   limits, the kernel must have a name, numbers must be finite, and quantities that cannot be
   negative must not be. */
ak_status ak_trial_validate(const ak_trial *trial, const char *where, ak_error *err);
/* Returns the checksum that the archive keeps beside a trial. It covers all fields except
   efficiency and bound, which are computed again when higher ceilings are measured, and except the
   fields that are younger than the checksum where they are not known. */
int64_t ak_trial_checksum(const ak_trial *trial);
/* Replaces a text of a trial by a copy. */
ak_status ak_trial_set(char **member, const char *text, ak_error *err);

#endif
