/* expr_walk.c: evaluates a tree by walking it. Every node costs a step, and so do list items and
   pieces of text (expr_ops.c), so that a short text cannot demand much work (AK_EXPR_STEPS_MAX). */
#include "space/expr_tree.h"

#include <math.h>
#include <string.h>

static ak_status eval(ak_value *out, const ak_node *node, ak_walk *w);

static ak_status call(ak_value *out, const ak_node *node, ak_walk *w)
{
    /* Most calls have few arguments; more than three go into a list in the arena. */
    ak_value few[3] = {{0}}, *argument = few, unused;
    const size_t count = ak_node_children(node);
    AK_DO(count > 3 ? ak_give_list(&unused, &argument, count, w) : AK_OK);
    size_t i = 0;
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        AK_DO(eval(&argument[i++], child, w));
    }
    return ak_apply_function(out, node->function, argument, count, w);
}

static ak_status eval_list(ak_value *out, const ak_node *node, ak_walk *w)
{
    ak_value *items;
    AK_DO(ak_give_list(out, &items, ak_node_children(node), w));
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        AK_DO(eval(items++, child, w));
    }
    return AK_OK;
}

static ak_status eval_comprehension(ak_value *out, const ak_node *node, ak_walk *w)
{
    const ak_node *element = node->child->next;
    ak_value list, *items;
    AK_DO(eval(&list, node->child, w));
    if (list.type != AK_VALUE_LIST) {
        return ak_walk_fault(w, "\"for\" needs a list");
    }
    AK_DO(ak_give_list(out, &items, list.as.list.count, w));
    out->as.list.count = 0;
    for (size_t i = 0; i < list.as.list.count; i++) {
        bool wanted = true;
        w->local[node->slot] = list.as.list.items[i];
        for (const ak_node *test = element->next; test != NULL && wanted; test = test->next) {
            ak_value truth;
            AK_DO(eval(&truth, test, w));
            wanted = ak_value_truth(&truth);
        }
        AK_DO(wanted ? eval(&items[out->as.list.count], element, w) : AK_OK);
        out->as.list.count += wanted ? 1 : 0;
    }
    return AK_OK;
}

static ak_status eval_compare(ak_value *out, const ak_node *node, ak_walk *w)
{
    ak_value left, right;
    bool holds = true;
    AK_DO(eval(&left, node->child, w));
    for (const ak_node *child = node->child->next; child != NULL && holds; child = child->next) {
        AK_DO(eval(&right, child, w));
        AK_DO(ak_apply_compare(&holds, child->op, &left, &right, w));
        left = right;
    }
    return ak_give_bool(out, holds);
}

static ak_status eval_chain(ak_value *out, const ak_node *node, ak_walk *w)
{
    AK_DO(eval(out, node->child, w));
    for (const ak_node *child = node->child->next; child != NULL; child = child->next) {
        ak_value left = *out, right;
        AK_DO(eval(&right, child, w));
        AK_DO(ak_apply_arithmetic(out, child->op, &left, &right, w));
    }
    return AK_OK;
}

static ak_status eval_name(ak_value *out, const ak_node *node, ak_walk *w)
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

/* Gives the value of a part, which it computes if this has not been done, or of a comprehension's
   variable. */
static ak_status eval_local(ak_value *out, size_t slot, ak_walk *w)
{
    if (slot < w->expr->part_count && !w->known[slot]) {
        ak_value value;
        AK_DO(eval(&value, w->expr->part[slot].root, w));
        w->local[slot] = value;
        w->known[slot] = true;
    }
    *out = w->local[slot];
    return AK_OK;
}

/* Computes -x as 0 - x. A real is negated directly, because 0 - 0.0 is not -0.0. */
static ak_status eval_negate(ak_value *out, const ak_node *operand, ak_walk *w)
{
    ak_value value, zero;
    AK_DO(eval(&value, operand, w));
    if (value.type == AK_VALUE_REAL) {
        return ak_give_real(out, -value.as.real, w);
    }
    (void)ak_give_int(&zero, 0);
    return ak_apply_arithmetic(out, AK_OP_SUBTRACT, &zero, &value, w);
}

static ak_status eval(ak_value *out, const ak_node *node, ak_walk *w)
{
    AK_DO(ak_walk_spend(w, 1));
    ak_value a, b;
    switch (node->kind) {
    case AK_NODE_CONSTANT:
        *out = node->value;
        return AK_OK;
    case AK_NODE_NAME:
        return eval_name(out, node, w);
    case AK_NODE_LOCAL:
        return eval_local(out, node->slot, w);
    case AK_NODE_LIST:
        return eval_list(out, node, w);
    case AK_NODE_OR:
    case AK_NODE_AND:
        for (const ak_node *child = node->child; child != NULL; child = child->next) {
            AK_DO(eval(out, child, w));
            if (ak_value_truth(out) == (node->kind == AK_NODE_OR)) {
                break;
            }
        }
        return AK_OK;
    case AK_NODE_NOT:
        AK_DO(eval(&a, node->child, w));
        return ak_give_bool(out, !ak_value_truth(&a));
    case AK_NODE_NEGATE:
        return eval_negate(out, node->child, w);
    case AK_NODE_SUM:
    case AK_NODE_PRODUCT:
        return eval_chain(out, node, w);
    case AK_NODE_POWER:
        AK_DO(eval(&a, node->child, w));
        AK_DO(eval(&b, node->child->next, w));
        return ak_apply_power(out, &a, &b, w);
    case AK_NODE_COMPARE:
        return eval_compare(out, node, w);
    case AK_NODE_IF:
        AK_DO(eval(&a, node->child, w));
        return eval(out, ak_value_truth(&a) ? node->child->next : node->child->next->next, w);
    case AK_NODE_CALL:
        return call(out, node, w);
    case AK_NODE_COMPREHENSION:
        return eval_comprehension(out, node, w);
    }
    return ak_fail(w->err, AK_INTERNAL, "%s: unknown node", w->expr->where);
}

/* Begins a walk without names. What is not read before it is written stays unset, because a walk is
   large. */
static void begin(ak_walk *w, const ak_expr *expr, ak_arena *arena, ak_error *err)
{
    w->expr = expr;
    w->scope = NULL;
    w->values = NULL;
    w->arena = arena;
    w->steps = 0;
    memset(w->known, 0, expr->part_count * sizeof *w->known);
    w->err = err;
}

ak_status ak_expr_eval(ak_value *out, const ak_expr *expr, const ak_scope *scope, ak_arena *arena,
                       ak_error *err)
{
    ak_walk w;
    ak_value result;
    begin(&w, expr, arena, err);
    w.scope = scope;
    AK_DO(eval(&result, expr->root, &w));
    *out = result;
    return AK_OK;
}

ak_status ak_expr_eval_node(ak_value *out, size_t *steps, const ak_expr *expr, const ak_node *node,
                            const ak_value *values, ak_arena *arena, ak_error *err)
{
    ak_walk w;
    begin(&w, expr, arena, err);
    w.values = values;
    ak_status status = eval(out, node, &w);
    *steps = w.steps;
    return status;
}

/* ---- parse and evaluate at once -------------------------------------------------------------- */

typedef enum wanted { WANT_INT, WANT_REAL, WANT_BOOL } wanted;

static ak_status eval_text(ak_value *out, const char *text, const ak_scope *scope,
                           const char *where, wanted kind, ak_error *err)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    ak_value value;
    AK_AT_END(ak_arena_free_at) ak_arena *arena = ak_arena_new();
    AK_DO(arena == NULL ? ak_fail_memory(err) : ak_expr_parse(&expr, text, where, err));
    AK_DO(ak_expr_eval(&value, expr, scope, arena, err));
    ak_number x;
    int64_t whole;
    if (kind == WANT_BOOL) {
        (void)ak_give_bool(out, ak_value_truth(&value));
    } else if (!ak_number_of(&x, &value)) {
        return ak_fail(err, AK_INVALID, "%s: \"%.160s\" must be a number", where, text);
    } else if (kind == WANT_REAL) {
        *out = (ak_value){.type = AK_VALUE_REAL, .as.real = x.r};
    } else if (!x.real) {
        (void)ak_give_int(out, x.i);
    } else if (x.r == trunc(x.r) && ak_real_to_int(&whole, x.r)) {
        (void)ak_give_int(out, whole);
    } else {
        return ak_fail(err, AK_INVALID, "%s: \"%.160s\" must be a whole number", where, text);
    }
    return AK_OK;
}

ak_status ak_expr_int(int64_t *out, const char *text, const ak_scope *scope, const char *where,
                      ak_error *err)
{
    ak_value value = {0};
    AK_DO(eval_text(&value, text, scope, where, WANT_INT, err));
    *out = value.as.integer;
    return AK_OK;
}

ak_status ak_expr_real(double *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err)
{
    ak_value value = {0};
    AK_DO(eval_text(&value, text, scope, where, WANT_REAL, err));
    *out = value.as.real;
    return AK_OK;
}

ak_status ak_expr_bool(bool *out, const char *text, const ak_scope *scope, const char *where,
                       ak_error *err)
{
    ak_value value;
    AK_DO(eval_text(&value, text, scope, where, WANT_BOOL, err));
    *out = value.as.boolean;
    return AK_OK;
}
