/* kernel_scan.c: see kernel_files.h. The scan ignores comments, except for options such as -DX=16.
   It does not parse code as a compiler would, so it refuses unusual code or notes a guess.
   scan_parameters.c reads the parameters, and scan_documents.c makes the documents. */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "problem/problem_read.h"
#include "problem/scan_parts.h"
#include "problem/source_text.h"
#include "space/expr.h"

void ak_scan_copy_name(char out[AK_SCAN_NAME], const char *from, size_t length)
{
    (void)snprintf(out, AK_SCAN_NAME, "%.*s", (int)length, from);
}

size_t ak_scan_name_before(char out[AK_SCAN_NAME], const char *text, size_t at)
{
    const size_t end = ak_source_back(text, at, AK_SOURCE_BLANK);
    const size_t begin = ak_source_back(text, end, AK_SOURCE_WORD);
    ak_scan_copy_name(out, text + begin, end - begin);
    return end - begin;
}

const char *ak_scan_body(const char **end, const char *open)
{
    const char *close = ak_source_closing(open);
    const char *body = close == NULL ? NULL : strchr(close, '{');
    *end = body == NULL ? NULL : ak_source_closing(body);
    return body;
}

/* ---- entry --------------------------------------------------------------------------------- */

/* Returns whether a word before '(' is a type or a keyword and not the name of a function. */
static bool is_word_of_c(const char *name)
{
    static const char *const words[] = {"void",  "int",    "float",  "double", "if",    "for",
                                        "while", "switch", "return", "sizeof", "kernel"};
    return AK_HAS_TEXT(words, AK_COUNT(words), name);
}

/* Sets s->name to the name of the function whose qualifiers begin at `at`. Returns its '(', or NULL
   if there is no function. */
static const char *open_bracket(ak_scan *s, const char *at)
{
    for (const char *p = at; *p != 0 && *p != ';' && *p != '{'; p++) {
        if (*p != '(') {
            continue;
        }
        (void)ak_scan_name_before(s->name, at, (size_t)(p - at));
        if (strlen(s->name) > 2 && strncmp(s->name, "__", 2) == 0) {
            p = ak_source_closing(p); /* skips __launch_bounds__(...), __attribute__((...)) */
            if (p == NULL) {
                return NULL;
            }
            continue;
        }
        return s->name[0] == 0 || is_word_of_c(s->name) ? NULL : p;
    }
    return NULL;
}

/* Returns whether the brace opens an extern "C" block, in which functions are looked for. */
static bool opens_scope(const char *text, const char *bracket)
{
    const size_t end = ak_source_back(text, (size_t)(bracket - text), AK_SOURCE_BLANK);
    return end >= 6 && memcmp(text + end - 6, "extern", 6) == 0;
}

/* Adds s->name, the name of a function that may be the entry, to s->names if it is not there. */
static void note_name(ak_scan *s)
{
    if (!ak_source_has(ak_or_empty(s->names.data), s->name)) {
        ak_buf_print(&s->names, "%s%s", s->names.length == 0 ? "" : ", ", s->name);
    }
}

/* Finds the last function with a body in a C or C++ file that is not static and in no namespace.
   Returns its '(', or NULL. */
static const char *last_function(ak_scan *s)
{
    const char *found = NULL;
    char name[AK_SCAN_NAME] = "";
    for (const char *p = s->plain; *p != 0; p++) {
        if (*p == '#') {
            p += strcspn(p, "\n");
            p -= *p == 0 ? 1 : 0;
        } else if (*p == '{' && opens_scope(s->plain, p)) {
            continue;
        } else if (*p == '{') {
            const char *end = ak_source_closing(p);
            p = end == NULL ? p + strlen(p) - 1 : end;
        } else if (s->cpp && strncmp(p, "template", 8) == 0 && strchr(p, '>') != NULL) {
            p = strchr(p, '>'); /* ak_scan_template reads it */
        } else if (strchr(AK_SOURCE_LETTERS, *p) != NULL) {
            size_t stop = strcspn(p, ";{#");
            const char *open = open_bracket(s, p);
            const char *close = open == NULL ? NULL : ak_source_closing(open);
            const char *is_static = ak_source_find(p, "static");
            if (p[stop] == '{' && close != NULL && close < p + stop &&
                (is_static == NULL || is_static > p + stop)) {
                s->others += found != NULL;
                found = open;
                s->entry = (size_t)(p - s->plain);
                memcpy(name, s->name, sizeof name);
                note_name(s);
            }
            p += stop - 1;
        }
    }
    memcpy(s->name, name, sizeof name);
    return found;
}

/* Moves s->entry back over the qualifiers before it, such as "static" and "void". Blanks out
   "static" and "inline", which a kernel that is called by its name cannot have. */
static void begin_entry(ak_scan *s)
{
    static const char *const words[] = {"static", "inline", "void", "extern", "const"};
    for (size_t i = 0; i < 2; i++) {
        const char *after = ak_source_find(s->plain + s->entry, words[i]);
        if (after != NULL && after < ak_source_find(s->plain + s->entry, s->name)) {
            memset(s->own + (after - s->plain), ' ', strlen(words[i]));
        }
    }
    for (;;) {
        size_t end = ak_source_back(s->plain, s->entry, AK_SOURCE_BLANK);
        bool known = false;
        if (end > 0 && s->plain[end - 1] == ')') { /* skips __launch_bounds__(...) */
            for (int depth = 0; end > 0;) {
                end--;
                depth += s->plain[end] == ')' ? 1 : s->plain[end] == '(' ? -1 : 0;
                if (depth == 0) {
                    break;
                }
            }
        }
        const size_t begin = ak_source_back(s->plain, end, AK_SOURCE_WORD);
        for (size_t i = 0; i < AK_COUNT(words) && s->plain[end] != '('; i++) {
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
    const char *close = open == NULL ? NULL : ak_source_closing(open);
    return close != NULL && close[1 + strcspn(close + 1, ";{")] == '{';
}

static const char *find_entry(ak_scan *s)
{
    const char *word = strcmp(s->backend, "cuda") == 0                ? "__global__"
                       : ak_source_find(s->plain, "__kernel") != NULL ? "__kernel"
                                                                      : "kernel";
    const char *found = NULL;
    char name[AK_SCAN_NAME] = "";
    if (strcmp(s->backend, "host") == 0) {
        return last_function(s);
    }
    for (const char *at = s->plain; (at = ak_source_find(at, word)) != NULL; at += strlen(word)) {
        const char *open = open_bracket(s, at);
        if (!has_body(open)) {
            continue; /* this is only a declaration */
        }
        note_name(s);
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

/* Blanks out declarations of the CUDA entry before its definition. The definition gets extern "C",
   and they would declare another function, with C++ linkage. */
static void drop_declarations(ak_scan *s)
{
    char name[AK_SCAN_NAME];
    const size_t entry = s->entry;
    memcpy(name, s->name, sizeof name);
    for (const char *at = s->plain; (at = ak_source_find(at, "__global__")) != NULL; at += 10) {
        s->entry = (size_t)(at - s->plain);
        const char *open = s->entry < entry ? open_bracket(s, at) : NULL;
        if (open == NULL || has_body(open) || strcmp(s->name, name) != 0) {
            continue;
        }
        begin_entry(s);
        size_t begin = s->entry;
        const size_t last = ak_source_back(s->plain, begin, AK_SOURCE_BLANK);
        if (last > 0 && s->plain[last - 1] == '>' && ak_scan_find_template(s, last)) {
            begin = s->begin;
        }
        for (size_t i = begin; s->plain[i] != 0 && s->plain[i] != ';'; i++) {
            s->own[i] = s->plain[i] == '\n' ? '\n' : ' ';
        }
    }
    memcpy(s->name, name, sizeof name);
    s->entry = entry;
}

static ak_status read_argument(ak_scan *s, const char *text, size_t length)
{
    char part[256], whole[81];
    size_t blank = strspn(text, AK_SOURCE_BLANK);
    blank = blank < length ? blank : length;
    (void)snprintf(part, sizeof part, "%.*s", (int)length, text);
    (void)snprintf(whole, sizeof whole, "%.*s", (int)(length - blank), text + blank);
    whole[strcspn(whole, "\r\n")] = 0;
    ak_scan_argument *a = &s->arguments[s->argument_count];
    part[strcspn(part, "=")] = 0; /* cuts off the default value of the argument */
    size_t end = strcspn(part, "[");
    bool array = part[end] == '[';
    while (end > 0 && strchr(AK_SOURCE_WORD, part[end - 1]) == NULL) {
        end--;
    }
    const size_t begin = ak_source_back(part, end, AK_SOURCE_WORD);
    ak_scan_copy_name(a->name, part + begin, end - begin);
    if ((!ak_expr_is_name(a->name) || ak_problem_is_reserved(a->name)) &&
        strlen(a->name) + 2 <= sizeof a->name) {
        memcpy(a->name + strlen(a->name), "_", 2); /* "in" is a keyword, so it becomes "in_" */
    }
    part[begin] = 0;
    a->pointer = array || strchr(part, '*') != NULL;
    const char *star = strchr(part, '*');
    bool unlike = ak_source_has(part, "local") || ak_source_has(part, "__local") ||
                  strpbrk(part, "&(<") != NULL ||
                  (star != NULL && (array || strchr(star + 1, '*') != NULL));
    part[strcspn(part, "*")] = 0; /* "float *const x" may be written to */
    a->reads_only = ak_source_has(part, "const") || ak_source_has(part, "constant") ||
                    ak_source_has(part, "__constant");
    AK_FAIL_IF(
        !ak_scan_type_of(&a->dtype, part) || unlike ||
            (!a->pointer && ak_dtype_scalar(a->dtype) == NULL),
        s->err, AK_INVALID,
        "%s: the argument \"%s\" of %s has a type that is not understood; write the folder by hand",
        s->file, whole, s->name);
    s->argument_count++;
    return AK_OK;
}

/* Returns the offset of the last character before `at` that is no blank; SIZE_MAX if there is
   none. */
static size_t last_before(const char *text, size_t at)
{
    const size_t end = ak_source_back(text, at, AK_SOURCE_BLANK);
    return end == 0 ? SIZE_MAX : end - 1;
}

/* Returns whether the address at `at` is the first argument of an atomic function. */
static bool is_atomic(const char *text, size_t at)
{
    char name[AK_SCAN_NAME];
    size_t before = last_before(text, at);
    before = before != SIZE_MAX && text[before] == '&' ? last_before(text, before) : before;
    if (before == SIZE_MAX || text[before] != '(') {
        return false;
    }
    (void)ak_scan_name_before(name, text, before);
    return strstr(name, "atomic") != NULL;
}

/* Returns whether the first use of the array in a function's body, which ends at `end`, reads an
   element, as `y[i] += x`, `y[i] = 2 * y[i]` and an atomic function do. An array that is written
   first, or passed on, is taken for an output only; where that is wrong, a check says so. */
static bool reads_array(const char *body, const char *end, const char *name)
{
    const char *at = ak_source_find(body, name);
    if (at == NULL || at >= end) {
        return false;
    }
    const size_t before = last_before(body, (size_t)(at - body));
    const char *index = at + strlen(name), *after = index;
    while (after != NULL && after[strspn(after, AK_SOURCE_BLANK)] == '[') {
        const char *close = ak_source_closing(after + strspn(after, AK_SOURCE_BLANK));
        after = close == NULL ? NULL : close + 1;
    }
    if (is_atomic(body, (size_t)(at - body))) {
        return true;
    }
    if (after == NULL || before == SIZE_MAX || body[before] == '&' ||
        (after == index && body[before] != '*')) {
        return false;
    }
    after += strspn(after, AK_SOURCE_BLANK);
    const char *value = ak_source_find(after, name); /* of `y[i] = 2 * y[i];` */
    return *after != '=' || after[1] == '=' ||
           (value != NULL && value < after + strcspn(after, ";"));
}

void ak_scan_source_name(char out[AK_SCAN_NAME], const ak_scan *s, const ak_scan_argument *a)
{
    const size_t length = strlen(a->name);
    const bool renamed = a->name[length - 1] == '_' && !ak_source_has(s->plain + s->entry, a->name);
    ak_scan_copy_name(out, a->name, length - renamed);
}

/* Sets `reads` of each array that the kernel may write but reads first. */
static void find_reads(ak_scan *s, const char *open)
{
    const char *end, *body = ak_scan_body(&end, open);
    for (size_t i = 0; end != NULL && i < s->argument_count; i++) {
        ak_scan_argument *a = &s->arguments[i];
        char name[AK_SCAN_NAME];
        ak_scan_source_name(name, s, a);
        a->reads = a->pointer && !a->reads_only && reads_array(body, end, name);
    }
}

/* Refuses a kernel that writes through none of its pointers. */
static ak_status refuse_result(const ak_scan *s, const char *open)
{
    char head[256]; /* what stands before the arguments */
    (void)snprintf(head, sizeof head, "%.*s", (int)(open - s->plain - (ptrdiff_t)s->entry),
                   s->plain + s->entry);
    const bool returns = strcmp(s->backend, "host") == 0 && !ak_source_has(head, "void");
    return ak_fail(s->err, AK_INVALID,
                   returns ? "%s: %s returns its result, so nothing could be checked: return void, "
                             "and write the result through a pointer, such as float *out"
                           : "%s: %s has no pointer that is not const, so nothing could be "
                             "checked: write the result through a pointer, such as float *out",
                   s->file, s->name);
}

static ak_status read_arguments(ak_scan *s, const char *open)
{
    const char *end = ak_source_closing(open);
    size_t sizes = 0;
    for (const char *p = s->plain + s->entry; p < end; p++) {
        AK_FAIL_IF((unsigned char)*p >= 0x80, s->err, AK_INVALID,
                   "%s: the kernel has a name with a letter that is not ASCII; write its name and "
                   "those of its arguments with letters, digits and _",
                   s->file);
    }
    const char *first = open + 1 + strspn(open + 1, AK_SOURCE_BLANK);
    bool none =
        strncmp(first, "void", 4) == 0 && first + 4 + strspn(first + 4, AK_SOURCE_BLANK) == end;
    for (const char *p = none || first == end ? end : open + 1; p < end;) {
        size_t length = ak_source_item(p, ')');
        AK_FAIL_IF(s->argument_count == AK_ARGUMENTS_MAX, s->err, AK_LIMIT,
                   "%s: %s has more than %d arguments", s->file, s->name, AK_ARGUMENTS_MAX);
        AK_DO(read_argument(s, p, length));
        p += length + 1;
    }
    bool writes = false;
    for (size_t i = 0; i < s->argument_count; i++) {
        writes = writes || (s->arguments[i].pointer && !s->arguments[i].reads_only);
        sizes += ak_scan_is_size(&s->arguments[i]);
    }
    AK_FAIL_IF(sizes > AK_SIZES_MAX, s->err, AK_LIMIT,
               "%s: %s takes %zu whole numbers, and a problem has at most %d sizes; write the "
               "folder by hand, with those that never change as numbers in \"Launch\"",
               s->file, s->name, sizes, AK_SIZES_MAX);
    find_reads(s, open);
    return writes ? AK_OK : refuse_result(s, open);
}

/* Finds out what OpenMP support the kernel and the files that it includes need. */
static ak_status find_openmp(ak_scan *s)
{
    ak_source_omp beside;
    if (strcmp(s->backend, "host") != 0) {
        return AK_OK;
    }
    AK_DO(ak_stored(ak_source_openmp(&s->openmp, s->text) && ak_source_openmp(&beside, s->beside),
                    s->err));
    s->openmp = beside > s->openmp ? beside : s->openmp;
    return AK_OK;
}

/* ---- the scan ------------------------------------------------------------------------------- */

static void end_scan(ak_scan **at)
{
    ak_scan *s = *at;
    if (s != NULL) {
        ak_buf_free(&s->notes);
        ak_buf_free(&s->names);
        AK_FREE_ALL(s->plain, s->own, s);
    }
}

ak_status ak_kernel_scan_text(ak_kernel_scan *out, const ak_scan_input *input, ak_error *err)
{
    const char *text = input->text + ak_utf8_mark(input->text);
    AK_AT_END(end_scan) ak_scan *s = NULL;
    AK_DO(AK_NEW(s, 1, err));
    *s = (ak_scan){.text = text,
                   .beside = input->beside,
                   .backend = input->backend,
                   .file = input->file,
                   .cpp =
                       strcmp(input->backend, "host") == 0 && !ak_fs_has_suffix(input->file, ".c"),
                   .err = err,
                   .notes = AK_BUF(32768),
                   .names = AK_BUF(8192),
                   .own = ak_strdup(text),
                   .plain = ak_source_plain(text)};
    AK_DO(ak_stored(s->plain != NULL && s->own != NULL, err));
    const char *open = find_entry(s);
    AK_FAIL_IF(open == NULL || ak_source_closing(open) == NULL, err, AK_INVALID,
               "%s: no kernel was found; there must be %s", s->file,
               strcmp(s->backend, "cuda") == 0     ? "a function with __global__ and a body"
               : strcmp(s->backend, "opencl") == 0 ? "a function with kernel or __kernel"
               : s->cpp ? "a function that is not static and in no namespace"
                        : "a function that is not static");
    if (strcmp(s->backend, "cuda") == 0) {
        drop_declarations(s);
        begin_entry(s);
    }
    AK_DO(read_arguments(s, open));
    AK_DO(ak_scan_template(s));
    ak_scan_guarded(s);
    ak_scan_options(s);
    AK_DO(ak_scan_guess_shapes(s, open));
    AK_DO(find_openmp(s));
    AK_DO(ak_stored(ak_scan_problem(out, s, input->name) && ak_scan_space(out, s), err));
    AK_DO(ak_scan_source(out, s));
    AK_DO(ak_scan_reference(out, s));
    ak_scan_notes(s);
    return ak_buf_take(&out->notes, &s->notes, err);
}

/* ---- the entry of a folder that exists ------------------------------------------------------- */

/* Returns whether a kernel whose parameter has the dtype `is` misreads a value or array of the
   dtype `given`. Arrays are judged only if both dtypes are real or both whole, with elements of at
   least 4 bytes: a byte or a half may well be read in groups, by another type. */
static bool is_misread(ak_dtype is, ak_dtype given, bool array)
{
    const bool real = ak_dtype_is_float(is);
    const size_t least = array ? 4 : 1;
    return (ak_dtype_bytes(is) != ak_dtype_bytes(given) && real == ak_dtype_is_float(given) &&
            ak_dtype_bytes(is) >= least && ak_dtype_bytes(given) >= least) ||
           (!array && real != ak_dtype_is_float(given));
}

/* Finds the dtype of the value or array that `item`, an argument in "Launch", passes. Returns false
   if it passes neither, or if the dtype depends on the task. */
static bool given_dtype(ak_dtype *out, bool *array, const json_t *item, const ak_problem *problem)
{
    const char *buffer = ak_json_text_or_null(item, "Buffer");
    const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)item));
    *array = buffer != NULL;
    if (buffer == NULL) {
        return key != NULL && ak_dtype_parse_scalar(out, key);
    }
    const size_t i = AK_FIND(problem->arguments, problem->argument_count, name, buffer);
    if (i == problem->argument_count || problem->arguments[i].dtype_text != NULL ||
        (problem->arguments[i].dtype_follows && problem->dtype_count > 1)) {
        return false;
    }
    *out = problem->arguments[i].dtype_follows ? problem->dtypes[0] : problem->arguments[i].dtype;
    return true;
}

/* Refuses a parameter of the function whose '(' is at `open` that would misread what "Launch"
   passes to it. Values for a host kernel are not judged, because the compiler converts them. */
static ak_status check_types(ak_scan *s, const char *open, const json_t *list,
                             const ak_problem *problem, const char *where)
{
    const char *end = ak_source_closing(open), *p = open + 1;
    ak_error *err = s->err;
    for (size_t i = 0; i < json_array_size(list) && p < end; i++) {
        const size_t length = ak_source_item(p, ')');
        ak_dtype given;
        bool array;
        s->argument_count = 0;
        s->err = NULL;
        const bool known = read_argument(s, p, length) == AK_OK &&
                           given_dtype(&given, &array, json_array_get(list, i), problem) &&
                           array == s->arguments[0].pointer;
        s->err = err;
        const ak_scan_argument *a = &s->arguments[0];
        AK_FAIL_IF(known && (array || strcmp(s->backend, "host") != 0) &&
                       is_misread(a->dtype, given, array),
                   err, AK_INVALID,
                   "%s: %.60s takes %s%.60s of %s, and \"Launch\" gives it %s: let the source and "
                   "problem.json or \"Launch\" have one type",
                   where, s->name, array ? "the array " : "", a->name, ak_dtype_text(a->dtype),
                   ak_dtype_text(given));
        p += length + 1;
    }
    return AK_OK;
}

/* Returns whether the compiler sees the kernels that were found under the same names: a name in
   capitals is likely a macro, which the options may define, and "##" makes names. */
static bool names_are_plain(const ak_scan *s)
{
    return s->names.length > 0 && strpbrk(s->names.data, "abcdefghijklmnopqrstuvwxyz") != NULL &&
           strstr(s->plain, "##") == NULL;
}

ak_status ak_kernel_scan_check(const ak_implementation_spec *implementation,
                               const ak_problem *problem, ak_error *err)
{
    const char *name = implementation->kernel_name, *where = implementation->where, *open = NULL;
    const json_t *list = json_object_get(implementation->launch, "Arguments");
    size_t found = 0;
    AK_AT_END(end_scan) ak_scan *s = NULL;
    AK_DO(AK_NEW(s, 1, err));
    *s = (ak_scan){.backend = implementation->backend,
                   .file = where,
                   .cpp = !ak_text_same(implementation->language, "c"),
                   .err = err,
                   .names = AK_BUF(8192),
                   .plain = ak_source_plain(implementation->source)};
    AK_DO(ak_made(s->plain, err));
    for (const char *at = s->plain; (at = ak_source_find(at, name)) != NULL; at += strlen(name)) {
        const char *after = at + strlen(name) + strspn(at + strlen(name), AK_SOURCE_BLANK);
        if (*after == '(' && has_body(after)) {
            open = after;
            found++;
        }
    }
    ak_scan_copy_name(s->name, name, strlen(name));
    if (found == 1) {
        return check_types(s, open, list, problem, where);
    }
    if (!ak_source_has(s->plain, name)) {
        (void)find_entry(s);
        AK_FAIL_IF(names_are_plain(s), err, AK_INVALID,
                   "%s: \"KernelName\" is \"%.60s\", and the source has no such kernel: it has "
                   "%.200s",
                   where, name, s->names.data);
    }
    return AK_OK;
}

void ak_kernel_scan_clear(ak_kernel_scan *scan)
{
    json_decref(scan->problem);
    json_decref(scan->space);
    AK_FREE_ALL(scan->source, scan->reference, scan->notes);
    *scan = (ak_kernel_scan){.problem = NULL};
}
