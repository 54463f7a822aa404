/*
 * skeleton.c: implements `autokernel new kernel NAME`, which writes a folder that can be tuned as
 * it is and then changed. The example is Z = 2 * X + Y: small enough to read in a minute, with what
 * a kernel folder usually has. The files are made from those of src/tuner/skeleton/, in which '@'
 * stands for the kernel's name, and "@@" for one '@'.
 */
#include "tuner/skeleton.h"

#include <assert.h>

#include "base/asset.h"
#include "base/fs.h"

#define SKELETON_BYTES_MAX 16384

/* Writes a file of the skeleton. Those of Triton, triton.py and triton.json, are named after the
   kernel. */
static ak_status write_one(const char *folder, const char *file, ak_error *err)
{
    const char *kernel = ak_fs_base(folder);
    char path[AK_PATH_MAX], name[80];
    AK_AT_END(ak_buf_free) ak_buf filled = AK_BUF(SKELETON_BYTES_MAX);
    (void)snprintf(path, sizeof path, "src/tuner/skeleton/%s.in", file);
    const ak_asset *asset = ak_asset_find(path);
    assert(asset != NULL);
    for (const char *p = asset->data; *p != 0; p++) {
        if (p[0] == '@' && p[1] == '@') {
            ak_buf_putc(&filled, *p++);
        } else if (*p == '@') {
            ak_buf_puts(&filled, kernel);
        } else {
            ak_buf_putc(&filled, *p);
        }
    }
    bool triton = strncmp(file, "triton.", 7) == 0;
    (void)snprintf(name, sizeof name, "%.64s%s", triton ? kernel : "", triton ? file + 6 : file);
    AK_DO(ak_buf_status(&filled, err));
    AK_DO(ak_fs_join(path, folder, name, err));
    return ak_fs_write(path, filled.data, filled.length, err);
}

/* Writes the files of a NULL-terminated list. After a failure the unfinished folder is removed. */
static ak_status write_all(const char *folder, const char *const *files, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && files[i] != NULL; i++) {
        status = write_one(folder, files[i], err);
    }
    if (status != AK_OK) {
        ak_fs_remove(folder);
    }
    return status;
}

#define NAME_MAX_LETTERS 63

static bool is_identifier(const char *name)
{
    size_t letters =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return name[0] != 0 && name[letters] == 0 && letters <= NAME_MAX_LETTERS &&
           !(name[0] >= '0' && name[0] <= '9');
}

ak_status ak_skeleton_folder(const char *path, ak_error *err)
{
    const char *name = ak_fs_base(path);
    AK_FAIL_IF(!is_identifier(name), err, AK_INVALID,
               "\"%.100s\": a kernel's name has only letters, digits and _, does not start "
               "with a digit and has at most %d characters",
               name, NAME_MAX_LETTERS);
    AK_FAIL_IF(ak_problem_is_builtin(name), err, AK_INVALID,
               "\"%s\" is a built-in kernel; choose another name", name);
    AK_FAIL_IF(ak_fs_is_folder(path) || ak_fs_is_file(path), err, AK_INVALID,
               "%s already exists; choose another name", path);
    return ak_fs_mkdirs(path, err);
}

ak_status ak_kernel_new(const char *path, ak_error *err)
{
    static const char *const files[] = {"problem.json", "host.json", "host.c",
                                        "reference.c",  "README.md", NULL};
    AK_DO(ak_skeleton_folder(path, err));
    return write_all(path, files, err);
}

ak_status ak_kernel_new_cuda(const char *path, ak_error *err)
{
    static const char *const files[] = {"cuda.json", "cuda.cu", NULL};
    AK_DO(ak_kernel_new(path, err));
    return write_all(path, files, err);
}

ak_status ak_kernel_new_triton(const char *path, ak_error *err)
{
    static const char *const files[] = {"triton.py", "triton.json", NULL};
    AK_DO(ak_skeleton_folder(path, err));
    return write_all(path, files, err);
}
