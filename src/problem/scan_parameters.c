/* scan_parameters.c: finds the parameters of a kernel: names that the source lets the compiler
   define, options such as -DX=16, and arguments of its template. A parameter needs a whole number
   from 1 to VALUE_MAX; a template argument for which the source states no number gets 1, and one of
   type bool gets its default, 0 or 1, or 1 if it has none. */
#include <errno.h>
#include <stdlib.h>

#include "problem/source_text.h"
#include "problem/scan_parts.h"

#define VALUE_MAX (1 << 20)

bool ak_scan_is_parameter(const ak_scan *s, const char *name)
{
    for (size_t i = 0; i < s->parameter_count; i++) {
        if (strcmp(s->parameters[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_parameter(ak_scan *s, const char *name, size_t length, int64_t value)
{
    char copy[AK_SCAN_NAME];
    ak_scan_copy_name(copy, name, length);
    for (size_t i = 0; i < s->argument_count; i++) {
        if (strcmp(s->arguments[i].name, copy) == 0) {
            return; /* as a macro it would replace the argument */
        }
    }
    if (ak_scan_is_parameter(s, copy)) {
        return;
    }
    if (value >= 1 && value <= VALUE_MAX && s->parameter_count == AK_SCAN_PARAMETERS) {
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
    bool ends = *end == 0 || strchr(AK_SOURCE_WORD ".", *end) == NULL;
    return errno == 0 && ends && (!bracket || *end == ')') ? value : 0;
}

/* Returns what follows the directive `word`, such as "# define"; NULL if the text does not begin
   with it. */
static const char *after_directive(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (*text != '#') {
        return NULL;
    }
    text += 1 + strspn(text + 1, " \t");
    return strncmp(text, word, length) == 0 && strchr(AK_SOURCE_WORD, text[length]) == NULL
               ? text + length + strspn(text + length, " \t")
               : NULL;
}

/* Finds parameters that the source lets the compiler define: "#ifndef X" or "#if !defined(X)", then
   "#define X 16". */
void ak_scan_guarded(ak_scan *s)
{
    for (const char *at = s->plain; (at = strchr(at, '#')) != NULL; at++) {
        const char *name = after_directive(at, "ifndef"), *tests = after_directive(at, "if");
        if (name == NULL && tests != NULL && strncmp(tests, "!defined", 8) == 0) {
            name = tests + 8 + strspn(tests + 8, " \t(");
        }
        size_t length = name == NULL ? 0 : strspn(name, AK_SOURCE_WORD);
        const char *next =
            length == 0 ? "" : name + length + strspn(name + length, AK_SOURCE_BLANK ")");
        next = after_directive(next, "define");
        if (length > 0 && next != NULL && strncmp(next, name, length) == 0 && next[length] != 0 &&
            strchr(" \t", next[length]) != NULL) {
            next += length;
            add_parameter(s, name, length, number_at(next + strspn(next, " \t")));
        }
    }
}

/* Finds parameters in options such as -DX=16 anywhere in the file; comments often mention them to
   say how the file is compiled. */
void ak_scan_options(ak_scan *s)
{
    for (const char *at = s->text; (at = strstr(at, "-D")) != NULL; at += 2) {
        size_t length = strspn(at + 2, AK_SOURCE_WORD);
        if (length > 0 && strchr("0123456789", at[2]) == NULL && at[2 + length] == '=') {
            add_parameter(s, at + 2, length, number_at(at + 3 + length));
        }
    }
}

/* Returns template argument `index` of the first instantiation in the file, such as `NAME<128, 4>`;
   0 if there is no instantiation or the argument is not a number. */
static int64_t instantiated(const ak_scan *s, size_t index)
{
    const char *at = s->plain;
    while ((at = ak_source_find(at, s->name)) != NULL && at[strlen(s->name)] != '<') {
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
    return number_at(at + strspn(at, AK_SOURCE_BLANK));
}

bool ak_scan_find_template(ak_scan *s, size_t end)
{
    size_t head = end;
    do {
        if (head == 0 || strchr(";{}#", s->plain[head - 1]) != NULL) {
            return false; /* the "<...>" belongs to an #include, or no template begins here */
        }
        head--;
    } while (strncmp(s->plain + head, "template", 8) != 0 ||
             strchr(AK_SOURCE_WORD, s->plain[head + 8]) != NULL ||
             (head > 0 && strchr(AK_SOURCE_WORD, s->plain[head - 1]) != NULL));
    s->begin = head;
    s->end = end;
    return true;
}

/* Reads one argument in the brackets after "template", such as "int TILE = 2". */
static ak_status read_template_item(ak_scan *s, const char *item, size_t length, size_t index)
{
    char part[160];
    (void)snprintf(part, sizeof part, "%.*s", (int)length, item);
    char *equals = strchr(part, '=');
    const char *given = equals == NULL ? "" : equals + 1 + strspn(equals + 1, AK_SOURCE_BLANK);
    length = equals == NULL ? strlen(part) : (size_t)(equals - part);
    length = ak_source_back(part, length, AK_SOURCE_BLANK);
    const size_t first = ak_source_back(part, length, AK_SOURCE_WORD);
    char type[160];
    (void)snprintf(type, sizeof type, "%.*s", (int)first, part);
    ak_dtype dtype;
    bool truth = ak_source_has(type, "bool");
    AK_FAIL_IF(
        first == length || (!truth && (!ak_scan_type_of(&dtype, type) || ak_dtype_is_float(dtype))),
        s->err, AK_INVALID,
        "%s: the template argument \"%.60s\" is not a whole number: write the type into the kernel",
        s->file, part + strspn(part, AK_SOURCE_BLANK));
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
ak_status ak_scan_template(ak_scan *s)
{
    const size_t end = ak_source_back(s->plain, s->entry, AK_SOURCE_BLANK);
    s->begin = s->end = 0;
    if (end == 0 || s->plain[end - 1] != '>' || !ak_scan_find_template(s, end)) {
        return AK_OK;
    }
    size_t at = s->begin + 8 + strspn(s->plain + s->begin + 8, AK_SOURCE_BLANK "<");
    AK_FAIL_IF(s->plain[at] == '>', s->err, AK_INVALID,
               "%s: %s is a specialisation of a template (template <>); write the kernel out as a "
               "plain function",
               s->file, s->name);
    for (size_t index = 0; at < end; index++) {
        size_t length = ak_source_item(s->plain + at, '>');
        length = length < end - at ? length : end - at;
        AK_DO(read_template_item(s, s->plain + at, length, index));
        at += length + 1;
    }
    return AK_OK;
}
