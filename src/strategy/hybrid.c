/*
 * hybrid.c: a language model seeds a classical search, which finishes.
 *
 * A model alone stops short of the optimum, and a search alone spends most of its budget on finding
 * out what the model knows (pytorch/helion: seeding its surrogate search repaired six of the eight
 * losses of the model alone, with a quarter of the evaluations of the search alone). Here
 * `portfolio` runs throughout. The model is asked at the start and again after each further part of
 * the budget; its proposals go first when they arrive. While a reply is under way the search goes
 * on, so the device does not wait for the model, unless `patient` is set (advisor.h). A question
 * after the first waits until all proposals of the model and most of the others have a result: with
 * many compilers all of a small budget could be under way before the first result comes, and the
 * model would learn nothing.
 *
 * With `apart` the search and the model are two opinions for as long as the model is asked: the
 * model sees all trials, but the search is not told what the model's proposals brought until the
 * last question. A search that is told at once treats these trials as its own design and stays
 * where the model went, right or wrong (docs/BENCHMARKS.md, "When the model is wrong"). If it
 * proposes one of them itself, it is told the result.
 *
 * Without a model, or when it fails, this is `portfolio`.
 */
#include "strategy/advisor.h"

#include "base/text.h"

#define HYPERS(X)                                                                                  \
    X(share, 0.4, 0.05, 0.9, false, "part of the evaluations that the model proposes",             \
      "the model gains early, and the search needs the rest to finish")                            \
    X(apart, 0, 0, 1, true,                                                                        \
      "1: the search is not told of the trials of the model before the last question",             \
      "eighteen runs with it were not better than runs without it")                                \
    AK_ADVICE_HYPERS(X)
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

#define GENERATIONS 3
#define EVALUATIONS 60 /* assumed budget if none is given */
/* A question is asked when all proposals of the model have a result and at most 1 / UNSEEN_PART of
   an interval is under way. So the question does not wait for the slowest compilation of the
   search. */
#define UNSEEN_PART 2

typedef struct result {
    ak_config config;
    ak_observation observation; /* of this configuration, without its trial */
} result;

typedef struct hybrid {
    ak_strategy base;
    ak_walk walk;
    ak_advisor *advisor;
    ak_strategy *search;
    /* evaluations between questions; proposals of the search since the last question */
    size_t interval, since;
    size_t unseen;                      /* proposals without a result yet */
    ak_config own[AK_ADVICE_BATCH_MAX]; /* the model's proposals without a result */
    size_t own_count;
    result *held; /* results of the model's proposals that the search is not told yet */
    size_t held_count, held_capacity;
    int questions;                /* most questions that are asked */
    size_t evaluations, observed; /* the budget, 0 if open-ended, and the trials with a result */
    bool patient;
    bool apart; /* the search is not told the model's results before the last question */
} hybrid;

static void close_hybrid(ak_strategy *strategy)
{
    hybrid *self = (hybrid *)strategy;
    ak_advisor_close(self->advisor);
    ak_strategy_close(self->search);
    ak_walk_close(&self->walk);
    ak_free(self->held);
}

static ak_advice_plan plan_of(hybrid *self, const ak_strategy_context *context)
{
    double all = (double)(context->evaluations == 0 ? EVALUATIONS : context->evaluations);
    double share = ak_strategy_hyper(context, hypers, HYPER_share);
    ak_advice_plan plan = ak_advice_plan_of(context, hypers, HYPER_history, GENERATIONS);
    plan.searched = true;
    plan.apart = self->apart;
    if (plan.batch == 0) {
        plan.batch = (size_t)(all * share / plan.generations + 0.5);
    }
    self->questions = plan.generations;
    plan.batch = plan.batch < 1                     ? 1
                 : plan.batch > AK_ADVICE_BATCH_MAX ? AK_ADVICE_BATCH_MAX
                                                    : plan.batch;
    /* The evaluations that the model leaves are split into as many parts as there are questions. */
    double left = all - (double)plan.batch * plan.generations;
    self->interval = left > plan.generations ? (size_t)(left / plan.generations) : 1;
    return plan;
}

static ak_status open_hybrid(ak_strategy *strategy, const ak_strategy_context *context,
                             ak_error *err)
{
    hybrid *self = (hybrid *)strategy;
    self->evaluations = context->evaluations;
    self->patient = context->advisor != NULL && context->advisor->patient;
    self->apart = ak_strategy_hyper(context, hypers, HYPER_apart) > 0;
    ak_advice_plan plan = plan_of(self, context);
    ak_strategy_context search = *context;
    search.hyper = NULL;
    if (!self->apart && context->advisor != NULL && context->advisor->model != NULL) {
        /* shrinks the design of the search to the starts of the space and a few more; the model's
           seeds replace the rest */
        search.evaluations = 1;
    }
    AK_DO(ak_walk_open(&self->walk, context->space, context->seed, err));
    AK_DO(ak_advisor_open(&self->advisor, context, &plan, &self->walk, err));
    return ak_strategy_open(&self->search, &AK_STRATEGY_FINISHER, &search, err);
}

/* Tells the search a result that was held, and forgets it. */
static ak_status tell(hybrid *self, size_t index, ak_error *err)
{
    result *held = &self->held[index];
    held->observation.config = &held->config;
    ak_status status = self->search->ops->observe(self->search, &held->observation, err);
    *held = self->held[--self->held_count];
    return status;
}

static ak_status tell_all(hybrid *self, ak_error *err)
{
    while (self->held_count > 0) {
        AK_DO(tell(self, 0, err));
    }
    return AK_OK;
}

/* If the result of a configuration that the search proposes is held, tells it to the search. */
static ak_status tell_proposed(hybrid *self, const ak_config *config, ak_error *err)
{
    const size_t i = AK_FIND_SAME(self->held, self->held_count, config, config);
    return i < self->held_count ? tell(self, i, err) : AK_OK;
}

/* Returns true while the results of the model's proposals are held back from the search. */
static bool is_apart(const hybrid *self)
{
    return self->apart && ak_advisor_generation(self->advisor) < self->questions &&
           ak_advisor_state(self->advisor) != AK_ADVICE_FAILED &&
           ak_advisor_state(self->advisor) != AK_ADVICE_ENDED;
}

/* Takes an unseen proposal from the search. *found is false if there is none. */
static ak_status search_on(bool *found, ak_proposal *out, hybrid *self, ak_error *err)
{
    AK_DO(self->search->ops->propose(out, found, self->search, err));
    while (*found && ak_walk_seen(&self->walk, &out->config)) {
        AK_DO(tell_proposed(self, &out->config, err));
        AK_DO(self->search->ops->propose(out, found, self->search, err));
    }
    out->strategy = AK_STRATEGY_FINISHER.name;
    self->since += *found;
    return AK_OK;
}

/* Returns true if the proposal that is being made is the last of the budget, so that no reply to a
   question that is asked now could be tried. */
static bool is_last(const hybrid *self)
{
    return !self->patient && self->evaluations > 0 &&
           self->observed + self->unseen + 1 >= self->evaluations;
}

static ak_status propose_hybrid(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    hybrid *self = (hybrid *)strategy;
    AK_DO(ak_advisor_poll(self->advisor, err));
    bool first = ak_advisor_generation(self->advisor) == 0;
    bool due = ak_advisor_state(self->advisor) == AK_ADVICE_IDLE &&
               (first || self->since >= self->interval);
    bool early = due && !first && ak_advisor_generation(self->advisor) < self->questions &&
                 (self->own_count > 0 || self->unseen > self->interval / UNSEEN_PART);
    if (due && !early && (first || !is_last(self))) {
        self->since = 0;
        AK_DO(ak_advisor_ask(self->advisor, err));
    }
    if (ak_advisor_state(self->advisor) == AK_ADVICE_FAILED) {
        ak_advisor_yield(self->advisor, AK_STRATEGY_FINISHER.name);
    }
    AK_DO(is_apart(self) ? AK_OK : tell_all(self, err));
    *found = ak_advisor_next(out, self->advisor);
    bool held = early || (self->patient && ak_advisor_state(self->advisor) == AK_ADVICE_ASKED);
    if (!*found && !held) {
        AK_DO(search_on(found, out, self, err));
    }
    if (!*found) {
        return AK_OK;
    }
    self->unseen++;
    if (out->model != NULL && self->own_count < AK_ADVICE_BATCH_MAX) {
        self->own[self->own_count++] = out->config;
    }
    return ak_walk_propose(&self->walk, &out->config, err);
}

/* Returns true if the model proposed this configuration, and removes it from the proposals that
   await a result. */
static bool take_own(hybrid *self, const ak_config *config)
{
    const size_t i = AK_FIND_SAME(self->own, self->own_count, at, config->at);
    const bool own = i < self->own_count;
    if (own) {
        self->own[i] = self->own[--self->own_count];
    }
    return own;
}

static ak_status hold(hybrid *self, const ak_observation *observation, ak_error *err)
{
    AK_DO(AK_GROW(self->held, &self->held_capacity, self->held_count + 1, err));
    result *held = &self->held[self->held_count++];
    *held = (result){.config = *observation->config, .observation = *observation};
    held->observation.trial = NULL;
    return AK_OK;
}

static ak_status observe_hybrid(ak_strategy *strategy, const ak_observation *observation,
                                ak_error *err)
{
    hybrid *self = (hybrid *)strategy;
    AK_DO(ak_walk_observe(&self->walk, observation->config, err));
    AK_DO(ak_advisor_observe(self->advisor, observation, err));
    if (observation->again) {
        return AK_OK;
    }
    /* trials that this strategy did not propose count too, which at worst asks a question early */
    self->unseen -= self->unseen > 0 ? 1 : 0;
    self->observed++;
    bool own = take_own(self, observation->config);
    return own && is_apart(self) ? hold(self, observation, err)
                                 : self->search->ops->observe(self->search, observation, err);
}

/* Waits for the reply, if one is under way, and forgets the proposals without a result. No trial is
   under way when this is called, so they will never have one. Returns true also if there were such
   proposals, because the search may then go on. */
static bool await_hybrid(ak_strategy *strategy, int64_t timeout_ns)
{
    hybrid *self = (hybrid *)strategy;
    bool lost = self->unseen > 0;
    self->unseen = self->own_count = 0;
    return ak_advisor_await(self->advisor, timeout_ns) || lost;
}

const ak_strategy_ops ak_strategy_hybrid = {
    .name = "hybrid",
    .description = "a language model seeds a classical search, which finishes",
    .bytes = sizeof(hybrid),
    .open = open_hybrid,
    .propose = propose_hybrid,
    .observe = observe_hybrid,
    .close = close_hybrid,
    .hypers = hypers,
    .await = await_hybrid,
};
