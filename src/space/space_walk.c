/* space_walk.c: counts, indexes, samples and walks a space, by walks through the graph of its valid
   configurations (diagram.h), one edge per parameter. */
#include "space/space_body.h"

#include <assert.h>
#include <string.h>

/* ---- facts about the space ------------------------------------------------------------------- */

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

bool ak_space_is_listed(const ak_space *space)
{
    return space->listed;
}

double ak_space_cartesian(const ak_space *space)
{
    return space->cartesian;
}

uint64_t ak_space_count(const ak_space *space)
{
    assert(!space->outline);
    return space->graph.nodes[space->graph.root].count;
}

void ak_space_default(ak_config *out, const ak_space *space)
{
    *out = space->fallback;
}

void ak_space_set_default(ak_space *space, const ak_config *config)
{
    assert(ak_space_has(space, config));
    space->fallback = *config;
    for (size_t p = 0; p < space->count; p++) {
        space->parameters[p].default_index = config->at[p];
    }
}

bool ak_space_is_default(const ak_space *space, const ak_config *config)
{
    return memcmp(&space->fallback, config, sizeof *config) == 0;
}

bool ak_space_ordered(const ak_space *space, size_t parameter)
{
    return space->bodies[parameter].rank != NULL;
}

size_t ak_space_rank(const ak_space *space, size_t parameter, size_t value)
{
    assert(parameter < space->count && value < space->parameters[parameter].value_count);
    const ak_parameter_body *body = &space->bodies[parameter];
    return body->rank == NULL ? value : body->rank[value];
}

uint16_t ak_space_by_rank(const ak_space *space, size_t parameter, size_t rank)
{
    assert(parameter < space->count && rank < space->parameters[parameter].value_count);
    const ak_parameter_body *body = &space->bodies[parameter];
    return body->rank == NULL ? (uint16_t)rank : body->by_rank[rank];
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
        AK_DO(ak_atom_holds(&holds, &work, atom, &space->symbols, &binding, err));
        if (!holds) {
            /* atoms are in the order of their conditions, so this condition is the first */
            *condition = atom->condition;
            break;
        }
    }
    return AK_OK;
}

/* ---- indices --------------------------------------------------------------------------------- */

void ak_space_at(ak_config *out, const ak_space *space, uint64_t index)
{
    assert(index < ak_space_count(space));
    const ak_graph *graph = &space->graph;
    ak_config config = {{0}};
    uint32_t at = graph->root;
    for (size_t p = 0; p < space->count; p++) {
        const ak_graph_node *node = &graph->nodes[at];
        const ak_edge *edges = &graph->edges[node->first];
        /* finds the last edge that starts at or before `index` */
        size_t low = 0, high = node->edges - 1;
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

/* Follows the configuration's values from parameter `p` on, beginning at node `at`. Returns whether
   they lead to AK_GRAPH_END, and gives the number of configurations from `at` on that come before
   this one. */
static bool follow(uint64_t *before, const ak_space *space, uint32_t at, const ak_config *config,
                   size_t p)
{
    *before = 0;
    for (; p < space->count; p++) {
        const ak_edge *edge = ak_graph_step(&space->graph, at, config->at[p]);
        if (edge == NULL) {
            return false;
        }
        *before += edge->before;
        at = edge->node;
    }
    return true;
}

bool ak_space_find(uint64_t *index, const ak_space *space, const ak_config *config)
{
    assert(!space->outline);
    uint64_t before;
    const bool found = follow(&before, space, space->graph.root, config, 0);
    if (found && index != NULL) {
        *index = before;
    }
    return found;
}

bool ak_space_occurs(const ak_space *space, size_t parameter, size_t value)
{
    assert(parameter < space->count && value < space->parameters[parameter].value_count);
    return space->bodies[parameter].occurs[value];
}

size_t ak_space_occurring(const ak_space *space, size_t parameter)
{
    size_t count = 0;
    for (size_t v = 0; v < space->parameters[parameter].value_count; v++) {
        count += space->bodies[parameter].occurs[v];
    }
    return count;
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

typedef struct neighbours {
    ak_config *out;
    size_t max, count;
    const ak_space *space;
    const ak_config *config;
} neighbours;

/* Adds the neighbour that an edge for parameter `p` leads to. Returns false if it is not valid. */
static bool add_neighbour(neighbours *n, size_t p, const ak_edge *edge)
{
    uint64_t before;
    const bool valid = follow(&before, n->space, edge->node, n->config, p + 1);
    if (valid && n->count < n->max) {
        n->out[n->count] = *n->config;
        n->out[n->count++].at[p] = edge->value;
    }
    return valid;
}

/* Adds all neighbours that differ in parameter `p`. The values before `p` lead to `node`. */
static void any_neighbours(neighbours *n, size_t p, uint32_t node)
{
    const ak_graph *graph = &n->space->graph;
    const ak_edge *edges = &graph->edges[graph->nodes[node].first];
    for (size_t i = 0; i < graph->nodes[node].edges && n->count < n->max; i++) {
        if (edges[i].value != n->config->at[p]) {
            (void)add_neighbour(n, p, &edges[i]);
        }
    }
}

/* Adds the nearest valid neighbour up and the nearest down in parameter `p`. */
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
            if (edge != NULL && add_neighbour(n, p, edge)) {
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
            break; /* the values so far are invalid, so no change of a later parameter helps */
        }
        at = edge->node;
    }
    return n.count;
}

/* ---- the nearest configuration --------------------------------------------------------------- */

/* One changed parameter outweighs all steps: 64 parameters of 65535 values have fewer than 2^32
   steps in all. */
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
        /* entries after the last parameter stay 0 */
        memcpy(config.at, wish->at, space->count * sizeof config.at[0]);
        *out = config;
        return;
    }
    /* Compute the cheapest way from every node to the end. Children come before their parents,
       so one pass suffices; AK_GRAPH_END, the first node, costs nothing. */
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
            edge++; /* the first of the cheapest edges has the lowest index */
        }
        config.at[p] = edge->value;
        at = edge->node;
    }
    *out = config;
}

/* Partial configurations of equal length that lead to different nodes. */
typedef struct beam {
    struct {
        double cost;
        uint32_t node;
        uint16_t value; /* value of the last parameter */
        uint16_t from;  /* index of its predecessor in the previous beam */
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
        assert(next->count > 0); /* every node leads to a configuration */
    }
    ak_config config = {{0}};
    size_t at = 0; /* the last beam has one entry: all paths end in AK_GRAPH_END */
    for (size_t p = space->count; p > 0; p--) {
        config.at[p - 1] = beams[p].at[at].value;
        at = beams[p].at[at].from;
    }
    *out = config;
}
