/* hash.h: XXH3, 128 bit as 32 hexadecimal digits: the identity of sources and environments. */
#ifndef AK_BASE_HASH_H
#define AK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define AK_HASH_BYTES 33
uint64_t ak_hash64(const void *data, size_t length);
void ak_hash_text(char out[AK_HASH_BYTES], const void *data, size_t length);

/* Several pieces into one hash. Each piece is framed by its length, so ("ab","c") differs from
   ("a","bc"). */
typedef struct ak_hasher ak_hasher;
ak_hasher *ak_hasher_new(void);
void ak_hasher_add(ak_hasher *hasher, const void *data, size_t length);
void ak_hasher_add_text(ak_hasher *hasher, const char *text); /* NULL counts as "" */
void ak_hasher_end(char out[AK_HASH_BYTES], ak_hasher *hasher); /* frees it */

#endif
