/* expr.c: evaluates a tree by walking it. Every node costs a step, and so do list items and
   stretches of text: a short text cannot ask for much work (AK_EXPR_STEPS_MAX). */
#include "problem/expr_tree.h"

#include <math.h>
#include <string.h>

#define TEXT_BYTES_A_STEP 8 /* of text that is copied or compared: about what a node costs */

typedef struct walk {
    const ak_expr *expr;
    const ak_scope *scope;  /* where names are found, */
    const ak_value *values; /* unless their values are here */
    ak_arena *arena;
    size_t steps;
    ak_value local[AK_EXPR_DEPTH_MAX + 1];
    ak_error *err;
} walk;

static ak_status eval(ak_value *out, const ak_node *node, walk *w);

/* ---- faults and budgets ---------------------------------------------------------------------- */

static ak_status fault(const walk *w, const char *what)
{
    return ak_fail(w->err, AK_INVALID, "%s: \"%.160s\": %s", w->expr->where, w->expr->text, what);
}

static ak_status too_large(const walk *w)
{
    return fault(w, "the result needs more than 64 bits");
}

static ak_status spend(walk *w, size_t steps)
{
    if (steps > AK_EXPR_STEPS_MAX - w->steps) {
        w->steps = AK_EXPR_STEPS_MAX;
        return ak_fail(w->err, AK_LIMIT, "%s: \"%.160s\": takes more than %d steps", w->expr->where,
                       w->expr->text, AK_EXPR_STEPS_MAX);
    }
    w->steps += steps;
    return AK_OK;
}

static ak_status spend_text(walk *w, const char *text)
{
    return spend(w, 1 + strlen(text) / TEXT_BYTES_A_STEP);
}

/* ---- making values --------------------------------------------------------------------------- */

static ak_status give_bool(ak_value *out, bool value)
{
    *out = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = value};
    return AK_OK;
}

static ak_status give_int(ak_value *out, int64_t value)
{
    *out = (ak_value){.type = AK_VALUE_INT, .as.integer = value};
    return AK_OK;
}

static ak_status give_real(ak_value *out, double value, const walk *w)
{
    if (!isfinite(value)) {
        return fault(w, "the result is not a finite number");
    }
    *out = (ak_value){.type = AK_VALUE_REAL, .as.real = value};
    return AK_OK;
}

/* A list of `count` items in the arena, to be filled by the caller. */
static ak_status give_list(ak_value *out, ak_value **items, size_t count, walk *w)
{
    if (count > AK_EXPR_LIST_MAX) {
        return ak_fail(w->err, AK_LIMIT, "%s: \"%.160s\": a list has more than %d items",
                       w->expr->where, w->expr->text, AK_EXPR_LIST_MAX);
    }
    ak_status status = spend(w, count);
    if (status != AK_OK) {
        return status;
    }
    *items = ak_arena_alloc(w->arena, (count + 1) * sizeof **items);
    if (*items == NULL) {
        return ak_fail_memory(w->err);
    }
    *out = (ak_value){.type = AK_VALUE_LIST, .as.list = {*items, count}};
    return AK_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A number as Python computes with it: bool counts as int. */
typedef struct number {
    bool real;
    int64_t i;
    double r; /* also set, rounded, for an int */
} number;

static bool as_number(number *out, const ak_value *value)
{
    switch (value->type) {
    case AK_VALUE_BOOL:
        *out = (number){false, value->as.boolean, value->as.boolean ? 1.0 : 0.0};
        return true;
    case AK_VALUE_INT:
        *out = (number){false, value->as.integer, (double)value->as.integer};
        return true;
    case AK_VALUE_REAL:
        *out = (number){true, 0, value->as.real};
        return true;
    case AK_VALUE_STRING:
    case AK_VALUE_LIST:
        break;
    }
    return false;
}

static ak_status join(ak_value *out, const ak_value *a, const ak_value *b, walk *w)
{
    if (a->type == AK_VALUE_LIST) {
        size_t m = a->as.list.count, n = b->as.list.count;
        ak_value *items;
        ak_status status = give_list(out, &items, m + n, w);
        if (status == AK_OK) {
            for (size_t i = 0; i < m + n; i++) {
                items[i] = i < m ? a->as.list.items[i] : b->as.list.items[i - m];
            }
        }
        return status;
    }
    size_t m = strlen(a->as.string), n = strlen(b->as.string);
    if (m + n > AK_EXPR_TEXT_MAX) {
        return fault(w, "a text is too long");
    }
    ak_status status = spend(w, (m + n) / TEXT_BYTES_A_STEP);
    if (status != AK_OK) {
        return status;
    }
    char *text = ak_arena_alloc(w->arena, m + n + 1);
    if (text == NULL) {
        return ak_fail_memory(w->err);
    }
    memcpy(text, a->as.string, m);
    memcpy(text + m, b->as.string, n);
    *out = (ak_value){.type = AK_VALUE_STRING, .as.string = text};
    return AK_OK;
}

static ak_status arithmetic(ak_value *out, ak_op op, const ak_value *a, const ak_value *b, walk *w)
{
    number x, y;
    if (!as_number(&x, a) || !as_number(&y, b)) {
        if (op == AK_OP_ADD && a->type == b->type) {
            return join(out, a, b, w);
        }
        return fault(w, "arithmetic needs numbers");
    }
    bool real = x.real || y.real;
    bool divides = op == AK_OP_DIVIDE || op == AK_OP_FLOOR_DIVIDE || op == AK_OP_MODULO;
    if (divides && y.r == 0.0) {
        return fault(w, "division by zero");
    }
    int64_t result;
    bool fits = true;
    switch (op) {
    case AK_OP_ADD:
        if (real) {
            return give_real(out, x.r + y.r, w);
        }
        fits = !__builtin_add_overflow(x.i, y.i, &result);
        break;
    case AK_OP_SUBTRACT:
        if (real) {
            return give_real(out, x.r - y.r, w);
        }
        fits = !__builtin_sub_overflow(x.i, y.i, &result);
        break;
    case AK_OP_MULTIPLY:
        if (real) {
            return give_real(out, x.r * y.r, w);
        }
        fits = !__builtin_mul_overflow(x.i, y.i, &result);
        break;
    case AK_OP_DIVIDE:
        return give_real(out, real ? x.r / y.r : ak_int_divide(x.i, y.i), w);
    case AK_OP_FLOOR_DIVIDE:
        if (real) {
            return give_real(out, ak_real_floor_divide(x.r, y.r), w);
        }
        fits = ak_int_floor_divide(&result, x.i, y.i);
        break;
    case AK_OP_MODULO:
        if (real) {
            return give_real(out, ak_real_modulo(x.r, y.r), w);
        }
        fits = ak_int_modulo(&result, x.i, y.i);
        break;
    default:
        return ak_fail(w->err, AK_INTERNAL, "%s: unknown operator", w->expr->where);
    }
    return fits ? give_int(out, result) : too_large(w);
}

static ak_status power(ak_value *out, const ak_value *a, const ak_value *b, walk *w)
{
    number x, y;
    if (!as_number(&x, a) || !as_number(&y, b)) {
        return fault(w, "arithmetic needs numbers");
    }
    if (!x.real && !y.real && y.i >= 0) {
        int64_t result;
        return ak_int_power(&result, x.i, y.i) ? give_int(out, result) : too_large(w);
    }
    if (x.r == 0.0 && y.r < 0.0) {
        return fault(w, "division by zero");
    }
    return give_real(out, pow(x.r, y.r), w);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Work of comparing two values, so that it is paid for before it is done. */
static ak_status spend_compare(walk *w, const ak_value *a, const ak_value *b)
{
    if (a->type == AK_VALUE_STRING && b->type == AK_VALUE_STRING) {
        return spend_text(w, a->as.string);
    }
    ak_status status = AK_OK;
    if (a->type == AK_VALUE_LIST && b->type == AK_VALUE_LIST) {
        size_t n = a->as.list.count < b->as.list.count ? a->as.list.count : b->as.list.count;
        for (size_t i = 0; i < n && status == AK_OK; i++) {
            status = spend(w, 1);
            if (status == AK_OK) {
                status = spend_compare(w, &a->as.list.items[i], &b->as.list.items[i]);
            }
        }
    }
    return status;
}

static ak_status order(int *out, const ak_value *a, const ak_value *b, const walk *w)
{
    number x, y;
    if (as_number(&x, a) && as_number(&y, b)) {
        if (x.real && y.real) {
            *out = (x.r > y.r) - (x.r < y.r);
        } else if (x.real) {
            *out = -ak_number_compare(y.i, x.r);
        } else if (y.real) {
            *out = ak_number_compare(x.i, y.r);
        } else {
            *out = (x.i > y.i) - (x.i < y.i);
        }
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
    return fault(w, "numbers, texts and lists have no order among each other");
}

static ak_status contains(bool *out, const ak_value *item, const ak_value *list, walk *w)
{
    *out = false;
    if (list->type == AK_VALUE_STRING && item->type == AK_VALUE_STRING) {
        ak_status status = spend_text(w, list->as.string);
        *out = status == AK_OK && strstr(list->as.string, item->as.string) != NULL;
        return status;
    }
    if (list->type != AK_VALUE_LIST) {
        return fault(w, "\"in\" needs a list");
    }
    ak_status status = AK_OK;
    for (size_t i = 0; i < list->as.list.count && !*out && status == AK_OK; i++) {
        status = spend(w, 1);
        if (status == AK_OK) {
            status = spend_compare(w, item, &list->as.list.items[i]);
        }
        *out = status == AK_OK && ak_value_equal(item, &list->as.list.items[i]);
    }
    return status;
}

static ak_status compare(bool *out, ak_op op, const ak_value *a, const ak_value *b, walk *w)
{
    if (op == AK_OP_IN || op == AK_OP_NOT_IN) {
        ak_status status = contains(out, a, b, w);
        *out = *out == (op == AK_OP_IN);
        return status;
    }
    ak_status status = spend_compare(w, a, b);
    if (status != AK_OK) {
        return status;
    }
    if (op == AK_OP_EQUAL || op == AK_OP_NOT_EQUAL) {
        *out = ak_value_equal(a, b) == (op == AK_OP_EQUAL);
        return AK_OK;
    }
    int sign = 0;
    status = order(&sign, a, b, w);
    *out = op == AK_OP_LESS         ? sign < 0
           : op == AK_OP_LESS_EQUAL ? sign <= 0
           : op == AK_OP_GREATER    ? sign > 0
                                    : sign >= 0;
    return status;
}

/* ---- functions ------------------------------------------------------------------------------- */

static ak_status whole_of(ak_value *out, ak_function function, const number *x, walk *w)
{
    if (!x->real) {
        return give_int(out, x->i);
    }
    double r = function == AK_FUNCTION_CEIL    ? ceil(x->r)
               : function == AK_FUNCTION_FLOOR ? floor(x->r)
               : function == AK_FUNCTION_ROUND ? rint(x->r) /* half to even, as Python */
                                               : trunc(x->r);
    int64_t result;
    return ak_real_to_int(&result, r) ? give_int(out, result) : too_large(w);
}

static ak_status call_number(ak_value *out, ak_function function, const ak_value *a, walk *w)
{
    number x;
    if (!as_number(&x, a)) {
        return fault(w, "this function needs a number");
    }
    switch (function) {
    case AK_FUNCTION_ABS:
        if (x.real) {
            return give_real(out, fabs(x.r), w);
        }
        return x.i == INT64_MIN ? too_large(w) : give_int(out, x.i < 0 ? -x.i : x.i);
    case AK_FUNCTION_SQRT:
        return x.r < 0.0 ? fault(w, "square root of a negative number")
                         : give_real(out, sqrt(x.r), w);
    case AK_FUNCTION_LOG2:
        return x.r <= 0.0 ? fault(w, "logarithm of a number that is not positive")
                          : give_real(out, log2(x.r), w);
    case AK_FUNCTION_FLOAT:
        return give_real(out, x.r, w);
    default:
        return whole_of(out, function, &x, w);
    }
}

static ak_status call_range(ak_value *out, const ak_value *argument, size_t count, walk *w)
{
    int64_t bound[3] = {0, 0, 1};
    for (size_t i = 0; i < count; i++) {
        number x;
        if (!as_number(&x, &argument[i]) || x.real) {
            return fault(w, "range needs whole numbers");
        }
        bound[count == 1 ? 1 : i] = x.i;
    }
    int64_t from = bound[0], to = bound[1], by = bound[2];
    if (by == 0) {
        return fault(w, "range needs a step that is not 0");
    }
    /* unsigned, because the distance of two int64_t may need 64 bits */
    uint64_t distance = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t step = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;
    bool empty = by > 0 ? from >= to : from <= to;
    uint64_t n = empty ? 0 : (distance - 1) / step + 1;
    ak_value *items;
    ak_status status = give_list(out, &items, n, w);
    for (size_t i = 0; i < n && status == AK_OK; i++) {
        (void)give_int(&items[i], (int64_t)((uint64_t)from + (uint64_t)by * i));
    }
    return status;
}

static ak_status call_extreme(ak_value *out, ak_function function, const ak_value *argument,
                              size_t count, walk *w)
{
    if (count == 1) {
        if (argument->type != AK_VALUE_LIST || argument->as.list.count == 0) {
            return fault(w, "min and max need two values or a list that is not empty");
        }
        count = argument->as.list.count;
        argument = argument->as.list.items;
    }
    *out = argument[0];
    ak_status status = AK_OK;
    for (size_t i = 1; i < count && status == AK_OK; i++) {
        bool better = false;
        status = spend(w, 1);
        if (status == AK_OK) {
            status = compare(&better, function == AK_FUNCTION_MIN ? AK_OP_LESS : AK_OP_GREATER,
                             &argument[i], out, w);
        }
        if (better) {
            *out = argument[i];
        }
    }
    return status;
}

static ak_status call(ak_value *out, const ak_node *node, walk *w)
{
    /* most calls have few arguments; more than these go through a list in the arena */
    ak_value few[3] = {{0}}, *argument = few, unused;
    size_t count = 0;
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        count++;
    }
    ak_status status = AK_OK;
    if (count > 3) {
        status = give_list(&unused, &argument, count, w);
    }
    size_t i = 0;
    for (const ak_node *child = node->child; child != NULL && status == AK_OK;
         child = child->next) {
        status = eval(&argument[i++], child, w);
    }
    if (status != AK_OK) {
        return status;
    }
    bool is_list = argument->type == AK_VALUE_LIST;
    switch (node->function) {
    case AK_FUNCTION_MIN:
    case AK_FUNCTION_MAX:
        return call_extreme(out, node->function, argument, count, w);
    case AK_FUNCTION_LEN:
        if (argument->type == AK_VALUE_STRING) {
            status = spend_text(w, argument->as.string);
            return status == AK_OK ? give_int(out, (int64_t)strlen(argument->as.string)) : status;
        }
        return is_list ? give_int(out, (int64_t)argument->as.list.count)
                       : fault(w, "len needs a list or a text");
    case AK_FUNCTION_SUM:
        if (!is_list) {
            return fault(w, "sum needs a list");
        }
        (void)give_int(out, 0);
        for (size_t k = 0; k < argument->as.list.count && status == AK_OK; k++) {
            ak_value total = *out;
            status = spend(w, 1);
            if (status == AK_OK) {
                status = arithmetic(out, AK_OP_ADD, &total, &argument->as.list.items[k], w);
            }
        }
        return status;
    case AK_FUNCTION_RANGE:
        return call_range(out, argument, count, w);
    case AK_FUNCTION_LIST:
        *out = *argument; /* lists never change, so a copy is the list itself */
        return is_list ? AK_OK : fault(w, "list needs a list");
    default:
        return call_number(out, node->function, argument, w);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static ak_status eval_list(ak_value *out, const ak_node *node, walk *w)
{
    size_t count = 0;
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        count++;
    }
    ak_value *items;
    ak_status status = give_list(out, &items, count, w);
    for (const ak_node *child = node->child; child != NULL && status == AK_OK;
         child = child->next) {
        status = eval(items++, child, w);
    }
    return status;
}

static ak_status eval_comprehension(ak_value *out, const ak_node *node, walk *w)
{
    const ak_node *element = node->child->next;
    ak_value list;
    ak_status status = eval(&list, node->child, w);
    if (status != AK_OK) {
        return status;
    }
    if (list.type != AK_VALUE_LIST) {
        return fault(w, "\"for\" needs a list");
    }
    ak_value *items;
    status = give_list(out, &items, list.as.list.count, w);
    size_t count = 0;
    for (size_t i = 0; i < list.as.list.count && status == AK_OK; i++) {
        bool wanted = true;
        w->local[node->slot] = list.as.list.items[i];
        for (const ak_node *test = element->next; test != NULL && wanted && status == AK_OK;
             test = test->next) {
            ak_value truth = {.type = AK_VALUE_BOOL};
            status = eval(&truth, test, w);
            wanted = status == AK_OK && ak_value_truth(&truth);
        }
        if (status == AK_OK && wanted) {
            status = eval(&items[count++], element, w);
        }
    }
    out->as.list.count = count;
    return status;
}

static ak_status eval_compare(ak_value *out, const ak_node *node, walk *w)
{
    ak_value left;
    ak_status status = eval(&left, node->child, w);
    bool holds = true;
    for (const ak_node *child = node->child->next; child != NULL && holds && status == AK_OK;
         child = child->next) {
        ak_value right;
        status = eval(&right, child, w);
        if (status == AK_OK) {
            status = compare(&holds, child->op, &left, &right, w);
            left = right;
        }
    }
    return status == AK_OK ? give_bool(out, holds) : status;
}

static ak_status eval_chain(ak_value *out, const ak_node *node, walk *w)
{
    ak_status status = eval(out, node->child, w);
    for (const ak_node *child = node->child->next; child != NULL && status == AK_OK;
         child = child->next) {
        ak_value left = *out, right;
        status = eval(&right, child, w);
        if (status == AK_OK) {
            status = arithmetic(out, child->op, &left, &right, w);
        }
    }
    return status;
}

static ak_status eval_name(ak_value *out, const ak_node *node, walk *w)
{
    if (w->values != NULL) {
        *out = w->values[node->slot];
        return AK_OK;
    }
    const char *name = w->expr->names[node->slot];
    if (ak_scope_get(out, w->scope, name)) {
        return AK_OK;
    }
    const char *near = ak_scope_nearest(w->scope, name);
    return ak_fail(w->err, AK_INVALID, "%s: \"%.160s\": \"%.60s\" is not known here%s%s%s",
                   w->expr->where, w->expr->text, name, near == NULL ? "" : "; did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?");
}

static ak_status eval(ak_value *out, const ak_node *node, walk *w)
{
    ak_status status = spend(w, 1);
    if (status != AK_OK) {
        return status;
    }
    ak_value a, b;
    switch (node->kind) {
    case AK_NODE_CONSTANT:
        *out = node->value;
        return AK_OK;
    case AK_NODE_NAME:
        return eval_name(out, node, w);
    case AK_NODE_LOCAL:
        *out = w->local[node->slot];
        return AK_OK;
    case AK_NODE_LIST:
        return eval_list(out, node, w);
    case AK_NODE_OR:
    case AK_NODE_AND:
        for (const ak_node *child = node->child; child != NULL; child = child->next) {
            status = eval(out, child, w);
            if (status != AK_OK || ak_value_truth(out) == (node->kind == AK_NODE_OR)) {
                break;
            }
        }
        return status;
    case AK_NODE_NOT:
        status = eval(&a, node->child, w);
        return status == AK_OK ? give_bool(out, !ak_value_truth(&a)) : status;
    case AK_NODE_NEGATE:
        (void)give_int(&a, 0);
        status = eval(&a, node->child, w);
        if (status == AK_OK && a.type == AK_VALUE_REAL) {
            return give_real(out, -a.as.real, w);
        }
        (void)give_int(&b, 0);
        return status == AK_OK ? arithmetic(out, AK_OP_SUBTRACT, &b, &a, w) : status;
    case AK_NODE_SUM:
    case AK_NODE_PRODUCT:
        return eval_chain(out, node, w);
    case AK_NODE_POWER:
        status = eval(&a, node->child, w);
        if (status == AK_OK) {
            status = eval(&b, node->child->next, w);
        }
        return status == AK_OK ? power(out, &a, &b, w) : status;
    case AK_NODE_COMPARE:
        return eval_compare(out, node, w);
    case AK_NODE_IF:
        status = eval(&a, node->child, w);
        if (status != AK_OK) {
            return status;
        }
        return eval(out, ak_value_truth(&a) ? node->child->next : node->child->next->next, w);
    case AK_NODE_CALL:
        return call(out, node, w);
    case AK_NODE_COMPREHENSION:
        return eval_comprehension(out, node, w);
    }
    return ak_fail(w->err, AK_INTERNAL, "%s: unknown node", w->expr->where);
}

ak_status ak_expr_eval(ak_value *out, const ak_expr *expr, const ak_scope *scope, ak_arena *arena,
                       ak_error *err)
{
    walk w;
    w.expr = expr;
    w.scope = scope;
    w.values = NULL;
    w.arena = arena;
    w.steps = 0;
    w.err = err;
    ak_value result;
    ak_status status = eval(&result, expr->root, &w);
    if (status == AK_OK) {
        *out = result;
    }
    return status;
}

ak_status ak_expr_eval_node(ak_value *out, size_t *steps, const ak_expr *expr, const ak_node *node,
                            const ak_value *values, ak_arena *arena, ak_error *err)
{
    walk w;
    w.expr = expr;
    w.scope = NULL;
    w.values = values;
    w.arena = arena;
    w.steps = 0;
    w.err = err;
    ak_status status = eval(out, node, &w);
    *steps = w.steps;
    return status;
}

/* ---- parse and evaluate at once -------------------------------------------------------------- */

typedef enum wanted { WANT_INT, WANT_REAL, WANT_BOOL } wanted;

static ak_status eval_text(ak_value *out, const char *text, const ak_scope *scope,
                           const char *where, wanted kind, ak_error *err)
{
    ak_expr *expr = NULL;
    ak_value value;
    ak_arena *arena = ak_arena_new();
    ak_status status = arena == NULL ? ak_fail_memory(err) : ak_expr_parse(&expr, text, where, err);
    if (status == AK_OK) {
        status = ak_expr_eval(&value, expr, scope, arena, err);
    }
    if (status != AK_OK) {
        goto out;
    }
    number x;
    int64_t whole;
    if (kind == WANT_BOOL) {
        (void)give_bool(out, ak_value_truth(&value));
    } else if (!as_number(&x, &value)) {
        status = ak_fail(err, AK_INVALID, "%s: \"%.160s\" must be a number", where, text);
    } else if (kind == WANT_REAL) {
        *out = (ak_value){.type = AK_VALUE_REAL, .as.real = x.r};
    } else if (!x.real) {
        (void)give_int(out, x.i);
    } else if (x.r == trunc(x.r) && ak_real_to_int(&whole, x.r)) {
        (void)give_int(out, whole);
    } else {
        status = ak_fail(err, AK_INVALID, "%s: \"%.160s\" must be a whole number", where, text);
    }
out:
    ak_expr_free(expr);
    ak_arena_free(arena);
    return status;
}

ak_status ak_expr_int(int64_t *out, const char *text, const ak_scope *scope, const char *where,
                      ak_error *err)
{
    ak_value value;
    ak_status status = eval_text(&value, text, scope, where, WANT_INT, err);
    if (status == AK_OK) {
        *out = value.as.integer;
    }
    return status;
}

ak_status ak_expr_real(double *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err)
{
    ak_value value;
    ak_status status = eval_text(&value, text, scope, where, WANT_REAL, err);
    if (status == AK_OK) {
        *out = value.as.real;
    }
    return status;
}

ak_status ak_expr_bool(bool *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err)
{
    ak_value value;
    ak_status status = eval_text(&value, text, scope, where, WANT_BOOL, err);
    if (status == AK_OK) {
        *out = value.as.boolean;
    }
    return status;
}
