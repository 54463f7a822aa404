/* rank.c: see rank.h. The expression is evaluated for hundreds of configurations between two
   trials, so its names are looked up once, when the rank is opened. */
#include "space/rank.h"

#include <math.h>

#include "base/alloc.h"
#include "space/expr_tree.h"
#include "space/let.h"

#define PLACE_MAX 320

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

/* Parses the object form: "Value" becomes the expression, and the entries of "Let" its parts. */
static ak_status parse_parts(ak_expr **out, const json_t *object, const char *place, ak_error *err)
{
    static const char *const keys[] = {"Let", "Value", NULL};
    char written[AK_LET_MAX + 1][AK_WRITTEN_BYTES];
    ak_expr_part parts[AK_LET_MAX];
    json_t *let;
    AK_DO(ak_json_only(object, keys, place, err));
    AK_DO(ak_let_read(&let, object, place, err));
    const size_t count = json_array_size(let);
    for (size_t i = 0; i <= count; i++) {
        const json_t *from = i < count ? json_array_get(let, i) : object;
        const char *text = ak_written_text(written[i], json_object_get(from, "Value"));
        const char *name = i < count ? ak_json_text_at(from, "Name") : "Value";
        AK_FAIL_IF(text == NULL, err, AK_INVALID, "%s: %.63s must be an expression or a number",
                   place, name);
        if (i == count) {
            return ak_expr_parse_parts(out, parts, count, text, place, err);
        }
        parts[i] = (ak_expr_part){name, text};
    }
    return AK_OK;
}

static ak_status parse(ak_expr **out, const char *text, const char *place, ak_error *err)
{
    if (text[0] != '{') { /* an object; no expression begins with a brace */
        return ak_expr_parse(out, text, place, err);
    }
    json_auto_t *object = NULL;
    AK_DO(ak_json_parse_text(&object, text, place, err));
    return parse_parts(out, object, place, err);
}

ak_status ak_rank_text(char **out, const json_t *object, const char *key, const char *where,
                       ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    char place[PLACE_MAX];
    AK_FREED char *text = NULL;
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    *out = NULL;
    if (value == NULL) {
        return AK_OK;
    }
    (void)snprintf(place, sizeof place, "%.300s: \"%.10s\"", where, key);
    AK_FAIL_IF(!json_is_string(value) && !json_is_object(value), err, AK_INVALID,
               "%s must be an expression, or an object with \"Let\" and \"Value\"", place);
    AK_DO(json_is_string(value) ? ak_copy_text(&text, json_string_value(value), err)
                                : ak_json_text(&text, value, err));
    AK_DO(parse(&expr, text, place, err));
    AK_GIVE(out, text);
    return AK_OK;
}

static ak_status bind_names(ak_rank *rank, const ak_scope *constants, const char *place,
                            ak_error *err)
{
    const char *const *names;
    ak_value value;
    size_t parameter, count = ak_expr_names(&names, rank->expr);
    AK_DO(AK_NEW(rank->values, count + 1, err));
    for (size_t i = 0; i < rank->expr->part_count; i++) {
        const char *name = rank->expr->part[i].name;
        const bool is_parameter = ak_space_parameter_find(&parameter, rank->space, name);
        AK_FAIL_IF(is_parameter || (constants != NULL && ak_scope_get(&value, constants, name)),
                   err, AK_INVALID, "%s: the part \"%.63s\" has the name of a %s; give it another",
                   place, name, is_parameter ? "parameter" : "size or device fact");
    }
    for (size_t i = 0; i < count; i++) {
        if (ak_space_parameter_find(&parameter, rank->space, names[i])) {
            rank->used[rank->used_count].name = i;
            rank->used[rank->used_count++].parameter = parameter;
        } else if (constants == NULL || !ak_scope_get(&rank->values[i], constants, names[i])) {
            return ak_fail(err, AK_INVALID,
                           "%s reads \"%.60s\", which is neither a parameter nor a size nor a "
                           "device fact%s",
                           place, names[i],
                           rank->expr->part_count == 0 ? "" : " nor an earlier part");
        }
    }
    return AK_OK;
}

static ak_status new_rank(ak_rank **out, const ak_space *space, const char *text, const char *place,
                          ak_error *err)
{
    AK_AT_END(ak_rank_close_at) ak_rank *rank = NULL;
    AK_DO(AK_NEW(rank, 1, err));
    rank->space = space;
    rank->arena = ak_arena_new();
    AK_DO(ak_made(rank->arena, err));
    AK_DO(parse(&rank->expr, text, place, err));
    AK_GIVE(out, rank);
    return AK_OK;
}

ak_status ak_rank_open(ak_rank **out, const ak_space *space, const ak_scope *constants,
                       const char *text, const char *where, ak_error *err)
{
    char place[PLACE_MAX];
    AK_AT_END(ak_rank_close_at) ak_rank *rank = NULL;
    *out = NULL;
    if (text == NULL) {
        return AK_OK;
    }
    (void)snprintf(place, sizeof place, "%.300s: \"Rank\"", where);
    AK_DO(new_rank(&rank, space, text, place, err));
    AK_DO(bind_names(rank, constants, place, err));
    AK_GIVE(out, rank);
    return AK_OK;
}

ak_status ak_rank_known(bool *out, const ak_space *space, const ak_scope *constants,
                        const char *text, const char *where, ak_error *err)
{
    AK_AT_END(ak_rank_close_at) ak_rank *rank = NULL;
    AK_DO(new_rank(&rank, space, text, where, err));
    const ak_status status = bind_names(rank, constants, where, NULL);
    *out = status == AK_OK;
    return status == AK_NO_MEMORY ? ak_fail_memory(err) : AK_OK;
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
    double time;
    return ak_value_number(&time, &value) && time > 0.0 && time < HUGE_VAL ? log(time) : HUGE_VAL;
}
