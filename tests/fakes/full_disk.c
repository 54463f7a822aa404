/*
 * full_disk.c: a library to preload (LD_PRELOAD) that makes a disk look full: while the file
 * AK_TEST_FULL exists, nothing can be written to files whose path contains AK_TEST_FULL_WHERE.
 * Workers do not see these variables.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int is_full(int file)
{
    char link[64], path[4096];
    const char *flag = getenv("AK_TEST_FULL"), *where = getenv("AK_TEST_FULL_WHERE");
    if (flag == NULL || where == NULL || access(flag, F_OK) != 0) {
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strstr(path, where) != NULL;
}

#define REFUSE(file)                                                                               \
    if (is_full(file)) {                                                                           \
        errno = ENOSPC;                                                                            \
        return -1;                                                                                 \
    }

ssize_t write(int file, const void *bytes, size_t count)
{
    REFUSE(file)
    return syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at)
{
    REFUSE(file)
    return syscall(SYS_pwrite64, file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{
    REFUSE(file)
    return syscall(SYS_pwrite64, file, bytes, count, at);
}

int ftruncate64(int file, off_t length)
{
    REFUSE(file)
    return (int)syscall(SYS_ftruncate, file, length);
}

int ftruncate(int file, off_t length)
{
    REFUSE(file)
    return (int)syscall(SYS_ftruncate, file, length);
}

int fallocate64(int file, int mode, off_t at, off_t length)
{
    REFUSE(file)
    return (int)syscall(SYS_fallocate, file, mode, at, length);
}

int posix_fallocate64(int file, off_t at, off_t length)
{
    if (is_full(file)) {
        return ENOSPC;
    }
    return syscall(SYS_fallocate, file, 0, at, length) == 0 ? 0 : errno;
}
