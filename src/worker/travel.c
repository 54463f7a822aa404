#include "worker/travel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/fs.h"
#include "base/pack.h"
#include "worker/wire.h"

#define WHERE "wire protocol"

/* Makes the line of the piece that begins at `at`; NULL if there is no memory. */
static json_t *piece_of(const char *name, const void *bytes, size_t length, size_t at)
{
    size_t count = length - at < AK_TRAVEL_PIECE_MAX ? length - at : AK_TRAVEL_PIECE_MAX;
    AK_AT_END(ak_buf_free) ak_buf data = AK_BUF(AK_BASE64_CHARACTERS(AK_TRAVEL_PIECE_MAX));
    json_t *line = NULL;
    ak_base64_write(&data, (const char *)bytes + at, count);
    if (ak_buf_status(&data, NULL) == AK_OK) {
        line = json_pack("{s:s, s:I, s:s}", "file", name, "at", (json_int_t)at, "data",
                         count == 0 ? "" : data.data);
    }
    return line;
}

json_t *ak_travel_removal(const char *name)
{
    return json_pack("{s:s}", "file", name);
}

ak_status ak_travel_send(int fd, const char *name, const void *bytes, size_t length, ak_error *err)
{
    ak_status status = AK_OK;
    size_t at = 0;
    do {
        json_t *line = piece_of(name, bytes, length, at);
        status = line == NULL ? ak_fail_memory(err) : ak_wire_send(fd, line, err);
        json_decref(line);
        at += AK_TRAVEL_PIECE_MAX;
    } while (status == AK_OK && at < length);
    return status;
}

static ak_status write_piece(const char *path, const ak_buf *bytes, int64_t at, ak_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (at == 0 ? O_TRUNC : 0);
    int fd = open(path, flags, 0600);
    bool good = fd >= 0 && lseek(fd, (off_t)at, SEEK_SET) == (off_t)at &&
                ak_fs_write_all(fd, bytes->data, bytes->length);
    int why = errno;
    if (fd >= 0) {
        good = close(fd) == 0 && good;
    }
    return good ? AK_OK
                : ak_fail(err, AK_IO, "%.200s: cannot be written: %s%s", path, strerror(why),
                          ak_fs_advice(why));
}

/* Writes a piece to its file, whose folder is created if it does not exist. */
static ak_status take_piece(const char *path, const json_t *piece, ak_error *err)
{
    char folder[AK_PATH_MAX];
    const char *data;
    int64_t at;
    AK_AT_END(ak_buf_free) ak_buf bytes = AK_BUF(AK_TRAVEL_PIECE_MAX);
    AK_DO(ak_json_string(&data, piece, "data", WHERE, err));
    AK_DO(ak_json_int(&at, piece, "at", WHERE, err));
    AK_FAIL_IF(at < 0 || at > (int64_t)(AK_TRAVEL_FILE_MAX - AK_TRAVEL_PIECE_MAX) ||
                   !ak_base64_read(&bytes, data, strlen(data)),
               err, AK_INVALID, WHERE ": a piece of a file is damaged");
    AK_DO(ak_buf_status(&bytes, err));
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(ak_fs_base(path) - 1 - path), path);
    AK_DO(ak_fs_mkdirs(folder, err));
    return write_piece(path, &bytes, at, err);
}

ak_status ak_travel_take_object(const json_t *piece, const char *folder, ak_error *err)
{
    char path[AK_PATH_MAX];
    const char *name;
    AK_DO(ak_json_string(&name, piece, "file", WHERE, err));
    AK_FAIL_IF(!ak_pack_is_name(name, AK_TRAVEL_NAME_MAX), err, AK_INVALID,
               WHERE ": \"%.80s\" is not the name of a file here", name);
    AK_DO(ak_fs_join(path, folder, name, err));
    if (json_object_get(piece, "data") != NULL) {
        return take_piece(path, piece, err);
    }
    ak_fs_remove(path);
    return AK_OK;
}

ak_status ak_travel_take(const ak_buf *line, const char *folder, ak_error *err)
{
    json_auto_t *piece = NULL;
    AK_DO(ak_json_parse(&piece, line->data, line->length, WHERE, err));
    return ak_travel_take_object(piece, folder, err);
}

/* ---- files that are fetched ------------------------------------------------------------------ */

void ak_travel_close(ak_travel_file *file)
{
    if (file->open && file->fd >= 0) {
        (void)close(file->fd);
    }
    file->open = false;
}

void ak_travel_open(ak_travel_file *file, const char *folder, const char *name)
{
    char path[AK_PATH_MAX];
    ak_travel_close(file);
    *file = (ak_travel_file){.open = true, .fd = -1};
    (void)snprintf(file->name, sizeof file->name, "%.200s", name);
    if (!ak_pack_is_name(name, AK_TRAVEL_NAME_MAX) ||
        ak_fs_join(path, folder, name, NULL) != AK_OK) {
        (void)snprintf(file->why, sizeof file->why, "there is no such file");
        return;
    }
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file->fd < 0) {
        (void)snprintf(file->why, sizeof file->why, "%.80s: %s", name, strerror(errno));
    }
}

/* Reads a piece, which is shorter only at the end of the file, because the other side counts whole
   ones. Returns its bytes, or -1. */
static ssize_t read_piece(char *to, int fd, off_t at)
{
    ssize_t length = 0, got = 1;
    while (got > 0 && length < AK_TRAVEL_PIECE_MAX) {
        got = pread(fd, to + length, (size_t)(AK_TRAVEL_PIECE_MAX - length), at + length);
        length += got > 0 ? got : 0;
    }
    return got < 0 ? got : length;
}

json_t *ak_travel_next(ak_travel_file *file)
{
    json_t *line = NULL;
    ssize_t got = 0;
    char *bytes = ak_alloc(AK_TRAVEL_PIECE_MAX, 1);
    if (bytes != NULL && file->fd >= 0) {
        got = read_piece(bytes, file->fd, (off_t)file->at);
    }
    if (got < 0 || (got > 0 && file->at + AK_TRAVEL_PIECE_MAX > AK_TRAVEL_FILE_MAX)) {
        (void)snprintf(file->why, sizeof file->why, "%s",
                       got < 0 ? strerror(errno) : "it is too large");
        got = 0;
    }
    if (bytes != NULL && got > 0) {
        line = piece_of(file->name, bytes, (size_t)got, 0);
        line = ak_json_whole(line, ak_json_set_count(line, "at", file->at));
        file->at += (size_t)got;
    } else if (bytes != NULL) {
        line = json_pack("{s:s, s:s?}", "fetched", file->name, "why",
                         file->why[0] == 0 ? NULL : file->why);
    }
    ak_free(bytes);
    if (line == NULL || got == 0) {
        ak_travel_close(file);
    }
    return line;
}
