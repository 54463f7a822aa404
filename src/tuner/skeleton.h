/* skeleton.h: what both ways of writing a kernel folder share (skeleton.c, adopt.c). */
#ifndef AK_TUNER_SKELETON_H
#define AK_TUNER_SKELETON_H

#include "problem/problem.h"

/* Makes the folder of a new kernel. Returns AK_INVALID if its name cannot be a kernel's or is that
   of a built-in kernel, or if the path exists already. */
ak_status ak_skeleton_folder(const char *path, ak_error *err);

#endif
