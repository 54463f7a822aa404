/* skeleton.h: what both ways of writing a kernel folder share (skeleton.c, adopt.c). */
#ifndef AK_TUNER_SKELETON_H
#define AK_TUNER_SKELETON_H

#include "problem/problem.h"

/* Makes the folder of a new kernel, which is named after the last part of the path. Returns
   AK_INVALID if that is no valid kernel name or names a built-in kernel, or if the path exists. */
ak_status ak_skeleton_folder(const char *path, ak_error *err);

#endif
