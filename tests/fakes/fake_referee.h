/* fake_referee.h: the kernels of the referee for fake_cuda.c. */
#ifndef AK_FAKE_REFEREE_H
#define AK_FAKE_REFEREE_H

#define FAKE_REFEREE_ARGUMENTS 14

/* A number for a kernel's name; -1 if it is none of the referee's. */
int fake_referee_find(const char *name);
/* `arguments` as for cuLaunchKernel. */
void fake_referee_run(int which, void **arguments, unsigned blocks, unsigned shared_bytes);

#endif
