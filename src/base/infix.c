#include "base/infix.h"

#include <string.h>

/* Precedences, the loosest first. An expression with a lower precedence than its place needs is
   printed in parentheses. */
enum { IF = 1, OR, AND, NOT, COMPARED, SUM, PRODUCT, NEGATIVE, ATOM };

typedef struct operation {
    const char *word, *text; /* in the program, and between or before the operands */
    int operands, holds;     /* the number of operands, and the precedence */
} operation;

static const operation operations[] = {
    {"+", " + ", 2, SUM},        {"-", " - ", 2, SUM},        {"*", "*", 2, PRODUCT},
    {"//", "//", 2, PRODUCT},    {"%", " % ", 2, PRODUCT},    {"<", " < ", 2, COMPARED},
    {"<=", " <= ", 2, COMPARED}, {">", " > ", 2, COMPARED},   {">=", " >= ", 2, COMPARED},
    {"==", " == ", 2, COMPARED}, {"!=", " != ", 2, COMPARED}, {"or()", " or ", 2, OR},
    {"and()", " and ", 2, AND},  {"not()", "not ", 1, NOT},   {"neg()", "-", 1, NEGATIVE},
    {"abs()", "abs", 1, ATOM},   {"min()", "min", 2, ATOM},   {"max()", "max", 2, ATOM},
    {"if()", " if ", 3, IF},
};

/* Returns the operation of a token; NULL if it is a number or a name. */
static const operation *operation_of(const json_t *token)
{
    const char *word = json_is_string(token) ? json_string_value(token) : "";
    const size_t i = AK_FIND(operations, AK_COUNT(operations), word, word);
    return i < AK_COUNT(operations) ? &operations[i] : NULL;
}

/* Returns the index of the first token in the subexpression that ends before `end`; -1 if tokens
   are missing. */
static long begin_of(const json_t *program, long end)
{
    long missing = 1;
    while (end > 0 && missing > 0) {
        const operation *o = operation_of(json_array_get(program, (size_t)--end));
        missing += (o == NULL ? 0 : o->operands) - 1;
    }
    return missing == 0 ? end : -1;
}

static bool is_number(const json_t *program, long begin, long end, json_int_t value)
{
    const json_t *token = json_array_get(program, (size_t)begin);
    return end - begin == 1 && json_is_integer(token) && json_integer_value(token) == value;
}

static void print_part(ak_buf *out, const json_t *program, long end, int needs);

static bool is_word(const json_t *program, long at, const char *word)
{
    const json_t *token = json_array_get(program, (size_t)at);
    return json_is_string(token) && strcmp(json_string_value(token), word) == 0;
}

/* Returns whether the divisor that ends before `end` is b*(a % b == 0): then a//divisor is a/b,
   which must be a whole number (portable.c). */
static bool is_exact(const json_t *program, long end)
{
    return end > 4 && is_word(program, end - 4, "%") && is_number(program, end - 3, end - 2, 0) &&
           is_word(program, end - 2, "==") && is_word(program, end - 1, "*");
}

/* Prints "left + right", "min(left, right)", or only one operand if the other changes nothing. */
static void print_two(ak_buf *out, const json_t *program, const operation *o, const long *ends,
                      int needs)
{
    const long begin = begin_of(program, ends[0]);
    const bool adds = strcmp(o->word, "+") == 0, multiplies = strcmp(o->word, "*") == 0;
    const json_int_t nothing = multiplies ? 1 : 0;
    if ((adds || multiplies || o->holds == OR) && is_number(program, begin, ends[0], nothing)) {
        print_part(out, program, ends[1], needs);
    } else if ((adds || multiplies || o->holds == OR || o->text[1] == '-') &&
               is_number(program, ends[0], ends[1], nothing)) {
        print_part(out, program, ends[0], needs);
    } else if (o->holds == ATOM) {
        ak_buf_print(out, "%s(", o->text);
        print_part(out, program, ends[0], IF);
        ak_buf_puts(out, ", ");
        print_part(out, program, ends[1], IF);
        ak_buf_putc(out, ')');
    } else {
        const bool exact = strcmp(o->word, "//") == 0 && is_exact(program, ends[1]);
        ak_buf_puts(out, o->holds < needs ? "(" : "");
        print_part(out, program, ends[0], o->holds == COMPARED ? SUM : o->holds);
        ak_buf_puts(out, exact ? "/" : o->text);
        print_part(out, program, exact ? begin_of(program, ends[1] - 1) : ends[1], o->holds + 1);
        ak_buf_puts(out, o->holds < needs ? ")" : "");
    }
}

/* Prints "yes if condition else no". The three end before ends[1], ends[0] and ends[2]. */
static void print_choice(ak_buf *out, const json_t *program, const long *ends, int needs)
{
    ak_buf_puts(out, needs > IF ? "(" : "");
    print_part(out, program, ends[1], OR);
    ak_buf_puts(out, " if ");
    print_part(out, program, ends[0], OR);
    ak_buf_puts(out, " else ");
    print_part(out, program, ends[2], IF);
    ak_buf_puts(out, needs > IF ? ")" : "");
}

/* Prints the subexpression that ends before `end`, in parentheses if its precedence is lower than
   `needs`. */
static void print_part(ak_buf *out, const json_t *program, long end, int needs)
{
    const json_t *token = json_array_get(program, (size_t)(end - 1));
    const operation *o = operation_of(token);
    long ends[3] = {0};
    if (o == NULL && json_is_string(token)) {
        ak_buf_puts(out, json_string_value(token));
        return;
    }
    if (o == NULL) {
        const long long value = (long long)json_integer_value(token);
        ak_buf_print(out, value < 0 && needs > SUM ? "(%lld)" : "%lld", value);
        return;
    }
    ends[o->operands - 1] = end - 1;
    for (int i = o->operands - 1; i > 0; i--) {
        ends[i - 1] = begin_of(program, ends[i]);
    }
    if (o->operands == 3) {
        print_choice(out, program, ends, needs);
    } else if (o->operands == 2) {
        print_two(out, program, o, ends, needs);
    } else {
        const bool calls = o->holds == ATOM, apart = calls || o->holds < needs;
        ak_buf_print(out, calls ? "%s(" : apart ? "(%s" : "%s", o->text);
        print_part(out, program, ends[0], calls ? IF : o->holds);
        ak_buf_puts(out, apart ? ")" : "");
    }
}

void ak_infix_print(ak_buf *out, const json_t *program)
{
    const long end = (long)json_array_size(program);
    if (begin_of(program, end) == 0) {
        print_part(out, program, end, IF);
    } else {
        ak_buf_putc(out, '?');
    }
}

void ak_infix_print_shape(ak_buf *out, const json_t *argument)
{
    const json_t *shape = json_object_get(argument, "shape");
    const json_t *pitch = json_object_get(argument, "pitch");
    const size_t rank = json_array_size(shape);
    AK_AT_END(ak_buf_free) ak_buf row = AK_BUF(AK_INFIX_MAX), distance = AK_BUF(AK_INFIX_MAX);
    ak_buf_putc(out, '[');
    for (size_t d = 0; d < rank; d++) {
        ak_buf_clear(&row);
        ak_infix_print(&row, json_array_get(shape, d));
        ak_buf_print(out, "%s%s", d == 0 ? "" : ", ", row.data);
    }
    ak_buf_putc(out, ']');
    ak_infix_print(&distance, pitch);
    if (json_is_array(pitch) && strcmp(row.data, distance.data) != 0) {
        ak_buf_print(out, ", rows %s elements apart", distance.data);
    }
}

void ak_infix_print_size(ak_buf *out, const json_t *file, const json_t *size)
{
    const json_t *names = json_object_get(file, "sizes");
    for (size_t i = 0; i < json_array_size(size); i++) {
        ak_buf_print(out, "%s%s=%lld", i == 0 ? "" : ",",
                     ak_json_text_at(json_array_get(names, i), "name"),
                     (long long)json_integer_value(json_array_get(size, i)));
    }
}
