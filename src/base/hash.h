/* hash.h: XXH3 hashes. The 128-bit hash, written as 32 hexadecimal digits, identifies sources
   and environments. */
#ifndef AK_BASE_HASH_H
#define AK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define AK_HASH_BYTES 33
uint64_t ak_hash64(const void *data, size_t length);
void ak_hash_text(char out[AK_HASH_BYTES], const void *data, size_t length);

/* Hashes several pieces into one. Each piece is preceded by its length, so that ("ab", "c") differs
   from ("a", "bc"). Without memory ak_hasher_new returns NULL, which the other functions accept;
   ak_hasher_end then writes "", which equals no hash. */
typedef struct ak_hasher ak_hasher;
ak_hasher *ak_hasher_new(void);
void ak_hasher_add(ak_hasher *hasher, const void *data, size_t length);
/* Adds a text without its 0. NULL counts as "". */
void ak_hasher_add_text(ak_hasher *hasher, const char *text);
/* Writes the hash and frees the hasher. */
void ak_hasher_end(char out[AK_HASH_BYTES], ak_hasher *hasher);

#endif
