/* fs.h: files, folders and where things are kept. Paths are texts of at most AK_PATH_MAX bytes. */
#ifndef AK_BASE_FS_H
#define AK_BASE_FS_H

#include "base/buf.h"

#define AK_PATH_MAX 4096

/* Reads a whole file of at most `max` bytes; *out ends in a 0 (ak_free). */
ak_status ak_fs_read(char **out, size_t *length, const char *path, size_t max, ak_error *err);
/* Does the file begin with these bytes? At most 64 of them. */
bool ak_fs_begins(const char *path, const void *bytes, size_t count);
/* Writes beside the target, flushes to disk and renames: the target is whole or untouched. What is
   not a regular file (a device, a pipe) is written to directly. */
ak_status ak_fs_write(const char *path, const void *data, size_t length, ak_error *err);
ak_status ak_fs_mkdirs(const char *path, ak_error *err);
bool ak_fs_is_file(const char *path);
bool ak_fs_is_folder(const char *path);
/* folder/name, checked for length. */
ak_status ak_fs_join(char out[AK_PATH_MAX], const char *folder, const char *name, ak_error *err);
/* Names in a folder, sorted; free with ak_fs_list_free. */
ak_status ak_fs_list(char ***out, size_t *count, const char *folder, ak_error *err);
void ak_fs_list_free(char **names, size_t count);
/* Removes a file or a folder with what is in it; no error if it is not there. */
void ak_fs_remove(const char *path);
/* A fresh private folder under TMPDIR or /tmp. */
ak_status ak_fs_temp(char out[AK_PATH_MAX], ak_error *err);

/* The same with an owner: a process that is killed cannot remove its folder, so the next one that
   opens a folder does. The owner holds a lock on the file ".owner" in it, which ends with the
   process however that ends; folders without that file are left alone. */
typedef struct ak_fs_owned {
    char path[AK_PATH_MAX]; /* "": not open */
    int lock;
} ak_fs_owned;
ak_status ak_fs_owned_open(ak_fs_owned *out, ak_error *err);
void ak_fs_owned_close(ak_fs_owned *folder); /* removes it with what is in it */

/* $XDG_DATA_HOME/autokernel or ~/.local/share/autokernel; the same for the cache. Not created. */
ak_status ak_fs_data_folder(char out[AK_PATH_MAX], ak_error *err);
ak_status ak_fs_cache_folder(char out[AK_PATH_MAX], ak_error *err);
/* The environment, read here and in cli/ only. NULL if unset or empty. */
const char *ak_env(const char *name);
/* Finds an executable as the shell would; false if there is none. */
bool ak_fs_which(char out[AK_PATH_MAX], const char *name);

#endif
