#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

#define WORD_MAX 64
#define NEAR_MAX 3 /* most typing errors in a word; with more it is another word */
#define PART_MIN 3 /* fewest characters of a part; shorter ones occur in too many words */

size_t ak_text_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > WORD_MAX || lb > WORD_MAX) {
        return WORD_MAX;
    }
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= lb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            if (row[j] + 1 < best) {
                best = row[j] + 1;
            }
            if (row[j - 1] + 1 < best) {
                best = row[j - 1] + 1;
            }
            row[j] = best;
        }
    }
    return row[lb];
}

const char *ak_text_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (ak_ascii_equal(word, words[i])) {
            return words[i];
        }
    }
    size_t limit = strlen(word) / 3 + 1;
    limit = limit < NEAR_MAX ? limit : NEAR_MAX;
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t distance = ak_text_distance(word, words[i]);
        if (distance <= limit && distance < strlen(words[i])) {
            best = words[i];
            limit = distance == 0 ? 0 : distance - 1;
            if (distance == 0) {
                break;
            }
        }
    }
    return best;
}

/* Returns true if the word, or what follows one of its dashes, begins with `part`. */
static bool is_part(const char *part, const char *word)
{
    size_t length = strlen(part);
    for (const char *at = word; at != NULL && *at != 0;) {
        if (strncmp(at, part, length) == 0) {
            return true;
        }
        at = strchr(at, '-');
        at = at == NULL ? NULL : at + 1;
    }
    return false;
}

const char *ak_text_meant(const char *word, const char *const *words)
{
    const char *meant = ak_text_synonym(word, words), *part = NULL;
    const char *bare = word + strspn(word, "-");
    size_t parts = 0;
    for (size_t i = 0; words[i] != NULL && strlen(bare) >= PART_MIN; i++) {
        if (is_part(bare, words[i] + strspn(words[i], "-"))) {
            part = words[i];
            parts++;
        }
    }
    if (meant != NULL || parts == 1) {
        return meant != NULL ? meant : part;
    }
    const char *near = ak_text_nearest(word, words);
    size_t shorter = near == NULL ? 0 : strlen(near + strspn(near, "-"));
    shorter = strlen(bare) < shorter ? strlen(bare) : shorter;
    return near != NULL && 2 * ak_text_distance(word, near) <= shorter ? near : NULL;
}

bool ak_text_same(const char *a, const char *b)
{
    return strcmp(ak_or_empty(a), ak_or_empty(b)) == 0;
}

size_t ak_text_find(const void *rows, size_t count, size_t row, size_t member, const char *text)
{
    size_t i = 0;
    for (const char *at = rows; i < count; i++, at += row) {
        const char *its;
        memcpy(&its, at + member, sizeof its);
        if (strcmp(its, text) == 0) {
            break;
        }
    }
    return i;
}

size_t ak_same_find(const void *rows, size_t count, size_t row, size_t member, const void *wanted,
                    size_t bytes)
{
    const char *at = rows;
    size_t i = 0;
    while (i < count && memcmp(at + i * row + member, wanted, bytes) != 0) {
        i++;
    }
    return i;
}

bool ak_text_is_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && strcmp(text, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

bool ak_text_begins(const char *text, const char *const *beginnings)
{
    while (*beginnings != NULL && strncmp(text, *beginnings, strlen(*beginnings)) != 0) {
        beginnings++;
    }
    return *beginnings != NULL;
}

char *ak_text_trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = 0;
    }
    return text;
}

size_t ak_text_put(char *out, size_t bytes, size_t length, const char *text)
{
    size_t n = strlen(text);
    if (length < bytes) {
        size_t room = bytes - length - 1, copied = n < room ? n : room;
        memcpy(out + length, text, copied);
        out[length + copied] = 0;
    }
    return length + n;
}

bool ak_text_int(int64_t *out, const char *text)
{
    if (*text == 0 || strspn(text, "+-0123456789") != strlen(text)) {
        return false;
    }
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != 0 || end == text) {
        return false;
    }
    *out = value;
    return true;
}

bool ak_text_real(double *out, const char *text)
{
    if (*text == 0 || strspn(text, "+-.0123456789eE") != strlen(text)) {
        return false;
    }
    char *end;
    errno = 0;
    double value = ak_number_read(text, &end);
    if (*end != 0 || end == text || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool ak_text_seconds(double *out, const char *text)
{
    size_t length = strlen(text);
    char number[32];
    double unit = 1.0;
    if (length == 0 || length >= sizeof number) {
        return false;
    }
    memcpy(number, text, length + 1);
    switch (text[length - 1]) {
    case 's':
        number[length - 1] = 0;
        break;
    case 'm':
        unit = 60.0;
        number[length - 1] = 0;
        break;
    case 'h':
        unit = 3600.0;
        number[length - 1] = 0;
        break;
    default:
        break;
    }
    double value;
    if (!ak_text_real(&value, number) || value < 0) {
        return false;
    }
    *out = value * unit;
    return true;
}

const char *ak_plural(size_t count)
{
    return count == 1 ? "" : "s";
}
