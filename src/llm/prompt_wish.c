/* prompt_wish.c: writes the request at the end of a prompt: what kind of proposals this generation
   should bring, guided by how much of the budget is spent and by what the latest trials gained. */
#include "base/number.h"
#include "llm/prompt_view.h"

/* If the least possible time is at least this share of the best time, little is left to gain. */
#define NEAR_BOUND 0.95
/* Fewer trials than this say nothing about the optimum. */
#define FIT_LEAST 8
/* The search has stalled if this many trials in a row gained less than STILL_GAIN. */
#define STILL_TRIALS 8
#define STILL_GAIN   0.01

/* Returns the share of failures among the trials that the model proposed in the previous generation
   or, if there is none, among all trials; 0 without trials. */
static double failed_share(const ak_history *h)
{
    size_t latest = 0, latest_failed = 0, failed = 0;
    for (size_t i = 0; i < h->count; i++) {
        bool bad = h->trials[i].status != AK_TRIAL_OK;
        bool recent = h->trials[i].proposed && h->trials[i].generation == h->generation - 1;
        failed += bad;
        latest += recent;
        latest_failed += recent && bad;
    }
    return latest > 0     ? (double)latest_failed / (double)latest
           : h->count > 0 ? (double)failed / (double)h->count
                          : 0;
}

/* Estimates the optimum from the two best trials: the least value of a distribution lies about as
   far below the best of a sample as that lies below the second best (Robson and Whitlock,
   Biometrika 51, 1964). Returns 0 if fewer than FIT_LEAST trials succeeded. */
static double fitted_optimum(const ak_prompt_view *v)
{
    return v->ok < FIT_LEAST ? 0 : 2 * v->order[0].ms - v->order[1].ms;
}

/* Writes how far A is from the least possible time, if the objective is the time and that bound is
   known and may be told. Also writes which time or value the trials make likely, unless it is below
   a bound that A has not reached. */
static void put_aim(ak_buf *out, const ak_prompt_view *v)
{
    const bool timed = ak_prompt_timed(v);
    char a[AK_REAL_BYTES], b[AK_REAL_BYTES];
    double bound = v->brief->share > AK_SHARE_FACTS || !timed ? 0 : v->brief->least_ms;
    double best = v->ok == 0 ? 0 : v->order[0].ms, fitted = fitted_optimum(v);
    if (bound > 0 && bound < best && bound >= best * NEAR_BOUND) {
        ak_buf_print(out, "A is at %s %% of the least possible time: little is left to gain.\n",
                     ak_number_short(a, bound / best * 100, 3));
    } else if (bound > 0 && bound < best) {
        ak_buf_print(out, "The least possible time is %s ms; A takes %s times as long.\n",
                     ak_number_short(a, bound, AK_DIGITS), ak_number_short(b, best / bound, 3));
    } else if (bound > 0 && best > 0) {
        ak_buf_puts(out, v->brief->least_cached
                             ? "A is as fast as the memory allows: its data stay in a cache, so "
                               "that the least possible time is less than stated.\n"
                             : "A is as fast as the least possible time, so the ceilings were "
                               "measured while the machine was busy: do not rely on them.\n");
        bound = 0;
    }
    if (fitted > bound && fitted < best) {
        ak_buf_print(out, "How far the %s trials lie apart suggests that about ",
                     timed ? "fastest" : "best");
        ak_objective_print(out, v->brief->objective, fitted);
        ak_buf_puts(out, " can be reached without a new idea.\n");
    }
}

/* Says for how many trials the search has gained nothing. */
typedef struct stillness {
    size_t trials; /* trials after the first that is within STILL_GAIN of the best. Those of the
                      same reply do not count: it was written before that result was known */
    bool replied;  /* that first trial was proposed in the latest reply */
} stillness;

static stillness without_gain(const ak_prompt_view *v)
{
    const ak_history *h = v->history;
    stillness still = {0};
    size_t first = 0;
    while (first < h->count && (h->trials[first].status != AK_TRIAL_OK ||
                                h->trials[first].ms > v->order[0].ms * (1 + STILL_GAIN))) {
        first++;
    }
    for (size_t i = first + 1; v->ok > 0 && i < h->count; i++) {
        const ak_experience *t = &h->trials[i], *gain = &h->trials[first];
        still.trials += !(gain->proposed && t->proposed && t->generation == gain->generation);
        still.replied = gain->proposed && gain->generation == h->generation - 1;
    }
    return still;
}

static bool is_early(const ak_history *h)
{
    return h->evaluations > 0 ? h->count * 2 < h->evaluations : h->generation * 2 <= h->generations;
}

/* In the second generation, asks for the open kinds, which have hardly been tried. */
static void put_open_kinds(ak_buf *out, const ak_prompt_view *v)
{
    if (v->history->generation == 2 && v->kinds_open > 0 && v->history->count > 1) {
        char share[AK_REAL_BYTES];
        ak_buf_print(out,
                     "%zu of the %zu kinds, %s %% of the space, have no trial or one. For those "
                     "that no reason rules out, propose your best guess, with up to half of your "
                     "proposals: choose all other parameters for that kind. What is copied from "
                     "the best of another kind, or differs from it in two switches, shows neither "
                     "what the kind can do nor which switch made the difference.\n",
                     v->kinds_open, v->kinds, ak_number_short(share, v->open_share * 100, 2));
    }
}

/* Writes the aim of the generation, the first of these that applies: small steps, if a third of the
   latest trials failed; very different proposals, in the first generation or if the model sees no
   trial; places with few trials, if the search has stalled since before the latest reply; else
   proposals near the best and, in the first half of the budget, some where little is known. */
static void put_phase(ak_buf *out, const ak_prompt_view *v)
{
    const ak_history *h = v->history;
    const stillness still = without_gain(v);
    if (failed_share(h) >= 1.0 / 3) {
        ak_buf_puts(out,
                    "A third or more of the latest failed: take small steps from what works.\n");
    } else if (h->generation <= 1 || h->count == 0) {
        ak_buf_print(out,
                     "%s: let several differ clearly in their blocking and in kind, each for a "
                     "reason, and each a configuration that you would bet on. If all that have one "
                     "value also have another, the results cannot tell the two apart.\n",
                     h->hidden ? "Spread out" : "Little was measured yet, so spread out");
        if (v->kinds > 1) {
            ak_buf_puts(out, "Which kind wins is open: give each kind that could win its own best "
                             "guess, with all other parameters chosen for that kind rather than "
                             "copied from the guess for another. Tie no switch to another: the "
                             "kind with only one of the two changed may be the better one.\n");
        }
    } else if (still.trials >= STILL_TRIALS && !still.replied) {
        ak_buf_print(out,
                     "The last %zu trials were all less than %g %% faster than what was known "
                     "before: steps near A gain little more. Look where few trials are: a kind "
                     "with few for its share, or none, several parameters changed together, or a "
                     "value whose only trials had another fault. Change nothing there without a "
                     "reason, and near A only what settles a question.\n",
                     still.trials, STILL_GAIN * 100);
    } else {
        if (still.trials >= STILL_TRIALS) {
            ak_buf_print(out,
                         "Your latest reply brought the last gain of %g %% or more; the %zu trials "
                         "since then that others proposed gained less. ",
                         STILL_GAIN * 100, still.trials);
        }
        ak_buf_print(
            out,
            "Build on A%s: combine what helped apart, settle what is undecided, and follow "
            "the best hypothesis further.",
            ak_prompt_second(v) == 0 ? "" : " and B");
        ak_buf_puts(out, is_early(h) ? " There is budget left to look elsewhere: let one or more "
                                       "be of a kind, or have values, that few trials or none "
                                       "have, where you see a reason why it could win, and change "
                                       "nothing there without a reason.\n"
                                     : " Look elsewhere only where you can say why it wins.\n");
    }
    put_open_kinds(out, v);
    if (h->searched && h->count > 1) {
        ak_buf_puts(out, h->apart && h->generation < h->generations
                             ? "A search goes on beside you. It does not know your trials and "
                               "looks elsewhere; you know all of them: follow up what it found, "
                               "too.\n"
                             : "A search without you goes on meanwhile and takes the single steps "
                               "from the fastest: what it would not find is worth most from "
                               "you.\n");
    }
}

void ak_prompt_wish(ak_buf *out, const ak_prompt_view *v)
{
    const ak_history *h = v->history;
    ak_buf_print(out, "\n## Your answer\n\nPropose up to %zu configuration%s. ", h->batch,
                 ak_plural(h->batch));
    put_phase(out, v);
    put_aim(out, v);
    ak_buf_puts(out, h->count == 0
                         ? "Fewer are welcome, if they are better.\n"
                         : "Fewer are welcome: propose only what may be faster than A for a reason "
                           "that you can name, or what settles a question. An empty list says that "
                           "you expect nothing more.\n");
}
