/*
 * exchange.c: finds inputs that a kernel need not read.
 *
 * A copy of an input, zeros and the like (ak_compare_selftest) are not all that a tolerance may
 * accept: in z = y/2 + x/20000 it may hide all of x. So the reference computes a shape once more
 * for each input, with other numbers of its fill there. If these change the result, but nowhere by
 * more than twice the tolerance, a result between the two is right for both: a kernel that never
 * reads the input could pass, and the tolerance is refused. An input that changes nothing may be
 * left out: a kernel that does so is right.
 *
 * What changes little with one draw may change much with the next, such as a maximum. So an input
 * is at fault only if draws with every habit of its fill (inputs.h) say so; most inputs need a
 * single draw. Outputs of few elements can hide a change by chance, so they may acquit an input but
 * accuse none.
 *
 * The shape must be small, and each output must have enough elements to accuse: the task's own
 * shape if it is such a shape, else the edge-case shape of this kind whose smallest output is
 * largest. If there is none, no input is tried. Only references in double are asked, because in
 * another dtype rounding changes results, too.
 */
#include "judge/loaded.h"

#include <string.h>

#include "base/alloc.h"

/* The reference takes some ten milliseconds for a shape below these. */
#define FLOPS_MAX    2e7
#define ELEMENTS_MAX ((size_t)1 << 20)
/* Two results that differ by at most this many times the tolerance have one between them that is
   right for both. */
#define BETWEEN 2
/* Random streams from here on belong to draws of this file. They do not depend on a secret, so that
   a problem is refused always or never. */
#define STREAMS (UINT64_C(1) << 42)

static const ak_fill_habit habits[] = {AK_HABIT_USUAL, AK_HABIT_ENDS, AK_HABIT_MIDDLE};

typedef struct exchange {
    ak_evaluator *e;
    ak_stage stage;                   /* the shape, with its reference */
    ak_stage other[AK_COUNT(habits)]; /* the same with other inputs; drawn when they are needed */
    double *arrays[AK_ARGUMENTS_MAX]; /* what the reference gets and gives */
    unsigned char *encoded[AK_ARGUMENTS_MAX]; /* of outputs */
} exchange;

static bool can_ask(const ak_task *task)
{
    const char *kind = task->problem->reference.kind;
    return strcmp(kind, "c") == 0 || strcmp(kind, "python") == 0;
}

/* Returns the number of elements in a shape's smallest output; 0 if the shape is not small
   enough. */
static size_t outputs_if_small(const ak_stage *stage)
{
    return stage->shape.flops > FLOPS_MAX || ak_stage_elements(stage) > ELEMENTS_MAX
               ? 0
               : ak_stage_least_output(stage);
}

/* Returns the sizes at which inputs are exchanged; NULL: nowhere. */
static const int64_t *choose(const ak_evaluator *e)
{
    size_t most = outputs_if_small(&e->own[0]);
    if (most >= AK_SELFTEST_ELEMENTS) {
        return e->own[0].shape.size;
    }
    const int64_t *size = NULL;
    most = AK_SELFTEST_ELEMENTS - 1;
    for (size_t i = 0; i < e->edge_case_count; i++) {
        const size_t outputs = outputs_if_small(&e->edge_cases[i]);
        if (outputs > most) {
            size = e->edge_cases[i].shape.size;
            most = outputs;
        }
    }
    return size;
}

static ak_status plan(ak_stage *stage, const exchange *x, const int64_t *size, ak_error *err)
{
    return ak_stage_plan(stage, &x->e->memory, x->e->task, size, 0, 0, err);
}

static ak_status prepare(exchange *x, const int64_t *size, ak_error *err)
{
    AK_DO(plan(&x->stage, x, size, err));
    AK_DO(ak_stage_prepare(&x->stage, x->e->reference, STREAMS, false, err));
    for (size_t i = 0; i < ak_stage_arguments(&x->stage); i++) {
        AK_DO(AK_NEW(x->arrays[i], x->stage.shape.elements[i], err));
        if (ak_stage_is_output(&x->stage, i)) {
            AK_DO(AK_NEW(x->encoded[i], ak_stage_tight_bytes(&x->stage, i), err));
        }
    }
    return AK_OK;
}

/* Draws all inputs once more, with the given habit, unless that has been done. */
static ak_status draw_other(exchange *x, size_t habit, ak_error *err)
{
    ak_stage *other = &x->other[habit];
    if (other->task != NULL) {
        return AK_OK;
    }
    AK_DO(plan(other, x, x->stage.shape.size, err));
    other->habit = habits[habit];
    return ak_stage_make_inputs(other, x->e->reference, NULL, STREAMS + 1 + habit, err);
}

/* Returns whether an output after the exchange differs from the reference by more than rounding. */
static bool differs(const exchange *x, size_t output)
{
    const ak_stage *stage = &x->stage;
    for (size_t k = 0; k < stage->shape.elements[output]; k++) {
        if (!ak_stage_values_agree(x->arrays[output][k], stage->reference[output][k],
                                   stage->level[output])) {
            return true;
        }
    }
    return false;
}

static bool passes(const exchange *x, size_t output)
{
    const ak_stage *stage = &x->stage;
    const size_t count = stage->shape.elements[output];
    const ak_dtype dtype = ak_stage_dtype(stage, output);
    const ak_compare_with with = {dtype, stage->reference[output], count,
                                  BETWEEN * stage->shape.own_relative[output],
                                  BETWEEN * stage->rms[output]};
    ak_compare_result result;
    ak_inputs_encode(x->encoded[output], x->arrays[output], count, dtype);
    ak_compare_output(&result, x->encoded[output], &with);
    return result.ok;
}

/* Has the reference compute with other numbers in one input. Sets *hidden to whether that changes
   an output that is not too small to accuse, and no output by more than twice the tolerance. */
static ak_status try_one(bool *hidden, exchange *x, size_t input, size_t habit, ak_error *err)
{
    const ak_stage *stage = &x->stage;
    *hidden = false;
    AK_DO(draw_other(x, habit, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_access(stage, i) != AK_ACCESS_OUT) {
            ak_stage_decode(x->arrays[i], i == input ? &x->other[habit] : stage, i, 0,
                            stage->shape.elements[i]);
        }
    }
    AK_DO(ak_reference_run(x->e->reference, &stage->shape, x->arrays, err));
    for (size_t i = 0; i < ak_stage_arguments(stage); i++) {
        if (ak_stage_is_output(stage, i) && differs(x, i)) {
            if (!passes(x, i)) {
                *hidden = false;
                return AK_OK;
            }
            *hidden = *hidden || stage->shape.elements[i] >= AK_SELFTEST_ELEMENTS;
        }
    }
    return AK_OK;
}

static ak_status refuse(const exchange *x, size_t input, ak_error *err)
{
    const ak_problem *problem = x->e->task->problem;
    const char *name = problem->arguments[input].name;
    char where[64];
    ak_stage_size_text(where, sizeof where, &x->stage);
    return ak_fail(err, AK_INVALID,
                   "%s: the tolerance would accept a kernel that never reads %s: at %s other "
                   "numbers there change no result by more than twice the tolerance; tighten "
                   "\"tolerance\" in problem.json or choose another fill of %s",
                   problem->name, name, where, name);
}

static ak_status try_input(exchange *x, size_t input, ak_error *err)
{
    const ak_fill_kind fill = x->e->task->problem->arguments[input].fill;
    bool hidden = ak_stage_access(&x->stage, input) != AK_ACCESS_OUT && fill != AK_FILL_CONSTANT &&
                  fill != AK_FILL_FILE;
    if (!hidden) {
        return AK_OK;
    }
    for (size_t habit = 0; hidden && habit < AK_COUNT(habits); habit++) {
        AK_DO(try_one(&hidden, x, input, habit, err));
    }
    return hidden ? refuse(x, input, err) : AK_OK;
}

static void drop(exchange **at)
{
    exchange *x = *at;
    if (x == NULL) {
        return;
    }
    ak_stage_free(&x->stage);
    AK_CLEAR_EACH(ak_stage_free, x->other, AK_COUNT(habits));
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        AK_FREE_ALL(x->arrays[i], x->encoded[i]);
    }
    ak_free(x);
}

ak_status ak_exchange_inputs(ak_evaluator *e, ak_error *err)
{
    AK_AT_END(drop) exchange *x = NULL;
    const int64_t *size = choose(e);
    if (size == NULL || !can_ask(e->task)) {
        return AK_OK;
    }
    AK_DO(AK_NEW(x, 1, err));
    x->e = e;
    AK_DO(prepare(x, size, err));
    for (size_t i = 0; i < ak_stage_arguments(&x->stage); i++) {
        AK_DO(try_input(x, i, err));
    }
    return AK_OK;
}
