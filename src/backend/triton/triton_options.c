/* triton_options.c: what the Python process is told about a configuration; see triton.h. */
#include <string.h>

#include "backend/triton/triton.h"
#include "base/alloc.h"

ak_status ak_triton_arguments(char out[AK_TRITON_ARGUMENTS_BYTES], const ak_launch_kernel *kernel,
                              const ak_task *task, ak_error *err)
{
    size_t length = 0;
    out[0] = 0;
    for (size_t i = 0; i < kernel->pass_count; i++) {
        const ak_pass *pass = &kernel->passes[i];
        char text[24] = "";
        switch (pass->kind) {
        case AK_PASS_BUFFER:
            (void)snprintf(text, sizeof text, "*%s",
                           ak_dtype_text(ak_task_argument_dtype(task, pass->index)));
            break;
        case AK_PASS_WORKSPACE:
            (void)snprintf(text, sizeof text, "*i8");
            break;
        case AK_PASS_NULL:
            (void)snprintf(text, sizeof text, "none");
            break;
        case AK_PASS_VALUE:
            (void)snprintf(text, sizeof text, "f");
            if (!ak_dtype_is_float(pass->dtype)) {
                (void)snprintf(text, sizeof text, "%c%lld",
                               ak_dtype_bytes(pass->dtype) < 8 ? 'i' : 'l',
                               (long long)pass->integer);
            }
            break;
        case AK_PASS_MAP:
            return ak_fail(err, AK_INVALID,
                           "%s: Launch: a TensorMap cannot be an argument of a Triton kernel: pass "
                           "the buffer and make the descriptor in the kernel",
                           task->implementation->where);
        }
        length += (size_t)snprintf(out + length, AK_TRITON_ARGUMENTS_BYTES - length, "%s%s",
                                   i == 0 ? "" : ",", text);
    }
    return AK_OK;
}

/* Adds the arguments at a shape, unless another shape has the same. */
static ak_status add_shape(ak_options *out, ak_launch_plan *plan, const ak_task *task,
                           const ak_shape *shape, const ak_config *config, ak_error *err)
{
    char line[AK_TRITON_ARGUMENTS_BYTES + 16] = "--arguments=";
    const size_t head = strlen(line);
    AK_DO(ak_launch_evaluate(plan, task, shape, config, NULL, err));
    AK_DO(ak_triton_arguments(line + head, &plan->kernels[0], task, err));
    return AK_HAS_TEXT(out->argv, out->count, line) ? AK_OK : ak_options_add(out, line, err);
}

ak_status ak_triton_options(ak_options *out, const ak_task *task, const ak_config *config,
                            const char *architecture, ak_error *err)
{
    const ak_problem *problem = task->problem;
    char line[160];
    AK_FREED ak_launch_plan *plan = ak_alloc(1, sizeof *plan);
    AK_DO(ak_made(plan, err));
    out->compiler = AK_TRITON;
    (void)snprintf(line, sizeof line, "--target=%.40s", architecture);
    AK_DO(ak_options_add(out, line, err));
    (void)snprintf(line, sizeof line, "--function=%.100s", task->implementation->kernel_name);
    AK_DO(ak_options_add(out, line, err));
    AK_DO(add_shape(out, plan, task, &task->shape, config, err));
    for (size_t i = 0; i < problem->edge_case_count; i++) {
        ak_shape shape;
        bool allowed = false;
        AK_DO(ak_task_shape(&shape, task, problem->edge_cases[i], err));
        AK_DO(ak_task_allows(&allowed, task, &shape, config, err));
        AK_DO(allowed ? add_shape(out, plan, task, &shape, config, err) : AK_OK);
    }
    return AK_OK;
}
