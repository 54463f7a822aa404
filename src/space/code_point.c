/* code_point.c: evaluates typed code at a point. The operators on cells are in this file so that
   they are inlined: a large space needs millions of evaluations. */
#include "space/code.h"

#include <math.h>

/* ---- operators ------------------------------------------------------------------------------- */

static bool finite_real(ak_cell *out, double value)
{
    out->r = value;
    return isfinite(value);
}

bool ak_cell_combine_int(int64_t *out, ak_op op, int64_t a, int64_t b)
{
    switch (op) {
    case AK_OP_ADD:
        return !__builtin_add_overflow(a, b, out);
    case AK_OP_SUBTRACT:
        return !__builtin_sub_overflow(a, b, out);
    case AK_OP_MULTIPLY:
        return !__builtin_mul_overflow(a, b, out);
    case AK_OP_FLOOR_DIVIDE:
        return ak_int_floor_divide(out, a, b);
    case AK_OP_MODULO:
        return ak_int_modulo(out, a, b);
    default:
        return false;
    }
}

bool ak_cell_combine_real(double *out, ak_op op, double a, double b)
{
    if (op >= AK_OP_DIVIDE && b == 0.0) {
        return false;
    }
    *out = op == AK_OP_ADD            ? a + b
           : op == AK_OP_SUBTRACT     ? a - b
           : op == AK_OP_MULTIPLY     ? a * b
           : op == AK_OP_DIVIDE       ? a / b
           : op == AK_OP_FLOOR_DIVIDE ? ak_real_floor_divide(a, b)
                                      : ak_real_modulo(a, b);
    return isfinite(*out);
}

int ak_cell_compare(ak_cell_type a_type, ak_cell a, ak_cell_type b_type, ak_cell b)
{
    bool a_real = a_type == AK_CELL_REAL, b_real = b_type == AK_CELL_REAL;
    if (a_real && b_real) {
        return (a.r > b.r) - (a.r < b.r);
    }
    if (a_real) {
        return -ak_number_compare(b.i, a.r);
    }
    return b_real ? ak_number_compare(a.i, b.r) : (a.i > b.i) - (a.i < b.i);
}

bool ak_cell_incomparable(ak_cell_type a, ak_cell_type b)
{
    return (a == AK_CELL_TEXT) != (b == AK_CELL_TEXT);
}

bool ak_cell_power(ak_cell *out, ak_cell_type type, ak_cell a, ak_cell b)
{
    return type == AK_CELL_INT ? b.i >= 0 && ak_int_power(&out->i, a.i, b.i)
                               : !(a.r == 0.0 && b.r < 0.0) && finite_real(out, pow(a.r, b.r));
}

bool ak_cell_call(ak_cell *out, ak_function function, double x)
{
    switch (function) {
    case AK_FUNCTION_SQRT:
        return x >= 0.0 && finite_real(out, sqrt(x));
    case AK_FUNCTION_LOG2:
        return x > 0.0 && finite_real(out, log2(x));
    case AK_FUNCTION_CEIL:
        return ak_real_to_int(&out->i, ceil(x));
    case AK_FUNCTION_FLOOR:
        return ak_real_to_int(&out->i, floor(x));
    case AK_FUNCTION_ROUND:
        return ak_real_to_int(&out->i, rint(x)); /* rint rounds half to even, as Python does */
    default:
        return ak_real_to_int(&out->i, trunc(x));
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Evaluates an operand. Half of all nodes are constants and parameters. They are evaluated inline,
   because a call would take longer than its work. */
static inline bool point(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    if (code->kind == AK_CODE_CONSTANT) {
        *out = code->value;
        return true;
    }
    if (code->kind == AK_CODE_PARAMETER) {
        *out = binding->range[code->slot].low;
        return true;
    }
    return ak_code_point(out, code, binding);
}

static bool compare_holds(ak_op op, const ak_code *a, ak_cell x, const ak_code *b, ak_cell y)
{
    return ak_cell_incomparable(a->type, b->type)
               ? op == AK_OP_NOT_EQUAL
               : ak_op_holds(op, ak_cell_compare(a->type, x, b->type, y));
}

static bool point_chain(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    ak_cell total, next;
    if (!point(&total, code->child, binding)) {
        return false;
    }
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        if (!point(&next, child, binding)) {
            return false;
        }
        bool fine = code->type == AK_CELL_REAL
                        ? ak_cell_combine_real(&total.r, child->op, total.r, next.r)
                        : ak_cell_combine_int(&total.i, child->op, total.i, next.i);
        if (!fine) {
            return false;
        }
    }
    *out = total;
    return true;
}

static bool point_compare(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    const ak_code *left = code->child;
    ak_cell x, y;
    if (!point(&x, left, binding)) {
        return false;
    }
    out->i = 1;
    for (const ak_code *right = left->next; right != NULL; right = right->next) {
        if (!point(&y, right, binding)) {
            return false;
        }
        if (!compare_holds(right->op, left, x, right, y)) {
            out->i = 0;
            break;
        }
        left = right;
        x = y;
    }
    return true;
}

static bool point_in(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    ak_cell x, y;
    if (!point(&x, code->child, binding)) {
        return false;
    }
    bool found = false;
    for (const ak_code *item = code->child->next; item != NULL; item = item->next) {
        if (!point(&y, item, binding)) {
            return false;
        }
        found = found || compare_holds(AK_OP_EQUAL, code->child, x, item, y);
    }
    out->i = found != code->negated;
    return true;
}

static bool point_logic(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    bool stop = code->kind == AK_CODE_OR; /* the operand's truth that decides the result */
    for (const ak_code *child = code->child; child != NULL; child = child->next) {
        ak_cell cell;
        if (!point(&cell, child, binding)) {
            return false;
        }
        if (ak_code_truth(child, cell) == stop) {
            out->i = stop;
            return true;
        }
    }
    out->i = !stop;
    return true;
}

static bool point_extreme(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    if (!point(out, code->child, binding)) {
        return false;
    }
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        ak_cell cell;
        if (!point(&cell, child, binding)) {
            return false;
        }
        int order = ak_cell_compare(code->type, cell, code->type, *out);
        if (code->kind == AK_CODE_MIN ? order < 0 : order > 0) {
            *out = cell;
        }
    }
    return true;
}

/* Applies code with one operand to its value. */
static inline bool point_unary(ak_cell *out, const ak_code *code, ak_cell a)
{
    const bool real = code->type == AK_CELL_REAL;
    switch (code->kind) {
    case AK_CODE_TO_REAL:
        out->r = (double)a.i;
        return true;
    case AK_CODE_NOT:
        out->i = !ak_code_truth(code->child, a);
        return true;
    case AK_CODE_NEGATE:
        if (real) {
            out->r = -a.r;
            return true;
        }
        return !__builtin_sub_overflow(0, a.i, &out->i);
    case AK_CODE_ABS:
        if (real || a.i >= 0) {
            *out = real ? (ak_cell){.r = fabs(a.r)} : a;
            return true;
        }
        return !__builtin_sub_overflow(0, a.i, &out->i);
    default:
        return ak_cell_call(out, code->function, a.r);
    }
}

bool ak_code_point(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    ak_cell a, b;
    switch (code->kind) {
    case AK_CODE_CONSTANT:
        *out = code->value;
        return true;
    case AK_CODE_PARAMETER:
        *out = binding->range[code->slot].low;
        return true;
    case AK_CODE_FAIL:
        return false;
    case AK_CODE_TO_REAL:
    case AK_CODE_NOT:
    case AK_CODE_NEGATE:
    case AK_CODE_ABS:
    case AK_CODE_CALL:
        return point(&a, code->child, binding) && point_unary(out, code, a);
    case AK_CODE_OR:
    case AK_CODE_AND:
        return point_logic(out, code, binding);
    case AK_CODE_SUM:
    case AK_CODE_PRODUCT:
        return point_chain(out, code, binding);
    case AK_CODE_INT_DIVIDE:
        if (!point(&a, code->child, binding) || !point(&b, code->child->next, binding) ||
            b.i == 0) {
            return false;
        }
        out->r = ak_int_divide(a.i, b.i);
        return true;
    case AK_CODE_POWER:
        return point(&a, code->child, binding) && point(&b, code->child->next, binding) &&
               ak_cell_power(out, code->type, a, b);
    case AK_CODE_COMPARE:
        return point_compare(out, code, binding);
    case AK_CODE_IN:
        return point_in(out, code, binding);
    case AK_CODE_IF:
        if (!point(&a, code->child, binding)) {
            return false;
        }
        return point(out,
                     ak_code_truth(code->child, a) ? code->child->next : code->child->next->next,
                     binding);
    case AK_CODE_MIN:
    case AK_CODE_MAX:
        return point_extreme(out, code, binding);
    }
    return false;
}
