/* triton_arguments.h: the arguments of a launch as a text, by which compiling and launching agree
   on a variant. */
#ifndef AK_BACKEND_TRITON_TRITON_ARGUMENTS_H
#define AK_BACKEND_TRITON_TRITON_ARGUMENTS_H

#include "backend/launch/launch.h"

#define AK_TRITON_ARGUMENTS_BYTES (AK_LAUNCH_ARGUMENTS_MAX * 24)

/* Writes "*f16,*f16,i4096,i1000,f,none": pointers by their type, integers by width and value. */
ak_status ak_triton_arguments(char out[AK_TRITON_ARGUMENTS_BYTES], const ak_launch_kernel *kernel,
                              const ak_task *task, ak_error *err);

#endif
