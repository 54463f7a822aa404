/*
 * reads.h: lists what a confined process may read: what is installed, and besides that only what a
 * tool needs. A tool may lie in the user's home, whose other files a compiler must not read: the
 * home folder, folders above it and hidden folders in it (.ssh, .config, .local) are private, and
 * only ak_reads_add lists them as a whole. A folder below a hidden one is not private, because
 * packages of Python lie there (~/.local/lib).
 *
 *     ak_reads_open(&reads);
 *     ak_reads_add_tool(&reads, compiler);
 *     ak_sandbox_plan_open(&plan, reads.path, writable);
 */
#ifndef AK_BACKEND_READS_H
#define AK_BACKEND_READS_H

#include "base/fs.h"

#define AK_READS_MAX  256
#define AK_READS_TEXT (32u << 10)
/* A list of paths. It must not be copied, because its paths lie in its own text. */
typedef struct ak_reads {
    const char *path[AK_READS_MAX + 1]; /* NULL-terminated */
    size_t count, used;
    char text[AK_READS_TEXT];
} ak_reads;

/* Starts a list with what every compiler may read: what is installed, but no user's files and no
   other process's environment. */
void ak_reads_open(ak_reads *out);
/* Adds one path as it is, even a private one; does nothing for NULL, for "", or for one that is
   listed. A path that does not fit is left out. */
void ak_reads_add(ak_reads *reads, const char *path);
/* Adds a folder unless it is private (see above) or its path is relative. */
void ak_reads_add_folder(ak_reads *reads, const char *folder);
/* Adds a file, and its folder unless the folder is private. Does nothing if the path is relative or
   the file lies in the root folder. */
void ak_reads_add_beside(ak_reads *reads, const char *file);
/* Adds the folders that a variable of the environment lists, except private ones and relative
   paths; none if the variable does not fit into AK_PATH_MAX bytes. */
void ak_reads_add_variable(ak_reads *reads, const char *name);
/* Adds a prefix where software is installed (with bin, lib and so on). A prefix outside the home is
   added as a whole. For a prefix within the home, or a hidden virtual environment there, only these
   subfolders and those of targets (x86_64-conda-linux-gnu) are added. For any other private folder
   only a compiler's own subfolders are added (lib/gcc, lib/clang and the like). Does nothing for
   NULL or a relative path. */
void ak_reads_add_installation(ak_reads *reads, const char *prefix);
/* Adds the file to which a program, found in PATH or named by its path, leads through symbolic
   links, and that file's installation: the prefix P of P/bin/gcc, the folder x of x/gcc. Does
   nothing if there is no such program. */
void ak_reads_add_tool(ak_reads *reads, const char *program);

#endif
