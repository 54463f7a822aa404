#include "base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *ak_dl_error(const char *path)
{
    const char *why = dlerror();
    const size_t length = strlen(path);
    if (why == NULL) {
        return "the loader gives no reason";
    }
    return strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0 ? why + length + 2
                                                                                  : why;
}

/* Returns whether a library could not be loaded because there is none with its name. If what it
   needs is missing, the reason begins with the name of that ("libother.so: cannot open ..."). */
static bool is_missing(const char *why)
{
    const char *reason = strerror(ENOENT);
    const size_t all = strlen(why), length = strlen(reason);
    const char *colon = strchr(why, ':');
    return all > length && strcmp(why + all - length, reason) == 0 && colon != NULL &&
           colon + 2 == why + all - length;
}

ak_status ak_dl_open(void **out, const char *const *names, ak_error *err)
{
    return ak_dl_need(out, names, NULL, err);
}

ak_status ak_dl_need(void **out, const char *const *names, const char *absent, ak_error *err)
{
    const char *named = names[0];
    char reason[512] = "";
    bool missing = true; /* no library with any of the names so far exists */
    for (size_t i = 0; names[i] != NULL; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            *out = library;
            return AK_OK;
        }
        /* A library that is there and cannot be loaded explains more than one that is missing. */
        const bool was_missing = missing;
        const char *why = ak_dl_error(names[i]);
        missing = is_missing(why);
        if (i == 0 || (was_missing && !missing)) {
            named = names[i];
            (void)snprintf(reason, sizeof reason, "%s", why);
        }
        missing = missing && was_missing;
    }
    AK_FAIL_IF(missing && absent != NULL, err, AK_UNAVAILABLE, "%s", absent);
    return ak_fail(err, AK_UNAVAILABLE, "%s could not be loaded: %s", named, reason);
}

void *ak_dl_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

bool ak_dl_bind(void *function, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    /* ISO C allows no cast from void * to a pointer to a function. */
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void ak_dl_path(char *out, size_t bytes, void *symbol)
{
    Dl_info info;
    bool known = symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL;
    (void)snprintf(out, bytes, "%s", known ? info.dli_fname : "");
}

void ak_dl_close(void *library)
{
    if (library != NULL) {
        (void)dlclose(library);
    }
}
