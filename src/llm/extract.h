/*
 * extract.h: finds the JSON value in what a model said.
 *
 * Models wrap it in fences, explain it before and after, think aloud about drafts of it, forget the
 * object around the array, write one object a line, or put the array into a string. Of the values
 * in the text, in this order: the last whole one that has the wanted array, one that was cut and
 * has it, an array of objects, objects side by side, any other value.
 */
#ifndef AK_LLM_EXTRACT_H
#define AK_LLM_EXTRACT_H

#include "base/json.h"

typedef struct ak_extract {
    json_t *value;    /* NULL: there is none */
    json_t *elements; /* always an array */
    bool cut, repaired;
    bool whole; /* the text was nothing but the value */
} ak_extract;

/* `array` is the member that holds the elements; NULL: only `value` is wanted. The text must be
   UTF-8. Reads a text of n bytes at most AK_EXTRACT_PASSES times, whatever is in it. Fails only for
   want of memory; the caller releases both values. */
#define AK_EXTRACT_PASSES 8
ak_status ak_extract_read(ak_extract *out, const char *text, size_t length, const char *array,
                          ak_error *err);

#endif
