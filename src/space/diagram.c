/* diagram.c: builds the graph of the valid configurations as the product of the rules (rules.c);
   see diagram.h. */
#include "space/diagram.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

/* ---- the product of the rules ---------------------------------------------------------------- */

typedef struct layer {
    uint32_t *now;  /* the node that each rule has reached */
    ak_edge *edges; /* edges of the graph node that is being built */
    uint16_t *live; /* rules that may have read a parameter and may read another */
    size_t live_count;
    uint16_t *reads; /* rules that may read the layer's parameter */
    size_t read_count;
} layer;

typedef struct state {
    size_t key; /* where the nodes of the layer's live rules begin in `keys` */
    uint32_t layer;
    uint32_t node; /* graph node + 1; 0 if no configuration is valid from here on */
} state;

typedef struct product {
    const ak_rules *r;
    ak_graph *graph;
    size_t rule_count;
    uint32_t *start; /* root of each rule */
    layer layers[AK_PARAMETERS_MAX + 1];
    state *states;
    size_t state_count, state_capacity;
    uint32_t *keys;
    size_t key_count, key_capacity;
    ak_unique visited, unique;
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

/* Finds the graph node with these edges or adds it. */
static ak_status graph_make(uint32_t *out, product *p, size_t depth, const ak_edge *edges,
                            size_t count, uint64_t total)
{
    ak_graph *g = p->graph;
    assert(count > 0 && total > 0); /* every node leads to a configuration */
    AK_DO(ak_unique_room(&p->unique, p->err));
    /* Whole edges are hashed in one call. `before` is redundant but harmless, and padding is
       zero. */
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
    AK_DO(AK_GROW(g->nodes, &g->node_capacity, g->node_count + 1, p->err));
    AK_DO(AK_GROW(g->edges, &g->edge_capacity, g->edge_count + count, p->err));
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

/* Finds the state for the nodes of the layer's live rules, or adds it; *known says which. */
static ak_status visit(size_t *out, bool *known, product *p, size_t depth)
{
    const layer *l = &p->layers[depth];
    AK_DO(ak_unique_room(&p->visited, p->err));
    AK_DO(AK_GROW(p->keys, &p->key_capacity, p->key_count + l->live_count + 1, p->err));
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
    AK_DO(AK_GROW(p->states, &p->state_capacity, p->state_count + 1, p->err));
    p->states[p->state_count] = (state){p->key_count, (uint32_t)depth, 0};
    p->key_count += l->live_count;
    p->visited.slots[at].hash = hash;
    p->visited.slots[at].id = (uint32_t)p->state_count + 1;
    p->visited.count++;
    *out = p->state_count++;
    *known = false;
    return AK_OK;
}

/* Builds the graph node for the state in layers[depth].now. *out is its index + 1, or 0 if no valid
   configuration goes on from there. */
static ak_status product_build(uint32_t *out, product *p, size_t depth)
{
    const ak_symbols *symbols = p->r->symbols;
    if (depth == symbols->count) {
        *out = AK_GRAPH_END + 1;
        return AK_OK;
    }
    size_t self = 0;
    bool known = false;
    AK_DO(visit(&self, &known, p, depth));
    if (known) {
        *out = p->states[self].node;
        return AK_OK;
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
            next[rule] = ak_rule_step(p->r, l->now[rule], depth, v);
            never = next[rule] == AK_RULE_NEVER;
        }
        uint32_t child = 0;
        AK_DO(never ? AK_OK : product_build(&child, p, depth + 1));
        if (child != 0) {
            ak_edge *edge = &l->edges[count++];
            edge->before = total;
            edge->node = child - 1;
            edge->value = (uint16_t)v;
            AK_FAIL_IF(__builtin_add_overflow(total, p->graph->nodes[child - 1].count, &total) ||
                           total > INT64_MAX,
                       p->err, AK_LIMIT,
                       "%s: the space has 2^63 valid configurations or more; give its parameters "
                       "fewer values",
                       p->r->where);
        }
    }
    *out = 0;
    if (count > 0) {
        uint32_t node = 0;
        AK_DO(graph_make(&node, p, depth, l->edges, count, total));
        *out = node + 1;
    }
    p->states[self].node = *out;
    return AK_OK;
}

/* Allocates the layers and finds out which rules may read each layer's parameter, and which are
   live there. */
static ak_status layers_init(product *p)
{
    const ak_atoms *atoms = p->r->atoms;
    const ak_symbols *symbols = p->r->symbols;
    size_t n = symbols->count;
    p->start = ak_alloc(atoms->count + 1, sizeof *p->start);
    AK_FREED const ak_atom **atom_of = ak_alloc(atoms->count + 1, sizeof(const ak_atom *));
    AK_DO(ak_stored(p->start != NULL && atom_of != NULL, p->err));
    for (size_t i = 0; i < atoms->count; i++) {
        if (p->r->root[i] != AK_RULE_ALWAYS) {
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
        AK_DO(ak_stored(l->now != NULL && l->edges != NULL && l->live != NULL && l->reads != NULL,
                        p->err));
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
    return AK_OK;
}

static void end_product(product **at)
{
    product *p = *at;
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i <= AK_PARAMETERS_MAX; i++) {
        AK_FREE_ALL(p->layers[i].now, p->layers[i].edges, p->layers[i].live, p->layers[i].reads);
    }
    AK_FREE_ALL(p->start, p->states, p->keys, p->visited.slots, p->unique.slots, p);
}

static void end_rules(ak_rules **r)
{
    if (*r != NULL) {
        ak_rules_clear(*r);
        ak_free(*r);
    }
}

/* Adds the node AK_GRAPH_END to an empty graph. */
static ak_status begin_graph(ak_graph *graph, const ak_symbols *symbols, ak_error *err)
{
    AK_DO(AK_GROW(graph->nodes, &graph->node_capacity, 1, err));
    graph->nodes[AK_GRAPH_END] = (ak_graph_node){.count = 1, .layer = (uint32_t)symbols->count};
    graph->node_count = 1;
    return AK_OK;
}

ak_status ak_graph_build(ak_graph *out, const ak_atoms *atoms, const ak_symbols *symbols,
                         uint64_t work_max, const char *where, ak_error *err)
{
    AK_AT_END(ak_graph_clear) ak_graph graph = {.empty = true};
    AK_AT_END(end_rules) ak_rules *r = NULL;
    AK_AT_END(end_product) product *p = NULL;
    AK_DO(AK_NEW(r, 1, err));
    AK_DO(AK_NEW(p, 1, err));
    *r = (ak_rules){
        .atoms = atoms, .symbols = symbols, .where = where, .work_max = work_max, .err = err};
    *p = (product){.r = r, .graph = &graph, .err = err};
    AK_DO(begin_graph(&graph, symbols, err));
    AK_DO(ak_rules_build(r));
    bool never = false; /* a condition excludes everything */
    for (size_t i = 0; i < atoms->count; i++) {
        never = never || r->root[i] == AK_RULE_NEVER;
    }
    if (!never) {
        uint32_t root = 0;
        AK_DO(layers_init(p));
        AK_DO(product_build(&root, p, 0));
        graph.empty = root == 0;
        graph.root = root == 0 ? 0 : root - 1;
    }
    AK_GIVE(out, graph);
    return AK_OK;
}

/* ---- a list of configurations ---------------------------------------------------------------- */

/* Builds the node for `count` configurations that agree in the parameters before `depth`. */
static ak_status list_build(uint32_t *out, product *p, const ak_config *configs, size_t count,
                            size_t depth)
{
    assert(count > 0);
    if (depth == p->r->symbols->count) {
        assert(count == 1); /* the configurations differ from each other */
        *out = AK_GRAPH_END;
        return AK_OK;
    }
    ak_edge *edges = p->layers[depth].edges;
    size_t edge_count = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < count;) {
        uint16_t value = configs[i].at[depth];
        assert(edge_count == 0 || edges[edge_count - 1].value < value); /* the list is sorted */
        size_t end = i + 1;
        while (end < count && configs[end].at[depth] == value) {
            end++;
        }
        uint32_t child = 0;
        AK_DO(list_build(&child, p, &configs[i], end - i, depth + 1));
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
    AK_AT_END(ak_graph_clear) ak_graph graph = {.empty = count == 0};
    AK_AT_END(end_product) product *p = NULL;
    ak_rules r = {.symbols = symbols, .where = where};
    AK_DO(AK_NEW(p, 1, err));
    *p = (product){.r = &r, .graph = &graph, .err = err};
    AK_DO(begin_graph(&graph, symbols, err));
    for (size_t depth = 0; depth < symbols->count; depth++) {
        AK_DO(AK_NEW(p->layers[depth].edges, symbols->parameters[depth].value_count, err));
    }
    AK_DO(count == 0 ? AK_OK : list_build(&graph.root, p, configs, count, 0));
    AK_GIVE(out, graph);
    return AK_OK;
}

/* ---- reading a graph ------------------------------------------------------------------------- */

void ak_graph_clear(ak_graph *graph)
{
    AK_FREE_ALL(graph->nodes, graph->edges);
    *graph = (ak_graph){.empty = true};
}

const ak_edge *ak_graph_step(const ak_graph *graph, uint32_t node, size_t value)
{
    const ak_graph_node *n = &graph->nodes[node];
    const ak_edge *edges = &graph->edges[n->first];
    size_t low = 0, high = n->edges;
    if (value < high &&
        edges[value].value == value) { /* if every value has an edge, the edge is at this index */
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
