/*
 * headers.h: the headers that a source includes from folders which its options name (-I/FOLDER), by
 * an absolute path, or from the folders of CPATH and the like. They belong to the code as the
 * source itself does, but lie outside of the kernel's folder and may change there. Headers where
 * compilers look by themselves belong to the environment.
 *
 * Lines with #include are read as text, whatever surrounds them, and so are those of the headers
 * that are found. So headers count that a configuration may not read, and those whose names are
 * made by macros do not.
 */
#ifndef AK_PROBLEM_HEADERS_H
#define AK_PROBLEM_HEADERS_H

#include "base/hash.h"
#include "base/json.h"

/* Returns '"' or '<' if the line is an #include with a name in quotes or in brackets, and gives the
   place and the length of the name; else 0. #include_next has '<', because it does not look beside
   the file either. */
int ak_headers_line(const char **name, size_t *length, const char *line);

/* Adds the names and contents of the headers of `source`; adds nothing if there is none. Every text
   of the space file `definition` may have options; NULL: there are none. */
ak_status ak_headers_add(ak_hasher *hasher, const char *source, const json_t *definition,
                         ak_error *err);

#endif
