#include "strategy/transfer.h"

#include <math.h>

#include "base/text.h"

enum {
    CONTROL = 5,       /* trials that a list is compared with before its first candidate is tried */
    CONTROL_SHARE = 6, /* a short run compares the list with only one trial in six */
    STANDS_OUT = 4,    /* a candidate proves the list if it is among the best quarter */
    SHARE = 10         /* each hit allows another tenth of the budget */
};

/* standard deviation of Kendall's rank correlation for five pairs of unrelated values */
#define CHANCE 0.41

void ak_transfer_open(ak_transfer *transfer, const ak_like *like)
{
    *transfer = (ak_transfer){.like = like, .best_ms = HUGE_VAL, .candidate_ms = HUGE_VAL};
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Returns true if the list orders the other trials about as well as itself: Kendall's rank
   correlation, without ties, may be below the list's reliability by one standard deviation of
   chance. An unrelated list that predicts its own order well passes against five other trials in 14
   of 120 cases. If no pair can be compared, the list passes. */
static bool order_holds(const ak_transfer *t)
{
    int agreed = 0, pairs = 0;
    for (size_t i = 0; i < t->others; i++) {
        for (size_t j = 0; j < i; j++) {
            int same =
                order(t->expected[i], t->expected[j]) * order(t->others_ms[i], t->others_ms[j]);
            agreed += same;
            pairs += same != 0;
        }
    }
    return agreed >= (ak_like_reliability(t->like) - CHANCE) * pairs;
}

static bool stands_out(const ak_transfer *t)
{
    size_t faster = 0;
    for (size_t i = 0; i < t->others; i++) {
        faster += t->others_ms[i] < t->candidate_ms;
    }
    return t->candidate_ms < HUGE_VAL && t->others >= CONTROL && faster * STANDS_OUT <= t->others;
}

/* Returns true if another candidate may be tried. For the first one the order must hold. Later the
   list must be trusted and its share of the budget not used up. Then there may be at most as many
   misses as hits, and at most as many candidates under way as hits, because each candidate under
   way may become a miss. If the budget is unknown, its share is one candidate, and one more for
   each hit. */
static bool trusted(const ak_transfer *t, size_t budget)
{
    if (t->begun == 0) {
        size_t control = budget == 0 ? CONTROL : ak_within(budget / CONTROL_SHARE, 1, CONTROL);
        return t->others >= control && order_holds(t);
    }
    size_t misses = t->ended - t->hits, share = ak_within(budget / SHARE, 1, SIZE_MAX);
    return t->trusted && misses <= t->hits && t->begun - t->ended <= t->hits &&
           t->begun < share * (1 + t->hits);
}

bool ak_transfer_next(ak_config *out, ak_transfer *t, size_t budget)
{
    const ak_config *list;
    if (t->like == NULL || !trusted(t, budget)) {
        return false;
    }
    size_t count = ak_like_candidates(&list, t->like), i = 0;
    while (i < count && t->state[i] != AK_TRANSFER_OPEN) {
        i++;
    }
    if (i == count) {
        return false;
    }
    *out = list[i];
    t->state[i] = AK_TRANSFER_BEGUN;
    t->begun++;
    return true;
}

/* Returns the index of a candidate; AK_LIKE_CANDIDATES_MAX if the configuration is not a
   candidate. */
static size_t index_of(const ak_transfer *t, const ak_config *config)
{
    const ak_config *list = NULL;
    size_t count = t->like == NULL ? 0 : ak_like_candidates(&list, t->like);
    size_t i = AK_FIND_SAME(list, count, at, config->at);
    return i < count ? i : AK_LIKE_CANDIDATES_MAX;
}

void ak_transfer_observe(ak_transfer *t, const ak_observation *observation)
{
    double ms = observation->ok ? observation->ms : HUGE_VAL;
    size_t i = index_of(t, observation->config);
    if (t->like == NULL) {
        return;
    }
    if (i < AK_LIKE_CANDIDATES_MAX && t->state[i] == AK_TRANSFER_BEGUN) {
        t->state[i] = AK_TRANSFER_ENDED;
        t->ms[i] = ms;
        t->ended++;
        t->hits += ms < t->best_ms;
        t->candidate_ms = fmin(t->candidate_ms, ms);
    } else {
        if (i < AK_LIKE_CANDIDATES_MAX) {
            t->state[i] = AK_TRANSFER_TAKEN;
        }
        if (t->others < AK_TRANSFER_OTHERS_MAX) {
            t->expected[t->others] = ak_like_expects(t->like, observation->config);
            t->others_ms[t->others++] = ms;
        }
    }
    t->best_ms = fmin(t->best_ms, ms);
    t->trusted = t->trusted || stands_out(t);
}

bool ak_transfer_tried(const ak_transfer *transfer, const ak_config *config)
{
    size_t i = index_of(transfer, config);
    return i < AK_LIKE_CANDIDATES_MAX && transfer->state[i] == AK_TRANSFER_ENDED;
}
