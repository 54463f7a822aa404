#include "serve/mhd.h"

#include <string.h>

#include "base/dl.h"

/* No lock guards these two: our program opens one server, from one thread. */
static ak_mhd mhd;
static void *library;

#define NAMES(X)                                                                                   \
    X(MHD_start_daemon)                                                                            \
    X(MHD_stop_daemon)                                                                             \
    X(MHD_run_wait)                                                                                \
    X(MHD_lookup_connection_value)                                                                 \
    X(MHD_get_connection_info)                                                                     \
    X(MHD_queue_response)                                                                          \
    X(MHD_suspend_connection)                                                                      \
    X(MHD_resume_connection)                                                                       \
    X(MHD_create_response_from_buffer)                                                             \
    X(MHD_create_response_from_callback)                                                           \
    X(MHD_add_response_header)                                                                     \
    X(MHD_destroy_response)

ak_status ak_mhd_load(const ak_mhd **out, ak_error *err)
{
    static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so", NULL};
    static const char absent[] =
        "the dashboard needs libmicrohttpd.so.12, which is not installed: apt-get install "
        "libmicrohttpd12 (Fedora: libmicrohttpd); `autokernel report --format html` needs nothing";
    const char *missing = NULL;
    if (library == NULL) {
        AK_DO(ak_dl_need(&library, names, absent, err));
    }
#define LOAD(name) missing = ak_dl_bind(&mhd.name, library, #name) ? missing : #name;
    NAMES(LOAD)
#undef LOAD
    AK_FAIL_IF(missing != NULL, err, AK_UNAVAILABLE,
               "libmicrohttpd has no %s: version 0.9.72 or a later one is needed", missing);
    *out = &mhd;
    return AK_OK;
}
