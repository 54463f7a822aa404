/* prompt_coverage.c: writes what the trials cover: for each parameter, its values with their trials
   and best results; for each kind of configuration, its share of the space and its trials. A kind
   is a combination of values of the switches, which are the parameters with the fewest values. */

#include "base/number.h"
#include "llm/prompt_view.h"

/* With fewer trials the values are not written, because nearly all are untried, and the kinds take
   one line if all occur. */
#define COVERAGE_LEAST 4
#define VALUES_LISTED  32 /* entries of a parameter that are listed: values and untried runs */
#define RUN_LISTED     4  /* longer runs of untried values are shown as a range */
/* Most kinds, most switches, and most values that a switch may have. */
#define KINDS_MAX     16
#define SWITCHES_MAX  4
#define SWITCH_VALUES 4
/* A kind with fewer trials than OPEN_TRIALS is open. */
#define OPEN_TRIALS 2
/* Once THIN_TRIALS trials were made, a kind that was tried is thin if it has less than THIN_PART of
   the trials that its share of the space would give it. */
#define THIN_PART   0.5
#define THIN_TRIALS 12
/* The spread of a kind is the time (or cost) of its worst trial over that of its best. The median
   over the kinds with SPREAD_LEAST successful trials or more is shown if it is SPREAD_SHOWN or more
   and a kind is open. */
#define SPREAD_LEAST 3
#define SPREAD_SHOWN 1.2
/* In a space with more than SHARE_SAMPLES configurations the shares of kinds are estimated from
   that many, drawn with a fixed seed, so that the same input gives the same text. */
#define SHARE_SAMPLES 4096
#define SHARE_SEED    1

/* ---- values ---------------------------------------------------------------------------------- */

/* What is known about the trials that have one value of a parameter, or that are of one kind. */
typedef struct known {
    size_t trials, ok;
    size_t best, worst; /* numbers of the best and the worst trial; 0 if all failed */
} known;

static void learn(known *k, const ak_prompt_view *v, size_t number)
{
    const ak_experience *t = ak_prompt_trial(v, number);
    k->trials++;
    if (t->status == AK_TRIAL_OK) {
        k->ok++;
        k->best = k->best == 0 || t->ms < ak_prompt_trial(v, k->best)->ms ? number : k->best;
        k->worst = k->worst == 0 || t->ms > ak_prompt_trial(v, k->worst)->ms ? number : k->worst;
    }
}

static known known_of(const ak_prompt_view *v, size_t p, size_t value)
{
    known k = {0};
    for (size_t i = 0; i < v->history->count; i++) {
        if (v->history->trials[i].config.at[p] == value) {
            learn(&k, v, i + 1);
        }
    }
    return k;
}

/* Writes a run of values that were never tried, from `first` to `last`: "80, 96 untried". */
static void put_run(ak_buf *out, const ak_space *space, size_t p, size_t first, size_t last,
                    size_t count)
{
    size_t shown = 0;
    for (size_t value = first; value <= last; value++) {
        if (!ak_space_occurs(space, p, value) ||
            (count > RUN_LISTED && value != first && value != last)) {
            continue;
        }
        ak_buf_puts(out, shown++ == 0 ? "" : count > RUN_LISTED ? " .. " : ", ");
        ak_prompt_value(out, space, p, value);
    }
    if (count > RUN_LISTED) {
        ak_buf_print(out, " (%zu values)", count);
    }
    ak_buf_puts(out, " untried");
}

/* Writes "- NAME: 16 x4 1.3 ms; 32, 48 untried; 64 x2 failed". */
static void put_parameter(ak_buf *out, const ak_prompt_view *v, size_t p)
{
    const ak_space *space = v->brief->space;
    size_t run = 0, first = 0, last = 0, shown = 0;
    ak_buf_print(out, "- %s:", ak_space_parameter(space, p)->name);
    for (size_t value = 0; value <= ak_space_parameter(space, p)->value_count; value++) {
        bool inside = value < ak_space_parameter(space, p)->value_count;
        if (inside && !ak_space_occurs(space, p, value)) {
            continue;
        }
        known k = inside ? known_of(v, p, value) : (known){0};
        if (inside && k.trials == 0) {
            first = run++ == 0 ? value : first;
            last = value;
            continue;
        }
        if (run > 0) {
            ak_buf_puts(out, shown++ == 0 ? " " : "; ");
            put_run(out, space, p, first, last, run);
            run = 0;
        }
        if (inside && shown < VALUES_LISTED) {
            ak_buf_puts(out, shown++ == 0 ? " " : "; ");
            ak_prompt_value(out, space, p, value);
            ak_buf_print(out, " x%zu", k.trials);
            if (k.best == 0) {
                ak_buf_puts(out, " failed");
            } else {
                ak_buf_putc(out, ' ');
                ak_objective_print(out, v->brief->objective, ak_prompt_trial(v, k.best)->ms);
            }
        } else if (inside) {
            ak_buf_puts(out, "; ...");
            break;
        }
    }
    ak_buf_putc(out, '\n');
}

/* ---- kinds ----------------------------------------------------------------------------------- */

typedef struct kinds {
    size_t switches[SWITCHES_MAX], switch_count;
    size_t count; /* combinations of the switches' values; some may not be valid */
    double share[KINDS_MAX];
    known of[KINDS_MAX];
} kinds;

/* Chooses parameters with 2 to SWITCH_VALUES values as switches, those with the fewest first, as
   long as there are at most SWITCHES_MAX switches and KINDS_MAX kinds. */
static void choose_switches(kinds *k, const ak_space *space)
{
    k->count = 1;
    for (size_t values = 2; values <= SWITCH_VALUES; values++) {
        for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
            if (ak_space_occurring(space, p) == values && k->switch_count < SWITCHES_MAX &&
                k->count * values <= KINDS_MAX) {
                k->switches[k->switch_count++] = p;
                k->count *= values;
            }
        }
    }
}

/* Returns the position of a value among the values of its parameter that occur. */
static size_t place_of(const ak_space *space, size_t p, size_t value)
{
    size_t place = 0;
    for (size_t i = 0; i < value; i++) {
        place += ak_space_occurs(space, p, i);
    }
    return place;
}

static size_t kind_of(const kinds *k, const ak_space *space, const ak_config *config)
{
    size_t kind = 0;
    for (size_t s = 0; s < k->switch_count; s++) {
        size_t p = k->switches[s];
        kind = kind * ak_space_occurring(space, p) + place_of(space, p, config->at[p]);
    }
    return kind;
}

/* Computes the share of the space that each kind has; for a large space, estimates it. */
static void take_shares(kinds *k, const ak_space *space)
{
    ak_rng rng;
    ak_config config;
    uint64_t all = ak_space_count(space), drawn = all < SHARE_SAMPLES ? all : SHARE_SAMPLES;
    ak_rng_seed(&rng, SHARE_SEED);
    for (uint64_t i = 0; i < drawn; i++) {
        if (drawn == all) {
            ak_space_at(&config, space, i);
        } else {
            ak_space_sample(&config, space, &rng);
        }
        k->share[kind_of(k, space, &config)] += 1 / (double)drawn;
    }
}

static void take_trials(kinds *k, const ak_prompt_view *v)
{
    for (size_t i = 0; i < v->history->count; i++) {
        const ak_experience *t = &v->history->trials[i];
        learn(&k->of[kind_of(k, v->brief->space, &t->config)], v, i + 1);
    }
}

/* Returns the index of the value that switch `s` has in a kind. */
static size_t value_of(const kinds *k, const ak_space *space, size_t kind, size_t s)
{
    size_t left = k->count, value = 0;
    for (size_t i = 0; i <= s; i++) {
        left /= ak_space_occurring(space, k->switches[i]);
    }
    size_t p = k->switches[s], place = kind / left % ak_space_occurring(space, p);
    while (!ak_space_occurs(space, p, value) || place_of(space, p, value) != place) {
        value++;
    }
    return value;
}

/* Returns the next kind to show: first those with a result, the best first; then those whose trials
   all failed; then the untried ones, the largest share first. Returns SIZE_MAX if all that were
   tried or have a share are shown. */
static size_t next_kind(const kinds *k, const ak_prompt_view *v, const bool shown[KINDS_MAX])
{
    size_t next = SIZE_MAX;
    double least = 0;
    for (size_t i = 0; i < k->count; i++) {
        const known *of = &k->of[i];
        double rank = of->best != 0     ? ak_prompt_trial(v, of->best)->ms
                      : of->trials != 0 ? 1e300
                                        : 1e301 * (2 - k->share[i]);
        bool exists = of->trials > 0 || k->share[i] > 0;
        if (exists && !shown[i] && (next == SIZE_MAX || rank < least)) {
            next = i;
            least = rank;
        }
    }
    return next;
}

static void put_kind_values(ak_buf *out, const kinds *k, const ak_space *space, size_t kind)
{
    for (size_t s = 0; s < k->switch_count; s++) {
        size_t p = k->switches[s];
        ak_buf_print(out, "%s%s=", s == 0 ? "" : ", ", ak_space_parameter(space, p)->name);
        ak_prompt_value(out, space, p, value_of(k, space, kind, s));
    }
}

/* Writes "x8 1.475 ms .. 3.343 ms (#11)": the trials of a kind, and the best and the worst
   result. */
static void put_known(ak_buf *out, const ak_prompt_view *v, const known *of)
{
    ak_buf_print(out, ", x%zu ", of->trials);
    if (of->best == 0) {
        ak_buf_puts(out, "failed");
        return;
    }
    ak_objective_print(out, v->brief->objective, ak_prompt_trial(v, of->best)->ms);
    if (of->worst != of->best) {
        ak_buf_puts(out, " .. ");
        ak_objective_print(out, v->brief->objective, ak_prompt_trial(v, of->worst)->ms);
    }
    ak_buf_print(out, " (#%zu)", of->best);
}

/* Returns the median of the spreads of all kinds with at least SPREAD_LEAST successful trials (the
   higher of the middle two, if their number is even); 0 if there is no such kind. */
static double spread_of(const kinds *k, const ak_prompt_view *v)
{
    double sorted[KINDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++) {
        if (k->of[i].ok >= SPREAD_LEAST) {
            double factor =
                ak_prompt_trial(v, k->of[i].worst)->ms / ak_prompt_trial(v, k->of[i].best)->ms;
            size_t at = count++;
            for (; at > 0 && sorted[at - 1] > factor; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = factor;
        }
    }
    return count == 0 ? 0 : sorted[count / 2];
}

static void put_kinds_title(ak_buf *out, const kinds *k, const ak_prompt_view *v)
{
    ak_buf_puts(out, "\n## Kinds: combinations of ");
    for (size_t s = 0; s < k->switch_count; s++) {
        ak_buf_print(out, "%s%s",
                     s == 0                    ? ""
                     : s + 1 < k->switch_count ? ", "
                                               : " and ",
                     ak_space_parameter(v->brief->space, k->switches[s])->name);
    }
    ak_buf_puts(out, "\n\n");
}

/* If every combination occurs, writes one line that says so in place of a list, and returns
   true. */
static bool put_all_kinds(ak_buf *out, const kinds *k)
{
    double least = 1, most = 0;
    for (size_t i = 0; i < k->count; i++) {
        least = k->share[i] < least ? k->share[i] : least;
        most = k->share[i] > most ? k->share[i] : most;
    }
    if (least > 0) {
        char low[AK_REAL_BYTES], high[AK_REAL_BYTES];
        const bool equal =
            strcmp(ak_number_short(low, least * 100, 2), ak_number_short(high, most * 100, 2)) == 0;
        ak_buf_print(out, "All %zu occur, each in %s%s%s %% of the space.\n", k->count, low,
                     equal ? "" : " to ", equal ? "" : high);
    }
    return least > 0;
}

static void put_kinds(ak_buf *out, ak_prompt_view *v)
{
    kinds k = {0};
    bool shown[KINDS_MAX] = {false};
    char number[AK_REAL_BYTES];
    choose_switches(&k, v->brief->space);
    if (k.switch_count < 2) {
        return;
    }
    take_shares(&k, v->brief->space);
    take_trials(&k, v);
    put_kinds_title(out, &k, v);
    if (v->history->count < COVERAGE_LEAST && put_all_kinds(out, &k)) {
        v->kinds = k.count;
        return;
    }
    for (size_t kind; (kind = next_kind(&k, v, shown)) != SIZE_MAX; shown[kind] = true) {
        const known *of = &k.of[kind];
        ak_buf_puts(out, "- ");
        put_kind_values(out, &k, v->brief->space, kind);
        ak_buf_print(out, ": %s %%%s", ak_number_short(number, k.share[kind] * 100, 2),
                     v->kinds == 0 ? " of the space" : "");
        if (of->trials > 0) {
            put_known(out, v, of);
        } else if (v->history->count > 0) {
            ak_buf_puts(out, ", never tried");
        }
        bool thin = v->history->count >= THIN_TRIALS && of->trials > 0 &&
                    (double)of->trials < THIN_PART * k.share[kind] * (double)v->history->count;
        ak_buf_puts(out, thin ? ", few for its share\n" : "\n");
        v->kinds++;
        v->kinds_open += of->trials < OPEN_TRIALS;
        v->open_share += of->trials < OPEN_TRIALS ? k.share[kind] : 0;
    }
    double spread = spread_of(&k, v);
    if (spread >= SPREAD_SHOWN && v->kinds_open > 0) {
        ak_buf_print(out,
                     "Within a kind that has several trials they lie a factor of %s apart, so "
                     "the first trial of a kind says little about its best.\n",
                     ak_number_short(number, spread, 2));
    }
}

void ak_prompt_coverage(ak_buf *out, ak_prompt_view *v)
{
    const ak_space *space = v->brief->space;
    if (v->history->count >= COVERAGE_LEAST) {
        ak_buf_puts(out, "\n## Values, with the number of their trials and their best time\n\n");
        for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
            if (ak_space_occurring(space, p) > 1) {
                put_parameter(out, v, p);
            }
        }
        ak_buf_puts(out, "That a value was not tried is no reason to try it.\n");
    }
    put_kinds(out, v);
}
