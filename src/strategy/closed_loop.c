/*
 * closed_loop.c: the strategies `llm`, in which a language model proposes generation by
 * generation, and `llm-oneshot`, which has one generation.
 *
 * While the first reply is under way, the default (which the tuner tries) and a few random
 * configurations are measured; they sample the space for comparison with the model's proposals. A
 * generation is over when all its proposals were observed. Then elites whose order is in doubt are
 * measured again, side by side (not in a recording), and the next question is asked with everything
 * that is known. The search ends after the last generation, after two without a gain, or when the
 * model expects nothing better.
 *
 * Without a model, or when it fails, `portfolio` carries on under its own name.
 */
#include "strategy/advisor.h"

#define HYPERS(X)                                                                                  \
    X(fill, 8, 0, 64, true,                                                                        \
      "random configurations that are tried while the first reply is on its way",                  \
      "a reply takes about as long as eight trials on a GPU")                                      \
    AK_ADVICE_HYPERS(X)
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

/* Three generations reached what 500 evaluations of a surrogate search did (pytorch/helion pull
   request 2003); the fourth confirms that nothing more can be gained. */
#define GENERATIONS 4
/* EVALUATIONS is the budget that is assumed if none is given. One in FILL_SHARE of the budget may
   be random. */
#define EVALUATIONS 60
#define FILL_SHARE  6

typedef struct closed_loop {
    ak_strategy base;
    ak_walk walk;
    ak_advisor *advisor;
    ak_strategy *fallback; /* NULL while the model is in charge */
    ak_strategy_context context;
    size_t fill; /* random configurations left to propose */
    bool rechecks;
} closed_loop;

static void close_loop(ak_strategy *strategy)
{
    closed_loop *self = (closed_loop *)strategy;
    ak_advisor_close(self->advisor);
    ak_strategy_close(self->fallback);
    ak_walk_close(&self->walk);
}

static ak_status open_loop(ak_strategy *strategy, const ak_strategy_context *context, ak_error *err)
{
    closed_loop *self = (closed_loop *)strategy;
    const int generations = strategy->ops == &ak_strategy_llm ? GENERATIONS : 1;
    self->context = *context;
    self->context.hyper = NULL; /* the fallback has hyper-parameters of its own */
    self->rechecks = context->advisor != NULL && context->advisor->rechecks;
    self->fill = (size_t)ak_strategy_hyper(context, hypers, HYPER_fill);
    size_t all = context->evaluations == 0 ? EVALUATIONS : context->evaluations;
    self->fill = self->fill < all / FILL_SHARE ? self->fill : all / FILL_SHARE;
    ak_advice_plan plan = ak_advice_plan_of(context, hypers, HYPER_history, generations);
    if (plan.batch == 0) {
        size_t left = all > self->fill + 1 ? all - self->fill - 1 : 1; /* without the default */
        plan.batch = (left + (size_t)plan.generations - 1) / (size_t)plan.generations;
    }
    plan.batch = plan.batch > AK_ADVICE_BATCH_MAX ? AK_ADVICE_BATCH_MAX : plan.batch;
    AK_DO(ak_walk_open(&self->walk, context->space, context->seed, err));
    return ak_advisor_open(&self->advisor, context, &plan, &self->walk, err);
}

/* ---- fallback -------------------------------------------------------------------------------- */

static ak_status fall_back(closed_loop *self, ak_error *err)
{
    ak_advisor_yield(self->advisor, AK_STRATEGY_FINISHER.name);
    AK_DO(ak_strategy_open(&self->fallback, &AK_STRATEGY_FINISHER, &self->context, err));
    return ak_advisor_retell(self->advisor, self->fallback, err);
}

static ak_status propose_fallback(ak_proposal *out, bool *found, closed_loop *self, ak_error *err)
{
    /* The fallback does not know the configurations under way that the model or the random fill
       proposed, so it may propose one of them. */
    do {
        AK_DO(self->fallback->ops->propose(out, found, self->fallback, err));
    } while (*found && ak_walk_seen(&self->walk, &out->config));
    out->strategy = AK_STRATEGY_FINISHER.name;
    return *found ? ak_walk_propose(&self->walk, &out->config, err) : AK_OK;
}

/* ---- ask and tell ---------------------------------------------------------------------------- */

static bool draw_random(ak_proposal *out, closed_loop *self)
{
    *out = (ak_proposal){.strategy = ak_strategy_random.name};
    bool found = ak_walk_next(&out->config, &self->walk);
    self->fill = found ? self->fill - 1 : 0;
    return found;
}

/* Makes the next proposal. *found is false if there is none now. */
static ak_status next_proposal(bool *found, ak_proposal *out, closed_loop *self, ak_error *err)
{
    *found = false;
    AK_DO(ak_advisor_poll(self->advisor, err));
    ak_advice_state state = ak_advisor_state(self->advisor);
    bool first = ak_advisor_generation(self->advisor) == 0;
    bool all_in = self->walk.outstanding == 0 && self->fill == 0 &&
                  !(self->rechecks && ak_advisor_in_doubt(self->advisor));
    if (state == AK_ADVICE_IDLE && (first || all_in)) {
        AK_DO(ak_advisor_ask(self->advisor, err));
        state = ak_advisor_state(self->advisor);
    }
    if (state == AK_ADVICE_FAILED) {
        return AK_OK;
    }
    /* All random configurations go first, so that the same ones are tried however long the reply
       takes. */
    if (self->fill > 0) {
        *found = draw_random(out, self);
    }
    if (!*found) {
        *found = ak_advisor_next(out, self->advisor);
    }
    return *found ? ak_walk_propose(&self->walk, &out->config, err) : AK_OK;
}

static ak_status propose_loop(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    closed_loop *self = (closed_loop *)strategy;
    if (self->fallback == NULL) {
        AK_DO(next_proposal(found, out, self, err));
        if (*found || ak_advisor_state(self->advisor) != AK_ADVICE_FAILED) {
            return AK_OK;
        }
        AK_DO(fall_back(self, err));
    }
    return propose_fallback(out, found, self, err);
}

static ak_status observe_loop(ak_strategy *strategy, const ak_observation *observation,
                              ak_error *err)
{
    closed_loop *self = (closed_loop *)strategy;
    AK_DO(ak_walk_observe(&self->walk, observation->config, err));
    AK_DO(ak_advisor_observe(self->advisor, observation, err));
    if (self->fallback != NULL && !observation->again) {
        AK_DO(self->fallback->ops->observe(self->fallback, observation, err));
    }
    return AK_OK;
}

static bool await_loop(ak_strategy *strategy, int64_t timeout_ns)
{
    return ak_advisor_await(((closed_loop *)strategy)->advisor, timeout_ns);
}

static size_t recheck_loop(ak_config *out, ak_strategy *strategy, size_t max)
{
    closed_loop *self = (closed_loop *)strategy;
    bool asks = self->rechecks && self->fallback == NULL;
    return asks ? ak_advisor_doubts(out, self->advisor, max) : 0;
}

static const char *ended_loop(const ak_strategy *strategy)
{
    const closed_loop *self = (const closed_loop *)strategy;
    return ak_advisor_state(self->advisor) == AK_ADVICE_ENDED ? ak_advisor_ending(self->advisor)
                                                              : NULL;
}

#define OPS(its_name, its_description)                                                             \
    {                                                                                              \
        .name = its_name, .description = its_description, .bytes = sizeof(closed_loop),            \
        .open = open_loop, .propose = propose_loop, .observe = observe_loop, .close = close_loop,  \
        .hypers = hypers, .await = await_loop, .recheck = recheck_loop, .ended = ended_loop        \
    }

const ak_strategy_ops ak_strategy_llm =
    OPS("llm", "a language model proposes, sees what came of it, and proposes again");
const ak_strategy_ops ak_strategy_llm_oneshot =
    OPS("llm-oneshot", "a language model proposes once, all at a time");
