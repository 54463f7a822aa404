#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"

const char *ak_fs_advice(int why)
{
    return why == EFBIG    ? "; raise the limit with `ulimit -f`"
           : why == EMFILE ? "; raise the limit with `ulimit -n`"
           : why == ENOSPC ? "; free some space there, or choose another place"
           : why == EDQUOT ? "; free some of your quota there, or choose another place"
           : why == EROFS  ? "; choose a place that can be written"
                           : "";
}

static ak_status io_fault(const char *what, const char *path, ak_error *err)
{
    int why = errno;
    ak_status status = why == ENOENT ? AK_NOT_FOUND : why == ENOMEM ? AK_NO_MEMORY : AK_IO;
    return ak_fail(err, status, "%s: %s: %s%s", path, what, strerror(why), ak_fs_advice(why));
}

static ak_status too_long(const char *path, ak_error *err)
{
    return ak_fail(err, AK_LIMIT, "%.200s... is a path of more than %d bytes: choose a shorter one",
                   path, AK_PATH_MAX - 1);
}

/* Reads a file of at most `max` bytes or, with `cut`, the first `max` bytes of any file. */
static ak_status read_file(char **out, size_t *length, const char *path, size_t max, bool cut,
                           ak_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return io_fault("cannot be opened", path, err);
    }
    struct stat info;
    ak_status status = AK_OK;
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(max);
    if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        status = ak_fail(err, AK_INVALID, "%s is not a file", path);
    } else if (!S_ISREG(info.st_mode)) {
        status = ak_fail(err, AK_INVALID,
                         "%s is a pipe or a device, which is not read: write its content to a file",
                         path);
    }
    char chunk[65536];
    while (status == AK_OK) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = io_fault("cannot be read", path, err);
        }
        if (got <= 0) {
            break;
        }
        const size_t left = max - text.length, count = (size_t)got;
        ak_buf_append(&text, chunk, cut && count > left ? left : count);
        if (cut && text.length == max) {
            break;
        }
        if (text.failed == AK_LIMIT) {
            status = ak_fail(err, AK_LIMIT, "%s is larger than %zu bytes", path, max);
        } else if (text.failed != AK_OK) {
            status = ak_fail_memory(err);
        }
    }
    (void)close(fd);
    AK_DO(status);
    if (length != NULL) {
        *length = text.length;
    }
    return ak_buf_take(out, &text, err);
}

ak_status ak_fs_read(char **out, size_t *length, const char *path, size_t max, ak_error *err)
{
    return read_file(out, length, path, max, false, err);
}

ak_status ak_fs_read_head(char **out, const char *path, size_t max, ak_error *err)
{
    return read_file(out, NULL, path, max, true, err);
}

bool ak_fs_begins(const char *path, const void *bytes, size_t count)
{
    char head[64];
    size_t have = 0;
    int fd = count <= sizeof head ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    while (fd >= 0 && have < count) {
        ssize_t got = read(fd, head + have, count - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0 && have == count && memcmp(head, bytes, count) == 0;
}

bool ak_fs_write_all(int fd, const void *data, size_t left)
{
    const char *bytes = data;
    while (left > 0) {
        ssize_t done = write(fd, bytes, left);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes += done;
        left -= (size_t)done;
    }
    return true;
}

/* Closes a file and returns whether it is `good` so far and closing it succeeded; errno is that of
   the first failure. */
static bool close_written(int fd, bool good)
{
    const int why = errno;
    const bool closed = close(fd) == 0;
    errno = good ? errno : why;
    return good && closed;
}

/* Writes to a device or a pipe directly: a rename over its name would replace it by a file. */
static ak_status write_through(const char *path, const void *data, size_t length, ak_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return io_fault("cannot be written", path, err);
    }
    const bool good = close_written(fd, ak_fs_write_all(fd, data, length));
    return good ? AK_OK : io_fault("cannot be written", path, err);
}

#define PRIVATE 0600
#define SHARED  0666 /* before the user's umask takes bits away */

static ak_status write_as(const char *path, const void *data, size_t length, mode_t mode,
                          ak_error *err)
{
    char temp[AK_PATH_MAX];
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        return write_through(path, data, length, err);
    }
    static atomic_uint number; /* tells threads apart; the clock, hosts that share a folder */
    int written = snprintf(temp, sizeof temp, "%s.%ld-%x-%llx.tmp", path, (long)getpid(),
                           atomic_fetch_add(&number, 1), (unsigned long long)ak_clock_ns());
    if (written < 0 || (size_t)written >= sizeof temp) {
        return too_long(path, err);
    }
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) {
        return io_fault("cannot be written", path, err);
    }
    const bool good = (mode == SHARED || fchmod(fd, mode) == 0) &&
                      ak_fs_write_all(fd, data, length) && fsync(fd) == 0;
    if (close_written(fd, good) && rename(temp, path) == 0) {
        return AK_OK;
    }
    ak_status status = io_fault("cannot be written", path, err);
    (void)unlink(temp);
    return status;
}

ak_status ak_fs_write(const char *path, const void *data, size_t length, ak_error *err)
{
    return write_as(path, data, length, SHARED, err);
}

ak_status ak_fs_write_private(const char *path, const void *data, size_t length, ak_error *err)
{
    return write_as(path, data, length, PRIVATE, err);
}

bool ak_fs_create_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE);
    if (fd < 0) {
        return false;
    }
    (void)fchmod(fd, PRIVATE);
    (void)close(fd);
    return true;
}

bool ak_fs_is_within(const char *path, const char *folder)
{
    char file[AK_PATH_MAX], top[AK_PATH_MAX];
    if (realpath(path, file) == NULL || realpath(folder, top) == NULL) {
        return false;
    }
    size_t length = strlen(top);
    return strncmp(file, top, length) == 0 && (file[length] == '/' || top[length - 1] == '/');
}

ak_status ak_fs_mkdirs(const char *path, ak_error *err)
{
    char part[AK_PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        return too_long(path, err);
    }
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != 0) {
            continue;
        }
        char kept = part[i];
        part[i] = 0;
        int why = mkdir(part, 0777) == 0 ? 0 : errno;
        if (why != 0 && !ak_fs_is_folder(part)) {
            errno = why; /* ak_fs_is_folder has overwritten it */
            return io_fault("folder cannot be created", part, err);
        }
        part[i] = kept;
    }
    return AK_OK;
}

ak_status ak_fs_mkdir(const char *path, ak_error *err)
{
    char above[AK_PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    if (length > 0 && length < sizeof above) {
        (void)snprintf(above, sizeof above, "%.*s", (int)length, path);
        AK_DO(ak_fs_reachable(above, err));
        AK_FAIL_IF(!ak_fs_is_folder(above), err, AK_NOT_FOUND,
                   "%s: the folder %s does not exist; create it, or correct the path", path, above);
    }
    return ak_fs_mkdirs(path, err);
}

bool ak_fs_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool ak_fs_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

ak_status ak_fs_reachable(const char *path, ak_error *err)
{
    struct stat info;
    return stat(path, &info) == 0 || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG
               ? AK_OK
               : io_fault("cannot be looked at", path, err);
}

ak_status ak_fs_join(char out[AK_PATH_MAX], const char *folder, const char *name, ak_error *err)
{
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    int written = snprintf(out, AK_PATH_MAX, "%s%s%s", folder, slash, name);
    return written < 0 || written >= AK_PATH_MAX ? too_long(folder, err) : AK_OK;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

ak_status ak_fs_list(ak_fs_names *out, const char *folder, ak_error *err)
{
    ak_fs_names names = {0};
    size_t capacity = 0;
    ak_status status = AK_OK;
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return io_fault("folder cannot be read", folder, err);
    }
    while ((entry = readdir(dir)) != NULL) {
        if (!is_dots(entry->d_name)) {
            AK_TRY(AK_GROW(names.list, &capacity, names.count + 1, err));
            AK_TRY(ak_copy_text(&names.list[names.count], entry->d_name, err));
            names.count++;
        }
    }
out:
    (void)closedir(dir);
    if (status != AK_OK) {
        ak_fs_names_free(&names);
        return status;
    }
    if (names.count > 0) {
        qsort(names.list, names.count, sizeof *names.list, by_name);
    }
    *out = names;
    return AK_OK;
}

void ak_fs_names_free(ak_fs_names *names)
{
    AK_END_EACH(ak_free, names->list, names->count);
    ak_free(names->list);
}

/* Removes a file or an empty folder. Returns whether it did. */
static bool remove_entry(DIR *folder, const char *name)
{
    return unlinkat(dirfd(folder), name, 0) == 0 ||
           unlinkat(dirfd(folder), name, AT_REMOVEDIR) == 0;
}

/* Moves a folder into `root` under a name that is unused there. Returns whether it did. */
static bool lift(DIR *root, DIR *folder, const char *name, size_t *number)
{
    char fresh[40];
    int moved;
    do {
        (void)snprintf(fresh, sizeof fresh, ".removed-%zu", (*number)++);
        moved = renameat(dirfd(folder), name, dirfd(root), fresh);
    } while (moved != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
    return moved == 0;
}

/* Empties a folder in `root`: folders in it that have content move into `root`. Returns whether
   anything changed. */
static bool empty_folder(DIR *root, const char *name, size_t *number)
{
    int fd = openat(dirfd(root), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool changed = false;
    if (folder == NULL) {
        (void)(fd < 0 || close(fd));
        return false;
    }
    while ((entry = readdir(folder)) != NULL) {
        changed = (!is_dots(entry->d_name) && (remove_entry(folder, entry->d_name) ||
                                               lift(root, folder, entry->d_name, number))) ||
                  changed;
    }
    (void)closedir(folder);
    return changed;
}

/* A tree may be deeper than the stack and its paths longer than AK_PATH_MAX, so it is made flat. */
void ak_fs_remove(const char *path)
{
    if (unlink(path) == 0 || rmdir(path) == 0) {
        return;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *root = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t number = 0;
    if (root == NULL) {
        (void)(fd < 0 || close(fd));
        return;
    }
    for (bool changed = true; changed;) {
        changed = false;
        rewinddir(root);
        while ((entry = readdir(root)) != NULL) {
            changed = (!is_dots(entry->d_name) && (remove_entry(root, entry->d_name) ||
                                                   empty_folder(root, entry->d_name, &number))) ||
                      changed;
        }
    }
    (void)closedir(root);
    (void)rmdir(path);
}

const char *ak_env(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != 0 ? value : NULL;
}

#define TEMP_PREFIX "autokernel-"
#define TEMP_RANDOM "XXXXXX"
#define OWNER_FILE  ".owner"
/* At most this many stale folders are removed when a folder is opened, because each takes time. The
   rest is removed later. */
#define STALE_MAX 32

static const char *temp_root(void)
{
    const char *root = ak_env("TMPDIR");
    return root == NULL ? "/tmp" : root;
}

ak_status ak_fs_temp(char out[AK_PATH_MAX], ak_error *err)
{
    AK_DO(ak_fs_join(out, temp_root(), TEMP_PREFIX TEMP_RANDOM, err));
    if (!ak_utf8_valid(out)) { /* workers get the paths of files there as JSON */
        return ak_fail(err, AK_INVALID, "%s is not UTF-8: let TMPDIR name another folder",
                       temp_root());
    }
    if (mkdtemp(out) == NULL) {
        ak_error why = AK_ERROR_INIT;
        const ak_status status = io_fault("temporary folder cannot be created", out, &why);
        return ak_fail(err, status, "%s (TMPDIR names the place)", why.text);
    }
    return AK_OK;
}

/* ---- folders with an owner ------------------------------------------------------------------- */

/* Creates and locks the owner's file. It gets its final name only after it is locked, so that a
   process which can lock the file under that name knows that the owner has ended. */
static ak_status lock_folder(ak_fs_owned *folder, ak_error *err)
{
    char first[AK_PATH_MAX], final[AK_PATH_MAX];
    AK_DO(ak_fs_join(first, folder->path, OWNER_FILE ".new", err));
    AK_DO(ak_fs_join(final, folder->path, OWNER_FILE, err));
    folder->lock = open(first, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder->lock < 0 || flock(folder->lock, LOCK_EX | LOCK_NB) != 0 ||
        rename(first, final) != 0) {
        return io_fault("cannot be locked", first, err);
    }
    return AK_OK;
}

/* Removes a folder if it belongs to this user and its owner has ended. If two processes try this
   at once, one gets the lock. The other finds the lock taken or, a moment later, that the file
   it opened no longer has this name. */
static bool remove_stale(const char *path)
{
    char owner[AK_PATH_MAX];
    struct stat folder, opened, there;
    if (lstat(path, &folder) != 0 || !S_ISDIR(folder.st_mode) || folder.st_uid != geteuid() ||
        ak_fs_join(owner, path, OWNER_FILE, NULL) != AK_OK) {
        return false;
    }
    int fd = open(owner, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return false;
    }
    bool stale = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 &&
                 lstat(owner, &there) == 0 && opened.st_ino == there.st_ino &&
                 opened.st_dev == there.st_dev;
    if (stale) {
        ak_fs_remove(path);
    }
    (void)close(fd);
    return stale;
}

/* Removes up to STALE_MAX folders whose owners have ended. A folder that cannot be read or removed
   is left: no run depends on this. */
static void remove_stale_folders(void)
{
    DIR *root = opendir(temp_root());
    const struct dirent *entry;
    size_t length = strlen(TEMP_PREFIX TEMP_RANDOM), removed = 0;
    while (root != NULL && removed < STALE_MAX && (entry = readdir(root)) != NULL) {
        char path[AK_PATH_MAX];
        if (strlen(entry->d_name) == length &&
            strncmp(entry->d_name, TEMP_PREFIX, strlen(TEMP_PREFIX)) == 0 &&
            ak_fs_join(path, temp_root(), entry->d_name, NULL) == AK_OK) {
            removed += remove_stale(path) ? 1 : 0;
        }
    }
    if (root != NULL) {
        (void)closedir(root);
    }
}

ak_status ak_fs_owned_open(ak_fs_owned *out, ak_error *err)
{
    ak_fs_owned folder = {.lock = -1};
    remove_stale_folders();
    AK_DO(ak_fs_temp(folder.path, err));
    ak_status status = lock_folder(&folder, err);
    if (status != AK_OK) {
        ak_fs_owned_close(&folder);
        return status;
    }
    *out = folder;
    return AK_OK;
}

void ak_fs_owned_close(ak_fs_owned *folder)
{
    char owner[AK_PATH_MAX];
    if (folder->path[0] != 0) {
        ak_fs_remove(folder->path);
        /* Without memory ak_fs_remove may have left the folder. If the owner's file is all that it
           contains, it can still be removed. */
        if (ak_fs_join(owner, folder->path, OWNER_FILE, NULL) == AK_OK) {
            (void)unlink(owner);
            (void)rmdir(folder->path);
        }
        if (folder->lock >= 0) {
            (void)close(folder->lock);
        }
    }
    *folder = (ak_fs_owned){.lock = -1};
}

static ak_status xdg_folder(char out[AK_PATH_MAX], const char *variable, const char *fallback,
                            ak_error *err)
{
    const char *root = ak_env(variable);
    if (root != NULL && root[0] == '/') {
        return ak_fs_join(out, root, "autokernel", err);
    }
    const char *home = ak_env("HOME");
    AK_FAIL_IF(home == NULL, err, AK_NOT_FOUND, "neither %s nor HOME is set: set %s to a folder",
               variable, variable);
    char base[AK_PATH_MAX];
    AK_DO(ak_fs_join(base, home, fallback, err));
    return ak_fs_join(out, base, "autokernel", err);
}

ak_status ak_fs_data_folder(char out[AK_PATH_MAX], ak_error *err)
{
    return xdg_folder(out, "XDG_DATA_HOME", ".local/share", err);
}

ak_status ak_fs_cache_folder(char out[AK_PATH_MAX], ak_error *err)
{
    return xdg_folder(out, "XDG_CACHE_HOME", ".cache", err);
}

ak_status ak_fs_write_in(char path[AK_PATH_MAX], const char *folder, const char *name,
                         const void *data, size_t length, ak_error *err)
{
    AK_DO(ak_fs_join(path, folder, name, err));
    char *slash = strrchr(path, '/');
    *slash = 0;
    AK_DO(ak_fs_mkdirs(path, err));
    *slash = '/';
    return ak_fs_write(path, data, length, err);
}

const char *ak_fs_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool ak_fs_has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}

bool ak_fs_which(char out[AK_PATH_MAX], const char *name)
{
    if (strchr(name, '/') != NULL) {
        return snprintf(out, AK_PATH_MAX, "%s", name) < AK_PATH_MAX && ak_fs_is_file(out) &&
               access(out, X_OK) == 0;
    }
    const char *path = ak_env("PATH");
    if (path == NULL) {
        path = "/usr/local/bin:/usr/bin:/bin"; /* the usual path of a shell if PATH is not set */
    }
    while (path != NULL && *path != 0) {
        size_t length = strcspn(path, ":");
        int written = snprintf(out, AK_PATH_MAX, "%.*s/%s", (int)length, path, name);
        if (length > 0 && written > 0 && written < AK_PATH_MAX && ak_fs_is_file(out) &&
            access(out, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}
