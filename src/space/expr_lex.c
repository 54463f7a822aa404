/* expr_lex.c: splits a text into tokens: numbers, quoted texts, names and marks; see expr_tree.h.
 */
#include "space/expr_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const keywords[] = {"and",  "or",    "not",  "in", "if",     "else", "for",
                                       "True", "False", "None", "is", "lambda", NULL};

static bool is_letter(char c)
{
    return ak_ascii_is_letter(c) || c == '_';
}

bool ak_lex_is_keyword(const char *text, size_t length)
{
    for (size_t i = 0; keywords[i] != NULL; i++) {
        if (strlen(keywords[i]) == length && memcmp(keywords[i], text, length) == 0) {
            return true;
        }
    }
    return false;
}

bool ak_expr_is_name(const char *text)
{
    if (!is_letter(*text)) {
        return false;
    }
    size_t length = 1;
    while (ak_ascii_is_word(text[length])) {
        length++;
    }
    return text[length] == 0 && !ak_lex_is_keyword(text, length);
}

/* ---- faults ---------------------------------------------------------------------------------- */

void *ak_lex_no_memory(ak_parser *p)
{
    if (p->status == AK_OK) {
        p->status = ak_fail_memory(p->err);
    }
    return NULL;
}

void *ak_lex_fault(ak_parser *p, const char *at, const char *what)
{
    if (p->status == AK_OK) {
        p->status = ak_fail(p->err, AK_INVALID, "%s: column %zu of \"%.100s\": %s", p->expr->where,
                            (size_t)(at - p->text) + 1, p->text, what);
    }
    return NULL;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool lex_integer(ak_parser *p, ak_token *t, int base, const char *digits)
{
    errno = 0;
    char *end;
    long long value = strtoll(digits, &end, base);
    if (errno != 0) {
        ak_lex_fault(p, t->at, "this number needs more than 64 bits");
        return false;
    }
    t->value.type = AK_VALUE_INT;
    t->value.as.integer = value;
    t->length = (size_t)(end - t->at);
    return true;
}

static bool lex_number(ak_parser *p, ak_token *t)
{
    const char *s = t->at;
    t->kind = AK_TOKEN_NUMBER;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        size_t digits = strspn(s + 2, "0123456789abcdefABCDEF");
        if (digits == 0 || is_letter(s[2 + digits])) {
            ak_lex_fault(p, s, "this is not a number");
            return false;
        }
        return lex_integer(p, t, 16, s + 2);
    }
    size_t n = strspn(s, "0123456789");
    bool real = false;
    size_t length = n;
    if (s[length] == '.') {
        real = true;
        length++;
        length += strspn(s + length, "0123456789");
    }
    if (s[length] == 'e' || s[length] == 'E') {
        size_t sign = s[length + 1] == '+' || s[length + 1] == '-' ? 1 : 0;
        size_t digits = strspn(s + length + 1 + sign, "0123456789");
        if (digits > 0) {
            real = true;
            length += 1 + sign + digits;
        }
    }
    if (is_letter(s[length]) || s[length] == '.') {
        ak_lex_fault(p, s, "this is not a number");
        return false;
    }
    if (!real) {
        if (n > 1 && s[0] == '0' && strspn(s, "0") != n) {
            ak_lex_fault(p, s, "a number does not start with 0");
            return false;
        }
        return lex_integer(p, t, 10, s);
    }
    t->value.type = AK_VALUE_REAL;
    t->value.as.real = ak_number_read(s, NULL);
    t->length = length;
    if (!isfinite(t->value.as.real)) {
        ak_lex_fault(p, s, "this number is too large");
        return false;
    }
    return true;
}

static bool lex_string(ak_parser *p, ak_token *t)
{
    char quote = *t->at;
    const char *s = t->at + 1;
    const char *end = s;
    while (*end != 0 && *end != quote) {
        end += *end == '\\' && end[1] != 0 ? 2 : 1;
    }
    if (*end == 0) {
        ak_lex_fault(p, t->at, "this text has no closing quote");
        return false;
    }
    char *copy = ak_arena_strndup(p->expr->arena, s, (size_t)(end - s));
    if (copy == NULL) {
        ak_lex_no_memory(p);
        return false;
    }
    size_t length = 0;
    for (; s < end; s++) {
        if (*s == '\\') {
            s++;
            if (*s != '\\' && *s != '\'' && *s != '"') {
                ak_lex_fault(p, s, "this escape is unknown; only \\\\, \\' and \\\" are known");
                return false;
            }
        }
        copy[length++] = *s;
    }
    copy[length] = 0;
    t->kind = AK_TOKEN_STRING;
    t->value.type = AK_VALUE_STRING;
    t->value.as.string = copy;
    t->length = (size_t)(end - t->at) + 1;
    return true;
}

/* Returns the message for a character that begins no token. For an operator of another language it
   says what to write instead. */
static const char *what_is_meant(const char *s)
{
    static const struct {
        const char *begin, *text;
    } meant[] = {
        {"=<", "\"=<\" is not a comparison; write \"<=\""},
        {"=>", "\"=>\" is not a comparison; write \">=\""},
        {"=", "\"=\" does not compare; write \"==\""},
        {"&&", "\"&&\" means nothing here; write \"and\""},
        {"||", "\"||\" means nothing here; write \"or\""},
        {"!", "\"!\" means nothing here; write \"not\""},
    };
    for (size_t i = 0; i < AK_COUNT(meant); i++) {
        if (strncmp(s, meant[i].begin, strlen(meant[i].begin)) == 0) {
            return meant[i].text;
        }
    }
    return "this character means nothing here";
}

bool ak_lex_advance(ak_parser *p)
{
    if (p->status != AK_OK) {
        return false;
    }
    const char *s = p->cursor + strspn(p->cursor, " \t\r\n");
    ak_token t = {.at = s};
    bool ok = true;
    if (*s == 0) {
        t.kind = AK_TOKEN_END;
    } else if (ak_ascii_is_digit(*s) || (*s == '.' && ak_ascii_is_digit(s[1]))) {
        ok = lex_number(p, &t);
    } else if (*s == '\'' || *s == '"') {
        ok = lex_string(p, &t);
    } else if (is_letter(*s)) {
        t.kind = AK_TOKEN_NAME;
        while (ak_ascii_is_word(s[t.length])) {
            t.length++;
        }
    } else {
        static const char *const pairs[] = {"**", "//", "<=", ">=", "==", "!="};
        t.kind = AK_TOKEN_MARK;
        t.length = 1;
        for (size_t i = 0; i < AK_COUNT(pairs); i++) {
            if (s[0] == pairs[i][0] && s[1] == pairs[i][1]) {
                t.length = 2;
            }
        }
        if (t.length == 1 && strchr("+-*/%<>()[],", *s) == NULL) {
            ak_lex_fault(p, s, what_is_meant(s));
            ok = false;
        }
    }
    if (ok) {
        p->now = t;
        p->cursor = s + t.length;
    }
    return ok;
}

bool ak_lex_is(const ak_parser *p, const char *text)
{
    return (p->now.kind == AK_TOKEN_NAME || p->now.kind == AK_TOKEN_MARK) &&
           strlen(text) == p->now.length && memcmp(text, p->now.at, p->now.length) == 0;
}

bool ak_lex_expect(ak_parser *p, const char *text)
{
    if (!ak_lex_is(p, text)) {
        char what[48];
        (void)snprintf(what, sizeof what, "\"%s\" is expected here", text);
        ak_lex_fault(p, p->now.at, what);
        return false;
    }
    return ak_lex_advance(p);
}
