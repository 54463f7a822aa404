/*
 * opencl_rules.c: the rules for space files. "Launch" has the form that it has for CUDA
 * (docs/formats.md): `Block` is the work-group, `Grid` counts work-groups. Keys that mean nothing
 * in OpenCL are refused by name.
 */
#include <string.h>

#include "backend/launch/launch.h"
#include "backend/opencl/opencl.h"

static ak_status check_launch(const ak_implementation_spec *implementation,
                              const ak_problem *problem, ak_error *err)
{
    const json_t *launch = implementation->launch;
    const char *where = implementation->where;
    static const struct {
        const char *key, *instead;
    } refused[] = {{"TensorMaps", "pass the buffers"},
                   {"Cluster", "OpenCL has work-groups only"},
                   {"Constants", "pass a pointer to `constant`"},
                   {"LaunchEarly", "kernels of a queue run one after the other"},
                   {"SharedMemory", "declare the local memory in the kernel, as "
                                    "`local float tile[SIZE]`"}};
    AK_DO(ak_launch_check(launch, true, problem, where, err));
    size_t count = json_is_array(launch) ? json_array_size(launch) : 1;
    for (size_t k = 0; k < count; k++) {
        const json_t *kernel = json_is_array(launch) ? json_array_get(launch, k) : launch;
        for (size_t i = 0; i < AK_COUNT(refused); i++) {
            AK_FAIL_IF(json_object_get(kernel, refused[i].key) != NULL, err, AK_INVALID,
                       "%.200s: Launch: \"%s\" is not for OpenCL; %s", where, refused[i].key,
                       refused[i].instead);
        }
    }
    return AK_OK;
}

/* Tells the compiler for which device it compiles. */
static ak_status add_device(ak_options *out, const ak_task *task, const ak_config *config,
                            ak_error *err)
{
    (void)config;
    char line[64];
    (void)snprintf(line, sizeof line, AK_OPENCL_DEVICE_OPTION "%.40s", task->device);
    AK_DO(ak_options_add(out, line, err));
    (void)snprintf(line, sizeof line, AK_OPENCL_IDENTITY_OPTION "%lld",
                   (long long)ak_task_fact(task, "identity"));
    return ak_options_add(out, line, err);
}

/* Returns whether a space file may pass this option to clBuildProgram, which gets all options as
   one text: a blank would begin another option. None of the listed options names a file. */
static bool allows_option(const char *option)
{
    static const char *const listed[] = {"-D", "-cl-", "-w", "-Werror", NULL};
    return ak_text_begins(option, listed) && strcmp(option, "-D") != 0 &&
           strpbrk(option, " \t\r\n\"'\\") == NULL;
}

const ak_backend_rules ak_opencl_rules = {
    .check_launch = check_launch,
    .is_specialised = ak_launch_is_specialised,
    .add_options = add_device,
    .allows_option = allows_option,
};
