/*
 * diagram.h: sets of configurations as decision diagrams. Internal to space/.
 *
 * A diagram is an automaton that reads the parameters in declared order and shares equal subgraphs.
 * Two kinds are built. A rule (rules.h) represents one atom of a condition. The graph represents
 * the valid configurations: it is the product of all rules, built by walking them in parallel. A
 * state of that walk is the tuple of the rules' nodes, and equal states are visited once. The graph
 * reads every parameter, all its edges lead to a configuration, and each node holds the number of
 * configurations that it leads to. So configurations are counted, indexed, found and sampled
 * without a list of them.
 *
 * The work grows with the number of different states, not of configurations: if each condition
 * reads few parameters, a few thousand nodes may represent 10^12 configurations.
 */
#ifndef AK_SPACE_DIAGRAM_H
#define AK_SPACE_DIAGRAM_H

#include "space/condition.h"

#define AK_GRAPH_END 0u /* the node that every configuration ends in */

typedef struct ak_edge {
    uint64_t before; /* configurations that the node's earlier edges lead to */
    uint32_t node;
    uint16_t value;
    uint16_t zero; /* always 0, because edges are compared as bytes */
} ak_edge;

typedef struct ak_graph_node {
    uint64_t count; /* configurations that the node leads to */
    uint32_t first; /* index of the first edge; edges are in the order of values */
    uint32_t edges;
    uint32_t layer; /* the parameter that it reads */
} ak_graph_node;

typedef struct ak_graph {
    ak_graph_node *nodes; /* children come before their parents; the first node is AK_GRAPH_END */
    ak_edge *edges;
    size_t node_count, node_capacity, edge_count, edge_capacity;
    uint32_t root;
    bool empty; /* there is no configuration and no root */
} ak_graph;

/* Builds the graph of the configurations that fulfil all atoms. Returns AK_LIMIT if there are too
   many nodes, too much work, or 2^63 configurations or more. `work_max` limits the work of
   evaluating conditions and, counted separately, the steps of the product. */
ak_status ak_graph_build(ak_graph *out, const ak_atoms *atoms, const ak_symbols *symbols,
                         uint64_t work_max, const char *where, ak_error *err);
/* Builds the graph of a list of configurations in one pass. They are sorted lexicographically by
   value index and differ from each other. */
ak_status ak_graph_list(ak_graph *out, const ak_symbols *symbols, const ak_config *configs,
                        size_t count, const char *where, ak_error *err);
void ak_graph_clear(ak_graph *graph);

/* Returns the node's edge for a value, or NULL. */
const ak_edge *ak_graph_step(const ak_graph *graph, uint32_t node, size_t value);

#endif
