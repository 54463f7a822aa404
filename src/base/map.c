/* map.c: hash tables with open addressing and linear probing, at most 2/3 full. */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

typedef struct slot {
    char *key; /* NULL: free */
    uint64_t hash;
    size_t value;
} slot;

struct ak_map {
    slot *slots;
    size_t capacity, count; /* capacity is 0 or a power of two */
};

ak_map *ak_map_new(void)
{
    return ak_alloc(1, sizeof(ak_map));
}

void ak_map_free(ak_map *map)
{
    if (map == NULL) {
        return;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        ak_free(map->slots[i].key);
    }
    AK_FREE_ALL(map->slots, map);
}

size_t ak_map_count(const ak_map *map)
{
    return map->count;
}

/* Returns the slot that holds the key, or the free slot where it belongs. The table has a free
   slot. */
static slot *probe(slot *slots, size_t capacity, const char *key, uint64_t hash)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    size_t i = (size_t)hash & (capacity - 1);
    while (slots[i].key != NULL && (slots[i].hash != hash || strcmp(slots[i].key, key) != 0)) {
        i = (i + 1) & (capacity - 1);
    }
    return &slots[i];
}

bool ak_map_get(size_t *out, const ak_map *map, const char *key)
{
    if (map->count == 0) {
        return false;
    }
    const slot *s = probe(map->slots, map->capacity, key, ak_hash64(key, strlen(key)));
    if (s->key == NULL) {
        return false;
    }
    if (out != NULL) {
        *out = s->value;
    }
    return true;
}

static ak_status widen(ak_map *map, ak_error *err)
{
    if (map->capacity != 0 && map->count + 1 <= map->capacity / 3 * 2) {
        return AK_OK;
    }
    size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
    slot *slots = ak_alloc(capacity, sizeof(slot));
    AK_DO(ak_made(slots, err));
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key != NULL) {
            *probe(slots, capacity, map->slots[i].key, map->slots[i].hash) = map->slots[i];
        }
    }
    ak_free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return AK_OK;
}

ak_status ak_map_put(ak_map *map, const char *key, size_t value, ak_error *err)
{
    AK_DO(widen(map, err));
    uint64_t hash = ak_hash64(key, strlen(key));
    slot *s = probe(map->slots, map->capacity, key, hash);
    if (s->key == NULL) {
        AK_DO(ak_copy_text(&s->key, key, err));
        s->hash = hash;
        map->count++;
    }
    s->value = value;
    return AK_OK;
}

ak_status ak_map_number(size_t *out, ak_map *map, const char *key, ak_error *err)
{
    if (ak_map_get(out, map, key)) {
        return AK_OK;
    }
    *out = map->count;
    return ak_map_put(map, key, map->count, err);
}

/* A key of 0 marks a free slot, so `has_zero` says whether the number 0 is in the set. */
struct ak_set {
    uint64_t *keys;
    size_t capacity, count;
    bool has_zero;
};

ak_set *ak_set_new(void)
{
    return ak_alloc(1, sizeof(ak_set));
}

void ak_set_free(ak_set *set)
{
    if (set != NULL) {
        AK_FREE_ALL(set->keys, set);
    }
}

static size_t set_probe(const uint64_t *keys, size_t capacity, uint64_t key)
{
    /* Fibonacci hashing spreads keys that are small consecutive integers. */
    size_t i = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (capacity - 1);
    while (keys[i] != 0 && keys[i] != key) {
        i = (i + 1) & (capacity - 1);
    }
    return i;
}

bool ak_set_has(const ak_set *set, uint64_t key)
{
    return key == 0 ? set->has_zero
                    : set->count > 0 && set->keys[set_probe(set->keys, set->capacity, key)] == key;
}

ak_status ak_set_add(bool *added, ak_set *set, uint64_t key, ak_error *err)
{
    bool fresh = !ak_set_has(set, key);
    if (fresh && key == 0) {
        set->has_zero = true;
    } else if (fresh) {
        if (set->capacity == 0 || set->count + 1 > set->capacity / 3 * 2) {
            size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
            uint64_t *keys;
            AK_DO(AK_NEW(keys, capacity, err));
            for (size_t i = 0; i < set->capacity; i++) {
                if (set->keys[i] != 0) {
                    keys[set_probe(keys, capacity, set->keys[i])] = set->keys[i];
                }
            }
            ak_free(set->keys);
            set->keys = keys;
            set->capacity = capacity;
        }
        set->keys[set_probe(set->keys, set->capacity, key)] = key;
        set->count++;
    }
    if (added != NULL) {
        *added = fresh;
    }
    return AK_OK;
}
