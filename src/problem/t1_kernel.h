/* t1_kernel.h: makes a problem and a space file from the kernel of a T1 file (t1_kernel.c). */
#ifndef AK_PROBLEM_T1_KERNEL_H
#define AK_PROBLEM_T1_KERNEL_H

#include "problem/kernel_files.h"

/* Finds the backend for the language that a T1 file names; it is "none" if the file names no
   language (t1.c). An unknown language is refused, so that it is not taken for another. */
ak_status ak_t1_backend(const char **out, const json_t *document, const char *where, ak_error *err);

/* Makes the documents that problem.json and the space file of a backend would hold; the caller
   releases them. The problem has the reference that the file's own member "Reference" names, else
   "default". Returns AK_INVALID, with the member at fault, if the file needs what is not
   supported. */
ak_status ak_t1_convert(json_t **problem, json_t **space, const json_t *document, const char *name,
                        const char *where, ak_error *err);

#endif
