/*
 * json.h: reads and writes JSON with Jansson, within limits.
 *
 * Reading refuses a text that is larger than AK_JSON_BYTES_MAX, is nested deeper than
 * AK_JSON_DEPTH_MAX, is UTF-16, has duplicate keys, NaN or infinities, or has bytes after the
 * value. A byte order mark of UTF-8 is skipped. Messages name the origin and, except for the two
 * limits and UTF-16, line and column. The getters report a mistyped member as
 * `WHERE: "key" must be a string`, and a missing one as `WHERE: "key" is missing`.
 */
#ifndef AK_BASE_JSON_H
#define AK_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "base/text.h"

#define AK_JSON_BYTES_MAX (64u << 20) /* the largest recorded space is 40 MB unpacked */
#define AK_JSON_DEPTH_MAX 64

/* Parses a text. `origin` names it in messages: a file name, or "worker". The caller releases
 *out with json_decref. */
ak_status ak_json_parse(json_t **out, const char *text, size_t length, const char *origin,
                        ak_error *err);
/* Parses a text that ends in a 0 in the same way. If `text` is NULL, *out is NULL. */
ak_status ak_json_parse_text(json_t **out, const char *text, const char *origin, ak_error *err);
/* Reads and parses a file. */
ak_status ak_json_read(json_t **out, const char *path, ak_error *err);

/* Run the block that follows once for each item of an array, or for each key and value of an
   object; NULL and values of other types have none:

       AK_EACH(run, json_object_get(result, "runs")) {
           print_run(run);
       }

   `break` and `continue` work as in every loop: item##_on is 0, or key##_on NULL, while the block
   runs and after a `break`. The block may replace a value, but neither add nor remove any. */
#define AK_EACH(item, list)                                                                        \
    for (size_t item##_at = 0, item##_on = 1; item##_on && item##_at < json_array_size(list);      \
         item##_at++)                                                                              \
        for (json_t *item = (item##_on = 0, json_array_get(list, item##_at)); !item##_on;          \
             item##_on = 1)
#define AK_EACH_MEMBER(key, value, object)                                                         \
    for (const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)(object))),  \
                    *key##_on = "";                                                                \
         key##_on != NULL && key != NULL;                                                          \
         key = json_object_iter_key(                                                               \
             json_object_iter_next((json_t *)(uintptr_t)(object), json_object_key_to_iter(key))))  \
        for (json_t * value __attribute__((unused)) =                                              \
                 (key##_on = NULL, json_object_iter_value(json_object_key_to_iter(key)));          \
             key##_on == NULL; key##_on = "")

/* Each of these reads a member of an object. The plain form returns AK_INVALID if the member is
   missing; the _or form gives the fallback instead. Both return AK_INVALID on a wrong type. Results
   that are pointers are borrowed from the object. */
ak_status ak_json_string(const char **out, const json_t *object, const char *key, const char *where,
                         ak_error *err);
ak_status ak_json_string_or(const char **out, const json_t *object, const char *key,
                            const char *fallback, const char *where, ak_error *err);
ak_status ak_json_int(int64_t *out, const json_t *object, const char *key, const char *where,
                      ak_error *err);
ak_status ak_json_int_or(int64_t *out, const json_t *object, const char *key, int64_t fallback,
                         const char *where, ak_error *err);
/* Reads a number. Integers are accepted too. */
ak_status ak_json_real_or(double *out, const json_t *object, const char *key, double fallback,
                          const char *where, ak_error *err);
ak_status ak_json_bool_or(bool *out, const json_t *object, const char *key, bool fallback,
                          const char *where, ak_error *err);
ak_status ak_json_array(json_t **out, const json_t *object, const char *key, const char *where,
                        ak_error *err);
ak_status ak_json_object(json_t **out, const json_t *object, const char *key, const char *where,
                         ak_error *err);
/* Give NULL if the member is missing, and fail on a wrong type. The result is borrowed. */
ak_status ak_json_array_or_null(json_t **out, const json_t *object, const char *key,
                                const char *where, ak_error *err);
ak_status ak_json_object_or_null(json_t **out, const json_t *object, const char *key,
                                 const char *where, ak_error *err);
/* Returns AK_INVALID if the object has a key that is not in the NULL-terminated list. The message
   also names the key that was probably meant, if one is similar. */
ak_status ak_json_only(const json_t *object, const char *const *keys, const char *where,
                       ak_error *err);

/* Returns AK_INVALID if a key looks like a misspelling of one in the list. Other unknown keys are
   accepted, because files from other tools have keys of their own. */
ak_status ak_json_no_typo(const json_t *object, const char *const *keys, const char *where,
                          ak_error *err);

/* Read a member of a document that this program wrote. A member that is absent or of another
   type counts as 0 or "", because a document of another version must not stop a report. */
double ak_json_number_at(const json_t *object, const char *key);
const char *ak_json_text_at(const json_t *object, const char *key);
/* Reads a text in the same way, but returns NULL if there is none. */
const char *ak_json_text_or_null(const json_t *object, const char *key);
/* Returns whether a member is this text. An absent one is "". */
bool ak_json_text_is(const json_t *object, const char *key, const char *text);

/* Returns the first object of a list of which a member is this text; NULL if there is none. */
json_t *ak_json_find(const json_t *list, const char *key, const char *text);

/* Reads a number in the same way; a negative number counts as 0, too. */
double ak_json_positive_at(const json_t *object, const char *key);
/* Reads element `index` of a list in the same way, such as an end of the interval "ci_ms". */
double ak_json_number_in(const json_t *object, const char *key, size_t index);

/* Write a value in one line or, if `indented`, with two spaces for each level. Keys stay in
   insertion order. Reals get the fewest digits that read back as the same number (0.1, not
   0.10000000000000001). Characters that a terminal would obey (ak_plain_obeyed) are escaped.
   Nesting deeper than AK_JSON_DEPTH_MAX is AK_LIMIT, as in reading; a NULL value is AK_NO_MEMORY.
   The caller of ak_json_text frees *out with ak_free. */
ak_status ak_json_text(char **out, const json_t *value, ak_error *err);
void ak_json_print(ak_buf *out, const json_t *value, bool indented);
/* Writes `length` bytes, behind which there must be a 0, as a string in double quotes on one line.
   Characters that control a terminal are escaped. */
void ak_json_quote(ak_buf *out, const char *text, size_t length);
/* Writes a text as it is, without quotes, and any other value in one line. */
void ak_json_print_plain(ak_buf *out, const json_t *value);

/* Make a number, or null if it is not finite, which JSON cannot express. ak_json_known also makes
   null if the value is not positive, which means "not measured"; ak_json_interval, if the interval
   has no width or no positive end; ak_json_count_or_null, if the count is not `known`. All return
   NULL if there is no memory. */
json_t *ak_json_real(double value);
json_t *ak_json_known(double value);
json_t *ak_json_interval(double low, double high);
json_t *ak_json_count_or_null(int64_t count, bool known);

/* Returns a text as a JSON string, with U+FFFD in place of bytes that are not UTF-8, as paths may
   have them; null for NULL. Returns NULL only without memory. */
json_t *ak_json_shown(const char *text);
/* Set a member. ak_json_set takes over the reference to `value`. They return false if `value` is
   NULL (no memory) or cannot be set. A number that is not finite, or a NULL text, becomes null;
   with ak_json_set_known a number that is not positive does, too. */
bool ak_json_set(json_t *object, const char *key, json_t *value);
bool ak_json_set_count(json_t *object, const char *key, size_t count);
bool ak_json_set_real(json_t *object, const char *key, double value);
bool ak_json_set_known(json_t *object, const char *key, double value);
bool ak_json_set_text(json_t *object, const char *key, const char *text);
/* Sets several texts: ak_json_set_texts(object, "kernel", run->kernel, "size", run->size). */
#define ak_json_set_texts(object, ...)                                                             \
    ak_json_set_pairs(object, (const char *const[]){__VA_ARGS__},                                  \
                      AK_COUNT(((const char *const[]){__VA_ARGS__})))
bool ak_json_set_pairs(json_t *object, const char *const *pairs, size_t count);
/* Appends a value to a list and takes over the reference to it. Returns false as ak_json_set does.
 */
bool ak_json_append(json_t *list, json_t *value);
/* Appends a value in the same way to a list that is being made. If that fails, releases the list
   and makes it NULL, to which nothing can be added any more: so a list is whole or NULL. */
void ak_json_add(json_t **list, json_t *value);
/* Adds those members of `from` that a NULL-terminated list names and that exist. The values are
   shared, not copied. Returns false if there is no memory. */
bool ak_json_copy(json_t *object, const json_t *from, const char *const *keys);

/* Make a list of numbers (null where one is not finite) or of texts. Return NULL if there is no
   memory or a text is NULL or not UTF-8. */
json_t *ak_json_reals(const double *values, size_t count);
json_t *ak_json_integers(const int64_t *values, size_t count);
json_t *ak_json_texts(const char *const *texts, size_t count);

/* Finishes a value: returns it if all its parts were added (`good`), else releases it and returns
   NULL. ak_json_give stores it in *out or returns AK_NO_MEMORY. */
json_t *ak_json_whole(json_t *value, bool good);
ak_status ak_json_give(json_t **out, json_t *value, bool good, ak_error *err);
/* Finishes a value, gives its text as ak_json_text does, and releases it. */
ak_status ak_json_give_text(char **out, json_t *value, bool good, ak_error *err);

#endif
