/*
 * feature.h: describes a configuration for a model, as one column for each parameter that varies.
 * The column holds the level of the parameter's value.
 *
 * If all values of a parameter are numbers or booleans, the level is the rank of the value, so that
 * 64, 128 and 256 are equally far apart whatever their order in the space file; equal numbers share
 * a level. If any value is a text or a list, the level is the index of the value, which only tells
 * values apart.
 */
#ifndef AK_MODEL_FEATURE_H
#define AK_MODEL_FEATURE_H

#include "space/space.h"

typedef struct ak_column {
    size_t parameter; /* index in the space */
    size_t levels;    /* 2 or more; 1 if all values are equal numbers */
    bool ordered;     /* true: levels are ranks; false: they only tell values apart */
    uint16_t *level;  /* level of each value of the parameter */
} ak_column;

typedef struct ak_features {
    size_t count;
    ak_column column[AK_PARAMETERS_MAX];
} ak_features;

/* Reads the features of a space. They own their levels and do not keep the space. The caller
   closes them with ak_features_close, also after a failure. */
ak_status ak_features_open(ak_features *out, const ak_space *space, ak_error *err);
void ak_features_close(ak_features *features);

/* Writes the levels of a configuration to `row`, which has room for features->count. */
void ak_features_row(uint16_t *row, const ak_features *features, const ak_config *config);

#endif
