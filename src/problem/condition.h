/*
 * condition.h: conditions of a space, made fast. Internal to problem/.
 *
 * A condition is split at its top-level `and` and chained comparisons into atoms over as few
 * parameters as possible; an atom's constants are folded and it is compiled to typed code on
 * int64_t and double, which can be evaluated at a point and over ranges. What cannot be typed
 * (lists and texts beyond == and in) is evaluated by the expression's own walk: same meaning,
 * slower.
 *
 * A condition that cannot be evaluated for a configuration (division by zero, a number beyond 64
 * bits, a text compared with a number) excludes that configuration. So the order in which
 * conditions are tested never matters.
 */
#ifndef AK_PROBLEM_CONDITION_H
#define AK_PROBLEM_CONDITION_H

#include "problem/expr_tree.h"

#define AK_CONDITIONS_MAX 256
#define AK_ATOMS_MAX      1024
#define AK_FOLD_STEPS_MAX 20000000u /* of all constant parts together: about a second */

typedef union ak_cell {
    int64_t i; /* int, bool; a text as its number among all texts */
    double r;
} ak_cell;

/* What a parameter may be: a range of values; one value once it is bound. */
typedef struct ak_range {
    ak_cell low, high;
} ak_range;

typedef enum ak_cell_type { AK_CELL_INT, AK_CELL_REAL, AK_CELL_TEXT } ak_cell_type;

/* The parameters as conditions see them. */
typedef struct ak_symbols {
    const ak_parameter *parameters;
    size_t count;
    const ak_scope *constants; /* while compiling */
    ak_cell_type type[AK_PARAMETERS_MAX];
    ak_cell *table[AK_PARAMETERS_MAX]; /* a cell for each value */
    ak_range whole[AK_PARAMETERS_MAX]; /* from the smallest to the largest value */
    struct ak_map *texts;              /* to their numbers */
    size_t folded;                     /* steps spent on constant parts */
    ak_arena *arena;                   /* owner of tables, code and values */
} ak_symbols;

typedef struct ak_code ak_code;

typedef struct ak_atom {
    size_t condition;  /* which one it is a part of */
    uint8_t *variable; /* parameters that it reads, ascending */
    size_t variable_count;
    const ak_code *code; /* NULL: not typed */
    uint32_t cost;       /* of one evaluation of the code, in units of about 16 nodes */
    const ak_expr *expr; /* borrowed */
    const ak_node *node;
    ak_value *values; /* of the names of expr; those of parameters are filled in before each walk */
    uint8_t *parameter_of; /* of each name, or AK_PARAMETERS_MAX */
} ak_atom;

typedef struct ak_atoms {
    ak_atom *items;
    size_t count, capacity;
    ak_arena *scratch; /* of untyped evaluations */
} ak_atoms;

ak_status ak_symbols_init(ak_symbols *symbols, const ak_parameter *parameters, size_t count,
                          const ak_scope *constants, ak_arena *arena, ak_error *err);
void ak_symbols_clear(ak_symbols *symbols);

/* Adds the atoms of a condition. The expression must live as long as they do. */
ak_status ak_atoms_add(ak_atoms *atoms, ak_symbols *symbols, const ak_expr *expr, size_t condition,
                       ak_error *err);
void ak_atoms_clear(ak_atoms *atoms);

/* Where the parameters stand while atoms are evaluated. */
typedef struct ak_binding {
    ak_range range[AK_PARAMETERS_MAX];
    uint16_t at[AK_PARAMETERS_MAX];
} ak_binding;

void ak_binding_free(ak_binding *binding, const ak_symbols *symbols, size_t parameter);
static inline void ak_binding_set(ak_binding *binding, const ak_symbols *symbols, size_t parameter,
                                  size_t value)
{
    ak_cell cell = symbols->table[parameter][value];
    binding->range[parameter] = (ak_range){cell, cell};
    binding->at[parameter] = (uint16_t)value;
}

/* With all its parameters bound. Fails only without memory. Adds to `work` what it cost: 1 is about
   one short typed condition. */
ak_status ak_atom_holds(bool *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                        const ak_binding *binding, ak_arena *scratch, ak_error *err);
typedef enum ak_verdict { AK_NEVER, AK_ALWAYS, AK_MAYBE } ak_verdict;
/* With some of its parameters bound: what holds for all values of the others. */
ak_verdict ak_atom_decide(const ak_atom *atom, const ak_binding *binding);

#endif
