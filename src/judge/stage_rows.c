/* stage_rows.c: see stage_rows.h. */
#include "judge/stage_rows.h"

#include <string.h>

#include "base/alloc.h"

/* Finds how a row uses an argument by comparing the shape with that of a first size of 1. Returns
   false if the rows of the problem are not separate problems. */
static bool part_of(ak_stage_part *out, const ak_stage *stage, const ak_shape *one, size_t argument)
{
    const ak_shape *all = &stage->shape;
    size_t rank = stage->task->problem->arguments[argument].rank;
    size_t elements = one->elements[argument], rows = (size_t)all->size[0];
    if (elements == all->elements[argument]) {
        *out = AK_PART_ALL;
        return true;
    }
    *out = rank == 1 || one->row[argument] == all->row[argument] ? AK_PART_ROW : AK_PART_COLUMN;
    return rank <= 2 && elements * rows == all->elements[argument] &&
           (*out == AK_PART_ROW || one->row[argument] == 1);
}

ak_status ak_stage_rows_draw(ak_stage_rows *out, const ak_stage *stage, double flops, size_t least,
                             ak_rng *rng, ak_error *err)
{
    const ak_task *task = stage->task;
    const size_t rows = (size_t)stage->shape.size[0];
    ak_shape one;
    int64_t size[AK_SIZES_MAX];
    *out = (ak_stage_rows){.stage = stage};
    memcpy(size, stage->shape.size, sizeof size);
    size[0] = 1;
    AK_DO(ak_task_shape(&one, task, size, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        out->elements[i] = one.elements[i];
        bool fits = part_of(&out->part[i], stage, &one, i);
        if (!fits || (ak_stage_is_output(stage, i) && rows > 1 && out->part[i] != AK_PART_ROW)) {
            return ak_fail(err, AK_UNAVAILABLE,
                           "%s cannot be split along %s into independent problems, so the CPU "
                           "computes its reference",
                           task->problem->name, task->problem->sizes[0].name);
        }
    }
    const double can = flops / (one.flops > 1.0 ? one.flops : 1.0);
    out->rows = can < (double)least       ? least
                : can > AK_STAGE_ROWS_MAX ? AK_STAGE_ROWS_MAX
                                          : (size_t)can;
    out->rows = out->rows < rows ? out->rows : rows;
    for (size_t k = 0; k < out->rows; k++) {
        out->row[k] = (size_t)ak_rng_below(rng, rows);
    }
    size[0] = (int64_t)out->rows;
    return ak_task_shape(&out->shape, task, size, err);
}

void ak_stage_rows_whole(ak_stage_rows *out, const ak_stage *stage)
{
    *out = (ak_stage_rows){.stage = stage, .shape = stage->shape, .rows = 1};
    memcpy(out->elements, stage->shape.elements, sizeof out->elements);
}

/* Decodes `count` elements of an input from element `first` on, which may lie behind the last. */
static void decode_turned(double *out, const ak_stage_rows *s, size_t first, size_t count)
{
    const size_t i = s->argument, all = s->stage->shape.elements[i], from = first % all;
    const size_t before = count < all - from ? count : all - from;
    ak_stage_decode(out, s->stage, i, from, before);
    ak_stage_decode(out + before, s->stage, i, 0, count - before);
}

/* Decodes `count` elements of an input from element `first` on, after it was mixed. */
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
    for (size_t done = 0; m.turn[0] != m.turn[1] && done < count; done += PIECE) {
        const size_t part = count - done < PIECE ? count - done : PIECE;
        decode_turned(second, s, first + done + turn[1], part);
        for (size_t j = 0, at = first + done; j < part; j++, at++) {
            const size_t place = one_row ? at : at / row * pitch + at % row;
            out[done + j] = ak_mixed_which(m, place) ? second[j] : out[done + j];
        }
    }
}

static void decode_part(void *context, int thread, int n)
{
    const ak_stage_rows *s = context;
    size_t i = s->argument, parts = (size_t)n, own = (size_t)thread;
    size_t count = s->shape.elements[i], width = s->elements[i];
    double *out = s->arrays[i];
    if (s->part[i] == AK_PART_ALL) {
        size_t first = count / parts * own;
        size_t end = own + 1 == parts ? count : count / parts * (own + 1);
        decode(out + first, s, first, end - first);
        return;
    }
    for (size_t k = own; k < s->rows; k += parts) {
        if (s->part[i] == AK_PART_ROW) {
            decode(out + k * width, s, s->row[k] * width, width);
            continue;
        }
        for (size_t j = 0; j < width; j++) {
            decode(out + j * s->rows + k, s, j * s->stage->shape.row[i] + s->row[k], 1);
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

void ak_stage_rows_clear(ak_stage_rows *rows)
{
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        ak_free(rows->arrays[i]);
        rows->arrays[i] = NULL;
    }
}
