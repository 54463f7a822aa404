/* condition.c: splits conditions into atoms and compiles them; see condition.h. */
#include "problem/code.h"

#include <string.h>

#include "base/map.h"

/* ---- symbols --------------------------------------------------------------------------------- */

static ak_status intern(int64_t *out, ak_symbols *symbols, const char *text, ak_error *err)
{
    size_t number;
    ak_status status = AK_OK;
    if (!ak_map_get(&number, symbols->texts, text)) {
        number = ak_map_count(symbols->texts);
        status = ak_map_put(symbols->texts, text, number, err);
    }
    *out = (int64_t)number;
    return status;
}

/* A list has no cell. */
static ak_status to_cell(ak_cell *out, ak_cell_type *type, ak_symbols *symbols,
                         const ak_value *value, ak_error *err)
{
    switch (value->type) {
    case AK_VALUE_BOOL:
        *type = AK_CELL_INT;
        out->i = value->as.boolean;
        break;
    case AK_VALUE_INT:
        *type = AK_CELL_INT;
        out->i = value->as.integer;
        break;
    case AK_VALUE_REAL:
        *type = AK_CELL_REAL;
        out->r = value->as.real;
        break;
    case AK_VALUE_STRING:
        *type = AK_CELL_TEXT;
        return intern(&out->i, symbols, value->as.string, err);
    case AK_VALUE_LIST:
        return ak_fail(err, AK_INTERNAL, "a list is not a value of a parameter");
    }
    return AK_OK;
}

static ak_status fill_table(ak_symbols *symbols, size_t p, ak_error *err)
{
    const ak_parameter *parameter = &symbols->parameters[p];
    ak_cell *table = ak_arena_alloc(symbols->arena, parameter->value_count * sizeof *table);
    if (table == NULL) {
        return ak_fail_memory(err);
    }
    symbols->table[p] = table;
    for (size_t i = 0; i < parameter->value_count; i++) {
        ak_status status =
            to_cell(&table[i], &symbols->type[p], symbols, &parameter->values[i], err);
        if (status != AK_OK) {
            return status;
        }
        ak_range *whole = &symbols->whole[p];
        bool real = symbols->type[p] == AK_CELL_REAL;
        if (i == 0 || (real ? table[i].r < whole->low.r : table[i].i < whole->low.i)) {
            whole->low = table[i];
        }
        if (i == 0 || (real ? table[i].r > whole->high.r : table[i].i > whole->high.i)) {
            whole->high = table[i];
        }
    }
    return AK_OK;
}

ak_status ak_symbols_init(ak_symbols *symbols, const ak_parameter *parameters, size_t count,
                          const ak_scope *constants, ak_arena *arena, ak_error *err)
{
    *symbols = (ak_symbols){
        .parameters = parameters, .count = count, .constants = constants, .arena = arena};
    symbols->texts = ak_map_new();
    ak_status status = symbols->texts == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t p = 0; p < count && status == AK_OK; p++) {
        status = fill_table(symbols, p, err);
    }
    return status;
}

void ak_symbols_clear(ak_symbols *symbols)
{
    ak_map_free(symbols->texts);
    symbols->texts = NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct compiler {
    ak_symbols *symbols;
    const ak_atom *atom;
    ak_arena *scratch;
    ak_binding whole; /* all parameters free */
    ak_error *err;
    ak_status status; /* not AK_OK: out of memory, or a limit */
} compiler;

/* All of these return NULL if the part has no type of ours, or there is no memory. */
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
    /* what a comprehension binds is constant: nothing inside one is ever compiled by itself */
    if (node->kind == AK_NODE_NAME && c->atom->parameter_of[node->slot] != AK_PARAMETERS_MAX) {
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
    c->status = to_cell(&cell, &type, c->symbols, value, c->err);
    ak_code *code = c->status == AK_OK ? new_code(c, AK_CODE_CONSTANT, type) : NULL;
    if (code != NULL) {
        code->value = cell;
    }
    return code;
}

/* Evaluates a constant part; false if it cannot be, which is AK_CODE_FAIL, or without memory. */
static bool fold(ak_value *out, compiler *c, const ak_node *node)
{
    ak_error ignored = AK_ERROR_INIT;
    ak_arena_reset(c->scratch);
    size_t steps;
    ak_status status =
        ak_expr_eval_node(out, &steps, c->atom->expr, node, c->atom->values, c->scratch, &ignored);
    c->symbols->folded += steps;
    if (status == AK_NO_MEMORY) {
        c->status = ak_fail_memory(c->err);
    } else if (c->symbols->folded > AK_FOLD_STEPS_MAX) {
        c->status = ak_fail(c->err, AK_LIMIT,
                            "%s: the constant parts of the conditions take more than %u steps",
                            c->atom->expr->where, AK_FOLD_STEPS_MAX);
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

/* A number; texts have no arithmetic here. */
static ak_code *compile_number(compiler *c, const ak_node *node)
{
    ak_code *code = compile(c, node, false);
    return code != NULL && code->type == AK_CELL_TEXT ? NULL : code;
}

/* Children of one list, each by `compile_child`; NULL if any fails. */
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

/* Left to right, as Python does: ints stay ints until the first real or /. */
static ak_code *compile_chain(compiler *c, const ak_node *node)
{
    ak_code_kind kind = node->kind == AK_NODE_SUM ? AK_CODE_SUM : AK_CODE_PRODUCT;
    ak_code *total = compile_number(c, node->child);
    ak_code *last = NULL; /* of the chain that total is, if it can grow */
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
        /* a negative exponent would make it real: then the type depends on the values */
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
            continue; /* never equal to a number or text */
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
            return NULL; /* the numbers of texts are not in their order */
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
        yes = wrap(c, AK_CODE_AND, AK_CELL_INT, yes); /* as 0 or 1 */
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
            code->slot = c->atom->parameter_of[node->slot];
            code->type = c->symbols->type[code->slot];
        }
        return code;
    case AK_NODE_OR:
    case AK_NODE_AND:
        /* as a value it is one of its operands, of whatever type */
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

/* ---- atoms ----------------------------------------------------------------------------------- */

#define NODES_A_WORK 16

static uint32_t count_nodes(const ak_node *node)
{
    uint32_t count = 1;
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        count += count_nodes(child);
    }
    return count;
}

static void mark_names(bool *used, const ak_node *node)
{
    if (node->kind == AK_NODE_NAME) {
        used[node->slot] = true;
    }
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        mark_names(used, child);
    }
}

/* What all atoms of one condition share: the value or parameter behind each name. */
static ak_status look_up_names(ak_atom *atom, ak_symbols *symbols, ak_error *err)
{
    const char *const *names;
    size_t count = ak_expr_names(&names, atom->expr);
    atom->values = ak_arena_alloc(symbols->arena, (count + 1) * sizeof atom->values[0]);
    atom->parameter_of = ak_arena_alloc(symbols->arena, count + 1);
    if (atom->values == NULL || atom->parameter_of == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        atom->parameter_of[i] = AK_PARAMETERS_MAX;
        for (size_t p = 0; p < symbols->count; p++) {
            if (strcmp(symbols->parameters[p].name, names[i]) == 0) {
                atom->parameter_of[i] = (uint8_t)p;
            }
        }
        if (atom->parameter_of[i] == AK_PARAMETERS_MAX &&
            !ak_scope_get(&atom->values[i], symbols->constants, names[i])) {
            return ak_fail(err, AK_INVALID,
                           "%s (%.120s) names \"%.60s\", which is neither a parameter nor a size "
                           "nor a device fact",
                           atom->expr->where, atom->expr->text, names[i]);
        }
    }
    return AK_OK;
}

static ak_status add_atom(ak_atoms *atoms, ak_symbols *symbols, const ak_atom *shared,
                          const ak_node *node, ak_error *err)
{
    if (atoms->count == AK_ATOMS_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: the conditions have more than %d parts",
                       shared->expr->where, AK_ATOMS_MAX);
    }
    ak_status status = ak_grow((void **)&atoms->items, &atoms->capacity, atoms->count + 1,
                               sizeof atoms->items[0], err);
    if (status != AK_OK) {
        return status;
    }
    ak_atom atom = *shared;
    atom.node = node;
    atom.cost = 1 + count_nodes(node) / NODES_A_WORK;
    bool used[AK_EXPR_NAMES_MAX] = {false}, reads[AK_PARAMETERS_MAX] = {false};
    mark_names(used, node);
    for (size_t i = 0; i < atom.expr->name_count; i++) {
        if (used[i] && atom.parameter_of[i] != AK_PARAMETERS_MAX) {
            reads[atom.parameter_of[i]] = true;
        }
    }
    atom.variable = ak_arena_alloc(symbols->arena, AK_PARAMETERS_MAX);
    if (atom.variable == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t p = 0; p < symbols->count; p++) {
        if (reads[p]) {
            atom.variable[atom.variable_count++] = (uint8_t)p;
        }
    }
    compiler c = {.symbols = symbols, .atom = &atom, .scratch = atoms->scratch, .err = err};
    for (size_t p = 0; p < symbols->count; p++) {
        ak_binding_free(&c.whole, symbols, p);
    }
    atom.code = compile(&c, node, true);
    if (c.status != AK_OK) {
        return c.status;
    }
    if (atom.code != NULL && atom.code->type == AK_CELL_TEXT) {
        atom.code = NULL;
    }
    atoms->items[atoms->count++] = atom;
    return AK_OK;
}

/* a < b <= c is (a < b) and (b <= c); the parts share the trees of their operands. */
static ak_status add_chain(ak_atoms *atoms, ak_symbols *symbols, const ak_atom *shared,
                           const ak_node *node, ak_error *err)
{
    ak_status status = AK_OK;
    for (const ak_node *left = node->child; left->next != NULL && status == AK_OK;
         left = left->next) {
        ak_node *part = ak_arena_alloc(symbols->arena, 3 * sizeof *part);
        if (part == NULL) {
            return ak_fail_memory(err);
        }
        part[1] = *left;
        part[2] = *left->next;
        part[0].kind = AK_NODE_COMPARE;
        part[0].child = &part[1];
        part[1].next = &part[2];
        part[2].next = NULL;
        status = add_atom(atoms, symbols, shared, &part[0], err);
    }
    return status;
}

static ak_status add_split(ak_atoms *atoms, ak_symbols *symbols, const ak_atom *shared,
                           const ak_node *node, ak_error *err)
{
    if (node->kind == AK_NODE_COMPARE && node->child->next->next != NULL) {
        return add_chain(atoms, symbols, shared, node, err);
    }
    if (node->kind != AK_NODE_AND) {
        return add_atom(atoms, symbols, shared, node, err);
    }
    ak_status status = AK_OK;
    for (const ak_node *child = node->child; child != NULL && status == AK_OK;
         child = child->next) {
        status = add_split(atoms, symbols, shared, child, err);
    }
    return status;
}

ak_status ak_atoms_add(ak_atoms *atoms, ak_symbols *symbols, const ak_expr *expr, size_t condition,
                       ak_error *err)
{
    if (atoms->scratch == NULL && (atoms->scratch = ak_arena_new()) == NULL) {
        return ak_fail_memory(err);
    }
    ak_atom shared = {.condition = condition, .expr = expr};
    ak_status status = look_up_names(&shared, symbols, err);
    return status == AK_OK ? add_split(atoms, symbols, &shared, expr->root, err) : status;
}

void ak_atoms_clear(ak_atoms *atoms)
{
    ak_free(atoms->items);
    ak_arena_free(atoms->scratch);
    *atoms = (ak_atoms){0};
}

/* ---- evaluating ------------------------------------------------------------------------------ */

void ak_binding_free(ak_binding *binding, const ak_symbols *symbols, size_t parameter)
{
    binding->range[parameter] = symbols->whole[parameter];
    binding->at[parameter] = 0;
}

/* A step of the expression's own walk costs about a quarter of a typed evaluation. */
#define STEPS_A_WORK 4

ak_status ak_atom_holds(bool *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                        const ak_binding *binding, ak_arena *scratch, ak_error *err)
{
    if (atom->code != NULL) {
        *work += atom->cost;
        ak_cell cell;
        *out = ak_code_point(&cell, atom->code, binding) && ak_code_truth(atom->code, cell);
        return AK_OK;
    }
    for (size_t i = 0; i < atom->expr->name_count; i++) {
        size_t p = atom->parameter_of[i];
        if (p != AK_PARAMETERS_MAX) {
            atom->values[i] = symbols->parameters[p].values[binding->at[p]];
        }
    }
    ak_value value;
    ak_arena_reset(scratch);
    size_t steps;
    ak_status status =
        ak_expr_eval_node(&value, &steps, atom->expr, atom->node, atom->values, scratch, NULL);
    *work += 1 + steps / STEPS_A_WORK;
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    *out = status == AK_OK && ak_value_truth(&value);
    return AK_OK;
}

ak_verdict ak_atom_decide(const ak_atom *atom, const ak_binding *binding)
{
    if (atom->code == NULL) {
        return AK_MAYBE;
    }
    unsigned outcomes = ak_code_outcomes(atom->code, binding);
    return outcomes == AK_CAN_BE_TRUE         ? AK_ALWAYS
           : (outcomes & AK_CAN_BE_TRUE) == 0 ? AK_NEVER
                                              : AK_MAYBE;
}
