/*
 * stage_rows.h: some rows of a stage's problem, which the reference computes on the host in a
 * fraction of the time that all of them would take.
 *
 * This needs a problem that consists of separate problems, one for each value of its first size:
 * each argument has that size as its first extent, or as the second of two, or not at all. Of
 * another problem the only "row" is all of it.
 */
#ifndef AK_JUDGE_STAGE_ROWS_H
#define AK_JUDGE_STAGE_ROWS_H

#include "base/rng.h"
#include "judge/stage.h"

#define AK_STAGE_ROWS_MAX 64

/* How one row of the problem uses an argument. */
typedef enum ak_stage_part {
    AK_PART_ALL,   /* all of it: it does not grow with the first size */
    AK_PART_ROW,   /* a stretch of it: the first size is its first extent */
    AK_PART_COLUMN /* one element of each of its rows: the first size is the last of two extents */
} ak_stage_part;

typedef struct ak_stage_rows {
    const ak_stage *stage;
    ak_shape shape; /* that of the chosen rows */
    size_t rows;
    size_t row[AK_STAGE_ROWS_MAX]; /* index of each row in the whole shape */
    ak_stage_part part[AK_ARGUMENTS_MAX];
    size_t elements[AK_ARGUMENTS_MAX]; /* elements of each argument that one row uses */
    /* Values of the chosen rows; owned. Of outputs: what the reference gives. */
    double *arrays[AK_ARGUMENTS_MAX];
    bool aside;            /* the outputs are those that a launch has set aside */
    const ak_mixed *mixed; /* inputs are changed, as in ak_outcome; NULL: they are not */
    size_t argument;       /* for the threads that decode */
} ak_stage_rows;

/* Draws rows, of which the reference computes about as many as `flops` allow, but `least` at least.
   Returns AK_UNAVAILABLE if the rows are not separate problems. */
ak_status ak_stage_rows_draw(ak_stage_rows *out, const ak_stage *stage, double flops, size_t least,
                             ak_rng *rng, ak_error *err);
/* Takes the whole problem as its only row. */
void ak_stage_rows_whole(ak_stage_rows *out, const ak_stage *stage);
/* Decodes the inputs of the chosen rows and has the reference compute their outputs. */
ak_status ak_stage_rows_compute(ak_stage_rows *rows, ak_reference *reference, ak_error *err);
void ak_stage_rows_clear(ak_stage_rows *rows);

#endif
