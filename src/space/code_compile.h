/*
 * code_compile.h: compiles a part of a condition to typed code (code.h). The expression's own walk
 * folds constant parts. Types follow Python: ints stay ints until the first real or /. Internal to
 * space/.
 */
#ifndef AK_SPACE_CODE_COMPILE_H
#define AK_SPACE_CODE_COMPILE_H

#include "space/code.h"

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
