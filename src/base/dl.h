/* dl.h: shared libraries that may be absent. */
#ifndef AK_BASE_DL_H
#define AK_BASE_DL_H

#include "base/status.h"

/* Opens the first of a NULL-terminated list of names; AK_UNAVAILABLE if none is there. */
ak_status ak_dl_open(void **out, const char *const *names, ak_error *err);
void *ak_dl_symbol(void *library, const char *name); /* NULL if it has none */
/* Path of the file that the library (any symbol of it) was loaded from; "" if unknown. */
void ak_dl_path(char *out, size_t bytes, void *symbol);
void ak_dl_close(void *library);

#endif
