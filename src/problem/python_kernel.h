/* python_kernel.h: kernels that are functions of a user's Python file (python_kernel.c). */
#ifndef AK_PROBLEM_PYTHON_KERNEL_H
#define AK_PROBLEM_PYTHON_KERNEL_H

#include "base/fs.h"

/* Returns whether the name is "FILE.py" or "FILE.py:function". */
bool ak_python_kernel_is(const char *name);
/* Gives the kernel folder for the file and its settings, and makes it unless the cache has it. */
ak_status ak_python_kernel_folder(char out[AK_PATH_MAX], const char *name, ak_error *err);
/* Replaces the file of the generated folder that an error names by the user's file. */
void ak_python_kernel_blame(ak_error *err, const char *folder, const char *name);
/* Writes the kernel folder of the file and its settings into an empty folder. */
ak_status ak_python_kernel_make(const char *folder, const char *name, ak_error *err);

#endif
