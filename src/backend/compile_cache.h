/*
 * compile_cache.h: keeps artifacts in $XDG_CACHE_HOME/autokernel/BACKEND or, without the variable,
 * in ~/.cache/autokernel/BACKEND, so that the next command does not compile a configuration again.
 * The caller hashes all that the artifact depends on.
 *
 * The files are XX/REST and XX/REST.log, where XX is the first two digits of the hash and REST the
 * others; each is written to a temporary name and renamed. The log begins with a checksum of both
 * files and their path, and with the size and time of each file that the compiler has read and the
 * hash does not cover (installed headers). An artifact is not used if it was damaged or exchanged,
 * or if one of these files has changed. A folder that is full is emptied. If the cache cannot be
 * written, nothing is kept.
 */
#ifndef AK_BACKEND_COMPILE_CACHE_H
#define AK_BACKEND_COMPILE_CACHE_H

#include "backend/compile.h"
#include "base/fs.h"
#include "base/hash.h"

typedef struct ak_compile_cache {
    bool usable;
    char folder[AK_PATH_MAX], artifact[AK_PATH_MAX], log[AK_PATH_MAX];
} ak_compile_cache;

/* Creates the cache folder of a backend and gives its path, for ak_compile_folders; "" on failure.
 */
void ak_compile_cache_open(char out[AK_PATH_MAX], const char *backend);
/* Gives the place of the artifact whose inputs were hashed; `usable` is false if there can be none.
   Frees the hasher. */
void ak_compile_cache_find(ak_compile_cache *out, const char *backend, ak_hasher *hasher);
/* Copies an artifact from its place to the path `artifact`; returns false if it is missing,
   damaged or out of date, or cannot be copied. The caller frees the log, which is NULL if the
   result is false. */
bool ak_compile_cache_take(char **log, const ak_compile_cache *place, const char *artifact);
/* Copies an artifact to its place. The log may be NULL. `rule`: a file with the rule for make that
   the compiler wrote (-MD), which names the files that it has read; NULL if it has read nothing but
   what was hashed. `source` is the one of these files that was hashed. Keeps nothing if there is no
   rule, if a file that the rule names is gone or has a line break in its path, or if the artifact
   has more than 64 MiB or the log, with its list of files, more than 256 KiB. */
void ak_compile_cache_keep(const ak_compile_cache *place, const char *artifact, const char *log,
                           const char *rule, const char *source);
/* Returns whether one of `words` occurs, perhaps within a longer word, in the job's source or
   options, or in a file outside of /usr that the rule names, or can be put together from words
   there, as the preprocessor does for ##. If `rule` is NULL or cannot be read, no such files are
   looked at. Words in what is certainly a string do not count. Also returns true if the source or
   one of these files cannot be read or has more than 4 MiB. `words` ends with NULL and has at most
   four words of at most 15 letters. */
bool ak_compile_may_have_word(const char *rule, const ak_compile_job *job,
                              const char *const *words);
/* Returns whether `list`, the assembler's list of what it has read, names an existing file that
   `rule` lacks, or one of the two files cannot be read. */
bool ak_compile_reads_more(const char *list, const char *rule);

#endif
