/*
 * portfolio_search.c: the strategy `portfolio`: several strategies share the budget, and
 * successful ones get more of it.
 *
 * Every member is told every trial, so each is up to date when its turn comes. The first member has
 * the first `alone` trials for itself. Then a multi-armed bandit chooses the next member. A member
 * gets credit for those of its last trials that were the best so far; later trials weigh more (the
 * area under the curve of its successes). A bonus goes to members that were rarely asked (Fialho,
 * Da Costa, Schoenauer, Sebag, "Analyzing bandit-based adaptive operator selection mechanisms",
 * 2010; Ansel et al., "OpenTuner", 2014, section 3.2). Ties go to the first member.
 */
#include <math.h>
#include <string.h>

#include "strategy/guided.h"
#include "strategy/walk.h"

#define HYPERS(X)                                                                                  \
    X(alone, 60, 0, 100000, true, "trials that the first member has for itself",                   \
      "the model alone is best in short runs; only in long ones it may be stuck")                  \
    X(window, 50, 5, 10000, true, "trials that credit is given for",                               \
      "early gains are easy and say little about later ones")                                      \
    X(explore, 0.05, 0, 10, false, "weight of the bonus for being asked rarely",                   \
      "the members differ so much that few trials show which is better")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum {
    MEMBERS = 2,
    /* most times that a member is asked in a row while it proposes known configurations */
    ATTEMPTS = 32
};

typedef struct outcome {
    ak_config config;
    size_t member;
    bool observed, best;
} outcome;

typedef struct portfolio {
    ak_strategy base;
    ak_walk walk;
    /* The first is the model's search, which has the first `alone` trials for itself and wins
       ties. */
    ak_strategy *member[MEMBERS];
    HYPERS(AK_HYPER_MEMBER)
    double best_ms;    /* infinite until a trial is ok */
    outcome *outcomes; /* all proposals in their order */
    size_t count, capacity;
} portfolio;

static void close_portfolio(ak_strategy *strategy)
{
    portfolio *self = (portfolio *)strategy;
    AK_END_EACH(ak_strategy_close, self->member, MEMBERS);
    ak_walk_close(&self->walk);
    ak_free(self->outcomes);
}

/* Returns the operations of member i. The first member is a search with a model: `heuristic` if
   the kernel's author has ranked the configurations, else `bayes`. The second member, `local`,
   descends with restarts and so tries configurations that the model considers hopeless. */
static const ak_strategy_ops *member_of(const ak_strategy_context *context, size_t i)
{
    return i > 0                   ? &ak_strategy_local
           : context->rank != NULL ? &ak_strategy_heuristic
                                   : &ak_strategy_bayes;
}

static ak_status open_portfolio(ak_strategy *strategy, const ak_strategy_context *context,
                                ak_error *err)
{
    portfolio *self = (portfolio *)strategy;
    HYPERS(AK_HYPER_READ)
    self->best_ms = HUGE_VAL;
    ak_rng rng;
    ak_rng_seed(&rng, context->seed);
    AK_DO(ak_walk_open(&self->walk, context->space, ak_rng_next(&rng), err));
    for (size_t i = 0; i < MEMBERS; i++) {
        ak_strategy_context own = *context;
        own.seed = ak_rng_next(&rng);
        own.hyper = NULL;
        AK_DO(ak_strategy_open(&self->member[i], member_of(context, i), &own, err));
    }
    return AK_OK;
}

typedef struct credit {
    /* The member's proposals in the window are numbered 1, 2, 3, ... `success` sums the numbers of
       the proposals that were the best so far, `places` the numbers of all proposals with a result.
       The quotient is the area under the curve of the member's successes. */
    double success, places;
    size_t asked;
} credit;

static double worth(const portfolio *self, const credit *c, size_t window)
{
    if (c->asked == 0) {
        return HUGE_VAL;
    }
    double area = c->places > 0.0 ? c->success / c->places : 0.0;
    return area + self->explore * sqrt(2.0 * log2((double)window + 1.0) / (double)c->asked);
}

/* Returns the member that is asked next among those that are not `excluded`: the first one for
   `alone` proposals, then the one with the most credit; SIZE_MAX if all are excluded. */
static size_t pick_member(const portfolio *self, const bool *excluded)
{
    if (self->count < self->alone && !excluded[0]) {
        return 0;
    }
    credit credits[MEMBERS] = {0};
    size_t first = self->count > self->window ? self->count - self->window : 0;
    for (size_t i = first; i < self->count; i++) {
        const outcome *o = &self->outcomes[i];
        credit *c = &credits[o->member];
        c->asked++;
        if (o->observed) {
            c->places += (double)c->asked;
            c->success += o->best ? (double)c->asked : 0.0;
        }
    }
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < MEMBERS; i++) {
        if (!excluded[i] &&
            (best == SIZE_MAX || worth(self, &credits[i], self->count - first) >
                                     worth(self, &credits[best], self->count - first))) {
            best = i;
        }
    }
    return best;
}

/* Asks one member for a configuration that is neither proposed nor observed yet. *found is false if
   the member has none now, or gave ATTEMPTS seen ones in a row. */
static ak_status ask(ak_proposal *out, bool *found, portfolio *self, size_t member, ak_error *err)
{
    *found = false;
    for (size_t attempt = 0; attempt < ATTEMPTS && !*found; attempt++) {
        bool any = false;
        ak_status status = self->member[member]->ops->propose(out, &any, self->member[member], err);
        if (status != AK_OK || !any) {
            return status;
        }
        *found = !ak_walk_seen(&self->walk, &out->config);
    }
    return AK_OK;
}

static ak_status propose_portfolio(ak_proposal *out, bool *found, ak_strategy *strategy,
                                   ak_error *err)
{
    portfolio *self = (portfolio *)strategy;
    bool excluded[MEMBERS] = {false};
    size_t member = SIZE_MAX;
    *found = false;
    while (!*found && (member = pick_member(self, excluded)) != SIZE_MAX) {
        AK_DO(ask(out, found, self, member, err));
        excluded[member] = !*found;
    }
    if (!*found) {
        member = 0;
        *out = (ak_proposal){0};
        *found = ak_walk_next(&out->config, &self->walk);
    }
    if (!*found) {
        return AK_OK;
    }
    AK_DO(AK_GROW(self->outcomes, &self->capacity, self->count + 1, err));
    AK_DO(ak_walk_propose(&self->walk, &out->config, err));
    self->outcomes[self->count++] = (outcome){.config = out->config, .member = member};
    return AK_OK;
}

static ak_status observe_portfolio(ak_strategy *strategy, const ak_observation *observation,
                                   ak_error *err)
{
    portfolio *self = (portfolio *)strategy;
    bool best = observation->ok && observation->ms < self->best_ms;
    self->best_ms = best ? observation->ms : self->best_ms;
    for (size_t i = self->count; i-- > 0;) { /* the proposal is usually one of the last */
        outcome *o = &self->outcomes[i];
        if (!o->observed && memcmp(&o->config, observation->config, sizeof o->config) == 0) {
            o->observed = true;
            o->best = best;
            break;
        }
    }
    ak_status status = ak_walk_observe(&self->walk, observation->config, err);
    for (size_t i = 0; i < MEMBERS && status == AK_OK; i++) {
        status = self->member[i]->ops->observe(self->member[i], observation, err);
    }
    return status;
}

const ak_strategy_ops ak_strategy_portfolio = {
    .name = "portfolio",
    .description =
        "a model (heuristic with a rank, else bayes) and local share the budget; who finds "
        "something gets more",
    .bytes = sizeof(portfolio),
    .open = open_portfolio,
    .propose = propose_portfolio,
    .observe = observe_portfolio,
    .close = close_portfolio,
    .hypers = hypers,
    .batch_max = AK_GUIDED_BATCH_MAX,
};
