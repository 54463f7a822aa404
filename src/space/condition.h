/*
 * condition.h: conditions of a space, compiled for fast evaluation. Internal to space/.
 *
 * A condition is split at its top-level `and` and at chained comparisons into atoms that read as
 * few parameters as possible. An atom's constants are folded, and it is compiled to typed code on
 * int64_t and double, which can be evaluated at a point and over ranges. An atom that cannot be
 * typed (because of lists, or of texts outside of ==, != and in) is evaluated by the expression's
 * own walk, with the same meaning but more slowly.
 *
 * If a condition cannot be evaluated for a configuration (division by zero, a number beyond 64
 * bits, a text ordered against a number), it excludes that configuration. So the order in which
 * conditions are tested never matters. code.h holds the parameters as numbers, and the typed
 * code and its evaluators; code_compile.c compiles it.
 */
#ifndef AK_SPACE_CONDITION_H
#define AK_SPACE_CONDITION_H

#include "space/code.h"

#define AK_CONDITIONS_MAX 256
#define AK_ATOMS_MAX      1024

typedef struct ak_atom {
    size_t condition;  /* index of the condition that it is a part of */
    uint8_t *variable; /* parameters that it reads, ascending */
    size_t variable_count;
    const ak_code *code; /* NULL: the atom has no type, and its tree is walked */
    uint32_t cost;       /* work of one evaluation of the code: 1 is about 16 nodes */
    const ak_expr *expr; /* borrowed */
    const ak_node *node;
    ak_value *values; /* values of the names of expr; the values of parameters are set before each
                         walk */
    uint8_t *parameter_of; /* as in ak_code_source */
    ak_arena *scratch;     /* that of all atoms */
} ak_atom;

typedef struct ak_atoms {
    ak_atom *items;
    size_t count, capacity;
    ak_arena *scratch; /* memory for folding constants and for atoms without a type */
} ak_atoms;

/* Splits a condition and adds its atoms. The expression must live as long as the atoms. */
ak_status ak_atoms_add(ak_atoms *atoms, ak_symbols *symbols, const ak_expr *expr, size_t condition,
                       ak_error *err);
void ak_atoms_clear(ak_atoms *atoms);

/* Evaluates an atom with all its parameters bound. Fails only without memory. Adds its cost to
 *work, in units of about one short typed condition. */
ak_status ak_atom_holds(bool *out, uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                        const ak_binding *binding, ak_error *err);
/* Evaluates an atom in the same way and fails, with the reason, if that is not possible. */
ak_status ak_atom_evaluate(uint64_t *work, const ak_atom *atom, const ak_symbols *symbols,
                           const ak_binding *binding, ak_error *err);
typedef enum ak_truth { AK_NEVER, AK_ALWAYS, AK_MAYBE } ak_truth;
/* Returns whether an atom holds always, never or perhaps while the parameters that are not bound
   vary over their ranges. */
ak_truth ak_atom_decide(const ak_atom *atom, const ak_binding *binding);

/* ---- code_compile (code_compile.c) ----------------------------------------------------------- */

/* Compiles a part of a condition to typed code (code.h). The expression's own walk
   folds constant parts. Types follow Python: ints stay ints until the first real or /. */

/* Most evaluation steps for all constant parts of a space together: about a second of work. */
#define AK_FOLD_STEPS_MAX 20000000u

/* An expression and what each of its names stands for. All is borrowed. */
typedef struct ak_code_source {
    const ak_expr *expr;
    const ak_value *values; /* value of each name that is a constant */
    /* index of the parameter of each name; AK_PARAMETERS_MAX: a constant */
    const uint8_t *parameter_of;
} ak_code_source;

/* Compiles the truth of `node`, a part of source->expr. The code lives in symbols->arena. *out is
   NULL if the part cannot be typed, for example because of lists, or of texts outside of ==, != and
   in. Fails only without memory or at AK_FOLD_STEPS_MAX. */
ak_status ak_code_compile(const ak_code **out, const ak_code_source *source, const ak_node *node,
                          ak_symbols *symbols, ak_arena *scratch, ak_error *err);

#endif
