/* region.c: see region.h. Trials are sorted by time once; the median of a part of them is then
   found by counting. */
#include "report/region.h"

#include <math.h>
#include <stdlib.h>

/* A region and its complement each have at least a tenth of the trials, and at least this many. */
#define INSIDE_MIN 5
/* Number of the best single conditions that are combined with a second one. */
#define SEEDS 8
/* A second condition must improve the score by this factor, because a longer text is harder to
   read. */
#define SECOND_GAIN 1.1
/* A smaller ratio of the medians is not reported. */
#define RATIO_MIN 1.05

typedef enum relation { IS, AT_LEAST, AT_MOST } relation;

typedef struct condition {
    size_t feature;
    uint16_t level;
    relation relation;
    double score; /* of this condition alone */
} condition;

typedef struct finder {
    const ak_region_data *data;
    size_t *order; /* trials, fastest first */
    bool fastest;
    condition *conditions; /* best first */
    size_t count, capacity;
} finder;

typedef struct part {
    size_t inside;
    double ratio; /* median outside over median inside */
    double score; /* 0: not usable */
} part;

static bool holds(const finder *f, const condition *c, size_t trial)
{
    uint16_t level = f->data->rows[trial * f->data->features->count + c->feature];
    return c->relation == IS         ? level == c->level
           : c->relation == AT_LEAST ? level >= c->level
                                     : level <= c->level;
}

/* The sum and the median of n sorted values, which tell() takes one by one. The median is the mean
   of the values with the indices (n - 1) / 2 and n / 2, which are the same if n is odd. */
typedef struct median {
    size_t n, seen;
    double middle; /* the median, after all values were added */
    double sum;
} median;

static void tell(median *m, double y)
{
    m->middle += m->seen == (m->n - 1) / 2 ? y / 2 : 0;
    m->middle += m->seen == m->n / 2 ? y / 2 : 0;
    m->sum += y;
    m->seen++;
}

static void judge(part *out, const finder *f, const condition *first, const condition *second)
{
    size_t count = f->data->count, least = count / 10 < INSIDE_MIN ? INSIDE_MIN : count / 10;
    *out = (part){0};
    for (size_t i = 0; i < count; i++) {
        out->inside += holds(f, first, i) && (second == NULL || holds(f, second, i)) ? 1 : 0;
    }
    if (out->inside < least || count - out->inside < least) {
        return;
    }
    median in = {.n = out->inside}, rest = {.n = count - out->inside};
    for (size_t i = 0; i < count; i++) {
        size_t trial = f->order[i];
        bool inside = holds(f, first, trial) && (second == NULL || holds(f, second, trial));
        tell(inside ? &in : &rest, f->data->y[trial]);
    }
    double faster = rest.sum / (double)rest.n - in.sum / (double)in.n;
    out->ratio = exp(rest.middle - in.middle);
    out->score =
        (f->fastest ? faster : -faster) * sqrt((double)in.n * (double)rest.n / (double)count);
    out->score = out->score > 0 ? out->score : 0;
}

static int by_score(const void *a, const void *b)
{
    const condition *x = a, *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    if (x->feature != y->feature) {
        return x->feature < y->feature ? -1 : 1;
    }
    return x->relation != y->relation ? (int)x->relation - (int)y->relation
                                      : (int)x->level - (int)y->level;
}

static ak_status add(finder *f, size_t feature, size_t level, relation how, ak_error *err)
{
    condition c = {.feature = feature, .level = (uint16_t)level, .relation = how};
    part p;
    judge(&p, f, &c, NULL);
    c.score = p.score;
    AK_DO(AK_GROW(f->conditions, &f->capacity, f->count + 1, err));
    f->conditions[f->count++] = c;
    return AK_OK;
}

static ak_status list_conditions(finder *f, ak_error *err)
{
    const ak_features *features = f->data->features;
    for (size_t c = 0; c < features->count; c++) {
        size_t levels = features->column[c].levels;
        for (size_t v = 0; v < levels; v++) {
            AK_DO(add(f, c, v, IS, err));
            /* At the lowest and the highest value, >= and <= hold for all trials or mean the same
               as =. */
            if (features->column[c].ordered && v > 0 && v + 1 < levels) {
                AK_DO(add(f, c, v, AT_LEAST, err));
                AK_DO(add(f, c, v, AT_MOST, err));
            }
        }
    }
    if (f->count > 0) {
        qsort(f->conditions, f->count, sizeof *f->conditions, by_score);
    }
    return AK_OK;
}

static void put_condition(ak_buf *out, const finder *f, const condition *c)
{
    static const char *const signs[] = {[IS] = "=", [AT_LEAST] = ">=", [AT_MOST] = "<="};
    const ak_importance_parameter *p =
        &f->data->parameters[f->data->features->column[c->feature].parameter];
    ak_buf_print(out, "%s%s%s%s", out->length == 0 ? "" : " and ", p->name, signs[c->relation],
                 p->values[c->level].text);
}

static ak_status choose(ak_importance_region *out, const finder *f, ak_error *err)
{
    const condition *first = NULL, *second = NULL;
    part best = {0}, alone = {0};
    if (f->count > 0 && f->conditions[0].score > 0) {
        first = &f->conditions[0];
        judge(&best, f, first, NULL);
        alone = best;
    }
    for (size_t i = 0; i < f->count && i < SEEDS && f->conditions[i].score > 0; i++) {
        for (size_t j = 0; j < f->count; j++) {
            part p;
            if (f->conditions[j].feature == f->conditions[i].feature) {
                continue;
            }
            judge(&p, f, &f->conditions[i], &f->conditions[j]);
            if (p.score > best.score && p.score > SECOND_GAIN * alone.score) {
                best = p;
                first = &f->conditions[i];
                second = &f->conditions[j];
            }
        }
    }
    double ratio = f->fastest ? best.ratio : 1 / best.ratio;
    if (first == NULL || !(ratio >= RATIO_MIN)) {
        return AK_OK;
    }
    ak_buf text = AK_BUF(1u << 18);
    put_condition(&text, f, first);
    if (second != NULL) {
        put_condition(&text, f, second);
    }
    ak_status status = ak_buf_take(&out->text, &text, err);
    out->ratio = best.ratio;
    out->trials = best.inside;
    out->others = f->data->count - best.inside;
    return status;
}

/* Sorts by rising y, ties by index. This is a merge sort, because the comparison function of qsort
   gets no context. */
static void sort_by_time(size_t *order, size_t *scratch, size_t count, const double *y)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = at + width < count ? at + width : count;
            size_t end = at + 2 * width < count ? at + 2 * width : count;
            size_t a = at, b = middle;
            for (size_t i = at; i < end; i++) {
                bool left = a < middle && (b >= end || y[order[a]] <= y[order[b]]);
                scratch[i] = order[left ? a++ : b++];
            }
        }
        memcpy(order, scratch, count * sizeof *order);
    }
}

ak_status ak_region_find(ak_importance_region *out, const ak_region_data *data, bool fastest,
                         ak_error *err)
{
    finder f = {.data = data, .fastest = fastest};
    size_t *scratch = ak_alloc(data->count, sizeof *scratch);
    f.order = ak_alloc(data->count, sizeof *f.order);
    ak_status status = AK_OK;
    AK_TRY(ak_stored(f.order != NULL && scratch != NULL, err));
    for (size_t i = 0; i < data->count; i++) {
        f.order[i] = i;
    }
    sort_by_time(f.order, scratch, data->count, data->y);
    AK_TRY(list_conditions(&f, err));
    AK_TRY(choose(out, &f, err));
out:
    AK_FREE_ALL(scratch, f.order, f.conditions);
    return status;
}
