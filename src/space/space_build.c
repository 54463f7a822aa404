/* space_build.c: builds a space: reads its parameters and conditions, then builds the graph of
   its valid configurations (diagram.h). */
#include "space/space_body.h"

#include <string.h>

/* combinations that are tried; enough to tell which condition excludes most */
#define EXPLAIN_SAMPLES  4096
#define EXPLAIN_WORK_MAX 5000000u /* work of trying them; less than a second */

/* The combinations that are tried: all of them, or some that are drawn at random. */
typedef struct trials {
    const ak_space *space;
    bool all;
    size_t count;
    ak_rng rng;
} trials;

static void begin(trials *t, const ak_space *space)
{
    t->space = space;
    t->all = space->cartesian <= EXPLAIN_SAMPLES;
    t->count = t->all ? (size_t)space->cartesian : EXPLAIN_SAMPLES;
    ak_rng_seed(&t->rng, 1);
}

/* Binds the parameters to combination `s`. Calls must be in the order of `s` from 0 on, because
   random combinations come from one sequence. */
static void make(ak_binding *binding, trials *t, size_t s)
{
    size_t rest = s;
    for (size_t p = 0; p < t->space->count; p++) {
        size_t n = t->space->parameters[p].value_count;
        size_t value = t->all ? rest % n : (size_t)ak_rng_below(&t->rng, n);
        rest /= n;
        ak_binding_set(binding, &t->space->symbols, p, value);
    }
}

/* Appends for what percentage of `count` combinations a condition cannot be evaluated, and why the
   first of these cannot; nothing if all can. */
static void append_fault(ak_buf *out, const ak_space *space, size_t condition, size_t count)
{
    ak_error first = AK_ERROR_INIT;
    size_t faults = 0, prefix = 0, tried = 0;
    uint64_t work = 0;
    trials t;
    begin(&t, space);
    for (; tried < count && work < EXPLAIN_WORK_MAX; tried++) {
        ak_binding binding;
        bool fault = false;
        make(&binding, &t, tried);
        for (size_t i = 0; i < space->atoms.count && !fault; i++) {
            const ak_atom *atom = &space->atoms.items[i];
            ak_error why = AK_ERROR_INIT;
            fault = atom->condition == condition &&
                    ak_atom_evaluate(&work, atom, &space->symbols, &binding, &why) != AK_OK;
            if (fault && faults++ == 0) {
                first = why;
                /* the place and the text of the expression, which the message has already */
                prefix = (size_t)snprintf(NULL, 0, "%s: \"%.160s\": ", atom->expr->where,
                                          atom->expr->text);
                prefix = prefix < strlen(why.text) ? prefix : 0;
            }
        }
    }
    if (faults > 0) {
        ak_buf_print(out, "; for %.3g %% it cannot be evaluated: %s",
                     100.0 * (double)faults / (double)tried, first.text + prefix);
    }
}

/* Returns AK_INVALID for a space without valid configurations, with the condition that excludes
   most of the combinations that are tried. */
static ak_status explain_empty(const ak_space *space, const char *where, ak_error *err)
{
    AK_FREED size_t *excluded = NULL;
    AK_DO(AK_NEW(excluded, space->condition_count + 1, err));
    uint64_t work = 0;
    AK_AT_END(ak_buf_free) ak_buf fault = AK_BUF(2048);
    trials t;
    begin(&t, space);
    size_t samples = t.count, worst = 0;
    for (size_t s = 0; s < samples; s++) {
        ak_binding binding;
        if (work > EXPLAIN_WORK_MAX) {
            samples = s;
            break;
        }
        make(&binding, &t, s);
        size_t last = SIZE_MAX; /* the condition that was last counted for this combination */
        for (size_t i = 0; i < space->atoms.count; i++) {
            const ak_atom *atom = &space->atoms.items[i];
            bool holds = true;
            if (atom->condition != last) {
                AK_DO(ak_atom_holds(&holds, &work, atom, &space->symbols, &binding, err));
            }
            if (!holds) {
                last = atom->condition;
                excluded[last]++;
            }
        }
    }
    for (size_t i = 1; i < space->condition_count; i++) {
        worst = excluded[i] > excluded[worst] ? i : worst;
    }
    const double percent = 100.0 * (double)excluded[worst] / (double)samples;
    const char *reason = space->reasons[worst];
    append_fault(&fault, space, worst, samples);
    AK_DO(ak_buf_status(&fault, err));
    return ak_fail(err, AK_INVALID,
                   "%s: no configuration is valid: condition %zu (%.120s%s%.80s) excludes "
                   "%.3g %% of all combinations%s",
                   where, worst + 1, space->texts[worst], *reason == 0 ? "" : ": ", reason, percent,
                   ak_or_empty(fault.data));
}

/* Marks the values that occur in valid configurations. These are the values on edges, because every
   edge leads to a configuration. */
static ak_status mark_values(ak_space *space, ak_error *err)
{
    const ak_graph *graph = &space->graph;
    for (size_t p = 0; p < space->count; p++) {
        const size_t count = space->parameters[p].value_count;
        AK_DO(AK_ARENA_NEW(space->bodies[p].occurs, space->arena, count, err));
    }
    for (size_t n = AK_GRAPH_END + 1; n < graph->node_count; n++) {
        const ak_graph_node *node = &graph->nodes[n];
        for (uint32_t e = 0; e < node->edges; e++) {
            space->bodies[node->layer].occurs[graph->edges[node->first + e].value] = true;
        }
    }
    return AK_OK;
}

static ak_status build(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    space->arena = ak_arena_new();
    space->names = ak_map_new();
    space->cartesian = 1.0;
    space->graph.empty = true;
    AK_DO(ak_stored(space->arena != NULL && space->names != NULL, err));
    AK_DO(ak_space_read(space, spec, err));
    AK_DO(ak_symbols_init(&space->symbols, space->parameters, space->count, spec->constants,
                          space->arena, err));
    space->listed = spec->listed != NULL;
    for (size_t i = 0; i < space->condition_count && !space->listed; i++) {
        AK_DO(ak_atoms_add(&space->atoms, &space->symbols, space->conditions[i], i, err));
    }
    space->symbols.constants = NULL; /* only ak_atoms_add reads the constants; each atom has their
                                        values and borrows their texts */
    for (size_t p = 0; p < space->count; p++) {
        space->fallback.at[p] = (uint16_t)space->parameters[p].default_index;
    }
    space->outline = spec->outline;
    if (space->outline) {
        return AK_OK;
    }
    if (space->listed) {
        AK_DO(ak_graph_list(&space->graph, &space->symbols, spec->listed, spec->listed_count,
                            spec->where, err));
    } else {
        AK_DO(ak_graph_build(&space->graph, &space->atoms, &space->symbols, spec->work_max,
                             spec->where, err));
    }
    if (space->graph.empty) {
        AK_DO(space->listed ? ak_fail(err, AK_INVALID,
                                      "%s holds no configuration: a recording needs at least one",
                                      spec->where)
                            : explain_empty(space, spec->where, err));
    }
    AK_DO(mark_values(space, err));
    AK_DO(AK_NEW(space->cost, space->graph.node_count, err));
    ak_config wish = space->fallback;
    ak_space_repair(&space->fallback, space, &wish);
    if (!space->listed) {
        AK_DO(ak_space_read_starts(space, spec, err));
    }
    ak_space_set_default(space, &space->fallback); /* the parameters show what is used */
    return AK_OK;
}

ak_status ak_space_build(ak_space **out, const ak_space_spec *spec, ak_error *err)
{
    ak_space_spec known = *spec;
    known.where = spec->where == NULL ? "space" : spec->where;
    known.work_max = spec->work_max == 0 ? AK_SPACE_WORK_MAX : spec->work_max;
    AK_AT_END(ak_space_free_at) ak_space *space = NULL;
    AK_DO(AK_NEW(space, 1, err));
    AK_DO(build(space, &known, err));
    AK_GIVE(out, space);
    return AK_OK;
}

void ak_space_free(ak_space *space)
{
    if (space != NULL) {
        AK_END_EACH(ak_expr_free, space->conditions, space->condition_count);
        ak_graph_clear(&space->graph);
        ak_atoms_clear(&space->atoms);
        ak_symbols_clear(&space->symbols);
        ak_map_free(space->names);
        ak_free(space->cost);
        ak_arena_free(space->arena);
        ak_free(space);
    }
}
