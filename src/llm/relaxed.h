/*
 * relaxed.h: JSON as language models write it.
 *
 * Reads what JSON readers read, to the same value, and also: trailing commas, single quotes, names
 * without quotes, comments, True, False, None, NaN (null), line breaks in strings, a comma that was
 * forgotten between two elements. Text that ends early, or goes wrong in the middle, gives what was
 * complete until there: an array keeps its complete elements, the object around it is kept for the
 * array's sake, and an element that was not finished is left out.
 *
 *     {"proposals": [{"a": 1}, {"b": 2}, {"c":      ->  {"proposals": [{"a": 1}, {"b": 2}]}, cut
 */
#ifndef AK_LLM_RELAXED_H
#define AK_LLM_RELAXED_H

#include "base/json.h"

typedef struct ak_relaxed {
    json_t *value; /* the caller's reference; NULL if nothing was complete */
    size_t end;    /* bytes read: the value ends here, or what is wrong begins */
    bool cut;      /* the text ended, or went wrong, before the value did */
    bool repaired; /* not JSON by the letter */
} ak_relaxed;

/* Reads the one value at the start of `text`, after blanks; what follows it is left alone. The text
   must be UTF-8. Fails only for want of memory; a text that starts no value gives NULL and cut.
   Nesting beyond AK_JSON_DEPTH_MAX counts as wrong. Of equal keys the last one counts. */
ak_status ak_relaxed_read(ak_relaxed *out, const char *text, size_t length, ak_error *err);

#endif
