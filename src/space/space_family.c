/* space_family.c: see space_body.h. The members are found by a walk through the graph of the
   valid configurations, which never follows alternatives that conditions exclude. */
#include "space/space_body.h"

#include <math.h>

#include "base/alloc.h"

#define ALTERNATIVES_MAX 64
#define WHERE_MAX        64

typedef struct alternative {
    ak_expr *expr; /* NULL: the alternative is `number` */
    double number;
} alternative;

/* The alternatives of a parameter; none if the family does not name it. */
typedef struct choice {
    alternative *items;
    size_t count;
} choice;

/* An expression in "Where", and the last parameter that it reads. */
typedef struct limit {
    ak_expr *expr;
    size_t depth;
} limit;

typedef struct family {
    const ak_space *space;
    const ak_scope *constants;
    const char *where;
    ak_arena *arena, *scratch;
    ak_scope *scope;
    choice choices[AK_PARAMETERS_MAX];
    limit limits[WHERE_MAX];
    size_t limit_count, members, steps;
    ak_config config;
    ak_family_take take;
    void *context;
    ak_error *err;
} family;

/* Parses an expression that may read only the parameters declared before parameter `before`. *depth
   is the last one that it reads; 0 if it reads none. */
static ak_status parse(ak_expr **out, size_t *depth, family *f, const char *text, size_t before)
{
    const char *const *names;
    AK_DO(ak_expr_parse(out, text, f->where, f->err));
    size_t count = ak_expr_names(&names, *out);
    *depth = 0;
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        size_t p;
        if (ak_space_parameter_find(&p, f->space, names[i])) {
            AK_FAIL_IF(p >= before, f->err, AK_INVALID,
                       "%s: \"%.60s\" reads \"%.60s\", which is declared later", f->where, text,
                       names[i]);
            *depth = p > *depth ? p : *depth;
        } else if (!ak_scope_get(&value, f->constants, names[i])) {
            return ak_fail(f->err, AK_INVALID,
                           "%s: \"%.60s\" reads \"%.60s\", which is neither a parameter nor a "
                           "size nor a device fact",
                           f->where, text, names[i]);
        }
    }
    return AK_OK;
}

static ak_status read_alternative(alternative *out, family *f, const json_t *json, size_t p)
{
    size_t depth;
    if (json_is_string(json)) {
        return parse(&out->expr, &depth, f, json_string_value(json), p);
    }
    AK_FAIL_IF(!json_is_number(json), f->err, AK_INVALID,
               "%s: \"%.60s\" needs numbers and expressions", f->where,
               f->space->parameters[p].name);
    out->number = json_number_value(json);
    return AK_OK;
}

static ak_status read_choices(family *f, const json_t *object)
{
    size_t p;
    AK_EACH_MEMBER(name, json, object) {
        AK_FAIL_IF(!ak_space_parameter_find(&p, f->space, name), f->err, AK_INVALID,
                   "%s: there is no parameter \"%.60s\"", f->where, name);
        size_t count = json_array_size(json);
        AK_FAIL_IF(!json_is_array(json) || count == 0 || count > ALTERNATIVES_MAX, f->err,
                   AK_INVALID, "%s: \"%.60s\" needs a list of 1 to %d alternatives", f->where, name,
                   ALTERNATIVES_MAX);
        choice *c = &f->choices[p];
        AK_DO(AK_ARENA_NEW(c->items, f->arena, count, f->err));
        c->count = count; /* from here on `end` frees the expressions */
        AK_EACH(item, json) {
            AK_DO(read_alternative(&c->items[item_at], f, item, p));
        }
    }
    return AK_OK;
}

static ak_status read_limits(family *f, const json_t *array)
{
    AK_FAIL_IF(json_array_size(array) > WHERE_MAX, f->err, AK_LIMIT,
               "%s: \"Where\" has more than %d expressions", f->where, WHERE_MAX);
    AK_EACH(item, array) {
        AK_FAIL_IF(!json_is_string(item), f->err, AK_INVALID,
                   "%s: \"Where\" is a list of expressions", f->where);
        limit *l = &f->limits[f->limit_count++];
        AK_DO(parse(&l->expr, &l->depth, f, json_string_value(item), f->space->count));
    }
    return AK_OK;
}

/* Returns the node's edge with the wanted value or, for a number, with the largest value not above
   it. Returns NULL if there is none. */
static const ak_edge *edge_for(const family *f, const ak_graph_node *node, const ak_value *wanted)
{
    const ak_edge *edges = &f->space->graph.edges[node->first], *best = NULL;
    const ak_value *values = f->space->parameters[node->layer].values;
    double number, other, nearest = -HUGE_VAL;
    bool ordered = ak_value_number(&number, wanted);
    for (uint32_t e = 0; e < node->edges; e++) {
        const ak_value *value = &values[edges[e].value];
        if (ordered && ak_value_number(&other, value)) {
            best = other <= number && other > nearest ? &edges[e] : best;
            nearest = best == &edges[e] ? other : nearest;
        } else if (ak_value_equal(value, wanted)) {
            best = &edges[e];
        }
    }
    return best;
}

static const ak_edge *edge_by_default(const family *f, const ak_graph_node *node)
{
    size_t value = f->space->parameters[node->layer].default_index;
    const ak_edge *edge =
        ak_graph_step(&f->space->graph, (uint32_t)(node - f->space->graph.nodes), value);
    return edge == NULL && node->edges == 1 ? &f->space->graph.edges[node->first] : edge;
}

static ak_status fulfilled(bool *out, family *f, size_t depth)
{
    *out = true;
    for (size_t i = 0; i < f->limit_count && *out; i++) {
        if (f->limits[i].depth == depth) {
            ak_value value;
            ak_arena_reset(f->scratch);
            AK_DO(ak_expr_eval(&value, f->limits[i].expr, f->scope, f->scratch, f->err));
            *out = ak_value_truth(&value);
        }
    }
    return AK_OK;
}

static ak_status walk(family *f, uint32_t at);

static ak_status follow(family *f, const ak_edge *edge, size_t p)
{
    bool goes_on;
    AK_FAIL_IF(++f->steps > AK_FAMILY_STEPS_MAX, f->err, AK_LIMIT,
               "%s: \"Where\" decides too late: more than %d values were tried; let it read "
               "parameters that are declared earlier, or give fewer alternatives",
               f->where, AK_FAMILY_STEPS_MAX);
    f->config.at[p] = edge->value;
    AK_DO(ak_scope_set(f->scope, f->space->parameters[p].name,
                       f->space->parameters[p].values[edge->value], f->err));
    AK_DO(fulfilled(&goes_on, f, p));
    return goes_on ? walk(f, edge->node) : AK_OK;
}

/* Gives all members that agree with f->config in the parameters before the node's own. */
static ak_status walk(family *f, uint32_t at)
{
    const ak_graph_node *node = &f->space->graph.nodes[at];
    if (at == AK_GRAPH_END) {
        return ++f->members <= AK_FAMILY_MAX
                   ? f->take(f->context, &f->config, f->err)
                   : ak_fail(f->err, AK_LIMIT, "%s has more than %d members", f->where,
                             AK_FAMILY_MAX);
    }
    const choice *c = &f->choices[node->layer];
    const ak_edge *tried[ALTERNATIVES_MAX];
    size_t tried_count = 0;
    if (c->count == 0) {
        const ak_edge *edge = edge_by_default(f, node);
        return edge == NULL ? AK_OK : follow(f, edge, node->layer);
    }
    for (size_t i = 0; i < c->count; i++) {
        ak_value wanted = {.type = AK_VALUE_REAL, .as.real = c->items[i].number};
        if (c->items[i].expr != NULL) {
            ak_arena_reset(f->scratch);
            AK_DO(ak_expr_eval(&wanted, c->items[i].expr, f->scope, f->scratch, f->err));
        }
        const ak_edge *edge = edge_for(f, node, &wanted);
        bool again = edge == NULL;
        for (size_t k = 0; k < tried_count && !again; k++) {
            again = tried[k] == edge;
        }
        if (!again) {
            tried[tried_count++] = edge;
            AK_DO(follow(f, edge, node->layer));
        }
    }
    return AK_OK;
}

static void end(family **at)
{
    family *f = *at;
    if (f == NULL) {
        return;
    }
    for (size_t p = 0; p < f->space->count; p++) {
        for (size_t i = 0; i < f->choices[p].count; i++) {
            ak_expr_free(f->choices[p].items[i].expr);
        }
    }
    for (size_t i = 0; i < f->limit_count; i++) {
        ak_expr_free(f->limits[i].expr);
    }
    ak_scope_free(f->scope);
    ak_arena_free(f->arena);
    ak_arena_free(f->scratch);
    ak_free(f);
}

ak_status ak_space_family(const ak_space *space, const ak_family *described, ak_family_take take,
                          void *context, ak_error *err)
{
    AK_AT_END(end) family *f = NULL;
    AK_DO(AK_NEW(f, 1, err));
    *f = (family){.space = space,
                  .constants = described->constants,
                  .where = described->where,
                  .take = take,
                  .context = context,
                  .err = err,
                  .arena = ak_arena_new(),
                  .scratch = ak_arena_new(),
                  .scope = ak_scope_new(described->constants)};
    AK_DO(ak_stored(f->arena != NULL && f->scratch != NULL && f->scope != NULL, err));
    AK_DO(read_choices(f, described->alternatives));
    AK_DO(read_limits(f, described->conditions));
    return walk(f, space->graph.root);
}
