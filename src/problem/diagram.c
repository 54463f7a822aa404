/* diagram.c: rules, then their product; see diagram.h. */
#include "problem/diagram.h"

#include <string.h>

#include "base/hash.h"

/* ---- a table of unique things ---------------------------------------------------------------- */

/* Open addressing over numbers of things that the owner keeps; 0 marks a free slot. */
typedef struct table {
    struct slot {
        uint64_t hash;
        uint32_t id; /* + 1 */
    } * slots;
    size_t size, count; /* size is a power of two */
} table;

static ak_status table_room(table *t, ak_error *err)
{
    if (t->count * 2 < t->size) {
        return AK_OK;
    }
    size_t size = t->size == 0 ? 256 : t->size * 2;
    struct slot *slots = ak_alloc(size, sizeof *slots);
    if (slots == NULL) {
        return ak_fail_memory(err);
    }
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
    return AK_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* A rule is the number of its first node. */
#define NEVER  0u
#define ALWAYS 1u

typedef struct rule_node {
    uint32_t first; /* child of value 0; the others follow */
    uint8_t variable;
} rule_node;

#define GUIDES_MAX 16 /* rules that a larger one is built under */

typedef struct rules {
    const ak_atoms *atoms;
    const ak_symbols *symbols;
    const char *where;
    rule_node *nodes;
    size_t node_count, node_capacity;
    uint32_t *children;
    size_t child_count, child_capacity;
    table unique;
    uint32_t *root; /* of each atom */
    uint64_t work, work_max;
    ak_arena *scratch;
    /* while one atom is built */
    const ak_atom *atom;
    ak_binding binding;
    uint32_t *row[AK_PARAMETERS_MAX]; /* children of the node under construction, per parameter */
    size_t guide_count;
    ak_error *err;
} rules;

static ak_status rule_make(uint32_t *out, rules *r, size_t variable, const uint32_t *children,
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
    ak_status status = table_room(&r->unique, err);
    if (status != AK_OK) {
        return status;
    }
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
    if (r->node_count >= AK_SPACE_NODES_MAX || r->child_count + count > AK_SPACE_EDGES_MAX) {
        return ak_fail(err, AK_LIMIT,
                       "%s (%.120s) is too large to be analysed: it has more than %u "
                       "different cases; split it, or give its parameters fewer values",
                       r->atom->expr->where, r->atom->expr->text, AK_SPACE_EDGES_MAX);
    }
    status =
        ak_grow((void **)&r->nodes, &r->node_capacity, r->node_count + 1, sizeof *r->nodes, err);
    if (status == AK_OK) {
        status = ak_grow((void **)&r->children, &r->child_capacity, r->child_count + count,
                         sizeof *r->children, err);
    }
    if (status != AK_OK) {
        return status;
    }
    *out = (uint32_t)r->node_count;
    r->nodes[r->node_count++] = (rule_node){(uint32_t)r->child_count, (uint8_t)variable};
    memcpy(&r->children[r->child_count], children, count * sizeof *children);
    r->child_count += count;
    r->unique.slots[at].hash = hash;
    r->unique.slots[at].id = *out + 1;
    r->unique.count++;
    return AK_OK;
}

static ak_status spend(rules *r, uint64_t work)
{
    r->work += work;
    if (r->work > r->work_max) {
        return ak_fail(
            r->err, AK_LIMIT,
            "%s (%.120s) takes too many evaluations to analyse (the limit is %llu in all); "
            "give its parameters fewer values",
            r->atom->expr->where, r->atom->expr->text, (unsigned long long)r->work_max);
    }
    return AK_OK;
}

/* Combinations of the parameters from `level` on, at most `enough`. */
static size_t combinations_left(const rules *r, size_t level, size_t enough)
{
    size_t product = 1;
    for (size_t i = level; i < r->atom->variable_count && product < enough; i++) {
        product *= r->symbols->parameters[r->atom->variable[i]].value_count;
    }
    return product;
}

/* A range evaluation costs about as much as this many evaluations at a point. */
#define DECIDE_FROM 4

/* The rule of the atom for what is bound now. `guide` holds the nodes of smaller rules over some of
   the same parameters: where one of them is NEVER already, this one need not be looked at. */
static ak_status rule_build(uint32_t *out, rules *r, size_t level, const uint32_t *guide)
{
    const ak_atom *atom = r->atom;
    if (level == atom->variable_count) {
        bool holds = false;
        uint64_t work = 0;
        ak_status status =
            ak_atom_holds(&holds, &work, atom, r->symbols, &r->binding, r->scratch, r->err);
        if (status == AK_OK) {
            status = spend(r, work);
        }
        *out = holds ? ALWAYS : NEVER;
        return status;
    }
    ak_status status = AK_OK;
    if (combinations_left(r, level, DECIDE_FROM) >= DECIDE_FROM) {
        status = spend(r, (uint64_t)DECIDE_FROM * atom->cost);
        ak_verdict verdict = ak_atom_decide(atom, &r->binding);
        if (status != AK_OK || verdict != AK_MAYBE) {
            *out = verdict == AK_ALWAYS ? ALWAYS : NEVER;
            return status;
        }
    }
    size_t variable = atom->variable[level];
    size_t count = r->symbols->parameters[variable].value_count;
    uint32_t *row = r->row[variable];
    for (size_t v = 0; v < count && status == AK_OK; v++) {
        uint32_t inner[GUIDES_MAX] = {0};
        bool never = false;
        for (size_t g = 0; g < r->guide_count; g++) {
            inner[g] = guide[g];
            if (guide[g] > ALWAYS && r->nodes[guide[g]].variable == variable) {
                inner[g] = r->children[r->nodes[guide[g]].first + v];
            }
            never = never || inner[g] == NEVER;
        }
        row[v] = NEVER;
        if (!never) {
            ak_binding_set(&r->binding, r->symbols, variable, v);
            status = rule_build(&row[v], r, level + 1, inner);
        }
    }
    ak_binding_free(&r->binding, r->symbols, variable);
    return status == AK_OK ? rule_make(out, r, variable, row, r->err) : status;
}

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

static double combinations(const rules *r, const ak_atom *atom)
{
    double product = 1.0;
    for (size_t i = 0; i < atom->variable_count; i++) {
        product *= (double)r->symbols->parameters[atom->variable[i]].value_count;
    }
    return product;
}

static ak_status rules_build(rules *r)
{
    size_t atoms = r->atoms->count, n = r->symbols->count;
    ak_status status = AK_OK;
    size_t *order = ak_alloc(atoms + 1, sizeof *order);
    r->root = ak_alloc(atoms + 1, sizeof *r->root);
    r->scratch = ak_arena_new();
    /* nodes 0 and 1 are the ends */
    status = ak_grow((void **)&r->nodes, &r->node_capacity, 2, sizeof *r->nodes, r->err);
    if (order == NULL || r->root == NULL || r->scratch == NULL || status != AK_OK) {
        status = ak_fail_memory(r->err);
        goto out;
    }
    r->node_count = 2;
    for (size_t p = 0; p < n; p++) {
        ak_binding_free(&r->binding, r->symbols, p);
        r->row[p] = ak_alloc(r->symbols->parameters[p].value_count, sizeof *r->row[p]);
        if (r->row[p] == NULL) {
            status = ak_fail_memory(r->err);
            goto out;
        }
    }
    /* small ones first, for they guide the large ones */
    for (size_t i = 0; i < atoms; i++) {
        size_t j = i;
        double size = combinations(r, &r->atoms->items[i]);
        for (; j > 0 && combinations(r, &r->atoms->items[order[j - 1]]) > size; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    for (size_t i = 0; i < atoms && status == AK_OK; i++) {
        uint32_t guide[GUIDES_MAX] = {0};
        r->atom = &r->atoms->items[order[i]];
        r->guide_count = 0;
        for (size_t j = 0; j < i && r->guide_count < GUIDES_MAX; j++) {
            if (r->root[order[j]] != ALWAYS && is_subset(&r->atoms->items[order[j]], r->atom)) {
                guide[r->guide_count++] = r->root[order[j]];
            }
        }
        status = rule_build(&r->root[order[i]], r, 0, guide);
    }
out:
    ak_free(order);
    return status;
}

static void rules_clear(rules *r)
{
    for (size_t p = 0; p < AK_PARAMETERS_MAX; p++) {
        ak_free(r->row[p]);
    }
    ak_arena_free(r->scratch);
    ak_free(r->root);
    ak_free(r->nodes);
    ak_free(r->children);
    ak_free(r->unique.slots);
}

/* ---- their product --------------------------------------------------------------------------- */

typedef struct layer {
    uint32_t *now;  /* node of each rule */
    ak_edge *edges; /* of the graph node under construction */
    uint16_t *live; /* rules that have read a parameter and are not done */
    size_t live_count;
    uint16_t *reads; /* rules that may read this layer's parameter */
    size_t read_count;
} layer;

typedef struct state {
    size_t key; /* the nodes of the layer's live rules, in `keys` */
    uint32_t layer;
    uint32_t node; /* graph node + 1, or 0 if nothing is valid from here on */
} state;

typedef struct product {
    const rules *r;
    ak_graph *graph;
    size_t rule_count;
    uint32_t *start; /* root of each rule */
    layer layers[AK_PARAMETERS_MAX + 1];
    state *states;
    size_t state_count, state_capacity;
    uint32_t *keys;
    size_t key_count, key_capacity;
    table visited, unique;
    uint64_t work;
    ak_error *err;
} product;

static ak_status too_large(const product *p)
{
    return ak_fail(p->err, AK_LIMIT,
                   "%s: the space is too large to be built: its conditions tie too many parameters "
                   "together; give the parameters fewer values, or declare those that share a "
                   "condition next to each other",
                   p->r->where);
}

static ak_status graph_make(uint32_t *out, product *p, size_t depth, const ak_edge *edges,
                            size_t count, uint64_t total)
{
    ak_graph *g = p->graph;
    ak_status status = table_room(&p->unique, p->err);
    if (status != AK_OK) {
        return status;
    }
    /* `before` follows from the rest, but hashing whole edges is one call; padding is zero */
    uint64_t hash = ak_hash64(edges, count * sizeof *edges);
    size_t at = hash & (p->unique.size - 1);
    for (; p->unique.slots[at].id != 0; at = (at + 1) & (p->unique.size - 1)) {
        uint32_t id = p->unique.slots[at].id - 1;
        if (p->unique.slots[at].hash == hash && g->nodes[id].edges == count &&
            memcmp(&g->edges[g->nodes[id].first], edges, count * sizeof *edges) == 0) {
            *out = id;
            return AK_OK;
        }
    }
    if (g->edge_count + count > AK_SPACE_EDGES_MAX || g->node_count >= AK_SPACE_NODES_MAX) {
        return too_large(p);
    }
    status =
        ak_grow((void **)&g->nodes, &g->node_capacity, g->node_count + 1, sizeof *g->nodes, p->err);
    if (status == AK_OK) {
        status = ak_grow((void **)&g->edges, &g->edge_capacity, g->edge_count + count,
                         sizeof *g->edges, p->err);
    }
    if (status != AK_OK) {
        return status;
    }
    *out = (uint32_t)g->node_count;
    g->nodes[g->node_count++] =
        (ak_graph_node){total, (uint32_t)g->edge_count, (uint32_t)count, (uint32_t)depth};
    memcpy(&g->edges[g->edge_count], edges, count * sizeof *edges);
    g->edge_count += count;
    p->unique.slots[at].hash = hash;
    p->unique.slots[at].id = *out + 1;
    p->unique.count++;
    return AK_OK;
}

/* Finds the state of a layer or adds it; `known` says which. */
static ak_status visit(size_t *out, bool *known, product *p, size_t depth)
{
    const layer *l = &p->layers[depth];
    ak_status status = table_room(&p->visited, p->err);
    if (status == AK_OK) {
        status = ak_grow((void **)&p->keys, &p->key_capacity, p->key_count + l->live_count + 1,
                         sizeof *p->keys, p->err);
    }
    if (status != AK_OK) {
        return status;
    }
    uint32_t *key = &p->keys[p->key_count];
    for (size_t i = 0; i < l->live_count; i++) {
        key[i] = l->now[l->live[i]];
    }
    size_t bytes = l->live_count * sizeof *key;
    uint64_t hash = ak_hash64(key, bytes) + depth * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = hash & (p->visited.size - 1);
    for (; p->visited.slots[at].id != 0; at = (at + 1) & (p->visited.size - 1)) {
        size_t id = p->visited.slots[at].id - 1;
        if (p->visited.slots[at].hash == hash && p->states[id].layer == depth &&
            memcmp(&p->keys[p->states[id].key], key, bytes) == 0) {
            *out = id;
            *known = true;
            return AK_OK;
        }
    }
    if (p->state_count >= AK_SPACE_NODES_MAX || p->key_count > 4 * (size_t)AK_SPACE_EDGES_MAX) {
        return too_large(p);
    }
    status = ak_grow((void **)&p->states, &p->state_capacity, p->state_count + 1, sizeof *p->states,
                     p->err);
    if (status != AK_OK) {
        return status;
    }
    p->states[p->state_count] = (state){p->key_count, (uint32_t)depth, 0};
    p->key_count += l->live_count;
    p->visited.slots[at].hash = hash;
    p->visited.slots[at].id = (uint32_t)p->state_count + 1;
    p->visited.count++;
    *out = p->state_count++;
    *known = false;
    return AK_OK;
}

/* The graph node + 1 of the state in layers[depth].now, or 0. */
static ak_status product_build(uint32_t *out, product *p, size_t depth)
{
    const ak_symbols *symbols = p->r->symbols;
    if (depth == symbols->count) {
        *out = AK_GRAPH_END + 1;
        return AK_OK;
    }
    size_t self = 0;
    bool known = false;
    ak_status status = visit(&self, &known, p, depth);
    if (status != AK_OK || known) {
        *out = status == AK_OK ? p->states[self].node : 0;
        return status;
    }
    const layer *l = &p->layers[depth];
    uint32_t *next = p->layers[depth + 1].now;
    size_t values = symbols->parameters[depth].value_count, count = 0;
    uint64_t total = 0;
    p->work += values;
    if (p->work > p->r->work_max) {
        return too_large(p);
    }
    memcpy(next, l->now, p->rule_count * sizeof *next);
    for (size_t v = 0; v < values; v++) {
        bool never = false;
        for (size_t i = 0; i < l->read_count && !never; i++) {
            size_t rule = l->reads[i];
            uint32_t at = l->now[rule];
            if (at > ALWAYS && p->r->nodes[at].variable == depth) {
                at = p->r->children[p->r->nodes[at].first + v];
            }
            next[rule] = at;
            never = at == NEVER;
        }
        uint32_t child = 0;
        if (!never) {
            status = product_build(&child, p, depth + 1);
            if (status != AK_OK) {
                return status;
            }
        }
        if (child != 0) {
            ak_edge *edge = &l->edges[count++];
            edge->before = total;
            edge->node = child - 1;
            edge->value = (uint16_t)v;
            if (__builtin_add_overflow(total, p->graph->nodes[child - 1].count, &total) ||
                total > INT64_MAX) {
                return ak_fail(p->err, AK_LIMIT,
                               "%s: the space has 2^63 valid configurations or more; give its "
                               "parameters fewer values",
                               p->r->where);
            }
        }
    }
    *out = 0;
    if (count > 0) {
        uint32_t node = 0;
        status = graph_make(&node, p, depth, l->edges, count, total);
        *out = status == AK_OK ? node + 1 : 0;
    }
    p->states[self].node = *out;
    return status;
}

/* Which rules read the parameters, and from where to where. */
static ak_status layers_init(product *p)
{
    const ak_atoms *atoms = p->r->atoms;
    const ak_symbols *symbols = p->r->symbols;
    size_t n = symbols->count;
    p->start = ak_alloc(atoms->count + 1, sizeof *p->start);
    const ak_atom **atom_of = ak_alloc(atoms->count + 1, sizeof(const ak_atom *));
    ak_status status = AK_OK;
    if (p->start == NULL || atom_of == NULL) {
        status = ak_fail_memory(p->err);
        goto out;
    }
    for (size_t i = 0; i < atoms->count; i++) {
        if (p->r->root[i] != ALWAYS) {
            atom_of[p->rule_count] = &atoms->items[i];
            p->start[p->rule_count++] = p->r->root[i];
        }
    }
    for (size_t depth = 0; depth <= n; depth++) {
        layer *l = &p->layers[depth];
        size_t values = depth < n ? symbols->parameters[depth].value_count : 1;
        l->now = ak_alloc(p->rule_count + 1, sizeof *l->now);
        l->edges = ak_alloc(values, sizeof *l->edges);
        l->live = ak_alloc(p->rule_count + 1, sizeof *l->live);
        l->reads = ak_alloc(p->rule_count + 1, sizeof *l->reads);
        if (l->now == NULL || l->edges == NULL || l->live == NULL || l->reads == NULL) {
            status = ak_fail_memory(p->err);
            goto out;
        }
        for (size_t i = 0; i < p->rule_count; i++) {
            const ak_atom *atom = atom_of[i];
            size_t first = p->r->nodes[p->start[i]].variable;
            size_t last = atom->variable_count == 0 ? 0 : atom->variable[atom->variable_count - 1];
            if (first < depth && last >= depth) {
                l->live[l->live_count++] = (uint16_t)i;
            }
            if (first <= depth && last >= depth) {
                l->reads[l->read_count++] = (uint16_t)i;
            }
        }
    }
    memcpy(p->layers[0].now, p->start, p->rule_count * sizeof *p->start);
out:
    ak_free(atom_of);
    return status;
}

static void product_clear(product *p)
{
    for (size_t i = 0; i <= AK_PARAMETERS_MAX; i++) {
        ak_free(p->layers[i].now);
        ak_free(p->layers[i].edges);
        ak_free(p->layers[i].live);
        ak_free(p->layers[i].reads);
    }
    ak_free(p->start);
    ak_free(p->states);
    ak_free(p->keys);
    ak_free(p->visited.slots);
    ak_free(p->unique.slots);
}

/* ---- the whole ------------------------------------------------------------------------------- */

ak_status ak_graph_build(ak_graph *out, const ak_atoms *atoms, const ak_symbols *symbols,
                         uint64_t work_max, const char *where, ak_error *err)
{
    ak_graph graph = {.empty = true};
    rules *r = ak_alloc(1, sizeof *r);
    product *p = ak_alloc(1, sizeof *p);
    ak_status status = AK_OK;
    if (r == NULL || p == NULL) {
        status = ak_fail_memory(err);
        goto out;
    }
    *r = (rules){
        .atoms = atoms, .symbols = symbols, .where = where, .work_max = work_max, .err = err};
    *p = (product){.r = r, .graph = &graph, .err = err};
    status = ak_grow((void **)&graph.nodes, &graph.node_capacity, 1, sizeof *graph.nodes, err);
    if (status != AK_OK) {
        goto out;
    }
    graph.nodes[AK_GRAPH_END] = (ak_graph_node){.count = 1, .layer = (uint32_t)symbols->count};
    graph.node_count = 1;
    status = rules_build(r);
    for (size_t i = 0; i < atoms->count && status == AK_OK; i++) {
        if (r->root[i] == NEVER) {
            goto out; /* empty */
        }
    }
    if (status == AK_OK) {
        status = layers_init(p);
    }
    uint32_t root = 0;
    if (status == AK_OK) {
        status = product_build(&root, p, 0);
    }
    graph.empty = root == 0;
    graph.root = root == 0 ? 0 : root - 1;
out:
    if (p != NULL) {
        product_clear(p);
    }
    if (r != NULL) {
        rules_clear(r);
    }
    ak_free(p);
    ak_free(r);
    if (status != AK_OK) {
        ak_graph_clear(&graph);
        return status;
    }
    *out = graph;
    return AK_OK;
}

/* The configurations agree in the parameters before `depth`. */
static ak_status list_build(uint32_t *out, product *p, const ak_config *configs, size_t count,
                            size_t depth)
{
    if (depth == p->r->symbols->count) {
        *out = AK_GRAPH_END;
        return AK_OK;
    }
    ak_edge *edges = p->layers[depth].edges;
    size_t edge_count = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < count;) {
        uint16_t value = configs[i].at[depth];
        size_t end = i + 1;
        while (end < count && configs[end].at[depth] == value) {
            end++;
        }
        uint32_t child = 0;
        ak_status status = list_build(&child, p, &configs[i], end - i, depth + 1);
        if (status != AK_OK) {
            return status;
        }
        ak_edge *edge = &edges[edge_count++];
        edge->before = total;
        edge->node = child;
        edge->value = value;
        total += p->graph->nodes[child].count;
        i = end;
    }
    return graph_make(out, p, depth, edges, edge_count, total);
}

ak_status ak_graph_list(ak_graph *out, const ak_symbols *symbols, const ak_config *configs,
                        size_t count, const char *where, ak_error *err)
{
    ak_graph graph = {.empty = count == 0};
    rules r = {.symbols = symbols, .where = where};
    product *p = ak_alloc(1, sizeof *p);
    if (p == NULL) {
        return ak_fail_memory(err);
    }
    *p = (product){.r = &r, .graph = &graph, .err = err};
    ak_status status =
        ak_grow((void **)&graph.nodes, &graph.node_capacity, 1, sizeof *graph.nodes, err);
    for (size_t depth = 0; depth < symbols->count && status == AK_OK; depth++) {
        p->layers[depth].edges =
            ak_alloc(symbols->parameters[depth].value_count, sizeof *p->layers[depth].edges);
        status = p->layers[depth].edges == NULL ? ak_fail_memory(err) : AK_OK;
    }
    if (status == AK_OK) {
        graph.nodes[AK_GRAPH_END] = (ak_graph_node){.count = 1, .layer = (uint32_t)symbols->count};
        graph.node_count = 1;
        status = count == 0 ? AK_OK : list_build(&graph.root, p, configs, count, 0);
    }
    product_clear(p);
    ak_free(p);
    if (status != AK_OK) {
        ak_graph_clear(&graph);
        return status;
    }
    *out = graph;
    return AK_OK;
}

void ak_graph_clear(ak_graph *graph)
{
    ak_free(graph->nodes);
    ak_free(graph->edges);
    *graph = (ak_graph){.empty = true};
}

const ak_edge *ak_graph_step(const ak_graph *graph, uint32_t node, size_t value)
{
    const ak_graph_node *n = &graph->nodes[node];
    const ak_edge *edges = &graph->edges[n->first];
    size_t low = 0, high = n->edges;
    if (value < high && edges[value].value == value) { /* often all values are there */
        return &edges[value];
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (edges[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n->edges && edges[low].value == value ? &edges[low] : NULL;
}
