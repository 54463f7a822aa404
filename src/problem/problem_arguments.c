/* problem_arguments.c: reads "arguments" of problem.json: dtype, shape, pitch, access and fill
   of each. */
#include "problem/problem_read.h"

#include <string.h>

static const char *const argument_keys[] = {"name", "dtype",       "shape",  "pitch",     "access",
                                            "fill", "description", "unused", "tolerance", NULL};

/* ---- fill ------------------------------------------------------------------------------------ */

static const struct fill_kind {
    const char *name;
    int count; /* numbers that it takes */
} fill_kinds[] = {[AK_FILL_UNIFORM] = {"uniform", 2},   [AK_FILL_NORMAL] = {"normal", 2},
                  [AK_FILL_CONSTANT] = {"constant", 1}, [AK_FILL_SPREAD] = {"spread", 2},
                  [AK_FILL_CUTS] = {"cuts", 2},         [AK_FILL_OFFSETS] = {"offsets", 2},
                  [AK_FILL_FILE] = {"file", 1}};
enum { FILL_KINDS = AK_COUNT(fill_kinds) };

const char *ak_fill_text(ak_fill_kind kind)
{
    return fill_kinds[kind].name;
}

bool ak_fill_sane(ak_fill_kind kind, double a, double b)
{
    switch (kind) {
    case AK_FILL_UNIFORM:
        return a < b;
    case AK_FILL_NORMAL:
        return b > 0.0;
    case AK_FILL_SPREAD:
    case AK_FILL_CUTS:
    case AK_FILL_OFFSETS:
        return a <= b;
    case AK_FILL_CONSTANT:
    case AK_FILL_FILE:
        break;
    }
    return true;
}

/* Cuts "a,b" at its first comma outside of brackets. Returns the second part, or NULL if there
   is no such comma. */
static char *cut_at_comma(char *text)
{
    int depth = 0;
    for (; *text != 0; text++) {
        depth += *text == '(' || *text == '[' ? 1 : *text == ')' || *text == ']' ? -1 : 0;
        if (*text == ',' && depth == 0) {
            *text = 0;
            return text + 1 + strspn(text + 1, " ");
        }
    }
    return NULL;
}

/* Reads "uniform(-1,1)", "normal(0,2)", "constant(0)", "spread(1,keys)", "cuts(0,rows)",
   "offsets(0,rows)" or "file(a.npy)". */
static ak_status read_fill(ak_argument_spec *argument, const char *text, ak_problem_reader *r)
{
    char copy[256] = {0}, *part[2] = {NULL, NULL};
    double *value[2] = {&argument->fill_a, &argument->fill_b};
    size_t length = strlen(text), kind = 0;
    int given = 0;
    if (length < sizeof copy && length > 0 && text[length - 1] == ')') {
        memcpy(copy, text, length - 1);
    }
    char *open = strchr(copy, '(');
    while (open != NULL && kind < FILL_KINDS &&
           ((size_t)(open - copy) != strlen(fill_kinds[kind].name) ||
            strncmp(copy, fill_kinds[kind].name, (size_t)(open - copy)) != 0)) {
        kind++;
    }
    if (open != NULL && kind < FILL_KINDS) {
        part[0] = open + 1;
        part[1] = cut_at_comma(part[0]);
        given = part[1] == NULL ? 1 : 2;
    }
    bool fine = given > 0 && given == fill_kinds[kind].count;
    if (fine && kind == AK_FILL_FILE) {
        argument->fill = AK_FILL_FILE;
        return ak_problem_read_data(&argument->fill_file, part[0], r);
    }
    for (int i = 0; fine && i < given; i++) {
        AK_DO(ak_expr_real(value[i], part[i], r->sizes, r->where, r->err));
    }
    AK_FAIL_IF(!fine || !ak_fill_sane((ak_fill_kind)kind, argument->fill_a, argument->fill_b),
               r->err, AK_INVALID,
               "%s: \"fill\" is \"%.40s\"; it must be uniform(low,high), normal(mean,deviation), "
               "constant(value), spread(low,high), cuts(low,high) or offsets(low,high), of numbers "
               "or expressions over the sizes, or file(NAME.npy)",
               r->where, text);
    argument->fill = (ak_fill_kind)kind;
    for (int i = 0; i < given; i++) {
        AK_DO(ak_problem_text(&argument->fill_text[i], r->problem, part[i], r->err));
    }
    return AK_OK;
}

/* ---- shape ----------------------------------------------------------------------------------- */

/* Reads "pitch", the elements from one row to the next. `row` is the number of elements in a
   row. */
static ak_status read_pitch(ak_argument_spec *argument, const json_t *json, int64_t row,
                            ak_problem_reader *r)
{
    int64_t value;
    AK_DO(ak_json_string_or(&argument->pitch, json, "pitch", NULL, r->where, r->err));
    if (argument->pitch == NULL) {
        return AK_OK;
    }
    AK_DO(ak_expr_int(&value, argument->pitch, r->sizes, r->where, r->err));
    AK_FAIL_IF(value < row || argument->rank < 2, r->err, AK_INVALID,
               "%s: the pitch is %lld; it needs two extents or more and must not be less than the "
               "%lld elements of a row",
               r->where, (long long)value, (long long)row);
    return AK_OK;
}

static ak_status read_shape(ak_argument_spec *argument, const json_t *json, ak_problem_reader *r)
{
    json_t *list = NULL;
    AK_DO(ak_json_array_or_null(&list, json, "shape", r->where, r->err));
    AK_FAIL_IF(list == NULL || json_array_size(list) > AK_RANK_MAX, r->err, AK_INVALID,
               "%s: \"shape\" must be a list of at most %d extents", r->where, AK_RANK_MAX);
    int64_t row = 1;
    AK_EACH(extent, list) {
        int64_t value = 1;
        if (json_is_integer(extent)) {
            char number[24];
            (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(extent));
            AK_DO(ak_problem_text(&argument->shape[extent_at], r->problem, number, r->err));
        } else if (json_is_string(extent)) {
            argument->shape[extent_at] = json_string_value(extent);
        } else {
            return ak_fail(r->err, AK_INVALID, "%s: extent %zu must be an expression", r->where,
                           extent_at + 1);
        }
        AK_DO(ak_expr_int(&value, argument->shape[extent_at], r->sizes, r->where, r->err));
        AK_FAIL_IF(value < 1, r->err, AK_INVALID, "%s: extent %zu is %lld; it must be 1 or more",
                   r->where, extent_at + 1, (long long)value);
        row = value;
        argument->rank = extent_at + 1;
    }
    return read_pitch(argument, json, row, r);
}

/* Reads "unused", the condition under which nothing reads the argument. Only inputs may have it,
   because the check reads every output. */
static ak_status read_unused(ak_argument_spec *argument, const json_t *json, ak_problem_reader *r)
{
    bool holds;
    AK_DO(ak_json_string_or(&argument->unused, json, "unused", NULL, r->where, r->err));
    if (argument->unused == NULL) {
        return AK_OK;
    }
    AK_FAIL_IF(argument->access != AK_ACCESS_IN, r->err, AK_INVALID,
               "%s: \"unused\" is for arguments with access in", r->where);
    return ak_expr_bool(&holds, argument->unused, r->sizes, r->where, r->err);
}

/* Reads the "tolerance" that holds for this output alone. */
static ak_status read_own_tolerance(ak_argument_spec *argument, const json_t *json,
                                    ak_problem_reader *r)
{
    const json_t *given = json_object_get(json, "tolerance");
    if (given == NULL) {
        return AK_OK;
    }
    AK_FAIL_IF(argument->access == AK_ACCESS_IN, r->err, AK_INVALID,
               "%s: \"tolerance\" is for arguments that are written", r->where);
    return ak_problem_read_tolerance(&argument->tolerance, given,
                                     argument->dtype_follows ? AK_DTYPE_F32 : argument->dtype, r);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Reads "dtype": "dtype", the name of a dtype, or an expression that gives a name. */
static ak_status read_dtype(ak_argument_spec *argument, const char *text, ak_problem_reader *r)
{
    argument->dtype_follows = strcmp(text, "dtype") == 0;
    if (argument->dtype_follows || ak_dtype_parse(&argument->dtype, text)) {
        return AK_OK;
    }
    if (ak_expr_is_name(text)) {
        char list[AK_DTYPE_LIST_BYTES];
        ak_dtype_list(list, ak_dtype_text, NULL, " or ");
        return ak_fail(r->err, AK_INVALID,
                       "%s: dtype \"%.40s\" is unknown; it must be \"dtype\", %s, or an expression "
                       "that gives one of these names",
                       r->where, text, list);
    }
    argument->dtype_text = text;
    return ak_dtype_choose(&argument->dtype, text, r->sizes, r->where, r->err);
}

static ak_status read_argument(ak_argument_spec *argument, const json_t *json, ak_problem_reader *r)
{
    static const char *const accesses[] = {"in", "out", "inout"}; /* in the order of ak_access */
    const char *dtype, *access, *fill, *description;
    AK_DO(ak_problem_check_object(json, argument_keys, r));
    AK_DO(ak_problem_read_name(&argument->name, json, false, r));
    AK_FAIL_IF(AK_HAS(r->problem->arguments, r->problem->argument_count, name, argument->name),
               r->err, AK_INVALID, "%s: the name \"%s\" is taken", r->where, argument->name);
    AK_DO(ak_json_string_or(&description, json, "description", "", r->where, r->err));
    AK_DO(ak_json_string_or(&dtype, json, "dtype", "dtype", r->where, r->err));
    AK_DO(ak_json_string(&access, json, "access", r->where, r->err));
    AK_DO(ak_json_string_or(&fill, json, "fill", "uniform(-1,1)", r->where, r->err));
    AK_DO(read_dtype(argument, dtype, r));
    argument->fill_usual = json_object_get(json, "fill") == NULL;
    const size_t a = AK_FIND_TEXT(accesses, AK_COUNT(accesses), access);
    AK_FAIL_IF(a == 3, r->err, AK_INVALID, "%s: access \"%.40s\" must be in, out or inout",
               r->where, access);
    argument->access = (ak_access)a;
    AK_DO(read_unused(argument, json, r));
    AK_DO(read_own_tolerance(argument, json, r));
    AK_DO(read_fill(argument, fill, r));
    return read_shape(argument, json, r);
}

ak_status ak_problem_read_arguments(ak_problem_reader *r)
{
    json_t *list = NULL;
    size_t count = 0;
    bool output = false;
    ak_problem *problem = r->problem;
    AK_DO(ak_problem_read_array(&list, &count, "arguments", AK_ARGUMENTS_MAX, r));
    for (size_t i = 0; i < count; i++) {
        ak_problem_at(r, "argument", i + 1);
        AK_DO(read_argument(&problem->arguments[i], json_array_get(list, i), r));
        output = output || problem->arguments[i].access != AK_ACCESS_IN;
        problem->argument_count++;
    }
    AK_FAIL_IF(!output, r->err, AK_INVALID,
               "%s: no argument has access out or inout, so there is nothing to check", r->path);
    return AK_OK;
}
