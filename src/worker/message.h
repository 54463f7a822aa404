/* message.h: the contents of protocol messages, written and read side by side. docs/protocol.md. */
#ifndef AK_WORKER_MESSAGE_H
#define AK_WORKER_MESSAGE_H

#include "worker/pool.h"
#include "worker/protocol.h"

/* {"id": id, "ok": false, "status": 4, "error": "text"}: the request could not be done. */
json_t *ak_message_failure(int64_t id, ak_status status, const char *text);
/* Gives the status and text of a failure; AK_OK otherwise. */
ak_status ak_message_fault(const json_t *reply, ak_error *err);

/* Each _to_ returns NULL for want of memory; each _from_ checks types and ranges. Only what a
   worker measures is carried: status, reason, times, samples, statistics. */
json_t *ak_message_from_trial(const ak_trial *trial, const ak_conditions *conditions);
ak_status ak_message_to_trial(ak_trial *out, ak_conditions *conditions, const json_t *object,
                              ak_error *err);
json_t *ak_message_from_plan(const ak_timer_plan *plan);
ak_status ak_message_to_plan(ak_timer_plan *out, const json_t *object, ak_error *err);
json_t *ak_message_from_compile(const ak_compile_result *result);
ak_status ak_message_to_compile(ak_compile_result *out, const json_t *object, ak_error *err);
json_t *ak_message_from_duel(const ak_duel_entry *entry);
ak_status ak_message_to_duel(ak_duel_entry *out, const json_t *object, ak_error *err);
json_t *ak_message_from_ceilings(const ak_ceilings *ceilings);
ak_status ak_message_to_ceilings(ak_ceilings *out, const json_t *object, ak_error *err);
json_t *ak_message_from_baseline(const ak_baseline_info *info);
ak_status ak_message_to_baseline(ak_baseline_info *out, const json_t *object, ak_error *err);

/* A member that is an array of texts, as a NULL-terminated list (ak_free; the texts are borrowed).
 */
ak_status ak_message_texts(const char ***out, size_t *count, const json_t *object, const char *key,
                           ak_error *err);

#endif
