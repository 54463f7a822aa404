/* message.h: writes and reads the contents of protocol messages; docs/protocol.md describes
   them. */
#ifndef AK_WORKER_MESSAGE_H
#define AK_WORKER_MESSAGE_H

#include "backend/backend.h"
#include "judge/comparison.h"
#include "measure/timer.h"
#include "worker/wire.h"

/* Returns {"id": id, "ok": false, "status": 4, "error": "text"}, the reply to a request that
   failed; NULL if there is no memory or the text is not UTF-8. */
json_t *ak_message_failure(int64_t id, ak_status status, const char *text);
/* Returns AK_OK for a reply that reports success; else the status that it reports (AK_INTERNAL for
   none or an unknown one), with its text in err, or AK_INVALID if its members have wrong types. */
ak_status ak_message_fault(const json_t *reply, ak_error *err);

/* Each _from_ function makes a message, or returns NULL if there is no memory or a text is not
   UTF-8; each _to_ function reads one and checks types and, except for what ak_part_get_real reads,
   ranges. A trial's message carries only what a device worker finds out: status, reason, samples
   and times, largest error, energy, how long its own steps took, and the conditions of the
   device. */
json_t *ak_message_from_trial(const ak_trial *trial, const ak_conditions *conditions);
ak_status ak_message_to_trial(ak_trial *out, ak_conditions *conditions, const json_t *object,
                              ak_error *err);
/* Check the whole reply to a trial (`timed`) or check, and to a comparison of `count` candidates,
   so that a worker which breaks the protocol is found before its reply is used. */
ak_status ak_message_check_trial(const json_t *object, bool timed, ak_error *err);
ak_status ak_message_check_comparison(const json_t *reply, size_t count, ak_error *err);
json_t *ak_message_from_plan(const ak_timer_plan *plan);
ak_status ak_message_to_plan(ak_timer_plan *out, const json_t *object, ak_error *err);
json_t *ak_message_from_compile(const ak_compile_result *result);
ak_status ak_message_to_compile(ak_compile_result *out, const json_t *object, ak_error *err);
json_t *ak_message_from_comparison(const ak_comparison_entry *entry);
ak_status ak_message_to_comparison(ak_comparison_entry *out, const json_t *object, ak_error *err);
/* Write into a reply, and read from it, what concerns a comparison as a whole. The first returns
   false if there is no memory. */
bool ak_message_set_course(json_t *reply, const ak_comparison_course *course);
ak_status ak_message_to_course(ak_comparison_course *out, const json_t *reply, ak_error *err);
json_t *ak_message_from_ceilings(const ak_ceilings *ceilings);
ak_status ak_message_to_ceilings(ak_ceilings *out, const json_t *object, ak_error *err);
json_t *ak_message_from_baseline(const ak_baseline_info *info);
ak_status ak_message_to_baseline(ak_baseline_info *out, const json_t *object, ak_error *err);

/* Reads a member that is an array of texts as a NULL-terminated list, which is empty if the member
   is missing. The caller frees the list with ak_free; the texts belong to `object`. */
ak_status ak_message_texts(const char ***out, size_t *count, const json_t *object, const char *key,
                           ak_error *err);

/* Sends a message and frees it. Returns AK_NO_MEMORY for NULL, which means that there was no memory
   to make it. */
ak_status ak_message_send(int fd, json_t *message, ak_error *err);

/* ---- message_part (message_part.c) ----------------------------------------------------------- */

/* The parts that messages have in common: numbers in a range, lists of samples,
   texts and conditions. A message may come from a worker that a candidate has damaged. Therefore
   lists are checked against a limit, and numbers against a range, except by ak_part_get_real.

   A reading function leaves *out alone, or sets it to 0, if a member is missing that is not
   required. */

/* The name that errors give to the source of a message. */
#define AK_PART_WHERE "wire protocol"
/* Most samples of a trial or candidate, as in the archive (AK_TRIAL_SAMPLES_MAX). */
#define AK_PART_SAMPLES_MAX 65536

/* Sets "conditions" unless the sampler took no samples. Returns false if there is no memory. */
bool ak_part_set_conditions(json_t *object, const ak_conditions *c);

/* Read a list whose numbers are at least `least`, and "samples_ms", a list of positive times in ms.
   Both leave *out and *count alone if the list is empty. The caller frees *out with ak_free. */
ak_status ak_part_get_numbers(double **out, size_t *count, const json_t *object, const char *key,
                              double least, ak_error *err);
ak_status ak_part_get_samples(double **out, size_t *count, const json_t *object, ak_error *err);
/* Reads the member "outcome", which is required. */
ak_status ak_part_get_status(ak_trial_status *out, const json_t *object, ak_error *err);
/* Copies a text that may be missing or null; the caller frees it. Control characters become spaces,
   and what exceeds 4096 bytes is cut off; the member "log" keeps line breaks, tabs and length. */
ak_status ak_part_get_text(char **out, const json_t *object, const char *key, ak_error *err);
/* Reads a number; null, which stands for a number that JSON cannot hold, gives 0. */
ak_status ak_part_get_real(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads as ak_part_get_real does, but refuses a negative number. JSON has finite numbers only. */
ak_status ak_part_get_amount(double *out, const json_t *object, const char *key, ak_error *err);
/* Reads nanoseconds or a count: from 0 to the number of nanoseconds in 366 days. */
ak_status ak_part_get_time(int64_t *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_int(int *out, const json_t *object, const char *key, ak_error *err);
ak_status ak_part_get_conditions(ak_conditions *out, const json_t *object, ak_error *err);

#endif
