/* expr_ops.c: operators and functions on values; see expr_tree.h. */
#include "space/expr_tree.h"

#include <math.h>
#include <string.h>

#include "space/code.h"

#define TEXT_BYTES_A_STEP 8 /* bytes of text that are copied or compared for one step */

/* ---- faults and budgets ---------------------------------------------------------------------- */

ak_status ak_walk_fault(const ak_walk *w, const char *what)
{
    return ak_fail(w->err, AK_INVALID, "%s: \"%.160s\": %s", w->expr->where, w->expr->text, what);
}

static ak_status too_large(const ak_walk *w)
{
    return ak_walk_fault(w, "the result needs more than 64 bits");
}

ak_status ak_walk_exhaust(ak_walk *w)
{
    w->steps = AK_EXPR_STEPS_MAX;
    return ak_fail(w->err, AK_LIMIT, "%s: \"%.160s\": the evaluation takes more than %d steps",
                   w->expr->where, w->expr->text, AK_EXPR_STEPS_MAX);
}

static ak_status spend_text(ak_walk *w, const char *text)
{
    return ak_walk_spend(w, 1 + strlen(text) / TEXT_BYTES_A_STEP);
}

/* ---- making values --------------------------------------------------------------------------- */

ak_status ak_give_real(ak_value *out, double value, const ak_walk *w)
{
    if (!isfinite(value)) {
        return ak_walk_fault(w, "the result is not a finite number");
    }
    *out = (ak_value){.type = AK_VALUE_REAL, .as.real = value};
    return AK_OK;
}

ak_status ak_give_list(ak_value *out, ak_value **items, size_t count, ak_walk *w)
{
    AK_FAIL_IF(count > AK_EXPR_LIST_MAX, w->err, AK_LIMIT,
               "%s: \"%.160s\": a list has more than %d items", w->expr->where, w->expr->text,
               AK_EXPR_LIST_MAX);
    AK_DO(ak_walk_spend(w, count));
    AK_DO(AK_ARENA_NEW(*items, w->arena, count + 1, w->err));
    *out = (ak_value){.type = AK_VALUE_LIST, .as.list = {*items, count}};
    return AK_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool ak_number_of(ak_number *out, const ak_value *value)
{
    switch (value->type) {
    case AK_VALUE_BOOL:
        *out = (ak_number){false, value->as.boolean, value->as.boolean ? 1.0 : 0.0};
        return true;
    case AK_VALUE_INT:
        *out = (ak_number){false, value->as.integer, (double)value->as.integer};
        return true;
    case AK_VALUE_REAL:
        *out = (ak_number){true, 0, value->as.real};
        return true;
    case AK_VALUE_STRING:
    case AK_VALUE_LIST:
        break;
    }
    return false;
}

static ak_status join(ak_value *out, const ak_value *a, const ak_value *b, ak_walk *w)
{
    if (a->type == AK_VALUE_LIST) {
        size_t m = a->as.list.count, n = b->as.list.count;
        ak_value *items;
        AK_DO(ak_give_list(out, &items, m + n, w));
        for (size_t i = 0; i < m + n; i++) {
            items[i] = i < m ? a->as.list.items[i] : b->as.list.items[i - m];
        }
        return AK_OK;
    }
    size_t m = strlen(a->as.string), n = strlen(b->as.string);
    if (m + n > AK_EXPR_TEXT_MAX) {
        return ak_walk_fault(w, "a text is too long");
    }
    AK_DO(ak_walk_spend(w, (m + n) / TEXT_BYTES_A_STEP));
    char *text = ak_arena_alloc(w->arena, m + n + 1);
    AK_DO(ak_made(text, w->err));
    memcpy(text, a->as.string, m);
    memcpy(text + m, b->as.string, n);
    *out = (ak_value){.type = AK_VALUE_STRING, .as.string = text};
    return AK_OK;
}

ak_status ak_apply_arithmetic(ak_value *out, ak_op op, const ak_value *a, const ak_value *b,
                              ak_walk *w)
{
    ak_number x, y;
    if (!ak_number_of(&x, a) || !ak_number_of(&y, b)) {
        if (op == AK_OP_ADD && a->type == b->type) {
            return join(out, a, b, w);
        }
        return ak_walk_fault(w, "arithmetic needs numbers");
    }
    bool real = x.real || y.real;
    bool divides = op == AK_OP_DIVIDE || op == AK_OP_FLOOR_DIVIDE || op == AK_OP_MODULO;
    if (divides && y.r == 0.0) {
        return ak_walk_fault(w, "division by zero");
    }
    if (real) {
        double result = 0.0;
        (void)ak_cell_combine_real(&result, op, x.r, y.r);
        return ak_give_real(out, result, w);
    }
    if (op == AK_OP_DIVIDE) {
        return ak_give_real(out, ak_int_divide(x.i, y.i), w);
    }
    int64_t result;
    return ak_cell_combine_int(&result, op, x.i, y.i) ? ak_give_int(out, result) : too_large(w);
}

ak_status ak_apply_power(ak_value *out, const ak_value *a, const ak_value *b, ak_walk *w)
{
    ak_number x, y;
    if (!ak_number_of(&x, a) || !ak_number_of(&y, b)) {
        return ak_walk_fault(w, "arithmetic needs numbers");
    }
    if (!x.real && !y.real && y.i >= 0) {
        int64_t result;
        return ak_int_power(&result, x.i, y.i) ? ak_give_int(out, result) : too_large(w);
    }
    return x.r == 0.0 && y.r < 0.0 ? ak_walk_fault(w, "division by zero")
                                   : ak_give_real(out, pow(x.r, y.r), w);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Spends the steps of comparing two values, before they are compared. */
static ak_status spend_compare(ak_walk *w, const ak_value *a, const ak_value *b)
{
    if (a->type == AK_VALUE_STRING && b->type == AK_VALUE_STRING) {
        return spend_text(w, a->as.string);
    }
    if (a->type == AK_VALUE_LIST && b->type == AK_VALUE_LIST) {
        size_t n = a->as.list.count < b->as.list.count ? a->as.list.count : b->as.list.count;
        for (size_t i = 0; i < n; i++) {
            AK_DO(ak_walk_spend(w, 1));
            AK_DO(spend_compare(w, &a->as.list.items[i], &b->as.list.items[i]));
        }
    }
    return AK_OK;
}

static ak_cell_type cell_of(ak_cell *out, const ak_number *x)
{
    *out = x->real ? (ak_cell){.r = x->r} : (ak_cell){.i = x->i};
    return x->real ? AK_CELL_REAL : AK_CELL_INT;
}

/* Gives the order of two numbers: -1, 0 or 1. Returns false if one value is not a number. */
static bool number_order(int *out, const ak_value *a, const ak_value *b)
{
    ak_number x, y;
    if (!ak_number_of(&x, a) || !ak_number_of(&y, b)) {
        return false;
    }
    ak_cell p, q;
    ak_cell_type p_type = cell_of(&p, &x), q_type = cell_of(&q, &y);
    *out = ak_cell_compare(p_type, p, q_type, q);
    return true;
}

bool ak_value_equal(const ak_value *a, const ak_value *b)
{
    int sign;
    if (number_order(&sign, a, b)) {
        return sign == 0;
    }
    if (a->type != b->type || a->type != AK_VALUE_LIST) {
        return a->type == b->type && strcmp(a->as.string, b->as.string) == 0;
    }
    bool same = a->as.list.count == b->as.list.count;
    for (size_t i = 0; same && i < a->as.list.count; i++) {
        same = ak_value_equal(&a->as.list.items[i], &b->as.list.items[i]);
    }
    return same;
}

static ak_status order(int *out, const ak_value *a, const ak_value *b, const ak_walk *w)
{
    if (number_order(out, a, b)) {
        return AK_OK;
    }
    if (a->type == AK_VALUE_STRING && b->type == AK_VALUE_STRING) {
        *out = strcmp(a->as.string, b->as.string);
        return AK_OK;
    }
    if (a->type == AK_VALUE_LIST && b->type == AK_VALUE_LIST) {
        size_t m = a->as.list.count, n = b->as.list.count;
        for (size_t i = 0; i < m && i < n; i++) {
            if (!ak_value_equal(&a->as.list.items[i], &b->as.list.items[i])) {
                return order(out, &a->as.list.items[i], &b->as.list.items[i], w);
            }
        }
        *out = (m > n) - (m < n);
        return AK_OK;
    }
    return ak_walk_fault(w, "numbers, texts and lists have no order among each other");
}

static ak_status contains(bool *out, const ak_value *item, const ak_value *list, ak_walk *w)
{
    *out = false;
    if (list->type == AK_VALUE_STRING && item->type == AK_VALUE_STRING) {
        AK_DO(spend_text(w, list->as.string));
        *out = strstr(list->as.string, item->as.string) != NULL;
        return AK_OK;
    }
    if (list->type != AK_VALUE_LIST) {
        return ak_walk_fault(w, "\"in\" needs a list");
    }
    for (size_t i = 0; i < list->as.list.count && !*out; i++) {
        AK_DO(ak_walk_spend(w, 1));
        AK_DO(spend_compare(w, item, &list->as.list.items[i]));
        *out = ak_value_equal(item, &list->as.list.items[i]);
    }
    return AK_OK;
}

ak_status ak_apply_compare(bool *out, ak_op op, const ak_value *a, const ak_value *b, ak_walk *w)
{
    if (op == AK_OP_IN || op == AK_OP_NOT_IN) {
        AK_DO(contains(out, a, b, w));
        *out = *out == (op == AK_OP_IN);
        return AK_OK;
    }
    AK_DO(spend_compare(w, a, b));
    if (op == AK_OP_EQUAL || op == AK_OP_NOT_EQUAL) {
        *out = ak_value_equal(a, b) == (op == AK_OP_EQUAL);
        return AK_OK;
    }
    int sign = 0;
    AK_DO(order(&sign, a, b, w));
    *out = ak_op_holds(op, sign);
    return AK_OK;
}

/* ---- functions ------------------------------------------------------------------------------- */

static ak_status whole_of(ak_value *out, ak_function function, const ak_number *x, ak_walk *w)
{
    if (!x->real) {
        return ak_give_int(out, x->i);
    }
    ak_cell result;
    return ak_cell_call(&result, function, x->r) ? ak_give_int(out, result.i) : too_large(w);
}

static ak_status call_number(ak_value *out, ak_function function, const ak_value *a, ak_walk *w)
{
    ak_number x;
    if (!ak_number_of(&x, a)) {
        return ak_walk_fault(w, "this function needs a number");
    }
    switch (function) {
    case AK_FUNCTION_ABS:
        if (x.real) {
            return ak_give_real(out, fabs(x.r), w);
        }
        return x.i == INT64_MIN ? too_large(w) : ak_give_int(out, x.i < 0 ? -x.i : x.i);
    case AK_FUNCTION_SQRT:
        return x.r < 0.0 ? ak_walk_fault(w, "a negative number has no square root")
                         : ak_give_real(out, sqrt(x.r), w);
    case AK_FUNCTION_LOG2:
        return x.r <= 0.0 ? ak_walk_fault(w, "only a positive number has a logarithm")
                          : ak_give_real(out, log2(x.r), w);
    case AK_FUNCTION_FLOAT:
        return ak_give_real(out, x.r, w);
    default:
        return whole_of(out, function, &x, w);
    }
}

static ak_status call_range(ak_value *out, const ak_value *argument, size_t count, ak_walk *w)
{
    int64_t bound[3] = {0, 0, 1};
    for (size_t i = 0; i < count; i++) {
        ak_number x;
        if (!ak_number_of(&x, &argument[i]) || x.real) {
            return ak_walk_fault(w, "range needs whole numbers");
        }
        bound[count == 1 ? 1 : i] = x.i;
    }
    int64_t from = bound[0], to = bound[1], by = bound[2];
    if (by == 0) {
        return ak_walk_fault(w, "range needs a step that is not 0");
    }
    /* The arithmetic is unsigned because the distance of two int64_t may exceed INT64_MAX. */
    uint64_t distance = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t step = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;
    bool empty = by > 0 ? from >= to : from <= to;
    uint64_t n = empty ? 0 : (distance - 1) / step + 1;
    ak_value *items;
    AK_DO(ak_give_list(out, &items, n, w));
    for (size_t i = 0; i < n; i++) {
        (void)ak_give_int(&items[i], (int64_t)((uint64_t)from + (uint64_t)by * i));
    }
    return AK_OK;
}

static ak_status call_extreme(ak_value *out, ak_function function, const ak_value *argument,
                              size_t count, ak_walk *w)
{
    if (count == 1) {
        if (argument->type != AK_VALUE_LIST || argument->as.list.count == 0) {
            return ak_walk_fault(w, "min and max need two values or a list that is not empty");
        }
        count = argument->as.list.count;
        argument = argument->as.list.items;
    }
    *out = argument[0];
    const ak_op op = function == AK_FUNCTION_MIN ? AK_OP_LESS : AK_OP_GREATER;
    for (size_t i = 1; i < count; i++) {
        bool better = false;
        AK_DO(ak_walk_spend(w, 1));
        AK_DO(ak_apply_compare(&better, op, &argument[i], out, w));
        *out = better ? argument[i] : *out;
    }
    return AK_OK;
}

ak_status ak_apply_function(ak_value *out, ak_function function, const ak_value *argument,
                            size_t count, ak_walk *w)
{
    const bool is_list = argument->type == AK_VALUE_LIST;
    switch (function) {
    case AK_FUNCTION_MIN:
    case AK_FUNCTION_MAX:
        return call_extreme(out, function, argument, count, w);
    case AK_FUNCTION_LEN:
        if (argument->type == AK_VALUE_STRING) {
            AK_DO(spend_text(w, argument->as.string));
            return ak_give_int(out, (int64_t)strlen(argument->as.string));
        }
        return is_list ? ak_give_int(out, (int64_t)argument->as.list.count)
                       : ak_walk_fault(w, "len needs a list or a text");
    case AK_FUNCTION_SUM:
        if (!is_list) {
            return ak_walk_fault(w, "sum needs a list");
        }
        (void)ak_give_int(out, 0);
        for (size_t k = 0; k < argument->as.list.count; k++) {
            ak_value total = *out;
            AK_DO(ak_walk_spend(w, 1));
            AK_DO(ak_apply_arithmetic(out, AK_OP_ADD, &total, &argument->as.list.items[k], w));
        }
        return AK_OK;
    case AK_FUNCTION_RANGE:
        return call_range(out, argument, count, w);
    case AK_FUNCTION_LIST:
        *out = *argument; /* lists never change, so the copy is the list itself */
        return is_list ? AK_OK : ak_walk_fault(w, "list needs a list");
    default:
        return call_number(out, function, argument, w);
    }
}
