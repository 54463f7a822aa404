/*
 * host_tiles.h: the tile registers of AMX, which a process may use only if it has asked the system
 * (Linux 5.16, Documentation/arch/x86/xstate.rst).
 */
#ifndef AK_BACKEND_HOST_TILES_H
#define AK_BACKEND_HOST_TILES_H

#include <stdbool.h>

/* Asks for the tile registers, for this process and its children by fork, and returns whether they
   may multiply bf16. Asking again is cheap. */
bool ak_host_tiles(void);

#endif
