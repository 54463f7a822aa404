/* code.c: the two evaluators. Over ranges, each operation gives an interval that contains all its
   results, and says whether it may fail: monotone operations from the corners of their operands,
   everything else as wide as it must be. If all operands are single values the interval is one too,
   so a range evaluation sharpens as parameters are bound. */
#include "problem/code.h"

#include <float.h>
#include <math.h>

/* ---- at a point ------------------------------------------------------------------------------ */

static bool finite_real(ak_cell *out, double value)
{
    out->r = value;
    return isfinite(value);
}

static bool combine_int(int64_t *out, ak_op op, int64_t a, int64_t b)
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

static bool combine_real(double *out, ak_op op, double a, double b)
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

/* Order of two numbers or two texts of any types; numbers and texts are just different. */
static int compare_cells(ak_cell_type a_type, ak_cell a, ak_cell_type b_type, ak_cell b)
{
    bool a_real = a_type == AK_CELL_REAL, b_real = b_type == AK_CELL_REAL;
    if (a_real && b_real) {
        return (a.r > b.r) - (a.r < b.r);
    }
    if (a_real) {
        return -ak_number_compare(b.i, a.r);
    }
    if (b_real) {
        return ak_number_compare(a.i, b.r);
    }
    return (a.i > b.i) - (a.i < b.i);
}

static bool incomparable(ak_cell_type a, ak_cell_type b)
{
    return (a == AK_CELL_TEXT) != (b == AK_CELL_TEXT);
}

static bool compare_holds(ak_op op, const ak_code *a, ak_cell x, const ak_code *b, ak_cell y)
{
    if (incomparable(a->type, b->type)) {
        return op == AK_OP_NOT_EQUAL;
    }
    int order = compare_cells(a->type, x, b->type, y);
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

static bool point_chain(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    ak_cell total, next;
    if (!ak_code_point(&total, code->child, binding)) {
        return false;
    }
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        if (!ak_code_point(&next, child, binding)) {
            return false;
        }
        bool fine = code->type == AK_CELL_REAL ? combine_real(&total.r, child->op, total.r, next.r)
                                               : combine_int(&total.i, child->op, total.i, next.i);
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
    if (!ak_code_point(&x, left, binding)) {
        return false;
    }
    out->i = 1;
    for (const ak_code *right = left->next; right != NULL; right = right->next) {
        if (!ak_code_point(&y, right, binding)) {
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
    if (!ak_code_point(&x, code->child, binding)) {
        return false;
    }
    bool found = false;
    for (const ak_code *item = code->child->next; item != NULL; item = item->next) {
        if (!ak_code_point(&y, item, binding)) {
            return false;
        }
        found = found || compare_holds(AK_OP_EQUAL, code->child, x, item, y);
    }
    out->i = found != code->negated;
    return true;
}

static bool point_logic(ak_cell *out, const ak_code *code, const ak_binding *binding)
{
    bool stop = code->kind == AK_CODE_OR; /* the truth that decides */
    for (const ak_code *child = code->child; child != NULL; child = child->next) {
        ak_cell cell;
        if (!ak_code_point(&cell, child, binding)) {
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
    if (!ak_code_point(out, code->child, binding)) {
        return false;
    }
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        ak_cell cell;
        if (!ak_code_point(&cell, child, binding)) {
            return false;
        }
        int order = compare_cells(code->type, cell, code->type, *out);
        if (code->kind == AK_CODE_MIN ? order < 0 : order > 0) {
            *out = cell;
        }
    }
    return true;
}

static bool combine_power(ak_cell *out, ak_cell_type type, ak_cell a, ak_cell b)
{
    if (type == AK_CELL_INT) {
        return b.i >= 0 && ak_int_power(&out->i, a.i, b.i);
    }
    return !(a.r == 0.0 && b.r < 0.0) && finite_real(out, pow(a.r, b.r));
}

static bool call_real(ak_cell *out, ak_function function, double x)
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
        return ak_real_to_int(&out->i, rint(x));
    default:
        return ak_real_to_int(&out->i, trunc(x));
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
        if (!ak_code_point(&a, code->child, binding)) {
            return false;
        }
        out->r = (double)a.i;
        return true;
    case AK_CODE_OR:
    case AK_CODE_AND:
        return point_logic(out, code, binding);
    case AK_CODE_NOT:
        if (!ak_code_point(&a, code->child, binding)) {
            return false;
        }
        out->i = !ak_code_truth(code->child, a);
        return true;
    case AK_CODE_NEGATE:
        if (!ak_code_point(&a, code->child, binding)) {
            return false;
        }
        if (code->type == AK_CELL_REAL) {
            out->r = -a.r;
            return true;
        }
        return !__builtin_sub_overflow(0, a.i, &out->i);
    case AK_CODE_SUM:
    case AK_CODE_PRODUCT:
        return point_chain(out, code, binding);
    case AK_CODE_INT_DIVIDE:
        if (!ak_code_point(&a, code->child, binding) ||
            !ak_code_point(&b, code->child->next, binding) || b.i == 0) {
            return false;
        }
        out->r = ak_int_divide(a.i, b.i);
        return true;
    case AK_CODE_POWER:
        return ak_code_point(&a, code->child, binding) &&
               ak_code_point(&b, code->child->next, binding) &&
               combine_power(out, code->type, a, b);
    case AK_CODE_COMPARE:
        return point_compare(out, code, binding);
    case AK_CODE_IN:
        return point_in(out, code, binding);
    case AK_CODE_IF:
        if (!ak_code_point(&a, code->child, binding)) {
            return false;
        }
        return ak_code_point(
            out, ak_code_truth(code->child, a) ? code->child->next : code->child->next->next,
            binding);
    case AK_CODE_MIN:
    case AK_CODE_MAX:
        return point_extreme(out, code, binding);
    case AK_CODE_ABS:
        if (!ak_code_point(&a, code->child, binding)) {
            return false;
        }
        if (code->type == AK_CELL_REAL) {
            out->r = fabs(a.r);
            return true;
        }
        out->i = a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i;
        return a.i != INT64_MIN;
    case AK_CODE_CALL:
        return ak_code_point(&a, code->child, binding) && call_real(out, code->function, a.r);
    }
    return false;
}

/* ---- over ranges ----------------------------------------------------------------------------- */

static ak_fails worse(ak_fails a, ak_fails b)
{
    return a > b ? a : b;
}

static bool is_point(const ak_span *s, ak_cell_type type)
{
    return type == AK_CELL_REAL ? s->low.r == s->high.r : s->low.i == s->high.i;
}

static ak_span widest(ak_cell_type type, ak_fails fails)
{
    if (type == AK_CELL_REAL) {
        return (ak_span){{.r = -DBL_MAX}, {.r = DBL_MAX}, fails};
    }
    return (ak_span){{.i = INT64_MIN}, {.i = INT64_MAX}, fails};
}

__extension__ typedef __int128 wide;

/* The part of [low, high] that an int64_t holds; outside it evaluation fails. */
static ak_span clamp_int(wide low, wide high, ak_fails fails)
{
    if (low > INT64_MAX || high < INT64_MIN) {
        return widest(AK_CELL_INT, AK_FAILS_ALWAYS);
    }
    if (low < INT64_MIN) {
        low = INT64_MIN;
        fails = worse(fails, AK_FAILS_MAYBE);
    }
    if (high > INT64_MAX) {
        high = INT64_MAX;
        fails = worse(fails, AK_FAILS_MAYBE);
    }
    return (ak_span){{.i = (int64_t)low}, {.i = (int64_t)high}, fails};
}

static ak_span clamp_real(double low, double high, ak_fails fails)
{
    if (isnan(low) || isnan(high)) {
        return widest(AK_CELL_REAL, worse(fails, AK_FAILS_MAYBE));
    }
    if (low < -DBL_MAX || low > DBL_MAX || high > DBL_MAX || high < -DBL_MAX) {
        fails = worse(fails, AK_FAILS_MAYBE);
    }
    low = fmin(fmax(low, -DBL_MAX), DBL_MAX);
    high = fmin(fmax(high, -DBL_MAX), DBL_MAX);
    return (ak_span){{.r = low}, {.r = high}, fails};
}

static wide wide_floor_divide(wide a, wide b)
{
    wide quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static ak_span corners_int(ak_op op, const ak_span *a, const ak_span *b, ak_fails fails)
{
    wide low = 0, high = 0;
    for (int corner = 0; corner < 4; corner++) {
        wide x = corner & 1 ? a->high.i : a->low.i;
        wide y = corner & 2 ? b->high.i : b->low.i;
        wide value = op == AK_OP_MULTIPLY ? x * y : wide_floor_divide(x, y);
        low = corner == 0 || value < low ? value : low;
        high = corner == 0 || value > high ? value : high;
    }
    return clamp_int(low, high, fails);
}

static ak_span span_modulo_int(const ak_span *a, const ak_span *b, ak_fails fails)
{
    /* the result has the sign of the divisor and is smaller than it */
    int64_t low = b->low.i < 0 ? b->low.i + 1 : 0;
    int64_t high = b->high.i > 0 ? b->high.i - 1 : 0;
    if (a->low.i >= 0 && b->low.i > 0) {
        high = a->high.i < high ? a->high.i : high;
        if (a->high.i < b->low.i) { /* nothing is taken off */
            low = a->low.i;
        }
    }
    return (ak_span){{.i = low}, {.i = high}, fails};
}

static ak_span combine_span_int(ak_op op, const ak_span *a, const ak_span *b)
{
    ak_fails fails = worse(a->fails, b->fails);
    if (is_point(a, AK_CELL_INT) && is_point(b, AK_CELL_INT)) {
        int64_t value;
        if (!combine_int(&value, op, a->low.i, b->low.i)) {
            return widest(AK_CELL_INT, AK_FAILS_ALWAYS);
        }
        return (ak_span){{.i = value}, {.i = value}, fails};
    }
    switch (op) {
    case AK_OP_ADD:
        return clamp_int((wide)a->low.i + b->low.i, (wide)a->high.i + b->high.i, fails);
    case AK_OP_SUBTRACT:
        return clamp_int((wide)a->low.i - b->high.i, (wide)a->high.i - b->low.i, fails);
    case AK_OP_MULTIPLY:
        return corners_int(op, a, b, fails);
    default:
        break;
    }
    if (b->low.i == 0 && b->high.i == 0) {
        return widest(AK_CELL_INT, AK_FAILS_ALWAYS);
    }
    bool zero = b->low.i <= 0 && b->high.i >= 0;
    fails = zero ? worse(fails, AK_FAILS_MAYBE) : fails;
    if (op == AK_OP_MODULO) {
        return span_modulo_int(a, b, fails);
    }
    if (zero) {
        /* the quotient is never larger in magnitude than the dividend */
        wide largest = a->high.i > -(wide)a->low.i ? a->high.i : -(wide)a->low.i;
        return clamp_int(-largest, largest, fails);
    }
    return corners_int(op, a, b, fails);
}

static ak_span combine_span_real(ak_op op, const ak_span *a, const ak_span *b)
{
    ak_fails fails = worse(a->fails, b->fails);
    if (is_point(a, AK_CELL_REAL) && is_point(b, AK_CELL_REAL)) {
        double value;
        if (!combine_real(&value, op, a->low.r, b->low.r)) {
            return widest(AK_CELL_REAL, AK_FAILS_ALWAYS);
        }
        return (ak_span){{.r = value}, {.r = value}, fails};
    }
    /* rounding is monotone, so the rounded corners bound the rounded results */
    if (op == AK_OP_ADD) {
        return clamp_real(a->low.r + b->low.r, a->high.r + b->high.r, fails);
    }
    if (op == AK_OP_SUBTRACT) {
        return clamp_real(a->low.r - b->high.r, a->high.r - b->low.r, fails);
    }
    bool zero = b->low.r <= 0.0 && b->high.r >= 0.0;
    if (op == AK_OP_MODULO) {
        double low = fmin(b->low.r, 0.0), high = fmax(b->high.r, 0.0);
        return clamp_real(low, high, zero ? worse(fails, AK_FAILS_MAYBE) : fails);
    }
    if (op == AK_OP_FLOOR_DIVIDE || (op == AK_OP_DIVIDE && zero)) {
        return widest(AK_CELL_REAL, worse(fails, AK_FAILS_MAYBE));
    }
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? a->high.r : a->low.r;
        double y = corner & 2 ? b->high.r : b->low.r;
        double value = op == AK_OP_MULTIPLY ? x * y : x / y;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    return clamp_real(low, high, fails);
}

static ak_span span_chain(const ak_code *code, const ak_binding *binding)
{
    ak_span total = ak_code_span(code->child, binding);
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        ak_span next = ak_code_span(child, binding);
        total = code->type == AK_CELL_REAL ? combine_span_real(child->op, &total, &next)
                                           : combine_span_int(child->op, &total, &next);
    }
    return total;
}

static ak_span span_power(const ak_code *code, const ak_binding *binding)
{
    ak_span a = ak_code_span(code->child, binding);
    ak_span b = ak_code_span(code->child->next, binding);
    ak_fails fails = worse(a.fails, b.fails);
    if (is_point(&a, code->type) && is_point(&b, code->type)) {
        ak_cell value;
        if (!combine_power(&value, code->type, a.low, b.low)) {
            return widest(code->type, AK_FAILS_ALWAYS);
        }
        return (ak_span){value, value, fails};
    }
    if (code->type == AK_CELL_REAL || a.low.i < 0 || b.low.i < 0) {
        return widest(code->type, worse(fails, AK_FAILS_MAYBE));
    }
    /* base and exponent are not negative: both make it grow, but for 0**0 = 1 */
    ak_span result = {{.i = 0}, {.i = INT64_MAX}, fails};
    if (a.low.i > 0 && !ak_int_power(&result.low.i, a.low.i, b.low.i)) {
        return widest(AK_CELL_INT, AK_FAILS_ALWAYS);
    }
    if (!ak_int_power(&result.high.i, a.high.i, b.high.i)) {
        result.high.i = INT64_MAX;
        result.fails = worse(fails, AK_FAILS_MAYBE);
    } else if (result.high.i < 1) {
        result.high.i = 1;
    }
    return result;
}

static ak_span span_int_divide(const ak_code *code, const ak_binding *binding)
{
    ak_span a = ak_code_span(code->child, binding);
    ak_span b = ak_code_span(code->child->next, binding);
    ak_fails fails = worse(a.fails, b.fails);
    if (b.low.i == 0 && b.high.i == 0) {
        return widest(AK_CELL_REAL, AK_FAILS_ALWAYS);
    }
    if (b.low.i <= 0 && b.high.i >= 0) {
        double largest = fmax(fabs((double)a.low.i), fabs((double)a.high.i));
        return clamp_real(-largest, largest, worse(fails, AK_FAILS_MAYBE));
    }
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        double value =
            ak_int_divide(corner & 1 ? a.high.i : a.low.i, corner & 2 ? b.high.i : b.low.i);
        low = fmin(low, value);
        high = fmax(high, value);
    }
    return clamp_real(low, high, fails);
}

static ak_span hull(const ak_span *a, const ak_span *b, ak_cell_type type)
{
    if (a->fails == AK_FAILS_ALWAYS || b->fails == AK_FAILS_ALWAYS) {
        ak_span result = a->fails == AK_FAILS_ALWAYS ? *b : *a;
        result.fails = a->fails == b->fails ? AK_FAILS_ALWAYS : AK_FAILS_MAYBE;
        return result;
    }
    ak_span result = *a;
    result.fails = worse(a->fails, b->fails);
    if (compare_cells(type, b->low, type, a->low) < 0) {
        result.low = b->low;
    }
    if (compare_cells(type, b->high, type, a->high) > 0) {
        result.high = b->high;
    }
    return result;
}

static ak_span span_extreme(const ak_code *code, const ak_binding *binding)
{
    ak_span total = ak_code_span(code->child, binding);
    int sign = code->kind == AK_CODE_MIN ? -1 : 1;
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        ak_span next = ak_code_span(child, binding);
        total.fails = worse(total.fails, next.fails);
        if (compare_cells(code->type, next.low, code->type, total.low) == sign) {
            total.low = next.low;
        }
        if (compare_cells(code->type, next.high, code->type, total.high) == sign) {
            total.high = next.high;
        }
    }
    return total;
}

static ak_span span_abs(const ak_code *code, const ak_binding *binding)
{
    ak_span a = ak_code_span(code->child, binding);
    if (code->type == AK_CELL_REAL) {
        double low = a.low.r > 0.0 ? a.low.r : a.high.r < 0.0 ? -a.high.r : 0.0;
        return clamp_real(low, fmax(fabs(a.low.r), fabs(a.high.r)), a.fails);
    }
    wide x = a.low.i, y = a.high.i;
    wide low = x > 0 ? x : y < 0 ? -y : 0;
    return clamp_int(low, -x > y ? -x : y, a.fails);
}

/* All of these grow with their argument. */
static ak_span span_call(const ak_code *code, const ak_binding *binding)
{
    ak_span a = ak_code_span(code->child, binding);
    ak_span result = widest(code->type, a.fails);
    bool low = call_real(&result.low, code->function, a.low.r);
    bool high = call_real(&result.high, code->function, a.high.r);
    if (low && high) {
        return result;
    }
    if (!low && !high && is_point(&a, AK_CELL_REAL)) {
        return widest(code->type, AK_FAILS_ALWAYS);
    }
    return widest(code->type, worse(a.fails, AK_FAILS_MAYBE));
}

static ak_span span_truth(const ak_code *code, const ak_binding *binding)
{
    unsigned outcomes = ak_code_outcomes(code, binding);
    ak_span result = {{.i = (outcomes & AK_CAN_BE_FALSE) != 0 ? 0 : 1},
                      {.i = (outcomes & AK_CAN_BE_TRUE) != 0 ? 1 : 0},
                      AK_FAILS_NEVER};
    if (outcomes == AK_CAN_FAIL) {
        return widest(AK_CELL_INT, AK_FAILS_ALWAYS);
    }
    if ((outcomes & AK_CAN_FAIL) != 0) {
        result.fails = AK_FAILS_MAYBE;
    }
    return result;
}

static ak_span span_if(const ak_code *code, const ak_binding *binding)
{
    unsigned outcomes = ak_code_outcomes(code->child, binding);
    ak_span result = widest(code->type, AK_FAILS_ALWAYS);
    if ((outcomes & AK_CAN_BE_TRUE) != 0) {
        result = ak_code_span(code->child->next, binding);
    }
    if ((outcomes & AK_CAN_BE_FALSE) != 0) {
        ak_span other = ak_code_span(code->child->next->next, binding);
        result = (outcomes & AK_CAN_BE_TRUE) == 0 ? other : hull(&result, &other, code->type);
    }
    if ((outcomes & AK_CAN_FAIL) != 0) {
        result.fails = worse(result.fails, AK_FAILS_MAYBE);
    }
    return result;
}

ak_span ak_code_span(const ak_code *code, const ak_binding *binding)
{
    ak_span a;
    switch (code->kind) {
    case AK_CODE_CONSTANT:
        return (ak_span){code->value, code->value, AK_FAILS_NEVER};
    case AK_CODE_PARAMETER:
        return (ak_span){binding->range[code->slot].low, binding->range[code->slot].high,
                         AK_FAILS_NEVER};
    case AK_CODE_FAIL:
        break;
    case AK_CODE_TO_REAL:
        a = ak_code_span(code->child, binding);
        return (ak_span){{.r = (double)a.low.i}, {.r = (double)a.high.i}, a.fails};
    case AK_CODE_OR:
    case AK_CODE_AND:
    case AK_CODE_NOT:
    case AK_CODE_COMPARE:
    case AK_CODE_IN:
        return span_truth(code, binding);
    case AK_CODE_NEGATE:
        a = ak_code_span(code->child, binding);
        if (code->type == AK_CELL_REAL) {
            return (ak_span){{.r = -a.high.r}, {.r = -a.low.r}, a.fails};
        }
        return clamp_int(-(wide)a.high.i, -(wide)a.low.i, a.fails);
    case AK_CODE_SUM:
    case AK_CODE_PRODUCT:
        return span_chain(code, binding);
    case AK_CODE_INT_DIVIDE:
        return span_int_divide(code, binding);
    case AK_CODE_POWER:
        return span_power(code, binding);
    case AK_CODE_IF:
        return span_if(code, binding);
    case AK_CODE_MIN:
    case AK_CODE_MAX:
        return span_extreme(code, binding);
    case AK_CODE_ABS:
        return span_abs(code, binding);
    case AK_CODE_CALL:
        return span_call(code, binding);
    }
    return widest(code->type, AK_FAILS_ALWAYS);
}

static unsigned failing(ak_fails fails)
{
    return fails == AK_FAILS_NEVER ? 0 : AK_CAN_FAIL;
}

static unsigned outcomes_of_pair(ak_op op, const ak_code *a, const ak_span *x, const ak_code *b,
                                 const ak_span *y)
{
    if (incomparable(a->type, b->type)) {
        return op == AK_OP_NOT_EQUAL ? AK_CAN_BE_TRUE : AK_CAN_BE_FALSE;
    }
    int low_high = compare_cells(a->type, x->low, b->type, y->high);
    int high_low = compare_cells(a->type, x->high, b->type, y->low);
    bool holds, breaks; /* for some values */
    switch (op) {
    case AK_OP_LESS:
        holds = low_high < 0;
        breaks = high_low >= 0;
        break;
    case AK_OP_LESS_EQUAL:
        holds = low_high <= 0;
        breaks = high_low > 0;
        break;
    case AK_OP_GREATER:
        holds = high_low > 0;
        breaks = low_high <= 0;
        break;
    case AK_OP_GREATER_EQUAL:
        holds = high_low >= 0;
        breaks = low_high < 0;
        break;
    default:
        holds = low_high <= 0 && high_low >= 0;
        breaks = !(low_high == 0 && high_low == 0);
        if (op == AK_OP_NOT_EQUAL) {
            bool swap = holds;
            holds = breaks;
            breaks = swap;
        }
        break;
    }
    return (holds ? AK_CAN_BE_TRUE : 0u) | (breaks ? AK_CAN_BE_FALSE : 0u);
}

static unsigned outcomes_of_compare(const ak_code *code, const ak_binding *binding)
{
    const ak_code *left = code->child;
    ak_span x = ak_code_span(left, binding);
    unsigned now = failing(x.fails) | (x.fails == AK_FAILS_ALWAYS ? 0u : AK_CAN_BE_TRUE);
    for (const ak_code *right = left->next; right != NULL && (now & AK_CAN_BE_TRUE) != 0;
         right = right->next) {
        ak_span y = ak_code_span(right, binding);
        now = (now & ~(unsigned)AK_CAN_BE_TRUE) | failing(y.fails);
        if (y.fails != AK_FAILS_ALWAYS) {
            now |= outcomes_of_pair(right->op, left, &x, right, &y);
        }
        left = right;
        x = y;
    }
    return now;
}

static unsigned outcomes_of_in(const ak_code *code, const ak_binding *binding)
{
    const ak_code *item = code->child;
    ak_span x = ak_code_span(item, binding);
    ak_fails fails = x.fails;
    bool can_be = false, must_be = false;
    for (const ak_code *other = item->next; other != NULL; other = other->next) {
        ak_span y = ak_code_span(other, binding);
        fails = worse(fails, y.fails);
        unsigned same = outcomes_of_pair(AK_OP_EQUAL, item, &x, other, &y);
        can_be = can_be || (same & AK_CAN_BE_TRUE) != 0;
        must_be = must_be || same == AK_CAN_BE_TRUE;
    }
    if (fails == AK_FAILS_ALWAYS) {
        return AK_CAN_FAIL;
    }
    bool yes = code->negated ? !must_be : can_be, no = code->negated ? can_be : !must_be;
    return failing(fails) | (yes ? AK_CAN_BE_TRUE : 0u) | (no ? AK_CAN_BE_FALSE : 0u);
}

unsigned ak_code_outcomes(const ak_code *code, const ak_binding *binding)
{
    unsigned now, stop;
    switch (code->kind) {
    case AK_CODE_OR:
    case AK_CODE_AND:
        /* `go` goes on to the next operand, the other truth ends it */
        stop = code->kind == AK_CODE_OR ? AK_CAN_BE_TRUE : AK_CAN_BE_FALSE;
        now = stop ^ (AK_CAN_BE_TRUE | AK_CAN_BE_FALSE);
        for (const ak_code *child = code->child; child != NULL && (now & ~stop & 3u) != 0;
             child = child->next) {
            now = (now & (stop | AK_CAN_FAIL)) | ak_code_outcomes(child, binding);
        }
        return now;
    case AK_CODE_NOT:
        now = ak_code_outcomes(code->child, binding);
        return (now & AK_CAN_FAIL) | ((now & AK_CAN_BE_TRUE) != 0 ? AK_CAN_BE_FALSE : 0u) |
               ((now & AK_CAN_BE_FALSE) != 0 ? AK_CAN_BE_TRUE : 0u);
    case AK_CODE_COMPARE:
        return outcomes_of_compare(code, binding);
    case AK_CODE_IN:
        return outcomes_of_in(code, binding);
    default:
        break;
    }
    ak_span span = ak_code_span(code, binding);
    if (span.fails == AK_FAILS_ALWAYS) {
        return AK_CAN_FAIL;
    }
    bool real = code->type == AK_CELL_REAL;
    bool below = real ? span.low.r < 0.0 : span.low.i < 0;
    bool above = real ? span.high.r > 0.0 : span.high.i > 0;
    bool zero =
        real ? span.low.r <= 0.0 && span.high.r >= 0.0 : span.low.i <= 0 && span.high.i >= 0;
    return failing(span.fails) | (below || above ? AK_CAN_BE_TRUE : 0u) |
           (zero ? AK_CAN_BE_FALSE : 0u);
}
