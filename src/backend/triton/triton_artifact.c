/* triton_artifact.c: what a launch takes from the artifact of a Triton kernel; see triton.h. */
#include <string.h>

#include "backend/triton/triton.h"

#define WHERE   "the compiled Triton kernel"
#define WARP    32
#define WARPS   32
#define BLOCKS  16
#define SHARED  (1 << 20)
#define TRAILER 8

ak_status ak_triton_read(ak_triton_artifact *out, const char *bytes, size_t length, ak_error *err)
{
    const char *end = length > 0 && bytes[0] == '{' ? memchr(bytes, '\n', length) : NULL;
    *out = (ak_triton_artifact){.bytes = bytes, .length = length};
    AK_FAIL_IF(end == NULL, err, AK_INVALID, WHERE " is not one: it does not begin with its facts");
    out->first = (size_t)(end - bytes) + 1;
    return ak_json_parse(&out->head, bytes, out->first - 1, WHERE, err);
}

void ak_triton_clear(ak_triton_artifact *artifact)
{
    json_decref(artifact->head);
    *artifact = (ak_triton_artifact){0};
}

/* Returns the class by which Triton specialises code for an integer: 1 if it is 1, 16 if it is a
   multiple of 16, else 0. Pointers and reals have class 0. */
static int class_of(const char *argument)
{
    int64_t value = 0;
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%.*s", (int)strcspn(argument + 1, ","), argument + 1);
    if ((argument[0] != 'i' && argument[0] != 'l') || !ak_text_int(&value, digits)) {
        return 0;
    }
    return value == 1 ? 1 : value % 16 == 0 ? 16 : 0;
}

/* Returns whether code for the arguments `own` is right for `arguments`. */
static bool serves(const char *own, const char *arguments)
{
    while (*own != 0 && *arguments != 0) {
        int wanted = class_of(own);
        /* Triton chooses the width of an integer by its value, so a wide one must be the same. */
        bool wide = *own == 'l' || *arguments == 'l';
        if (*own != *arguments || (wanted != 0 && wanted != class_of(arguments)) ||
            (wide && strncmp(own, arguments, strcspn(own, ",") + 1) != 0)) {
            return false;
        }
        own += strcspn(own, ",");
        own += *own == ',' ? 1 : 0;
        arguments += strcspn(arguments, ",");
        arguments += *arguments == ',' ? 1 : 0;
    }
    return *own == 0 && *arguments == 0;
}

static ak_status find(ak_triton_variant *out, const ak_triton_artifact *artifact,
                      const char *arguments, ak_error *err)
{
    const json_t *variants = json_object_get(artifact->head, "variants");
    size_t at = artifact->first;
    AK_EACH(facts, variants) {
        const char *own;
        bool general = false;
        int64_t bytes = 0;
        AK_DO(ak_json_string(&own, facts, "arguments", WHERE, err));
        AK_DO(ak_json_bool_or(&general, facts, "general", false, WHERE, err));
        AK_DO(ak_json_int(&bytes, facts, "bytes", WHERE, err));
        AK_FAIL_IF(bytes <= 0 || (uint64_t)bytes > artifact->length - at, err, AK_INVALID,
                   WHERE
                   " is damaged (it ends too early): compile it again, or report this if it stays");
        if (general || serves(own, arguments)) {
            *out = (ak_triton_variant){facts, artifact->bytes + at, (size_t)bytes};
            return AK_OK;
        }
        at += (size_t)bytes;
    }
    return ak_fail(err, AK_NOT_FOUND,
                   WHERE " was specialised for other arguments than %.120s: it cannot run them",
                   arguments);
}

static ak_status number(uint32_t *out, const json_t *facts, const char *key, int64_t low,
                        int64_t high, ak_error *err)
{
    int64_t found = 0;
    AK_DO(ak_json_int(&found, facts, key, WHERE, err));
    *out = (uint32_t)found;
    return found >= low && found <= high
               ? AK_OK
               : ak_fail(err, AK_INVALID, WHERE ": \"%s\" is %lld; it must be from %lld to %lld",
                         key, (long long)found, (long long)low, (long long)high);
}

/* Gives an argument that the compiled code still takes the type that Triton chose for it. Refuses a
   type that does not fit what the Launch passes. */
static ak_status set_type(ak_pass *pass, const char *type, ak_error *err)
{
    const bool value = pass->kind == AK_PASS_VALUE;
    const bool real = value && ak_dtype_is_float(pass->dtype);
    if (type[0] == '*' && (pass->kind == AK_PASS_BUFFER || pass->kind == AK_PASS_WORKSPACE)) {
        return AK_OK;
    }
    if (value && !real && (strcmp(type, "i32") == 0 || strcmp(type, "i64") == 0)) {
        (void)ak_dtype_parse(&pass->dtype, type);
        return AK_OK;
    }
    if (real && (strcmp(type, "fp32") == 0 || strcmp(type, "fp64") == 0)) {
        pass->dtype = strcmp(type, "fp32") == 0 ? AK_DTYPE_F32 : AK_DTYPE_F64;
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   WHERE " has an argument of type %.20s, which is not what the Launch passes",
                   type);
}

static ak_status keep_arguments(ak_launch_kernel *kernel, const json_t *facts, ak_error *err)
{
    const json_t *types = json_object_get(facts, "types");
    uint32_t trailing;
    size_t kept = 0;
    AK_DO(number(&trailing, facts, "trailing", 0, TRAILER, err));
    AK_FAIL_IF(json_array_size(types) != kernel->pass_count, err, AK_INVALID,
               WHERE " takes %zu arguments, but the Launch passes %zu", json_array_size(types),
               kernel->pass_count);
    for (size_t i = 0; i < kernel->pass_count; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (type != NULL && type[0] != 0) {
            kernel->passes[kept] = kernel->passes[i];
            AK_DO(set_type(&kernel->passes[kept++], type, err));
        }
    }
    AK_FAIL_IF(kept + trailing > AK_LAUNCH_ARGUMENTS_MAX, err, AK_LIMIT,
               WHERE " takes more than %d arguments", AK_LAUNCH_ARGUMENTS_MAX);
    for (uint32_t i = 0; i < trailing; i++) { /* arguments that Triton adds, for scratch memory */
        kernel->passes[kept++] = (ak_pass){.kind = AK_PASS_NULL};
    }
    kernel->pass_count = kept;
    return AK_OK;
}

ak_status ak_triton_apply(ak_triton_variant *out, ak_launch_plan *plan,
                          const ak_triton_artifact *artifact, const ak_task *task, ak_error *err)
{
    char arguments[AK_TRITON_ARGUMENTS_BYTES];
    ak_launch_kernel *kernel = &plan->kernels[0];
    uint32_t warps, blocks;
    AK_FAIL_IF(plan->count != 1, err, AK_INVALID, "a Triton kernel's Launch must have one kernel");
    AK_DO(ak_triton_arguments(arguments, kernel, task, err));
    AK_DO(find(out, artifact, arguments, err));
    AK_DO(number(&warps, out->facts, "num_warps", 1, WARPS, err));
    AK_DO(number(&blocks, out->facts, "num_ctas", 1, BLOCKS, err));
    AK_DO(number(&kernel->shared_bytes, out->facts, "shared", 0, SHARED, err));
    AK_DO(ak_json_string(&kernel->name, out->facts, "entry", WHERE, err));
    AK_DO(ak_json_bool_or(&kernel->early, out->facts, "early", false, WHERE, err));
    kernel->block[0] = warps * WARP;
    kernel->block[1] = kernel->block[2] = 1;
    kernel->cluster[0] = blocks;
    kernel->cluster[1] = kernel->cluster[2] = 1;
    AK_FAIL_IF((uint64_t)kernel->grid[0] * blocks > INT32_MAX, err, AK_INVALID,
               "Grid[0] is too large for clusters of %u blocks", blocks);
    kernel->grid[0] *= blocks;
    return keep_arguments(kernel, out->facts, err);
}
