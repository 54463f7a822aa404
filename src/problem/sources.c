/* sources.c: see sources.h. */
#include "problem/sources.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "problem/kernel_files.h"

/* Largest data file that is copied. */
#define DATA_BYTES_MAX (1u << 30)

static ak_status add(ak_pack *out, const ak_problem *problem, const char *name, ak_error *err)
{
    char path[AK_PATH_MAX];
    for (size_t i = 0; i < problem->file_count; i++) {
        const ak_kernel_file *file = &problem->files[i];
        if (strcmp(file->name, name) == 0) {
            ak_status status = ak_kernel_path(path, problem->name, name, err);
            return status == AK_OK ? ak_pack_add(out, path, file->text, file->length, err) : status;
        }
    }
    return ak_fail(err, AK_INTERNAL, "%s: the file \"%.100s\" has not been read", problem->name,
                   name);
}

ak_status ak_sources_of(ak_pack *out, const ak_problem *problem,
                        const ak_implementation_spec *implementation, ak_error *err)
{
    char space[AK_KERNEL_NAME_MAX + 8];
    const json_t *kernel = json_object_get(implementation->definition, "KernelSpecification");
    const json_t *includes = json_object_get(kernel, "Include");
    (void)snprintf(space, sizeof space, "%.63s.json", implementation->name);
    AK_DO(add(out, problem, AK_PROBLEM_FILE, err));
    if (problem->reference.function != NULL) {
        AK_DO(add(out, problem, problem->reference.name, err));
    }
    if (problem->device_reference != NULL) {
        AK_DO(add(out, problem, "reference.cu", err));
    }
    AK_DO(add(out, problem, space, err));
    for (size_t i = 0; i < json_array_size(includes); i++) {
        AK_DO(add(out, problem, json_string_value(json_array_get(includes, i)), err));
    }
    AK_DO(add(out, problem, ak_json_text_at(kernel, "KernelFile"), err));
    ak_pack_sort(out);
    return AK_OK;
}

/* Adds the data files, whose names begin the lines of problem->data and lie beside problem.json. */
static ak_status add_data(ak_pack *out, const ak_problem *problem, ak_error *err)
{
    char folder[AK_PATH_MAX], name[AK_PATH_MAX], path[AK_PATH_MAX];
    const char *at = problem->data == NULL ? "" : problem->data;
    ak_status status = AK_OK;
    (void)snprintf(folder, sizeof folder, "%.*s",
                   (int)(ak_fs_base(problem->where) - problem->where), problem->where);
    for (; status == AK_OK && *at != 0; at += strcspn(at, "\n") + 1) {
        char *data = NULL;
        size_t length = 0;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        AK_TRY(ak_fs_join(path, folder[0] == 0 ? "." : folder, name, err));
        AK_TRY(ak_fs_read(&data, &length, path, DATA_BYTES_MAX, err));
        status = ak_kernel_path(path, problem->name, name, err);
        status = status == AK_OK ? ak_pack_add(out, path, data, length, err) : status;
        ak_free(data);
    }
out:
    return status;
}

ak_status ak_sources_all(ak_pack *out, const ak_problem *problem, ak_error *err)
{
    for (size_t i = 0; i < problem->file_count; i++) {
        AK_DO(add(out, problem, problem->files[i].name, err));
    }
    return add_data(out, problem, err);
}

ak_status ak_sources_hash(char out[AK_SOURCES_HASH_BYTES], const ak_problem *problem,
                          const ak_implementation_spec *implementation, ak_error *err)
{
    char *definition = NULL, *words = NULL;
    const ak_implementation_spec *other;
    ak_hasher *hasher = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_json_text(&definition, implementation->definition, err));
    AK_TRY(ak_json_text(&words, problem->documents[0], err));
    hasher = ak_hasher_new();
    AK_TRY(ak_made(hasher, err));
    ak_hasher_add_text(hasher, implementation->source);
    ak_hasher_add_text(hasher, problem->reference_source);
    if (problem->device_reference != NULL && strcmp(implementation->backend, "cuda") == 0) {
        ak_hasher_add_text(hasher, problem->device_reference);
    }
    if (problem->data != NULL && problem->data[0] != 0) {
        ak_hasher_add_text(hasher, problem->data);
    }
    if (problem->reference.kind != NULL && strcmp(problem->reference.kind, "kernel") == 0) {
        AK_TRY(ak_problem_find(&other, problem, problem->reference.name, err));
        ak_hasher_add_text(hasher, other->source);
    }
    ak_hasher_add_text(hasher, words);
    ak_hasher_add_text(hasher, definition);
    ak_hasher_end(out, hasher);
    hasher = NULL;
out:
    if (hasher != NULL) {
        char unused[AK_SOURCES_HASH_BYTES];
        ak_hasher_end(unused, hasher);
    }
    ak_free(definition);
    ak_free(words);
    return status;
}
