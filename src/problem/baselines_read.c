/* baselines_read.c: reads "baselines" of problem.json: code of the user that results are compared
   with, besides the libraries. The host backend runs it (host_own.c). */
#include "problem/problem_read.h"

#include <string.h>

#include "base/utf8.h"
#include "problem/kernel_files.h"

#define OPTIONS_MAX 32

static const char *const keys[] = {"name",      "source",  "library",  "python",
                                   "arguments", "options", "function", NULL};

/* Reads the file that "source" or "python" names into out->text. */
static ak_status read_text(ak_own_baseline *out, const char *name, ak_problem_reader *r)
{
    if (ak_kernel_read(&out->text, r->problem, r->files, name, r->err) != AK_OK) {
        return ak_fail_within(r->err, "%s", r->where);
    }
    out->text += ak_utf8_mark(out->text);
    return AK_OK;
}

/* Splits "base.py:function" and reads the file. The function is "baseline" if none is named. */
static ak_status read_python(ak_own_baseline *out, ak_problem_reader *r)
{
    char file[AK_PATH_MAX];
    const char *colon = strrchr(out->python, ':');
    int length = (int)(colon == NULL ? strlen(out->python) : (size_t)(colon - out->python));
    (void)snprintf(file, sizeof file, "%.*s", length, out->python);
    AK_FAIL_IF(!ak_fs_has_suffix(file, ".py") || out->function != NULL, r->err, AK_INVALID,
               "%s: \"python\" must be \"FILE.py:FUNCTION\"", r->where);
    out->function = colon == NULL ? "baseline" : colon + 1;
    AK_DO(ak_problem_text(&out->python, r->problem, file, r->err));
    AK_DO(read_text(out, file, r));
    return ak_modules_read_beside(r->problem, r->files, out, r->err);
}

/* Checks that `list` holds only texts, at most OPTIONS_MAX. */
static ak_status check_options(const json_t *list, ak_problem_reader *r)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        AK_FAIL_IF(!json_is_string(json_array_get(list, i)) || i >= OPTIONS_MAX, r->err, AK_INVALID,
                   "%s: \"options\" must be at most %d texts", r->where, OPTIONS_MAX);
    }
    return AK_OK;
}

static ak_status read_one(ak_own_baseline *out, const json_t *json, ak_problem_reader *r)
{
    json_t *arguments = NULL, *options = NULL, *launch = NULL;
    AK_DO(ak_problem_check_object(json, keys, r));
    AK_DO(ak_problem_read_name(&out->name, json, false, r));
    AK_DO(ak_json_string_or(&out->source, json, "source", NULL, r->where, r->err));
    AK_DO(ak_json_string_or(&out->library, json, "library", NULL, r->where, r->err));
    AK_DO(ak_json_string_or(&out->python, json, "python", NULL, r->where, r->err));
    AK_DO(ak_json_string_or(&out->function, json, "function", NULL, r->where, r->err));
    AK_DO(ak_json_array_or_null(&arguments, json, "arguments", r->where, r->err));
    AK_DO(ak_json_array_or_null(&options, json, "options", r->where, r->err));
    AK_FAIL_IF((out->source != NULL) + (out->library != NULL) + (out->python != NULL) != 1, r->err,
               AK_INVALID, "%s must have one of \"source\", \"library\" and \"python\"", r->where);
    AK_FAIL_IF(AK_HAS(r->problem->own, r->problem->own_count, name, out->name), r->err, AK_INVALID,
               "%s: the name \"%s\" is there twice", r->where, out->name);
    AK_FAIL_IF((out->source == NULL && options != NULL) ||
                   (out->python != NULL && arguments != NULL),
               r->err, AK_INVALID, "%s: \"%s\" is not for this kind of baseline", r->where,
               out->python != NULL && arguments != NULL ? "arguments" : "options");
    if (out->python != NULL) {
        return read_python(out, r);
    }
    AK_FAIL_IF(
        (out->function == NULL) != (arguments == NULL) ||
            (out->library != NULL && out->function == NULL),
        r->err, AK_INVALID,
        "%s: \"function\" and \"arguments\" say what is called, and with what%s", r->where,
        out->library != NULL ? "" : "; without both, the source must define ak_kernel (ak_host.h)");
    AK_FAIL_IF(out->function != NULL && strlen(out->function) > AK_FUNCTION_NAME_MAX, r->err,
               AK_LIMIT, "%s: \"function\" is longer than %d bytes", r->where,
               AK_FUNCTION_NAME_MAX);
    AK_DO(check_options(options, r));
    out->options = options;
    if (arguments != NULL) {
        launch = json_pack("{s:O}", "Arguments", arguments);
        AK_DO(ak_made(launch, r->err));
        AK_DO(ak_problem_keep(r->problem, launch, r->err));
        out->launch = launch;
    }
    if (out->source != NULL) {
        AK_DO(read_text(out, out->source, r));
    }
    return AK_OK;
}

ak_status ak_problem_read_baselines(ak_problem_reader *r)
{
    json_t *list = NULL;
    AK_DO(ak_json_array_or_null(&list, r->json, "baselines", r->path, r->err));
    AK_FAIL_IF(json_array_size(list) > AK_OWN_MAX, r->err, AK_LIMIT,
               "%s: \"baselines\" has %zu entries; at most %d are possible", r->path,
               json_array_size(list), AK_OWN_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        ak_problem_at(r, "baseline", i + 1);
        AK_DO(read_one(&r->problem->own[i], json_array_get(list, i), r));
        r->problem->own_count++;
    }
    return AK_OK;
}
