/* jumping_clock.c: a library to preload (LD_PRELOAD) that makes the calendar jump by the number
   of seconds in the file AK_TEST_JUMP once it exists; clocks that measure are not changed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>

#include "shifted_clock.h"

static time_t shift(void)
{
    char text[32];
    const char *name = getenv("AK_TEST_JUMP");
    int file =
        name == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    long length = file < 0 ? -1 : syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    text[length > 0 ? length : 0] = 0;
    return (time_t)strtol(text, NULL, 10);
}
