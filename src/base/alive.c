/* alive.c: see alive.h. A note is "BOOT NAMESPACE PID START"; START is field 22 of
   /proc/PID/stat (man 5 proc), in ticks since the machine was booted. */
#include "base/alive.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"

#define PLACE_BYTES  96
#define STAT_BYTES   4096
#define START_FIELD  22
#define NUMBER_BYTES 24

/* Writes "BOOT NAMESPACE " of this process; "" if one is unknown. */
static void read_place(char out[PLACE_BYTES])
{
    AK_FREED char *boot = NULL;
    char space[64];
    out[0] = 0;
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    if (length > 0 &&
        ak_fs_read(&boot, NULL, "/proc/sys/kernel/random/boot_id", 64, NULL) == AK_OK) {
        space[length] = 0;
        boot[strcspn(boot, "\n")] = 0;
        (void)snprintf(out, PLACE_BYTES, "%.36s %.40s ", boot, space);
    }
}

/* Writes a process's start time; "" if it cannot be read. Returns true if the process has ended but
   its parent has not waited for it yet (states Z and X). */
static bool read_start(char out[NUMBER_BYTES], const char *pid)
{
    char path[64];
    AK_FREED char *text = NULL;
    out[0] = 0;
    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    if (ak_fs_read(&text, NULL, path, STAT_BYTES, NULL) != AK_OK) {
        return false;
    }
    /* The name of the program, field 2, is in parentheses and may contain anything. */
    const char *at = strrchr(text, ')');
    bool ended = at != NULL && strlen(at) > 2 && strchr("ZX", at[2]) != NULL;
    for (int field = 2; at != NULL && field < START_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    if (at != NULL) {
        (void)snprintf(out, NUMBER_BYTES, "%.*s", (int)strspn(at + 1, "0123456789"), at + 1);
    }
    return ended;
}

void ak_alive_note(char out[AK_ALIVE_BYTES])
{
    char place[PLACE_BYTES], start[NUMBER_BYTES], pid[NUMBER_BYTES];
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    read_place(place);
    (void)read_start(start, pid);
    (void)snprintf(out, AK_ALIVE_BYTES, "%s%s %s", place, pid, start);
    if (place[0] == 0 || start[0] == 0) {
        out[0] = 0;
    }
}

ak_alive ak_alive_check(const char *note)
{
    char place[PLACE_BYTES], start[NUMBER_BYTES], pid[NUMBER_BYTES];
    read_place(place);
    if (note == NULL || place[0] == 0 || strncmp(note, place, strlen(place)) != 0) {
        return AK_ALIVE_UNKNOWN;
    }
    const char *number = note + strlen(place);
    size_t digits = strspn(number, "0123456789");
    if (digits == 0 || digits >= sizeof pid || number[digits] != ' ' || number[digits + 1] == 0) {
        return AK_ALIVE_UNKNOWN;
    }
    (void)snprintf(pid, sizeof pid, "%.*s", (int)digits, number);
    if (read_start(start, pid)) {
        return AK_ALIVE_NO;
    }
    if (start[0] == 0) { /* the process is gone, or /proc hides the processes of other users */
        int64_t id = 0;
        bool gone = ak_text_int(&id, pid) && id > 0 && id < INT32_MAX && kill((pid_t)id, 0) != 0 &&
                    errno == ESRCH;
        return gone ? AK_ALIVE_NO : AK_ALIVE_UNKNOWN;
    }
    return strcmp(start, number + digits + 1) == 0 ? AK_ALIVE_YES : AK_ALIVE_NO;
}
