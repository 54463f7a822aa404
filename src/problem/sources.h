/*
 * sources.h: collects the files of one implementation of a kernel: problem.json, the references and
 * baselines with the Python modules that they import, the space file, and the source with the files
 * that it includes. They keep their places relative to each other ("softmax/host.json",
 * "matmul/vector.h"), so that the folder can be opened again as a kernel wherever it is put.
 */
#ifndef AK_PROBLEM_SOURCES_H
#define AK_PROBLEM_SOURCES_H

#include "base/hash.h"
#include "base/pack.h"
#include "problem/problem.h"

/* Gives the files, sorted by name, as they were when the problem was opened, including those of the
   implementation that is the reference, if one is. Data files are read again, and given only if
   they have at most `data` bytes together; without them the folder cannot be opened. `out` is empty
   at the start; the caller clears it, also on failure. */
#define AK_SOURCES_DATA ((size_t)4 << 20) /* bytes; most that an archive keeps for one kernel */
ak_status ak_sources_of(ak_pack *out, const ak_problem *problem,
                        const ak_implementation_spec *implementation, size_t data, ak_error *err);

/* Gives all files of a kernel at the same relative paths, including those of its other
   implementations and its data files, which are read again. `out` is empty at the start; the caller
   clears it, also on failure. */
ak_status ak_sources_all(ak_pack *out, const ak_problem *problem, ak_error *err);

/* Writes the hash of what results depend on: the implementation's source, the references with their
   modules (modules.c; reference.cu for CUDA only), the data files, and what problem.json and the
   space file say without their prose (identity.c), all as they were when the problem was opened;
   and the headers outside of the kernel's folder as they are now (headers.c). An environment stores
   it as "source". */
#define AK_SOURCES_HASH_BYTES AK_HASH_BYTES
ak_status ak_sources_hash(char out[AK_SOURCES_HASH_BYTES], const ak_problem *problem,
                          const ak_implementation_spec *implementation, ak_error *err);
/* Writes a hash of 32 digits (ak_hash_quick) by which environments of older archives name the same
   sources. `which` 0 hashes the texts that ak_sources_hash hashes; 1, used before schema 9, hashes
   the whole problem.json and space file, including prose and the order of members. */
#define AK_SOURCES_FORMER 2
ak_status ak_sources_hash_former(char out[AK_SOURCES_HASH_BYTES], int which,
                                 const ak_problem *problem,
                                 const ak_implementation_spec *implementation, ak_error *err);
/* Sets *out to whether `hash`, the "source" of an environment, is the hash of these sources: that
   of ak_sources_hash or, if it has 32 digits, one of ak_sources_hash_former. */
ak_status ak_sources_are(bool *out, const char *hash, const ak_problem *problem,
                         const ak_implementation_spec *implementation, ak_error *err);

/* ---- headers (headers.c) --------------------------------------------------------------------- */

/* These functions find the headers that a source includes by an absolute path, or from the folders
   that its options (-I/FOLDER) or CPATH and the like name. Such headers belong to the code as the
   source itself does, but lie outside of the kernel's folder and may change there. Headers where
   compilers look by themselves belong to the environment.

   Sources are read as text, whatever surrounds a directive, and so are the headers that are found:
   a name behind `include`, `include_next`, `import` or `embed` counts, with any mark before the
   word (`#`, `%:`, `??=`, none in Fortran) and with comments and ends of lines within, and so does
   one that `#define` gives. A header therefore may count although no configuration reads it.
   Headers whose names macros put together, or an option defines, do not count. A header of more
   than 4 MiB counts with its name, size and date of change. */

/* If a word at `word` makes a compiler read a file ("include") and the file's name follows in
   quotes or brackets, gives the place and the length of the name and returns its first mark ('"',
   '\'' or '<'); else returns 0. For #include_next and #embed, '"' is returned as '<', because these
   files are not looked for as code beside the file. */
int ak_headers_name(const char **name, size_t *length, const char *word);

/* Adds the names and contents of the headers that `source` (NULL: none) includes. Every text in the
   space file `definition` may hold options; NULL: there are none. `where` names the source's file
   in errors. Returns AK_LIMIT if there are more than 8192 such headers, or more than 256 folders in
   which to look for them. */
ak_status ak_headers_add(ak_hasher *hasher, const char *where, const char *source,
                         const json_t *definition, ak_error *err);

/* ---- identity (identity.c) ------------------------------------------------------------------- */

/* The canonical text of a problem.json or a space file holds the members that decide which code is
   built and what is measured.

   White space and the order of members make no difference, and prose is left out: descriptions,
   notes, and what only prompts show. Every member that is not known to be prose counts, so members
   that are added to the formats count without a change here. */

/* Gives the canonical text of a problem.json or of a space file. The caller frees it with
   ak_free. */
ak_status ak_problem_identity(char **out, const json_t *problem, ak_error *err);
ak_status ak_space_identity(char **out, const json_t *space, ak_error *err);

#endif
