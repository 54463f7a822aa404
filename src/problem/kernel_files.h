/* kernel_files.h: access to the files of a kernel, which are in the executable or in a folder,
   and the functions that read a problem from them. Internal to problem/. */
#ifndef AK_PROBLEM_KERNEL_FILES_H
#define AK_PROBLEM_KERNEL_FILES_H

#include "base/fs.h"
#include "problem/problem.h"

#define AK_INCLUDES_MAX    64
#define AK_KERNEL_NAME_MAX 63
#define AK_PROBLEM_FILE    "problem.json"

/* The place of a kernel's files. */
typedef struct ak_kernel_files {
    bool builtin;
    char folder[AK_PATH_MAX]; /* "kernels/matmul" for a built-in kernel */
} ak_kernel_files;

/* Reads a text file and adds it to the kernel's files (ak_kernel_note). Its name is relative to the
   kernel's folder and may lead to the folder above or into a folder there ("../matmul/gemm.h"), not
   further up. The problem's arena owns the text. */
ak_status ak_kernel_read(const char **out, ak_problem *problem, const ak_kernel_files *files,
                         const char *name, ak_error *err);
/* Reads and parses a JSON file, which must hold an object, and adds the file to the kernel's files.
   The problem owns the object. *where is the file's path for messages. */
ak_status ak_kernel_read_json(json_t **out, const char **where, ak_problem *problem,
                              const ak_kernel_files *files, const char *name, ak_error *err);
/* Joins a folder and a checked name, and resolves "." and "..": "kernels/a" and "../b/c.h" give
   "kernels/b/c.h", and "a" and "../b/c.h" give "b/c.h". */
ak_status ak_kernel_path(char out[AK_PATH_MAX], const char *folder, const char *name,
                         ak_error *err);
/* Gives the path of a file in the kernel's folder, in the folder above it, or in a folder there.
   Returns AK_INVALID if the name leads elsewhere, if `files` is NULL, or for a built-in kernel,
   which has no data files. */
ak_status ak_kernel_locate(char path[AK_PATH_MAX], const ak_kernel_files *files, const char *name,
                           ak_error *err);
/* Gives the path of `name`, which `file` (a source or a T1 file) states relative to its own folder.
   With "../", the name leads to the folder above or to a folder in it. Returns AK_INVALID as
   ak_kernel_locate does. */
ak_status ak_kernel_beside(char path[AK_PATH_MAX], const char *file, const char *name,
                           ak_error *err);
/* Returns true if the kernel has a file with this name. */
bool ak_kernel_has(const ak_kernel_files *files, const char *name);
/* Adds copies of a name and a text to the kernel's files, so that a caller can keep the sources
   (sources.h). */
ak_status ak_kernel_note(ak_problem *problem, const char *name, const char *text, size_t length,
                         ak_error *err);
/* Gives a document to the problem, which releases the document when it is closed. On failure the
   document is released at once. */
ak_status ak_problem_keep(ak_problem *problem, json_t *document, ak_error *err);

/* Reads a kernel's problem.json and its space files into the problem (kernel_folder.c). */
ak_status ak_kernel_open(ak_problem *problem, const ak_kernel_files *files, ak_error *err);
/* Reads problem.json into the problem (problem_read.c). problem->where is the path of the file. */
ak_status ak_problem_read(ak_problem *problem, const ak_kernel_files *files, const json_t *json,
                          ak_error *err);
/* A space file: the name of its implementation, the backend or language that its own name begins
   with, its content, and what names it in messages. */
typedef struct ak_space_file {
    const char *name, *backend;
    const json_t *definition;
    const char *where;
} ak_space_file;
/* Reads one space file into the next element of problem->implementations, which has room for it
   (implementation.c). If `files` is NULL, it is a T1 file by itself, and the sources that it names
   are not read. */
ak_status ak_implementation_read(ak_problem *problem, const ak_kernel_files *files,
                                 const ak_space_file *file, ak_error *err);
/* Reads a T1 file as a problem of its own if it can be run, else as a space without a problem
   (t1.c). */
ak_status ak_t1_open(ak_problem *problem, const char *path, ak_error *err);
/* Reads a T1 document, which the problem already owns, as a space without a problem. */
ak_status ak_t1_fill(ak_problem *problem, const char *name, const json_t *document,
                     const char *where, ak_error *err);
/* Returns AK_INVALID if the backend does not let a space file give its compiler this option. */
ak_status ak_implementation_check_option(const ak_implementation_spec *implementation,
                                         const char *option, ak_error *err);

/* Copies a text into the problem's arena. */
ak_status ak_problem_text(const char **out, ak_problem *problem, const char *text, ak_error *err);

/* ---- t1_kernel (t1_kernel.c) ----------------------------------------------------------------- */

/* Finds the backend for the language that a T1 file names, or "host" for our own export of a host
   kernel; it is "none" if the file names no language (t1.c). An unknown language is refused, so
   that it is not taken for another. */
ak_status ak_t1_backend(const char **out, const json_t *document, const char *where, ak_error *err);

/* Makes the documents that problem.json and the space file of a backend would hold; the caller
   releases them. The problem has the reference that "Reference" in "KernelSpecification" names,
   else "default". Returns AK_INVALID, with the member at fault, if the file needs what is not
   supported. */
ak_status ak_t1_convert(json_t **problem, json_t **space, const json_t *document, const char *name,
                        const char *where, ak_error *err);

/* ---- python_kernel (python_kernel.c) --------------------------------------------------------- */

/* Kernels that are functions of a user's Python file. */

/* Returns whether the name is "FILE.py" or "FILE.py:function". */
bool ak_python_kernel_is(const char *name);
/* Gives the kernel folder for the file and its settings, and makes it unless the cache has it. */
ak_status ak_python_kernel_folder(char out[AK_PATH_MAX], const char *name, ak_error *err);
/* Replaces the file that an error names, if it is in the generated folder, by the user's file. */
void ak_python_kernel_blame(ak_error *err, const char *folder, const char *name);
/* Makes a kernel folder from the Python file and its settings in `folder`, which must be empty. */
ak_status ak_python_kernel_make(const char *folder, const char *name, ak_error *err);

/* ---- modules (modules.c) --------------------------------------------------------------------- */

/* These functions find the Python modules in a kernel's folder that its reference, or a baseline of
   the user, imports. Results depend on the modules of the reference as on the reference itself, so
   these modules belong to its sources.

   No Python runs to find them. A module counts if its name stands as a word anywhere in the file
   that imports or in a module that counts, even if it is only mentioned there. The name of each
   nested folder around it must stand there too; for an __init__.py that is enough. Modules below
   more than 8 nested folders are not found; more than 256 modules are refused (AK_LIMIT). Modules
   whose names a program puts together are refused when the reference runs
   (judge/reference_worker.py). */

/* Reads the modules as files of the kernel, whose `module` is then true. The reference must have
   been read. Reads none for a built-in kernel. */
ak_status ak_modules_read(ak_problem *problem, const ak_kernel_files *files, ak_error *err);
/* Reads the modules that a Python baseline imports, whose `beside` is then true. They travel with
   the kernel, and are no part of its identity. */
ak_status ak_modules_read_beside(ak_problem *problem, const ak_kernel_files *files,
                                 const ak_own_baseline *own, ak_error *err);

/* ---- kernel_scan (kernel_scan.c) ------------------------------------------------------------- */

/* The scan of a source file finds the kernel's entry, arguments and parameters, and makes the
   documents that problem.json and the space file would hold. Where the source file does not say
   something, the scan guesses and notes the guess. */

typedef struct ak_kernel_scan {
    json_t *problem, *space;
    char *source;    /* the file, with an entry that can be called by its name */
    char *reference; /* an ak_reference that only declares arrays and sizes */
    char *notes;     /* guesses, a line "WHAT: where to write it\n" for each; "": none */
} ak_kernel_scan;

typedef struct ak_scan_input {
    const char *text;    /* the source file */
    const char *beside;  /* the text of the files beside it that it includes */
    const char *backend; /* the backend whose language the source is in: "host", "cuda" or
                            "opencl" */
    const char *file;    /* the name that the source file gets */
    const char *name;    /* the name that the kernel gets */
} ak_scan_input;

/* Scans a source file. Returns AK_INVALID with a message about the first construct that the scan
   does not understand. The caller clears `out`, also on failure. */
ak_status ak_kernel_scan_text(ak_kernel_scan *out, const ak_scan_input *input, ak_error *err);
/* Checks that the source of an implementation has the kernel that "KernelName" names, and that this
   kernel takes arrays and values of the types that "Launch" gives it. Returns AK_INVALID if not.
   The check passes over what macros hide, the types of a kernel that is not defined exactly once,
   types that the scan does not understand or that depend on the task, values for a host kernel, and
   arrays that may be read in groups, by another type. */
ak_status ak_kernel_scan_check(const ak_implementation_spec *implementation,
                               const ak_problem *problem, ak_error *err);
void ak_kernel_scan_clear(ak_kernel_scan *scan);

#endif
