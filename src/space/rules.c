/* rules.c: builds the rule of each atom; see diagram.h. */
#include "space/diagram.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

ak_status ak_unique_room(ak_unique *t, ak_error *err)
{
    if (t->count * 2 < t->size) {
        return AK_OK;
    }
    size_t size = t->size == 0 ? 256 : t->size * 2;
    struct ak_unique_slot *slots;
    AK_DO(AK_NEW(slots, size, err));
    for (size_t i = 0; i < t->size; i++) {
        if (t->slots[i].id != 0) {
            size_t at = t->slots[i].hash & (size - 1);
            while (slots[at].id != 0) {
                at = (at + 1) & (size - 1);
            }
            slots[at] = t->slots[i];
        }
    }
    ak_free(t->slots);
    t->slots = slots;
    t->size = size;
    assert((size & (size - 1)) == 0 && t->count < size);
    return AK_OK;
}

static ak_status rule_make(uint32_t *out, ak_rules *r, size_t variable, const uint32_t *children,
                           ak_error *err)
{
    size_t count = r->symbols->parameters[variable].value_count;
    size_t same = 1;
    while (same < count && children[same] == children[0]) {
        same++;
    }
    if (same == count) {
        *out = children[0];
        return AK_OK;
    }
    AK_DO(ak_unique_room(&r->unique, err));
    uint64_t hash = ak_hash64(children, count * sizeof *children) + variable;
    size_t at = hash & (r->unique.size - 1);
    for (; r->unique.slots[at].id != 0; at = (at + 1) & (r->unique.size - 1)) {
        uint32_t id = r->unique.slots[at].id - 1;
        if (r->unique.slots[at].hash == hash && r->nodes[id].variable == variable &&
            memcmp(&r->children[r->nodes[id].first], children, count * sizeof *children) == 0) {
            *out = id;
            return AK_OK;
        }
    }
    AK_FAIL_IF(r->node_count >= AK_SPACE_NODES_MAX || r->child_count + count > AK_SPACE_EDGES_MAX,
               err, AK_LIMIT,
               "%s (%.120s) is too large to be analysed: it has too many different cases; split "
               "it, or give its parameters fewer values",
               r->atom->expr->where, r->atom->expr->text);
    AK_DO(AK_GROW(r->nodes, &r->node_capacity, r->node_count + 1, err));
    AK_DO(AK_GROW(r->children, &r->child_capacity, r->child_count + count, err));
    *out = (uint32_t)r->node_count;
    r->nodes[r->node_count++] = (ak_rule_node){(uint32_t)r->child_count, (uint8_t)variable};
    memcpy(&r->children[r->child_count], children, count * sizeof *children);
    r->child_count += count;
    r->unique.slots[at].hash = hash;
    r->unique.slots[at].id = *out + 1;
    r->unique.count++;
    return AK_OK;
}

static ak_status spend(ak_rules *r, uint64_t work)
{
    r->work += work;
    AK_FAIL_IF(r->work > r->work_max, r->err, AK_LIMIT,
               "%s (%.120s) takes too many evaluations to analyse (the limit is %llu in all); give "
               "its parameters fewer values",
               r->atom->expr->where, r->atom->expr->text, (unsigned long long)r->work_max);
    return AK_OK;
}

/* Returns the number of combinations of the atom's parameters from `level` on. It stops counting
   once it has reached `enough`. */
static size_t combinations_left(const ak_rules *r, size_t level, size_t enough)
{
    size_t product = 1;
    for (size_t i = level; i < r->atom->variable_count && product < enough; i++) {
        product *= r->symbols->parameters[r->atom->variable[i]].value_count;
    }
    return product;
}

/* A range evaluation costs about as much as this many evaluations at a point, so fewer
   combinations are evaluated one by one. */
#define DECIDE_FROM 4

/* Builds the node of the current atom's rule that follows from the parameters bound so far. `guide`
   holds the nodes of smaller rules over some of the same parameters. Where one of them is
   AK_RULE_NEVER, no configuration is valid, so this rule becomes AK_RULE_NEVER without an
   evaluation. */
static ak_status rule_build(uint32_t *out, ak_rules *r, size_t level, const uint32_t *guide)
{
    const ak_atom *atom = r->atom;
    if (level == atom->variable_count) {
        bool holds = false;
        uint64_t work = 0;
        ak_status status = ak_atom_holds(&holds, &work, atom, r->symbols, &r->binding, r->err);
        if (status == AK_OK) {
            status = spend(r, work);
        }
        *out = holds ? AK_RULE_ALWAYS : AK_RULE_NEVER;
        return status;
    }
    ak_status status = AK_OK;
    if (combinations_left(r, level, DECIDE_FROM) >= DECIDE_FROM) {
        status = spend(r, (uint64_t)DECIDE_FROM * atom->cost);
        ak_truth truth = ak_atom_decide(atom, &r->binding);
        if (status != AK_OK || truth != AK_MAYBE) {
            *out = truth == AK_ALWAYS ? AK_RULE_ALWAYS : AK_RULE_NEVER;
            return status;
        }
    }
    size_t variable = atom->variable[level];
    size_t count = r->symbols->parameters[variable].value_count;
    uint32_t *row = r->row[variable];
    for (size_t v = 0; v < count && status == AK_OK; v++) {
        uint32_t inner[AK_RULE_GUIDES_MAX] = {0};
        bool never = false;
        for (size_t g = 0; g < r->guide_count; g++) {
            inner[g] = ak_rule_step(r, guide[g], variable, v);
            never = never || inner[g] == AK_RULE_NEVER;
        }
        row[v] = AK_RULE_NEVER;
        if (!never) {
            ak_binding_set(&r->binding, r->symbols, variable, v);
            status = rule_build(&row[v], r, level + 1, inner);
        }
    }
    ak_binding_free(&r->binding, r->symbols, variable);
    return status == AK_OK ? rule_make(out, r, variable, row, r->err) : status;
}

/* Returns true if `large` reads every parameter that `small` reads. */
static bool is_subset(const ak_atom *small, const ak_atom *large)
{
    size_t j = 0;
    for (size_t i = 0; i < small->variable_count; i++) {
        while (j < large->variable_count && large->variable[j] < small->variable[i]) {
            j++;
        }
        if (j == large->variable_count || large->variable[j] != small->variable[i]) {
            return false;
        }
    }
    return true;
}

static double combinations(const ak_rules *r, const ak_atom *atom)
{
    double product = 1.0;
    for (size_t i = 0; i < atom->variable_count; i++) {
        product *= (double)r->symbols->parameters[atom->variable[i]].value_count;
    }
    return product;
}

ak_status ak_rules_build(ak_rules *r)
{
    ak_status status = AK_OK;
    size_t atoms = r->atoms->count, n = r->symbols->count;
    AK_FREED size_t *order = ak_alloc(atoms + 1, sizeof *order);
    r->root = ak_alloc(atoms + 1, sizeof *r->root);
    AK_DO(ak_stored(order != NULL && r->root != NULL, r->err));
    /* Nodes 0 and 1 are the ends, AK_RULE_NEVER and AK_RULE_ALWAYS. */
    AK_DO(AK_GROW(r->nodes, &r->node_capacity, 2, r->err));
    r->node_count = 2;
    for (size_t p = 0; p < n; p++) {
        ak_binding_free(&r->binding, r->symbols, p);
        AK_DO(AK_NEW(r->row[p], r->symbols->parameters[p].value_count, r->err));
    }
    /* Small rules are built first, because they guide the large ones. */
    for (size_t i = 0; i < atoms; i++) {
        size_t j = i;
        double size = combinations(r, &r->atoms->items[i]);
        for (; j > 0 && combinations(r, &r->atoms->items[order[j - 1]]) > size; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    for (size_t i = 0; i < atoms && status == AK_OK; i++) {
        uint32_t guide[AK_RULE_GUIDES_MAX] = {0};
        r->atom = &r->atoms->items[order[i]];
        r->guide_count = 0;
        for (size_t j = 0; j < i && r->guide_count < AK_RULE_GUIDES_MAX; j++) {
            if (r->root[order[j]] != AK_RULE_ALWAYS &&
                is_subset(&r->atoms->items[order[j]], r->atom)) {
                guide[r->guide_count++] = r->root[order[j]];
            }
        }
        status = rule_build(&r->root[order[i]], r, 0, guide);
    }
    return status;
}

void ak_rules_clear(ak_rules *r)
{
    AK_END_EACH(ak_free, r->row, AK_PARAMETERS_MAX);
    AK_FREE_ALL(r->root, r->nodes, r->children, r->unique.slots);
}
