#include "model/feature.h"

#include <stdlib.h>

#include "base/alloc.h"

static double number_of(const ak_value *value)
{
    return value->type == AK_VALUE_INT    ? (double)value->as.integer
           : value->type == AK_VALUE_REAL ? value->as.real
                                          : (double)value->as.boolean;
}

static bool are_numbers(const ak_parameter *parameter)
{
    for (size_t i = 0; i < parameter->value_count; i++) {
        ak_value_type type = parameter->values[i].type;
        if (type == AK_VALUE_STRING || type == AK_VALUE_LIST) {
            return false;
        }
    }
    return true;
}

typedef struct numbered {
    double number;
    size_t index;
} numbered;

static int compare_numbers(const void *a, const void *b)
{
    double x = ((const numbered *)a)->number;
    double y = ((const numbered *)b)->number;
    return (x > y) - (x < y);
}

static ak_status rank_values(ak_column *column, const ak_parameter *parameter, ak_error *err)
{
    AK_FREED numbered *order = NULL;
    AK_DO(AK_NEW(order, parameter->value_count, err));
    for (size_t i = 0; i < parameter->value_count; i++) {
        order[i] = (numbered){number_of(&parameter->values[i]), i};
    }
    qsort(order, parameter->value_count, sizeof *order, compare_numbers);
    uint16_t rank = 0;
    for (size_t i = 0; i < parameter->value_count; i++) {
        rank = (uint16_t)(rank + (i > 0 && order[i].number > order[i - 1].number));
        column->level[order[i].index] = rank;
    }
    column->levels = (size_t)rank + 1;
    return AK_OK;
}

static ak_status open_column(ak_column *column, const ak_parameter *parameter, ak_error *err)
{
    column->levels = parameter->value_count;
    AK_DO(AK_NEW(column->level, parameter->value_count, err));
    column->ordered = are_numbers(parameter);
    if (column->ordered) {
        return rank_values(column, parameter, err);
    }
    for (size_t i = 0; i < parameter->value_count; i++) {
        column->level[i] = (uint16_t)i;
    }
    return AK_OK;
}

ak_status ak_features_open(ak_features *out, const ak_space *space, ak_error *err)
{
    *out = (ak_features){0};
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        const ak_parameter *parameter = ak_space_parameter(space, p);
        if (parameter->value_count > 1) {
            ak_column *column = &out->column[out->count++];
            column->parameter = p;
            AK_DO(open_column(column, parameter, err));
        }
    }
    return AK_OK;
}

void ak_features_close(ak_features *features)
{
    for (size_t c = 0; c < features->count; c++) {
        ak_free(features->column[c].level);
        features->column[c].level = NULL;
    }
    features->count = 0;
}

void ak_features_row(uint16_t *row, const ak_features *features, const ak_config *config)
{
    for (size_t c = 0; c < features->count; c++) {
        const ak_column *column = &features->column[c];
        row[c] = column->level[config->at[column->parameter]];
    }
}
