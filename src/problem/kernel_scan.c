/* kernel_scan.c: see kernel_scan.h. Code is read without its comments and is not parsed as a
   compiler would, so the scan refuses unusual code or names a guess. This file is long because each
   part of a document is written from one part of the source, and the code that reads that part
   stands beside the code that writes it. */
#include "problem/kernel_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/utf8.h"
#include "problem/kernel_files.h"
#include "space/expr.h"

#define LETTERS        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define WORD           LETTERS "0123456789"
#define BLANK          " \t\r\n"
#define NAME_BYTES     (AK_KERNEL_NAME_MAX + 1)
#define PARAMETERS_MAX 16
#define VALUE_MAX      (1 << 20)

typedef struct argument {
    char name[NAME_BYTES];
    const char *dtype;  /* "f32" */
    const char *passed; /* of a scalar: "Int32" */
    bool pointer, reads_only;
} argument;

typedef struct scanner {
    const char *text, *backend, *file;
    bool cpp;
    char *own;         /* a copy of the text, in which the entry is not static */
    char *plain;       /* the text with blanks in place of comments and quoted texts */
    size_t begin, end; /* the template's head in the text; equal if there is none */
    size_t entry;      /* where the entry's qualifiers begin */
    char name[NAME_BYTES];
    argument arguments[AK_ARGUMENTS_MAX];
    size_t argument_count;
    struct {
        char name[NAME_BYTES];
        int64_t value;
        bool truth; /* a template argument of type bool: 0 or 1 */
    } parameters[PARAMETERS_MAX];
    size_t parameter_count, parameters_left; /* left: there is no room for them */
    size_t others;                           /* kernels besides the one that is taken */
    ak_buf notes;
    ak_error *err;
} scanner;

static const struct c_type {
    const char *name, *dtype, *passed;
} types[] = {
    {"int", "i32", "Int32"},         {"long", NULL, "Int64"}, /* find_type knows their places */
    {"float", "f32", "Float32"},     {"double", "f64", "Float64"}, {"int32_t", "i32", "Int32"},
    {"uint32_t", "i32", "Int32"},    {"uint", "i32", "Int32"},     {"ulong", NULL, "Int64"},
    {"int64_t", NULL, "Int64"},      {"uint64_t", NULL, "Int64"},  {"size_t", NULL, "Int64"},
    {"ptrdiff_t", NULL, "Int64"},    {"half", "f16", NULL},        {"__half", "f16", NULL},
    {"__nv_bfloat16", "bf16", NULL}, {"nv_bfloat16", "bf16", NULL}};

/* ---- text ---------------------------------------------------------------------------------- */

/* Returns the length of a letter in quotes, such as '{' or '\\x22'; 0 if the text does not begin
   with one. */
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

/* Copies the text with blanks in place of comments, quoted texts and quoted letters. */
static char *without_comments(const char *text)
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

/* Finds a whole word. Returns NULL if there is none. */
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; length > 0 && (at = strstr(at, word)) != NULL; at += length) {
        bool begins = at == text || strchr(WORD, at[-1]) == NULL;
        if (begins && (at[length] == 0 || strchr(WORD, at[length]) == NULL)) {
            return at;
        }
    }
    return NULL;
}

static bool has_word(const char *text, const char *word)
{
    return find_word(text, word) != NULL;
}

/* Returns the bracket that closes the one at `open`, or NULL. */
static const char *closing(const char *open)
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

static void copy_name(char out[NAME_BYTES], const char *from, size_t length)
{
    (void)snprintf(out, NAME_BYTES, "%.*s", (int)length, from);
}

static void note(scanner *s, const char *what, const char *where)
{
    ak_buf_print(&s->notes, "%s: %s\n", what, where);
}

/* ---- types -------------------------------------------------------------------------------------
 */

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list != NULL && strcmp(word, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

static const struct c_type *type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

/* Returns what the words of a type mean; NULL for a type that no argument can have. A word that is
   not known makes the type unknown: "unsigned char" is no "unsigned". */
static const struct c_type *find_type(const char *words)
{
    static const char *const qualifiers[] = {
        "const",  "volatile", "restrict", "__restrict__", "__restrict", "register",
        "global", "__global", "constant", "__constant",   "std",        "__grid_constant__",
        NULL};
    static const char *const numbers[] = {"long", "unsigned", "signed", "int", NULL};
    const struct c_type *found = NULL;
    size_t longs = 0, named = 0, whole = 0;
    while (*(words += strcspn(words, WORD)) != 0) {
        char word[NAME_BYTES];
        size_t length = strspn(words, WORD);
        copy_name(word, words, length);
        words += length;
        if (is_one_of(word, numbers)) {
            whole++;
            longs += word[0] == 'l' ? 1 : 0;
        } else if (!is_one_of(word, qualifiers)) {
            named++;
            found = type_named(word);
        }
    }
    if (whole == 0) {
        return named == 1 ? found : NULL;
    }
    return named > 0 ? NULL : &types[longs > 0 ? 1 : 0];
}

/* ---- parameters ---------------------------------------------------------------------------- */

static void add_parameter(scanner *s, const char *name, size_t length, int64_t value)
{
    char copy[NAME_BYTES];
    copy_name(copy, name, length);
    for (size_t i = 0; i < s->argument_count; i++) {
        if (strcmp(s->arguments[i].name, copy) == 0) {
            return; /* as a macro it would replace the argument */
        }
    }
    for (size_t i = 0; i < s->parameter_count; i++) {
        if (strcmp(s->parameters[i].name, copy) == 0) {
            return;
        }
    }
    if (value >= 1 && value <= VALUE_MAX && s->parameter_count == PARAMETERS_MAX) {
        s->parameters_left++;
    } else if (value >= 1 && value <= VALUE_MAX) {
        memcpy(s->parameters[s->parameter_count].name, copy, sizeof copy);
        s->parameters[s->parameter_count++].value = value;
    }
}

/* Returns the whole number that the text begins with, such as 16, 0x10, 16u or (16); 0 if there is
   none, or if a letter, a digit, '_' or '.' follows it. */
static int64_t number_at(const char *text)
{
    char copy[24], *end;
    bool bracket = *text == '(';
    text += bracket ? 1 : 0;
    if (strchr("0123456789", *text) == NULL || *text == 0) {
        return 0;
    }
    (void)snprintf(copy, sizeof copy, "%s", text);
    errno = 0;
    long long value = strtoll(copy, &end, strncmp(copy, "0x", 2) == 0 ? 16 : 10);
    end += strspn(end, "uUlL");
    bool ends = *end == 0 || strchr(WORD ".", *end) == NULL;
    return errno == 0 && ends && (!bracket || *end == ')') ? value : 0;
}

/* Returns what follows a directive such as "# define" at the text, NULL if there is another. */
static const char *after_directive(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (*text != '#') {
        return NULL;
    }
    text += 1 + strspn(text + 1, " \t");
    return strncmp(text, word, length) == 0 && strchr(WORD, text[length]) == NULL
               ? text + length + strspn(text + length, " \t")
               : NULL;
}

/* Finds parameters that the source lets the compiler define: "#ifndef X" or "#if !defined(X)", then
   "#define X 16". */
static void find_guarded(scanner *s)
{
    for (const char *at = s->plain; (at = strchr(at, '#')) != NULL; at++) {
        const char *name = after_directive(at, "ifndef"), *tests = after_directive(at, "if");
        if (name == NULL && tests != NULL && strncmp(tests, "!defined", 8) == 0) {
            name = tests + 8 + strspn(tests + 8, " \t(");
        }
        size_t length = name == NULL ? 0 : strspn(name, WORD);
        const char *next = length == 0 ? "" : name + length + strspn(name + length, BLANK ")");
        next = after_directive(next, "define");
        if (length > 0 && next != NULL && strncmp(next, name, length) == 0 && next[length] != 0 &&
            strchr(" \t", next[length]) != NULL) {
            next += length;
            add_parameter(s, name, length, number_at(next + strspn(next, " \t")));
        }
    }
}

/* Finds parameters in options such as -DX=16, which comments contain to say how to compile the
   file. */
static void find_options(scanner *s)
{
    for (const char *at = s->text; (at = strstr(at, "-D")) != NULL; at += 2) {
        size_t length = strspn(at + 2, WORD);
        if (length > 0 && strchr("0123456789", at[2]) == NULL && at[2 + length] == '=') {
            add_parameter(s, at + 2, length, number_at(at + 3 + length));
        }
    }
}

/* Returns template argument `index` of the first instantiation in the file, such as
   `NAME<128, 4>`; 0 if it is not a number. */
static int64_t instantiated(const scanner *s, size_t index)
{
    const char *at = s->plain;
    while ((at = find_word(at, s->name)) != NULL && at[strlen(s->name)] != '<') {
        at += strlen(s->name);
    }
    if (at == NULL) {
        return 0;
    }
    at += strlen(s->name) + 1;
    for (; index > 0 && *at != 0; index--) {
        at += strcspn(at, ",>;");
        at += *at == ',' ? 1 : 0;
    }
    return number_at(at + strspn(at, BLANK));
}

/* Returns the length of the text up to the comma or the stop that is in no brackets. */
static size_t item_length(const char *text, char stop)
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

/* Finds the "template <...>" that ends at `end`. Returns false if there is none. */
static bool find_template(scanner *s, size_t end)
{
    size_t head = end;
    do {
        if (head == 0 || strchr(";{}#", s->plain[head - 1]) != NULL) {
            return false; /* #include <...> */
        }
        head--;
    } while (strncmp(s->plain + head, "template", 8) != 0 ||
             strchr(WORD, s->plain[head + 8]) != NULL ||
             (head > 0 && strchr(WORD, s->plain[head - 1]) != NULL));
    s->begin = head;
    s->end = end;
    return true;
}

/* Reads "int TILE = 2", an item of a template's head. */
static ak_status read_template_item(scanner *s, const char *item, size_t length, size_t index)
{
    char part[160];
    (void)snprintf(part, sizeof part, "%.*s", (int)length, item);
    char *equals = strchr(part, '=');
    const char *given = equals == NULL ? "" : equals + 1 + strspn(equals + 1, BLANK);
    length = equals == NULL ? strlen(part) : (size_t)(equals - part);
    while (length > 0 && strchr(BLANK, part[length - 1]) != NULL) {
        length--;
    }
    size_t first = length;
    while (first > 0 && strchr(WORD, part[first - 1]) != NULL) {
        first--;
    }
    char type[160];
    (void)snprintf(type, sizeof type, "%.*s", (int)first, part);
    const struct c_type *found = find_type(type);
    bool truth = has_word(type, "bool");
    if (first == length ||
        (!truth && (found == NULL || found->passed == NULL || found->passed[0] != 'I'))) {
        return ak_fail(s->err, AK_INVALID,
                       "%s: the template argument \"%.60s\" is no whole number: write the type "
                       "into the kernel",
                       s->file, part + strspn(part, BLANK));
    }
    size_t before = s->parameter_count;
    int64_t value = instantiated(s, index) > 0 ? instantiated(s, index) : number_at(given);
    add_parameter(s, part + first, length - first, value == 0 ? 1 : value);
    if (truth && s->parameter_count > before) {
        s->parameters[before].truth = true;
        s->parameters[before].value = strncmp(given, "false", 5) != 0 && *given != '0';
    }
    return AK_OK;
}

/* Reads "template <int BLOCK, int TILE = 2>" right before the entry. */
static ak_status read_template(scanner *s)
{
    size_t end = s->entry;
    while (end > 0 && strchr(BLANK, s->plain[end - 1]) != NULL) {
        end--;
    }
    s->begin = s->end = 0;
    if (end == 0 || s->plain[end - 1] != '>' || !find_template(s, end)) {
        return AK_OK;
    }
    size_t at = s->begin + 8 + strspn(s->plain + s->begin + 8, BLANK "<");
    if (s->plain[at] == '>') {
        return ak_fail(s->err, AK_INVALID,
                       "%s: %s is a specialisation of a template (template <>); write the kernel "
                       "out as a plain function",
                       s->file, s->name);
    }
    for (size_t index = 0; at < end; index++) {
        size_t length = item_length(s->plain + at, '>');
        length = length < end - at ? length : end - at;
        AK_DO(read_template_item(s, s->plain + at, length, index));
        at += length + 1;
    }
    return AK_OK;
}

/* ---- entry --------------------------------------------------------------------------------- */

/* Returns whether a word that stands before a bracket is no name of a function. */
static bool is_word_of_c(const char *name)
{
    static const char *const words[] = {"void",  "int",    "float",  "double", "if",    "for",
                                        "while", "switch", "return", "sizeof", "kernel"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(name, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Finds the name and the bracket of the function whose qualifiers begin at `at`. */
static const char *open_bracket(scanner *s, const char *at)
{
    for (const char *p = at; *p != 0 && *p != ';' && *p != '{'; p++) {
        if (*p != '(') {
            continue;
        }
        const char *end = p;
        while (end > at && strchr(BLANK, end[-1]) != NULL) {
            end--;
        }
        const char *begin = end;
        while (begin > at && strchr(WORD, begin[-1]) != NULL) {
            begin--;
        }
        if (end - begin > 2 && begin[0] == '_' && begin[1] == '_') {
            p = closing(p); /* __launch_bounds__(...), __attribute__((...)) */
            if (p == NULL) {
                return NULL;
            }
            continue;
        }
        copy_name(s->name, begin, (size_t)(end - begin));
        return s->name[0] == 0 || is_word_of_c(s->name) ? NULL : p;
    }
    return NULL;
}

/* Returns whether the bracket is that of extern "C" {, which holds functions. */
static bool opens_scope(const char *text, const char *bracket)
{
    while (bracket > text && strchr(BLANK, bracket[-1]) != NULL) {
        bracket--;
    }
    return bracket - text >= 6 && memcmp(bracket - 6, "extern", 6) == 0;
}

/* Finds the last function of a C file that is not static. */
static const char *last_function(scanner *s)
{
    const char *found = NULL;
    char name[NAME_BYTES] = "";
    for (const char *p = s->plain; *p != 0; p++) {
        if (*p == '#') {
            p += strcspn(p, "\n");
            p -= *p == 0 ? 1 : 0;
        } else if (*p == '{' && opens_scope(s->plain, p)) {
            continue;
        } else if (*p == '{') {
            const char *end = closing(p);
            p = end == NULL ? p + strlen(p) - 1 : end;
        } else if (s->cpp && strncmp(p, "template", 8) == 0 && strchr(p, '>') != NULL) {
            p = strchr(p, '>'); /* read_template looks at it */
        } else if (strchr(LETTERS, *p) != NULL) {
            size_t stop = strcspn(p, ";{#");
            const char *open = open_bracket(s, p);
            const char *close = open == NULL ? NULL : closing(open);
            const char *is_static = find_word(p, "static");
            if (p[stop] == '{' && close != NULL && close < p + stop &&
                (is_static == NULL || is_static > p + stop)) {
                s->others += found != NULL;
                found = open;
                s->entry = (size_t)(p - s->plain);
                memcpy(name, s->name, sizeof name);
            }
            p += stop - 1;
        }
    }
    memcpy(s->name, name, sizeof name);
    return found;
}

/* Moves the begin of the entry before its qualifiers, such as "static" and "void", and takes those
   away that a kernel which is called by its name cannot have. */
static void begin_entry(scanner *s)
{
    static const char *const words[] = {"static", "inline", "void", "extern", "const"};
    for (size_t i = 0; i < 2; i++) {
        const char *after = find_word(s->plain + s->entry, words[i]);
        if (after != NULL && after < find_word(s->plain + s->entry, s->name)) {
            memset(s->own + (after - s->plain), ' ', strlen(words[i]));
        }
    }
    for (;;) {
        size_t end = s->entry, begin;
        bool known = false;
        while (end > 0 && strchr(BLANK, s->plain[end - 1]) != NULL) {
            end--;
        }
        if (end > 0 && s->plain[end - 1] == ')') { /* __launch_bounds__(...) */
            for (int depth = 0; end > 0;) {
                end--;
                depth += s->plain[end] == ')' ? 1 : s->plain[end] == '(' ? -1 : 0;
                if (depth == 0) {
                    break;
                }
            }
        }
        for (begin = end; begin > 0 && strchr(WORD, s->plain[begin - 1]) != NULL;) {
            begin--;
        }
        for (size_t i = 0; i < sizeof words / sizeof *words && s->plain[end] != '('; i++) {
            if (end - begin == strlen(words[i]) &&
                memcmp(s->plain + begin, words[i], end - begin) == 0) {
                known = true;
                memset(s->own + begin, ' ', i < 2 ? end - begin : 0);
            }
        }
        if (!known && (end - begin < 3 || memcmp(s->plain + begin, "__", 2) != 0)) {
            return;
        }
        s->entry = begin;
    }
}

/* Returns whether the function whose arguments begin at `open` has a body. */
static bool has_body(const char *open)
{
    const char *close = open == NULL ? NULL : closing(open);
    return close != NULL && close[1 + strcspn(close + 1, ";{")] == '{';
}

static const char *find_entry(scanner *s)
{
    const char *word = strcmp(s->backend, "cuda") == 0           ? "__global__"
                       : find_word(s->plain, "__kernel") != NULL ? "__kernel"
                                                                 : "kernel";
    const char *found = NULL;
    char name[NAME_BYTES] = "";
    if (strcmp(s->backend, "host") == 0) {
        return last_function(s);
    }
    for (const char *at = s->plain; (at = find_word(at, word)) != NULL; at += strlen(word)) {
        const char *open = open_bracket(s, at);
        if (!has_body(open)) {
            continue; /* it is declared here, and defined elsewhere */
        }
        if (found == NULL) {
            found = open;
            s->entry = (size_t)(at - s->plain);
            memcpy(name, s->name, sizeof name);
        } else {
            s->others++;
        }
    }
    memcpy(s->name, name, sizeof name);
    return found;
}

/* Takes declarations of the CUDA entry before its definition away: they would declare a function
   with a name of C++. */
static void drop_declarations(scanner *s)
{
    char name[NAME_BYTES];
    const size_t entry = s->entry;
    memcpy(name, s->name, sizeof name);
    for (const char *at = s->plain; (at = find_word(at, "__global__")) != NULL; at += 10) {
        s->entry = (size_t)(at - s->plain);
        const char *open = s->entry < entry ? open_bracket(s, at) : NULL;
        if (open == NULL || has_body(open) || strcmp(s->name, name) != 0) {
            continue;
        }
        begin_entry(s);
        size_t begin = s->entry, last = begin;
        while (last > 0 && strchr(BLANK, s->plain[last - 1]) != NULL) {
            last--;
        }
        if (last > 0 && s->plain[last - 1] == '>' && find_template(s, last)) {
            begin = s->begin;
        }
        for (size_t i = begin; s->plain[i] != 0 && s->plain[i] != ';'; i++) {
            s->own[i] = s->plain[i] == '\n' ? '\n' : ' ';
        }
    }
    memcpy(s->name, name, sizeof name);
    s->entry = entry;
}

static ak_status read_argument(scanner *s, const char *text, size_t length)
{
    char part[256], whole[81];
    size_t blank = strspn(text, BLANK);
    blank = blank < length ? blank : length;
    (void)snprintf(part, sizeof part, "%.*s", (int)length, text);
    (void)snprintf(whole, sizeof whole, "%.*s", (int)(length - blank), text + blank);
    whole[strcspn(whole, "\r\n")] = 0;
    argument *a = &s->arguments[s->argument_count];
    part[strcspn(part, "=")] = 0; /* the argument's default */
    size_t end = strcspn(part, "[");
    bool array = part[end] == '[';
    while (end > 0 && strchr(WORD, part[end - 1]) == NULL) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && strchr(WORD, part[begin - 1]) != NULL) {
        begin--;
    }
    copy_name(a->name, part + begin, end - begin);
    if (!ak_expr_is_name(a->name) && strlen(a->name) + 2 <= sizeof a->name) {
        memcpy(a->name + strlen(a->name), "_", 2); /* "in" is a keyword of expressions */
    }
    part[begin] = 0;
    a->pointer = array || strchr(part, '*') != NULL;
    const char *star = strchr(part, '*');
    bool unlike = has_word(part, "local") || has_word(part, "__local") ||
                  strpbrk(part, "&(<") != NULL ||
                  (star != NULL && (array || strchr(star + 1, '*') != NULL));
    part[strcspn(part, "*")] = 0; /* "float *const x" may be written to */
    a->reads_only =
        has_word(part, "const") || has_word(part, "constant") || has_word(part, "__constant");
    const struct c_type *found = find_type(part);
    if (found == NULL || unlike || (a->pointer ? found->dtype : found->passed) == NULL) {
        return ak_fail(s->err, AK_INVALID,
                       "%s: the argument \"%s\" of %s has a type that is not understood; write the "
                       "folder by hand",
                       s->file, whole, s->name);
    }
    a->dtype = found->dtype;
    a->passed = found->passed;
    s->argument_count++;
    return AK_OK;
}

static bool is_size(const argument *a)
{
    return !a->pointer && strncmp(a->passed, "Int", 3) == 0;
}

static ak_status read_arguments(scanner *s, const char *open)
{
    const char *end = closing(open);
    size_t sizes = 0;
    for (const char *p = s->plain + s->entry; p < end; p++) {
        if ((unsigned char)*p >= 0x80) {
            return ak_fail(s->err, AK_INVALID,
                           "%s: the kernel has a name with a letter that is not ASCII; write its "
                           "name and those of its arguments with letters, digits and _",
                           s->file);
        }
    }
    const char *first = open + 1 + strspn(open + 1, BLANK);
    bool none = strncmp(first, "void", 4) == 0 && first + 4 + strspn(first + 4, BLANK) == end;
    for (const char *p = none || first == end ? end : open + 1; p < end;) {
        size_t length = item_length(p, ')');
        if (s->argument_count == AK_ARGUMENTS_MAX) {
            return ak_fail(s->err, AK_LIMIT, "%s: %s has more than %d arguments", s->file, s->name,
                           AK_ARGUMENTS_MAX);
        }
        AK_DO(read_argument(s, p, length));
        p += length + 1;
    }
    bool writes = false;
    for (size_t i = 0; i < s->argument_count; i++) {
        writes = writes || (s->arguments[i].pointer && !s->arguments[i].reads_only);
        sizes += is_size(&s->arguments[i]);
    }
    if (sizes > AK_SIZES_MAX) {
        return ak_fail(s->err, AK_LIMIT,
                       "%s: %s takes %zu whole numbers, and a problem has at most %d sizes; write "
                       "the folder by hand, with those that never change as numbers in \"Launch\"",
                       s->file, s->name, sizes, AK_SIZES_MAX);
    }
    return writes ? AK_OK
                  : ak_fail(s->err, AK_INVALID,
                            "%s: %s has no pointer that is not const, so nothing could be checked",
                            s->file, s->name);
}

/* ---- documents ----------------------------------------------------------------------------- */

static size_t count_sizes(const scanner *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->argument_count; i++) {
        count += is_size(&s->arguments[i]) ? 1 : 0;
    }
    return count;
}

/* Guesses the extent of every array: the product of the first two sizes, or the only size. */
static void guess_shape(char out[2 * NAME_BYTES + 2], const scanner *s)
{
    size_t found = 0;
    (void)snprintf(out, 2 * NAME_BYTES, "n");
    for (size_t i = 0; i < s->argument_count && found < 2; i++) {
        if (is_size(&s->arguments[i])) {
            size_t used = found == 0 ? 0 : strlen(out);
            (void)snprintf(out + used, 2 * NAME_BYTES + 2 - used, "%s%s", found == 0 ? "" : "*",
                           s->arguments[i].name);
            found++;
        }
    }
}

static bool make_problem(ak_kernel_scan *out, scanner *s, const char *name, const char *shape)
{
    json_t *sizes = json_array(), *arguments = json_array();
    const char *dtype = NULL;
    char bytes[1024] = "";
    const json_int_t usual = count_sizes(s) > 1 ? 256 : 1048576;
    bool good = true;
    for (size_t i = 0; i < s->argument_count; i++) {
        const argument *a = &s->arguments[i];
        size_t used = strlen(bytes);
        if (is_size(a)) {
            good = json_array_append_new(
                       sizes, json_pack("{s:s, s:I}", "name", a->name, "default", usual)) == 0 &&
                   good;
        } else if (a->pointer) {
            good = json_array_append_new(arguments,
                                         json_pack("{s:s, s:s, s:[s], s:s}", "name", a->name,
                                                   "dtype", a->dtype, "shape", shape, "access",
                                                   a->reads_only ? "in" : "out")) == 0 &&
                   good;
            dtype = dtype == NULL && !a->reads_only ? a->dtype : dtype;
            (void)snprintf(bytes + used, sizeof bytes - used, "%s%s*%d", used == 0 ? "" : " + ",
                           shape, strcmp(a->dtype, "f64") == 0 ? 8 : 4);
        }
    }
    if (json_array_size(sizes) == 0) {
        good = json_array_append_new(sizes,
                                     json_pack("{s:s, s:I}", "name", "n", "default", usual)) == 0 &&
               good;
    }
    out->problem = json_pack(
        "{s:i, s:s, s:s, s:o, s:[s], s:o, s:s, s:s, s:s, s:{s:{s:s, s:s}}, s:[]}", "schema", 1,
        "name", name, "description", s->name, "sizes", sizes, "dtypes", dtype, "arguments",
        arguments, "flops", "0", "bytes", bytes, "reference", "default", "tolerance", dtype,
        "relative", "100*eps", "rms", "100*eps", "awkward");
    return good && out->problem != NULL;
}

static bool add_values(json_t *list, const char *name, int64_t value, bool truth)
{
    const int64_t choices[] = {truth ? 0 : value / 2, truth ? 1 : value, truth ? 0 : 2 * value};
    json_t *values = json_array();
    bool good = true;
    for (size_t i = 0; i < (truth ? 2 : sizeof choices / sizeof *choices); i++) {
        good = ((choices[i] == 0 && !truth) ||
                json_array_append_new(values, json_integer(choices[i])) == 0) &&
               good;
    }
    return json_array_append_new(list,
                                 json_pack("{s:s, s:s, s:o, s:I}", "Name", name, "Type", "int",
                                           "Values", values, "Default", (json_int_t)value)) == 0 &&
           good;
}

static json_t *make_launch(const scanner *s, const char *block, const char *shape)
{
    json_t *passed = json_array(), *launch = NULL;
    bool good = passed != NULL;
    for (size_t i = 0; good && i < s->argument_count; i++) {
        const argument *a = &s->arguments[i];
        good =
            json_array_append_new(passed, a->pointer ? json_pack("{s:s}", "Buffer", a->name)
                                                     : json_pack("{s:s}", a->passed,
                                                                 is_size(a) ? a->name : "1")) == 0;
    }
    if (block == NULL) {
        launch = json_pack("{s:O}", "Arguments", passed);
    } else {
        char grid[4 * NAME_BYTES + 32];
        (void)snprintf(grid, sizeof grid, "(%s + %s - 1)//%s", shape, block, block);
        launch =
            json_pack("{s:[s], s:[s], s:O}", "Block", block, "Grid", grid, "Arguments", passed);
    }
    json_decref(passed);
    return good ? launch : NULL;
}

static bool make_space(ak_kernel_scan *out, scanner *s, const char *shape)
{
    static const char *const languages[][2] = {
        {"host", "C"}, {"cuda", "CUDA"}, {"opencl", "OpenCL"}};
    bool host = strcmp(s->backend, "host") == 0;
    const char *block = NULL, *language = languages[0][1];
    json_t *parameters = json_array();
    bool good = true;
    for (size_t i = 0; i < 3; i++) {
        language = strcmp(s->backend, languages[i][0]) == 0 ? languages[i][1] : language;
    }
    language = s->cpp ? "C++" : language;
    for (size_t i = 0; i < s->parameter_count; i++) {
        const char *name = s->parameters[i].name;
        bool threads = strstr(name, "BLOCK") != NULL || strstr(name, "block") != NULL ||
                       strstr(name, "THREADS") != NULL;
        block = block == NULL && threads && !s->parameters[i].truth ? name : block;
        good = add_values(parameters, name, s->parameters[i].value, s->parameters[i].truth) && good;
    }
    if (!host && block == NULL) {
        block = "block_size_x";
        good = add_values(parameters, block, 128, false) && good;
    }
    if (host) {
        good = json_array_append_new(parameters, json_pack("{s:s, s:s, s:[i, i], s:i, s:s, s:s}",
                                                           "Name", "OPT_LEVEL", "Type", "int",
                                                           "Values", 2, 3, "Default", 3, "Use",
                                                           "option", "Option", "-O{}")) == 0 &&
               good;
    }
    json_t *launch = make_launch(s, host ? NULL : block, shape);
    out->space =
        json_pack("{s:{s:o, s:[]}, s:{s:s, s:s, s:s, s:o}}", "ConfigurationSpace",
                  "TuningParameters", parameters, "Conditions", "KernelSpecification", "Language",
                  language, "KernelName", s->name, "KernelFile", s->file, "Launch", launch);
    return good && launch != NULL && out->space != NULL;
}

/* Returns the end of the entry's body in the text. */
static size_t end_of_entry(const scanner *s)
{
    const char *body = strchr(s->plain + s->entry, '{');
    const char *close = body == NULL ? NULL : closing(body);
    return close == NULL ? strlen(s->plain) : (size_t)(close - s->plain) + 1;
}

static void print_line_number(ak_buf *out, const scanner *s, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += s->plain[i] == '\n';
    }
    ak_buf_print(out, "\n#line %zu\n", line);
}

/* Returns whether a template argument's name stands elsewhere in the file, too, such as in a
   template that the kernel calls: as a macro it would replace that. */
static bool is_elsewhere(const scanner *s, const char *name, size_t end)
{
    for (const char *at = s->plain; (at = find_word(at, name)) != NULL; at += strlen(name)) {
        size_t place = (size_t)(at - s->plain);
        if (place < s->begin || place >= end) {
            return true;
        }
    }
    return false;
}

/* Writes, for template arguments whose names stand elsewhere in the file: `what` 0, a constant for
   each with the value of its macro, which ends there; 1, macros for the constants, for the entry
   only; 2, the end of these. `at` is the place in the file that follows. */
static void print_constants(ak_buf *out, const scanner *s, size_t end, int what, size_t at)
{
    bool any = false;
    for (size_t i = 0; s->end > s->begin && i < s->parameter_count; i++) {
        const char *name = s->parameters[i].name;
        const char *head = find_word(s->plain + s->begin, name);
        if (head == NULL || head >= s->plain + s->end || !is_elsewhere(s, name, end)) {
            continue;
        }
        any = true;
        if (what == 0) {
            ak_buf_print(out, "enum : int { %s_value = %s };\n#undef %s\n", name, name, name);
        } else if (what == 1) {
            ak_buf_print(out, "\n#define %s ((%s)%s_value)", name,
                         s->parameters[i].truth ? "bool" : "int", name);
        } else {
            ak_buf_print(out, "\n#undef %s", name);
        }
    }
    if (any) {
        print_line_number(out, s, at);
    }
}

/* Writes the source: a template becomes a plain function, with macros for the template's arguments,
   and an entry in CUDA or C++ gets a plain name (extern "C"). */
static ak_status make_source(ak_kernel_scan *out, const scanner *s)
{
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    size_t end = end_of_entry(s);
    bool named = (strcmp(s->backend, "cuda") != 0 && !s->cpp) ||
                 strncmp(s->plain + s->entry, "extern", 6) == 0;
    print_constants(&text, s, end, 0, 0);
    ak_buf_append(&text, s->own, s->begin);
    print_constants(&text, s, end, 1, s->end);
    ak_buf_append(&text, s->own + s->end, s->entry - s->end);
    ak_buf_puts(&text, named ? "" : "extern \"C\" ");
    ak_buf_append(&text, s->own + s->entry, end - s->entry);
    print_constants(&text, s, end, 2, end);
    ak_buf_puts(&text, s->own + end);
    return ak_buf_take(&out->source, &text, s->err);
}

static ak_status make_reference(ak_kernel_scan *out, const scanner *s)
{
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    size_t array = 0, size = 0;
    ak_buf_print(&text,
                 "/* reference.c: what %s means, in double and as plainly as possible. Write the "
                 "body,\n   then say \"reference\": \"reference.c\" in problem.json. */\n\n"
                 "void ak_reference(const ak_host_call *call)\n{\n",
                 s->name);
    for (size_t i = 0; i < s->argument_count; i++) {
        const argument *a = &s->arguments[i];
        if (a->pointer) {
            ak_buf_print(&text, "    %sdouble *%s = call->arg[%zu];\n",
                         a->reads_only ? "const " : "", a->name, array++);
        } else if (is_size(a)) {
            ak_buf_print(&text, "    const int64_t %s = call->size[%zu];\n", a->name, size++);
        }
    }
    ak_buf_puts(&text, "}\n");
    return ak_buf_take(&out->reference, &text, s->err);
}

/* Says what was left out of the file. */
static void note_rest(scanner *s)
{
    char what[256];
    if (s->others > 0) {
        (void)snprintf(what, sizeof what, "kernel: %s is taken, the %s in the file", s->name,
                       strcmp(s->backend, "host") == 0 ? "last function that is not static"
                                                       : "first kernel");
        note(s, what,
             "where another one is meant, leave only that in a file of its own and begin again");
    }
    if (s->parameters_left > 0) {
        note(s, "parameters", "there are more than 16; write the others into the space file");
    }
}

static bool has_second_dimension(const scanner *s)
{
    static const char *const signs[] = {"threadIdx.y",      "blockIdx.y",      "blockDim.y",
                                        "get_global_id(1)", "get_local_id(1)", "get_group_id(1)"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strstr(s->plain, signs[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Returns whether the file has an array of shared memory whose size the launch gives. */
static bool has_launch_memory(const scanner *s)
{
    for (const char *at = s->plain; (at = find_word(at, "__shared__")) != NULL; at += 10) {
        const char *open = at + strcspn(at, "[;=");
        if (*open == '[' && open[1 + strspn(open + 1, BLANK)] == ']') {
            return true;
        }
    }
    return false;
}

static void note_launch(scanner *s)
{
    if (strcmp(s->backend, "host") != 0) {
        note(s, "launch",
             has_second_dimension(s)
                 ? "the kernel asks for its place in a second dimension, and the launch that is "
                   "written has one; write \"Block\" and \"Grid\" into the space file"
                 : "an element a thread is a guess; write \"Block\" and \"Grid\" into the "
                   "space file");
    }
    if (has_launch_memory(s)) {
        note(s, "shared memory",
             "the launch says how much there is (extern __shared__), and the one that is written "
             "gives none; write \"SharedMemory\", in bytes, into \"Launch\" of the space file");
    }
}

static void make_notes(scanner *s)
{
    char what[256];
    note_rest(s);
    if (s->parameter_count > 0) {
        note(s, "values of the parameters",
             "half and twice the file's own are guesses; write those worth trying into the space "
             "file");
    } else {
        note(s, "parameters",
             strcmp(s->backend, "host") == 0
                 ? "none was found (template arguments, #ifndef/#define, -DNAME=16); write them "
                   "into the space file"
                 : "none was found (template arguments, #ifndef/#define, -DNAME=16), so only the "
                   "launch has one, block_size_x; write others into the space file");
    }
    size_t sizes = count_sizes(s);
    (void)snprintf(what, sizeof what, "shapes of the arrays");
    note(s, what,
         sizes == 0   ? "no argument is a whole number, so all have n elements; write them into "
                        "problem.json"
         : sizes == 1 ? "all have as many elements as the only whole number says; write others "
                        "into problem.json"
                      : "all have the product of the first two whole numbers; write them into "
                        "problem.json");
    (void)snprintf(what, sizeof what, "the size at which it is checked and tuned");
    note(s, what,
         sizes > 1 ? "256 is a guess; write \"default\" of \"sizes\" into problem.json"
                   : "1048576 is a guess; write \"default\" of \"sizes\" into problem.json");
    note(s, "edge-case sizes",
         "none is checked; write some that are small, odd and no multiple of a block into "
         "\"awkward\" of problem.json");
    note(s, "flops", "0, so no rate in flop/s is shown; write a formula into problem.json");
    note(s, "access", "const is in, the rest is out; write inout into problem.json where it is");
    for (size_t i = 0; i < s->argument_count; i++) {
        if (!s->arguments[i].pointer && !is_size(&s->arguments[i])) {
            (void)snprintf(what, sizeof what, "the value of %s", s->arguments[i].name);
            note(s, what, "1 is passed; write it into \"Launch\" of the space file");
        }
    }
    note_launch(s);
    if (strcmp(s->backend, "cuda") == 0 && !has_word(s->plain, "__CUDACC_RTC__") &&
        (has_word(s->plain, "main") || strstr(s->plain, "<<<") != NULL)) {
        note(s, "host code",
             "NVRTC compiles device code only; put main and the launch between #ifndef "
             "__CUDACC_RTC__ and #endif in the copied file");
    }
    note(s, "reference",
         "candidates are compared with the default configuration; write the body of "
         "reference.c and name it in problem.json");
}

ak_status ak_kernel_scan_text(ak_kernel_scan *out, const char *text, const char *backend,
                              const char *file, const char *name, ak_error *err)
{
    scanner *s = ak_alloc(1, sizeof *s);
    char shape[2 * NAME_BYTES + 2];
    ak_status status = s == NULL ? ak_fail_memory(err) : AK_OK;
    AK_TRY(status);
    text += ak_utf8_mark(text);
    *s = (scanner){.text = text,
                   .backend = backend,
                   .file = file,
                   .cpp = strcmp(backend, "host") == 0 && !ak_fs_has_suffix(file, ".c"),
                   .err = err,
                   .notes = AK_BUF(8192),
                   .own = ak_strdup(text),
                   .plain = without_comments(text)};
    AK_TRY(s->plain == NULL || s->own == NULL ? ak_fail_memory(err) : AK_OK);
    const char *open = find_entry(s);
    if (open == NULL || closing(open) == NULL) {
        status = ak_fail(err, AK_INVALID, "%s: no kernel was found; there must be %s", file,
                         strcmp(backend, "cuda") == 0     ? "a function with __global__ and a body"
                         : strcmp(backend, "opencl") == 0 ? "a function with kernel or __kernel"
                         : s->cpp ? "a function that is not static and in no namespace"
                                  : "a function that is not static");
        goto out;
    }
    if (strcmp(s->backend, "cuda") == 0) {
        drop_declarations(s);
        begin_entry(s);
    }
    AK_TRY(read_arguments(s, open));
    AK_TRY(read_template(s));
    find_guarded(s);
    find_options(s);
    guess_shape(shape, s);
    AK_TRY(make_problem(out, s, name, shape) && make_space(out, s, shape) ? AK_OK
                                                                          : ak_fail_memory(err));
    AK_TRY(make_source(out, s));
    AK_TRY(make_reference(out, s));
    make_notes(s);
    status = ak_buf_take(&out->notes, &s->notes, err);
out:
    if (s != NULL) {
        ak_buf_free(&s->notes);
        ak_free(s->plain);
        ak_free(s->own);
    }
    ak_free(s);
    return status;
}

void ak_kernel_scan_clear(ak_kernel_scan *scan)
{
    json_decref(scan->problem);
    json_decref(scan->space);
    ak_free(scan->source);
    ak_free(scan->reference);
    ak_free(scan->notes);
    *scan = (ak_kernel_scan){.problem = NULL};
}
