/* scan_undefined.c: finds names that a source uses as macros and that nothing defines. They must
   come from -D when the source is compiled, so they are likely parameters. A name counts if it is
   in capitals, as macros are; a name that looks declared, or like one that an installed header
   defines, does not. */
#include <stdio.h>

#include "base/ascii.h"
#include "base/text.h"
#include "problem/scan_parts.h"
#include "problem/source_text.h"

#define UNDEFINED_MAX 8

static bool has_part(const char *name, const char *const *parts, size_t count, bool at_end)
{
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(parts[i]), all = strlen(name);
        if (all >= length && strncmp(at_end ? name + all - length : name, parts[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether a name looks like one that an installed header defines. */
static bool is_usual(const char *name)
{
    static const char *const names[] = {"NULL", "EOF",    "FILE",  "INFINITY",
                                        "NAN",  "BUFSIZ", "DEBUG", "NDEBUG"};
    static const char *const begins[] = {"M_",      "HUGE_VAL", "CLK_", "CUDA_",
                                         "CUDART_", "FE_",      "FP_"};
    static const char *const ends[] = {"_MAX", "_MIN", "_EPSILON", "_DIG", "_BIT", "_WIDTH"};
    return AK_HAS_TEXT(names, AK_COUNT(names), name) ||
           has_part(name, begins, AK_COUNT(begins), false) ||
           has_part(name, ends, AK_COUNT(ends), true);
}

/* Returns whether the text has "# define NAME". */
static bool defines(const char *text, const char *name)
{
    for (const char *at = text; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        const size_t before = ak_source_back(text, (size_t)(at - text), " \t");
        if (before >= 6 && strncmp(text + before - 6, "define", 6) == 0) {
            return true;
        }
    }
    return false;
}

bool ak_scan_defines(const ak_scan *s, const char *name)
{
    return defines(s->plain, name) || defines(s->beside, name);
}

/* Returns whether the name at `at` follows a word, such as a type or "typename", and so is
   declared there: "int N", "float *X", "struct N". */
static bool follows_word(const char *text, const char *at)
{
    static const char *const others[] = {"return", "else", "case",   "sizeof", "do",
                                         "goto",   "in",   "unroll", "if",     "elif"};
    static const char *const types[] = {
        "float", "double",   "int",        "char",         "void",    "long",
        "short", "unsigned", "signed",     "bool",         "half",    "auto",
        "const", "restrict", "__restrict", "__restrict__", "volatile"};
    char word[AK_SCAN_NAME];
    bool star = false;
    while (at > text && strchr(AK_SOURCE_BLANK "*&", at[-1]) != NULL) {
        star = star || at[-1] == '*' || at[-1] == '&';
        at--;
    }
    (void)ak_scan_name_before(word, text, (size_t)(at - text));
    const size_t length = strlen(word);
    bool type = AK_HAS_TEXT(types, AK_COUNT(types), word) ||
                (length > 2 && strcmp(word + length - 2, "_t") == 0);
    return length > 0 && !ak_ascii_is_digit(word[0]) &&
           (star ? type : !AK_HAS_TEXT(others, AK_COUNT(others), word));
}

/* Returns whether a place is within the braces of an enumeration. */
static bool is_enumerator(const char *text, const char *at)
{
    while (at > text && strchr("{};", at[-1]) == NULL) {
        at--;
    }
    if (at == text || at[-1] != '{') {
        return false;
    }
    const char *begin = --at;
    while (begin > text && strchr("{};)", begin[-1]) == NULL) {
        begin--;
    }
    const char *word = ak_source_find(begin, "enum");
    return word != NULL && word < at;
}

/* Returns whether the use of a name at `at` shows that it is no macro with a value. */
static bool is_declared_at(const char *text, const char *at, size_t length)
{
    const char *next = at + length + strspn(at + length, AK_SOURCE_BLANK);
    const size_t last = ak_source_back(text, (size_t)(at - text), AK_SOURCE_BLANK);
    const char before = last > 0 ? text[last - 1] : ';';
    return *next == '(' || (*next == '=' && next[1] != '=') || (before == '}' && *next == ';') ||
           before == '.' || (before == '>' && last > 1 && text[last - 2] == '-') ||
           follows_word(text, at) || is_enumerator(text, at);
}

static bool is_declared(const char *text, const char *name)
{
    for (const char *at = text; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        if (is_declared_at(text, at, strlen(name))) {
            return true;
        }
    }
    return false;
}

static bool is_known(const ak_scan *s, const char *name)
{
    return ak_scan_is_parameter(s, name) || is_usual(name) || ak_scan_defines(s, name) ||
           is_declared(s->plain, name) || is_declared(s->beside, name);
}

/* Returns the length of the name in capitals that begins the text; 0 if there is none. */
static size_t capitals(const char *text)
{
    const size_t length = strspn(text, AK_SOURCE_WORD);
    bool good = length > 1 && length < AK_SCAN_NAME && *text >= 'A' && *text <= 'Z';
    for (size_t i = 0; i < length; i++) {
        good = good && !(text[i] >= 'a' && text[i] <= 'z');
    }
    return good ? length : 0;
}

/* Returns how many bytes of a preprocessor line are skipped: all of it, except the values of a
   pragma that takes some, which may be macros ("#pragma omp parallel num_threads(N)", "#pragma GCC
   unroll N"), and conditions ("#if MODE == 1"). */
static size_t before_values(const char *line)
{
    static const char *const pragmas[] = {"omp", "unroll", "GCC unroll", "clang loop", "acc"};
    const size_t word = 1 + strspn(line + 1, " \t"), length = strspn(line + word, AK_SOURCE_WORD);
    if ((length == 2 && strncmp(line + word, "if", 2) == 0) ||
        (length == 4 && strncmp(line + word, "elif", 4) == 0)) {
        return word + length;
    }
    for (size_t i = 0; i < AK_COUNT(pragmas); i++) {
        const char *values = ak_source_after_pragma(line, pragmas[i]);
        if (values != NULL) {
            return (size_t)(values - line);
        }
    }
    return strcspn(line, "\n");
}

/* Returns whether a condition asks at `at` only if a macro is defined: "defined(X)". */
static bool is_asked_for(const char *text, const char *at)
{
    const size_t name = (size_t)(at - text), open = ak_source_back(text, name, " \t(");
    return open >= 7 && strncmp(text + open - 7, "defined", 7) == 0;
}

void ak_scan_undefined(ak_scan *s)
{
    char found[UNDEFINED_MAX][AK_SCAN_NAME], what[AK_SCAN_NAME + 16];
    size_t count = 0;
    for (const char *p = s->plain; *p != 0 && count < UNDEFINED_MAX;) {
        const size_t word = strspn(p, AK_SOURCE_WORD), length = capitals(p);
        if (*p == '#') {
            p += before_values(p);
            continue;
        }
        if (length > 0) {
            ak_scan_copy_name(found[count], p, length);
            bool told = false;
            for (size_t i = 0; i < count; i++) {
                told = told || strcmp(found[i], found[count]) == 0;
            }
            if (!told && !is_asked_for(s->plain, p) && !is_known(s, found[count])) {
                (void)snprintf(what, sizeof what, "the macro %s", found[count++]);
                ak_scan_note(s, what,
                             "the source uses it and nothing defines it, so it is likely a "
                             "parameter; write it with its values into \"TuningParameters\" of "
                             "the space file");
            }
        }
        p += word > 0 ? word : 1;
    }
}
