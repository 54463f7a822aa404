/*
 * host_adapt.c: lets a kernel be a plain function in C, C++ or Fortran. The "Launch" of a space
 * file lists the function's "Arguments", as it does for GPUs, and this file writes the ak_kernel
 * that calls it:
 *
 *     void ak_kernel(const ak_host_call *call)
 *     {
 *         (void)scaled((float *)call->arg[1], (float *)call->arg[0], (int32_t)(call->size[0]));
 *     }
 */
#include <math.h>
#include <string.h>

#include "backend/host/host.h"
#include "base/number.h"
#include "space/expr.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"

#define ELEMENT "ak_task_element" /* the type of the task's dtype, if the problem has several */

static const char *c_type(ak_dtype dtype)
{
    return ak_dtype_is_float(dtype) && ak_dtype_bytes(dtype) == 2 ? "void" : ak_dtype_c_type(dtype);
}

/* Declares ELEMENT if the problem has several dtypes. The task's compiler options define the macro
   for its dtype; without one the first dtype counts. */
static void print_element(ak_buf *out, const ak_problem *problem)
{
    for (size_t i = 1; i < problem->dtype_count; i++) {
        ak_buf_print(out, "#%s dtype_is_%s\ntypedef %s " ELEMENT ";\n", i == 1 ? "if" : "elif",
                     ak_dtype_text(problem->dtypes[i]), c_type(problem->dtypes[i]));
    }
    if (problem->dtype_count > 1) {
        ak_buf_print(out, "#else\ntypedef %s " ELEMENT ";\n#endif\n", c_type(problem->dtypes[0]));
    }
}

static const char *type_of(const ak_argument_spec *argument, const ak_problem *problem)
{
    return !argument->dtype_follows   ? c_type(argument->dtype)
           : problem->dtype_count > 1 ? ELEMENT
                                      : c_type(problem->dtypes[0]);
}

static ak_status print_buffer(ak_buf *out, const char *name, const ak_host_entry *entry,
                              ak_error *err)
{
    for (size_t i = 0; i < entry->problem->argument_count; i++) {
        if (strcmp(entry->problem->arguments[i].name, name) == 0) {
            ak_buf_print(out, "(%s *)call->arg[%zu]",
                         type_of(&entry->problem->arguments[i], entry->problem), i);
            return AK_OK;
        }
    }
    return ak_fail(err, AK_INVALID, "%s: Launch: Buffer \"%.60s\" is not an argument of %s",
                   entry->where, name, entry->problem->name);
}

/* Prints a size or an option that is a number. Returns false if none has that name or, with
   `whole`, if the option is a real number, which would be rounded silently. */
static bool print_name(ak_buf *out, const char *name, size_t length, bool whole,
                       const ak_problem *problem)
{
    for (size_t i = 0; i < problem->size_count; i++) {
        const char *size = problem->sizes[i].name;
        if (strlen(size) == length && strncmp(size, name, length) == 0) {
            ak_buf_print(out, "call->size[%zu]", i);
            return true;
        }
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        const ak_choice_spec *choice = &problem->choices[i];
        if (choice->kind == (whole ? AK_CHOICE_WHOLE : choice->kind) &&
            choice->kind != AK_CHOICE_TEXT && strlen(choice->name) == length &&
            strncmp(choice->name, name, length) == 0) {
            ak_buf_print(out, "call->number[%zu]", i);
            return true;
        }
    }
    return false;
}

/* Prints an expression of a space file in C. Refuses all but numbers, sizes, options that are
   numbers (for an integer dtype, whole ones), + - * and brackets, which mean the same in both: a
   whole number gets the 64 bits that it has in a space file, so that products do not overflow. */
static ak_status print_value(ak_buf *out, ak_dtype dtype, const char *text,
                             const ak_host_entry *entry, ak_error *err)
{
    const bool whole = !ak_dtype_is_float(dtype);
    bool plain = text[strspn(text, LETTERS DIGITS " .+-*()")] == 0 && strstr(text, "**") == NULL;
    ak_buf_print(out, "(%s)(", ak_dtype_c_type(dtype));
    const char *tail = NULL; /* what belongs to the number before it: digits behind a point or, as
                                in 1e-05, of an exponent */
    for (const char *p = text; plain && *p != 0;) {
        size_t length = strspn(p, LETTERS DIGITS);
        const bool number = *p >= '0' && *p <= '9';
        if (*p == '0' && length > 1 && p[1] != 'e' && p[1] != 'E' && p != tail) {
            plain = false; /* C reads 010 as 8 */
        } else if (length == 0 || number) {
            const bool is_whole =
                number && strspn(p, DIGITS) == length && p[length] != '.' && p != tail;
            length = length == 0 ? 1 : length;
            ak_buf_print(out, "%.*s%s", (int)length, p, is_whole ? "LL" : "");
        } else {
            plain = print_name(out, p, length, whole, entry->problem);
        }
        const bool sign = number && (p[length - 1] == 'e' || p[length - 1] == 'E');
        p += length;
        tail = p[-1] == '.' ? p : sign && (*p == '-' || *p == '+') ? p + 1 : tail;
    }
    ak_buf_puts(out, ")");
    return plain ? AK_OK
                 : ak_fail(err, AK_INVALID,
                           "%s: Launch: the argument \"%.80s\" must be made of numbers, sizes, "
                           "options that are %snumbers, + - * and brackets on the host",
                           entry->where, text, whole ? "whole " : "");
}

/* Sets an option that is a number to its default, least or largest value (`which` 0, 1, 2), or to
   its default if it has no such limit. */
static ak_status set_option(ak_scope *scope, const ak_choice_spec *choice, int which, ak_error *err)
{
    const double values[] = {choice->fallback, choice->low, choice->high};
    return choice->kind == AK_CHOICE_TEXT
               ? AK_OK
               : ak_scope_set_real(scope, choice->name,
                                   isfinite(values[which]) ? values[which] : choice->fallback, err);
}

/* Refuses an argument whose value at the default sizes, with the options at their defaults or at
   either end, is no whole number or does not fit its type. An expression that print_value has
   accepted but that cannot be evaluated is left to the compiler. */
static ak_status check_whole(ak_dtype dtype, const char *text, const ak_host_entry *entry,
                             ak_error *err)
{
    static const char *const ends[] = {"", " with its options at their \"minimum\"",
                                       " with its options at their \"maximum\""};
    ak_dtype_range holds;
    ak_error ignored = AK_ERROR_INIT;
    double value = 0;
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(NULL);
    AK_DO(ak_made(scope, err));
    (void)ak_dtype_holds(&holds, dtype);
    for (size_t i = 0; i < entry->problem->size_count; i++) {
        AK_DO(ak_scope_set_int(scope, entry->problem->sizes[i].name,
                               entry->problem->sizes[i].fallback, err));
    }
    for (int which = 0; which < 3; which++) {
        for (size_t i = 0; i < entry->problem->choice_count; i++) {
            AK_DO(set_option(scope, &entry->problem->choices[i], which, err));
        }
        AK_FAIL_IF(
            ak_expr_real(&value, text, scope, entry->where, &ignored) == AK_OK &&
                (floor(value) != value || value < holds.low || value > holds.high),
            err, AK_INVALID,
            "%s: Launch: %s: \"%.80s\" is %.17g%s; it must be a whole number from %.0f to %.0f",
            entry->where, ak_dtype_scalar(dtype), text, value, ends[which], holds.low, holds.high);
    }
    return AK_OK;
}

static ak_status print_argument(ak_buf *out, const json_t *argument, const ak_host_entry *entry,
                                ak_error *err)
{
    const char *buffer = ak_json_text_or_null(argument, "Buffer");
    const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)argument));
    char number[64], list[AK_DTYPE_LIST_BYTES];
    ak_dtype dtype;
    if (buffer != NULL && json_object_size(argument) == 1) {
        return print_buffer(out, buffer, entry, err);
    }
    if (json_is_true(json_object_get(argument, "Workspace"))) {
        ak_buf_puts(out, "call->workspace");
        return AK_OK;
    }
    if (json_is_true(json_object_get(argument, "Null"))) {
        ak_buf_puts(out, "0");
        return AK_OK;
    }
    if (key != NULL && json_object_size(argument) == 1 && ak_dtype_parse_scalar(&dtype, key)) {
        const json_t *value = json_object_get(argument, key);
        const char *text = json_string_value(value);
        if (json_is_number(value)) {
            (void)ak_number_print(number, sizeof number, "%.17g", json_number_value(value));
            text = number;
        }
        if (text != NULL) {
            AK_DO(print_value(out, dtype, text, entry, err));
            return ak_dtype_is_float(dtype) ? AK_OK : check_whole(dtype, text, entry, err);
        }
    }
    AK_AT_END(ak_text_free_at) char *text = NULL;
    AK_DO(ak_json_text(&text, argument, err));
    ak_dtype_list(list, ak_dtype_scalar, NULL, " or ");
    return ak_fail(err, AK_INVALID,
                   "%s: Launch: the argument %.60s is not understood; write {\"Buffer\": "
                   "\"NAME\"}, {\"Workspace\": true}, {\"Null\": true} or a value, {\"Int32\": "
                   "\"n\"}, of %s",
                   entry->where, text, list);
}

/* Declares a function that no C source here defines: one in Fortran, or a library's. The types of
   its parameters are those that print_argument converts the arguments to, and void * where it
   converts nothing. */
static ak_status declare(ak_buf *out, const json_t *list, const ak_host_entry *entry, ak_error *err)
{
    ak_buf_print(out, "void %s(", entry->name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        AK_AT_END(ak_buf_free) ak_buf one = AK_BUF(4096);
        AK_DO(print_argument(&one, json_array_get(list, i), entry, err));
        bool converted = one.length > 0 && one.data[0] == '(';
        ak_buf_print(out, "%s%.*s", i == 0 ? "" : ", ",
                     converted ? (int)strcspn(one.data + 1, ")") : 6,
                     converted ? one.data + 1 : "void *");
    }
    ak_buf_puts(out, json_array_size(list) == 0 ? "void);\n" : ");\n");
    return AK_OK;
}

ak_status ak_host_adapt(ak_buf *out, const ak_host_entry *entry, ak_error *err)
{
    static const char *const keys[] = {"Arguments", NULL};
    json_t *list = NULL;
    AK_FAIL_IF(!json_is_object(entry->launch), err, AK_INVALID,
               "%s: \"Launch\" of host code must be an object", entry->where);
    AK_DO(ak_json_only(entry->launch, keys, entry->where, err));
    AK_DO(ak_json_array_or_null(&list, entry->launch, "Arguments", entry->where, err));
    AK_FAIL_IF(entry->name[0] == 0 || entry->name[strspn(entry->name, LETTERS DIGITS)] != 0 ||
                   strcmp(entry->name, "ak_kernel") == 0,
               err, AK_INVALID,
               "%s: with a \"Launch\", \"KernelName\" is the function to call, and it may not be "
               "ak_kernel",
               entry->where);
    /* A missing function is found in the artifact, with a better message (host_compile.c). */
    ak_buf_puts(out, "#ifndef __cplusplus\n#pragma GCC diagnostic warning "
                     "\"-Wimplicit-function-declaration\"\n#endif\n");
    print_element(out, entry->problem);
    ak_buf_puts(out, "#line 1 \"Launch\"\n");
    if (ak_text_same(entry->language, AK_LANGUAGE_FORTRAN)) {
        AK_DO(declare(out, list, entry, err));
    }
    ak_buf_print(out, "void ak_kernel(const ak_host_call *call)\n{\n    (void)%s(", entry->name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        ak_buf_puts(out, i == 0 ? "" : ", ");
        AK_DO(print_argument(out, json_array_get(list, i), entry, err));
    }
    ak_buf_puts(out, ");\n}\n");
    return AK_OK;
}
