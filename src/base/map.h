/* map.h: a hash table from texts to numbers, which are usually indices into an array of the
   owner. Keys are copied. */
#ifndef AK_BASE_MAP_H
#define AK_BASE_MAP_H

#include "base/status.h"

typedef struct ak_map ak_map;

/* Returns an empty table, or NULL if there is no memory. */
ak_map *ak_map_new(void);
void ak_map_free(ak_map *map);
AK_END_AT(ak_map_free, ak_map)
size_t ak_map_count(const ak_map *map);
/* Gives the number of a key. Returns false if the key is not in the table. `out` may be NULL. */
bool ak_map_get(size_t *out, const ak_map *map, const char *key);
/* Sets the number of a key, which may be in the table already. */
ak_status ak_map_put(ak_map *map, const char *key, size_t value, ak_error *err);
/* Gives the number of a key. A new key is added and gets the number of keys before it. */
ak_status ak_map_number(size_t *out, ak_map *map, const char *key, ak_error *err);

/* A set of 64-bit numbers. ak_set_new returns NULL if there is no memory. */
typedef struct ak_set ak_set;
ak_set *ak_set_new(void);
void ak_set_free(ak_set *set);
AK_END_AT(ak_set_free, ak_set)
bool ak_set_has(const ak_set *set, uint64_t key);
/* Adds a number. *added says whether it is new; `added` may be NULL. */
ak_status ak_set_add(bool *added, ak_set *set, uint64_t key, ak_error *err);

#endif
