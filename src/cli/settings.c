/* settings.c: see settings.h. A JSON text, number or Boolean becomes text and is then checked by
   the code that checks the command line, so that the rules are the same everywhere. Other types are
   refused. */
#include "cli/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/number.h"
#include "base/utf8.h"
#include "cli/options.h"

#define NAME_MAX_BYTES 64
#define ORIGIN_MAX     (AK_PATH_MAX + NAME_MAX_BYTES)
#define PREFIX         "AUTOKERNEL_"

/* Variables that are not settings but are read by the program, by the Python package, or by a job
   that the program writes. tools/lint.sh refuses names in src/ that are neither here nor
   settings. */
static const char *const other_variables[] = {
    "AUTOKERNEL_BEAT_MS",        "AUTOKERNEL_CEILING_MIB", "AUTOKERNEL_COMPILERS",
    "AUTOKERNEL_IMPORT_SECONDS", "AUTOKERNEL_JOBS",        "AUTOKERNEL_LIBCUBLASLT",
    "AUTOKERNEL_LIBCUDA",        "AUTOKERNEL_LIBCUDNN",    "AUTOKERNEL_LIBNVML",
    "AUTOKERNEL_LIBNVRTC",       "AUTOKERNEL_LIBOPENCL",   "AUTOKERNEL_POWERCAP",
    "AUTOKERNEL_PYTHON",         "AUTOKERNEL_RUNTIME",     "AUTOKERNEL_SAMPLES",
    "AUTOKERNEL_SEAT",           "AUTOKERNEL_WORKER",      NULL};

/* Returns in words what an option decides if only the user may set it, and not a file that comes
   with a project; NULL for other options. */
static const char *private_matter(ak_option_id id)
{
    switch (id) {
    case AK_OPTION_LAUNCHER:
    case AK_OPTION_WORKERS:
        return "which commands are run";
    case AK_OPTION_LLM_URL:
    case AK_OPTION_LLM_KEY_FILE:
        return "where a key comes from or goes";
    case AK_OPTION_LLM:
    case AK_OPTION_LLM_SHARE:
    case AK_OPTION_LLM_EFFORT:
    case AK_OPTION_LLM_BUDGET:
    case AK_OPTION_LLM_TOKENS:
    case AK_OPTION_LLM_CALLS:
    case AK_OPTION_LLM_OUTPUT:
    case AK_OPTION_LLM_PRICES:
        return "what is sent to whom, and paid for";
    default:
        return NULL;
    }
}

/* Returns whether the first `length` bytes of a path name a symbolic link, by which a project could
   lead out of its folder. */
static bool is_link(const char *path, size_t length)
{
    char part[AK_PATH_MAX];
    struct stat info;
    (void)snprintf(part, sizeof part, "%.*s", (int)length, path);
    return lstat(part, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Returns whether a project's setting names a file that may be outside of the project's folder. */
static bool leads_out(ak_option_id id, const json_t *value)
{
    const char *path = json_string_value(value);
    const bool names_file =
        id == AK_OPTION_ARCHIVE || id == AK_OPTION_LLM_RECORD || id == AK_OPTION_LLM_REPLAY;
    if (!names_file || path == NULL) {
        return false;
    }
    bool out = path[0] == '/';
    for (const char *p = path; *p != 0 && !out;) {
        const size_t length = strcspn(p, "/");
        out = (length == 2 && p[0] == '.' && p[1] == '.') ||
              is_link(path, (size_t)(p - path) + length);
        p += length + strspn(p + length, "/");
    }
    return out;
}

/* key_of writes an option's name as a key ("target_speedup"), variable_of as a variable
   ("AUTOKERNEL_TARGET_SPEEDUP"). */
static void key_of(char out[NAME_MAX_BYTES], ak_option_id id)
{
    (void)snprintf(out, NAME_MAX_BYTES, "%s", ak_options_all[id].name);
    for (char *p = out; *p != 0; p++) {
        *p = *p == '-' ? '_' : *p;
    }
}

static void variable_of(char out[NAME_MAX_BYTES], ak_option_id id)
{
    char key[NAME_MAX_BYTES];
    key_of(key, id);
    (void)snprintf(out, NAME_MAX_BYTES, PREFIX "%.*s", NAME_MAX_BYTES - (int)sizeof PREFIX, key);
    for (char *p = out; *p != 0; p++) {
        *p = ak_ascii_upper(*p);
    }
}

/* Checks a setting, and keeps it unless a source of higher priority, read before, has set it. */
static ak_status offer(ak_settings *settings, ak_option_id id, const char *text, const char *origin,
                       ak_error *err)
{
    char *kept_text = ak_arena_strndup(settings->arena, text, strlen(text));
    char *kept_origin = ak_arena_strndup(settings->arena, origin, strlen(origin));
    AK_DO(ak_stored(kept_text != NULL && kept_origin != NULL, err));
    ak_args scratch = {0};
    AK_DO(ak_args_set(&scratch, id, kept_text, kept_origin, err));
    if (settings->at[id].text == NULL) {
        settings->at[id].text = kept_text;
        settings->at[id].origin = kept_origin;
    }
    return AK_OK;
}

static ak_status offer_member(ak_settings *settings, ak_option_id id, const json_t *value,
                              const char *path, ak_error *err)
{
    char key[NAME_MAX_BYTES], number[AK_REAL_BYTES], origin[ORIGIN_MAX];
    key_of(key, id);
    (void)snprintf(origin, sizeof origin, "%s: \"%s\"", path, key);
    const char *text = number;
    if (json_is_string(value)) {
        text = json_string_value(value);
    } else if (json_is_integer(value)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        ak_number_shortest(number, json_real_value(value));
    } else if (json_is_boolean(value)) {
        text = json_is_true(value) ? "true" : "false";
    } else {
        return ak_fail(err, AK_INVALID, "%s must be a text, a number, true or false", origin);
    }
    return offer(settings, id, text, origin, err);
}

enum { PROJECT, USER }; /* indices into ak_settings.documents */

static ak_status read_file(ak_settings *settings, size_t slot, const char *path, ak_error *err)
{
    char names[AK_OPTION_COUNT][NAME_MAX_BYTES];
    const char *keys[AK_OPTION_COUNT + 1];
    size_t count = 0;
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        key_of(names[i], (ak_option_id)i);
        if (ak_options_all[i].setting) {
            keys[count++] = names[i];
        }
    }
    keys[count] = NULL;
    AK_DO(ak_json_read(&settings->documents[slot], path, err));
    AK_FAIL_IF(!json_is_object(settings->documents[slot]), err, AK_INVALID,
               "%s must be an object such as {\"evals\": 100}", path);
    AK_DO(ak_json_only(settings->documents[slot], keys, path, err));
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        const json_t *value = json_object_get(settings->documents[slot], names[i]);
        const char *matter = slot == PROJECT ? private_matter((ak_option_id)i) : NULL;
        AK_FAIL_IF(value != NULL && matter != NULL, err, AK_INVALID,
                   "%s: a project's settings must not have \"%s\", which says %s: set it "
                   "in %s, in the environment or on the command line",
                   path, names[i], matter, settings->user[0] != 0 ? settings->user : "~/.config");
        AK_FAIL_IF(value != NULL && slot == PROJECT && leads_out((ak_option_id)i, value), err,
                   AK_INVALID,
                   "%s: \"%s\" of a project's settings must be in the project's folder: "
                   "name it without \"..\", a \"/\" in front or a symbolic link",
                   path, names[i]);
        if (value != NULL) {
            AK_DO(offer_member(settings, (ak_option_id)i, value, path, err));
        }
    }
    return AK_OK;
}

static ak_status is_there(bool *there, const char *path, ak_error *err)
{
    struct stat info;
    *there = path[0] != 0 && stat(path, &info) == 0;
    return !*there || S_ISREG(info.st_mode)
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: settings are read from a file, and it is none",
                         path);
}

static ak_status find_files(ak_settings *out, ak_error *err)
{
    (void)snprintf(out->project, sizeof out->project, "autokernel.json");
    const char *root = ak_env("XDG_CONFIG_HOME"), *home = ak_env("HOME");
    char folder[AK_PATH_MAX] = "";
    /* The XDG Base Directory Specification says that relative paths are ignored. */
    if (root != NULL && root[0] == '/') {
        AK_DO(ak_fs_join(folder, root, "autokernel", err));
    } else if (home != NULL) {
        AK_DO(ak_fs_join(folder, home, ".config/autokernel", err));
    }
    if (folder[0] != 0) {
        AK_DO(ak_fs_join(out->user, folder, "config.json", err));
    }
    AK_DO(is_there(&out->has_project, out->project, err));
    return is_there(&out->has_user, out->user, err);
}

ak_status ak_settings_open(ak_settings *out, ak_error *err)
{
    *out = (ak_settings){0};
    out->arena = ak_arena_new();
    ak_status status = AK_OK;
    AK_TRY(ak_made(out->arena, err));
    AK_TRY(find_files(out, err));
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        char name[NAME_MAX_BYTES];
        variable_of(name, (ak_option_id)i);
        const char *text = ak_options_all[i].setting ? ak_env(name) : NULL;
        AK_TRY(text == NULL ? AK_OK : offer(out, (ak_option_id)i, text, name, err));
    }
    AK_TRY(out->has_project ? read_file(out, PROJECT, out->project, err) : AK_OK);
    AK_TRY(out->has_user ? read_file(out, USER, out->user, err) : AK_OK);
out:
    if (status != AK_OK) {
        ak_settings_close(out);
    }
    return status;
}

void ak_settings_close(ak_settings *settings)
{
    json_decref(settings->documents[0]);
    json_decref(settings->documents[1]);
    ak_arena_free(settings->arena);
    *settings = (ak_settings){0};
}

ak_status ak_settings_apply(ak_args *args, const ak_command *command, const ak_settings *settings,
                            ak_error *err)
{
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        if ((command->options & AK_O_AT(i)) && settings->at[i].text != NULL &&
            args->origin[i] == NULL) {
            AK_DO(ak_args_set(args, (ak_option_id)i, settings->at[i].text, settings->at[i].origin,
                              err));
        }
    }
    return AK_OK;
}

json_t *ak_settings_json(const ak_settings *settings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        const char *text = settings->at[i].text;
        char key[NAME_MAX_BYTES];
        key_of(key, (ak_option_id)i);
        if (ak_options_all[i].setting) {
            json_t *row = json_pack("{s:s, s:s?, s:s}", "name", key, "value", text, "from",
                                    text == NULL ? "default" : settings->at[i].origin);
            ak_json_add(&list, row);
        }
    }
    return list;
}

bool ak_settings_meant(char *out, size_t bytes, const char *name)
{
    char names[AK_OPTION_COUNT][NAME_MAX_BYTES];
    const char *known[AK_OPTION_COUNT + 1] = {NULL};
    for (size_t i = 0, count = 0; i < AK_OPTION_COUNT; i++) {
        if (ak_options_all[i].setting) {
            variable_of(names[i], (ak_option_id)i);
            known[count++] = names[i] + strlen(PREFIX); /* all names share the prefix */
        }
    }
    const char *nearest = ak_text_meant(name + strlen(PREFIX), known);
    (void)snprintf(out, bytes, PREFIX "%s", ak_or_empty(nearest));
    return nearest != NULL;
}

json_t *ak_settings_unknown(void)
{
    json_t *list = json_array();
    for (char **entry = environ; list != NULL && entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 || length >= NAME_MAX_BYTES) {
            continue;
        }
        char name[NAME_MAX_BYTES], known[NAME_MAX_BYTES];
        memcpy(name, *entry, length);
        name[length] = 0;
        bool meant = false;
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            variable_of(known, (ak_option_id)i);
            meant |= ak_options_all[i].setting && strcmp(known, name) == 0;
        }
        for (size_t i = 0; other_variables[i] != NULL; i++) {
            meant |= strcmp(other_variables[i], name) == 0;
        }
        char *clean = meant ? NULL : ak_utf8_clean(name); /* JSON cannot hold other bytes */
        if (clean != NULL) {
            (void)ak_json_append(list, json_string(clean));
            ak_free(clean);
        }
    }
    return list;
}
