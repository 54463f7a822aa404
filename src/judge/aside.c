/*
 * aside.c: judges what a candidate has written for contents whose results the harness does not
 * have.
 *
 * On a device batches run on contents that are the task's own, rotated, and so do the runs that are
 * timed on unseen contents (backend/launch/contents.h). If nobody looked at what these leave, a
 * candidate could do nothing for all contents but the own ones. So the outputs of one such run are
 * set aside now and then, and some of their rows, drawn at random, are compared with what the
 * reference gives for the rotated inputs.
 */
#include "judge/loaded.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/stage_rows.h"

/* The reference may take this much work for the rows that are judged; it is some ten milliseconds
   of one core. */
#define ASIDE_FLOPS 2e7
/* What is no set of separate rows is judged as a whole if it is at most this much work. */
#define ASIDE_WHOLE 1e8
/* One batch in this many is followed by such a look, if the looks since a candidate was loaded have
   taken at most one part in ASIDE_SHARE of the time. */
#define ASIDE_EVERY 4
#define ASIDE_SHARE 16

bool ak_aside_wanted(ak_loaded *r, const ak_stage *stage)
{
    ak_evaluator *e = r->e;
    const int64_t since = ak_clock_ns() - e->aside.begin_ns;
    const bool able = e->backend->fetch_aside != NULL && r->candidate->artifact != NULL &&
                      stage == &e->own[0] && stage->ready;
    const bool drawn =
        ak_rng_below(&e->rng, ASIDE_EVERY) == 0 && e->aside.spent_ns * ASIDE_SHARE <= since;
    return able && (drawn || r->aside);
}

/* Draws what is judged: rows, or all of a small problem that has no separate rows. */
static ak_status choose(ak_stage_rows *rows, const ak_stage *stage, ak_rng *rng, ak_error *err)
{
    double work = stage->shape.flops;
    ak_error why = AK_ERROR_INIT;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        work += (double)stage->shape.elements[i];
        if (stage->task->problem->reference.array[i] != NULL) {
            return ak_fail(err, AK_UNAVAILABLE, "right results come from files");
        }
    }
    ak_status status = ak_stage_rows_draw(rows, stage, ASIDE_FLOPS, 1, rng, &why);
    if (status == AK_UNAVAILABLE && work <= ASIDE_WHOLE) {
        ak_stage_rows_whole(rows, stage);
        return AK_OK;
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text);
}

/* Fetches `count` elements of an argument from element `first` on, without the gaps between its
   rows. */
static ak_status fetch(unsigned char *to, ak_loaded *r, const ak_stage *stage, size_t i,
                       size_t first, size_t count, ak_error *err)
{
    const size_t bytes = ak_dtype_bytes(ak_stage_dtype(stage, i));
    const size_t row = stage->shape.row[i], pitch = stage->shape.pitch[i];
    for (size_t done = 0, length; done < count; done += length) {
        const size_t e = first + done, left = count - done;
        length = row == pitch || row - e % row > left ? left : row - e % row;
        AK_DO(r->e->backend->fetch_aside(to + done * bytes, r->runnable, i,
                                         (e / row * pitch + e % row) * bytes, length * bytes, err));
    }
    return AK_OK;
}

/* Returns whether the reference can be held against a result of rotated inputs: they are numbers of
   the declared range, but nobody has looked whether they have a result. */
static bool is_judgeable(const ak_stage_rows *rows, size_t i, ak_dtype dtype)
{
    const ak_compare_with with = {
        .dtype = dtype, .reference = rows->arrays[i], .count = rows->shape.elements[i]};
    for (size_t k = 0; k < with.count; k++) {
        if (!isfinite(with.reference[k])) {
            return false;
        }
    }
    return ak_compare_representable("", "", "", &with, NULL) == AK_OK;
}

/* Compares the chosen rows of an output. The absolute part of the tolerance belongs to the root
   mean square of all rows, which is about that of the own contents. */
static ak_status judge(ak_loaded *r, const ak_stage *stage, ak_stage_rows *rows, size_t i,
                       ak_error *err)
{
    const size_t width = rows->elements[i], count = rows->shape.elements[i];
    const ak_dtype dtype = ak_stage_dtype(stage, i);
    ak_compare_result result;
    unsigned char *got;
    if (!is_judgeable(rows, i, dtype)) {
        return AK_OK;
    }
    AK_DO(AK_NEW(got, count * ak_dtype_bytes(dtype), err));
    ak_status status = AK_OK;
    for (size_t k = 0; status == AK_OK && k < rows->rows; k++) {
        status = fetch(got + k * width * ak_dtype_bytes(dtype), r, stage, i, rows->row[k] * width,
                       width, err);
    }
    const double level = ak_compare_rms(rows->arrays[i], count);
    const double more = level > 0 && stage->level[i] > level ? stage->level[i] / level : 1.0;
    const ak_compare_with with = {dtype, rows->arrays[i], count, stage->shape.own_relative[i],
                                  more * stage->rms[i]};
    if (status == AK_OK) {
        ak_compare_output(&result, got, &with);
        if (!result.ok) {
            char text[240], reason[sizeof r->outcome.reason];
            ak_compare_text(text, sizeof text, &result, stage->task->problem->arguments[i].name);
            (void)snprintf(reason, sizeof reason, "on inputs that it has not seen %.*s",
                           (int)sizeof reason - 40, text);
            ak_stage_wrong(&r->outcome, stage, reason);
        }
    }
    ak_free(got);
    return status;
}

ak_status ak_aside_judge(ak_loaded *r, const ak_stage *stage, ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_stage_rows *rows;
    ak_error why = AK_ERROR_INIT;
    const int64_t begin = ak_clock_ns();
    AK_DO(AK_NEW(rows, 1, err));
    bool known = choose(rows, stage, &e->rng, &why) == AK_OK;
    rows->turned = r->outcome.turned;
    known = known && ak_stage_rows_compute(rows, e->reference, &why) == AK_OK;
    ak_status status = AK_OK;
    for (size_t i = 0; known && status == AK_OK && i < ak_stage_arguments(stage); i++) {
        if (r->outcome.status == AK_TRIAL_OK && ak_stage_access(stage, i) != AK_ACCESS_IN) {
            status = judge(r, stage, rows, i, err);
        }
    }
    ak_stage_rows_clear(rows);
    ak_free(rows);
    e->aside.spent_ns += ak_clock_ns() - begin;
    return status;
}

ak_status ak_aside_batch(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err)
{
    if (r->e->backend->fetch_aside == NULL) {
        return AK_OK;
    }
    r->aside = true;
    ak_status status = ak_loaded_batch(r, stage, iterations, err);
    r->aside = false;
    return status;
}
