/*
 * hash.h: computes two kinds of hashes. All but those of ak_hash64 are written as hexadecimal
 * digits.
 *
 * ak_hash_text and ak_hasher_new compute SHA-256 (64 digits): nobody can make other contents that
 * have the same hash. These hashes identify sources, environments and code, whose authors might
 * want such contents.
 *
 * XXH3 is fast, but other contents with the same hash can be made on purpose. ak_hash64 serves
 * tables in memory. ak_hash_quick (32 digits) names what nobody gains by forging. Older archives
 * (docs/formats.md) have such hashes only.
 */
#ifndef AK_BASE_HASH_H
#define AK_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AK_HASH_BYTES 65
void ak_hash_text(char out[AK_HASH_BYTES], const void *data, size_t length);

uint64_t ak_hash64(const void *data, size_t length);
#define AK_HASH_QUICK_BYTES 33
void ak_hash_quick(char out[AK_HASH_QUICK_BYTES], const void *data, size_t length);
/* Returns whether a hash is from ak_hash_quick, judged by its length. */
bool ak_hash_is_quick(const char *hash);

/* Hashes several pieces into one. Each piece is preceded by its length, so that ("ab", "c") differs
   from ("a", "bc"). Without memory ak_hasher_new returns NULL, which the other functions accept.
   Then, and if there was no memory for a piece, ak_hasher_end writes "", which equals no hash. */
typedef struct ak_hasher ak_hasher;
ak_hasher *ak_hasher_new(void);
/* Returns a hasher whose result is a hash as from ak_hash_quick. */
ak_hasher *ak_hasher_new_quick(void);
void ak_hasher_add(ak_hasher *hasher, const void *data, size_t length);
/* Adds a text without its 0. NULL counts as "". */
void ak_hasher_add_text(ak_hasher *hasher, const char *text);
/* Writes the hash and frees the hasher. */
void ak_hasher_end(char out[AK_HASH_BYTES], ak_hasher *hasher);

#endif
