/*
 * forest_effects.c: the functional analysis of variance of a forest, see forest.h.
 *
 * A leaf of a tree is a product of sets of levels, one set for each column. The prediction averaged
 * over all columns but some is therefore a sum over the leaves: each adds its mean, times its share
 * of all configurations, to the levels of these columns that reach it. One walk through a tree
 * gives the sums of every column, or of every pair with a given column. A leaf that a column does
 * not restrict adds the same to all levels of this column, which no variance sees, and is left out.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "model/forest.h"
#include "model/forest_tree.h"

#define NO_COLUMN SIZE_MAX

typedef struct walk {
    const ak_forest *forest;
    /* the column that is paired with each other column; NO_COLUMN: each column alone */
    size_t column;
    uint16_t *levels; /* memory of the members `level` */
    /* levels of a column; those that reach a node are adjacent */
    uint16_t *level[AK_PARAMETERS_MAX];
    size_t first[AK_PARAMETERS_MAX], count[AK_PARAMETERS_MAX];
    double *sums;
    /* sums for a column: by its level, or by the level of `column` and then by its own; NULL: not
       wanted */
    double *sum[AK_PARAMETERS_MAX];
    size_t cells;         /* number of all sums */
    double base;          /* is subtracted from the means before they are summed */
    double mean, squares; /* mean of the tree's prediction, and of its square */
} walk;

static double square(double x)
{
    return x * x;
}

/* ---- one tree -------------------------------------------------------------------------------- */

static bool is_restricted(const walk *w, size_t column)
{
    return w->count[column] < w->forest->levels[column];
}

/* Returns the factor by which the share of configurations that reach a leaf grows if a column is
   fixed to a level that reaches it. */
static double gain(const walk *w, size_t column)
{
    return (double)w->forest->levels[column] / (double)w->count[column];
}

static void add_alone(walk *w, size_t column, double weight)
{
    const uint16_t *level = w->level[column] + w->first[column];
    double added = weight * gain(w, column);
    for (size_t v = 0; v < w->count[column]; v++) {
        w->sum[column][level[v]] += added;
    }
}

static void add_pair(walk *w, size_t a, size_t b, double weight)
{
    const uint16_t *one = w->level[a] + w->first[a], *two = w->level[b] + w->first[b];
    double added = weight * gain(w, a) * gain(w, b);
    for (size_t v = 0; v < w->count[a]; v++) {
        double *row = w->sum[b] + (size_t)one[v] * w->forest->levels[b];
        for (size_t u = 0; u < w->count[b]; u++) {
            row[two[u]] += added;
        }
    }
}

static void add_leaf(walk *w, double share, double mean)
{
    double weight = share * (mean - w->base);
    w->mean += share * mean;
    w->squares += share * square(mean);
    if (w->column != NO_COLUMN && !is_restricted(w, w->column)) {
        return;
    }
    for (size_t c = 0; c < w->forest->columns; c++) {
        if (w->sum[c] == NULL || !is_restricted(w, c)) {
            continue;
        }
        if (w->column == NO_COLUMN) {
            add_alone(w, c, weight);
        } else {
            add_pair(w, w->column, c, weight);
        }
    }
}

/* Moves the levels that satisfy the split of a node to the front of those that reach it, and
   returns their number. */
static size_t part_levels(walk *w, const ak_forest_node *n)
{
    uint16_t *level = w->level[n->column] + w->first[n->column];
    size_t front = 0;
    for (size_t v = 0; v < w->count[n->column]; v++) {
        if (ak_forest_satisfies(w->forest, n->column, n->level, level[v])) {
            uint16_t moved = level[v];
            level[v] = level[front];
            level[front++] = moved;
        }
    }
    return front;
}

/* Visits the leaves below a node, at most AK_FOREST_DEPTH_MAX calls deep. `share` is the share of
   all configurations that reach the node. */
static void visit(walk *w, size_t at, double share)
{
    const ak_forest_node *n = &w->forest->nodes[at];
    if (n->column == AK_FOREST_LEAF) {
        add_leaf(w, share, n->mean);
        return;
    }
    size_t first = w->first[n->column], count = w->count[n->column], front = part_levels(w, n);
    assert(front > 0 && front < count);
    w->count[n->column] = front;
    visit(w, at + 1, share * (double)front / (double)count);
    w->first[n->column] = first + front;
    w->count[n->column] = count - front;
    visit(w, n->other, share * (double)(count - front) / (double)count);
    w->first[n->column] = first;
    w->count[n->column] = count;
}

/* Fills the sums from one tree. Returns the variance of its prediction over all configurations; 0
   if that is no more than rounding. */
static double walk_tree(walk *w, size_t tree)
{
    size_t root = w->forest->root[tree];
    memset(w->sums, 0, w->cells * sizeof *w->sums);
    w->base = w->forest->nodes[root].mean;
    w->mean = w->squares = 0.0;
    visit(w, root, 1.0);
    double variance = w->squares - square(w->mean);
    return variance > 1e-12 * w->squares ? variance : 0.0;
}

/* ---- variances of one tree ------------------------------------------------------------------- */

static double variance_alone(const walk *w, size_t column)
{
    double sum = 0.0, squares = 0.0, levels = (double)w->forest->levels[column];
    for (size_t v = 0; v < w->forest->levels[column]; v++) {
        sum += w->sum[column][v];
        squares += square(w->sum[column][v]);
    }
    return squares / levels - square(sum / levels);
}

/* Returns the variance of the interaction: the mean square of a table after the means of its rows
   and columns are subtracted. */
static double variance_together(const walk *w, size_t b)
{
    size_t rows = w->forest->levels[w->column], columns = w->forest->levels[b];
    double sum = 0.0, squares = 0.0, by_row = 0.0, by_column = 0.0;
    for (size_t v = 0; v < rows; v++) {
        double of_row = 0.0;
        for (size_t u = 0; u < columns; u++) {
            double cell = w->sum[b][v * columns + u];
            of_row += cell;
            squares += square(cell);
        }
        sum += of_row;
        by_row += square(of_row / (double)columns);
    }
    for (size_t u = 0; u < columns; u++) {
        double of_column = 0.0;
        for (size_t v = 0; v < rows; v++) {
            of_column += w->sum[b][v * columns + u];
        }
        by_column += square(of_column / (double)rows);
    }
    double cells = (double)rows * (double)columns;
    return squares / cells - by_row / (double)rows - by_column / (double)columns +
           square(sum / cells);
}

/* ---- all trees ------------------------------------------------------------------------------- */

/* Returns the number of sums for a column; 0 if it has none. */
static size_t cells_of(const walk *w, size_t column)
{
    size_t levels = w->forest->levels[column];
    if (w->column == NO_COLUMN) {
        return levels;
    }
    size_t cells = levels * w->forest->levels[w->column];
    return column != w->column && cells <= AK_FOREST_CELLS_MAX ? cells : 0;
}

static ak_status walk_open(walk *w, ak_error *err)
{
    const ak_forest *forest = w->forest;
    size_t levels = 0;
    for (size_t c = 0; c < forest->columns; c++) {
        levels += forest->levels[c];
        w->cells += cells_of(w, c);
    }
    AK_DO(AK_NEW(w->levels, levels, err));
    AK_DO(AK_NEW(w->sums, w->cells, err));
    uint16_t *level = w->levels;
    double *sum = w->sums;
    for (size_t c = 0; c < forest->columns; c++) {
        w->level[c] = level;
        w->count[c] = forest->levels[c];
        for (size_t v = 0; v < forest->levels[c]; v++) {
            *level++ = (uint16_t)v;
        }
        w->sum[c] = cells_of(w, c) > 0 ? sum : NULL;
        sum += cells_of(w, c);
    }
    return AK_OK;
}

/* Computes each column's share of the variance, alone or together with `column`, averaged over the
   trees whose predictions vary. */
static ak_status shares(double *out, const ak_forest *forest, size_t column, ak_error *err)
{
    walk w = {.forest = forest, .column = column};
    size_t trees = 0;
    ak_status status = AK_OK;
    memset(out, 0, forest->columns * sizeof *out);
    AK_TRY(walk_open(&w, err));
    for (size_t tree = 0; tree < forest->trees; tree++) {
        double variance = walk_tree(&w, tree);
        for (size_t c = 0; variance > 0.0 && c < forest->columns; c++) {
            if (w.sum[c] != NULL) {
                out[c] += (column == NO_COLUMN ? variance_alone(&w, c) : variance_together(&w, c)) /
                          variance;
            }
        }
        trees += variance > 0.0 ? 1 : 0;
    }
    for (size_t c = 0; trees > 0 && c < forest->columns; c++) {
        out[c] = fmax(out[c] / (double)trees, 0.0);
    }
out:
    AK_FREE_ALL(w.levels, w.sums);
    return status;
}

ak_status ak_forest_effects(double *out, const ak_forest *forest, ak_error *err)
{
    return shares(out, forest, NO_COLUMN, err);
}

ak_status ak_forest_interactions(double *out, const ak_forest *forest, size_t column, ak_error *err)
{
    return shares(out, forest, column, err);
}
