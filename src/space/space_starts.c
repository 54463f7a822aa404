/*
 * space_starts.c: reads the configurations from which a search begins: winners at certain sizes,
 * and those that the kernel's author suggests for every size.
 *
 * A definition may list "Starts": [{"At": {"M": 4096, "N": 4096, "K": 4096}, "Config": {"MR": 6}}],
 * winners of measured searches with the sizes at which they won; see docs/formats.md. Only valid
 * starts count. First come the starts that won at sizes near the space's own, in the order of the
 * distance, which is the number of doublings and halvings that all sizes in "At" need together.
 * Then come the starts without "At", which are for every size, in the order of the times that the
 * author's rank expects; a family of them (space_family.c) is ranked member by member. Last come
 * the starts from sizes farther away, up to the distance FAR.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "space/rank.h"
#include "space/space_body.h"
#include "space/space_read.h"

#define NEAR 1.0 /* the distance up to which sizes are near if "StartsNear" is missing */
#define FAR  4.0 /* the distance beyond which a start is ignored */

#define SAME_TIME 2e-3 /* expected times count as equal if their logarithms differ by less */

/* A winner at other sizes does not become the default if the rank expects it to take at least 1.2 =
   exp(0.18) times as long as the best start for every size. It may be that slow even at near sizes:
   a few rows more can need one more round of blocks. */
#define UNLIKELY 0.18

enum { NEARBY, FOR_EVERY_SIZE, FAR_AWAY };

typedef struct start {
    ak_config config;
    int kind; /* NEARBY, FOR_EVERY_SIZE or FAR_AWAY; lower kinds come first */
    /* orders starts of a kind: the distance, or the logarithm of the expected time */
    double amount;
    size_t order; /* order of reading, which decides ties */
} start;

/* The inputs of reading "Starts", and the starts read so far. */
typedef struct reading {
    const ak_space *space;
    const ak_space_spec *spec;
    ak_rank *rank; /* NULL if the space has no rank */
    double near;
    size_t number; /* index of the entry that is being read */
    start *starts;
    size_t count, capacity;
} reading;

/* Computes the distance of the sizes in `at` from the space's own. It is infinite if the space does
   not have a size of that name. */
static ak_status distance_of(double *out, const json_t *at, const ak_scope *constants,
                             const char *where, ak_error *err)
{
    *out = 0.0;
    AK_EACH_MEMBER(name, size, at) {
        ak_value value;
        double here;
        AK_FAIL_IF(!json_is_number(size) || !(json_number_value(size) > 0), err, AK_INVALID,
                   "%s: \"%.60s\" must be a number above 0", where, name);
        bool known = constants != NULL && ak_scope_get(&value, constants, name) &&
                     ak_value_number(&here, &value);
        *out += known && here > 0 ? fabs(log2(here / json_number_value(size))) : HUGE_VAL;
    }
    return AK_OK;
}

typedef struct only {
    ak_config config;
    bool any;
} only;

/* Receives the only member of a family. */
static ak_status take_only(void *context, const ak_config *member, ak_error *err)
{
    (void)err;
    *(only *)context = (only){*member, true};
    return AK_OK;
}

/* Adapts a start to --fix: finds the only member of a family in which each parameter that is not
   fixed has the start's value as its one alternative. *any says whether there is a member. */
static ak_status keep_fix(ak_config *out, bool *any, const json_t *json, const reading *r,
                          const char *where, ak_error *err)
{
    only found = {.any = false};
    json_auto_t *family = json_object();
    char text[AK_VALUE_TEXT_MAX + 3];
    bool good = family != NULL;
    AK_EACH_MEMBER(name, value, json) {
        if (good && !ak_space_fixes(r->spec->fix, name)) {
            /* A family has texts as quoted literals, and True and False as words. */
            const char *word = json_string_value(value);
            if (word != NULL) {
                (void)snprintf(text, sizeof text, "'%.*s'", AK_VALUE_TEXT_MAX, word);
            } else {
                (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "True" : "False");
            }
            good = ak_json_set(family, name,
                               json_is_number(value) ? json_pack("[O]", value)
                                                     : json_pack("[s]", text));
        }
    }
    const ak_family alone = {family, NULL, r->spec->constants, where};
    ak_status status =
        good ? ak_space_family(r->space, &alone, take_only, &found, err) : ak_fail_memory(err);
    *any = found.any;
    *out = found.config;
    return status;
}

/* Reads a configuration; *usable says whether it is valid here. A value that the space does not
   have makes it unusable, unless --fix excludes that value: then the other values stay, or become
   the next smaller ones that are valid together with the fixed one. An unknown parameter is an
   error. */
static ak_status read_config(ak_config *out, bool *usable, const json_t *json, const reading *r,
                             const char *where, ak_error *err)
{
    const ak_space *space = r->space;
    bool fixed = false;
    *out = space->fallback;
    *usable = true;
    AK_EACH_MEMBER(name, value, json) {
        size_t p = 0, v = 0;
        AK_FAIL_IF(!ak_space_parameter_find(&p, space, name), err, AK_INVALID,
                   "%s: there is no parameter \"%.60s\"", where, name);
        AK_FAIL_IF(json_is_array(value) || json_is_object(value) || json_is_null(value), err,
                   AK_INVALID, "%s: \"%.60s\" is not a value", where, name);
        AK_DO(ak_space_value_of_json(&v, space, p, value, err));
        const bool missing = v == space->parameters[p].value_count;
        fixed = fixed || (missing && ak_space_fixes(r->spec->fix, name));
        *usable = *usable && !missing;
        out->at[p] = (uint16_t)(missing ? 0 : v);
    }
    if (fixed) {
        AK_DO(keep_fix(out, usable, json, r, where, err));
    }
    *usable = *usable && ak_space_has(space, out);
    return AK_OK;
}

static int by_number(double x, double y)
{
    return (x > y) - (x < y);
}

static int first_come(const void *a, const void *b)
{
    const start *x = a, *y = b;
    int order = x->kind - y->kind;
    order = order != 0 ? order : by_number(x->amount, y->amount);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* Returns true if the second start adds nothing to the first: they are the same configuration, or
   both are for every size and the rank expects the same time (SAME_TIME), because it ignores what
   distinguishes them. */
static bool repeats(const start *first, const start *second)
{
    return memcmp(&first->config, &second->config, sizeof first->config) == 0 ||
           (first->kind == FOR_EVERY_SIZE && second->kind == FOR_EVERY_SIZE &&
            fabs(first->amount - second->amount) < SAME_TIME);
}

static void keep(ak_space *space, const start *list, size_t count)
{
    const start *kept[AK_SPACE_STARTS_MAX];
    space->start_count = 0;
    for (size_t i = 0; i < count && space->start_count < AK_SPACE_STARTS_MAX; i++) {
        bool known = false;
        for (size_t k = 0; k < space->start_count && !known; k++) {
            known = repeats(kept[k], &list[i]);
        }
        if (!known) {
            kept[space->start_count] = &list[i];
            space->starts[space->start_count++] = list[i].config;
        }
    }
}

/* Returns the start that becomes the default, or NULL. It is the nearest winner at near sizes that
   won at these very sizes or is not unlikely (UNLIKELY); without a start for every size, no winner
   is unlikely. If there is no such winner, it is the start for every size that is expected to be
   the fastest, provided that it is expected to be faster than the default. */
static const start *default_of(const ak_space *space, const start *list, size_t count,
                               ak_rank *rank)
{
    size_t near = 0;
    while (near < count && list[near].kind == NEARBY) {
        near++;
    }
    const start *ranked = near < count && list[near].kind == FOR_EVERY_SIZE ? &list[near] : NULL;
    for (size_t i = 0; i < near; i++) {
        if (ranked == NULL || list[i].amount == 0 ||
            ak_rank_log(rank, &list[i].config) < ranked->amount + UNLIKELY) {
            return &list[i];
        }
    }
    return ranked != NULL && ranked->amount < ak_rank_log(rank, &space->fallback) ? ranked : NULL;
}

/* Sorts the starts, keeps the first ones that differ, and sets the default as default_of says. */
static void keep_best(ak_space *space, start *list, size_t count, ak_rank *rank)
{
    if (count == 0) {
        return;
    }
    qsort(list, count, sizeof *list, first_come);
    keep(space, list, count);
    const start *first = default_of(space, list, count, rank);
    if (first != NULL) {
        ak_space_set_default(space, &first->config);
    }
}

static ak_status read_near(double *near, const json_t *definition, const char *where, ak_error *err)
{
    const json_t *json = json_object_get(definition, "StartsNear");
    *near = json == NULL ? NEAR : json_number_value(json);
    AK_FAIL_IF(!(json == NULL || (json_is_number(json) && *near >= 0)), err, AK_INVALID,
               "%s: \"StartsNear\" must be a number of 0 or more", where);
    return AK_OK;
}

static ak_status add_start(reading *r, const ak_config *config, int kind, double amount,
                           ak_error *err)
{
    AK_DO(AK_GROW(r->starts, &r->capacity, r->count + 1, err));
    r->starts[r->count] = (start){*config, kind, amount, r->count};
    r->count++;
    return AK_OK;
}

static ak_status add_member(void *context, const ak_config *member, ak_error *err)
{
    reading *r = context;
    return add_start(r, member, FOR_EVERY_SIZE, ak_rank_log(r->rank, member), err);
}

/* Reads an entry with "Family", whose members are starts for every size. */
static ak_status read_family(reading *r, const json_t *json, const char *where, ak_error *err)
{
    static const char *const keys[] = {"Family", "Where", NULL};
    json_t *family = NULL, *conditions = NULL;
    AK_DO(ak_json_only(json, keys, where, err));
    AK_DO(ak_json_object_or_null(&family, json, "Family", where, err));
    AK_DO(ak_json_array_or_null(&conditions, json, "Where", where, err));
    AK_FAIL_IF(r->rank == NULL, err, AK_INVALID,
               "%s has a \"Family\", for which the file needs a \"Rank\"", where);
    const ak_family described = {family, conditions, r->spec->constants, where};
    return ak_space_family(r->space, &described, add_member, r, err);
}

/* Reads an entry of "Starts". It adds nothing if the start is not valid here or its sizes are too
   far away. */
static ak_status read_start(reading *r, const json_t *json, ak_error *err)
{
    static const char *const keys[] = {"At", "Config", NULL};
    char where[512];
    json_t *at = NULL, *values = NULL;
    ak_config config;
    bool usable;
    double distance;
    (void)snprintf(where, sizeof where, "%.400s: start %zu", r->spec->where, r->number + 1);
    AK_FAIL_IF(!json_is_object(json), err, AK_INVALID, "%s must be an object", where);
    if (json_object_get(json, "Family") != NULL) {
        return read_family(r, json, where, err);
    }
    AK_DO(ak_json_only(json, keys, where, err));
    AK_DO(ak_json_object_or_null(&at, json, "At", where, err));
    AK_DO(ak_json_object_or_null(&values, json, "Config", where, err));
    AK_FAIL_IF(values == NULL || (at == NULL && r->rank == NULL), err, AK_INVALID,
               "%s needs \"Config\", and also \"At\" if the file has no \"Rank\"", where);
    AK_DO(read_config(&config, &usable, values, r, where, err));
    if (at == NULL) {
        return usable ? add_member(r, &config, err) : AK_OK;
    }
    AK_DO(distance_of(&distance, at, r->spec->constants, where, err));
    return usable && distance <= FAR
               ? add_start(r, &config, distance <= r->near ? NEARBY : FAR_AWAY, distance, err)
               : AK_OK;
}

static void reading_clear(reading *r)
{
    ak_rank_close(r->rank);
    ak_free(r->starts);
}

ak_status ak_space_read_starts(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    AK_AT_END(reading_clear) reading r = {.space = space, .spec = spec};
    json_t *list = NULL;
    AK_DO(ak_json_array_or_null(&list, spec->definition, "Starts", spec->where, err));
    if (list == NULL) {
        return AK_OK;
    }
    AK_DO(read_near(&r.near, spec->definition, spec->where, err));
    AK_DO(ak_rank_open(&r.rank, space, spec->constants, spec->rank, spec->where, err));
    for (; r.number < json_array_size(list); r.number++) {
        AK_DO(read_start(&r, json_array_get(list, r.number), err));
    }
    keep_best(space, r.starts, r.count, r.rank);
    return AK_OK;
}

size_t ak_space_starts(const ak_config **out, const ak_space *space)
{
    *out = space->starts;
    return space->start_count;
}
