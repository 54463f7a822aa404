/*
 * feature.h: a configuration as a model sees it: one column for each parameter that varies, and in
 * it the level of the value.
 *
 * Numbers are levelled by rank, so that 64, 128, 256 are equally far apart whatever the order in
 * which a space file lists them; equal numbers share a level. Texts and lists keep their index:
 * their levels are names, not amounts.
 */
#ifndef AK_MODEL_FEATURE_H
#define AK_MODEL_FEATURE_H

#include "problem/space.h"

typedef struct ak_column {
    size_t parameter; /* of the space */
    size_t levels;    /* 2 or more */
    bool ordered;     /* false: levels are either equal or different */
    uint16_t *level;  /* of each value */
} ak_column;

typedef struct ak_features {
    size_t count;
    ak_column column[AK_PARAMETERS_MAX];
} ak_features;

/* The features own their levels; they do not keep the space. */
ak_status ak_features_open(ak_features *out, const ak_space *space, ak_error *err);
void ak_features_close(ak_features *features); /* also after a failed open */

/* Writes features->count levels. */
void ak_features_row(uint16_t *row, const ak_features *features, const ak_config *config);

#endif
