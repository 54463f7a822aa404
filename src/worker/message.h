/* message.h: writes and reads the contents of protocol messages; docs/protocol.md describes
   them. */
#ifndef AK_WORKER_MESSAGE_H
#define AK_WORKER_MESSAGE_H

#include "backend/backend.h"
#include "judge/comparison.h"
#include "measure/timer.h"
#include "worker/wire.h"

/* Returns {"id": id, "ok": false, "status": 4, "error": "text"}, the reply to a request that
   failed; NULL if there is no memory. */
json_t *ak_message_failure(int64_t id, ak_status status, const char *text);
/* Returns AK_OK for a reply that reports success, otherwise its status with its text in *err. */
ak_status ak_message_fault(const json_t *reply, ak_error *err);

/* Each _from_ function writes a message and returns NULL if there is no memory; each _to_ function
   reads one and checks types and ranges. A trial's message carries only what a device worker finds
   out: status, reason, samples, largest error, energy, and how long its own steps took. */
json_t *ak_message_from_trial(const ak_trial *trial, const ak_conditions *conditions);
ak_status ak_message_to_trial(ak_trial *out, ak_conditions *conditions, const json_t *object,
                              ak_error *err);
/* Check the reply to a trial or check (`timed`: a trial) and to a comparison of `count` candidates
   as a whole, so that a worker which breaks the protocol is found before its reply is used. */
ak_status ak_message_check_trial(const json_t *object, bool timed, ak_error *err);
ak_status ak_message_check_comparison(const json_t *reply, size_t count, ak_error *err);
json_t *ak_message_from_plan(const ak_timer_plan *plan);
ak_status ak_message_to_plan(ak_timer_plan *out, const json_t *object, ak_error *err);
json_t *ak_message_from_compile(const ak_compile_result *result);
ak_status ak_message_to_compile(ak_compile_result *out, const json_t *object, ak_error *err);
json_t *ak_message_from_comparison(const ak_comparison_entry *entry);
ak_status ak_message_to_comparison(ak_comparison_entry *out, const json_t *object, ak_error *err);
/* Write the course of a whole comparison into the reply, beside the entries, and read it from the
   reply. */
bool ak_message_set_course(json_t *reply, const ak_comparison_course *course);
ak_status ak_message_to_course(ak_comparison_course *out, const json_t *reply, ak_error *err);
json_t *ak_message_from_ceilings(const ak_ceilings *ceilings);
ak_status ak_message_to_ceilings(ak_ceilings *out, const json_t *object, ak_error *err);
json_t *ak_message_from_baseline(const ak_baseline_info *info);
ak_status ak_message_to_baseline(ak_baseline_info *out, const json_t *object, ak_error *err);

/* Reads a member that is an array of texts as a NULL-terminated list. The caller frees the list
   with ak_free; the texts belong to `object`. */
ak_status ak_message_texts(const char ***out, size_t *count, const json_t *object, const char *key,
                           ak_error *err);

/* Sends a message and frees it. NULL, which means no memory, is AK_NO_MEMORY. */
ak_status ak_message_send(int fd, json_t *message, ak_error *err);

#endif
