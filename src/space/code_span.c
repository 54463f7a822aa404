/* code_span.c: evaluates typed code over ranges. Each operation gives an interval that contains all
   its results, and says whether it may fail. Monotone operations use the ends of their operands'
   intervals; others may give a wider interval than necessary. If all operands are single values,
   the result is one too or fails for certain, so that the result becomes exact as parameters are
   bound. */
#include "space/code.h"

#include <float.h>
#include <math.h>

/* ---- intervals ------------------------------------------------------------------------------- */

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

/* Returns the span of a result that is known, or of an evaluation that has failed. */
static ak_span exactly(bool known, ak_cell value, ak_cell_type type, ak_fails fails)
{
    return known ? (ak_span){value, value, fails} : widest(type, AK_FAILS_ALWAYS);
}

__extension__ typedef __int128 wide;

/* Returns the part of [low, high] that an int64_t holds. The evaluation fails outside of it. */
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

static ak_span hull(const ak_span *a, const ak_span *b, ak_cell_type type)
{
    if (a->fails == AK_FAILS_ALWAYS || b->fails == AK_FAILS_ALWAYS) {
        ak_span result = a->fails == AK_FAILS_ALWAYS ? *b : *a;
        result.fails = a->fails == b->fails ? AK_FAILS_ALWAYS : AK_FAILS_MAYBE;
        return result;
    }
    ak_span result = *a;
    result.fails = worse(a->fails, b->fails);
    if (ak_cell_compare(type, b->low, type, a->low) < 0) {
        result.low = b->low;
    }
    if (ak_cell_compare(type, b->high, type, a->high) > 0) {
        result.high = b->high;
    }
    return result;
}

/* ---- operators ------------------------------------------------------------------------------- */

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
    /* The result has the sign of the divisor and is smaller than the divisor in magnitude. */
    int64_t low = b->low.i < 0 ? b->low.i + 1 : 0;
    int64_t high = b->high.i > 0 ? b->high.i - 1 : 0;
    if (a->low.i >= 0 && b->low.i > 0) {
        high = a->high.i < high ? a->high.i : high;
        if (a->high.i < b->low.i) { /* the remainder is the dividend itself */
            low = a->low.i;
        }
    }
    return (ak_span){{.i = low}, {.i = high}, fails};
}

static ak_span combine_span_int(ak_op op, const ak_span *a, const ak_span *b)
{
    ak_fails fails = worse(a->fails, b->fails);
    if (is_point(a, AK_CELL_INT) && is_point(b, AK_CELL_INT)) {
        ak_cell value = {.i = 0};
        const bool known = ak_cell_combine_int(&value.i, op, a->low.i, b->low.i);
        return exactly(known, value, AK_CELL_INT, fails);
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
        /* The quotient of integers is never larger in magnitude than the dividend. */
        wide largest = a->high.i > -(wide)a->low.i ? a->high.i : -(wide)a->low.i;
        return clamp_int(-largest, largest, fails);
    }
    return corners_int(op, a, b, fails);
}

static ak_span combine_span_real(ak_op op, const ak_span *a, const ak_span *b)
{
    ak_fails fails = worse(a->fails, b->fails);
    if (is_point(a, AK_CELL_REAL) && is_point(b, AK_CELL_REAL)) {
        ak_cell value = {.i = 0};
        const bool known = ak_cell_combine_real(&value.r, op, a->low.r, b->low.r);
        return exactly(known, value, AK_CELL_REAL, fails);
    }
    /* Rounding is monotone, so the rounded ends bound the rounded results. */
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

/* ---- the walk -------------------------------------------------------------------------------- */

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
        ak_cell value = {.i = 0};
        const bool known = ak_cell_power(&value, code->type, a.low, b.low);
        return exactly(known, value, code->type, fails);
    }
    if (code->type == AK_CELL_REAL || a.low.i < 0 || b.low.i < 0) {
        return widest(code->type, worse(fails, AK_FAILS_MAYBE));
    }
    /* If neither is negative, the power does not fall as base or exponent grows, except that 0**0
       is 1. */
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

static ak_span span_extreme(const ak_code *code, const ak_binding *binding)
{
    ak_span total = ak_code_span(code->child, binding);
    int sign = code->kind == AK_CODE_MIN ? -1 : 1;
    for (const ak_code *child = code->child->next; child != NULL; child = child->next) {
        ak_span next = ak_code_span(child, binding);
        total.fails = worse(total.fails, next.fails);
        if (ak_cell_compare(code->type, next.low, code->type, total.low) == sign) {
            total.low = next.low;
        }
        if (ak_cell_compare(code->type, next.high, code->type, total.high) == sign) {
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

/* Evaluates a function of one real. None of these functions ever decreases, so the ends of the
   interval suffice. */
static ak_span span_call(const ak_code *code, const ak_binding *binding)
{
    ak_span a = ak_code_span(code->child, binding);
    ak_span result = widest(code->type, a.fails);
    bool low = ak_cell_call(&result.low, code->function, a.low.r);
    bool high = ak_cell_call(&result.high, code->function, a.high.r);
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

/* ---- outcomes of a truth --------------------------------------------------------------------- */

static unsigned failing(ak_fails fails)
{
    return fails == AK_FAILS_NEVER ? 0 : AK_CAN_FAIL;
}

static unsigned outcomes_of_pair(ak_op op, const ak_code *a, const ak_span *x, const ak_code *b,
                                 const ak_span *y)
{
    if (ak_cell_incomparable(a->type, b->type)) {
        return op == AK_OP_NOT_EQUAL ? AK_CAN_BE_TRUE : AK_CAN_BE_FALSE;
    }
    int low_high = ak_cell_compare(a->type, x->low, b->type, y->high);
    int high_low = ak_cell_compare(a->type, x->high, b->type, y->low);
    unsigned found = 0;
    for (int order = low_high; order <= high_low; order++) { /* the possible orders of two values */
        found |= ak_op_holds(op, order) ? AK_CAN_BE_TRUE : AK_CAN_BE_FALSE;
    }
    return found;
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
        /* `now` holds the outcomes so far. An operand with the truth `stop` ends the evaluation;
           the loop goes on while the other truth is possible. */
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
