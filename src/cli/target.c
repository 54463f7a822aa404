#include "cli/target.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/options.h"

#define HEAD_BYTES 2048 /* the title of a page is before that */

static void read_head(char head[HEAD_BYTES + 1], const char *path)
{
    FILE *file = fopen(path, "rbe");
    head[0] = 0;
    if (file != NULL) {
        head[fread(head, 1, HEAD_BYTES, file)] = 0;
        (void)fclose(file);
    }
}

/* Returns whether a file is an SQLite file and so may be an archive, whose trials took long. */
static bool is_archive(const char *path)
{
    static const char begin[] = "SQLite format 3";
    char head[HEAD_BYTES + 1];
    read_head(head, path);
    return strcmp(head, begin) == 0;
}

/* Returns whether the path may be written to without a look at whose file is there: standard
   output, what is no regular file, a file that does not exist or is empty and, with --force, any
   file that is no archive. */
static bool is_free(const char *path, const ak_args *args)
{
    struct stat info;
    return strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
           info.st_size == 0 || (ak_args_has(args, AK_OPTION_FORCE) && !is_archive(path));
}

static ak_status refuse(const char *path, const char *what, const char *option, ak_error *err)
{
    AK_FAIL_IF(is_archive(path), err, AK_INVALID,
               "%.200s: this is an SQLite file, as archives are, and --force does not replace "
               "these; choose another with --%s",
               path, option);
    return ak_fail(err, AK_INVALID,
                   "%.200s: this file exists and %s; choose another with --%s, or replace it with "
                   "--force",
                   path, what, option);
}

static bool has_content(const char *path, const ak_content *content)
{
    AK_FREED char *theirs = NULL;
    size_t bytes = 0;
    return ak_fs_read(&theirs, &bytes, path, content->length, NULL) == AK_OK &&
           bytes == content->length && memcmp(theirs, content->data, bytes) == 0;
}

/* ---- exports --------------------------------------------------------------------------------- */

#define CSV_BEGIN     "timestamp,name,"
#define CSV_BYTES_MAX (256u << 20)
#define KERNEL_BYTES  128

/* Writes the name of the kernel whose export a JSON document is. `out` is "" at first and stays so
   if the document is no export. */
static void kernel_of_json(char out[KERNEL_BYTES], const json_t *document)
{
    const json_t *first = json_array_get(document, 0);
    const json_t *names[] = {json_object_get(document, "kernel"),
                             json_object_get(document, "kernel_name"),
                             json_object_get(json_object_get(document, "metadata"), "kernel_name"),
                             json_object_get(json_object_get(document, "autokernel"), "kernel"),
                             json_object_get(first, "kernel"),
                             NULL};
    first = json_array_get(json_object_get(document, "kernels"), 0);
    names[5] = json_object_get(first, "name");
    for (size_t i = 0; i < AK_COUNT(names) && out[0] == 0; i++) {
        const char *name = json_string_value(names[i]);
        (void)snprintf(out, KERNEL_BYTES, "%s", ak_or_empty(name));
    }
}

/* Writes the name of the kernel whose export a file is; "" if export did not write it. */
static void kernel_of_file(char out[KERNEL_BYTES], const char *path)
{
    json_auto_t *document = NULL;
    char *text = NULL;
    out[0] = 0;
    if (ak_json_read(&document, path, NULL) == AK_OK) {
        kernel_of_json(out, document);
    } else if (ak_bundle_read(&text, path, NULL) == AK_OK) {
        (void)ak_json_parse_text(&document, text, path, NULL);
        kernel_of_json(out, document);
        ak_text_free(text);
    } else if (ak_fs_read(&text, NULL, path, CSV_BYTES_MAX, NULL) == AK_OK) {
        const char *row = strchr(text, '\n');
        const char *name = row == NULL ? NULL : strchr(row, ',');
        if (name != NULL && strncmp(text, CSV_BEGIN, strlen(CSV_BEGIN)) == 0) {
            (void)snprintf(out, KERNEL_BYTES, "%.*s", (int)strcspn(name + 1, ","), name + 1);
        }
        ak_free(text);
    }
}

ak_status ak_target_of_export(const char *path, const char *kernel, const ak_args *args,
                              ak_error *err)
{
    char theirs[KERNEL_BYTES], what[KERNEL_BYTES + 40] = "export did not write it";
    char problem[AK_PATH_MAX];
    const bool forced = ak_args_has(args, AK_OPTION_FORCE);
    AK_FAIL_IF(!forced && ak_fs_join(problem, path, "problem.json", NULL) == AK_OK &&
                   ak_fs_is_file(problem),
               err, AK_INVALID,
               "%.200s: this is the folder of a kernel; name another with --output, or write "
               "into it with --force",
               path);
    if (is_free(path, args)) {
        return AK_OK;
    }
    kernel_of_file(theirs, path);
    if (strcmp(theirs, kernel) == 0) {
        return AK_OK;
    }
    if (theirs[0] != 0) {
        (void)snprintf(what, sizeof what, "belongs to kernel \"%.60s\"", theirs);
    }
    return refuse(path, what, "output", err);
}

ak_status ak_target_of_task(const char *path, const char *text, const ak_args *args, ak_error *err)
{
    static const char *const keys[] = {"dtype", "device", "implementation", "choices", "size"};
    json_auto_t *theirs = NULL, *ours = NULL;
    if (is_free(path, args) || ak_json_read(&theirs, path, NULL) != AK_OK ||
        ak_json_parse_text(&ours, text, "export", NULL) != AK_OK) {
        return AK_OK;
    }
    for (size_t i = 0; i < AK_COUNT(keys); i++) {
        const json_t *a = json_object_get(theirs, keys[i]), *b = json_object_get(ours, keys[i]);
        if (a != NULL && b != NULL && !json_equal(a, b)) {
            char what[200];
            AK_AT_END(ak_buf_free) ak_buf value = AK_BUF(4096);
            ak_json_print_plain(&value, a);
            (void)snprintf(what, sizeof what, "is for another %s (%.120s)",
                           strcmp(keys[i], "choices") == 0 ? "set of options" : keys[i],
                           ak_or_empty(value.data));
            return refuse(path, what, "output", err);
        }
    }
    return AK_OK;
}

/* Returns whether a file is an earlier export of the C source that is to replace it: both begin
   alike, up to the colon behind the name, and the file names autokernel. */
static bool is_c_export(const char *path, const ak_content *content)
{
    char head[HEAD_BYTES + 1];
    const char *colon = memchr(content->data, ':', content->length);
    const size_t begin = colon == NULL ? 0 : (size_t)(colon - (const char *)content->data);
    read_head(head, path);
    return begin > 0 && begin < 2 * KERNEL_BYTES && strncmp(head, "/*", 2) == 0 &&
           strncmp(head, content->data, begin) == 0 && strstr(head, " autokernel") != NULL;
}

/* Returns whether a folder holds a whole bundle of this kernel that has the file `name`. */
static bool is_of_bundle(const char *folder, const char *name, const char *kernel)
{
    AK_AT_END(ak_text_free_at) char *text = NULL;
    char theirs[KERNEL_BYTES] = "", quoted[AK_PATH_MAX];
    json_auto_t *document = NULL;
    bool is = false;
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", name);
    if (ak_bundle_read(&text, folder, NULL) == AK_OK &&
        ak_json_parse_text(&document, text, folder, NULL) == AK_OK) {
        kernel_of_json(theirs, document);
        is = strcmp(theirs, kernel) == 0 &&
             (strncmp(name, "bundle.", 7) == 0 || strstr(text, quoted) != NULL);
    }
    return is;
}

ak_status ak_target_in_bundle(const char *folder, const char *name, const ak_content *content,
                              const char *kernel, const ak_args *args, ak_error *err)
{
    char path[AK_PATH_MAX];
    if (folder == NULL) {
        return ak_target_of_export(name, kernel, args, err);
    }
    AK_DO(ak_fs_join(path, folder, name, err));
    return is_free(path, args) || has_content(path, content) || is_c_export(path, content) ||
                   is_of_bundle(folder, name, kernel)
               ? AK_OK
               : refuse(path, "export did not write it so", "output", err);
}

/* ---- other files ----------------------------------------------------------------------------- */

static bool is_report(const char *path)
{
    static const char *const begins[] = {"Run\n",
                                         "Runs\n",
                                         "Versions of the kernel\n",
                                         "# autokernel: ",
                                         "section,row,column,value\n",
                                         "{\n  \"schema\": 1,\n  \"run\": {",
                                         "{\n  \"schema\": 1,\n  \"kind\": \"versus\"",
                                         "{\n  \"versions\": ["};
    char head[HEAD_BYTES + 1];
    for (size_t i = 0; i < AK_COUNT(begins); i++) {
        if (ak_fs_begins(path, begins[i], strlen(begins[i]))) {
            return true;
        }
    }
    read_head(head, path);
    return strncmp(head, "<!DOCTYPE html>", 15) == 0 && strstr(head, "<title>autokernel: ") != NULL;
}

ak_status ak_target_of_report(const char *path, const ak_args *args, ak_error *err)
{
    return is_free(path, args) || is_report(path)
               ? AK_OK
               : refuse(path, "is not a report of autokernel", "output", err);
}

ak_status ak_target_of_events(const char *path, const ak_args *args, ak_error *err)
{
    static const char begin[] = "{\"event\":";
    return is_free(path, args) || ak_fs_begins(path, begin, sizeof begin - 1)
               ? AK_OK
               : refuse(path, "has no events of a run", "events", err);
}

ak_status ak_target_of_source(const char *path, const ak_content *content, const ak_args *args,
                              ak_error *err)
{
    return is_free(path, args) || has_content(path, content)
               ? AK_OK
               : refuse(path, "differs from the source of the trial", "output", err);
}

ak_status ak_target_of_format(const char *path, const char *format, const char *asked,
                              const ak_ending *endings, size_t count, ak_error *err)
{
    const char *end = path == NULL ? NULL : strrchr(path, '.');
    const size_t i = end == NULL ? count : AK_FIND(endings, count, ending, end + 1);
    if (i == count || ak_text_is_one_of(format, endings[i].formats)) {
        return AK_OK;
    }
    AK_FAIL_IF(endings[i].formats[0] == NULL, err, AK_INVALID,
               "%.300s: no format is written to a name in .%s: choose another name", path,
               endings[i].ending);
    return ak_fail(err, AK_INVALID,
                   "%.300s: a name in .%s is not for the format %s: choose another name, or %s %s",
                   path, endings[i].ending, format, asked == NULL ? "give" : "leave out",
                   asked == NULL ? "--format" : asked);
}
