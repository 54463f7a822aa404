/*
 * travel.h: files that travel between the tuner and a machine that shares no folder with it. A file
 * is sent in pieces, each a line of its own among those of the protocol:
 *
 *     {"file": NAME, "at": OFFSET, "data": BASE64}     a piece; at 0 the file begins anew
 *     {"file": NAME}                                   the file is removed
 *
 * The tuner can also fetch a file from the far relay, which answers with pieces and a last line:
 *
 *     {"fetch": NAME}
 *     {"fetched": NAME, "why": null or a text}         all of it was sent, or why not
 *
 * Names are relative and lead nowhere outside the folder of the receiver.
 */
#ifndef AK_WORKER_TRAVEL_H
#define AK_WORKER_TRAVEL_H

#include "base/json.h"

/* Largest file in bytes, and most of its bytes in one line; in base64 these must stay below
   AK_LINE_MAX. */
#define AK_TRAVEL_FILE_MAX  (256u << 20)
#define AK_TRAVEL_PIECE_MAX (1u << 20)
/* Most bytes in a name, without the final 0. */
#define AK_TRAVEL_NAME_MAX 200

/* Makes the line that removes a file; NULL if there is no memory. */
json_t *ak_travel_removal(const char *name);
/* Writes all lines of a file to a descriptor. Fails as ak_wire_send does. */
ak_status ak_travel_send(int fd, const char *name, const void *bytes, size_t length, ak_error *err);

/* Writes the piece, or removes the file, that a line names, below `folder`. */
ak_status ak_travel_take(const ak_buf *line, const char *folder, ak_error *err);
/* Does the same with a line that is parsed already. */
ak_status ak_travel_take_object(const json_t *piece, const char *folder, ak_error *err);

/* A file that is sent piece by piece to whoever fetches it. */
typedef struct ak_travel_file {
    bool open; /* its last line is not made yet */
    int fd;    /* -1: it cannot be read */
    char name[AK_TRAVEL_NAME_MAX + 1];
    char why[200]; /* why it cannot be read; "" if it can */
    size_t at;
} ak_travel_file;
/* Opens a file below `folder`. An earlier file that is still open is closed. If the file cannot be
   opened, its only line says why. */
void ak_travel_open(ak_travel_file *file, const char *folder, const char *name);
/* Makes the next line; NULL if there is no memory, and then `file` is closed. The caller owns the
   line. */
json_t *ak_travel_next(ak_travel_file *file);
void ak_travel_close(ak_travel_file *file);

#endif
