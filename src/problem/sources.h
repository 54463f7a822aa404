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

/* Gives the files as they were when the problem was opened, sorted by name, with those of the
   implementation that is the reference, if one is, and with the data files, which are read again,
   if they have at most `data` bytes together: without them the folder cannot be opened. `out` is
   empty at the start; the caller clears it, also on failure. */
#define AK_SOURCES_DATA ((size_t)4 << 20) /* most that an archive keeps of one kernel */
ak_status ak_sources_of(ak_pack *out, const ak_problem *problem,
                        const ak_implementation_spec *implementation, size_t data, ak_error *err);

/* Gives all files of a kernel in the same places, including those of its other implementations and
   its data files, which are read again. `out` is empty at the start; the caller clears it, also on
   failure. */
ak_status ak_sources_all(ak_pack *out, const ak_problem *problem, ak_error *err);

/* Writes the hash of the implementation's source with the headers that lie outside of the kernel's
   folder (headers.c; these as they are now), the reference with its modules (modules.c), and what
   problem.json and the space file say without their prose (identity.c), as they were when the
   problem was opened. An environment stores it as "source". */
#define AK_SOURCES_HASH_BYTES AK_HASH_BYTES
ak_status ak_sources_hash(char out[AK_SOURCES_HASH_BYTES], const ak_problem *problem,
                          const ak_implementation_spec *implementation, ak_error *err);
/* Writes a hash that environments of older archives have for the same sources, each of 32 digits
   (ak_hash_quick). 0: of the same texts. 1, before schema 9: of the whole problem.json and space
   file, prose and order of members included. */
#define AK_SOURCES_FORMER 2
ak_status ak_sources_hash_former(char out[AK_SOURCES_HASH_BYTES], int which,
                                 const ak_problem *problem,
                                 const ak_implementation_spec *implementation, ak_error *err);
/* Finds out whether `hash`, the "source" of an environment, is that of these sources, by
   ak_sources_hash or, where it has 32 digits, by ak_sources_hash_former. */
ak_status ak_sources_are(bool *out, const char *hash, const ak_problem *problem,
                         const ak_implementation_spec *implementation, ak_error *err);

/* ---- headers (headers.c) --------------------------------------------------------------------- */

/* The headers that a source includes from folders which its options name (-I/FOLDER), by
   an absolute path, or from the folders of CPATH and the like. They belong to the code as the
   source itself does, but lie outside of the kernel's folder and may change there. Headers where
   compilers look by themselves belong to the environment.

   Sources are read as text, whatever surrounds a directive, and so are the headers that are found:
   a name behind `include`, `include_next`, `import` or `embed` counts, with any mark before the
   word (`#`, `%:`, `??=`, none in Fortran) and with comments and ends of lines within, and so does
   one that `#define` gives. So headers count that a configuration may not read; those whose names
   macros put together, or an option defines, do not. */

/* If at `word` stands a word that has a compiler read a file, and the name of the file in quotes or
   in brackets, gives the place and the length of the name and returns with what it begins; else 0.
   Names of #include_next and #embed begin with '<', because they are no code beside the file. */
int ak_headers_name(const char **name, size_t *length, const char *word);

/* Adds the names and contents of the headers of `source`; adds nothing if there is none. Every text
   of the space file `definition` may have options; NULL: there are none. */
ak_status ak_headers_add(ak_hasher *hasher, const char *source, const json_t *definition,
                         ak_error *err);

/* ---- identity (identity.c) ------------------------------------------------------------------- */

/* The canonical text of a problem.json or a space file: the members that decide which
   code is built and what is measured.

   White space and the order of members make no difference, and prose is left out: descriptions,
   notes, and what only prompts show. Every member that is not known to be prose counts, so members
   that are added to the formats count without a change here. */

/* Gives the canonical text of a problem.json or of a space file. The caller frees it with
   ak_free. */
ak_status ak_problem_identity(char **out, const json_t *problem, ak_error *err);
ak_status ak_space_identity(char **out, const json_t *space, ak_error *err);

#endif
