#include "judge/stage.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Rows are long if the work would suffice for fewer than LONG_PART of them, or if one needs more
   than LONG_ELEMENTS elements of all arguments. Then only some columns are computed, if these are
   separate problems and the draw allows it. */
#define LONG_PART     8
#define LONG_ELEMENTS ((size_t)1 << 20)
/* If only some columns are computed, they are those of SHORT_ROWS rows, if there are as many. They
   are as many as the work suffices for and need at most LONG_ELEMENTS elements, but at least
   COLUMNS_LEAST, if there are as many. */
#define SHORT_ROWS    32
#define COLUMNS_LEAST ((size_t)64)
/* Two references in double may differ by this, relative to the sum of the element and the root mean
   square: sums of millions of terms in another order differ by less than 1e-12, and the tightest
   tolerance of a candidate is 5e-7. */
#define REFERENCES_APART 1e-10

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Finds how a value of size `k` uses an argument by comparing the shape with that of a size of 1.
   Returns false if the problem does not consist of separate problems for the values. */
static bool part_of(ak_stage_part *out, const ak_stage *stage, size_t k, const ak_shape *one,
                    size_t argument)
{
    const ak_shape *all = &stage->shape;
    size_t rank = stage->task->problem->arguments[argument].rank;
    size_t elements = one->elements[argument], values = (size_t)all->size[k];
    if (elements == all->elements[argument]) {
        *out = AK_PART_ALL;
        return true;
    }
    *out = rank == 1 || one->row[argument] == all->row[argument] ? AK_PART_ROW : AK_PART_COLUMN;
    return rank <= 2 && elements * values == all->elements[argument] &&
           (*out == AK_PART_ROW || one->row[argument] == 1);
}

/* Finds how the values of size `k` use all arguments, and the shape for a single value. Returns
   false if the values are not separate problems, or if the outputs of a value are not an `output`
   part of all outputs. */
static bool separates(ak_stage_pick *out, ak_shape *one, const ak_stage *stage, size_t k,
                      ak_stage_part output)
{
    int64_t size[AK_SIZES_MAX];
    memcpy(size, stage->shape.size, sizeof size);
    size[k] = 1;
    bool fits = ak_task_shape(one, stage->task, size, NULL) == AK_OK;
    memcpy(out->elements, one->elements, sizeof out->elements);
    for (size_t i = 0; fits && i < ak_stage_arguments(stage); i++) {
        fits =
            part_of(&out->part[i], stage, k, one, i) &&
            (!ak_stage_is_output(stage, i) || stage->shape.size[k] == 1 || out->part[i] == output);
    }
    return fits;
}

static void draw_values(ak_stage_pick *pick, size_t *index, size_t count, size_t all, ak_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        index[i] = (size_t)ak_rng_below(rng, all);
    }
    pick->count = count;
    pick->index = index;
}

/* Returns whether rows and columns can be chosen together: no row has several stretches. */
static bool are_apart(const ak_stage_pick *rows, const ak_stage_pick *columns,
                      const ak_stage *stage)
{
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        const bool crossed = rows->part[i] != AK_PART_ALL && columns->part[i] != AK_PART_ALL;
        const ak_stage_pick *down = rows->part[i] == AK_PART_ROW ? rows : columns;
        if (crossed &&
            (rows->part[i] == columns->part[i] || down->elements[i] != stage->shape.row[i])) {
            return false;
        }
    }
    return true;
}

/* Finds how rows use the arguments, and if `k` is not 0, columns by the size with this index. */
static bool find_parts(ak_stage_rows *out, const ak_stage *stage, size_t k)
{
    ak_shape one;
    return separates(&out->rows, &one, stage, 0, AK_PART_ROW) &&
           (k == 0 || (separates(&out->columns, &one, stage, k, AK_PART_COLUMN) &&
                       are_apart(&out->rows, &out->columns, stage)));
}

static size_t elements_of(const ak_stage_pick *pick, const ak_stage *stage)
{
    size_t elements = 0;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        elements += pick->elements[i];
    }
    return elements;
}

bool ak_stage_has_columns(size_t *elements, const ak_stage *stage, size_t k)
{
    ak_stage_rows found = {.stage = stage};
    bool has = find_parts(&found, stage, k);
    *elements = elements_of(&found.columns, stage);
    return has;
}

static size_t between(size_t least, double x, size_t most)
{
    return x < (double)least ? least : x > (double)most ? most : (size_t)x;
}

ak_status ak_stage_rows_draw(ak_stage_rows *out, const ak_stage *stage, const ak_stage_draw *draw,
                             ak_rng *rng, ak_error *err)
{
    const ak_task *task = stage->task;
    const ak_stage_split *split = draw->split;
    const int64_t *all = stage->shape.size;
    int64_t size[AK_SIZES_MAX];
    *out = (ak_stage_rows){.stage = stage};
    AK_FAIL_IF(
        !split->rows || !find_parts(out, stage, split->column), err, AK_UNAVAILABLE,
        "%s cannot be split along %s into independent problems, so the CPU computes its reference",
        task->problem->name, task->problem->sizes[0].name);
    memcpy(size, all, sizeof size);
    const double flops = stage->shape.flops / (double)all[0];
    const double can = draw->flops / (flops > 1.0 ? flops : 1.0); /* so many rows */
    const bool is_long = can < LONG_PART || elements_of(&out->rows, stage) > LONG_ELEMENTS;
    size_t rows = between(draw->least, can, AK_STAGE_ROWS_MAX);
    if (split->column > 0 && !draw->whole && (is_long || draw->some)) {
        const size_t columns = (size_t)all[split->column];
        rows = least_of(SHORT_ROWS, (size_t)all[0]);
        const double each = can * (double)columns / (double)rows;
        const double held = (double)LONG_ELEMENTS / (double)elements_of(&out->columns, stage);
        const size_t some = between(COLUMNS_LEAST, each < held ? each : held, AK_STAGE_COLUMNS_MAX);
        draw_values(&out->columns, out->column, least_of(some, columns), columns, rng);
        size[split->column] = (int64_t)out->columns.count;
    }
    draw_values(&out->rows, out->row, least_of(rows, (size_t)all[0]), (size_t)all[0], rng);
    size[0] = (int64_t)out->rows.count;
    return ak_task_shape(&out->shape, task, size, err);
}

void ak_stage_rows_whole(ak_stage_rows *out, const ak_stage *stage)
{
    *out = (ak_stage_rows){.stage = stage, .shape = stage->shape};
    memcpy(out->rows.elements, stage->shape.elements, sizeof out->rows.elements);
    out->rows.count = 1;
    out->rows.index = out->row;
}

/* Decodes `count` elements of an input from element `first` on, counted modulo their number. */
static void decode_turned(double *out, const ak_stage_rows *s, size_t first, size_t count)
{
    const size_t i = s->argument, all = s->stage->shape.elements[i], from = first % all;
    const size_t before = count < all - from ? count : all - from;
    ak_stage_decode(out, s->stage, i, from, before);
    ak_stage_decode(out + before, s->stage, i, 0, count - before);
}

/* Decodes `count` elements of an input from element `first` on, mixed as s->mixed says. */
static void decode(double *out, const ak_stage_rows *s, size_t first, size_t count)
{
    enum { PIECE = 256 };
    double second[PIECE];
    const ak_shape *shape = &s->stage->shape;
    const size_t row = shape->row[s->argument], pitch = shape->pitch[s->argument];
    const bool one_row = shape->elements[s->argument] == row;
    const ak_mixed m = s->mixed == NULL ? (ak_mixed){0} : s->mixed[s->argument];
    size_t turn[2];
    for (size_t k = 0; k < 2; k++) {
        turn[k] = one_row ? (size_t)m.turn[k] : (size_t)m.turn[k] / pitch * row;
    }
    decode_turned(out, s, first + turn[0], count);
    /* The place and the column of the next element; where there is one row, it has no end. */
    const size_t width = one_row ? SIZE_MAX : row;
    size_t place = one_row ? first : first / row * pitch + first % row, column = first % width;
    for (size_t done = 0; m.turn[0] != m.turn[1] && done < count; done += PIECE) {
        const size_t part = count - done < PIECE ? count - done : PIECE;
        decode_turned(second, s, first + done + turn[1], part);
        for (size_t j = 0; j < part; j++, place++, column++) {
            if (column == width) {
                column = 0;
                place += pitch - row;
            }
            out[done + j] = ak_mixed_which(m, place) ? second[j] : out[done + j];
        }
    }
}

/* Returns the pick by which rows of an argument (AK_PART_ROW) or elements of its rows
   (AK_PART_COLUMN) are chosen; if there is none, an empty one, which chooses all. */
static ak_stage_pick chosen_by(const ak_stage_rows *s, ak_stage_part part)
{
    const size_t i = s->argument;
    return s->rows.count > 0 && s->rows.part[i] == part         ? s->rows
           : s->columns.count > 0 && s->columns.part[i] == part ? s->columns
                                                                : (ak_stage_pick){0};
}

static void decode_part(void *context, int thread, int n)
{
    const ak_stage_rows *s = context;
    const size_t i = s->argument, parts = (size_t)n, own = (size_t)thread;
    const ak_shape *all = &s->stage->shape;
    const ak_stage_pick down = chosen_by(s, AK_PART_ROW), along = chosen_by(s, AK_PART_COLUMN);
    const size_t row = down.count > 0 ? down.elements[i] : all->row[i];
    const size_t height = down.count > 0 ? down.count : all->elements[i] / row;
    const size_t width = along.count > 0 ? along.count : row;
    double *out = s->arrays[i];
    for (size_t k = height * own / parts; k < height * (own + 1) / parts; k++) {
        const size_t first = (down.count > 0 ? down.index[k] : k) * row;
        if (along.count == 0) {
            decode(out + k * width, s, first, width);
            continue;
        }
        for (size_t j = 0; j < width; j++) {
            decode(out + k * width + j, s, first + along.index[j], 1);
        }
    }
}

ak_status ak_stage_rows_compute(ak_stage_rows *rows, ak_reference *reference, ak_error *err)
{
    for (size_t i = 0; i < ak_stage_arguments(rows->stage); i++) {
        rows->argument = i;
        AK_DO(AK_NEW(rows->arrays[i], rows->shape.elements[i], err));
        if (ak_stage_access(rows->stage, i) != AK_ACCESS_OUT) {
            ak_reference_parallel(reference, decode_part, rows);
        }
    }
    return ak_reference_run(reference, &rows->shape, rows->arrays, err);
}

bool ak_stage_values_agree(double x, double y, double rms)
{
    if (!isfinite(x) || !isfinite(y)) {
        return (isnan(x) && isnan(y)) || x == y;
    }
    return fabs(x - y) <= REFERENCES_APART * (fabs(y) + rms);
}

bool ak_stage_rows_agree(const ak_stage_rows *rows)
{
    const ak_stage *stage = rows->stage;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (!ak_stage_is_output(stage, i)) {
            continue;
        }
        const size_t width = rows->shape.elements[i] / rows->rows.count;
        for (size_t at = 0; at < rows->shape.elements[i]; at++) {
            const size_t j = at % width;
            const size_t row = rows->row[at / width] * rows->rows.elements[i];
            const size_t column = rows->columns.count > 0 ? rows->column[j] : j;
            if (!ak_stage_values_agree(rows->arrays[i][at], stage->reference[i][row + column],
                                       stage->level[i])) {
                return false;
            }
        }
    }
    return true;
}

void ak_stage_rows_free(ak_stage_rows *rows)
{
    if (rows != NULL) {
        AK_END_EACH(ak_free, rows->arrays, AK_ARGUMENTS_MAX);
        ak_free(rows);
    }
}
