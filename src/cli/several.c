#include "cli/several.h"

#include "base/alloc.h"
#include "base/device_name.h"
#include "cli/options.h"

/* Finds the part for the implementation that `length` bytes of `name` name, or adds one. */
static ak_status part_of(ak_several_part **out, ak_several *several, const char *name,
                         size_t length, ak_error *err)
{
    ak_several_part *part = several->parts;
    AK_FAIL_IF(length == 0 || length >= sizeof part->name, err, AK_INVALID,
               "--impl: \"%.*s\" is not the name of an implementation; 'autokernel list KERNEL' "
               "shows them",
               (int)(length < 63 ? length : 63), name);
    for (; part < several->parts + several->count; part++) {
        if (strncmp(part->name, name, length) == 0 && part->name[length] == 0) {
            *out = part;
            return AK_OK;
        }
    }
    AK_FAIL_IF(several->count == AK_SEVERAL_MAX, err, AK_INVALID,
               "at most %d implementations can be compared at once", AK_SEVERAL_MAX);
    (void)snprintf(part->name, sizeof part->name, "%.*s", (int)length, name);
    several->count++;
    *out = part;
    return AK_OK;
}

/* Adds a configuration to a part's --config. */
static ak_status give_config(ak_several_part *part, const char *text, size_t length, ak_error *err)
{
    ak_args *args = part->args;
    if (length == 0) {
        return AK_OK; /* an empty item, such as that after a final ';' */
    }
    AK_FAIL_IF(args->config_count == AK_CONFIGS_MAX, err, AK_INVALID,
               "--config: at most %d configurations at once", AK_CONFIGS_MAX);
    char *copy = ak_strndup(text, length);
    AK_DO(ak_made(copy, err));
    args->config[args->config_count++] = copy;
    return AK_OK;
}

/* Adds a part for each implementation that --config names or, with `give`, gives each part its
   configurations. */
static ak_status read_configs(ak_several *several, const ak_args *args, bool give, ak_error *err)
{
    for (size_t i = 0; i < args->config_count; i++) {
        for (const char *at = args->config[i]; *at != 0;) {
            size_t prefix = ak_config_prefix(at), length = ak_config_length(at);
            ak_several_part *part = several->parts;
            if (prefix > 0) {
                AK_DO(part_of(&part, several, at, prefix - 1, err));
            }
            if (give) {
                AK_DO(give_config(part, at, length, err));
            }
            at += length + (at[length] == ';' ? 1 : 0);
        }
    }
    return AK_OK;
}

ak_status ak_several_split(ak_several *out, const ak_args *args, ak_error *err)
{
    const char *at = ak_args_has(args, AK_OPTION_IMPL) ? args->text[AK_OPTION_IMPL] : NULL;
    ak_several_part *part;
    *out = (ak_several){.count = 0};
    while (at != NULL) {
        size_t length = strcspn(at, ",");
        AK_DO(part_of(&part, out, at, length, err));
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    AK_DO(read_configs(out, args, false, err));
    out->count = out->count == 0 ? 1 : out->count;
    for (size_t i = 0; i < out->count; i++) {
        part = &out->parts[i];
        AK_DO(AK_NEW(part->args, 1, err));
        *part->args = *args;
        part->args->text[AK_OPTION_IMPL] = part->name[0] == 0 ? NULL : part->name;
        part->args->config_count = 0;
    }
    AK_DO(read_configs(out, args, true, err));
    return out->count == 1 ? AK_OK
                           : ak_args_refuse(args, AK_O(FIX) | AK_O(LAUNCHER) | AK_O(WORKERS),
                                            "does not go with several implementations", err);
}

void ak_several_free(ak_several *several)
{
    for (size_t i = 0; i < AK_SEVERAL_MAX; i++) {
        ak_args *args = several->parts[i].args;
        for (size_t k = 0; args != NULL && k < args->config_count; k++) {
            ak_free((void *)(uintptr_t)args->config[k]);
        }
        ak_free(args);
    }
    *several = (ak_several){.count = 0};
}

ak_status ak_several_task(ak_task **out, const ak_several_part *part, const ak_task *first,
                          ak_error *err)
{
    ak_args *args = part->args;
    AK_FAIL_IF(ak_device_is_recorded(ak_task_device(first)), err, AK_INVALID,
               "--impl: a recording (%.80s) is of one implementation; leave %s out",
               ak_task_device(first), part->name);
    args->text[AK_OPTION_DEVICE] = ak_task_device(first);
    args->text[AK_OPTION_SIZE] = ak_task_size(first);
    args->text[AK_OPTION_DTYPE] = ak_task_dtype(first);
    args->text[AK_OPTION_SET] = ak_task_choices(first)[0] == 0 ? NULL : ak_task_choices(first);
    return ak_args_task(out, args, err);
}
