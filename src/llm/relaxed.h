/*
 * relaxed.h: reads JSON as language models write it.
 *
 * Strict JSON gives the same value as in any reader, but \u0000 and unpaired surrogates in strings
 * become U+FFFD, and numbers beyond the range of a double become null. The reader also takes
 * trailing commas, single quotes, names without quotes, comments, True, False, None, undefined, NaN
 * and Infinity (the last four as null), line breaks in strings, and a missing comma between two
 * elements. If a text ends early or is wrong in the middle, the reader keeps what was complete
 * before that place: an array keeps its complete elements, the object around it is kept with it,
 * and an unfinished element is left out.
 *
 *     {"proposals": [{"a": 1}, {"b": 2}, {"c":      ->  {"proposals": [{"a": 1}, {"b": 2}]}, cut
 */
#ifndef AK_LLM_RELAXED_H
#define AK_LLM_RELAXED_H

#include "base/json.h"

typedef struct ak_relaxed {
    json_t *value; /* owned by the caller; a container that is cut may be empty; NULL if another
                      value is not complete */
    size_t end;    /* bytes read, up to the end of the value or the error */
    bool cut;      /* the text ended or broke before the value did */
    bool repaired; /* the text was not strict JSON */
} ak_relaxed;

/* Reads the value at the start of `text`, after a byte order mark and blanks, and ignores what
   follows it. The text must be UTF-8. Fails only without memory. If no value starts there, `value`
   is NULL and `cut` is set. Nesting beyond AK_JSON_DEPTH_MAX ends the reading like an error in the
   text. The last of equal keys counts. */
ak_status ak_relaxed_read(ak_relaxed *out, const char *text, size_t length, ak_error *err);

#endif
