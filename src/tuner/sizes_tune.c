/* sizes_tune.c: tunes each of many sizes by itself. Later sizes try the winners of earlier ones
   first. */

#include "tuner/run_advisor.h"
#include "tuner/sizes_run.h"

/* Largest share of a time budget for measuring the elites and the losses. */
#define MEASURING_SHARE 0.4
/* Approximate number of candidates in one of these measurements. */
#define CANDIDATES 8
/* Each size gets at least this many seconds, which suffice to measure its default. */
#define SECONDS_MIN 0.1

/* Shares the rest of the budgets among the remaining sizes, and keeps time for the measurements
   that follow. */
static void share(ak_tune_options *out, const ak_many *m, size_t at)
{
    size_t left = m->result->size_count - at;
    *out = *m->options;
    out->first = m->given;
    out->first_count = m->given_count;
    if (out->evaluations > 0) {
        size_t rest = m->used < out->evaluations ? out->evaluations - m->used : 0;
        out->evaluations = rest / left > 0 ? rest / left : 1;
    }
    if (out->seconds > 0) {
        double kept =
            (AK_MANY_OPEN_SECONDS + ak_many_each(m) * CANDIDATES) * (double)m->result->size_count;
        kept = kept < MEASURING_SHARE * out->seconds ? kept : MEASURING_SHARE * out->seconds;
        double rest = (out->seconds - kept - ak_many_elapsed(m)) / (double)left;
        out->seconds = rest > SECONDS_MIN ? rest : SECONDS_MIN;
    }
}

/* Adds the use of the language model for one size to the sum over all sizes. */
static ak_status add_llm(ak_llm_use *sum, const ak_llm_use *one, ak_error *err)
{
    if (one->model == NULL) {
        return AK_OK;
    }
    bool first = sum->model == NULL;
    sum->calls += one->calls;
    sum->failed += one->failed;
    sum->uncounted += one->uncounted;
    sum->input_tokens += one->input_tokens;
    sum->output_tokens += one->output_tokens;
    sum->tokens += one->tokens;
    sum->priced = one->priced && (first || sum->priced);
    sum->cost_usd += one->cost_usd;
    return first ? ak_copy_text(&sum->model, one->model, err) : AK_OK;
}

/* Makes a winner the first configuration that the next size tries. */
static void give(ak_many *m, const char *config)
{
    size_t at = AK_FIND_TEXT(m->given, m->given_count, config);
    if (at == m->given_count && m->given_count < AK_MANY_GIVEN_MAX) {
        m->given_count++;
    } else if (at == m->given_count) {
        at--; /* the list is full, so the oldest winner is dropped */
    }
    memmove(m->given + 1, m->given, at * sizeof *m->given);
    m->given[0] = config;
}

/* With `resume` or the request's `tuned`, takes the result of an earlier run of this size if the
   archive has one that qualifies (ak_earlier_result). Otherwise, and always on a recording, tunes
   the size. */
static ak_status tune_or_recall(ak_many *m, size_t i, const ak_tune_options *options, ak_error *err)
{
    if ((options->resume || m->request->tuned) && m->archive != NULL && !m->tasks[i]->recorded) {
        size_t evaluations = m->request->tuned           ? 0
                             : options->evaluations == 0 ? AK_EVALUATIONS_DEFAULT
                                                         : options->evaluations;
        AK_DO(ak_earlier_result(&m->tuned[i], m->tasks[i], m->archive, evaluations,
                                options->sanitize, err));
        if (m->tuned[i].found) {
            return AK_OK;
        }
    }
    return ak_tune(&m->tuned[i], m->tasks[i], m->archive, options, err);
}

static ak_status tune_one(ak_many *m, size_t i, ak_error *err)
{
    ak_tune_options options;
    ak_llm_options llm;
    share(&options, m, i);
    if (options.llm != NULL) {
        llm = ak_run_advisor_left(options.llm, m->result->llm.cost_usd, m->result->llm.tokens);
        options.llm = &llm;
    }
    ak_many_announce_phase(m, "size", i);
    AK_DO(tune_or_recall(m, i, &options, err));
    const ak_tune_result *tuned = &m->tuned[i];
    size_t used = tuned->evaluated + tuned->resumed;
    m->used += used < options.evaluations ? used : options.evaluations;
    /* With `tuned`, the earlier run of the size is a part of this run, so its evaluations count. */
    size_t tried = tuned->evaluated + (m->request->tuned ? tuned->resumed : 0);
    m->result->evaluated += tried;
    m->result->sizes[i].evaluated = tried;
    AK_DO(ak_copy_text(&m->result->sizes[i].run, tuned->run, err));
    AK_DO(add_llm(&m->result->llm, &tuned->llm, err));
    if (tuned->found) {
        give(m, tuned->best.config);
    }
    return AK_OK;
}

ak_status ak_many_tune_each(ak_many *m, ak_error *err)
{
    for (size_t i = 0; i < m->result->size_count && !ak_many_cancelled(m); i++) {
        AK_DO(tune_one(m, i, err));
    }
    return AK_OK;
}
