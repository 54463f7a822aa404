/* program.h: which program the child processes of a run are. */
#ifndef AK_BASE_PROGRAM_H
#define AK_BASE_PROGRAM_H

#include "base/fs.h"

/* The autokernel executable: AUTOKERNEL_WORKER; else this program if it is called autokernel; else
   the one beside this program; else the one in PATH. */
ak_status ak_program_find(char out[AK_PATH_MAX], ak_error *err);

#endif
