/*
 * message_part.h: the parts that messages have in common: numbers in a range, lists of samples,
 * texts and conditions. A message may come from a worker that a candidate has damaged. Therefore
 * every number is checked against a range and every list against a limit.
 *
 * A reading function leaves *out alone, or sets it to 0, if the member is missing.
 */
#ifndef AK_WORKER_MESSAGE_PART_H
#define AK_WORKER_MESSAGE_PART_H

#include "backend/backend.h"

/* The name that errors give to the source of a message. */
#define AK_PART_WHERE "wire protocol"
/* Most samples of a trial or candidate, as in the archive (AK_TRIAL_SAMPLES_MAX). */
#define AK_PART_SAMPLES_MAX 65536

/* Sets "conditions", or nothing if the sampler took no samples. Returns false without memory. */
bool ak_part_set_conditions(json_t *object, const ak_conditions *c);

/* Read a list of numbers of at least `least`, and "samples_ms", a list of positive times. The
   caller frees *out with ak_free. */
ak_status ak_part_get_numbers(double **out, size_t *count, const json_t *object, const char *key,
                              double least, ak_error *err);
ak_status ak_part_get_samples(double **out, size_t *count, const json_t *object, ak_error *err);
/* Reads the member "outcome", which is required. */
ak_status ak_part_get_status(ak_trial_status *out, const json_t *object, ak_error *err);
/* Copies a text that may be missing or null; the caller frees it. Control characters become spaces,
   but line breaks and tabs stay in the member "log". */
ak_status ak_part_get_text(char **out, const json_t *object, const char *key, ak_error *err);
/* Reads a number; null, which stands for a number that JSON cannot hold, gives 0. */
ak_status ak_part_get_real(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads a measured number, which is finite (JSON has no others) and not negative. */
ak_status ak_part_get_amount(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads nanoseconds or a count, from 0 to the nanoseconds of 366 days. */
ak_status ak_part_get_time(int64_t *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_int(int *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_conditions(ak_conditions *out, const json_t *object, ak_error *err);

#endif
