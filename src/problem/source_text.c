#include "problem/source_text.h"

#include <string.h>

#include "base/alloc.h"

/* Returns the length of the character constant that begins the text, such as '{' or '\x22'; 0 if
   there is none. */
static size_t letter_length(const char *text)
{
    size_t length = text[1] == '\\' && text[2] != 0 ? 3 : 2;
    while (length < 12 && text[length - 1] != '\n' && text[length - 1] != 0 && text[length] != 0) {
        if (text[length] == '\'') {
            return length + 1;
        }
        length++;
    }
    return 0;
}

char *ak_source_plain(const char *text)
{
    char *out = ak_strdup(text);
    for (size_t i = 0; out != NULL && out[i] != 0;) {
        size_t end = i + 1;
        if (out[i] == '/' && (out[i + 1] == '/' || out[i + 1] == '*')) {
            const char *stop =
                out[i + 1] == '/' ? strchr(text + i, '\n') : strstr(text + i + 2, "*/");
            end = stop == NULL ? strlen(text) : (size_t)(stop - text) + (out[i + 1] == '/' ? 0 : 2);
        } else if (out[i] == '"') {
            while (text[end] != 0 && text[end] != '"' && text[end] != '\n') {
                end += text[end] == '\\' && text[end + 1] != 0 ? 2 : 1;
            }
            end += text[end] == '"' ? 1 : 0;
        } else if (out[i] == '\'' && letter_length(text + i) > 0) {
            end = i + letter_length(text + i);
        } else {
            i++;
            continue;
        }
        for (; i < end; i++) {
            out[i] = out[i] == '\n' ? '\n' : ' ';
        }
    }
    return out;
}

const char *ak_source_after_pragma(const char *text, const char *word)
{
    static const char in_line[] = "pragma", operator[] = "_Pragma";
    const char *at = text + (*text == '#' ? 1 + strspn(text + 1, " \t") : 0);
    if (*text == '#' && strncmp(at, in_line, sizeof in_line - 1) == 0) {
        at += sizeof in_line - 1;
        at += strspn(at, " \t");
    } else if (strncmp(at, operator, sizeof operator- 1) == 0) {
        at += sizeof operator- 1;
        at += strspn(at, " \t(\"");
    } else {
        return NULL;
    }
    const size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && strchr(AK_SOURCE_WORD, at[length]) == NULL
               ? at + length
               : NULL;
}

/* Returns whether the text after "omp" is a directive for vectors only: "simd", "declare simd". */
static bool is_simd(const char *text)
{
    static const char declare[] = "declare", simd[] = "simd";
    text += strspn(text, " \t");
    if (strncmp(text, declare, sizeof declare - 1) == 0) {
        text += sizeof declare - 1;
        text += strspn(text, " \t");
    }
    return strncmp(text, simd, sizeof simd - 1) == 0 &&
           (text[sizeof simd - 1] == 0 || strchr(AK_SOURCE_WORD, text[sizeof simd - 1]) == NULL);
}

bool ak_source_openmp(ak_source_omp *out, const char *text)
{
    AK_FREED char *plain = ak_source_plain(text);
    *out = AK_SOURCE_OMP_NONE;
    for (size_t i = 0; plain != NULL && plain[i] != 0; i++) {
        const char *what =
            plain[i] == '#' || plain[i] == '_' ? ak_source_after_pragma(text + i, "omp") : NULL;
        if (what != NULL && !is_simd(what)) {
            *out = AK_SOURCE_OMP_THREADS;
        } else if (what != NULL && *out == AK_SOURCE_OMP_NONE) {
            *out = AK_SOURCE_OMP_SIMD;
        }
    }
    return plain != NULL;
}

const char *ak_source_find(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; length > 0 && (at = strstr(at, word)) != NULL; at += length) {
        bool begins = at == text || strchr(AK_SOURCE_WORD, at[-1]) == NULL;
        if (begins && (at[length] == 0 || strchr(AK_SOURCE_WORD, at[length]) == NULL)) {
            return at;
        }
    }
    return NULL;
}

bool ak_source_has(const char *text, const char *word)
{
    return ak_source_find(text, word) != NULL;
}

const char *ak_source_closing(const char *open)
{
    int depth = 0;
    for (const char *p = open; *p != 0; p++) {
        depth += strchr("([{", *p) != NULL ? 1 : strchr(")]}", *p) != NULL ? -1 : 0;
        if (depth == 0) {
            return p;
        }
    }
    return NULL;
}

size_t ak_source_back(const char *text, size_t end, const char *set)
{
    while (end > 0 && strchr(set, text[end - 1]) != NULL) {
        end--;
    }
    return end;
}

size_t ak_source_item(const char *text, char stop)
{
    size_t length = 0;
    for (int depth = 0; text[length] != 0; length++) {
        char c = text[length];
        if (depth == 0 && (c == ',' || c == stop)) {
            break;
        }
        depth += strchr("([{", c) != NULL ? 1 : strchr(")]}", c) != NULL ? -1 : 0;
    }
    return length;
}
