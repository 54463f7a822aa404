/*
 * t1_kernel.c: turns the kernel of a T1 file into the documents that problem.json and a space file
 * would hold: ProblemSize becomes the sizes, vectors become the arguments, and GlobalSize,
 * LocalSize and the grid divisors become the launch. T1 files are read as Kernel Tuner 1.5
 * (tune_kernel_T1) and BAT read them. A member of the kernel or of an argument that is not known is
 * refused by name. Some known ones have no effect, and `autokernel list` names them: those that say
 * how other tuners search, "RandomSeed", and an "Output" of 0.
 */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "space/expr.h"

#define AXES       3
#define TEXT_BYTES 512

static const char *const axis_names[AXES] = {"x", "y", "z"};
static const char *const extent_keys[AXES] = {"X", "Y", "Z"};

typedef struct converter {
    const json_t *kernel; /* "KernelSpecification" */
    const json_t *tuned;  /* "TuningParameters" */
    const char *backend;  /* "host" */
    json_t *sizes, *arguments, *passed, *constants;
    size_t axes;       /* extents of ProblemSize */
    ak_buf bytes;      /* compulsory traffic, an expression */
    const char *dtype; /* dtype of the first output */
    char where[AK_PATH_MAX + 64];
    ak_error *err;
} converter;

static const struct t1_type {
    const char *name;
    ak_dtype dtype;
    int width; /* elements of a vector type */
} types[] = {
    {"float", AK_DTYPE_F32, 1},     {"float32", AK_DTYPE_F32, 1}, {"double", AK_DTYPE_F64, 1},
    {"float64", AK_DTYPE_F64, 1},   {"half", AK_DTYPE_F16, 1},    {"float16", AK_DTYPE_F16, 1},
    {"bfloat16", AK_DTYPE_BF16, 1}, {"char", AK_DTYPE_I8, 1},     {"int8", AK_DTYPE_I8, 1},
    {"uchar", AK_DTYPE_U8, 1},      {"uint8", AK_DTYPE_U8, 1},    {"short", AK_DTYPE_I16, 1},
    {"int16", AK_DTYPE_I16, 1},     {"ushort", AK_DTYPE_U16, 1},  {"uint16", AK_DTYPE_U16, 1},
    {"int", AK_DTYPE_I32, 1},       {"int32", AK_DTYPE_I32, 1},   {"uint", AK_DTYPE_U32, 1},
    {"uint32", AK_DTYPE_U32, 1},    {"long", AK_DTYPE_I64, 1},    {"int64", AK_DTYPE_I64, 1},
    {"ulong", AK_DTYPE_U64, 1},     {"uint64", AK_DTYPE_U64, 1},  {"float2", AK_DTYPE_F32, 2},
    {"float3", AK_DTYPE_F32, 3},    {"float4", AK_DTYPE_F32, 4},  {"double2", AK_DTYPE_F64, 2},
    {"double4", AK_DTYPE_F64, 4},   {"int2", AK_DTYPE_I32, 2},    {"int4", AK_DTYPE_I32, 4},
    {"uchar4", AK_DTYPE_U8, 4},     {"char4", AK_DTYPE_I8, 4},    {"uint2", AK_DTYPE_U32, 2},
    {"uint4", AK_DTYPE_U32, 4}};

/* Writes a number or an expression as a text; "ProblemSize[0]" becomes "problem_size_x". */
static ak_status expression(char out[TEXT_BYTES], const json_t *value, const char *what,
                            converter *c)
{
    static const char indexed[] = "ProblemSize[";
    const char *text = json_string_value(value);
    size_t used = 0;
    if (json_is_integer(value)) {
        (void)snprintf(out, TEXT_BYTES, "%lld", (long long)json_integer_value(value));
        return AK_OK;
    }
    if (json_is_real(value)) {
        (void)ak_number_print(out, TEXT_BYTES, "%.17g", json_real_value(value));
        return AK_OK;
    }
    AK_FAIL_IF(text == NULL || *text == 0, c->err, AK_INVALID,
               "%s: %s must be a number or an expression", c->where, what);
    while (*text != 0 && used + sizeof "problem_size_x" < TEXT_BYTES) {
        size_t index =
            (size_t)(text[strlen(text) < sizeof indexed - 1 ? 0 : sizeof indexed - 1]) - '0';
        if (strncmp(text, indexed, sizeof indexed - 1) == 0 && index < c->axes &&
            text[sizeof indexed] == ']') {
            used += (size_t)snprintf(out + used, TEXT_BYTES - used, "problem_size_%s",
                                     axis_names[index]);
            text += sizeof indexed + 1;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = 0;
    return *text == 0 ? AK_OK
                      : ak_fail(c->err, AK_LIMIT, "%s: %s is longer than %d bytes", c->where, what,
                                TEXT_BYTES);
}

static bool is_parameter(const converter *c, const char *name)
{
    AK_EACH(parameter, c->tuned) {
        if (ak_json_text_is(parameter, "Name", name)) {
            return true;
        }
    }
    return false;
}

/* ---- sizes --------------------------------------------------------------------------------- */

static ak_status read_sizes(converter *c)
{
    const json_t *sizes = json_object_get(c->kernel, "ProblemSize");
    size_t count = json_is_array(sizes) ? json_array_size(sizes) : 1;
    AK_FAIL_IF(sizes == NULL || count < 1 || count > AXES, c->err, AK_INVALID,
               "%s: \"ProblemSize\" must be a number, or a list of 1 to 3 numbers", c->where);
    for (size_t i = 0; i < count; i++) {
        const json_t *size = json_is_array(sizes) ? json_array_get(sizes, i) : sizes;
        char name[24];
        int64_t value = json_integer_value(size);
        if (json_is_string(size) && !ak_text_int(&value, json_string_value(size))) {
            value = 0;
        }
        AK_FAIL_IF(value < 1, c->err, AK_INVALID, "%s: ProblemSize[%zu] must be a number above 0",
                   c->where, i);
        (void)snprintf(name, sizeof name, "problem_size_%s", axis_names[i]);
        json_t *declared = json_pack("{s:s, s:I}", "name", name, "default", (json_int_t)value);
        AK_DO(ak_stored(ak_json_append(c->sizes, declared), c->err));
        c->axes = i + 1;
    }
    return AK_OK;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* Gives a vector's fill, in the words of problem.json. */
static ak_status read_fill(char out[TEXT_BYTES + 16], const json_t *argument,
                           const struct t1_type *type, converter *c)
{
    const char *fill = NULL, *source = NULL;
    char value[TEXT_BYTES] = "0";
    const json_t *given = json_object_get(argument, "FillValue");
    bool whole = !ak_dtype_is_float(type->dtype);
    AK_DO(ak_json_string_or(&fill, argument, "FillType", "Constant", c->where, c->err));
    AK_DO(ak_json_string_or(&source, argument, "DataSource", NULL, c->where, c->err));
    if (given != NULL && !json_is_null(given)) {
        AK_DO(expression(value, given, "FillValue", c));
    }
    AK_FAIL_IF(source != NULL && strcmp(fill, "BinaryRaw") != 0, c->err, AK_INVALID,
               "%s: \"DataSource\" is read with the \"FillType\" BinaryRaw only, not %.40s",
               c->where, fill);
    if (strcmp(fill, "Constant") == 0 || strcmp(fill, "Uninitialized") == 0) {
        (void)snprintf(out, TEXT_BYTES + 16, "constant(%s)", value);
    } else if (strcmp(fill, "Random") == 0) {
        (void)snprintf(out, TEXT_BYTES + 16, whole ? "uniform(0,100)" : "uniform(0,1)");
    } else if (strcmp(fill, "BinaryRaw") == 0 && source != NULL) {
        (void)snprintf(out, TEXT_BYTES + 16, "file(%.400s)", source);
    } else {
        return ak_fail(c->err, AK_INVALID,
                       "%s: \"FillType\" %.40s is not supported%s; Constant, Random, Uninitialized "
                       "and BinaryRaw (with \"DataSource\") are",
                       c->where, fill,
                       strcmp(fill, "BinaryRaw") == 0 ? " without a \"DataSource\"" : "");
    }
    return AK_OK;
}

static ak_status read_access(const char **out, const json_t *argument, converter *c)
{
    static const struct {
        const char *t1, *ours;
    } accesses[] = {{"ReadOnly", "in"}, {"WriteOnly", "out"}, {"ReadWrite", "inout"}};
    const char *access = NULL;
    AK_DO(ak_json_string_or(&access, argument, "AccessType", "", c->where, c->err));
    const size_t i = AK_FIND(accesses, AK_COUNT(accesses), t1, access);
    AK_FAIL_IF(i == AK_COUNT(accesses), c->err, AK_INVALID,
               "%s: \"AccessType\" is \"%.40s\"; it must be ReadOnly, WriteOnly or ReadWrite",
               c->where, access);
    *out = accesses[i].ours;
    return AK_OK;
}

static ak_status add_vector(const json_t *argument, const char *name, const struct t1_type *type,
                            converter *c)
{
    char size[TEXT_BYTES], shape[TEXT_BYTES + 16], fill[TEXT_BYTES + 16];
    const char *access = "in", *memory = NULL;
    AK_DO(ak_json_string_or(&memory, argument, "MemType", "Global", c->where, c->err));
    bool constant = strcmp(memory, "Constant") == 0;
    AK_FAIL_IF(strcmp(memory, "Global") != 0 && !constant, c->err, AK_INVALID,
               "%s: \"MemType\" %.40s is not supported for %s; pass it as global memory", c->where,
               memory, c->backend);
    /* In CUDA, constant memory is a variable of the module and not a parameter of the kernel. */
    constant = constant && strcmp(c->backend, "cuda") == 0;
    char renamed[AK_KERNEL_NAME_MAX + 2];
    (void)snprintf(renamed, sizeof renamed, "%s_", name);
    if (!constant && !ak_expr_is_name(name) && ak_expr_is_name(renamed)) {
        name = renamed; /* "in" is a keyword, so it becomes "in_" */
    }
    const json_t *count = json_object_get(argument, "Size");
    AK_DO(count == NULL ? ak_fail(c->err, AK_INVALID, "%s: a vector needs a \"Size\"", c->where)
                        : expression(size, count, "Size", c));
    AK_DO(read_access(&access, argument, c));
    AK_DO(read_fill(fill, argument, type, c));
    (void)snprintf(shape, sizeof shape, type->width == 1 ? "%s" : "(%s)*%d", size, type->width);
    json_t *made = json_pack("{s:s, s:s, s:[s], s:s}", "name", name, "dtype",
                             ak_dtype_text(type->dtype), "shape", shape, "access", access);
    bool good = made != NULL;
    if (good && strcmp(access, "out") != 0) {
        good = ak_json_set_text(made, "fill", fill);
    }
    good = ak_json_append(c->arguments, made) && good;
    good = good && (constant ? ak_json_append(c->constants, json_string(name))
                             : ak_json_append(c->passed, json_pack("{s:s}", "Buffer", name)));
    AK_DO(ak_stored(good, c->err));
    c->dtype =
        c->dtype == NULL && strcmp(access, "in") != 0 ? ak_dtype_text(type->dtype) : c->dtype;
    ak_buf_print(&c->bytes, "%s(%s)*%zu", c->bytes.length == 0 ? "" : " + ", shape,
                 (strcmp(access, "inout") == 0 ? 2 : 1) * ak_dtype_bytes(type->dtype));
    return ak_buf_status(&c->bytes, c->err);
}

/* Checks "TypeSize", "Output" and "RandomSeed". TypeSize is the number of bytes of an element, as
   in KTT, and an Output of 1 marks an argument whose results are compared, as in BAT. Both follow
   from other members here, which they must not contradict. */
static ak_status check_marks(const json_t *argument, const struct t1_type *type, bool scalar,
                             converter *c)
{
    const int64_t bytes = type->width * (int64_t)ak_dtype_bytes(type->dtype);
    const json_t *mark = json_object_get(argument, "Output");
    const bool wanted =
        json_is_true(mark) || (json_is_integer(mark) && json_integer_value(mark) == 1);
    const bool unwanted = mark == NULL || json_is_null(mark) || json_is_false(mark) ||
                          (json_is_integer(mark) && json_integer_value(mark) == 0);
    int64_t given, seed;
    AK_DO(ak_json_int_or(&given, argument, "TypeSize", bytes, c->where, c->err));
    AK_FAIL_IF(given != bytes, c->err, AK_INVALID,
               "%s: \"TypeSize\" is %lld, but an element of the \"Type\" %s has %lld byte%s: "
               "correct one of the two",
               c->where, (long long)given, type->name, (long long)bytes, ak_plural((size_t)bytes));
    AK_DO(ak_json_int_or(&seed, argument, "RandomSeed", 0, c->where, c->err));
    AK_FAIL_IF(!wanted && !unwanted, c->err, AK_INVALID, "%s: \"Output\" must be 0 or 1", c->where);
    AK_FAIL_IF(wanted && scalar, c->err, AK_INVALID,
               "%s: \"Output\" is 1, but the kernel cannot write a scalar: leave it out, or pass "
               "a Vector",
               c->where);
    AK_FAIL_IF(wanted && ak_json_text_is(argument, "AccessType", "ReadOnly"), c->err, AK_INVALID,
               "%s: \"Output\" is 1, but \"AccessType\" is ReadOnly, so no result would be "
               "compared: make it WriteOnly or ReadWrite, or leave \"Output\" out",
               c->where);
    return AK_OK;
}

static ak_status add_argument(const json_t *argument, converter *c)
{
    static const char *const known[] = {
        "Name",    "Type",       "MemoryType", "AccessType", "FillType", "FillValue", "Size",
        "MemType", "DataSource", "Output",     "RandomSeed", "TypeSize", NULL};
    const char *name = NULL, *type = NULL, *kind = NULL;
    char value[TEXT_BYTES];
    AK_DO(ak_json_string(&name, argument, "Name", c->where, c->err));
    (void)snprintf(c->where + strlen(c->where), sizeof c->where - strlen(c->where), " (%.60s)",
                   name);
    AK_DO(ak_json_only(argument, known, c->where, c->err));
    AK_DO(ak_json_string(&type, argument, "Type", c->where, c->err));
    AK_DO(ak_json_string_or(&kind, argument, "MemoryType", "Vector", c->where, c->err));
    const struct t1_type *found = types + AK_FIND(types, AK_COUNT(types), name, type);
    bool scalar = strcmp(kind, "Scalar") == 0;
    AK_FAIL_IF(!scalar && strcmp(kind, "Vector") != 0, c->err, AK_INVALID,
               "%s: \"MemoryType\" %.40s is not supported; Vector and Scalar are", c->where, kind);
    AK_FAIL_IF(found == types + AK_COUNT(types) ||
                   (scalar && (found->width > 1 || ak_dtype_scalar(found->dtype) == NULL)),
               c->err, AK_INVALID, "%s: a %s of \"Type\" %.40s is not supported", c->where,
               scalar ? "scalar" : "vector", type);
    AK_DO(check_marks(argument, found, scalar, c));
    if (!scalar) {
        return add_vector(argument, name, found, c);
    }
    const json_t *given = json_object_get(argument, "FillValue");
    AK_DO(given == NULL
              ? ak_fail(c->err, AK_INVALID, "%s: a scalar needs a \"FillValue\"", c->where)
              : expression(value, given, "FillValue", c));
    json_t *passed = json_pack("{s:s}", ak_dtype_scalar(found->dtype), value);
    return ak_stored(ak_json_append(c->passed, passed), c->err);
}

static ak_status read_arguments(converter *c)
{
    json_t *list = NULL;
    const size_t length = strlen(c->where);
    AK_DO(ak_json_array_or_null(&list, c->kernel, "Arguments", c->where, c->err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        (void)snprintf(c->where + length, sizeof c->where - length, ": argument %zu", i + 1);
        AK_DO(add_argument(json_array_get(list, i), c));
        c->where[length] = 0;
    }
    AK_FAIL_IF(c->dtype == NULL, c->err, AK_INVALID,
               "%s: no argument has the \"AccessType\" WriteOnly or ReadWrite, so there is nothing "
               "to check",
               c->where);
    return AK_OK;
}

/* Refuses members of the launch with a wrong type or value, which would otherwise be ignored. */
static ak_status check_launch(converter *c)
{
    static const char *const axes[] = {"X", "Y", "Z", NULL};
    static const char *const sizes[] = {"LocalSize", "GlobalSize"};
    static const char *const kinds[] = {"CUDA", "OpenCL", NULL};
    const char *type = NULL;
    char where[AK_PATH_MAX + 96];
    for (size_t i = 0; i < 2; i++) {
        const json_t *size = json_object_get(c->kernel, sizes[i]);
        (void)snprintf(where, sizeof where, "%s: \"%s\"", c->where, sizes[i]);
        AK_FAIL_IF(size != NULL && !json_is_object(size) && !json_is_null(size), c->err, AK_INVALID,
                   "%s must be an object with X, Y and Z", where);
        AK_DO(json_is_object(size) ? ak_json_only(size, axes, where, c->err) : AK_OK);
    }
    for (size_t i = 0; i < AXES; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "GridDiv%s", extent_keys[i]);
        const json_t *given = json_object_get(c->kernel, key);
        AK_FAIL_IF(given != NULL && !json_is_array(given) && !json_is_string(given) &&
                       !json_is_null(given),
                   c->err, AK_INVALID,
                   "%s: \"%s\" must be a list of names and expressions, or one of them", c->where,
                   key);
    }
    AK_DO(ak_json_string_or(&type, c->kernel, "GlobalSizeType", "CUDA", c->where, c->err));
    AK_FAIL_IF(!ak_text_is_one_of(type, kinds), c->err, AK_INVALID,
               "%s: \"GlobalSizeType\" is \"%.40s\"; it must be CUDA or OpenCL", c->where, type);
    return AK_OK;
}

/* ---- launch -------------------------------------------------------------------------------- */

/* Gives an expression for the extent of the work-group along an axis: its member of "LocalSize",
   else the parameter block_size_x (y, z), else 256 along x if "LocalSize" is missing, else 1. */
static ak_status block_extent(char out[TEXT_BYTES], size_t axis, converter *c)
{
    const json_t *local = json_object_get(c->kernel, "LocalSize");
    const json_t *given = json_object_get(local, extent_keys[axis]);
    char parameter[24];
    (void)snprintf(parameter, sizeof parameter, "block_size_%s", axis_names[axis]);
    if (given != NULL) {
        return expression(out, given, "LocalSize", c);
    }
    (void)snprintf(out, TEXT_BYTES, "%s",
                   is_parameter(c, parameter)   ? parameter
                   : axis == 0 && local == NULL ? "256"
                                                : "1");
    return AK_OK;
}

/* Gives an expression for the number that the problem size along an axis is divided by: the product
   of the grid divisors, else the parameter block_size_x (y, z) as in Kernel Tuner, else 1. */
static ak_status divisor(char out[3 * TEXT_BYTES], size_t axis, converter *c)
{
    char key[16], text[TEXT_BYTES], parameter[24];
    (void)snprintf(key, sizeof key, "GridDiv%s", extent_keys[axis]);
    (void)snprintf(parameter, sizeof parameter, "block_size_%s", axis_names[axis]);
    const json_t *given = json_object_get(c->kernel, key);
    size_t count = json_is_array(given) ? json_array_size(given) : json_is_string(given) ? 1 : 0;
    size_t used = 0;
    if (count == 0) {
        (void)snprintf(out, TEXT_BYTES, "%s", is_parameter(c, parameter) ? parameter : "1");
        return AK_OK;
    }
    for (size_t i = 0; i < count; i++) {
        AK_DO(expression(text, json_is_array(given) ? json_array_get(given, i) : given, key, c));
        int wrote = snprintf(out + used, 3 * TEXT_BYTES - used, "%s(%s)", i == 0 ? "" : "*", text);
        used += (size_t)wrote;
        AK_FAIL_IF(used >= 3 * TEXT_BYTES, c->err, AK_LIMIT, "%s: %s is too long", c->where, key);
    }
    return AK_OK;
}

static ak_status grid_extent(char out[8 * TEXT_BYTES], size_t axis, const char *block, converter *c)
{
    const json_t *global = json_object_get(c->kernel, "GlobalSize");
    const char *type = NULL;
    char text[3 * TEXT_BYTES];
    AK_DO(ak_json_string_or(&type, c->kernel, "GlobalSizeType",
                            strcmp(c->backend, "cuda") == 0 ? "CUDA" : "OpenCL", c->where, c->err));
    if (json_is_object(global)) {
        const json_t *given = json_object_get(global, extent_keys[axis]);
        if (given == NULL) {
            (void)snprintf(text, sizeof text, "%s", strcmp(type, "CUDA") == 0 ? "1" : block);
        } else {
            AK_DO(expression(text, given, "GlobalSize", c));
        }
        (void)snprintf(out, 8 * TEXT_BYTES, strcmp(type, "CUDA") == 0 ? "%s" : "(%s)//(%s)", text,
                       block);
        return AK_OK;
    }
    AK_DO(divisor(text, axis, c));
    if (axis >= c->axes) {
        (void)snprintf(out, 8 * TEXT_BYTES, "1");
    } else {
        (void)snprintf(out, 8 * TEXT_BYTES, "(problem_size_%s + (%s) - 1)//(%s)", axis_names[axis],
                       text, text);
    }
    return AK_OK;
}

static ak_status make_launch(json_t **out, converter *c)
{
    json_auto_t *launch = json_object(), *block = json_array(), *grid = json_array();
    const json_t *shared = json_object_get(c->kernel, "SharedMemory");
    char text[TEXT_BYTES], cells[8 * TEXT_BYTES];
    bool good = launch != NULL && block != NULL && grid != NULL;
    bool device = strcmp(c->backend, "host") != 0;
    for (size_t i = 0; good && device && i < AXES; i++) {
        AK_DO(block_extent(text, i, c));
        AK_DO(grid_extent(cells, i, text, c));
        good = ak_json_append(block, json_string(text)) && ak_json_append(grid, json_string(cells));
    }
    if (good && device) {
        good = json_object_set(launch, "Block", block) == 0 &&
               json_object_set(launch, "Grid", grid) == 0;
    }
    if (good && device && shared != NULL && !json_is_null(shared) &&
        !(json_is_integer(shared) && json_integer_value(shared) == 0)) {
        AK_DO(expression(text, shared, "SharedMemory", c));
        good = ak_json_set_text(launch, "SharedMemory", text);
    }
    good = good && json_object_set(launch, "Arguments", c->passed) == 0;
    good = good && (json_array_size(c->constants) == 0 ||
                    json_object_set(launch, "Constants", c->constants) == 0);
    AK_DO(ak_stored(good, c->err));
    *out = launch;
    launch = NULL;
    return AK_OK;
}

/* ---- the documents --------------------------------------------------------------------------- */

static ak_status make_space(json_t **out, const json_t *document, converter *c)
{
    static const char *const kept[] = {"CompilerOptions", "KernelName", NULL};
    json_auto_t *launch = NULL, *kernel = json_object(), *needs = json_array();
    const char *file = ak_json_text_or_null(c->kernel, "KernelFile");
    const char *language = ak_json_text_or_null(c->kernel, "Language");
    AK_DO(make_launch(&launch, c));
    bool good = ak_json_set_text(kernel, "Language", language) &&
                ak_json_set_text(kernel, "KernelFile", file) &&
                ak_json_set(kernel, "Launch", json_incref(launch));
    for (size_t i = 0; good && kept[i] != NULL; i++) {
        json_t *value = json_object_get(c->kernel, kept[i]);
        good = value == NULL || json_is_null(value) || json_object_set(kernel, kept[i], value) == 0;
    }
    for (size_t i = 0; good && i < json_array_size(c->sizes); i++) {
        const json_t *size = json_array_get(c->sizes, i);
        const char *name = ak_json_text_at(size, "name");
        char text[96];
        (void)snprintf(text, sizeof text, "%s == %lld", name,
                       (long long)json_integer_value(json_object_get(size, "default")));
        good = ak_json_append(
            needs, json_pack("{s:s, s:s}", "Expression", text, "Description",
                             "the ProblemSize of the T1 file, whose arguments have fixed "
                             "sizes and values"));
    }
    good = good && json_object_set(kernel, "Needs", needs) == 0;
    json_t *space =
        json_pack("{s:O, s:O}", "ConfigurationSpace",
                  json_object_get(document, "ConfigurationSpace"), "KernelSpecification", kernel);
    return ak_json_give(out, space, good, c->err);
}

static ak_status make_problem(json_t **out, const char *name, converter *c)
{
    const json_t *reference = json_object_get(c->kernel, "Reference");
    json_t *given =
        reference == NULL ? json_string("default") : json_incref((json_t *)(uintptr_t)reference);
    char description[120];
    (void)snprintf(description, sizeof description, "%.60s of a T1 file",
                   ak_json_text_at(c->kernel, "KernelName"));
    *out = json_pack("{s:i, s:s, s:s, s:O, s:[s], s:[], s:O, s:s, s:s, s:o, s:{s:{s:s, s:s}}}",
                     "schema", 1, "name", name, "description", description, "sizes", c->sizes,
                     "dtypes", c->dtype, "choices", "arguments", c->arguments, "flops", "0",
                     "bytes", ak_or_empty(c->bytes.data), "reference", given, "tolerance", c->dtype,
                     "relative", "100*eps", "rms", "100*eps");
    return ak_made(*out, c->err);
}

static void converter_clear(converter *c)
{
    json_decref(c->sizes);
    json_decref(c->arguments);
    json_decref(c->passed);
    json_decref(c->constants);
    ak_buf_free(&c->bytes);
}

ak_status ak_t1_convert(json_t **problem, json_t **space, const json_t *document, const char *name,
                        const char *where, ak_error *err)
{
    const char *backend;
    AK_DO(ak_t1_backend(&backend, document, where, err));
    /* The members that T1 files may have. Some are not read here, but Kernel Tuner or BAT read or
       write them. */
    static const char *const known[] = {
        "Language",      "KernelName",      "KernelFile", "CompilerOptions",
        "BenchmarkName", "LocalSize",       "GlobalSize", "GlobalSizeType",
        "GridDivX",      "GridDivY",        "GridDivZ",   "ProblemSize",
        "SharedMemory",  "Arguments",       "Reference",  "Device",
        "Stream",        "SimulationInput", NULL};
    AK_AT_END(converter_clear)
    converter c = {.kernel = json_object_get(document, "KernelSpecification"),
                   .tuned = json_object_get(json_object_get(document, "ConfigurationSpace"),
                                            "TuningParameters"),
                   .backend = backend,
                   .sizes = json_array(),
                   .arguments = json_array(),
                   .passed = json_array(),
                   .constants = json_array(),
                   .bytes = AK_BUF(AK_EXPR_TEXT_MAX),
                   .err = err};
    (void)snprintf(c.where, sizeof c.where, "%s", where);
    AK_DO(ak_made(c.constants, err));
    AK_DO(ak_stored(c.sizes != NULL && c.arguments != NULL && c.passed != NULL, err));
    AK_FAIL_IF(!json_is_object(json_object_get(document, "ConfigurationSpace")), err, AK_INVALID,
               "%s: \"ConfigurationSpace\" must be an object", where);
    AK_EACH_MEMBER(key, value, c.kernel) {
        if (!ak_text_is_one_of(key, known) ||
            (strcmp(key, "Stream") == 0 && !json_is_null(value))) {
            const char *near = ak_text_meant(key, known);
            near = near != NULL && strcmp(near, key) != 0 ? near : NULL;
            return ak_fail(err, AK_INVALID, "%s: \"%.60s\" of a T1 file is not supported%s%s%s",
                           c.where, key, near == NULL ? "" : "; did you mean \"", ak_or_empty(near),
                           near == NULL ? "" : "\"?");
        }
    }
    AK_DO(read_sizes(&c));
    AK_DO(check_launch(&c));
    AK_DO(read_arguments(&c));
    AK_DO(make_problem(problem, name, &c));
    ak_status status = make_space(space, document, &c);
    if (status != AK_OK) {
        json_decref(*problem);
        *problem = NULL;
    }
    return status;
}
