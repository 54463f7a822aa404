/*
 * recording.c: computes those figures of a recording that need no search: its facts, the cut-offs
 * of the score, and the expected course of random search.
 *
 * The statistics, the cut-off and the expected random search are the method of Willemsen et al.,
 * "A methodology for comparing optimization algorithms for auto-tuning", Future Generation
 * Computer Systems, 2024, doi 10.1016/j.future.2024.05.021, in its simple form.
 */
#include "recording/recording.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/stats.h"

/* The score is taken between the cut-offs at these fractions, as in section 3.3 of the paper. */
#define CUTOFF_FIRST 0.01
#define CUTOFF_LAST  0.95

ak_status ak_recording_space_new(ak_space **out, const ak_recording *recording, ak_error *err)
{
    ak_space_spec spec = {.definition = recording->definition,
                          .allow_numerics = true,
                          .where = recording->path,
                          .listed = recording->configs,
                          .listed_count = recording->count};
    return ak_space_build(out, &spec, err);
}

void ak_recording_draw_default(ak_space *space, const ak_recording *recording, uint64_t seed)
{
    if (!recording->has_default) {
        ak_rng rng;
        ak_config config;
        ak_rng_seed(&rng, ~seed); /* a random stream other than the strategy's */
        ak_space_sample(&config, space, &rng);
        ak_space_set_default(space, &config);
    }
}

/* The cut-off of the score is the point at which random search is expected to have covered the
   fraction `p` of the way from the median to the optimum (see ak_simulate). */
typedef struct cutoff {
    double target; /* minimised objective */
    size_t evaluations;
    double seconds;
} cutoff;

static void find_cutoff(cutoff *out, const ak_recording *recording, double p)
{
    const double *values = recording->ascending;
    size_t ok = recording->facts.ok, good = 0;
    assert(ok > 0); /* ak_recording_summarise refuses a recording without a result */
    double optimum = values[0], median = ak_stats_median(values, ok);
    out->target = optimum + (median - optimum) * (1 - p);
    while (good < ok && values[good] <= out->target) {
        good++;
    }
    /* If `ok` values are drawn without replacement, the first of the `good` best is expected after
       ceil(worse / (good + 1)) draws. */
    size_t worse = ok - good;
    out->evaluations = (worse + good) / (good + 1);
    out->seconds = (double)out->evaluations * recording->facts.seconds_median;
}

ak_status ak_recording_summarise(ak_recording *recording, ak_error *err)
{
    size_t count = recording->count, ok = 0;
    long double spent_ok = 0, spent_failed = 0;
    AK_FREED double *seconds = NULL;
    AK_DO(AK_NEW(seconds, count, err));
    AK_DO(AK_NEW(recording->ascending, count, err));
    for (size_t i = 0; i < count; i++) {
        const ak_record *record = &recording->records[i];
        seconds[i] = record->seconds;
        if (record->status == AK_TRIAL_OK) {
            recording->ascending[ok++] = ak_recording_minimised(recording, record);
            spent_ok += record->seconds;
        } else {
            spent_failed += record->seconds;
        }
    }
    ak_stats_sort(seconds, count);
    ak_recording_facts *facts = &recording->facts;
    *facts = (ak_recording_facts){.kernel = recording->kernel,
                                  .device = recording->device,
                                  .size = recording->size,
                                  .objective = recording->objective,
                                  .maximise = recording->maximise,
                                  .left_out = recording->left_out,
                                  .configurations = count,
                                  .ok = ok,
                                  .seconds_median = ak_stats_median(seconds, count)};
    AK_FAIL_IF(ok == 0, err, AK_INVALID, "%s: no configuration worked when it was recorded",
               recording->path);
    ak_stats_sort(recording->ascending, ok);
    double sign = recording->maximise ? -1 : 1;
    size_t failed = count - ok;
    facts->optimum = sign * recording->ascending[0];
    facts->median = sign * ak_stats_median(recording->ascending, ok);
    /* The mean cost of a configuration that worked, plus the mean cost of one that failed times the
       share of those that failed. */
    facts->seconds_each = (double)(spent_ok / (long double)ok);
    if (failed > 0) {
        facts->seconds_each +=
            (double)failed / (double)count * (double)(spent_failed / (long double)failed);
    }
    cutoff at;
    find_cutoff(&at, recording, CUTOFF_FIRST);
    facts->first_seconds = at.seconds;
    find_cutoff(&at, recording, CUTOFF_LAST);
    facts->target = sign * at.target;
    facts->evaluations = at.evaluations;
    facts->last_seconds = at.seconds;
    return AK_OK;
}

void ak_recording_close(ak_recording *recording)
{
    if (recording != NULL) {
        ak_space_free(recording->space);
        json_decref(recording->definition);
        json_decref(recording->environment);
        AK_FREE_ALL(recording->configs, recording->records, recording->ascending, recording->path,
                    recording->kernel, recording->device, recording->size, recording->objective,
                    recording->unit, recording->implementation, recording->dtype,
                    recording->choices, recording->rank, recording->stated_rank);
        ak_scope_free(recording->constants);
        ak_scope_free(recording->device_facts);
        ak_free(recording);
    }
}

/* ---- access ---------------------------------------------------------------------------------- */

const ak_space *ak_recording_space(const ak_recording *recording)
{
    return recording->space;
}

const ak_recording_facts *ak_recording_describe(const ak_recording *recording)
{
    return &recording->facts;
}

void ak_recording_at(ak_recorded *out, const ak_recording *recording, uint64_t index)
{
    const ak_record *record = &recording->records[index];
    *out = (ak_recorded){.config = recording->configs[index],
                         .status = record->status,
                         .value = record->value,
                         .seconds = record->seconds};
}

bool ak_recording_is_timed(const ak_recording *recording)
{
    return strcmp(recording->objective, "time") == 0;
}

double ak_recording_minimised(const ak_recording *recording, const ak_record *record)
{
    return recording->maximise ? -record->value : record->value;
}

double ak_recording_time(const ak_recording *recording, const ak_record *record)
{
    return recording->maximise ? 1 / record->value : record->value;
}

double ak_recording_ms(const ak_recording *recording, const ak_record *record)
{
    return ak_recording_is_timed(recording) ? record->value : record->ms;
}

double ak_recording_least(const ak_recording *recording,
                          double (*of)(const ak_recording *, const ak_record *))
{
    double least = 0;
    for (size_t i = 0; i < recording->count; i++) {
        const ak_record *record = &recording->records[i];
        double one = record->status == AK_TRIAL_OK ? of(recording, record) : 0;
        least = one > 0 && (least <= 0 || one < least) ? one : least;
    }
    return least;
}

/* ---- expected course of random search -------------------------------------------------------- */

double ak_recording_baseline(const ak_recording *recording, double seconds)
{
    double n = (double)recording->facts.ok;
    double draws = nearbyint(seconds / recording->facts.seconds_each);
    draws = draws < 1 ? 1 : draws;
    double place = nearbyint(draws * (n + 1) / (draws + 1)); /* expected rank of the best draw, from
                                                                the worst */
    place = place > n - 1 ? n - 1 : place;
    return recording->ascending[(size_t)(n - 1 - place)];
}
