#include "space/diagram.h"

typedef struct compiler {
    ak_symbols *symbols;
    const ak_code_source *source;
    ak_arena *scratch;
    ak_binding whole; /* every parameter over its whole range */
    ak_error *err;
    ak_status status; /* AK_OK, or the failure: AK_NO_MEMORY or AK_LIMIT */
} compiler;

/* The compiling functions below return NULL if the part cannot be typed, or after a failure, which
   sets c->status. */
static ak_code *compile(compiler *c, const ak_node *node, bool truth);

static ak_code *new_code(compiler *c, ak_code_kind kind, ak_cell_type type)
{
    ak_code *code = ak_arena_alloc(c->symbols->arena, sizeof *code);
    if (code == NULL) {
        c->status = ak_fail_memory(c->err);
        return NULL;
    }
    code->kind = kind;
    code->type = type;
    return code;
}

static bool is_constant(const compiler *c, const ak_node *node)
{
    /* The variable of a comprehension counts as constant, because no part of a comprehension is
       compiled by itself. */
    if (node->kind == AK_NODE_NAME && c->source->parameter_of[node->slot] != AK_PARAMETERS_MAX) {
        return false;
    }
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        if (!is_constant(c, child)) {
            return false;
        }
    }
    return true;
}

static ak_code *constant_of(compiler *c, const ak_value *value)
{
    if (value->type == AK_VALUE_LIST) {
        return NULL;
    }
    ak_cell cell = {0};
    ak_cell_type type = AK_CELL_INT;
    c->status = ak_symbols_cell(&cell, &type, c->symbols, value, c->err);
    ak_code *code = c->status == AK_OK ? new_code(c, AK_CODE_CONSTANT, type) : NULL;
    if (code != NULL) {
        code->value = cell;
    }
    return code;
}

/* Evaluates a constant part. Returns false if the evaluation fails, or with c->status set if memory
   or AK_FOLD_STEPS_MAX is exhausted. */
static bool fold(ak_value *out, compiler *c, const ak_node *node)
{
    ak_error ignored = AK_ERROR_INIT;
    ak_arena_reset(c->scratch);
    size_t steps;
    ak_status status = ak_expr_eval_node(out, &steps, c->source->expr, node, c->source->values,
                                         c->scratch, &ignored);
    c->symbols->folded += steps;
    if (status == AK_NO_MEMORY) {
        c->status = ak_fail_memory(c->err);
    } else if (c->symbols->folded > AK_FOLD_STEPS_MAX) {
        c->status = ak_fail(c->err, AK_LIMIT,
                            "%s: the constant parts of the conditions take more than %u steps",
                            c->source->expr->where, AK_FOLD_STEPS_MAX);
    }
    return status == AK_OK && c->status == AK_OK;
}

static ak_code *compile_constant(compiler *c, const ak_node *node, bool truth)
{
    ak_value value;
    if (!fold(&value, c, node)) {
        return c->status == AK_OK ? new_code(c, AK_CODE_FAIL, AK_CELL_INT) : NULL;
    }
    if (truth) {
        value = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = ak_value_truth(&value)};
    }
    return constant_of(c, &value);
}

static ak_code *wrap(compiler *c, ak_code_kind kind, ak_cell_type type, ak_code *child)
{
    ak_code *code = child == NULL ? NULL : new_code(c, kind, type);
    if (code != NULL) {
        code->child = child;
    }
    return code;
}

static ak_code *pair(compiler *c, ak_code_kind kind, ak_cell_type type, ak_code *a, ak_code *b)
{
    ak_code *code = a == NULL || b == NULL ? NULL : wrap(c, kind, type, a);
    if (code != NULL) {
        a->next = b;
    }
    return code;
}

static ak_code *to_real(compiler *c, ak_code *code)
{
    if (code == NULL || code->type == AK_CELL_REAL) {
        return code;
    }
    return code->type == AK_CELL_INT ? wrap(c, AK_CODE_TO_REAL, AK_CELL_REAL, code) : NULL;
}

/* Compiles a number. Returns NULL also for a text, which has no arithmetic in typed code. */
static ak_code *compile_number(compiler *c, const ak_node *node)
{
    ak_code *code = compile(c, node, false);
    return code != NULL && code->type == AK_CELL_TEXT ? NULL : code;
}

/* Compiles a node and its later siblings to a list, as values or as truths. Returns NULL if there
   is no node or if any of them cannot be typed. */
static ak_code *compile_list(compiler *c, const ak_node *first, bool truth)
{
    ak_code *head = NULL, **tail = &head;
    for (; first != NULL; first = first->next) {
        ak_code *code = compile(c, first, truth);
        if (code == NULL || (truth && code->type == AK_CELL_TEXT)) {
            return NULL;
        }
        *tail = code;
        tail = &code->next;
    }
    return head;
}

/* Compiles a sum or a product from left to right, as Python evaluates it: ints stay ints until
   the first real or /. */
static ak_code *compile_chain(compiler *c, const ak_node *node)
{
    ak_code_kind kind = node->kind == AK_NODE_SUM ? AK_CODE_SUM : AK_CODE_PRODUCT;
    ak_code *total = compile_number(c, node->child);
    ak_code *last = NULL; /* last operand of `total`; NULL if `total` cannot take another */
    for (const ak_node *child = node->child->next; child != NULL && total != NULL;
         child = child->next) {
        ak_code *next = compile_number(c, child);
        if (next == NULL) {
            return NULL;
        }
        if (total->type == AK_CELL_INT && next->type == AK_CELL_INT && child->op == AK_OP_DIVIDE) {
            total = pair(c, AK_CODE_INT_DIVIDE, AK_CELL_REAL, total, next);
            last = NULL;
            continue;
        }
        bool real = total->type == AK_CELL_REAL || next->type == AK_CELL_REAL;
        if (real && total->type == AK_CELL_INT) {
            last = NULL;
            total = to_real(c, total);
        }
        next = real ? to_real(c, next) : next;
        if (total == NULL || next == NULL) {
            return NULL;
        }
        next->op = child->op;
        if (last == NULL) {
            total = pair(c, kind, real ? AK_CELL_REAL : AK_CELL_INT, total, next);
        } else {
            last->next = next;
        }
        last = next;
    }
    return total;
}

static ak_code *compile_power(compiler *c, const ak_node *node)
{
    ak_code *base = compile_number(c, node->child);
    ak_code *exponent = base == NULL ? NULL : compile_number(c, node->child->next);
    if (exponent == NULL) {
        return NULL;
    }
    if (base->type == AK_CELL_INT && exponent->type == AK_CELL_INT) {
        /* A negative exponent would give a real, so that the type would depend on the values. */
        ak_span span = ak_code_span(exponent, &c->whole);
        return span.low.i < 0 ? NULL : pair(c, AK_CODE_POWER, AK_CELL_INT, base, exponent);
    }
    return pair(c, AK_CODE_POWER, AK_CELL_REAL, to_real(c, base), to_real(c, exponent));
}

static ak_code *compile_in(compiler *c, const ak_node *item, const ak_node *list)
{
    ak_code *code = wrap(c, AK_CODE_IN, AK_CELL_INT, compile(c, item, false));
    if (code == NULL) {
        return NULL;
    }
    code->negated = list->op == AK_OP_NOT_IN;
    if (list->kind == AK_NODE_LIST) {
        code->child->next = compile_list(c, list->child, false);
        return code->child->next == NULL && list->child != NULL ? NULL : code;
    }
    ak_value value;
    if (!is_constant(c, list) || !fold(&value, c, list) || value.type != AK_VALUE_LIST) {
        return NULL;
    }
    ak_code **tail = &code->child->next;
    for (size_t i = 0; i < value.as.list.count; i++) {
        if (value.as.list.items[i].type == AK_VALUE_LIST) {
            continue; /* a list equals no number or text */
        }
        *tail = constant_of(c, &value.as.list.items[i]);
        if (*tail == NULL) {
            return NULL;
        }
        tail = &(*tail)->next;
    }
    return code;
}

static ak_code *compile_compare(compiler *c, const ak_node *node)
{
    const ak_node *second = node->child->next;
    if (second->op == AK_OP_IN || second->op == AK_OP_NOT_IN) {
        return second->next == NULL ? compile_in(c, node->child, second) : NULL;
    }
    ak_code *left = compile(c, node->child, false);
    ak_code *code = wrap(c, AK_CODE_COMPARE, AK_CELL_INT, left);
    for (const ak_node *child = second; child != NULL && code != NULL; child = child->next) {
        ak_code *right = compile(c, child, false);
        if (right == NULL || child->op == AK_OP_IN || child->op == AK_OP_NOT_IN) {
            return NULL;
        }
        bool text = left->type == AK_CELL_TEXT || right->type == AK_CELL_TEXT;
        if (text && child->op != AK_OP_EQUAL && child->op != AK_OP_NOT_EQUAL) {
            /* texts are numbered as they appear, so the order of their numbers means nothing */
            return NULL;
        }
        right->op = child->op;
        left->next = right;
        left = right;
    }
    return code;
}

static ak_code *compile_if(compiler *c, const ak_node *node, bool truth)
{
    ak_code *condition = compile(c, node->child, true);
    ak_code *yes = condition == NULL ? NULL : compile(c, node->child->next, truth);
    ak_code *no = yes == NULL ? NULL : compile(c, node->child->next->next, truth);
    if (no == NULL || condition->type == AK_CELL_TEXT) {
        return NULL;
    }
    if (yes->type != no->type) {
        if (!truth || yes->type == AK_CELL_TEXT || no->type == AK_CELL_TEXT) {
            return NULL;
        }
        yes = wrap(c, AK_CODE_AND, AK_CELL_INT, yes); /* the truth as 0 or 1 */
        no = wrap(c, AK_CODE_AND, AK_CELL_INT, no);
    }
    ak_code *code = no == NULL ? NULL : pair(c, AK_CODE_IF, no->type, condition, yes);
    if (code != NULL) {
        yes->next = no;
    }
    return code;
}

static ak_code *compile_call(compiler *c, const ak_node *node)
{
    ak_code *first = compile_list(c, node->child, false);
    if (first == NULL) {
        return NULL;
    }
    bool is_int = first->type == AK_CELL_INT;
    for (const ak_code *code = first; code != NULL; code = code->next) {
        if (code->type != first->type || code->type == AK_CELL_TEXT) {
            return NULL;
        }
    }
    ak_code *code;
    switch (node->function) {
    case AK_FUNCTION_MIN:
    case AK_FUNCTION_MAX:
        return first->next == NULL
                   ? NULL
                   : wrap(c, node->function == AK_FUNCTION_MIN ? AK_CODE_MIN : AK_CODE_MAX,
                          first->type, first);
    case AK_FUNCTION_ABS:
        return wrap(c, AK_CODE_ABS, first->type, first);
    case AK_FUNCTION_FLOAT:
        return to_real(c, first);
    case AK_FUNCTION_SQRT:
    case AK_FUNCTION_LOG2:
        code = wrap(c, AK_CODE_CALL, AK_CELL_REAL, to_real(c, first));
        break;
    case AK_FUNCTION_CEIL:
    case AK_FUNCTION_FLOOR:
    case AK_FUNCTION_ROUND:
    case AK_FUNCTION_INT:
        if (is_int) {
            return first;
        }
        code = wrap(c, AK_CODE_CALL, AK_CELL_INT, first);
        break;
    default:
        return NULL;
    }
    if (code != NULL) {
        code->function = node->function;
    }
    return code;
}

/* Compiles a part as a value or, with `truth`, as true or false. */
static ak_code *compile(compiler *c, const ak_node *node, bool truth)
{
    if (is_constant(c, node)) {
        return compile_constant(c, node, truth);
    }
    ak_code *code, *child;
    switch (node->kind) {
    case AK_NODE_NAME:
        code = new_code(c, AK_CODE_PARAMETER, AK_CELL_INT);
        if (code != NULL) {
            code->slot = c->source->parameter_of[node->slot];
            code->type = c->symbols->type[code->slot];
        }
        return code;
    case AK_NODE_OR:
    case AK_NODE_AND:
        /* As a value, `or` and `and` would give one of their operands, of whatever type. */
        child = truth ? compile_list(c, node->child, true) : NULL;
        return wrap(c, node->kind == AK_NODE_OR ? AK_CODE_OR : AK_CODE_AND, AK_CELL_INT, child);
    case AK_NODE_NOT:
        child = compile_list(c, node->child, true);
        return wrap(c, AK_CODE_NOT, AK_CELL_INT, child);
    case AK_NODE_NEGATE:
        child = compile_number(c, node->child);
        return child == NULL ? NULL : wrap(c, AK_CODE_NEGATE, child->type, child);
    case AK_NODE_SUM:
    case AK_NODE_PRODUCT:
        return compile_chain(c, node);
    case AK_NODE_POWER:
        return compile_power(c, node);
    case AK_NODE_COMPARE:
        return compile_compare(c, node);
    case AK_NODE_IF:
        return compile_if(c, node, truth);
    case AK_NODE_CALL:
        return compile_call(c, node);
    case AK_NODE_CONSTANT:
    case AK_NODE_LOCAL:
    case AK_NODE_LIST:
    case AK_NODE_COMPREHENSION:
        break;
    }
    return NULL;
}

ak_status ak_code_compile(const ak_code **out, const ak_code_source *source, const ak_node *node,
                          ak_symbols *symbols, ak_arena *scratch, ak_error *err)
{
    compiler c = {.symbols = symbols, .source = source, .scratch = scratch, .err = err};
    for (size_t p = 0; p < symbols->count; p++) {
        ak_binding_free(&c.whole, symbols, p);
    }
    const ak_code *code = compile(&c, node, true);
    *out = code == NULL || code->type == AK_CELL_TEXT ? NULL : code;
    return c.status;
}
