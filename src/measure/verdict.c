#include "measure/verdict.h"

#include <math.h>

#include "base/alloc.h"

enum {
    TRIM_FROM = 6, /* with fewer groups, none is trimmed */
    TRIM_PART = 8, /* of TRIM_FROM or more, one in TRIM_PART is trimmed at each end, at least one */
    GROUPS_MIN = 3, /* with fewer whole groups, each round counts as a group */
    /* Disturbed rounds are left out if every group has undisturbed ones, or if at least this many
       groups and half of all groups have some. */
    CLEAN_MIN = 4
};

const char *ak_speed_verdict_text(ak_speed_verdict verdict)
{
#define WORD(name, word) word,
    static const char *const words[] = {AK_SPEED_MAP(WORD)};
#undef WORD
    return words[(size_t)verdict < AK_COUNT(words) ? verdict : AK_SPEED_NONE];
}

static const struct {
    const char *word, *sentence;
} doubts[] = {
#define DOUBT(name, word, sentence) {word, sentence},
    AK_DOUBT_MAP(DOUBT)
#undef DOUBT
};

const char *ak_speed_doubt_text(ak_speed_doubt doubt)
{
    return doubts[(size_t)doubt < AK_COUNT(doubts) ? doubt : AK_DOUBT_NONE].word;
}

const char *ak_speed_doubt_sentence(ak_speed_doubt doubt)
{
    return doubts[(size_t)doubt < AK_COUNT(doubts) ? doubt : AK_DOUBT_NONE].sentence;
}

/* Returns the 97.5 % quantile of Student's t (Fisher and Yates, Statistical Tables, table III);
   beyond 30 degrees of freedom, returns the quantile for 30, which is slightly larger. */
static double student(size_t freedom)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    size_t known = AK_COUNT(t);
    return freedom == 0 ? INFINITY : t[freedom <= known ? freedom - 1 : known - 1];
}

static double median(double *values, size_t count)
{
    ak_stats_sort(values, count);
    return ak_stats_median(values, count);
}

/* Sorts the logarithms of the groups' ratios and computes statistics of the ratios: `median` is the
   mean of the logarithms, as a ratio, trimmed from TRIM_FROM groups on, with the interval of Tukey
   and McLaughlin (verdict.h). */
static void describe(ak_stats *out, double *values, size_t count)
{
    size_t trim = count < TRIM_FROM ? 0 : count / TRIM_PART > 1 ? count / TRIM_PART : 1;
    size_t kept = count - 2 * trim;
    double sum = 0.0, mean = 0.0, square = 0.0;
    ak_stats_sort(values, count);
    for (size_t i = trim; i < count - trim; i++) {
        sum += values[i];
    }
    for (size_t i = 0; i < count; i++) {
        /* Winsorised: a trimmed value counts as the nearest value that is kept. */
        size_t at = i < trim ? trim : i >= count - trim ? count - trim - 1 : i;
        mean += values[at] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i < trim ? trim : i >= count - trim ? count - trim - 1 : i;
        square += (values[at] - mean) * (values[at] - mean);
    }
    double centre = sum / (double)kept, n = (double)count;
    double error = sqrt(square / (n - 1)) / ((double)kept / n * sqrt(n));
    double half = student(kept - 1) * error;
    *out = (ak_stats){.median = exp(centre),
                      .low = exp(centre - half),
                      .high = exp(centre + half),
                      .min = exp(values[0]),
                      .max = exp(values[count - 1]),
                      .mean = exp(mean),
                      .count = count};
}

typedef struct pairs {
    const double *numerator, *denominator;
    const bool *disturbed;
    size_t count, group;
    double *room; /* scratch for the rounds of a group */
} pairs;

/* Computes the median of each group and returns the number of groups that have a median. With
   `clean`, only undisturbed rounds count. */
static size_t medians(double *out, const pairs *p, bool clean)
{
    size_t groups = 0;
    for (size_t first = 0; first < p->count; first += p->group) {
        size_t kept = 0;
        for (size_t i = first; i < p->count && i < first + p->group; i++) {
            bool usable =
                p->numerator[i] > 0 && p->denominator[i] > 0 && !(clean && p->disturbed[i]);
            if (usable) {
                p->room[kept++] = log(p->numerator[i] / p->denominator[i]);
            }
        }
        if (kept > 0) {
            out[groups++] = median(p->room, kept);
        }
    }
    return groups;
}

bool ak_verdict_ratio(ak_stats *out, const double *numerator, const double *denominator,
                      const bool *disturbed, size_t count, size_t group)
{
    pairs p = {.numerator = numerator,
               .denominator = denominator,
               .disturbed = disturbed,
               .count = count,
               .group = group == 0 || count < GROUPS_MIN * group ? 1 : group};
    AK_FREED double *values = ak_alloc(2 * count + 1, sizeof *values);
    ak_stats_of(out, NULL, 0); /* NaN */
    if (values == NULL) {
        return false;
    }
    p.room = values + count;
    size_t groups = (count + p.group - 1) / p.group;
    size_t found = medians(values, &p, disturbed != NULL);
    bool clean = found == groups || (found >= CLEAN_MIN && 2 * found >= groups);
    if (!clean) {
        found = medians(values, &p, false);
    }
    if (found > 1) {
        describe(out, values, found);
    }
    return clean;
}

double ak_verdict_deviation(double ratio)
{
    return ratio > 0 ? (ratio < 1 ? 1 / ratio : ratio) - 1 : (double)NAN;
}

bool ak_verdict_busy(const ak_noise *noise)
{
    return noise->pressure > AK_VERDICT_BUSY_ALONE ||
           (noise->pressure > AK_VERDICT_BUSY && 4 * noise->disturbed > noise->rounds);
}

bool ak_verdict_decides(double low, double high)
{
    return low > 0 && high <= AK_VERDICT_WIDEST * low;
}

/* Returns whether a ratio was the same in all rounds but for rounding. Then it is a ratio of values
   that no scheduler changes, such as the bytes of code, which may be the objective. */
static bool is_exact(const ak_stats *ratio)
{
    return ratio->high <= ratio->low * (1 + 1e-9);
}

static ak_speed_verdict doubt(ak_speed_doubt *out, ak_speed_doubt why)
{
    *out = why;
    return AK_SPEED_UNDECIDED;
}

ak_speed_verdict ak_verdict_doubt(ak_speed_doubt *out, const ak_stats *ratio,
                                  const ak_stats *control, bool clean)
{
    *out = AK_DOUBT_NONE;
    if (control != NULL && !ak_verdict_decides(control->low, control->high)) {
        return doubt(out, AK_DOUBT_CONTROL);
    }
    if (!ak_verdict_decides(ratio->low, ratio->high)) {
        return doubt(out, AK_DOUBT_VARIES);
    }
    double same = 1 + (control == NULL ? 0 : ak_verdict_deviation(control->median));
    double least = same > AK_VERDICT_LEAST ? same : AK_VERDICT_LEAST;
    if (ratio->low <= least && ratio->high >= 1 / least) {
        return least <= AK_VERDICT_WIDEST ? AK_SPEED_TIE : doubt(out, AK_DOUBT_CONTROL);
    }
    if (!clean && !is_exact(ratio)) {
        return doubt(out, AK_DOUBT_BUSY);
    }
    if (control != NULL) {
        double most = control->high > 1 / control->low ? control->high : 1 / control->low;
        if (ratio->low <= most && ratio->high >= 1 / most) {
            return doubt(out, AK_DOUBT_CONTROL);
        }
    }
    return ratio->low > least ? AK_SPEED_FASTER : AK_SPEED_SLOWER;
}
