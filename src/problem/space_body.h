/* space_body.h: what a space holds, shared by space.c (building, walking) and config.c (texts,
   options). Internal to problem/. */
#ifndef AK_PROBLEM_SPACE_BODY_H
#define AK_PROBLEM_SPACE_BODY_H

#include "base/map.h"
#include "problem/diagram.h"
#include "problem/space.h"

#define AK_VALUES_MAX     65535 /* of a parameter: an ak_config holds 16 bits for each */
#define AK_NAME_MAX       63    /* bytes of a parameter's name */
#define AK_VALUE_TEXT_MAX 255   /* bytes of a value as text */
#define AK_OPTIONS_MAX    64    /* arguments that one value adds */

/* What a parameter has besides its public part. Arrays have one element per value. */
typedef struct ak_parameter_body {
    const char **text;         /* as in configurations */
    const char *const **added; /* AK_USE_OPTION: arguments, NULL-terminated */
    uint16_t *rank;            /* place among the values in order; NULL: they have none (texts) */
    uint16_t *by_rank;
} ak_parameter_body;

struct ak_space {
    ak_arena *arena;
    const char *where;
    ak_parameter parameters[AK_PARAMETERS_MAX];
    ak_parameter_body bodies[AK_PARAMETERS_MAX];
    size_t count;
    ak_map *names;
    ak_expr **conditions; /* and their texts */
    const char **texts, **reasons;
    size_t condition_count;
    ak_symbols symbols;
    ak_atoms atoms;
    ak_graph graph;
    uint64_t *cost; /* for repair: of each node of the graph */
    double cartesian;
    ak_config fallback; /* the default */
    ak_config starts[AK_SPACE_STARTS_MAX];
    size_t start_count;
    bool listed;        /* valid is what was recorded, whatever the conditions say */
};

/* Is it what a person wrote: "6", "0.5", "true", "gcc"? `canonical` is the value's own text. */
bool ak_space_value_is(const ak_value *value, const char *canonical, const char *text);
/* Reads the parameters and conditions of spec->definition into the space (space_read.c). */
ak_status ak_space_read(ak_space *space, const ak_space_spec *spec, ak_error *err);
/* Reads "Starts", once configurations can be judged and the default is known; the nearest may
   become the default (space_starts.c). */
ak_status ak_space_read_starts(ak_space *space, const ak_space_spec *spec, ak_error *err);
/* The first condition that the configuration breaks, or condition_count. */
ak_status ak_space_broken(size_t *condition, const ak_space *space, const ak_config *config,
                          ak_error *err);

#endif
