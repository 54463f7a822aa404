/*
 * forest_tree.h: the trees of a forest, as forest.c grows them and forest_effects.c reads them.
 *
 * The nodes of all trees lie in one array, each tree in preorder: the child of the rows that
 * satisfy a split follows its parent, and `other` is the index of the other child. An ordered
 * column is split into the levels up to `level` and the higher ones, any other column into `level`
 * and all other levels.
 */
#ifndef AK_MODEL_FOREST_TREE_H
#define AK_MODEL_FOREST_TREE_H

#include "model/feature.h"

#define AK_FOREST_LEAF UINT16_MAX

/* Limit of the depth. Only a tree that splits off few rows at a time gets this deep. */
#define AK_FOREST_DEPTH_MAX 64

typedef struct ak_forest_node {
    /* of y over the node's rows; in a complete forest, `variance` is at least leaf_spread^2 */
    double mean, variance;
    uint32_t other;  /* index of the child of rows that do not satisfy the split */
    uint16_t column; /* AK_FOREST_LEAF: the node is a leaf, without `other` and `level` */
    uint16_t level;
} ak_forest_node;

struct ak_forest {
    size_t columns;
    uint16_t levels[AK_PARAMETERS_MAX];
    bool ordered[AK_PARAMETERS_MAX];
    ak_forest_node *nodes;
    size_t node_count, node_capacity;
    size_t trees;
    uint32_t *root;
    double out_of_bag; /* the R2 of ak_forest_out_of_bag */
};

/* Returns true if a value satisfies a split: at most the level, or equal to it if the column has no
   order. */
static inline bool ak_forest_satisfies(const struct ak_forest *forest, uint16_t column,
                                       uint16_t level, uint16_t value)
{
    return forest->ordered[column] ? value <= level : value == level;
}

#endif
