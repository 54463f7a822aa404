/*
 * space.h: builds, samples and walks the set of valid configurations. The public part (counting,
 * indexing, formatting) is in autokernel.h.
 *
 * A space is built by propagation: each condition is split and compiled once, and decided over
 * ranges as early as possible, so that the Cartesian product is never formed. The valid
 * configurations are not listed either: a graph (diagram.h) counts, indexes, finds and samples
 * them, so that a space of 10^15 configurations costs no more than one of 10^5 with the same
 * conditions. Indices follow the lexicographic order of the declared parameters and values.
 */
#ifndef AK_SPACE_SPACE_H
#define AK_SPACE_SPACE_H

#include "base/json.h"
#include "base/rng.h"
#include "space/expr.h"

/* A space is built from the ConfigurationSpace object of a T1 file (docs/formats.md has our
   extensions) and from what is known of the task. `constants` holds sizes and device facts; it must
   outlive the space, which borrows texts from it. A name that is neither a parameter nor a constant
   is an error, except in the conditions of a listed space. A `Numerics` parameter keeps only its
   default unless allow_numerics is set. `fix` makes a smaller space of the same parameters; the
   default of a parameter stays if `fix` keeps it, else the first value that is left becomes the
   default. If the defaults together are not valid, the nearest valid configuration becomes the
   default; a start may replace it (space_starts.c). A `Use: compiler` parameter keeps only the
   values for which `available` returns true (NULL: all). A space without a valid configuration is
   refused, unless it is an outline. Unless the space is listed, the message names the condition
   that excludes most of some thousand combinations. */
typedef struct ak_space_spec {
    const json_t *definition;
    const ak_scope *constants;
    bool allow_numerics;
    const char *fix; /* "MR=6,KC=256:512" keeps only these values of these parameters; NULL: all */
    bool (*available)(void *context, const char *compiler);
    void *available_context;
    const char *where; /* names the file in messages: "kernels/matmul/host.json" */
    const char *rank;  /* the "Rank" expression (rank.h), which orders the starts, or NULL */
    uint64_t work_max; /* as for ak_graph_build (diagram.h); 0: AK_SPACE_WORK_MAX */
    /* True: no graph is built. Configurations can be parsed, checked, formatted and given to the
       compiler, but not counted, found, sampled or repaired. There are no starts, and the default
       has the default of each parameter, valid or not. A worker needs no more, and building the
       graph of a large CUDA space would take longer than the rest of its start. */
    bool outline;
    /* If not NULL, the valid configurations of a recorded space, sorted by value index and all
       different. The conditions are then not evaluated. As the list holds value indices, `fix`,
       allow_numerics and `available` must leave all values. */
    const ak_config *listed;
    size_t listed_count;
} ak_space_spec;

#define AK_SPACE_WORK_MAX 50000000u /* takes a few seconds */

/* Builds a space. The caller frees it with ak_space_free. */
ak_status ak_space_build(ak_space **out, const ak_space_spec *spec, ak_error *err);
void ak_space_free(ak_space *space);
AK_END_AT(ak_space_free, ak_space)

/* Makes a configuration, which must be valid, the default. */
void ak_space_set_default(ak_space *space, const ak_config *config);
bool ak_space_is_default(const ak_space *space, const ak_config *config);

/* Gives the configurations from which a search may start, all valid in this space, and returns
   their number. First come the winners at sizes near the space's own, the nearest first, then the
   starts for every size, in the order of the rank, then the winners at sizes farther away; at most
   AK_SPACE_STARTS_MAX in all. The array belongs to the space. */
#define AK_SPACE_STARTS_MAX 8
size_t ak_space_starts(const ak_config **out, const ak_space *space);
/* Returns the number of values of the parameter that occur in valid configurations. If there is
   only one, the parameter is fixed, by the conditions or because it has no other value. */
size_t ak_space_occurring(const ak_space *space, size_t parameter);
/* Returns whether the valid configurations are a list (ak_space_spec's `listed`). A configuration
   that is not on the list is invalid even if it fulfils all conditions. */
bool ak_space_is_listed(const ak_space *space);
/* Returns true if the configuration is valid. */
bool ak_space_has(const ak_space *space, const ak_config *config);
/* Returns AK_OK if the configuration is valid, else AK_INVALID with the condition that it breaks
   and the values at fault; in a listed space the error names no condition. */
ak_status ak_config_explain(const ak_space *space, const ak_config *config, ak_error *err);
/* Draws one of the valid configurations, all with equal probability. */
void ak_space_sample(ak_config *out, const ak_space *space, ak_rng *rng);
/* Returns a 64-bit key of a configuration for sets. Equal configurations of one space have equal
   keys, and different ones different keys if the Cartesian product is below 2^63. */
uint64_t ak_config_key(const ak_space *space, const ak_config *config);
/* Returns a parameter's value in a configuration. Texts are borrowed from the space. */
ak_value ak_config_value(const ak_space *space, const ak_config *config, size_t parameter);
/* Gives the index of the parameter with this name. Returns false if there is none. */
bool ak_space_parameter_find(size_t *index, const ak_space *space, const char *name);

/* Writes at most `max` valid configurations that differ from `config` in one parameter, and returns
   their number. ADJACENT takes the next valid value up and the next one down in the order of
   numbers; texts have no adjacent values. ANY takes every other valid value, texts included. If
   there are more than `max`, those that differ in the parameters declared first are written. If
   there is none, the caller can change several parameters and call ak_space_repair. */
typedef enum ak_neighbourhood { AK_NEIGHBOUR_ADJACENT, AK_NEIGHBOUR_ANY } ak_neighbourhood;
size_t ak_space_neighbours(ak_config *out, size_t max, const ak_space *space,
                           const ak_config *config, ak_neighbourhood kind);
/* A configuration of another space, translated to this one from an object of parameters and values.
   A parameter that is not named, or whose value has no counterpart here, gets its default; a number
   that is not a value here becomes the nearest one. The result may be invalid. Parameters with one
   value here are not counted. */
typedef struct ak_space_wish {
    ak_config config;
    /* numbers of parameters at the value given, at the nearest number, and at the default */
    size_t exact, near, open;
} ak_space_wish;
ak_status ak_space_wish_of(ak_space_wish *out, const ak_space *space, const json_t *values,
                           ak_error *err);
/* Gives the valid configuration nearest to one that may be invalid: with the fewest parameters
   changed, then with the smallest sum of steps between sorted values, where any change of a text is
   one step; ties go to the lowest index. It uses scratch memory of the space, so two threads must
   not call it on one space. */
void ak_space_repair(ak_config *out, const ak_space *space, const ak_config *wish);
/* Gives a valid configuration with the smallest sum of costs that is found; each parameter has a
   cost of 0 or more. A caller chooses the costs to get the configuration nearest to a point between
   configurations, or a cross of two configurations. A beam of AK_SPACE_BEAM partial configurations
   goes through the graph. The result is the optimum if the graph has no more than AK_SPACE_BEAM
   nodes for each parameter, and usually near it otherwise. The time, unlike that of
   ak_space_repair, does not grow with the graph. Equal calls give equal results, but ties follow no
   order. */
#define AK_SPACE_BEAM 8
typedef double (*ak_space_cost)(const void *context, size_t parameter, uint16_t value);
void ak_space_cheapest(ak_config *out, const ak_space *space, ak_space_cost cost,
                       const void *context);

/* Returns true if the parameter's values are numbers or booleans, which have an order. */
bool ak_space_ordered(const ak_space *space, size_t parameter);
/* Convert between a value's index and its place among the sorted values. For texts the place is the
   index. */
size_t ak_space_rank(const ak_space *space, size_t parameter, size_t value);
uint16_t ak_space_by_rank(const ak_space *space, size_t parameter, size_t rank);

/* Adds a configuration's parameters to a scope, for expressions that read them (workspace,
   launch). */
ak_status ak_config_scope(ak_scope *scope, const ak_space *space, const ak_config *config,
                          ak_error *err);
/* Arguments for the compiler: macros and options, in the order in which the parameters are
   declared. `argv` ends in NULL, or is NULL if there are none, and owns its texts. `compiler` is
   the value of the `Use: compiler` parameter, or NULL if there is none. */
typedef struct ak_options {
    char **argv;
    size_t count, capacity;
    const char *compiler; /* borrowed from the space */
} ak_options;
/* Appends a configuration's options to `out`, which the caller clears with ak_options_clear. */
ak_status ak_config_options(ak_options *out, const ak_space *space, const ak_config *config,
                            ak_error *err);
/* Returns the arguments that one value of an AK_USE_OPTION parameter adds, NULL-terminated; NULL
   for other parameters. */
const char *const *ak_space_added(const ak_space *space, size_t parameter, size_t value);
/* Returns true if a text that a person or a model wrote ("6", "0.5", "true", "gcc") means this
   value. `canonical` is the value's own text (ak_value_format). */
bool ak_space_value_is(const ak_value *value, const char *canonical, const char *text);
/* Writes the macro that stands for one value of a parameter in #if: NAME_is_VALUE, with '_' for
   characters that no macro's name can have. Returns false if the value has none: it is a number, or
   the parameter is no AK_USE_DEFINE parameter. */
#define AK_SPACE_MACRO_BYTES 324 /* a name of 63 bytes, "_is_", a value of 255, and the final 0 */
bool ak_space_macro(char out[AK_SPACE_MACRO_BYTES], const ak_space *space, size_t parameter,
                    size_t value);
/* Appends a copy of a text. */
ak_status ak_options_add(ak_options *options, const char *text, ak_error *err);
void ak_options_clear(ak_options *options);

#endif
