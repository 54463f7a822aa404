/*
 * host_openmp.h: OpenMP for candidates that are compiled with -fopenmp (a space file says
 * "Threads": "openmp").
 *
 * gcc turns OpenMP's directives into calls of libgomp. A candidate gets these functions from the
 * runner instead, which carries them out on its own pool: the candidate still starts no thread, is
 * confined as every other candidate, and its threads are those whose time and waits are counted.
 *
 * Supported: parallel, for with every schedule (of a counter that is an unsigned 64-bit number:
 * static only), sections, single, critical without a name, atomic, barrier, reductions, and queries
 * of the number of threads. A parallel region within another has one thread. Other functions of
 * libgomp are refused, and the message names them.
 */
#ifndef AK_BACKEND_HOST_OPENMP_H
#define AK_BACKEND_HOST_OPENMP_H

#include "backend/host/host_pool.h"

/* Sets the pool for the next parallel regions, and how many threads they have at most, which must
   not be more than the pool has; less than 1 counts as 1. */
void ak_openmp_use(ak_host_pool *pool, int threads);
/* Resets what the OpenMP functions keep for this thread to its state before the first call. */
void ak_openmp_forget(void);
/* Resets what they keep for all threads. No parallel region may be running. */
void ak_openmp_forget_team(void);
/* Returns whether the runner has a function of this name. */
bool ak_openmp_has(const char *name);

#endif
