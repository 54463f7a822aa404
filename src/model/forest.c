/*
 * forest.c: see forest.h.
 *
 * Since rows hold levels, a split is found from one count and one sum per level, in time
 * proportional to rows + levels.
 */
#include "model/forest.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "model/forest_tree.h"

/* The levels of an ordered column that reach a node. */
typedef struct range {
    uint16_t low, high;
} range;

/* Rows that will become a node. */
typedef struct task {
    size_t first, count;
    /* index of the node whose `other` this will be; SIZE_MAX: this one follows its parent or is a
       root */
    size_t parent;
    size_t depth;
    range reach[AK_PARAMETERS_MAX];
} task;

typedef struct split {
    double gain;
    uint16_t column, level;
} split;

typedef struct builder {
    ak_forest *forest;
    const ak_forest_data *data;
    const ak_forest_options *options;
    ak_rng rng;
    uint32_t *order; /* indices of rows; a node's rows are adjacent */
    double *sum;     /* scratch: sum of y per level */
    uint32_t *hits;  /* scratch: rows per level */
    task *tasks;     /* a stack with one waiting sibling per depth */
    size_t task_count;
    /* Arrays with one element for each row: */
    bool *seen;       /* the current tree has seen it */
    double *opinions; /* sum of the predictions by trees that have not seen it */
    uint32_t *asked;  /* number of trees that have not seen it */
} builder;

static double square(double x)
{
    return x * x;
}

static uint16_t level_at(const builder *b, size_t row, size_t column)
{
    return b->data->rows[row * b->forest->columns + column];
}

/* Replaces *best by the best split of the rows by one column, if that gains more. The gain is what
   the split takes off the sum of squared errors, plus a constant of the node. `all` is the sum of y
   over the rows. */
static void try_column(split *best, builder *b, const task *t, size_t column, double all)
{
    range reach = t->reach[column];
    size_t levels = b->forest->levels[column];
    for (size_t v = 0; v < levels; v++) {
        b->sum[v] = 0.0;
        b->hits[v] = 0;
    }
    for (size_t i = t->first; i < t->first + t->count; i++) {
        uint16_t v = level_at(b, b->order[i], column);
        b->sum[v] += b->data->y[b->order[i]];
        b->hits[v]++;
    }
    bool ordered = b->forest->ordered[column];
    size_t last = ordered ? reach.high : levels - 1;
    double sum = 0.0;
    size_t hits = 0;
    for (size_t v = ordered ? reach.low : 0; v <= last; v++) {
        if (b->hits[v] == 0) {
            continue;
        }
        sum = ordered ? sum + b->sum[v] : b->sum[v];
        hits = ordered ? hits + b->hits[v] : b->hits[v];
        size_t rest = t->count - hits;
        if (hits < b->options->leaf_min || rest < b->options->leaf_min || rest == 0) {
            continue;
        }
        double gain = square(sum) / (double)hits + square(all - sum) / (double)rest;
        if (gain > best->gain) {
            *best = (split){gain, (uint16_t)column, (uint16_t)v};
        }
    }
}

/* Draws a threshold between the split's level and the next level that a row has. All thresholds
   there split the rows in the same way. */
static uint16_t draw_threshold(builder *b, const task *t, const split *s)
{
    uint16_t next = t->reach[s->column].high;
    for (size_t i = t->first; i < t->first + t->count; i++) {
        uint16_t v = level_at(b, b->order[i], s->column);
        next = v > s->level && v < next ? v : next;
    }
    return (uint16_t)(s->level + ak_rng_below(&b->rng, (uint64_t)next - s->level));
}

/* Finds the best split of the rows by some of the columns; its column is AK_FOREST_LEAF if none
   splits them. A split without a gain is accepted, because an effect of two columns together may
   show only after a split by the first of them. */
static split find_split(builder *b, const task *t)
{
    split best = {.gain = -1.0, .column = AK_FOREST_LEAF};
    size_t columns = b->forest->columns;
    size_t wanted = (size_t)ceil(b->options->share * (double)columns);
    double all = 0.0;
    for (size_t i = t->first; i < t->first + t->count; i++) {
        all += b->data->y[b->order[i]];
    }
    uint16_t pick[AK_PARAMETERS_MAX];
    for (size_t c = 0; c < columns; c++) {
        pick[c] = (uint16_t)c;
    }
    for (size_t tried = 0; tried < columns; tried++) {
        /* If none of the columns that were drawn splits the rows, more are drawn. */
        if (tried >= wanted && best.column != AK_FOREST_LEAF) {
            break;
        }
        size_t j = tried + (size_t)ak_rng_below(&b->rng, columns - tried);
        uint16_t column = pick[j];
        pick[j] = pick[tried];
        pick[tried] = column;
        try_column(&best, b, t, column, all);
    }
    if (best.column != AK_FOREST_LEAF && b->forest->ordered[best.column]) {
        best.level = draw_threshold(b, t, &best);
    }
    return best;
}

/* Moves the rows that satisfy the split to the front and returns their number. */
static size_t partition(builder *b, const task *t, const split *s)
{
    size_t front = t->first;
    for (size_t i = t->first; i < t->first + t->count; i++) {
        uint32_t row = b->order[i];
        if (ak_forest_satisfies(b->forest, s->column, s->level, level_at(b, row, s->column))) {
            b->order[i] = b->order[front];
            b->order[front++] = row;
        }
    }
    return front - t->first;
}

/* Computes mean and variance of y over the rows of a task. */
static void describe(double *mean, double *variance, const builder *b, const task *t)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = t->first; i < t->first + t->count; i++) {
        sum += b->data->y[b->order[i]];
    }
    *mean = sum / (double)t->count;
    for (size_t i = t->first; i < t->first + t->count; i++) {
        squares += square(b->data->y[b->order[i]] - *mean);
    }
    *variance = squares / (double)t->count;
}

/* Takes a task from the stack and makes its node. If the node splits, pushes a task for each
   child. */
static ak_status grow_node(builder *b, ak_error *err)
{
    ak_forest *forest = b->forest;
    task t = b->tasks[--b->task_count];
    AK_DO(AK_GROW(forest->nodes, &forest->node_capacity, forest->node_count + 1, err));
    size_t index = forest->node_count++;
    if (t.parent != SIZE_MAX) {
        forest->nodes[t.parent].other = (uint32_t)index;
    }
    ak_forest_node made = {.column = AK_FOREST_LEAF};
    describe(&made.mean, &made.variance, b, &t);
    split s = {.column = AK_FOREST_LEAF};
    bool pure = made.variance <= 1e-18 * square(made.mean); /* all y are equal but for rounding */
    if (!pure && t.count >= 2 * b->options->leaf_min && t.depth + 1 < AK_FOREST_DEPTH_MAX) {
        s = find_split(b, &t);
    }
    made.column = s.column;
    made.level = s.level;
    forest->nodes[index] = made;
    if (s.column == AK_FOREST_LEAF) {
        return AK_OK;
    }
    size_t front = partition(b, &t, &s);
    task *second = &b->tasks[b->task_count++];
    *second = t;
    second->first = t.first + front;
    second->count = t.count - front;
    second->parent = index;
    second->depth++;
    task *first = &b->tasks[b->task_count++];
    *first = t;
    first->count = front;
    first->parent = SIZE_MAX;
    first->depth++;
    if (forest->ordered[s.column]) {
        first->reach[s.column].high = s.level;
        second->reach[s.column].low = (uint16_t)(s.level + 1);
    }
    return AK_OK;
}

/* Returns the leaf of a tree that a row falls into. */
static const ak_forest_node *leaf_of(const ak_forest *forest, size_t tree, const uint16_t *row)
{
    size_t at = forest->root[tree];
    while (forest->nodes[at].column != AK_FOREST_LEAF) {
        const ak_forest_node *n = &forest->nodes[at];
        at = ak_forest_satisfies(forest, n->column, n->level, row[n->column]) ? at + 1 : n->other;
    }
    return &forest->nodes[at];
}

/* Adds the tree's predictions for rows that it has not seen to `opinions`, and clears `seen`. */
static void ask_unseen(builder *b, size_t tree)
{
    for (size_t i = 0; i < b->data->count; i++) {
        if (!b->seen[i]) {
            size_t columns = b->forest->columns;
            const uint16_t *row = columns == 0 ? NULL : b->data->rows + i * columns;
            b->opinions[i] += leaf_of(b->forest, tree, row)->mean;
            b->asked[i]++;
        }
        b->seen[i] = false;
    }
}

static double out_of_bag(const builder *b)
{
    const double *y = b->data->y;
    double mean = 0.0, wrong = 0.0, all = 0.0;
    size_t rows = 0;
    for (size_t i = 0; i < b->data->count; i++) {
        mean += b->asked[i] > 0 ? y[i] : 0.0;
        rows += b->asked[i] > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < b->data->count && rows > 0; i++) {
        if (b->asked[i] > 0) {
            wrong += square(y[i] - b->opinions[i] / (double)b->asked[i]);
            all += square(y[i] - mean / (double)rows);
        }
    }
    return all > 0.0 ? 1.0 - wrong / all : (double)NAN;
}

static ak_status grow_tree(builder *b, ak_error *err)
{
    size_t rows = b->data->count;
    for (size_t i = 0; i < rows; i++) {
        b->order[i] = (uint32_t)(b->options->bootstrap ? ak_rng_below(&b->rng, rows) : i);
        b->seen[b->order[i]] = true;
    }
    task *t = &b->tasks[b->task_count++];
    *t = (task){.count = rows, .parent = SIZE_MAX};
    for (size_t c = 0; c < b->forest->columns; c++) {
        t->reach[c] = (range){0, (uint16_t)(b->forest->levels[c] - 1)};
    }
    while (b->task_count > 0) {
        AK_DO(grow_node(b, err));
    }
    return AK_OK;
}

static ak_status check(const ak_forest_data *data, const ak_forest_options *options, ak_error *err)
{
    AK_FAIL_IF(data->count == 0 || data->count > AK_FOREST_ROWS_MAX, err, AK_INVALID,
               "a forest learns from 1 to %d trials, not %zu", AK_FOREST_ROWS_MAX, data->count);
    AK_FAIL_IF(options->trees == 0 || options->trees > AK_FOREST_TREES_MAX, err, AK_INVALID,
               "a forest has 1 to %d trees, not %zu", AK_FOREST_TREES_MAX, options->trees);
    for (size_t i = 0; i < data->count; i++) {
        AK_FAIL_IF(!isfinite(data->y[i]), err, AK_INVALID,
                   "trial %zu: a forest learns from finite numbers only; give failed trials one",
                   i);
    }
    return AK_OK;
}

static ak_status open_builder(builder *b, ak_error *err)
{
    ak_forest *forest = b->forest;
    const ak_features *features = b->data->features;
    forest->columns = features->count;
    size_t widest = 1;
    for (size_t c = 0; c < features->count; c++) {
        forest->levels[c] = (uint16_t)features->column[c].levels;
        forest->ordered[c] = features->column[c].ordered;
        widest = features->column[c].levels > widest ? features->column[c].levels : widest;
    }
    AK_DO(AK_NEW(forest->root, b->options->trees, err));
    AK_DO(AK_NEW(b->order, b->data->count, err));
    AK_DO(AK_NEW(b->sum, widest, err));
    AK_DO(AK_NEW(b->hits, widest, err));
    AK_DO(AK_NEW(b->tasks, AK_FOREST_DEPTH_MAX + 1, err));
    AK_DO(AK_NEW(b->seen, b->data->count, err));
    AK_DO(AK_NEW(b->opinions, b->data->count, err));
    return AK_NEW(b->asked, b->data->count, err);
}

ak_status ak_forest_fit(ak_forest **out, const ak_forest_data *data,
                        const ak_forest_options *options, ak_error *err)
{
    AK_DO(check(data, options, err));
    builder b = {.data = data, .options = options};
    AK_DO(AK_NEW(b.forest, 1, err));
    ak_rng_seed(&b.rng, options->seed);
    ak_status status = open_builder(&b, err);
    while (status == AK_OK && b.forest->trees < options->trees) {
        size_t tree = b.forest->trees++;
        b.forest->root[tree] = (uint32_t)b.forest->node_count;
        status = grow_tree(&b, err);
        if (status == AK_OK) {
            ask_unseen(&b, tree);
        }
    }
    b.forest->out_of_bag = status == AK_OK ? out_of_bag(&b) : (double)NAN;
    double floor_variance = square(options->leaf_spread);
    for (size_t i = 0; i < b.forest->node_count; i++) {
        ak_forest_node *n = &b.forest->nodes[i];
        n->variance = n->variance > floor_variance ? n->variance : floor_variance;
    }
    AK_FREE_ALL(b.order, b.sum, b.hits, b.tasks, b.seen, b.opinions, b.asked);
    if (status != AK_OK) {
        ak_forest_free(b.forest);
        return status;
    }
    *out = b.forest;
    return AK_OK;
}

void ak_forest_free(ak_forest *forest)
{
    if (forest != NULL) {
        AK_FREE_ALL(forest->nodes, forest->root, forest);
    }
}

double ak_forest_out_of_bag(const ak_forest *forest)
{
    return forest->out_of_bag;
}

void ak_forest_predict(double *mean, double *variance, const ak_forest *forest, const uint16_t *row)
{
    double sum = 0.0;
    double squares = 0.0;
    double within = 0.0;
    double trees = (double)forest->trees;
    /* The first mean is subtracted before squaring, because the means are close to each other and
       their squares are large. */
    double first = 0.0;
    for (size_t tree = 0; tree < forest->trees; tree++) {
        const ak_forest_node *leaf = leaf_of(forest, tree, row);
        first = tree == 0 ? leaf->mean : first;
        sum += leaf->mean - first;
        squares += square(leaf->mean - first);
        within += leaf->variance;
    }
    double centre = sum / trees;
    *mean = first + centre;
    if (variance != NULL) {
        double between = squares / trees - square(centre);
        *variance = within / trees + (between > 0.0 ? between : 0.0);
    }
}
