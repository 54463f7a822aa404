/*
 * expr_ops.h: the operators and functions of the expression language on values. The walk through
 * the tree (expr_walk.c) applies them. Internal to space/.
 *
 * There are three ways to evaluate an expression, because each does what the others cannot. The
 * walk takes values of every type, also lists and texts, and reports faults in words: it reads
 * files and folds constants, and tests compare the other two with it. Typed code at a point
 * (code.h) has no type tags, no arena and no messages: it judges the millions of configurations
 * that a space is built from. Typed code over ranges tells what may happen in a box of
 * configurations, so that whole boxes are decided at once. All three share the arithmetic of 64-bit
 * integers and of reals (ak_int_*, ak_real_*, ak_number_compare in expr_tree.h) and the operators
 * on numbers (code_ops.h).
 */
#ifndef AK_SPACE_EXPR_OPS_H
#define AK_SPACE_EXPR_OPS_H

#include <assert.h>

#include "space/expr_tree.h"

/* One evaluation. Each operator spends steps before it works; an evaluation has at most
   AK_EXPR_STEPS_MAX. */
typedef struct ak_walk {
    const ak_expr *expr;
    const ak_scope *scope;              /* has the values of names if `values` is NULL */
    const ak_value *values;             /* values of names by slot, or NULL */
    ak_arena *arena;                    /* owner of texts and lists in results */
    size_t steps;                       /* spent so far */
    ak_value local[AK_EXPR_LOCALS_MAX]; /* values of parts and of comprehensions, by slot */
    bool known[AK_EXPR_PARTS_MAX];      /* says of each part whether it has been computed */
    ak_error *err;
} ak_walk;

/* Returns AK_INVALID with the message `WHERE: "TEXT": what`. */
ak_status ak_walk_fault(const ak_walk *w, const char *what);
/* Returns AK_LIMIT and leaves the walk without steps. */
ak_status ak_walk_exhaust(ak_walk *w);
/* Spends steps. Returns AK_LIMIT if fewer are left. It is inline because every node calls it. */
static inline ak_status ak_walk_spend(ak_walk *w, size_t steps)
{
    assert(w->steps <= AK_EXPR_STEPS_MAX);
    if (steps > AK_EXPR_STEPS_MAX - w->steps) {
        return ak_walk_exhaust(w);
    }
    w->steps += steps;
    return AK_OK;
}

/* Each of these functions sets *out to a value of its type. ak_give_real fails unless the number is
   finite. ak_give_list makes a list of `count` items, which the caller fills. */
static inline ak_status ak_give_bool(ak_value *out, bool value)
{
    *out = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = value};
    return AK_OK;
}
static inline ak_status ak_give_int(ak_value *out, int64_t value)
{
    *out = (ak_value){.type = AK_VALUE_INT, .as.integer = value};
    return AK_OK;
}
ak_status ak_give_real(ak_value *out, double value, const ak_walk *w);
ak_status ak_give_list(ak_value *out, ak_value **items, size_t count, ak_walk *w);

/* A number in Python's arithmetic, where a bool counts as an int. */
typedef struct ak_number {
    bool real;
    int64_t i;
    double r; /* the number as a real, rounded if it is an int */
} ak_number;
/* Returns false if the value is not a number. */
bool ak_number_of(ak_number *out, const ak_value *value);

/* Applies + - * / // % to numbers, or + to two texts or two lists. */
ak_status ak_apply_arithmetic(ak_value *out, ak_op op, const ak_value *a, const ak_value *b,
                              ak_walk *w);
ak_status ak_apply_power(ak_value *out, const ak_value *a, const ak_value *b, ak_walk *w);
/* Applies < <= > >= == != in or not in. */
ak_status ak_apply_compare(bool *out, ak_op op, const ak_value *a, const ak_value *b, ak_walk *w);
/* Calls a function with `count` arguments; the parser has checked their number. */
ak_status ak_apply_function(ak_value *out, ak_function function, const ak_value *argument,
                            size_t count, ak_walk *w);

#endif
