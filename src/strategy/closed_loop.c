/*
 * closed_loop.c: a language model proposes, generation by generation: `llm`, and `llm-oneshot`,
 * which is the same with one generation.
 *
 * While the first reply is on its way, the default (by the tuner) and a few random configurations
 * are measured: a sample of the space that the model's proposals can be held against. A generation
 * is over when all of it was observed; then the leaders are measured again, side by side, and the
 * next question is asked with everything that is known. Two generations without a gain end it.
 *
 * Without a model, or when it fails, `portfolio` carries on, under its own name.
 */
#include "strategy/advisor.h"

#define HYPERS(X)                                                                                  \
    X(FILL, "fill", 8, 0, 64, true,                                                                \
      "random configurations that are tried while the first reply is on its way",                  \
      "a reply takes about as long as eight trials on a GPU")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

/* Three rounds reached what 500 evaluations of a surrogate search did (pytorch/helion pull request
   2003); the fourth shows that there is nothing more. */
#define GENERATIONS 4
/* The whole budget where none is given, and the largest part of it that is random. */
#define EVALUATIONS 60
#define FILL_SHARE  6

typedef struct closed_loop {
    ak_strategy base;
    ak_walk walk;
    ak_advisor *advisor;
    ak_strategy *fallback; /* NULL: the model is in charge */
    ak_strategy_context context;
    size_t fill; /* random configurations still to be proposed */
    bool rechecks;
} closed_loop;

static void close_loop(ak_strategy *strategy)
{
    closed_loop *self = (closed_loop *)strategy;
    if (self != NULL) {
        ak_advisor_close(self->advisor);
        if (self->fallback != NULL) {
            self->fallback->ops->close(self->fallback);
        }
        ak_walk_close(&self->walk);
        ak_free(self);
    }
}

static ak_advice_plan plan_of(const ak_strategy_context *context, size_t fill, int generations)
{
    const ak_counsel *counsel = context->counsel;
    ak_advice_plan plan = {.generations = generations,
                           .batch = counsel == NULL ? 0 : counsel->batch};
    if (counsel != NULL && counsel->generations > 0 && generations > 1) {
        plan.generations = counsel->generations;
    }
    if (plan.batch == 0) {
        size_t all = context->evaluations == 0 ? EVALUATIONS : context->evaluations;
        size_t left = all > fill + 1 ? all - fill - 1 : 1; /* the default is one of them */
        plan.batch = (left + (size_t)plan.generations - 1) / (size_t)plan.generations;
    }
    plan.batch = plan.batch > AK_ADVICE_BATCH_MAX ? AK_ADVICE_BATCH_MAX : plan.batch;
    return plan;
}

static ak_status open_loop(ak_strategy **out, const ak_strategy_context *context,
                           const ak_strategy_ops *ops, int generations, ak_error *err)
{
    closed_loop *self = ak_alloc(1, sizeof *self);
    if (self == NULL) {
        return ak_fail_memory(err);
    }
    self->base.ops = ops;
    self->context = *context;
    self->context.hyper = NULL; /* for the fallback, which has others */
    self->rechecks = context->counsel != NULL && context->counsel->rechecks;
    self->fill = (size_t)ak_strategy_hyper(context, hypers, HYPER_FILL);
    size_t all = context->evaluations == 0 ? EVALUATIONS : context->evaluations;
    self->fill = self->fill < all / FILL_SHARE ? self->fill : all / FILL_SHARE;
    ak_advice_plan plan = plan_of(context, self->fill, generations);
    ak_status status = ak_walk_open(&self->walk, context->space, context->seed, err);
    if (status == AK_OK) {
        status = ak_advisor_open(&self->advisor, context, &plan, &self->walk, err);
    }
    if (status != AK_OK) {
        close_loop(&self->base);
        return status;
    }
    *out = &self->base;
    return AK_OK;
}

static ak_status open_llm(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    return open_loop(out, context, &ak_strategy_llm, GENERATIONS, err);
}

static ak_status open_oneshot(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    return open_loop(out, context, &ak_strategy_llm_oneshot, 1, err);
}

/* ---- the fallback -----------------------------------------------------------------------------
 */

static ak_status fall_back(closed_loop *self, ak_error *err)
{
    ak_advisor_yield(self->advisor, AK_STRATEGY_FINISHER.name);
    ak_status status = AK_STRATEGY_FINISHER.open(&self->fallback, &self->context, err);
    return status == AK_OK ? ak_advisor_retell(self->advisor, self->fallback, err) : status;
}

static ak_status propose_fallback(ak_proposal *out, size_t *count, closed_loop *self, size_t max,
                                  ak_error *err)
{
    size_t given = 1, n = 0;
    ak_status status = AK_OK;
    while (status == AK_OK && n == 0 && given > 0) {
        given = 0;
        status = self->fallback->ops->propose(out, &given, self->fallback, max, err);
        for (size_t i = 0; status == AK_OK && i < given; i++) {
            /* What the model or chance proposed and is still under way, it does not know. */
            if (!ak_walk_seen(&self->walk, &out[i].config)) {
                out[n] = out[i];
                out[n].strategy = AK_STRATEGY_FINISHER.name;
                status = ak_walk_propose(&self->walk, &out[n].config, err);
                n++;
            }
        }
    }
    *count = n;
    return status;
}

/* ---- ask and tell -----------------------------------------------------------------------------
 */

static bool draw_random(ak_proposal *out, closed_loop *self)
{
    *out = (ak_proposal){.strategy = ak_strategy_random.name};
    bool found = ak_walk_next(&out->config, &self->walk);
    self->fill = found ? self->fill - 1 : 0;
    return found;
}

/* False: nothing now. */
static ak_status next_proposal(bool *found, ak_proposal *out, closed_loop *self, ak_error *err)
{
    ak_status status = ak_advisor_poll(self->advisor, err);
    ak_advice_state state = ak_advisor_state(self->advisor);
    bool first = ak_advisor_generation(self->advisor) == 0;
    bool all_in = self->walk.outstanding == 0 && self->fill == 0 &&
                  !(self->rechecks && ak_advisor_in_doubt(self->advisor));
    if (status == AK_OK && state == AK_ADVICE_IDLE && (first || all_in)) {
        status = ak_advisor_ask(self->advisor, err);
        state = ak_advisor_state(self->advisor);
    }
    *found = false;
    if (status != AK_OK || state == AK_ADVICE_FAILED) {
        return status;
    }
    /* Chance first, and all of it: then the reply may take as long as it likes, and the same
       configurations are tried. */
    if (self->fill > 0) {
        *found = draw_random(out, self);
    }
    if (!*found) {
        *found = ak_advisor_next(out, self->advisor);
    }
    return *found ? ak_walk_propose(&self->walk, &out->config, err) : AK_OK;
}

static ak_status propose_loop(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                              ak_error *err)
{
    closed_loop *self = (closed_loop *)strategy;
    ak_status status = AK_OK;
    size_t n = 0;
    bool found = self->fallback == NULL;
    while (status == AK_OK && found && n < max) {
        status = next_proposal(&found, &out[n], self, err);
        n += status == AK_OK && found;
    }
    if (status == AK_OK && n == 0 && self->fallback == NULL &&
        ak_advisor_state(self->advisor) == AK_ADVICE_FAILED) {
        status = fall_back(self, err);
    }
    *count = n;
    if (status == AK_OK && n == 0 && self->fallback != NULL) {
        status = propose_fallback(out, count, self, max, err);
    }
    return status;
}

static ak_status observe_loop(ak_strategy *strategy, const ak_observation *observation,
                              ak_error *err)
{
    closed_loop *self = (closed_loop *)strategy;
    ak_status status = ak_walk_observe(&self->walk, observation->config, err);
    if (status == AK_OK) {
        status = ak_advisor_observe(self->advisor, observation, err);
    }
    if (status == AK_OK && self->fallback != NULL && !observation->again) {
        status = self->fallback->ops->observe(self->fallback, observation, err);
    }
    return status;
}

static bool await_loop(ak_strategy *strategy, int64_t timeout_ns)
{
    return ak_advisor_await(((closed_loop *)strategy)->advisor, timeout_ns);
}

static size_t recheck_loop(ak_config *out, ak_strategy *strategy, size_t max)
{
    closed_loop *self = (closed_loop *)strategy;
    return self->fallback == NULL ? ak_advisor_doubts(out, self->advisor, max) : 0;
}

static const char *ended_loop(const ak_strategy *strategy)
{
    const closed_loop *self = (const closed_loop *)strategy;
    return ak_advisor_state(self->advisor) == AK_ADVICE_ENDED ? ak_advisor_ending(self->advisor)
                                                              : NULL;
}

const ak_strategy_ops ak_strategy_llm = {
    .name = "llm",
    .description = "a language model proposes, sees what came of it, and proposes again",
    .open = open_llm,
    .propose = propose_loop,
    .observe = observe_loop,
    .close = close_loop,
    .hypers = hypers,
    .await = await_loop,
    .recheck = recheck_loop,
    .ended = ended_loop,
};

const ak_strategy_ops ak_strategy_llm_oneshot = {
    .name = "llm-oneshot",
    .description = "a language model proposes once, all at a time",
    .open = open_oneshot,
    .propose = propose_loop,
    .observe = observe_loop,
    .close = close_loop,
    .hypers = hypers,
    .await = await_loop,
    .recheck = recheck_loop,
    .ended = ended_loop,
};
