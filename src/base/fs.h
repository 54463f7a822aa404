/* fs.h: reads, writes and removes files and folders, and names the places where the product keeps
   its data. Paths are texts of fewer than AK_PATH_MAX bytes. */
#ifndef AK_BASE_FS_H
#define AK_BASE_FS_H

#include "base/buf.h"

#define AK_PATH_MAX 4096

/* Reads a whole file of at most `max` bytes; a longer one is AK_LIMIT, a folder, pipe or device
   AK_INVALID, and a path without a file AK_NOT_FOUND. The caller frees *out with ak_free; it ends
   in a 0 that *length does not count. `length` may be NULL. */
ak_status ak_fs_read(char **out, size_t *length, const char *path, size_t max, ak_error *err);
/* Reads the beginning of a file, at most `max` bytes; in all else like ak_fs_read. */
ak_status ak_fs_read_head(char **out, const char *path, size_t max, ak_error *err);
/* Returns true if the file begins with these bytes. `count` is at most 64. */
bool ak_fs_begins(const char *path, const void *bytes, size_t count);
/* Returns advice to append to the message for the errno `why`, such as "; choose a place that can
   be written"; "" if there is none. */
const char *ak_fs_advice(int why);
/* Writes all bytes to a descriptor. Returns false with errno set if that fails. */
bool ak_fs_write_all(int fd, const void *data, size_t length);
/* Writes a temporary file beside the target, flushes it to disk and renames it, so that the target
   is either the whole new content or unchanged. Each call has a temporary file of its own, so
   several threads, processes and hosts may write the same target at once. A link to a file is
   replaced by the file. A target that is not a regular file (a device, a pipe) is written to
   directly. */
ak_status ak_fs_write(const char *path, const void *data, size_t length, ak_error *err);
/* Writes a file as ak_fs_write does, but one that only the user may read or write, whatever the
   umask. The mode of a target that is not a regular file stays as it is. */
ak_status ak_fs_write_private(const char *path, const void *data, size_t length, ak_error *err);
/* Creates an empty file that only the user may read or write. Returns false, with errno set, if the
   file exists or cannot be created. */
bool ak_fs_create_private(const char *path);
/* Returns true if both exist and the path, after links are followed, lies below the folder. */
bool ak_fs_is_within(const char *path, const char *folder);
/* Creates a folder and those above it. A folder that exists is no error. */
ak_status ak_fs_mkdirs(const char *path, ak_error *err);
/* Creates a folder that the user named, but none above it, because a mistyped path must not leave
   folders behind. A folder that exists is no error. */
ak_status ak_fs_mkdir(const char *path, ak_error *err);
/* Returns true for a regular file, or a link to one. */
bool ak_fs_is_file(const char *path);
/* Returns true for a folder, or a link to one. */
bool ak_fs_is_folder(const char *path);
/* Fails if it cannot be found out whether the path exists, as below a folder that this user may not
   enter. A path that does not exist is AK_OK. */
ak_status ak_fs_reachable(const char *path, ak_error *err);
/* Writes "folder/name" to `out`. Returns AK_LIMIT if it is too long. */
ak_status ak_fs_join(char out[AK_PATH_MAX], const char *folder, const char *name, ak_error *err);
/* Writes a file as ak_fs_write does, to "folder/name", and creates the folders above it. `path`
   receives the path of the file. */
ak_status ak_fs_write_in(char path[AK_PATH_MAX], const char *folder, const char *name,
                         const void *data, size_t length, ak_error *err);
/* Returns the last part of a path, "" if it ends in '/'. The result points into `path`. */
const char *ak_fs_base(const char *path);
/* Returns whether a path ends with `suffix` and is longer than it. */
bool ak_fs_has_suffix(const char *path, const char *suffix);
typedef struct ak_fs_names {
    char **list;
    size_t count;
} ak_fs_names;
/* Lists the names in a folder, sorted and without "." and "..". The caller frees them with
   ak_fs_names_free. */
ak_status ak_fs_list(ak_fs_names *out, const char *folder, ak_error *err);
void ak_fs_names_free(ak_fs_names *names);
/* Removes a file, or a folder with its content. Leaves what it cannot remove and reports
   nothing. */
void ak_fs_remove(const char *path);
/* Creates a new folder under TMPDIR or /tmp that only the user may enter. */
ak_status ak_fs_temp(char out[AK_PATH_MAX], ak_error *err);

/* A temporary folder with an owner. A process that is killed cannot remove its folder, so a later
   process of the same user removes it when it opens a folder of its own (at most 32 such folders at
   a time). The owner holds a lock on the file ".owner" in the folder; the kernel releases it
   however the process ends. Folders without that file are left alone. */
typedef struct ak_fs_owned {
    char path[AK_PATH_MAX]; /* "" if it is not open */
    int lock;               /* descriptor of ".owner"; -1 if it is not open */
} ak_fs_owned;
ak_status ak_fs_owned_open(ak_fs_owned *out, ak_error *err);
/* Removes the folder with its content and releases the lock. Does nothing if it is not open. */
void ak_fs_owned_close(ak_fs_owned *folder);

/* Write the path of the folder for data ($XDG_DATA_HOME/autokernel or ~/.local/share/autokernel) or
   of that for the cache ($XDG_CACHE_HOME/autokernel or ~/.cache/autokernel). A relative XDG path is
   ignored. Return AK_NOT_FOUND if HOME is needed and not set. Neither function creates the
   folder. */
ak_status ak_fs_data_folder(char out[AK_PATH_MAX], ak_error *err);
ak_status ak_fs_cache_folder(char out[AK_PATH_MAX], ak_error *err);
/* Returns the value of an environment variable, or NULL if it is unset or empty. Modules outside
   base/ and cli/ read the environment only through this function: tools/lint.sh refuses getenv. */
const char *ak_env(const char *name);
/* Writes the path of an executable that is found in PATH (if that is not set, in the usual folders)
   or, if the name contains a '/', at `name` itself. Returns false if there is none; `out` is then
   undefined. */
bool ak_fs_which(char out[AK_PATH_MAX], const char *name);

#endif
