/* loaded_rows.c: judges some rows of what a candidate has written, drawn at random, where computing
   all of them would take the reference too long. */
#include "judge/loaded.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* The reference may take this much work for the rows that are judged; it is some ten milliseconds
   of one core. */
#define ROWS_FLOPS 2e7
/* A problem without separate rows is judged as a whole if it is at most this much work. */
#define ROWS_WHOLE 1e8

ak_status ak_rows_draw(ak_stage_rows *rows, ak_evaluator *e, const ak_stage *stage, size_t least,
                       ak_error *err)
{
    const double work = stage->shape.flops + (double)ak_stage_elements(stage);
    ak_error why = AK_ERROR_INIT;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        AK_FAIL_IF(stage->task->problem->reference.array[i] != NULL, err, AK_UNAVAILABLE,
                   "right results come from files");
    }
    AK_DO(ak_split_find(e, err));
    const ak_stage_draw draw = {.split = &e->split, .flops = ROWS_FLOPS, .least = least};
    ak_status status = ak_stage_rows_draw(rows, stage, &draw, &e->rng, &why);
    if (status == AK_UNAVAILABLE && work <= ROWS_WHOLE) {
        ak_stage_rows_whole(rows, stage);
        return AK_OK;
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text);
}

/* Fetches a row of an output of the latest launch, without the gaps between the array's rows;
   `first` is the index of the row's first element. */
static ak_status fetch(unsigned char *to, ak_loaded *r, const ak_stage_rows *rows, size_t i,
                       size_t first, ak_error *err)
{
    const ak_backend_ops *backend = r->e->backend;
    const ak_stage *stage = rows->stage;
    const ak_stage_memory *memory = stage->memory;
    const size_t count = rows->rows.elements[i], element = ak_dtype_bytes(ak_stage_dtype(stage, i));
    for (size_t done = 0, length; done < count; done += length) {
        const size_t at = ak_stage_run(&length, stage, i, first + done, count - done) * element;
        const size_t in_block = stage->offset[i] + at, bytes = length * element;
        unsigned char *part = to + done * element;
        if (rows->aside) {
            AK_DO(backend->fetch_aside(part, r->runnable, i, at, bytes, err));
        } else if (memory->copy != NULL) {
            AK_DO(backend->download(part, memory->device, in_block, bytes, err));
        } else {
            memcpy(part, memory->bytes + in_block, bytes);
        }
    }
    return AK_OK;
}

/* Returns whether results can be compared with this reference: false if it is not finite or does
   not fit a dtype of whole numbers, because nobody has checked that these inputs have a result. */
static bool is_judgeable(const ak_stage_rows *rows, size_t i, ak_dtype dtype)
{
    const ak_compare_with with = {
        .dtype = dtype, .reference = rows->arrays[i], .count = rows->shape.elements[i]};
    for (size_t k = 0; k < with.count; k++) {
        if (!isfinite(with.reference[k])) {
            return false;
        }
    }
    const ak_compare_argument named = ak_stage_named(rows->stage, i);
    return ak_compare_representable("", &named, "", &with, NULL) == AK_OK;
}

/* Fetches the chosen elements of a row. `whole` has place for all of the row. */
static ak_status fetch_chosen(unsigned char *to, unsigned char *whole, ak_loaded *r,
                              const ak_stage_rows *rows, size_t i, size_t row, ak_error *err)
{
    const ak_stage_pick *columns = &rows->columns;
    const size_t bytes = ak_dtype_bytes(ak_stage_dtype(rows->stage, i));
    const size_t first = row * rows->rows.elements[i];
    if (columns->count == 0) {
        return fetch(to, r, rows, i, first, err);
    }
    AK_DO(fetch(whole, r, rows, i, first, err));
    for (size_t j = 0; j < columns->count; j++) {
        memcpy(to + j * bytes, whole + columns->index[j] * bytes, bytes);
    }
    return AK_OK;
}

/* Compares the chosen rows of an output. The tolerance contains the root mean square of the whole
   output, of which only these rows are known. stage->level, that of other inputs of the same kind
   (in few.c of these rows), stands for it if it is larger than that of these rows. */
static ak_status judge_output(ak_loaded *r, const ak_stage_rows *rows, size_t i, ak_error *err)
{
    const ak_stage *stage = rows->stage;
    const size_t count = rows->shape.elements[i];
    const ak_dtype dtype = ak_stage_dtype(stage, i);
    const size_t bytes = ak_dtype_bytes(dtype), width = count / rows->rows.count;
    ak_compare_result result;
    unsigned char *got, *whole = NULL;
    AK_DO(AK_NEW(got, count * bytes, err));
    ak_status status = AK_NEW(whole, rows->rows.elements[i] * bytes, err);
    for (size_t k = 0; status == AK_OK && k < rows->rows.count; k++) {
        status = fetch_chosen(got + k * width * bytes, whole, r, rows, i, rows->row[k], err);
    }
    const ak_compare_with with = {dtype, rows->arrays[i], count, stage->shape.own_relative[i],
                                  stage->rms[i]};
    if (status == AK_OK) {
        ak_compare_part(&result, got, &with, stage->level[i]);
        r->max_error = result.max_error > r->max_error ? result.max_error : r->max_error;
        if (!result.ok) {
            char text[240], reason[sizeof r->outcome.reason];
            const ak_compare_argument named = ak_stage_named(stage, i);
            assert(width > 0); /* a wrong element lies in a row */
            const size_t k = result.first / width, j = result.first % width;
            result.first = rows->row[k] * rows->rows.elements[i] +
                           (rows->columns.count == 0 ? j : rows->columns.index[j]);
            ak_compare_text(text, sizeof text, &result, &named);
            (void)snprintf(reason, sizeof reason, "%s%.200s",
                           rows->aside ? "on inputs that it has not seen " : "", text);
            ak_stage_wrong(&r->outcome, stage, reason);
        }
    }
    AK_FREE_ALL(whole, got);
    return status;
}

ak_status ak_rows_judge(ak_loaded *r, const ak_stage_rows *rows, ak_error *err)
{
    const ak_stage *stage = rows->stage;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (r->outcome.status == AK_TRIAL_OK && ak_stage_is_output(stage, i) &&
            is_judgeable(rows, i, ak_stage_dtype(stage, i))) {
            AK_DO(judge_output(r, rows, i, err));
        }
    }
    return AK_OK;
}
