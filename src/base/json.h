/*
 * json.h: JSON in and out, over Jansson, with limits.
 *
 * Reading refuses what is larger than AK_JSON_BYTES_MAX, nested deeper than AK_JSON_DEPTH_MAX, has
 * duplicate keys, NaN or infinities, or bytes after the value. Messages name the origin, line and
 * column. The getters report a missing or mistyped member as `WHERE: "key" must be a string`.
 */
#ifndef AK_BASE_JSON_H
#define AK_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "base/text.h"

#define AK_JSON_BYTES_MAX (64u << 20) /* the largest recorded space is 40 MB unpacked */
#define AK_JSON_DEPTH_MAX 64

/* `origin` is what messages call the text: a file name, "worker". */
ak_status ak_json_parse(json_t **out, const char *text, size_t length, const char *origin,
                        ak_error *err);
ak_status ak_json_read(json_t **out, const char *path, ak_error *err);

/* Members of an object. The first form fails when the member is missing; the _or form gives the
   fallback then, but still fails on a wrong type. Strings are borrowed from the object. */
ak_status ak_json_string(const char **out, const json_t *object, const char *key,
                         const char *where, ak_error *err);
ak_status ak_json_string_or(const char **out, const json_t *object, const char *key,
                            const char *fallback, const char *where, ak_error *err);
ak_status ak_json_int(int64_t *out, const json_t *object, const char *key, const char *where,
                      ak_error *err);
ak_status ak_json_int_or(int64_t *out, const json_t *object, const char *key, int64_t fallback,
                         const char *where, ak_error *err);
ak_status ak_json_real_or(double *out, const json_t *object, const char *key, double fallback,
                          const char *where, ak_error *err); /* takes integers too */
ak_status ak_json_bool_or(bool *out, const json_t *object, const char *key, bool fallback,
                          const char *where, ak_error *err);
/* NULL if missing; fails on a wrong type. */
ak_status ak_json_array_or_null(json_t **out, const json_t *object, const char *key,
                                const char *where, ak_error *err);
ak_status ak_json_object_or_null(json_t **out, const json_t *object, const char *key,
                                 const char *where, ak_error *err);
/* Fails if the object has a key that is not in the NULL-terminated list, naming the nearest one. */
ak_status ak_json_only(const json_t *object, const char *const *keys, const char *where,
                       ak_error *err);

/* For documents that we wrote ourselves, where a member that is absent or of another type is worth
   0 or "": a record of another version must not stop a report. */
double ak_json_number_at(const json_t *object, const char *key);
const char *ak_json_text_at(const json_t *object, const char *key);

/* Writing: one line, or indented by 2; keys in insertion order, reals with the fewest digits that
   read back as the same number (0.1, not 0.10000000000000001). Nesting deeper than
   AK_JSON_DEPTH_MAX is refused, as in reading. */
ak_status ak_json_text(char **out, const json_t *value, ak_error *err);
void ak_json_print(ak_buf *out, const json_t *value, bool indented);

/* Sets a member, taking the new reference; false for a NULL value (no memory) or a failed set. What
   is not finite, or a NULL text, becomes null. */
bool ak_json_set(json_t *object, const char *key, json_t *value);
bool ak_json_set_real(json_t *object, const char *key, double value);
bool ak_json_set_text(json_t *object, const char *key, const char *text); /* NULL: null */

#endif
