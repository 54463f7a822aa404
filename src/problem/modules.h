/*
 * modules.h: the Python modules in a kernel's folder that its reference imports. Results depend on
 * them as on the reference itself, so they belong to its sources.
 *
 * No Python runs to find them. A module counts if its name is a word of the reference, or of a
 * module that counts, wherever it stands there; the modules of a folder count likewise if the
 * folder's name is such a word. So modules count that are only mentioned. Those whose names a
 * program puts together are refused when the reference runs (judge/reference_worker.py).
 */
#ifndef AK_PROBLEM_MODULES_H
#define AK_PROBLEM_MODULES_H

#include "problem/kernel_files.h"

/* Reads the modules as files of the kernel, whose `module` is then true. The reference has been
   read. A built-in kernel has none. */
ak_status ak_modules_read(ak_problem *problem, const ak_kernel_files *files, ak_error *err);
/* Reads those of a baseline in Python, whose `beside` is then true. They travel with the kernel,
   and are no part of its identity. */
ak_status ak_modules_read_beside(ak_problem *problem, const ak_kernel_files *files,
                                 const ak_own_baseline *own, ak_error *err);

#endif
