#include "base/dl.h"

#include <dlfcn.h>
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

ak_status ak_dl_open(void **out, const char *const *names, ak_error *err)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            *out = library;
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE, "%s could not be loaded: %s", names[0], ak_dl_error(""));
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
