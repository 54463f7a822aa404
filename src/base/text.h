/* text.h: small helpers on texts. */
#ifndef AK_BASE_TEXT_H
#define AK_BASE_TEXT_H

#include "base/status.h"

/* The word of a NULL-terminated list that a mistyped one most likely means (edit distance at most a
   third of its length), or NULL. */
const char *ak_text_nearest(const char *word, const char *const *words);
/* Edit distance (Levenshtein) of two short words; long ones count as far apart. */
size_t ak_text_distance(const char *a, const char *b);

/* Whole-text numbers, no blanks around them; false if the text is anything else or out of range. */
bool ak_text_int(int64_t *out, const char *text);
bool ak_text_real(double *out, const char *text); /* finite */
/* "90", "90s", "10m", "1.5h" in seconds. */
bool ak_text_seconds(double *out, const char *text);

#endif
