/* alloc.h: allocates the memory of the library's own code. Sizes are checked for overflow, new
   memory is zeroed (except what ak_resize and ak_grow add), and tests can make allocations fail. */
#ifndef AK_BASE_ALLOC_H
#define AK_BASE_ALLOC_H

#include "base/status.h"

/* Returns zeroed memory for `count` elements of `size` bytes; NULL on failure. A count of 0 is no
   failure. */
void *ak_alloc(size_t count, size_t size);
/* Points `pointer` at zeroed memory for `count` elements of its type, or fails:

       ak_model *model;
       AK_DO(AK_NEW(model, 1, err)); */
#define AK_NEW(pointer, count, err)                                                                \
    ((pointer) = ak_alloc(count, sizeof *(pointer)), ak_made(pointer, err))
/* Resizes a block as realloc does, but a count of 0 frees nothing: it gives a block of one byte. On
   failure it returns NULL and the old block stays valid. */
void *ak_resize(void *memory, size_t count, size_t size);
/* Both return a copy that the caller frees with ak_free, or NULL on failure. ak_strdup returns NULL
   for NULL. ak_strndup copies exactly `length` bytes, even behind a 0, and appends a 0. */
char *ak_strdup(const char *text);
char *ak_strndup(const char *text, size_t length);
/* Copies a text to *out, as ak_strdup does. Returns AK_NO_MEMORY on failure. */
ak_status ak_copy_text(char **out, const char *text, ak_error *err);
/* Frees memory from the functions above or from ak_grow. NULL is accepted. */
void ak_free(void *memory);
/* Frees several blocks: AK_FREE_ALL(list->names, list->items, list). */
#define AK_FREE_ALL(...)                                                                           \
    ak_free_all((void *const[]){__VA_ARGS__}, AK_COUNT(((void *const[]){__VA_ARGS__})))
void ak_free_all(void *const *blocks, size_t count);
/* Calls clear(&list[i]) for each element: AK_CLEAR_EACH(ak_trial_clear, trials, count). */
#define AK_CLEAR_EACH(clear, list, count)                                                          \
    do {                                                                                           \
        for (size_t each_ = 0; each_ < (count); each_++) {                                         \
            clear(&(list)[each_]);                                                                 \
        }                                                                                          \
    } while (0)
/* Calls end(list[i]) for each element: AK_END_EACH(ak_free, texts, count). */
#define AK_END_EACH(end, list, count)                                                              \
    do {                                                                                           \
        for (size_t each_ = 0; each_ < (count); each_++) {                                         \
            end((list)[each_]);                                                                    \
        }                                                                                          \
    } while (0)
/* Declares a pointer whose memory is freed when its block ends (AK_AT_END in status.h):

       AK_FREED char *text = NULL;
       AK_DO(ak_json_text(&text, object, err)); */
#define AK_FREED AK_AT_END(ak_free_at)
/* Frees the memory that the pointer at this address points to. */
void ak_free_at(void *pointer);

/* Returns the bytes of a page of memory, which is what can be mapped or protected by itself: 4096
   on x86-64, up to 65536 on AArch64. */
size_t ak_page_bytes(void);

/* Makes room for `need` elements in a growing array. The capacity, in elements, starts at 8 and
   doubles until it suffices; new elements are not zeroed. On failure the array is unchanged. */
ak_status ak_grow(void **array, size_t *capacity, size_t need, size_t size, ak_error *err);
/* Calls ak_grow for the array that `pointer` points to, with the size of its elements:

       AK_DO(AK_GROW(list->items, &list->capacity, list->count + 1, err)); */
#define AK_GROW(pointer, capacity, need, err)                                                      \
    ak_grow((void **)&(pointer), capacity, need, sizeof *(pointer), err)

/* Makes the nth allocation from now (1 is the next) and all after it fail; 0 ends this. For
   tests. */
void ak_alloc_fail_at(size_t nth);

/* An arena holds many small allocations that are freed together. Functions that return a pointer
   return NULL if there is no memory. */
typedef struct ak_arena ak_arena;
ak_arena *ak_arena_new(void);
/* Returns zeroed memory that is aligned for any type. */
void *ak_arena_alloc(ak_arena *arena, size_t bytes);
char *ak_arena_strndup(ak_arena *arena, const char *text, size_t length);
/* Returns zeroed memory for `count` elements of `size` bytes; NULL also if their size overflows. */
void *ak_arena_alloc_array(ak_arena *arena, size_t count, size_t size);
/* Do what AK_NEW and ak_copy_text do, with memory from the arena. `text` is not NULL. */
#define AK_ARENA_NEW(pointer, arena, count, err)                                                   \
    ((pointer) = ak_arena_alloc_array(arena, count, sizeof *(pointer)), ak_made(pointer, err))
ak_status ak_arena_text(const char **out, ak_arena *arena, const char *text, ak_error *err);
/* Makes everything that was allocated in the arena invalid. The newest block is kept for reuse. */
void ak_arena_reset(ak_arena *arena);
/* Frees the arena with all its memory. NULL is accepted. */
void ak_arena_free(ak_arena *arena);
AK_END_AT(ak_arena_free, ak_arena)

#endif
