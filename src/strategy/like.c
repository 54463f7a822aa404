#include "strategy/like.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "model/forest.h"

enum {
    /* most rows that a forest is grown from; more take longer and add nothing */
    FOREST_ROWS = 4096,
    APART = 2,    /* fewest parameters in which two candidates differ, if the space has so many */
    BEST_MIN = 4, /* best configurations of a place that may become candidates even if they exceed
                     BEST_SHARE */
    LINE_MAX_BYTES = 8192, /* the line that describes the list */
    NAMED_BYTES = 7680     /* places are named up to here, and counted afterwards */
};

/* Share of a place's configurations, best first, that may become candidates. */
#define BEST_SHARE 0.1
/* Largest share of the parameters that a configuration may leave open or have changed to fit this
   space. */
#define FOREIGN_MAX 0.25

typedef struct row {
    ak_config config; /* may be invalid */
    size_t place, order;
    size_t foreign; /* number of parameters that differ from the source */
    double time, rank;
} row;

typedef struct place {
    char *name;
    size_t count; /* number of configurations */
} place;

struct ak_like {
    const ak_space *space;
    row *rows;
    size_t count, capacity;
    place *places;
    size_t place_count, place_capacity;
    /* rows that do not fit this space; candidates that were changed to fit it */
    size_t passed, moved;
    size_t free_parameters;
    ak_features features;
    ak_forest *forest;
    ak_config candidates[AK_LIKE_CANDIDATES_MAX];
    size_t candidate_count;
    ak_buf text;
};

ak_like *ak_like_new(const ak_space *space)
{
    ak_like *like = ak_alloc(1, sizeof *like);
    if (like != NULL) {
        like->space = space;
        like->text = (ak_buf)AK_BUF(LINE_MAX_BYTES);
        for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
            like->free_parameters += ak_space_parameter(space, p)->value_count > 1;
        }
    }
    return like;
}

void ak_like_free(ak_like *like)
{
    if (like != NULL) {
        ak_free(like->rows);
        ak_forest_free(like->forest);
        ak_features_close(&like->features);
        for (size_t i = 0; i < like->place_count; i++) {
            ak_free(like->places[i].name);
        }
        ak_free(like->places);
        ak_buf_free(&like->text);
        ak_free(like);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

ak_status ak_like_begin(ak_like *like, const char *name, ak_error *err)
{
    AK_DO(AK_GROW(like->places, &like->place_capacity, like->place_count + 1, err));
    place *p = &like->places[like->place_count++];
    *p = (place){.name = ak_strdup(name)};
    return ak_made(p->name, err);
}

ak_status ak_like_add(ak_like *like, const json_t *values, double time, ak_error *err)
{
    ak_space_wish wish;
    AK_DO(ak_space_wish_of(&wish, like->space, values, err));
    like->places[like->place_count - 1].count++;
    if ((double)wish.open > FOREIGN_MAX * (double)like->free_parameters) {
        like->passed++;
        return AK_OK;
    }
    AK_DO(AK_GROW(like->rows, &like->capacity, like->count + 1, err));
    like->rows[like->count] = (row){.config = wish.config,
                                    .place = like->place_count - 1,
                                    .order = like->count,
                                    .foreign = wish.near + wish.open,
                                    .time = time > 0.0 ? time : HUGE_VAL};
    like->count++;
    return AK_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int by_place_and_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->place != y->place) {
        return x->place < y->place ? -1 : 1;
    }
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->order > y->order) - (x->order < y->order);
}

/* Ranks the configurations of a place evenly from the best (0) to the worst that worked (1);
   failures get 1 too. Time ratios are ignored because they say little about the ratios here. */
static void rank_place(row *rows, size_t count)
{
    size_t ok = 0;
    while (ok < count && rows[ok].time < HUGE_VAL) {
        ok++;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].rank = i >= ok ? 1.0 : ok > 1 ? (double)i / (double)(ok - 1) : 0.0;
    }
}

static ak_status grow_forest(ak_like *like, uint64_t seed, ak_error *err)
{
    size_t columns = like->features.count;
    size_t stride = like->count / FOREST_ROWS + 1, count = 0;
    AK_FREED uint16_t *levels =
        ak_alloc((like->count / stride + 1) * (columns + 1), sizeof *levels);
    AK_FREED double *y = ak_alloc(like->count / stride + 1, sizeof *y);
    ak_status status = ak_stored(levels != NULL && y != NULL, err);
    for (size_t i = 0; status == AK_OK && i < like->count; i += stride) {
        ak_features_row(levels + count * columns, &like->features, &like->rows[i].config);
        y[count++] = like->rows[i].rank;
    }
    if (status == AK_OK && count > 0 && columns > 0) {
        ak_forest_data data = {&like->features, levels, y, count};
        ak_forest_options options = AK_FOREST_DEFAULT;
        options.seed = seed;
        options.leaf_min = 1;
        status = ak_forest_fit(&like->forest, &data, &options, err);
    }
    return status;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static size_t differences(const ak_like *like, const ak_config *a, const ak_config *b)
{
    size_t count = 0;
    for (size_t p = 0; p < ak_space_parameter_count(like->space); p++) {
        count += a->at[p] != b->at[p];
    }
    return count;
}

/* Maps a row to a valid configuration of this space. Returns false if too many of its parameters
   would change. */
static bool fit(ak_config *out, const ak_like *like, const row *from)
{
    ak_space_repair(out, like->space, &from->config);
    size_t changed = differences(like, out, &from->config) + from->foreign;
    return (double)changed <= FOREIGN_MAX * (double)like->free_parameters;
}

/* Adds the next row of a place that differs enough from all candidates. *at is the read position.
   Returns false if there is no such row. */
static bool next_of_place(ak_like *like, size_t *at, size_t end)
{
    while (*at < end && like->rows[*at].time < HUGE_VAL) {
        const row *r = &like->rows[(*at)++];
        ak_config config;
        if (!fit(&config, like, r)) {
            like->passed++;
            continue;
        }
        size_t nearest = SIZE_MAX;
        for (size_t i = 0; i < like->candidate_count; i++) {
            size_t apart = differences(like, &like->candidates[i], &config);
            nearest = apart < nearest ? apart : nearest;
        }
        if (nearest >= (like->free_parameters < APART ? 1 : APART)) {
            like->moved += differences(like, &config, &r->config) + r->foreign > 0;
            like->candidates[like->candidate_count++] = config;
            return true;
        }
    }
    return false;
}

/* Chooses candidates: the best of each place in turn. */
static ak_status choose_candidates(ak_like *like, const size_t *first, ak_error *err)
{
    AK_FREED size_t *at = ak_alloc(like->place_count + 1, sizeof *at);
    bool any = true;
    AK_DO(ak_made(at, err));
    memcpy(at, first, like->place_count * sizeof *at);
    while (any) {
        any = false;
        for (size_t g = 0; g < like->place_count; g++) {
            size_t count = first[g + 1] - first[g];
            size_t best = (size_t)(BEST_SHARE * (double)count);
            best = best < BEST_MIN ? BEST_MIN : best;
            size_t end = first[g] + (best < count ? best : count);
            any = (like->candidate_count < AK_LIKE_CANDIDATES_MAX &&
                   next_of_place(like, &at[g], end)) ||
                  any;
        }
    }
    return AK_OK;
}

/* Writes the line of ak_like_text. */
static void describe(ak_like *like)
{
    ak_buf *out = &like->text;
    if (like->place_count == 0) {
        return;
    }
    ak_buf_puts(out,
                like->candidate_count > 0 ? "tried first, while it pays: " : "nothing fits of ");
    if (like->candidate_count > 0) {
        ak_buf_print(out, "the best %zu of ", like->candidate_count);
    }
    size_t others = 0, configs = 0;
    for (size_t i = 0; i < like->place_count; i++) {
        const place *p = &like->places[i];
        if (out->length + strlen(p->name) < NAMED_BYTES) {
            ak_buf_print(out, "%s%s (%zu)", i == others ? "" : ", ", p->name, p->count);
        } else {
            others++;
            configs += p->count;
        }
    }
    if (others > 0) {
        ak_buf_print(out, "%s%zu more place%s (%zu)", others == like->place_count ? "" : " and ",
                     others, ak_plural(others), configs);
    }
    if (like->moved > 0) {
        ak_buf_print(out, "; %zu of them became the nearest valid one", like->moved);
    }
    if (like->passed > 0) {
        ak_buf_print(out, "; %zu have no place in this space", like->passed);
    }
}

ak_status ak_like_finish(ak_like *like, uint64_t seed, ak_error *err)
{
    AK_FREED size_t *first = ak_alloc(like->place_count + 1, sizeof *first);
    AK_DO(ak_made(first, err));
    if (like->count > 0) {
        qsort(like->rows, like->count, sizeof *like->rows, by_place_and_time);
    }
    size_t at = 0;
    for (size_t g = 0; g < like->place_count; g++) {
        first[g] = at;
        while (at < like->count && like->rows[at].place == g) {
            at++;
        }
        first[g + 1] = at;
        rank_place(like->rows + first[g], at - first[g]);
    }
    AK_DO(ak_features_open(&like->features, like->space, err));
    AK_DO(grow_forest(like, seed, err));
    AK_DO(choose_candidates(like, first, err));
    describe(like);
    return ak_buf_status(&like->text, err);
}

/* ---- use ------------------------------------------------------------------------------------- */

size_t ak_like_candidates(const ak_config **out, const ak_like *like)
{
    *out = like->candidates;
    return like->candidate_count;
}

double ak_like_expects(const ak_like *like, const ak_config *config)
{
    uint16_t levels[AK_PARAMETERS_MAX];
    double mean = 0.0, variance;
    if (like->forest != NULL) {
        ak_features_row(levels, &like->features, config);
        ak_forest_predict(&mean, &variance, like->forest, levels);
    }
    return mean;
}

double ak_like_reliability(const ak_like *like)
{
    double share = like->forest == NULL ? 0.0 : ak_forest_out_of_bag(like->forest);
    return share > 0.0 ? share : 0.0; /* the share is NaN if nothing can be said */
}

const char *ak_like_text(const ak_like *like)
{
    return like->text.data;
}
