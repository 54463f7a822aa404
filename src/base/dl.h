/* dl.h: loads shared libraries that a machine may not have. */
#ifndef AK_BASE_DL_H
#define AK_BASE_DL_H

#include "base/status.h"

/* Opens the first library of a NULL-terminated list of names that can be loaded. Returns
   AK_UNAVAILABLE if none can; the message names the first that is there but cannot be loaded, else
   the first, and says why. */
ak_status ak_dl_open(void **out, const char *const *names, ak_error *err);
/* Does the same for a library that users can install: if there is none with any of the names, the
   message is `absent`, which says what to install. */
ak_status ak_dl_need(void **out, const char *const *names, const char *absent, ak_error *err);
/* Returns the address of a symbol, or NULL if the library does not have it. */
void *ak_dl_symbol(void *library, const char *name);
/* Points the function pointer at `function` to a symbol, or makes it NULL; returns whether the
   library has it. */
bool ak_dl_bind(void *function, void *library, const char *name);
/* Writes the path of the loaded library that has this symbol's address; "" if unknown. */
void ak_dl_path(char *out, size_t bytes, void *symbol);
/* Returns why the last call to the loader failed, without a leading "PATH: ", because the path may
   be that of a temporary file. Valid until the next call to the loader. */
const char *ak_dl_error(const char *path);
/* Closes a library. NULL is accepted. */
void ak_dl_close(void *library);

#endif
