/* map.h: a hash table from text to a number, which is usually an index into the owner's array. Keys
   are copied. */
#ifndef AK_BASE_MAP_H
#define AK_BASE_MAP_H

#include "base/status.h"

typedef struct ak_map ak_map;

ak_map *ak_map_new(void); /* NULL: no memory */
void ak_map_free(ak_map *map);
size_t ak_map_count(const ak_map *map);
bool ak_map_get(size_t *out, const ak_map *map, const char *key); /* out may be NULL */
ak_status ak_map_put(ak_map *map, const char *key, size_t value, ak_error *err); /* replaces */

/* A set of 64-bit numbers. */
typedef struct ak_set ak_set;
ak_set *ak_set_new(void);
void ak_set_free(ak_set *set);
size_t ak_set_count(const ak_set *set);
bool ak_set_has(const ak_set *set, uint64_t key);
ak_status ak_set_add(bool *added, ak_set *set, uint64_t key, ak_error *err); /* added may be NULL */

#endif
