/* space_body.h: the members of a space, for the files of space/ that build it and those that use
   it. Internal to space/. */
#ifndef AK_SPACE_SPACE_BODY_H
#define AK_SPACE_SPACE_BODY_H

#include "base/map.h"
#include "space/diagram.h"
#include "space/space.h"

#define AK_VALUES_MAX     65535 /* values of a parameter: an ak_config has 16 bits for each */
#define AK_NAME_MAX       63    /* bytes of a parameter's name */
#define AK_VALUE_TEXT_MAX 255   /* bytes of a value as text */
#define AK_OPTIONS_MAX    64    /* arguments that one value may add */

/* What a parameter has besides its public part. Each array has one element per value. */
typedef struct ak_parameter_body {
    const char **text; /* as configurations show the value */
    const char *const *
        *added;     /* for AK_USE_OPTION: the arguments that each value adds, NULL-terminated */
    uint16_t *rank; /* place among the sorted values; NULL: texts, which have no order */
    uint16_t *by_rank;
    bool *occurs;        /* whether some valid configuration has the value; NULL in an outline */
    const char **absent; /* compilers that were left out because they were not found */
    size_t absent_count;
} ak_parameter_body;

struct ak_space {
    ak_arena *arena;
    const char *where;
    ak_parameter parameters[AK_PARAMETERS_MAX];
    ak_parameter_body bodies[AK_PARAMETERS_MAX];
    size_t count;
    ak_map *names;
    ak_expr **conditions; /* parsed; their texts and reasons follow */
    const char **texts, **reasons;
    size_t condition_count;
    ak_symbols symbols;
    ak_atoms atoms;
    ak_graph graph;
    uint64_t *cost; /* cost of each node of the graph; scratch memory of ak_space_repair */
    double cartesian;
    ak_config fallback; /* the default configuration */
    ak_config starts[AK_SPACE_STARTS_MAX];
    size_t start_count;
    bool listed;  /* the valid configurations are a list; the conditions are not evaluated */
    bool outline; /* there is no graph */
};

/* Reads the parameters and conditions of spec->definition into the space (space_read.c). */
ak_status ak_space_read(ak_space *space, const ak_space_spec *spec, ak_error *err);
/* Reads "Starts" after the graph is built and the default is known. One of the starts may become
   the default (space_starts.c). Until then each parameter has the default that was declared. */
ak_status ak_space_read_starts(ak_space *space, const ak_space_spec *spec, ak_error *err);
/* Gives the index of the parameter's value that the JSON means; the number of values if there is
   none (config.c). */
ak_status ak_space_value_of_json(size_t *index, const ak_space *space, size_t parameter,
                                 const json_t *json, ak_error *err);
/* Gives the first condition that the configuration breaks, or condition_count if it breaks none. */
ak_status ak_space_broken(size_t *condition, const ak_space *space, const ak_config *config,
                          ak_error *err);

/* ---- space_family (space_family.c) ----------------------------------------------------------- */

/* Configurations that an author describes together, by alternatives for each
   parameter instead of one by one.

       {"Family": {"SWAP": [0, 1], "TILE": [64, 128, "M/4"], "num_stages": [99]},
        "Where": ["TILE*(SWAP + 1) <= 128"]}

   An alternative is a number or an expression over the parameters declared before this one, the
   sizes and the device facts. A number becomes the largest value not above it that is valid
   together with the parameters before; a text, written as a quoted literal ("'gcc'"), must itself
   be valid there. If there is none, the alternative is left out. A parameter that the family does
   not name has its default or, where that is not valid, the only value that is; if several values
   are valid there, no member follows. A member of the family fulfils all conditions of the space,
   and all of "Where". */

#define AK_FAMILY_MAX       100000  /* most members of a family; more cause AK_LIMIT */
#define AK_FAMILY_STEPS_MAX 5000000 /* values tried on the way to members; takes a few seconds */

/* Receives a member. A failure ends the search for members. */
typedef ak_status (*ak_family_take)(void *context, const ak_config *member, ak_error *err);

typedef struct ak_family {
    const json_t *alternatives; /* the object "Family" */
    const json_t *conditions;   /* the array "Where", or NULL */
    const ak_scope *constants;  /* sizes and device facts */
    const char *where;          /* begins messages */
} ak_family;

/* Gives all members of the family, each once. */
ak_status ak_space_family(const ak_space *space, const ak_family *family, ak_family_take take,
                          void *context, ak_error *err);

#endif
