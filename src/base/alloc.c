/* alloc.c: checked allocation, a count of allocations by which tests make them fail, and an arena
   with growing blocks. */
#include "base/alloc.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_size_t allocations;
static atomic_size_t fail_at; /* the value of `allocations` from which all fail; 0: never */

static bool may_allocate(void)
{
    size_t now = atomic_fetch_add(&allocations, 1) + 1;
    size_t limit = atomic_load(&fail_at);
    return limit == 0 || now < limit;
}

void ak_alloc_fail_at(size_t nth)
{
    atomic_store(&fail_at, nth == 0 ? 0 : atomic_load(&allocations) + nth);
}

void *ak_alloc(size_t count, size_t size)
{
    if (!may_allocate()) {
        return NULL;
    }
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return calloc(bytes == 0 ? 1 : bytes, 1);
}

void *ak_resize(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || !may_allocate()) {
        return NULL;
    }
    return realloc(memory, bytes == 0 ? 1 : bytes);
}

char *ak_strdup(const char *text)
{
    return text == NULL ? NULL : ak_strndup(text, strlen(text));
}

ak_status ak_copy_text(char **out, const char *text, ak_error *err)
{
    *out = ak_strdup(text);
    return ak_stored(*out != NULL || text == NULL, err);
}

char *ak_strndup(const char *text, size_t length)
{
    size_t bytes;
    if (__builtin_add_overflow(length, 1, &bytes)) {
        return NULL;
    }
    char *copy = ak_alloc(bytes, 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

void ak_free(void *memory)
{
    free(memory);
}

void ak_free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
}

void ak_free_at(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

size_t ak_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

ak_status ak_grow(void **array, size_t *capacity, size_t need, size_t size, ak_error *err)
{
    assert(size > 0 && (*array != NULL || *capacity == 0));
    if (need <= *capacity) {
        return AK_OK;
    }
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < need) {
        if (__builtin_mul_overflow(wanted, 2, &wanted)) {
            return ak_fail_memory(err);
        }
    }
    void *grown = ak_resize(*array, wanted, size);
    AK_DO(ak_made(grown, err));
    *array = grown;
    *capacity = wanted;
    return AK_OK;
}

/* Blocks are chained newest first. Reset keeps only the newest, which is the largest. */
typedef struct block {
    struct block *older;
    size_t used, bytes;
    _Alignas(max_align_t) char data[];
} block;

struct ak_arena {
    block *newest;
};

#define ARENA_FIRST_BYTES 4096

ak_arena *ak_arena_new(void)
{
    return ak_alloc(1, sizeof(ak_arena));
}

void *ak_arena_alloc(ak_arena *arena, size_t bytes)
{
    size_t align = _Alignof(max_align_t);
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = (bytes + align - 1) / align * align;
    block *b = arena->newest;
    if (b == NULL || b->bytes - b->used < bytes) {
        size_t room = b == NULL ? ARENA_FIRST_BYTES : b->bytes * 2;
        while (room < bytes) {
            room *= 2;
        }
        block *fresh = ak_alloc(1, sizeof(block) + room);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->bytes = room;
        fresh->older = b;
        arena->newest = fresh;
        b = fresh;
    }
    void *memory = b->data + b->used;
    b->used += bytes;
    memset(memory, 0, bytes);
    return memory;
}

void *ak_arena_alloc_array(ak_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : ak_arena_alloc(arena, bytes);
}

char *ak_arena_strndup(ak_arena *arena, const char *text, size_t length)
{
    if (length >= SIZE_MAX / 2) {
        return NULL;
    }
    char *copy = ak_arena_alloc(arena, length + 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

ak_status ak_arena_text(const char **out, ak_arena *arena, const char *text, ak_error *err)
{
    *out = ak_arena_strndup(arena, text, strlen(text));
    return ak_made(*out, err);
}

static void free_blocks(block *b)
{
    while (b != NULL) {
        block *older = b->older;
        ak_free(b);
        b = older;
    }
}

void ak_arena_reset(ak_arena *arena)
{
    if (arena->newest != NULL) {
        free_blocks(arena->newest->older);
        arena->newest->older = NULL;
        arena->newest->used = 0;
    }
}

void ak_arena_free(ak_arena *arena)
{
    if (arena != NULL) {
        free_blocks(arena->newest);
        ak_free(arena);
    }
}
