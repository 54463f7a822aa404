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

#include <assert.h>

#include "space/expr.h"

typedef enum ak_node_kind {
    AK_NODE_CONSTANT,      /* a literal: `value` */
    AK_NODE_NAME,          /* `slot` is its index in the expression's names */
    AK_NODE_LOCAL,         /* `slot` belongs to the part or comprehension that binds it */
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

static inline size_t ak_node_children(const ak_node *node)
{
    size_t count = 0;
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        count++;
    }
    return count;
}

/* The first slots belong to the parts. A comprehension has a slot that differs from those of other
   texts and of the variables that it can read; otherwise comprehensions share slots. An expression
   that needs more slots than these is refused as nested too deep. */
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

/* Evaluates the tree below `node` (expr_walk.c); `values` has the value of each name of the
   expression, by slot. *steps becomes the number of steps that were spent, also on failure. */
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

/* ---- expr_lex (expr_lex.c) ------------------------------------------------------------------- */

/* The tokens of an expression, for its parser (expr_parse.c). p->now is the current
   token. The first fault is kept in p->status, and nothing advances after it. */

typedef enum ak_token_kind {
    AK_TOKEN_END,
    AK_TOKEN_NUMBER,
    AK_TOKEN_STRING,
    AK_TOKEN_NAME,
    AK_TOKEN_MARK
} ak_token_kind;

typedef struct ak_token {
    ak_token_kind kind;
    const char *at; /* first byte, in the text of the parser */
    size_t length;
    ak_value value; /* value of a number or a string; its text is in the expression's arena */
} ak_token;

typedef struct ak_parser {
    ak_expr *expr;
    const char *text, *cursor;
    ak_token now;
    size_t depth, deepest;
    ak_error *err;
    ak_status status; /* status of the first fault, after which parsing functions return NULL */
} ak_parser;

/* Returns true for a keyword of the language, which cannot be a name. */
bool ak_lex_is_keyword(const char *text, size_t length);

/* Record a fault unless there was one before, and return NULL. `at` points into the text: the
   message gives its column. */
void *ak_lex_no_memory(ak_parser *p);
void *ak_lex_fault(ak_parser *p, const char *at, const char *what);

/* Reads the next token. Returns false after a fault. */
bool ak_lex_advance(ak_parser *p);
/* Returns true if the current token is this name or mark. */
bool ak_lex_is(const ak_parser *p, const char *text);
/* Reads the next token if the current one is this name or mark; any other current token is a
   fault. */
bool ak_lex_expect(ak_parser *p, const char *text);

/* ---- expr_ops (expr_ops.c) ------------------------------------------------------------------- */

/* The operators and functions of the expression language on values. The walk through
   the tree (expr_walk.c) applies them.

   There are three ways to evaluate an expression, because each does what the others cannot. The
   walk takes values of every type, also lists and texts, and reports faults in words: it reads
   files and folds constants, and tests compare the other two with it. Typed code at a point
   (code.h) has no type tags, no arena and no messages: it judges the millions of configurations
   that a space is built from. Typed code over ranges tells what may happen in a box of
   configurations, so that whole boxes are decided at once. All three share the arithmetic of 64-bit
   integers and of reals (ak_int_*, ak_real_*, ak_number_compare) and the operators on numbers
   (code.h). */

/* One evaluation. Each operator spends steps before it works; an evaluation has at most
   AK_EXPR_STEPS_MAX. */
typedef struct ak_walk {
    const ak_expr *expr;
    const ak_scope *scope;              /* has the values of names if `values` is NULL */
    const ak_value *values;             /* values of names by slot, or NULL */
    ak_arena *arena;                    /* owner of texts and lists that are made */
    size_t steps;                       /* spent so far */
    ak_value local[AK_EXPR_LOCALS_MAX]; /* values of parts and variables, by slot */
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

/* Each of these functions sets *out to a value of the type that its name says. ak_give_real fails
   unless the number is finite. ak_give_list makes a list whose `count` items the caller fills
   through *items. */
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
    double r; /* the number as a real; rounded if it is a large int */
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
