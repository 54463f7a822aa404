/* mcp_look.c: the tools that neither measure nor show results: kernels, spaces, facts. */

#include "cli/mcp.h"

ak_status ak_mcp_open(ak_mcp_opened *out, const ak_mcp *mcp, const char *operand, ak_error *err)
{
    const char *device = mcp->args->text[AK_OPTION_DEVICE];
    *out = (ak_mcp_opened){0};
    if (device != NULL && strncmp(device, "sim", 3) == 0) {
        const ak_task_spec spec = {.kernel = operand, .device = device, .look = true};
        AK_DO(ak_task_open(&out->task, &spec, err));
        out->problem = ak_task_problem(out->task);
    } else {
        AK_DO(ak_problem_open(&out->own, operand, err));
        out->problem = out->own;
    }
    return AK_OK;
}

void ak_mcp_opened_close(ak_mcp_opened *opened)
{
    ak_task_close(opened->task);
    ak_problem_close(opened->own);
}

static ak_status describe_kernel(json_t *rows, ak_mcp_call *call, const ak_mcp_kernel *kernel,
                                 ak_error *err)
{
    AK_AT_END(ak_mcp_opened_close) ak_mcp_opened opened = {0};
    AK_AT_END(ak_text_free_at) char *about = NULL;
    json_t *row = NULL;
    AK_DO(ak_mcp_open(&opened, call->mcp, kernel->operand, err));
    AK_DO(ak_problem_describe(&about, opened.problem, err));
    row = json_pack("{s:s, s:s?, s:o, s:s?}", "name", kernel->name, "description",
                    ak_problem_description(opened.problem), "implementations",
                    ak_implementations_json(opened.problem), "details", about);
    AK_DO(ak_stored(ak_json_append(rows, row), err));
    ak_buf_print(&call->text, "%s: %s\n", kernel->name, ak_problem_description(opened.problem));
    return AK_OK;
}

ak_status ak_mcp_list_kernels(ak_mcp_call *call, ak_error *err)
{
    const ak_mcp *mcp = call->mcp;
    json_auto_t *rows = json_array();
    AK_DO(ak_made(rows, err));
    for (size_t i = 0; i < mcp->kernel_count; i++) {
        AK_DO(describe_kernel(rows, call, &mcp->kernels[i], err));
    }
    return ak_stored(ak_json_set(call->result, "kernels", json_incref(rows)) &&
                         ak_json_set(call->result, "budget", ak_mcp_budget(mcp)),
                     err);
}

/* Removes from the parameters in `object` the values that no valid configuration has. */
static void keep_occurring(json_t *object, const ak_space *space)
{
    const json_t *rows = json_object_get(object, "parameters");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *values = json_object_get(json_array_get(rows, i), "values");
        for (size_t v = json_array_size(values); v > 0; v--) {
            if (!ak_space_occurs(space, i, v - 1)) {
                (void)json_array_remove(values, v - 1);
            }
        }
    }
}

ak_status ak_mcp_describe_space(ak_mcp_call *call, ak_error *err)
{
    static const char *const kept[] = {"parameters", "conditions", "default", "cartesian", "valid"};
    ak_args args;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    json_auto_t *object = NULL, *about = json_object(), *facts = NULL;
    char *text = NULL, valid[AK_NUMBER_BYTES];
    AK_DO(ak_mcp_args(&args, call, err));
    AK_DO(ak_args_look(&task, &args, err));
    AK_DO(ak_mcp_warnings(call, task, &args, err));
    AK_DO(ak_out_parse(&facts, ak_task_facts(&text, task, NULL, err), &text, "facts", err));
    object = ak_space_json(task);
    keep_occurring(object, ak_task_space(task));
    bool good = object != NULL && ak_task_json(about, task) &&
                json_object_set(call->result, "task", about) == 0 &&
                json_object_set(call->result, "facts", facts) == 0;
    for (size_t i = 0; i < AK_COUNT(kept) && good; i++) {
        good = json_object_set(call->result, kept[i], json_object_get(object, kept[i])) == 0;
    }
    AK_DO(ak_stored(good, err));
    const size_t parameters = ak_space_parameter_count(ak_task_space(task));
    const uint64_t count = ak_space_count(ak_task_space(task));
    ak_buf_print(&call->text,
                 "%s %s%s%s on %s (implementation %s): %zu parameter%s, %s valid configuration%s\n",
                 ak_problem_name(ak_task_problem(task)), ak_task_size(task),
                 ak_task_dtype(task)[0] == 0 ? "" : " ", ak_task_dtype(task), ak_task_device(task),
                 ak_task_implementation(task), parameters, ak_plural(parameters),
                 ak_show_count(valid, (double)count), ak_plural((size_t)count));
    for (size_t i = 0; i < ak_space_parameter_count(ak_task_space(task)); i++) {
        const ak_parameter *p = ak_space_parameter(ak_task_space(task), i);
        ak_buf_print(&call->text, "%s:", p->name);
        for (size_t v = 0; v < p->value_count; v++) {
            char value[200];
            if (ak_space_occurs(ak_task_space(task), i, v)) {
                ak_value_show(value, sizeof value, &p->values[v]);
                ak_buf_print(&call->text, v == p->default_index ? " [%s]" : " %s", value);
            }
        }
        ak_buf_print(&call->text, "%s%s\n", p->description[0] == 0 ? "" : "; ", p->description);
    }
    for (size_t i = 0; i < ak_space_condition_count(ak_task_space(task)); i++) {
        const char *reason = ak_space_condition_reason(ak_task_space(task), i);
        ak_buf_print(&call->text, "condition: %s%s%s\n", ak_space_condition(ak_task_space(task), i),
                     reason[0] == 0 ? "" : "; ", reason);
    }
    return AK_OK;
}

ak_status ak_mcp_facts(ak_mcp_call *call, ak_error *err)
{
    ak_args args;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    ak_config config;
    ak_error why = AK_ERROR_INIT;
    json_auto_t *facts = NULL;
    AK_AT_END(ak_text_free_at) char *text = NULL;
    AK_DO(ak_mcp_args(&args, call, err));
    AK_DO(ak_args_look(&task, &args, err));
    bool valid = ak_mcp_config(&config, json_object_get(call->arguments, "config"), &args, task,
                               &why) == AK_OK;
    if (valid) {
        AK_DO(ak_task_facts(&text, task, &config, err));
        AK_DO(ak_json_parse_text(&facts, text, "facts", err));
        ak_buf_print(&call->text, "valid: %s\n", text);
    } else {
        ak_buf_print(&call->text, "not valid: %s\n", why.text);
    }
    return ak_stored(
        ak_json_set(call->result, "valid", json_boolean(valid)) &&
            ak_json_set(call->result, "reason", valid ? json_null() : ak_json_shown(why.text)) &&
            ak_json_set(call->result, "facts", valid ? json_incref(facts) : json_null()),
        err);
}
