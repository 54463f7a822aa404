/*
 * large_pages.c: a library to preload (LD_PRELOAD) that gives the executable of autokernel pages of
 * 64 KiB, as some AArch64 kernels do: no mapping begins within such a page, and no part of a file
 * that is mapped. The loader and the C library itself are not affected.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE 65536

static void *map(void *at, size_t length, int protection, int flags, int file, off_t from)
{
    return (void *)syscall(SYS_mmap, at, length, protection, flags, file, from);
}

/* Compilers and Python, which are started with the same environment, keep their pages. */
static int is_ours;
__attribute__((constructor)) static void look_at_executable(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    is_ours = strstr(path, "/autokernel") != NULL;
}

static size_t whole(size_t length)
{
    return (length + LARGE - 1) / LARGE * LARGE;
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off64_t from)
{
    if (!is_ours) {
        return map(at, length, protection, flags, file, from);
    }
    if (((flags & MAP_FIXED) != 0 && (uintptr_t)at % LARGE != 0) || from % LARGE != 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    length = whole(length);
    if ((flags & MAP_FIXED) != 0) {
        return map(at, length, protection, flags, file, from);
    }
    unsigned char *room =
        map(NULL, length + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return MAP_FAILED;
    }
    const size_t before = (LARGE - (uintptr_t)room % LARGE) % LARGE;
    if (before > 0) {
        (void)syscall(SYS_munmap, room, before);
    }
    (void)syscall(SYS_munmap, room + before + length, LARGE - before);
    return map(room + before, length, protection, flags | MAP_FIXED, file, from);
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t from)
{
    return mmap64(at, length, protection, flags, file, from);
}

int munmap(void *at, size_t length)
{
    if (is_ours && (uintptr_t)at % LARGE != 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_munmap, at, is_ours ? whole(length) : length);
}

long __sysconf(int name);
long sysconf(int name)
{
    return name == _SC_PAGESIZE && is_ours ? LARGE : __sysconf(name);
}
