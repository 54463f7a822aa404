/*
 * surrogate.c: see surrogate.h.
 *
 * With K the matrix of similarities of the n trials plus noise on the diagonal, L its Cholesky
 * factor and y their log times less what was expected beforehand,
 *
 *     mean(x)     = prior(x) + k(x) K^-1 y
 *     variance(x) = scale * (k(x,x) - k(x) K^-1 k(x)),   scale = y K^-1 y / n
 *
 * Weights and noise are those under which the trials are likely (the marginal likelihood), found by
 * trying one of them a step up and a step down at a time.
 */
#include "strategy/surrogate.h"

#include <math.h>
#include <string.h>

enum {
    MAX = AK_SURROGATE_MAX,
    NOISE = AK_PARAMETERS_MAX, /* the noise is adapted like the weights */
    HYPER = AK_PARAMETERS_MAX + 1,
    LANES = 4,
    CHUNK = 16
};

/* Variances relative to that of the joint effect of all parameters. */
#define VARIANCE_CONSTANT 1.0  /* the level is not known beforehand */
#define VARIANCE_SLOPE    0.25 /* of the prior: it is trusted to a factor of 1 +- 1/2 */
#define NOISE_START       3e-3
#define WEIGHT_SUM        5.0 /* random pairs of configurations start at a similarity of e^-2 */
#define STEP              0.9 /* in the logarithm of a weight */
#define SPREAD            1.5 /* deviation of that logarithm from its start */
#define LOG_LIMIT         5.0 /* and the farthest it may go */

/* Factorisations that one fit may spend on weights: about n^3/6 multiplications each. */
#define TRIES_MAX  12
#define TRIES_WORK 240

typedef struct factor {
    double l[MAX][MAX];
    double half[MAX]; /* L^-1 y */
    double log_likelihood;
} factor;

struct ak_surrogate {
    const ak_space *space;
    size_t parameters;
    float *place[AK_PARAMETERS_MAX]; /* of each value */
    float weight[HYPER];             /* start * exp(log_ratio) */
    double start[HYPER], log_ratio[HYPER];
    size_t next; /* to be reconsidered */
    size_t count;
    ak_point points[MAX];
    double y[MAX], alpha[MAX]; /* alpha = K^-1 y */
    double prior_mean, scale;
    factor now, trial;
};

static double number_of(const ak_value *value)
{
    return value->type == AK_VALUE_INT    ? (double)value->as.integer
           : value->type == AK_VALUE_REAL ? value->as.real
                                          : (double)value->as.boolean;
}

/* Numbers are placed by rank: 64, 128, 256 are equally far apart. */
static ak_status place_values(ak_surrogate *model, size_t p, ak_error *err)
{
    const ak_parameter *parameter = ak_space_parameter(model->space, p);
    size_t count = parameter->value_count;
    model->place[p] = ak_alloc(count, sizeof(float));
    if (model->place[p] == NULL) {
        return ak_fail_memory(err);
    }
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        ak_value_type type = parameter->values[i].type;
        ordered = ordered && type != AK_VALUE_STRING && type != AK_VALUE_LIST;
    }
    for (size_t i = 0; i < count; i++) {
        size_t rank = i;
        if (ordered) {
            rank = 0;
            double number = number_of(&parameter->values[i]);
            for (size_t j = 0; j < count; j++) {
                rank += number_of(&parameter->values[j]) < number;
            }
        }
        float scale = ordered && count > 1 ? (float)(count - 1) : 1.0F;
        model->place[p][i] = (float)rank / scale;
    }
    return AK_OK;
}

ak_status ak_surrogate_new(ak_surrogate **out, const ak_space *space, ak_error *err)
{
    ak_surrogate *model = ak_alloc(1, sizeof *model);
    if (model == NULL) {
        return ak_fail_memory(err);
    }
    model->space = space;
    model->parameters = ak_space_parameter_count(space);
    size_t vary = 0;
    for (size_t p = 0; p < model->parameters; p++) {
        if (place_values(model, p, err) != AK_OK) {
            ak_surrogate_free(model);
            return AK_NO_MEMORY;
        }
        vary += ak_space_parameter(space, p)->value_count > 1;
    }
    for (size_t p = 0; p < model->parameters; p++) {
        model->start[p] =
            ak_space_parameter(space, p)->value_count > 1 ? WEIGHT_SUM / (double)vary : 0.0;
        model->weight[p] = (float)model->start[p];
    }
    model->start[NOISE] = NOISE_START;
    model->weight[NOISE] = (float)NOISE_START;
    *out = model;
    return AK_OK;
}

void ak_surrogate_free(ak_surrogate *model)
{
    if (model != NULL) {
        for (size_t p = 0; p < model->parameters; p++) {
            ak_free(model->place[p]);
        }
        ak_free(model);
    }
}

void ak_surrogate_point(ak_point *out, const ak_surrogate *model, const ak_config *config)
{
    *out = (ak_point){0};
    for (size_t p = 0; p < model->parameters; p++) {
        out->at[p] = model->place[p][config->at[p]];
    }
}

/* Four sums at a time: without leave to reorder a sum, a compiler adds one by one. */
static double dot(const double *a, const double *b, size_t count)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            lane[j] += a[i + j] * b[i + j];
        }
    }
    double sum = (lane[0] + lane[1]) + (lane[2] + lane[3]);
    for (; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Sum of weight[p] * distance[p] over CHUNK parameters. Places of texts are whole numbers, so that
   different ones are 1 apart or more, which counts as 1: the minimum of distance and 1, written
   without a choice. Such loops, of constant length, become vector instructions; this is where the
   strategy spends its time. */
static float chunk_distance(const float *weight, const float *a, const float *b)
{
    float term[CHUNK];
    for (size_t p = 0; p < CHUNK; p++) {
        float distance = fabsf(a[p] - b[p]);
        term[p] = weight[p] * 0.5F * (distance + 1.0F - fabsf(distance - 1.0F));
    }
    for (size_t p = 0; p < CHUNK / 2; p++) {
        term[p] += term[p + CHUNK / 2];
    }
    for (size_t p = 0; p < CHUNK / 4; p++) {
        term[p] += term[p + CHUNK / 4];
    }
    return (term[0] + term[1]) + (term[2] + term[3]);
}

static double similarity(const ak_surrogate *model, const ak_point *a, const ak_point *b)
{
    float sum = 0.0F;
    for (size_t p = 0; p < model->parameters; p += CHUNK) { /* weights beyond the last are 0 */
        sum += chunk_distance(model->weight + p, a->at + p, b->at + p);
    }
    return VARIANCE_CONSTANT + (double)expf(-sum) +
           VARIANCE_SLOPE * (a->prior - model->prior_mean) * (b->prior - model->prior_mean);
}

/* Row i of L, given those above it, and element i of L^-1 y. */
static void factor_row(factor *f, const ak_surrogate *model, size_t i)
{
    double *row = f->l[i];
    double y = model->y[i];
    double diagonal =
        similarity(model, &model->points[i], &model->points[i]) + (double)model->weight[NOISE];
    for (size_t j = 0; j < i; j++) {
        const double *other = f->l[j];
        row[j] = (similarity(model, &model->points[i], &model->points[j]) - dot(row, other, j)) /
                 other[j];
        diagonal -= row[j] * row[j];
        y -= row[j] * f->half[j];
    }
    row[i] = sqrt(diagonal > 1e-9 ? diagonal : 1e-9);
    f->half[i] = y / row[i];
}

static double square(double x)
{
    return x * x;
}

static void factorise(factor *f, const ak_surrogate *model)
{
    double fit = 0.0;
    double determinant = 0.0;
    for (size_t i = 0; i < model->count; i++) {
        factor_row(f, model, i);
        fit += square(f->half[i]);
        determinant += log(f->l[i][i]);
    }
    /* The scale is profiled out; the last term says that weights are near their start. */
    double n = (double)model->count;
    f->log_likelihood = -0.5 * n * log(fit / n + 1e-12) - determinant;
    for (size_t h = 0; h < HYPER; h++) {
        f->log_likelihood -= 0.5 * square(model->log_ratio[h] / SPREAD);
    }
}

static void set_hyper(ak_surrogate *model, size_t h, double log_ratio)
{
    model->log_ratio[h] = log_ratio;
    model->weight[h] = (float)(model->start[h] * exp(log_ratio));
}

/* Tries one weight up and down; keeps what makes the trials more likely. */
static size_t improve(ak_surrogate *model, size_t h)
{
    double before = model->log_ratio[h];
    size_t tries = 0;
    for (int direction = -1; direction <= 1; direction += 2) {
        double wish = before + direction * STEP;
        if (fabs(wish) > LOG_LIMIT) {
            continue;
        }
        set_hyper(model, h, wish);
        factorise(&model->trial, model);
        tries++;
        if (model->trial.log_likelihood > model->now.log_likelihood) {
            model->now = model->trial;
            return tries;
        }
    }
    set_hyper(model, h, before);
    return tries;
}

static void improve_some(ak_surrogate *model)
{
    size_t budget = TRIES_WORK / model->count;
    budget = budget < 2 ? 2 : budget > TRIES_MAX ? TRIES_MAX : budget;
    size_t looked = 0;
    for (size_t tries = 0; tries < budget && looked < HYPER;) {
        size_t h = model->next;
        model->next = (model->next + 1) % HYPER;
        if (model->start[h] > 0.0) {
            tries += improve(model, h);
        }
        looked++;
    }
}

/* alpha = L^-T (L^-1 y) */
static void solve(ak_surrogate *model)
{
    const factor *f = &model->now;
    double fit = 0.0;
    for (size_t i = model->count; i-- > 0;) {
        double sum = f->half[i];
        for (size_t j = i + 1; j < model->count; j++) {
            sum -= f->l[j][i] * model->alpha[j];
        }
        model->alpha[i] = sum / f->l[i][i];
        fit += square(f->half[i]);
    }
    model->scale = fit / (double)model->count;
}

void ak_surrogate_fit(ak_surrogate *model, const ak_point *points, const double *log_ms,
                      size_t count)
{
    count = count > MAX ? MAX : count;
    model->count = count;
    if (count == 0) {
        return;
    }
    memcpy(model->points, points, count * sizeof *points);
    model->prior_mean = 0.0;
    for (size_t i = 0; i < count; i++) {
        model->prior_mean += points[i].prior / (double)count;
        model->y[i] = log_ms[i] - points[i].prior;
    }
    factorise(&model->now, model);
    if (count >= 4) {
        improve_some(model);
    }
    solve(model);
}

void ak_surrogate_pretend(ak_surrogate *model, const ak_point *point)
{
    if (model->count == 0 || model->count == MAX) {
        return;
    }
    double mean, deviation;
    ak_surrogate_predict(&mean, &deviation, model, point);
    double scale = model->scale;
    size_t i = model->count++;
    model->points[i] = *point;
    model->y[i] = mean - point->prior;
    factor_row(&model->now, model, i);
    solve(model);
    model->scale = scale; /* a pretence teaches nothing about the spread */
}

double ak_surrogate_mean(const ak_surrogate *model, const ak_point *point)
{
    double sum = point->prior;
    for (size_t i = 0; i < model->count; i++) {
        sum += similarity(model, point, &model->points[i]) * model->alpha[i];
    }
    return sum;
}

void ak_surrogate_predict(double *mean, double *deviation, const ak_surrogate *model,
                          const ak_point *point)
{
    double half[MAX];
    double sum = point->prior;
    double variance = similarity(model, point, point);
    for (size_t i = 0; i < model->count; i++) {
        double k = similarity(model, point, &model->points[i]);
        sum += k * model->alpha[i];
        const double *row = model->now.l[i];
        half[i] = (k - dot(row, half, i)) / row[i];
        variance -= square(half[i]);
    }
    *mean = sum;
    *deviation = sqrt(model->scale * (variance > 0.0 ? variance : 0.0));
}
