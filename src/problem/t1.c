/* t1.c: a T1 file of another tool, by itself: a space without a problem. It can be listed and
   simulated; to be tuned or checked it needs a kernel folder (ak_problem_runnable says so). */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"

/* T1 names languages where we name backends. */
static const char *backend_of(const json_t *document)
{
    static const struct {
        const char *language, *backend;
    } known[] = {
        {"C", "host"}, {"C++", "host"}, {"CUDA", "cuda"}, {"HIP", "hip"}, {"OpenCL", "opencl"}};
    const json_t *kernel = json_object_get(document, "KernelSpecification");
    const char *language = json_string_value(json_object_get(kernel, "Language"));
    for (size_t i = 0; language != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(language, known[i].language) == 0) {
            return known[i].backend;
        }
    }
    return "none";
}

ak_status ak_t1_open(ak_problem *problem, const char *path, ak_error *err)
{
    json_t *document;
    char stem[AK_KERNEL_NAME_MAX + 1];
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    size_t length = strcspn(base, ".");
    length = length < sizeof stem ? length : sizeof stem - 1;
    memcpy(stem, base, length);
    stem[length] = 0;
    ak_status status = ak_json_read(&document, path, err);
    if (status == AK_OK) {
        status = ak_problem_keep(problem, document, err);
    }
    return status == AK_OK ? ak_t1_fill(problem, stem, document, path, err) : status;
}

ak_status ak_t1_fill(ak_problem *problem, const char *name, const json_t *document,
                     const char *where, ak_error *err)
{
    ak_status status = json_is_object(document)
                           ? ak_problem_text(&problem->where, problem, where, err)
                           : ak_fail(err, AK_INVALID, "%s: must be a JSON object", where);
    if (status == AK_OK) {
        status = ak_problem_text(&problem->name, problem, *name == 0 ? "space" : name, err);
    }
    if (status != AK_OK) {
        return status;
    }
    problem->description = "a tuning space (T1) without a problem";
    problem->flops = "0";
    problem->bytes = "0";
    problem->reference_source = "";
    problem->dtypes[0] = AK_DTYPE_F32; /* a task has one, even if nothing depends on it */
    problem->dtype_count = 1;
    problem->implementations = ak_arena_alloc(problem->arena, sizeof *problem->implementations);
    if (problem->implementations == NULL) {
        return ak_fail_memory(err);
    }
    return ak_implementation_read(problem, NULL, problem->name, backend_of(document), document,
                                  problem->where, err);
}
