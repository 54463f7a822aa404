#include "problem/sources.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "problem/kernel_files.h"

static ak_status add(ak_pack *out, const ak_problem *problem, const char *name, ak_error *err)
{
    char path[AK_PATH_MAX];
    const size_t i = AK_FIND(problem->files, problem->file_count, name, name);
    AK_FAIL_IF(i == problem->file_count, err, AK_INTERNAL,
               "%s: the file \"%.100s\" has not been read", problem->name, name);
    AK_DO(ak_kernel_path(path, problem->name, name, err));
    return ak_pack_add(out, path, problem->files[i].text, problem->files[i].length, err);
}

/* Adds the data files if they have at most `most` bytes together. Each line of problem->data begins
   with a data file's name, relative to the folder of problem.json. */
static ak_status add_data(ak_pack *out, const ak_problem *problem, size_t most, ak_error *err)
{
    AK_AT_END(ak_pack_clear) ak_pack pack = {0};
    char folder[AK_PATH_MAX], name[AK_PATH_MAX], path[AK_PATH_MAX];
    struct stat facts;
    size_t total = 0;
    const char *at = problem->data == NULL ? "" : problem->data;
    (void)snprintf(folder, sizeof folder, "%.*s",
                   (int)(ak_fs_base(problem->where) - problem->where), problem->where);
    for (; *at != 0; at += strcspn(at, "\n") + 1) {
        AK_FREED char *data = NULL;
        size_t length = 0;
        int words = (int)strcspn(at, "\n"); /* the name, which may have blanks, and the hash */
        while (words > 0 && at[words] != ' ') {
            words--;
        }
        (void)snprintf(name, sizeof name, "%.*s", words, at);
        AK_DO(ak_fs_join(path, folder[0] == 0 ? "." : folder, name, err));
        total += stat(path, &facts) == 0 ? (size_t)facts.st_size : 0;
        if (total > most) {
            return AK_OK;
        }
        AK_DO(ak_fs_read(&data, &length, path, AK_DATA_BYTES_MAX, err));
        AK_DO(ak_kernel_path(path, problem->name, name, err));
        AK_DO(ak_pack_add(&pack, path, data, length, err));
    }
    for (size_t i = 0; i < pack.count; i++) {
        const ak_pack_file *file = &pack.files[i];
        AK_DO(ak_pack_add(out, file->name, file->data, file->length, err));
    }
    return AK_OK;
}

/* Finds the implementation that is the reference; NULL if none is. */
static ak_status find_other(const ak_implementation_spec **out, const ak_problem *problem,
                            ak_error *err)
{
    *out = NULL;
    return problem->reference.kind != NULL && strcmp(problem->reference.kind, "kernel") == 0
               ? ak_problem_find(out, problem, problem->reference.name, err)
               : AK_OK;
}

/* Adds the space file of an implementation, its source, and the files that its "Include" lists. */
static ak_status add_implementation(ak_pack *out, const ak_problem *problem,
                                    const ak_implementation_spec *implementation, ak_error *err)
{
    char space[AK_KERNEL_NAME_MAX + 8];
    const json_t *kernel = json_object_get(implementation->definition, "KernelSpecification");
    const json_t *includes = json_object_get(kernel, "Include");
    (void)snprintf(space, sizeof space, "%.63s.json", implementation->name);
    AK_DO(add(out, problem, space, err));
    for (size_t i = 0; i < json_array_size(includes); i++) {
        AK_DO(add(out, problem, json_string_value(json_array_get(includes, i)), err));
    }
    return add(out, problem, ak_json_text_at(kernel, "KernelFile"), err);
}

ak_status ak_sources_of(ak_pack *out, const ak_problem *problem,
                        const ak_implementation_spec *implementation, size_t data, ak_error *err)
{
    const ak_implementation_spec *other;
    AK_DO(add(out, problem, AK_PROBLEM_FILE, err));
    if (problem->reference.function != NULL) {
        AK_DO(add(out, problem, problem->reference.name, err));
    }
    for (size_t i = 0; i < problem->file_count; i++) {
        const ak_kernel_file *file = &problem->files[i];
        AK_DO(file->module || file->beside ? add(out, problem, file->name, err) : AK_OK);
    }
    for (size_t i = 0; i < problem->own_count; i++) { /* a library is on the machine */
        const ak_own_baseline *own = &problem->own[i];
        const char *file = own->source != NULL ? own->source : own->python;
        AK_DO(file != NULL ? add(out, problem, file, err) : AK_OK);
    }
    if (problem->device_reference != NULL) {
        AK_DO(add(out, problem, "reference.cu", err));
    }
    AK_DO(find_other(&other, problem, err));
    AK_DO(other == NULL ? AK_OK : add_implementation(out, problem, other, err));
    AK_DO(add_implementation(out, problem, implementation, err));
    AK_DO(add_data(out, problem, data, err));
    ak_pack_sort(out);
    return AK_OK;
}

ak_status ak_sources_all(ak_pack *out, const ak_problem *problem, ak_error *err)
{
    for (size_t i = 0; i < problem->file_count; i++) {
        AK_DO(add(out, problem, problem->files[i].name, err));
    }
    return add_data(out, problem, SIZE_MAX, err);
}

typedef ak_status (*printer)(char **out, const json_t *document, ak_error *err);

/* A way to print problem.json and space files. */
typedef struct way {
    printer problem, space;
} way;

static const way by_identity = {ak_problem_identity, ak_space_identity};
static const way as_a_whole = {ak_json_text, ak_json_text};

/* Adds the sources, problem.json and the space file. If another implementation is the reference,
   adds its space file too, whose default options, workspace and threads decide how the reference
   runs. Adds the headers and ends the hasher, also on failure. */
static ak_status hash_as(char out[AK_SOURCES_HASH_BYTES], ak_hasher *hasher,
                         const ak_problem *problem, const ak_implementation_spec *implementation,
                         const way *as, ak_error *err)
{
    const ak_implementation_spec *other;
    AK_FREED char *words = NULL, *definition = NULL, *others = NULL;
    ak_status status = AK_OK;
    AK_TRY(find_other(&other, problem, err));
    AK_TRY(as->problem(&words, problem->documents[0], err));
    AK_TRY(as->space(&definition, implementation->definition, err));
    AK_TRY(other == NULL || other == implementation ? AK_OK
                                                    : as->space(&others, other->definition, err));
    AK_TRY(ak_made(hasher, err));
    ak_hasher_add_text(hasher, implementation->source);
    ak_hasher_add_text(hasher, problem->reference_source);
    for (size_t i = 0; i < problem->file_count; i++) {
        if (problem->files[i].module) {
            ak_hasher_add_text(hasher, problem->files[i].name);
            ak_hasher_add_text(hasher, problem->files[i].text);
        }
    }
    if (problem->device_reference != NULL && strcmp(implementation->backend, "cuda") == 0) {
        ak_hasher_add_text(hasher, problem->device_reference);
    }
    if (problem->data != NULL && problem->data[0] != 0) {
        ak_hasher_add_text(hasher, problem->data);
    }
    if (other != NULL) {
        ak_hasher_add_text(hasher, other->source);
    }
    ak_hasher_add_text(hasher, words);
    ak_hasher_add_text(hasher, definition);
    if (others != NULL) {
        ak_hasher_add_text(hasher, others);
    }
    AK_TRY(ak_headers_add(hasher, implementation->where, implementation->source,
                          implementation->definition, err));
    AK_TRY(ak_headers_add(hasher, problem->where, problem->reference_source, NULL, err));
    if (other != NULL && other != implementation) {
        status = ak_headers_add(hasher, other->where, other->source, other->definition, err);
    }
out:
    ak_hasher_end(out, hasher);
    return status;
}

ak_status ak_sources_hash(char out[AK_SOURCES_HASH_BYTES], const ak_problem *problem,
                          const ak_implementation_spec *implementation, ak_error *err)
{
    return hash_as(out, ak_hasher_new(), problem, implementation, &by_identity, err);
}

ak_status ak_sources_hash_former(char out[AK_SOURCES_HASH_BYTES], int which,
                                 const ak_problem *problem,
                                 const ak_implementation_spec *implementation, ak_error *err)
{
    return hash_as(out, ak_hasher_new_quick(), problem, implementation,
                   which == 0 ? &by_identity : &as_a_whole, err);
}

ak_status ak_sources_are(bool *out, const char *hash, const ak_problem *problem,
                         const ak_implementation_spec *implementation, ak_error *err)
{
    char now[AK_SOURCES_HASH_BYTES];
    if (!ak_hash_is_quick(hash)) {
        AK_DO(ak_sources_hash(now, problem, implementation, err));
        *out = strcmp(hash, now) == 0;
        return AK_OK;
    }
    *out = false;
    for (int which = 0; which < AK_SOURCES_FORMER && !*out; which++) {
        AK_DO(ak_sources_hash_former(now, which, problem, implementation, err));
        *out = strcmp(hash, now) == 0;
    }
    return AK_OK;
}
