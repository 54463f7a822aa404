#include "judge/alone.h"

#include "measure/timer.h"

/* Runs the reader on a stage or, with `many`, each of its calls on one of several stages. Closes it
   if it fails. */
static ak_status read_all(ak_outcome *out, ak_cold *c, ak_stage *stage, uint32_t iterations,
                          bool many, ak_error *err)
{
    ak_evaluator *e = c->r->e;
    const ak_launch launch = {.task = e->task,
                              .shape = &stage->shape,
                              .offset = stage->offset,
                              .threads = c->r->threads,
                              .iterations = iterations,
                              .unseen = many || iterations == 1,
                              .stride = many ? stage[1].base - stage[0].base : 0,
                              .plain = true,
                              .reads = c->bytes,
                              .timeout_ns = c->r->timeout_ns};
    for (uint32_t i = 0; i < (many ? iterations : 1); i++) {
        AK_DO(ak_stage_set(&stage[i], e->round++, err));
    }
    AK_DO(e->backend->launch(out, c->reader, &launch, err));
    if (out->status != AK_TRIAL_OK) {
        ak_cold_close(c);
    }
    return AK_OK;
}

ak_status ak_cold_open(ak_cold *out, ak_loaded *r, ak_stage *seen, uint32_t iterations,
                       size_t bytes, ak_error *err)
{
    enum { BATCHES = 15 };
    /* A batch has at least two calls, because a single one begins differently. */
    uint32_t calls = 2;
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    *out = (ak_cold){.r = r, .bytes = bytes};
    AK_DO(r->e->backend->load(&out->reader, r->e->device, &(ak_load){0}, &outcome, err));
    for (int i = 0; i < BATCHES && out->reader != NULL; i++) {
        AK_DO(read_all(&outcome, out, seen, calls, false, err));
        const double each_ns = (double)outcome.ns / calls;
        out->batch_ns = i == 0 || each_ns < out->batch_ns ? each_ns : out->batch_ns;
        /* If a candidate touches little of large arguments, its batch has so many calls that as
           many readings of all arguments would take far longer. */
        const double fit = AK_TIMER_BATCH_NS / (out->batch_ns + 1);
        calls = fit < 2 || iterations < 2 ? 2 : fit < iterations ? (uint32_t)fit : iterations;
    }
    return AK_OK;
}

ak_status ak_cold_call(ak_outcome *out, ak_cold *c, ak_stage *fresh, ak_error *err)
{
    return read_all(out, c, fresh, 1, false, err);
}

ak_status ak_cold_many(ak_outcome *out, ak_cold *c, ak_stage *many, size_t calls, ak_error *err)
{
    return read_all(out, c, many, (uint32_t)calls, true, err);
}

void ak_cold_close(ak_cold *c)
{
    if (c->reader != NULL) {
        c->r->e->backend->unload(c->reader);
        c->reader = NULL;
    }
}
