/*
 * expr.h: the expression language of problem and space files, a subset of Python that auto-tuning
 * files use.
 *
 *   literals       12  0x1f  1.5e3  'text'  "text"  True  False  [1, 2]  (1, 2)
 *   operators      or  and  not  in  not in  < <= > >= == != (chained)  + -  * / // %  unary - + **
 *                  x if condition else y
 *   calls          min max abs sqrt log2 ceil floor round int float len sum range list
 *   comprehension  [2**i for i in range(0, 6) if i != 3]
 *   names          parameters, sizes, device facts: whatever the scope holds
 *
 * The meaning is Python's: / is true division and gives a real, // and % floor, comparisons chain,
 * and/or return an operand, integers are exact. Where Python would need more than 64 bits or divide
 * by zero, evaluation fails with a message; no integer result is rounded or wrapped.
 *
 * An expression may have named parts, which stand for expressions of their own. A part is computed
 * when it is first read, and at most once per evaluation, so the result is that of the expression
 * with its parts written out.
 *
 * Limits: a text of AK_EXPR_TEXT_MAX bytes, nesting of AK_EXPR_DEPTH_MAX (with that of the parts
 * that are read), AK_EXPR_NAMES_MAX names, AK_EXPR_PARTS_MAX parts, AK_EXPR_LIST_MAX items in a
 * list, AK_EXPR_STEPS_MAX steps in an evaluation.
 */
#ifndef AK_SPACE_EXPR_H
#define AK_SPACE_EXPR_H

#include "base/alloc.h"

#define AK_EXPR_TEXT_MAX  65536
#define AK_EXPR_DEPTH_MAX 100
#define AK_EXPR_NAMES_MAX 1024
#define AK_EXPR_PARTS_MAX 128
#define AK_EXPR_LIST_MAX  65536
#define AK_EXPR_STEPS_MAX 1000000

/* A set of named values. The texts and lists inside values are copied. */
typedef struct ak_scope ak_scope;
/* Returns an empty scope, or NULL if there is no memory. Names that it does not have are looked up
   in the parent (or NULL), which must outlive it. */
ak_scope *ak_scope_new(const ak_scope *parent);
void ak_scope_free(ak_scope *scope);
AK_END_AT(ak_scope_free, ak_scope)
/* Set the value of a name, replacing an earlier one. */
ak_status ak_scope_set(ak_scope *scope, const char *name, ak_value value, ak_error *err);
ak_status ak_scope_set_int(ak_scope *scope, const char *name, int64_t value, ak_error *err);
ak_status ak_scope_set_real(ak_scope *scope, const char *name, double value, ak_error *err);
ak_status ak_scope_set_text(ak_scope *scope, const char *name, const char *value, ak_error *err);
/* Gives the value of a name in the scope or its parents. Returns false if there is none. Texts and
   lists in *out are borrowed. */
bool ak_scope_get(ak_value *out, const ak_scope *scope, const char *name);
/* Gives the name and value at an index of this scope alone, in the order in which they were set.
   Returns false after the last. */
bool ak_scope_at(const char **name, ak_value *value, const ak_scope *scope, size_t index);
/* Copies all names of `from` and its parents, so that `from` may be freed. */
ak_status ak_scope_copy(ak_scope *scope, const ak_scope *from, ak_error *err);
/* Returns the name in the scope or its parents that a mistyped one most likely means, or NULL. */
const char *ak_scope_nearest(const ak_scope *scope, const char *name);

typedef struct ak_expr ak_expr; /* a parsed expression; immutable */
/* Parses a text. `where` names the place in messages ("host.json: condition 3"). */
ak_status ak_expr_parse(ak_expr **out, const char *text, const char *where, ak_error *err);
/* A part of an expression: its name, which is valid (ak_expr_is_name), and its text. */
typedef struct ak_expr_part {
    const char *name, *text;
} ak_expr_part;
/* Parses a text that may read parts, each of which may read those before it. Returns AK_INVALID for
   a part that has the name of an earlier one or that nothing reads. `count` is at most
   AK_EXPR_PARTS_MAX. */
ak_status ak_expr_parse_parts(ak_expr **out, const ak_expr_part *parts, size_t count,
                              const char *text, const char *where, ak_error *err);
void ak_expr_free(ak_expr *expr);
AK_END_AT(ak_expr_free, ak_expr)
/* Returns the number of different names that the expression and its parts read from a scope; parts
   and variables of comprehensions do not count. *out is a borrowed list of them. */
size_t ak_expr_names(const char *const **out, const ak_expr *expr);

/* Evaluates an expression. Texts and lists in the result may belong to the arena, to the expression
   or to the scope. */
ak_status ak_expr_eval(ak_value *out, const ak_expr *expr, const ak_scope *scope, ak_arena *arena,
                       ak_error *err);

/* Parse and evaluate a text. ak_expr_int also accepts a real that is a whole number, and
   ak_expr_bool any value, of which it gives the truth. */
ak_status ak_expr_int(int64_t *out, const char *text, const ak_scope *scope, const char *where,
                      ak_error *err);
ak_status ak_expr_real(double *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err);
ak_status ak_expr_bool(bool *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err);

/* Returns true if the text can name a parameter or a size: it is an identifier and not a
   keyword. */
bool ak_expr_is_name(const char *text);

/* Return the truth of a value and the equality of two values as Python defines them. */
bool ak_value_truth(const ak_value *value);
bool ak_value_equal(const ak_value *a, const ak_value *b); /* 1 == 1.0 == True */
/* Gives an int or a real as a real. Returns false for other values. */
bool ak_value_number(double *out, const ak_value *value);
/* Copies a value with its texts and lists into the arena. Returns false if there is no memory. */
bool ak_value_copy(ak_value *out, const ak_value *value, ak_arena *arena);
/* Writes a value as configurations show it: 6, 0.5, True, gcc (without quotes). Returns the
   length of the whole text, as snprintf does. */
size_t ak_value_format(char *out, size_t bytes, const ak_value *value);

#endif
