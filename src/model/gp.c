/*
 * gp.c: see gp.h.
 *
 * Let K be the similarities of the n rows, with the noise added to the diagonal, L its Cholesky
 * factor, and y the learned values less their priors. Then
 *
 *     mean(x)     = prior(x) + v . L^-1 y,           v = L^-1 k(x)
 *     variance(x) = scale * (k(x,x) - v . v),    scale = |L^-1 y|^2 / n
 *
 * The scale is that of the last ak_gp_learn or ak_gp_tune; before the first it is 1. A new row
 * appends one element to v, so each watched candidate keeps its v. L is stored as a triangle, row
 * by row.
 */
#include "model/gp.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    NOISE = 2 * AK_PARAMETERS_MAX,        /* index of the noise, which is tuned like the weights */
    ADDITIVE = 2 * AK_PARAMETERS_MAX + 1, /* index of the weight `a` of single parameters */
    HINT = 2 * AK_PARAMETERS_MAX + 2,     /* index of the weight of the hint */
    HYPER = 2 * AK_PARAMETERS_MAX + 3,
    TUNED_MAX = 128, /* most rows that the weights are tuned on; more rows cost much and change
                        little */
    LANES = 8,
    CHUNK = 16
};

#define VARIANCE_CONSTANT 1.0  /* variance of the level of all y, which is unknown at first */
#define VARIANCE_ALONE    0.5  /* variance of the sum of single parameters, at first */
#define VARIANCE_SLOPE    4.0  /* variance of the prior's slope; of the hint's, at first */
#define HINT_WORTH        0.5  /* a hint must raise the log likelihood by more than this */
#define NOMINAL           0.05 /* first weight of "they differ" relative to that of "how far" */
#define STEP              0.9  /* step in the log of a weight */
#define SPREAD            1.5  /* prior standard deviation of log(weight / start) */
#define LOG_LIMIT         5.0  /* largest absolute value of log(weight / start) */
/* least squared diagonal element; equal rows without noise need it */
#define DIAGONAL_MIN 1e-9
/* least scale, so that predictions stay uncertain if the rows fit exactly */
#define SCALE_MIN 1e-18

typedef struct watched {
    bool used;
    ak_point point;
    double self; /* the point's similarity to itself */
    double *v;
} watched;

typedef struct ranked {
    double y;
    size_t row;
} ranked;

struct ak_gp {
    const ak_features *features;
    size_t chunks;
    size_t rows_max, slots, count;
    float weight[HYPER]; /* start * exp(log_ratio); 0 for a hint that is left out (judge_hint) */
    double start[HYPER], log_ratio[HYPER];
    float weight_sum; /* sum of the weights of all distances */
    size_t next;      /* index of the weight that is tuned next */
    double prior_mean, hint_mean, scale;
    ak_point *points;
    double *y; /* of each row, less its prior */
    double *l, *half;
    double *tuned_l;
    ranked *order; /* rows that the weights are tuned on, by pick_rows */
    watched *watched;
    double *v; /* memory of the members `v` of `watched` */
};

static double square(double x)
{
    return x * x;
}

static size_t triangle(size_t rows)
{
    return rows * (rows + 1) / 2;
}

/* Returns true if a column also has the second distance, whether its levels differ at all. */
static bool has_nominal(const ak_column *column)
{
    return column->ordered && column->levels > 2;
}

/* Computes the sum of the distances' weights, which makes the term of single parameters a weighted
   mean of terms 1 - d. Each of these is the covariance of a random walk, so their mean is a
   covariance too. */
static void sum_weights(ak_gp *gp)
{
    gp->weight_sum = 1e-9F; /* a divisor, so it is not 0 even without a parameter */
    for (size_t p = 0; p < 2 * AK_PARAMETERS_MAX; p++) {
        gp->weight_sum += gp->weight[p];
    }
}

static void start_weights(ak_gp *gp, const ak_gp_options *options)
{
    size_t count = gp->features->count;
    size_t places = count;
    for (size_t c = 0; c < count; c++) {
        double start = options->steepness / (double)count;
        gp->start[c] = start;
        if (has_nominal(&gp->features->column[c])) {
            gp->start[places++] = NOMINAL * start;
        }
    }
    gp->chunks = (places + CHUNK - 1) / CHUNK;
    gp->start[NOISE] = options->noise;
    gp->start[ADDITIVE] = VARIANCE_ALONE;
    gp->start[HINT] = VARIANCE_SLOPE;
    for (size_t h = 0; h < HYPER; h++) {
        gp->weight[h] = (float)gp->start[h];
    }
    sum_weights(gp);
}

ak_status ak_gp_open(ak_gp **out, const ak_features *features, const ak_gp_options *options,
                     ak_error *err)
{
    AK_FAIL_IF(options->rows == 0 || options->rows > AK_GP_ROWS_MAX, err, AK_INVALID,
               "a Gaussian process learns from 1 to %d trials, not %zu", AK_GP_ROWS_MAX,
               options->rows);
    AK_AT_END(ak_gp_close_at) ak_gp *gp = NULL;
    AK_DO(AK_NEW(gp, 1, err));
    gp->features = features;
    gp->rows_max = options->rows;
    gp->slots = options->slots;
    gp->scale = 1.0;
    AK_DO(AK_NEW(gp->points, gp->rows_max, err));
    AK_DO(AK_NEW(gp->y, gp->rows_max, err));
    AK_DO(AK_NEW(gp->l, triangle(gp->rows_max), err));
    AK_DO(AK_NEW(gp->half, gp->rows_max, err));
    AK_DO(AK_NEW(gp->tuned_l, triangle(TUNED_MAX), err));
    AK_DO(AK_NEW(gp->order, gp->rows_max, err));
    AK_DO(AK_NEW(gp->watched, gp->slots, err));
    AK_DO(AK_NEW(gp->v, gp->slots * gp->rows_max, err));
    for (size_t i = 0; i < gp->slots; i++) {
        gp->watched[i].v = gp->v + i * gp->rows_max;
    }
    start_weights(gp, options);
    AK_GIVE(out, gp);
    return AK_OK;
}

void ak_gp_close(ak_gp *gp)
{
    if (gp != NULL) {
        AK_FREE_ALL(gp->watched, gp->v, gp->points, gp->y, gp->l, gp->half, gp->tuned_l, gp->order,
                    gp);
    }
}

void ak_gp_point(ak_point *out, const ak_gp *gp, const ak_config *config)
{
    uint16_t row[AK_PARAMETERS_MAX];
    ak_features_row(row, gp->features, config);
    *out = (ak_point){0};
    size_t next = gp->features->count;
    for (size_t c = 0; c < gp->features->count; c++) {
        const ak_column *column = &gp->features->column[c];
        float range = column->ordered && column->levels > 1 ? (float)(column->levels - 1) : 1.0F;
        out->at[c] = (float)row[c] / range;
        if (has_nominal(column)) {
            out->at[next++] = (float)row[c];
        }
    }
}

size_t ak_gp_count(const ak_gp *gp)
{
    return gp->count;
}

/* Computes a dot product in eight partial sums. The compiler may not reorder a sum, so in one sum
   each addition would wait for the previous one. */
static double dot(const double *a, const double *b, size_t count)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            lane[j] += a[i + j] * b[i + j];
        }
    }
    double sum =
        ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Four numbers in a vector register. The vectors are explicit because a compiler may vectorise the
   loop over chunks instead, which is too short in a space of few parameters, and then compute one
   number at a time. */
typedef float four __attribute__((vector_size(16)));
typedef int32_t four_bits __attribute__((vector_size(16)));

static four four_of(const float *from)
{
    four out;
    memcpy(&out, from, sizeof out);
    return out;
}

static four distance_of(const float *a, const float *b)
{
    const four_bits positive = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    four far = (four)((four_bits)(four_of(a) - four_of(b)) & positive);
    return 0.5F * (far + 1.0F - (four)((four_bits)(far - 1.0F) & positive));
}

static float chunk_sum(const four term[CHUNK / 4])
{
    four sum = (term[0] + term[2]) + (term[1] + term[3]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Adds w d and w d^2 over CHUNK places. Different levels of a nominal place are 1 apart or more,
   which must count as 1, so d is the minimum of the distance and 1, written without a branch. A
   strategy that uses this model spends most of its time here. */
static void chunk_distance(float *rough, float *smooth, const float *weight, const float *a,
                           const float *b)
{
    four first[CHUNK / 4];
    four second[CHUNK / 4];
    for (size_t i = 0; i < CHUNK / 4; i++) {
        four distance = distance_of(a + 4 * i, b + 4 * i);
        first[i] = four_of(weight + 4 * i) * distance;
        second[i] = first[i] * distance;
    }
    *rough += chunk_sum(first);
    *smooth += chunk_sum(second);
}

double ak_gp_similarity(const ak_gp *gp, const ak_point *a, const ak_point *b)
{
    float rough = 0.0F;
    float smooth = 0.0F;
    for (size_t i = 0; i < gp->chunks; i++) { /* places beyond the last have the weight 0 */
        size_t p = i * CHUNK;
        chunk_distance(&rough, &smooth, gp->weight + p, a->at + p, b->at + p);
    }
    float r = sqrtf(5.0F * smooth);
    float matern = (1.0F + r + r * r / 3.0F) * expf(-r);
    double alone = (double)(gp->weight[ADDITIVE] * (1.0F - rough / gp->weight_sum));
    return VARIANCE_CONSTANT + alone + 0.5 * ((double)expf(-rough) + (double)matern) +
           VARIANCE_SLOPE * (a->prior - gp->prior_mean) * (b->prior - gp->prior_mean) +
           (double)gp->weight[HINT] * (a->hint - gp->hint_mean) * (b->hint - gp->hint_mean);
}

/* Computes row i of a Cholesky factor from the rows above it. `pick` selects the rows of the data
   that are factored; NULL: all, in order. */
static void factor_row(double *l, const ak_gp *gp, const ranked *pick, size_t i)
{
    const ak_point *point = &gp->points[pick == NULL ? i : pick[i].row];
    double *row = l + triangle(i);
    double diagonal = ak_gp_similarity(gp, point, point) + (double)gp->weight[NOISE];
    for (size_t j = 0; j < i; j++) {
        const double *other = l + triangle(j);
        const ak_point *before = &gp->points[pick == NULL ? j : pick[j].row];
        row[j] = (ak_gp_similarity(gp, point, before) - dot(row, other, j)) / other[j];
        diagonal -= square(row[j]);
    }
    row[i] = sqrt(diagonal > DIAGONAL_MIN ? diagonal : DIAGONAL_MIN);
}

/* Appends element i to the v of a watched candidate. */
static void watch_row(watched *w, const ak_gp *gp, size_t i)
{
    const double *row = gp->l + triangle(i);
    w->v[i] = (ak_gp_similarity(gp, &w->point, &gp->points[i]) - dot(row, w->v, i)) / row[i];
}

void ak_gp_add(ak_gp *gp, const ak_point *point)
{
    if (gp->count == gp->rows_max) {
        return;
    }
    size_t i = gp->count;
    double mean = point->prior;
    double deviation;
    ak_gp_predict(&mean, &deviation, gp, point);
    gp->points[i] = *point;
    factor_row(gp->l, gp, NULL, i);
    const double *row = gp->l + triangle(i);
    gp->y[i] = mean - point->prior;
    gp->half[i] = (gp->y[i] - dot(row, gp->half, i)) / row[i];
    gp->count++;
    for (size_t s = 0; s < gp->slots; s++) {
        if (gp->watched[s].used) {
            watch_row(&gp->watched[s], gp, i);
        }
    }
}

void ak_gp_truncate(ak_gp *gp, size_t count)
{
    gp->count = count < gp->count ? count : gp->count;
}

/* Computes L^-1 y and the scale. */
static void solve(ak_gp *gp)
{
    double fit = 0.0;
    for (size_t i = 0; i < gp->count; i++) {
        const double *row = gp->l + triangle(i);
        gp->half[i] = (gp->y[i] - dot(row, gp->half, i)) / row[i];
        fit += square(gp->half[i]);
    }
    gp->scale = gp->count > 0 ? fit / (double)gp->count : 1.0;
    gp->scale = gp->scale > SCALE_MIN ? gp->scale : SCALE_MIN;
}

void ak_gp_learn(ak_gp *gp, const double *y)
{
    for (size_t i = 0; i < gp->count; i++) {
        gp->y[i] = y[i] - gp->points[i].prior;
    }
    solve(gp);
}

/* ---- weights ---- */

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    return x->y != y->y ? (x->y > y->y) - (x->y < y->y) : (x->row > y->row) - (x->row < y->row);
}

/* Puts the rows to tune on at the front of gp->order and returns their number. If the model has
   more than TUNED_MAX rows, these are the best TUNED_MAX / 2, whose order matters most, and an even
   selection of the others. */
static size_t pick_rows(ak_gp *gp)
{
    for (size_t i = 0; i < gp->count; i++) {
        gp->order[i] = (ranked){gp->y[i] + gp->points[i].prior, i};
    }
    if (gp->count <= TUNED_MAX) {
        return gp->count;
    }
    qsort(gp->order, gp->count, sizeof *gp->order, compare_ranked);
    size_t best = TUNED_MAX / 2;
    for (size_t i = best; i < TUNED_MAX; i++) {
        gp->order[i] = gp->order[best + (i - best) * (gp->count - best) / (TUNED_MAX - best)];
    }
    return TUNED_MAX;
}

/* Returns, up to a constant, the logarithm of the marginal likelihood of the first `count` rows
   that gp->order names, with the scale that makes it largest. The log prior of the weights is
   added, which keeps them near their start. */
static double likelihood(ak_gp *gp, size_t count)
{
    double half[TUNED_MAX];
    double fit = 0.0;
    double determinant = 0.0;
    for (size_t i = 0; i < count; i++) {
        factor_row(gp->tuned_l, gp, gp->order, i);
        const double *row = gp->tuned_l + triangle(i);
        half[i] = (gp->y[gp->order[i].row] - dot(row, half, i)) / row[i];
        fit += square(half[i]);
        determinant += log(row[i]);
    }
    double n = (double)count;
    double sum = -0.5 * n * log(fit / n + 1e-12) - determinant;
    for (size_t h = 0; h < HYPER; h++) {
        sum -= 0.5 * square(gp->log_ratio[h] / SPREAD);
    }
    return sum;
}

/* Sets a weight to its start times exp(log_ratio). */
static void set_hyper(ak_gp *gp, size_t h, double log_ratio)
{
    gp->log_ratio[h] = log_ratio;
    gp->weight[h] = (float)(gp->start[h] * exp(log_ratio));
    sum_weights(gp);
}

/* Tries one weight a step down and a step up, and keeps the first change that makes y more likely,
   if one does. Returns the number of tries. */
static size_t improve(double *now, ak_gp *gp, size_t h, size_t count)
{
    double before = gp->log_ratio[h];
    size_t tries = 0;
    for (int direction = -1; direction <= 1; direction += 2) {
        double wish = before + direction * STEP;
        if (fabs(wish) > LOG_LIMIT) {
            continue;
        }
        set_hyper(gp, h, wish);
        double then = likelihood(gp, count);
        tries++;
        if (then > *now) {
            *now = then;
            return tries;
        }
    }
    set_hyper(gp, h, before);
    return tries;
}

/* Leaves the hint out if the rows are about as likely without the hint. `with` is the log
   likelihood with the current weights. Each tuning decides this anew. */
static void judge_hint(ak_gp *gp, double with, size_t count)
{
    double ratio = gp->log_ratio[HINT];
    gp->log_ratio[HINT] = 0.0;
    gp->weight[HINT] = 0.0F;
    bool believed = with > likelihood(gp, count) + HINT_WORTH;
    set_hyper(gp, HINT, ratio);
    gp->weight[HINT] = believed ? gp->weight[HINT] : 0.0F;
}

void ak_gp_tune(ak_gp *gp, size_t tries)
{
    if (gp->count == 0) {
        return;
    }
    size_t count = pick_rows(gp);
    gp->prior_mean = 0.0;
    gp->hint_mean = 0.0;
    for (size_t i = 0; i < gp->count; i++) {
        gp->hint_mean += gp->points[i].hint / (double)gp->count;
        gp->prior_mean += gp->points[i].prior / (double)gp->count;
    }
    bool hinted = false;
    for (size_t i = 0; i < gp->count && !hinted; i++) {
        hinted = gp->points[i].hint != gp->points[0].hint;
    }
    set_hyper(gp, HINT, gp->log_ratio[HINT]);
    double now = likelihood(gp, count);
    size_t used = 0;
    size_t idle = 0; /* weights in a row that needed no change */
    while (idle < HYPER && used < tries) {
        size_t h = gp->next;
        gp->next = (gp->next + 1) % HYPER;
        double before = now;
        if (gp->start[h] > 0.0 && (h != HINT || hinted)) {
            used += improve(&now, gp, h, count);
        }
        idle = now > before ? 0 : idle + 1;
    }
    if (hinted) {
        judge_hint(gp, now, count);
    }
    for (size_t i = 0; i < gp->count; i++) {
        factor_row(gp->l, gp, NULL, i);
    }
    solve(gp);
    for (size_t s = 0; s < gp->slots; s++) {
        if (gp->watched[s].used) {
            ak_point point = gp->watched[s].point;
            ak_gp_watch(gp, s, &point);
        }
    }
}

/* ---- predictions ---- */

/* Computes the mean and standard deviation of y at a point from its v. */
static void describe(double *mean, double *deviation, const ak_gp *gp, double prior, double self,
                     const double *v)
{
    double variance = self - dot(v, v, gp->count);
    *mean = prior + dot(v, gp->half, gp->count);
    *deviation = sqrt(gp->scale * (variance > 0.0 ? variance : 0.0));
}

void ak_gp_predict(double *mean, double *deviation, const ak_gp *gp, const ak_point *point)
{
    double v[AK_GP_ROWS_MAX];
    for (size_t i = 0; i < gp->count; i++) {
        const double *row = gp->l + triangle(i);
        v[i] = (ak_gp_similarity(gp, point, &gp->points[i]) - dot(row, v, i)) / row[i];
    }
    describe(mean, deviation, gp, point->prior, ak_gp_similarity(gp, point, point), v);
}

void ak_gp_watch(ak_gp *gp, size_t slot, const ak_point *point)
{
    watched *w = &gp->watched[slot];
    w->used = true;
    w->point = *point;
    w->self = ak_gp_similarity(gp, point, point);
    for (size_t i = 0; i < gp->count; i++) {
        watch_row(w, gp, i);
    }
}

void ak_gp_unwatch(ak_gp *gp, size_t slot)
{
    gp->watched[slot].used = false;
}

void ak_gp_watched(double *mean, double *deviation, const ak_gp *gp, size_t slot)
{
    assert(slot < gp->slots && gp->watched[slot].used);
    const watched *w = &gp->watched[slot];
    describe(mean, deviation, gp, w->point.prior, w->self, w->v);
}
