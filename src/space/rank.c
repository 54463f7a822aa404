/* rank.c: see rank.h. Only the parameters that the expression reads are put into its scope,
   because it is evaluated for hundreds of configurations between two trials. */
#include "space/rank.h"

#include <math.h>

#include "base/alloc.h"

struct ak_rank {
    const ak_space *space;
    ak_expr *expr;
    ak_scope *scope;
    ak_arena *arena;
    size_t used[AK_PARAMETERS_MAX], used_count;
};

void ak_rank_close(ak_rank *rank)
{
    if (rank != NULL) {
        ak_expr_free(rank->expr);
        ak_scope_free(rank->scope);
        ak_arena_free(rank->arena);
        ak_free(rank);
    }
}

static ak_status bind_names(ak_rank *rank, const ak_scope *constants, const char *where,
                            ak_error *err)
{
    const char *const *names;
    size_t count = ak_expr_names(&names, rank->expr);
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        size_t parameter;
        if (ak_space_parameter_find(&parameter, rank->space, names[i])) {
            rank->used[rank->used_count++] = parameter;
        } else if (constants == NULL || !ak_scope_get(&value, constants, names[i])) {
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
    ak_status status = AK_OK;
    ak_rank *rank = ak_alloc(1, sizeof *rank);
    if (rank == NULL) {
        return ak_fail_memory(err);
    }
    rank->space = space;
    rank->arena = ak_arena_new();
    rank->scope = ak_scope_new(constants);
    if (rank->arena == NULL || rank->scope == NULL) {
        status = ak_fail_memory(err);
        goto out;
    }
    status = ak_expr_parse(&rank->expr, text, "\"Rank\"", err);
    if (status == AK_OK) {
        status = bind_names(rank, constants, where, err);
    }
out:
    if (status != AK_OK) {
        ak_rank_close(rank);
        return status;
    }
    *out = rank;
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
        size_t p = rank->used[i];
        if (ak_scope_set(rank->scope, ak_space_parameter(rank->space, p)->name,
                         ak_config_value(rank->space, config, p), NULL) != AK_OK) {
            return HUGE_VAL;
        }
    }
    ak_value value;
    ak_arena_reset(rank->arena);
    if (ak_expr_eval(&value, rank->expr, rank->scope, rank->arena, NULL) != AK_OK) {
        return HUGE_VAL;
    }
    double time = number_of(&value);
    return time > 0.0 && time < HUGE_VAL ? log(time) : HUGE_VAL;
}
