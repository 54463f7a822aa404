/* launch.c: walks over the description of a launch for two purposes: to find mistakes when the file
   is loaded (without a scope, expressions are only parsed), and to evaluate the description for a
   launch. */
#include "backend/launch/launch.h"

#include <string.h>

#include "base/fs.h"
#include "space/let.h"

/* No CUDA device allows more. An OpenCL device states how large a block may be. */
#define GRID_X_MAX    INT32_MAX
#define GRID_YZ_MAX   65535
#define BLOCK_MAX     1024
#define CLUSTER_MAX   16
#define SHARED_MAX    (1 << 20)
#define BOX_MAX       256
#define TENSOR_MAX    (INT64_C(1) << 32)
#define WORKSPACE_MAX (INT64_C(1) << 48)
#define RESIDENT      "resident_clusters"
#define MEMBER_MAX    80
#define EXTENTS       3
#define WHERE_MAX     256

static const char *const launch_keys[] = {
    "Let",        "Block",     "Cluster",    "SharedMemory", "Grid",
    "TensorMaps", "Arguments", "KernelName", "LaunchEarly",  "SizedKernelName",
    "Use",        "Constants", NULL};
static const char *const map_keys[] = {"Name",    "Buffer",    "Sizes", "Strides",   "Box",
                                       "Swizzle", "Promotion", "Use",   "Workspace", NULL};
#define SCALAR_KEY(name, text, kind, bytes, epsilon, type, numpy, scalar, ...) scalar,
static const char *const pass_keys[] = {"Buffer", "Workspace", "Null", "TensorMap",
                                        AKR_DTYPE_MAP(SCALAR_KEY) NULL};
#undef SCALAR_KEY

typedef struct reader {
    const ak_problem *problem;
    ak_scope *scope;      /* NULL: the reader only looks for mistakes */
    const json_t *launch; /* the current kernel */
    bool own_size;        /* the shape is the task's own */
    bool needs_block;
    char where[WHERE_MAX];
    const char *map_names[AK_LAUNCH_MAPS_MAX];
    ak_error *err;
} reader;

/* ---- values ---------------------------------------------------------------------------------- */

static ak_status parse_only(const char *text, const char *place, reader *r)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    return ak_expr_parse(&expr, text, place, r->err);
}

static ak_status evaluate(ak_value *out, const json_t *value, const char *what, reader *r)
{
    char buffer[AK_WRITTEN_BYTES], place[WHERE_MAX + MEMBER_MAX];
    const char *text = ak_written_text(buffer, value);
    *out = (ak_value){.type = AK_VALUE_INT};
    (void)snprintf(place, sizeof place, "%s: %s", r->where, what);
    AK_FAIL_IF(text == NULL, r->err, AK_INVALID, "%s must be an expression or a number", place);
    if (r->scope == NULL) {
        return parse_only(text, place, r);
    }
    double real;
    AK_DO(ak_expr_real(&real, text, r->scope, place, r->err));
    if (real >= -9007199254740992.0 && real <= 9007199254740992.0 &&
        (double)(int64_t)real == real) {
        *out = (ak_value){.type = AK_VALUE_INT, .as.integer = (int64_t)real};
    } else {
        *out = (ak_value){.type = AK_VALUE_REAL, .as.real = real};
    }
    return AK_OK;
}

typedef struct range {
    int64_t low, high;
} range;

/* Evaluates a whole number in a range. Without a scope, gives the low end of the range. */
static ak_status whole(int64_t *out, const json_t *value, const char *what, range in, reader *r)
{
    ak_value found;
    AK_DO(evaluate(&found, value, what, r));
    *out = in.low;
    if (r->scope == NULL) {
        return AK_OK;
    }
    if (found.type != AK_VALUE_INT || found.as.integer < in.low || found.as.integer > in.high) {
        char text[64], buffer[64];
        const char *expression = json_is_string(value) ? ak_written_text(buffer, value) : "";
        const char *quote = expression[0] == 0 ? "" : "\"";
        (void)ak_value_format(text, sizeof text, &found);
        return ak_fail(r->err, AK_INVALID,
                       "%s: %s%s%s%.160s%s is %s; it must be a whole number from %lld to %lld",
                       r->where, what, expression[0] == 0 ? "" : ": ", quote, expression, quote,
                       text, (long long)in.low, (long long)in.high);
    }
    *out = found.as.integer;
    return AK_OK;
}

/* Evaluates a member of an object; *out keeps its value if there is none. */
static ak_status member(int64_t *out, const json_t *object, const char *key, range in, reader *r)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL ? AK_OK : whole(out, value, key, in, r);
}

/* A list of up to `max` whole numbers. */
typedef struct numbers {
    int64_t at[EXTENTS > AK_LAUNCH_RANK_MAX ? EXTENTS : AK_LAUNCH_RANK_MAX];
    size_t max, count;
} numbers;

static ak_status list(numbers *out, const json_t *object, const char *key, range in, reader *r)
{
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, object, key, r->where, r->err));
    out->count = json_array_size(array);
    AK_FAIL_IF(out->count > out->max, r->err, AK_INVALID,
               "%s: %s has %zu entries; at most %zu are possible", r->where, key, out->count,
               out->max);
    for (size_t i = 0; i < out->count; i++) {
        char what[MEMBER_MAX];
        (void)snprintf(what, sizeof what, "%s[%zu]", key, i);
        AK_DO(whole(&out->at[i], json_array_get(array, i), what, in, r));
    }
    return AK_OK;
}

static ak_status extents(uint32_t out[EXTENTS], const char *key, bool needed, int64_t high,
                         int64_t high_yz, reader *r)
{
    numbers found = {.at = {1, 1, 1}, .max = EXTENTS};
    AK_DO(list(&found, r->launch, key, (range){1, high}, r));
    AK_FAIL_IF(needed && found.count == 0, r->err, AK_INVALID, "%s: \"%s\" is missing", r->where,
               key);
    for (size_t i = 0; i < EXTENTS; i++) {
        AK_FAIL_IF(i > 0 && found.at[i] > high_yz, r->err, AK_INVALID,
                   "%s: %s[%zu] is %lld; it must be at most %lld", r->where, key, i,
                   (long long)found.at[i], (long long)high_yz);
        out[i] = (uint32_t)found.at[i];
    }
    return AK_OK;
}

static ak_status argument(size_t *out, const json_t *name, reader *r)
{
    const size_t count = r->problem->argument_count;
    const char *names[AK_ARGUMENTS_MAX + 1] = {NULL};
    const char *wrong = json_is_string(name) ? json_string_value(name) : "";
    *out = AK_FIND(r->problem->arguments, count, name, wrong);
    if (*out < count) {
        return AK_OK;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = r->problem->arguments[i].name;
    }
    const char *near = ak_text_nearest(wrong, names);
    return ak_fail(r->err, AK_INVALID, "%s: Buffer \"%.60s\" is not an argument of %s%s%s%s",
                   r->where, wrong, r->problem->name, near == NULL ? "" : "; did you mean \"",
                   ak_or_empty(near), near == NULL ? "" : "\"?");
}

/* ---- parts ----------------------------------------------------------------------------------- */

static ak_status read_let(reader *r)
{
    json_t *let;
    AK_DO(ak_let_read(&let, r->launch, r->where, r->err));
    AK_EACH(object, let) {
        const char *name = ak_json_text_at(object, "Name");
        ak_value value;
        AK_DO(evaluate(&value, json_object_get(object, "Value"), name, r));
        if (r->scope != NULL) {
            AK_DO(ak_scope_set(r->scope, name, value, r->err));
        }
    }
    return AK_OK;
}

static ak_status check_map(const ak_launch_map *map, size_t strides, const char *name, size_t bytes,
                           reader *r)
{
    static const int swizzles[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256};
    bool swizzle = false, promotion = false;
    for (size_t i = 0; i < 4; i++) {
        swizzle = swizzle || map->swizzle == swizzles[i];
        promotion = promotion || map->promotion == promotions[i];
    }
    AK_FAIL_IF(
        !swizzle || !promotion, r->err, AK_INVALID,
        "%s: TensorMaps: %s: Swizzle must be 0, 32, 64 or 128 and Promotion 0, 64, 128 or 256",
        r->where, name);
    AK_FAIL_IF(
        map->swizzle > 0 && map->box[0] * bytes > (size_t)map->swizzle, r->err, AK_INVALID,
        "%s: TensorMaps: %s: the first extent of the box is %zu bytes, more than the swizzle of %d",
        r->where, name, map->box[0] * bytes, map->swizzle);
    AK_FAIL_IF(map->offset % 16 != 0, r->err, AK_INVALID,
               "%s: TensorMaps: %s: the offset %llu in the workspace is not a multiple of 16 bytes",
               r->where, name, (unsigned long long)map->offset);
    for (size_t i = 0; i < strides; i++) {
        AK_FAIL_IF(map->stride[i] % 16 != 0, r->err, AK_INVALID,
                   "%s: TensorMaps: %s: the stride %llu is not a multiple of 16 bytes", r->where,
                   name, (unsigned long long)map->stride[i]);
    }
    return AK_OK;
}

static ak_status read_map(ak_launch_map *out, const char **name, const json_t *object,
                          const ak_task *task, reader *r)
{
    numbers size = {.max = AK_LAUNCH_RANK_MAX}, stride = {.max = AK_LAUNCH_RANK_MAX - 1},
            box = {.max = AK_LAUNCH_RANK_MAX};
    int64_t swizzle = 0, promotion = 0, copy = -1, use = 1;
    AK_DO(ak_json_only(object, map_keys, r->where, r->err));
    AK_DO(ak_json_string(name, object, "Name", r->where, r->err));
    AK_DO(argument(&out->argument, json_object_get(object, "Buffer"), r));
    AK_DO(member(&use, object, "Use", (range){0, 1}, r));
    if (r->scope != NULL && use == 0) {
        return AK_OK;
    }
    AK_DO(list(&size, object, "Sizes", (range){1, TENSOR_MAX}, r));
    AK_DO(list(&stride, object, "Strides", (range){16, TENSOR_MAX * 256}, r));
    AK_DO(list(&box, object, "Box", (range){1, BOX_MAX}, r));
    AK_DO(member(&swizzle, object, "Swizzle", (range){0, 128}, r));
    AK_DO(member(&promotion, object, "Promotion", (range){0, 256}, r));
    AK_DO(member(&copy, object, "Workspace", (range){-1, WORKSPACE_MAX}, r));
    const size_t rank = size.count, strides = stride.count, boxes = box.count;
    AK_FAIL_IF(rank == 0 || boxes != rank || (strides != 0 && strides != rank - 1), r->err,
               AK_INVALID,
               "%s: TensorMaps: %s needs as many numbers in Box as in Sizes, and one less or none "
               "in Strides",
               r->where, *name);
    if (r->scope == NULL || task == NULL) { /* without a scope there is no task */
        return AK_OK;
    }
    size_t bytes = ak_dtype_bytes(ak_task_argument_dtype(task, out->argument));
    out->used = true;
    out->rank = (unsigned)rank;
    out->swizzle = (int)swizzle;
    out->promotion = (int)promotion;
    out->in_workspace = copy >= 0;
    out->offset = copy >= 0 ? (uint64_t)copy : 0;
    uint64_t packed = bytes;
    for (size_t i = 0; i < rank; i++) {
        out->size[i] = (uint64_t)size.at[i];
        out->box[i] = (uint32_t)box.at[i];
        packed = packed > UINT64_MAX / out->size[i] ? UINT64_MAX : packed * out->size[i];
        if (i + 1 < rank) {
            out->stride[i] = strides == 0 ? packed : (uint64_t)stride.at[i];
        }
    }
    return check_map(out, rank - 1, *name, bytes, r);
}

static ak_status read_maps(ak_launch_kernel *out, const ak_task *task, reader *r)
{
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, r->launch, "TensorMaps", r->where, r->err));
    out->map_count = json_array_size(array);
    AK_FAIL_IF(out->map_count > AK_LAUNCH_MAPS_MAX, r->err, AK_LIMIT, "%s: more than %d TensorMaps",
               r->where, AK_LAUNCH_MAPS_MAX);
    for (size_t i = 0; i < out->map_count; i++) {
        AK_DO(read_map(&out->maps[i], &r->map_names[i], json_array_get(array, i), task, r));
    }
    return AK_OK;
}

static ak_status pass_map(ak_pass *out, const json_t *name, const ak_launch_kernel *kernel,
                          reader *r)
{
    const char *wanted = json_is_string(name) ? json_string_value(name) : "";
    out->kind = AK_PASS_MAP;
    out->index = AK_FIND_TEXT(r->map_names, kernel->map_count, wanted);
    AK_FAIL_IF(out->index >= kernel->map_count, r->err, AK_INVALID,
               "%s: Arguments: there is no tensor map \"%.60s\"", r->where, wanted);
    return AK_OK;
}

static ak_status pass_value(ak_pass *out, const json_t *value, const char *key, reader *r)
{
    ak_value found;
    ak_dtype_range holds;
    out->kind = AK_PASS_VALUE;
    if (ak_dtype_holds(&holds, out->dtype)) {
        return whole(&out->integer, value, key, (range){(int64_t)holds.low, (int64_t)holds.high},
                     r);
    }
    ak_status status = evaluate(&found, value, key, r);
    out->real = found.type == AK_VALUE_INT ? (double)found.as.integer : found.as.real;
    return status;
}

size_t ak_pass_encode(void *out, const ak_pass *pass)
{
    const size_t bytes = ak_dtype_bytes(pass->dtype);
    const float single = (float)pass->real;
    memcpy(out,
           !ak_dtype_is_float(pass->dtype) ? (const void *)&pass->integer /* its low bytes */
           : bytes == sizeof single        ? (const void *)&single
                                           : &pass->real,
           bytes);
    return bytes;
}

static ak_status read_pass(ak_pass *out, const json_t *object, const ak_launch_kernel *kernel,
                           reader *r)
{
    AK_DO(ak_json_only(object, pass_keys, r->where, r->err));
    AK_FAIL_IF(json_object_size(object) != 1, r->err, AK_INVALID,
               "%s: each of Arguments must have one member", r->where);
    const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)object));
    const json_t *value = json_object_get(object, key);
    if (strcmp(key, "Buffer") == 0) {
        out->kind = AK_PASS_BUFFER;
        return argument(&out->index, value, r);
    }
    if (strcmp(key, "TensorMap") == 0) {
        return pass_map(out, value, kernel, r);
    }
    out->kind = strcmp(key, "Workspace") == 0 ? AK_PASS_WORKSPACE : AK_PASS_NULL;
    return ak_dtype_parse_scalar(&out->dtype, key) ? pass_value(out, value, key, r) : AK_OK;
}

static ak_status read_passes(ak_launch_kernel *out, reader *r)
{
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, r->launch, "Arguments", r->where, r->err));
    out->pass_count = json_array_size(array);
    AK_FAIL_IF(out->pass_count == 0 || out->pass_count > AK_LAUNCH_ARGUMENTS_MAX, r->err,
               AK_INVALID, "%s: \"Arguments\" must have from 1 to %d entries", r->where,
               AK_LAUNCH_ARGUMENTS_MAX);
    for (size_t i = 0; i < out->pass_count; i++) {
        AK_DO(read_pass(&out->passes[i], json_array_get(array, i), out, r));
    }
    return AK_OK;
}

static ak_status read_constants(ak_launch_kernel *out, reader *r)
{
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, r->launch, "Constants", r->where, r->err));
    out->constant_count = json_array_size(array);
    AK_FAIL_IF(out->constant_count > AK_LAUNCH_CONSTANTS_MAX, r->err, AK_LIMIT,
               "%s: more than %d Constants", r->where, AK_LAUNCH_CONSTANTS_MAX);
    for (size_t i = 0; i < out->constant_count; i++) {
        AK_DO(argument(&out->constants[i], json_array_get(array, i), r));
        AK_FAIL_IF(r->problem->arguments[out->constants[i]].access != AK_ACCESS_IN, r->err,
                   AK_INVALID, "%s: Constants: \"%s\" is written; constant memory is only read",
                   r->where, r->problem->arguments[out->constants[i]].name);
    }
    return AK_OK;
}

/* Checks block and cluster before the device is asked how many clusters it can hold. */
static ak_status check_block(const ak_launch_kernel *kernel, int64_t most, reader *r)
{
    uint64_t threads = 1, cluster = 1;
    for (size_t i = 0; i < EXTENTS; i++) {
        threads *= kernel->block[i];
        cluster *= kernel->cluster[i];
    }
    AK_FAIL_IF(
        threads > (uint64_t)most || cluster > CLUSTER_MAX, r->err, AK_INVALID,
        "%s: a block has %llu threads and a cluster %llu blocks; at most %lld and %d are possible",
        r->where, (unsigned long long)threads, (unsigned long long)cluster, (long long)most,
        CLUSTER_MAX);
    return AK_OK;
}

static ak_status check_grid(const ak_launch_kernel *kernel, reader *r)
{
    for (size_t i = 0; i < EXTENTS; i++) {
        AK_FAIL_IF(kernel->grid[i] % kernel->cluster[i] != 0, r->err, AK_INVALID,
                   "%s: Grid[%zu] is %u, not a multiple of the cluster's %u", r->where, i,
                   kernel->grid[i], kernel->cluster[i]);
    }
    return AK_OK;
}

/* ---- a kernel, and all of them --------------------------------------------------------------- */

/* Reads the name of the entry. A specialised entry (SizedKernelName) is only for the task's own
   sizes. */
static ak_status read_name(const char **out, const char *fallback, reader *r)
{
    const char *specialised;
    AK_DO(ak_json_string_or(out, r->launch, "KernelName", fallback, r->where, r->err));
    AK_DO(ak_json_string_or(&specialised, r->launch, "SizedKernelName", NULL, r->where, r->err));
    if (specialised != NULL && r->own_size) {
        *out = specialised;
    }
    return AK_OK;
}

/* Reads one kernel; *used is false if its "Use" leaves it out. */
static ak_status read_kernel(ak_launch_kernel *out, bool *used, const ak_task *task,
                             const char *name, const ak_launch_resident *resident, reader *r)
{
    int64_t shared = 0, early = 0, clusters = 0, use = 1;
    *out = (ak_launch_kernel){0};
    AK_DO(ak_json_only(r->launch, launch_keys, r->where, r->err));
    AK_DO(member(&use, r->launch, "Use", (range){0, 1}, r));
    *used = r->scope == NULL || use != 0;
    if (!*used) {
        return AK_OK;
    }
    AK_DO(read_name(&out->name, name, r));
    AK_DO(read_let(r));
    const int64_t fact = task == NULL ? 0 : ak_task_fact(task, "work_group_max");
    const int64_t most = fact > 0 ? fact : BLOCK_MAX;
    AK_DO(extents(out->block, "Block", r->needs_block, most, most, r));
    AK_DO(extents(out->cluster, "Cluster", false, CLUSTER_MAX, CLUSTER_MAX, r));
    AK_DO(member(&shared, r->launch, "SharedMemory", (range){0, SHARED_MAX}, r));
    AK_DO(member(&early, r->launch, "LaunchEarly", (range){0, 1}, r));
    out->shared_bytes = (uint32_t)shared;
    out->early = early != 0;
    if (r->scope != NULL) {
        AK_DO(check_block(out, most, r));
    }
    if (r->scope != NULL && resident != NULL) {
        AK_DO(resident->ask(&clusters, resident->context, out, r->err));
        AK_DO(ak_scope_set_int(r->scope, RESIDENT, clusters, r->err));
    }
    AK_DO(extents(out->grid, "Grid", true, GRID_X_MAX, GRID_YZ_MAX, r));
    if (r->scope != NULL) {
        AK_DO(check_grid(out, r));
    }
    AK_DO(read_maps(out, task, r));
    AK_DO(read_constants(out, r));
    return read_passes(out, r);
}

static const json_t *kernel_at(const json_t *launch, size_t i)
{
    return json_is_array(launch) ? json_array_get(launch, i) : launch;
}

static size_t kernel_count(const json_t *launch)
{
    return json_is_array(launch) ? json_array_size(launch) : 1;
}

ak_status ak_launch_check(const json_t *launch, bool needs_block, const ak_problem *problem,
                          const char *where, ak_error *err)
{
    ak_launch_kernel kernel;
    bool used;
    size_t count = kernel_count(launch);
    AK_FAIL_IF(count == 0 || count > AK_LAUNCH_KERNELS_MAX, err, AK_INVALID,
               "%s: Launch must have from 1 to %d kernels", where, AK_LAUNCH_KERNELS_MAX);
    for (size_t i = 0; i < count; i++) {
        reader r = {.problem = problem,
                    .launch = kernel_at(launch, i),
                    .needs_block = needs_block,
                    .err = err};
        (void)snprintf(r.where, sizeof r.where, "%.200s: Launch", where);
        AK_DO(json_is_object(r.launch)
                  ? read_kernel(&kernel, &used, NULL, "", NULL, &r)
                  : ak_fail(err, AK_INVALID, "%s must be an object or a list of them", r.where));
    }
    return AK_OK;
}

bool ak_launch_is_specialised(const json_t *launch)
{
    bool specialised = false;
    for (size_t i = 0; i < kernel_count(launch); i++) {
        specialised =
            specialised || json_object_get(kernel_at(launch, i), "SizedKernelName") != NULL;
    }
    return specialised;
}

ak_status ak_launch_evaluate(ak_launch_plan *out, const ak_task *task, const ak_shape *shape,
                             const ak_config *config, const ak_launch_resident *resident,
                             ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    out->count = 0;
    AK_FAIL_IF(implementation->launch == NULL, err, AK_INVALID, "%s: \"Launch\" is missing",
               implementation->where);
    ak_status status = AK_OK;
    ak_error why = AK_ERROR_INIT;
    bool own_size = ak_shape_is_same(shape, &task->shape);
    for (size_t i = 0; status == AK_OK && i < kernel_count(implementation->launch); i++) {
        AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
        bool used = false;
        status = ak_task_scope(&scope, task, shape, config, &why);
        reader r = {.problem = task->problem,
                    .scope = scope,
                    .launch = kernel_at(implementation->launch, i),
                    .own_size = own_size,
                    .err = &why};
        (void)snprintf(r.where, sizeof r.where, "%.200s: Launch",
                       ak_fs_base(implementation->where));
        status = status == AK_OK ? read_kernel(&out->kernels[out->count], &used, task,
                                               implementation->kernel_name, resident, &r)
                                 : status;
        out->count += used;
    }
    if (status == AK_OK && out->count == 0) {
        status = ak_fail(&why, AK_INVALID, "%s: Launch: \"Use\" leaves no kernel",
                         ak_fs_base(implementation->where));
    }
    if (status != AK_OK) {
        (void)ak_task_blame(task, shape, config, &why);
        return ak_fail(err, status, "%s", why.text);
    }
    return AK_OK;
}
