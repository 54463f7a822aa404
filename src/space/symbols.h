/*
 * symbols.h: parameters as typed code sees them. A value is a cell of 64 bits; a text is its index
 * among all texts; a binding says which values each parameter can have at the moment. Internal to
 * space/.
 */
#ifndef AK_SPACE_SYMBOLS_H
#define AK_SPACE_SYMBOLS_H

#include "space/expr.h"

typedef union ak_cell {
    int64_t i; /* an int, a bool, or the index of a text */
    double r;
} ak_cell;

/* The values that a parameter can have: a range, or one value once it is bound. */
typedef struct ak_range {
    ak_cell low, high;
} ak_range;

typedef enum ak_cell_type { AK_CELL_INT, AK_CELL_REAL, AK_CELL_TEXT } ak_cell_type;

/* The parameters as conditions see them. */
typedef struct ak_symbols {
    const ak_parameter *parameters;
    size_t count;
    const ak_scope *constants; /* NULL once the conditions are compiled */
    ak_cell_type type[AK_PARAMETERS_MAX];
    ak_cell *table[AK_PARAMETERS_MAX]; /* the cell of each value */
    ak_range whole[AK_PARAMETERS_MAX]; /* from the smallest to the largest value */
    struct ak_map *texts;              /* from each text to its index */
    size_t folded;                     /* steps spent on folding constant parts */
    ak_arena *arena;                   /* owner of tables, code and values; borrowed */
} ak_symbols;

/* Makes the symbols of some parameters. The arena and the parameters must outlive them. The
   caller calls ak_symbols_clear, also after a failure. */
ak_status ak_symbols_init(ak_symbols *symbols, const ak_parameter *parameters, size_t count,
                          const ak_scope *constants, ak_arena *arena, ak_error *err);
void ak_symbols_clear(ak_symbols *symbols);
/* Gives the cell and the type of a value, which is not a list. */
ak_status ak_symbols_cell(ak_cell *out, ak_cell_type *type, ak_symbols *symbols,
                          const ak_value *value, ak_error *err);

/* The ranges, and the value indices, that parameters have while atoms are evaluated. */
typedef struct ak_binding {
    ak_range range[AK_PARAMETERS_MAX];
    uint16_t at[AK_PARAMETERS_MAX];
} ak_binding;

/* Gives a parameter its whole range. */
void ak_binding_free(ak_binding *binding, const ak_symbols *symbols, size_t parameter);
/* Binds a parameter to one of its values. */
static inline void ak_binding_set(ak_binding *binding, const ak_symbols *symbols, size_t parameter,
                                  size_t value)
{
    ak_cell cell = symbols->table[parameter][value];
    binding->range[parameter] = (ak_range){cell, cell};
    binding->at[parameter] = (uint16_t)value;
}

#endif
