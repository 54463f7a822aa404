/* problem.c: the dtypes, and the public accessors, the description and the closing of a problem. */
#include "problem/problem.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define DESCRIBE_MAX 65536

/* ---- dtypes ---------------------------------------------------------------------------------- */

typedef enum dtype_kind { FLOAT, SIGNED, UNSIGNED } dtype_kind;
static const struct {
    const char *text, *c_type, *numpy, *scalar;
    dtype_kind kind;
    size_t bytes;
    double epsilon;
    int tensor_type;
} dtypes[] = {
#define DTYPE_ROW(name, text, kind, bytes, epsilon, type, numpy, scalar, dlpack, cuda)             \
    {text, #type, numpy, scalar, kind, bytes, epsilon, cuda},
    AKR_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

size_t ak_dtype_bytes(ak_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool ak_dtype_is_float(ak_dtype dtype)
{
    return dtypes[dtype].kind == FLOAT;
}

bool ak_dtype_holds(ak_dtype_range *out, ak_dtype dtype)
{
    const bool has_sign = dtypes[dtype].kind == SIGNED;
    const size_t bits = 8 * dtypes[dtype].bytes;
    const double high =
        bits == 64 ? 0x1p53 : (double)((UINT64_C(1) << (bits - (has_sign ? 1 : 0))) - 1);
    *out = (ak_dtype_range){!has_sign ? 0.0 : bits == 64 ? -high : -high - 1.0, high};
    return dtypes[dtype].kind != FLOAT;
}

bool ak_dtype_is_of_tasks(ak_dtype dtype)
{
    return !ak_dtype_is_float(dtype) || ak_dtype_bytes(dtype) > 1;
}

const char *ak_dtype_c_type(ak_dtype dtype)
{
    return dtypes[dtype].c_type;
}

const char *ak_dtype_numpy(ak_dtype dtype)
{
    return dtypes[dtype].numpy;
}

const char *ak_dtype_scalar(ak_dtype dtype)
{
    return dtypes[dtype].scalar[0] == 0 ? NULL : dtypes[dtype].scalar;
}

int ak_dtype_tensor_type(ak_dtype dtype)
{
    return dtypes[dtype].tensor_type;
}

/* Gives the dtype of a row, unless the row does not exist. */
static bool give_row(ak_dtype *out, size_t row)
{
    if (row < AK_COUNT(dtypes)) {
        *out = (ak_dtype)row;
    }
    return row < AK_COUNT(dtypes);
}

bool ak_dtype_parse(ak_dtype *out, const char *text)
{
    return give_row(out, AK_FIND(dtypes, AK_COUNT(dtypes), text, text));
}

bool ak_dtype_parse_scalar(ak_dtype *out, const char *text)
{
    return *text != 0 && give_row(out, AK_FIND(dtypes, AK_COUNT(dtypes), scalar, text));
}

void ak_dtype_list(char out[AK_DTYPE_LIST_BYTES], const char *(*name)(ak_dtype dtype),
                   bool (*which)(ak_dtype dtype), const char *last)
{
    const char *names[AK_DTYPE_COUNT];
    size_t count = 0, used = 0;
    for (size_t i = 0; i < AK_DTYPE_COUNT; i++) {
        names[count] = which == NULL || which((ak_dtype)i) ? name((ak_dtype)i) : NULL;
        count += names[count] != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(out + used, AK_DTYPE_LIST_BYTES - used, "%s%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                                 : last,
                                 names[i]);
    }
}

bool ak_problem_works_in_place(const ak_problem *problem)
{
    for (size_t i = 0; i < problem->argument_count; i++) {
        if (problem->arguments[i].access == AK_ACCESS_INOUT) {
            return true;
        }
    }
    return false;
}

bool ak_problem_has_dtype(const ak_problem *problem, ak_dtype dtype)
{
    bool has = false;
    for (size_t i = 0; i < problem->dtype_count; i++) {
        has = has || problem->dtypes[i] == dtype;
    }
    return has;
}

double ak_dtype_epsilon(ak_dtype dtype)
{
    return dtypes[dtype].epsilon;
}

const char *ak_dtype_text(ak_dtype dtype)
{
    return dtypes[dtype].text;
}

ak_status ak_dtype_choose(ak_dtype *out, const char *text, const ak_scope *scope, const char *where,
                          ak_error *err)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    ak_value value;
    AK_AT_END(ak_arena_free_at) ak_arena *arena = ak_arena_new();
    AK_DO(arena == NULL ? ak_fail_memory(err) : ak_expr_parse(&expr, text, where, err));
    AK_DO(ak_expr_eval(&value, expr, scope, arena, err));
    AK_FAIL_IF(value.type != AK_VALUE_STRING || !ak_dtype_parse(out, value.as.string), err,
               AK_INVALID, "%s: \"%.160s\" must give the name of a dtype", where, text);
    return AK_OK;
}

/* ---- closing --------------------------------------------------------------------------------- */

void ak_problem_close(ak_problem *problem)
{
    if (problem != NULL) {
        AK_END_EACH(json_decref, problem->documents, problem->document_count);
        AK_FREE_ALL(problem->documents, problem->files);
        ak_arena_free(problem->arena);
        ak_free(problem);
    }
}

/* ---- accessors ------------------------------------------------------------------------------- */

const char *ak_problem_name(const ak_problem *problem)
{
    return problem->name;
}

const char *ak_problem_description(const ak_problem *problem)
{
    return problem->description;
}

size_t ak_problem_implementation_count(const ak_problem *problem)
{
    return problem->implementation_count;
}

const char *ak_problem_implementation(const ak_problem *problem, size_t index)
{
    return index < problem->implementation_count ? problem->implementations[index].name : NULL;
}

ak_status ak_problem_runnable(const ak_problem *problem, ak_error *err)
{
    if (problem->reference_source[0] != 0) {
        return AK_OK;
    }
    AK_FAIL_IF(problem->lacks != NULL && problem->lacks[0] != 0, err, AK_INVALID, "%s",
               problem->lacks);
    return ak_fail(
        err, AK_INVALID,
        "%s is a tuning space without a problem: to compile, check and time it, it needs "
        "a kernel folder with a problem.json, a reference and its source",
        problem->where);
}

ak_status ak_problem_lacks(const ak_problem *problem, const char *what, const char *name,
                           const char *const *names, ak_status status, ak_error *err)
{
    const char *near = ak_text_nearest(name, names);
    AK_FAIL_IF(names[0] == NULL, err, status, "%s has no %ss, so \"%.60s\" is unknown",
               problem->name, what, name);
    AK_FAIL_IF(near != NULL, err, status, "%s has no %s \"%.60s\"; did you mean \"%s\"?",
               problem->name, what, name, near);
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(400);
    for (size_t i = 0; names[i] != NULL; i++) {
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    (void)ak_fail(err, status, "%s has no %s \"%.60s\"; it has %s", problem->name, what, name,
                  list.data);
    return status;
}

ak_status ak_problem_find(const ak_implementation_spec **out, const ak_problem *problem,
                          const char *name, ak_error *err)
{
    const char *names[AK_IMPLEMENTATIONS_MAX + 1] = {NULL};
    for (size_t i = 0; i < problem->implementation_count; i++) {
        names[i] = problem->implementations[i].name;
        if (strcmp(names[i], name) == 0) {
            *out = &problem->implementations[i];
            return AK_OK;
        }
    }
    return ak_problem_lacks(problem, "implementation", name, names, AK_NOT_FOUND, err);
}

static void describe_argument(ak_buf *text, const ak_problem *problem, size_t i)
{
    static const char *const accesses[] = {"in", "out", "inout"};
    const ak_argument_spec *argument = &problem->arguments[i];
    ak_buf_print(text, "argument        %s: %s, %s[", argument->name, accesses[argument->access],
                 argument->dtype_follows        ? "dtype"
                 : argument->dtype_text != NULL ? argument->dtype_text
                                                : ak_dtype_text(argument->dtype));
    for (size_t d = 0; d < argument->rank; d++) {
        ak_buf_print(text, "%s%s", d == 0 ? "" : ", ", argument->shape[d]);
    }
    ak_buf_print(text, "]%s%s\n", argument->pitch == NULL ? "" : ", rows apart by ",
                 argument->pitch == NULL ? "" : argument->pitch);
}

static void describe_choice(ak_buf *text, const ak_choice_spec *choice)
{
    ak_buf_print(text, "option          %s = ", choice->name);
    for (size_t v = 0; v < choice->value_count; v++) {
        ak_buf_print(text, "%s%s%s", v == 0 ? "" : " | ", choice->values[v],
                     v == choice->default_index ? " (default)" : "");
    }
    if (choice->kind != AK_CHOICE_TEXT) {
        ak_buf_print(text, "%s", choice->kind == AK_CHOICE_WHOLE ? "a whole number" : "a number");
        if (choice->low > -AK_CHOICE_NUMBER_MAX) {
            ak_buf_print(text, " from %.16g", choice->low);
        }
        if (choice->high < AK_CHOICE_NUMBER_MAX) {
            ak_buf_print(text, " up to %.16g", choice->high);
        }
        ak_buf_print(text, ", %.16g by default", choice->fallback);
    }
    ak_buf_print(text, "%s%s\n", *choice->description == 0 ? "" : ": ", choice->description);
}

/* Lists the members of "KernelSpecification" that other tools use and this program ignores. */
static void describe_unread(ak_buf *text, const ak_implementation_spec *implementation)
{
    static const char *const unread[] = {"Arguments", "ReferenceArguments", "GlobalSize",
                                         "LocalSize", "GlobalSizeType",     "SharedMemory",
                                         "GridDivX",  "GridDivY",           "GridDivZ"};
    const json_t *kernel = json_object_get(implementation->definition, "KernelSpecification");
    size_t count = 0;
    for (size_t i = 0; i < AK_COUNT(unread); i++) {
        if (json_object_get(kernel, unread[i]) != NULL) {
            ak_buf_print(text, "%s%s", count++ == 0 ? "not used        " : ", ", unread[i]);
        }
    }
    if (count > 0) {
        ak_buf_print(text,
                     " of %s: the arguments are those of problem.json, a launch is \"Launch\"\n",
                     implementation->where);
    }
}

ak_status ak_problem_describe(char **out_text, const ak_problem *problem, ak_error *err)
{
    ak_buf text = AK_BUF(DESCRIBE_MAX);
    for (size_t i = 0; i < problem->size_count; i++) {
        const ak_size_spec *size = &problem->sizes[i];
        ak_buf_print(&text, "size            %s = %lld by default%s%s\n", size->name,
                     (long long)problem->tune_size[i], *size->description == 0 ? "" : ": ",
                     size->description);
    }
    for (size_t i = 0; i < problem->dtype_count && problem->argument_count > 0; i++) {
        ak_buf_print(&text, "dtype           %s\n", ak_dtype_text(problem->dtypes[i]));
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        describe_choice(&text, &problem->choices[i]);
    }
    for (size_t i = 0; i < problem->argument_count; i++) {
        describe_argument(&text, problem, i);
    }
    for (size_t i = 0; i < problem->implementation_count; i++) {
        const ak_implementation_spec *implementation = &problem->implementations[i];
        ak_buf_print(&text, "implementation  %s (%s)\n", implementation->name,
                     implementation->backend);
    }
    if (problem->unread != NULL) {
        ak_buf_print(&text, "not used        %s of %s\n", problem->unread, problem->where);
    }
    if (problem->lacks != NULL) {
        ak_buf_print(&text, "cannot be run   %s\n", problem->lacks);
        return ak_buf_take(out_text, &text, err);
    }
    for (size_t i = 0; i < problem->implementation_count && !problem->builtin; i++) {
        describe_unread(&text, &problem->implementations[i]);
    }
    return ak_buf_take(out_text, &text, err);
}
