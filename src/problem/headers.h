/*
 * headers.h: the headers that a source includes from folders which its options name (-I/FOLDER), by
 * an absolute path, or from the folders of CPATH and the like. They belong to the code as the
 * source itself does, but lie outside of the kernel's folder and may change there. Headers where
 * compilers look by themselves belong to the environment.
 *
 * Sources are read as text, whatever surrounds a directive, and so are the headers that are found:
 * a name behind `include`, `include_next`, `import` or `embed` counts, with any mark before the
 * word (`#`, `%:`, `??=`, none in Fortran) and with comments and ends of lines within, and so does
 * one that `#define` gives. So headers count that a configuration may not read; those whose names
 * macros put together, or an option defines, do not.
 */
#ifndef AK_PROBLEM_HEADERS_H
#define AK_PROBLEM_HEADERS_H

#include "base/hash.h"
#include "base/json.h"

/* If at `word` stands a word that has a compiler read a file, and the name of the file in quotes or
   in brackets, gives the place and the length of the name and returns with what it begins; else 0.
   Names of #include_next and #embed begin with '<', because they are no code beside the file. */
int ak_headers_name(const char **name, size_t *length, const char *word);

/* Adds the names and contents of the headers of `source`; adds nothing if there is none. Every text
   of the space file `definition` may have options; NULL: there are none. */
ak_status ak_headers_add(ak_hasher *hasher, const char *source, const json_t *definition,
                         ak_error *err);

#endif
