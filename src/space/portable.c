#include "space/portable.h"

#include <string.h>

#include "space/expr_tree.h"

/* Some parts are written more than once (the y in x < y < z), and nesting multiplies the copies, so
   the length is limited. */
#define TOKENS_MAX 512
/* Largest exponent: a power is written as a product of that many copies of its base. */
#define POWER_MAX 4

typedef struct writer {
    json_t *tokens;
    const ak_expr *expr;
    const ak_value *values; /* the value of each name, by slot */
    const bool *open;       /* for each name, by slot: it stays a name */
    ak_arena *arena;
    bool whole; /* what is written next must be a whole number */
    ak_error *err;
} writer;

static ak_status cannot(const writer *w, const char *why)
{
    return ak_fail(w->err, AK_INVALID, "%s: \"%.160s\": %s", w->expr->where, w->expr->text, why);
}

static ak_status put(writer *w, json_t *token)
{
    if (json_array_size(w->tokens) >= TOKENS_MAX) {
        json_decref(token);
        return cannot(w, "it is too long");
    }
    return ak_stored(ak_json_append(w->tokens, token), w->err);
}

static ak_status put_word(writer *w, const char *word)
{
    return put(w, json_string(word));
}

static bool is_open(const writer *w, const ak_node *node)
{
    if (node->kind == AK_NODE_NAME && w->open[node->slot]) {
        return true;
    }
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        if (is_open(w, child)) {
            return true;
        }
    }
    return false;
}

/* Evaluates a part without open names. */
static ak_status value_of(ak_value *out, const writer *w, const ak_node *node)
{
    size_t steps;
    return ak_expr_eval_node(out, &steps, w->expr, node, w->values, w->arena, w->err);
}

static ak_status put_value(writer *w, const ak_value *value)
{
    if (value->type == AK_VALUE_INT) {
        return put(w, json_integer(value->as.integer));
    }
    int64_t whole;
    if (value->type == AK_VALUE_REAL && ak_real_to_int(&whole, value->as.real) &&
        (double)whole == value->as.real) {
        return put(w, json_integer(whole));
    }
    return value->type == AK_VALUE_BOOL ? put(w, json_integer(value->as.boolean ? 1 : 0))
                                        : cannot(w, "it needs more than whole numbers");
}

static ak_status write(writer *w, const ak_node *node);

/* Writes an operation on one or more operands, two operands at a time. */
static ak_status write_fold(writer *w, const ak_node *first, const char *word)
{
    AK_DO(write(w, first));
    for (const ak_node *child = first->next; child != NULL; child = child->next) {
        AK_DO(write(w, child));
        AK_DO(put_word(w, word));
    }
    return AK_OK;
}

static const char *word_of(ak_op op)
{
    static const char *const words[] = {
        [AK_OP_ADD] = "+",           [AK_OP_SUBTRACT] = "-",  [AK_OP_MULTIPLY] = "*",
        [AK_OP_FLOOR_DIVIDE] = "//", [AK_OP_MODULO] = "%",    [AK_OP_LESS] = "<",
        [AK_OP_LESS_EQUAL] = "<=",   [AK_OP_GREATER] = ">",   [AK_OP_GREATER_EQUAL] = ">=",
        [AK_OP_EQUAL] = "==",        [AK_OP_NOT_EQUAL] = "!="};
    return (size_t)op < AK_COUNT(words) ? words[op] : NULL;
}

static ak_status write_chain(writer *w, const ak_node *node)
{
    AK_DO(write(w, node->child));
    for (const ak_node *child = node->child->next; child != NULL; child = child->next) {
        const char *word = word_of(child->op);
        AK_DO(word == NULL ? cannot(w, "a true division has no whole number here; write // for /")
                           : AK_OK);
        AK_DO(write(w, child));
        AK_DO(put_word(w, word));
    }
    return AK_OK;
}

/* Writes "x in [1, 2]" as "x == 1 or x == 2". */
static ak_status write_in(writer *w, const ak_node *left, const ak_node *right)
{
    ak_value list;
    AK_DO(is_open(w, right) ? cannot(w, "the list after \"in\" is not known") : AK_OK);
    AK_DO(value_of(&list, w, right));
    AK_DO(list.type != AK_VALUE_LIST ? cannot(w, "\"in\" needs a list") : AK_OK);
    AK_DO(put(w, json_integer(0)));
    for (size_t i = 0; i < list.as.list.count; i++) {
        AK_DO(write(w, left));
        AK_DO(put_value(w, &list.as.list.items[i]));
        AK_DO(put_word(w, "=="));
        AK_DO(put_word(w, "or()"));
    }
    return right->op == AK_OP_NOT_IN ? put_word(w, "not()") : AK_OK;
}

/* Writes "a < b < c" as "a < b and b < c". */
static ak_status write_compare(writer *w, const ak_node *node)
{
    for (const ak_node *left = node->child; left->next != NULL; left = left->next) {
        const ak_node *right = left->next;
        if (right->op == AK_OP_IN || right->op == AK_OP_NOT_IN) {
            AK_DO(write_in(w, left, right));
        } else {
            AK_DO(write(w, left));
            AK_DO(write(w, right));
            AK_DO(put_word(w, word_of(right->op)));
        }
        AK_DO(left == node->child ? AK_OK : put_word(w, "and()"));
    }
    return AK_OK;
}

/* Writes "yes if condition else no". If the condition is known, writes only the value that it
   chooses. */
static ak_status write_if(writer *w, const ak_node *node)
{
    const ak_node *condition = node->child, *yes = condition->next, *no = yes->next;
    if (!is_open(w, condition)) {
        ak_value value;
        AK_DO(value_of(&value, w, condition));
        return write(w, ak_value_truth(&value) ? yes : no);
    }
    AK_DO(write(w, condition));
    AK_DO(write(w, yes));
    AK_DO(write(w, no));
    return put_word(w, "if()");
}

/* Returns whether a node is a product with divisions, all of which are true ones. */
static bool is_quotient(const ak_node *node)
{
    bool divides = false;
    for (const ak_node *n = node->kind == AK_NODE_PRODUCT ? node->child->next : NULL; n != NULL;
         n = n->next) {
        if (n->op != AK_OP_MULTIPLY && n->op != AK_OP_DIVIDE) {
            return false;
        }
        divides = divides || n->op == AK_OP_DIVIDE;
    }
    return divides;
}

/* Writes the product of a quotient's numerators, or that of its denominators. */
static ak_status write_side(writer *w, const ak_node *quotient, bool denominators)
{
    bool first = true;
    for (const ak_node *child = quotient->child; child != NULL; child = child->next) {
        if ((child->op == AK_OP_DIVIDE) == denominators) {
            AK_DO(write(w, child));
            AK_DO(first ? AK_OK : put_word(w, "*"));
            first = false;
        }
    }
    return AK_OK;
}

/* Writes floor(a/b) as a//b, and ceil(a/b) as -(-a//b). */
static ak_status write_quotient(writer *w, const ak_node *quotient, bool up)
{
    AK_DO(write_side(w, quotient, false));
    AK_DO(up ? put_word(w, "neg()") : AK_OK);
    AK_DO(write_side(w, quotient, true));
    AK_DO(put_word(w, "//"));
    return up ? put_word(w, "neg()") : AK_OK;
}

/* Writes a/b, which must be a whole number, as a//(b*(a % b == 0)). If there is a remainder, this
   divides by zero and so has no value. */
static ak_status write_exact(writer *w, const ak_node *quotient)
{
    AK_DO(write_side(w, quotient, false));
    AK_DO(write_side(w, quotient, true));
    AK_DO(write_side(w, quotient, false));
    AK_DO(write_side(w, quotient, true));
    AK_DO(put_word(w, "%"));
    AK_DO(put(w, json_integer(0)));
    AK_DO(put_word(w, "=="));
    AK_DO(put_word(w, "*"));
    return put_word(w, "//");
}

static ak_status write_call(writer *w, const ak_node *node)
{
    const ak_node *first = node->child;
    switch (node->function) {
    case AK_FUNCTION_MIN:
    case AK_FUNCTION_MAX:
        first = first->next == NULL && first->kind == AK_NODE_LIST ? first->child : first;
        if (first != NULL && (first->next != NULL || node->child->kind == AK_NODE_LIST)) {
            return write_fold(w, first, node->function == AK_FUNCTION_MIN ? "min()" : "max()");
        }
        break;
    case AK_FUNCTION_ABS:
        AK_DO(write(w, first));
        return put_word(w, "abs()");
    case AK_FUNCTION_CEIL:
    case AK_FUNCTION_FLOOR:
        if (is_quotient(first)) {
            return write_quotient(w, first, node->function == AK_FUNCTION_CEIL);
        }
        return write(w, first); /* a whole number stays as it is */
    case AK_FUNCTION_INT:
    case AK_FUNCTION_ROUND:
        return write(w, first);
    default:
        break;
    }
    return cannot(w, "it needs lists or numbers that are not whole");
}

static ak_status write_power(writer *w, const ak_node *node)
{
    ak_value exponent;
    const ak_node *base = node->child;
    AK_DO(is_open(w, base->next) ? cannot(w, "the exponent is not known") : AK_OK);
    AK_DO(value_of(&exponent, w, base->next));
    if (exponent.type != AK_VALUE_INT || exponent.as.integer < 1 ||
        exponent.as.integer > POWER_MAX) {
        return cannot(w, "such a power cannot be written as products");
    }
    AK_DO(write(w, base));
    for (int64_t i = 1; i < exponent.as.integer; i++) {
        AK_DO(write(w, base));
        AK_DO(put_word(w, "*"));
    }
    return AK_OK;
}

static ak_status write_one(writer *w, const ak_node *operand, const char *word)
{
    AK_DO(write(w, operand));
    return put_word(w, word);
}

static ak_status write_node(writer *w, const ak_node *node, bool whole)
{
    switch (node->kind) {
    case AK_NODE_NAME:
        return put_word(w, w->expr->names[node->slot]);
    case AK_NODE_OR:
        return write_fold(w, node->child, "or()");
    case AK_NODE_AND:
        return write_fold(w, node->child, "and()");
    case AK_NODE_NOT:
        return write_one(w, node->child, "not()");
    case AK_NODE_NEGATE:
        return write_one(w, node->child, "neg()");
    case AK_NODE_SUM:
    case AK_NODE_PRODUCT:
        return whole && is_quotient(node) ? write_exact(w, node) : write_chain(w, node);
    case AK_NODE_POWER:
        return write_power(w, node);
    case AK_NODE_COMPARE:
        return write_compare(w, node);
    case AK_NODE_IF:
        return write_if(w, node);
    case AK_NODE_CALL:
        return write_call(w, node);
    default:
        return cannot(w, "it needs a list");
    }
}

static ak_status write(writer *w, const ak_node *node)
{
    const bool whole = w->whole;
    if (!is_open(w, node)) {
        ak_value value;
        AK_DO(value_of(&value, w, node));
        return put_value(w, &value);
    }
    w->whole = whole && (node->kind == AK_NODE_SUM || node->kind == AK_NODE_NEGATE ||
                         node->kind == AK_NODE_IF);
    ak_status status = write_node(w, node, whole);
    w->whole = whole;
    return status;
}

static ak_status write_program(writer *w, const ak_program_names *known)
{
    const char *const *names;
    size_t name_count = ak_expr_names(&names, w->expr);
    AK_FREED ak_value *values = ak_alloc(name_count + 1, sizeof *values);
    AK_FREED bool *stays = ak_alloc(name_count + 1, sizeof *stays);
    ak_status status = ak_stored(values != NULL && stays != NULL, w->err);
    for (size_t i = 0; i < name_count && status == AK_OK; i++) {
        stays[i] = AK_HAS_TEXT(known->open, known->open_count, names[i]);
        if (!stays[i] && !ak_scope_get(&values[i], known->scope, names[i])) {
            status = cannot(w, "a name in it is not known");
        }
    }
    w->values = values;
    w->open = stays;
    return status == AK_OK ? write(w, w->expr->root) : status;
}

static void writer_clear(writer *w)
{
    json_decref(w->tokens);
    ak_arena_free(w->arena);
}

ak_status ak_program_of(json_t **out, const char *text, const ak_program_names *names,
                        ak_error *err)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    AK_AT_END(writer_clear)
    writer w = {.tokens = json_array(), .arena = ak_arena_new(), .whole = names->whole, .err = err};
    AK_DO(ak_stored(w.tokens != NULL && w.arena != NULL, err));
    AK_DO(ak_expr_parse(&expr, text, names->where, err));
    w.expr = expr;
    AK_DO(write_program(&w, names));
    AK_GIVE(out, w.tokens);
    return AK_OK;
}
