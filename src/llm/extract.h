/*
 * extract.h: finds the JSON value in the text of a model.
 *
 * Models wrap the value in fences, explain it before and after, write drafts of it while thinking,
 * forget the object around the array, write one object per line, or put the array into a string. If
 * an array is wanted, the value is chosen in this order: the last complete value that has it (an
 * empty array counts only if no other was found), a truncated value that has it, an array of
 * objects, objects side by side, any other value. If none is wanted, it is the longest complete
 * value, or else a truncated one.
 */
#ifndef AK_LLM_EXTRACT_H
#define AK_LLM_EXTRACT_H

#include "base/json.h"

typedef struct ak_extract {
    json_t *value;    /* NULL if there is none */
    json_t *elements; /* always an array */
    bool cut, repaired;
    bool whole; /* the text held nothing but the value */
} ak_extract;

/* Finds the value in a UTF-8 text. `array` names the member that holds the elements; if it is NULL,
   only `value` is wanted. No text is read more than AK_EXTRACT_PASSES times, whatever it holds.
   Fails only without memory. The caller releases both values. */
#define AK_EXTRACT_PASSES 8
ak_status ak_extract_read(ak_extract *out, const char *text, size_t length, const char *array,
                          ak_error *err);

#endif
