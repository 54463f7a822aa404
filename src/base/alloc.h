/* alloc.h: all memory of the library. Sizes are checked for overflow, memory comes zeroed, and a
   test can make the nth allocation fail. */
#ifndef AK_BASE_ALLOC_H
#define AK_BASE_ALLOC_H

#include "base/status.h"

void *ak_alloc(size_t count, size_t size); /* zeroed; NULL on failure, never for count 0 */
/* As realloc: the old block stays on failure. */
void *ak_resize(void *memory, size_t count, size_t size);
char *ak_strdup(const char *text);                        /* NULL gives NULL */
char *ak_strndup(const char *text, size_t length);
void ak_free(void *memory); /* accepts NULL */

/* Makes room for `need` elements in a growing array: at least doubles, zeroes nothing. */
ak_status ak_grow(void **array, size_t *capacity, size_t need, size_t size, ak_error *err);

/* For tests: the nth allocation from now (1 = the next) and all after it fail; 0 switches it off.
   ak_alloc_count is the number of allocations so far. */
void ak_alloc_fail_at(size_t nth);
size_t ak_alloc_count(void);

/* An arena: many small allocations that end together. */
typedef struct ak_arena ak_arena;
ak_arena *ak_arena_new(void);
void *ak_arena_alloc(ak_arena *arena, size_t bytes); /* zeroed, aligned for any type */
char *ak_arena_strndup(ak_arena *arena, const char *text, size_t length);
void ak_arena_reset(ak_arena *arena); /* keeps its memory for reuse */
void ak_arena_free(ak_arena *arena);

#endif
