/* problem_read.c: problem.json, member by member, refusing what is unknown, twice or out of bounds.
 */
#include "problem/kernel_files.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "problem/expr.h"

#define CHOICE_VALUES_MAX 64
#define AWKWARD_MAX       256
#define DEVICE_REFERENCE  "reference.cu"

static const char *const problem_keys[] = {
    "schema", "name",      "description", "sizes",     "dtypes",  "choices", "arguments", "flops",
    "bytes",  "reference", "tolerance",   "tune_size", "awkward", "notes",   "sets",      NULL};
static const char *const size_keys[] = {"name", "default", "description", NULL};
static const char *const choice_keys[] = {
    "name", "type", "values", "default", "minimum", "maximum", "implicit", "description", NULL};
static const char *const argument_keys[] = {"name",   "dtype", "shape",       "pitch",
                                            "access", "fill",  "description", NULL};
static const char *const tolerance_keys[] = {"relative", "rms", NULL};
/* names that expressions have besides those of the problem */
static const char *const reserved[] = {"dtype_bytes", "eps", "dtype", NULL};

typedef struct reader {
    ak_problem *problem;
    const json_t *json;
    const char *path;
    char where[AK_PATH_MAX + 64]; /* the member at hand */
    ak_scope *sizes;              /* their defaults, to try expressions with */
    ak_error *err;
} reader;

static void at(reader *r, const char *what, size_t number)
{
    (void)snprintf(r->where, sizeof r->where, "%s: %s %zu", r->path, what, number);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool name_taken(const ak_problem *problem, const char *name)
{
    bool taken = false;
    for (size_t i = 0; reserved[i] != NULL; i++) {
        taken = taken || strcmp(reserved[i], name) == 0;
    }
    for (size_t i = 0; i < problem->size_count; i++) {
        taken = taken || strcmp(problem->sizes[i].name, name) == 0;
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        taken = taken || strcmp(problem->choices[i].name, name) == 0;
    }
    return taken;
}

static bool is_word(const char *text)
{
    /* choices' values become part of a macro's name: letters, digits and _ */
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && text[n] == 0 && n <= AK_KERNEL_NAME_MAX;
}

static ak_status read_name(const char **out, const json_t *json, bool unique, reader *r)
{
    ak_status status = ak_json_string(out, json, "name", r->where, r->err);
    if (status != AK_OK) {
        return status;
    }
    if (!ak_expr_is_name(*out) || !is_word(*out)) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: the name \"%.60s\" must be letters, digits and _, at most %d, not "
                       "beginning with a digit and no word of the expression language",
                       r->where, *out, AK_KERNEL_NAME_MAX);
    }
    if (unique && name_taken(r->problem, *out)) {
        return ak_fail(r->err, AK_INVALID, "%s: the name \"%s\" is taken", r->where, *out);
    }
    return AK_OK;
}

/* An array that must be there, with at most `max` objects in it. */
static ak_status read_array(json_t **out, size_t *count, const char *key, size_t max, reader *r)
{
    ak_status status = ak_json_array_or_null(out, r->json, key, r->path, r->err);
    if (status != AK_OK) {
        return status;
    }
    if (*out == NULL) {
        return ak_fail(r->err, AK_INVALID, "%s: \"%s\" is missing", r->path, key);
    }
    *count = json_array_size(*out);
    if (*count > max) {
        return ak_fail(r->err, AK_LIMIT, "%s: \"%s\" has %zu entries; at most %zu are possible",
                       r->path, key, *count, max);
    }
    return AK_OK;
}

static ak_status check_object(const json_t *json, const char *const *keys, reader *r)
{
    return json_is_object(json) ? ak_json_only(json, keys, r->where, r->err)
                                : ak_fail(r->err, AK_INVALID, "%s must be an object", r->where);
}

/* ---- sizes, dtypes, choices ------------------------------------------------------------------ */

static ak_status read_sizes(reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    ak_problem *problem = r->problem;
    ak_status status = read_array(&list, &count, "sizes", AK_SIZES_MAX, r);
    if (status == AK_OK && count == 0) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"sizes\" is empty; a problem has at least one",
                         r->path);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        const json_t *json = json_array_get(list, i);
        ak_size_spec *size = &problem->sizes[i];
        at(r, "size", i + 1);
        status = check_object(json, size_keys, r);
        if (status == AK_OK) {
            status = read_name(&size->name, json, true, r);
        }
        if (status == AK_OK) {
            status = ak_json_int(&size->fallback, json, "default", r->where, r->err);
        }
        if (status == AK_OK && size->fallback < 1) {
            status = ak_fail(r->err, AK_INVALID, "%s: \"default\" must be 1 or more", r->where);
        }
        if (status == AK_OK) {
            status =
                ak_json_string_or(&size->description, json, "description", "", r->where, r->err);
        }
        if (status == AK_OK) {
            status = ak_scope_set_int(r->sizes, size->name, size->fallback, r->err);
        }
        problem->tune_size[i] = size->fallback;
        problem->size_count += status == AK_OK ? 1 : 0;
    }
    return status;
}

static ak_status read_dtypes(reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    ak_problem *problem = r->problem;
    ak_status status =
        read_array(&list, &count, "dtypes", sizeof problem->dtypes / sizeof problem->dtypes[0], r);
    if (status == AK_OK && count == 0) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"dtypes\" is empty", r->path);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL || !ak_dtype_parse(&problem->dtypes[i], text)) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: dtype %zu (\"%.40s\") is unknown; there are f16, bf16, f32, f64 "
                           "and i32",
                           r->path, i + 1, text == NULL ? "not a text" : text);
        }
        for (size_t j = 0; j < i; j++) {
            if (problem->dtypes[j] == problem->dtypes[i]) {
                return ak_fail(r->err, AK_INVALID, "%s: dtype \"%s\" is there twice", r->path,
                               text);
            }
        }
        problem->dtype_count++;
    }
    if (status == AK_OK) {
        status = ak_scope_set_int(r->sizes, "dtype_bytes",
                                  (int64_t)ak_dtype_bytes(problem->dtypes[0]), r->err);
    }
    return status;
}

static ak_status read_choice_values(ak_choice_spec *choice, const json_t *json, reader *r)
{
    json_t *list = NULL;
    const char *fallback;
    ak_status status = ak_json_array_or_null(&list, json, "values", r->where, r->err);
    size_t count = json_array_size(list);
    if (status == AK_OK && (count == 0 || count > CHOICE_VALUES_MAX)) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"values\" must be a list of 1 to %d texts",
                         r->where, CHOICE_VALUES_MAX);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&fallback, json, "default", NULL, r->where, r->err);
    }
    if (status != AK_OK) {
        return status;
    }
    const char **values = ak_arena_alloc(r->problem->arena, count * sizeof *values);
    if (values == NULL) {
        return ak_fail_memory(r->err);
    }
    bool found = fallback == NULL;
    for (size_t i = 0; i < count; i++) {
        values[i] = json_string_value(json_array_get(list, i));
        if (values[i] == NULL || !is_word(values[i])) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: value %zu must be a text of letters, digits and _", r->where,
                           i + 1);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(values[j], values[i]) == 0) {
                return ak_fail(r->err, AK_INVALID, "%s: the value \"%s\" is there twice", r->where,
                               values[i]);
            }
        }
        if (fallback != NULL && strcmp(values[i], fallback) == 0) {
            choice->default_index = i;
            found = true;
        }
    }
    choice->values = values;
    choice->value_count = count;
    return found ? AK_OK
                 : ak_fail(r->err, AK_INVALID, "%s: the default \"%.60s\" is not one of its values",
                           r->where, fallback);
}

/* "type": "text", which is what it is if left out, "int" or "real" */
static ak_status read_choice_kind(ak_choice_spec *choice, const json_t *json, reader *r)
{
    static const char *const kinds[] = {"text", "int", "real"}; /* as in ak_choice_kind */
    const char *type;
    ak_status status = ak_json_string_or(&type, json, "type", kinds[0], r->where, r->err);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == AK_OK; i++) {
        if (strcmp(kinds[i], type) == 0) {
            choice->kind = (ak_choice_kind)i;
            return AK_OK;
        }
    }
    return status != AK_OK
               ? status
               : ak_fail(r->err, AK_INVALID,
                         "%s: \"type\" is \"%.40s\"; it must be text, int or real", r->where, type);
}

static ak_status read_choice_number(double *out, ak_choice_kind kind, const json_t *json,
                                    const char *key, double fallback, reader *r)
{
    const json_t *value = json_object_get(json, key);
    *out = value == NULL ? fallback : json_number_value(value);
    if (value != NULL &&
        !(kind == AK_CHOICE_WHOLE ? json_is_integer(value) : json_is_number(value))) {
        return ak_fail(r->err, AK_INVALID, "%s: \"%s\" must be a %snumber", r->where, key,
                       kind == AK_CHOICE_WHOLE ? "whole " : "");
    }
    return AK_OK;
}

/* A choice that is a number: from "minimum" to "maximum", both possible. */
static ak_status read_choice_range(ak_choice_spec *choice, const json_t *json, reader *r)
{
    const ak_choice_kind kind = choice->kind;
    ak_status status =
        read_choice_number(&choice->low, kind, json, "minimum", -AK_CHOICE_NUMBER_MAX, r);
    if (status == AK_OK) {
        status = read_choice_number(&choice->high, kind, json, "maximum", AK_CHOICE_NUMBER_MAX, r);
    }
    if (status == AK_OK) {
        status = read_choice_number(&choice->fallback, kind, json, "default", 0.0, r);
    }
    if (status == AK_OK && json_object_get(json, "values") != NULL) {
        status = ak_fail(r->err, AK_INVALID, "%s: a number has no \"values\"", r->where);
    }
    if (status == AK_OK &&
        !(choice->low <= choice->fallback && choice->fallback <= choice->high &&
          choice->low >= -AK_CHOICE_NUMBER_MAX && choice->high <= AK_CHOICE_NUMBER_MAX)) {
        status = ak_fail(r->err, AK_INVALID,
                         "%s: the default %g is not from %g to %g, which must be within 2^53",
                         r->where, choice->fallback, choice->low, choice->high);
    }
    return status;
}

/* What expressions see of it: its default. */
static ak_status name_choice(const ak_choice_spec *choice, reader *r)
{
    char index[AK_KERNEL_NAME_MAX + 16];
    if (choice->kind == AK_CHOICE_REAL) {
        return ak_scope_set_real(r->sizes, choice->name, choice->fallback, r->err);
    }
    if (choice->kind == AK_CHOICE_WHOLE) {
        return ak_scope_set_int(r->sizes, choice->name, (int64_t)choice->fallback, r->err);
    }
    (void)snprintf(index, sizeof index, "choice_%s", choice->name);
    ak_status status = ak_scope_set_int(r->sizes, index, (int64_t)choice->default_index, r->err);
    return status == AK_OK ? ak_scope_set_text(r->sizes, choice->name,
                                               choice->values[choice->default_index], r->err)
                           : status;
}

static ak_status read_choices(reader *r)
{
    json_t *list = NULL;
    ak_problem *problem = r->problem;
    ak_status status = ak_json_array_or_null(&list, r->json, "choices", r->path, r->err);
    size_t count = json_array_size(list);
    if (status == AK_OK && count > AK_CHOICES_MAX) {
        status = ak_fail(r->err, AK_LIMIT, "%s: %zu choices; at most %d are possible", r->path,
                         count, AK_CHOICES_MAX);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        const json_t *json = json_array_get(list, i);
        ak_choice_spec *choice = &problem->choices[i];
        at(r, "choice", i + 1);
        status = check_object(json, choice_keys, r);
        if (status == AK_OK) {
            status = read_name(&choice->name, json, true, r);
        }
        if (status == AK_OK) {
            status =
                ak_json_string_or(&choice->description, json, "description", "", r->where, r->err);
        }
        if (status == AK_OK) {
            status = ak_json_bool_or(&choice->implicit, json, "implicit", false, r->where, r->err);
        }
        if (status == AK_OK) {
            status = read_choice_kind(choice, json, r);
        }
        if (status == AK_OK) {
            status = choice->kind == AK_CHOICE_TEXT ? read_choice_values(choice, json, r)
                                                    : read_choice_range(choice, json, r);
        }
        if (status == AK_OK) {
            status = name_choice(choice, r);
        }
        problem->choice_count += status == AK_OK ? 1 : 0;
    }
    return status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* "uniform(-1,1)", "normal(0,2)", "constant(0)" */
static ak_status read_fill(ak_argument_spec *argument, const char *text, reader *r)
{
    static const struct {
        const char *name;
        ak_fill_kind kind;
        int count;
    } kinds[] = {{"uniform", AK_FILL_UNIFORM, 2},
                 {"normal", AK_FILL_NORMAL, 2},
                 {"constant", AK_FILL_CONSTANT, 1}};
    char copy[64] = {0};
    size_t length = strlen(text);
    double number[2] = {0.0, 0.0};
    if (length < sizeof copy && length > 0 && text[length - 1] == ')') {
        memcpy(copy, text, length - 1);
    }
    char *open = strchr(copy, '(');
    for (size_t i = 0; open != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((size_t)(open - copy) != strlen(kinds[i].name) ||
            strncmp(copy, kinds[i].name, strlen(kinds[i].name)) != 0) {
            continue;
        }
        char *first = open + 1, *second = NULL;
        if (kinds[i].count == 2 && (second = strchr(first, ',')) != NULL) {
            *second++ = 0;
            second += strspn(second, " ");
        }
        bool fine = ak_text_real(&number[0], first) &&
                    (kinds[i].count == 1 || (second != NULL && ak_text_real(&number[1], second)));
        bool sane = kinds[i].kind == AK_FILL_UNIFORM  ? number[0] < number[1]
                    : kinds[i].kind == AK_FILL_NORMAL ? number[1] > 0.0
                                                      : true;
        if (fine && sane) {
            argument->fill = kinds[i].kind;
            argument->fill_a = number[0];
            argument->fill_b = number[1];
            return AK_OK;
        }
        break;
    }
    return ak_fail(
        r->err, AK_INVALID,
        "%s: \"fill\" is \"%.40s\"; it must be uniform(low,high), normal(mean,deviation) "
        "or constant(value)",
        r->where, text);
}

/* Elements from one row to the next, not less than a row has. */
static ak_status read_pitch(ak_argument_spec *argument, const json_t *json, int64_t row, reader *r)
{
    int64_t value;
    ak_status status = ak_json_string_or(&argument->pitch, json, "pitch", NULL, r->where, r->err);
    if (status != AK_OK || argument->pitch == NULL) {
        return status;
    }
    status = ak_expr_int(&value, argument->pitch, r->sizes, r->where, r->err);
    if (status == AK_OK && (value < row || argument->rank < 2)) {
        status = ak_fail(r->err, AK_INVALID,
                         "%s: the pitch of %lld is for two extents or more, and no less than a "
                         "row has",
                         r->where, (long long)value);
    }
    return status;
}

static ak_status read_shape(ak_argument_spec *argument, const json_t *json, reader *r)
{
    json_t *list = NULL;
    ak_status status = ak_json_array_or_null(&list, json, "shape", r->where, r->err);
    if (status == AK_OK && (list == NULL || json_array_size(list) > AK_RANK_MAX)) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"shape\" must be a list of at most %d extents",
                         r->where, AK_RANK_MAX);
    }
    int64_t row = 1;
    for (size_t i = 0; i < json_array_size(list) && status == AK_OK; i++) {
        const json_t *extent = json_array_get(list, i);
        int64_t value = 1;
        if (json_is_integer(extent)) {
            char number[24];
            (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(extent));
            status = ak_problem_text(&argument->shape[i], r->problem, number, r->err);
        } else if (json_is_string(extent)) {
            argument->shape[i] = json_string_value(extent);
        } else {
            status = ak_fail(r->err, AK_INVALID, "%s: extent %zu must be an expression", r->where,
                             i + 1);
        }
        if (status == AK_OK) {
            status = ak_expr_int(&value, argument->shape[i], r->sizes, r->where, r->err);
        }
        if (status == AK_OK && value < 1) {
            status = ak_fail(r->err, AK_INVALID, "%s: extent %zu is %lld; it must be 1 or more",
                             r->where, i + 1, (long long)value);
        }
        row = value;
        argument->rank = i + 1;
    }
    return status == AK_OK ? read_pitch(argument, json, row, r) : status;
}

static ak_status read_argument(ak_argument_spec *argument, const json_t *json, reader *r)
{
    static const char *const accesses[] = {"in", "out", "inout"}; /* as in ak_access */
    const char *dtype, *access, *fill, *description;
    ak_status status = check_object(json, argument_keys, r);
    if (status == AK_OK) {
        status = read_name(&argument->name, json, false, r);
    }
    for (size_t i = 0; i < r->problem->argument_count && status == AK_OK; i++) {
        if (strcmp(r->problem->arguments[i].name, argument->name) == 0) {
            status = ak_fail(r->err, AK_INVALID, "%s: the name \"%s\" is taken", r->where,
                             argument->name);
        }
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&description, json, "description", "", r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&dtype, json, "dtype", "dtype", r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_json_string(&access, json, "access", r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&fill, json, "fill", "uniform(-1,1)", r->where, r->err);
    }
    if (status != AK_OK) {
        return status;
    }
    argument->dtype_follows = strcmp(dtype, "dtype") == 0;
    if (!argument->dtype_follows && !ak_dtype_parse(&argument->dtype, dtype)) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: dtype \"%.40s\" is unknown; it must be \"dtype\", f16, bf16, f32, f64 "
                       "or i32",
                       r->where, dtype);
    }
    size_t a = 0;
    while (a < 3 && strcmp(access, accesses[a]) != 0) {
        a++;
    }
    if (a == 3) {
        return ak_fail(r->err, AK_INVALID, "%s: access \"%.40s\" must be in, out or inout",
                       r->where, access);
    }
    argument->access = (ak_access)a;
    status = read_fill(argument, fill, r);
    return status == AK_OK ? read_shape(argument, json, r) : status;
}

static ak_status read_arguments(reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    bool output = false;
    ak_problem *problem = r->problem;
    ak_status status = read_array(&list, &count, "arguments", AK_ARGUMENTS_MAX, r);
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        at(r, "argument", i + 1);
        status = read_argument(&problem->arguments[i], json_array_get(list, i), r);
        output = output || problem->arguments[i].access != AK_ACCESS_IN;
        problem->argument_count += status == AK_OK ? 1 : 0;
    }
    if (status == AK_OK && !output) {
        status =
            ak_fail(r->err, AK_INVALID,
                    "%s: no argument has access out or inout: there is nothing to check", r->path);
    }
    return status;
}

/* ---- work, tolerance ------------------------------------------------------------------------- */

/* An expression that gives a number that is not negative at the default sizes. */
static ak_status read_work(const char **out, const char *key, reader *r)
{
    double value;
    (void)snprintf(r->where, sizeof r->where, "%s: \"%s\"", r->path, key);
    ak_status status = ak_json_string(out, r->json, key, r->path, r->err);
    if (status == AK_OK) {
        status = ak_expr_real(&value, *out, r->sizes, r->where, r->err);
    }
    if (status == AK_OK && value < 0.0) {
        status = ak_fail(r->err, AK_INVALID, "%s is negative at the default sizes", r->where);
    }
    return status;
}

static ak_status check_factor(const char *text, const char *key, reader *r)
{
    double value;
    ak_status status = ak_expr_real(&value, text, r->sizes, r->where, r->err);
    if (status == AK_OK && value < 0.0) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"%s\" is negative at the default sizes",
                         r->where, key);
    }
    return status;
}

static ak_status read_tolerance(ak_tolerance_spec *out, const json_t *all, ak_dtype dtype,
                                reader *r)
{
    const char *name = ak_dtype_text(dtype);
    json_t *json = json_object_get(all, name);
    out->dtype = dtype;
    (void)snprintf(r->where, sizeof r->where, "%s: tolerance of %s", r->path, name);
    if (json == NULL) {
        return ak_fail(r->err, AK_INVALID, "%s is missing", r->where);
    }
    ak_status status = check_object(json, tolerance_keys, r);
    if (status == AK_OK) {
        status = ak_json_string(&out->relative, json, "relative", r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&out->rms, json, "rms", "0", r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_scope_set_real(r->sizes, "eps", ak_dtype_epsilon(dtype), r->err);
    }
    if (status == AK_OK) {
        status = check_factor(out->relative, "relative", r);
    }
    return status == AK_OK ? check_factor(out->rms, "rms", r) : status;
}

static ak_status read_tolerances(reader *r)
{
    json_t *all;
    ak_problem *problem = r->problem;
    ak_status status = ak_json_object_or_null(&all, r->json, "tolerance", r->path, r->err);
    if (status == AK_OK && all == NULL) {
        status = ak_fail(r->err, AK_INVALID, "%s: \"tolerance\" is missing", r->path);
    }
    for (size_t i = 0; i < problem->dtype_count && status == AK_OK; i++) {
        status = read_tolerance(&problem->tolerances[i], all, problem->dtypes[i], r);
        problem->tolerance_count += status == AK_OK ? 1 : 0;
    }
    if (status == AK_OK && json_object_size(all) > problem->dtype_count) {
        status = ak_fail(r->err, AK_INVALID,
                         "%s: \"tolerance\" has an entry that is no dtype of "
                         "the problem",
                         r->path);
    }
    return status;
}

/* ---- sizes to check and to tune -------------------------------------------------------------- */

/* An object with a number for every size. */
static ak_status read_size_object(int64_t out[AK_SIZES_MAX], const json_t *json, reader *r)
{
    const char *names[AK_SIZES_MAX + 1] = {NULL};
    const ak_problem *problem = r->problem;
    for (size_t i = 0; i < problem->size_count; i++) {
        names[i] = problem->sizes[i].name;
    }
    ak_status status = check_object(json, names, r);
    for (size_t i = 0; i < problem->size_count && status == AK_OK; i++) {
        status = ak_json_int(&out[i], json, names[i], r->where, r->err);
        if (status == AK_OK && out[i] < 1) {
            status =
                ak_fail(r->err, AK_INVALID, "%s: \"%s\" must be 1 or more", r->where, names[i]);
        }
    }
    return status;
}

static ak_status read_sizes_to_use(reader *r)
{
    json_t *list = NULL, *tune = NULL;
    ak_problem *problem = r->problem;
    ak_status status = ak_json_array_or_null(&list, r->json, "awkward", r->path, r->err);
    if (status == AK_OK) {
        status = ak_json_object_or_null(&tune, r->json, "tune_size", r->path, r->err);
    }
    if (status == AK_OK && tune != NULL) {
        (void)snprintf(r->where, sizeof r->where, "%s: \"tune_size\"", r->path);
        status = read_size_object(problem->tune_size, tune, r);
    }
    if (status != AK_OK) {
        return status;
    }
    size_t count = json_array_size(list);
    if (count > AWKWARD_MAX) {
        return ak_fail(r->err, AK_LIMIT, "%s: \"awkward\" has more than %d sizes", r->path,
                       AWKWARD_MAX);
    }
    problem->awkward = ak_arena_alloc(problem->arena, (count + 1) * sizeof *problem->awkward);
    if (problem->awkward == NULL) {
        return ak_fail_memory(r->err);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        at(r, "awkward size", i + 1);
        status = read_size_object(problem->awkward[i], json_array_get(list, i), r);
        problem->awkward_count += status == AK_OK ? 1 : 0;
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static ak_status read_head(reader *r)
{
    int64_t schema;
    ak_problem *problem = r->problem;
    ak_status status = ak_json_only(r->json, problem_keys, r->path, r->err);
    if (status == AK_OK) {
        status = ak_json_int(&schema, r->json, "schema", r->path, r->err);
    }
    if (status == AK_OK && schema != 1) {
        status =
            ak_fail(r->err, AK_INVALID, "%s: schema %lld is unknown; this version reads schema 1",
                    r->path, (long long)schema);
    }
    if (status == AK_OK) {
        (void)snprintf(r->where, sizeof r->where, "%s", r->path);
        status = read_name(&problem->name, r->json, false, r);
    }
    if (status == AK_OK) {
        status =
            ak_json_string_or(&problem->description, r->json, "description", "", r->path, r->err);
    }
    return status;
}

static ak_status read_reference(const ak_kernel_files *files, reader *r)
{
    const char *name;
    ak_status status = ak_json_string(&name, r->json, "reference", r->path, r->err);
    if (status == AK_OK) {
        status = ak_kernel_read(&r->problem->reference_source, r->problem, files, name, r->err);
    }
    if (status == AK_OK && r->problem->reference_source[0] == 0) {
        status = ak_fail(r->err, AK_INVALID, "%s: the reference \"%s\" is empty", r->path, name);
    }
    if (status == AK_OK && ak_kernel_has(files, DEVICE_REFERENCE)) {
        status = ak_kernel_read(&r->problem->device_reference, r->problem, files, DEVICE_REFERENCE,
                                r->err);
    }
    return status;
}

ak_status ak_problem_read(ak_problem *problem, const ak_kernel_files *files, const json_t *json,
                          ak_error *err)
{
    reader *r = ak_alloc(1, sizeof *r);
    ak_scope *sizes = ak_scope_new(NULL);
    ak_status status = r == NULL || sizes == NULL ? ak_fail_memory(err) : AK_OK;
    if (status == AK_OK) {
        *r = (reader){
            .problem = problem, .json = json, .path = problem->where, .sizes = sizes, .err = err};
        status = read_head(r);
    }
    static ak_status (*const parts[])(reader *) = {read_sizes, read_dtypes, read_choices,
                                                   read_arguments, read_sizes_to_use};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == AK_OK; i++) {
        status = parts[i](r);
    }
    if (status == AK_OK) {
        status = read_work(&problem->flops, "flops", r);
    }
    if (status == AK_OK) {
        status = read_work(&problem->bytes, "bytes", r);
    }
    if (status == AK_OK) {
        status = read_tolerances(r);
    }
    if (status == AK_OK) {
        status = read_reference(files, r);
    }
    ak_scope_free(sizes);
    ak_free(r);
    return status;
}
