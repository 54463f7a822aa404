/* expr_parse.c: parses tokens into a tree by recursive descent, with one function for each level
   of precedence, lowest first. Names are resolved in a second pass, because a comprehension uses
   its variable before it binds it. */
#include "space/expr_tree.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name;
    size_t least, most;
} functions[] = {
#define FUNCTION_ROW(name, text, least, most) {text, least, most},
    AK_FUNCTION_MAP(FUNCTION_ROW)
#undef FUNCTION_ROW
};

static ak_node *new_node(ak_parser *p, ak_node_kind kind)
{
    ak_node *node = ak_arena_alloc(p->expr->arena, sizeof *node);
    if (node == NULL) {
        return ak_lex_no_memory(p);
    }
    node->kind = kind;
    return node;
}

/* ---- grammar --------------------------------------------------------------------------------- */

static ak_node *parse_any(ak_parser *p);
static ak_node *parse_or(ak_parser *p);

static bool enter(ak_parser *p)
{
    if (p->depth == AK_EXPR_DEPTH_MAX) {
        if (p->status == AK_OK) {
            p->status = ak_fail(p->err, AK_LIMIT, "%s: the expression is nested deeper than %d",
                                p->expr->where, AK_EXPR_DEPTH_MAX);
        }
        return false;
    }
    p->depth++;
    p->deepest = p->depth > p->deepest ? p->depth : p->deepest;
    return true;
}

/* Reads `for NAME in LIST if CONDITION...` after the element has been read. */
static ak_node *parse_comprehension(ak_parser *p, ak_node *element)
{
    ak_node *node = new_node(p, AK_NODE_COMPREHENSION);
    if (node == NULL || !ak_lex_expect(p, "for")) {
        return NULL;
    }
    if (p->now.kind != AK_TOKEN_NAME || ak_lex_is_keyword(p->now.at, p->now.length)) {
        return ak_lex_fault(p, p->now.at, "a name is expected here");
    }
    node->name = ak_arena_strndup(p->expr->arena, p->now.at, p->now.length);
    if (node->name == NULL) {
        return ak_lex_no_memory(p);
    }
    if (!ak_lex_advance(p) || !ak_lex_expect(p, "in")) {
        return NULL;
    }
    node->child = parse_or(p);
    if (node->child == NULL) {
        return NULL;
    }
    node->child->next = element;
    ak_node **tail = &element->next;
    while (p->status == AK_OK && ak_lex_is(p, "if")) {
        if (!ak_lex_advance(p) || (*tail = parse_or(p)) == NULL) {
            return NULL;
        }
        tail = &(*tail)->next;
    }
    if (ak_lex_is(p, "for")) {
        return ak_lex_fault(p, p->now.at, "a comprehension has only one \"for\"");
    }
    return p->status == AK_OK ? node : NULL;
}

/* Reads items up to and including the closing mark. *comma says whether a comma followed an
   item. */
static ak_node *parse_items(ak_parser *p, ak_node *node, const char *close, bool *comma)
{
    ak_node **tail = &node->child;
    *comma = false;
    while (!ak_lex_is(p, close)) {
        ak_node *item = parse_any(p);
        if (item == NULL) {
            return NULL;
        }
        if (ak_lex_is(p, "for") && node->child == NULL) {
            item = parse_comprehension(p, item);
            if (item == NULL) {
                return NULL;
            }
            if (!ak_lex_is(p, close)) {
                return ak_lex_fault(p, p->now.at, "a comprehension has no other item beside it");
            }
        }
        *tail = item;
        tail = &item->next;
        if (ak_lex_is(p, close)) {
            break;
        }
        *comma = true;
        if (!ak_lex_expect(p, ",")) {
            return NULL;
        }
    }
    return ak_lex_advance(p) ? node : NULL;
}

static ak_node *parse_call(ak_parser *p, const ak_token *name)
{
    size_t f = 0;
    while (f < AK_COUNT(functions) && !(strlen(functions[f].name) == name->length &&
                                        memcmp(functions[f].name, name->at, name->length) == 0)) {
        f++;
    }
    if (f == AK_COUNT(functions)) {
        return ak_lex_fault(
            p, name->at,
            "unknown function; there are min max abs sqrt log2 ceil floor round int float "
            "len sum range list");
    }
    ak_node *node = new_node(p, AK_NODE_CALL);
    bool comma;
    if (node == NULL || !ak_lex_advance(p) || parse_items(p, node, ")", &comma) == NULL) {
        return NULL;
    }
    node->function = (ak_function)f;
    const size_t count = ak_node_children(node);
    return count < functions[f].least || count > functions[f].most
               ? ak_lex_fault(p, name->at, "this call has the wrong number of arguments")
               : node;
}

static ak_node *parse_primary(ak_parser *p)
{
    ak_token t = p->now;
    if (t.kind == AK_TOKEN_NUMBER || t.kind == AK_TOKEN_STRING) {
        ak_node *node = new_node(p, AK_NODE_CONSTANT);
        if (node == NULL || !ak_lex_advance(p)) {
            return NULL;
        }
        node->value = t.value;
        return node;
    }
    if (ak_lex_is(p, "True") || ak_lex_is(p, "False")) {
        ak_node *node = new_node(p, AK_NODE_CONSTANT);
        if (node != NULL) {
            node->value = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = ak_lex_is(p, "True")};
        }
        return node != NULL && ak_lex_advance(p) ? node : NULL;
    }
    if (t.kind == AK_TOKEN_NAME && !ak_lex_is_keyword(t.at, t.length)) {
        if (!ak_lex_advance(p)) {
            return NULL;
        }
        if (ak_lex_is(p, "(")) {
            return parse_call(p, &t);
        }
        ak_node *node = new_node(p, AK_NODE_NAME);
        if (node == NULL) {
            return NULL;
        }
        node->name = ak_arena_strndup(p->expr->arena, t.at, t.length);
        return node->name == NULL ? ak_lex_no_memory(p) : node;
    }
    if (ak_lex_is(p, "(") || ak_lex_is(p, "[")) {
        bool round = ak_lex_is(p, "(");
        bool comma;
        ak_node *node = new_node(p, AK_NODE_LIST);
        if (node == NULL || !ak_lex_advance(p) ||
            parse_items(p, node, round ? ")" : "]", &comma) == NULL) {
            return NULL;
        }
        bool one = node->child != NULL && node->child->next == NULL && !comma;
        if (one && (round || node->child->kind == AK_NODE_COMPREHENSION)) {
            /* (x) is x, and [x for ...] is already a list. */
            return node->child;
        }
        return node;
    }
    return ak_lex_fault(p, t.at,
                        t.kind == AK_TOKEN_END ? "the expression ends too early"
                                               : "a value is expected here");
}

static ak_node *parse_unary(ak_parser *p);

static ak_node *parse_power(ak_parser *p)
{
    ak_node *base = parse_primary(p);
    if (base == NULL || !ak_lex_is(p, "**")) {
        return base;
    }
    ak_node *node = new_node(p, AK_NODE_POWER);
    if (node == NULL || !enter(p)) {
        return NULL;
    }
    ak_node *exponent = ak_lex_advance(p) ? parse_unary(p) : NULL;
    p->depth--;
    if (exponent == NULL) {
        return NULL;
    }
    node->child = base;
    base->next = exponent;
    return node;
}

static ak_node *parse_unary(ak_parser *p)
{
    if (!ak_lex_is(p, "-") && !ak_lex_is(p, "+")) {
        return parse_power(p);
    }
    /* +x is parsed as 0 + x, which is x for a number and a fault for anything else. */
    bool negate = ak_lex_is(p, "-");
    ak_node *node = new_node(p, negate ? AK_NODE_NEGATE : AK_NODE_SUM);
    if (node == NULL || !enter(p)) {
        return NULL;
    }
    ak_node *operand = ak_lex_advance(p) ? parse_unary(p) : NULL;
    p->depth--;
    if (operand == NULL) {
        return NULL;
    }
    if (negate) {
        node->child = operand;
        return node;
    }
    ak_node *zero = new_node(p, AK_NODE_CONSTANT);
    if (zero == NULL) {
        return NULL;
    }
    zero->value = (ak_value){.type = AK_VALUE_INT};
    zero->next = operand;
    operand->op = AK_OP_ADD;
    node->child = zero;
    return node;
}

/* The binary operators, and the kind of node that holds a chain of them. */
static const struct {
    ak_node_kind kind;
    const char *text;
    ak_op op;
} operators[] = {
    {AK_NODE_OR, "or", AK_OP_OR},
    {AK_NODE_AND, "and", AK_OP_AND},
    {AK_NODE_COMPARE, "<", AK_OP_LESS},
    {AK_NODE_COMPARE, "<=", AK_OP_LESS_EQUAL},
    {AK_NODE_COMPARE, ">", AK_OP_GREATER},
    {AK_NODE_COMPARE, ">=", AK_OP_GREATER_EQUAL},
    {AK_NODE_COMPARE, "==", AK_OP_EQUAL},
    {AK_NODE_COMPARE, "!=", AK_OP_NOT_EQUAL},
    {AK_NODE_COMPARE, "in", AK_OP_IN},
    {AK_NODE_COMPARE, "not", AK_OP_NOT_IN}, /* after an operand "not" can only begin "not in" */
    {AK_NODE_SUM, "+", AK_OP_ADD},
    {AK_NODE_SUM, "-", AK_OP_SUBTRACT},
    {AK_NODE_PRODUCT, "*", AK_OP_MULTIPLY},
    {AK_NODE_PRODUCT, "/", AK_OP_DIVIDE},
    {AK_NODE_PRODUCT, "//", AK_OP_FLOOR_DIVIDE},
    {AK_NODE_PRODUCT, "%", AK_OP_MODULO},
};

static ak_op op_of(const ak_parser *p, ak_node_kind kind)
{
    ak_op op = AK_OP_NONE;
    for (size_t i = 0; i < AK_COUNT(operators) && op == AK_OP_NONE; i++) {
        op = operators[i].kind == kind && ak_lex_is(p, operators[i].text) ? operators[i].op : op;
    }
    return op;
}

/* Parses operand (op operand)* as one node. */
static ak_node *parse_chain(ak_parser *p, ak_node_kind kind, ak_node *(*operand)(ak_parser *))
{
    ak_node *first = operand(p);
    ak_op op;
    if (first == NULL || (op = op_of(p, kind)) == AK_OP_NONE) {
        return first;
    }
    ak_node *node = new_node(p, kind);
    if (node == NULL) {
        return NULL;
    }
    node->child = first;
    ak_node **tail = &first->next;
    do {
        if (!ak_lex_advance(p) || (op == AK_OP_NOT_IN && !ak_lex_expect(p, "in"))) {
            return NULL;
        }
        ak_node *next = operand(p);
        if (next == NULL) {
            return NULL;
        }
        next->op = op;
        *tail = next;
        tail = &next->next;
    } while ((op = op_of(p, kind)) != AK_OP_NONE);
    return node;
}

static ak_node *parse_product(ak_parser *p)
{
    return parse_chain(p, AK_NODE_PRODUCT, parse_unary);
}

static ak_node *parse_sum(ak_parser *p)
{
    return parse_chain(p, AK_NODE_SUM, parse_product);
}

static ak_node *parse_not(ak_parser *p)
{
    if (!ak_lex_is(p, "not")) {
        return parse_chain(p, AK_NODE_COMPARE, parse_sum);
    }
    ak_node *node = new_node(p, AK_NODE_NOT);
    if (node == NULL || !enter(p)) {
        return NULL;
    }
    node->child = ak_lex_advance(p) ? parse_not(p) : NULL;
    p->depth--;
    return node->child == NULL ? NULL : node;
}

static ak_node *parse_and(ak_parser *p)
{
    return parse_chain(p, AK_NODE_AND, parse_not);
}

static ak_node *parse_or(ak_parser *p)
{
    return parse_chain(p, AK_NODE_OR, parse_and);
}

static ak_node *parse_any(ak_parser *p)
{
    if (!enter(p)) {
        return NULL;
    }
    ak_node *node = parse_or(p);
    if (node != NULL && ak_lex_is(p, "if")) {
        ak_node *branch = new_node(p, AK_NODE_IF);
        ak_node *condition = branch != NULL && ak_lex_advance(p) ? parse_or(p) : NULL;
        ak_node *otherwise = condition != NULL && ak_lex_expect(p, "else") ? parse_any(p) : NULL;
        if (otherwise == NULL) {
            node = NULL;
        } else {
            branch->child = condition;
            condition->next = node;
            node->next = otherwise;
            node = branch;
        }
    }
    p->depth--;
    return node;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What a name stands for within an expression: the variable of a comprehension, or a part. */
typedef struct binding {
    const char *name;
    size_t slot;
    const struct binding *outer;
} binding;

typedef struct resolver {
    ak_expr *expr;
    size_t first, /* first slot that comprehensions of the present text may use */
        end;      /* end of the slots that were used so far */
    size_t depth; /* nesting of the deepest part that the present text reads */
    size_t part_depth[AK_EXPR_PARTS_MAX];
    bool read[AK_EXPR_PARTS_MAX]; /* says of each part whether it is read */
    ak_error *err;
} resolver;

static ak_status resolve_name(resolver *r, ak_node *node, const binding *bound)
{
    ak_expr *expr = r->expr;
    for (; bound != NULL; bound = bound->outer) {
        if (strcmp(bound->name, node->name) == 0) {
            node->kind = AK_NODE_LOCAL;
            node->slot = bound->slot;
            if (bound->slot < expr->part_count) {
                const size_t depth = r->part_depth[bound->slot];
                r->read[bound->slot] = true;
                r->depth = depth > r->depth ? depth : r->depth;
            }
            return AK_OK;
        }
    }
    node->slot = AK_FIND_TEXT(expr->names, expr->name_count, node->name);
    if (node->slot < expr->name_count) {
        return AK_OK;
    }
    AK_FAIL_IF(expr->name_count == AK_EXPR_NAMES_MAX, r->err, AK_LIMIT,
               "%s: the expression has more than %d names", expr->where, AK_EXPR_NAMES_MAX);
    AK_DO(AK_GROW(expr->names, &expr->name_capacity, expr->name_count + 1, r->err));
    expr->names[expr->name_count++] = node->name;
    return AK_OK;
}

static ak_status too_deep(const ak_expr *expr, ak_error *err)
{
    return ak_fail(err, AK_LIMIT,
                   "%s: the expression is nested deeper than %d, with the parts that it reads",
                   expr->where, AK_EXPR_DEPTH_MAX);
}

static ak_status resolve(resolver *r, ak_node *node, const binding *bound)
{
    if (node->kind == AK_NODE_NAME) {
        return resolve_name(r, node, bound);
    }
    const bool nested = bound != NULL && bound->slot >= r->first;
    binding inner = {node->name, nested ? bound->slot + 1 : r->first, bound};
    bool binds = node->kind == AK_NODE_COMPREHENSION;
    if (binds) {
        if (inner.slot >= AK_EXPR_LOCALS_MAX) {
            return too_deep(r->expr, r->err);
        }
        node->slot = inner.slot;
        r->end = inner.slot >= r->end ? inner.slot + 1 : r->end;
    }
    for (ak_node *child = node->child; child != NULL; child = child->next) {
        /* The list of a comprehension does not see its variable. */
        bool sees = binds && child != node->child;
        AK_DO(resolve(r, child, sees ? &inner : bound));
    }
    return AK_OK;
}

/* ---- the whole expression -------------------------------------------------------------------- */

/* Parses one text: a part or the expression itself. *depth is its depth of nesting, including that
   of the parts that it reads. */
static ak_status parse_text(ak_node **root, size_t *depth, resolver *r, const char *text,
                            const char *where, const binding *bound)
{
    ak_expr *expr = r->expr;
    size_t length = strlen(text);
    AK_FAIL_IF(length > AK_EXPR_TEXT_MAX, r->err, AK_LIMIT,
               "%s: the expression is longer than %d bytes", where, AK_EXPR_TEXT_MAX);
    expr->text = ak_arena_strndup(expr->arena, text, length);
    expr->where = ak_arena_strndup(expr->arena, where, strlen(where));
    AK_DO(ak_stored(expr->text != NULL && expr->where != NULL, r->err));
    ak_parser p = {.expr = expr, .text = expr->text, .cursor = expr->text, .err = r->err};
    *root = NULL;
    if (ak_lex_advance(&p)) {
        *root = parse_any(&p);
        if (*root != NULL && p.now.kind != AK_TOKEN_END) {
            ak_lex_fault(&p, p.now.at, "an operator or the end is expected here");
        }
    }
    AK_DO(p.status);
    assert(*root != NULL);
    r->depth = 0;
    AK_DO(resolve(r, *root, bound));
    r->first = r->end;
    *depth = p.deepest + r->depth;
    return *depth > AK_EXPR_DEPTH_MAX ? too_deep(expr, r->err) : AK_OK;
}

ak_status ak_expr_parse_parts(ak_expr **out, const ak_expr_part *parts, size_t count,
                              const char *text, const char *where, ak_error *err)
{
    assert(count <= AK_EXPR_PARTS_MAX);
    where = where == NULL ? "expression" : where;
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    binding bound[AK_EXPR_PARTS_MAX];
    size_t depth;
    AK_DO(AK_NEW(expr, 1, err));
    expr->arena = ak_arena_new();
    AK_DO(ak_made(expr->arena, err));
    resolver r = {.expr = expr, .first = count, .end = count, .err = err};
    for (size_t i = 0; i < count; i++) {
        char place[512];
        (void)snprintf(place, sizeof place, "%.400s: %.63s", where, parts[i].name);
        if (AK_HAS(parts, i, name, parts[i].name)) {
            return ak_fail(err, AK_INVALID, "%s: the name is that of an earlier part", place);
        }
        AK_DO(ak_arena_text(&expr->part[i].name, expr->arena, parts[i].name, err));
        AK_DO(parse_text(&expr->part[i].root, &r.part_depth[i], &r, parts[i].text, place,
                         i == 0 ? NULL : &bound[i - 1]));
        bound[i] = (binding){expr->part[i].name, i, i == 0 ? NULL : &bound[i - 1]};
        expr->part_count = i + 1;
    }
    AK_DO(parse_text(&expr->root, &depth, &r, text, where, count == 0 ? NULL : &bound[count - 1]));
    for (size_t i = 0; i < count; i++) {
        if (!r.read[i]) {
            return ak_fail(err, AK_INVALID, "%s: nothing reads the part \"%.63s\"; take it out",
                           where, parts[i].name);
        }
    }
    AK_GIVE(out, expr);
    return AK_OK;
}

ak_status ak_expr_parse(ak_expr **out, const char *text, const char *where, ak_error *err)
{
    return ak_expr_parse_parts(out, NULL, 0, text, where, err);
}

void ak_expr_free(ak_expr *expr)
{
    if (expr != NULL) {
        ak_arena_free(expr->arena);
        AK_FREE_ALL(expr->names, expr);
    }
}

size_t ak_expr_names(const char *const **out, const ak_expr *expr)
{
    *out = expr->names;
    return expr->name_count;
}
