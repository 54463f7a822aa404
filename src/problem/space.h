/*
 * space.h: which configurations are valid. The public part (counting, indexing, formatting) is in
 * autokernel.h; this is how one is built, sampled and walked.
 *
 * Construction is by propagation: each condition is split and compiled once, decided over ranges as
 * early as possible, and the Cartesian product is never formed. Nor are the valid configurations
 * listed: they are kept as a graph (diagram.h) that counts, indexes, finds and samples them, so a
 * space of 10^15 configurations costs no more than one of 10^5 with the same conditions. Indices
 * are in lexicographic order of the declared parameters and values.
 */
#ifndef AK_PROBLEM_SPACE_H
#define AK_PROBLEM_SPACE_H

#include "base/json.h"
#include "base/rng.h"
#include "problem/expr.h"

/* Builds from the ConfigurationSpace object of a T1 file (docs/formats.md for our extensions).
   `constants` holds sizes and device facts; names that are neither a parameter nor a constant are
   an error. Values of a `Numerics` parameter other than its default are left out unless allowed.
   `fix` makes a smaller space of the same parameters; the default is the declared one where it is
   left, else the first value that is.
   Values of a `Use: compiler` parameter for which `available` returns false are left out (NULL: all
   are there). A space with no valid configuration is refused, naming the condition that excludes
   most. */
typedef struct ak_space_spec {
    const json_t *definition;
    const ak_scope *constants;
    bool allow_numerics;
    const char *fix; /* "MR=6,KC=256:512" leaves these values of these parameters only; NULL: all */
    bool (*available)(void *context, const char *compiler);
    void *available_context;
    const char *where; /* "kernels/matmul/host.json" */
    uint64_t work_max; /* most evaluations of conditions; 0: AK_SPACE_WORK_MAX. More is AK_LIMIT */
    /* (optional) The valid configurations themselves, for a space that was recorded: sorted by
       their value indices and all different. The conditions are kept as texts and not asked; of a
       definition with Numerics or `Use: compiler`, all values must be offered. */
    const ak_config *listed;
    size_t listed_count;
} ak_space_spec;

#define AK_SPACE_WORK_MAX 50000000u /* a few seconds */

ak_status ak_space_build(ak_space **out, const ak_space_spec *spec, ak_error *err);
void ak_space_free(ak_space *space);

/* Makes another valid configuration the default. */
void ak_space_set_default(ak_space *space, const ak_config *config);

/* Configurations that are valid here and were the best at sizes near these, the nearest first; at
   most AK_SPACE_STARTS_MAX. They are the space's. */
#define AK_SPACE_STARTS_MAX 8
size_t ak_space_starts(const ak_config **out, const ak_space *space);
/* Is it valid? Cheaper than ak_space_find. */
bool ak_space_has(const ak_space *space, const ak_config *config);
/* AK_OK if it is valid; else AK_INVALID with the condition that it breaks and the values at fault.
 */
ak_status ak_config_explain(const ak_space *space, const ak_config *config, ak_error *err);
/* Uniform among the valid ones. */
void ak_space_sample(ak_config *out, const ak_space *space, ak_rng *rng);
/* A 64-bit key of a configuration, for sets. Equal for equal configurations of one space. */
uint64_t ak_config_key(const ak_space *space, const ak_config *config);
ak_value ak_config_value(const ak_space *space, const ak_config *config, size_t parameter);
/* The parameter of this name; false if there is none. */
bool ak_space_parameter_find(size_t *index, const ak_space *space, const char *name);

/* Valid configurations that differ in one parameter. ADJACENT: to the next valid value up or down,
   numbers taken in order (texts have none); ANY: to every other value, texts included. Returns how
   many were written (at most `max`). When nothing differs in one only, the caller widens: see
   ak_space_repair. */
typedef enum ak_neighbourhood { AK_NEIGHBOUR_ADJACENT, AK_NEIGHBOUR_ANY } ak_neighbourhood;
size_t ak_space_neighbours(ak_config *out, size_t max, const ak_space *space,
                           const ak_config *config, ak_neighbourhood kind);
/* The valid configuration nearest to a wish that may be invalid: fewest parameters changed, then
   smallest steps; ties go to the lowest index. */
void ak_space_repair(ak_config *out, const ak_space *space, const ak_config *wish);
/* The valid configuration with the smallest sum of costs, one for each parameter, 0 or more:
   nearest to a point between configurations, or a cross of two, as the costs say. Found by a beam
   of AK_SPACE_BEAM partial configurations through the graph: exact while no more of its nodes are
   alive at once, near otherwise, and always valid. Unlike repair its time does not grow with the
   graph. Ties go to the lowest index. */
#define AK_SPACE_BEAM 8
typedef double (*ak_space_cost)(const void *context, size_t parameter, uint16_t value);
void ak_space_cheapest(ak_config *out, const ak_space *space, ak_space_cost cost,
                       const void *context);

/* Are the values numbers, which have an order? */
bool ak_space_ordered(const ak_space *space, size_t parameter);
/* The place of a value among the values in order, and back. Of texts their index. */
size_t ak_space_rank(const ak_space *space, size_t parameter, size_t value);
uint16_t ak_space_by_rank(const ak_space *space, size_t parameter, size_t rank);

/* Adds the configuration's parameters to a scope, for expressions that use them (workspace,
 * launch). */
ak_status ak_config_scope(ak_scope *scope, const ak_space *space, const ak_config *config,
                          ak_error *err);
/* What the compiler gets: appended to `argv` (ak_strdup'ed texts) in declaration order, -D and
   options alike; `compiler` gets the value of the `Use: compiler` parameter, or NULL if there is
   none. */
typedef struct ak_options {
    char **argv;
    size_t count, capacity;
    const char *compiler; /* borrowed from the space */
} ak_options;
ak_status ak_config_options(ak_options *out, const ak_space *space, const ak_config *config,
                            ak_error *err);
ak_status ak_options_add(ak_options *options, const char *text, ak_error *err);
void ak_options_clear(ak_options *options);

#endif
