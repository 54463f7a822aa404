/* status.h: how a fault is reported inside the library. See ak_error in autokernel.h. */
#ifndef AK_BASE_STATUS_H
#define AK_BASE_STATUS_H

#include "autokernel/autokernel.h"

/* Writes the one line and returns `status`, so that a fault reads
       return ak_fail(err, AK_INVALID, "%s:%zu: parameter \"%s\" has no values", ...);
   Line breaks and control characters become spaces. err may be NULL. */
ak_status ak_fail(ak_error *err, ak_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of a message that is already there; returns err's status. */
ak_status ak_fail_within(ak_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

ak_status ak_fail_memory(ak_error *err);

#ifdef __clang_analyzer__
/* The analyzer cannot see that these never return AK_OK. */
#define ak_fail(err, status, ...) ((void)(ak_fail)(err, status, __VA_ARGS__), (status))
#define ak_fail_memory(err) ((void)(ak_fail_memory)(err), AK_NO_MEMORY)
#endif

#endif
