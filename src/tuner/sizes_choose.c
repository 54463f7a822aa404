/*
 * sizes_choose.c: chooses the few configurations that lose least against tuning each size
 * (measure/cover.h), and measures their losses once more, next to each size's own winner.
 *
 * The fastest of many measurements is partly luck, and so is the smallest loss. Therefore the
 * reported losses are measured again after the choice.
 */
#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "measure/cover.h"
#include "tuner/sizes_run.h"

/* Largest number of configurations for which the loss is computed. */
#define TRADEOFF_MAX 8

static ak_status work_out_tradeoff(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t most = result->config_count < TRADEOFF_MAX ? result->config_count : TRADEOFF_MAX;
    most = most < result->size_count ? most : result->size_count;
    AK_DO(AK_NEW(result->tradeoff, most, err));
    for (size_t k = 1; k <= most; k++) {
        ak_cover p = {0};
        ak_status status =
            ak_cover_choose(&p, result->costs, result->config_count, result->size_count, k, err);
        if (status != AK_OK && status != AK_NOT_FOUND) {
            return status;
        }
        if (status == AK_OK && p.count < k) {
            ak_cover_clear(&p);
            break; /* more configurations would not help */
        }
        result->tradeoff[result->tradeoff_count++] = (ak_sizes_loss){.configs = k,
                                                                     .geomean = p.loss.geomean,
                                                                     .worst = p.loss.worst,
                                                                     .worst_size = p.loss.worst_at};
        ak_cover_clear(&p);
    }
    return AK_OK;
}

ak_status ak_many_choose(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    ak_cover p = {0};
    ak_status status = AK_OK;
    AK_TRY(work_out_tradeoff(m, err));
    AK_TRY(ak_cover_choose(&p, result->costs, result->config_count, result->size_count,
                           m->request->table, err));
out:
    if (status != AK_OK) {
        return status == AK_NOT_FOUND ? AK_OK : status;
    }
    for (size_t s = 0; s < result->size_count; s++) {
        ak_size_result *one = &result->sizes[s];
        assert(one->measured); /* holds because the choice serves every size */
        one->config = p.chosen[p.serves[s]];
        one->loss = result->costs[one->config * result->size_count + s] / one->cost;
        one->loss_low = one->loss_high = one->loss;
    }
    result->exact = p.exact;
    result->table = p.chosen;
    result->table_count = p.count;
    p.chosen = NULL;
    ak_cover_clear(&p);
    return AK_OK;
}

/* Sets the loss from the speed of the chosen configuration relative to the winner, and keeps its
   speed relative to the library. */
static void take_loss(ak_size_result *one, const ak_comparison_result *comparison)
{
    const ak_compared *chosen = &comparison->list[1];
    const ak_speed *speed = &chosen->over_default;
    if (speed->low > 0) {
        one->loss = 1 / speed->ratio;
        one->loss_low = 1 / speed->high;
        one->loss_high = 1 / speed->low;
        one->verdict = speed->verdict;
    }
    if (comparison->library < comparison->count) {
        one->config_over_library = ak_compared_speed(chosen);
    }
}

static ak_status measure_loss(ak_size_result *one, ak_session *session, const ak_config configs[2],
                              double seconds, ak_error *err)
{
    const char *const names[] = {"winner", "chosen", one->library};
    const ak_comparison_candidate candidates[] = {
        {.config = &configs[0]}, {.config = &configs[1]}, {.baseline = one->library_name}};
    const ak_comparison_spec spec = {.candidates = candidates,
                                     .names = names,
                                     .count = one->library == NULL ? 2 : 3,
                                     .control = true,
                                     .twice = 0,
                                     .fallback = 0,
                                     .seconds = seconds};
    ak_comparison_result comparison;
    one->verdict = AK_SPEED_UNDECIDED; /* until it was measured */
    AK_DO(ak_session_comparison(&comparison, session, &spec, err));
    take_loss(one, &comparison);
    ak_compared_free(comparison.list, spec.count);
    return AK_OK;
}

/* Makes the chosen configuration the winner of a size if it has turned out to be faster than the
   winner. */
static ak_status crown(ak_many *m, size_t size, ak_session *session, ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    if (one->verdict != AK_SPEED_FASTER) {
        return AK_OK;
    }
    ak_many_set_winner(m, size, one->config);
    one->loss = one->loss_low = one->loss_high = 1;
    one->verdict = AK_SPEED_NONE;
    one->over_library = one->config_over_library;
    return ak_many_keep_winner(m, size, session, err);
}

static ak_status confirm_one(ak_many *m, size_t size, ak_error *err)
{
    ak_status status = AK_OK;
    ak_size_result *one = &m->result->sizes[size];
    const ak_task *task = m->tasks[size];
    ak_session session;
    const ak_pool_options options = {.cancel = m->options->cancel};
    ak_config configs[2];
    ak_many_announce_phase(m, "confirm", size);
    AK_TRY(ak_session_open(&session, task, &options, err));
    AK_TRY(ak_config_parse(&configs[0], task->space, m->result->configs[one->winner], err));
    AK_TRY(ak_config_parse(&configs[1], task->space, m->result->configs[one->config], err));
    double seconds = ak_many_seconds(m, 2, 2 * ak_many_each(m), m->result->size_count - size);
    AK_TRY(measure_loss(one, &session, configs, seconds, err));
    AK_TRY(crown(m, size, &session, err));
out:
    ak_session_close(&session);
    return status;
}

/* Computes the loss of the table over the sizes whose verdict is decided. A tie is no loss. */
static void sum_up(ak_sizes_result *result)
{
    double sum = 0;
    ak_sizes_loss *loss = &result->loss;
    *loss = (ak_sizes_loss){.configs = result->table_count};
    for (size_t s = 0; s < result->size_count; s++) {
        const ak_size_result *one = &result->sizes[s];
        double its = one->verdict == AK_SPEED_SLOWER ? one->loss : 1;
        if (one->verdict == AK_SPEED_UNDECIDED) {
            loss->open++;
            continue;
        }
        sum += log(its);
        loss->worst_size = its > loss->worst ? s : loss->worst_size;
        loss->worst = its > loss->worst ? its : loss->worst;
    }
    if (loss->open < result->size_count) {
        loss->geomean = exp(sum / (double)(result->size_count - loss->open));
    }
}

ak_status ak_many_confirm(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    for (size_t s = 0; s < result->size_count; s++) {
        ak_size_result *one = &result->sizes[s];
        one->config_over_library = one->over_library;
        if (one->config != one->winner) {
            AK_DO(confirm_one(m, s, err));
        }
    }
    sum_up(result);
    return AK_OK;
}
