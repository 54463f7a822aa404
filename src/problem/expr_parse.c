/* expr_parse.c: text to tree, by recursive descent: one function per precedence level, lowest
   first. Names are resolved in a second pass, because a comprehension uses its variable before it
   binds it. */
#include "problem/expr_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_NAME,
    TOKEN_MARK
} token_kind;

typedef struct token {
    token_kind kind;
    const char *at; /* in the text */
    size_t length;
    ak_value value; /* of a number or string */
} token;

typedef struct parser {
    ak_expr *expr;
    const char *text, *cursor;
    token now;
    size_t depth;
    ak_error *err;
    ak_status status; /* of the first fault; parsing functions return NULL then */
} parser;

static const char *const keywords[] = {"and",  "or",    "not",  "in", "if",     "else", "for",
                                       "True", "False", "None", "is", "lambda", NULL};

static const struct {
    const char *name;
    size_t least, most;
} functions[] = {
#define FUNCTION_ROW(name, text, least, most) {text, least, most},
    AK_FUNCTION_MAP(FUNCTION_ROW)
#undef FUNCTION_ROW
};
#define FUNCTION_COUNT (sizeof functions / sizeof functions[0])

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_keyword(const char *text, size_t length)
{
    for (size_t i = 0; keywords[i] != NULL; i++) {
        if (strlen(keywords[i]) == length && memcmp(keywords[i], text, length) == 0) {
            return true;
        }
    }
    return false;
}

bool ak_expr_is_name(const char *text)
{
    if (!is_letter(*text)) {
        return false;
    }
    size_t length = 1;
    while (is_letter(text[length]) || is_digit(text[length])) {
        length++;
    }
    return text[length] == 0 && !is_keyword(text, length);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void *no_memory(parser *p)
{
    if (p->status == AK_OK) {
        p->status = ak_fail_memory(p->err);
    }
    return NULL;
}

static void *fault(parser *p, const char *at, const char *what)
{
    if (p->status == AK_OK) {
        p->status = ak_fail(p->err, AK_INVALID, "%s: column %zu of \"%.100s\": %s", p->expr->where,
                            (size_t)(at - p->text) + 1, p->text, what);
    }
    return NULL;
}

static ak_node *new_node(parser *p, ak_node_kind kind)
{
    ak_node *node = ak_arena_alloc(p->expr->arena, sizeof *node);
    if (node == NULL) {
        return no_memory(p);
    }
    node->kind = kind;
    return node;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool lex_integer(parser *p, token *t, int base, const char *digits)
{
    errno = 0;
    char *end;
    long long value = strtoll(digits, &end, base);
    if (errno != 0) {
        fault(p, t->at, "this number needs more than 64 bits");
        return false;
    }
    t->value.type = AK_VALUE_INT;
    t->value.as.integer = value;
    t->length = (size_t)(end - t->at);
    return true;
}

static bool lex_number(parser *p, token *t)
{
    const char *s = t->at;
    t->kind = TOKEN_NUMBER;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        size_t digits = strspn(s + 2, "0123456789abcdefABCDEF");
        if (digits == 0 || is_letter(s[2 + digits])) {
            fault(p, s, "not a number");
            return false;
        }
        return lex_integer(p, t, 16, s + 2);
    }
    size_t n = strspn(s, "0123456789");
    bool real = false;
    size_t length = n;
    if (s[length] == '.') {
        real = true;
        length++;
        length += strspn(s + length, "0123456789");
    }
    if (s[length] == 'e' || s[length] == 'E') {
        size_t sign = s[length + 1] == '+' || s[length + 1] == '-' ? 1 : 0;
        size_t digits = strspn(s + length + 1 + sign, "0123456789");
        if (digits > 0) {
            real = true;
            length += 1 + sign + digits;
        }
    }
    if (is_letter(s[length]) || s[length] == '.') {
        fault(p, s, "not a number");
        return false;
    }
    if (!real) {
        if (n > 1 && s[0] == '0' && strspn(s, "0") != n) {
            fault(p, s, "a number does not start with 0");
            return false;
        }
        return lex_integer(p, t, 10, s);
    }
    t->value.type = AK_VALUE_REAL;
    t->value.as.real = strtod(s, NULL);
    t->length = length;
    if (!isfinite(t->value.as.real)) {
        fault(p, s, "this number is too large");
        return false;
    }
    return true;
}

static bool lex_string(parser *p, token *t)
{
    char quote = *t->at;
    const char *s = t->at + 1;
    const char *end = s;
    while (*end != 0 && *end != quote) {
        end += *end == '\\' && end[1] != 0 ? 2 : 1;
    }
    if (*end == 0) {
        fault(p, t->at, "this text has no closing quote");
        return false;
    }
    char *copy = ak_arena_strndup(p->expr->arena, s, (size_t)(end - s));
    if (copy == NULL) {
        no_memory(p);
        return false;
    }
    size_t length = 0;
    for (; s < end; s++) {
        if (*s == '\\') {
            s++;
            if (*s != '\\' && *s != '\'' && *s != '"') {
                fault(p, s, "unknown escape; only \\\\, \\' and \\\" are");
                return false;
            }
        }
        copy[length++] = *s;
    }
    copy[length] = 0;
    t->kind = TOKEN_STRING;
    t->value.type = AK_VALUE_STRING;
    t->value.as.string = copy;
    t->length = (size_t)(end - t->at) + 1;
    return true;
}

static bool advance(parser *p)
{
    if (p->status != AK_OK) {
        return false;
    }
    const char *s = p->cursor + strspn(p->cursor, " \t\r\n");
    token t = {.at = s};
    bool ok = true;
    if (*s == 0) {
        t.kind = TOKEN_END;
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        ok = lex_number(p, &t);
    } else if (*s == '\'' || *s == '"') {
        ok = lex_string(p, &t);
    } else if (is_letter(*s)) {
        t.kind = TOKEN_NAME;
        while (is_letter(s[t.length]) || is_digit(s[t.length])) {
            t.length++;
        }
    } else {
        static const char *const pairs[] = {"**", "//", "<=", ">=", "==", "!="};
        t.kind = TOKEN_MARK;
        t.length = 1;
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            if (s[0] == pairs[i][0] && s[1] == pairs[i][1]) {
                t.length = 2;
            }
        }
        if (t.length == 1 && strchr("+-*/%<>()[],", *s) == NULL) {
            fault(p, s,
                  *s == '=' ? "\"=\" does not compare; write \"==\""
                            : "this character means nothing here");
            ok = false;
        }
    }
    if (ok) {
        p->now = t;
        p->cursor = s + t.length;
    }
    return ok;
}

static bool is(const parser *p, const char *text)
{
    return (p->now.kind == TOKEN_NAME || p->now.kind == TOKEN_MARK) &&
           strlen(text) == p->now.length && memcmp(text, p->now.at, p->now.length) == 0;
}

static bool take(parser *p, const char *text)
{
    return is(p, text) && advance(p);
}

static bool expect(parser *p, const char *text)
{
    if (!is(p, text)) {
        char what[48];
        (void)snprintf(what, sizeof what, "expected \"%s\" here", text);
        fault(p, p->now.at, what);
        return false;
    }
    return advance(p);
}

/* ---- grammar --------------------------------------------------------------------------------- */

static ak_node *parse_any(parser *p);
static ak_node *parse_or(parser *p);

static bool enter(parser *p)
{
    if (p->depth == AK_EXPR_DEPTH_MAX) {
        if (p->status == AK_OK) {
            p->status = ak_fail(p->err, AK_LIMIT, "%s: expression is nested deeper than %d",
                                p->expr->where, AK_EXPR_DEPTH_MAX);
        }
        return false;
    }
    p->depth++;
    return true;
}

/* `first` has been read; reads `for NAME in LIST if CONDITION...`. */
static ak_node *parse_comprehension(parser *p, ak_node *element)
{
    ak_node *node = new_node(p, AK_NODE_COMPREHENSION);
    if (node == NULL || !expect(p, "for")) {
        return NULL;
    }
    if (p->now.kind != TOKEN_NAME || is_keyword(p->now.at, p->now.length)) {
        return fault(p, p->now.at, "expected a name here");
    }
    node->name = ak_arena_strndup(p->expr->arena, p->now.at, p->now.length);
    if (node->name == NULL) {
        return no_memory(p);
    }
    if (!advance(p) || !expect(p, "in")) {
        return NULL;
    }
    node->child = parse_or(p);
    if (node->child == NULL) {
        return NULL;
    }
    node->child->next = element;
    ak_node **tail = &element->next;
    while (p->status == AK_OK && is(p, "if")) {
        if (!advance(p) || (*tail = parse_or(p)) == NULL) {
            return NULL;
        }
        tail = &(*tail)->next;
    }
    if (is(p, "for")) {
        return fault(p, p->now.at, "one \"for\" only");
    }
    return p->status == AK_OK ? node : NULL;
}

/* Items up to the closing mark, which is consumed. */
static ak_node *parse_items(parser *p, ak_node *node, const char *close, bool *comma)
{
    ak_node **tail = &node->child;
    *comma = false;
    while (!is(p, close)) {
        ak_node *item = parse_any(p);
        if (item == NULL) {
            return NULL;
        }
        if (is(p, "for") && node->child == NULL) {
            item = parse_comprehension(p, item);
            if (item == NULL) {
                return NULL;
            }
        }
        *tail = item;
        tail = &item->next;
        if (is(p, close)) {
            break;
        }
        *comma = true;
        if (!expect(p, ",")) {
            return NULL;
        }
    }
    return advance(p) ? node : NULL;
}

static ak_node *parse_call(parser *p, const token *name)
{
    size_t f = 0;
    while (f < FUNCTION_COUNT && !(strlen(functions[f].name) == name->length &&
                                   memcmp(functions[f].name, name->at, name->length) == 0)) {
        f++;
    }
    if (f == FUNCTION_COUNT) {
        return fault(p, name->at,
                     "unknown function; there are min max abs sqrt log2 ceil floor round int float "
                     "len sum range list");
    }
    ak_node *node = new_node(p, AK_NODE_CALL);
    bool comma;
    if (node == NULL || !advance(p) || parse_items(p, node, ")", &comma) == NULL) {
        return NULL;
    }
    node->function = (ak_function)f;
    size_t count = 0;
    for (const ak_node *argument = node->child; argument != NULL; argument = argument->next) {
        count++;
    }
    if (count < functions[f].least || count > functions[f].most) {
        return fault(p, name->at, "wrong number of arguments");
    }
    return node;
}

static ak_node *parse_primary(parser *p)
{
    token t = p->now;
    if (t.kind == TOKEN_NUMBER || t.kind == TOKEN_STRING) {
        ak_node *node = new_node(p, AK_NODE_CONSTANT);
        if (node == NULL || !advance(p)) {
            return NULL;
        }
        node->value = t.value;
        return node;
    }
    if (is(p, "True") || is(p, "False")) {
        ak_node *node = new_node(p, AK_NODE_CONSTANT);
        if (node != NULL) {
            node->value = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = is(p, "True")};
        }
        return node != NULL && advance(p) ? node : NULL;
    }
    if (t.kind == TOKEN_NAME && !is_keyword(t.at, t.length)) {
        if (!advance(p)) {
            return NULL;
        }
        if (is(p, "(")) {
            return parse_call(p, &t);
        }
        ak_node *node = new_node(p, AK_NODE_NAME);
        if (node == NULL) {
            return NULL;
        }
        node->name = ak_arena_strndup(p->expr->arena, t.at, t.length);
        return node->name == NULL ? no_memory(p) : node;
    }
    if (is(p, "(") || is(p, "[")) {
        bool round = is(p, "(");
        bool comma;
        ak_node *node = new_node(p, AK_NODE_LIST);
        if (node == NULL || !advance(p) ||
            parse_items(p, node, round ? ")" : "]", &comma) == NULL) {
            return NULL;
        }
        bool one = node->child != NULL && node->child->next == NULL && !comma;
        if (one && (round || node->child->kind == AK_NODE_COMPREHENSION)) {
            /* (x) is x; [x for ...] is a list already, but [(x for ...)] is never written */
            return node->child;
        }
        return node;
    }
    return fault(p, t.at,
                 t.kind == TOKEN_END ? "the expression ends too early" : "expected a value here");
}

static ak_node *parse_unary(parser *p);

static ak_node *parse_power(parser *p)
{
    ak_node *base = parse_primary(p);
    if (base == NULL || !is(p, "**")) {
        return base;
    }
    ak_node *node = new_node(p, AK_NODE_POWER);
    if (node == NULL || !advance(p)) {
        return NULL;
    }
    ak_node *exponent = parse_unary(p);
    if (exponent == NULL) {
        return NULL;
    }
    node->child = base;
    base->next = exponent;
    return node;
}

static ak_node *parse_unary(parser *p)
{
    if (!is(p, "-") && !is(p, "+")) {
        return parse_power(p);
    }
    /* +x is 0 + x: x for a number, a fault for anything else */
    bool negate = is(p, "-");
    ak_node *node = new_node(p, negate ? AK_NODE_NEGATE : AK_NODE_SUM);
    if (node == NULL || !enter(p)) {
        return NULL;
    }
    ak_node *operand = advance(p) ? parse_unary(p) : NULL;
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

static ak_op product_op(const parser *p)
{
    return is(p, "*")    ? AK_OP_MULTIPLY
           : is(p, "/")  ? AK_OP_DIVIDE
           : is(p, "//") ? AK_OP_FLOOR_DIVIDE
           : is(p, "%")  ? AK_OP_MODULO
                         : AK_OP_NONE;
}

static ak_op sum_op(const parser *p)
{
    return is(p, "+") ? AK_OP_ADD : is(p, "-") ? AK_OP_SUBTRACT : AK_OP_NONE;
}

static ak_op compare_op(const parser *p)
{
    return is(p, "<")     ? AK_OP_LESS
           : is(p, "<=")  ? AK_OP_LESS_EQUAL
           : is(p, ">")   ? AK_OP_GREATER
           : is(p, ">=")  ? AK_OP_GREATER_EQUAL
           : is(p, "==")  ? AK_OP_EQUAL
           : is(p, "!=")  ? AK_OP_NOT_EQUAL
           : is(p, "in")  ? AK_OP_IN
           : is(p, "not") ? AK_OP_NOT_IN /* only "not in" can follow an operand */
                          : AK_OP_NONE;
}

/* first (op operand)*, as one node. */
static ak_node *parse_chain(parser *p, ak_node_kind kind, ak_op (*op_of)(const parser *),
                            ak_node *(*operand)(parser *))
{
    ak_node *first = operand(p);
    ak_op op;
    if (first == NULL || (op = op_of(p)) == AK_OP_NONE) {
        return first;
    }
    ak_node *node = new_node(p, kind);
    if (node == NULL) {
        return NULL;
    }
    node->child = first;
    ak_node **tail = &first->next;
    do {
        if (!advance(p) || (op == AK_OP_NOT_IN && !expect(p, "in"))) {
            return NULL;
        }
        ak_node *next = operand(p);
        if (next == NULL) {
            return NULL;
        }
        next->op = op;
        *tail = next;
        tail = &next->next;
    } while ((op = op_of(p)) != AK_OP_NONE);
    return node;
}

static ak_node *parse_product(parser *p)
{
    return parse_chain(p, AK_NODE_PRODUCT, product_op, parse_unary);
}

static ak_node *parse_sum(parser *p)
{
    return parse_chain(p, AK_NODE_SUM, sum_op, parse_product);
}

static ak_node *parse_not(parser *p)
{
    if (!is(p, "not")) {
        return parse_chain(p, AK_NODE_COMPARE, compare_op, parse_sum);
    }
    ak_node *node = new_node(p, AK_NODE_NOT);
    if (node == NULL || !enter(p)) {
        return NULL;
    }
    node->child = advance(p) ? parse_not(p) : NULL;
    p->depth--;
    return node->child == NULL ? NULL : node;
}

static ak_node *parse_logic(parser *p, const char *word, ak_node_kind kind,
                            ak_node *(*operand)(parser *))
{
    ak_node *first = operand(p);
    if (first == NULL || !is(p, word)) {
        return first;
    }
    ak_node *node = new_node(p, kind);
    if (node == NULL) {
        return NULL;
    }
    node->child = first;
    ak_node **tail = &first->next;
    while (take(p, word)) {
        *tail = operand(p);
        if (*tail == NULL) {
            return NULL;
        }
        tail = &(*tail)->next;
    }
    return p->status == AK_OK ? node : NULL;
}

static ak_node *parse_and(parser *p)
{
    return parse_logic(p, "and", AK_NODE_AND, parse_not);
}

static ak_node *parse_or(parser *p)
{
    return parse_logic(p, "or", AK_NODE_OR, parse_and);
}

static ak_node *parse_any(parser *p)
{
    if (!enter(p)) {
        return NULL;
    }
    ak_node *node = parse_or(p);
    if (node != NULL && is(p, "if")) {
        ak_node *choice = new_node(p, AK_NODE_IF);
        ak_node *condition = choice != NULL && advance(p) ? parse_or(p) : NULL;
        ak_node *otherwise = condition != NULL && expect(p, "else") ? parse_any(p) : NULL;
        if (otherwise == NULL) {
            node = NULL;
        } else {
            choice->child = condition;
            condition->next = node;
            node->next = otherwise;
            node = choice;
        }
    }
    p->depth--;
    return node;
}

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct binding {
    const char *name;
    size_t slot;
    const struct binding *outer;
} binding;

static ak_status resolve_name(ak_expr *expr, ak_node *node, const binding *bound, ak_error *err)
{
    for (; bound != NULL; bound = bound->outer) {
        if (strcmp(bound->name, node->name) == 0) {
            node->kind = AK_NODE_LOCAL;
            node->slot = bound->slot;
            return AK_OK;
        }
    }
    for (size_t i = 0; i < expr->name_count; i++) {
        if (strcmp(expr->names[i], node->name) == 0) {
            node->slot = i;
            return AK_OK;
        }
    }
    if (expr->name_count == AK_EXPR_NAMES_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: expression has more than %d names", expr->where,
                       AK_EXPR_NAMES_MAX);
    }
    ak_status status = ak_grow((void **)&expr->names, &expr->name_capacity, expr->name_count + 1,
                               sizeof expr->names[0], err);
    if (status == AK_OK) {
        node->slot = expr->name_count;
        expr->names[expr->name_count++] = node->name;
    }
    return status;
}

static ak_status resolve(ak_expr *expr, ak_node *node, const binding *bound, ak_error *err)
{
    if (node->kind == AK_NODE_NAME) {
        return resolve_name(expr, node, bound, err);
    }
    binding inner = {node->name, bound == NULL ? 0 : bound->slot + 1, bound};
    bool binds = node->kind == AK_NODE_COMPREHENSION;
    if (binds) {
        node->slot = inner.slot;
    }
    for (ak_node *child = node->child; child != NULL; child = child->next) {
        /* the list of a comprehension does not see its variable */
        bool sees = binds && child != node->child;
        ak_status status = resolve(expr, child, sees ? &inner : bound, err);
        if (status != AK_OK) {
            return status;
        }
    }
    return AK_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

ak_status ak_expr_parse(ak_expr **out, const char *text, const char *where, ak_error *err)
{
    where = where == NULL ? "expression" : where;
    size_t length = strlen(text);
    if (length > AK_EXPR_TEXT_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: expression is longer than %d bytes", where,
                       AK_EXPR_TEXT_MAX);
    }
    ak_expr *expr = ak_alloc(1, sizeof *expr);
    if (expr == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status;
    expr->arena = ak_arena_new();
    if (expr->arena == NULL || (expr->text = ak_arena_strndup(expr->arena, text, length)) == NULL ||
        (expr->where = ak_arena_strndup(expr->arena, where, strlen(where))) == NULL) {
        status = ak_fail_memory(err);
        goto out;
    }
    parser p = {.expr = expr, .text = expr->text, .cursor = expr->text, .err = err};
    if (advance(&p)) {
        expr->root = parse_any(&p);
        if (expr->root != NULL && p.now.kind != TOKEN_END) {
            fault(&p, p.now.at, "expected an operator or the end here");
        }
    }
    status = p.status;
    if (status == AK_OK) {
        status = resolve(expr, expr->root, NULL, err);
    }
out:
    if (status != AK_OK) {
        ak_expr_free(expr);
        return status;
    }
    *out = expr;
    return AK_OK;
}

void ak_expr_free(ak_expr *expr)
{
    if (expr != NULL) {
        ak_arena_free(expr->arena);
        ak_free(expr->names);
        ak_free(expr);
    }
}

size_t ak_expr_names(const char *const **out, const ak_expr *expr)
{
    *out = expr->names;
    return expr->name_count;
}
