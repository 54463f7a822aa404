/* problem_read.c: reads problem.json member by member and refuses what is unknown, duplicate or out
   of bounds. problem_choices.c, problem_arguments.c, reference_read.c and baselines_read.c read
   some of the members. */
#include "problem/problem_read.h"

#include <string.h>

#include "base/alloc.h"

#define EDGE_CASE_MAX 256

static const char *const problem_keys[] = {
    "schema",    "name",  "description", "sizes",     "dtypes",    "choices",
    "arguments", "flops", "bytes",       "reference", "tolerance", "tune_size",
    "awkward",   "notes", "sets",        "baselines", "few_terms", NULL};
static const char *const size_keys[] = {"name", "default", "description", NULL};
static const char *const few_keys[] = {"size", "terms", "arguments", NULL};
static const char *const tolerance_keys[] = {"relative", "rms", "absolute", NULL};

/* Refuses a key that begins with "edge" and names the right one, "awkward". Messages say "edge-case
   sizes", so users may expect another key. */
static ak_status refuse_edge_key(const ak_problem_reader *r)
{
    AK_EACH_MEMBER(key, value, r->json) {
        AK_FAIL_IF(strncmp(key, "edge", 4) == 0, r->err, AK_INVALID,
                   "%s: unknown key \"%.60s\"; the list of edge-case sizes is \"awkward\"", r->path,
                   key);
    }
    return AK_OK;
}

void ak_problem_at(ak_problem_reader *r, const char *what, size_t number)
{
    (void)snprintf(r->where, sizeof r->where, "%s: %s %zu", r->path, what, number);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool ak_problem_is_reserved(const char *name)
{
    static const char *const reserved[] = {"dtype_bytes", "eps", "dtype", NULL};
    return ak_text_is_one_of(name, reserved);
}

static bool name_taken(const ak_problem *problem, const char *name)
{
    return ak_problem_is_reserved(name) ||
           AK_HAS(problem->sizes, problem->size_count, name, name) ||
           AK_HAS(problem->choices, problem->choice_count, name, name);
}

bool ak_problem_is_word(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && text[n] == 0 && n <= AK_KERNEL_NAME_MAX;
}

ak_status ak_problem_read_name(const char **out, const json_t *json, bool unique,
                               ak_problem_reader *r)
{
    AK_DO(ak_json_string(out, json, "name", r->where, r->err));
    AK_FAIL_IF(!ak_expr_is_name(*out) || !ak_problem_is_word(*out), r->err, AK_INVALID,
               "%s: the name \"%.60s\" must be letters, digits and _, at most %d, not beginning "
               "with a digit and not a keyword of the expression language",
               r->where, *out, AK_KERNEL_NAME_MAX);
    AK_FAIL_IF(unique && name_taken(r->problem, *out), r->err, AK_INVALID,
               "%s: the name \"%s\" is taken", r->where, *out);
    return AK_OK;
}

ak_status ak_problem_read_array(json_t **out, size_t *count, const char *key, size_t max,
                                ak_problem_reader *r)
{
    AK_DO(ak_json_array(out, r->json, key, r->path, r->err));
    *count = json_array_size(*out);
    AK_FAIL_IF(*count > max, r->err, AK_LIMIT,
               "%s: \"%s\" has %zu entries; at most %zu are possible", r->path, key, *count, max);
    return AK_OK;
}

ak_status ak_problem_check_object(const json_t *json, const char *const *keys, ak_problem_reader *r)
{
    return json_is_object(json) ? ak_json_only(json, keys, r->where, r->err)
                                : ak_fail(r->err, AK_INVALID, "%s must be an object", r->where);
}

/* ---- sizes and dtypes ------------------------------------------------------------------------ */

static ak_status read_sizes(ak_problem_reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    ak_problem *problem = r->problem;
    AK_DO(ak_problem_read_array(&list, &count, "sizes", AK_SIZES_MAX, r));
    AK_FAIL_IF(count == 0, r->err, AK_INVALID, "%s: \"sizes\" is empty; a problem has at least one",
               r->path);
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(list, i);
        ak_size_spec *size = &problem->sizes[i];
        ak_problem_at(r, "size", i + 1);
        AK_DO(ak_problem_check_object(json, size_keys, r));
        AK_DO(ak_problem_read_name(&size->name, json, true, r));
        AK_DO(ak_json_int(&size->fallback, json, "default", r->where, r->err));
        AK_FAIL_IF(size->fallback < 1, r->err, AK_INVALID, "%s: \"default\" must be 1 or more",
                   r->where);
        AK_DO(ak_json_string_or(&size->description, json, "description", "", r->where, r->err));
        AK_DO(ak_scope_set_int(r->sizes, size->name, size->fallback, r->err));
        problem->tune_size[i] = size->fallback;
        problem->size_count++;
    }
    return AK_OK;
}

static ak_status read_dtypes(ak_problem_reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    ak_problem *problem = r->problem;
    AK_DO(ak_problem_read_array(&list, &count, "dtypes", AK_COUNT(problem->dtypes), r));
    AK_FAIL_IF(count == 0, r->err, AK_INVALID, "%s: \"dtypes\" is empty", r->path);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL || !ak_dtype_parse(&problem->dtypes[i], text) ||
            !ak_dtype_is_of_tasks(problem->dtypes[i])) {
            char names[AK_DTYPE_LIST_BYTES];
            ak_dtype_list(names, ak_dtype_text, ak_dtype_is_of_tasks, " and ");
            return ak_fail(r->err, AK_INVALID, "%s: dtype %zu (\"%.40s\") is unknown; there are %s",
                           r->path, i + 1, text == NULL ? "not a text" : text, names);
        }
        AK_FAIL_IF(ak_problem_has_dtype(problem, problem->dtypes[i]), r->err, AK_INVALID,
                   "%s: dtype \"%s\" is there twice", r->path, text);
        problem->dtype_count++;
    }
    AK_DO(ak_scope_set_int(r->sizes, "dtype_bytes", (int64_t)ak_dtype_bytes(problem->dtypes[0]),
                           r->err));
    return ak_scope_set_text(r->sizes, "dtype", ak_dtype_text(problem->dtypes[0]), r->err);
}

/* ---- work, tolerance ------------------------------------------------------------------------- */

/* Reads an expression that must give a number of 0 or more at the default sizes. */
static ak_status read_work(const char **out, const char *key, ak_problem_reader *r)
{
    double value;
    (void)snprintf(r->where, sizeof r->where, "%s: \"%s\"", r->path, key);
    AK_DO(ak_json_string(out, r->json, key, r->path, r->err));
    AK_DO(ak_expr_real(&value, *out, r->sizes, r->where, r->err));
    AK_FAIL_IF(value < 0.0, r->err, AK_INVALID, "%s is negative at the default sizes", r->where);
    return AK_OK;
}

static ak_status check_factor(const char *text, const char *key, ak_problem_reader *r)
{
    double value;
    AK_DO(ak_expr_real(&value, text, r->sizes, r->where, r->err));
    AK_FAIL_IF(value < 0.0, r->err, AK_INVALID, "%s: \"%s\" is negative at the default sizes",
               r->where, key);
    return AK_OK;
}

/* Refuses a float output that has no tolerance, neither of its own nor for its dtype: that of the
   task's whole numbers, 0, would apply to it. */
static ak_status check_float_outputs(const json_t *all, ak_problem_reader *r)
{
    for (size_t i = 0; i < r->problem->argument_count; i++) {
        const ak_argument_spec *argument = &r->problem->arguments[i];
        const char *own = ak_dtype_text(argument->dtype);
        AK_FAIL_IF(argument->access != AK_ACCESS_IN && !argument->dtype_follows &&
                       argument->tolerance.relative == NULL && ak_dtype_is_float(argument->dtype) &&
                       json_object_get(all, own) == NULL,
                   r->err, AK_INVALID, "%s: tolerance of %s is missing, which the output %s has",
                   r->path, own, argument->name);
    }
    return AK_OK;
}

ak_status ak_problem_read_tolerance(ak_tolerance_spec *out, const json_t *json, ak_dtype dtype,
                                    ak_problem_reader *r)
{
    out->dtype = dtype;
    AK_DO(ak_problem_check_object(json, tolerance_keys, r));
    AK_DO(ak_json_string(&out->relative, json, "relative", r->where, r->err));
    AK_DO(ak_json_string_or(&out->rms, json, "rms", "0", r->where, r->err));
    AK_DO(ak_json_string_or(&out->absolute, json, "absolute", "0", r->where, r->err));
    AK_DO(ak_scope_set_real(r->sizes, "eps", ak_dtype_epsilon(dtype), r->err));
    AK_DO(check_factor(out->relative, "relative", r));
    AK_DO(check_factor(out->rms, "rms", r));
    return check_factor(out->absolute, "absolute", r);
}

static ak_status read_tolerance(ak_tolerance_spec *out, const json_t *all, ak_dtype dtype,
                                ak_problem_reader *r)
{
    const char *name = ak_dtype_text(dtype);
    const json_t *json = json_object_get(all, name);
    (void)snprintf(r->where, sizeof r->where, "%s: tolerance of %s", r->path, name);
    if (json == NULL && !ak_dtype_is_float(dtype)) {
        out->dtype = dtype;
        out->relative = out->rms = out->absolute = "0"; /* whole numbers are exact */
        return check_float_outputs(all, r);
    }
    return json == NULL ? ak_fail(r->err, AK_INVALID, "%s is missing", r->where)
                        : ak_problem_read_tolerance(out, json, dtype, r);
}

/* Returns whether an output has this dtype, or an expression that may give it. */
static bool may_write(const ak_problem *problem, ak_dtype dtype)
{
    bool may = false;
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        may = may || (argument->access != AK_ACCESS_IN && !argument->dtype_follows &&
                      (argument->dtype_text != NULL || argument->dtype == dtype));
    }
    return may;
}

static ak_status read_tolerances(ak_problem_reader *r)
{
    json_t *all;
    ak_problem *problem = r->problem;
    AK_DO(ak_json_object_or_null(&all, r->json, "tolerance", r->path, r->err));
    bool exact = true; /* no dtype of the problem is a float */
    for (size_t i = 0; i < problem->dtype_count; i++) {
        exact = exact && !ak_dtype_is_float(problem->dtypes[i]);
    }
    AK_FAIL_IF(all == NULL && !exact, r->err, AK_INVALID, "%s: \"tolerance\" is missing", r->path);
    for (size_t i = 0; i < problem->dtype_count; i++) {
        AK_DO(read_tolerance(&problem->tolerances[i], all, problem->dtypes[i], r));
        problem->tolerance_count++;
    }
    AK_EACH_MEMBER(name, value, all) {
        ak_dtype dtype;
        AK_FAIL_IF(!ak_dtype_parse(&dtype, name) ||
                       !(ak_problem_has_dtype(problem, dtype) || may_write(problem, dtype)),
                   r->err, AK_INVALID,
                   "%s: \"tolerance\" has an entry that is not a dtype of the problem", r->path);
        if (!ak_problem_has_dtype(problem, dtype)) {
            AK_DO(read_tolerance(&problem->tolerances[problem->tolerance_count], all, dtype, r));
            problem->tolerance_count++;
        }
    }
    return AK_OK;
}

/* Finds an input of this name, of at most two dimensions, whose fill is uniform or normal. */
static ak_status find_factor(size_t *out, const char *name, const ak_problem_reader *r)
{
    const ak_problem *problem = r->problem;
    for (size_t i = 0; name != NULL && i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        if (strcmp(argument->name, name) == 0 && argument->access == AK_ACCESS_IN &&
            argument->rank <= 2 &&
            (argument->fill == AK_FILL_UNIFORM || argument->fill == AK_FILL_NORMAL)) {
            *out = i;
            return AK_OK;
        }
    }
    return ak_fail(r->err, AK_INVALID,
                   "%s: \"arguments\" names inputs of one or two dimensions whose fill is uniform "
                   "or normal; \"%.40s\" is none",
                   r->where, name == NULL ? "" : name);
}

static ak_status read_few_terms(ak_problem_reader *r)
{
    json_t *json = NULL, *list = NULL;
    const char *size;
    ak_few_terms *few = &r->problem->few_terms;
    AK_DO(ak_json_object_or_null(&json, r->json, "few_terms", r->path, r->err));
    if (json == NULL) {
        return AK_OK;
    }
    (void)snprintf(r->where, sizeof r->where, "%s: \"few_terms\"", r->path);
    AK_DO(ak_problem_check_object(json, few_keys, r));
    AK_DO(ak_json_string(&size, json, "size", r->where, r->err));
    few->size = AK_FIND(r->problem->sizes, r->problem->size_count, name, size);
    AK_FAIL_IF(few->size == r->problem->size_count, r->err, AK_INVALID,
               "%s: there is no size \"%.40s\"", r->where, size);
    AK_DO(ak_json_int(&few->terms, json, "terms", r->where, r->err));
    AK_FAIL_IF(few->terms < 1, r->err, AK_INVALID, "%s: \"terms\" must be 1 or more", r->where);
    AK_DO(ak_json_array_or_null(&list, json, "arguments", r->where, r->err));
    const size_t count = json_array_size(list);
    AK_FAIL_IF(count == 0 || count > r->problem->argument_count, r->err, AK_INVALID,
               "%s: \"arguments\" must name one input or more", r->where);
    for (; few->count < count; few->count++) {
        AK_DO(find_factor(&few->arguments[few->count],
                          json_string_value(json_array_get(list, few->count)), r));
    }
    return AK_OK;
}

/* ---- sizes to check and to tune -------------------------------------------------------------- */

/* Reads an object that has a number for every size. */
static ak_status read_size_object(int64_t out[AK_SIZES_MAX], const json_t *json,
                                  ak_problem_reader *r)
{
    const char *names[AK_SIZES_MAX + 1] = {NULL};
    const ak_problem *problem = r->problem;
    for (size_t i = 0; i < problem->size_count; i++) {
        names[i] = problem->sizes[i].name;
    }
    AK_DO(ak_problem_check_object(json, names, r));
    for (size_t i = 0; i < problem->size_count; i++) {
        AK_DO(ak_json_int(&out[i], json, names[i], r->where, r->err));
        AK_FAIL_IF(out[i] < 1, r->err, AK_INVALID, "%s: \"%s\" must be 1 or more", r->where,
                   names[i]);
    }
    return AK_OK;
}

static ak_status read_sizes_to_use(ak_problem_reader *r)
{
    json_t *list = NULL, *tune = NULL;
    ak_problem *problem = r->problem;
    AK_DO(ak_json_array_or_null(&list, r->json, "awkward", r->path, r->err));
    AK_DO(ak_json_object_or_null(&tune, r->json, "tune_size", r->path, r->err));
    if (tune != NULL) {
        (void)snprintf(r->where, sizeof r->where, "%s: \"tune_size\"", r->path);
        AK_DO(read_size_object(problem->tune_size, tune, r));
    }
    size_t count = json_array_size(list);
    AK_FAIL_IF(count > EDGE_CASE_MAX, r->err, AK_LIMIT, "%s: \"awkward\" has more than %d sizes",
               r->path, EDGE_CASE_MAX);
    AK_DO(AK_ARENA_NEW(problem->edge_cases, problem->arena, count + 1, r->err));
    for (size_t i = 0; i < count; i++) {
        ak_problem_at(r, "edge-case size", i + 1);
        AK_DO(read_size_object(problem->edge_cases[i], json_array_get(list, i), r));
        problem->edge_case_count++;
    }
    return AK_OK;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static ak_status read_head(ak_problem_reader *r)
{
    int64_t schema;
    ak_problem *problem = r->problem;
    AK_DO(refuse_edge_key(r));
    AK_DO(ak_json_only(r->json, problem_keys, r->path, r->err));
    AK_DO(ak_json_int(&schema, r->json, "schema", r->path, r->err));
    AK_FAIL_IF(schema != 1, r->err, AK_INVALID,
               "%s: schema %lld is unknown; this version reads schema 1", r->path,
               (long long)schema);
    (void)snprintf(r->where, sizeof r->where, "%s", r->path);
    AK_DO(ak_problem_read_name(&problem->name, r->json, false, r));
    return ak_json_string_or(&problem->description, r->json, "description", "", r->path, r->err);
}

ak_status ak_problem_read(ak_problem *problem, const ak_kernel_files *files, const json_t *json,
                          ak_error *err)
{
    AK_FREED ak_problem_reader *r = ak_alloc(1, sizeof *r);
    AK_AT_END(ak_scope_free_at) ak_scope *sizes = ak_scope_new(NULL);
    AK_DO(ak_stored(r != NULL && sizes != NULL, err));
    *r = (ak_problem_reader){.problem = problem,
                             .files = files,
                             .json = json,
                             .path = problem->where,
                             .sizes = sizes,
                             .err = err};
    problem->data = "";
    AK_DO(read_head(r));
    static ak_status (*const parts[])(ak_problem_reader *) = {
        read_sizes, read_dtypes, ak_problem_read_choices, ak_problem_read_arguments,
        read_sizes_to_use};
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        AK_DO(parts[i](r));
    }
    AK_DO(read_work(&problem->flops, "flops", r));
    AK_DO(read_work(&problem->bytes, "bytes", r));
    AK_DO(read_tolerances(r));
    AK_DO(read_few_terms(r));
    AK_DO(ak_problem_read_reference(files, r));
    return ak_problem_read_baselines(r);
}
