/*
 * relaxed.c: see relaxed.h. The reader descends recursively. A syntax error is not reported but
 * ends the reading: `cut` is set once, and on the way back each container decides which of its
 * parts are worth keeping.
 */
#include "llm/relaxed.h"

#include <math.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/number.h"
#include "base/utf8.h"

#define NUMBER_MAX 400 /* longest double written out: 1.8e308 has 309 digits */

typedef struct reader {
    const char *at, *end;
    ak_buf scratch; /* the string being read */
    bool cut, repaired, no_memory;
    int depth;
} reader;

static json_t *read_value(reader *r, bool keep);

static json_t *stop(reader *r)
{
    r->cut = true;
    return NULL;
}

static json_t *made(reader *r, json_t *value)
{
    if (value == NULL) {
        r->no_memory = true;
        r->cut = true;
    }
    return value;
}

/* ---- blanks and comments --------------------------------------------------------------------- */

static bool skip_comment(reader *r)
{
    if (r->end - r->at < 2 || r->at[0] != '/' || (r->at[1] != '/' && r->at[1] != '*')) {
        return false;
    }
    bool line = r->at[1] == '/';
    const char *p = r->at + 2;
    while (p < r->end && !(line ? *p == '\n' : *p == '*' && p + 1 < r->end && p[1] == '/')) {
        p++;
    }
    size_t closing = line ? 1 : 2;
    r->at = (size_t)(r->end - p) < closing ? r->end : p + closing;
    r->repaired = true;
    return true;
}

static void skip_blanks(reader *r)
{
    do {
        while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL && *r->at != 0) {
            r->at++;
        }
    } while (skip_comment(r));
}

/* Returns the next character after blanks, or 0 at the end. */
static char peek(reader *r)
{
    skip_blanks(r);
    return r->at < r->end ? *r->at : 0;
}

/* ---- strings --------------------------------------------------------------------------------- */

static void put_character(ak_buf *out, unsigned code)
{
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff)) {
        code = 0xfffd; /* an unpaired surrogate, or a zero, which C strings cannot hold */
    }
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    ak_buf_putc(out, (char)(lead[more] | code >> 6 * more));
    while (more-- > 0) {
        ak_buf_putc(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
    }
}

/* Reads four hexadecimal digits at `p`. Returns false if they are not there. */
static bool hex4(unsigned *out, const char *p, const char *end)
{
    unsigned code = 0;
    if (end - p < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16) {
            return false;
        }
        code = code << 4 | digit;
    }
    *out = code;
    return true;
}

/* Reads the digits after `\u`, and a second such escape if the two form a surrogate pair. */
static void read_unicode(reader *r)
{
    unsigned code = 0, low = 0;
    if (!hex4(&code, r->at, r->end)) {
        r->repaired = true;
        put_character(&r->scratch, 0xfffd);
        return;
    }
    r->at += 4;
    bool high = code >= 0xd800 && code <= 0xdbff;
    if (high && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u' &&
        hex4(&low, r->at + 2, r->end) && low >= 0xdc00 && low <= 0xdfff) {
        r->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    r->repaired |= code == 0 || (code >= 0xd800 && code <= 0xdfff);
    put_character(&r->scratch, code);
}

static void read_escape(reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char c = *r->at++;
    const char *found = c == 0 ? NULL : strchr(letters, c);
    if (c == 'u') {
        read_unicode(r);
    } else if (found != NULL) {
        ak_buf_putc(&r->scratch, meanings[found - letters]);
    } else {
        r->repaired = true; /* an unknown escape: the backslash is dropped */
        if (c != '\n' && c != 0) {
            ak_buf_putc(&r->scratch, c);
        }
    }
}

/* Reads a string from its opening quote into scratch. Returns false if it does not end, or without
   memory. */
static bool read_string(reader *r)
{
    char quote = *r->at++;
    r->repaired |= quote != '"';
    ak_buf_clear(&r->scratch);
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\') {
            if (++r->at == r->end) {
                break;
            }
            read_escape(r);
            continue;
        }
        const char *from = r->at;
        while (r->at < r->end && *r->at != quote && *r->at != '\\') {
            if ((unsigned char)*r->at < 0x20) {
                r->repaired = true;
                if (*r->at == 0) {
                    break;
                }
            }
            r->at++;
        }
        ak_buf_append(&r->scratch, from, (size_t)(r->at - from));
        if (r->at < r->end && *r->at == 0) {
            r->at++;
        }
    }
    if (r->scratch.failed != AK_OK) {
        r->no_memory = true;
        return false;
    }
    if (r->at == r->end) {
        return false;
    }
    r->at++;
    return true;
}

/* ---- numbers and words ----------------------------------------------------------------------- */

/* Returns true if the text is a number as RFC 8259 defines it. */
static bool strict_number(const char *p)
{
    p += *p == '-';
    if (*p == '0') {
        p++;
    } else if (ak_ascii_is_digit(*p)) {
        p += strspn(p, "0123456789");
    } else {
        return false;
    }
    if (*p == '.') {
        if (!ak_ascii_is_digit(*++p)) {
            return false;
        }
        p += strspn(p, "0123456789");
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!ak_ascii_is_digit(*p)) {
            return false;
        }
        p += strspn(p, "0123456789");
    }
    return *p == 0;
}

static json_t *read_number(reader *r)
{
    char text[NUMBER_MAX];
    size_t length = 0;
    while (r->at < r->end && length + 1 < sizeof text && *r->at != 0 &&
           strchr("0123456789+-.eE", *r->at) != NULL) {
        text[length++] = *r->at++;
    }
    text[length] = 0;
    if (r->at == r->end && r->depth > 0) {
        return stop(r); /* further digits may be missing */
    }
    const char *start = text + (text[0] == '+');
    char *end = NULL;
    double real = ak_number_read(start, &end);
    if (end == start || *end != 0) {
        return stop(r);
    }
    r->repaired |= !strict_number(text);
    int64_t whole;
    if (strpbrk(start, ".eE") == NULL && ak_text_int(&whole, start)) {
        return made(r, json_integer(whole));
    }
    if (!isfinite(real)) {
        r->repaired = true;
        return made(r, json_null());
    }
    return made(r, json_real(real));
}

static size_t word_length(const reader *r)
{
    size_t length = 0;
    while (r->at + length < r->end) {
        char c = r->at[length];
        if (!ak_ascii_is_word(c) || (length == 0 && ak_ascii_is_digit(c))) {
            break;
        }
        length++;
    }
    return length;
}

static json_t *read_word(reader *r)
{
    static const struct {
        const char *text;
        char kind;
        bool strict;
    } words[] = {
        {"true", 't', true},  {"false", 'f', true},     {"null", 'n', true},
        {"True", 't', false}, {"False", 'f', false},    {"None", 'n', false},
        {"NaN", 'n', false},  {"Infinity", 'n', false}, {"undefined", 'n', false},
    };
    size_t length = word_length(r);
    if (r->at + length == r->end && r->depth > 0) {
        return stop(r);
    }
    for (size_t i = 0; i < AK_COUNT(words); i++) {
        if (strlen(words[i].text) == length && memcmp(words[i].text, r->at, length) == 0) {
            r->at += length;
            r->repaired |= !words[i].strict;
            return made(r, words[i].kind == 't'   ? json_true()
                           : words[i].kind == 'f' ? json_false()
                                                  : json_null());
        }
    }
    return stop(r);
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Moves past the comma or the end after an element. Returns true if another element follows, even
   if only the comma before its {, [ or " is missing. Sets cut if the text breaks here. */
static bool another(reader *r, char closing)
{
    char c = peek(r);
    if (c == ',') {
        r->at++;
        c = peek(r);
        if (c == closing) {
            r->repaired = true;
            r->at++;
            return false;
        }
        return true;
    }
    if (c == closing) {
        r->at++;
        return false;
    }
    if (c != 0 && strchr("{[\"", c) != NULL) {
        r->repaired = true; /* the comma is missing */
        return true;
    }
    r->cut = true;
    return false;
}

/* Reads one element. Returns false if the text breaks here. */
static bool read_element(json_t *array, reader *r)
{
    json_t *element = read_value(r, false);
    if (element != NULL && !ak_json_append(array, element)) {
        r->no_memory = r->cut = true;
    }
    return !r->cut;
}

/* Reads a key into *out, which the caller frees with ak_free. */
static bool read_key(char **out, reader *r)
{
    char c = peek(r);
    size_t length = word_length(r);
    if (c == '"' || c == '\'') {
        if (!read_string(r)) {
            return false;
        }
        *out = ak_strndup(r->scratch.data, r->scratch.length);
    } else if (length > 0) {
        r->repaired = true;
        *out = ak_strndup(r->at, length);
        r->at += length;
    } else {
        return false;
    }
    r->no_memory |= *out == NULL;
    return *out != NULL;
}

/* Reads one member. Returns false if the text breaks here. */
static bool read_member(json_t *object, reader *r, bool keep)
{
    char *key = NULL;
    if (!read_key(&key, r) || peek(r) != ':') {
        r->cut = true;
        ak_free(key);
        return false;
    }
    r->at++;
    json_t *value = read_value(r, keep);
    r->repaired |= value != NULL && json_object_get(object, key) != NULL;
    if (value != NULL && !ak_json_set(object, key, value)) {
        r->no_memory = r->cut = true;
    }
    ak_free(key);
    return !r->cut;
}

/* Reads an object or an array from its opening bracket. */
static json_t *read_container(reader *r, bool keep)
{
    const bool is_object = *r->at++ == '{';
    const char closing = is_object ? '}' : ']';
    json_t *container = made(r, is_object ? json_object() : json_array());
    bool more = container != NULL;
    if (more && peek(r) == closing) {
        r->at++;
        return container;
    }
    while (more) {
        more = (is_object ? read_member(container, r, keep) : read_element(container, r)) &&
               another(r, closing);
    }
    if (r->cut && !keep) {
        json_decref(container);
        return NULL;
    }
    return container;
}

/* Reads one value. Returns NULL if it is cut; if `keep` is set, a container that is cut is returned
   with its complete parts. */
static json_t *read_value(reader *r, bool keep)
{
    char c = peek(r);
    if (c == '{' || c == '[') {
        if (r->depth == AK_JSON_DEPTH_MAX) {
            return stop(r);
        }
        r->depth++;
        json_t *container = read_container(r, keep);
        r->depth--;
        return container;
    }
    if (c == '"' || c == '\'') {
        return read_string(r) ? made(r, json_stringn(r->scratch.data, r->scratch.length)) : stop(r);
    }
    if (c == '-' && r->end - r->at > 1 && r->at[1] == 'I') {
        r->at++; /* -Infinity */
        return read_word(r);
    }
    return c == '-' || c == '+' || c == '.' || ak_ascii_is_digit(c) ? read_number(r) : read_word(r);
}

ak_status ak_relaxed_read(ak_relaxed *out, const char *text, size_t length, ak_error *err)
{
    reader r = {.at = text, .end = text + length, .scratch = AK_BUF(AK_JSON_BYTES_MAX)};
    r.at += length >= 3 ? ak_utf8_mark(text) : 0;
    json_t *value = read_value(&r, true);
    ak_buf_free(&r.scratch);
    if (r.no_memory) {
        json_decref(value);
        return ak_fail_memory(err);
    }
    *out = (ak_relaxed){value, (size_t)(r.at - text), r.cut, r.repaired};
    return AK_OK;
}
