/* backend.c: the table of backends and how a device's name finds its backend. */
#include "backend/backend.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

#define X(name) extern const ak_backend_ops ak_##name##_ops;
#include "backend/backends.def"
#undef X

const ak_backend_ops *const ak_backends[] = {
#define X(name) &ak_##name##_ops,
#include "backend/backends.def"
#undef X
    NULL,
};

ak_status ak_backend_find(const ak_backend_ops **out, const char *name, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(256);
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        if (strcmp(ak_backends[i]->name, name) == 0) {
            *out = ak_backends[i];
            return AK_OK;
        }
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", ak_backends[i]->name);
    }
    return ak_fail(err, AK_NOT_FOUND, "there is no backend \"%.64s\"; choose one of: %s", name,
                   known.data);
}

void ak_outcome_refuse(ak_outcome *out, ak_trial_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->status = status;
    out->ns = 0;
    (void)ak_number_vprint(out->reason, sizeof out->reason, format, args);
    va_end(args);
}

void ak_outcome_whole(ak_outcome *out, bool before, bool after)
{
    if (!before || !after) {
        ak_outcome_refuse(out, AK_TRIAL_WRONG_RESULT, "it writes outside of its workspace, %s",
                          before ? "behind its end: the space file asks for too little"
                                 : "before its start");
    }
}

void ak_outcome_endless(ak_outcome *out, int64_t timeout_ns)
{
    ak_outcome_refuse(out, AK_TRIAL_TIMED_OUT, "it did not end within %.3g s",
                      (double)timeout_ns / 1e9);
}

void ak_backend_say(const char *text)
{
    (void)ak_fs_write_all(STDOUT_FILENO, text, strlen(text));
}

ak_status ak_backend_source(ak_buf *out, const char *text, const char *name, ak_error *err)
{
    ak_buf_print(out, "#line 1 \"%s\"\n", name);
    ak_buf_puts(out, text);
    ak_buf_putc(out, '\n');
    return ak_buf_status(out, err);
}

ak_status ak_backend_write_source(const char *path, const ak_backend_ops *backend,
                                  const ak_implementation_spec *implementation, ak_error *err)
{
    char name[128];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    (void)snprintf(name, sizeof name, "%.100s.c", implementation->name);
    AK_DO(backend->source(&text, implementation->source, name, err));
    return ak_fs_write(path, text.data, text.length, err);
}

ak_status ak_backend_in_block(size_t reserved, size_t offset, size_t bytes, ak_error *err)
{
    return offset > reserved || bytes > reserved - offset
               ? ak_fail(err, AK_INTERNAL, "bytes %zu..%zu are beyond the reserved %zu", offset,
                         offset + bytes, reserved)
               : AK_OK;
}

const ak_backend_rules *ak_backend_rules_find(const char *backend)
{
    const ak_backend_ops *found = NULL;
    return ak_backend_find(&found, backend, NULL) == AK_OK ? found->rules : NULL;
}

/* What look_for searches for: the device called `name`, or the first one if `name` is NULL. */
typedef struct wanted_device {
    const char *name;
    char *out;
    size_t bytes;
    bool found;
} wanted_device;

static void look_for(void *context, const char *device, const char *description)
{
    wanted_device *wanted = context;
    (void)description;
    if (!wanted->found && (wanted->name == NULL || strcmp(device, wanted->name) == 0)) {
        wanted->found = strlen(device) < wanted->bytes;
        (void)snprintf(wanted->out, wanted->bytes, "%s", device);
    }
}

static ak_status best_device(const ak_backend_ops **out, char *device, size_t bytes, ak_error *err)
{
    size_t count = 0;
    while (ak_backends[count] != NULL) {
        count++;
    }
    while (count-- > 0) {
        wanted_device first = {.out = device, .bytes = bytes};
        if (ak_backends[count]->probe(look_for, &first, NULL) == AK_OK && first.found) {
            *out = ak_backends[count];
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE, "no device found");
}

ak_status ak_backend_device(const ak_backend_ops **out, char *device, size_t bytes,
                            const char *wanted, ak_error *err)
{
    if (wanted == NULL || strcmp(wanted, "auto") == 0) {
        return best_device(out, device, bytes, err);
    }
    char name[64];
    const ak_backend_ops *backend = NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(wanted, ":"), wanted);
    if (ak_backend_find(&backend, name, NULL) == AK_OK) {
        wanted_device look = {.name = wanted, .out = device, .bytes = bytes};
        AK_DO(backend->probe(look_for, &look, err));
        *out = backend;
        if (look.found) {
            return AK_OK;
        }
        if (backend->find != NULL) {
            AK_DO(backend->find(wanted, err));
            return (size_t)snprintf(device, bytes, "%s", wanted) < bytes
                       ? AK_OK
                       : ak_fail(err, AK_LIMIT, "the name of the device is too long");
        }
        look.name = NULL;
        if (strchr(wanted, ':') == NULL && backend->probe(look_for, &look, NULL) == AK_OK &&
            look.found) {
            return AK_OK;
        }
    }
    if (backend != NULL && backend->missing != NULL) {
        return backend->missing(wanted, err);
    }
    static const char *const usual[] = {"host", "cuda:0", "auto", NULL};
    const char *meant = ak_text_meant(wanted, usual);
    AK_FAIL_IF(meant != NULL, err, AK_NOT_FOUND, "unknown device \"%.64s\"; did you mean %s?",
               wanted, meant);
    return ak_fail(
        err, AK_NOT_FOUND,
        "unknown device \"%.64s\"; `autokernel doctor` lists the devices of this machine", wanted);
}

/* ---- several devices ------------------------------------------------------------------------ */

static const char every[] = ":all";

typedef struct names {
    char name[AK_DEVICES_MAX][AK_DEVICE_NAME_BYTES];
    size_t count;
} names;

/* Counts a device, and lists it if there is room. */
static void collect(void *context, const char *device, const char *description)
{
    names *list = context;
    (void)description;
    if (list->count++ < AK_DEVICES_MAX) {
        (void)snprintf(list->name[list->count - 1], AK_DEVICE_NAME_BYTES, "%s", device);
    }
}

static ak_status too_many(ak_error *err)
{
    return ak_fail(err, AK_LIMIT, "at most %d devices can share a run; name the ones to use",
                   AK_DEVICES_MAX);
}

/* Lists every device of a backend, for "cuda:all". */
static ak_status all_devices(names *list, const ak_backend_ops *backend, const char *wanted,
                             ak_error *err)
{
    AK_DO(backend->probe(collect, list, err));
    if (list->count > AK_DEVICES_MAX) {
        return too_many(err);
    }
    if (list->count == 0) {
        return backend->missing != NULL
                   ? backend->missing(wanted, err)
                   : ak_fail(err, AK_NOT_FOUND, "there is no %s device", backend->name);
    }
    return AK_OK;
}

static ak_status add_device(const ak_backend_ops **out, names *list, const char *wanted,
                            ak_error *err)
{
    const ak_backend_ops *backend = NULL;
    char name[AK_DEVICE_NAME_BYTES];
    AK_DO(ak_backend_device(&backend, name, sizeof name, wanted, err));
    AK_FAIL_IF(*out != NULL && backend != *out, err, AK_INVALID,
               "devices of different kinds cannot share a run: %s, %s", list->name[0], name);
    for (size_t i = 0; i < list->count; i++) {
        AK_FAIL_IF(strcmp(list->name[i], name) == 0, err, AK_INVALID,
                   "the device %s is named twice", name);
    }
    if (list->count == AK_DEVICES_MAX) {
        return too_many(err);
    }
    *out = backend;
    (void)snprintf(list->name[list->count++], sizeof name, "%s", name);
    return AK_OK;
}

/* Lists devices that are named one by one: "cuda:0,cuda:1" or "cuda:0,1". */
static ak_status listed_devices(const ak_backend_ops **out, names *list, const char *wanted,
                                ak_error *err)
{
    for (const char *at = wanted;; at++) {
        char one[2 * AK_DEVICE_NAME_BYTES];
        int length = (int)strcspn(at, ",");
        bool number = length > 0 && strspn(at, "0123456789") == (size_t)length;
        AK_FAIL_IF(length >= AK_DEVICE_NAME_BYTES / 2, err, AK_NOT_FOUND, "unknown device \"%.*s\"",
                   AK_DEVICE_NAME_BYTES, at);
        (void)snprintf(one, sizeof one, "%s%s%.*s", number && *out != NULL ? (*out)->name : "",
                       number && *out != NULL ? ":" : "", length, at);
        AK_DO(add_device(out, list, one, err));
        at += length;
        if (*at == 0) {
            return AK_OK;
        }
    }
}

static const char *name_of(const json_t *environment)
{
    const char *name = ak_json_text_at(environment, "name");
    return name[0] == 0 ? "another" : name;
}

/* Refuses devices with different environments, whose times are not comparable. */
static ak_status must_be_equal(const ak_backend_ops *backend, const names *list, ak_error *err)
{
    json_auto_t *first = NULL;
    AK_DO(backend->environment(&first, list->name[0], err));
    for (size_t i = 1; i < list->count; i++) {
        json_auto_t *other = NULL;
        AK_DO(backend->environment(&other, list->name[i], err));
        AK_FAIL_IF(!json_equal(first, other), err, AK_INVALID,
                   "devices that share a run must be equal: %s is %s, %s is %s; name equal ones, "
                   "such as --device %s",
                   list->name[0], name_of(first), list->name[i], name_of(other), list->name[0]);
    }
    return AK_OK;
}

/* Lists the devices that a text names one by one, or all devices of the backend that it names
   ("cuda:all"). */
static ak_status name_several(const ak_backend_ops **out, names *list, const char *wanted,
                              ak_error *err)
{
    if (ak_fs_has_suffix(wanted, every)) {
        char name[AK_DEVICE_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(wanted) - sizeof every + 1), wanted);
        AK_DO(ak_backend_find(out, name, err));
        AK_DO(all_devices(list, *out, wanted, err));
    } else {
        AK_DO(listed_devices(out, list, wanted, err));
    }
    return *out != NULL && list->count > 1 ? must_be_equal(*out, list, err) : AK_OK;
}

/* Returns whether the name stands for several devices; false for a backend with `find`, which takes
   any name. */
static bool is_several(const char *wanted)
{
    char name[AK_DEVICE_NAME_BYTES];
    const ak_backend_ops *backend = NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(wanted, ":"), wanted);
    if (ak_backend_find(&backend, name, NULL) == AK_OK && backend->find != NULL) {
        return false;
    }
    return strchr(wanted, ',') != NULL || ak_fs_has_suffix(wanted, every);
}

static bool is_sheet(const ak_backend_ops **out, const char *wanted)
{
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        const char *const *sheets = ak_backends[i]->sheets;
        if (sheets != NULL && ak_text_is_one_of(wanted, sheets)) {
            *out = ak_backends[i];
            return true;
        }
    }
    return false;
}

ak_status ak_backend_devices(const ak_backend_ops **out, ak_device_list *list, const char *wanted,
                             ak_error *err)
{
    const ak_backend_ops *backend = NULL;
    names found = {.count = 0};
    if (wanted != NULL && is_sheet(&backend, wanted)) {
        *out = backend;
        *list = (ak_device_list){.sheet = true, .count = 1};
        (void)snprintf(list->first, sizeof list->first, "%s", wanted);
        (void)snprintf(list->all, sizeof list->all, "%s", wanted);
        return AK_OK;
    }
    list->sheet = false;
    if (wanted == NULL || !is_several(wanted)) {
        AK_DO(ak_backend_device(out, list->first, sizeof list->first, wanted, err));
        memcpy(list->all, list->first, sizeof list->all);
        list->count = 1;
        return AK_OK;
    }
    AK_DO(name_several(&backend, &found, wanted, err));
    size_t used = 0;
    for (size_t i = 0; i < found.count; i++) {
        used += (size_t)snprintf(list->all + used, sizeof list->all - used, "%s%s",
                                 i == 0 ? "" : ",", found.name[i]);
    }
    (void)snprintf(list->first, sizeof list->first, "%s", found.name[0]);
    list->count = found.count;
    *out = backend;
    return AK_OK;
}
