/*
 * diagram.h: sets of configurations as decision diagrams. Internal to space/.
 *
 * A diagram is an automaton that reads the parameters in declared order and shares equal subgraphs.
 * Two kinds are built. A rule represents one atom of a condition. The graph represents
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

#include "space/code.h"

/* ---- condition (condition.c) ----------------------------------------------------------------- */

/* Conditions of a space, compiled for fast evaluation.

   A condition is split at its top-level `and` and at chained comparisons into atoms that read as
   few parameters as possible. An atom's constants are folded, and it is compiled to typed code on
   int64_t and double, which can be evaluated at a point and over ranges. An atom that cannot be
   typed (ak_code_compile) is evaluated by the expression's own walk, with the same meaning but more
   slowly.

   If a condition cannot be evaluated for a configuration (division by zero, a number beyond 64
   bits, a text ordered against a number), it excludes that configuration. So the order in which
   conditions are tested never matters. code.h holds the parameters as numbers, and the typed
   code and its evaluators; code_compile.c compiles it. */

#define AK_CONDITIONS_MAX 256
#define AK_ATOMS_MAX      1024

typedef struct ak_atom {
    size_t condition;  /* index of the condition that it is a part of */
    uint8_t *variable; /* parameters that it reads, ascending */
    size_t variable_count;
    const ak_code *code; /* NULL: the atom has no type, and its tree is walked */
    uint32_t cost;       /* work of one evaluation of the code: 1 is about 16 nodes */
    const ak_expr *expr; /* borrowed */
    const ak_node *node;
    ak_value *values; /* values of the names of expr; the values of parameters are set before each
                         walk */
    uint8_t *parameter_of; /* as in ak_code_source */
    ak_arena *scratch;     /* shared by all atoms */
} ak_atom;

typedef struct ak_atoms {
    ak_atom *items;
    size_t count, capacity;
    ak_arena *scratch; /* memory for folding constants and for atoms without a type */
} ak_atoms;

/* Splits a condition and adds its atoms. The expression must live as long as the atoms. */
ak_status ak_atoms_add(ak_atoms *atoms, ak_symbols *symbols, const ak_expr *expr, size_t condition,
                       ak_error *err);
void ak_atoms_clear(ak_atoms *atoms);

/* Evaluates an atom with all its parameters bound; *out is false if this is not possible. Fails
   only without memory. Adds the cost to *work, in units of about one short typed condition. */
ak_status ak_atom_holds(bool *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                        const ak_binding *binding, ak_error *err);
/* Evaluates an atom by the walk of its expression, to find out why it cannot be evaluated: fails
   with the reason if so. */
ak_status ak_atom_evaluate(uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                           const ak_binding *binding, ak_error *err);
typedef enum ak_truth { AK_NEVER, AK_ALWAYS, AK_MAYBE } ak_truth;
/* Returns whether an atom holds always, never or perhaps while the parameters that are not bound
   vary over their ranges. */
ak_truth ak_atom_decide(const ak_atom *atom, const ak_binding *binding);

/* ---- code_compile (code_compile.c) ----------------------------------------------------------- */

/* Compiles a part of a condition to typed code (code.h). The expression's own walk
   folds constant parts. Types follow Python: ints stay ints until the first real or /. */

/* Most evaluation steps for all constant parts of a space together: about a second of work. */
#define AK_FOLD_STEPS_MAX 20000000u

/* An expression and what each of its names stands for. All is borrowed. */
typedef struct ak_code_source {
    const ak_expr *expr;
    const ak_value *values; /* value of each name that is a constant */
    /* index of the parameter of each name; AK_PARAMETERS_MAX: a constant */
    const uint8_t *parameter_of;
} ak_code_source;

/* Compiles the truth of `node`, a part of source->expr. The code lives in symbols->arena. *out is
   NULL if the part cannot be typed, for example because of lists, or of texts outside of ==, != and
   in. Fails only without memory or at AK_FOLD_STEPS_MAX. */
ak_status ak_code_compile(const ak_code **out, const ak_code_source *source, const ak_node *node,
                          ak_symbols *symbols, ak_arena *scratch, ak_error *err);

/* ---- rules (rules.c) ------------------------------------------------------------------------- */

/* Atoms of conditions as decision diagrams.

   A rule reads the parameters of one atom in declared order. A node has a child for every value of
   its parameter; parameters that make no difference are skipped; the ends are AK_RULE_NEVER and
   AK_RULE_ALWAYS. A rule is built by binding the atom's parameters one by one, and a branch ends as
   soon as an evaluation over ranges decides the atom. All rules share their equal nodes, and the
   index of its first node identifies a rule. */

#define AK_SPACE_EDGES_MAX (1u << 24)
#define AK_SPACE_NODES_MAX (1u << 23)

/* A hash table of unique nodes or states, with open addressing. It holds indices into an array
   of its owner; an id of 0 marks a free slot. */
typedef struct ak_unique {
    struct ak_unique_slot {
        uint64_t hash;
        uint32_t id; /* index + 1 */
    } * slots;
    size_t size, count; /* size is a power of two */
} ak_unique;
/* Makes room for one more entry, so that the table is at most half full. */
ak_status ak_unique_room(ak_unique *t, ak_error *err);

#define AK_RULE_NEVER  0u
#define AK_RULE_ALWAYS 1u

typedef struct ak_rule_node {
    uint32_t first; /* index of the child for value 0; the children for the other values follow */
    uint8_t variable;
} ak_rule_node;

#define AK_RULE_GUIDES_MAX 16 /* most smaller rules that are consulted while a rule is built */

typedef struct ak_rules {
    const ak_atoms *atoms;
    const ak_symbols *symbols;
    const char *where;
    ak_rule_node *nodes;
    size_t node_count, node_capacity;
    uint32_t *children;
    size_t child_count, child_capacity;
    ak_unique unique;
    uint32_t *root; /* first node of each atom's rule */
    uint64_t work, work_max;
    /* The members from `atom` to `guide_count` are used while the rule of one atom is built. */
    const ak_atom *atom;
    ak_binding binding;
    uint32_t *row[AK_PARAMETERS_MAX]; /* children of the node that is being built, per parameter */
    size_t guide_count;
    ak_error *err;
} ak_rules;

/* Builds the rules of all atoms. The caller sets atoms, symbols, where, work_max and err, and
   zeroes the rest. Returns AK_LIMIT if there are too many nodes or evaluations. The caller calls
   ak_rules_clear, also after a failure. */
ak_status ak_rules_build(ak_rules *r);
void ak_rules_clear(ak_rules *r);

/* Returns the node that follows `node` if the parameter has this value; `node` itself if it does
   not read the parameter. */
static inline uint32_t ak_rule_step(const ak_rules *r, uint32_t node, size_t parameter,
                                    size_t value)
{
    bool reads = node > AK_RULE_ALWAYS && r->nodes[node].variable == parameter;
    return reads ? r->children[r->nodes[node].first + value] : node;
}

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
    uint32_t layer; /* the parameter that it reads; for AK_GRAPH_END their number */
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
