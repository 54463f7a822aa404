/* ship.c: makes bundles and writes them. */
#include "ship/bundle.h"

#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/ascii.h"
#include "base/hash.h"
#include "formats/format.h"
#include "runtime/ak_runtime.h"

/* NAME_LONGEST: most letters of a bundle's name, so that "test_NAME.c" can be the name of a file in
   a tar file. HASH_DIGITS: digits of a hash at its end. A problem's name and a dtype take at most
   80. */
#define NAME_LONGEST (AK_PACK_NAME_MAX - 8)
#define HASH_DIGITS  8
_Static_assert(NAME_LONGEST > 80 + 1 + HASH_DIGITS && NAME_LONGEST < AK_BUNDLE_NAME_MAX,
               "a hash fits behind every name");

bool ak_bundle_is_for_gpu(const char *backend)
{
    const ak_backend_ops *ops = NULL;
    return ak_backend_find(&ops, backend, NULL) == AK_OK && !ops->is_cpu;
}

static void build_clear(ak_bundle_build *b)
{
    for (size_t i = 0; i < b->variant_count; i++) {
        ak_bundle_variant *v = &b->variants[i];
        ak_options_clear(&v->options);
        AK_FREE_ALL(v->config, v->note);
        ak_bundle_programs_clear(v);
    }
    for (size_t i = 0; i < b->case_count; i++) {
        ak_trial_clear(&b->cases[i].trial);
        json_decref(b->cases[i].table);
        ak_task_close(b->cases[i].task);
    }
    AK_FREE_ALL(b->variants, b->cases);
    json_decref(b->warnings);
    AK_FREE_ALL(b->created, b->fix);
    json_decref(b->environment);
    json_decref(b->needs);
    ak_fs_owned_close(&b->folder);
    ak_fs_owned_close(&b->kept);
    ak_pack_clear(&b->code);
    ak_pack_clear(&b->sources);
}

/* Letters of numbers in names. */
#define NUMBER_LETTERS "0123456789pme"

/* Appends a number in letters that a C name may have: 0.5 becomes "0p5", -1 "m1". */
static void add_number(ak_buf *out, double number)
{
    AK_AT_END(ak_buf_free) ak_buf value = AK_BUF(64);
    ak_buf_real(&value, number);
    for (const char *p = value.data; *p != 0; p++) {
        if (*p != '+') {
            ak_buf_putc(out, *p == '.' ? 'p' : *p == '-' ? 'm' : *p);
        }
    }
}

/* Appends "_NAME_VALUE" for each option of the task that does not have its default. */
static void add_options(ak_buf *out, const ak_task *task)
{
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const ak_choice_spec *option = &task->problem->choices[i];
        if (option->kind != AK_CHOICE_TEXT && task->number[i] != option->fallback) {
            ak_buf_print(out, "_%s_", option->name);
            add_number(out, task->number[i]);
        } else if (option->kind == AK_CHOICE_TEXT &&
                   task->choice[i] != (int)option->default_index) {
            ak_buf_print(out, "_%s_%s", option->name, option->values[task->choice[i]]);
        }
    }
}

/* Returns in how many ways the text can be read as what add_options appends for the options from
   `first` on, at most 2. */
static int readings(const char *text, const ak_problem *problem, size_t first)
{
    int count = *text == 0;
    for (size_t i = first; i < problem->choice_count && *text == '_'; i++) {
        const ak_choice_spec *option = &problem->choices[i];
        const size_t length = strlen(option->name);
        if (strncmp(text + 1, option->name, length) != 0 || text[1 + length] != '_') {
            continue;
        }
        const char *value = text + length + 2;
        const size_t digits = option->kind == AK_CHOICE_TEXT ? 0 : strspn(value, NUMBER_LETTERS);
        for (size_t k = 1; k <= digits && count < 2; k++) {
            count += readings(value + k, problem, i + 1);
        }
        for (size_t k = 0; k < option->value_count && count < 2; k++) {
            const size_t letters = strlen(option->values[k]);
            if (strncmp(value, option->values[k], letters) == 0) {
                count += readings(value + letters, problem, i + 1);
            }
        }
    }
    return count < 2 ? count : 2;
}

/* Names the bundle after problem, dtype and the options that do not have their defaults, such as
   "matmul_act_f32_activation_relu", so that C functions with these names can stand in one program.
   If other options would give the same name, or it would be too long, a hash of all options
   follows.
 */
static ak_status name_bundle(ak_bundle_build *b, ak_error *err)
{
    const ak_task *task = b->cases[0].task;
    char hash[AK_HASH_BYTES];
    AK_AT_END(ak_buf_free) ak_buf options = AK_BUF(AK_JSON_BYTES_MAX);
    add_options(&options, task);
    AK_DO(ak_buf_status(&options, err));
    (void)snprintf(b->name, sizeof b->name, "%.63s_%s", task->problem->name,
                   ak_dtype_text(task->dtype));
    for (char *p = b->name; *p != 0; p++) {
        *p = ak_ascii_is_word(*p) ? *p : '_';
    }
    const size_t used = strlen(b->name), room = NAME_LONGEST - used;
    if (options.length <= room && readings(options.data, task->problem, 0) == 1) {
        (void)snprintf(b->name + used, room + 1, "%s", options.data);
    } else {
        ak_hash_text(hash, task->choices_text, strlen(task->choices_text));
        (void)snprintf(b->name + used, room + 1, "%.*s_%.*s", (int)(room - 1 - HASH_DIGITS),
                       options.data, HASH_DIGITS, hash);
    }
    return AK_OK;
}

static ak_status add_all(ak_pack *out, const char *folder, const ak_pack *from, ak_error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        char name[AK_PATH_MAX];
        (void)snprintf(name, sizeof name, "%s%s", folder, from->files[i].name);
        AK_DO(ak_pack_add(out, name, from->files[i].data, from->files[i].length, err));
    }
    return AK_OK;
}

static ak_status add_manifest(ak_pack *out, const ak_bundle_build *b, ak_error *err)
{
    char sum[65], line[96];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_JSON_BYTES_MAX);
    AK_DO(ak_bundle_manifest(&text, b, err));
    akr_sha256(sum, text.data, text.length);
    (void)snprintf(line, sizeof line, "%s  %s\n", sum, AK_BUNDLE_JSON); /* sha256sum's format */
    AK_DO(ak_pack_add(out, AK_BUNDLE_JSON, text.data, text.length, err));
    return ak_pack_add(out, AK_BUNDLE_SUM, line, strlen(line), err);
}

/* Tells the user, once for all variants with the same reason, that nobody has compared their
   code. */
static void tell_uncompared(const ak_bundle_build *b, size_t first,
                            const ak_bundle_request *request)
{
    const ak_bundle_variant *v = &b->variants[first];
    size_t count = 0;
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(1024);
    for (size_t i = 0; i < b->variant_count && v->uncompared != NULL; i++) {
        const bool same = ak_text_same(b->variants[i].uncompared, v->uncompared);
        if (same && i < first) {
            return;
        }
        count += same ? 1 : 0;
    }
    if (count > 0) {
        ak_buf_puts(&line, v->file);
        if (count > 1) {
            ak_buf_print(&line, " and %zu more file%s", count - 1, ak_plural(count - 1));
        }
        ak_buf_print(&line, ": nobody has compared this code with what was measured, because %s",
                     v->uncompared);
        request->note(request->context, line.data);
    }
}

static void tell_notes(const ak_bundle_build *b, const ak_bundle_request *request)
{
    for (size_t i = 0; i < b->variant_count && request->note != NULL; i++) {
        const ak_bundle_variant *v = &b->variants[i];
        AK_AT_END(ak_buf_free) ak_buf line = AK_BUF(1024);
        if (v->note != NULL) {
            ak_buf_print(&line, "%.300s %s: %s", v->config,
                         v->workspace == NULL ? "serves the measured sizes only"
                                              : "serves other sizes, too",
                         v->note);
            request->note(request->context, line.data);
        }
    }
    for (size_t i = 0; i < b->variant_count && request->note != NULL; i++) {
        tell_uncompared(b, i, request);
    }
}

ak_status ak_bundle_make(ak_pack *out, char **name, ak_archive *archive,
                         const ak_bundle_request *request, ak_error *err)
{
    AK_AT_END(build_clear) ak_bundle_build b = {.archive = archive, .kernel = request->kernel};
    AK_AT_END(ak_pack_clear) ak_pack pack = {0}, sources = {0};
    AK_DO(ak_bundle_cases(&b, request, err));
    AK_DO(name_bundle(&b, err));
    AK_DO(ak_bundle_variants(&b, err));
    tell_notes(&b, request);
    AK_DO(add_all(&sources, "source/", &b.sources, err));
    ak_pack_clear(&b.sources);
    AK_GIVE(&b.sources, sources);
    AK_DO(add_manifest(&pack, &b, err));
    AK_DO(add_all(&pack, "", &b.code, err));
    AK_DO(add_all(&pack, "", &b.sources, err));
    AK_DO(ak_copy_text(name, b.name, err));
    AK_GIVE(out, pack);
    return AK_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static ak_status write_tar(const ak_pack *pack, const char *path, const ak_bundle_request *request,
                           ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf tar = AK_BUF(AK_BUNDLE_BYTES_MAX);
    AK_DO(ak_pack_tar(&tar, pack, err));
    if (request->before != NULL) {
        AK_DO(request->before(request->context, NULL, path, tar.data, tar.length, err));
    }
    return strcmp(path, "-") == 0 ? ak_format_standard_output(tar.data, tar.length, err)
                                  : ak_fs_write(path, tar.data, tar.length, err);
}

static ak_status write_folder(const ak_pack *pack, const char *path,
                              const ak_bundle_request *request, ak_error *err)
{
    for (size_t i = 0; i < pack->count && request->before != NULL; i++) {
        const ak_pack_file *file = &pack->files[i];
        AK_DO(request->before(request->context, path, file->name, file->data, file->length, err));
    }
    return ak_pack_write(pack, path, err);
}

ak_status ak_bundle_export(char **out_path, ak_archive *archive, const ak_bundle_request *request,
                           const char *format, const char *path, ak_error *err)
{
    ak_status status = AK_OK;
    const ak_format_ops *ops;
    AK_AT_END(ak_pack_clear) ak_pack pack = {0};
    AK_FREED char *name = NULL;
    AK_AT_END(ak_buf_free) ak_buf target = AK_BUF(AK_PATH_MAX - 1);
    AK_DO(ak_format_find(&ops, format, err));
    AK_FAIL_IF(ops->build == NULL, err, AK_INVALID,
               "format %s is not a bundle: ak_archive_export writes it", format);
    AK_DO(ops->build(&pack, &name, archive, request, err));
    if (path != NULL) {
        ak_buf_puts(&target, path);
    } else {
        ak_buf_print(&target, "%s%s", name, ops->one_file ? ".akb" : "");
    }
    AK_DO(ak_buf_status(&target, err));
    size_t length = target.length;
    bool folder = !ops->one_file || ak_fs_is_folder(target.data) ||
                  (length > 0 && target.data[length - 1] == '/');
    if (folder && strcmp(target.data, "-") == 0) {
        status =
            ak_fail(err, AK_INVALID, "format %s is several files: --output names a folder", format);
    } else {
        status = folder ? write_folder(&pack, target.data, request, err)
                        : write_tar(&pack, target.data, request, err);
    }
    AK_DO(status);
    return ak_buf_take(out_path, &target, err);
}

const ak_format_ops ak_format_bundle = {
    .name = "bundle",
    .description =
        "FILE.akb: code, guards, sources and evidence; runs without autokernel (export only)",
    .build = ak_bundle_make,
    .one_file = true,
};
