/*
 * strategy.h: a strategy proposes configurations and learns the results (ask and tell).
 *
 * propose gives one valid configuration that this strategy has neither proposed nor observed
 * before. If it finds none, the strategy has nothing to propose until the next observe, and never
 * again if no trial is outstanding. observe reports results in any order, including failures and
 * trials that the strategy did not propose (resumed ones, the default). So any strategy works with
 * any number of devices and with slow proposers. A strategy sees a space and trials, never a
 * backend. If the objective is not the time, costs (task.h) take the place of times: what the files
 * of this folder call a time is then a cost, and faster means a lower cost.
 *
 * A strategy that waits for a language model has `await`. As long as await returns true, a propose
 * that finds nothing may find more later, even if no trial is outstanding. A strategy that builds
 * on few measurements has `recheck`, which returns configurations that should be measured again,
 * side by side.
 *
 * Hyper-parameters are numbers that the user may set by name. Each strategy lists its own in a
 * table (ak_hyper), from which parsing, checks, help and documentation follow:
 *
 *     #define HYPERS(X) \
 *         X(population, 20, 2, 1000, true, "what it does", "why this default") \
 *         X(mutation, 0.1, 0, 1, false, "...", "...")
 *     enum { HYPERS(AK_HYPER_INDEX) };
 *     static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};
 *     ...
 *     typedef struct genetic { ...; HYPERS(AK_HYPER_MEMBER) } genetic;
 *     ...
 *     const ak_strategy_ops ak_strategy_genetic = {..., .hypers = hypers};
 *
 * In `open`, HYPERS(AK_HYPER_READ) sets the members, self->population and so on. Callers write:
 *
 *     ak_strategy_choice choice;
 *     ak_strategy_choose(&choice, "genetic:population=30,mutation=0.2", &err);
 *     context.hyper = choice.hyper;
 *     ak_strategy_open(&strategy, choice.ops, &context, &err);
 */
#ifndef AK_STRATEGY_STRATEGY_H
#define AK_STRATEGY_STRATEGY_H

#include "space/space.h"
#include "strategy/like.h"

#define AK_HYPERS_MAX        16  /* hyper-parameters of a strategy */
#define AK_STRATEGY_TEXT_MAX 512 /* bytes of "name:hyper=value,..." */

/* A number that the user may set. */
typedef struct ak_hyper {
    const char *name;
    double initial, low, high; /* default and range, both ends included */
    bool whole;                /* whole numbers only */
    const char *help;          /* its effect in one line */
    const char *reason;        /* reason for the default */
} ak_hyper;

#define AK_HYPER_INDEX(id, initial, low, high, whole, help, reason) HYPER_##id,
#define AK_HYPER_ROW(id, initial, low, high, whole, help, reason)                                  \
    {#id, initial, low, high, whole, help, reason},
/* These make members of a struct that are named like the hyper-parameters, statements that set
   these members in `self`, and initialisers for them. */
#define AK_HYPER_TYPE_true                                           size_t
#define AK_HYPER_TYPE_false                                          double
#define AK_HYPER_MEMBER(id, initial, low, high, whole, help, reason) AK_HYPER_TYPE_##whole id;
#define AK_HYPER_READ(id, initial, low, high, whole, help, reason)                                 \
    self->id = (AK_HYPER_TYPE_##whole)ak_strategy_hyper(context, hypers, HYPER_##id);
#define AK_HYPER_VALUE(id, initial, low, high, whole, help, reason)                                \
    .id = (AK_HYPER_TYPE_##whole)ak_strategy_hyper(context, hypers, HYPER_##id),

typedef struct ak_advisor_options ak_advisor_options; /* strategy/advisor.h */
typedef struct ak_transfer ak_transfer;               /* strategy/transfer.h */

/* Facts about the task beyond its space, and the settings of the strategy. */
typedef struct ak_strategy_context {
    const ak_space *space;
    const ak_scope *constants; /* of the task or the recording: sizes, device facts, ... */
    const char *kernel, *implementation;
    /* "Rank" of the space file or the recording, or NULL: an expression over parameters and
       constants that predicts the time of a configuration up to a factor. */
    const char *rank;
    /* results measured elsewhere, and how far they are trusted, which the caller keeps up to date.
       NULL if there are none */
    const ak_transfer *transfer;
    uint64_t seed;
    bool any_default;   /* the space declares no default, so its default is arbitrary */
    size_t evaluations; /* budget in trials that are still to be made; 0 if open-ended */
    size_t known;       /* trials of earlier runs that count against the whole budget, too */
    /* Values of the hyper-parameters in the order of ops->hypers; NULL for the defaults. They
       belong to one strategy. A strategy that opens another strategy passes values of the other
       strategy or NULL. */
    const double *hyper;
    const ak_advisor_options *advisor; /* for strategies with a language model; NULL: none */
} ak_strategy_context;

typedef struct ak_proposal {
    ak_config config;
    ak_config parent; /* configuration that this one was derived from */
    bool has_parent;
    int generation;
    double predicted_gain; /* predicted share of the parent's time or cost that is saved; 0 if
                              none */
    /* Origin of the proposal, for the archive. The strings live as long as the strategy. */
    const char *strategy;   /* other strategy that made the proposal; NULL: the strategy itself */
    const char *model;      /* name of the language model; NULL if none */
    const char *hypothesis; /* the model's reason, one line; NULL if none */
} ak_proposal;

typedef struct ak_observation {
    const ak_config *config;
    bool ok;
    double ms;              /* median if ok; with another objective than the time, the cost */
    double low_ms, high_ms; /* 95 % interval of ms; 0: see `trial` */
    const ak_trial *trial;  /* full record, valid during the call; NULL if there is none */
    bool again;             /* the result of a recheck, which replaces the earlier observation */
    size_t expected;        /* estimate of the trials that the budget allows; 0 if unknown */
} ak_observation;

typedef struct ak_strategy ak_strategy;

typedef struct ak_strategy_ops {
    const char *name, *description;
    size_t bytes; /* size of its state, which begins with an ak_strategy */
    /* Opens a state of zeros whose `ops` is set. After a failure `close` is called. */
    ak_status (*open)(ak_strategy *strategy, const ak_strategy_context *context, ak_error *err);
    /* Makes the next proposal. *found is false if there is none now. */
    ak_status (*propose)(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err);
    ak_status (*observe)(ak_strategy *strategy, const ak_observation *observation, ak_error *err);
    /* Frees what the state owns, but not the state. */
    void (*close)(ak_strategy *strategy);
    const ak_hyper *hypers; /* ends with a row without a name; NULL if there are none */
    /* Most proposals in a batch; further ones would be chosen with too little information. 0: no
       limit. */
    size_t batch_max;
    /* Set if the strategy goes through the whole space. Then a long time without an improvement
       does not end the run. */
    bool thorough;
    /* (optional) Waits at most timeout_ns for what propose needs from outside. Returns false if
       there is nothing to wait for. */
    bool (*await)(ak_strategy *strategy, int64_t timeout_ns);
    /* (optional) Writes at most `max` configurations to measure again before the next propose, and
       returns their number. It is called when nothing is outstanding and propose found none. Each
       result is observed with `again`. Returns 0 if the results would be the same again
       (ak_advisor_options.rechecks). */
    size_t (*recheck)(ak_config *out, ak_strategy *strategy, size_t max);
    /* (optional) Returns why propose ended although it has not tried the whole space: a word for
       ak_tune_result.stopped_by, or NULL. */
    const char *(*ended)(const ak_strategy *strategy);
} ak_strategy_ops;

/* The first member of every strategy's state. */
struct ak_strategy {
    const ak_strategy_ops *ops;
};

/* Makes a strategy; the caller closes it with ak_strategy_close. All that `context` points to,
   except its hyper-parameters, must outlive the strategy. */
ak_status ak_strategy_open(ak_strategy **out, const ak_strategy_ops *ops,
                           const ak_strategy_context *context, ak_error *err);
/* Closes and frees a strategy. NULL is accepted. */
void ak_strategy_close(ak_strategy *strategy);
AK_END_AT(ak_strategy_close, ak_strategy)

#define X(name) extern const ak_strategy_ops ak_strategy_##name;
#include "strategy/strategies.def"
#undef X

/* The default strategy. It also finishes what a language model began and carries on if no model
   answers. */
#define AK_STRATEGY_FINISHER ak_strategy_portfolio
#define AK_STRATEGY_DEFAULT  "portfolio"

/* The strategies in the order of strategies.def; NULL-terminated. */
extern const ak_strategy_ops *const ak_strategies[];
/* Finds a strategy. Returns AK_NOT_FOUND if there is none of this name; the error suggests a
   similar name or lists all. */
ak_status ak_strategy_find(const ak_strategy_ops **out, const char *name, ak_error *err);

/* A strategy and its hyper-parameters as the user chose them. */
typedef struct ak_strategy_choice {
    const ak_strategy_ops *ops;
    double hyper[AK_HYPERS_MAX]; /* all of them, in the order of ops->hypers */
} ak_strategy_choice;

/* Reads "name" or "name:hyper=value,hyper=value". Returns AK_NOT_FOUND if there is no such strategy
   or hyper-parameter (the error says which there are), AK_INVALID if a value is missing, not a
   number, not whole where it must be, out of range or given twice, and AK_LIMIT if the text is too
   long. */
ak_status ak_strategy_choose(ak_strategy_choice *out, const char *text, ak_error *err);
/* Writes a choice in the form that ak_strategy_choose reads, in the order of the table.
   Hyper-parameters at their defaults are left out. */
ak_status ak_strategy_text(char out[AK_STRATEGY_TEXT_MAX], const ak_strategy_choice *choice,
                           ak_error *err);
size_t ak_strategy_hyper_count(const ak_strategy_ops *ops);
/* Returns the value of a hyper-parameter, chosen or default. */
double ak_strategy_hyper(const ak_strategy_context *context, const ak_hyper *hypers, size_t index);
/* Writes one line for people: "20 (2 to 1000): its effect". The caller frees it with ak_free. */
ak_status ak_strategy_hyper_text(char **out, const ak_hyper *hyper, ak_error *err);

#endif
