/* cover.c: see cover.h. Losses are kept as logarithms, so that the geometric mean is a sum. A
   size that a configuration cannot serve has an infinite loss. */
#include "measure/cover.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* Two sums that differ by less than this count as equal, so that the order of additions does not
   decide. */
#define SAME 1e-12

typedef struct chooser {
    size_t configs, sizes, k;
    double *loss; /* [config][size] */
    /* [depth][size]: least loss of the first `depth` configurations that are picked. greedy() uses
       only two rows: the first for the picked subset, the second as scratch. */
    double *low;
    size_t *picked; /* the subset that is being tried */
    size_t *best;
    size_t best_unserved; /* SIZE_MAX before the first subset */
    double best_sum, best_worst;
} chooser;

/* Returns the least time of `count` configurations, those in `chosen` or, if that is NULL, the
   first, at size `s`; 0 if none can be used there. */
static double fastest(const double *ms, const size_t *chosen, size_t count, size_t sizes, size_t s)
{
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        double t = ms[(chosen == NULL ? i : chosen[i]) * sizes + s];
        best = t > 0 && (best <= 0 || t < best) ? t : best;
    }
    return best;
}

/* Counts the sizes that nothing serves (their loss in `low` is infinite), adds up the losses of the
   others and finds the worst of them. */
static void measure(size_t *unserved, double *sum, double *worst, const chooser *x,
                    const double *low)
{
    *unserved = 0;
    *sum = *worst = 0;
    for (size_t s = 0; s < x->sizes; s++) {
        if (isfinite(low[s])) {
            *sum += low[s];
            *worst = low[s] > *worst ? low[s] : *worst;
        } else {
            (*unserved)++;
        }
    }
}

/* Compares the picked subset, whose loss at each size is `low`, with the best so far, and keeps the
   better one. Returns true if the picked one is better. */
static bool consider(chooser *x, const double *low)
{
    size_t unserved;
    double sum, worst;
    measure(&unserved, &sum, &worst, x, low);
    bool better =
        unserved < x->best_unserved ||
        (unserved == x->best_unserved &&
         (sum < x->best_sum - SAME || (sum < x->best_sum + SAME && worst < x->best_worst - SAME)));
    if (better) {
        x->best_unserved = unserved;
        x->best_sum = sum;
        x->best_worst = worst;
        memcpy(x->best, x->picked, x->k * sizeof *x->best);
    }
    return better;
}

/* Computes the losses after `config` is added to a subset with the losses `low`. */
static void add(double *to, const chooser *x, const double *low, size_t config)
{
    for (size_t s = 0; s < x->sizes; s++) {
        double loss = x->loss[config * x->sizes + s];
        to[s] = loss < low[s] ? loss : low[s];
    }
}

/* Tries every subset of k configurations in lexicographic order; the first of equal ones stays. */
static void try_all(chooser *x, size_t depth, size_t from)
{
    const double *low = x->low + depth * x->sizes;
    if (depth == x->k) {
        (void)consider(x, low);
        return;
    }
    for (size_t c = from; c + (x->k - depth) <= x->configs; c++) {
        x->picked[depth] = c;
        add(x->low + (depth + 1) * x->sizes, x, low, c);
        try_all(x, depth + 1, c + 1);
    }
}

/* Computes the losses of the picked subset without its member `left_out`. */
static void low_without(double *low, const chooser *x, size_t left_out)
{
    for (size_t s = 0; s < x->sizes; s++) {
        low[s] = INFINITY;
    }
    for (size_t i = 0; i < x->k; i++) {
        if (i != left_out) {
            add(low, x, low, x->picked[i]);
        }
    }
}

/* Returns the configuration that helps most if it is added to a subset with the losses `low`. */
static size_t most_helpful(const chooser *x, const double *low, double *scratch)
{
    size_t best = 0, best_unserved = SIZE_MAX;
    double best_sum = 0;
    for (size_t c = 0; c < x->configs; c++) {
        size_t unserved;
        double sum, worst;
        add(scratch, x, low, c);
        measure(&unserved, &sum, &worst, x, scratch);
        if (unserved < best_unserved || (unserved == best_unserved && sum < best_sum - SAME)) {
            best = c;
            best_unserved = unserved;
            best_sum = sum;
        }
    }
    return best;
}

/* Adds configurations one by one, then exchanges them as long as that helps. */
static void greedy(chooser *x)
{
    double *low = x->low, *scratch = x->low + x->sizes;
    for (size_t i = 0; i < x->k; i++) {
        x->picked[i] = most_helpful(x, low, scratch);
        add(low, x, low, x->picked[i]);
    }
    (void)consider(x, low);
    /* Every exchange that is kept lowers the sum or, at an equal sum, the worst loss; so the loop
       ends. */
    for (bool improved = true; improved;) {
        improved = false;
        for (size_t i = 0; i < x->k; i++) {
            size_t kept = x->picked[i];
            low_without(low, x, i);
            x->picked[i] = most_helpful(x, low, scratch);
            add(low, x, low, x->picked[i]);
            if (x->picked[i] == kept || !consider(x, low)) {
                x->picked[i] = kept;
            } else {
                improved = true;
            }
        }
    }
}

/* Returns the number of subsets of k among n. */
static double subsets(size_t n, size_t k)
{
    double count = 1;
    for (size_t i = 0; i < k; i++) {
        count *= (double)(n - i) / (double)(i + 1);
    }
    return count;
}

/* Writes the best subset in ascending order, without duplicates and without configurations that
   serve no size, and says which one serves each size. */
static void settle(ak_cover *p, const chooser *x)
{
    for (size_t c = 0; c < x->configs; c++) {
        bool serves = false, chosen = false;
        for (size_t i = 0; i < x->k; i++) {
            chosen = chosen || x->best[i] == c;
        }
        for (size_t s = 0; chosen && s < x->sizes && !serves; s++) {
            double mine = x->loss[c * x->sizes + s];
            serves = isfinite(mine);
            for (size_t i = 0; serves && i < x->k; i++) {
                double other = x->loss[x->best[i] * x->sizes + s];
                serves = mine < other || (mine <= other && c <= x->best[i]);
            }
        }
        if (serves) {
            p->chosen[p->count++] = c;
        }
    }
    for (size_t s = 0; s < x->sizes; s++) {
        for (size_t i = 1; i < p->count; i++) {
            size_t now = p->chosen[p->serves[s]];
            bool faster = x->loss[p->chosen[i] * x->sizes + s] < x->loss[now * x->sizes + s];
            p->serves[s] = faster ? i : p->serves[s];
        }
    }
}

static void chooser_clear(chooser *x)
{
    AK_FREE_ALL(x->best, x->picked, x->low, x->loss);
}

ak_status ak_cover_choose(ak_cover *out, const double *ms, size_t configs, size_t sizes, size_t k,
                          ak_error *err)
{
    AK_FAIL_IF(configs == 0 || sizes == 0 || k == 0, err, AK_INVALID,
               "there is nothing to choose from: %zu of %zu configurations for %zu sizes", k,
               configs, sizes);
    AK_AT_END(chooser_clear)
    chooser x = {.configs = configs,
                 .sizes = sizes,
                 .k = k < configs ? k : configs,
                 .best_unserved = SIZE_MAX};
    AK_AT_END(ak_cover_clear) ak_cover p = {0};
    AK_DO(AK_NEW(x.loss, configs * sizes, err));
    AK_DO(AK_NEW(x.low, (x.k + 2) * sizes, err));
    AK_DO(AK_NEW(x.picked, x.k, err));
    AK_DO(AK_NEW(x.best, x.k, err));
    AK_DO(AK_NEW(p.chosen, x.k, err));
    AK_DO(AK_NEW(p.serves, sizes, err));
    for (size_t s = 0; s < sizes; s++) {
        double best = fastest(ms, NULL, configs, sizes, s);
        for (size_t c = 0; c < configs; c++) {
            double t = ms[c * sizes + s];
            x.loss[c * sizes + s] = t > 0 ? log(t / best) : INFINITY;
        }
        x.low[s] = INFINITY;
    }
    p.exact = subsets(configs, x.k) <= AK_COVER_SUBSETS_MAX;
    if (p.exact) {
        try_all(&x, 0, 0);
    } else {
        greedy(&x);
    }
    settle(&p, &x);
    ak_cover_loss(&p.loss, ms, configs, sizes, p.chosen, p.count);
    AK_GIVE(out, p);
    return out->loss.unserved == 0
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND,
                         "no %zu of the %zu configuration%s together serve%s all %zu size%s", x.k,
                         configs, ak_plural(configs), x.k == 1 ? "s" : "", sizes, ak_plural(sizes));
}

void ak_cover_clear(ak_cover *cover)
{
    AK_FREE_ALL(cover->chosen, cover->serves);
    *cover = (ak_cover){0};
}

void ak_cover_loss(ak_loss *out, const double *ms, size_t configs, size_t sizes,
                   const size_t *chosen, size_t count)
{
    double sum = 0, worst = -1;
    size_t served = 0;
    *out = (ak_loss){0};
    for (size_t s = 0; s < sizes; s++) {
        double best = fastest(ms, NULL, configs, sizes, s);
        double mine = fastest(ms, chosen, count, sizes, s);
        if (mine <= 0) {
            out->unserved++;
            continue;
        }
        double loss = log(mine / best);
        served++;
        sum += loss;
        if (loss > worst) {
            worst = loss;
            out->worst_at = s;
        }
    }
    if (served > 0) {
        out->geomean = exp(sum / (double)served);
        out->worst = exp(worst);
    }
}
