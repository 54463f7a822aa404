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

/* What errors call the place of a message. */
#define AK_PART_WHERE "wire protocol"
/* Samples of a trial: what the archive keeps. */
#define AK_PART_SAMPLES_MAX 65536

/* Sets nothing if there are no conditions. */
bool ak_part_set_conditions(json_t *object, const ak_conditions *c);

/* Read a list of numbers of at least `least`, which the caller frees, and one of times. */
ak_status ak_part_get_numbers(double **out, size_t *count, const json_t *object, const char *key,
                              double least, ak_error *err);
ak_status ak_part_get_samples(double **out, size_t *count, const json_t *object, ak_error *err);
/* Reads the member "outcome", which must be there. */
ak_status ak_part_get_status(ak_trial_status *out, const json_t *object, ak_error *err);
/* Copies a text that may be missing or null, and cleans it. Only a log has several lines. */
ak_status ak_part_get_text(char **out, const json_t *object, const char *key, ak_error *err);
/* Reads a number, or 0 where null stands for a number that JSON cannot hold. */
ak_status ak_part_get_real(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads a measured number, which is finite (JSON has no others) and not negative. */
ak_status ak_part_get_amount(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads nanoseconds, of which a year has the most. */
ak_status ak_part_get_time(int64_t *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_int(int *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_conditions(ak_conditions *out, const json_t *object, ak_error *err);

#endif
