/* budget.c: decides when a search ends and how much of a time budget the finish needs. */
#include "tuner/run.h"

#define CANDIDATES_DEFAULT 3
/* Unless its strategy is thorough, a run has converged when the evaluations since the last gain are
   at least PATIENCE and at least half of all. */
#define PATIENCE 60
/* Checking a candidate takes about as long as this many checks of a trial. */
#define CHECKS_OF_CANDIDATE 3.0
/* If trials are specialised, compiling a candidate for every size takes about as long as this many
   compilations of a trial. All candidates are compiled at once. */
#define COMPILES_OF_CANDIDATE 2.0
/* Approximate time that measuring the ceilings takes. */
#define CEILINGS_SECONDS 0.5

size_t ak_tuning_budget(const ak_tuning *r)
{
    return r->options->evaluations == 0 ? AK_EVALUATIONS_DEFAULT : r->options->evaluations;
}

bool ak_tuning_cancelled(const ak_tuning *r)
{
    return r->options->cancel != NULL && *r->options->cancel != 0;
}

/* With several devices each contributes its own candidates: times of different devices are not
   comparable, and only the finish measures all candidates on one device. */
size_t ak_tuning_candidates_of_each(const ak_tuning *r)
{
    size_t wanted = r->options->finalists == 0 ? CANDIDATES_DEFAULT : r->options->finalists;
    size_t most = AK_CANDIDATES_MAX / r->devices;
    most = most == 0 ? 1 : most;
    return wanted < most ? wanted : most;
}

double ak_tuning_seconds_left(const ak_tuning *r)
{
    return r->options->seconds - (double)(ak_session_now_ns(&r->session) - r->begin_ns) / 1e9;
}

double ak_tuning_finish_each(const ak_tune_options *options)
{
    return options->finish_seconds > 0 ? options->finish_seconds : AK_FINISH_SECONDS;
}

/* Estimates the duration of the finish, so that a time budget covers it. The estimate is at most
   half of the budget. If the estimate was too low, nothing that has begun is cut, but the
   comparison gets fewer seconds (finish.c). A candidate is checked on all edge-case shapes and
   measured in more rounds than a trial. */
static double finish_seconds(const ak_tuning *r)
{
    if (ak_pool_recalls(r->session.pool)) {
        return 0; /* results are recalled, so nothing is measured again */
    }
    size_t candidates = ak_tuning_candidates_of_each(r) * r->devices + 1;
    candidates = candidates > AK_CANDIDATES_MAX + 1 ? AK_CANDIDATES_MAX + 1 : candidates;
    size_t all = candidates;
    for (size_t i = 0; i < r->session.baseline_count; i++) {
        all += r->session.baselines[i].installed ? 1 : 0;
    }
    double least =
        ak_protocol_seconds(ak_session_protocol(&r->session), all, AK_COMPARISON_ROUNDS_MIN);
    /* The control is measured within these seconds, too. */
    double comparison = ak_tuning_finish_each(r->options) * (double)all;
    double expected =
        (comparison > least ? comparison : least) + CEILINGS_SECONDS +
        CHECKS_OF_CANDIDATE * r->check_seconds * (double)candidates +
        (r->task->implementation->specialised ? COMPILES_OF_CANDIDATE * r->compile_seconds : 0);
    /* At a pressure near 1 other programs get about half of the processors' time, so everything
       takes about twice as long. */
    expected *= 1 + (r->pressure > 0 ? r->pressure : 0);
    return expected < r->options->seconds / 2 ? expected : r->options->seconds / 2;
}

static bool reached_target(const ak_tuning *r)
{
    double reference = r->library_cost > 0 ? r->library_cost : r->default_cost;
    return r->options->target_speedup > 0 && reference > 0 && r->best_cost > 0 &&
           reference / r->best_cost >= r->options->target_speedup;
}

const char *ak_tuning_stop_reason(const ak_tuning *r)
{
    if (ak_tuning_cancelled(r)) {
        return "cancelled";
    }
    if (r->result->evaluated >= r->evaluations) {
        return "evaluations";
    }
    if (r->options->seconds > 0 && ak_tuning_seconds_left(r) <= finish_seconds(r)) {
        return "time";
    }
    if (reached_target(r)) {
        return "target";
    }
    size_t quiet = r->result->evaluated - r->last_gain;
    if (quiet >= PATIENCE && quiet * 2 >= r->result->evaluated && !r->ops->thorough) {
        return "converged";
    }
    bool over = r->exhausted && ak_pool_pending(r->session.pool) == 0;
    return !over ? NULL : r->ended != NULL ? r->ended : "exhausted";
}

size_t ak_tuning_expected_trials(const ak_tuning *r)
{
    double spent = r->options->seconds - ak_tuning_seconds_left(r);
    size_t done = r->result->evaluated;
    double by_time = done == 0 || spent <= 0
                         ? 0
                         : (double)done * (r->options->seconds - finish_seconds(r)) / spent;
    bool timed = r->options->seconds > 0 && by_time > 0;
    return timed && by_time < (double)r->evaluations ? (size_t)by_time : r->evaluations;
}
