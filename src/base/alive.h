/*
 * alive.h: tells whether a process that left a note of itself still runs.
 *
 * The note names the machine as it was booted, the namespace of process ids (a container has its
 * own), the process and the moment of its start, so that neither another machine nor a later
 * process with the same id is taken for it. Linux: /proc.
 */
#ifndef AK_BASE_ALIVE_H
#define AK_BASE_ALIVE_H

#define AK_ALIVE_BYTES 160

typedef enum ak_alive {
    AK_ALIVE_UNKNOWN, /* it is of another machine, or the note cannot be read */
    AK_ALIVE_YES,
    AK_ALIVE_NO
} ak_alive;

/* Writes the note of the calling process; "" where that is not known. */
void ak_alive_note(char out[AK_ALIVE_BYTES]);
ak_alive ak_alive_check(const char *note);

#endif
