#include "space/diagram.h"

#include "base/text.h"

/* ---- atoms ----------------------------------------------------------------------------------- */

#define NODES_A_WORK 16 /* nodes whose evaluation costs one unit of work */

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

/* Finds the constant or the parameter that each name means; all atoms of a condition share them. */
static ak_status look_up_names(ak_atom *atom, ak_symbols *symbols, ak_error *err)
{
    const char *const *names;
    size_t count = ak_expr_names(&names, atom->expr);
    AK_DO(AK_ARENA_NEW(atom->values, symbols->arena, count + 1, err));
    AK_DO(AK_ARENA_NEW(atom->parameter_of, symbols->arena, count + 1, err));
    for (size_t i = 0; i < count; i++) {
        const size_t p = AK_FIND(symbols->parameters, symbols->count, name, names[i]);
        atom->parameter_of[i] = p < symbols->count ? (uint8_t)p : AK_PARAMETERS_MAX;
        AK_FAIL_IF(atom->parameter_of[i] == AK_PARAMETERS_MAX &&
                       !ak_scope_get(&atom->values[i], symbols->constants, names[i]),
                   err, AK_INVALID,
                   "%s (%.120s) names \"%.60s\", which is neither a parameter nor a size nor a "
                   "device fact",
                   atom->expr->where, atom->expr->text, names[i]);
    }
    return AK_OK;
}

static ak_status add_atom(ak_atoms *atoms, ak_symbols *symbols, const ak_atom *shared,
                          const ak_node *node, ak_error *err)
{
    AK_FAIL_IF(atoms->count == AK_ATOMS_MAX, err, AK_LIMIT,
               "%s: the conditions have more than %d parts", shared->expr->where, AK_ATOMS_MAX);
    AK_DO(AK_GROW(atoms->items, &atoms->capacity, atoms->count + 1, err));
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
    AK_DO(AK_ARENA_NEW(atom.variable, symbols->arena, AK_PARAMETERS_MAX, err));
    for (size_t p = 0; p < symbols->count; p++) {
        if (reads[p]) {
            atom.variable[atom.variable_count++] = (uint8_t)p;
        }
    }
    const ak_code_source source = {atom.expr, atom.values, atom.parameter_of};
    AK_DO(ak_code_compile(&atom.code, &source, node, symbols, atoms->scratch, err));
    atoms->items[atoms->count++] = atom;
    return AK_OK;
}

/* Splits a chain: a < b <= c is (a < b) and (b <= c). The parts share the trees of their
   operands. */
static ak_status add_chain(ak_atoms *atoms, ak_symbols *symbols, const ak_atom *shared,
                           const ak_node *node, ak_error *err)
{
    for (const ak_node *left = node->child; left->next != NULL; left = left->next) {
        ak_node *part;
        AK_DO(AK_ARENA_NEW(part, symbols->arena, 3, err));
        part[1] = *left;
        part[2] = *left->next;
        part[0].kind = AK_NODE_COMPARE;
        part[0].child = &part[1];
        part[1].next = &part[2];
        part[2].next = NULL;
        AK_DO(add_atom(atoms, symbols, shared, &part[0], err));
    }
    return AK_OK;
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
    for (const ak_node *child = node->child; child != NULL; child = child->next) {
        AK_DO(add_split(atoms, symbols, shared, child, err));
    }
    return AK_OK;
}

ak_status ak_atoms_add(ak_atoms *atoms, ak_symbols *symbols, const ak_expr *expr, size_t condition,
                       ak_error *err)
{
    AK_DO(ak_stored(atoms->scratch != NULL || (atoms->scratch = ak_arena_new()) != NULL, err));
    ak_atom shared = {.condition = condition, .expr = expr, .scratch = atoms->scratch};
    AK_DO(look_up_names(&shared, symbols, err));
    return add_split(atoms, symbols, &shared, expr->root, err);
}

void ak_atoms_clear(ak_atoms *atoms)
{
    ak_free(atoms->items);
    ak_arena_free(atoms->scratch);
    *atoms = (ak_atoms){0};
}

/* ---- evaluating ------------------------------------------------------------------------------ */

/* A step of the expression's own walk costs about a quarter of a unit of work. */
#define STEPS_A_WORK 4

/* Evaluates an atom by the walk of its expression. The value is valid until the next walk. */
static ak_status walk(ak_value *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                      const ak_binding *binding, ak_error *err)
{
    for (size_t i = 0; i < atom->expr->name_count; i++) {
        size_t p = atom->parameter_of[i];
        if (p != AK_PARAMETERS_MAX) {
            atom->values[i] = symbols->parameters[p].values[binding->at[p]];
        }
    }
    size_t steps;
    ak_arena_reset(atom->scratch);
    const ak_status status =
        ak_expr_eval_node(out, &steps, atom->expr, atom->node, atom->values, atom->scratch, err);
    *work += 1 + steps / STEPS_A_WORK;
    return status;
}

ak_status ak_atom_evaluate(uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                           const ak_binding *binding, ak_error *err)
{
    ak_value value;
    return walk(&value, work, atom, symbols, binding, err);
}

ak_status ak_atom_holds(bool *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                        const ak_binding *binding, ak_error *err)
{
    if (atom->code != NULL) {
        *work += atom->cost;
        ak_cell cell;
        *out = ak_code_point(&cell, atom->code, binding) && ak_code_truth(atom->code, cell);
        return AK_OK;
    }
    ak_value value;
    const ak_status status = walk(&value, work, atom, symbols, binding, NULL);
    AK_DO(ak_stored(status != AK_NO_MEMORY, err));
    *out = status == AK_OK && ak_value_truth(&value);
    return AK_OK;
}

ak_truth ak_atom_decide(const ak_atom *atom, const ak_binding *binding)
{
    if (atom->code == NULL) {
        return AK_MAYBE;
    }
    unsigned outcomes = ak_code_outcomes(atom->code, binding);
    return outcomes == AK_CAN_BE_TRUE         ? AK_ALWAYS
           : (outcomes & AK_CAN_BE_TRUE) == 0 ? AK_NEVER
                                              : AK_MAYBE;
}
