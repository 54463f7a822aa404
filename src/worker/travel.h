/*
 * travel.h: files that travel between the tuner and a machine that shares no folder with it. A file
 * is sent in pieces, each a line of its own among those of the protocol:
 *
 *     {"file": NAME, "at": OFFSET, "data": BASE64}     a piece; at 0 the file begins anew
 *     {"file": NAME}                                   the file is removed
 *
 * Names are relative and lead nowhere outside the folder of the receiver.
 */
#ifndef AK_WORKER_TRAVEL_H
#define AK_WORKER_TRAVEL_H

#include "base/json.h"

/* Largest file, and bytes of it in one line, which must stay below AK_LINE_MAX in base64. */
#define AK_TRAVEL_FILE_MAX  (256u << 20)
#define AK_TRAVEL_PIECE_MAX (1u << 20)

/* Makes the line of the piece that begins at `at`; NULL if there is no memory. */
json_t *ak_travel_piece(const char *name, const void *bytes, size_t length, size_t at);
/* Makes the line that removes a file; NULL if there is no memory. */
json_t *ak_travel_removal(const char *name);
/* Writes all lines of a file to a descriptor. */
ak_status ak_travel_send(int fd, const char *name, const void *bytes, size_t length, ak_error *err);

/* Returns true if a line begins as the lines above do. */
bool ak_travel_is(const ak_buf *line);
/* Does what the line says, below `folder`. */
ak_status ak_travel_take(const ak_buf *line, const char *folder, ak_error *err);

#endif
