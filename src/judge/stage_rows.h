/*
 * stage_rows.h: some rows of a stage's problem, which the reference computes on the host in a
 * fraction of the time that all of them would take.
 *
 * This needs a problem that consists of separate problems, one for each value of its first size:
 * each argument has that size as its first extent, or as the second of two, or not at all. Any
 * other problem is a single "row". If rows are long, and if the problem also separates by another
 * size, which is the last extent of its outputs, only some columns of the rows are computed: one
 * row of a large product needs a whole matrix, a few columns of it do not.
 *
 * The shapes only allow this. Whether rows are separate problems, as they are in a product and are
 * not in a stencil, is found out with the reference itself (split.c).
 */
#ifndef AK_JUDGE_STAGE_ROWS_H
#define AK_JUDGE_STAGE_ROWS_H

#include "base/rng.h"
#include "judge/stage.h"

#define AK_STAGE_ROWS_MAX    64
#define AK_STAGE_COLUMNS_MAX 1024

/* How one value of a size uses an argument. */
typedef enum ak_stage_part {
    AK_PART_ALL,   /* all of it: it does not grow with the size */
    AK_PART_ROW,   /* a stretch of it: the size is its first extent */
    AK_PART_COLUMN /* one element of each of its rows: the size is the last of two extents */
} ak_stage_part;

/* Values of a size, drawn at random. */
typedef struct ak_stage_pick {
    size_t count; /* 0: all */
    const size_t *index;
    ak_stage_part part[AK_ARGUMENTS_MAX];
    size_t elements[AK_ARGUMENTS_MAX]; /* of each argument that one value uses */
} ak_stage_pick;

typedef struct ak_stage_rows {
    const ak_stage *stage;
    ak_shape shape; /* the problem's shape with only the chosen rows and columns */
    ak_stage_pick rows, columns;
    size_t row[AK_STAGE_ROWS_MAX], column[AK_STAGE_COLUMNS_MAX];
    /* Values of the chosen rows; owned. Of outputs: what the reference gives. */
    double *arrays[AK_ARGUMENTS_MAX];
    bool aside;            /* the outputs are those that a launch has set aside */
    const ak_mixed *mixed; /* inputs are changed, as in ak_outcome; NULL: they are not */
    size_t argument;       /* for the threads that decode */
} ak_stage_rows;

/* What is drawn. */
typedef struct ak_stage_draw {
    const ak_stage_split *split;
    double flops; /* the reference takes about this much work, */
    size_t least; /* but computes so many rows at least */
    bool whole;   /* all columns of the rows */
    bool some;    /* only some of them, also if rows are short */
} ak_stage_draw;

/* Draws rows, and columns of them. Returns AK_UNAVAILABLE if the rows are not separate problems. */
ak_status ak_stage_rows_draw(ak_stage_rows *out, const ak_stage *stage, const ak_stage_draw *draw,
                             ak_rng *rng, ak_error *err);
/* Returns whether the shapes of the arguments allow that only some values of size `k`, which is not
   the first, are computed. Sets *elements to the number of elements that one value needs. */
bool ak_stage_has_columns(size_t *elements, const ak_stage *stage, size_t k);
/* Returns whether the chosen rows, whose reference has been computed, agree with the same rows in
   the whole stage's reference. */
bool ak_stage_rows_agree(const ak_stage_rows *rows);
/* Takes the whole problem as its only row. */
void ak_stage_rows_whole(ak_stage_rows *out, const ak_stage *stage);
/* Decodes the inputs of the chosen rows and has the reference compute their outputs. */
ak_status ak_stage_rows_compute(ak_stage_rows *rows, ak_reference *reference, ak_error *err);
void ak_stage_rows_clear(ak_stage_rows *rows);
/* Returns whether two references agree on an element. */
bool ak_stage_values_agree(double x, double y, double rms);

#endif
