/* text.h: guesses what a mistyped word means, compares texts, and reads numbers and durations. */
#ifndef AK_BASE_TEXT_H
#define AK_BASE_TEXT_H

#include "base/status.h"

/* Returns the word from a NULL-terminated list with the smallest edit distance to `word`; NULL if
   there is none. A word does not count if its distance is larger than 3, larger than 1 plus a third
   of the length of `word`, or not smaller than its own length. A word that differs only in case
   counts as equal. */
const char *ak_text_nearest(const char *word, const char *const *words);
/* Returns the word of the list that has the meaning of `word` in other programs (synonyms.c), or
   NULL: "--cores" means "--threads", "cpu" means "host". A leading "--" does not count. */
const char *ak_text_synonym(const char *word, const char *const *words);
/* Returns the word of the list that `word` most likely means: a synonym; else the only one in which
   `word`, if it has 3 characters or more, stands at the beginning or after a dash ("--speedup" in
   "--target-speedup"); else the nearest one, unless more than half of the shorter word's letters
   would have to change. NULL: none. */
const char *ak_text_meant(const char *word, const char *const *words);
/* Returns the edit distance (Levenshtein) of two words; 64 if one has more than 64 bytes. */
size_t ak_text_distance(const char *a, const char *b);

/* Returns the text, or "" for NULL. */
static inline const char *ak_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}
/* Returns whether two texts are equal; NULL counts as "". */
bool ak_text_same(const char *a, const char *b);
/* Returns the index of the first row in a table that has this text in a member; `count` if there is
   none. A row is `row` bytes long, `member` is the member's offset in it, and no row may have NULL
   there. AK_FIND and AK_HAS take the name of a member, as in AK_FIND(problem->sizes,
   problem->size_count, name, "M"). AK_FIND_TEXT and AK_HAS_TEXT look in a list of texts. */
#define AK_TEXT_MEMBER(type, member) /* refuses a member that is an array of characters */         \
    (offsetof(type, member) + _Generic(&((type *)NULL)->member, char ** : 0u, const char ** : 0u,  \
                                       char *const * : 0u, const char *const * : 0u))
size_t ak_text_find(const void *rows, size_t count, size_t row, size_t member, const char *text);
#define AK_FIND(rows, count, member, text)                                                         \
    ak_text_find(rows, count, sizeof *(rows), AK_TEXT_MEMBER(__typeof__(*(rows)), member), text)
#define AK_HAS(rows, count, member, text) (AK_FIND(rows, count, member, text) < (count))
#define AK_FIND_TEXT(list, count, text)   ak_text_find(list, count, sizeof *(list), 0, text)
#define AK_HAS_TEXT(list, count, text)    (AK_FIND_TEXT(list, count, text) < (count))
/* Does the same for a member that is plain data, which is compared byte for byte: AK_FIND_SAME(
   history, count, config, &wanted). For a list of arrays or of structures with an array, name that:
   AK_FIND_SAME(configs, count, at, wanted.at). */
size_t ak_same_find(const void *rows, size_t count, size_t row, size_t member, const void *wanted,
                    size_t bytes);
#define AK_FIND_SAME(rows, count, member, wanted)                                                  \
    ak_same_find(rows, count, sizeof *(rows), offsetof(__typeof__(*(rows)), member), wanted,       \
                 sizeof(rows)->member)
/* Returns whether a NULL-terminated list has this text. */
bool ak_text_is_one_of(const char *text, const char *const *list);
/* Returns whether a text begins with one of the texts in a NULL-terminated list. */
bool ak_text_begins(const char *text, const char *const *beginnings);
/* Returns the plural ending for a counted noun: "" for 1, else "s". */
const char *ak_plural(size_t count);
/* Ends a text before its trailing spaces and tabs, and returns what follows the leading ones. */
char *ak_text_trim(char *text);

/* Appends a text to the `length` bytes in `out`, as far as it fits into `bytes` with a final 0.
   Returns the length of the whole text, as snprintf does. */
size_t ak_text_put(char *out, size_t bytes, size_t length, const char *text);

/* Read a number that is the whole text, without blanks around it. Return false if the text is
   anything else, or the number is out of range; ak_text_real accepts finite numbers only. */
bool ak_text_int(int64_t *out, const char *text);
bool ak_text_real(double *out, const char *text);
/* Reads a duration ("90", "90s", "10m" or "1.5h") and gives it in seconds. Returns false for
   anything else, such as a negative one. */
bool ak_text_seconds(double *out, const char *text);

#endif
