/* rank.c: see rank.h. The expression is evaluated for hundreds of configurations between two
   trials, so its names are looked up once, when the rank is opened. */
#include "space/rank.h"

#include <math.h>

#include "base/alloc.h"
#include "space/expr_tree.h"

struct ak_rank {
    const ak_space *space;
    ak_expr *expr;
    ak_arena *arena;
    ak_value *values; /* value of each name of the expression; texts and lists are borrowed */
    struct {
        size_t name, parameter;
    } used[AK_PARAMETERS_MAX]; /* the names that are parameters */
    size_t used_count;
};

void ak_rank_close(ak_rank *rank)
{
    if (rank != NULL) {
        ak_expr_free(rank->expr);
        ak_free(rank->values);
        ak_arena_free(rank->arena);
        ak_free(rank);
    }
}

static ak_status bind_names(ak_rank *rank, const ak_scope *constants, const char *where,
                            ak_error *err)
{
    const char *const *names;
    size_t count = ak_expr_names(&names, rank->expr);
    AK_DO(AK_NEW(rank->values, count + 1, err));
    for (size_t i = 0; i < count; i++) {
        size_t parameter;
        if (ak_space_parameter_find(&parameter, rank->space, names[i])) {
            rank->used[rank->used_count].name = i;
            rank->used[rank->used_count++].parameter = parameter;
        } else if (constants == NULL || !ak_scope_get(&rank->values[i], constants, names[i])) {
            return ak_fail(err, AK_INVALID,
                           "%s: \"Rank\" reads \"%.60s\", which is neither a parameter nor a size "
                           "nor a device fact",
                           where, names[i]);
        }
    }
    return AK_OK;
}

ak_status ak_rank_open(ak_rank **out, const ak_space *space, const ak_scope *constants,
                       const char *text, const char *where, ak_error *err)
{
    *out = NULL;
    if (text == NULL) {
        return AK_OK;
    }
    char place[320];
    AK_AT_END(ak_rank_close_at) ak_rank *rank = NULL;
    AK_DO(AK_NEW(rank, 1, err));
    rank->space = space;
    rank->arena = ak_arena_new();
    AK_DO(ak_made(rank->arena, err));
    (void)snprintf(place, sizeof place, "%.300s: \"Rank\"", where);
    AK_DO(ak_expr_parse(&rank->expr, text, place, err));
    AK_DO(bind_names(rank, constants, where, err));
    AK_GIVE(out, rank);
    return AK_OK;
}

static double number_of(const ak_value *value)
{
    return value->type == AK_VALUE_INT    ? (double)value->as.integer
           : value->type == AK_VALUE_REAL ? value->as.real
                                          : 0.0;
}

double ak_rank_log(ak_rank *rank, const ak_config *config)
{
    if (rank == NULL) {
        return 0.0;
    }
    for (size_t i = 0; i < rank->used_count; i++) {
        rank->values[rank->used[i].name] =
            ak_config_value(rank->space, config, rank->used[i].parameter);
    }
    ak_value value;
    size_t steps;
    ak_arena_reset(rank->arena);
    if (ak_expr_eval_node(&value, &steps, rank->expr, rank->expr->root, rank->values, rank->arena,
                          NULL) != AK_OK) {
        return HUGE_VAL;
    }
    double time = number_of(&value);
    return time > 0.0 && time < HUGE_VAL ? log(time) : HUGE_VAL;
}
