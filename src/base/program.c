#include "base/program.h"

#include <string.h>
#include <unistd.h>

#include "base/dl.h"

#define PROGRAM "autokernel"

bool ak_program_self(char out[AK_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, AK_PATH_MAX - 1);
    out[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* Finds the executable that was installed with this library: in PREFIX/bin, if the library is in
   PREFIX/lib or, as on Debian, in PREFIX/lib/x86_64-linux-gnu. */
static bool find_installed(char out[AK_PATH_MAX])
{
    static char mine;
    char library[AK_PATH_MAX], folder[AK_PATH_MAX];
    ak_dl_path(library, sizeof library, &mine);
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(library, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = 0;
        if (up > 0 && ak_fs_join(folder, library, "bin/" PROGRAM, NULL) == AK_OK &&
            ak_fs_which(out, folder)) {
            return true;
        }
    }
    return false;
}

ak_status ak_program_find(char out[AK_PATH_MAX], ak_error *err)
{
    char self[AK_PATH_MAX];
    const char *wanted = ak_env("AUTOKERNEL_WORKER");
    if (wanted != NULL) {
        AK_FAIL_IF(!ak_fs_which(out, wanted), err, AK_NOT_FOUND,
                   "AUTOKERNEL_WORKER: %s is not an executable", wanted);
        return AK_OK;
    }
    if (ak_program_self(self)) {
        char *slash = strrchr(self, '/');
        if (slash != NULL && strcmp(slash + 1, PROGRAM) == 0) {
            memcpy(out, self, sizeof self);
            return AK_OK;
        }
        if (slash != NULL) {
            char beside[AK_PATH_MAX];
            *slash = 0;
            if (ak_fs_join(beside, self, PROGRAM, NULL) == AK_OK && ak_fs_which(out, beside)) {
                return AK_OK;
            }
        }
    }
    return find_installed(out) || ak_fs_which(out, PROGRAM)
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND,
                         "the " PROGRAM " executable, which compiles and measures, is neither "
                         "beside this program, nor in the folder bin beside that of the library, "
                         "nor in PATH: set AUTOKERNEL_WORKER to its path");
}
