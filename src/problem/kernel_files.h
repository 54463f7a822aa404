/* kernel_files.h: the files of a kernel, from the executable or from a folder, and what is read
   from them. Internal to problem/. */
#ifndef AK_PROBLEM_KERNEL_FILES_H
#define AK_PROBLEM_KERNEL_FILES_H

#include "base/fs.h"
#include "problem/problem.h"

#define AK_IMPLEMENTATIONS_MAX 64
#define AK_INCLUDES_MAX        64
#define AK_KERNEL_NAME_MAX     63

/* Where a kernel's files are. */
typedef struct ak_kernel_files {
    bool builtin;
    char folder[AK_PATH_MAX]; /* "kernels/matmul" if built in */
} ak_kernel_files;

/* The text of a file whose name is relative to the kernel's folder; it may be in the folder beside
   ("../matmul/gemm.h"), not further up. Owned by the problem's arena. */
ak_status ak_kernel_read(const char **out, ak_problem *problem, const ak_kernel_files *files,
                         const char *name, ak_error *err);
/* The same, parsed; owned by the problem. `where` gets the path for messages. */
ak_status ak_kernel_read_json(json_t **out, const char **where, ak_problem *problem,
                              const ak_kernel_files *files, const char *name, ak_error *err);
/* Is there a file of this name? */
bool ak_kernel_has(const ak_kernel_files *files, const char *name);
/* The problem takes the document, also on failure. */
ak_status ak_problem_keep(ak_problem *problem, json_t *document, ak_error *err);

/* What problem.json says, into the problem (problem_read.c). problem->where is its path. */
ak_status ak_problem_read(ak_problem *problem, const ak_kernel_files *files, const json_t *json,
                          ak_error *err);
/* One space file into problem->implementations, which has room (implementation.c). `files` NULL: a
   T1 file by itself, whose sources are not looked for. */
ak_status ak_implementation_read(ak_problem *problem, const ak_kernel_files *files,
                                 const char *name, const char *backend, const json_t *definition,
                                 const char *where, ak_error *err);
/* A T1 file as a problem of its own (t1.c). */
ak_status ak_t1_open(ak_problem *problem, const char *path, ak_error *err);
/* The same of a document, which the problem keeps already. */
ak_status ak_t1_fill(ak_problem *problem, const char *name, const json_t *document,
                     const char *where, ak_error *err);

/* Copies a text into the problem. */
ak_status ak_problem_text(const char **out, ak_problem *problem, const char *text, ak_error *err);

#endif
