/*
 * audit.c: tries the tolerances of a task that has an output too small for the self-test of a
 * stage.
 *
 * A wrong output may be within the tolerance by chance where there are few elements: 1 % of a sum
 * near 0 is less than what "absolute" allows. So the tolerance is at fault only if it accepts a
 * wrong output for each of several draws of the inputs. What is refused once is not tried again, so
 * an honest tolerance seldom costs a second draw. No constant output is tried: the sums of many
 * numbers differ from draw to draw by less than an honest tolerance.
 */
#include "judge/loaded.h"

#include <string.h>

#define DRAWS_MAX 8
/* Keeps the random streams of this file's draws apart from those of all stages. */
#define STREAMS (UINT64_C(1) << 41)
/* Zeros, results that are 1 % too large, and a copy of each argument that is read. */
#define WRONG_MAX (2 + AK_ARGUMENTS_MAX)

typedef struct trying {
    ak_evaluator *e;
    ak_stage *stage;
    size_t argument, count;
    double values[AK_SELFTEST_ELEMENTS]; /* of the wrong output */
    bool refused[AK_ARGUMENTS_MAX][WRONG_MAX], accepted[AK_ARGUMENTS_MAX][WRONG_MAX];
} trying;

static bool is_small(const trying *t, size_t argument)
{
    const ak_stage *own = &t->e->own[0];
    return ak_stage_is_output(own, argument) &&
           own->shape.elements[argument] < AK_SELFTEST_ELEMENTS;
}

/* Makes the wrong output of this kind; returns false if there is none. */
static bool make_wrong(trying *t, const double *right, size_t kind)
{
    const size_t bytes = ak_dtype_bytes(ak_stage_dtype(t->stage, t->argument));
    const size_t input = kind - 2;
    if (kind >= 2) {
        if (input >= ak_stage_arguments(t->stage) ||
            ak_stage_access(t->stage, input) == AK_ACCESS_OUT ||
            t->stage->shape.elements[input] != t->count) {
            return false;
        }
        ak_stage_decode(t->values, t->stage, input, 0, t->count);
        return true;
    }
    for (size_t i = 0; i < t->count; i++) {
        t->values[i] = kind == 0 ? 0.0 : 1.01 * right[i];
    }
    /* 1 % is less than what separates two numbers of 8 bits. */
    return kind == 0 || bytes > 1;
}

static void try_all(trying *t, const double *right)
{
    const size_t i = t->argument;
    const ak_compare_with with = {ak_stage_dtype(t->stage, i), right, t->count,
                                  t->stage->shape.own_relative[i], t->stage->rms[i]};
    for (size_t kind = 0; kind < WRONG_MAX; kind++) {
        if (!t->refused[i][kind] && make_wrong(t, right, kind)) {
            const ak_compare_tried tried = ak_compare_try(&with, t->values);
            t->refused[i][kind] = tried == AK_TRIED_REFUSED;
            t->accepted[i][kind] = t->accepted[i][kind] || tried == AK_TRIED_ACCEPTED;
        }
    }
}

/* Tries all wrong outputs for the inputs of one stage. */
static ak_status try_draw(trying *t, ak_stage *stage, ak_error *err)
{
    double right[AK_SELFTEST_ELEMENTS];
    t->stage = stage;
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (!is_small(t, i)) {
            continue;
        }
        t->argument = i;
        t->count = stage->shape.elements[i];
        AK_DO(ak_stage_right(right, stage, i, t->count, err));
        try_all(t, right);
    }
    return AK_OK;
}

/* Finds a wrong output that was accepted whenever it was tried. */
static bool is_open(size_t *argument, size_t *kind, const trying *t)
{
    for (*argument = 0; *argument < AK_ARGUMENTS_MAX; ++*argument) {
        for (*kind = 0; *kind < WRONG_MAX; ++*kind) {
            if (t->accepted[*argument][*kind] && !t->refused[*argument][*kind]) {
                return true;
            }
        }
    }
    return false;
}

/* Tries all wrong outputs for other inputs, which are dropped then. */
static ak_status try_other(trying *t, uint64_t stream, ak_error *err)
{
    ak_evaluator *e = t->e;
    AK_AT_END(ak_stage_free) ak_stage stage = {0};
    AK_DO(ak_stage_plan(&stage, &e->memory, e->task, e->task->shape.size, 0, 0, err));
    stage.habit = ak_evaluator_constants_vary(e->task) ? AK_HABIT_VARIED : AK_HABIT_USUAL;
    AK_DO(ak_stage_prepare(&stage, e->reference, e->secret ^ (STREAMS + stream), false, err));
    ak_status status = try_draw(t, &stage, err);
    t->stage = NULL;
    return status;
}

static ak_status refuse(const trying *t, size_t argument, size_t kind, ak_error *err)
{
    const ak_problem *problem = t->e->task->problem;
    const ak_stage *own = &t->e->own[0];
    char copy[AK_COMPARE_COPY_BYTES];
    if (kind >= 2) {
        (void)ak_compare_copy_text(copy, problem->arguments[kind - 2].name, kind - 2 == argument);
    }
    return ak_fail(err, AK_INVALID,
                   "%s: the tolerance of %s (relative %.3g, rms %.3g) would accept %s as a right "
                   "result, for each of %d draws of the inputs; tighten \"tolerance\" in "
                   "problem.json or choose other inputs or sizes",
                   problem->name, problem->arguments[argument].name,
                   own->shape.own_relative[argument], own->rms[argument],
                   kind == 0   ? "zeros"
                   : kind == 1 ? "results that are 1 % too large"
                               : copy,
                   DRAWS_MAX);
}

ak_status ak_audit(ak_evaluator *e, ak_error *err)
{
    trying t = {.e = e};
    size_t argument, kind;
    for (size_t i = 0; i < ak_stage_arguments(&e->own[0]); i++) {
        if (ak_stage_is_output(&e->own[0], i) && !is_small(&t, i)) {
            AK_DO(ak_stage_selftest(&e->own[0], i, err));
        }
    }
    for (size_t draw = 0; draw < DRAWS_MAX; draw++) {
        if (draw < e->sets) {
            AK_DO(try_draw(&t, &e->own[draw], err));
        } else {
            AK_DO(try_other(&t, draw, err));
        }
        if (!is_open(&argument, &kind, &t)) {
            return AK_OK;
        }
    }
    return refuse(&t, argument, kind, err);
}
