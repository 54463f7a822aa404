/* hidden_check.c: checks candidates at hidden shapes (hidden.c). Up to three are drawn when the
   device is opened. If a candidate's conditions exclude the far shape among these, or if there is
   none, another far shape is drawn for the candidate. */
#include "judge/loaded.h"

#include "base/clock.h"

/* The inputs at shapes that are drawn for one candidate come from the random streams from this one
   on, counted from e->secret. */
#define FITTING_STREAM 32768
/* Time limit for drawing one shape, because conditions may take any time to evaluate. */
#define DRAWING_NS (AK_SECOND_NS / 3)

static ak_fill_habit hidden_habit(const ak_evaluator *e, size_t i)
{
    return ak_evaluator_constants_vary(e->task) ? AK_HABIT_VARIED : (ak_fill_habit)i;
}

/* Draws the hidden shapes. The second suits no particular configuration, so only some may run at
   it. The others, the far one among them, suit the default if such shapes are found, because most
   configurations have the same conditions or fewer. A candidate that may not run at the far one
   gets its own (check_fitting). */
ak_status ak_hidden_plan(size_t *end, ak_evaluator *e, size_t base, ak_error *err)
{
    ak_config usual;
    ak_space_default(&usual, e->task->space);
    for (size_t i = 0; i < AK_HIDDEN_MAX; i++) {
        int64_t size[AK_SIZES_MAX];
        ak_stage *stage = &e->hidden[e->hidden_count];
        const ak_hidden_wish wish = {
            .config = i == 1 ? NULL : &usual, .far = i == AK_HIDDEN_MAX - 1, .ns = DRAWING_NS};
        if (ak_hidden_draw(size, e->task, &wish, &e->rng)) {
            e->hidden_count++;
            AK_DO(ak_evaluator_plan_apart(stage, end, e, size, base, err));
            stage->habit = hidden_habit(e, i);
            stage->drawn = true;
            e->far = wish.far ? stage : NULL;
        }
    }
    return AK_OK;
}

/* Draws a far shape that the candidate's conditions allow and that fits the reserved memory, and
   checks the candidate there; does nothing if none is found. */
static ak_status check_fitting(ak_loaded *r, int rounds, ak_error *err)
{
    ak_evaluator *e = r->e;
    int64_t size[AK_SIZES_MAX];
    const ak_task *task = r->candidate->task == NULL ? e->task : r->candidate->task;
    const ak_hidden_wish wish = {.config = &r->candidate->config,
                                 .only = true,
                                 .far = true,
                                 .bytes = e->apart_bytes,
                                 .ns = DRAWING_NS};
    if (!ak_hidden_draw(size, task, &wish, &e->rng)) {
        return AK_OK;
    }
    size_t end = 0;
    if (e->memory.resident[AK_STAGE_SETS] == &e->fitting) {
        e->memory.resident[AK_STAGE_SETS] = NULL;
    }
    ak_stage_free(&e->fitting);
    e->fitting_count = 1;
    AK_DO(ak_evaluator_plan_apart(&e->fitting, &end, e, size, e->apart, err));
    e->fitting.habit = hidden_habit(e, ak_rng_below(&e->rng, AK_HIDDEN_MAX));
    e->fitting.drawn = true;
    return ak_loaded_check_at(r, &e->fitting, e->secret + FITTING_STREAM + e->fittings++, rounds,
                              err);
}

/* Counts the random streams of the inputs from e->secret, so that no candidate can know the inputs
   either. */
ak_status ak_hidden_check(ak_loaded *r, ak_error *err)
{
    enum { ROUNDS = 2 };
    ak_evaluator *e = r->e;
    ak_status status = AK_OK;
    bool far = false;
    /* The largest error reported is that of a listed shape, which a user can run again. */
    const double max_error = r->max_error;
    for (size_t i = 0; i < e->hidden_count && r->outcome.status == AK_TRIAL_OK; i++) {
        bool fits = false;
        uint64_t stream = e->secret + AK_STAGE_SETS + AK_FRESH_MAX + i;
        AK_TRY(ak_loaded_allowed(&fits, r, &e->hidden[i], err));
        if (fits) {
            AK_TRY(ak_loaded_check_at(r, &e->hidden[i], stream, ROUNDS, err));
        }
        far = far || (fits && &e->hidden[i] == e->far);
    }
    if (!far && r->outcome.status == AK_TRIAL_OK) {
        AK_TRY(check_fitting(r, ROUNDS, err));
    }
out:
    r->max_error = max_error;
    return status;
}
