/*
 * diagram.h: sets of configurations as decision diagrams. Internal to problem/.
 *
 * A diagram is an automaton that reads the parameters in declared order; equal parts exist once.
 * Two kinds are built:
 *
 *   rule   one atom of a condition: per node a child for every value; parameters that do not matter
 *          are skipped; the ends are "never" and "always". Found by binding the atom's parameters
 * one by one, ending a branch as soon as ranges decide it. graph  the valid configurations: the
 * product of all rules, by walking them side by side. A state is the tuple of rule nodes; equal
 * states are visited once. Every node has all parameters before it, only edges that lead to a
 * configuration, and counts: so it counts, indexes, finds and samples without listing anything.
 *
 * The work grows with the number of different states, not with configurations: millions of millions
 * of configurations are a few thousand nodes when conditions bind few parameters each.
 */
#ifndef AK_PROBLEM_DIAGRAM_H
#define AK_PROBLEM_DIAGRAM_H

#include "problem/condition.h"

#define AK_SPACE_EDGES_MAX (1u << 24)
#define AK_SPACE_NODES_MAX (1u << 23)

#define AK_GRAPH_END 0u /* the node after the last parameter */

typedef struct ak_edge {
    uint64_t before; /* configurations by the edges before this one */
    uint32_t node;
    uint16_t value;
    uint16_t zero; /* edges are compared as bytes */
} ak_edge;

typedef struct ak_graph_node {
    uint64_t count; /* configurations from here on */
    uint32_t first; /* edge; edges are in the order of values */
    uint32_t edges;
    uint32_t layer; /* the parameter that it reads */
} ak_graph_node;

typedef struct ak_graph {
    ak_graph_node *nodes; /* children come before their parents; the first is AK_GRAPH_END */
    ak_edge *edges;
    size_t node_count, node_capacity, edge_count, edge_capacity;
    uint32_t root;
    bool empty; /* no configuration: there is no root */
} ak_graph;

/* AK_LIMIT if there are too many nodes, too much work, or 2^63 configurations or more. `work_max`
   bounds the evaluations of conditions, and again the steps of the product. */
ak_status ak_graph_build(ak_graph *out, const ak_atoms *atoms, const ak_symbols *symbols,
                         uint64_t work_max, const char *where, ak_error *err);
/* The graph of exactly these configurations, which are sorted (lexicographically by value index)
   and differ from each other: one pass over the list. */
ak_status ak_graph_list(ak_graph *out, const ak_symbols *symbols, const ak_config *configs,
                        size_t count, const char *where, ak_error *err);
void ak_graph_clear(ak_graph *graph);

/* The edge of a value, or NULL. */
const ak_edge *ak_graph_step(const ak_graph *graph, uint32_t node, size_t value);

#endif
