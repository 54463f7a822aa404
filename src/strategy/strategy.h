/*
 * strategy.h: who proposes. Ask and tell, in batches.
 *
 * propose gives 0..max valid configurations that this strategy has not proposed before; 0 means
 * that it has nothing to propose now: for ever if no trial is outstanding, else until the next
 * observe. observe tells what became of one, in any order, failures included, also trials that the
 * strategy did not propose (resumed ones, the default). So any strategy works with any number of
 * devices and with slow proposers. A strategy sees a space and trials, never a backend.
 *
 * A strategy that waits for somebody else (a language model) has `await`: 0 from propose then means
 * "nothing now" as long as await returns true, although no trial is outstanding. One that builds on
 * few measurements has `recheck`: configurations that it wants to see measured again, side by side.
 *
 * Hyper-parameters are numbers that the user may set by name; each strategy lists its own in a
 * table (ak_hyper), which is all that parsing, checking, help and documentation need:
 *
 *     #define HYPERS(X) \
 *         X(POPULATION, "population", 20, 2, 1000, true, "what it does", "why this default") \
 *         X(MUTATION, "mutation", 0.1, 0, 1, false, "...", "...")
 *     enum { HYPERS(AK_HYPER_INDEX) };
 *     static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};
 *     ...
 *     const ak_strategy_ops ak_strategy_genetic = {..., .hypers = hypers};
 *
 * and `open` reads one with ak_strategy_hyper(context, hypers, HYPER_POPULATION). Callers:
 *
 *     ak_strategy_choice choice;
 *     ak_strategy_choose(&choice, "genetic:population=30,mutation=0.2", &err);
 *     context.hyper = choice.hyper;
 *     choice.ops->open(&strategy, &context, &err);
 */
#ifndef AK_STRATEGY_STRATEGY_H
#define AK_STRATEGY_STRATEGY_H

#include "problem/space.h"
#include "strategy/counsel.h"

#define AK_HYPERS_MAX        16  /* hyper-parameters of a strategy */
#define AK_STRATEGY_TEXT_MAX 512 /* bytes of "name:hyper=value,..." */

/* A number that the user may set. */
typedef struct ak_hyper {
    const char *name;
    double initial, low, high; /* the default; the range, ends included */
    bool whole;                /* whole numbers only */
    const char *help;          /* what it does, one line */
    const char *reason;        /* why the default is what it is */
} ak_hyper;

#define AK_HYPER_INDEX(id, name, initial, low, high, whole, help, reason) HYPER_##id,
#define AK_HYPER_ROW(id, name, initial, low, high, whole, help, reason)                            \
    {name, initial, low, high, whole, help, reason},

/* What is known about the task beyond its space, for strategies with expert rules. */
typedef struct ak_strategy_context {
    const ak_space *space;
    const ak_scope *constants; /* sizes, dtype_bytes, device facts */
    const char *kernel, *implementation;
    /* The space file's "Rank", or NULL: an expression over parameters and constants that predicts
       the time of a configuration up to a factor. */
    const char *rank;
    uint64_t seed;
    size_t evaluations; /* the whole budget, 0 if open-ended */
    /* Values of the hyper-parameters, in the order of ops->hypers; NULL: the defaults. They are of
       one strategy: one that opens another gives it its own or NULL. */
    const double *hyper;
    const ak_counsel *counsel; /* for strategies that ask a language model; NULL: there is none */
} ak_strategy_context;

typedef struct ak_proposal {
    ak_config config;
    ak_config parent; /* what it was derived from */
    bool has_parent;
    int generation;
    double predicted_gain; /* of time over the parent, 0 if none */
    /* Who proposed it, for the archive; they live as long as the strategy. */
    const char *strategy;   /* NULL: the strategy itself; one that it used, or fell back to */
    const char *model;      /* of a language model; NULL: none */
    const char *hypothesis; /* the model's reason, one line; NULL: none */
} ak_proposal;

typedef struct ak_observation {
    const ak_config *config;
    bool ok;
    double ms;             /* median if ok */
    const ak_trial *trial; /* all that is known of it, for the call; NULL: no more than this */
    bool again;            /* the answer to a recheck: replaces what was observed before */
    bool repeated;         /* compiled to the same code as an earlier one: not measured itself */
} ak_observation;

typedef struct ak_strategy ak_strategy;

typedef struct ak_strategy_ops {
    const char *name, *description;
    ak_status (*open)(ak_strategy **out, const ak_strategy_context *context, ak_error *err);
    ak_status (*propose)(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                         ak_error *err);
    ak_status (*observe)(ak_strategy *strategy, const ak_observation *observation, ak_error *err);
    void (*close)(ak_strategy *strategy);
    const ak_hyper *hypers; /* ends with a row without a name; NULL: there are none */
    /* Goes through all of the space: a run does not end because nothing better was found for
       long. */
    bool thorough;
    /* (optional) Waits at most timeout_ns for what propose needs from outside. False: there is
       nothing to wait for. */
    bool (*await)(ak_strategy *strategy, int64_t timeout_ns);
    /* (optional) What to measure again before the next propose, at most `max`; asked when nothing
       is outstanding and propose gave 0. Each is then observed with `again`. Only for callers whose
       counsel says `rechecks`. */
    size_t (*recheck)(ak_config *out, ak_strategy *strategy, size_t max);
    /* (optional) Why propose gives no more although not everything was tried: a word for
       ak_tune_result.stopped_by; NULL: no reason. */
    const char *(*ended)(const ak_strategy *strategy);
} ak_strategy_ops;

/* Every strategy starts with this. */
struct ak_strategy {
    const ak_strategy_ops *ops;
};

#define X(name) extern const ak_strategy_ops ak_strategy_##name;
#include "strategy/strategies.def"
#undef X

/* The one that searches where nobody says how, that finishes what a language model began, and that
   carries on where none answers. */
#define AK_STRATEGY_FINISHER ak_strategy_portfolio
#define AK_STRATEGY_DEFAULT  "portfolio"

/* The table: strategies.def, in its order; NULL-terminated. */
extern const ak_strategy_ops *const ak_strategies[];
/* Names the known ones when there is none of this name. */
ak_status ak_strategy_find(const ak_strategy_ops **out, const char *name, ak_error *err);

/* A strategy as the user asks for it. */
typedef struct ak_strategy_choice {
    const ak_strategy_ops *ops;
    double hyper[AK_HYPERS_MAX]; /* all of them, in the order of ops->hypers */
} ak_strategy_choice;

/* Reads "name" or "name:hyper=value,hyper=value". AK_NOT_FOUND: no such strategy or hyper-parameter
   (the error names those that there are); AK_INVALID: not a number, out of range, given twice. */
ak_status ak_strategy_choose(ak_strategy_choice *out, const char *text, ak_error *err);
/* The same as text, in the order of the table, without what is at its default. */
ak_status ak_strategy_text(char out[AK_STRATEGY_TEXT_MAX], const ak_strategy_choice *choice,
                           ak_error *err);
size_t ak_strategy_hyper_count(const ak_strategy_ops *ops);
/* The value of one, as chosen or by default. */
double ak_strategy_hyper(const ak_strategy_context *context, const ak_hyper *hypers, size_t index);
/* One line for people: "20 (2 to 1000): what it does". */
ak_status ak_strategy_hyper_text(char **out, const ak_hyper *hyper, ak_error *err);

#endif
