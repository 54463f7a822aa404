/*
 * expr_tree.h: the syntax tree behind expr.h, and the arithmetic that all who evaluate it share.
 * Internal to space/: for the parser and the evaluator, and for files that need the nodes
 * themselves, such as condition.c (splits), code_compile.c (compiles) and portable.c (translates).
 *
 * Children are a linked list. Consecutive operators of one precedence share one node with many
 * children, so that a long sum does not make the tree deep.
 */
#ifndef AK_SPACE_EXPR_TREE_H
#define AK_SPACE_EXPR_TREE_H

#include "space/expr.h"

typedef enum ak_node_kind {
    AK_NODE_CONSTANT,      /* a literal: `value` */
    AK_NODE_NAME,          /* `slot` is its index in the expression's names */
    AK_NODE_LOCAL,         /* `slot` is that of the part or comprehension that binds it */
    AK_NODE_LIST,          /* items */
    AK_NODE_OR,            /* 2 or more operands */
    AK_NODE_AND,           /* 2 or more operands */
    AK_NODE_NOT,           /* operand */
    AK_NODE_NEGATE,        /* operand */
    AK_NODE_SUM,           /* operands; the op of each but the first is + or - */
    AK_NODE_PRODUCT,       /* operands; the op of each but the first is * / // or % */
    AK_NODE_POWER,         /* base, exponent */
    AK_NODE_COMPARE,       /* operands; the op of each but the first is a comparison */
    AK_NODE_IF,            /* condition, value if true, value if false */
    AK_NODE_CALL,          /* arguments of `function` */
    AK_NODE_COMPREHENSION, /* list, element, then conditions; `slot` as for AK_NODE_LOCAL */
} ak_node_kind;

typedef enum ak_op {
    AK_OP_NONE,
    AK_OP_ADD,
    AK_OP_SUBTRACT,
    AK_OP_MULTIPLY,
    AK_OP_DIVIDE,
    AK_OP_FLOOR_DIVIDE,
    AK_OP_MODULO,
    AK_OP_LESS,
    AK_OP_LESS_EQUAL,
    AK_OP_GREATER,
    AK_OP_GREATER_EQUAL,
    AK_OP_EQUAL,
    AK_OP_NOT_EQUAL,
    AK_OP_IN,
    AK_OP_NOT_IN,
    AK_OP_AND, /* these two have nodes of their own */
    AK_OP_OR,
} ak_op;

/* X(NAME, text, fewest arguments, most arguments) */
#define AK_FUNCTION_MAP(X)                                                                         \
    X(MIN, "min", 1, SIZE_MAX)                                                                     \
    X(MAX, "max", 1, SIZE_MAX)                                                                     \
    X(ABS, "abs", 1, 1)                                                                            \
    X(SQRT, "sqrt", 1, 1)                                                                          \
    X(LOG2, "log2", 1, 1)                                                                          \
    X(CEIL, "ceil", 1, 1)                                                                          \
    X(FLOOR, "floor", 1, 1)                                                                        \
    X(ROUND, "round", 1, 1)                                                                        \
    X(INT, "int", 1, 1)                                                                            \
    X(FLOAT, "float", 1, 1)                                                                        \
    X(LEN, "len", 1, 1)                                                                            \
    X(SUM, "sum", 1, 1)                                                                            \
    X(RANGE, "range", 1, 3)                                                                        \
    X(LIST, "list", 1, 1)

typedef enum ak_function {
#define AK_FUNCTION_ENUM(name, text, least, most) AK_FUNCTION_##name,
    AK_FUNCTION_MAP(AK_FUNCTION_ENUM)
#undef AK_FUNCTION_ENUM
} ak_function;

typedef struct ak_node ak_node;
struct ak_node {
    ak_node_kind kind;
    ak_op op; /* joins this node to the sibling before it */
    ak_function function;
    size_t slot;
    ak_value value;
    const char *name; /* only until names are resolved */
    ak_node *child, *next;
};

/* The slots of parts are the first ones. Comprehensions have a slot of their own each, except that
   those of one text which are not nested share theirs. */
#define AK_EXPR_LOCALS_MAX (AK_EXPR_PARTS_MAX + AK_EXPR_DEPTH_MAX + 1)

struct ak_expr {
    ak_arena *arena;
    char *text, *where;
    ak_node *root;
    struct {
        const char *name;
        ak_node *root;
    } part[AK_EXPR_PARTS_MAX];
    size_t part_count;
    const char **names;
    size_t name_count, name_capacity;
};

/* Evaluates a part of an expression (expr_walk.c); `values` has the value of each of its names,
   by slot. *steps gets the steps that were spent, also on failure. */
ak_status ak_expr_eval_node(ak_value *out, size_t *steps, const ak_expr *expr, const ak_node *node,
                            const ak_value *values, ak_arena *arena, ak_error *err);

/* The functions below are the arithmetic that all evaluators share (value.c). */
/* Returns the order of an exact integer and a real, as Python compares them: -1, 0 or 1. The
   real is not NaN. */
int ak_number_compare(int64_t integer, double real);
/* Compute the floored quotient and the remainder of reals as Python does. The divisor is not 0. */
double ak_real_floor_divide(double a, double b);
double ak_real_modulo(double a, double b);
/* Compute the floored quotient, the remainder and the power of integers. They return false where
   Python would need more than 64 bits or divide by zero. */
bool ak_int_floor_divide(int64_t *out, int64_t a, int64_t b);
bool ak_int_modulo(int64_t *out, int64_t a, int64_t b);
bool ak_int_power(int64_t *out, int64_t base, int64_t exponent); /* exponent >= 0 */
/* Converts a real and drops its fraction. Returns false if the result needs more than 64 bits. */
bool ak_real_to_int(int64_t *out, double value);
/* Returns the quotient as a real. The divisor is not 0. */
double ak_int_divide(int64_t a, int64_t b);

#endif
