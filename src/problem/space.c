/* space.c: a space is its parameters and the graph of its valid configurations (diagram.h).
   Counting, indexing, sampling and walking are walks through the graph, one edge per parameter. */
#include "problem/space_body.h"

#include <string.h>

/* ---- building -------------------------------------------------------------------------------- */

#define EXPLAIN_SAMPLES  4096     /* enough to tell which condition excludes most */
#define EXPLAIN_WORK_MAX 5000000u /* less than a second */

/* No configuration is valid: names the condition that excludes most of the combinations. */
static ak_status explain_empty(const ak_space *space, const char *where, ak_error *err)
{
    size_t *excluded = ak_alloc(space->condition_count + 1, sizeof *excluded);
    if (excluded == NULL) {
        return ak_fail_memory(err);
    }
    bool all = space->cartesian <= EXPLAIN_SAMPLES;
    uint64_t work = 0;
    size_t samples = all ? (size_t)space->cartesian : EXPLAIN_SAMPLES, worst = 0;
    ak_status status = AK_OK;
    ak_rng rng;
    ak_rng_seed(&rng, 1);
    for (size_t s = 0; s < samples && status == AK_OK; s++) {
        ak_binding binding;
        size_t rest = s;
        if (work > EXPLAIN_WORK_MAX) {
            samples = s;
            break;
        }
        for (size_t p = 0; p < space->count; p++) {
            size_t n = space->parameters[p].value_count;
            size_t value = all ? rest % n : (size_t)ak_rng_below(&rng, n);
            rest /= n;
            ak_binding_set(&binding, &space->symbols, p, value);
        }
        size_t last = SIZE_MAX; /* condition whose exclusion has been counted */
        for (size_t i = 0; i < space->atoms.count && status == AK_OK; i++) {
            const ak_atom *atom = &space->atoms.items[i];
            bool holds = true;
            if (atom->condition != last) {
                status = ak_atom_holds(&holds, &work, atom, &space->symbols, &binding,
                                       space->atoms.scratch, err);
            }
            if (!holds) {
                last = atom->condition;
                excluded[last]++;
            }
        }
    }
    for (size_t i = 1; i < space->condition_count; i++) {
        worst = excluded[i] > excluded[worst] ? i : worst;
    }
    if (status == AK_OK) {
        double percent = 100.0 * (double)excluded[worst] / (double)samples;
        const char *reason = space->reasons[worst];
        status = ak_fail(err, AK_INVALID,
                         "%s: no configuration is valid: condition %zu (%.120s%s%.80s) excludes "
                         "%.3g %% of all combinations",
                         where, worst + 1, space->texts[worst], *reason == 0 ? "" : ": ", reason,
                         percent);
    }
    ak_free(excluded);
    return status;
}

static ak_status build(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    space->arena = ak_arena_new();
    space->names = ak_map_new();
    space->cartesian = 1.0;
    space->graph.empty = true;
    if (space->arena == NULL || space->names == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = ak_space_read(space, spec, err);
    if (status == AK_OK) {
        status = ak_symbols_init(&space->symbols, space->parameters, space->count, spec->constants,
                                 space->arena, err);
    }
    space->listed = spec->listed != NULL;
    for (size_t i = 0; i < space->condition_count && status == AK_OK && !space->listed; i++) {
        status = ak_atoms_add(&space->atoms, &space->symbols, space->conditions[i], i, err);
    }
    space->symbols.constants = NULL; /* folded by now; they may end before the space */
    if (status == AK_OK && space->listed) {
        status = ak_graph_list(&space->graph, &space->symbols, spec->listed, spec->listed_count,
                               spec->where, err);
    } else if (status == AK_OK) {
        status = ak_graph_build(&space->graph, &space->atoms, &space->symbols, spec->work_max,
                                spec->where, err);
    }
    if (status == AK_OK && space->graph.empty) {
        status = space->listed ? ak_fail(err, AK_INVALID, "%s: holds no configuration", spec->where)
                               : explain_empty(space, spec->where, err);
    }
    if (status != AK_OK) {
        return status;
    }
    space->cost = ak_alloc(space->graph.node_count, sizeof *space->cost);
    if (space->cost == NULL) {
        return ak_fail_memory(err);
    }
    ak_config wish = {{0}};
    for (size_t p = 0; p < space->count; p++) {
        wish.at[p] = (uint16_t)space->parameters[p].default_index;
    }
    ak_space_repair(&space->fallback, space, &wish);
    return space->listed ? AK_OK : ak_space_read_starts(space, spec, err);
}

ak_status ak_space_build(ak_space **out, const ak_space_spec *spec, ak_error *err)
{
    ak_space_spec known = *spec;
    known.where = spec->where == NULL ? "space" : spec->where;
    known.work_max = spec->work_max == 0 ? AK_SPACE_WORK_MAX : spec->work_max;
    ak_space *space = ak_alloc(1, sizeof *space);
    if (space == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = build(space, &known, err);
    if (status != AK_OK) {
        ak_space_free(space);
        return status;
    }
    *out = space;
    return AK_OK;
}

void ak_space_free(ak_space *space)
{
    if (space != NULL) {
        for (size_t i = 0; i < space->condition_count; i++) {
            ak_expr_free(space->conditions[i]);
        }
        ak_graph_clear(&space->graph);
        ak_atoms_clear(&space->atoms);
        ak_symbols_clear(&space->symbols);
        ak_map_free(space->names);
        ak_free(space->cost);
        ak_arena_free(space->arena);
        ak_free(space);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

size_t ak_space_parameter_count(const ak_space *space)
{
    return space->count;
}

const ak_parameter *ak_space_parameter(const ak_space *space, size_t index)
{
    return index < space->count ? &space->parameters[index] : NULL;
}

bool ak_space_parameter_find(size_t *index, const ak_space *space, const char *name)
{
    return ak_map_get(index, space->names, name);
}

size_t ak_space_condition_count(const ak_space *space)
{
    return space->condition_count;
}

const char *ak_space_condition(const ak_space *space, size_t index)
{
    return index < space->condition_count ? space->texts[index] : NULL;
}

const char *ak_space_condition_reason(const ak_space *space, size_t index)
{
    return index < space->condition_count ? space->reasons[index] : NULL;
}

double ak_space_cartesian(const ak_space *space)
{
    return space->cartesian;
}

uint64_t ak_space_count(const ak_space *space)
{
    return space->graph.nodes[space->graph.root].count;
}

void ak_space_default(ak_config *out, const ak_space *space)
{
    *out = space->fallback;
}

void ak_space_set_default(ak_space *space, const ak_config *config)
{
    space->fallback = *config;
}

ak_status ak_space_broken(size_t *condition, const ak_space *space, const ak_config *config,
                          ak_error *err)
{
    ak_binding binding;
    for (size_t p = 0; p < space->count; p++) {
        ak_binding_set(&binding, &space->symbols, p, config->at[p]);
    }
    *condition = space->condition_count;
    for (size_t i = 0; i < space->atoms.count; i++) {
        bool holds;
        uint64_t work = 0;
        const ak_atom *atom = &space->atoms.items[i];
        ak_status status = ak_atom_holds(&holds, &work, atom, &space->symbols, &binding,
                                         space->atoms.scratch, err);
        if (status != AK_OK) {
            return status;
        }
        if (!holds) { /* atoms are in the order of their conditions */
            *condition = atom->condition;
            break;
        }
    }
    return AK_OK;
}

/* ---- indices --------------------------------------------------------------------------------- */

void ak_space_at(ak_config *out, const ak_space *space, uint64_t index)
{
    const ak_graph *graph = &space->graph;
    ak_config config = {{0}};
    uint32_t at = graph->root;
    for (size_t p = 0; p < space->count; p++) {
        const ak_graph_node *node = &graph->nodes[at];
        const ak_edge *edges = &graph->edges[node->first];
        size_t low = 0, high = node->edges - 1; /* the last edge that starts at or before index */
        while (low < high) {
            size_t middle = low + (high - low + 1) / 2;
            if (edges[middle].before <= index) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        config.at[p] = edges[low].value;
        index -= edges[low].before;
        at = edges[low].node;
    }
    *out = config;
}

bool ak_space_find(uint64_t *index, const ak_space *space, const ak_config *config)
{
    uint32_t at = space->graph.root;
    uint64_t before = 0;
    for (size_t p = 0; p < space->count; p++) {
        const ak_edge *edge = ak_graph_step(&space->graph, at, config->at[p]);
        if (edge == NULL) {
            return false;
        }
        before += edge->before;
        at = edge->node;
    }
    if (index != NULL) {
        *index = before;
    }
    return true;
}

bool ak_space_has(const ak_space *space, const ak_config *config)
{
    return ak_space_find(NULL, space, config);
}

void ak_space_sample(ak_config *out, const ak_space *space, ak_rng *rng)
{
    ak_space_at(out, space, ak_rng_below(rng, ak_space_count(space)));
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Does the rest of the configuration, from parameter `p` on, lead to the end? */
static bool rest_is_valid(const ak_space *space, uint32_t at, const ak_config *config, size_t p)
{
    for (; p < space->count; p++) {
        const ak_edge *edge = ak_graph_step(&space->graph, at, config->at[p]);
        if (edge == NULL) {
            return false;
        }
        at = edge->node;
    }
    return true;
}

typedef struct neighbours {
    ak_config *out;
    size_t max, count;
    const ak_space *space;
    const ak_config *config;
} neighbours;

static void add_neighbour(neighbours *n, size_t p, uint16_t value)
{
    if (n->count < n->max) {
        n->out[n->count] = *n->config;
        n->out[n->count].at[p] = value;
        n->count++;
    }
}

/* `node` is where the configuration's values before `p` lead. */
static void any_neighbours(neighbours *n, size_t p, uint32_t node)
{
    const ak_graph *graph = &n->space->graph;
    const ak_edge *edges = &graph->edges[graph->nodes[node].first];
    for (size_t i = 0; i < graph->nodes[node].edges && n->count < n->max; i++) {
        if (edges[i].value != n->config->at[p] &&
            rest_is_valid(n->space, edges[i].node, n->config, p + 1)) {
            add_neighbour(n, p, edges[i].value);
        }
    }
}

static void adjacent_neighbours(neighbours *n, size_t p, uint32_t node)
{
    const ak_parameter_body *body = &n->space->bodies[p];
    size_t count = n->space->parameters[p].value_count;
    if (body->rank == NULL || n->config->at[p] >= count) {
        return;
    }
    size_t rank = body->rank[n->config->at[p]];
    for (int up = 0; up <= 1; up++) {
        size_t r = rank;
        while (up ? r + 1 < count : r > 0) {
            r = up ? r + 1 : r - 1;
            const ak_edge *edge = ak_graph_step(&n->space->graph, node, body->by_rank[r]);
            if (edge != NULL && rest_is_valid(n->space, edge->node, n->config, p + 1)) {
                add_neighbour(n, p, edge->value);
                break;
            }
        }
    }
}

size_t ak_space_neighbours(ak_config *out, size_t max, const ak_space *space,
                           const ak_config *config, ak_neighbourhood kind)
{
    neighbours n = {out, max, 0, space, config};
    uint32_t at = space->graph.root;
    for (size_t p = 0; p < space->count && n.count < max; p++) {
        if (kind == AK_NEIGHBOUR_ANY) {
            any_neighbours(&n, p, at);
        } else {
            adjacent_neighbours(&n, p, at);
        }
        const ak_edge *edge = ak_graph_step(&space->graph, at, config->at[p]);
        if (edge == NULL) {
            break; /* only a change up to here can make it valid */
        }
        at = edge->node;
    }
    return n.count;
}

/* ---- repair ---------------------------------------------------------------------------------- */

/* A change outweighs all steps: 64 parameters of 65535 values are fewer than 2^32 steps. */
#define CHANGE (UINT64_C(1) << 32)

static uint64_t change_cost(const ak_space *space, size_t p, uint16_t from, uint16_t to)
{
    if (from == to) {
        return 0;
    }
    const ak_parameter_body *body = &space->bodies[p];
    if (body->rank == NULL || from >= space->parameters[p].value_count) {
        return CHANGE + 1;
    }
    int steps = (int)body->rank[from] - (int)body->rank[to];
    return CHANGE + (uint64_t)(steps < 0 ? -steps : steps);
}

void ak_space_repair(ak_config *out, const ak_space *space, const ak_config *wish)
{
    const ak_graph *graph = &space->graph;
    ak_config config = {{0}};
    if (ak_space_has(space, wish)) {
        memcpy(config.at, wish->at, space->count * sizeof config.at[0]); /* zeros past the end */
        *out = config;
        return;
    }
    /* The cheapest way from every node to the end. Children come before their parents, so one pass
       does; AK_GRAPH_END, the first, costs nothing. */
    for (size_t i = 1; i < graph->node_count; i++) {
        const ak_graph_node *node = &graph->nodes[i];
        uint64_t best = UINT64_MAX;
        for (size_t e = node->first; e < node->first + node->edges; e++) {
            const ak_edge *edge = &graph->edges[e];
            uint64_t cost = space->cost[edge->node] +
                            change_cost(space, node->layer, wish->at[node->layer], edge->value);
            best = cost < best ? cost : best;
        }
        space->cost[i] = best;
    }
    uint32_t at = graph->root;
    for (size_t p = 0; p < space->count; p++) {
        const ak_graph_node *node = &graph->nodes[at];
        const ak_edge *edge = &graph->edges[node->first];
        while (space->cost[edge->node] + change_cost(space, p, wish->at[p], edge->value) !=
               space->cost[at]) {
            edge++; /* the first of the cheapest: the lowest index */
        }
        config.at[p] = edge->value;
        at = edge->node;
    }
    *out = config;
}

bool ak_space_ordered(const ak_space *space, size_t parameter)
{
    return space->bodies[parameter].rank != NULL;
}

size_t ak_space_rank(const ak_space *space, size_t parameter, size_t value)
{
    const ak_parameter_body *body = &space->bodies[parameter];
    return body->rank == NULL ? value : body->rank[value];
}

uint16_t ak_space_by_rank(const ak_space *space, size_t parameter, size_t rank)
{
    const ak_parameter_body *body = &space->bodies[parameter];
    return body->rank == NULL ? (uint16_t)rank : body->by_rank[rank];
}

/* Partial configurations that lead to different nodes, all after the same number of parameters. */
typedef struct beam {
    struct {
        double cost;
        uint32_t node;
        uint16_t value; /* of the last parameter */
        uint16_t from;  /* place in the beam before */
    } at[AK_SPACE_BEAM];
    size_t count;
} beam;

static void add_to_beam(beam *b, double cost, const ak_edge *edge, size_t from)
{
    size_t place = 0, worst = 0;
    while (place < b->count && b->at[place].node != edge->node) {
        worst = b->at[place].cost > b->at[worst].cost ? place : worst;
        place++;
    }
    bool fresh = place == b->count && place < AK_SPACE_BEAM;
    place = place == AK_SPACE_BEAM ? worst : place;
    if (fresh || cost < b->at[place].cost) {
        b->count += fresh;
        b->at[place].cost = cost;
        b->at[place].node = edge->node;
        b->at[place].value = edge->value;
        b->at[place].from = (uint16_t)from;
    }
}

void ak_space_cheapest(ak_config *out, const ak_space *space, ak_space_cost cost,
                       const void *context)
{
    const ak_graph *graph = &space->graph;
    beam beams[AK_PARAMETERS_MAX + 1];
    beams[0].count = 1;
    beams[0].at[0].cost = 0.0;
    beams[0].at[0].node = graph->root;
    for (size_t p = 0; p < space->count; p++) {
        beam *next = &beams[p + 1];
        next->count = 0;
        for (size_t i = 0; i < beams[p].count; i++) {
            const ak_graph_node *node = &graph->nodes[beams[p].at[i].node];
            for (size_t e = node->first; e < node->first + node->edges; e++) {
                const ak_edge *edge = &graph->edges[e];
                add_to_beam(next, beams[p].at[i].cost + cost(context, p, edge->value), edge, i);
            }
        }
        if (next->count == 0) { /* a space without configurations, which no caller has */
            *out = (ak_config){{0}};
            return;
        }
    }
    ak_config config = {{0}};
    size_t at = 0; /* all ways end in one node */
    for (size_t p = space->count; p > 0; p--) {
        config.at[p - 1] = beams[p].at[at].value;
        at = beams[p].at[at].from;
    }
    *out = config;
}
