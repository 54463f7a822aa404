/*
 * code.h: typed code of conditions and its two evaluators. Evaluation at a point (code_point.c)
 * judges one configuration; evaluation over ranges (code_span.c) tells what may happen in a whole
 * box of configurations. code_compile.c compiles a syntax tree to code; expr_tree.h says why the
 * walk through the tree is a third evaluator. Internal to space/.
 */
#ifndef AK_SPACE_CODE_H
#define AK_SPACE_CODE_H

#include "space/expr_tree.h"

/* ---- symbols (symbols.c) --------------------------------------------------------------------- */

/* Parameters as typed code sees them. A value is a cell of 64 bits; a text is its index
   among all texts; a binding says which values each parameter can have at the moment. */

typedef union ak_cell {
    int64_t i; /* an int, a bool, or the index of a text */
    double r;
} ak_cell;

/* The values that a parameter can have: a range, or one value once it is bound. */
typedef struct ak_range {
    ak_cell low, high;
} ak_range;

typedef enum ak_cell_type { AK_CELL_INT, AK_CELL_REAL, AK_CELL_TEXT } ak_cell_type;

/* The parameters as conditions see them. */
typedef struct ak_symbols {
    const ak_parameter *parameters;
    size_t count;
    const ak_scope *constants; /* NULL once the conditions are compiled */
    ak_cell_type type[AK_PARAMETERS_MAX];
    ak_cell *table[AK_PARAMETERS_MAX]; /* the cell of each value */
    ak_range whole[AK_PARAMETERS_MAX]; /* from the smallest to the largest value */
    struct ak_map *texts;              /* from each text to its index */
    size_t folded;                     /* steps spent on folding constant parts */
    ak_arena *arena;                   /* owner of tables, code and values; borrowed */
} ak_symbols;

/* Makes the symbols for `count` parameters. The arena and the parameters must outlive them. The
   caller calls ak_symbols_clear, also after a failure. */
ak_status ak_symbols_init(ak_symbols *symbols, const ak_parameter *parameters, size_t count,
                          const ak_scope *constants, ak_arena *arena, ak_error *err);
void ak_symbols_clear(ak_symbols *symbols);
/* Gives the cell and the type of a value, which is not a list. */
ak_status ak_symbols_cell(ak_cell *out, ak_cell_type *type, ak_symbols *symbols,
                          const ak_value *value, ak_error *err);

/* The ranges, and the value indices, that parameters have while atoms are evaluated. */
typedef struct ak_binding {
    ak_range range[AK_PARAMETERS_MAX];
    uint16_t at[AK_PARAMETERS_MAX];
} ak_binding;

/* Unbinds a parameter: gives it its whole range. */
void ak_binding_free(ak_binding *binding, const ak_symbols *symbols, size_t parameter);
/* Binds a parameter to one of its values. */
static inline void ak_binding_set(ak_binding *binding, const ak_symbols *symbols, size_t parameter,
                                  size_t value)
{
    ak_cell cell = symbols->table[parameter][value];
    binding->range[parameter] = (ak_range){cell, cell};
    binding->at[parameter] = (uint16_t)value;
}

/* Each comment lists the operands and, if it differs from their type, the type of the result. A
   truth is an int or a real, which is true if it is not 0. */
typedef enum ak_code_kind {
    AK_CODE_CONSTANT,   /* no operands; `value` */
    AK_CODE_PARAMETER,  /* no operands; the parameter `slot` */
    AK_CODE_FAIL,       /* no operands; a constant part whose evaluation fails */
    AK_CODE_TO_REAL,    /* an int; gives a real */
    AK_CODE_OR,         /* one or more truths; gives 0 or 1 */
    AK_CODE_AND,        /* one or more truths; gives 0 or 1 */
    AK_CODE_NOT,        /* a truth; gives 0 or 1 */
    AK_CODE_NEGATE,     /* an int or a real */
    AK_CODE_SUM,        /* two or more of the node's own type */
    AK_CODE_PRODUCT,    /* two or more of the node's own type; no / between ints */
    AK_CODE_INT_DIVIDE, /* int / int; gives a real */
    AK_CODE_POWER,      /* int ** int with an exponent that is never negative, or real ** real */
    AK_CODE_COMPARE,    /* a chain of any types; gives 0 or 1 */
    AK_CODE_IN,         /* the item, then the items of the list; gives 0 or 1 */
    AK_CODE_IF,         /* a truth, then two of the node's own type */
    AK_CODE_MIN,        /* two or more of the node's own type */
    AK_CODE_MAX,        /* two or more of the node's own type */
    AK_CODE_ABS,        /* an int or a real */
    AK_CODE_CALL,       /* a real; sqrt and log2 give a real; ceil, floor, round and int an int */
} ak_code_kind;

typedef struct ak_code ak_code;
struct ak_code {
    ak_code_kind kind;
    ak_cell_type type;
    ak_op op; /* joins this node to the sibling before it */
    ak_function function;
    size_t slot;
    ak_cell value;
    bool negated; /* AK_CODE_IN only: "not in" */
    ak_code *child, *next;
};

/* Evaluates the code with every parameter bound. Returns false if the evaluation fails. */
bool ak_code_point(ak_cell *out, const ak_code *code, const ak_binding *binding);
/* Returns the truth of a cell that has the code's type. */
static inline bool ak_code_truth(const ak_code *code, ak_cell cell)
{
    return code->type == AK_CELL_REAL ? cell.r != 0.0 : cell.i != 0;
}

/* The results that the code can give while its parameters vary over their ranges. All lie in
   low..high, which may be wider than necessary. AK_FAILS_NEVER and AK_FAILS_ALWAYS are certain;
   AK_FAILS_MAYBE leaves it open. */
typedef enum ak_fails { AK_FAILS_NEVER, AK_FAILS_MAYBE, AK_FAILS_ALWAYS } ak_fails;
typedef struct ak_span {
    ak_cell low, high;
    ak_fails fails;
} ak_span;
ak_span ak_code_span(const ak_code *code, const ak_binding *binding);

enum { AK_CAN_BE_TRUE = 1, AK_CAN_BE_FALSE = 2, AK_CAN_FAIL = 4 };
/* Returns the outcomes that the code's truth can have over the ranges. The set contains every
   outcome that occurs and perhaps some that never occur. */
unsigned ak_code_outcomes(const ak_code *code, const ak_binding *binding);

/* ---- operators on cells (code_point.c) ------------------------------------------------------- */

/* The operators of typed code on single cells. Evaluation over ranges applies them to the ends of
   its intervals. The functions that return bool and write *out return false where Python would
   raise an error, where an int needs more than 64 bits, or where a real is not finite. */

/* Apply + - * // % to ints, or + - * / // % to reals. */
bool ak_cell_combine_int(int64_t *out, ak_op op, int64_t a, int64_t b);
bool ak_cell_combine_real(double *out, ak_op op, double a, double b);
/* Computes a ** b from two ints, if the exponent is 0 or more, or from two reals. */
bool ak_cell_power(ak_cell *out, ak_cell_type type, ak_cell a, ak_cell b);
/* Applies sqrt or log2, which give a real, or ceil, floor, round or int, which give an int. */
bool ak_cell_call(ak_cell *out, ak_function function, double x);

/* Returns whether a comparison holds if the first operand is less than (`order` below 0), equal to
   (0) or greater than (above 0) the second. It is inline because it judges every configuration of a
   space. */
static inline bool ak_op_holds(ak_op op, int order)
{
    switch (op) {
    case AK_OP_LESS:
        return order < 0;
    case AK_OP_LESS_EQUAL:
        return order <= 0;
    case AK_OP_GREATER:
        return order > 0;
    case AK_OP_GREATER_EQUAL:
        return order >= 0;
    case AK_OP_EQUAL:
        return order == 0;
    default:
        return order != 0;
    }
}
/* Returns true if one is a text and the other a number: they are different and have no order. */
bool ak_cell_incomparable(ak_cell_type a, ak_cell_type b);
/* Returns the order of two numbers, or of the indices of two texts: -1, 0 or 1. */
int ak_cell_compare(ak_cell_type a_type, ak_cell a, ak_cell_type b_type, ak_cell b);

#endif
