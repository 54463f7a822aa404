/* code.h: typed code of conditions: how it is laid out (condition.c makes it) and its two
   evaluators, at a point and over ranges (code.c). Internal to problem/. */
#ifndef AK_PROBLEM_CODE_H
#define AK_PROBLEM_CODE_H

#include "problem/condition.h"

typedef enum ak_code_kind {
    AK_CODE_CONSTANT,   /* value */
    AK_CODE_PARAMETER,  /* slot */
    AK_CODE_FAIL,       /* a constant part that cannot be evaluated */
    AK_CODE_TO_REAL,    /* of an int */
    AK_CODE_OR,         /* of truths; 0 or 1 */
    AK_CODE_AND,        /* of truths, one or more; 0 or 1 */
    AK_CODE_NOT,        /* of a truth; 0 or 1 */
    AK_CODE_NEGATE,     /* int or real */
    AK_CODE_SUM,        /* all of the node's own type */
    AK_CODE_PRODUCT,    /* all of the node's own type; no / of ints */
    AK_CODE_INT_DIVIDE, /* int / int, gives a real */
    AK_CODE_POWER,      /* int ** int that is never negative, or real ** real */
    AK_CODE_COMPARE,    /* chain; any types */
    AK_CODE_IN,         /* item, then the items of the list */
    AK_CODE_IF,         /* truth, and two of the node's own type */
    AK_CODE_MIN,        /* two or more of the node's own type */
    AK_CODE_MAX,        /* the same */
    AK_CODE_ABS,        /* int or real */
    AK_CODE_CALL,       /* sqrt log2 of a real; ceil floor round int of a real, giving an int */
} ak_code_kind;

struct ak_code {
    ak_code_kind kind;
    ak_cell_type type;
    ak_op op; /* joins it to the sibling before it */
    ak_function function;
    size_t slot;
    ak_cell value;
    bool negated; /* of IN */
    ak_code *child, *next;
};

/* False if it cannot be evaluated. */
bool ak_code_point(ak_cell *out, const ak_code *code, const ak_binding *binding);
/* Is a cell of this code's type true? */
static inline bool ak_code_truth(const ak_code *code, ak_cell cell)
{
    return code->type == AK_CELL_REAL ? cell.r != 0.0 : cell.i != 0;
}

/* All that can happen over ranges, or more. */
typedef enum ak_fails { AK_FAILS_NEVER, AK_FAILS_MAYBE, AK_FAILS_ALWAYS } ak_fails;
typedef struct ak_span {
    ak_cell low, high;
    ak_fails fails;
} ak_span;
ak_span ak_code_span(const ak_code *code, const ak_binding *binding);

enum { AK_CAN_BE_TRUE = 1, AK_CAN_BE_FALSE = 2, AK_CAN_FAIL = 4 };
unsigned ak_code_outcomes(const ak_code *code, const ak_binding *binding);

#endif
