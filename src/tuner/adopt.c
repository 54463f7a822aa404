/*
 * adopt.c: implements `autokernel new kernel NAME --from FILE`, which writes a kernel folder from a
 * T1 file or from the source file of a kernel.
 */

#include "problem/sources.h"
#include "problem/source_text.h"
#include "problem/kernel_files.h"
#include "tuner/skeleton.h"

#define DOCUMENT_BYTES_MAX (1u << 20)
#define INCLUDES_MAX       32

static const struct {
    const char *suffix, *backend;
} languages[] = {{".cu", "cuda"},  {".cl", "opencl"}, {".c", "host"},
                 {".cpp", "host"}, {".cc", "host"},   {".cxx", "host"}};

static ak_status write_text(const char *folder, const char *name, const char *text, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_DO(ak_fs_join(path, folder, name, err));
    return ak_fs_write(path, text, strlen(text), err);
}

static ak_status write_json(const char *folder, const char *name, const json_t *document,
                            ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(DOCUMENT_BYTES_MAX);
    ak_json_print(&text, document, true);
    ak_buf_puts(&text, "\n");
    AK_DO(ak_buf_status(&text, err));
    return write_text(folder, name, text.data, err);
}

/* Copies a file that a document names into the kernel's folder, under the last part of its name.
   The file is looked for in the folder of `from`, then in the folder above it. */
static ak_status copy_file(const char *folder, const char *from, const char *name, ak_error *err)
{
    char path[AK_PATH_MAX], above[AK_PATH_MAX + 4], target[AK_PATH_MAX];
    AK_FREED char *bytes = NULL;
    size_t length = 0;
    AK_DO(ak_kernel_beside(path, from, name, err));
    if (!ak_fs_is_file(path)) {
        (void)snprintf(above, sizeof above, "../%.*s", AK_PATH_MAX - 1, name);
        AK_DO(ak_kernel_beside(path, from, above, err));
    }
    AK_DO(ak_fs_read(&bytes, &length, path, AK_SOURCE_BYTES_MAX, err));
    AK_DO(ak_fs_join(target, folder, ak_fs_base(name), err));
    return ak_fs_write(target, bytes, length, err);
}

/* Copies the data files that the fills of arguments name: "file(a.npy)". */
static ak_status copy_data(const char *folder, const char *file, const json_t *problem,
                           ak_error *err)
{
    AK_EACH(argument, json_object_get(problem, "arguments")) {
        const char *fill = ak_json_text_at(argument, "fill");
        char name[AK_PATH_MAX];
        if (strncmp(fill, "file(", 5) == 0) {
            (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(fill + 5, ")"), fill + 5);
            AK_FAIL_IF(strchr(name, '/') != NULL, err, AK_INVALID, "%s: put %s beside it", file,
                       name);
            AK_DO(copy_file(folder, file, name, err));
        }
    }
    return AK_OK;
}

/* Writes problem.json with a note that the formulas of its work are guesses. */
static ak_status write_problem(const char *folder, json_t *problem, ak_error *err)
{
    static const char guessed[] =
        "\"flops\" (0) and \"bytes\" (each array moved once, or read and written if it is inout) "
        "are guesses of 'new kernel --from': write formulas of the useful work in their place";
    AK_DO(ak_stored(ak_json_set_text(problem, "notes", guessed), err));
    return write_json(folder, "problem.json", problem, err);
}

static ak_status adopt_t1(char **note, const char *folder, const char *file, ak_error *err)
{
    json_auto_t *document = NULL, *problem = NULL, *space = NULL;
    char name[80];
    const char *backend;
    AK_DO(ak_json_read(&document, file, err));
    json_t *kernel = json_object_get(document, "KernelSpecification");
    AK_DO(ak_t1_backend(&backend, document, file, err));
    const char *source = ak_json_text_at(kernel, "KernelFile");
    const json_t *reference = json_object_get(kernel, "Reference");
    AK_DO(*source == 0 ? ak_fail(err, AK_INVALID, "%s: it names no \"KernelFile\"", file) : AK_OK);
    AK_DO(copy_file(folder, file, source, err));
    AK_DO(ak_stored(ak_json_set_text(kernel, "KernelFile", ak_fs_base(source)), err));
    AK_DO(ak_t1_convert(&problem, &space, document, ak_fs_base(folder), file, err));
    if (json_is_string(reference) && strchr(json_string_value(reference), '.') != NULL) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(json_string_value(reference), ":"),
                       json_string_value(reference));
        AK_DO(copy_file(folder, file, name, err));
    }
    AK_DO(copy_data(folder, file, problem, err));
    AK_DO(write_problem(folder, problem, err));
    (void)snprintf(name, sizeof name, "%s.json", backend);
    AK_DO(write_json(folder, name, space, err));
    ak_buf notes = AK_BUF(1024);
    ak_buf_puts(&notes, "flops and bytes: 0, and each array moved once (inout twice), are guesses, "
                        "which rates and the roofline follow; write formulas into problem.json\n");
    if (reference == NULL) {
        ak_buf_puts(&notes, "reference: a T1 file has none, so candidates are compared with the "
                            "default configuration; write reference.c or reference.py and name it "
                            "in problem.json\n");
    }
    return ak_buf_take(note, &notes, err);
}

/* The files that a source includes and that lie beside it. In the kernel's folder they are put in
   front of the source ("Include" of the space file), because the compiler sees one text and no
   folder. */
typedef struct includes {
    const char *folder, *file; /* the kernel's folder; the source file */
    json_t *names;             /* in the order in which their texts are needed */
    ak_buf text, notes;        /* the texts of `names`, joined; hints on what the user must do by
                                  hand */
} includes;

static ak_status take_includes(includes *all, char *text, ak_error *err);

static ak_status check_text(const char *text, size_t length, const char *path, ak_error *err)
{
    return strlen(text) == length
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%.200s is not a text file: it holds a 0 byte at offset %zu", path,
                         strlen(text));
}

/* Returns whether an included file can lie in the kernel's folder under its own name. */
static bool is_free(const includes *all, const char *name)
{
    return strchr(name, '/') == NULL && strcmp(name, ak_fs_base(all->file)) != 0 &&
           strcmp(name, "reference.c") != 0 && !ak_fs_has_suffix(name, ".json");
}

static void includes_clear(includes *all)
{
    json_decref(all->names);
    ak_buf_free(&all->text);
    ak_buf_free(&all->notes);
}

/* Copies one included file that lies beside the source, and before it those that it includes
   itself. One whose name is not free, or that would be one more than INCLUDES_MAX, is not copied.
   A hint says in both cases what the user must do. *taken says whether its text is put in front of
   the source. */
static ak_status take_include(bool *taken, includes *all, const char *name, ak_error *err)
{
    AK_FREED char *text = NULL;
    char path[2 * AK_PATH_MAX];
    size_t length = 0;
    *taken = false;
    (void)snprintf(path, sizeof path, "%.*s%s", (int)(ak_fs_base(all->file) - all->file), all->file,
                   name);
    if (!ak_fs_is_file(path)) {
        return AK_OK; /* the header is installed, or the compiler will miss it */
    }
    AK_EACH(one, all->names) {
        *taken = *taken || strcmp(json_string_value(one), name) == 0;
    }
    if (*taken) {
        return AK_OK;
    }
    if (!is_free(all, name) || json_array_size(all->names) == INCLUDES_MAX) {
        ak_buf_print(&all->notes,
                     "include \"%s\": it is not copied; copy it into the folder, name it in "
                     "\"Include\" of the space file, and take the line out of the source\n",
                     name);
        return AK_OK;
    }
    AK_DO(ak_kernel_beside(path, all->file, name, err)); /* refuses a link out of the folder */
    AK_DO(ak_fs_read(&text, &length, path, AK_SOURCE_BYTES_MAX, err));
    AK_DO(check_text(text, length, path, err));
    *taken = true;
    AK_DO(ak_stored(ak_json_append(all->names, json_string(name)), err));
    const size_t place = json_array_size(all->names) - 1;
    AK_DO(take_includes(all, text, err));
    /* Move the file behind the files that it includes itself. */
    json_t *own = json_incref(json_array_get(all->names, place));
    bool good = json_array_remove(all->names, place) == 0 && ak_json_append(all->names, own);
    AK_DO(ak_stored(good, err));
    ak_buf_print(&all->text, "%s\n", text);
    ak_buf_print(&all->notes,
                 "include \"%s\": it is put in front of the source (\"Include\" of the space "
                 "file); write into it what it needs of the source\n",
                 name);
    return write_text(all->folder, name, text, err);
}

/* Copies the files beside the source that a text includes in quotes, and turns the lines that
   include the copied ones into comments. */
static ak_status take_includes(includes *all, char *text, ak_error *err)
{
    AK_FREED char *plain = ak_source_plain(text);
    ak_status status = ak_made(plain, err);
    for (char *line = text; status == AK_OK && *line != 0;) {
        const size_t bytes = strcspn(line, "\n");
        const char *at = plain + (line - text), *quoted;
        size_t length;
        at += strspn(at, " \t");
        char *begin = text + (at - plain);
        const char *word = *at == '#' ? begin + 1 + strspn(begin + 1, " \t") : "";
        if (ak_headers_name(&quoted, &length, word) == '"') {
            char name[AK_PATH_MAX];
            bool taken;
            (void)snprintf(name, sizeof name, "%.*s", (int)length, quoted);
            status = take_include(&taken, all, name, err);
            if (taken) {
                static const char mark[] = {'/', '/', ' ', 'a', 'b', 'o', 'v', 'e'};
                const size_t before = (size_t)(quoted - begin) - 1;
                memset(begin, ' ', before);
                memcpy(begin, mark, before < sizeof mark ? 2 : sizeof mark);
            }
        }
        line += bytes + (line[bytes] == '\n' ? 1 : 0);
    }
    return status;
}

static ak_status adopt_source(char **note, const char *folder, const char *file,
                              const char *backend, ak_error *err)
{
    char name[80];
    AK_FREED char *text = NULL;
    AK_AT_END(ak_kernel_scan_clear) ak_kernel_scan scan = {.problem = NULL};
    AK_AT_END(includes_clear)
    includes all = {.folder = folder,
                    .file = file,
                    .names = json_array(),
                    .text = AK_BUF(AK_SOURCE_BYTES_MAX),
                    .notes = AK_BUF(AK_SOURCE_BYTES_MAX)};
    size_t length = 0;
    AK_DO(ak_made(all.names, err));
    AK_DO(ak_fs_read(&text, &length, file, AK_SOURCE_BYTES_MAX, err));
    AK_DO(check_text(text, length, file, err));
    AK_DO(take_includes(&all, text, err));
    AK_DO(ak_buf_status(&all.text, err));
    const ak_scan_input input = {text, all.text.data, backend, ak_fs_base(file),
                                 ak_fs_base(folder)};
    AK_DO(ak_kernel_scan_text(&scan, &input, err));
    json_t *kernel = json_object_get(scan.space, "KernelSpecification");
    if (json_array_size(all.names) > 0 && !ak_json_set(kernel, "Include", json_incref(all.names))) {
        return ak_fail_memory(err);
    }
    AK_DO(write_problem(folder, scan.problem, err));
    (void)snprintf(name, sizeof name, "%s.json", backend);
    AK_DO(write_json(folder, name, scan.space, err));
    AK_DO(write_text(folder, ak_fs_base(file), scan.source, err));
    AK_DO(write_text(folder, "reference.c", scan.reference, err));
    ak_buf_puts(&all.notes, scan.notes);
    return ak_buf_take(note, &all.notes, err);
}

ak_status ak_kernel_adopt(char **out_note, const char *path, const char *file, ak_error *err)
{
    ak_problem *problem = NULL;
    const char *backend = NULL;
    char *note = NULL;
    const bool is_python = ak_python_kernel_is(file);
    for (size_t i = 0; i < AK_COUNT(languages); i++) {
        backend = backend == NULL && ak_fs_has_suffix(file, languages[i].suffix)
                      ? languages[i].backend
                      : backend;
    }
    AK_FAIL_IF(backend == NULL && !is_python && !ak_fs_has_suffix(file, ".json"), err, AK_INVALID,
               "%.200s: a kernel is made of a T1 file (.json), or of a .cu, .cl, .c, .cpp "
               "or .py file; of others write the folder by hand (docs/howto-kernel.md)",
               file);
    AK_DO(ak_fs_reachable(file, err));
    if (!is_python && !ak_fs_is_file(file)) {
        return ak_fs_is_folder(file)
                   ? ak_fail(err, AK_INVALID, "%.200s: is a folder; name the file", file)
                   : ak_fail(err, AK_NOT_FOUND, "%.200s: there is no such file", file);
    }
    ak_status status = AK_OK;
    AK_DO(ak_skeleton_folder(path, err));
    AK_TRY(is_python         ? ak_python_kernel_make(path, file, err)
           : backend == NULL ? adopt_t1(&note, path, file, err)
                             : adopt_source(&note, path, file, backend, err));
    status = ak_problem_open(&problem, path, err); /* checks that the new kernel can be read */
    if (status != AK_OK) {
        char what[AK_PATH_MAX + 32]; /* the folder that the message names is removed */
        (void)snprintf(what, sizeof what, "%s as a kernel folder", file);
        (void)ak_fail_unpacked(err, status, path, what);
    }
out:
    ak_problem_close(problem);
    if (status != AK_OK) {
        ak_free(note);
        ak_fs_remove(path); /* removes the unfinished folder after a failure */
        return status;
    }
    *out_note = note;
    return AK_OK;
}
