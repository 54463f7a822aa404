/* triton_adopt.c: makes a kernel folder from a Triton function in a user's Python file. */
#include <stdlib.h>
#include <string.h>

#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"

#define WHERE "the Python process of Triton"
/* Limit of processor time for importing a user's file, unless AUTOKERNEL_IMPORT_SECONDS gives
   another one; by the clock the limit is twice as long. */
#define IMPORT_SECONDS     60
#define IMPORT_SECONDS_MAX 86400

static void add_name(void *context, const char *name, const char *description)
{
    (void)description;
    (void)ak_json_append(context, json_string(name));
}

static ak_status copy(const char *folder, const char *from, ak_error *err)
{
    AK_FREED char *bytes = NULL;
    char target[AK_PATH_MAX];
    size_t length = 0;
    AK_DO(ak_fs_read(&bytes, &length, from, AK_SOURCE_BYTES_MAX, err));
    AK_DO(ak_fs_join(target, folder, ak_fs_base(from), err));
    return ak_fs_write(target, bytes, length, err);
}

static ak_status write_member(const char *folder, const char *name, const json_t *reply,
                              const char *key, ak_error *err)
{
    const char *text;
    char path[AK_PATH_MAX];
    AK_DO(ak_json_string(&text, reply, key, WHERE, err));
    AK_DO(ak_fs_join(path, folder, name, err));
    return ak_fs_write(path, text, strlen(text), err);
}

static ak_status import_seconds(int64_t *out, ak_error *err)
{
    const char *text = ak_env("AUTOKERNEL_IMPORT_SECONDS");
    *out = IMPORT_SECONDS;
    if (text == NULL || text[0] == 0) {
        return AK_OK;
    }
    return ak_text_int(out, text) && *out >= 1 && *out <= IMPORT_SECONDS_MAX
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "AUTOKERNEL_IMPORT_SECONDS is \"%.40s\"; it must be a number from 1 to %d",
                         text, IMPORT_SECONDS_MAX);
}

ak_status ak_backend_adopt_python(const char *folder, const ak_python_source *source, ak_error *err)
{
    char path[AK_PATH_MAX], beside[AK_PATH_MAX];
    json_auto_t *reply = NULL, *taken = json_array();
    int64_t seconds = 0;
    AK_DO(import_seconds(&seconds, err));
    AK_FAIL_IF(realpath(source->path, path) == NULL, err, AK_NOT_FOUND, "%s does not exist",
               source->path);
    AK_DO(ak_problem_each_builtin(add_name, taken, err));
    memcpy(beside, path, strlen(path) + 1);
    *strrchr(beside, '/') = 0;
    json_t *request = json_pack("{s:s, s:s, s:s, s:O, s:s, s:O, s:s, s:I}", "op", "describe",
                                "path", path, "function", source->function, "settings",
                                source->settings, "settings_name", source->settings_name, "taken",
                                taken, "folder", folder, "seconds", (json_int_t)seconds);
    AK_DO(ak_triton_ask(&reply, request, folder, beside[0] == 0 ? "/" : beside,
                        3 * seconds * AK_SECOND_NS, err));
    AK_DO(write_member(folder, "triton.json", reply, "space", err));
    AK_DO(copy(folder, source->path, err));
    if (source->reference[0] != 0) {
        AK_DO(copy(folder, source->reference, err));
    }
    return write_member(folder, "problem.json", reply, "problem", err);
}
