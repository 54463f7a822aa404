#include "backend/reads.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void ak_reads_add(ak_reads *reads, const char *path)
{
    const size_t size = path == NULL ? 0 : strlen(path) + 1;
    if (size <= 1 || AK_HAS_TEXT(reads->path, reads->count, path) || reads->count == AK_READS_MAX ||
        size > sizeof reads->text - reads->used) {
        return;
    }
    reads->path[reads->count++] = memcpy(reads->text + reads->used, path, size);
    reads->path[reads->count] = NULL;
    reads->used += size;
}

void ak_reads_open(ak_reads *out)
{
    static const char *const system[] = {"/usr",
                                         "/lib",
                                         "/lib32",
                                         "/lib64",
                                         "/bin",
                                         "/sbin",
                                         "/etc/alternatives",
                                         "/etc/ld.so.cache",
                                         "/dev/null",
                                         "/dev/urandom",
                                         "/opt",
                                         "/proc/cpuinfo",
                                         "/proc/meminfo",
                                         "/proc/stat",
                                         "/proc/sys",
                                         "/sys"};
    out->count = out->used = 0;
    out->path[0] = NULL;
    for (size_t i = 0; i < AK_COUNT(system); i++) {
        ak_reads_add(out, system[i]);
    }
}

/* ---- the home folder --------------------------------------------------------------------------
 */

/* Where a folder lies relative to a home, the most private last. */
typedef enum place { ELSEWHERE, INSIDE, HIDDEN, HOME_OR_ABOVE } place;

/* Returns whether `path` is `folder` or lies in it; both are without symbolic links. */
static bool is_in(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0));
}

static place place_in(const char *folder, const char *home)
{
    char real[AK_PATH_MAX];
    if (home == NULL || realpath(home, real) == NULL || strcmp(real, "/") == 0) {
        return strcmp(folder, "/") == 0 ? HOME_OR_ABOVE : ELSEWHERE;
    }
    if (is_in(real, folder)) {
        return HOME_OR_ABOVE;
    }
    if (!is_in(folder, real)) {
        return ELSEWHERE;
    }
    const char *rest = folder + strlen(real) + 1;
    return rest[0] == '.' && strchr(rest, '/') == NULL ? HIDDEN : INSIDE;
}

/* Returns where a folder lies. HOME and the system's database of users may name two homes; the more
   private answer counts. */
static place place_of(const char *folder)
{
    char real[AK_PATH_MAX], text[4096];
    struct passwd entry, *found = NULL;
    const char *path = realpath(folder, real) == NULL ? folder : real;
    place said = place_in(path, ak_env("HOME"));
    if (getpwuid_r(getuid(), &entry, text, sizeof text, &found) == 0 && found != NULL) {
        place known = place_in(path, found->pw_dir);
        said = known > said ? known : said;
    }
    return said;
}

void ak_reads_add_folder(ak_reads *reads, const char *folder)
{
    if (folder != NULL && folder[0] == '/' && place_of(folder) < HIDDEN) {
        ak_reads_add(reads, folder);
    }
}

void ak_reads_add_beside(ak_reads *reads, const char *file)
{
    char folder[AK_PATH_MAX];
    const char *slash = strrchr(file, '/');
    if (file[0] == '/' && slash > file) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - file), file);
        ak_reads_add_folder(reads, folder);
        ak_reads_add(reads, file);
    }
}

void ak_reads_add_variable(ak_reads *reads, const char *name)
{
    char text[AK_PATH_MAX], *rest = NULL;
    const char *value = ak_env(name);
    if (value != NULL && snprintf(text, sizeof text, "%s", value) < (int)sizeof text) {
        for (char *one = strtok_r(text, ":", &rest); one != NULL;
             one = strtok_r(NULL, ":", &rest)) {
            ak_reads_add_folder(reads, one);
        }
    }
}

/* ---- installations ----------------------------------------------------------------------------
 */

static void add_parts(ak_reads *reads, const char *prefix, const char *const *parts, size_t count)
{
    char path[AK_PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        if (ak_fs_join(path, prefix, parts[i], NULL) == AK_OK && access(path, F_OK) == 0) {
            ak_reads_add(reads, path);
        }
    }
}

/* Adds folders such as x86_64-conda-linux-gnu, which hold the tools for a target. */
static void add_targets(ak_reads *reads, const char *prefix)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    (void)ak_fs_list(&names, prefix, NULL);
    for (size_t i = 0; i < names.count; i++) {
        if (strstr(names.list[i], "-linux-") != NULL && names.list[i][0] != '.') {
            add_parts(reads, prefix, (const char *const *)&names.list[i], 1);
        }
    }
}

static bool has(const char *prefix, const char *part)
{
    char path[AK_PATH_MAX];
    return ak_fs_join(path, prefix, part, NULL) == AK_OK && access(path, F_OK) == 0;
}

void ak_reads_add_installation(ak_reads *reads, const char *prefix)
{
    static const char *const all[] = {"bin",     "lib",   "lib32", "lib64",   "libexec",
                                      "include", "share", "nvvm",  "targets", "pyvenv.cfg"};
    static const char *const compilers[] = {"lib/gcc",   "lib64/gcc",   "libexec/gcc",
                                            "lib/clang", "lib64/clang", "include/c++",
                                            "lib/pocl",  "lib64/pocl",  "share/pocl"};
    if (prefix == NULL || prefix[0] != '/') {
        return;
    }
    const place where = place_of(prefix);
    /* A hidden folder in the home may be a virtual environment. */
    const bool own = where == HIDDEN && (has(prefix, "pyvenv.cfg") || has(prefix, "conda-meta"));
    if (where == ELSEWHERE) {
        ak_reads_add(reads, prefix);
    } else if (where == INSIDE || own) {
        add_parts(reads, prefix, all, AK_COUNT(all));
        add_targets(reads, prefix);
    } else {
        add_parts(reads, prefix, compilers, AK_COUNT(compilers));
    }
}

void ak_reads_add_tool(ak_reads *reads, const char *program)
{
    char found[AK_PATH_MAX], path[AK_PATH_MAX]; /* as large as realpath needs: PATH_MAX */
    if (!ak_fs_which(found, program) || realpath(found, path) == NULL) {
        return;
    }
    ak_reads_add(reads, path);
    char *slash = strrchr(path, '/');
    *slash = 0;
    slash = strrchr(path, '/');
    if (slash != NULL && strcmp(slash, "/bin") == 0) {
        *slash = 0;
    }
    ak_reads_add_installation(reads, path);
}
