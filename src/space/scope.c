/* scope.c: named values: a map from names to indices, and an arena for names, texts and lists. */
#include "space/expr.h"

#include <string.h>

#include "base/map.h"
#include "base/text.h"

typedef struct entry {
    const char *name;
    ak_value value;
} entry;

struct ak_scope {
    const ak_scope *parent;
    ak_map *names;
    ak_arena *arena;
    entry *entries;
    size_t count, capacity;
};

ak_scope *ak_scope_new(const ak_scope *parent)
{
    ak_scope *scope = ak_alloc(1, sizeof *scope);
    if (scope == NULL) {
        return NULL;
    }
    scope->parent = parent;
    scope->names = ak_map_new();
    scope->arena = ak_arena_new();
    if (scope->names == NULL || scope->arena == NULL) {
        ak_scope_free(scope);
        return NULL;
    }
    return scope;
}

void ak_scope_free(ak_scope *scope)
{
    if (scope != NULL) {
        ak_map_free(scope->names);
        ak_arena_free(scope->arena);
        AK_FREE_ALL(scope->entries, scope);
    }
}

bool ak_value_copy(ak_value *out, const ak_value *value, ak_arena *arena)
{
    *out = *value;
    if (value->type == AK_VALUE_STRING) {
        out->as.string = ak_arena_strndup(arena, value->as.string, strlen(value->as.string));
        return out->as.string != NULL;
    }
    if (value->type == AK_VALUE_LIST) {
        size_t count = value->as.list.count;
        ak_value *items = ak_arena_alloc(arena, (count + 1) * sizeof *items);
        if (items == NULL) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            if (!ak_value_copy(&items[i], &value->as.list.items[i], arena)) {
                return false;
            }
        }
        out->as.list.items = items;
    }
    return true;
}

ak_status ak_scope_set(ak_scope *scope, const char *name, ak_value value, ak_error *err)
{
    ak_value copy;
    AK_DO(ak_stored(ak_value_copy(&copy, &value, scope->arena), err));
    size_t index;
    if (ak_map_get(&index, scope->names, name)) {
        scope->entries[index].value = copy;
        return AK_OK;
    }
    AK_DO(AK_GROW(scope->entries, &scope->capacity, scope->count + 1, err));
    const char *kept;
    AK_DO(ak_arena_text(&kept, scope->arena, name, err));
    AK_DO(ak_map_put(scope->names, name, scope->count, err));
    scope->entries[scope->count++] = (entry){kept, copy};
    return AK_OK;
}

ak_status ak_scope_set_int(ak_scope *scope, const char *name, int64_t value, ak_error *err)
{
    return ak_scope_set(scope, name, (ak_value){.type = AK_VALUE_INT, .as.integer = value}, err);
}

ak_status ak_scope_set_real(ak_scope *scope, const char *name, double value, ak_error *err)
{
    return ak_scope_set(scope, name, (ak_value){.type = AK_VALUE_REAL, .as.real = value}, err);
}

ak_status ak_scope_set_text(ak_scope *scope, const char *name, const char *value, ak_error *err)
{
    return ak_scope_set(scope, name, (ak_value){.type = AK_VALUE_STRING, .as.string = value}, err);
}

bool ak_scope_get(ak_value *out, const ak_scope *scope, const char *name)
{
    for (; scope != NULL; scope = scope->parent) {
        size_t index;
        if (ak_map_get(&index, scope->names, name)) {
            *out = scope->entries[index].value;
            return true;
        }
    }
    return false;
}

bool ak_scope_at(const char **name, ak_value *value, const ak_scope *scope, size_t index)
{
    if (index >= scope->count) {
        return false;
    }
    *name = scope->entries[index].name;
    *value = scope->entries[index].value;
    return true;
}

ak_status ak_scope_copy(ak_scope *scope, const ak_scope *from, ak_error *err)
{
    if (from == NULL) {
        return AK_OK;
    }
    /* names of inner scopes are set last and so win */
    AK_DO(ak_scope_copy(scope, from->parent, err));
    for (size_t i = 0; i < from->count; i++) {
        AK_DO(ak_scope_set(scope, from->entries[i].name, from->entries[i].value, err));
    }
    return AK_OK;
}

const char *ak_scope_nearest(const ak_scope *scope, const char *name)
{
    const char *best = NULL;
    size_t closest = SIZE_MAX;
    for (; scope != NULL; scope = scope->parent) {
        for (size_t i = 0; i < scope->count; i++) {
            const char *one[] = {scope->entries[i].name, NULL};
            size_t distance = ak_text_distance(name, one[0]);
            if (distance < closest && ak_text_nearest(name, one) != NULL) {
                closest = distance;
                best = one[0];
            }
        }
    }
    return best;
}
