#include "space/code.h"

#include "base/map.h"

static ak_status intern(int64_t *out, ak_symbols *symbols, const char *text, ak_error *err)
{
    size_t number = 0;
    AK_DO(ak_map_number(&number, symbols->texts, text, err));
    *out = (int64_t)number;
    return AK_OK;
}

ak_status ak_symbols_cell(ak_cell *out, ak_cell_type *type, ak_symbols *symbols,
                          const ak_value *value, ak_error *err)
{
    switch (value->type) {
    case AK_VALUE_BOOL:
        *type = AK_CELL_INT;
        out->i = value->as.boolean;
        break;
    case AK_VALUE_INT:
        *type = AK_CELL_INT;
        out->i = value->as.integer;
        break;
    case AK_VALUE_REAL:
        *type = AK_CELL_REAL;
        out->r = value->as.real;
        break;
    case AK_VALUE_STRING:
        *type = AK_CELL_TEXT;
        return intern(&out->i, symbols, value->as.string, err);
    case AK_VALUE_LIST:
        return ak_fail(err, AK_INTERNAL, "a list is not a value of a parameter");
    }
    return AK_OK;
}

static ak_status fill_table(ak_symbols *symbols, size_t p, ak_error *err)
{
    const ak_parameter *parameter = &symbols->parameters[p];
    ak_cell *table;
    AK_DO(AK_ARENA_NEW(table, symbols->arena, parameter->value_count, err));
    symbols->table[p] = table;
    for (size_t i = 0; i < parameter->value_count; i++) {
        AK_DO(ak_symbols_cell(&table[i], &symbols->type[p], symbols, &parameter->values[i], err));
        ak_range *whole = &symbols->whole[p];
        bool real = symbols->type[p] == AK_CELL_REAL;
        if (i == 0 || (real ? table[i].r < whole->low.r : table[i].i < whole->low.i)) {
            whole->low = table[i];
        }
        if (i == 0 || (real ? table[i].r > whole->high.r : table[i].i > whole->high.i)) {
            whole->high = table[i];
        }
    }
    return AK_OK;
}

ak_status ak_symbols_init(ak_symbols *symbols, const ak_parameter *parameters, size_t count,
                          const ak_scope *constants, ak_arena *arena, ak_error *err)
{
    *symbols = (ak_symbols){
        .parameters = parameters, .count = count, .constants = constants, .arena = arena};
    symbols->texts = ak_map_new();
    AK_DO(ak_made(symbols->texts, err));
    for (size_t p = 0; p < count; p++) {
        AK_DO(fill_table(symbols, p, err));
    }
    return AK_OK;
}

void ak_symbols_clear(ak_symbols *symbols)
{
    ak_map_free(symbols->texts);
    symbols->texts = NULL;
}

void ak_binding_free(ak_binding *binding, const ak_symbols *symbols, size_t parameter)
{
    binding->range[parameter] = symbols->whole[parameter];
    binding->at[parameter] = 0;
}
