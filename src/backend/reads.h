/*
 * reads.h: lists what a confined process may read: what is installed, and beside that only what a
 * tool needs. A tool may lie in the user's home, where everything else is none of a compiler's
 * business: no list names the home folder, a folder above it, or a hidden folder in it (.ssh,
 * .config, .local).
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
typedef struct ak_reads {
    const char *path[AK_READS_MAX + 1]; /* NULL-terminated */
    size_t count, used;
    char text[AK_READS_TEXT];
} ak_reads;

/* Begins with what every compiler may read: what is installed, but no user's files and no other
   process's environment. */
void ak_reads_open(ak_reads *out);
/* Adds one path as it is; does nothing for NULL, for "", or for one that is listed. A path that
   does not fit is left out. */
void ak_reads_add(ak_reads *reads, const char *path);
/* Adds a folder, unless it is one that no list names. */
void ak_reads_add_folder(ak_reads *reads, const char *folder);
/* Adds the folder of a file that is an absolute path, or the file alone if no list names the
   folder. */
void ak_reads_add_beside(ak_reads *reads, const char *file);
/* Adds the folders that a variable of the environment lists. */
void ak_reads_add_variable(ak_reads *reads, const char *name);
/* Adds a place where software is installed (it has bin, lib and so on): as a whole outside of the
   home; in the home only these folders; and of one that no list names only what is a compiler's own
   (lib/gcc, lib/clang and the like). */
void ak_reads_add_installation(ak_reads *reads, const char *prefix);
/* Adds a program that is found in PATH, and where it is installed: .../bin/gcc is in ..., x/gcc
   in x. Does nothing if there is no such program. */
void ak_reads_add_tool(ak_reads *reads, const char *program);

#endif
