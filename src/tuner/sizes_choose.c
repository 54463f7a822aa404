/*
 * sizes_choose.c: chooses the few configurations that lose least against tuning each size
 * (measure/cover.h), and measures their losses once more, next to each size's own winner.
 *
 * The fastest of many measurements is partly luck, and so is the smallest loss. Therefore the
 * losses of the table are measured again after the choice.
 */
#include <assert.h>
#include <math.h>

#include "measure/cover.h"
#include "tuner/sizes_run.h"

/* The trade-off lists the losses of tables of up to this many configurations. */
#define TRADEOFF_MAX 8

/* Returns the loss of a configuration at a size relative to the size's winner, 1 or more; 0 if it
   cannot be used there. */
static double loss_at(const ak_sizes_result *result, size_t config, size_t size)
{
    const size_t at = config * result->size_count + size;
    const ak_speed *speed = &result->speeds[at];
    double loss = speed->ratio > 0        ? 1 / speed->ratio
                  : result->costs[at] > 0 ? result->costs[at] / result->sizes[size].cost
                                          : 0;
    return loss > 0 && loss < 1 ? 1 : loss;
}

/* Adds the loss of one size. An undecided loss is only counted; unless the verdict is "slower", the
   size loses nothing. */
static void add_loss(ak_sizes_loss *sum, double loss, ak_speed_verdict verdict, size_t size)
{
    if (verdict == AK_SPEED_UNDECIDED) {
        sum->open++;
        return;
    }
    loss = verdict == AK_SPEED_SLOWER ? loss : 1;
    sum->geomean += log(loss); /* a sum of logarithms until mean_of() */
    sum->worst_size = loss > sum->worst ? size : sum->worst_size;
    sum->worst = loss > sum->worst ? loss : sum->worst;
}

static void mean_of(ak_sizes_loss *sum, size_t sizes)
{
    const size_t decided = sizes - sum->open - sum->unusable;
    sum->geomean = decided > 0 ? exp(sum->geomean / (double)decided) : 0;
}

/* Computes the loss if each size is served by the best of the `chosen` configurations. */
static ak_sizes_loss loss_of(const ak_sizes_result *result, const size_t *chosen, size_t count)
{
    ak_sizes_loss sum = {.configs = count};
    for (size_t s = 0; s < result->size_count; s++) {
        double least = 0;
        size_t best = 0;
        for (size_t i = 0; i < count; i++) {
            double loss = loss_at(result, chosen[i], s);
            best = loss > 0 && (least <= 0 || loss < least) ? chosen[i] : best;
            least = loss > 0 && (least <= 0 || loss < least) ? loss : least;
        }
        if (least > 0) {
            add_loss(&sum, least, result->speeds[best * result->size_count + s].verdict, s);
        } else {
            sum.unusable++;
        }
    }
    mean_of(&sum, result->size_count);
    return sum;
}

static ak_status work_out_tradeoff(ak_many *m, const double *losses, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t most = result->config_count < TRADEOFF_MAX ? result->config_count : TRADEOFF_MAX;
    most = most < result->size_count ? most : result->size_count;
    AK_DO(AK_NEW(result->tradeoff, most, err));
    for (size_t k = 1; k <= most; k++) {
        AK_AT_END(ak_cover_clear) ak_cover p = {0};
        ak_status status =
            ak_cover_choose(&p, losses, result->config_count, result->size_count, k, err);
        if (status != AK_OK && status != AK_NOT_FOUND) {
            return status;
        }
        if (p.count < k) {
            break; /* more configurations would not help */
        }
        result->tradeoff[result->tradeoff_count++] = loss_of(result, p.chosen, p.count);
    }
    return AK_OK;
}

ak_status ak_many_choose(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    AK_AT_END(ak_cover_clear) ak_cover p = {0};
    AK_FREED double *losses = ak_alloc(result->config_count * result->size_count, sizeof *losses);
    AK_DO(ak_made(losses, err));
    AK_DO(AK_NEW(result->alone, result->config_count, err));
    for (size_t c = 0; c < result->config_count; c++) {
        for (size_t s = 0; s < result->size_count; s++) {
            losses[c * result->size_count + s] = loss_at(result, c, s);
        }
        result->alone[c] = loss_of(result, &c, 1);
    }
    ak_status status = work_out_tradeoff(m, losses, err);
    if (status == AK_OK) {
        status = ak_cover_choose(&p, losses, result->config_count, result->size_count,
                                 m->request->table, err);
    }
    if (status != AK_OK) {
        return status == AK_NOT_FOUND ? AK_OK : status;
    }
    for (size_t s = 0; s < result->size_count; s++) {
        ak_size_result *one = &result->sizes[s];
        assert(one->measured); /* holds because the choice serves every size */
        one->config = p.chosen[p.serves[s]];
        one->verdict = result->speeds[one->config * result->size_count + s].verdict;
        one->loss = loss_at(result, one->config, s);
        one->loss_low = one->loss_high = one->verdict == AK_SPEED_UNDECIDED ? 0 : one->loss;
    }
    result->exact = p.exact;
    result->table = p.chosen;
    result->table_count = p.count;
    p.chosen = NULL; /* now owned by the result */
    return AK_OK;
}

/* Sets the loss from the speed of the chosen configuration relative to the winner, and keeps the
   chosen configuration's speed relative to the library. */
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
    /* The library may have failed this time. */
    one->config_over_library = comparison->library < comparison->count
                                   ? ak_compared_speed(chosen)
                                   : (ak_speed){.verdict = AK_SPEED_NONE};
}

static ak_status measure_loss(ak_many *m, size_t size, ak_session *session,
                              const ak_config configs[2], ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    const char *const names[] = {"winner", "chosen", one->library};
    const ak_comparison_candidate candidates[] = {
        {.config = &configs[0]}, {.config = &configs[1]}, {.baseline = one->library_name}};
    ak_comparison_spec spec = {.candidates = candidates,
                               .names = names,
                               .count = one->library == NULL ? 2 : 3,
                               .control = true,
                               .twice = 0,
                               .fallback = 0};
    AK_AT_END(ak_comparison_result_clear) ak_comparison_result comparison = {0};
    one->verdict = AK_SPEED_UNDECIDED; /* until it was measured */
    ak_many_plan(&spec, m, 2 * ak_many_each(m), m->result->size_count - size);
    AK_DO(ak_session_comparison(&comparison, session, &spec, err));
    take_loss(one, &comparison);
    return ak_many_warn(m, size, &comparison, err);
}

/* Makes the chosen configuration the winner of a size if it has turned out to be better than the
   winner. */
static ak_status crown(ak_many *m, size_t size, ak_session *session, ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    if (one->verdict != AK_SPEED_FASTER) {
        return AK_OK;
    }
    const ak_speed over_old = {
        .ratio = 1 / one->loss, .low = 1 / one->loss_high, .high = 1 / one->loss_low};
    for (size_t c = 0; c < m->result->config_count; c++) {
        ak_many_rebase(&m->result->speeds[c * m->result->size_count + size], &over_old);
    }
    m->result->speeds[one->config * m->result->size_count + size] =
        (ak_speed){.ratio = 1, .low = 1, .high = 1};
    ak_many_set_winner(m, size, one->config);
    one->loss = one->loss_low = one->loss_high = 1;
    one->verdict = AK_SPEED_NONE;
    one->over_library = one->config_over_library;
    return ak_many_keep_winner(m, size, session, err);
}

static ak_status confirm_one(ak_many *m, size_t size, ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    const ak_task *task = m->tasks[size];
    AK_AT_END(ak_session_close) ak_session session = {0};
    const ak_pool_options options = {.cancel = m->options->cancel};
    ak_config configs[2];
    ak_many_announce_phase(m, "confirm", size);
    AK_DO(ak_session_open(&session, task, &options, err));
    AK_DO(ak_config_parse(&configs[0], task->space, m->result->configs[one->winner], err));
    AK_DO(ak_config_parse(&configs[1], task->space, m->result->configs[one->config], err));
    AK_DO(measure_loss(m, size, &session, configs, err));
    return crown(m, size, &session, err);
}

/* Computes the loss of the table over all sizes, without those whose verdict is undecided. */
static void sum_up(ak_sizes_result *result)
{
    result->loss = (ak_sizes_loss){.configs = result->table_count};
    for (size_t s = 0; s < result->size_count; s++) {
        add_loss(&result->loss, result->sizes[s].loss, result->sizes[s].verdict, s);
    }
    mean_of(&result->loss, result->size_count);
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
