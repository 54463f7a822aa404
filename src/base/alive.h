/*
 * alive.h: tells whether a process that left a note of itself still runs.
 *
 * The note holds the boot id of the machine, the namespace of process ids (a container has its
 * own), the process id and its start time, so that neither a process of another machine nor a later
 * process with the same id is mistaken for it. All but the process id come from /proc of Linux.
 */
#ifndef AK_BASE_ALIVE_H
#define AK_BASE_ALIVE_H

#define AK_ALIVE_BYTES 160

typedef enum ak_alive {
    AK_ALIVE_UNKNOWN, /* the note is from another machine, boot or namespace, or malformed, or
                         /proc does not show the process */
    AK_ALIVE_YES,
    AK_ALIVE_NO
} ak_alive;

/* Writes the note of the calling process; "" if /proc does not give it. */
void ak_alive_note(char out[AK_ALIVE_BYTES]);
/* Returns whether the process that wrote the note still runs. NULL is AK_ALIVE_UNKNOWN. */
ak_alive ak_alive_check(const char *note);

#endif
