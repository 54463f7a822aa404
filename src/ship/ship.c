/* ship.c: makes bundles and writes them. */
#include "ship/bundle.h"

#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/ascii.h"
#include "formats/format.h"
#include "runtime/ak_runtime.h"

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
        json_decref(v->when);
        json_decref(v->workspace);
        json_decref(v->threads);
        json_decref(v->launch);
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

/* Names the bundle, such as "matmul_f32", so that a C function can have this name. */
static void name_bundle(ak_bundle_build *b)
{
    const ak_task *task = b->cases[0].task;
    (void)snprintf(b->name, sizeof b->name, "%.63s_%s", task->problem->name,
                   ak_dtype_text(task->dtype));
    for (char *p = b->name; *p != 0; p++) {
        *p = ak_ascii_is_word(*p) ? *p : '_';
    }
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
    name_bundle(&b);
    AK_DO(ak_bundle_variants(&b, err));
    tell_notes(&b, request);
    AK_DO(add_all(&sources, "source/", &b.sources, err));
    ak_pack_clear(&b.sources);
    b.sources = sources;
    sources = (ak_pack){0};
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
