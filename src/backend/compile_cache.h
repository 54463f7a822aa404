/*
 * compile_cache.h: keeps artifacts in $XDG_CACHE_HOME/autokernel/BACKEND, so that the next command
 * does not compile a configuration again. The caller hashes all that the artifact depends on.
 *
 * The files are HASH and HASH.log in one of 256 folders, each written to a temporary name and
 * renamed. The log begins with a checksum of both files and their name, and with the files that the
 * compiler has read and that the hash does not cover (installed headers), as they were: an artifact
 * that was damaged or exchanged, or that such a file has changed under, is not there. A folder that
 * has become full is emptied. Where nothing can be written, nothing is kept.
 */
#ifndef AK_BACKEND_COMPILE_CACHE_H
#define AK_BACKEND_COMPILE_CACHE_H

#include "base/fs.h"
#include "base/hash.h"

typedef struct ak_compile_cache {
    bool usable;
    char folder[AK_PATH_MAX], artifact[AK_PATH_MAX], log[AK_PATH_MAX];
} ak_compile_cache;

/* Makes the folder and gives it, or "", for ak_compile_folders. */
void ak_compile_cache_open(char out[AK_PATH_MAX], const char *backend);
/* Finds the place for what was hashed. Frees the hasher. */
void ak_compile_cache_find(ak_compile_cache *out, const char *backend, ak_hasher *hasher);
/* Copies an artifact from its place; returns false if it is not there. The log is the caller's. */
bool ak_compile_cache_take(char **log, const ak_compile_cache *place, const char *artifact);
/* Copies an artifact to its place. The log may be NULL. `rule`: a file with the rule for make that
   the compiler wrote (-MD), which names the files that it has read; NULL if it has read nothing but
   what was hashed. `source` is the one of these files that was hashed. Nothing is kept if there is
   no rule in the file, or if a file that it names is gone. */
void ak_compile_cache_keep(const ak_compile_cache *place, const char *artifact, const char *log,
                           const char *rule, const char *source);

#endif
