/*
 * mhd.h: declares the part of libmicrohttpd that is used. The library is loaded when it is needed
 * and may be absent.
 *
 * Its development package also installs the headers of a TLS library, which autokernel does not
 * need. So the few names that are used are declared here, as the manual has them (version 0.9.75,
 * "libmicrohttpd.texi") and as libmicrohttpd.so.12 exports them.
 */
#ifndef AK_SERVE_MHD_H
#define AK_SERVE_MHD_H

#include <sys/types.h>

#include "base/status.h"

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum { AK_MHD_NO = 0, AK_MHD_YES = 1 };

/* Flags of MHD_start_daemon. The first makes the thread that calls MHD_run_wait poll with epoll.
   The second allows connections to be suspended, for which the library needs a pipe to wake
   itself. */
#define AK_MHD_USE_EPOLL            512u
#define AK_MHD_ALLOW_SUSPEND_RESUME (8192u | 1024u)

/* Options of MHD_start_daemon. END ends the list. CONNECTION_LIMIT is the limit on simultaneous
   connections (unsigned). CONNECTION_TIMEOUT is how many seconds without a byte end a connection
   (unsigned). LISTEN_SOCKET is a listening socket (int), which the library closes when it stops. */
#define AK_MHD_OPTION_END                0
#define AK_MHD_OPTION_CONNECTION_LIMIT   2
#define AK_MHD_OPTION_CONNECTION_TIMEOUT 3
#define AK_MHD_OPTION_LISTEN_SOCKET      12

/* NOTIFY_CONNECTION sets a function (ak_mhd_notice) that is called when a connection begins, with
   CONNECTION_STARTED as `what`, and when it ends, with another value. */
#define AK_MHD_OPTION_NOTIFY_CONNECTION 27
#define AK_MHD_CONNECTION_STARTED       0

/* What MHD_get_connection_info can be asked for: the socket, and the pointer that the notice
   function has set. */
#define AK_MHD_INFO_FD      6
#define AK_MHD_INFO_CONTEXT 7

/* Kinds of values that MHD_lookup_connection_value finds. */
#define AK_MHD_HEADER   1
#define AK_MHD_COOKIE   2
#define AK_MHD_ARGUMENT 8

#define AK_MHD_SIZE_UNKNOWN  UINT64_MAX
#define AK_MHD_END_OF_STREAM ((ssize_t)-1)
/* How the library treats the memory of a response: PERSISTENT memory is never freed, COPY makes a
   copy of it. */
#define AK_MHD_PERSISTENT 0
#define AK_MHD_COPY       2

typedef int (*ak_mhd_handler)(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request);
typedef void (*ak_mhd_notice)(void *context, struct MHD_Connection *connection,
                              void **connection_context, int what);
/* The result of MHD_get_connection_info. What was asked for decides which member is valid. */
union MHD_ConnectionInfo {
    int fd;
    void *context;
};
typedef ssize_t (*ak_mhd_reader)(void *context, uint64_t position, char *out, size_t max);

typedef struct ak_mhd {
    struct MHD_Daemon *(*MHD_start_daemon)(unsigned flags, uint16_t port, void *accept,
                                           void *accept_context, ak_mhd_handler handler,
                                           void *context, ...);
    void (*MHD_stop_daemon)(struct MHD_Daemon *daemon);
    int (*MHD_run_wait)(struct MHD_Daemon *daemon, int32_t ms);
    const char *(*MHD_lookup_connection_value)(struct MHD_Connection *connection, int kind,
                                               const char *name);
    const union MHD_ConnectionInfo *(*MHD_get_connection_info)(struct MHD_Connection *connection,
                                                               int what, ...);
    int (*MHD_queue_response)(struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response);
    void (*MHD_suspend_connection)(struct MHD_Connection *connection);
    void (*MHD_resume_connection)(struct MHD_Connection *connection);
    struct MHD_Response *(*MHD_create_response_from_buffer)(size_t bytes, void *data, int memory);
    struct MHD_Response *(*MHD_create_response_from_callback)(uint64_t bytes, size_t block,
                                                              ak_mhd_reader reader, void *context,
                                                              void (*end)(void *context));
    int (*MHD_add_response_header)(struct MHD_Response *response, const char *name,
                                   const char *value);
    void (*MHD_destroy_response)(struct MHD_Response *response);
} ak_mhd;

/* Loads the library at the first call. Returns AK_UNAVAILABLE if the library is absent or too old;
   the error says what to install or which version is needed. */
ak_status ak_mhd_load(const ak_mhd **out, ak_error *err);

#endif
