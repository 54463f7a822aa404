/* program.h: finds the executable that a run starts as its worker processes. */
#ifndef AK_BASE_PROGRAM_H
#define AK_BASE_PROGRAM_H

#include "base/fs.h"

/* Writes the path of the executable that this process runs. Returns false, with "" in `out`, if it
   is not known. */
bool ak_program_self(char out[AK_PATH_MAX]);
/* Writes the path of the autokernel executable. It is the first of these that exists: the path in
   AUTOKERNEL_WORKER (an error if it is set and is not an executable); this program if its name is
   autokernel; autokernel in the folder of this program; the one that was installed with the
   library; autokernel in PATH. */
ak_status ak_program_find(char out[AK_PATH_MAX], ak_error *err);

#endif
